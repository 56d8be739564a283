"""What an all-reduce must give: inputs that every GPU makes by itself, their sum in float64, a digest to compare ranks by.

Nothing here goes over a link, so that a link that corrupts data cannot hide it.  Works on NumPy and CuPy arrays alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from measure import verify

PIECE = 1 << 24
"""Values that are made at once: a few hundred MB of temporaries whatever the size of the buffer."""

BEYOND = 64
"""Values behind each output that nobody may write."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One call: the largest `error` over the sum of |inputs|, whether all ranks got the same bits and kept to their room."""

    error: float
    same: bool
    kept: bool

    @property
    def worst(self) -> float:
        """The error, infinite where the ranks differ or one wrote past its end."""
        return self.error if self.same and self.kept else math.inf


def values(xp: Any, rank: int, first: int, count: int, seed: int) -> Any:
    """`count` values of a rank's input from index `first` on, float32 in [-1, 1), the same on every GPU and on the CPU.

    A hash of the index (the finaliser of MurmurHash3) gives 24 bits of a number in [-1, 1) and the power of two, 2^0 to 2^-7,
    by which it is scaled: numbers of one size would be added without rounding, and the order of the ranks would not show.
    """
    start = (first + rank * 0x9E3779B1 + seed * 0x632BE5AB) % 2**32
    bits = xp.arange(count, dtype=xp.uint32) + xp.uint32(start)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        bits = (bits ^ bits >> xp.uint32(shift)) * xp.uint32(factor)
    bits = bits ^ bits >> xp.uint32(16)
    uniform = (bits >> xp.uint32(8)).astype(xp.float32) * xp.float32(2.0**-23) - xp.float32(1)
    return xp.ldexp(uniform, -(bits & xp.uint32(7)).astype(xp.int32)).astype(xp.float32)


def pieces(count: int) -> Iterator[tuple[int, int]]:
    """A buffer in pieces: first index and length of each."""
    for first in range(0, count, PIECE):
        yield first, min(PIECE, count - first)


def fill(xp: Any, out: Any, rank: int, count: int, seed: int) -> None:
    """Write a rank's input."""
    for first, length in pieces(count):
        out[first : first + length] = values(xp, rank, first, length, seed)


def reference(xp: Any, ranks: int, count: int, seed: int) -> tuple[Any, Any]:
    """The sum of all ranks' inputs in float64, and the sum of their absolute values, the scale of each element's error."""
    exact, scale = xp.zeros(count, xp.float64), xp.zeros(count, xp.float64)
    for first, length in pieces(count):
        part = slice(first, first + length)
        for rank in range(ranks):
            wide = values(xp, rank, first, length, seed).astype(xp.float64)
            exact[part] += wide
            scale[part] += xp.abs(wide)
    return exact, scale


def error(xp: Any, out: Any, exact: Any, scale: Any) -> float:
    """The largest error over the scale; infinite where an element is not finite."""
    worst = 0.0
    for first, length in pieces(exact.shape[0]):
        part = slice(first, first + length)
        worst = max(worst, verify.error(xp, out[part], exact[part], scale[part]))
    return worst


def digest(xp: Any, out: Any) -> int:
    """64 bits of all the bits of an output and of where they stand: equal outputs have equal digests."""
    total = 0
    for first, length in pieces(out.shape[0]):
        bits = out[first : first + length].view(xp.uint32).astype(xp.uint64)
        places = xp.arange(first, first + length, dtype=xp.uint64) * xp.uint64(0x9E3779B97F4A7C15)
        places ^= places >> xp.uint64(29)
        total += int(((bits + xp.uint64(1)) * (places | xp.uint64(1))).sum(dtype=xp.uint64))
    return total % 2**64


def untouched(xp: Any, out: Any, count: int) -> bool:
    """Whether everything behind an output's values is still NaN."""
    return bool(xp.isnan(out[count:]).all())
