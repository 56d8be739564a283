"""The divergence sweep from samples: what is checked, and the record of a warp that behaves as a warp does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernels.sweeps import probes
from measure import schema, sweeps
from measure.device import Hardware
from measure.errors import VerificationError
from measure.records import Device, Measurements
from measure.subject import Context

GPU = Hardware("Test GPU", 90, 4, 1 << 20, 1 << 30, 1000.0, 1000.0, 1024, 2048, 65536, 228 * 1024, 227 * 1024)
EMPTY = Measurements(schema=2, device=Device("Test GPU", "test-gpu"), run=None)
START = np.linspace(-1, 1, 32).astype(np.float32)


def stepped(start: Any, paths: int, steps: int) -> Any:
    """Every lane's chain step by step in fp32, as the GPU has it but for the fused rounding."""
    value = start.copy()
    factors, offsets = (
        np.array([probes.coefficients(lane % paths)[index] for lane in range(32)], np.float32) for index in (0, 1)
    )
    for _ in range(steps):
        value = (value.astype(np.float64) * factors + offsets).astype(np.float32)
    return value


@pytest.mark.parametrize("paths", [1, 3, 32])
def test_a_chain_in_fp32_is_within_the_derived_tolerance(paths: int) -> None:
    steps = 1024
    found = sweeps.error(START, stepped(START, paths, steps), paths, steps)
    assert 0 < found <= sweeps.tolerance(steps) == pytest.approx(steps * 2.0**-24)


def test_wrong_lanes_are_seen() -> None:
    """One lane of another side, one round of sixteen steps too few, one lane that nobody wrote."""
    right = stepped(START, 32, 1024)
    other = right.copy()
    other[[3, 4]] = other[[4, 3]]
    short = stepped(START, 32, 1008)
    poisoned = right.copy()
    poisoned[31] = np.nan
    for wrong in (other, short, np.zeros(32, np.float32), poisoned):
        assert not sweeps.error(START, wrong, 32, 1024) <= sweeps.tolerance(1024)
    assert sweeps.error(START, poisoned, 32, 1024) == math.inf


def test_a_wrong_launch_raises_and_a_right_one_gives_its_slowest_lane() -> None:
    def launch(way: str, paths: int, rounds: int, passes: int) -> tuple[Any, Any, Any]:
        steps = rounds * passes * probes.STEPS
        out = stepped(START, paths, steps) if way == "branching" else np.zeros(32, np.float32)
        return START, out, np.arange(100, 132)

    assert sweeps.checked(launch, "branching", 5, 2, 1)[1] == 131
    with pytest.raises(VerificationError, match=r"^paths_selected, 5 paths: a lane is off by"):
        sweeps.checked(launch, "selected", 5, 2, 1)


def raw(error: float = 1e-7) -> dict[str, Any]:
    """A branch of 2000 cycles a path and 50 around them; the twins cost 64000 and 2050 whatever the paths."""
    cycles: dict[str, Callable[[int], int]] = {
        "branching": lambda paths: 50 + 2000 * paths,
        "predicated": lambda _: 64_000,
        "selected": lambda _: 2050,
    }
    ways = {way: {str(p): [f(p), f(p) + 2, f(p) - 2] for p in range(1, 33)} for way, f in cycles.items()}
    return {"ways": ways, "rounds": 32, "passes": 2, "error": error, "error_after": error}


def test_the_record_of_a_sweep() -> None:
    found = sweeps.record_divergence(EMPTY, raw(), Context(GPU, quick=False))
    sweep = found.sweeps["divergence"]
    series = {one.name: one.values for one in sweep.series}
    assert set(series) == {"branching", "predicated", "selected", "slowdown"}
    assert list(series["branching"]) == [str(paths) for paths in range(1, 33)]
    eight = series["branching"]["8"]
    assert (eight.value, eight.low, eight.high, eight.n, eight.unit) == (16050, 16049, 16051, 3, "cycles")
    assert series["slowdown"]["1"].value == 1.0
    assert series["slowdown"]["32"].value == pytest.approx(64_050 / 2050)
    assert sweep.verification is not None and sweep.verification.passed
    assert sweep.verification.tolerance == pytest.approx(2 * 512 * 2.0**-24)
    assert schema.dumps(found)


def test_a_sweep_that_was_wrong_says_so() -> None:
    found = sweeps.record_divergence(EMPTY, raw(error=1e-3), Context(GPU, quick=False))
    verification = found.sweeps["divergence"].verification
    assert verification is not None and not verification.passed
