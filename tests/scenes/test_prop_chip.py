"""The chip is laid out from a device record: its counts are the record's, and nothing stands inside of anything else."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from measure.records import Device, Memory, Quantity
from scenes.props.chip import BOARD, INTERPOSER, PACKAGE, SM_IDLE, SM_RISE, STACK_HEIGHT, WORKING, Chip
from scenes.props.floorplan import Rect, floorplan, rows_of, share_out
from scenes.stage.palette import MEMORY, STEEL
from scenes.stage.world import Boxes, World


def count(value: float) -> Quantity:
    return Quantity(value, "", "datasheet")


H200 = Device("NVIDIA H200", "h200", sm_count=count(132), l2_size=Quantity(5e7, "B", "datasheet"), memory=Memory("HBM3e", 6))
RTX_3090 = Device(
    "RTX 3090", "rtx-3090", sm_count=count(82), l2_size=Quantity(6e6, "B", "datasheet"), memory=Memory("GDDR6X", 12)
)
BARE = Device("Some GPU", "some-gpu")


def inside(inner: Rect, outer: Rect) -> bool:
    return outer.x0 <= inner.x0 and outer.y0 <= inner.y0 and inner.x1 <= outer.x1 and inner.y1 <= outer.y1


def apart(a: Rect, b: Rect) -> bool:
    return a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0


def drawn(chip: Chip, beat: float = 0.0) -> Boxes:
    world = World()
    chip.draw(world, beat)
    return world.all_boxes()


@pytest.mark.parametrize("sms", [1, 2, 7, 16, 46, 60, 82, 84, 108, 132, 144, 148, 170, 188])
def test_as_many_tiles_as_the_device_has_sms(sms: int) -> None:
    chip = Chip(Device("x", "x", sm_count=count(sms), l2_size=count(1)))
    plan = chip.plan
    assert len(plan.sms) == sms
    wide, deep = chip.tile
    tiles = [Rect(x, y, x + wide, y + deep) for x, y in plan.sms]
    assert all(inside(tile, plan.die) for tile in tiles)
    assert all(apart(a, b) for a, b in combinations(tiles, 2))
    if plan.l2:
        assert all(apart(tile, plan.l2) for tile in tiles)


def test_rows_follow_real_dies() -> None:
    assert (rows_of(132), floorplan(H200).columns) == (6, 22)  # 132 = 6 x 22, no place empty
    assert (rows_of(82), floorplan(RTX_3090).columns) == (6, 14)  # GA102 has 84 SMs, the RTX 3090 uses 82 of them


def test_a_short_row_is_centred() -> None:
    sms = floorplan(RTX_3090).sms
    back = sms[sms[:, 1] == sms[:, 1].max()]
    assert len(back) == 12
    assert back[:, 0].min() - sms[:, 0].min() == pytest.approx(sms[:, 0].max() - back[:, 0].max())
    assert back[:, 0].min() > sms[:, 0].min()


@pytest.mark.parametrize(
    ("total", "parts", "shares"), [(22, 4, [6, 5, 5, 6]), (14, 3, [5, 4, 5]), (12, 3, [4, 4, 4]), (1, 1, [1])]
)
def test_shares_are_even_and_mirrored(total: int, parts: int, shares: list[int]) -> None:
    assert share_out(total, parts) == shares


def test_hbm_stands_beside_the_die_on_the_interposer() -> None:
    plan = floorplan(H200)
    assert plan.stacked and plan.interposer is not None
    assert len(plan.memory) == 6
    assert sum(stack.x1 < plan.die.x0 for stack in plan.memory) == sum(stack.x0 > plan.die.x1 for stack in plan.memory) == 3
    assert all(inside(stack, plan.interposer) for stack in plan.memory)


def test_gddr_lies_on_the_board_around_the_package() -> None:
    plan = floorplan(RTX_3090)
    assert not plan.stacked and plan.interposer is None
    assert len(plan.memory) == 12
    assert all(apart(chip, plan.package) and inside(chip, plan.board) for chip in plan.memory)
    assert all(apart(a, b) for a, b in combinations(plan.memory, 2))


def test_what_is_unknown_is_left_out() -> None:
    plan = floorplan(BARE)
    assert len(plan.sms) == 0 and plan.memory == () and plan.l2 is None
    assert len(floorplan(BARE, 12).sms) == 12
    boxes = drawn(Chip(BARE))
    assert not cyan(boxes).any()


def cyan(boxes: Boxes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Boxes that lean to the colour of memory: far more blue and green than red."""
    return np.asarray(boxes.color[:, 1] > 2.0 * boxes.color[:, 0])


@pytest.mark.parametrize("device", [H200, RTX_3090])
def test_only_memory_is_cyan(device: Device) -> None:
    plan, boxes = floorplan(device), drawn(Chip(device))
    assert plan.l2 is not None
    centres = (boxes.origin + boxes.size / 2)[cyan(boxes)][:, :2]
    homes = [*plan.memory, plan.l2]
    for home in homes:
        assert any(home.x0 < x < home.x1 and home.y0 < y < home.y1 for x, y in centres)
    assert all(any(home.x0 < x < home.x1 and home.y0 < y < home.y1 for home in homes) for x, y in centres)


def test_copper_between_memory_and_die_is_cyan_and_the_rest_is_not() -> None:
    world = World()
    Chip(H200).draw(world, 0.0)
    ribbons = world.all_ribbons()
    blue = np.abs(ribbons.color - np.array(MEMORY)).max(axis=1) < 1e-3
    x = np.concatenate([ribbons.a[blue], ribbons.b[blue]])[:, 0]
    die = floorplan(H200).die
    assert blue.any() and (np.abs(x) >= die.x1 - 1e-4).all()  # float32
    z = ribbons.a[:, 2] - (BOARD + PACKAGE + INTERPOSER)
    seam = (z > 0.01) & (z < STACK_HEIGHT)  # between the dies of the stacks: seven on each of three sides of six
    assert seam.sum() == 7 * 3 * 6 and not blue[seam].any()
    assert (np.abs(ribbons.color[~blue & ~seam] - np.array(STEEL)).max(axis=1) < 1e-3).all()


@pytest.mark.parametrize("device", [H200, RTX_3090, BARE])
def test_nothing_stands_inside_of_anything_else(device: Device) -> None:
    boxes = drawn(Chip(device))
    low, high = boxes.origin, boxes.origin + boxes.size
    for k in range(len(low)):
        overlap = np.minimum(high[k], high[k + 1 :]) - np.maximum(low[k], low[k + 1 :])
        assert not (overlap > 1e-4).all(axis=1).any(), f"box {k} at {low[k]} overlaps another"


def test_a_tile_rises_and_warms_with_its_work() -> None:
    work = np.zeros(132)
    work[[0, 5, 131]] = 0.5, 1.0, 0.25
    chip = Chip(H200, work=lambda beat: work)
    boxes = drawn(chip)
    tiles = slice(len(boxes.origin) - 132, None)
    assert np.allclose(boxes.origin[tiles, :2], chip.plan.sms, atol=1e-5)
    assert np.allclose(boxes.size[tiles, 2], SM_IDLE + SM_RISE * work, atol=1e-6)
    assert np.allclose(boxes.color[tiles][5], WORKING, atol=1e-6)
    assert np.allclose(boxes.color[tiles][1], STEEL, atol=1e-6)
    assert boxes.emission[tiles][1] == 0.0 < boxes.emission[tiles][131] < boxes.emission[tiles][0] < boxes.emission[tiles][5]
