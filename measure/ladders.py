"""A ladder on the GPU: verify, time, verify again, count bytes; one record a rung."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kernels.catalogue import Kernel, KernelLadder, Problem
from kernels.gemm_fp32.ladder import LADDER as GEMM_FP32
from kernels.launch import Loaded, load
from measure import verify
from measure.access_model import Residency, blocks_per_sm, model
from measure.device import Hardware
from measure.records import Build, Ladder, Level, Quantity, ReferenceLine, Rung, Source, Traffic, Verification
from measure.timing import Plan, Run, Stopwatch, Timing, summarise, time_all

LADDERS: Mapping[str, KernelLadder] = {GEMM_FP32.name: GEMM_FP32}
QUICK_PROBLEM = Problem(1024, 1024, 1024)
CLOCK_SHARE = 0.9
SEED = 1
ORACLE = (
    "float64 product on the GPU from the same fp32 inputs, uniform in [-1, 1), output poisoned with NaN; "
    f"and {len(verify.SHAPES)} small products of odd sizes"
)


def problem_of(ladder: KernelLadder, quick: bool) -> Problem:
    """The size that is measured: the ladder's own, or a small one for a quick look."""
    return QUICK_PROBLEM if quick else ladder.problem


def measure_ladder(
    ladder: KernelLadder, hardware: Hardware, plan: Plan, problem: Problem, done: Callable[[str], None]
) -> Ladder:
    """Measure every rung; one that computes a wrong result, before or after, gets no rate.  `level` is the caller's to set."""
    import cupy

    loaded = {rung.name: load(rung, problem) for rung in ladder.rungs}
    a, b = verify.inputs(cupy, problem.m, problem.n, problem.k, SEED)
    exact, scale = verify.reference(cupy, a, b)
    out = verify.poisoned(cupy, problem.m, problem.n)

    def check(run: Run) -> float:
        out.fill(cupy.nan)
        run()
        return verify.error(cupy, out, exact, scale)

    def launch(item: Loaded) -> Run:
        return lambda: item.run(a, b, out)

    runs = {name: launch(item) for name, item in loaded.items()}
    runs["cublas"] = lambda: cupy.matmul(a, b, out=out)
    before = {name: check(run) for name, run in runs.items()}
    right = {
        name: verify.passes(before[name], ladder[name].tolerance(problem)) and small_shapes_right(ladder[name])
        for name in loaded
    }
    done("verify")
    timings = time_all(Stopwatch(hardware), {name: run for name, run in runs.items() if right.get(name, True)}, plan, done)
    after = {name: check(runs[name]) for name in timings}

    rungs = []
    for name, item in loaded.items():
        tolerance = item.kernel.tolerance(problem)
        error_after = after.get(name, before[name])
        passed = right[name] and verify.passes(error_after, tolerance)
        verification = Verification(passed, _finite(before[name]), _finite(error_after), tolerance, ORACLE)
        rungs.append(_rung(item, hardware, verification, timings.get(name)))
    return Ladder(
        title=ladder.title,
        problem=str(problem),
        dtype=ladder.dtype,
        work=Quantity(problem.flop, "FLOP", "derived", reference="2mnk: a multiplication and an addition for each product"),
        math_roof=ladder.math_roof,
        level=None,
        rungs=tuple(rungs),
        lines=(
            ReferenceLine("cuBLAS fp32", rate(problem.flop, timings["cublas"].hot), rounded(timings["cublas"].hot), "cublas"),
        ),
    )


def small_shapes_right(kernel: Kernel) -> bool:
    """Whether a kernel gets every small odd product right."""
    import cupy

    for index, (rows, cols, depth) in enumerate(verify.SHAPES):
        problem = Problem(rows, cols, depth)
        a, b = verify.inputs(cupy, rows, cols, depth, SEED + index)
        out = verify.poisoned(cupy, rows, cols)
        load(kernel, problem).run(a, b, out)
        if not verify.passes(verify.error(cupy, out, *verify.reference(cupy, a, b)), kernel.tolerance(problem)):
            return False
    return True


def rate(flop: float, seconds: Sequence[float]) -> Quantity:
    """TFLOP/s from seconds a launch: the quartiles change places, as the shortest time is the highest rate."""
    return summarise([flop / second / 1e12 for second in seconds], "TFLOP/s")


def rounded(samples: Sequence[float]) -> tuple[float, ...]:
    """Raw samples to five digits, well below their noise."""
    return tuple(float(f"{sample:.5g}") for sample in samples)


def with_counters(ladder: Ladder, counters: Mapping[str, Mapping[str, Quantity]]) -> Ladder:
    """The ladder with counted bytes beside the modelled ones, and the other counters in their own field."""
    rungs = []
    for rung in ladder.rungs:
        found = dict(counters.get(rung.name, {}))
        levels: tuple[Level, ...] = ("load_path", "l2", "dram")
        traffic = dict(rung.traffic)
        for level in levels:
            if level in found:
                traffic[level] = replace(traffic.get(level, Traffic()), counters=found.pop(level))
        rungs.append(replace(rung, traffic=traffic, counters=found))
    return replace(ladder, rungs=tuple(rungs))


def _finite(error: float) -> float:
    """A file holds no infinity: an error without bound is written as the largest float."""
    return min(error, 1.7976931348623157e308)


def _rung(item: Loaded, hardware: Hardware, verification: Verification, timing: Timing | None) -> Rung:
    kernel, problem, launch, resources = item.kernel, item.problem, item.launch, item.resources
    resident = blocks_per_sm(
        launch.threads,
        resources.registers,
        resources.shared + launch.dynamic_shared,
        hardware.threads_per_sm,
        hardware.registers_per_sm,
        hardware.shared_per_sm,
    )
    rung = Rung(
        name=kernel.name,
        title=kernel.title,
        change=kernel.change,
        traffic=_traffic(kernel, problem, Residency(hardware.sm_count, resident)),
        verification=verification,
        build=Build(
            grid=launch.grid,
            block=launch.block,
            registers=resources.registers,
            spill_bytes=resources.spills,
            shared_bytes=resources.shared + launch.dynamic_shared,
            options=item.cubin.options,
            source_sha256=kernel.sha256,
        ),
    )
    if timing is None or not verification.passed:
        return rung
    return replace(
        rung,
        rate=rate(problem.flop, timing.hot),
        time=summarise(timing.hot, "s", "back to back"),
        time_cold=summarise(timing.cold, "s", "L2 overwritten before each launch"),
        clock=timing.clock,
        throttled=timing.clock is not None and timing.clock.value < CLOCK_SHARE * hardware.clock,
        samples=rounded(timing.hot),
        samples_cold=rounded(timing.cold),
    )


def _traffic(kernel: Kernel, problem: Problem, residency: Residency) -> dict[Level, Traffic]:
    found = model(kernel, problem, residency)

    def modelled(value: float, source: Source, reference: str) -> Traffic:
        return Traffic(model=Quantity(value, "B", source, reference=reference))

    traffic: dict[Level, Traffic] = {
        "load_path": modelled(found.load_path, "derived", "warp-access model: wavefronts x 128 B"),
        "l2": modelled(found.l2, "derived", "each block fetches its rows and columns once"),
        "algorithmic": modelled(found.algorithmic, "derived", "each input read once, the output written once"),
    }
    if found.dram is not None:
        traffic["dram"] = modelled(found.dram, "estimated", "blocks that run at the same time share what they read")
    return traffic
