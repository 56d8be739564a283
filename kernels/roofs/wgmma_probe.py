"""The probe that measures what warpgroups reach on the tensor cores: its input, and what must come out of it."""

from __future__ import annotations

import random
from pathlib import Path

from kernels.catalogue import WARP, Mutant, Program
from kernels.roofs.mma_probe import LARGEST, Rows

HERE = Path(__file__).resolve().parent

THREADS = 256
WARPGROUP = 128
DEEP = 16
ROWS, COLS = 64, 256
PRODUCTS = 4  # a round: A B, A' B, and both again
FLOP_A_PRODUCT = 2 * ROWS * COLS * DEEP

MOST_ROUNDS = (2**24 - DEEP * (LARGEST + 1) * LARGEST) // (PRODUCTS // 2 * LARGEST)
"""As far as every sum on the way is a whole number below 2^24, which fp32 holds exactly."""

WGMMA = Program("wgmma", HERE / "wgmma.cu", ("probe_wgmma",), {"THREADS": THREADS}, min_arch=90, feature_arch="sm_90a")
PROGRAMS = (WGMMA,)

MUTANTS = (
    Mutant("off_by_one", "wgmma", "round < rounds", "round < rounds - 1"),
    # A' comes once too often, A once too seldom
    Mutant("skipped_tile", "wgmma", "left + k * 2 / 16,", "left + max(k, 16) * 2 / 16,"),
    # from 64 columns to the next 64, as if they followed each other after eight rows
    Mutant("stale", "wgmma", "descriptor(address(b), SUB * 2)", "descriptor(address(b), 1024)"),
    Mutant("zeros", "wgmma", "+ j % 2] = sum[j];", "+ j % 2] = 0.0f;"),
    Mutant("nan", "wgmma", "+ j % 2] = sum[j];", "+ j % 2] = 0.0f / (sum[j] - sum[j]);"),
)
"""The probe broken on purpose: its check must refuse each."""


def results(blocks: int) -> int:
    """Products of 64 x 256 that a launch writes: one a warpgroup."""
    return blocks * THREADS // WARPGROUP


def warps(blocks: int) -> int:
    """Warps of a launch."""
    return blocks * THREADS // WARP


def flop(blocks: int, rounds: int) -> int:
    """FLOP of one launch."""
    return FLOP_A_PRODUCT * PRODUCTS * rounds * results(blocks)


def operands(seed: int) -> tuple[Rows, Rows]:
    """A above A' (128 x 16), and B (16 x 256), whole numbers: A' is -A with 1 added at column (row % 16)."""
    drawn = random.Random(seed)

    def matrix(rows: int, cols: int) -> Rows:
        return [[drawn.randint(-LARGEST, LARGEST) for _ in range(cols)] for _ in range(rows)]

    a, b = matrix(ROWS, DEEP), matrix(DEEP, COLS)
    opposite = [[-value + (column == row % DEEP) for column, value in enumerate(line)] for row, line in enumerate(a)]
    return a + opposite, b


def expected(b: Rows, rounds: int) -> Rows:
    """What every warpgroup must write (64 x 256): 2 x rounds x (A + A') B, of which only a row of B is left.

    Raises ValueError for more rounds than fp32 can count exactly.
    """
    if not 0 <= rounds <= MOST_ROUNDS:
        raise ValueError(f"{rounds} rounds: the sums are exact up to {MOST_ROUNDS}")
    return [[PRODUCTS // 2 * rounds * value for value in b[row % DEEP]] for row in range(ROWS)]
