"""bf16 by hand: rounding against exact fractions, and the check of a product that is rounded to it."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.catalogue import Problem
from kernels.gemm_bf16.problem import tolerance
from measure import bf16
from measure.verify import passes

Bits = np.ndarray[Any, np.dtype[np.uint16]]


def value_of(bits: int) -> float:
    """What 16 bits mean: they are the upper half of an fp32."""
    return float(struct.unpack(">f", struct.pack(">HH", bits, 0))[0])


def to_bits(value: float) -> int:
    return int(bf16.to_bf16(np, np.array([value], np.float32))[0])


BY_HAND = [
    (1.0, 0x3F80),
    (-2.0, 0xC000),
    (0.0, 0x0000),
    (-0.0, 0x8000),
    (math.pi, 0x4049),
    (0.1, 0x3DCD),
    (1 + 2**-8, 0x3F80),  # half way between 1 and 1 + 2^-7: to the even one
    (1 + 3 * 2**-8, 0x3F82),
    (1 + 2**-8 + 2**-20, 0x3F81),
    (1 + 2**-8 - 2**-20, 0x3F80),
    (256.0, 0x4380),
    (257.0, 0x4380),  # nine bits, half way
    (3.4e38, 0x7F80),  # nearer to 2^128 than to the largest
    (math.inf, 0x7F80),
    (-math.inf, 0xFF80),
    (2.0**-133, 0x0001),  # the smallest subnormal
]


@pytest.mark.parametrize(("value", "bits"), BY_HAND)
def test_values_by_hand(value: float, bits: int) -> None:
    assert to_bits(value) == bits


def test_nan_stays_nan() -> None:
    for word in (0x7FC00000, 0x7F800001, 0xFFFFFFFF):
        value = np.array([word], np.uint32).view(np.float32)
        assert math.isnan(value_of(int(bf16.to_bf16(np, value)[0])))


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**127), max_value=2.0**127))
def test_the_nearest_bf16_is_chosen(value: float) -> None:
    """By exact fractions among the found one and its two neighbours; where two are as near, the even one."""
    bits = to_bits(value)
    magnitude, sign = bits & 0x7FFF, bits & 0x8000
    near = [sign | other for other in (magnitude - 1, magnitude, magnitude + 1) if 0 <= other < 0x7F80]
    distances = {other: abs(Fraction(value) - Fraction(value_of(other))) for other in near}
    least = min(distances.values())
    nearest = [other for other in near if distances[other] == least]
    assert bits in nearest and (len(nearest) == 1 or bits % 2 == 0)


@given(st.integers(0, 0xFFFF))
def test_bits_come_back(bits: int) -> None:
    wide = bf16.from_bf16(np, np.array([bits], np.uint16))
    assert struct.pack(">f", wide[0])[:2] == struct.pack(">H", bits)
    if not math.isnan(wide[0]):
        assert to_bits(float(wide[0])) == bits


def test_inputs_are_bf16_in_the_interval_and_the_same_for_one_seed() -> None:
    a, b = bf16.inputs(np, 40, 50, 60, seed=3)
    again, _ = bf16.inputs(np, 40, 50, 60, seed=3)
    assert a.dtype == np.uint16 and a.shape == (40, 60) and b.shape == (60, 50) and np.array_equal(a, again)
    wide = bf16.from_bf16(np, a)
    assert wide.min() >= -1 and wide.max() <= 1 and abs(float(wide.mean())) < 0.1 and len(np.unique(a)) > 500


ROWS, COLS, DEPTH = 24, 40, 4096
A, B = bf16.inputs(np, ROWS, COLS, DEPTH, seed=1)
EXACT, SCALE = bf16.reference(np, A, B)
LIMIT = tolerance(Problem(ROWS, COLS, DEPTH))


def product(a: Bits, b: Bits) -> Any:
    """In fp32, every product cut off to 24 bits as it is added, which is as coarse as a tensor core gets."""
    wide_a, wide_b = bf16.from_bf16(np, a), bf16.from_bf16(np, b)
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        total = toward_zero(total.astype(np.float64) + np.outer(wide_a[:, k], wide_b[k]).astype(np.float64))
    return total


def toward_zero(values: Any) -> Any:
    near = values.astype(np.float32)
    beyond = np.abs(near.astype(np.float64)) > np.abs(values)
    return np.where(beyond, np.nextafter(near, np.float32(0)), near)


RIGHT = product(A, B)


def accepted(out: Any) -> bool:
    return passes(bf16.error(np, bf16.to_bf16(np, out), EXACT, SCALE), LIMIT)


def test_a_product_of_tensor_cores_passes() -> None:
    """Sums cut off at every addition, the output rounded."""
    assert accepted(RIGHT)


def one_term_of_one_element_missing(right: Any) -> Any:
    k = int(np.argmax(np.abs(bf16.from_bf16(np, A[5]) * bf16.from_bf16(np, B[:, 7]))))
    right[5, 7] -= bf16.from_bf16(np, A[5, k : k + 1])[0] * bf16.from_bf16(np, B[k : k + 1, 7])[0]
    return right


WRONG: list[Callable[[Any], Any]] = [
    one_term_of_one_element_missing,
    lambda right: product(A[:, 1:], B[1:]),
    lambda right: np.roll(right, 1, axis=1),
    lambda right: np.zeros_like(right),
    lambda right: right * np.float32(1.02),
    lambda right: np.where(np.arange(ROWS)[:, None] < 8, np.float32(np.nan), right),
    lambda right: np.where(np.arange(ROWS)[:, None] == 3, np.float32(np.inf), right),
]


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_product_fails(wrong: Callable[[Any], Any]) -> None:
    assert not accepted(wrong(RIGHT.copy()))


def test_the_error_is_what_the_output_s_rounding_leaves() -> None:
    """1 x 2 times 2 x 1: 3*1 + 1*1 = 4 with |A||B| = 4: 4.5 is off by 0.5, of which 4/256 is rounding."""
    exact, scale = np.array([[4.0]]), np.array([[4.0]])
    assert bf16.error(np, bf16.to_bf16(np, np.array([[4.5]])), exact, scale) == pytest.approx((0.5 - 4 / 256) / 4)
    assert bf16.error(np, bf16.to_bf16(np, np.array([[4.0 + 1 / 64]])), exact, scale) == 0.0
    assert bf16.error(np, np.array([[0x4080]], np.uint16)[:, :0], exact, scale) == math.inf


def test_an_output_that_nobody_wrote_fails() -> None:
    assert bf16.error(np, bf16.poisoned(np, ROWS, COLS), EXACT, SCALE) == math.inf


@given(st.integers(1, 3000), st.integers(2, 300), st.integers(0, 100))
def test_samples_are_spread_over_all_stretches(size: int, count: int, seed: int) -> None:
    found = bf16.sample(size, count, seed)
    assert len(found) == min(size, count) and found == sorted(set(found))
    assert found[0] == 0 and found[-1] == size - 1
    if size > count:
        assert [index * count // size for index in found[1:-1]] == pytest.approx(list(range(1, count - 1)), abs=1)


def test_a_sample_sees_an_error_in_any_tile() -> None:
    rows, cols, depth = 200, 150, 64
    a, b = bf16.inputs(np, rows, cols, depth, seed=2)
    found = bf16.sampled_reference(np, a, b, 20, seed=4)
    right = bf16.to_bf16(np, bf16.from_bf16(np, a) @ bf16.from_bf16(np, b))
    limit = tolerance(Problem(rows, cols, depth))
    assert passes(bf16.sampled_error(np, right, found), limit)
    for row in range(0, rows, 16):
        for col in range(0, cols, 16):
            broken = right.copy()
            broken[row : row + 16, col : col + 16] ^= 0x0080
            assert not passes(bf16.sampled_error(np, broken, found), limit)
    broken = right.copy()
    broken[101, 77] = bf16.NAN
    assert bf16.sampled_error(np, broken, found) == math.inf
    assert bf16.sampled_error(np, right.T, found) == math.inf


def test_the_sampled_reference_is_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bf16, "STRIP", 7)
    a, b = bf16.inputs(np, 30, 40, 50, seed=2)
    exact, scale = bf16.reference(np, a, b)
    found = bf16.sampled_reference(np, a, b, 9, seed=4)
    for part, whole in ((found.exact, exact), (found.scale, scale)):
        assert np.allclose(part[0], whole[found.rows], rtol=1e-14) and np.allclose(part[1], whole[:, found.cols], rtol=1e-14)
