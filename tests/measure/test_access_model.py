"""The warp-access model against the programming guide's cases, counted patterns and the counters of the ladder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from kernels.catalogue import Problem
from kernels.gemm_fp32.ladder import LADDER, autotuned
from kernels.gemm_fp32.warp_tile import WarpTile
from measure.access_model import Residency, blocks_per_sm, dram_bytes, l2_bytes, load_path_bytes, model, sectors, wavefronts
from measure.dataset import Dataset
from measure.records import Rung

COUNTED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("wavefronts_h200.json").read_text())


def stride(words: int, width: int = 4) -> list[int]:
    return [lane * words * 4 for lane in range(32)] if width == 4 else [lane * words * width for lane in range(32)]


@pytest.mark.parametrize(("words", "conflicts"), [(1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1)])
def test_bank_conflicts_of_strided_words(words: int, conflicts: int) -> None:
    """CUDA C++ Programming Guide, shared memory: stride 1 and 3 free of conflicts, stride 2 two-way, 32 all in one bank."""
    assert wavefronts(stride(words), 4, "shared") == conflicts


def test_lanes_that_want_one_word_share_it() -> None:
    """Same guide: no conflict between lanes that read within the same 32-bit word."""
    assert wavefronts([64] * 32, 4, "shared") == 1
    assert wavefronts([(lane % 8) * 4 for lane in range(32)], 4, "shared") == 1


def test_sixteen_bytes_a_lane_take_four_wavefronts() -> None:
    """32 lanes x 16 B = 512 B through 128 B a wavefront."""
    assert wavefronts([lane * 16 for lane in range(32)], 16, "shared") == 4
    assert wavefronts([lane * 16 for lane in range(32)], 16, "global") == 4


@pytest.mark.parametrize(("words", "expected"), [(1, 4), (2, 8), (4, 16), (8, 32), (32, 32)])
def test_sectors_of_strided_loads(words: int, expected: int) -> None:
    """32 aligned words are 128 bytes, four sectors of 32; from a stride of eight words on each lane touches its own."""
    assert sectors(stride(words), 4) == expected


def test_a_line_that_starts_off_its_boundary_touches_one_sector_more() -> None:
    assert sectors([4 + lane * 4 for lane in range(32)], 4) == 5


@pytest.mark.parametrize("pattern", [p for p in COUNTED if p["space"] == "shared"], ids=lambda p: f"{p['width']} {p['name']}")
def test_shared_memory_takes_the_wavefronts_that_were_counted(pattern: dict[str, Any]) -> None:
    assert wavefronts(pattern["addresses"], pattern["width"], "shared") == round(pattern["wavefronts"])
    assert pattern["wavefronts"] == pytest.approx(round(pattern["wavefronts"]), rel=0.005)


def test_global_memory_takes_about_the_wavefronts_that_were_counted() -> None:
    ratios = {
        f"{p['width']} {p['name']}": wavefronts(p["addresses"], p["width"], "global") / p["wavefronts"]
        for p in COUNTED
        if p["space"] == "global"
    }
    assert len(ratios) == 81
    assert all(0.74 < ratio <= 1.0 for ratio in ratios.values()), ratios
    assert sum(ratio > 0.97 for ratio in ratios.values()) >= 70


@pytest.mark.parametrize("rung", [rung.name for rung in LADDER.rungs])
def test_load_path_bytes_of_a_rung_are_those_that_were_counted(rung: str) -> None:
    owned = Dataset.open(["nvidia-h200"]).ladder("gemm_fp32")
    assert owned is not None
    found = next((member for member in owned.value.rungs if member.name == rung), None)
    if found is None:
        pytest.skip("not measured yet")
    kernel = LADDER[rung] if rung != "autotuned" else autotuned(as_built(found))
    counted = found.traffic["load_path"].counters
    if counted is None and rung == "autotuned":
        pytest.skip("counted apart from the choice of its constants")
    assert counted is not None and counted.source == "measured"
    assert load_path_bytes(kernel, LADDER.problem) == pytest.approx(counted.value, rel=0.02)


def as_built(rung: Rung) -> WarpTile:
    """The constants that the file's last rung was compiled with."""
    given = dict(option[2:].split("=") for option in rung.builds[0].options if option.startswith("-D"))
    return WarpTile(*(int(given[name]) for name in ("BM", "BN", "BK", "TM", "TN", "BLOCKS")))


