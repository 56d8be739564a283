"""The film's places along one road of light: each a small emblem on a pad, with a mast that carries its name and chapter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from scenes.stage.camera import Camera
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, TEXT, THREAD, Colour, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import DESIGN_HEIGHT, DESIGN_WIDTH, LABEL, SMALL, Align
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]
Bit = tuple[float, float, float, float, float, float, Colour]  # least corner x, y, z, size x, y, z, colour; a pad is 2 x 2

IDLE, DATA, WORK = mix(STEEL, TEXT, 0.25), mix(PLATE, MEMORY, 0.6), mix(PLATE, COMPUTE, 0.8)
# Where signs stand in the picture that shows all of them, design pixels: of each column the mast, the first and the last line.
COLUMN, TOP, BOTTOM = 374.0, 130.0, 800.0
CAP, LEADING = 23.8, 33.0  # of a sign there: height of its capitals, from line to line
FIRST, APART = 5.0, 3.9  # how far up the road the first place is, and from place to place, world units
ROAD = 1.5  # half the road's width


def _row(count: int, heights: Sequence[float], colours: Sequence[Colour], y: float = -0.15) -> list[Bit]:
    pitch = 1.8 / count
    sizes = zip(heights, colours, strict=True)
    return [(-0.9 + pitch * (k + 0.1), y, 0.0, 0.8 * pitch, 0.3, h, c) for k, (h, c) in enumerate(sizes)]


def _grid(count: int, x: float, wide: float, height: float, colour: Colour, z: float = 0.0) -> list[Bit]:
    pitch = wide / count
    spots = [(x + pitch * (i + 0.1), -wide / 2 + pitch * (j + 0.1)) for i in range(count) for j in range(count)]
    return [(a, b, z, 0.8 * pitch, 0.8 * pitch, height, colour) for a, b in spots]


def _roof(towers: int) -> list[Bit]:
    slope = [(-0.9 + 0.3 * k, 0.55, 0.0, 0.28, 0.1, 0.25 + 0.25 * min(k, 4), DATA if k < 4 else WORK) for k in range(6)]
    return slope + [(-0.8 + 0.42 * k, -0.2, 0.0, 0.3, 0.3, 0.25 + 0.3 * k, WORK) for k in range(towers)]


def _ring() -> list[Bit]:
    spots = [(0.75 * math.cos(math.pi * k / 4), 0.75 * math.sin(math.pi * k / 4)) for k in range(8)]
    return [(x - 0.14, y - 0.14, 0.0, 0.28, 0.28, 0.4, DATA) for x, y in spots]


EMBLEMS: dict[str, list[Bit]] = {
    "title": _grid(3, -0.9, 1.8, 0.35, IDLE),
    "cores": [(-0.9, -0.4, 0.0, 0.7, 0.8, 1.1, IDLE), *_grid(5, 0.0, 0.95, 0.3, WORK)],
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
    """A passage of the film as it is shown here: its row's name, its title and its chapter of the book ('' for none)."""

    name: str
    title: str
    chapter: str


