"""The film's places: each an emblem on a pad with its chapter and name; verse by verse a row, and every row ends in a climb."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from scenes.stage.camera import Camera
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, STEEL, TEXT, THREAD, Colour, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import DESIGN_HEIGHT, DESIGN_WIDTH, FACT, SMALL
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]
Bit = tuple[float, float, float, float, float, float, Colour]  # least corner x, y, z, size x, y, z, colour; a pad is 2 x 2

IDLE, DATA, WORK = mix(STEEL, TEXT, 0.25), mix(PLATE, MEMORY, 0.6), mix(PLATE, COMPUTE, 0.8)
# In the picture that shows all of them, design pixels: middle of the last column, from column to column, baseline of the
# nearest row's names, from row to row; a name's capitals, half of an emblem's pad, air between the two.
LAST, PITCH, BOTTOM, LEADING = 1654.0, 347.0, 846.0, 127.0
CAP, HALF, AIR = 25.0, 61.0, 7.0


def _row(count: int, heights: Sequence[float], colours: Sequence[Colour], y: float = -0.15) -> list[Bit]:
    pitch = 1.8 / count
    sizes = zip(heights, colours, strict=True)
    return [(-0.9 + pitch * (k + 0.1), y, 0.0, 0.8 * pitch, 0.3, h, c) for k, (h, c) in enumerate(sizes)]


def _grid(count: int, x: float, wide: float, height: float, colour: Colour, z: float = 0.0) -> list[Bit]:
    pitch = wide / count
    spots = [(x + pitch * (i + 0.1), -wide / 2 + pitch * (j + 0.1)) for i in range(count) for j in range(count)]
    return [(a, b, z, 0.8 * pitch, 0.8 * pitch, height, colour) for a, b in spots]


def _roof(towers: int) -> list[Bit]:
    slope = [(-0.9 + 0.3 * k, 0.55, 0.0, 0.28, 0.1, 0.2 + 0.15 * min(k, 4), DATA if k < 4 else WORK) for k in range(6)]
    return slope + [(-0.8 + 0.42 * k, -0.2, 0.0, 0.3, 0.3, 0.2 + 0.16 * k, WORK) for k in range(towers)]


def _ring() -> list[Bit]:
    spots = [(0.75 * math.cos(math.pi * k / 4), 0.75 * math.sin(math.pi * k / 4)) for k in range(8)]
    return [(x - 0.14, y - 0.14, 0.0, 0.28, 0.28, 0.4, DATA) for x, y in spots]


EMBLEMS: dict[str, list[Bit]] = {
    "title": _grid(3, -0.9, 1.8, 0.35, IDLE),
    "cores": [(-0.9, -0.4, 0.0, 0.7, 0.8, 0.85, IDLE), *_grid(5, 0.0, 0.95, 0.3, WORK)],
    "indexing": _row(8, [0.4] * 8, [IDLE] * 8),
    "launch": [(-0.95, -0.75, 0.0, 1.9, 1.5, 0.12, PLATE), *_grid(4, -0.7, 1.4, 0.3, WORK, 0.12)],
    "roof-1": _roof(1),
    "warps": _row(8, [0.7] * 8, [WORK] * 8),
    "divergence": _row(8, [0.8] * 4 + [0.3] * 4, [WORK] * 4 + [IDLE] * 4),
    "stalls": [(-0.9, -0.2, 0.0, 0.4, 0.4, 0.8, IDLE), *((-0.2 + 0.4 * k, -0.1, 0.0, 0.2, 0.2, 0.2, DATA) for k in range(3))],
    "roof-2": _roof(2),
    "coalescing": [*_row(8, [0.35] * 8, [IDLE] * 8, -0.5), (-0.9, 0.2, 0.0, 1.8, 0.35, 0.5, DATA)],
    "tiling": [*_grid(4, -0.8, 1.6, 0.15, DATA), *_grid(4, -0.8, 1.6, 0.12, DATA, 0.6)],
    "roof-3": _roof(3),
    "tensor-cores": [(-0.9, -0.5, 0.0, 0.15, 1.0, 1.0, DATA), (-0.6, 0.6, 0.0, 1.2, 0.15, 1.0, DATA),
                     (-0.45, -0.45, 0.0, 0.9, 0.9, 0.5, WORK)],
    "flash-attention": [(-0.9, 0.75, 0.0, 1.8, 0.1, 0.9, PLATE), (-0.9, -0.75, 0.0, 0.1, 1.5, 0.3, IDLE),
                        (0.8, -0.75, 0.0, 0.1, 1.5, 0.3, IDLE), (-0.3, -0.3, 0.0, 0.6, 0.6, 0.4, DATA)],
    "quantisation": [(-0.9, -0.45, 0.0, 0.9, 0.9, 0.9, DATA),
                     *((0.2 + 0.24 * k, -0.1, 0.0, 0.2, 0.2, 0.2, DATA) for k in range(3))],
    "all-reduce": _ring(),
    "roof-4": _roof(4),
}  # fmt: skip
OTHER: list[Bit] = [(-0.5, -0.5, 0.0, 1.0, 1.0, 1.0, IDLE)]


@dataclass(frozen=True, slots=True)
class Place:
    """A passage of the film as it is shown here: its name, and the number of its chapter in the book ('' for none)."""

    name: str
    chapter: str


@dataclass(slots=True)
class Road:
    """`rows` of places, the nearest first, each row ending where the film climbs; `overview` is the view that shows them all.

    There all emblems and names are of one size, in columns whose last one is the climbs'. `lit(k, beat)` 0..1 is the light of
    the k-th place of the film, `signs(beat)` the opacity of names, `there(beat)` 0..1 how far emblems stand out of the floor.
    """

    rows: Sequence[Sequence[Place]]
    overview: Camera
    lit: Callable[[int, float], float]
    signs: Callable[[float], float]
    there: Callable[[float], float]
    feet: Floats = field(init=False)  # (places, 3) middles of the pads
    _planes: list[tuple[int, TextPlane]] = field(init=False, default_factory=list)
    _boxes: Boxes = field(init=False)
    _of: NDArray[np.int64] = field(init=False)  # whose each box is
    _ways: tuple[Floats, Floats, NDArray[np.int64]] = field(init=False)

    def __post_init__(self) -> None:
        feet, ways, parts, of = list[Floats](), list[tuple[Floats, Floats, int]](), list[tuple[float, ...]](), list[int]()
        spine: Floats | None = None  # beside the climbs, from row to row
        for row, places in enumerate(self.rows):
            line = BOTTOM - LEADING * row
            y = float(self._through(DESIGN_WIDTH / 2, line - CAP - AIR)[1])  # the row's pads have their fronts here
            for column, place in enumerate(places):
                k = len(feet)
                px = LAST - PITCH * (len(places) - 1 - column)
                x = float(self._through(px, line - CAP - AIR)[0])
                unit = self._unit(x, y)
                size = HALF * unit
                foot = np.array([x, y + 1.1 * size, 0.0])
                before = feet[-1] if column else None
                feet.append(foot)
                if before is not None:
                    ways.append((before, foot, k))
                parts += _standing(place.name, foot, size)
                of += [k] * (len(parts) - len(of))
                self._name(k, place, self._through(px, line))
            beside = feet[-1] + np.array([2.0 * size, 0.0, 0.0])
            ways.append((feet[-1] + np.array([1.1 * size, 0.0, 0.0]), beside, len(feet) - 1))
            if spine is not None:
                ways.append((spine, beside, len(feet) - 1))
            spine = beside
        self.feet, self._of = np.array(feet).reshape(-1, 3), np.array(of, np.int64)
        a = np.array(parts).reshape(-1, 10)
        self._boxes = Boxes.of(a[:, :3], a[:, 3:6], a[:, 6:9], emission=a[:, 9], edge=0.8)
        ends = np.array([(p, q) for p, q, _ in ways]).reshape(-1, 2, 3)
        self._ways = ends[:, 0] + (0.0, 0.0, 0.02), ends[:, 1] + (0.0, 0.0, 0.02), np.array([k for *_, k in ways], np.int64)

    def _through(self, px: float, py: float) -> Floats:
        """The point of the floor that the overview shows at a design pixel."""
        right, up, ahead = self.overview.axes()
        focal = DESIGN_HEIGHT / 2 / math.tan(math.radians(self.overview.fov / 2))
        ray = ahead * focal + right * (px - DESIGN_WIDTH / 2) - up * (py - DESIGN_HEIGHT / 2)
        eye = np.array(self.overview.eye)
        return np.asarray(eye - ray * eye[2] / ray[2])

    def _unit(self, x: float, y: float) -> float:
        """World units of a design pixel at a point of the floor in the overview."""
        depth = float((np.array((x, y, 0.0)) - self.overview.eye) @ self.overview.axes()[2])
        return depth * 2.0 * math.tan(math.radians(self.overview.fov / 2)) / DESIGN_HEIGHT

    def _name(self, k: int, place: Place, at: Floats) -> None:
        """Before an emblem: the chapter's number and the name, together centred."""
        (x, y, _), z = at.tolist(), 0.0
        unit = self._unit(x, y)
        parts = [(words, style) for words, style in ((place.chapter, SMALL), (place.name, FACT.coloured(TEXT))) if words]
        planes = [TextPlane.standing(words, style, (0.0, y, z), CAP * unit) for words, style in parts]
        gap = 16.0 * unit
        left = x - (sum(plane.width for plane in planes) + gap * (len(planes) - 1)) / 2
        for plane in planes:
            self._planes.append((k, replace(plane, at=(left, y, z))))
            left += plane.width + gap

    def draw(self, world: World, beat: float) -> None:
        there, count = self.there(beat), len(self.feet)
        if there <= 0.01:
            return
        lit = np.array([self.lit(k, beat) for k in range(count)])
        own = lit[self._of][:, None].astype(np.float32)
        boxes, grey = self._boxes, np.array(mix(PLATE, STEEL, 0.9), np.float32)
        up = np.array([1.0, 1.0, there], np.float32)
        world.add(
            replace(
                boxes,
                origin=boxes.origin * up,
                size=boxes.size * up,
                color=grey + (boxes.color - grey) * own,
                emission=boxes.emission * own[:, 0],
            )
        )
        a, b, k = self._ways
        world.add(Ribbons.of(a, b, 0.3, mix(STEEL, TEXT, 0.2), 0.5 * there, 0.05, floor=True))
        come = np.clip(2.0 * lit[k], 0.0, 1.0)[:, None]
        seen = come[:, 0] > 0.01
        if seen.any():
            world.add(Ribbons.of(a[seen], (a + (b - a) * come)[seen], 0.42, mix(PLATE, THREAD, 0.85), there, 0.55, floor=True))
        shown = self.signs(beat)
        if shown > 0.004:
            for which, plane in self._planes:
                world.add(plane.shown(shown * (0.55 + 0.45 * float(lit[which])), 0.25))


def _standing(name: str, foot: Floats, scale: float) -> list[tuple[float, ...]]:
    """Boxes of an emblem on its pad, its middle at `foot`: least corner, size, colour, emission."""
    x, y, _ = foot.tolist()
    pad = (x - 1.1 * scale, y - 1.1 * scale, 0.0, 2.2 * scale, 2.2 * scale, 0.12 * scale, *mix(PLATE, STEEL, 0.5), 0.0)
    rows: list[tuple[float, ...]] = [pad]
    for bx, by, bz, w, d, h, colour in EMBLEMS.get(name, OTHER):
        corner = (x + bx * scale, y + by * scale, (0.12 + bz) * scale)
        rows.append((*corner, w * scale, d * scale, h * scale, *colour, 0.0 if colour in (IDLE, PLATE) else 0.2))
    return rows
