"""The ground plan of a GPU on its board, from a device record: as many SM tiles as it has, its memory as stacks or as chips.

Counts are the record's; places are a drawing: which spot of the die an SM number has is not public, so SMs are numbered row by
row from the front, in groups like the processing clusters of a real die, with the L2 between the two halves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from measure.records import Device

Floats = NDArray[np.float64]

PITCH_X, PITCH_Y = 0.50, 0.72  # of the SM tiles, world units
GAP_X, GAP_Y = 0.10, 0.16  # between tiles
CLUSTER_GAP, L2_DEPTH, DIE_MARGIN = 0.16, 0.62, 0.28
ASPECT = 1.9  # width over depth that a die's SM field aims for


class Rect(NamedTuple):
    """A rectangle of the ground plan, world units."""

    x0: float
    y0: float
    x1: float
    y1: float

    def grown(self, x: float, y: float | None = None) -> Rect:
        """Larger by x left and right, by y (or x) in front and behind."""
        dy = x if y is None else y
        return Rect(self.x0 - x, self.y0 - dy, self.x1 + x, self.y1 + dy)


@dataclass(frozen=True, slots=True)
class Floorplan:
    """The ground plan: the die is centred on the origin, x to the right, y away from the viewer.

    `sms` (N, 2) are the least corners of the SM tiles in order of their number; `stacked` tells memory stacks that share the
    interposer with the die from memory chips on the board around its package.
    """

    sms: Floats
    columns: int
    rows: int
    die: Rect
    l2: Rect | None
    memory: tuple[Rect, ...]
    stacked: bool
    interposer: Rect | None
    package: Rect
    board: Rect


def rows_of(count: int) -> int:
    """An even number of rows for `count` SMs whose field comes near to ASPECT with few empty places."""

    def cost(rows: int) -> float:
        columns = math.ceil(count / rows)
        aspect = columns * PITCH_X / (rows * PITCH_Y + L2_DEPTH)
        return abs(math.log(aspect / ASPECT)) + 4.0 * (rows * columns - count) / count

    return min(range(2, max(3, count), 2), key=cost) if count > 1 else 1


def share_out(total: int, parts: int) -> list[int]:
    """`total` in nearly equal shares, mirror-symmetric where it can be, the larger ones outside: 22 in 4 = 6, 5, 5, 6."""
    least, extra = divmod(total, parts)
    order = [k for pair in zip(range(parts), reversed(range(parts)), strict=True) for k in pair][:parts]
    return [least + (order.index(k) < extra) for k in range(parts)]


def floorplan(device: Device, sms: int = 0) -> Floorplan:
    """Lay out a board for a device; without memory facts the die stands alone.

    `sms` is how many SMs to draw where the record gives no count; with 0 the die then stays blank.
    """
    count = int(device.sm_count.value) if device.sm_count else sms
    rows = rows_of(max(count, 1))
    columns = math.ceil(max(count, 1) / rows)
    steps = np.cumsum([0, *share_out(columns, max(1, round(columns / 5.3)))])[1:-1]
    x_at = np.array([k * PITCH_X + CLUSTER_GAP * np.searchsorted(steps, k, side="right") for k in range(columns)])
    x_at -= (x_at[-1] + PITCH_X - GAP_X) / 2
    half = rows // 2
    y_at = np.array([k * PITCH_Y + (L2_DEPTH + GAP_Y if k >= half and rows > 1 else 0.0) for k in range(rows)])
    y_at -= (y_at[-1] + PITCH_Y - GAP_Y) / 2
    places = [(x, y) for y in y_at for x in x_at]
    missing = rows * columns - max(count, 1)
    if missing:  # the back row is the short one, centred
        row = places[-columns:][(missing + 1) // 2 : columns - missing // 2]
        places[-columns:] = row
    if count == 0:  # unknown: a blank die of a plain size
        field_ = Rect(-4.4, -2.4, 4.4, 2.4)
    else:
        field_ = Rect(float(x_at[0]), float(y_at[0]), float(x_at[-1]) + PITCH_X - GAP_X, float(y_at[-1]) + PITCH_Y - GAP_Y)
    die = field_.grown(DIE_MARGIN)
    middle = L2_DEPTH / 2 - 0.04
    l2 = Rect(field_.x0, -middle, field_.x1, middle) if device.l2_size and rows > 1 else None
    kind, packages = (device.memory.kind or "").upper(), device.memory.packages or 0
    stacked = kind.startswith("HBM") and packages > 0
    if stacked:
        memory = _beside(die, packages)
        interposer = _around([die, *memory]).grown(0.22)
        package = interposer.grown(0.85, 0.85)
        board = package.grown(6.5, 5.0)
    else:
        interposer = None
        package = die.grown(1.0, 0.75)
        memory = _round_about(package, packages) if kind and packages else ()
        board = _around([package, *memory]).grown(6.0, 4.4)
    tiles = np.array(places[:count]).reshape(-1, 2)
    return Floorplan(tiles, columns, rows, die, l2, memory, stacked, interposer, package, board)


def _around(rects: Sequence[Rect]) -> Rect:
    return Rect(min(r.x0 for r in rects), min(r.y0 for r in rects), max(r.x1 for r in rects), max(r.y1 for r in rects))


def _beside(die: Rect, packages: int) -> tuple[Rect, ...]:
    """Stacks in two columns, left and right of the die, as deep as the die allows."""
    found = []
    for side, number in ((-1, (packages + 1) // 2), (1, packages // 2)):
        pitch = (die.y1 - die.y0) / max(number, 1)
        depth = min(pitch - 0.16, 2.1)
        x0 = die.x0 - 0.62 - 1.5 if side < 0 else die.x1 + 0.62
        for k in range(number):
            middle = die.y0 + pitch * (k + 0.5)
            found.append(Rect(x0, middle - depth / 2, x0 + 1.5, middle + depth / 2))
    return tuple(found)


def _round_about(package: Rect, packages: int) -> tuple[Rect, ...]:
    """Chips around the package: left, right and behind, evenly along each side; the front is left to the power lines."""
    wide, deep, off = 1.16, 0.98, 0.62
    sides = share_out(packages, 3)
    found = []
    for side, number in enumerate(sides):
        for k in range(number):
            if side < 2:
                middle = package.y0 + (package.y1 - package.y0) * (k + 0.5) / number
                x0 = package.x0 - off - deep if side == 0 else package.x1 + off
                found.append(Rect(x0, middle - wide / 2, x0 + deep, middle + wide / 2))
            else:
                middle = package.x0 + (package.x1 - package.x0) * (k + 0.5) / number
                found.append(Rect(middle - wide / 2, package.y1 + off, middle + wide / 2, package.y1 + off + deep))
    return tuple(found)
