"""The top of the bf16 ladder: wgmma, copy engine, roles, clusters, which only sm_90a has; other GPUs end one rung below.

Instructions and layouts are those of the PTX ISA: "Asynchronous warpgroup level matrix instructions" (wgmma.mma_async, matrix
descriptors, shared memory layouts), "cp.async.bulk.tensor", "mbarrier", "setmaxnreg".  The copy engine wants rows of whole 16
bytes: where N or K is no multiple of 8, values are copied one by one to the same places, for the same products.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernels.catalogue import Kernel, Launch, Problem
from kernels.gemm_bf16.ladder import BF16, tolerance
from kernels.tensor_map import TensorMap

HERE = Path(__file__).resolve().parent
ARCH = "sm_90a"
DEPTH, PART = 64, 64  # of a stage; width of a part of B and of a box of C: rows of 128 bytes
BOX_BYTES = PART * PART * BF16
WARPGROUP = 128

SIMPLE: Mapping[str, int] = {"BM": 128, "BN": 128, "STAGES": 3}
"""96 KiB and at most 168 registers a thread: two blocks on an SM, one multiplies while the other waits."""

ROLES: Mapping[str, int] = {
    "BM": 128, "BN": 256, "CONSUMERS": 2, "STAGES": 4, "CLUSTER": 1, "GROUP": 1, "BOXES": 0, "RUNG": 9,
}  # fmt: skip
PERSISTENT: Mapping[str, int] = {**ROLES, "GROUP": 16, "RUNG": 10}
CLUSTERS: Mapping[str, int] = {**PERSISTENT, "CLUSTER": 2, "GROUP": 8, "RUNG": 11}
STORES: Mapping[str, int] = {**CLUSTERS, "BOXES": 2, "RUNG": 12}

BLOCKS = 132
"""Blocks of a persistent grid: the SMs of an H100 SXM or H200; right, if not as fast, on any other number of them."""


def guarded(problem: Problem) -> bool:
    """Whether the copy engine cannot be asked for rows of this problem."""
    return problem.n % 8 != 0 or problem.k % 8 != 0


def _tiles(size: int, tile: int) -> int:
    return -(-size // tile)


def launch_simple(c: Mapping[str, int]) -> Callable[[Problem], Launch]:
    """A warpgroup for each tile."""

    def launch(p: Problem) -> Launch:
        shared = c["STAGES"] * ((c["BM"] + c["BN"]) * DEPTH * BF16 + 8)
        grid = (_tiles(p.n, c["BN"]), _tiles(p.m, c["BM"]), 1)
        return Launch(grid, (WARPGROUP, 1, 1), {**c, "GUARD": int(guarded(p))}, shared)

    return launch


def launch_roles(c: Mapping[str, int], blocks: int = 0) -> Callable[[Problem], Launch]:
    """Producer and consumers; a block for each tile, or at most `blocks` that take one tile after the other."""

    def launch(p: Problem) -> Launch:
        tiles = _tiles(p.n, c["BN"]) * _tiles(p.m, c["BM"] * c["CLUSTER"]) * c["CLUSTER"]
        boxes = c["CONSUMERS"] * c["BOXES"] * BOX_BYTES
        shared = c["STAGES"] * ((c["BM"] + c["BN"]) * DEPTH * BF16 + 16) + boxes
        threads = WARPGROUP * (1 + c["CONSUMERS"])
        return Launch((min(tiles, blocks or tiles), 1, 1), (threads, 1, 1), {**c, "GUARD": int(guarded(p))}, shared)

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


def _rung(
    number: int, name: str, title: str, change: str, sizes: Mapping[str, int], launch: Callable[[Problem], Launch], source: str
) -> Kernel:
    tile = sizes["BM"], sizes["BN"]
    path = HERE / f"{source}.cu"
    shared = launch(Problem(8192, 8192, 8192)).dynamic_shared
    return Kernel(
        name,
        title,
        change,
        path,
        f"wgmma_{name}",
        tile,
        launch,
        lambda p: (),
        tolerance,
        90,
        _tiles(shared, 1024),
        ARCH,
        operands(sizes),
    )


RUNGS: tuple[Kernel, ...] = (
    _rung(
        8,
        "warpgroup",
        "Warpgroup products",
        "four warps multiply out of shared memory, a copy engine fills it",
        SIMPLE,
        launch_simple(SIMPLE),
        "08_warpgroup",
    ),
    _rung(
        9,
        "roles",
        "Producer and consumers",
        "one warpgroup orders tiles, two multiply them",
        ROLES,
        launch_roles(ROLES),
        "09_roles",
    ),
    _rung(
        10,
        "persistent",
        "Persistent blocks",
        "a block takes tile after tile, neighbours at the same time",
        PERSISTENT,
        launch_roles(PERSISTENT, BLOCKS),
        "09_roles",
    ),
    _rung(
        11,
        "clusters",
        "Clusters",
        "two blocks fetch half of B each, for both",
        CLUSTERS,
        launch_roles(CLUSTERS, BLOCKS),
        "09_roles",
    ),
    _rung(
        12,
        "stores",
        "Asynchronous stores",
        "results leave while the next tile is multiplied",
        STORES,
        launch_roles(STORES, BLOCKS),
        "09_roles",
    ),
)
