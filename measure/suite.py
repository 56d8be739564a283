"""A whole measurement of one GPU: subject by subject into one file, which is valid after each and can be gone on with."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kernels.catalogue import KernelError, sources_sha256
from measure import schema
from measure.device import Hardware, describe, driver_version, explain, python_version, require_gpu, throttle_reasons
from measure.errors import MeasureError, NoGPUError, OutputError, SchemaError
from measure.progress import Progress, progress
from measure.records import SCHEMA_VERSION, Measurements, Run
from measure.roofline_model import binding_level
from measure.timing import FULL, QUICK, Plan, Stopwatch, summarise

SUBJECTS = ("roofs", "latencies", "gemm_fp32", "counters", "index", "launch", "divergence")
"""What can be measured, in order; `counters` adds to gemm_fp32 and is skipped where Nsight Compute is not to be had."""

ROOFS_STEPS = 6
LATENCY_STEPS = 5
LADDER_TURNS = 7  # six rungs and cuBLAS
KEYS = {"roofs": "roofs", "latencies": "latencies", "gemm_fp32": "ladders.gemm_fp32", "counters": "counters"}


def default_output(slug: str) -> Path:
    """Where a measurement goes when nobody says where."""
    return Path("out") / f"{slug}.json"


def measure(out: Path | None = None, only: Sequence[str] = (), quick: bool = False) -> Path:
    """Measure the current GPU and write one file; returns its path.

    `only` names subjects out of SUBJECTS.  A file that is there already, of the same GPU, kernels and thoroughness, keeps its
    other subjects, and without `only` just what it lacks is measured.  Raises NoGPUError, OutputError, MeasureError.
    """
    unknown = [name for name in only if name not in SUBJECTS]
    if unknown:
        raise MeasureError(f"unknown subject {unknown[0]!r}; known are {', '.join(SUBJECTS)}")
    if out is not None:
        check_writable(out)
    hardware = require_gpu()
    path = out or default_output(hardware.slug)
    check_writable(path)
    plan = QUICK if quick else FULL
    found = _begin(path, hardware, quick)
    wanted = tuple(only) if only else tuple(name for name in SUBJECTS if not _has(found, name))
    steps = sum(
        {"roofs": ROOFS_STEPS, "latencies": LATENCY_STEPS, "gemm_fp32": 1 + plan.rounds * LADDER_TURNS}.get(name, 1)
        for name in wanted
    )
    began = time.monotonic()
    with progress(steps, f"measuring {hardware.name}") as show:
        for name in wanted:
            found = _with_subject(found, name, hardware, plan, quick, show)
            found = _levelled(replace(found, run=_run(found, quick, time.monotonic() - began)))
            schema.save(found, path)
    return path


def check_writable(path: Path) -> None:
    """Raise OutputError now rather than after minutes of measuring; makes the folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise OutputError(f"{path}: is a folder; give the name of a file")
        handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


def _begin(path: Path, hardware: Hardware, quick: bool) -> Measurements:
    """What is there to go on with, or an empty document."""
    device = describe(hardware)
    fresh = Measurements(schema=SCHEMA_VERSION, device=device, run=None, provenance=f"Measured on one {hardware.name}.")
    if not path.exists():
        return fresh
    try:
        before = schema.load(path)
    except SchemaError as error:
        raise OutputError(f"{path}: holds something else than measurements, so it is left alone ({error})") from None
    same = before.run is not None and before.run.kernels_sha256 == sources_sha256() and before.run.quick == quick
    if before.device.slug != device.slug:
        raise OutputError(f"{path}: holds measurements of {before.device.name}; give another file for {device.name}")
    return replace(before, device=device) if same else fresh


def _has(found: Measurements, name: str) -> bool:
    if name in ("roofs", "latencies"):
        return bool(getattr(found, name))
    if name == "gemm_fp32":
        return name in found.ladders
    if name == "counters":
        ladder = found.ladders.get("gemm_fp32")
        return ladder is not None and any(rung.counters for rung in ladder.rungs)
    return getattr(found.traces, name) is not None


def _with_subject(found: Measurements, name: str, hardware: Hardware, plan: Plan, quick: bool, show: Progress) -> Measurements:
    """The document with one more subject, or with the reason why it is missing."""
    key = KEYS.get(name, f"traces.{name}")
    try:
        result = _MEASURE[name](found, hardware, plan, quick, show)
    except NoGPUError:
        raise
    except Exception as error:
        if not isinstance(error, MeasureError | KernelError) and not type(error).__module__.startswith("cupy"):
            raise  # a mistake of ours; what CUDA refuses (memory, a lost device) is a reason like any other
        reason = explain(str(error))
        show.step(f"{name}: {reason}")
        return replace(found, absent={**found.absent, key: reason})
    return replace(result, absent={subject: reason for subject, reason in result.absent.items() if subject != key})


