"""The warp-tile source: one CUDA source for the ladder's last two rungs, and the constants it may be compiled with.

Sizes that do not fit a tile run guarded, at the least depth, with half the blocks an SM: the guards need registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kernels.catalogue import WARP, Access, Kernel, Launch, Problem

SOURCE = Path(__file__).resolve().parent / "09_warp_tile.cu"
FP32 = 4
SHALLOWEST = 8


def tiles(size: int, tile: int) -> int:
    """How many tiles cover a size."""
    return -(-size // tile)


@dataclass(frozen=True, slots=True)
class WarpTile:
    """The source's constants: rows, columns and depth of a block's tile, outputs of a thread, blocks that an SM is to hold."""

    bm: int
    bn: int
    bk: int
    tm: int
    tn: int
    blocks: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.bm * self.bn // (self.tm * self.tn)

    @property
    def constants(self) -> dict[str, int]:
        """What the source is compiled with."""
        return {"BM": self.bm, "BN": self.bn, "BK": self.bk, "TM": self.tm, "TN": self.tn, "BLOCKS": self.blocks}

    def fits(self, p: Problem) -> bool:
        """Whether the problem's sizes are multiples of the tile."""
        return p.m % self.bm == 0 and p.n % self.bn == 0 and p.k % self.bk == 0

    def for_problem(self, p: Problem) -> WarpTile:
        """Itself where the problem fits it; else of the least depth and half the blocks: the guards need registers."""
        return self if self.fits(p) else replace(self, bk=SHALLOWEST, blocks=max(1, self.blocks // 2))


WARP_TILE = WarpTile(128, 128, 8, 16, 8, 2)

WARP_TILES = (
    WarpTile(128, 256, 8, 16, 8, 1),
    WarpTile(128, 128, 16, 16, 8, 2),
    WARP_TILE,
    WarpTile(256, 128, 8, 16, 8, 1),
    WarpTile(128, 64, 8, 16, 8, 4),
    WarpTile(64, 256, 8, 16, 8, 2),
    WarpTile(64, 64, 8, 16, 8, 8),
    WarpTile(64, 128, 8, 8, 8, 4),
    WarpTile(64, 64, 16, 8, 4, 5),
    WarpTile(32, 32, 32, 4, 4, 12),
)
"""What the last rung chooses from, the most promising first; the small tiles are for small problems and small GPUs."""


def kernel(
    name: str, title: str, change: str, tile: WarpTile, tolerance: Callable[[Problem], float], tuned: bool = False
) -> Kernel:
    """A kernel of the warp-tile source with the given constants; a warp's lanes lie in 4 rows and 8 columns of 4 x 4 pieces."""

    def launch(p: Problem) -> Launch:
        t = tile.for_problem(p)
        constants = {**t.constants, "GUARD": int(not t.fits(p)), "TUNED": int(tuned)}
        return Launch((tiles(p.n, t.bn), tiles(p.m, t.bm), 1), (t.threads, 1, 1), constants)

    def accesses(p: Problem) -> tuple[Access, ...]:
        t = tile.for_problem(p)
        steps, across = tiles(p.k, t.bk), t.bn // (8 * t.tn)
        a_lanes, b_lanes, long = t.bk // 4, t.bn // 4, t.bm + 4
        fetches_a, fetches_b = t.bm * t.bk / 4 / t.threads, t.bk * t.bn / 4 / t.threads

        def row(thread: int) -> int:
            lane, warp = thread % WARP, thread // WARP
            return warp // across * 4 * t.tm + (lane % 2 + lane // 16 * 2) * 4

        def col(thread: int) -> int:
            lane, warp = thread % WARP, thread // WARP
            return warp % across * 8 * t.tn + lane // 2 % 8 * 4

        return (
            Access("A", "global", "load", 16, steps * fetches_a, lambda i: (i // a_lanes * p.k + i % a_lanes * 4) * FP32),
            Access("B", "global", "load", 16, steps * fetches_b, lambda i: (i // b_lanes * p.n + i % b_lanes * 4) * FP32),
            Access("a", "shared", "store", 4, steps * fetches_a * 4, lambda i: (i % a_lanes * 4 * long + i // a_lanes) * FP32),
            Access("b", "shared", "store", 16, steps * fetches_b, lambda i: i * 4 * FP32),
            Access("a", "shared", "load", 16, steps * t.bk * t.tm / 4, lambda i: row(i) * FP32),
            Access("b", "shared", "load", 16, steps * t.bk * t.tn / 4, lambda i: col(i) * FP32),
            Access("C", "global", "store", 16, t.tm * t.tn / 4, lambda i: (row(i) * p.n + col(i)) * FP32),
        )

    entry = "gemm_autotuned" if tuned else "gemm_warp_tile"
    return Kernel(name, title, change, SOURCE, entry, (tile.bm, tile.bn), launch, accesses, tolerance)
