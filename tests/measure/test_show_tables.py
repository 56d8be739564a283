"""The tables of a file: every subject, what was wrong or held down, and what is not known."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import made_up

import roofline
from measure import schema
from measure.dataset import Dataset
from measure.records import Ladder, Measurements, Quantity, Rung, SubjectRun, Verification
from measure.show import table
from measure.tables import Table, emit, plain
from measure.wording import figure, scaled, sized, spread

FULL = made_up.full(spread=0.0)


def shown(found: Measurements, tmp_path: Path) -> str:
    """The text of a file as it is read back from disk."""
    schema.save(found, tmp_path / "one.json")
    return table(Dataset.open([tmp_path / "one.json"]))


def with_rung(found: Measurements, ladder: str, rung: Rung) -> Measurements:
    old: Ladder = found.ladders[ladder]
    rungs = tuple(rung if one.name == rung.name else one for one in old.rungs)
    return dataclasses.replace(found, ladders={**found.ladders, ladder: dataclasses.replace(old, rungs=rungs)})


def row(text: str, start: str) -> list[str]:
    """The cells of the first row that starts so."""
    return next(line for line in text.splitlines() if line.startswith(start))[len(start) :].split()


def test_every_subject_is_there(tmp_path: Path) -> None:
    text = shown(FULL, tmp_path)
    for words in (
        "Made-up 9000", "driver 580.1", "Tensor cores, bf16", "latency of a load", "4096 x 4096 x 4096", "8192 x 8192 x 8192",
        "Attention, forward", "Quantised matrix-vector product", "cuBLAS fp32", "Divergence", "Strided reads", "launch trace",
        "all-reduce, Made-up 9000", "virtual ranks", "never a link's speed", "not in the file: counters: ncu is not installed",
    ):  # fmt: skip
        assert words in text, words
    assert max(len(line) for line in text.splitlines()) <= 128


def test_a_rung_s_row(tmp_path: Path) -> None:
    """0.512 of 65.2 is 33.4 TFLOP/s; 2 x 4096^3 FLOP take 4.12 ms; 1.35 FLOP/B x 33.3 TB/s allow 44.96, of which it is 0.74."""
    text = shown(FULL, tmp_path)
    assert row(text, "2D tiling") == ["33.4", "0", "31.5", "4.12", "ms", "0.512", "1.35", "0.74", "load_path"]
    assert row(text, "cuBLAS fp32") == ["50.9", "0", "0.78"]
    assert row(text, "int4, scales of 128")[-1] == "dram"


def test_latencies_in_cycles_and_ns(tmp_path: Path) -> None:
    assert row(shown(FULL, tmp_path), "dram ")[:3] == ["692", "349", "1980"]


def test_named_figures_with_their_units(tmp_path: Path) -> None:
    text = shown(FULL, tmp_path)
    assert "peak memory" in text and "2.1 GB" in text and "quantisation error" in text and "4280 GB/s" in text


def test_a_sweep_has_a_row_a_value(tmp_path: Path) -> None:
    """32 paths of 2600 cycles; a stride of 8 words asks for 32 sectors."""
    text = shown(FULL, tmp_path)
    assert row(text, "32 ") == ["83200", "2650"]
    assert row(text, "8 elements") == ["0.575", "32"]


def test_a_wrong_rung_has_no_figure(tmp_path: Path) -> None:
    rung = FULL.ladders["gemv"].rungs[3]
    wrong = dataclasses.replace(
        rung, rate=None, time=None, time_cold=None, verification=Verification(False, 1e-7, 0.5, 1e-6, "float64")
    )
    text = shown(with_rung(FULL, "gemv", wrong), tmp_path)
    assert row(text, "int4, scales of 128")[0] == "wrong" and "WRONG: error 0.5, at most 1e-06 passes" in text


def test_what_held_the_clock_down_is_said(tmp_path: Path) -> None:
    rung = dataclasses.replace(FULL.ladders["gemm_fp32"].rungs[4], throttled=True, throttle_reasons=("power cap",))
    held = with_rung(FULL, "gemm_fp32", rung)
    assert held.run is not None
    subjects = {"roofs": SubjectRun("2026-12-02", 9.0, throttle_reasons=("temperature",))}
    text = shown(dataclasses.replace(held, run=dataclasses.replace(held.run, subjects=subjects)), tmp_path)
    assert "! 2D tiling THROTTLED: power cap" in text and "THROTTLED during roofs: temperature" in text
    assert row(text, "2D tiling")[-1] == "!"


def test_a_rung_that_was_not_run_says_why(tmp_path: Path) -> None:
    rung = Rung("fused", "Fused, online softmax", "", absent="needs 99 KiB of shared memory a block")
    text = shown(with_rung(FULL, "attention", rung), tmp_path)
    assert row(text, "Fused, online softmax")[:2] == ["not", "run"] and "was not run: needs 99 KiB" in text


def test_an_unknown_compute_capability_is_probed_only(tmp_path: Path) -> None:
    device = dataclasses.replace(FULL.device, compute_capability="14.0", fp32_lanes_per_sm=None)
    roofs = {name: dataclasses.replace(roof, computed=None) for name, roof in FULL.roofs.items()}
    assert "unknown compute capability: probed only" in shown(dataclasses.replace(FULL, device=device, roofs=roofs), tmp_path)
    assert "unknown compute capability" not in shown(FULL, tmp_path)


def test_slices_and_windows_are_named(tmp_path: Path) -> None:
    device = dataclasses.replace(FULL.device, facts={"system": "WSL", "mig": "a slice of one Made-up 9000"})
    text = shown(dataclasses.replace(FULL, device=device), tmp_path)
    assert "system: WSL" in text and "mig: a slice" in text


@pytest.mark.parametrize("name", ["nvidia-h200", "rtx-3090-published", "hgx-h100-published"])
def test_the_project_s_own_files_fit_a_terminal(name: str) -> None:
    text = table(Dataset.open([name]))
    assert text and max(len(line) for line in text.splitlines()) <= 128


def test_a_terminal_gets_the_same_words(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = Table("title", ("a", "b"), (("[x]", "1"), ("y", "22")), ("note",), ("red",))
    emit([found, Table("empty")])
    assert capsys.readouterr().out == plain([found]) + "\n" == "title\na     b\n[x]   1\ny    22\nnote\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    emit([found])
    coloured = capsys.readouterr().out
    assert all(line in coloured for line in ("title", "[x]   1", "y    22", "note"))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.00276, "s", "2.76 ms"),
        (9.25e-6, "s", "9.25 µs"),
        (2.1e9, "B", "2.1 GB"),
        (1e9, "B", "1 GB"),
        (0.0, "B", "0 B"),
        (512, "B", "512 B"),
    ],
)
def test_prefixes(value: float, unit: str, text: str) -> None:
    assert scaled(value, unit) == text


@pytest.mark.parametrize(
    ("digits", "text"), [("16384", "16 KiB"), ("3145728", "3 MiB"), ("100", "100 B"), ("0", "0 B"), ("a", "a B")]
)
def test_sizes(digits: str, text: str) -> None:
    assert sized(digits) == text


def test_numbers_and_spreads() -> None:
    """Quartiles 9 and 11 around 10 are 10 %."""
    assert figure(0.0151) == "0.0151" and figure(1976.3, 4) == "1976" and figure(83200) == "83200"
    assert spread(Quantity(10, "", "measured", 9, 11, 5)) == "10" and spread(Quantity(10, "", "measured")) == "-"


def test_show_writes_a_chart_where_it_is_told(tmp_path: Path) -> None:
    target = tmp_path / "new" / "roofline.png"
    done = CliRunner().invoke(roofline.main, ["show", "rtx-3090-published", "--png", str(target)])
    assert done.exit_code == 0 and str(target) in done.output and target.read_bytes()[:4] == b"\x89PNG"
    refused = CliRunner().invoke(roofline.main, ["show", "--png", str(tmp_path / "roofline.pdf")])
    assert refused.exit_code == 2 and "a chart is a PNG" in refused.output
