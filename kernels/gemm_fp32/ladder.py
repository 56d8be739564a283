"""The fp32 matrix product in ten rungs, on the CUDA cores alone (no tensor cores), fp32 in and fp32 sums.

The route to the sixth is the one that many have taught, S. Boehm's "How to optimize a CUDA matmul kernel" above all; tile sizes
are his.  The last rung is the ninth's source with constants that are chosen on the GPU at hand (`measure.autotune`).
Each kernel states every memory instruction that its warps issue, for the access model.  Where the compiler joins neighbouring
loads of a tile into one of 16 bytes, that is what is stated; a test looks for it in the compiled code.
"""

from __future__ import annotations

import math
from pathlib import Path

from kernels.catalogue import Access, Kernel, KernelLadder, Launch, Problem
from kernels.gemm_fp32.warp_tile import WARP_TILE, WARP_TILES, WarpTile, kernel

HERE = Path(__file__).resolve().parent
TILE = 32
FP32 = 4
EPS = 2.0**-24  # unit roundoff of fp32

BM1, BN1, BK1, TM1 = 64, 64, 8, 8
BM2, BN2, BK2, TM2, TN2 = 128, 128, 8, 8, 8


def tolerance(problem: Problem) -> float:
    """Largest allowed error over |A||B|: one rounding of the output and sqrt(K) of them in the sum.

    Rounding errors of a sum of K terms grow like sqrt(K) (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019), K at worst.
    """
    return EPS * (math.sqrt(problem.k) + 1.0)


