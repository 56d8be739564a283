"""The README tells the truth: its table is the measurement file's, its commands exist, its links lead somewhere."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

import pytest
from click.testing import CliRunner

import roofline
from audio import tracks
from measure import report
from measure.dataset import Dataset
from measure.roofline_model import LEVEL_ROOF
from scenes import film
from scenes.render.publish.chapters import title_of

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_the_results_are_the_committed_file_s() -> None:
    assert report.rewrite(README, Dataset.open(["nvidia-h200"])) == README, "run: python -m measure.report README.md"


def test_a_row_of_the_results_by_hand() -> None:
    """The best fp32 rung from the file's plain JSON: FLOP over the median time, over the roof, over the bytes."""
    found = json.loads((ROOT / "measure/measurements/nvidia-h200.json").read_text())
    ladder = found["ladders"]["gemm_fp32"]
    rung = max((one for one in ladder["rungs"] if "rate" in one), key=lambda one: float(one["rate"]["value"]))
    rate = 2 * 4096**3 / statistics.median(rung["samples"]) / 1e12
    moved = rung["traffic"][ladder["level"]]
    flop_per_byte = 2 * 4096**3 / (moved.get("counters") or moved["model"])["value"]
    row = next(line for line in README.splitlines() if line.startswith(f"| {rung['title']} |"))
    cells = [float(cell) for cell in row.split("|")[2:6]]
    peak, slope = (found["roofs"][name]["measured"]["value"] for name in ("fp32", LEVEL_ROOF[ladder["level"]]))
    assert cells == pytest.approx([rate, rate / peak, flop_per_byte, rate / flop_per_byte / slope], rel=0.02)


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
        assert film.order_with([name]), name


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_lead_to_files(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_passages_of_the_film_are_listed_as_they_are() -> None:
    """Each with the second it begins at on the project's own song, its title, its idea and the book's chapter."""
    timeline = tracks.open(tracks.DEFAULT).timeline
    rows = []
    for row in film.FILM:
        second = int(timeline.beats[timeline.downbeats[row.first_bar - 1]])
        chapter = getattr(row.load(), "chapter", "").partition("Ch. ")[2]
        rows.append(f"| {second // 60}:{second % 60:02d} | {title_of(row)} | {row.idea} | {chapter} |")
    listed = README.partition("| from | passage | idea | chapter |")[2].partition("\n\n")[0].strip().splitlines()[1:]
    assert listed == rows, "\n".join(rows)
