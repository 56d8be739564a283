"""The top of the bf16 ladder: wgmma, copy engine, roles, persistent blocks, clusters, which only sm_90a has.

Instructions and layouts are those of the PTX ISA: "Asynchronous warpgroup level matrix instructions" (wgmma.mma_async, matrix
descriptors, shared memory layouts), "cp.async.bulk.tensor", "mbarrier", "setmaxnreg".  The copy engine wants rows of whole 16
bytes: where N or K is no multiple of 8, values are copied one by one to the same places, for the same products.

What goes through shared memory is stated for the access model as if warps moved it, 16 bytes a lane: what the tensor cores
read for every product (its 64 x 16 of A, its 16 x BN of B), what the copy engine writes there, and what it fetches of C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernels.catalogue import WARP, Access, Kernel, Launch, Problem
from kernels.gemm_bf16.problem import BF16, tiles, tolerance
from kernels.tensor_map import TensorMap

HERE = Path(__file__).resolve().parent
ARCH = "sm_90a"
MATH_ROOF = "bf16_wgmma"
DEPTH, PART = 64, 64  # of a stage; width of a part of B and of a box of C: rows of 128 bytes
DEEP = 16  # depth of one product
BOX_BYTES = PART * PART * BF16
WARPGROUP = 128
MOVED = WARP * 16  # bytes of a warp's access

SIMPLE: Mapping[str, int] = {"BM": 128, "BN": 128, "STAGES": 3}
"""96 KiB and at most 168 registers a thread: two blocks on an SM, one multiplies while the other waits."""

ROLES: Mapping[str, int] = {
    "BM": 128, "BN": 256, "CONSUMERS": 2, "STAGES": 4, "CLUSTER": 1, "GROUP": 1, "BOXES": 0, "RUNG": 9,
}  # fmt: skip
PERSISTENT: Mapping[str, int] = {**ROLES, "GROUP": 16, "RUNG": 10}
STORES: Mapping[str, int] = {**PERSISTENT, "BOXES": 2, "RUNG": 11}
CLUSTERS: Mapping[str, int] = {**STORES, "BM": 256, "BN": 128, "CLUSTER": 2, "GROUP": 4, "RUNG": 12}
"""Blocks of as many outputs, but tall: a pair covers 512 x 128.  The products and rooms of a stage stay the same."""

BLOCKS = 132
"""Blocks of a persistent grid: the SMs of an H100 SXM or H200; right, if not as fast, on any other number of them."""


def guarded(problem: Problem) -> bool:
    """Whether the copy engine cannot be asked for rows of this problem."""
    return problem.n % 8 != 0 or problem.k % 8 != 0


def launch_simple(c: Mapping[str, int]) -> Callable[[Problem], Launch]:
    """A warpgroup for each tile."""

    def launch(p: Problem) -> Launch:
        shared = c["STAGES"] * ((c["BM"] + c["BN"]) * DEPTH * BF16 + 8)
        grid = (tiles(p.n, c["BN"]), tiles(p.m, c["BM"]), 1)
        return Launch(grid, (WARPGROUP, 1, 1), {**c, "GUARD": int(guarded(p))}, shared)

    return launch


def all_tiles(p: Problem, c: Mapping[str, int]) -> int:
    """Tiles that blocks compute: whole clusters of them below each other."""
    cluster = c.get("CLUSTER", 1)
    return tiles(p.n, c["BN"]) * tiles(p.m, c["BM"] * cluster) * cluster


def launch_roles(c: Mapping[str, int], blocks: int = 0) -> Callable[[Problem], Launch]:
    """Producer and consumers; a block for each tile, or at most `blocks` that take one tile after the other."""

    def launch(p: Problem) -> Launch:
        count = all_tiles(p, c)
        boxes = c["CONSUMERS"] * c["BOXES"] * BOX_BYTES
        shared = c["STAGES"] * ((c["BM"] + c["BN"]) * DEPTH * BF16 + 16) + boxes
        threads = WARPGROUP * (1 + c["CONSUMERS"])
        return Launch((min(count, blocks or count), 1, 1), (threads, 1, 1), {**c, "GUARD": int(guarded(p))}, shared)

    return launch


def operands(c: Mapping[str, int]) -> Callable[[Problem, Any, Any, Any], tuple[Any, ...]]:
    """The maps of A, B and, where boxes of it are sent off, of C; the arrays where rows do not suit the copy engine."""

    def made(p: Problem, a: Any, b: Any, out: Any) -> tuple[Any, ...]:
        if guarded(p):
            return a, b, out
        return (
            TensorMap((p.m, p.k), (c["BM"], DEPTH)).argument(a.data.ptr),
            TensorMap((p.k, p.n), (DEPTH, PART)).argument(b.data.ptr),
            TensorMap((p.m, p.n), (PART, PART)).argument(out.data.ptr) if c.get("BOXES") else out,
        )

    return made


def swizzled(t: int) -> int:
    """Byte address of a lane's 16 bytes where a warp moves half of eight rows of 128 bytes, piece by piece."""
    row, piece = t % 8, t % WARP // 8
    return row * 128 + (piece ^ row) * 16


