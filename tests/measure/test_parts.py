"""The parts of measuring that need no GPU: closed forms of the probes, counters' tables, traces' bookkeeping, device facts."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.roofs import probes
from kernels.traces import probes as traces
from measure import counters
from measure.counters import with_counters
from measure.device import DATASHEETS, Hardware, describe, explain
from measure.ladder_record import rate, rounded
from measure.patterns import patterns
from measure.records import Ladder, Level, Quantity, Rung, Traffic
from measure.roofs import chain_after, tile_sum
from measure.trace import blocks_to_trace, most_at_once

H200 = Hardware("NVIDIA H200", 90, 132, 60 << 20, 150_109_880_320, 1980.0, 3201.0, 6016, 2048, 65536, 228 * 1024, 227 * 1024)


def test_the_fma_chain_s_closed_form() -> None:
    """Iterated step by step in float64."""
    value, factor = 3.0, 1 - 1 / 500
    for _ in range(500):
        value = value * factor + 0.5 * factor
    assert chain_after(500, factor, 3.0) == pytest.approx(value, rel=1e-12)
    assert chain_after(450, factor, 3.0) != pytest.approx(value, rel=0.02)


@pytest.mark.parametrize("rounds", [1, 7, 1024, 2500])
def test_the_tile_probe_s_sum(rounds: int) -> None:
    """Read by read, in integers that wrap."""
    data = np.random.default_rng(1).integers(0, 2**32, (probes.TILE_VECTORS, 4), dtype=np.uint32)
    totals = data.sum(axis=1, dtype=np.uint32)
    expected = np.zeros(probes.TILE_THREADS, np.uint32)
    for r in range(rounds):
        base = (np.arange(probes.TILE_THREADS) + r) % probes.TILE_THREADS
        for u in range(probes.TILE_READS):
            expected += totals[base + u * probes.TILE_STEP]
    assert np.array_equal(tile_sum(data, rounds), expected)


NCU = """\
==PROF== Connected to process 1
[1/1] something a program printed
"ID","Process ID","Kernel Name","l1tex__data_pipe_lsu_wavefronts.sum","lts__t_sectors_srcunit_tex.sum","dram__bytes_read.sum",\
"dram__bytes_write.sum","smsp__issue_active.avg.pct_of_peak_sustained_active",\
"smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",\
"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",\
"smsp__average_warps_issue_stalled_drain_per_issue_active.ratio"
"","","","","sector","byte","byte","%","inst","inst","inst"
"0","1","gemm_uncoalesced","1,000","200","3000","1000","3.4","27","3","0"
"""


def test_counters_are_read_from_ncu_s_table() -> None:
    """1000 wavefronts of 128 B, 200 sectors of 32 B, 3000 + 1000 B, 27 of 30 warps waiting for the load queue."""
    rows = counters.parse(NCU)
    assert [row["Kernel Name"] for row in rows] == ["gemm_uncoalesced"]
    found = counters.quantities(rows[0])
    values = {name: quantity.value for name, quantity in found.items()}
    assert values == pytest.approx(
        {
            "load_path": 128_000,
            "l2": 6400,
            "dram": 4000,
            "issue_active": 0.034,
            "warp_time_lg_throttle": 0.9,
            "warp_time_long_scoreboard": 0.1,
        }
    )
    assert all(quantity.source == "measured" and "Nsight Compute" in quantity.reference for quantity in found.values())


def test_a_counter_that_ncu_does_not_have_is_left_out() -> None:
    assert counters.quantities({counters.WAVEFRONTS: "n/a", counters.DRAM_READ: "5"}) == {}
    assert counters.parse("==ERROR== ERR_NVGPUCTRPERM") == []


def test_no_ncu_is_a_reason_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(counters.CountersUnavailable, match="not installed"):
        counters.profile("k", ("m",), ("measure.counters",))


def test_counted_bytes_go_beside_the_modelled_ones() -> None:
    model = Quantity(10.0, "B", "derived")
    rung = Rung("one", "One", "", traffic={"load_path": Traffic(model=model)})
    counted = {"load_path": Quantity(11.0, "B", "measured"), "issue_active": Quantity(0.5, "", "measured")}
    found = with_counters(Ladder("t", "p", "d", None, "fp32", None, (rung,)), {"one": counted}).rungs[0]
    assert found.traffic["load_path"] == Traffic(model=model, counters=counted["load_path"])
    assert found.traffic["load_path"].best == counted["load_path"] and set(found.counters) == {"issue_active"}


def test_a_counter_of_warps_does_not_replace_what_warpgroups_read() -> None:
    """wgmma reads shared memory, and the copy engine writes it, past the pipe whose wavefronts are counted; L2 sees all."""
    modelled: tuple[Level, ...] = ("load_path", "l2")
    levels = {level: Traffic(model=Quantity(10.0, "B", "derived")) for level in modelled}
    counted: dict[str, Quantity] = {level: Quantity(2.0, "B", "measured") for level in modelled}
    rung = Rung("one", "One", "", traffic=levels, math_roof="bf16_wgmma")
    found = with_counters(Ladder("t", "p", "d", None, "bf16_mma", None, (rung,)), {"one": counted}).rungs[0]
    assert found.traffic["load_path"] == levels["load_path"] and found.traffic["l2"].best == counted["l2"]
    assert found.counters == {}


def test_rate_turns_times_round() -> None:
    """2e12 FLOP in 1, 2 and 4 s: 2, 1 and 0.5 TFLOP/s."""
    found = rate(2e12, [4.0, 1.0, 2.0])
    assert (found.low, found.value, found.high, found.unit) == (0.75, 1.0, 1.5, "TFLOP/s")
    assert rounded([0.00123456789]) == (0.0012346,)


@pytest.mark.parametrize(("sms", "blocks"), [(132, 924), (82, 574), (188, 940), (24, 168), (1, 7)])
def test_blocks_of_the_traced_launch(sms: int, blocks: int) -> None:
    """3.5 waves of two blocks an SM, in half waves and at most a thousand blocks: on 188 SMs, 2.5 waves are 940."""
    assert blocks_to_trace(sms) == blocks


def test_most_blocks_at_once() -> None:
    """On SM 0: [0, 10] and [5, 15] overlap; [10, 20] starts as the first ends."""
    assert most_at_once([0, 0, 0, 1], [0, 5, 10, 0], [10, 15, 20, 99]) == 2
    assert most_at_once([0, 0], [0, 10], [10, 20]) == 1


def test_device_record_of_an_h200() -> None:
    """6016 bits are five stacks of 1024 and most of a sixth; the datasheet says 4.8 TB/s and HBM3e."""
    found = describe(H200)
    assert (found.slug, found.compute_capability) == ("nvidia-h200", "9.0")
    assert (found.memory.kind, found.memory.packages) == ("HBM3e", 6)
    assert found.memory.bandwidth is not None and found.memory.bandwidth.value == 4.8
    assert found.fp32_lanes_per_sm is not None and found.fp32_lanes_per_sm.value == 128


def test_chips_around_a_geforce_s_die() -> None:
    """RTX 3090: 384 bits are 12 chips of 32 on one side."""
    card = Hardware(
        "NVIDIA GeForce RTX 3090", 86, 82, 6 << 20, 24 << 30, 1695.0, 9751.0, 384, 1536, 65536, 100 * 1024, 99 * 1024
    )
    assert describe(card).memory.packages == 12


def test_an_unknown_gpu_gets_no_invented_figures() -> None:
    found = describe(Hardware("Some GPU", 77, 3, 1 << 20, 1 << 30, 0.0, 0.0, 0, 2048, 65536, 65536, 49152))
    assert found.memory.kind is None and found.memory.packages is None and found.memory.bandwidth is None
    assert found.fp32_lanes_per_sm is None and found.boost_clock is None


@pytest.mark.parametrize(
    ("name", "bits", "gigabits", "sheet"),
    [
        ("NVIDIA GeForce RTX 3090", 384, 19.5, 0.936),
        ("NVIDIA GeForce RTX 4090", 384, 21.0, 1.008),
        ("Tesla T4", 256, 10.0, 0.320),
    ],
)
def test_datasheet_bandwidths_are_bus_times_rate(name: str, bits: int, gigabits: float, sheet: float) -> None:
    assert DATASHEETS[name].bandwidth == sheet == pytest.approx(bits * gigabits / 8 / 1000)


def test_cuda_s_errors_in_a_user_s_words() -> None:
    assert "no NVIDIA driver here" in explain("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
    assert "CUDA_VISIBLE_DEVICES" in explain("cudaErrorNoDevice: no CUDA-capable device is detected")
    assert explain("first\nsecond") == "first"


def test_patterns_stay_in_their_memory_and_are_aligned() -> None:
    for pattern in patterns():
        assert len(pattern.addresses) == 32
        assert all(
            address % pattern.width == 0 and address + pattern.width <= traces.PATTERN_BYTES for address in pattern.addresses
        )
