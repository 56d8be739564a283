"""The top of the attention ladder: wgmma, the copy engine and warpgroups that take turns, which only sm_90a has.

The ideas are those of FlashAttention-3 (Shah et al., 2024), sections 3.1 and 3.2; the kernel is our own.  Instructions and
layouts are those of the PTX ISA: "Asynchronous warpgroup level matrix instructions", "cp.async.bulk.tensor", "mbarrier",
"setmaxnreg".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kernels.attention.problem import BF16, HEAD_DIM, Attention, tile_pairs, tiles, tolerance
from kernels.catalogue import Launch, Routine, Step
from kernels.tensor_map import TensorMap

SOURCE = Path(__file__).resolve().parent / "06_warpgroups.cu"
ENTRIES = {6: "attention_warpgroups", 7: "attention_ahead", 8: "attention_persistent"}
"""Names of the kernel by RUNG, so that a profiler tells the rungs apart."""

MATH_ROOF = "bf16_wgmma"
ARCH = "sm_90a"
WARPGROUP, QUERIES = 128, 64  # threads of a warpgroup, and its queries
DEEP = 16  # dimensions or keys of one product
BOX_COLS = 64  # bf16 values in the 128 bytes of a swizzled row
ALIGN = 1024  # bytes that eight swizzled rows take, and that tiles are aligned to

WARPGROUPS: Mapping[str, int] = {
    "GROUPS": 2,
    "BK": 128,
    "STAGES": 2,
    "PING_PONG": 0,
    "AHEAD": 0,
    "ROOMS": 1,
    "STORES": 0,
    "RUNG": 6,
}
AHEAD: Mapping[str, int] = {**WARPGROUPS, "PING_PONG": 1, "AHEAD": 1, "RUNG": 7}
PERSISTENT: Mapping[str, int] = {**AHEAD, "ROOMS": 2, "STORES": 1, "RUNG": 8}

BLOCKS = 132
"""Blocks of a persistent grid: the SMs of an H100 SXM or H200; right, if not as fast, on any other number of them."""

SHARE_OF_L2 = 24 << 20
"""Bytes of K and V that blocks use at the same time where causal tiles of all lengths are taken longest first: half of the L2
of an H200, so that the rest of what goes by does not push them out."""

RIDGE = 160.0
"""FLOP a byte below which DRAM binds (700 TFLOP/s over 4.5 TB/s, an H200): there a head's K and V are read once and dropped."""


def queries(constants: Mapping[str, int]) -> int:
    """Queries of a block."""
    return constants["GROUPS"] * QUERIES


