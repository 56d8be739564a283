"""A measurement as a whole: its file is valid after every subject, can be gone on with, and bad input costs no minutes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from measure import schema, suite
from measure.backend import Collected, Keeping, Live, Recorded
from measure.device import Hardware, describe, require_gpu
from measure.errors import MeasureError, NoGPUError, OutputError, SchemaError, Unsupported, VerificationError
from measure.records import Device, IndexTrace, Latency, Measurements, Quantity, Roof
from measure.subject import Bench, Context, Raw, Subject

GPU = Hardware("Test GPU", 90, 4, 1 << 20, 1 << 30, 1000.0, 1000.0, 1024, 2048, 65536, 228 * 1024, 227 * 1024)


class Described:
    """A GPU that is only described: it notes which subjects ran, and gives back what a test lays down."""

    def __init__(self, results: Mapping[str, Raw | BaseException]) -> None:
        self.hardware, self.device = GPU, describe(GPU)
        self.versions: Mapping[str, str | None] = {"driver": "1.2", "cupy": "14"}
        self.ran: list[str] = []
        self.results = dict(results)

    def collect(self, subject: Subject, quick: bool, step: Callable[[str], None]) -> Collected:
        self.ran.append(subject.name)
        step(subject.name)
        result = self.results.get(subject.name, {})
        if isinstance(result, MeasureError):
            return Collected(None, 0.1, "2026-12-02", absent=str(result))
        if isinstance(result, BaseException):
            raise result
        return Collected(result, 0.1, "2026-12-02")


def _roofs(found: Measurements, raw: Raw, context: Context) -> Measurements:
    roof = Roof("FMA", "math", measured=Quantity(raw.get("rate", 1.0), "TFLOP/s", "measured"))
    return replace(found, roofs={"fp32": roof})


def _latencies(found: Measurements, raw: Raw, context: Context) -> Measurements:
    return replace(found, latencies={"l1": Latency(Quantity(30.0, "cycles", "measured"))})


def _index(found: Measurements, raw: Raw, context: Context) -> Measurements:
    return replace(found, traces=replace(found.traces, index=IndexTrace(1, 1, 1, (0,))))


def _nothing(found: Measurements, raw: Raw, context: Context) -> Measurements:
    return found


def subject(name: str, key: str, record: Callable[[Measurements, Raw, Context], Measurements], **more: object) -> Subject:
    return Subject(name, name, key, (), lambda bench: {}, record, **more)  # type: ignore[arg-type]


SUBJECTS = (
    subject("roofs", "roofs", _roofs),
    subject("latencies", "latencies", _latencies),
    subject("index", "traces.index", _index),
    subject("launch", "traces.launch", _nothing),
    subject("counters", "counters", _nothing, needs=("launch",)),
)
WRONG = VerificationError("the traced launch did not do its work")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Described:
    """The suite with five small subjects, one of which fails."""
    monkeypatch.setattr(suite, "SUBJECTS", SUBJECTS)
    return Described({"launch": WRONG})


def test_every_subject_runs_once_and_a_failed_one_says_why(gpu: Described, tmp_path: Path) -> None:
    path = suite.measure(tmp_path / "gpu.json", backend=gpu)
    assert gpu.ran == ["roofs", "latencies", "index", "launch"]
    found = schema.load(path)
    assert found.device.name == "Test GPU" and found.traces.index is not None and found.run is not None
    assert found.run.driver == "1.2" and set(found.run.subjects) == {"roofs", "latencies", "index"}
    assert found.absent == {
        "traces.launch": "the traced launch did not do its work",
        "counters": "launch was not measured",
    }


class _Bare(Live):
    """The current GPU without one: only what `collect` makes of errors is real."""

    def __init__(self) -> None:
        self.hardware, self.device, self.versions = GPU, describe(GPU), {}
        self._watch = object()  # type: ignore[assignment]


def test_what_cuda_refuses_is_a_reason_and_a_mistake_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = type("OutOfMemoryError", (MemoryError,), {"__module__": "cupy.cuda.memory"})
    monkeypatch.setattr("measure.backend._release", lambda: None)
    monkeypatch.setattr("measure.backend.throttle_reasons", lambda: ("power cap",))

    def collected(error: Exception, min_arch: int = 75) -> Collected:
        def collect(bench: Bench) -> Raw:
            raise error

        return _Bare().collect(replace(SUBJECTS[0], collect=collect, min_arch=min_arch), False, lambda words: None)

    assert collected(refused("Out of memory allocating 8 GiB")).absent == "Out of memory allocating 8 GiB"
    assert collected(Unsupported("one GPU only")).absent == "one GPU only"
    assert collected(Unsupported("")).reasons == ("power cap",)
    assert "needs compute capability 10.0; this GPU has 9.0" in collected(ValueError(), min_arch=100).absent
    with pytest.raises(IndexError):
        collected(IndexError("a mistake"))


def test_a_second_run_measures_only_what_is_missing(gpu: Described, tmp_path: Path) -> None:
    suite.measure(tmp_path / "gpu.json", only=("roofs", "index"), backend=gpu)
    assert gpu.ran == ["roofs", "index"]
    gpu.ran.clear()
    suite.measure(tmp_path / "gpu.json", backend=gpu)
    assert gpu.ran == ["latencies", "launch"]
    assert schema.load(tmp_path / "gpu.json").roofs


def test_a_subject_whose_kernels_changed_is_measured_again(
    gpu: Described, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "kernel.cu"
    monkeypatch.setattr("kernels.catalogue.ROOT", tmp_path)
    monkeypatch.setattr(suite, "SUBJECTS", (replace(SUBJECTS[0], sources=(source,)), SUBJECTS[1]))
    source.write_text("int a;")
    suite.measure(tmp_path / "gpu.json", backend=gpu)
    source.write_text("int a;  // said better")
    suite.measure(tmp_path / "gpu.json", backend=gpu)
    assert gpu.ran == ["roofs", "latencies"]
    source.write_text("int b;")
    suite.measure(tmp_path / "gpu.json", backend=gpu)
    assert gpu.ran == ["roofs", "latencies", "roofs"]


def test_a_quick_look_is_replaced_by_a_full_measurement_and_never_replaces_one(gpu: Described, tmp_path: Path) -> None:
    suite.measure(tmp_path / "gpu.json", only=("roofs",), backend=gpu)
    suite.measure(tmp_path / "gpu.json", quick=True, backend=gpu)
    assert gpu.ran == ["roofs", "latencies", "index", "launch"]
    found = schema.load(tmp_path / "gpu.json").run
    assert found is not None and found.quick and not found.subjects["roofs"].quick
    gpu.ran.clear()
    suite.measure(tmp_path / "gpu.json", backend=gpu)
    assert gpu.ran == ["latencies", "index", "launch"]
    found = schema.load(tmp_path / "gpu.json").run
    assert found is not None and not found.quick


def test_what_was_measured_before_an_interruption_is_kept(gpu: Described, tmp_path: Path) -> None:
    gpu.results["latencies"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        suite.measure(tmp_path / "gpu.json", backend=gpu)
    assert set(schema.load(tmp_path / "gpu.json").roofs) == {"fp32"}
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["gpu.raw.json", "gpu.raw.json.gz"])
def test_a_recording_gives_the_same_file(gpu: Described, tmp_path: Path, name: str) -> None:
    gpu.results["roofs"] = {"rate": 65.2}
    live = suite.measure(tmp_path / "live.json", backend=gpu, keep_raw=tmp_path / name)
    recorded = Recorded(tmp_path / name)
    again = suite.measure(tmp_path / "again.json", backend=recorded)
    first, second = schema.load(live), schema.load(again)
    assert first.run is not None and second.run is not None
    assert replace(first, run=None) == replace(second, run=None)
    assert replace(first.run, seconds=None) == replace(second.run, seconds=None)
    assert second.absent["traces.launch"] == str(WRONG) and second.roofs["fp32"].measured == first.roofs["fp32"].measured


def test_a_recording_is_also_of_some_subjects(gpu: Described, tmp_path: Path) -> None:
    suite.measure(tmp_path / "live.json", only=("roofs",), backend=gpu, keep_raw=tmp_path / "raw.json")
    found = schema.load(suite.measure(tmp_path / "again.json", backend=Recorded(tmp_path / "raw.json")))
    assert found.roofs and found.absent["latencies"] == "not in the recording"


def test_what_is_no_recording_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"none\.json: no such recording"):
        Recorded(tmp_path / "none.json")
    for text in ("", "[]", "{}", '{"hardware": {"name": "X"}}'):
        (tmp_path / "raw.json").write_text(text)
        with pytest.raises(SchemaError, match=r"raw\.json: not a recording of a GPU") as caught:
            Recorded(tmp_path / "raw.json")
        assert "\n" not in str(caught.value)


def test_keeping_passes_the_gpu_on(gpu: Described, tmp_path: Path) -> None:
    kept = Keeping(gpu, tmp_path / "raw.json")
    assert (kept.hardware, kept.device, kept.versions) == (gpu.hardware, gpu.device, gpu.versions)
    assert isinstance(kept.device, Device)


def test_other_files_are_left_alone(gpu: Described, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("precious")
    with pytest.raises(OutputError, match="so it is left alone"):
        suite.measure(other, backend=gpu)
    assert other.read_text() == "precious" and gpu.ran == []
    suite.measure(tmp_path / "gpu.json", only=("roofs",), backend=gpu)
    elsewhere = replace(
        schema.load(tmp_path / "gpu.json"), device=replace(schema.load(tmp_path / "gpu.json").device, slug="x", name="X")
    )
    schema.save(elsewhere, tmp_path / "gpu.json")
    with pytest.raises(OutputError, match="holds measurements of X; give another file for Test GPU"):
        suite.measure(tmp_path / "gpu.json", backend=gpu)


def test_an_unwritable_output_is_found_before_anything_runs(gpu: Described, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"file/gpu\.json: cannot be written: "):
        suite.measure(tmp_path / "file" / "gpu.json", backend=gpu)
    with pytest.raises(OutputError, match="is a folder; give the name of a file"):
        suite.measure(tmp_path, backend=gpu)
    assert gpu.ran == []


def test_an_unknown_subject_is_named_with_the_known_ones(gpu: Described, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="unknown subject 'rofs'; known are roofs, latencies, index"):
        suite.measure(tmp_path / "gpu.json", only=("rofs",), backend=gpu)
    assert gpu.ran == []


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
