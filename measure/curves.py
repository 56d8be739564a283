"""Curves over sizes: the rungs that lead beside the vendor's library, products of 512 to 16384 and attention of as many keys.

A ladder is measured at one size; here its leading rungs are taken over sizes, since a kernel may win where the GPU is full and
lose where it is not.  At every size all take turns, each verified before and after at that size; what is wrong has no figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kernels.attention.ladder import LADDER as ATTENTION
from kernels.attention.problem import HEAD_DIM, Attention
from kernels.catalogue import Kernel, KernelError, Problem
from kernels.gemm_bf16.ladder import LADDER as GEMM_BF16
from kernels.gemm_fp32.ladder import LADDER as GEMM_FP32
from kernels.gemm_fp32.ladder import autotuned
from kernels.launch import load
from measure import attention, attention_check, attention_vendor, autotune, bf16, contest, gemm_bf16, verify
from measure.contest import Contender, refused
from measure.errors import MeasureError
from measure.ladder_record import rate, verification_record
from measure.ladders import AUTOTUNED
from measure.records import Measurements, Quantity, Series, Sweep, Verification
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import Plan

SIZES = (512, 1024, 2048, 4096, 8192, 16384)
QUICK_SIZES = (512, 1024, 2048)
PLAN = Plan(warm=0.06, sample=0.005, samples=6, total=0.06, limit=1.5, precision=0.02, rounds=3, cold=3)
QUICK_PLAN = Plan(warm=0.01, sample=0.001, samples=2, total=0.0, limit=0.5, precision=0.2, rounds=1, cold=1)
SEED = 3
SAMPLED = 64
HEADS, TOKENS = 16, 32768
"""Attention of every length has as many tokens in all, as the FlashAttention papers have it (Dao 2023, section 4.1)."""

MEMORY_SHARE = 0.4
LIBRARY = "cublas"

RUNGS: Mapping[str, tuple[str, ...]] = {
    "gemm_bf16": ("deep_tiles", "warpgroup", "clusters"),
    "gemm_fp32": ("warp_tile", "autotuned"),
    "attention": ("pipelined", "ahead", "persistent"),
    "attention_causal": ("pipelined", "ahead", "persistent"),
}
"""The rungs that lead somewhere, by curve: those that run on any GPU, and those of sm_90a."""

TUNING = 3.0
"""Seconds in which the constants of the last fp32 rung are chosen anew at each size: a small product needs small tiles."""

Making = Callable[[Bench, Any], list[Contender]]


def sizes(quick: bool) -> tuple[int, ...]:
    """What is measured."""
    return QUICK_SIZES if quick else SIZES


def problem_of(curve: str, size: int) -> Problem | Attention:
    """A product of matrices of this size, or attention of so many keys."""
    if curve.startswith("attention"):
        return Attention(max(1, TOKENS // size), HEADS, size, curve == "attention_causal")
    return Problem(size, size, size)


def needed(curve: str, size: int) -> int:
    """Bytes of device memory for a size: inputs, output and what checks them takes at most."""
    problem = problem_of(curve, size)
    if isinstance(problem, Attention):
        return 8 * problem.compulsory_bytes
    return 8 * problem.compulsory_bytes if curve == "gemm_fp32" else 4 * problem.compulsory_bytes


def collect(bench: Bench) -> Raw:
    """Every curve size by size; a size that does not fit into memory is left out."""
    import cupy

    found: Raw = {}
    plan = QUICK_PLAN if bench.quick else PLAN
    quiet = replace(bench, plan=plan, step=lambda words: None)
    for curve, make in MAKERS.items():
        found[curve] = {}
        for size in sizes(bench.quick):
            if needed(curve, size) <= MEMORY_SHARE * cupy.cuda.Device().mem_info[0]:
                found[curve][str(size)] = contest.hold(quiet, make(quiet, problem_of(curve, size)))["contenders"]
                cupy.get_default_memory_pool().free_all_blocks()
            bench.step(f"{curve} of {size}")
    return {"curves": found}


def _products_bf16(bench: Bench, problem: Any) -> list[Contender]:
    import cupy

    del bench
    a, b = bf16.inputs(cupy, problem.m, problem.n, problem.k, SEED)
    exact = bf16.sampled_reference(cupy, a, b, SAMPLED, SEED)
    out = bf16.poisoned(cupy, problem.m, problem.n)

    def checked(run: Callable[[Any, Any, Any], None]) -> float:
        out.fill(bf16.NAN)
        run(a, b, out)
        return bf16.sampled_error(cupy, out, exact)

    return list(
        _products([GEMM_BF16[name] for name in RUNGS["gemm_bf16"]], problem, (a, b, out), checked, gemm_bf16.cublas_product)
    )


def _products_fp32(bench: Bench, problem: Any) -> list[Contender]:
    import cupy

    a, b = verify.inputs(cupy, problem.m, problem.n, problem.k, SEED)
    rows = bf16.sample(problem.m, SAMPLED, SEED)
    exact = verify.reference(cupy, a[rows], b)
    out = verify.poisoned(cupy, problem.m, problem.n)

    def checked(run: Callable[[Any, Any, Any], None]) -> float:
        out.fill(cupy.nan)
        run(a, b, out)
        whole = bool(cupy.isfinite(out).all())
        return verify.error(cupy, out[rows], *exact) if whole else float("inf")

    def library(a: Any, b: Any, out: Any) -> None:
        cupy.matmul(a, b, out=out)

    def verified(kernel: Kernel, run: Callable[[Any, Any, Any], None]) -> bool:
        return verify.passes(checked(run), kernel.tolerance(problem))

    chosen = autotune.choose(autotune.collect(bench, problem, verified, (a, b, out), TUNING))
    kernels = (*(GEMM_FP32[name] for name in RUNGS["gemm_fp32"] if name != AUTOTUNED), autotuned(chosen))
    return list(_products(kernels, problem, (a, b, out), checked, library))


def _products(
    kernels: Iterable[Kernel],
    problem: Problem,
    arrays: tuple[Any, Any, Any],
    checked: Callable[[Callable[[Any, Any, Any], None]], float],
    library: Callable[[Any, Any, Any], None],
) -> Iterable[Contender]:
    for kernel in kernels:
        try:
            item = load(kernel, problem)
        except KernelError as error:
            yield refused(kernel.name, str(error))
            continue
        yield Contender(kernel.name, partial(item.run, *arrays), partial(checked, item.run), kernel.tolerance(problem))
    yield Contender(LIBRARY, lambda: library(*arrays), lambda: checked(library), None)


def _attention(bench: Bench, problem: Any) -> list[Contender]:
    import cupy

    del bench
    shape = (problem.all_heads, problem.seq, HEAD_DIM)
    arrays = {"O": cupy.empty(shape, cupy.uint16)}
    arrays["Q"], arrays["K"], arrays["V"] = attention_check.inputs(cupy, problem, attention_check.SPREAD, SEED)
    sample = attention_check.reference(cupy, problem, arrays["Q"], arrays["K"], arrays["V"], SEED)
    found = []
    for name in RUNGS["attention"]:
        routine = ATTENTION[name]
        try:
            loaded = attention.load(routine, problem)
        except KernelError as error:
            found.append(refused(name, str(error)))
            continue
        check = partial(attention.checked, cupy, loaded, arrays, sample)
        found.append(Contender(name, partial(loaded.run, arrays), check, routine.tolerance(problem)))
    vendors = attention_vendor.runs(problem, arrays["Q"], arrays["K"], arrays["V"])
    return [*found, *(Contender(name, run, lambda: 0.0, None) for name, run in vendors.items())]


MAKERS: Mapping[str, Making] = {
    "gemm_bf16": _products_bf16,
    "gemm_fp32": _products_fp32,
    "attention": _attention,
    "attention_causal": _attention,
}

TITLES: Mapping[str, str] = {
    "gemm_bf16": "Matrix multiply in bf16 by size",
    "gemm_fp32": "Matrix multiply in fp32 by size",
    "attention": "Attention by length",
    "attention_causal": "Causal attention by length",
}
LINES: Mapping[str, str] = {LIBRARY: "cuBLAS", **{name: title for name, (_, title) in attention_vendor.BACKENDS.items()}}
ANEW = {AUTOTUNED: "Autotuned at each size"}


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """A sweep for every curve: TFLOP/s by size, a series a rung and a library.  Raises MeasureError without any figure."""
    del context
    sweeps = {f"{curve}_sizes": _sweep(curve, by_size) for curve, by_size in raw["curves"].items()}
    kept = {name: sweep for name, sweep in sweeps.items() if sweep.series}
    if not kept:
        raise MeasureError("no rung came out right at any size")
    return replace(found, sweeps={**found.sweeps, **kept})


def _sweep(curve: str, by_size: Mapping[str, Mapping[str, Any]]) -> Sweep:
    values: dict[str, dict[str, Quantity]] = {}
    checks: list[Verification] = []
    for size, contenders in by_size.items():
        work = problem_of(curve, int(size)).flop
        for name, one in contenders.items():
            if one["tolerance"] is not None and not one["refusal"]:
                checks.append(verification_record(one, ""))
                if not checks[-1].passed:
                    continue
            if one["hot"]:
                values.setdefault(name, {})[size] = rate(work, one["hot"])
    attends = curve.startswith("attention")
    titles = {rung.name: rung.title for rung in (ATTENTION if attends else GEMM_BF16).rungs}
    titles = {**{rung.name: rung.title for rung in GEMM_FP32.rungs}, **titles, **LINES, **ANEW}
    return Sweep(
        title=TITLES[curve],
        parameter="keys" if attends else "size",
        unit="",
        kernel=f"{HEADS} heads, {TOKENS} tokens in all" if attends else "all three sides",
        series=tuple(Series(name, titles[name], points) for name, points in values.items()),
        verification=_worst(checks),
        reference="TFLOP/s; all of a size in turns",
    )


def _worst(checks: list[Verification]) -> Verification | None:
    """Errors over their tolerances, the largest of all sizes; None where nothing was checked."""
    if not checks:
        return None
    before, after = (max(getattr(one, name) / one.tolerance for one in checks) for name in ("error", "error_after"))
    words = "as in the ladder, at every size; errors over their tolerances"
    return Verification(all(one.passed for one in checks), before, after, 1.0, words)


SUBJECT = Subject(
    name="curves",
    title="Leading rungs beside the vendor's libraries, by size",
    key="curves",
    sources=tuple(
        dict.fromkeys(
            [GEMM_BF16[name].source for name in RUNGS["gemm_bf16"]]
            + [GEMM_FP32[name].source for name in RUNGS["gemm_fp32"]]
            + [ATTENTION[name].source for name in RUNGS["attention"]]
        )
    ),
    collect=collect,
    record=record,
    steps=lambda plan: len(MAKERS) * len(SIZES),
    min_arch=80,
    needs=(GEMM_BF16.name,),  # where the rungs are verified at odd sizes
)
