"""The bf16 ladder on tensor cores, cuBLAS beside it, and the roofs of its instructions: verified, timed, verified again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from kernels.catalogue import Kernel, KernelError, Problem
from kernels.gemm_bf16.ladder import LADDER
from kernels.gemm_bf16.problem import tolerance
from kernels.launch import load
from kernels.roofs import mma_probe, wgmma_probe
from measure import bf16, contest, mma_roof, verify
from measure.contest import Contender, launch_info, refused
from measure.gemm_bf16_model import traffic
from measure.ladder_record import line_record, rung_record
from measure.ladders import ladder_of, residency
from measure.records import Measurements
from measure.subject import Bench, Context, Raw, Subject

QUICK_PROBLEM = Problem(2048, 2048, 2048)
SEED = 1
SAMPLED = 256
LINE = "cublas"
WGMMA_CAPABILITY = 90  # the only one that has wgmma
SHAPES = (*verify.SHAPES, (2100, 300, 72), (2100, 3000, 72), (2100, 2999, 71))
"""The small products of odd sizes, one whose blocks do not fill their last group, and two of more tiles than any GPU has SMs,
whose last ones stand over."""

ORACLE = (
    f"float64 product of {SAMPLED} rows and {SAMPLED} columns on the GPU from the same bf16 inputs, the output's own rounding "
    f"taken off, all of the output finite after it was poisoned with NaN; and {len(SHAPES)} small products, most of odd sizes"
)


def problem_of(quick: bool) -> Problem:
    """The size that is measured: the ladder's own, or a small one for a quick look."""
    return QUICK_PROBLEM if quick else LADDER.problem


def collect(bench: Bench) -> Raw:
    """The roofs' probes, then the rungs and cuBLAS in one contest."""
    import cupy

    roof = mma_roof.collect(bench, mma_roof.MMA)
    bench.step(f"roof {mma_roof.MMA.name}")
    wgmma = None
    if bench.hardware.capability == WGMMA_CAPABILITY:
        wgmma = mma_roof.collect(bench, mma_roof.WGMMA)
    bench.step(f"roof {mma_roof.WGMMA.name}")
    problem = problem_of(bench.quick)
    a, b = bf16.inputs(cupy, problem.m, problem.n, problem.k, SEED)
    found = bf16.sampled_reference(cupy, a, b, SAMPLED, SEED)
    out = bf16.poisoned(cupy, problem.m, problem.n)

    def contender(name: str, run: Callable[[Any, Any, Any], None], **facts: Any) -> Contender:
        def check() -> float:
            out.fill(bf16.NAN)
            run(a, b, out)
            return bf16.sampled_error(cupy, out, found)

        return Contender(name, lambda: run(a, b, out), check, tolerance(problem), **facts)

    contenders = []
    for kernel in LADDER.rungs:
        try:
            item = load(kernel, problem)
        except KernelError as error:
            contenders.append(refused(kernel.name, str(error)))
            continue
        info = launch_info(kernel.entry, item.launch, item.cubin, kernel.sha256)
        odd_sizes = lambda kernel=kernel: small_shapes_right(kernel)  # noqa: E731
        contenders.append(contender(kernel.name, item.run, odd_sizes=odd_sizes, launches=(info,)))
    contenders.append(contender(LINE, cublas_product))
    return {"problem": [problem.m, problem.n, problem.k], "roof": roof, "wgmma_roof": wgmma, **contest.hold(bench, contenders)}


def small_shapes_right(kernel: Kernel) -> bool:
    """Whether a kernel gets every small product right, on the current GPU."""
    return all(verify.passes(error, limit) for error, limit in small_shape_errors(kernel))


def small_shape_errors(kernel: Kernel) -> list[tuple[float, float]]:
    """Error and tolerance of every small product on the current GPU."""
    import cupy

    found = []
    for index, (rows, cols, depth) in enumerate(SHAPES):
        problem = Problem(rows, cols, depth)
        a, b = bf16.inputs(cupy, rows, cols, depth, SEED + index)
        out = bf16.poisoned(cupy, rows, cols)
        load(kernel, problem).run(a, b, out)
        found.append((bf16.error(cupy, out, *bf16.reference(cupy, a, b)), kernel.tolerance(problem)))
    return found


def cublas_product(a: Any, b: Any, out: Any) -> None:
    """C = A B by cuBLAS on bf16 bits, fp32 sums.  cuBLAS counts by columns: it is asked for the transposed product B^T A^T."""
    import numpy
    from cupy.cuda import device
    from cupy_backends.cuda.api import runtime
    from cupy_backends.cuda.libs import cublas

    (m, k), n, kind = a.shape, b.shape[1], runtime.CUDA_R_16BF
    one, zero = (numpy.array(value, numpy.float32) for value in (1, 0))
    factors, matrices = (one.ctypes.data, zero.ctypes.data), (b.data.ptr, kind, n, a.data.ptr, kind, k)
    handle, plain = device.get_cublas_handle(), cublas.CUBLAS_OP_N
    result = (out.data.ptr, kind, n, cublas.CUBLAS_COMPUTE_32F, cublas.CUBLAS_GEMM_DEFAULT)
    cublas.gemmEx(handle, plain, plain, n, m, k, factors[0], *matrices, factors[1], *result)


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The ladder and its roof; the ladder's level is set once roofs and bytes are both there."""
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
            math_roof=kernel.math_roof,
        )
        for kernel in LADDER.rungs
        if kernel.name in contenders
    )
    line = line_record(contenders[LINE], name=LINE, title="cuBLAS bf16", work=problem.flop)
    ladder = replace(ladder_of(LADDER, problem, lines=(line,) if line else ()), rungs=rungs)
    roofs = {mma_roof.MMA.name: mma_roof.roof(raw["roof"], context, mma_roof.MMA)}
    if raw.get("wgmma_roof"):  # recordings of before have none
        roofs[mma_roof.WGMMA.name] = mma_roof.roof(raw["wgmma_roof"], context, mma_roof.WGMMA)
    return replace(
        found,
        roofs={**found.roofs, **roofs},
        ladders={**found.ladders, LADDER.name: ladder},
    )


SUBJECT = Subject(
    name=LADDER.name,
    title="Matrix multiply in bf16 on the tensor cores, and their roofs",
    key=f"ladders.{LADDER.name}",
    sources=(mma_probe.MMA.source, wgmma_probe.WGMMA.source, *(kernel.source for kernel in LADDER.rungs)),
    collect=collect,
    record=record,
    steps=lambda plan: 2 + contest.steps(len(LADDER.rungs) + 1, plan.rounds),
    min_arch=80,
)

ENTRIES = {kernel.name: (kernel.entry,) for kernel in LADDER.rungs}
"""Entry points of every rung, for the counters."""


def launch_all() -> None:
    """Every rung once, in order: what Nsight Compute counts."""
    import cupy

    problem = problem_of(quick=False)
    a, b = bf16.inputs(cupy, problem.m, problem.n, problem.k, SEED)
    out = bf16.poisoned(cupy, problem.m, problem.n)
    for rung in LADDER.rungs:
        with suppress(KernelError):  # what this GPU cannot run has no counters
            load(rung, problem).run(a, b, out)
        cupy.cuda.Device().synchronize()
