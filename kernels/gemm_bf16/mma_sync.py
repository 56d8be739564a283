"""The bf16 matrix product by mma.sync in seven rungs: bf16 in, fp32 sums, bf16 out, on sm_80 and later.

The instructions, and which lane holds which value of a fragment, are those of the PTX ISA, "Warp-level matrix instructions"
(mma.m16n8k16, ldmatrix) and "cp.async".  A fragment is an 8 x 8 part of a matrix, two values in each lane's register.

Each kernel states every memory instruction that its warps issue, for the access model.  An ldmatrix of four fragments is
stated as a load of 16 bytes a lane: it is served in the same four groups of eight lanes, each lane naming one row.  A cp.async
is stated as a copy to shared memory, which the counters of the load path show as one wavefront an instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from kernels.catalogue import WARP, Access, Kernel, Launch, Problem
from kernels.gemm_bf16.problem import BF16, tiles, tolerance

HERE = Path(__file__).resolve().parent
DEEP = 16  # depth of one mma

SMALL: Mapping[str, int] = {"BM": 128, "BN": 128, "BK": 32, "WM": 64, "WN": 32}
LARGE: Mapping[str, int] = {"BM": 128, "BN": 256, "BK": 32, "WM": 64, "WN": 64}
DEEP_TILE: Mapping[str, int] = {**LARGE, "BK": 64}
SMALL_STAGES, LARGE_STAGES, DEEP_STAGES = 3, 4, 3
"""48 and 96 KiB of shared memory: two small blocks or a large one fit on every SM since sm_80.  The deep tiles take 144 KiB,
which a block can have on 8.0, 8.7, 9.0 and 10.x; elsewhere that rung does not run."""

GROUP = 16  # rows of blocks that go together


def _threads(c: Mapping[str, int]) -> int:
    return c["BM"] // c["WM"] * (c["BN"] // c["WN"]) * WARP


def _launch(sizes: Mapping[str, int], depth: int, stages: int = 0, **more: int) -> Callable[[Problem], Launch]:
    """The launch of a rung: `depth` is what K has to be a multiple of, `stages` the pairs of tiles in dynamic shared memory."""

    def launch(p: Problem) -> Launch:
        guard = int(p.m % sizes["BM"] != 0 or p.n % sizes["BN"] != 0 or p.k % depth != 0)
        constants = {**sizes, **({"STAGES": stages} if stages else {}), **more, "GUARD": guard}
        shared = stages * (sizes["BM"] + sizes["BN"]) * sizes["BK"] * BF16
        return Launch((tiles(p.n, sizes["BN"]), tiles(p.m, sizes["BM"]), 1), (_threads(sizes), 1, 1), constants, shared)

    return launch


# What a warp's lanes touch, as a kernel's first warp does in its first step: values of two bytes, pieces of eight of them


def _across(t: int) -> tuple[int, int]:
    """Row and first column of the two neighbours that a lane holds of a fragment of A or of an output."""
    return t % WARP // 4, t % 4 * 2


def swizzled_a(row: int, piece: int, bk: int) -> int:
    """Byte address in shared memory of eight values of A: the `piece`-th eight of a row of a tile `bk` deep."""
    return (row * bk + (piece ^ (row // (64 // bk) % (bk // 8))) * 8) * BF16


def swizzled_b(row: int, piece: int, bn: int) -> int:
    """The same for B, in a tile `bn` wide."""
    return (row * bn + (piece ^ (row % 8)) * 8) * BF16


def _output(p: Problem, c: Mapping[str, int]) -> Access:
    times = c["WM"] // 16 * (c["WN"] // 8) * 2
    return Access("C", "global", "store", 4, times, lambda t: (_across(t)[0] * p.n + _across(t)[1]) * BF16)


def _accesses_naive(p: Problem) -> tuple[Access, ...]:
    steps = tiles(p.k, DEEP)

    def single(t: int) -> int:
        """The word that holds the single value of B: lanes that want either half of it share its wavefront."""
        return (t % 4 * 2 * p.n + t % WARP // 4) * BF16 // 4 * 4

    return (
        Access("A", "global", "load", 4, steps * SMALL["WM"] // 16 * 4, lambda t: (_across(t)[0] * p.k + _across(t)[1]) * BF16),
        Access("B", "global", "load", 4, steps * SMALL["WN"] // 8 * 4, single),
        _output(p, SMALL),
    )


def _fragments(p: Problem, c: Mapping[str, int], more: int = 0) -> tuple[Access, ...]:
    """ldmatrix of both tiles, for every 16 of the depth and `more` times besides."""
    times = tiles(p.k, c["BK"]) * c["BK"] // DEEP + more
    return (
        Access("a", "shared", "load", 16, times * c["WM"] // 16, lambda t: swizzled_a(t % 16, t % WARP // 16, c["BK"])),
        Access("b", "shared", "load", 16, times * c["WN"] // 16, lambda t: swizzled_b(t % 16, t % WARP // 16, c["BN"])),
    )


def _tile_stores(p: Problem, c: Mapping[str, int], kind: Literal["store", "copy"]) -> tuple[Access, ...]:
    """16 bytes a lane into both tiles, by ordinary stores or by cp.async."""
    steps, a_row, b_row = tiles(p.k, c["BK"]), c["BK"] // 8, c["BN"] // 8
    a_times, b_times = steps * c["BM"] * a_row // _threads(c), steps * c["BK"] * b_row // _threads(c)
    return (
        Access("a", "shared", kind, 16, a_times, lambda t: swizzled_a(t // a_row, t % a_row, c["BK"])),
        Access("b", "shared", kind, 16, b_times, lambda t: swizzled_b(t // b_row, t % b_row, c["BN"])),
    )


def _accesses_shared(p: Problem) -> tuple[Access, ...]:
    c = SMALL
    stores = _tile_stores(p, c, "store")
    return (
        Access(
            "A", "global", "load", 16, stores[0].times, lambda t: (t // (c["BK"] // 8) * p.k + t % (c["BK"] // 8) * 8) * BF16
        ),
        Access(
            "B", "global", "load", 16, stores[1].times, lambda t: (t // (c["BN"] // 8) * p.n + t % (c["BN"] // 8) * 8) * BF16
        ),
        *stores,
        *_fragments(p, c),
        _output(p, c),
    )


def _accesses_staged(c: Mapping[str, int], more: int = 0) -> Callable[[Problem], tuple[Access, ...]]:
    """cp.async into stages, ldmatrix out of them; `more` fragments are loaded that nobody multiplies."""
    return lambda p: (*_tile_stores(p, c, "copy"), *_fragments(p, c, more), _output(p, c))


def _rung(
    number: int,
    name: str,
    title: str,
    change: str,
    sizes: Mapping[str, int],
    launch: Callable[[Problem], Launch],
    accesses: Callable[[Problem], tuple[Access, ...]],
    min_shared: int = 0,
    source: str = "",
) -> Kernel:
    """A rung whose source has its name, or is that of the rung `source` with other constants."""
    path, tile = HERE / f"{number:02}_{source or name}.cu", (sizes["BM"], sizes["BN"])
    return Kernel(name, title, change, path, f"mma_{name}", tile, launch, accesses, tolerance, 80, min_shared)


RUNGS: tuple[Kernel, ...] = (
    _rung(
        1,
        "naive",
        "Naive",
        "one instruction multiplies two small matrices",
        SMALL,
        _launch(SMALL, DEEP),
        _accesses_naive,
    ),
    _rung(
        2,
        "shared",
        "Shared-memory tile",
        "fetch a tile once, swizzled, and hand it out with ldmatrix",
        SMALL,
        _launch(SMALL, SMALL["BK"]),
        _accesses_shared,
    ),
    _rung(
        3,
        "pipelined",
        "Asynchronous stages",
        "the next tiles arrive while these are multiplied",
        SMALL,
        _launch(SMALL, SMALL["BK"], SMALL_STAGES),
        _accesses_staged(SMALL),
    ),
    _rung(
        4,
        "warp_tile",
        "Larger warp tile",
        "a warp computes 64 x 64 outputs",
        LARGE,
        _launch(LARGE, LARGE["BK"], LARGE_STAGES),
        _accesses_staged(LARGE),
    ),
    _rung(
        5,
        "double_buffered",
        "Double-buffered fragments",
        "load the next operands while multiplying",
        LARGE,
        _launch(LARGE, LARGE["BK"], LARGE_STAGES),
        _accesses_staged(LARGE, 1),
    ),
    _rung(
        6,
        "grouped",
        "Blocks in groups",
        "blocks that run together share what they read",
        LARGE,
        _launch(LARGE, LARGE["BK"], LARGE_STAGES, GROUP=GROUP, DEEP=0),
        _accesses_staged(LARGE, 1),
    ),
    _rung(
        6,
        "deep_tiles",
        "Deeper tiles",
        "half as many waits for the same work",
        DEEP_TILE,
        _launch(DEEP_TILE, DEEP_TILE["BK"], DEEP_STAGES, GROUP=GROUP, DEEP=1),
        _accesses_staged(DEEP_TILE, 1),
        min_shared=144,
        source="grouped",
    ),
)