@dataclass(slots=True)
class Road:
    """The road up the y axis with `places`, first to last, left and right in turn; `overview` is the view that shows all signs.

    Signs stand where that view sees them in two even columns, all of one size there. `signs(beat)` is their opacity; a sign is
    shown from where the camera (`view`) has passed it. `light(beat)` is how far up the road the light has run, world units.
    """

    places: Sequence[Place]
    overview: Camera
    end: float
    view: Callable[[float], Camera]
    signs: Callable[[float], float]
    light: Callable[[float], float]
    feet: Floats = field(init=False)
    _planes: list[tuple[float, TextPlane]] = field(init=False, default_factory=list)
    _masts: Ribbons = field(init=False)
    _still: Boxes = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.places)
        rows = max(1, -(-count // 2) - 1)
        feet, tops, eye = np.zeros((count, 2)), np.zeros(count), np.array(self.overview.eye)
        for k, place in enumerate(self.places):
            side, y = (-1.0 if k % 2 == 0 else 1.0), FIRST + APART * k
            line = BOTTOM - (BOTTOM - TOP) * (k // 2) / rows
            x, _, z = self._through(DESIGN_WIDTH / 2 + side * COLUMN, line, y)
            unit = self._unit(x, y, z)
            feet[k], tops[k] = (x, y), z + CAP * unit
            gap = side * 14.0 * unit
            for words, style, drop, cap in ((place.title, LABEL, 0.0, CAP), (place.chapter, SMALL, LEADING, CAP * 0.86)):
                if words:
                    at = (x + gap, y, z - drop * unit)
                    align: Align = "right" if side < 0 else "left"
                    plane = TextPlane.standing(
                        words, style.coloured(TEXT if drop == 0.0 else QUIET), at, cap * unit, 0.0, align
                    )
                    self._planes.append((y, plane))
        self.feet = feet
        foot, top = np.column_stack([feet, np.zeros(count)]), np.column_stack([feet, tops])
        wide = 0.0016 * np.linalg.norm(foot - eye, axis=1)
        ways = np.column_stack([np.sign(feet[:, 0]) * ROAD, feet[:, 1], np.full(count, 0.02)])
        ends = np.concatenate([foot, foot + np.array([0.0, 0.0, 0.02])]), np.concatenate([top, ways])
        self._masts = Ribbons.of(*ends, np.tile(wide, 2), mix(STEEL, TEXT, 0.45), 0.8, 0.1)
        self._still = self._emblems()

    def _through(self, px: float, py: float, y: float) -> Floats:
        """The point at distance y up the road that the overview shows at a design pixel."""
        right, up, ahead = self.overview.axes()
        focal = DESIGN_HEIGHT / 2 / math.tan(math.radians(self.overview.fov / 2))
        ray = ahead * focal + right * (px - DESIGN_WIDTH / 2) - up * (py - DESIGN_HEIGHT / 2)
        eye = np.array(self.overview.eye)
        return np.asarray(eye + ray * (y - eye[1]) / ray[1])

    def _unit(self, x: float, y: float, z: float) -> float:
        """World units of a design pixel at a point of the overview."""
        depth = float((np.array((x, y, z)) - self.overview.eye) @ self.overview.axes()[2])
        return depth * 2.0 * math.tan(math.radians(self.overview.fov / 2)) / DESIGN_HEIGHT

    def size(self, which: int) -> float:
        """Of an emblem: half its pad, so that far ones are seen as well."""
        x, y = self.feet[which]
        return 38.0 * self._unit(float(x), float(y), 0.0)

    def _emblems(self) -> Boxes:
        rows: list[tuple[float, ...]] = []
        for k, place in enumerate(self.places):
            scale, (x, y) = self.size(k), self.feet[k].tolist()
            x -= math.copysign(1.3 * scale, x)  # between its mast and the road
            rows.append(
                (x - 1.1 * scale, y - 1.1 * scale, 0.0, 2.2 * scale, 2.2 * scale, 0.12 * scale, *mix(PLATE, STEEL, 0.4), 0)
            )
            for bx, by, bz, w, d, h, colour in EMBLEMS.get(place.name, OTHER):
                corner = (x + bx * scale, y + by * scale, (0.12 + bz) * scale)
                rows.append((*corner, w * scale, d * scale, h * scale, *colour, 0.0 if colour in (IDLE, PLATE) else 0.12))
        a = np.array(rows).reshape(-1, 10)
        return Boxes.of(a[:, :3], a[:, 3:6], a[:, 6:9], emission=a[:, 9], edge=0.7)

    def draw(self, world: World, beat: float) -> None:
        world.add(self._still)
        self._way(world, beat)
        shown = self.signs(beat)
        world.add(replace(self._masts, alpha=self._masts.alpha * np.float32(0.2 + 0.8 * shown)))
        if shown > 0.004:
            eye = self.view(beat).eye[1]
            for y, plane in self._planes:
                passed = min(max((y - eye - 12.0) / 12.0, 0.0), 1.0)  # nearer than that it would be a wall of letters
                if passed > 0.0:
                    world.add(plane.shown(shown * passed, 0.25))

    def _way(self, world: World, beat: float) -> None:
        """Two edges in steel, and between them the way that the thread has come: magenta, brightest where the light runs."""
        cuts = np.linspace(-40.0, self.end, 61)
        a, b = cuts[:-1], cuts[1:]
        middle, zero = (a + b) / 2, np.zeros(60)
        lit = np.exp(-(((np.asarray(self.light(beat)) - middle) / 7.0) ** 2))
        for x in (-ROAD, ROAD):
            side = np.full(60, x)
            ends = np.column_stack([side, a, zero]), np.column_stack([side, b, zero])
            world.add(Ribbons.of(*ends, 0.10, mix(STEEL, TEXT, 0.5), 0.8, 0.15, floor=True))
        ends = np.column_stack([zero, a, zero]), np.column_stack([zero, b, zero])
        world.add(Ribbons.of(*ends, 0.22, mix(PLATE, THREAD, 0.8), 0.45 + 0.45 * lit, 0.25 + 0.5 * lit, floor=True))
