"""`measure --replay` and `--keep-raw` as a user meets them: a table, a file, an exit code, one line where it fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import roofline
from measure import schema
from measure.__main__ import main

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import replayed as rec


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["measure", *words])
    return main()


def test_a_replay_prints_the_table_and_writes_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "gpu.json"
    assert run(monkeypatch, "--replay", str(rec.PATH), "-o", str(out)) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("NVIDIA H200") and printed.endswith(f"written to {out}\n")
    found = schema.load(out)
    for rung in found.ladders["gemm_fp32"].rungs:
        assert rung.title in printed
    assert [path.name for path in tmp_path.iterdir()] == ["gpu.json"]


def test_only_what_is_asked_for_is_replayed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "gpu.json"
    assert run(monkeypatch, "--replay", str(rec.PATH), "-o", str(out), "--only", "roofs") == 0
    found = schema.load(out)
    assert found.roofs and not found.ladders and found.run is not None and set(found.run.subjects) == {"roofs"}


def test_raw_samples_are_kept_beside_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    assert run(monkeypatch, "--replay", str(rec.PATH), "-o", str(tmp_path / "one.json"), "--keep-raw", str(kept)) == 0
    assert run(monkeypatch, "--replay", str(kept), "-o", str(tmp_path / "two.json")) == 0
    one, two = schema.load(tmp_path / "one.json"), schema.load(tmp_path / "two.json")
    assert one.ladders == two.ladders and one.roofs == two.roofs


def test_a_bad_recording_is_one_line_and_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    document = rec.recorded()
    del document["hardware"]["sm_count"]
    bad, out = rec.write(document, tmp_path / "bad.json"), tmp_path / "gpu.json"
    for path in (bad, tmp_path / "missing.json"):
        assert run(monkeypatch, "--replay", str(path), "-o", str(out)) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"measure: {path}: ") and error.count("\n") == 1
    assert not out.exists()


def test_raw_samples_that_do_not_fit_their_subject_are_said_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A recording of another version, whose contest lacks a field: no traceback, and no file that pretends."""
    document = rec.recorded()
    for _, _, one in rec.contenders(document):
        del one["tolerance"]
    bad = rec.write(document, tmp_path / "bad.json")
    code = run(monkeypatch, "--replay", str(bad), "-o", str(tmp_path / "gpu.json"), "--only", "gemm_fp32")
    error = capsys.readouterr().err
    assert code == 2 and "gemm_fp32" in error and "Traceback" not in error


def test_the_film_s_command_line_replays_too(tmp_path: Path) -> None:
    out = tmp_path / "gpu.json"
    result = CliRunner().invoke(roofline.main, ["measure", "--replay", str(rec.PATH), "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert "NVIDIA H200" in result.output and schema.load(out).ladders


def test_a_replay_needs_neither_a_gpu_nor_the_film(root: Path, tmp_path: Path) -> None:
    code = f"""
import sys
sys.argv = ["measure", "--replay", {str(rec.PATH)!r}, "-o", {str(tmp_path / "gpu.json")!r}]
from measure.__main__ import main
assert main() == 0
print(sorted({{"cupy", "manim", "numba", "scipy", "matplotlib"}} & set(sys.modules)))
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert result.stdout.endswith("[]\n")
