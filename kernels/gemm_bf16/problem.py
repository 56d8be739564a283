"""What every rung of the bf16 product shares: the size of a value, the allowed error, the fewest bytes, the order of blocks."""

from __future__ import annotations

import math

from kernels.catalogue import Problem

BF16 = 2
"""Bytes of a value."""

EPS_OUT = 2.0**-8
"""Unit roundoff of bf16, which has eight significant bits."""

EPS_SUM = 2.0**-23
"""The most that an addition in a tensor core loses, relative to its result: it cuts off where an FMA unit rounds, so twice the
unit roundoff of fp32 (Fasi, Higham, Mikaitis and Pranesh, PeerJ Computer Science 7:e330, 2021)."""


def tolerance(problem: Problem) -> float:
    """Largest error over |A||B| beyond the rounding of the output to bf16 (see `measure.bf16`).

    Products of bf16 are exact in fp32.  Rounding errors of a sum of K terms grow like sqrt(K) (Higham and Mary, SIAM J. Sci.
    Comput. 41(5), 2019); the output's rounding applies to the sum with its error, hence the last factor.
    """
    return EPS_SUM * (math.sqrt(problem.k) + 1.0) * (1.0 + EPS_OUT)


def compulsory_bytes(problem: Problem) -> int:
    """The fewest bytes of bf16: each input read once, the output written once."""
    return BF16 * (problem.m * problem.k + problem.k * problem.n + problem.m * problem.n)


def block_of(order: int, across: int, down: int, group: int) -> tuple[int, int]:
    """Row and column in C, in blocks, of the block that starts as number `order` of a grid `across` wide and `down` high.

    Groups of `group` rows go column by column; with 1, blocks go row by row.  This is what `06_grouped.cu` computes.
    """
    first = order // (group * across) * group
    rows = min(group, down - first)
    place = order - first * across
    return first + place % rows, place // rows


def tiles(size: int, tile: int) -> int:
    """How many tiles cover a side."""
    return -(-size // tile)
