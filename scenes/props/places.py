"""The film's places: an emblem each, verse by verse a column up to a climb, under it its subject and chapters."""

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
# In the picture that shows all of them, design pixels: middles of the outermost columns, fronts of their nearest and their
# farthest pads, half of a pad; baselines of a column's name and of its chapters, and how high their capitals are.
FIRST, LAST, NEAR, FAR, HALF = 300.0, 1620.0, 742.0, 338.0, 56.0
NAME, CHAPTERS = (808.0, 38.0), (854.0, 28.0)
LYRIC = 876.0  # the song's words begin below
EDGE, LARGE = 60.0, 62.0  # a name comes over so many design pixels inside the frame; it is gone with capitals so high


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
# What a column is about, by the climb that it ends in; another one is called as its last passage is.
ABOUT = {"roof-1": "threads", "roof-2": "warps", "roof-3": "memory", "roof-4": "beyond"}
OTHER: list[Bit] = [(-0.5, -0.5, 0.0, 1.0, 1.0, 1.0, IDLE)]


@dataclass(frozen=True, slots=True)
class Place:
    """A passage of the film as it is shown here: its name, and the number of its chapter in the book ('' for none)."""

    name: str
    chapter: str


def about(places: Sequence[Place]) -> tuple[str, str]:
    """What a column is about, and the chapters of what leads up to its climb, '' for none."""
    numbers = sorted({int(place.chapter) for place in (places[:-1] or places) if place.chapter.isdigit()})
    span = f"Ch. {numbers[0]}" if len(numbers) == 1 else f"Ch. {numbers[0]}\u2013{numbers[-1]}" if numbers else ""
    return ABOUT.get(places[-1].name, places[-1].name.replace("-", " ")), span


@dataclass(slots=True)
class Road:
    """`rows` of places, each ending where the film climbs; `overview` is the view that shows them all.

    There they are columns from left to right, of emblems of one size, the first one nearest: the way leads up each of them and
    down to the next. `lit(k, beat)` is the light of the k-th place of the film, 0..1, `signs(beat)` the opacity of names,
    `there(beat)` 0..1 how far emblems stand out of the floor. A name that the frame would cut is not written, nor one too
    near for `view(beat)`, the camera.
    """

    rows: Sequence[Sequence[Place]]
    overview: Camera
    lit: Callable[[int, float], float]
    signs: Callable[[float], float]
    there: Callable[[float], float]
    view: Callable[[float], Camera]
    feet: Floats = field(init=False)  # (places, 3) middles of the pads
    _planes: list[tuple[int, TextPlane]] = field(init=False, default_factory=list)
    _boxes: Boxes = field(init=False)
    _of: NDArray[np.int64] = field(init=False)  # whose each box is
    _ways: tuple[Floats, Floats, NDArray[np.int64]] = field(init=False)

    def __post_init__(self) -> None:
        feet, ways, parts, of = list[Floats](), list[tuple[Floats, Floats, int]](), list[tuple[float, ...]](), list[int]()
        for px, places in zip(np.linspace(FIRST, LAST, len(self.rows)).tolist(), self.rows, strict=True):
            self._name(len(feet), places, px)
            for py, place in zip(np.linspace(NEAR, FAR, len(places)).tolist(), places, strict=True):
                k, (x, y, _) = len(feet), self._through(px, py).tolist()
                size = HALF * self._unit(x, y)
                foot = np.array([x, y + 1.1 * size, 0.0])
                if feet:
                    ways.append((feet[-1], foot, k))
                feet.append(foot)
                parts += _standing(place.name, foot, size)
                of += [k] * (len(parts) - len(of))
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

    def _name(self, k: int, places: Sequence[Place], px: float) -> None:
        """Before a column, whose first place is the k-th, what it is about, and under that its chapters."""
        for words, style, (baseline, cap) in zip(about(places), (FACT.coloured(TEXT), SMALL), (NAME, CHAPTERS), strict=True):
            if words:
                x, y, z = self._through(px, baseline).tolist()
                self._planes.append((k, TextPlane.standing(words, style, (x, y, z), cap * self._unit(x, y), 0.0, "centre")))

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
        world.add(Ribbons.of(a, b, 0.2, mix(STEEL, TEXT, 0.2), 0.5 * there, 0.05, floor=True))
        come = np.clip(2.0 * lit[k], 0.0, 1.0)[:, None]
        seen = come[:, 0] > 0.01
        if seen.any():
            world.add(Ribbons.of(a[seen], (a + (b - a) * come)[seen], 0.28, mix(PLATE, THREAD, 0.85), there, 0.5, floor=True))
        shown = self.signs(beat)
        if shown > 0.004:
            whole = self._whole(self.view(beat))
            for which, plane in self._planes:
                if whole[which] > 0.004:
                    world.add(plane.shown(shown * float(whole[which]) * (0.65 + 0.35 * float(lit[which])), 0.25))

    def _whole(self, camera: Camera) -> Floats:
        """(places,) 1 where a column's words stand in the picture whole, 0 where one is cut or too near; smooth between."""
        at = np.array([plane.at for _, plane in self._planes])
        half = np.array([(plane.width / 2, 0.0, 0.0) for _, plane in self._planes])
        up = np.array([(0.0, 0.0, plane.height) for _, plane in self._planes])
        left, right, top, foot = (
            camera.project(points, DESIGN_WIDTH, DESIGN_HEIGHT) for points in (at - half, at + half, at + up, at)
        )
        room = np.minimum(left[:, 0], DESIGN_WIDTH - right[:, 0])
        room = np.minimum(np.minimum(room, top[:, 1]), (LYRIC - foot[:, 1]) * 4.0)
        near = (LARGE - (foot[:, 1] - top[:, 1])) / (0.25 * LARGE)
        kept = np.clip(np.minimum(room / EDGE, near), 0.0, 1.0) * (foot[:, 2] > camera.near)
        whole = np.ones(len(self.feet))
        np.minimum.at(whole, [which for which, _ in self._planes], kept * kept * (3.0 - 2.0 * kept))
        return whole


def _standing(name: str, foot: Floats, scale: float) -> list[tuple[float, ...]]:
    """Boxes of an emblem on its pad, its middle at `foot`: least corner, size, colour, emission."""
    x, y, _ = foot.tolist()
    pad = (x - 1.1 * scale, y - 1.1 * scale, 0.0, 2.2 * scale, 2.2 * scale, 0.12 * scale, *mix(PLATE, STEEL, 0.5), 0.0)
    rows: list[tuple[float, ...]] = [pad]
    for bx, by, bz, w, d, h, colour in EMBLEMS.get(name, OTHER):
        corner = (x + bx * scale, y + by * scale, (0.12 + bz) * scale)
        rows.append((*corner, w * scale, d * scale, h * scale, *colour, 0.16 if colour in (IDLE, PLATE) else 0.6))
    return rows
