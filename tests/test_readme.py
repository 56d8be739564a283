"""The README tells the truth: its table is the measurement file's, its commands exist, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import roofline
from measure.dataset import Dataset
from scenes import film

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def table() -> str:
    """The ladder as the README prints it, from the committed file."""
    data = Dataset.open(["nvidia-h200"])
    owned, peak, path = data.ladder("gemm_fp32"), data.get("roofs.fp32"), data.get("roofs.load_path")
    assert owned is not None and peak is not None and path is not None
    lines = [
        f"| kernel | TFLOP/s | of the {peak.quantity.value:.1f} TFLOP/s of the FMA units | FLOP/B "
        f"| of the {path.quantity.value:.1f} TB/s roof there |",
        "|---|---|---|---|---|",
    ]
    for rung in owned.value.rungs:
        rate = data.get(f"ladders.gemm_fp32.rungs.{rung.name}.rate")
        achieved, mark = data.achieved("gemm_fp32", rung.name), data.intensity("gemm_fp32", rung.name)
        share = data.of_level("gemm_fp32", rung.name)
        assert rate is not None and achieved is not None and mark is not None and share is not None
        lines.append(
            f"| {rung.title} | {rate.quantity.value:.3g} | {achieved.quantity.value:.3f} | {mark.quantity.value:.3g} "
            f"| {share.quantity.value:.2f} |"
        )
    for line in owned.value.lines:
        ratio = line.rate.value / peak.quantity.value
        lines.append(f"| {line.title}, for comparison | {line.rate.value:.3g} | {ratio:.3f} | | |")
    return "\n".join(lines)


def test_the_table_is_the_files() -> None:
    assert table() in README, f"put this into the README:\n{table()}"


def test_the_versions_are_the_files() -> None:
    run = Dataset.open(["nvidia-h200"]).run
    assert run is not None
    for text in (run.driver, run.date[:10]):
        assert text is not None and text in README


def test_every_verb_of_the_readme_exists_and_takes_its_options() -> None:
    calls = re.findall(r"\./roofline ([a-z]+)((?: +[^#`\n]*)?)", README)
    assert len(calls) > 8
    for verb, rest in calls:
        shown = CliRunner().invoke(roofline.main, [verb, "--help"])
        assert shown.exit_code == 0, verb
        for option in re.findall(r"(?<!\S)-{1,2}[a-z-]+", rest):
            assert option in shown.output, f"{verb} {option}"


def test_the_scenes_of_the_readme_are_in_the_film() -> None:
    for name in re.findall(r"\./roofline (?:render|still) ([a-z][a-z0-9-]*)", README):
        assert film.row(name).name == name


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_lead_to_files(path: str) -> None:
    assert (ROOT / path).exists()