def together(problem: Attention, blocks: int) -> int:
    """Heads whose tiles of queries are taken at the same time; one after the other where blocks do not stay.

    Of the numbers whose K and V share L2, the one with which the last block ends first; the largest of equals.
    """
    if not blocks or not problem.causal or problem.flop < RIDGE * problem.compulsory_bytes:
        return 1
    most = max(1, min(problem.all_heads, SHARE_OF_L2 // (2 * problem.seq * HEAD_DIM * BF16)))
    rows = tiles(problem.seq, PERSISTENT["GROUPS"] * QUERIES)
    return min(range(most, 0, -1), key=lambda count: longest(rows, problem.all_heads, count, blocks))


@cache
def longest(rows: int, heads: int, count: int, blocks: int) -> int:
    """Steps of the block with most of them: `rows` causal tiles of queries a head, `count` heads together, longest first.

    Tile r of a head has r + 1 tiles of keys, and what it begins and ends with takes as long as one more.
    """
    import numpy

    items = numpy.arange(rows * heads)
    first = items // (count * rows) * count
    row = rows - 1 - (items - first * rows) // numpy.minimum(count, heads - first)
    turn, block = items // blocks, items % blocks
    block = numpy.where(turn % 2 == 1, blocks - 1 - block, block)  # to and fro, as the kernel's `item_of`
    return int(numpy.bincount(block, row + 2).max())


def step(problem: Attention, constants: Mapping[str, int], blocks: int = 0) -> Step:
    """The launch: warpgroups that multiply and one that sends for tiles; Q, and STAGES tiles of K and V, in shared memory.

    A block for each tile of queries, or at most `blocks` that take one after the other.
    """
    rows = constants["ROOMS"] * queries(constants) + 2 * constants["STAGES"] * constants["BK"]
    shared = rows * HEAD_DIM * BF16 + ALIGN
    items = tiles(problem.seq, queries(constants)) * problem.all_heads
    threads = (constants["GROUPS"] + 1) * WARPGROUP
    launch = Launch((min(items, blocks or items), 1, 1), (threads, 1, 1), {**constants, "CAUSAL": int(problem.causal)}, shared)
    return Step(ENTRIES[constants["RUNG"]], launch)


def maps(problem: Attention, constants: Mapping[str, int]) -> tuple[TensorMap, ...]:
    """What the copy engine is told of Q, K, V and, with STORES, O: heads apart, so that no tile runs into the next head."""
    shape = (problem.all_heads, problem.seq, HEAD_DIM)
    rows = (queries(constants), constants["BK"], constants["BK"], *([QUERIES] if constants["STORES"] else []))
    return tuple(TensorMap(shape, (1, one, BOX_COLS)) for one in rows)


def operands(constants: Mapping[str, int], blocks: int = 0) -> Callable[[Attention, Mapping[str, Any]], tuple[Any, ...]]:
    """The kernel's arguments for CuPy arrays Q, K, V and O.  Raises KernelError where the driver refuses a map."""

    def made(problem: Attention, arrays: Mapping[str, Any]) -> tuple[Any, ...]:
        import numpy

        found = [one.argument(arrays[name].data.ptr) for name, one in zip("QKVO", maps(problem, constants), strict=False)]
        sizes = (problem.seq, problem.all_heads, together(problem, blocks))
        return (*found, *([] if constants["STORES"] else [arrays["O"]]), *(numpy.int32(size) for size in sizes))

    return made


def traffic(problem: Attention, constants: Mapping[str, int]) -> Mapping[str, float]:
    """K and V come from L2 once a tile, Q and the output once a block.

    Shared memory: for every 64 queries, scores read 64 x 16 of Q and BK x 16 of K for each 16 dimensions, weights are in
    registers and the other product reads V once; the copy engine writes all tiles there.
    """
    pairs, keys = tile_pairs(problem, queries(constants), constants["BK"]), constants["BK"]
    each = HEAD_DIM // DEEP * (QUERIES + keys) * DEEP * BF16 + keys * HEAD_DIM * BF16
    copied = pairs * 2 * keys * HEAD_DIM * BF16
    return {
        "load_path": float(pairs * constants["GROUPS"] * each + copied + problem.compulsory_bytes / 2),
        "l2": float(copied + problem.compulsory_bytes / 2),
        "dram": float(problem.compulsory_bytes),
        "algorithmic": float(problem.compulsory_bytes),
    }


def _rung(name: str, title: str, change: str, constants: Mapping[str, int], blocks: int = 0) -> Routine[Attention]:
    return Routine(
        name,
        title,
        change,
        SOURCE,
        lambda problem: (step(problem, constants, blocks),),
        lambda problem: traffic(problem, constants),
        tolerance,
        math_roof=MATH_ROOF,
        min_arch=90,
        min_shared=-(-step(Attention(1, 1, 1), constants).launch.dynamic_shared // 1024) + 1,
        feature_arch=ARCH,
        operands=operands(constants, blocks),
    )


RUNGS: tuple[Routine[Attention], ...] = (
    _rung("warpgroups", "Warpgroups", "four warps multiply out of shared memory, a copy engine fills it", WARPGROUPS),
    _rung("ahead", "Turns, and ahead", "exponentials hide behind the products of the other warpgroup", AHEAD),
    _rung("persistent", "Persistent blocks", "the next queries are under way before these outputs leave", PERSISTENT, BLOCKS),
)
