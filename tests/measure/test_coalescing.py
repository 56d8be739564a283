"""The coalescing sweep without a GPU: sectors by arithmetic, sums by brute force, records from samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from measure import coalescing, schema
from measure.coalescing import Point, points, strided_sums, working_set
from measure.device import Hardware
from measure.errors import Unsupported
from measure.records import Device, Measurements
from measure.subject import Context

H200 = Hardware("NVIDIA H200", 90, 132, 60 << 20, 150_109_880_320, 1980.0, 3201.0, 6016, 2048, 65536, 228 * 1024, 227 * 1024)
EMPTY = Measurements(schema=2, device=Device("NVIDIA H200", "nvidia-h200"), run=None)
WORDS = (2 << 30) // 4


@pytest.mark.parametrize(("stride", "expected"), [(1, 4), (2, 8), (3, 12), (4, 16), (7, 28), (8, 32), (9, 32), (32, 32)])
def test_sectors_of_a_strided_request(stride: int, expected: int) -> None:
    """32 words at a distance of 4 x stride bytes span 128 x stride bytes: 4 x stride sectors, until each lane has its own."""
    assert Point("coalescing", stride, 0).sectors == expected


@pytest.mark.parametrize(("offset", "expected"), [(0, 4), (1, 5), (7, 5), (8, 4), (9, 5), (31, 5)])
def test_sectors_of_a_misaligned_request(offset: int, expected: int) -> None:
    """128 bytes that begin in the middle of a sector touch one more."""
    assert Point("misalignment", 1, offset).sectors == expected


def test_every_stride_and_offset_is_a_point_within_the_array() -> None:
    full = points(quick=False)
    assert [point.key for point in full if point.sweep == "coalescing"] == [str(stride) for stride in range(1, 33)]
    assert [point.key for point in full if point.sweep == "misalignment"] == [str(offset) for offset in range(32)]
    for point in full:
        last = point.offset + (point.count(WORDS) - 1) * point.stride
        assert WORDS - 64 - point.stride <= last < WORDS
    assert set(points(quick=True)) < set(full)


def test_the_memory_read_is_many_times_l2() -> None:
    assert working_set(H200, quick=False) == 2 << 30 and working_set(H200, quick=True) == 1 << 30
    huge = replace(H200, l2_size=512 << 20)
    assert working_set(huge, quick=True) == 4 << 30
    with pytest.raises(Unsupported, match="needs 240 MiB of memory, four times L2; a quarter of this GPU's is 128 MiB"):
        working_set(replace(H200, memory_size=512 << 20), quick=False)


@pytest.mark.parametrize(("count", "stride", "offset", "threads"), [(1, 1, 0, 4), (11, 3, 2, 4), (64, 32, 31, 7)])
def test_the_sums_of_threads(count: int, stride: int, offset: int, threads: int) -> None:
    """Element by element, in integers that wrap."""
    words = np.random.default_rng(2).integers(0, 2**32, offset + count * stride, dtype=np.uint32)
    expected = [0] * threads
    for i in range(count):
        expected[i % threads] = (expected[i % threads] + int(words[offset + i * stride])) % 2**32
    assert strided_sums(words, count, stride, offset, threads).tolist() == expected


def raw(counted: bool) -> dict[str, Any]:
    """A GPU whose DRAM gives 4 TB/s of 32-byte sectors; its counters say the same."""
    listed, rows = [], []
    for point in points(quick=False):
        elements = point.count(WORDS)
        requests = elements / 32
        bytes_moved = requests * point.sectors * 32
        if point.sweep == "misalignment":
            bytes_moved = 4.0 * elements  # the sector that two warps share comes once
        listed.append(
            {"sweep": point.sweep, "stride": point.stride, "offset": point.offset, "seconds": [bytes_moved / 4e12] * 3}
        )
        rows.append(
            {
                coalescing.SECTORS_METRIC: requests * point.sectors,
                coalescing.REQUESTS_METRIC: requests,
                coalescing.METRICS[2]: bytes_moved,
            }
        )
    words = "" if counted else "the driver does not permit this user to read counters"
    return {"words": WORDS, "points": listed, "clocks": [1980.0], "counted": rows if counted else [], "uncounted": words}


def test_the_record_with_counters() -> None:
    """A stride of s costs a share of s of the bandwidth, and no more than 8 where a sector holds 8 words."""
    found = coalescing.record(EMPTY, raw(counted=True), Context(H200, quick=False))
    series = {one.name: one.values for one in found.sweeps["coalescing"].series}
    assert [series["useful"][key].value for key in ("1", "2", "8", "32")] == pytest.approx([4.0, 2.0, 0.5, 0.5])
    assert [series["moved"][key].value for key in ("1", "8", "32")] == pytest.approx([4.0, 4.0, 4.0])
    assert series["useful"]["1"].unit == "TB/s" and series["moved"]["1"].source == "derived"
    for key, model in series["sectors_model"].items():
        assert series["sectors_counted"][key].value == pytest.approx(model.value)
        assert "Nsight Compute" in series["sectors_counted"][key].reference
    assert series["dram_counted"]["8"].value == pytest.approx(8.0)
    offsets = {one.name: one.values for one in found.sweeps["misalignment"].series}
    assert list(offsets["useful"]) == [str(offset) for offset in range(32)]
    assert offsets["useful"]["3"].value == pytest.approx(4.0) and offsets["sectors_model"]["3"].value == 5
    assert schema.dumps(found)


def test_the_record_without_counters_says_why() -> None:
    found = coalescing.record(EMPTY, raw(counted=False), Context(H200, quick=False))
    sweep = found.sweeps["coalescing"]
    assert {one.name for one in sweep.series} == {"useful", "time", "moved", "sectors_model"}
    assert sweep.reference.endswith("not counted: the driver does not permit this user to read counters")
    assert "2 GiB read once" in sweep.reference
