"""Is attention right?  Against float64 for sampled queries of every head, with outputs that start as NaN.

The criterion: max over the checked elements of |O - O64| / (|O64| + 4 |p v|) at most 2^-8, and every element of the whole
output finite.  |p v| is the root of the sum over the keys of (weight x value)^2.  A sum of magnitudes there, as for a matrix
product, would be so large for thousands of keys that a tile left out would pass; independent roundings do not add up like that.
See `kernels.attention.problem.tolerance` for where the bound comes from.  Works on NumPy and CuPy arrays alike; bf16 values are
their 16 bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernels.attention.problem import HEAD_DIM, Attention
from measure.bf16 import NAN, TINY, from_bf16, is_finite, to_bf16

NOISE = 4.0
STRETCH = 64
SMALL = (
    *(Attention(1, 2, seq) for seq in (1, 7, 65, 129, 257, 384)),
    *(Attention(1, 2, seq, causal=True) for seq in (65, 257)),
    *(Attention(2, 50, 257, causal) for causal in (False, True)),
)
"""The small problems that a rung must get right too: odd sizes, one that fits every tile, causal ones, and two of more tiles of
queries than any GPU has SMs."""

SPREADS = (1.0, 24.0)
"""Largest values of Q in the small problems: weights that are nearly alike, and weights that a few keys share."""

SPREAD = 4.0
"""Largest value of Q in the timed problem: scores have a standard deviation of 4/3, so that the largest keeps growing."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows of every head, the output there in float64 and the scale of its error: heads x rows (x 128)."""

    rows: Any
    exact: Any
    scale: Any


def inputs(xp: Any, problem: Attention, spread: float, seed: int) -> tuple[Any, Any, Any]:
    """Q, K and V as bf16 bits, heads x seq x 128: uniform before rounding, Q in [-spread, spread), K and V in [-1, 1)."""
    generator = xp.random.default_rng(seed)
    shape = (problem.all_heads, problem.seq, HEAD_DIM)

    def uniform(largest: float) -> Any:
        return to_bf16(xp, (generator.random(shape, dtype=xp.float32) * 2 - 1) * xp.float32(largest))

    return uniform(spread), uniform(1.0), uniform(1.0)


def poisoned(xp: Any, problem: Attention) -> Any:
    """An output full of NaN: an element that nobody writes cannot pass."""
    return xp.full((problem.all_heads, problem.seq, HEAD_DIM), NAN, dtype=xp.uint16)


def sampled_rows(xp: Any, problem: Attention, seed: int) -> Any:
    """For every head one query out of each 64 that follow each other, so that no tile goes unseen; all of them up to 512.

    An array of heads x rows.
    """
    heads, seq = problem.all_heads, problem.seq
    if seq <= 512:
        return xp.broadcast_to(xp.arange(seq), (heads, seq))
    first = xp.arange(0, seq, STRETCH)
    drawn = first + (xp.random.default_rng(seed).random((heads, len(first)), dtype=xp.float32) * STRETCH).astype(xp.int64)
    return xp.minimum(drawn, seq - 1)


def reference(xp: Any, problem: Attention, q: Any, k: Any, v: Any, seed: int) -> Sample:
    """The output of the sampled queries in float64, head by head, and the scale of each element's error."""
    rows = sampled_rows(xp, problem, seed)
    exact, scale = [], []
    keys = xp.arange(problem.seq)
    for head in range(problem.all_heads):
        wide_q = from_bf16(xp, q[head, rows[head]]).astype(xp.float64)
        wide_k, wide_v = (from_bf16(xp, one[head]).astype(xp.float64) for one in (k, v))
        scores = wide_q @ wide_k.T / math.sqrt(HEAD_DIM)
        if problem.causal:
            scores = xp.where(keys[None, :] <= rows[head][:, None], scores, -xp.inf)
        weights = xp.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        out = weights @ wide_v
        exact.append(out)
        scale.append(xp.abs(out) + NOISE * xp.sqrt(weights**2 @ wide_v**2))
    return Sample(rows, xp.stack(exact), xp.stack(scale))


def error(xp: Any, out: Any, found: Sample) -> float:
    """The largest error of the sampled rows; infinite if anything in all of the output is not finite, or its shape is wrong."""
    heads = found.rows.shape[0]
    if out.ndim != 3 or out.shape[0] != heads or out.shape[2] != HEAD_DIM or not is_finite(xp, out):
        return math.inf
    seen = from_bf16(xp, out[xp.arange(heads)[:, None], found.rows]).astype(xp.float64)
    return float((xp.abs(seen - found.exact) / xp.maximum(found.scale, TINY)).max())
