"""The top of the attention ladder: wgmma, the copy engine and warpgroups that take turns, which only sm_90a has.

The ideas are those of FlashAttention-3 (Shah et al., 2024), sections 3.1 and 3.2; the kernel is our own.  Instructions and
layouts are those of the PTX ISA: "Asynchronous warpgroup level matrix instructions", "cp.async.bulk.tensor", "mbarrier",
"setmaxnreg".  The rungs join the ladder once a GPU has verified and timed them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels.attention.ladder import tile_pairs, tiles, tolerance
from kernels.attention.problem import BF16, HEAD_DIM, Attention
from kernels.catalogue import Launch, Routine, Step
from kernels.tensor_map import TensorMap

SOURCE = Path(__file__).resolve().parent / "06_warpgroups.cu"
ENTRY = "attention_warpgroups"
ARCH = "sm_90a"
WARPGROUP, QUERIES = 128, 64  # threads of a warpgroup, and its queries
BOX_COLS = 64  # bf16 values in the 128 bytes of a swizzled row
ALIGN = 1024  # bytes that eight swizzled rows take, and that tiles are aligned to

WARPGROUPS: Mapping[str, int] = {"GROUPS": 2, "BK": 128, "STAGES": 2, "PING_PONG": 0, "AHEAD": 0}
PING_PONG: Mapping[str, int] = {**WARPGROUPS, "PING_PONG": 1}
AHEAD: Mapping[str, int] = {**PING_PONG, "AHEAD": 1}


def queries(constants: Mapping[str, int]) -> int:
    """Queries of a block."""
    return constants["GROUPS"] * QUERIES


def step(problem: Attention, constants: Mapping[str, int]) -> Step:
    """The launch: warpgroups that multiply and one that sends for tiles; Q, and STAGES tiles of K and V, in shared memory."""
    rows = queries(constants) + 2 * constants["STAGES"] * constants["BK"]
    shared = rows * HEAD_DIM * BF16 + ALIGN
    grid = (tiles(problem.seq, queries(constants)), problem.all_heads, 1)
    threads = (constants["GROUPS"] + 1) * WARPGROUP
    return Step(ENTRY, Launch(grid, (threads, 1, 1), {**constants, "CAUSAL": int(problem.causal)}, shared))


def maps(problem: Attention, constants: Mapping[str, int]) -> tuple[TensorMap, TensorMap, TensorMap]:
    """What the copy engine is told of Q, K and V: heads apart, so that no tile runs into the next head."""
    shape = (problem.all_heads, problem.seq, HEAD_DIM)
    q, kv = (TensorMap(shape, (1, rows, BOX_COLS)) for rows in (queries(constants), constants["BK"]))
    return q, kv, kv


def arguments(problem: Attention, constants: Mapping[str, int], q: Any, k: Any, v: Any, out: Any) -> tuple[Any, ...]:
    """The kernel's arguments for four CuPy arrays.  Raises KernelError where the driver refuses a map."""
    import numpy

    made = (one.argument(array.data.ptr) for one, array in zip(maps(problem, constants), (q, k, v), strict=True))
    return (*made, out, numpy.int32(problem.seq))


def _traffic(problem: Attention, constants: Mapping[str, int]) -> Mapping[str, float]:
    """K and V come from L2 once a tile, Q and the output once a block."""
    pairs = tile_pairs(problem, queries(constants), constants["BK"])
    return {
        "l2": float(pairs * 2 * constants["BK"] * HEAD_DIM * BF16 + problem.compulsory_bytes / 2),
        "dram": float(problem.compulsory_bytes),
        "algorithmic": float(problem.compulsory_bytes),
    }


def _rung(name: str, title: str, change: str, constants: Mapping[str, int]) -> Routine[Attention]:
    return Routine(
        name,
        title,
        change,
        SOURCE,
        lambda problem: (step(problem, constants),),
        lambda problem: _traffic(problem, constants),
        tolerance,
        math_roof="bf16_mma",
        min_arch=90,
        min_shared=-(-step(Attention(1, 1, 1), constants).launch.dynamic_shared // 1024) + 1,
        feature_arch=ARCH,
    )


RUNGS: tuple[Routine[Attention], ...] = (
    _rung("warpgroups", "Warpgroups", "four warps multiply out of shared memory, a copy engine fills it", WARPGROUPS),
    _rung("ping_pong", "Ping-pong", "one warpgroup multiplies while the other works out exponentials", PING_PONG),
    _rung("ahead", "Ahead", "the next scores are under way before these weights are used", AHEAD),
)
