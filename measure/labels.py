"""Words beside points so that none lies over another: places are tried around each point, from the nearest outwards.

Everything is in pixels, y upwards.  What may not be covered is a box or a disc; what should not be crossed is a line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

DIRECTIONS = (-20, 20, -60, 60, 180, 160, 200, -90, 90, 120, 240)
"""Degrees from the point to the label, the best first: to the right and a little down, where a roofline leaves room."""

DISTANCES = (13, 18, 25, 34, 46, 60, 78, 100, 126, 156, 200, 260)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: left, bottom, right, top."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: Box, gap: float = 0.0) -> bool:
        """Whether two boxes overlap, or come nearer than `gap`."""
        return (
            self.left < other.right + gap
            and other.left < self.right + gap
            and self.bottom < other.top + gap
            and other.bottom < self.top + gap
        )

    def inside(self, other: Box) -> bool:
        """Whether this box lies wholly in another."""
        return self.left >= other.left and self.right <= other.right and self.bottom >= other.bottom and self.top <= other.top

    def near(self, x: float, y: float) -> tuple[float, float]:
        """The point of the box that is nearest to (x, y)."""
        return min(max(x, self.left), self.right), min(max(y, self.bottom), self.top)


@dataclass(frozen=True, slots=True)
class Wish:
    """A label of `width` x `height` for the point (x, y)."""

    x: float
    y: float
    width: float
    height: float


Segment = tuple[float, float, float, float]


def crosses(box: Box, line: Segment) -> bool:
    """Whether a straight line passes through a box (Liang and Barsky's clipping, 1984)."""
    x0, y0, x1, y1 = line
    enter, leave = 0.0, 1.0
    for step, start, low, high in ((x1 - x0, x0, box.left, box.right), (y1 - y0, y0, box.bottom, box.top)):
        if step == 0:
            if not low <= start <= high:
                return False
            continue
        first, last = sorted(((low - start) / step, (high - start) / step))
        enter, leave = max(enter, first), min(leave, last)
    return enter <= leave


def meet(one: Segment, other: Segment) -> bool:
    """Whether two straight lines cross: the ends of each lie on different sides of the other."""

    def side(line: Segment, x: float, y: float) -> float:
        return (line[2] - line[0]) * (y - line[1]) - (line[3] - line[1]) * (x - line[0])

    return side(one, *other[:2]) * side(one, *other[2:]) < 0 and side(other, *one[:2]) * side(other, *one[2:]) < 0


def place(
    wishes: Sequence[Wish],
    frame: Box,
    taken: Iterable[Box] = (),
    lines: Iterable[Segment] = (),
    faint: Iterable[Segment] = (),
    marks: Iterable[Box] = (),
    radius: float = 8.0,
) -> list[Box | None]:
    """A box for each label, in order: inside of `frame`, over no label, no point, and none of the boxes `taken` and
    `marks`; None where no place is free.

    Points that have the least room are served first.  A place is the worse the farther it is from its point, the more `lines`
    (and, to a lesser degree, `faint` ones) it lies on and the more leaders of others it would cross.
    """
    points = [Box(one.x - radius, one.y - radius, one.x + radius, one.y + radius) for one in wishes]
    blocked, roofs, threads = [*taken, *marks], list(lines), list(faint)
    placed: dict[int, Box] = {}
    leaders: list[Segment] = []

    def crowd(index: int) -> int:
        one = wishes[index]
        return -sum(math.hypot(other.x - one.x, other.y - one.y) < 90 for other in wishes)

    for index in sorted(range(len(wishes)), key=lambda i: (crowd(i), -wishes[i].y)):
        one = wishes[index]
        best: tuple[float, Box, Segment] | None = None
        for distance in DISTANCES:
            if best is not None and best[0] < distance:
                break
            for rank, angle in enumerate(DIRECTIONS):
                box = _at(one, distance, angle)
                others = (point for number, point in enumerate(points) if number != index)
                if not box.inside(frame) or any(box.meets(other, 1) for other in (*others, *blocked)):
                    continue
                end = box.near(one.x, one.y)
                leader = (one.x, one.y, *end)
                cost = distance + 1.5 * rank + 40 * sum(crosses(box, line) for line in roofs)
                cost += 15 * sum(crosses(box, line) for line in threads)
                cost += 30 * sum(meet(leader, line) for line in roofs)
                cost += 60 * sum(crosses(box, line) for line in leaders)
                cost += 60 * sum(crosses(other, leader) for other in blocked)
                cost += 25 * sum(crosses(point, leader) for number, point in enumerate(points) if number != index)
                if best is None or cost < best[0]:
                    best = (cost, box, leader)
        if best is not None:
            placed[index] = best[1]
            blocked.append(best[1])
            leaders.append(best[2])
    return [placed.get(index) for index in range(len(wishes))]


def _at(one: Wish, distance: float, angle: float) -> Box:
    """The label's box when its nearest part lies so far from the point in that direction."""
    x = one.x + distance * math.cos(math.radians(angle))
    y = one.y + distance * math.sin(math.radians(angle))
    across, up = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    left = x if across > 0.3 else x - one.width if across < -0.3 else x - one.width / 2
    bottom = y - one.height / 2 if abs(up) < 0.5 else y if up > 0 else y - one.height
    return Box(left, bottom, left + one.width, bottom + one.height)


def stack(heights: Sequence[float], wanted: Sequence[float], low: float, high: float) -> list[float]:
    """Centres of boxes in one column from `low` to `high`, each at its wanted place or as little above or below as need be."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    centres = list(wanted)
    floor = low
    for index in order:
        centres[index] = max(wanted[index], floor + heights[index] / 2)
        floor = centres[index] + heights[index] / 2
    ceiling = high
    for index in reversed(order):
        centres[index] = min(centres[index], ceiling - heights[index] / 2)
        ceiling = centres[index] - heights[index] / 2
    return centres
