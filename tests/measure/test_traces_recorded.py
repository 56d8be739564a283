"""The traces from samples: checks that refuse wrong work, records of launches and of a divided warp."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from measure import launches, schema, trace
from measure.device import Hardware
from measure.errors import VerificationError
from measure.records import Device, Measurements
from measure.subject import Context

H200 = Hardware("NVIDIA H200", 90, 132, 60 << 20, 150_109_880_320, 1980.0, 3201.0, 6016, 2048, 65536, 228 * 1024, 227 * 1024)
T4 = Hardware("Tesla T4", 75, 40, 4 << 20, 16 << 30, 1590.0, 5001.0, 256, 1024, 65536, 64 * 1024, 64 * 1024)
EMPTY = Measurements(schema=2, device=Device("NVIDIA H200", "nvidia-h200"), run=None)
CONTEXT = Context(H200, quick=False)
Floats = np.ndarray[tuple[int], np.dtype[np.float32]]


def stepped(before: Floats, steps: int, factor: float, offset: float) -> Floats:
    """Step by step: the product is exact in float64, the sum is rounded to fp32."""
    value = before.copy()
    for _ in range(steps):
        value = (value.astype(np.float64) * np.float32(factor) + np.float32(offset)).astype(np.float32)
    return value


@pytest.mark.parametrize("steps", [1000, 16_000])
def test_a_launch_that_did_half_its_work_is_refused(steps: int) -> None:
    before = np.linspace(0, 1, 9).astype(np.float32)
    trace.check_chain(before, stepped(before, steps, *trace.LAUNCH_CHAIN), steps, *trace.LAUNCH_CHAIN)
    for wrong in (stepped(before, steps // 2, *trace.LAUNCH_CHAIN), before, np.zeros_like(before), before * np.float32(np.nan)):
        with pytest.raises(VerificationError, match="did not do its work"):
            trace.check_chain(before, wrong, steps, *trace.LAUNCH_CHAIN)


def test_lanes_on_the_wrong_side_are_refused() -> None:
    half = np.full(32, 0.5, np.float32)
    sides = [stepped(half, trace.DIVERGENCE_WORK, *chain) for chain in trace.DIVERGENCE_CHAINS]

    def divided(split: int) -> Floats:
        return np.concatenate([sides[0][:split], sides[1][split:]])

    for split in (16, 32):
        trace.check_sides(divided(split), split)
    for wrong in (divided(17), divided(15), divided(32)):
        with pytest.raises(VerificationError):
            trace.check_sides(wrong, 16)


def test_a_block_that_wrote_nothing_is_refused() -> None:
    sm, start, end = np.array([0, 1], np.uint32), np.array([5, 6], np.uint64), np.array([9, 9], np.uint64)
    trace.check_blocks(sm, start, end)
    for wrong in (
        (np.array([0, trace.UNWRITTEN], np.uint32), start, end),
        (sm, start * np.uint64(0), end),
        (sm, start, start - np.uint64(1)),
    ):
        with pytest.raises(VerificationError, match="did not write"):
            trace.check_blocks(*wrong)


def test_two_traced_blocks_fit_on_an_sm() -> None:
    """Each leaves room for one more and its reserved KiB, and not for two."""
    for gpu in (H200, T4):
        shared = trace.shared_bytes(gpu)
        assert 2 * (shared + 1024) <= gpu.shared_per_sm < 3 * (shared + 1024) and shared <= gpu.shared_optin


def launch_raw() -> dict[str, Any]:
    return {
        "blocks": 3,
        "work": 1000,
        "sm": [0, 1, 0],
        "start": [1_000_000_000_032, 1_000_000_000_000, 1_000_000_000_064],
        "end": [1_000_000_000_320, 1_000_000_000_352, 1_000_000_000_640],
        "ticks": [0, 32, 64, 96],
        "empty_seconds": [9e-6, 8e-6, 1e-5],
    }


def test_the_record_of_a_launch() -> None:
    """Times from the earliest start; blocks 0 and 2 were on SM 0 together from 64 to 320."""
    found = trace.record_launch(EMPTY, launch_raw(), CONTEXT).traces.launch
    assert found is not None
    assert (found.start_ns, found.end_ns, found.sm) == ((32, 0, 64), (320, 352, 640), (0, 1, 0))
    assert (found.duration.value, found.tick_ns.value) == (640, 32)
    assert found.blocks_per_sm is not None and found.blocks_per_sm.value == 2
    assert found.launch_latency is not None and found.launch_latency.value == 9e-6


def test_the_records_of_index_and_divergence() -> None:
    values = list(range(250)) + [-1] * 6
    measured = trace.record_index(EMPTY, {"values": values}, CONTEXT)

    def lanes(first: int, second: int) -> dict[str, list[int]]:
        return {"start": [first] * 16 + [20] * 16, "end": [second] * 16 + [first - 10] * 16}

    raw = {"divided": [lanes(2600, 5000), lanes(2700, 5200), lanes(2650, 5100)], "undivided": [lanes(2000, 2550)] * 3}
    measured = trace.record_divergence(measured, raw, CONTEXT)
    found = measured.traces.divergence
    assert found is not None
    assert (found.start[0], found.end[0], found.end[31]) == (2650, 5100, 2640)
    assert (found.cycles.value, found.uniform_cycles.value, found.slowdown.value) == (5100, 2550, 2.0)
    assert measured.traces.index is not None and measured.traces.index.values[249:251] == (249, -1)
    assert schema.dumps(trace.record_launch(measured, launch_raw(), CONTEXT))


def test_launches_cost_what_they_cost_each() -> None:
    raw = {
        "seconds": {
            "submit": {"1": [4e-6, 5e-6, 6e-6], "8": [3.2e-5] * 3},
            "wait": {"1": [9e-6] * 3, "8": [4.0e-5] * 3},
            "queued": {"1": [], "8": [8e-6] * 3},
        }
    }
    sweep = launches.record(EMPTY, raw, CONTEXT).sweeps["launches"]
    series = {one.name: one.values for one in sweep.series}
    assert series["submit"]["1"].value == 5e-6 and series["submit"]["8"].value == pytest.approx(4e-6)
    assert series["wait"]["8"].value == pytest.approx(5e-6)
    assert list(series["queued"]) == ["8"] and series["queued"]["8"].value == pytest.approx(1e-6)
