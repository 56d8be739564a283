"""Is a matrix product right?  Against float64, norm-wise, with outputs that start as NaN.

The criterion: max over all elements of |C - C64| / (|A||B|) at most the kernel's tolerance, and every element finite.
|A||B| is the product of the absolute values, so that cancellation in the sum does not count as an error, and a wrong index
does (Higham, Accuracy and Stability of Numerical Algorithms, section 3.5).  Works on NumPy and CuPy arrays alike.
"""

from __future__ import annotations

import math
from typing import Any

SHAPES = ((1, 1, 1), (7, 5, 3), (33, 31, 65), (63, 129, 65), (127, 65, 257), (257, 127, 129), (128, 128, 128))
"""Rows, columns and depth of the small products that a kernel must get right too: odd ones, and one that fits every tile."""


def inputs(xp: Any, rows: int, cols: int, depth: int, seed: int) -> tuple[Any, Any]:
    """A (rows x depth) and B (depth x cols), uniform in [-1, 1), float32; the same for every kernel of one seed."""
    generator = xp.random.default_rng(seed)
    a = generator.random((rows, depth), dtype=xp.float32) * 2 - 1
    b = generator.random((depth, cols), dtype=xp.float32) * 2 - 1
    return a.astype(xp.float32), b.astype(xp.float32)


def poisoned(xp: Any, rows: int, cols: int) -> Any:
    """An output full of NaN: an element that nobody writes cannot pass."""
    return xp.full((rows, cols), xp.nan, dtype=xp.float32)


def reference(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The product in float64 and the scale |A||B| of each element's error."""
    wide_a, wide_b = a.astype(xp.float64), b.astype(xp.float64)
    return wide_a @ wide_b, xp.abs(wide_a) @ xp.abs(wide_b)


def error(xp: Any, out: Any, exact: Any, scale: Any) -> float:
    """The largest error relative to |A||B|; infinite where an element is not finite or the shape is wrong."""
    if out.shape != exact.shape or not bool(xp.isfinite(out).all()):
        return math.inf
    distance = xp.abs(out.astype(xp.float64) - exact)
    tiny = 2.0**-126  # the smallest normal fp32: a scale of 0 then allows no error at all
    return float((distance / xp.maximum(scale, tiny)).max())


def passes(found: float, tolerance: float) -> bool:
    """Whether an error is small enough; NaN and infinity never are."""
    return math.isfinite(found) and found <= tolerance
