"""Inputs that every GPU makes by itself, their sum, and how ranks are compared."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from measure import all_reduce_check as checks
from measure.all_reduce_check import Verdict


def finaliser(bits: int) -> int:
    """MurmurHash3's 32-bit finaliser (Appleby, public domain), with Python's own integers."""
    bits ^= bits >> 16
    bits = bits * 0x85EBCA6B % 2**32
    bits ^= bits >> 13
    bits = bits * 0xC2B2AE35 % 2**32
    return bits ^ bits >> 16


def test_inputs_are_the_hash_of_rank_seed_and_index() -> None:
    found = checks.values(np, rank=3, first=10, count=5, seed=7)
    for index, value in enumerate(found):
        bits = finaliser((10 + index + 3 * 0x9E3779B1 + 7 * 0x632BE5AB) % 2**32)
        assert Fraction(float(value)) == (Fraction(bits >> 8, 2**23) - 1) / 2 ** (bits & 7)
    assert found.dtype == np.float32


def test_inputs_of_a_buffer_do_not_depend_on_the_pieces_it_is_made_in(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = checks.values(np, 1, 0, 1000, 2)
    monkeypatch.setattr(checks, "PIECE", 96)
    out = np.empty(1000, np.float32)
    checks.fill(np, out, 1, 1000, 2)
    assert (out == whole).all()
    assert len({checks.digest(np, out), checks.digest(np, whole)}) == 1


def test_inputs_are_spread_and_differ_between_ranks_and_seeds() -> None:
    found = checks.values(np, 0, 0, 100_000, 1)
    assert found.min() < -0.99 and found.max() > 0.99 and abs(found.mean()) < 0.01
    assert 100 < (np.abs(found) < 2**-9).sum()
    others = [checks.values(np, rank, 0, 100_000, seed) for rank, seed in ((1, 1), (0, 2))]
    assert all((other == found).mean() < 0.01 for other in others)


def test_their_order_matters_in_fp32() -> None:
    """Else no rank that adds in another order would ever be found out."""
    a, b, c = (checks.values(np, rank, 0, 10_000, 1) for rank in range(3))
    assert 0.1 < ((a + b) + c != a + (b + c)).mean()


def test_the_reference_is_the_exact_sum() -> None:
    exact, scale = checks.reference(np, 4, 50, 9)
    parts = [checks.values(np, rank, 0, 50, 9) for rank in range(4)]
    for index in range(50):
        terms = [Fraction(float(part[index])) for part in parts]
        assert Fraction(float(exact[index])) == sum(terms)  # 24 bits at 8 sizes: float64 holds the sum
        assert Fraction(float(scale[index])) == sum(abs(term) for term in terms)


def test_a_sum_in_fp32_passes_and_a_value_left_out_does_not() -> None:
    exact, scale = checks.reference(np, 3, 500, 1)
    parts = [checks.values(np, rank, 0, 500, 1) for rank in range(3)]
    right = parts[0] + parts[1] + parts[2]
    assert checks.error(np, right, exact, scale) <= 2 * 2.0**-24 / (1 - 2 * 2.0**-24)
    wrong = right.copy()
    wrong[499] -= parts[1][499]
    assert checks.error(np, wrong, exact, scale) > 1e-3
    wrong[499] = np.nan
    assert checks.error(np, wrong, exact, scale) == float("inf")


def test_a_digest_sees_one_bit_and_two_values_that_changed_places() -> None:
    out = checks.values(np, 0, 0, 4096, 1)
    same = checks.digest(np, out)
    flipped = out.copy()
    flipped.view(np.uint32)[77] ^= 1
    swapped = out.copy()
    swapped[[5, 6]] = out[[6, 5]]
    assert len({same, checks.digest(np, flipped), checks.digest(np, swapped), checks.digest(np, out[:-1])}) == 4


def test_what_lies_behind_must_stay_nan() -> None:
    out = np.full(10, np.nan, np.float32)
    out[:6] = 1
    assert checks.untouched(np, out, 6) and not checks.untouched(np, out, 5)


def test_ranks_that_differ_or_overrun_have_no_finite_error() -> None:
    assert Verdict(1e-8, True, True).worst == 1e-8
    assert Verdict(1e-8, False, True).worst == Verdict(1e-8, True, False).worst == float("inf")