def _tiles(size: int, tile: int) -> int:
    return -(-size // tile)


def _guard(problem: Problem, rows: int, cols: int, depth: int) -> dict[str, int]:
    return {"GUARD": int(problem.m % rows != 0 or problem.n % cols != 0 or problem.k % depth != 0)}


# 1 and 2: a warp is 32 consecutive threadIdx.x of one threadIdx.y


def _launch_uncoalesced(p: Problem) -> Launch:
    return Launch((_tiles(p.m, TILE), _tiles(p.n, TILE), 1), (TILE, TILE, 1), {"TILE": TILE})


def _accesses_uncoalesced(p: Problem) -> tuple[Access, ...]:
    return (
        Access("A", "global", "load", 4, p.k, lambda t: t % TILE * p.k * FP32),
        Access("B", "global", "load", 4, p.k, lambda t: t // TILE * FP32),
        Access("C", "global", "store", 4, 1, lambda t: (t % TILE * p.n + t // TILE) * FP32),
    )


def _launch_coalesced(p: Problem) -> Launch:
    return Launch((_tiles(p.n, TILE), _tiles(p.m, TILE), 1), (TILE, TILE, 1), {"TILE": TILE})


def _accesses_coalesced(p: Problem) -> tuple[Access, ...]:
    return (
        Access("A", "global", "load", 4, p.k, lambda t: t // TILE * p.k * FP32),
        Access("B", "global", "load", 4, p.k, lambda t: t % TILE * FP32),
        Access("C", "global", "store", 4, 1, lambda t: (t // TILE * p.n + t % TILE) * FP32),
    )


# 3: the inner loop reads a row of `a` four values at a time (the same for all lanes) and `b` one at a time


def _launch_shared(p: Problem) -> Launch:
    return Launch((_tiles(p.n, TILE), _tiles(p.m, TILE), 1), (TILE, TILE, 1), {"TILE": TILE, **_guard(p, TILE, TILE, TILE)})


def _accesses_shared(p: Problem) -> tuple[Access, ...]:
    steps = _tiles(p.k, TILE)
    return (
        Access("A", "global", "load", 4, steps, lambda t: (t // TILE * p.k + t % TILE) * FP32),
        Access("B", "global", "load", 4, steps, lambda t: (t // TILE * p.n + t % TILE) * FP32),
        Access("a", "shared", "store", 4, steps, lambda t: t * FP32),
        Access("b", "shared", "store", 4, steps, lambda t: t * FP32),
        Access("a", "shared", "load", 16, steps * TILE / 4, lambda t: t // TILE * TILE * FP32),
        Access("b", "shared", "load", 4, steps * TILE, lambda t: t % TILE * FP32),
        Access("C", "global", "store", 4, 1, lambda t: (t // TILE * p.n + t % TILE) * FP32),
    )


# 4: a thread owns TM rows of one column; it reads its rows of `a` four values at a time


def _launch_tile_1d(p: Problem) -> Launch:
    constants = {"BM": BM1, "BN": BN1, "BK": BK1, "TM": TM1, **_guard(p, BM1, BN1, BK1)}
    return Launch((_tiles(p.n, BN1), _tiles(p.m, BM1), 1), (BM1 * BN1 // TM1, 1, 1), constants)


def _accesses_tile_1d(p: Problem) -> tuple[Access, ...]:
    steps = _tiles(p.k, BK1)
    return (
        Access("A", "global", "load", 4, steps, lambda t: (t // BK1 * p.k + t % BK1) * FP32),
        Access("B", "global", "load", 4, steps, lambda t: (t // BN1 * p.n + t % BN1) * FP32),
        Access("a", "shared", "store", 4, steps, lambda t: t * FP32),
        Access("b", "shared", "store", 4, steps, lambda t: t * FP32),
        Access("a", "shared", "load", 16, steps * TM1 * BK1 / 4, lambda t: t // BN1 * TM1 * BK1 * FP32),
        Access("b", "shared", "load", 4, steps * BK1, lambda t: t % BN1 * FP32),
        Access("C", "global", "store", 4, TM1, lambda t: (t // BN1 * TM1 * p.n + t % BN1) * FP32),
    )


# 5: a thread owns an 8 x 8 square; both tiles are read 16 bytes at a time, `b` with its squares' rows 32 bytes apart


def _launch_tile_2d(p: Problem) -> Launch:
    constants = {"BM": BM2, "BN": BN2, "BK": BK2, "TM": TM2, "TN": TN2, **_guard(p, BM2, BN2, BK2)}
    return Launch((_tiles(p.n, BN2), _tiles(p.m, BM2), 1), (BM2 * BN2 // (TM2 * TN2), 1, 1), constants)


def _accesses_tile_2d(p: Problem) -> tuple[Access, ...]:
    steps, wide = _tiles(p.k, BK2), BN2 // TN2
    threads = BM2 * BN2 // (TM2 * TN2)
    return (
        Access("A", "global", "load", 4, steps * BM2 * BK2 / threads, lambda t: (t // BK2 * p.k + t % BK2) * FP32),
        Access("B", "global", "load", 4, steps * BK2 * BN2 / threads, lambda t: (t // BN2 * p.n + t % BN2) * FP32),
        Access("a", "shared", "store", 4, steps * BM2 * BK2 / threads, lambda t: t * FP32),
        Access("b", "shared", "store", 4, steps * BK2 * BN2 / threads, lambda t: t * FP32),
        Access("a", "shared", "load", 16, steps * TM2 * BK2 / 4, lambda t: t // wide * TM2 * BK2 * FP32),
        Access("b", "shared", "load", 16, steps * TN2 * BK2 / 4, lambda t: t % wide * TN2 * FP32),
        Access("C", "global", "store", 4, TM2 * TN2, lambda t: (t // wide * TM2 * p.n + t % wide * TN2) * FP32),
    )


# 6, 7, 8: the same square in four quarters, `a` transposed; everything moves 16 bytes a lane (7 and 8 with two buffers)


def _launch_vectorised(p: Problem) -> Launch:
    constants = {"BM": BM2, "BN": BN2, "BK": BK2, **_guard(p, BM2, BN2, BK2)}
    return Launch((_tiles(p.n, BN2), _tiles(p.m, BM2), 1), (BM2 * BN2 // 64, 1, 1), constants)


def _accesses_vectorised(p: Problem) -> tuple[Access, ...]:
    steps, wide = _tiles(p.k, BK2), BN2 // 8
    a_lanes, b_lanes = BK2 // 4, BN2 // 4
    return (
        Access("A", "global", "load", 16, steps, lambda t: (t // a_lanes * p.k + t % a_lanes * 4) * FP32),
        Access("B", "global", "load", 16, steps, lambda t: (t // b_lanes * p.n + t % b_lanes * 4) * FP32),
        Access("a", "shared", "store", 4, steps * 4, lambda t: (t % a_lanes * 4 * BM2 + t // a_lanes) * FP32),
        Access("b", "shared", "store", 16, steps, lambda t: t * 4 * FP32),
        Access("a", "shared", "load", 16, steps * BK2 * 2, lambda t: t // wide * 4 * FP32),
        Access("b", "shared", "load", 16, steps * BK2 * 2, lambda t: t % wide * 4 * FP32),
        Access("C", "global", "store", 16, 16, lambda t: (t // wide * 4 * p.n + t % wide * 4) * FP32),
    )


# 9 and 10: one source, `kernels.gemm_fp32.warp_tile`


def autotuned(tile: WarpTile) -> Kernel:
    """The last rung with the constants that were chosen for a GPU."""
    return kernel("autotuned", "Autotuned", "the same code, its constants chosen on this GPU", tile, tolerance, tuned=True)


LADDER = KernelLadder(
    name="gemm_fp32",
    title="Matrix multiply",
    dtype="fp32 in, fp32 accumulation",
    problem=Problem(4096, 4096, 4096),
    math_roof="fp32",
    rungs=(
        Kernel(
            "uncoalesced",
            "Uncoalesced",
            "one thread for each output",
            HERE / "01_uncoalesced.cu",
            "gemm_uncoalesced",
            (TILE, TILE),
            _launch_uncoalesced,
            _accesses_uncoalesced,
            tolerance,
        ),
        Kernel(
            "coalesced",
            "Coalesced",
            "neighbouring threads read neighbouring addresses",
            HERE / "02_coalesced.cu",
            "gemm_coalesced",
            (TILE, TILE),
            _launch_coalesced,
            _accesses_coalesced,
            tolerance,
        ),
        Kernel(
            "shared",
            "Shared-memory tile",
            "load a tile once, use it 32 times",
            HERE / "03_shared.cu",
            "gemm_shared",
            (TILE, TILE),
            _launch_shared,
            _accesses_shared,
            tolerance,
        ),
        Kernel(
            "tile_1d",
            "1D tiling",
            "a thread computes a column of outputs",
            HERE / "04_tile_1d.cu",
            "gemm_tile_1d",
            (BM1, BN1),
            _launch_tile_1d,
            _accesses_tile_1d,
            tolerance,
        ),
        Kernel(
            "tile_2d",
            "2D tiling",
            "a thread computes a square of outputs",
            HERE / "05_tile_2d.cu",
            "gemm_tile_2d",
            (BM2, BN2),
            _launch_tile_2d,
            _accesses_tile_2d,
            tolerance,
        ),
        Kernel(
            "vectorised",
            "Vectorised loads",
            "four values with one instruction",
            HERE / "06_vectorised.cu",
            "gemm_vectorised",
            (BM2, BN2),
            _launch_vectorised,
            _accesses_vectorised,
            tolerance,
        ),
        Kernel(
            "double_buffered",
            "Double buffering",
            "fetch the next tile while multiplying this one",
            HERE / "07_double_buffered.cu",
            "gemm_double_buffered",
            (BM2, BN2),
            _launch_vectorised,
            _accesses_vectorised,
            tolerance,
        ),
        Kernel(
            "operand_reuse",
            "Operand reuse",
            "the same multiply-adds in another order",
            HERE / "08_operand_reuse.cu",
            "gemm_operand_reuse",
            (BM2, BN2),
            _launch_vectorised,
            _accesses_vectorised,
            tolerance,
        ),
        kernel("warp_tile", "Warp tile", "twice the outputs a thread, the lanes of a warp on one piece", WARP_TILE, tolerance),
        autotuned(WARP_TILES[0]),
    ),
)
