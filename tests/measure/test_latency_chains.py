"""Latencies without a GPU: the rings that are followed, and records from samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from measure import latency, latency_sizes, schema
from measure.device import Hardware
from measure.latency import LINE, PAGE, ring_order
from measure.records import Device, Measurements
from measure.subject import Context
from measure.wording import size_words

H200 = Hardware("NVIDIA H200", 90, 132, 60 << 20, 150_109_880_320, 1980.0, 3201.0, 6016, 2048, 65536, 228 * 1024, 227 * 1024)
SMALL = Hardware("Small GPU", 75, 14, 1 << 20, 4 << 30, 1500.0, 5000.0, 128, 1024, 65536, 64 * 1024, 64 * 1024)
EMPTY = Measurements(schema=2, device=Device("NVIDIA H200", "nvidia-h200"), run=None)
CONTEXT = Context(H200, quick=False)


@pytest.mark.parametrize("by_page", [False, True])
@pytest.mark.parametrize("count", [1, 128, PAGE // LINE, PAGE // LINE * 3 // 2, PAGE // LINE * 4])
def test_a_ring_visits_every_line_once(count: int, by_page: bool) -> None:
    order = ring_order(np, count, by_page, seed=1)
    assert order.dtype == np.int64 and np.array_equal(np.sort(order), np.arange(count))


def test_a_ring_by_page_finishes_each_page() -> None:
    lines = PAGE // LINE
    pages = ring_order(np, 4 * lines, True, seed=1) // lines
    assert np.count_nonzero(np.diff(pages)) == 3
    assert np.count_nonzero(np.diff(ring_order(np, 4 * lines, False, seed=1) // lines)) > 2 * lines


def test_which_memory_each_chain_goes_through() -> None:
    """Far below L1; a sixteenth and four fifths of a 60 MiB L2; 2 GiB, or a quarter of a small memory."""
    sizes = {name: count * LINE for name, count in latency.lines(H200, quick=False).items()}
    assert sizes == {"l1": 16 << 10, "l2": 60 * 2**20 // 16, "l2_far": 48 << 20, "dram": 2 << 30}
    assert latency.lines(SMALL, quick=False)["dram"] * LINE == 1 << 30
    hops = latency.REPEATS * latency.HOPS + 2048
    assert hops < latency.lines(H200, quick=True)["dram"]  # no line is met twice


def level(cycles: float, mhz: float, **more: Any) -> dict[str, Any]:
    hops = 1 << 17
    samples = [[round(cycles * hops * f), round(cycles * hops * f / mhz * 1e3)] for f in (1.0, 1.01, 0.99)]
    return {"size": 2 << 30, "hops": hops, "samples": samples, **more}


def test_cycles_and_nanoseconds_of_a_hop() -> None:
    """690 cycles at 1980 MHz are 348.5 ns."""
    raw = {"levels": {"dram": level(690, 1980, each=[600] * 10 + [700] * 90)}}
    found = latency.record(EMPTY, raw, CONTEXT)
    one = found.latencies["dram"]
    assert one.cycles.value == pytest.approx(690, rel=1e-4) and one.cycles.unit == "cycles" and one.cycles.n == 3
    assert one.time is not None and one.time.value == pytest.approx(690 / 1.98, rel=1e-4) and one.time.unit == "ns"
    assert one.clock is not None and one.clock.value == pytest.approx(1980, rel=1e-4)
    assert "2 GiB, 131072 hops; a chain of addresses" in one.cycles.reference
    assert "half below 700, 90 % below 700" in one.cycles.reference
    assert schema.dumps(found)


def test_the_reference_says_what_index_arithmetic_adds() -> None:
    one = latency.latency(level(23, 1980, index=level(29, 1980)))
    assert one.cycles.value == pytest.approx(23, rel=1e-3)
    assert "a chain of indices, i = p[i], takes 29.0 with the address arithmetic" in one.cycles.reference


def test_a_timer_too_coarse_leaves_the_cycles() -> None:
    one = latency.latency({"size": 4096, "hops": 16, "samples": [[400, 0], [400, 0]]})
    assert one.cycles.value == 25 and one.time is None and one.clock is None


def test_sizes_go_up_in_half_octaves_within_the_memory() -> None:
    found = latency_sizes.sizes(H200, quick=False)
    assert found[:4] == (1024, 1536, 2048, 3072) and found[-1] == 4 << 30
    assert all(size % LINE == 0 for size in found)
    assert latency_sizes.sizes(SMALL, quick=False)[-1] == 1 << 30
    assert len(latency_sizes.sizes(H200, quick=True)) == 21


def test_the_record_of_latency_by_size() -> None:
    hops = 1 << 15
    rings = {
        "random": {"1024": [[32 * hops, 16 * hops]] * 3, str(2 << 30): [[700 * hops, 350 * hops]] * 3},
        "by_page": {str(2 << 30): [[600 * hops, 0]] * 3},
    }
    found = latency_sizes.record(EMPTY, {"rings": rings, "hops": hops}, CONTEXT)
    series = {one.name: one.values for one in found.sweeps["latency"].series}
    assert series["random"]["1024"].value == 32 and series["by_page"][str(2 << 30)].value == 600
    assert series["time"][str(2 << 30)].value == 350 and series["time"][str(2 << 30)].unit == "ns"
    assert series["random"][str(2 << 30)].reference == "2 GiB, 32768 hops"
    assert found.sweeps["latency"].unit == "B" and schema.dumps(found)


def test_sizes_in_words() -> None:
    assert [size_words(size) for size in (1024, 1536, 48 << 20, 3 << 29)] == ["1 KiB", "1.5 KiB", "48 MiB", "1.5 GiB"]


def test_no_chain_ends_where_it_began() -> None:
    """A kernel that follows nothing must not pass: a ring of so many steps is not gone round a whole number of times."""
    for hops in (latency.HOPS, latency.HOPS_QUICK):
        assert hops % 16 == 0
        assert hops * latency.SHARED_STEP % latency.SHARED_RING != 0
        assert all((count + hops) % count != 0 for count in latency.lines(H200, quick=False).values())
