"""The matrix-vector product with fewer and fewer bits a weight: fp32, fp16, int8 and int4 (batch 1, as in decoding one token).

Only the weights change: x is fp16, sums and y are fp32 on every rung.  Each weight is used once, so that the rate is that of
device memory over the bits of a weight, as long as unpacking keeps up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from kernels.catalogue import WARP, Launch, Routine, RoutineLadder, Step
from kernels.gemv.problem import FP16, FP32, GROUP, INT4, INT4_CHUNKED, INT4_TILED, INT8, Format, GemvProblem
from kernels.gemv.streamed import streamed_steps

HERE = Path(__file__).resolve().parent
EPS = 2.0**-24  # unit roundoff of fp32
MAX_THREADS = 256
TILE_ROWS = 16
TILES = 2
MORE_TILES = 4
DEPTH = 1
ODD = GemvProblem(129, 300)
"""A size that fits no tile: it compiles the guarded forms."""


def tolerance(problem: GemvProblem) -> float:
    """Largest allowed error over |W||x|, W as stored: sqrt(cols) roundings of the sum and one of the output.

    Products are exact inside of a multiply-add.  Rounding errors of a sum of K terms grow like sqrt(K) (Higham and Mary, SIAM
    J. Sci. Comput. 41(5), 2019), K at worst.
    """
    return EPS * (math.sqrt(problem.cols) + 1.0)


def tensor_tolerance(problem: GemvProblem) -> float:
    """The same with twice the unit: tensor cores cut off where other units round (Fasi et al., PeerJ CS 7:e330, 2021)."""
    return 2.0 * tolerance(problem)


SUBNORMAL = frozenset({"int4_subnormal", "int4_streamed", "int4_batch"})
NOMINAL = 1024
"""Rungs whose codes are subnormal fp16 numbers, and the code that all of them count as where tensor cores align products.

A subnormal number has the exponent of 2^-14 whatever its value, 1024 times the 2^-24 of the code 1; a product is not normalised
before the largest exponent says where all are cut off (found on an H200: three products, wrong by 2^-16 of a code).
"""


def threads(pieces: int) -> int:
    """Threads of a block that shares `pieces` of work: a power of two from one warp to MAX_THREADS."""
    size = WARP
    while size < min(pieces, MAX_THREADS):
        size *= 2
    return size


def _steps(entry: str, rows: int, lane: int, multiple: int) -> Callable[[GemvProblem], tuple[Step, ...]]:
    """A block of `rows` rows; a lane loads `lane` weights at once; GUARD where the columns are no `multiple`."""

    def steps(problem: GemvProblem) -> tuple[Step, ...]:
        count = threads(-(-problem.cols // lane))
        constants = {"ROWS": rows, "THREADS": count, "GUARD": int(problem.cols % multiple != 0)}
        return (Step(entry, Launch((-(-problem.rows // rows), 1, 1), (count, 1, 1), constants)),)

    return steps


def _tensor_steps(entry: str, tiles: int = TILES) -> Callable[[GemvProblem], tuple[Step, ...]]:
    """A block of `tiles` tiles of 16 rows; its warps share the groups, DEPTH at once; GUARD where the last one is not full."""

    def steps(problem: GemvProblem) -> tuple[Step, ...]:
        count = threads(-(-problem.groups // DEPTH) * WARP)
        constants = {"TILES": tiles, "DEPTH": DEPTH, "THREADS": count, "GUARD": int(problem.cols % GROUP != 0)}
        return (Step(entry, Launch((-(-problem.rows // (TILE_ROWS * tiles)), 1, 1), (count, 1, 1), constants)),)

    return steps


def _traffic(format: Format) -> Callable[[GemvProblem], Mapping[str, float]]:
    """Every weight and scale crosses device memory once; x is fetched once and stays in the caches."""

    def traffic(problem: GemvProblem) -> Mapping[str, float]:
        return {"dram": float(problem.needed_bytes(format)), "algorithmic": float(problem.needed_bytes(format))}

    return traffic


LADDER: RoutineLadder[GemvProblem] = RoutineLadder(
    name="gemv",
    title="Matrix times vector",
    dtype="x fp16, sums and y fp32, weights as named; int8 and int4 with an fp16 scale for every 128",
    problem=GemvProblem(32768, 32768),
    math_roof="fp32",
    rungs=(
        Routine(
            "fp32",
            "fp32",
            "four bytes a weight",
            HERE / "01_fp32.cu",
            _steps("gemv_fp32", 4, 4, 4),
            _traffic(FP32),
            tolerance,
        ),
        Routine(
            "fp16",
            "fp16",
            "two bytes a weight",
            HERE / "02_fp16.cu",
            _steps("gemv_fp16", 4, 8, 8),
            _traffic(FP16),
            tolerance,
        ),
        Routine(
            "int8",
            "int8",
            "one byte a weight, and a scale for every 128",
            HERE / "03_int8.cu",
            _steps("gemv_int8", 4, 16, GROUP),
            _traffic(INT8),
            tolerance,
        ),
        Routine(
            "int4_shifts",
            "int4, shift and mask",
            "half a byte a weight, unpacked one by one",
            HERE / "04_int4_shifts.cu",
            _steps("gemv_int4_shifts", 4, 32, GROUP),
            _traffic(INT4),
            tolerance,
        ),
        Routine(
            "int4_pairs",
            "int4, two at a time",
            "one instruction makes two weights into fp16",
            HERE / "05_int4_pairs.cu",
            _steps("gemv_int4_pairs", 4, 32, GROUP),
            _traffic(INT4),
            tolerance,
        ),
        Routine(
            "int4_tensor",
            "int4, tensor cores",
            "the tensor cores multiply and add the pairs",
            HERE / "06_int4_tensor.cu",
            _tensor_steps("gemv_int4_tensor"),
            _traffic(INT4),
            tensor_tolerance,
        ),
        Routine(
            "int4_tiled",
            "int4, in reading order",
            "the weights lie in the order in which a warp reads them",
            HERE / "07_int4_tiled.cu",
            _tensor_steps("gemv_int4_tiled"),
            _traffic(INT4_TILED),
            tensor_tolerance,
        ),
        Routine(
            "int4_subnormal",
            "int4, as they are",
            "no exponent is put in front of a code: it is a subnormal number",
            HERE / "08_int4_subnormal.cu",
            _tensor_steps("gemv_int4_subnormal", MORE_TILES),
            _traffic(INT4_TILED),
            tensor_tolerance,
        ),
        Routine(
            "int4_streamed",
            "int4, streamed",
            "the copy engine brings the weights, four KiB with one instruction",
            HERE / "09_int4_streamed.cu",
            streamed_steps,
            _traffic(INT4_CHUNKED),
            tensor_tolerance,
            min_arch=90,
            min_shared=201,
        ),
    ),
)

FORMAT_OF: Mapping[str, Format] = {
    "fp32": FP32,
    "fp16": FP16,
    "int8": INT8,
    "int4_shifts": INT4,
    "int4_pairs": INT4,
    "int4_tensor": INT4,
    "int4_tiled": INT4_TILED,
    "int4_subnormal": INT4_TILED,
    "int4_streamed": INT4_CHUNKED,
}
"""The format of each rung's weights."""
