"""A measurement as a whole: its file is valid after every subject, can be gone on with, and bad input costs no minutes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.catalogue import sources_sha256
from measure import schema, suite
from measure.device import Hardware, require_gpu
from measure.errors import MeasureError, NoGPUError, OutputError, VerificationError
from measure.progress import Progress
from measure.records import IndexTrace, Measurements, Quantity, Roof, Run
from measure.timing import Plan

GPU = Hardware("Test GPU", 90, 4, 1 << 20, 1 << 30, 1000.0, 1000.0, 1024, 2048, 65536, 228 * 1024, 227 * 1024)
Subject = Callable[[Measurements, Hardware, Plan, bool, Progress], Measurements]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The suite on a GPU that is only described: subjects note that they ran and leave a record."""
    log: list[str] = []

    def subject(name: str) -> Subject:
        def measured(found: Measurements, hardware: Hardware, plan: Plan, quick: bool, show: Progress) -> Measurements:
            log.append(name)
            show.step(name)
            if name == "roofs":
                return replace(found, roofs={"fp32": Roof("FMA", "math", measured=Quantity(1.0, "TFLOP/s", "measured"))})
            if name == "latencies":
                return replace(found, latencies={"l1": Quantity(30.0, "cycles", "measured")})
            if name == "index":
                return replace(found, traces=replace(found.traces, index=IndexTrace(1, 1, 1, (0,))))
            if name == "launch":
                raise VerificationError("the traced launch did not do its work")
            return found

        return measured

    def run(found: Measurements, quick: bool, seconds: float) -> Run:
        return Run("2026-12-02", kernels_sha256=sources_sha256(), quick=quick, seconds=seconds)

    monkeypatch.setattr(suite, "require_gpu", lambda: GPU)
    monkeypatch.setattr(suite, "_MEASURE", {name: subject(name) for name in suite.SUBJECTS})
    monkeypatch.setattr(suite, "_run", run)
    return log


def test_every_subject_runs_once_and_a_failed_one_says_why(ran: list[str], tmp_path: Path) -> None:
    path = suite.measure(tmp_path / "gpu.json")
    assert ran == list(suite.SUBJECTS)
    found = schema.load(path)
    assert found.device.name == "Test GPU" and found.traces.index is not None and found.traces.launch is None
    assert found.absent["traces.launch"] == "the traced launch did not do its work"


def test_what_cuda_refuses_is_a_reason_and_a_mistake_is_not(
    ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = type("OutOfMemoryError", (MemoryError,), {"__module__": "cupy.cuda.memory"})

    def raising(error: Exception) -> Subject:
        def measured(*_: object) -> Measurements:
            raise error

        return measured

    monkeypatch.setitem(suite._MEASURE, "roofs", raising(refused("Out of memory allocating 8 GiB")))
    found = schema.load(suite.measure(tmp_path / "gpu.json", only=("roofs", "index")))
    assert found.absent == {"roofs": "Out of memory allocating 8 GiB"} and found.traces.index is not None
    monkeypatch.setitem(suite._MEASURE, "roofs", raising(IndexError("a mistake")))
    with pytest.raises(IndexError):
        suite.measure(tmp_path / "gpu.json", only=("roofs",))


def test_a_second_run_measures_only_what_is_missing(ran: list[str], tmp_path: Path) -> None:
    suite.measure(tmp_path / "gpu.json", only=("roofs", "index"))
    assert ran == ["roofs", "index"]
    ran.clear()
    suite.measure(tmp_path / "gpu.json")
    assert "roofs" not in ran and "index" not in ran and "latencies" in ran
    assert schema.load(tmp_path / "gpu.json").roofs


def test_a_quick_look_does_not_go_on_with_a_full_measurement(ran: list[str], tmp_path: Path) -> None:
    suite.measure(tmp_path / "gpu.json", only=("roofs",))
    suite.measure(tmp_path / "gpu.json", only=("index",), quick=True)
    found = schema.load(tmp_path / "gpu.json")
    assert not found.roofs and found.run is not None and found.run.quick


def test_what_was_measured_before_an_interruption_is_kept(
    ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Measurements:
        raise KeyboardInterrupt

    monkeypatch.setitem(suite._MEASURE, "latencies", interrupted)
    with pytest.raises(KeyboardInterrupt):
        suite.measure(tmp_path / "gpu.json")
    assert set(schema.load(tmp_path / "gpu.json").roofs) == {"fp32"}
    assert len(list(tmp_path.iterdir())) == 1


def test_other_files_are_left_alone(ran: list[str], tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("precious")
    with pytest.raises(OutputError, match="so it is left alone"):
        suite.measure(other)
    assert other.read_text() == "precious" and ran == []
    suite.measure(tmp_path / "gpu.json", only=("roofs",))
    elsewhere = replace(
        schema.load(tmp_path / "gpu.json"), device=replace(schema.load(tmp_path / "gpu.json").device, slug="x", name="X")
    )
    schema.save(elsewhere, tmp_path / "gpu.json")
    with pytest.raises(OutputError, match="holds measurements of X; give another file for Test GPU"):
        suite.measure(tmp_path / "gpu.json")


def test_an_unwritable_output_is_found_before_anything_runs(ran: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"file/gpu\.json: cannot be written: "):
        suite.measure(tmp_path / "file" / "gpu.json")
    with pytest.raises(OutputError, match="is a folder; give the name of a file"):
        suite.measure(tmp_path)
    assert ran == []


def test_an_unknown_subject_is_named_with_the_known_ones(ran: list[str], tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="unknown subject 'rofs'; known are roofs, latencies, gemm_fp32"):
        suite.measure(tmp_path / "gpu.json", only=("rofs",))
    assert ran == []


NO_GPU = importlib.util.find_spec("cupy") is None


@pytest.mark.skipif(not NO_GPU, reason="there may be a GPU here")
def test_no_gpu_is_one_clear_line(tmp_path: Path, root: Path) -> None:
    with pytest.raises(NoGPUError, match=r"^no GPU can be measured: CuPy is not installed"):
        require_gpu()
    out = tmp_path / "gpu.json"
    command = [sys.executable, "-m", "measure", "-o", str(out)]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert result.returncode == 2 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and result.stderr.startswith("measure: no GPU can be measured")
    assert not out.exists()
