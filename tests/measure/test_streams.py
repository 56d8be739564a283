"""Streams without a GPU: what the check sees, how large arrays are, and the rates of made-up samples by arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from measure import schema, streams
from measure.device import Hardware
from measure.errors import Unsupported
from measure.records import SCHEMA_VERSION, Device, Measurements, Quantity, Roof
from measure.subject import Context

GPU = Hardware("Test GPU", 90, 4, 1 << 20, 1 << 33, 1000.0, 1000.0, 1024, 2048, 65536, 228 << 10, 227 << 10)
ROOF = Roof("Device memory, read", "memory", measured=Quantity(2.0, "TB/s", "measured"))
EMPTY = Measurements(SCHEMA_VERSION, Device("Test GPU", "test-gpu"), None, roofs={"dram": ROOF})
RAW: dict[str, Any] = {
    "size": 1 << 30,
    "blocks": 16,
    "hot": {"read": [1e-3] * 3, "copy": [1e-3, 2e-3, 4e-3], "triad": [2e-3], "memcpy": [1.6e-3]},
    "clocks": [],
}


def test_rates_count_what_is_read_and_what_is_written() -> None:
    """1 GiB in 1 ms is 1.0737 TB/s read; twice that in 2 ms copied, three times that in 2 ms combined."""
    found = streams.record(EMPTY, RAW, Context(GPU, False))
    sweep = found.sweeps["streams"]
    series = {one.name: one.values for one in sweep.series}
    assert list(series["kernel"]) == ["read", "copy", "triad"] and list(series["cudaMemcpy"]) == ["copy"]
    rates = [series["kernel"][what].value for what in series["kernel"]]
    assert rates == pytest.approx([1.073741824, 1.073741824, 1.610612736])
    copy = series["kernel"]["copy"]
    assert (copy.unit, copy.source, copy.n) == ("TB/s", "measured", 3) and copy.low is not None and copy.low < copy.value
    assert series["cudaMemcpy"]["copy"].value == pytest.approx(1.34217728)
    assert series["share"]["triad"].value == pytest.approx(1.610612736 / 2)
    assert schema.dumps(found)


def test_arrays_shrink_to_the_memory_at_hand() -> None:
    """Three of 4 GiB take 12.9 GB; of 10 GB free 80 % hold three of 2 GiB; beside 60 MB of L2 they must be 480 MB at least."""
    assert streams.size_of_array(GPU, 100 * 10**9, quick=False) == 4 << 30
    assert streams.size_of_array(GPU, 10 * 10**9, quick=False) == 2 << 30
    large = Hardware("Test GPU", 90, 4, 60_000_000, 1 << 33, 1000.0, 1000.0, 1024, 2048, 65536, 228 << 10, 227 << 10)
    with pytest.raises(Unsupported, match=r"do not fit into 1\.0 GB"):
        streams.size_of_array(large, 10**9, quick=False)


@pytest.mark.parametrize("what", streams.AMOUNT)
def test_one_wrong_word_is_seen(what: str) -> None:
    data = streams.arrays(np, 100, 8)

    def run(wrong: bool) -> None:
        if what == "read":
            data.sums[:] = 0
            data.sums[0] = data.b.view(np.uint32).sum(dtype=np.uint32)
        elif what == "copy":
            data.out[:] = data.b
        else:
            data.out[:] = data.b + np.float32(0.75) * data.c.astype(np.float64)
        if wrong:
            (data.sums if what == "read" else data.out).view(np.uint32)[5] += 1

    assert streams.right(np, what, data, lambda: run(False))
    assert not streams.right(np, what, data, lambda: run(True))
    assert not streams.right(np, what, data, lambda: None)


def test_a_copy_from_the_other_place_is_held_against_what_lies_there() -> None:
    data = streams.arrays(np, 100, 8)

    def from_c() -> None:
        data.out[:] = data.c

    assert streams.right(np, "copy", data.crossed, from_c)
    assert not streams.right(np, "copy", data, from_c)


def test_samples_from_both_places_are_one_figure() -> None:
    found = streams.pooled({"read": [1.0], "copy:b": [2.0, 3.0], "memcpy:b": [5.0], "copy:c": [4.0], "memcpy:c": [6.0]})
    assert found == {"read": [1.0], "copy": [2.0, 3.0, 4.0], "memcpy": [5.0, 6.0]}