def accesses(c: Mapping[str, int], launch: Callable[[Problem], Launch]) -> Callable[[Problem], tuple[Access, ...]]:
    """What goes through shared memory, spread over all warps of the launch, and the output."""

    def stated(p: Problem) -> tuple[Access, ...]:
        count, steps, warps = all_tiles(p, c), tiles(p.k, DEPTH), launch(p).warps
        products = count * steps * (DEPTH // DEEP) * (c["BM"] // 64)
        output = count * c["BM"] * c["BN"] * BF16

        def moved(what: str, kind: Any, size: int) -> Access:
            return Access(what, "shared", kind, 16, size / MOVED / warps, swizzled)

        inside = (
            moved("a, multiplied", "load", products * 64 * DEEP * BF16),
            moved("b, multiplied", "load", products * DEEP * c["BN"] * BF16),
            moved("tiles, copied", "store", count * steps * (c["BM"] + c["BN"]) * DEPTH * BF16),
        )
        if c.get("BOXES"):
            return (*inside, moved("c, rounded", "store", output), moved("c, copied", "load", output))
        pairs = output / (WARP * 4) / warps
        return (*inside, Access("C", "global", "store", 4, pairs, lambda t: (t % WARP // 4 * p.n + t % 4 * 2) * BF16))

    return stated


def _rung(
    name: str, title: str, change: str, sizes: Mapping[str, int], launch: Callable[[Problem], Launch], source: str
) -> Kernel:
    return Kernel(
        name=name,
        title=title,
        change=change,
        source=HERE / f"{source}.cu",
        entry=f"wgmma_{name}",
        tile=(sizes["BM"], sizes["BN"]),
        launch=launch,
        accesses=accesses(sizes, launch),
        tolerance=tolerance,
        min_arch=90,
        min_shared=tiles(launch(Problem(8192, 8192, 8192)).dynamic_shared, 1024),
        feature_arch=ARCH,
        operands=operands(sizes),
        math_roof=MATH_ROOF,
    )


RUNGS: tuple[Kernel, ...] = (
    _rung(
        "warpgroup",
        "Warpgroup products",
        "four warps multiply out of shared memory, a copy engine fills it",
        SIMPLE,
        launch_simple(SIMPLE),
        "08_warpgroup",
    ),
    _rung(
        "roles",
        "Producer and consumers",
        "one warpgroup orders tiles, two multiply them",
        ROLES,
        launch_roles(ROLES),
        "09_roles",
    ),
    _rung(
        "persistent",
        "Persistent blocks",
        "a block takes tile after tile, neighbours at the same time",
        PERSISTENT,
        launch_roles(PERSISTENT, BLOCKS),
        "09_roles",
    ),
    _rung(
        "stores",
        "Asynchronous stores",
        "results leave while the next tile is multiplied",
        STORES,
        launch_roles(STORES, BLOCKS),
        "09_roles",
    ),
    _rung(
        "clusters",
        "Clusters",
        "two blocks fetch half of B each, for both",
        CLUSTERS,
        launch_roles(CLUSTERS, BLOCKS),
        "09_roles",
    ),
)