def _roofs(found: Measurements, hardware: Hardware, plan: Plan, quick: bool, show: Progress) -> Measurements:
    from measure.roofs import measure_roofs

    roofs, clocks = measure_roofs(hardware, plan, quick, lambda name: show.step(f"roof {name}"))
    return _clocked(replace(found, roofs=roofs), clocks, hardware)


def _latencies(found: Measurements, hardware: Hardware, plan: Plan, quick: bool, show: Progress) -> Measurements:
    from measure.latency import measure_latencies

    return replace(found, latencies=measure_latencies(hardware, quick, lambda name: show.step(f"latency {name}")))


def _gemm_fp32(found: Measurements, hardware: Hardware, plan: Plan, quick: bool, show: Progress) -> Measurements:
    from measure.ladders import LADDERS, measure_ladder, problem_of

    ladder = LADDERS["gemm_fp32"]
    record = measure_ladder(ladder, hardware, plan, problem_of(ladder, quick), lambda name: show.step(f"rung {name}"))
    clocks = [rung.clock.value for rung in record.rungs if rung.clock is not None]
    return _clocked(replace(found, ladders={**found.ladders, ladder.name: record}), clocks, hardware)


def _counters(found: Measurements, hardware: Hardware, plan: Plan, quick: bool, show: Progress) -> Measurements:
    from measure import counters
    from measure.ladders import LADDERS, problem_of, with_counters

    ladder = LADDERS["gemm_fp32"]
    if ladder.name not in found.ladders:
        raise MeasureError("the ladder gemm_fp32 was not measured")
    counted = counters.read(ladder, problem_of(ladder, quick))
    show.step("counters")
    return replace(found, ladders={**found.ladders, ladder.name: with_counters(found.ladders[ladder.name], counted)})


def _index(found: Measurements, hardware: Hardware, plan: Plan, quick: bool, show: Progress) -> Measurements:
    from measure.trace import index_trace

    trace = index_trace()
    show.step("index trace")
    return replace(found, traces=replace(found.traces, index=trace))


def _launch(found: Measurements, hardware: Hardware, plan: Plan, quick: bool, show: Progress) -> Measurements:
    from measure.trace import launch_trace

    trace = launch_trace(hardware)
    show.step("launch trace")
    return replace(found, traces=replace(found.traces, launch=trace))


def _divergence(found: Measurements, hardware: Hardware, plan: Plan, quick: bool, show: Progress) -> Measurements:
    from measure.trace import divergence_trace

    trace = divergence_trace(Stopwatch(hardware))
    show.step("divergence trace")
    return replace(found, traces=replace(found.traces, divergence=trace))


_MEASURE: dict[str, Callable[[Measurements, Hardware, Plan, bool, Progress], Measurements]] = {
    "roofs": _roofs,
    "latencies": _latencies,
    "gemm_fp32": _gemm_fp32,
    "counters": _counters,
    "index": _index,
    "launch": _launch,
    "divergence": _divergence,
}


def _clocked(found: Measurements, clocks: Sequence[float], hardware: Hardware) -> Measurements:
    """Note the SM clock over the rounds, and whether it was held down."""
    run = found.run or Run(date=_today())
    if clocks:
        run = replace(run, clock=summarise(clocks, "MHz", "cycles over nanoseconds on every SM, a sample a round"))
    reasons = throttle_reasons()
    if reasons:
        note = f"clock held down by {', '.join(reasons)}"
        run = replace(run, throttled=True, notes=run.notes if note in run.notes else (*run.notes, note))
    return replace(found, run=run)


def _levelled(found: Measurements) -> Measurements:
    """Every ladder at the memory level that binds it, as soon as roofs and bytes are there."""
    ladders = {name: replace(ladder, level=binding_level(ladder, found.roofs)) for name, ladder in found.ladders.items()}
    return replace(found, ladders=ladders)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _run(found: Measurements, quick: bool, seconds: float) -> Run:
    """The record of the run so far, with every version that can change a figure."""
    import cupy
    import numpy

    from kernels.build import nvrtc_version

    def cuda(number: int) -> str:
        return f"{number // 1000}.{number % 1000 // 10}"

    return replace(
        found.run or Run(date=_today()),
        date=_today(),
        driver=driver_version(),
        cuda_driver=cuda(cupy.cuda.runtime.driverGetVersion()),
        cuda_runtime=cuda(cupy.cuda.runtime.runtimeGetVersion()),
        nvrtc=".".join(map(str, nvrtc_version())),
        cupy=cupy.__version__,
        numpy=numpy.__version__,
        python=python_version(),
        system=f"{platform.system()} {platform.machine()}",
        kernels_sha256=sources_sha256(),
        quick=quick,
        seconds=round(seconds, 1),
    )
