"""The probe that measures the tensor cores' roof: what one launch computes, its input, and what must come out of it."""

from __future__ import annotations

import random
from pathlib import Path

from kernels.catalogue import WARP, Mutant, Program

HERE = Path(__file__).resolve().parent

MI, NI = 4, 4  # fragments of A and B: 16 accumulators a warp
THREADS = 256
DEEP = 16
ROWS, COLS = MI * 16, NI * 8
FLOP_AN_MMA = 2 * 16 * 8 * 16
LARGEST = 126
"""Entries are whole numbers up to this, with one more added to some: bf16 holds those up to 256 exactly."""

MOST_ROUNDS = (2**24 - DEEP * (LARGEST + 1) * LARGEST) // LARGEST
"""As far as every sum on the way is a whole number below 2^24, which fp32 holds exactly."""

MMA = Program("mma", HERE / "mma.cu", ("probe_mma",), {"MI": MI, "NI": NI, "THREADS": THREADS}, min_arch=80)
PROGRAMS = (MMA,)

MUTANTS = (
    Mutant("off_by_one", "mma", "round < rounds", "round < rounds - 1"),
    Mutant("skipped_tile", "mma", "mma(sum[i][j], a[s][i], b[j]);", "if (i + j > 0) mma(sum[i][j], a[s][i], b[j]);"),
    Mutant("zeros", "mma", "+ r % 2] = sum[i][j][r];", "+ r % 2] = 0.0f;"),
    Mutant("nan", "mma", "+ r % 2] = sum[i][j][r];", "+ r % 2] = 0.0f / (sum[i][j][r] - sum[i][j][r]);"),
    Mutant(
        "stale", "mma", "for (int r = 0; r < 4; ++r)\n                out", "for (int r = 0; r < 3; ++r)\n                out"
    ),
)
"""The probe broken on purpose: its check must refuse each."""

Rows = list[list[int]]


def warps(blocks: int) -> int:
    """Warps of a launch."""
    return blocks * THREADS // WARP


def results(blocks: int) -> int:
    """Products that a launch writes: one a warp."""
    return warps(blocks)


def flop(blocks: int, rounds: int) -> int:
    """FLOP of one launch: a round is two mma for each accumulator."""
    return 2 * FLOP_AN_MMA * MI * NI * rounds * warps(blocks)


def operands(seed: int) -> tuple[Rows, Rows]:
    """A above A' (2 ROWS x 16), and B (16 x COLS), whole numbers: A' is -A with 1 added at column (row % 16)."""
    drawn = random.Random(seed)

    def matrix(rows: int, cols: int) -> Rows:
        return [[drawn.randint(-LARGEST, LARGEST) for _ in range(cols)] for _ in range(rows)]

    a, b = matrix(ROWS, DEEP), matrix(DEEP, COLS)
    opposite = [[-value + (column == row % DEEP) for column, value in enumerate(line)] for row, line in enumerate(a)]
    return a + opposite, b


def expected(b: Rows, rounds: int) -> Rows:
    """What every warp must write (ROWS x COLS): rounds x (A + A') B, of which only a row of B is left.

    Raises ValueError for more rounds than fp32 can count exactly.
    """
    if not 0 <= rounds <= MOST_ROUNDS:
        raise ValueError(f"{rounds} rounds: the sums are exact up to {MOST_ROUNDS}")
    return [[rounds * value for value in b[row % DEEP]] for row in range(ROWS)]
