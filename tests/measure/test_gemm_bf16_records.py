"""The bf16 ladder's records without a GPU: raw samples in, rates, roof and bytes out, each worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernels.catalogue import Problem
from kernels.gemm_bf16.ladder import LADDER
from kernels.gemm_bf16.mma_sync import swizzled_a, swizzled_b
from measure import gemm_bf16, mma_roof, roofline_model, schema
from measure.access_model import Residency, load_path_bytes
from measure.device import Hardware, describe
from measure.gemm_bf16_model import Tiling, dram_bytes, l2_bytes, ldmatrix_wavefronts, panels, tiling, traffic
from measure.records import SCHEMA_VERSION, Measurements
from measure.subject import Context

H200 = Hardware("NVIDIA H200", 90, 132, 60 << 20, 150_109_880_320, 1980.0, 3201.0, 6016, 2048, 65536, 228 * 1024, 227 * 1024)
WORK = 2**40


def contender(
    seconds: float, error: float | None = 1e-7, registers: int = 128, shared: int = 0, **other: Any
) -> dict[str, Any]:
    launch = {"entry": "k", "grid": [64, 64, 1], "block": [256, 1, 1], "registers": registers, "spills": 0, "shared": shared}
    found = {
        "refusal": "",
        "tolerance": 1e-5,
        "error": error,
        "error_after": error,
        "odd_sizes": True,
        "hot": [seconds] * 3,
        "cold": [2 * seconds],
        "clocks": [1755.0],
        "reasons": [],
        "launches": [{**launch, "options": ["-DGUARD=0"], "sha256": "0" * 64}],
        "extra": {},
    }
    return {**found, **other}


def raw() -> dict[str, Any]:
    """Rungs of 100, 200 ... 1200 TFLOP/s and cuBLAS at 800; the roofs at 600 and 900 TFLOP/s."""
    contenders = {kernel.name: contender(WORK / (100e12 * number)) for number, kernel in enumerate(LADDER.rungs, 1)}
    line = contender(WORK / 800e12, launches=[])
    probe = {"amount": 6e12, "words": "w", "seconds": [0.01] * 3, "per_clock": [2500.0, 2600.0, 2400.0], "clocks": [1750.0]}
    wgmma = {**probe, "amount": 9e12, "per_clock": [4000.0]}
    return {
        "problem": [8192] * 3,
        "roof": probe,
        "wgmma_roof": wgmma,
        "contenders": {**contenders, "cublas": line},
        "clocks": [1755.0],
    }


def recorded(samples: dict[str, Any], hardware: Hardware = H200) -> Measurements:
    empty = Measurements(SCHEMA_VERSION, describe(hardware), None)
    return gemm_bf16.record(empty, samples, Context(hardware, quick=False))


def test_rates_are_work_over_seconds(tmp_path: Path) -> None:
    found = recorded(raw())
    ladder = found.ladders["gemm_bf16"]
    assert [rung.name for rung in ladder.rungs] == [kernel.name for kernel in LADDER.rungs]
    rates = [rung.rate.value for rung in ladder.rungs if rung.rate is not None]
    assert rates == pytest.approx([100.0 * number for number in range(1, 13)])
    assert [rung.math_roof for rung in ladder.rungs] == [""] * 7 + ["bf16_wgmma"] * 5
    assert ladder.lines[0].rate.value == pytest.approx(800) and ladder.lines[0].title == "cuBLAS bf16"
    assert (ladder.math_roof, ladder.problem) == ("bf16_mma", "8192 x 8192 x 8192")
    assert ladder.work is not None and ladder.work.value == WORK
    assert schema.load(schema.save(found, tmp_path / "file.json")) == found


def test_the_roof_says_what_an_expert_knows_it_by() -> None:
    """132 SMs x 2500 FLOP x 1980 MHz = 653.4 TFLOP/s; the datasheet's 1979 are with sparsity, half of it dense."""
    roof = recorded(raw()).roofs["bf16_mma"]
    assert roof.measured is not None and roof.measured.value == pytest.approx(600) and roof.kind == "math"
    assert "2500 FLOP a clock an SM" in roof.measured.reference and "wgmma" in roof.measured.reference
    assert roof.computed is not None and roof.computed.value == pytest.approx(653.4)
    assert roof.datasheet is not None and roof.datasheet.value == 989.5


def test_the_roof_of_warpgroups_is_another_and_old_recordings_have_none() -> None:
    """132 SMs x 4000 FLOP x 1980 MHz = 1045.4 TFLOP/s; a rung of warpgroups is held against it, not against mma.sync's."""
    found = recorded(raw())
    roof, ladder = found.roofs["bf16_wgmma"], found.ladders["gemm_bf16"]
    assert (
        roof.measured is not None
        and roof.measured.value == pytest.approx(900)
        and "reaches some" not in roof.measured.reference
    )
    assert roof.computed is not None and roof.computed.value == pytest.approx(1045.44)
    shares = {rung.name: roofline_model.shares(ladder, rung, found.roofs)[0] for rung in ladder.rungs}
    assert shares["deep_tiles"].roof == "bf16_mma" and shares["deep_tiles"].share == pytest.approx(700 / 600)
    assert shares["warpgroup"].roof == "bf16_wgmma" and shares["warpgroup"].share == pytest.approx(800 / 900)
    before = raw()
    del before["wgmma_roof"]
    assert "bf16_wgmma" not in recorded(before).roofs