def by_hand(pieces_a_step: float, steps: int, warps: int) -> float:
    return pieces_a_step * steps * warps * 128


def test_load_path_bytes_by_hand() -> None:
    """First rung: 32 pieces of A and one of B in each of K steps; second: one and one; C is a rounding error of 1 in K."""
    problem, warps = Problem(4096, 4096, 4096), 4096 * 4096 // 32
    expected = {"uncoalesced": 33.0, "coalesced": 2.0}
    for name, pieces in expected.items():
        assert load_path_bytes(LADDER[name], problem) == pytest.approx(by_hand(pieces, 4096, warps), rel=1e-3)
    # third: 2 loads and 2 stores of a tile, 8 broadcasts of 16 bytes at 2 wavefronts, 32 words
    assert load_path_bytes(LADDER["shared"], problem) == pytest.approx(by_hand(4 + 16 + 32, 128, warps), rel=1e-3)


def test_l2_bytes_fall_with_the_tile() -> None:
    """A block of T x T reads 2TK words for 2TTK FLOP: T/4 FLOP/B, 8 for 32, 16 for 64, 32 for 128."""
    for name, expected in (("shared", 8.0), ("tile_1d", 16.0), ("tile_2d", 32.0)):
        assert LADDER.problem.flop / l2_bytes(LADDER[name], LADDER.problem) == pytest.approx(expected, rel=0.02)


def test_dram_bytes_of_one_wave_are_compulsory() -> None:
    """All 16 blocks of 128 x 128 run at once: each input is read once, the output written once."""
    problem = Problem(512, 512, 1024)
    everything = Residency(sm_count=16, blocks_per_sm=1)
    assert dram_bytes(LADDER["tile_2d"], problem, everything) == problem.compulsory_bytes
    one_by_one = Residency(sm_count=1, blocks_per_sm=1)
    assert dram_bytes(LADDER["tile_2d"], problem, one_by_one) == 4 * (16 * 256 * 1024 + 512 * 512)


def test_levels_are_in_order_and_dram_needs_a_residency() -> None:
    found = model(LADDER["vectorised"], LADDER.problem, Residency(132, 2))
    assert found.dram is not None and found.load_path > found.l2 > found.dram > found.algorithmic
    assert model(LADDER["vectorised"], LADDER.problem).dram is None


SPACES: tuple[Literal["global", "shared"], ...] = ("global", "shared")


@pytest.mark.parametrize("space", SPACES)
def test_every_warp_makes_the_pattern_of_the_first(space: Literal["global", "shared"]) -> None:
    """What `Access` takes for granted, checked on every warp of a block."""
    for kernel in LADDER.rungs:
        launch = kernel.launch(LADDER.problem)
        for access in kernel.accesses(LADDER.problem):
            if access.space != space:
                continue
            counts = {
                wavefronts([access.address(first + lane) for lane in range(32)], access.width, space)
                for first in range(0, launch.threads, 32)
            }
            assert len(counts) == 1, (kernel.name, access.what)


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "expected"),
    [
        (1024, 32, 0, 2),
        (1024, 33, 0, 1),
        (256, 128, 8192, 2),
        (256, 129, 8192, 1),
        (512, 50, 4096, 2),
        (256, 16, 112 * 1024, 2),
    ],
)
def test_blocks_an_sm_holds(threads: int, registers: int, shared: int, expected: int) -> None:
    """Compute capability 9.0: 2048 threads, 65536 registers, 228 KiB of shared memory an SM."""
    assert blocks_per_sm(threads, registers, shared, 2048, 65536, 228 * 1024) == expected
