"""The results as Markdown: what is in the tables, and that only what lies between the markers is touched."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import made_up

from measure import report, schema
from measure.dataset import Dataset
from measure.errors import OutputError


@pytest.fixture
def full(tmp_path: Path) -> Path:
    return schema.save(made_up.full(spread=0.0), tmp_path / "full.json")


def row(text: str, start: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_tables_of_every_ladder(full: Path) -> None:
    text = report.report(Dataset.open([full]))
    assert row(text, "2D tiling") == ["2D tiling", "33.4", "0.512", "1.35", "0.74"]
    assert row(text, "cuBLAS bf16") == ["cuBLAS bf16, for comparison", "772", "", "", ""]
    assert row(text, "Fused on tensor cores")[1:4] == ["277", "0.42", "14"]  # of the tensor roof, not the ladder's
    assert row(text, "Fused on tensor cores")[-1] == "111 MB"
    assert row(text, "int4") == ["int4, scales of 128", "0.93", "4280 GB/s", "7.52", "7.52", "0.03"]
    assert row(text, "cycles") == ["cycles", "23", "32", "280", "524", "692"]
    assert row(text, "FMA units, fp32") == ["FMA units, fp32", "65.2", "66.5", "67.2", "TFLOP/s"]


def test_every_table_has_as_many_cells_in_each_row(full: Path) -> None:
    for data in (Dataset.open([full]), Dataset.open(["nvidia-h200"]), Dataset.open(["rtx-3090-published"])):
        for block in report.report(data).split("\n\n"):
            if block.startswith("|"):
                assert len({line.count("|") for line in block.splitlines()}) == 1


def test_a_rung_without_a_rate_has_no_row(tmp_path: Path) -> None:
    full = made_up.full()
    ladder = full.ladders["attention"]
    rungs = (*ladder.rungs[:2], dataclasses.replace(ladder.rungs[2], rate=None, time=None, absent="needs 8.0"))
    less = dataclasses.replace(full, ladders={"attention": dataclasses.replace(ladder, rungs=rungs)})
    path = schema.save(less, tmp_path / "less.json")
    assert "Fused on tensor cores" not in report.report(Dataset.open([path]))


def test_only_what_is_between_the_markers_changes(full: Path) -> None:
    data = Dataset.open([full])
    text = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
    once = report.rewrite(text, data)
    assert once.startswith(f"before\n{report.BEGIN}\n") and once.endswith(f"\n{report.END}\nafter\n") and "old" not in once
    assert report.rewrite(once, data) == once


@pytest.mark.parametrize("text", ["", report.BEGIN, report.END + report.BEGIN, 2 * (report.BEGIN + report.END)])
def test_a_document_without_its_markers_is_refused(text: str) -> None:
    with pytest.raises(OutputError, match="once each"):
        report.rewrite(text, Dataset.open(["rtx-3090-published"]))


def test_the_program(full: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "README.md"
    document.write_text(f"{report.BEGIN}\n{report.END}\n")
    assert report.main([str(document), str(full)]) == 0 and "Made-up 9000" in document.read_text()
    kept = document.read_text()
    assert report.main([str(document), "no-such-gpu"]) == 2 and document.read_text() == kept
    assert report.main([str(tmp_path / "none.md")]) == 2 and report.main([]) == 2
    assert capsys.readouterr().err.count("\n") == 3
