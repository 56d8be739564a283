"""bf16 without a library for it: values as their 16 bits, in NumPy and CuPy alike, and the check of a product rounded to it.

bf16 is the upper half of fp32: eight significant bits, the same exponents.  Arrays of it are uint16 here.

The check of a product C = A B whose output is bf16: max over all elements of (|C - C64| - 2^-8 |C64|) / |A||B|.  That is what
is left of the distance after the output's own rounding, relative to the product of the absolute values as in `measure.verify`.
Were the rounding put into the tolerance instead, that would be 2^-8, and a missing product would pass once K is large.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from typing import Any

from kernels.gemm_bf16.problem import EPS_OUT
from measure import verify

NAN = 0x7FFF
STRIP = 1024
TINY = 2.0**-126  # the smallest normal value: a scale of 0 then allows no error at all


def to_bf16(xp: Any, values: Any) -> Any:
    """fp32 values to the bits of the nearest bf16, ties to the even one; NaN stays NaN, what is too large becomes infinity."""
    bits = xp.ascontiguousarray(values, dtype=xp.float32).view(xp.uint32)
    nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16  # 0x7FFF below a tie, and one more where the last bit kept is odd
    return xp.where((bits & 0x7FFFFFFF) > 0x7F800000, NAN, nearest).astype(xp.uint16)


def from_bf16(xp: Any, bits: Any) -> Any:
    """The exact fp32 values of bf16 bits."""
    return (bits.astype(xp.uint32) << 16).view(xp.float32)


def inputs(xp: Any, rows: int, cols: int, depth: int, seed: int) -> tuple[Any, Any]:
    """A (rows x depth) and B (depth x cols) as bf16 bits, uniform in [-1, 1) before they are rounded."""
    a, b = verify.inputs(xp, rows, cols, depth, seed)
    return to_bf16(xp, a), to_bf16(xp, b)


def poisoned(xp: Any, rows: int, cols: int) -> Any:
    """An output full of NaN: an element that nobody writes cannot pass."""
    return xp.full((rows, cols), NAN, dtype=xp.uint16)


def is_finite(xp: Any, bits: Any) -> bool:
    """Whether no element is NaN or infinite."""
    return bool(((bits & 0x7F80) != 0x7F80).all())


def reference(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The product of bf16 matrices in float64 and |A||B|, the scale of each element's error."""
    wide_a, wide_b = (from_bf16(xp, matrix).astype(xp.float64) for matrix in (a, b))
    return wide_a @ wide_b, xp.abs(wide_a) @ xp.abs(wide_b)


def error(xp: Any, out: Any, exact: Any, scale: Any) -> float:
    """The largest error beyond the output's rounding, relative to |A||B|; infinite if not finite or of another shape."""
    if out.shape != exact.shape or not is_finite(xp, out):
        return math.inf
    distance = xp.abs(from_bf16(xp, out).astype(xp.float64) - exact) - EPS_OUT * xp.abs(exact)
    return float((xp.maximum(distance, 0.0) / xp.maximum(scale, TINY)).max())


def sample(size: int, count: int, seed: int) -> list[int]:
    """At most `count` indices below `size` in rising order: one at random out of each of `count` stretches of equal length, and
    the first and the last, so that no tile goes unseen."""
    if size <= count:
        return list(range(size))
    drawn = random.Random(seed)
    edges = [index * size // count for index in range(count + 1)]
    found = [drawn.randrange(low, high) for low, high in itertools.pairwise(edges)]
    return [0, *found[1:-1], size - 1]


@dataclass(frozen=True, slots=True)
class Sample:
    """Exact values and scales (float64) of some rows (len(rows) x n) and some columns (m x len(cols)) of a product."""

    rows: list[int]
    cols: list[int]
    exact: tuple[Any, Any]
    scale: tuple[Any, Any]


def sampled_reference(xp: Any, a: Any, b: Any, count: int, seed: int) -> Sample:
    """`count` rows and as many columns of the product of bf16 matrices; all of it where it has no more.

    Every row and every column of the output has some of its elements checked.
    """
    rows, cols = sample(a.shape[0], count, seed), sample(b.shape[1], count, seed + 1)
    of_rows = _strips(xp, a[rows], b)
    of_cols = tuple(part.T for part in _strips(xp, b[:, cols].T, a.T))
    return Sample(rows, cols, (of_rows[0], of_cols[0]), (of_rows[1], of_cols[1]))


def sampled_error(xp: Any, out: Any, found: Sample) -> float:
    """The largest error of the sampled rows and columns; infinite if anything in all of the output is not finite."""
    shape = (found.exact[1].shape[0], found.exact[0].shape[1])
    if out.shape != shape or not is_finite(xp, out):
        return math.inf
    parts = (out[found.rows], out[:, found.cols])
    return max(error(xp, part, *pair) for part, *pair in zip(parts, found.exact, found.scale, strict=True))


def _strips(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """As `reference`, a strip of b's columns at a time, so that no whole matrix is held in float64."""
    parts = [reference(xp, a, b[:, first : first + STRIP]) for first in range(0, b.shape[1], STRIP)]
    exact, scale = (xp.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return exact, scale
