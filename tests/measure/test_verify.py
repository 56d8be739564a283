"""The check that decides whether a product counts: right ones pass, every kind of wrong one fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernels.catalogue import Problem
from kernels.gemm_fp32.ladder import tolerance
from measure import verify

Matrix = np.ndarray[Any, np.dtype[np.float32]]
ROWS, COLS, DEPTH = 96, 80, 512
A, B = verify.inputs(np, ROWS, COLS, DEPTH, seed=1)
EXACT, SCALE = verify.reference(np, A, B)
LIMIT = tolerance(Problem(ROWS, COLS, DEPTH))


def passes(out: Matrix) -> bool:
    return verify.passes(verify.error(np, out, EXACT, SCALE), LIMIT)


def test_inputs_are_the_same_for_one_seed_and_fill_the_interval() -> None:
    again, _ = verify.inputs(np, ROWS, COLS, DEPTH, seed=1)
    assert np.array_equal(A, again) and A.dtype == np.float32
    assert -1 <= A.min() < -0.99 and 0.99 < A.max() < 1 and abs(float(A.mean())) < 0.02


def test_an_fp32_product_passes_in_any_order_of_summation() -> None:
    forward, backward = (np.zeros((ROWS, COLS), np.float32) for _ in range(2))
    for k in range(DEPTH):
        forward += np.outer(A[:, k], B[k]).astype(np.float32)
        backward += np.outer(A[:, DEPTH - 1 - k], B[DEPTH - 1 - k]).astype(np.float32)
    assert passes(forward) and passes(backward) and passes(A @ B)


def off_by_one_in_depth(right: Matrix) -> Matrix:
    shorter: Matrix = A[:, 1:] @ B[1:]
    return shorter


def one_term_of_one_element_missing(right: Matrix) -> Matrix:
    right[40, 40] -= A[40, 7] * B[7, 40]
    return right


def shifted_by_a_column(right: Matrix) -> Matrix:
    return np.roll(right, 1, axis=1)


def a_tile_not_computed(right: Matrix) -> Matrix:
    right[64:96, 32:64] = np.nan
    return right


def a_tile_twice(right: Matrix) -> Matrix:
    right[64:96, 32:64] *= 2
    return right


def all_zero(right: Matrix) -> Matrix:
    return np.zeros_like(right)


def one_nan(right: Matrix) -> Matrix:
    right[-1, -1] = np.nan
    return right


def one_infinity(right: Matrix) -> Matrix:
    right[0, 0] = np.inf
    return right


def transposed(right: Matrix) -> Matrix:
    return np.ascontiguousarray(right.T)


def half_precision_sum(right: Matrix) -> Matrix:
    coarse: Matrix = (A.astype(np.float16) @ B.astype(np.float16)).astype(np.float32)
    return coarse


def untouched(right: Matrix) -> Matrix:
    nothing: Matrix = verify.poisoned(np, ROWS, COLS)
    return nothing


MUTANTS = [
    off_by_one_in_depth,
    one_term_of_one_element_missing,
    shifted_by_a_column,
    a_tile_not_computed,
    a_tile_twice,
    all_zero,
    one_nan,
    one_infinity,
    transposed,
    half_precision_sum,
    untouched,
]


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_wrong_product_fails(mutant: Callable[[Matrix], Matrix]) -> None:
    assert not passes(mutant((A @ B).copy()))


def test_zeros_fail_even_where_the_exact_product_is_small() -> None:
    """Against an absolute tolerance they would pass; the error is relative to |A||B|."""
    a, b = A * np.float32(1e-6), B * np.float32(1e-6)
    exact, scale = verify.reference(np, a, b)
    assert verify.error(np, np.zeros((ROWS, COLS), np.float32), exact, scale) > 100 * LIMIT


def test_the_error_is_the_distance_over_the_product_of_absolute_values() -> None:
    """1 x 2 times 2 x 1: 1*1 + (-1)*1 = 0 with |A||B| = 2; an output of 0.5 is off by a quarter of that."""
    exact, scale = verify.reference(np, np.array([[1.0, -1.0]], np.float32), np.array([[1.0], [1.0]], np.float32))
    assert verify.error(np, np.array([[0.5]], np.float32), exact, scale) == pytest.approx(0.25)


@pytest.mark.parametrize("found", [math.nan, math.inf, -math.inf])
def test_an_error_that_is_no_number_never_passes(found: float) -> None:
    assert not verify.passes(found, 1.0)


def test_the_small_shapes_are_odd_and_one_fits_every_tile() -> None:
    assert (128, 128, 128) in verify.SHAPES and (1, 1, 1) in verify.SHAPES
    assert sum(any(size % 2 for size in shape) for shape in verify.SHAPES) >= 5