def test_a_roof_without_datasheet_and_clock_has_neither() -> None:
    other = replace(H200, name="Some GPU", capability=86, clock=0.0)
    roof = recorded(raw(), other).roofs["bf16_mma"]
    assert roof.datasheet is None and roof.computed is None
    assert roof.measured is not None and "wgmma" not in roof.measured.reference


def test_a_wrong_rung_and_a_refused_one_have_no_rate() -> None:
    samples = raw()
    samples["contenders"]["shared"] = contender(1.0, error=1e-3)
    samples["contenders"]["grouped"] = contender(1.0, refusal="needs more", hot=[], launches=[], error=None)
    samples["contenders"]["cublas"] = contender(1.0, hot=[], launches=[])
    ladder = recorded(samples).ladders["gemm_bf16"]
    rungs = {rung.name: rung for rung in ladder.rungs}
    assert rungs["shared"].rate is None and not rungs["shared"].verified
    assert rungs["grouped"].rate is None and rungs["grouped"].absent == "needs more"
    assert rungs["naive"].rate is not None and ladder.lines == ()


def test_other_roofs_and_ladders_stay() -> None:
    before = recorded(raw())
    moved = replace(before, roofs={"l2": before.roofs["bf16_mma"]}, ladders={"other": before.ladders["gemm_bf16"]})
    after = gemm_bf16.record(moved, raw(), Context(H200, quick=False))
    assert set(after.roofs) == {"l2", "bf16_mma", "bf16_wgmma"} and set(after.ladders) == {"other", "gemm_bf16"}


def test_bytes_of_a_large_tile_by_hand() -> None:
    """8192^3 in 2048 blocks of 128 x 256, 256 steps of 32: cp.async brings (128 + 256) x 64 B a step, 512 B an instruction;
    eight warps load, for each 16 of the depth, four fragments of A and four pairs of B, four passes each; an output takes 8."""
    kernel, problem = LADDER["warp_tile"], LADDER.problem
    a_step = (128 + 256) * 64 // 512 + 8 * 2 * (4 + 4) * 4
    assert load_path_bytes(kernel, problem) == 128 * 2048 * (256 * a_step + 8 * 4 * 8 * 2 * 8)
    assert l2_bytes(kernel, problem) == 2 * (2048 * 384 * 8192 + 8192**2)
    double = load_path_bytes(LADDER["double_buffered"], problem) - load_path_bytes(kernel, problem)
    assert double == 128 * 2048 * 8 * 8 * 4, "one more set of fragments for every warp"


COUNTED = {
    "naive": 5.182e10,
    "shared": 1.236e10,
    "pipelined": 7.284e9,
    "warp_tile": 4.851e9,
    "double_buffered": 4.882e9,
    "grouped": 4.882e9,
}
"""Load-path bytes at 4096^3, `l1tex__data_pipe_lsu_wavefronts` x 128 B: NVIDIA H200, driver 580.159.04, 2026-12-02."""


@pytest.mark.parametrize(("name", "bytes_"), COUNTED.items())
def test_modelled_bytes_agree_with_the_counters(name: str, bytes_: float) -> None:
    assert load_path_bytes(LADDER[name], Problem(4096, 4096, 4096)) == pytest.approx(bytes_, rel=0.03)


def test_bytes_of_the_naive_rung_by_hand() -> None:
    """A warp's load of A goes to eight rows, of B to four, all of them 16 KiB apart: in the same banks."""
    passes = 512 * (16 * 8 + 16 * 4) + 32 * 8
    assert load_path_bytes(LADDER["naive"], LADDER.problem) == 128 * 4096 * 8 * passes


def test_each_rung_asks_less_of_the_load_path_until_it_is_no_longer_the_point() -> None:
    found = [load_path_bytes(kernel, LADDER.problem) for kernel in LADDER.rungs[:7]]
    assert found[0] > 4 * found[1] > 4 * 1.5 * found[2] > 4 * 1.5 * 1.3 * found[3]


