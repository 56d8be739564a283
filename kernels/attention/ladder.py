"""The attention ladder: from three kernels with a square of scores between them to one on the tensor cores.

The algorithm is FlashAttention's (Dao et al., 2022; Dao, 2023) with the online softmax of Milakov and Gimelshein (2018); the
kernels are our own.  All heads have 128 dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernels.attention import warpgroups
from kernels.attention.problem import BF16, HEAD_DIM, Attention, tile_pairs, tiles, tolerance
from kernels.catalogue import Launch, Routine, RoutineLadder, Step

HERE = Path(__file__).resolve().parent

BQ, BK = 64, 64  # queries and keys of a tile on the CUDA cores
ROW = 512  # threads to a row of the softmax
TENSOR_BQ, TENSOR_BK = 64, 64  # a warp has 16 queries
WARPS, MT, WIDE_BK = 4, 2, 64  # the pipelined rung: a warp has 16 * MT queries
WIDE_BQ = WARPS * MT * 16

WAVEFRONT = 128
LANES = 32

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "attention_scores": ("Q", "K", "square"),
    "attention_softmax": ("square",),
    "attention_weighted_sum": ("square", "V", "O"),
    "attention_fused": ("Q", "K", "V", "O"),
    "attention_tensor_cores": ("Q", "K", "V", "O"),
    "attention_swizzled": ("Q", "K", "V", "O"),
    "attention_pipelined": ("Q", "K", "V", "O"),
    **{entry: ("Q", "K", "V", "O") for entry in warpgroups.ENTRIES.values()},
}
"""The arrays that each entry point takes, in order; the number of queries (int) follows.  A rung with `operands` makes its
arguments of these arrays."""


def _constants(p: Attention, bq: int, bk: int) -> dict[str, int]:
    return {"GUARD": int(p.seq % bq != 0 or p.seq % bk != 0), "CAUSAL": int(p.causal)}


def _grid(p: Attention, bq: int) -> tuple[int, int, int]:
    return (tiles(p.seq, bq), p.all_heads, 1)


def _algorithmic(p: Attention) -> dict[str, float]:
    return {"algorithmic": float(p.compulsory_bytes)}


# CUDA cores: 16 threads to 8 rows; a warp is 2 x 16 threads


def _simt_constants(p: Attention) -> dict[str, int]:
    return {"BQ": BQ, "BLOCKS": 3, **_constants(p, BQ, BK)}


def _steps_unfused(p: Attention) -> tuple[Step, ...]:
    constants = _simt_constants(p)
    product = Launch(_grid(p, BQ), (BQ * 2, 1, 1), constants)
    return (
        Step("attention_scores", product),
        Step("attention_softmax", Launch((p.seq, p.all_heads, 1), (ROW, 1, 1), constants)),
        Step("attention_weighted_sum", product),
    )


def _steps_fused(p: Attention) -> tuple[Step, ...]:
    return (Step("attention_fused", Launch(_grid(p, BQ), (BQ * 2, 1, 1), _simt_constants(p))),)


# Wavefronts that a warp makes for 64 queries and 64 keys; the test of the banks works them out from the addresses.
STAGE_SCORES = 8 * 2 * (16 + 8 * 2)  # for every 16 dimensions a load of Q and one of K, and eight stores of each
SCORES = HEAD_DIM * 3 * 2  # two reads of Q and one of K for every dimension
STAGE_VALUES = 4 * (2 * 4 + 4 * 8)  # for every 16 keys two loads of V and four stores
VALUES = BK * 4 * 2  # two reads of weights and two of V for every key
WRITE_SQUARE = 8 * 8
STAGE_SQUARE = 4 * 2 * (8 + 4 * 2)  # for every 16 keys two loads of the square and eight stores
KEEP_WEIGHTS = 8 * 8


def _simt_load_path(p: Attention, wavefronts: int) -> float:
    """Load-path bytes where each warp of a block makes so many wavefronts for a pair of tiles."""
    return tile_pairs(p, BQ, BK) * (BQ * 2 // LANES) * wavefronts * float(WAVEFRONT)


def _simt_staging(p: Attention) -> float:
    """Bytes that a pair of tiles takes from L2: the queries again for each tile of keys, K and V."""
    return float(tile_pairs(p, BQ, BK) * (BQ + 2 * BK) * HEAD_DIM * BF16)


def _traffic_unfused(p: Attention) -> dict[str, float]:
    """Four passes over the square: written, read, written, read; besides them the inputs and the output.

    The softmax reads each row twice, the second time out of a cache.
    """
    passes = 4.0 * p.square_bytes / (2 if p.causal else 1)
    products = STAGE_SCORES + SCORES + WRITE_SQUARE + STAGE_SQUARE + STAGE_VALUES + VALUES
    return {
        "load_path": _simt_load_path(p, products) + passes * 3 / 4,
        "l2": _simt_staging(p) + passes + p.compulsory_bytes / 4,
        "dram": passes + p.compulsory_bytes,
        **_algorithmic(p),
    }


def _traffic_fused(p: Attention) -> dict[str, float]:
    """The inputs and the output; the K and V of a head are small enough for L2 while its blocks run."""
    return {
        "load_path": _simt_load_path(p, STAGE_SCORES + SCORES + KEEP_WEIGHTS + STAGE_VALUES + VALUES),
        "l2": _simt_staging(p) + p.compulsory_bytes / 4,
        "dram": float(p.compulsory_bytes),
        **_algorithmic(p),
    }


# Tensor cores


def _tensor_launch(p: Attention) -> Launch:
    constants = {"BK": TENSOR_BK, "BLOCKS": 2, **_constants(p, TENSOR_BQ, TENSOR_BK)}
    return Launch(_grid(p, TENSOR_BQ), (TENSOR_BQ * 2, 1, 1), constants)


def _steps_tensor_cores(p: Attention) -> tuple[Step, ...]:
    return (Step("attention_tensor_cores", _tensor_launch(p)),)


def _steps_swizzled(p: Attention) -> tuple[Step, ...]:
    return (Step("attention_swizzled", _tensor_launch(p)),)


def _steps_pipelined(p: Attention) -> tuple[Step, ...]:
    constants = {"WARPS": WARPS, "MT": MT, "BK": WIDE_BK, "BLOCKS": 2, **_constants(p, WIDE_BQ, WIDE_BK)}
    shared = (WIDE_BQ + 2 * WIDE_BK) * HEAD_DIM * BF16
    return (Step("attention_pipelined", Launch(_grid(p, WIDE_BQ), (WARPS * LANES, 1, 1), constants, shared)),)


def _mma_traffic(p: Attention, bq: int, bk: int, mt: int, passes: int, staged: float) -> dict[str, float]:
    """A warp of 16 * mt queries reads its Q and the tiles of K and V by ldmatrix, `passes` wavefronts for each 8 x 8 matrix.

    K and V come from L2 once a tile, Q and the output once a block; `staged` is what a byte of them takes of the load path: it
    is loaded and stored, or sent for by cp.async, of which a warp's 512 bytes take one wavefront.
    """
    pairs, warps = tile_pairs(p, bq, bk), bq // (16 * mt)
    matrices = (mt * 16 + bk) // 8 * (HEAD_DIM // 8) + bk // 8 * (HEAD_DIM // 8)
    from_l2 = float(pairs * 2 * bk * HEAD_DIM * BF16 + p.compulsory_bytes / 2)
    return {
        "load_path": pairs * warps * matrices * passes * float(WAVEFRONT) + staged * from_l2,
        "l2": from_l2,
        "dram": float(p.compulsory_bytes),
        **_algorithmic(p),
    }


LADDER: RoutineLadder[Attention] = RoutineLadder(
    name="attention",
    title="Attention",
    dtype="bf16 in and out, fp32 sums and softmax",
    problem=Attention(2, 16, 8192),
    math_roof="bf16_mma",
    rungs=(
        Routine(
            "unfused",
            "Unfused",
            "three kernels, and a square of scores between them",
            HERE / "01_unfused.cu",
            _steps_unfused,
            _traffic_unfused,
            tolerance,
            math_roof="fp32",
        ),
        Routine(
            "fused",
            "Fused",
            "one kernel, and the square is never written",
            HERE / "02_fused.cu",
            _steps_fused,
            _traffic_fused,
            tolerance,
            math_roof="fp32",
        ),
        Routine(
            "tensor_cores",
            "Tensor cores",
            "a warp multiplies 16 x 16 by 16 x 8 values with one instruction",
            HERE / "03_tensor_cores.cu",
            _steps_tensor_cores,
            lambda p: _mma_traffic(p, TENSOR_BQ, TENSOR_BK, 1, 8, 2.0),
            tolerance,
            math_roof="bf16_mma",
            min_arch=80,
        ),
        Routine(
            "swizzled",
            "Swizzled",
            "the pieces of a row change places, so that no bank is asked twice",
            HERE / "04_swizzled.cu",
            _steps_swizzled,
            lambda p: _mma_traffic(p, TENSOR_BQ, TENSOR_BK, 1, 1, 2.0),
            tolerance,
            math_roof="bf16_mma",
            min_arch=80,
        ),
        Routine(
            "pipelined",
            "Pipelined",
            "the next tile is under way while this one is multiplied, and a warp has twice the queries",
            HERE / "05_pipelined.cu",
            _steps_pipelined,
            lambda p: _mma_traffic(p, WIDE_BQ, WIDE_BK, MT, 1, 0.25),
            tolerance,
            math_roof="bf16_mma",
            min_arch=80,
        ),
        *warpgroups.RUNGS,
    ),
)

ODD = (Attention(1, 2, 257), Attention(1, 2, 257, causal=True))
"""Problems that need every guard."""
