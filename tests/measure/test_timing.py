"""The statistics of timing, on samples that are given; nothing is timed."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.timing import FULL, QUICK, Plan, enough, launches_a_sample, median_error, summarise


def test_median_and_quartiles_of_known_samples() -> None:
    """Quartiles of 1..9 by the inclusive method are 3, 5 and 7."""
    found = summarise([9, 1, 8, 2, 7, 3, 6, 4, 5], "s")
    assert (found.low, found.value, found.high, found.n) == (3.0, 5.0, 7.0, 9)
    assert (found.unit, found.source) == ("s", "measured")
    one = summarise([2.5], "s")
    assert (one.low, one.value, one.high, one.n) == (2.5, 2.5, 2.5, 1)
    with pytest.raises(ValueError, match="no samples"):
        summarise([], "s")


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=50))
def test_the_median_lies_between_the_quartiles(samples: list[float]) -> None:
    found = summarise(samples, "s")
    assert found.low is not None and found.high is not None
    assert found.low <= found.value <= found.high and found.n == len(samples)


def test_error_of_the_median_is_that_of_normal_noise() -> None:
    """sqrt(pi / 2) s / sqrt(n): 1.2533 x 0.01 / 10 for a hundred samples with a deviation of 1 %."""
    samples = [1 + 0.01 * statistics.NormalDist().inv_cdf((index + 0.5) / 100) for index in range(100)]
    assert median_error(samples) == pytest.approx(1.2533 * 0.01 / 10, rel=0.02)
    assert median_error([1.0]) == math.inf and median_error([1.0, 1.0]) == 0.0


STEADY, NOISY = [1.0] * 20, [1.0, 2.0] * 10


@pytest.mark.parametrize(
    ("samples", "spent", "stops"),
    [
        (STEADY, 0.6, True),
        (STEADY, 0.4, False),
        (STEADY[:9], 0.6, False),
        (NOISY, 0.6, False),
        (NOISY, 15.0, True),
        (NOISY[:3], 20.0, True),
        (NOISY[:2], 20.0, False),
    ],
)
def test_sampling_stops_when_the_median_is_known_or_time_is_up(samples: list[float], spent: float, stops: bool) -> None:
    assert enough(samples, spent, Plan()) is stops


def test_short_kernels_are_launched_often_enough_to_fill_a_sample() -> None:
    assert launches_a_sample(0.004, FULL) == 3
    assert launches_a_sample(0.275, FULL) == 1
    assert launches_a_sample(0.0, FULL) == 1


def test_a_quick_look_is_quicker() -> None:
    assert QUICK.total < FULL.total and QUICK.samples < FULL.samples and QUICK.rounds == 1
