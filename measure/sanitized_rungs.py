"""The ladders' rungs under compute-sanitizer: each by itself, on data made on the CPU, so that no library's kernel runs.

A subject's contest takes minutes under a tool, and racecheck breaks off with an illegal address where cuBLAS' kernels for
Hopper, which it is told to leave alone, run beside those that it watches.  What a rung computes is compared with float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from kernels.attention.ladder import LADDER as ATTENTION
from kernels.attention.problem import Attention
from kernels.catalogue import KernelError, Problem
from kernels.gemm_bf16.ladder import LADDER as GEMM_BF16
from kernels.gemm_fp32.ladder import LADDER as GEMM_FP32
from kernels.gemv.batch import BATCH_LADDER as GEMV_BATCH
from kernels.gemv.ladder import FORMAT_OF
from kernels.gemv.ladder import LADDER as GEMV
from kernels.gemv.problem import INT4_CHUNKED, GemvProblem
from kernels.gemv.streamed import VECTORS
from kernels.launch import load
from measure import attention, attention_check, bf16, gemv, verify
from measure.errors import MeasureError, Unsupported

SEED = 3
PRODUCTS = (Problem(256, 512, 256), Problem(257, 129, 72))
ATTENTIONS = (Attention(1, 1, 256), Attention(1, 2, 257, causal=True))
VECTOR_PRODUCTS = (GemvProblem(64, 4096), GemvProblem(33, 257))
"""Sizes that fit every tile and no more, and odd ones: instrumented code is up to some hundred times as slow."""


def _fp32(cupy: Any, rung: str, problem: Problem) -> tuple[float, float]:
    kernel = GEMM_FP32[rung]
    run = load(kernel, problem).run
    a, b = verify.inputs(np, problem.m, problem.n, problem.k, SEED)
    out = cupy.empty((problem.m, problem.n), cupy.float32)
    run(cupy.asarray(a), cupy.asarray(b), out)
    return verify.error(np, out.get(), *verify.reference(np, a, b)), kernel.tolerance(problem)


def _bf16(cupy: Any, rung: str, problem: Problem) -> tuple[float, float]:
    kernel = GEMM_BF16[rung]
    run = load(kernel, problem).run
    a, b = bf16.inputs(np, problem.m, problem.n, problem.k, SEED)
    out = cupy.empty((problem.m, problem.n), cupy.uint16)
    run(cupy.asarray(a), cupy.asarray(b), out)
    return bf16.sampled_error(np, out.get(), bf16.sampled_reference(np, a, b, problem.m, SEED)), kernel.tolerance(problem)


def _attention(cupy: Any, rung: str, problem: Attention) -> tuple[float, float]:
    routine = ATTENTION[rung]
    loaded = attention.load(routine, problem)
    arrays = attention.arrays_of(cupy, routine, problem)
    q, k, v = attention_check.inputs(np, problem, attention_check.SPREAD, SEED)
    arrays.update(Q=cupy.asarray(q), K=cupy.asarray(k), V=cupy.asarray(v))
    loaded.run(arrays)
    sample = attention_check.reference(np, problem, q, k, v, SEED)
    return attention_check.error(np, arrays["O"].get(), sample), routine.tolerance(problem)


def _gemv(cupy: Any, rung: str, problem: GemvProblem) -> tuple[float, float]:
    batch = rung in {one.name for one in GEMV_BATCH.rungs}
    routine, vectors = (GEMV_BATCH[rung], VECTORS) if batch else (GEMV[rung], 1)
    format = INT4_CHUNKED if batch else FORMAT_OF[rung]
    launch = gemv.load(routine, problem)[0]
    data = gemv.operands(np, problem, (format,), SEED, vectors)
    weights = data.weights[format.name]
    y = cupy.empty((vectors, problem.rows) if batch else problem.rows, cupy.float32)
    launch(tuple(cupy.asarray(one) for one in weights.arrays), cupy.asarray(data.x), y)
    return verify.error(np, y.get(), weights.exact, weights.scale_of(rung)), routine.tolerance(problem)


LADDERS: Mapping[str, tuple[tuple[str, ...], tuple[Any, ...], Callable[[Any, str, Any], tuple[float, float]]]] = {
    "gemm_fp32": (tuple(rung.name for rung in GEMM_FP32.rungs), PRODUCTS, _fp32),
    "gemm_bf16": (tuple(rung.name for rung in GEMM_BF16.rungs), PRODUCTS, _bf16),
    "attention": (tuple(rung.name for rung in ATTENTION.rungs), ATTENTIONS, _attention),
    "gemv": (tuple(rung.name for rung in GEMV.rungs), VECTOR_PRODUCTS, _gemv),
    "gemv_batch": (tuple(rung.name for rung in GEMV_BATCH.rungs), VECTOR_PRODUCTS, _gemv),
}
"""By the subject whose place they take: its rungs, the problems, and what launches one and gives its error and tolerance."""


def launch(ladder: str, rung: str) -> None:
    """Launch a rung for each problem that it takes.  Raises MeasureError if it is wrong, Unsupported if it cannot run here."""
    import cupy

    _, problems, run = LADDERS[ladder]
    refused: list[str] = []
    for problem in problems:
        try:
            error, tolerance = run(cupy, rung, problem)
        except KernelError as reason:
            refused.append(str(reason))
            continue
        if not verify.passes(error, tolerance):
            raise MeasureError(f"{ladder} {rung} of {problem}: wrong by {error:.2g}, allowed are {tolerance:.2g}")
    if len(refused) == len(problems):
        raise Unsupported(refused[0])


RUNGS: Mapping[str, Callable[[], None]] = {
    f"{ladder}.{rung}": partial(launch, ladder, rung) for ladder, (rungs, _, _) in LADDERS.items() for rung in rungs
}
