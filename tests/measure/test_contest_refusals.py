"""A contest in which somebody is wrong: it is not timed, and what it wrote keeps nobody else's samples from being written."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from measure import contest
from measure.contest import Contender, hold, refused
from measure.device import Hardware
from measure.subject import Bench
from measure.timing import QUICK, Timing

GPU = Hardware("Test GPU", 90, 4, 1 << 20, 1 << 30, 1000.0, 1000.0, 1024, 2048, 65536, 228 * 1024, 227 * 1024)
BENCH = Bench(GPU, QUICK, True, None, lambda words: None, lambda: ())  # type: ignore[arg-type]


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who is timed: a millisecond for each."""
    names: list[str] = []

    def time_all(watch: object, runs: dict[str, Any], *more: object, **options: object) -> dict[str, Timing]:
        names.extend(runs)
        return {name: Timing(hot=[1e-3, 1e-3], cold=[2e-3], clocks=[1000.0]) for name in runs}

    monkeypatch.setattr(contest, "time_all", time_all)
    return names


def one(name: str, error: float, **facts: Any) -> Contender:
    return Contender(name, lambda: None, lambda: error, **{"tolerance": 1e-6, **facts})


def test_only_who_is_right_is_timed(timed: list[str]) -> None:
    raw = hold(
        BENCH,
        [
            one("right", 1e-7),
            one("wrong", 1e-5),
            one("nan", math.nan),
            one("infinite", math.inf),
            one("odd", 1e-7, odd_sizes=lambda: False),
            one("vendor", 1e-3, tolerance=None),
            refused("refused", "needs compute capability 9.0"),
        ],
    )
    assert timed == ["right", "vendor"]
    found = raw["contenders"]
    assert [name for name, each in found.items() if each["hot"]] == ["right", "vendor"]
    assert found["nan"]["error"] is None and found["infinite"]["error"] is None and found["wrong"]["error"] == 1e-5
    assert found["refused"]["refusal"] == "needs compute capability 9.0"


def test_a_figure_that_is_not_finite_does_not_keep_the_samples_from_being_written(timed: list[str]) -> None:
    """What a kernel that wrote NaN leaves in its extra figures."""
    extra = {"copies": 3, "figure": math.nan, "more": {"list": [1.0, math.inf]}, "words": "as they are"}
    raw = hold(BENCH, [one("nan", math.nan, extra=extra), one("right", 1e-7)])
    written = json.loads(json.dumps(raw, allow_nan=False))["contenders"]
    assert written["nan"]["extra"] == {"copies": 3, "figure": None, "more": {"list": [1.0, None]}, "words": "as they are"}
    assert written["right"]["hot"] == [1e-3, 1e-3]
