"""Cores: as many SMs, lanes and memory packages as the record has; eight towers; nothing is told that no record says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from measure import schema
from measure.dataset import Dataset
from measure.records import SCHEMA_VERSION, Device, Measurements, Memory, Quantity, Run
from scenes.cores import Cores
from scenes.props.chip import Chip, memory_lines
from scenes.props.cpu import Cpu
from scenes.props.feed import feeds
from scenes.props.lanes import IDLE, TALL, Lanes, Share, grid_of
from scenes.stage.palette import MEMORY, THREAD
from scenes.stage.ways import Packets
from scenes.stage.world import Boxes, World

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
from staging import placed, small_frames, staged, texts, world_at

WIDTH, HEIGHT, SEEN = 480, 270, 0.1


def measured(value: float, unit: str = "") -> Quantity:
    return Quantity(value, unit, "measured")


SMALL = Device(
    "Small GPU", "small-gpu", sm_count=measured(14), fp32_lanes_per_sm=measured(64), l2_size=measured(1e6, "B"),
    boost_clock=measured(1590, "MHz"), memory=Memory("GDDR6", 4, measured(4 * 2**30, "B")),
)  # fmt: skip
BARE = Device("Bare GPU", "bare-gpu")


def passage(device: Device, folder: Path) -> Cores:
    """The scene over a file that holds nothing but a device."""
    path = folder / f"{device.slug}.json"
    schema.save(Measurements(SCHEMA_VERSION, device, Run("2026-01-02")), path)
    return over(path)


def over(spec: str | Path) -> Cores:
    scene = staged("cores", spec)
    assert isinstance(scene, Cores)
    return scene


@pytest.fixture(autouse=True)
def frames(tmp_path: Path) -> Iterator[None]:
    with small_frames(WIDTH, HEIGHT, media=tmp_path / "media"):
        yield


@pytest.fixture
def small(tmp_path: Path) -> Cores:
    return passage(SMALL, tmp_path)


@pytest.fixture
def bare(tmp_path: Path) -> Cores:
    return passage(BARE, tmp_path)


def boxes_of(prop: Lanes | Cpu, beat: float) -> Boxes:
    world = World()
    prop.draw(world, beat)
    return world.all_boxes()


# ---- what is drawn is the record's ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lanes", "grid"), [(128, (8, 16)), (64, (8, 8)), (192, (12, 16)), (1, (1, 1)), (7, (1, 7))])
def test_a_tile_holds_whole_rows_of_near_square_cells(lanes: int, grid: tuple[int, int]) -> None:
    assert grid_of(lanes) == grid


def test_lanes_are_as_many_as_the_record_has_and_the_thread_is_one_of_them(small: Cores) -> None:
    lanes = next(prop for prop in small.props if isinstance(prop, Lanes))
    assert len(lanes.chip.plan.sms) == 14 and lanes.each == 64
    lanes.close = lambda beat: True
    lanes._near[:] = True  # every tile cell by cell
    drawn = boxes_of(lanes, 15.0)
    assert len(drawn.origin) == 14 * 64 - 1
    x, y, _ = small.way.place(23.5)
    middle = drawn.origin[:, :2] + drawn.size[:, :2] / 2
    step = np.array(lanes.pitch)
    beside = np.abs(np.abs(middle - (x, y)) / step - np.round(np.abs(middle - (x, y)) / step)).max(1) < 1e-3
    assert beside.sum() >= 63  # its place is one of the grid's of its SM ...
    assert np.hypot(*(middle - (x, y)).T).min() > 0.9 * step.min()  # ... and nobody else's


def test_columns_cut_by_lines_make_as_many_cells(small: Cores) -> None:
    lanes = next(prop for prop in small.props if isinstance(prop, Lanes))
    lanes._fine[:] = False
    corners, wide = lanes.chip.plan.sms, lanes.chip.tile[0]
    for beat in (12.0 - 0.7, 15.0, 14.3):  # on their way up, as the ring passes
        world = World()
        lanes.draw(world, beat)
        assert len(world.all_boxes().origin) == 14 * 8
        lines, tops = world.all_ribbons(), lanes.foot + lanes.height(beat)
        for (x, y), top in zip(corners, tops, strict=True):
            over = (lines.a[:, 0] < x + 1e-4) & (lines.b[:, 0] > x + wide - 1e-4) & (np.abs(lines.a[:, 1] - y - 0.28) < 0.28)
            assert (over & (np.abs(lines.a[:, 2] - top) < 0.004)).sum() == over.sum() == 7  # eight rows, seven lines between
    assert len(lines.a) < 14 * 7  # tiles of one height share their lines


def test_the_ring_lifts_the_lanes_on_its_way_out(small: Cores) -> None:
    def lifted(beat: float) -> float:
        """How far from the thread the highest lanes stand, as a share of the farthest."""
        return float(small._far()[np.argmax(small._up(beat))])

    ways = [lifted(small.at(5) + u) for u in (0.1, 0.35, 0.7)]
    assert ways == sorted(ways) and ways[0] < 0.3 < 0.7 < ways[-1]
    assert small._up(small.at(6, 3)) == pytest.approx(np.ones(14))


def test_a_core_of_the_cpu_has_a_window_for_each_of_its_lanes(small: Cores) -> None:
    drawn = boxes_of(small.cpu, 6.0)
    lit = drawn.emission > 0.1
    assert lit.sum() == 8 * 16  # two units of eight lanes in each of eight cores
    assert "8 cores × 16 fp32 multiply-adds a cycle" in texts(small, 5.0)
    assert [next(t for t in texts(small, beat) if t.endswith(" lanes")).strip() for beat in (4.3, 4.55, 5.1)] == [
        "48 lanes", "80 lanes", "128 lanes",
    ]  # fmt: skip


@pytest.mark.parametrize(("spec", "all_lanes", "of"), [
    ("nvidia-h200", "16 896 lanes", ("132 SMs", "128 lanes")), ("rtx-3090-published", "10 496 lanes", ("82 SMs", "128 lanes")),
])  # fmt: skip
def test_lanes_of_both_stand_side_by_side(spec: str, all_lanes: str, of: tuple[str, str]) -> None:
    """132 x 128 = 16 896 and 82 x 128 = 10 496 (both GPUs' datasheets) beside 8 x 16 = 128, each with its factors."""
    made = over(spec)
    for beat in (14.2, 15.4):
        said = texts(made, beat)
        assert {"128 lanes", "CPU: 8 cores × 16 lanes, an example", all_lanes, "GPU: ", *of, ", derived"} <= said
        assert "as many lanes as the CPU" in said
    share = next(prop for prop in made.props if isinstance(prop, Share))
    assert len(share.sms) == 1  # one SM has 128 lanes, as the CPU has


@pytest.mark.parametrize(("each", "framed"), [(64, 2), (128, 1), (32, 4), (192, 0), (8, 0)])
def test_the_frame_is_upon_as_many_sms_as_make_up_the_cpus_lanes(each: int, framed: int, tmp_path: Path) -> None:
    """128 = 2 x 64 = 4 x 32; no whole number of SMs of 192 has them, and the back row of 14 SMs has no sixteen."""
    made = passage(replace(SMALL, fp32_lanes_per_sm=measured(each)), tmp_path)
    share = next(prop for prop in made.props if isinstance(prop, Share))
    assert len(share.sms) == framed
    lines = world_at(made, 14.5, [share]).all_ribbons() if framed else None
    corner = made.chip.plan.sms[share.sms]
    if lines is not None:
        assert np.ptp(corner[:, 1]) == 0 and (np.diff(share.sms) == 1).all()
        assert lines.a[:4, 0].min() == pytest.approx(corner[:, 0].min())
        assert lines.a[:4, 0].max() == pytest.approx(corner[:, 0].max() + made.chip.tile[0])
    assert ("as many lanes as the CPU" in texts(made, 14.5)) == bool(framed)


def test_the_first_lanes_stand_just_after_the_word_and_the_last_a_bar_later(small: Cores) -> None:
    lanes = next(prop for prop in small.props if isinstance(prop, Lanes))
    many = small.at(3, 3)
    assert not lanes.height(many - 0.41).any()
    assert lanes.height(many + 0.12)[small.home] == pytest.approx(TALL, rel=0.07)
    assert (lanes.height(many + 0.12) == 0).any()
    assert lanes.height(many + 2.0).min() == pytest.approx(TALL)


def test_nothing_is_amber_on_the_chip_before_the_fourth_bar(small: Cores) -> None:
    lanes = next(prop for prop in small.props if isinstance(prop, Lanes))
    assert np.abs(boxes_of(lanes, small.at(4) - 0.6).color - np.array(IDLE)).max() < 1e-6
    assert boxes_of(lanes, small.at(4, 3)).color[:, 0].min() > IDLE[0] + 0.1


def test_eight_towers_one_an_eighth_note(small: Cores) -> None:
    cpu = small.cpu
    assert cpu.count == 8
    for k in range(1, 9):
        assert (cpu.rise(0.5 * k + 0.55) > 0.99).sum() == min(k + 1, 8)


def test_packets_run_on_the_memorys_lines_two_a_beat(small: Cores) -> None:
    packets = next(prop for prop in small.props if isinstance(prop, Packets))
    assert packets.colour == MEMORY and len(packets.ways) == 4 * 6  # GDDR: six lines a chip
    assert packets.walked(small.at(4, 3)) == 0.0
    assert packets.walked(small.at(5)) == pytest.approx(2 * 2 * packets.every)
    h200 = Chip(Dataset.open(["nvidia-h200"]).device)
    assert len(memory_lines(h200.plan)) == 6 * 9
    longer = [way for way in feeds(h200) if len(way) > 2]
    assert len(longer) == 6 and all(abs(way[-1][0]) < 0.3 for way in longer)  # one of each stack reaches the middle of the L2


# ---- what is told --------------------------------------------------------------------------------------------------------


def test_figures_are_the_records(small: Cores) -> None:
    for beat in np.arange(0.0, 24.0, 0.5):
        texts(small, beat)
    claims = {claim.key: (claim.text, claim.value, claim.source) for claim in small.log.claims}
    said = texts(small, 17.0)
    assert "highest clock allowed, says the driver" in said and not any(line.endswith(", measured") for line in said)
    assert claims == {
        "device.sm_count": ("14 SMs", 14, "measured"),
        "device.fp32_lanes_per_sm": ("64 lanes", 64, "measured"),
        "derived.fp32_lanes": ("896 lanes", 896, "derived"),  # 14 x 64
        "device.memory.size": ("4 GiB GDDR6", 4 * 2**30, "measured"),
        "device.boost_clock": ("1 590 MHz", 1590, "measured"),
    }


def test_without_a_record_the_die_is_blank_and_that_is_said(bare: Cores) -> None:
    assert not any(isinstance(prop, Lanes | Packets) for prop in bare.props)
    said = {text for beat in np.arange(0.0, 24.0, 1.0) for text in texts(bare, beat)}
    missing = ("number of SMs", "lanes of an SM", "memory size", "clock limit")
    assert {f"{what} not known" for what in missing} <= said
    assert not bare.log.claims


@pytest.mark.parametrize("scene", ["small", "bare"])
def test_there_is_one_thread_and_its_texts_stand_free(scene: str, request: pytest.FixtureRequest) -> None:
    made: Cores = request.getfixturevalue(scene)
    for beat in np.arange(0.25, 23.9, 0.75):
        drawn = world_at(made, beat).all_boxes()
        assert (np.abs(drawn.color - np.array(THREAD)).max(axis=1) < 1e-3).sum() == 1
    for beat in np.arange(0.0, 23.9, 1.0):
        for a, b in combinations(placed(made, beat, SEEN), 2):
            clear = a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
            assert clear or a.text == b.text, f"beat {beat}: {a.text!r} over {b.text!r}"


def test_the_thread_leaves_its_tower_and_lands_on_its_sm(small: Cores) -> None:
    way, tower = small.way, small.cpu.middles()[2]
    assert way.place(small.leaps - 0.1)[:2] == pytest.approx(tower)
    x, y, z = way.place(small.lands)
    corner = small.chip.plan.sms[small.home]
    assert corner[0] < x < corner[0] + small.chip.tile[0] and corner[1] < y < corner[1] + small.chip.tile[1]
    assert z == pytest.approx(small.chip.floor + 0.07)
    heights = [way.place(beat)[2] for beat in np.arange(small.leaps, small.lands, 0.02)]
    assert max(heights) > way.place(small.leaps)[2] + 0.5


def test_it_sees_the_thread_as_the_title_left_it(small: Cores) -> None:
    title = staged("title")
    stands, before, after = np.array(small.way.place(0.0)), title.camera_at(title.clock.beats), small.camera_at(0.0)
    assert np.subtract(after.eye, stands) == pytest.approx(before.eye)
    assert np.subtract(after.target, stands) == pytest.approx(before.target)
    assert before.fov == after.fov and small.way.edge(0.0) == pytest.approx(0.8)
