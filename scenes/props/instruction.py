"""The fastest rung of a ladder, and what its tensor-core instruction multiplies: read from the entry point in its record."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from measure.dataset import Dataset
from measure.records import Rung

LANES = 32  # threads of a warp


@dataclass(frozen=True, slots=True)
class Instruction:
    """D = A B + C for m x k values of A and k x n of B, issued together by all lanes of `warps` warps (PTX ISA)."""

    name: str
    m: int
    n: int
    k: int
    warps: int = 1

    @property
    def shape(self) -> str:
        """As PTX writes it, such as m16n8k16."""
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def flop(self) -> int:
        """A multiplication and an addition for each of m x n x k."""
        return 2 * self.m * self.n * self.k

    @property
    def lanes(self) -> int:
        return self.warps * LANES


MMA_SYNC = Instruction("mma.sync", 16, 8, 16)
FMA_FLOP = 2 * LANES  # of one FMA instruction of a warp: each lane multiplies and adds once


def instruction_of(rung: Rung | None) -> Instruction:
    """That of a rung on tensor cores: wgmma multiplies 64 x 16 by 16 x BN for four warps, all others issue mma.sync.

    Built for sm_90a is what needs wgmma; all else runs on newer GPUs, too.
    """
    build = rung.builds[-1] if rung and rung.builds else None
    if build is None or not (build.entry.startswith("wgmma") or "-arch=sm_90a" in build.options):
        return MMA_SYNC
    sizes = dict(option[2:].split("=", 1) for option in build.options if option.startswith("-D") and "=" in option)
    return Instruction("wgmma", 64, int(sizes.get("BN", 256)), 16, 4)


def best_rung(data: Dataset, ladder: str, among: Collection[str] | None = None) -> Rung | None:
    """The fastest verified rung of a ladder, or `among` some of it; None without one (a failed one has no rate)."""
    owned = data.ladder(ladder)
    rungs = [rung for rung in owned.value.rungs if among is None or rung.name in among] if owned else []
    rated = [(rung.rate.value, rung) for rung in rungs if rung.rate]
    return max(rated, key=lambda pair: pair[0])[1] if rated else None


def data_type(data: Dataset, ladder: str) -> str:
    """What a ladder multiplies, such as fp32; empty where there is no ladder."""
    owned = data.ladder(ladder)
    return owned.value.dtype.split(" in")[0] if owned else ""
