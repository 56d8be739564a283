"""Ladders of matrix products: verify, time, verify again, count bytes; one record a rung."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from kernels.build import Cubin
from kernels.catalogue import Kernel, KernelError, KernelLadder, Problem
from kernels.gemm_fp32.ladder import LADDER as GEMM_FP32
from kernels.gemm_fp32.ladder import autotuned
from kernels.gemm_fp32.warp_tile import WarpTile
from kernels.launch import load
from measure import autotune, contest, issue_model, verify
from measure.access_model import Residency, blocks_per_sm, model
from measure.contest import Contender, launch_info, refused
from measure.device import Hardware
from measure.ladder_record import line_record, rung_record
from measure.records import Ladder, Level, Measurements, Quantity, ReferenceLine, Source, Traffic
from measure.subject import Bench, Context, Raw, Subject

QUICK_PROBLEM = Problem(1024, 1024, 1024)
SEED = 1
ORACLE = (
    "float64 product on the GPU from the same fp32 inputs, uniform in [-1, 1), output poisoned with NaN; "
    f"and {len(verify.SHAPES)} small products of odd sizes"
)
LINE = "cublas"
AUTOTUNED = "autotuned"
CHOSEN = "GEMM_FP32_CHOSEN"
"""Environment variable that tells a child (Nsight Compute's) the constants that this process chose, as JSON."""


def problem_of(ladder: KernelLadder, quick: bool) -> Problem:
    """The size that is measured: the ladder's own, or a small one for a quick look."""
    return QUICK_PROBLEM if quick else ladder.problem


def collect(bench: Bench) -> Raw:
    """The fp32 ladder and cuBLAS in one contest."""
    import cupy

    problem = problem_of(GEMM_FP32, bench.quick)
    a, b = verify.inputs(cupy, problem.m, problem.n, problem.k, SEED)
    exact, scale = verify.reference(cupy, a, b)
    out = verify.poisoned(cupy, problem.m, problem.n)

    def contender(name: str, run: Callable[[Any, Any, Any], None], **facts: Any) -> Contender:
        def check() -> float:
            out.fill(cupy.nan)
            run(a, b, out)
            return verify.error(cupy, out, exact, scale)

        return Contender(name, lambda: run(a, b, out), check, **facts)

    def verified(kernel: Kernel, run: Callable[[Any, Any, Any], None]) -> bool:
        out.fill(cupy.nan)
        run(a, b, out)
        return verify.passes(verify.error(cupy, out, exact, scale), kernel.tolerance(problem))

    tried = autotune.collect(bench, problem, verified, (a, b, out))
    chosen = autotune.choose(tried)
    os.environ[CHOSEN] = json.dumps(asdict(chosen))
    contenders = []
    for kernel in rungs_with(chosen):
        try:
            item = load(kernel, problem)
        except KernelError as error:
            contenders.append(refused(kernel.name, str(error)))
            continue
        info = launch_info(kernel.entry, item.launch, item.cubin, kernel.sha256)
        contenders.append(
            contender(
                kernel.name,
                item.run,
                tolerance=kernel.tolerance(problem),
                odd_sizes=lambda kernel=kernel: small_shapes_right(kernel),
                launches=(info,),
                extra={"loop": _loop(kernel, item.cubin)},
            )
        )
    contenders.append(contender(LINE, lambda a, b, out: cupy.matmul(a, b, out=out), tolerance=None))
    return {"problem": [problem.m, problem.n, problem.k], "tried": tried, **contest.hold(bench, contenders)}


def rungs_with(tile: WarpTile) -> tuple[Kernel, ...]:
    """The ladder's rungs, the last one with the constants that were chosen."""
    return tuple(autotuned(tile) if kernel.name == AUTOTUNED else kernel for kernel in GEMM_FP32.rungs)


def _loop(kernel: Kernel, cubin: Cubin) -> dict[str, int] | None:
    """The main loop of a kernel's machine code; None where it is not understood."""
    try:
        return asdict(issue_model.read_loop(kernel, cubin))
    except KernelError:
        return None


def small_shapes_right(kernel: Kernel) -> bool:
    """Whether a kernel gets every small odd product right."""
    return all(verify.passes(error, tolerance) for error, tolerance in small_shape_errors(kernel))


def small_shape_errors(kernel: Kernel) -> list[tuple[float, float]]:
    """Error and tolerance of every small odd product on the current GPU."""
    import cupy

    found = []
    for index, (rows, cols, depth) in enumerate(verify.SHAPES):
        problem = Problem(rows, cols, depth)
        a, b = verify.inputs(cupy, rows, cols, depth, SEED + index)
        out = verify.poisoned(cupy, rows, cols)
        load(kernel, problem).run(a, b, out)
        found.append((verify.error(cupy, out, *verify.reference(cupy, a, b)), kernel.tolerance(problem)))
    return found


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The fp32 ladder; its level is set once roofs and bytes are both there."""
    problem = Problem(*raw["problem"])
    contenders = raw["contenders"]
    rungs = tuple(
        rung_record(
            contenders[kernel.name],
            name=kernel.name,
            title=kernel.title,
            change=kernel.change,
            work=problem.flop,
            traffic=traffic(kernel, problem, residency(contenders[kernel.name], context.hardware)),
            oracle=ORACLE,
            context=context,
            figures=_figures(kernel, problem, contenders[kernel.name], context.hardware, raw),
        )
        for kernel in rungs_with(autotune.choose(raw.get("tried", ())))
        if kernel.name in contenders
    )
    line = line_record(contenders[LINE], name=LINE, title="cuBLAS fp32", work=problem.flop)
    ladder = ladder_of(GEMM_FP32, problem, lines=(line,) if line else ())
    return replace(found, ladders={**found.ladders, GEMM_FP32.name: replace(ladder, rungs=rungs)})


def _figures(kernel: Kernel, problem: Problem, raw: Mapping[str, Any], hardware: Hardware, whole: Raw) -> dict[str, Quantity]:
    """Idle issue slots of a rung, and how many candidates its constants were chosen from."""
    found: dict[str, Quantity] = {}
    if raw["hot"]:
        loop = raw["extra"].get("loop")
        seconds = Quantity(statistics.median(raw["hot"]), "s", "measured")
        clock = Quantity(statistics.median(raw["clocks"]) if raw["clocks"] else hardware.clock, "MHz", "measured")
        read = issue_model.Loop(**loop) if loop else None
        if clock.value > 0:
            slots = issue_model.idle_issue_slots(kernel, problem, read, seconds, clock, hardware.sm_count)
            found["idle_issue_slots"] = slots
    if kernel.name == AUTOTUNED:
        right = sum(one["right"] for one in whole.get("tried", ()))
        words = "sets of constants that were tried on this GPU and gave the right product"
        found["candidates"] = Quantity(float(right), "", "measured", reference=words)
    return found


def ladder_of(ladder: KernelLadder, problem: Problem, lines: tuple[ReferenceLine, ...] = ()) -> Ladder:
    """The record of a ladder of matrix products, without its rungs."""
    reference = "2mnk: a multiplication and an addition for each product"
    return Ladder(
        title=ladder.title,
        problem=str(problem),
        dtype=ladder.dtype,
        work=Quantity(problem.flop, "FLOP", "derived", reference=reference),
        math_roof=ladder.math_roof,
        level=None,
        rungs=(),
        lines=lines,
    )


def residency(raw: Mapping[str, Any], hardware: Hardware) -> Residency | None:
    """How many blocks of a contender's (first) launch an SM holds at once; None where it did not run."""
    if not raw["launches"]:
        return None
    launch = raw["launches"][0]
    threads = launch["block"][0] * launch["block"][1] * launch["block"][2]
    limits = (hardware.threads_per_sm, hardware.registers_per_sm, hardware.shared_per_sm)
    return Residency(hardware.sm_count, blocks_per_sm(threads, launch["registers"], launch["shared"], *limits))


def traffic(kernel: Kernel, problem: Problem, at_once: Residency | None) -> dict[Level, Traffic]:
    """Modelled bytes of one launch by level."""
    found = model(kernel, problem, at_once)

    def modelled(value: float, source: Source, reference: str) -> Traffic:
        return Traffic(model=Quantity(value, "B", source, reference=reference))

    levels: dict[Level, Traffic] = {
        "load_path": modelled(found.load_path, "derived", "warp-access model: wavefronts x 128 B"),
        "l2": modelled(found.l2, "derived", "each block fetches its rows and columns once"),
        "algorithmic": modelled(found.algorithmic, "derived", "each input read once, the output written once"),
    }
    if found.dram is not None:
        levels["dram"] = modelled(found.dram, "estimated", "blocks that run at the same time share what they read")
    return levels


SUBJECT = Subject(
    name=GEMM_FP32.name,
    title="Matrix multiply in fp32 on the CUDA cores",
    key=f"ladders.{GEMM_FP32.name}",
    sources=tuple(kernel.source for kernel in GEMM_FP32.rungs),
    collect=collect,
    record=record,
    steps=lambda plan: contest.steps(len(GEMM_FP32.rungs) + 1, plan.rounds),
)


ENTRIES = {kernel.name: (kernel.entry,) for kernel in GEMM_FP32.rungs}
"""Entry points of every rung, for the counters."""


def counted_rungs() -> tuple[Kernel, ...]:
    """The rungs to count: the last with the constants that were chosen, and left out where none were."""
    given = os.environ.get(CHOSEN)
    if given is None:
        return tuple(kernel for kernel in GEMM_FP32.rungs if kernel.name != AUTOTUNED)
    return rungs_with(WarpTile(**json.loads(given)))


def launch_all() -> None:
    """Every rung once, in order: what Nsight Compute counts."""
    import cupy

    problem = problem_of(GEMM_FP32, quick=False)
    a, b = verify.inputs(cupy, problem.m, problem.n, problem.k, SEED)
    for rung in counted_rungs():
        out = verify.poisoned(cupy, problem.m, problem.n)
        load(rung, problem).run(a, b, out)
        cupy.cuda.Device().synchronize()