def test_ldmatrix_with_and_without_the_swizzle() -> None:
    """Rows of A 64 B apart: two by two in the same banks, four of each kind; rows of B 256 B apart: all in the same."""
    lanes = range(32)
    assert ldmatrix_wavefronts([swizzled_a(lane % 16, lane // 16, 32) for lane in lanes]) == 4
    assert ldmatrix_wavefronts([swizzled_a(lane % 16, lane // 16, 64) for lane in lanes]) == 4
    assert ldmatrix_wavefronts([swizzled_b(lane % 16, lane // 16, 256) for lane in lanes]) == 4
    assert ldmatrix_wavefronts([lane % 16 * 64 + lane // 16 * 16 for lane in lanes]) == 16
    assert ldmatrix_wavefronts([lane % 16 * 256 + lane // 16 * 16 for lane in lanes]) == 32


def test_blocks_in_groups_share_more() -> None:
    """132 blocks at once: row by row they cover 4 or 5 rows of blocks and all 32 columns; in groups of 16, 8 or 9 columns."""
    plain, grouped = LADDER["double_buffered"], LADDER["grouped"]
    assert tiling(plain, LADDER.problem) == Tiling(32, 64, 128, 256, 1, 1)
    assert tiling(grouped, LADDER.problem) == Tiling(32, 64, 128, 256, 16, 1)
    assert panels(Tiling(32, 4, 128, 256, 1, 1), 132) == 4 * 128 + 32 * 256
    assert panels(Tiling(32, 16, 128, 256, 16, 1), 512) == 16 * 128 + 32 * 256
    assert panels(Tiling(32, 16, 128, 256, 16, 1), 128) == 4 * (16 * 128 + 8 * 256)
    at_once = Residency(132, 1)
    assert dram_bytes(grouped, LADDER.problem, at_once) < 0.6 * dram_bytes(plain, LADDER.problem, at_once)


def test_blocks_of_a_cluster_fetch_b_once_for_both() -> None:
    """8192^3 in 2048 tiles of 128 x 256: a tile fetches 384 x 8192 values; two of 256 x 128 in a cluster 512 + 128, not 768."""
    problem, alone, two = LADDER.problem, LADDER["persistent"], LADDER["clusters"]
    assert tiling(two, problem) == Tiling(64, 16, 512, 128, 4, 2)
    assert l2_bytes(alone, problem) == 2 * (2048 * 384 * 8192 + 8192**2)
    assert l2_bytes(two, problem) == 2 * (1024 * 640 * 8192 + 8192**2)
    # 66 clusters at once in groups of 4 cover 2048 rows, as 132 tiles in groups of 16 do, and about as many columns
    at_once = Residency(132, 1)
    assert dram_bytes(two, problem, at_once) == pytest.approx(dram_bytes(alone, problem, at_once), rel=0.05)


def test_what_warpgroups_read_of_shared_memory_by_hand() -> None:
    """2048 tiles of 128 x 256, 512 products deep, in two halves of 64 rows: 64 x 16 of A and 16 x 256 of B each, two bytes a
    value; (128 + 256) x 8192 values a tile are copied in; rounded, the output goes in and out once more."""
    problem = LADDER.problem
    read = 2048 * 512 * 2 * (64 * 16 + 16 * 256) * 2
    copied = 2048 * (128 + 256) * 8192 * 2
    assert load_path_bytes(LADDER["stores"], problem) == pytest.approx(read + copied + 2 * 8192**2 * 2)
    # stored by threads: 4 bytes a lane, 32 outputs in pairs over 8 rows, which lie in the same banks
    pairs = 8192**2 // 64
    assert load_path_bytes(LADDER["roles"], problem) == pytest.approx(read + copied + pairs * 8 * 128)


def test_traffic_has_dram_only_where_it_is_known_how_many_blocks_run_at_once() -> None:
    assert set(traffic(LADDER["naive"], Problem(128, 128, 64), None)) == {"load_path", "l2", "algorithmic"}
    found = traffic(LADDER["naive"], Problem(128, 128, 64), Residency(4, 2))
    assert found["dram"].model is not None and found["dram"].model.source == "estimated"
    assert found["algorithmic"].model is not None and found["algorithmic"].model.value == 2 * (2 * 128 * 64 + 128 * 128)


def test_residency_follows_from_registers_and_shared_memory() -> None:
    """Two blocks of 256 threads with 128 registers; one with 96 KiB and 250 registers."""
    samples = raw()
    samples["contenders"]["grouped"] = contender(1.0, registers=250, shared=98304)
    rungs = {rung.name: rung for rung in recorded(samples).ladders["gemm_bf16"].rungs}
    for name, at_once in (("pipelined", 2), ("grouped", 1)):
        model = rungs[name].traffic["dram"].model
        assert model is not None
        assert model.value == dram_bytes(LADDER[name], LADDER.problem, Residency(132, at_once))


def test_flop_a_clock_of_each_sm() -> None:
    """SM 3: two warps from 100 to 300; SM 5: one from 0 to 50; an SM that saw no time is left out."""
    when = [[3, 100, 290], [3, 110, 300], [5, 0, 50], [7, 9, 9]]
    assert mma_roof.flop_per_clock(when, 1000.0) == [10.0, 20.0]
