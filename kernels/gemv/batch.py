"""A matrix times sixteen vectors with int4 weights: the last idea of the matrix-vector ladder, and a problem of its own.

Sixteen sequences decoded together need each weight once for all of them: 16 times the work for nearly the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernels.catalogue import Routine, RoutineLadder
from kernels.gemv.ladder import LADDER, tensor_tolerance
from kernels.gemv.problem import GemvProblem
from kernels.gemv.streamed import batch_bytes, batch_steps

HERE = Path(__file__).resolve().parent


def _traffic(problem: GemvProblem) -> Mapping[str, float]:
    """Every weight and scale crosses device memory once; the vectors stay in L2."""
    needed = float(batch_bytes(problem))
    return {"dram": needed, "algorithmic": needed}


SIXTEEN: Routine[GemvProblem] = Routine(
    "int4_batch",
    "int4, sixteen vectors",
    "each code is brought once for sixteen values of x",
    HERE / "10_int4_batch.cu",
    batch_steps,
    _traffic,
    tensor_tolerance,
    math_roof="bf16_mma",
    min_arch=90,
    min_shared=140,
)

BATCH_LADDER: RoutineLadder[GemvProblem] = RoutineLadder(
    name="gemv_batch",
    title="Matrix times sixteen vectors",
    dtype="x fp16, sums and y fp32, int4 weights with an fp16 scale for every 128",
    problem=LADDER.problem,
    math_roof="bf16_mma",
    rungs=(SIXTEEN,),
)
