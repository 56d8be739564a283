"""The film's places: each an emblem on a pad with its chapter and name; verse by verse a row, and every row ends in a climb."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

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
# In the picture that shows all of them, design pixels: middles of the outermost columns, baseline of the nearest row's names,
# from row to row; capitals of a name and of a chapter, half of an emblem's pad, air between them, way to the next row.
FIRST, LAST, BOTTOM, LEADING = 268.0, 1652.0, 826.0, 156.0
CAP, CHAPTER, HALF, AIR, BESIDE = 29.0, 26.0, 52.0, 7.0, 158.0
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
# What a place is called where its own name does not say it.
CALLED = {
    "title": "one thread", "roof-1": "the roofline", "roof-2": "second climb", "roof-3": "third climb", "roof-4": "the top",
    "flash-attention": "FlashAttention", "all-reduce": "all-reduce", "cores": "many cores", "indexing": "its number",
}  # fmt: skip
OTHER: list[Bit] = [(-0.5, -0.5, 0.0, 1.0, 1.0, 1.0, IDLE)]


@dataclass(frozen=True, slots=True)
class Place:
    """A passage of the film as it is shown here: its name, and the number of its chapter in the book ('' for none)."""

    name: str
    chapter: str

    @property
    def words(self) -> str:
        """What a viewer calls it."""
        return CALLED.get(self.name, self.name.replace("-", " "))


@dataclass(slots=True)
class Road:
    """`rows` of places, the nearest first, each row ending where the film climbs; `overview` is the view that shows them all.

    There all emblems and names are of one size, and every row spans the picture, one from left to right and the next one back,
    so that it begins where the row before ended; the last one ends on the right. `lit(k, beat)` 0..1 is the light of
    the k-th place of the film, `signs(beat)` the opacity of names, `there(beat)` 0..1 how far emblems stand out of the floor.
    A name that the frame would cut is not written, nor one too near for `view(beat)`, the camera.
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
        turn = np.zeros(3)
        for row, places in enumerate(self.rows):
            line = BOTTOM - LEADING * row
            y = float(self._through(DESIGN_WIDTH / 2, line - CAP - AIR)[1])  # the row's pads have their fronts here
            sides = (LAST, FIRST) if (len(self.rows) - row) % 2 == 0 else (FIRST, LAST)
            for px, place in zip(np.linspace(sides[0], sides[1], len(places)), places, strict=True):
                k = len(feet)
                x = float(self._through(px, line - CAP - AIR)[0])
                size = HALF * self._unit(x, y)
                foot = np.array([x, y + 1.1 * size, 0.0])
                beside = np.array([self._out(px, line), foot[1], 0.0])
                if feet and px != sides[0]:
                    ways.append((feet[-1], foot, k))
                elif feet:  # up beside the names: out, along and in again
                    ways += [(p, q, k) for p, q in pairwise([feet[-1], turn, beside, foot])]
                turn = beside
                feet.append(foot)
                parts += _standing(place.name, foot, size)
                of += [k] * (len(parts) - len(of))
                self._name(k, place, px, line)
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

    def _out(self, px: float, line: float) -> float:
        """x beside a row, on the side of a column."""
        out = BESIDE if px > DESIGN_WIDTH / 2 else -BESIDE
        return float(self._through(px + out, line - CAP - AIR)[0])

    def _unit(self, x: float, y: float) -> float:
        """World units of a design pixel at a point of the floor in the overview."""
        depth = float((np.array((x, y, 0.0)) - self.overview.eye) @ self.overview.axes()[2])
        return depth * 2.0 * math.tan(math.radians(self.overview.fov / 2)) / DESIGN_HEIGHT

    def _name(self, k: int, place: Place, px: float, line: float) -> None:
        """Before an emblem its name, and under that its chapter."""
        chapter = f"Ch. {place.chapter}" if place.chapter else ""
        rows = ((place.words, FACT.coloured(TEXT), CAP, line), (chapter, SMALL, CHAPTER, line + CHAPTER + AIR))
        for words, style, cap, baseline in rows:
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
        """(places,) 1 where name and chapter stand in the picture whole, 0 where one is cut or too near; smooth between."""
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
