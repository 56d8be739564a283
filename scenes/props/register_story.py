"""Why registers feed the math: the column of sums of 1D tiling grows into the square of 2D tiling, out of the thread's cube.

A column of TM sums is fed by TM + 1 values for TM multiply-adds; a square of TM x TN by TM + TN values for TM * TN.
The wall of sums is brought before the eye, and the camera gives way to it: it stands at the same place of any GPU's frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from measure.dataset import Dataset
from scenes.props.cube import Vector
from scenes.props.register_tile import EDGE, OUTLINE, RegisterTile, Step, tile_of
from scenes.props.roofline import CUBE
from scenes.props.rungs import LEFT, called, find
from scenes.stage.camera import Camera
from scenes.stage.keys import Track, arrive, leave, linear, ramp, window
from scenes.stage.overlay import Item, Text
from scenes.stage.palette import COMPUTE, MEMORY, TEXT, Colour
from scenes.stage.type import FACT, SMALL

Shown = Callable[[float], float]
Flight = Callable[[float], Camera]


class Moment(Protocol):
    """A moment of the passage by bar and beat."""

    def __call__(self, bar: int, beat: float = 1.0, /) -> float: ...


COLUMN, SQUARE = "tile_1d", "tile_2d"
# Places on the frame, to the right and up of its middle, in shares of its height.
THREAD_AT = (-0.38, -0.06)  # the cube as its registers are taught
COLUMN_AT, SQUARE_AT = (-0.05, -0.05), (-0.18, -0.05)  # the middle of the wall's left edge
HIGH, LOW, LOWER = 0.43, 0.33, 0.24  # the wall's height: taught, beside the chart, beside one without a slope
BESIDE, MIDDLE = 0.09, -0.10  # how far right of the cube the wall is beside the chart; its middle there
LANDED_AT = 0.10  # the cube beside the chart, to the right of the middle
DIM, DARK = 0.75, 0.9  # of the towers' light, and of the roof's, that goes while the wall stands before them


@dataclass(slots=True)
class Registers:
    """The wall and its words; `at` is a moment of the passage by bar and beat, `lands` whether the second rung has a tower.

    `keyed` is the camera as keyed for the chart, `placed` whether that has a slope. What is not in the file is an outline.
    """

    data: Dataset
    thread: Callable[[float], Vector]
    at: Moment
    lands: bool
    keyed: Flight
    placed: bool = True
    near: Track = field(init=False)
    after: Track = field(init=False)

    def __post_init__(self) -> None:
        at = self.at
        self.near = Track(0.0).to(1.0, at(2, 3.5), 3.0)  # without a landing to see it stays to the end
        self.near.to(0.0, *((at(6, 3), 2.5) if self.lands else (at(8, 4.75), 2.25)))
        self.after = Track(0.0).to(1.0, at(7, 2), 3.0).to(0.0, at(8, 4), 2.0) if self.placed and self.lands else Track(0.0)

    def tile(self, name: str) -> tuple[int, int] | None:
        return tile_of(find(self.data, name))

    def dimmed(self, beat: float) -> float:
        """The towers' light, 0..1."""
        return 1.0 - DIM * self.near(beat)

    def dark(self, beat: float) -> float:
        """The roof's line, 0..1."""
        return 1.0 - DARK * self.near(beat)

    def camera(self, beat: float) -> Camera:
        """The keyed camera, moved aside so far that the cube stands left of its wall."""
        camera = self.keyed(beat)
        if (near := self.near(beat)) > 0.0:
            x, y, z = self.thread(min(beat, self.at(6, 1.0)))
            drift = 0.05 * ramp(beat, self.at(2, 4), 13.0, linear)  # never at rest
            camera = _moved(camera, (x, y, z + CUBE / 2), (THREAD_AT[0] + drift, THREAD_AT[1]), near)
        if (after := self.after(beat)) > 0.0:
            camera = _moved(camera, self.thread(beat), (LANDED_AT, None), after)
        return camera

    def walls(self) -> Sequence[RegisterTile]:
        """The wall, from the column on "light" (bar 2) to the landing in bar 6, and once more as registers are sung of."""
        at = self.at
        square, column = self.tile(SQUARE), self.tile(COLUMN)
        rows, columns = square or ((column[0], column[0]) if column else OUTLINE)
        solid = columns if square else 1 if column else 0
        opened = Track(0.0).to(1.0, at(2, 4), 1.5, arrive)
        opened.to(0.0, at(6, 2) if self.lands else at(8, 3.5), 1.25, leave)
        grown = Track(1.0)
        for k in range(1, columns):  # one column after the other through bar 4, each on its part of the beat
            grown.to(1.0 + k, at(4, 1) + 4.0 * k / max(columns, 4), 3.0 / max(columns, 4), arrive)
        if column is None and square is not None:
            grown = Track(1.0).to(float(columns), at(4, 4), 3.0)
        aside = Track(0.0).to(1.0, at(5, 1), 4.0)

        def taught(beat: float) -> Vector:
            left, up = (a + (b - a) * aside(beat) for a, b in zip(COLUMN_AT, SQUARE_AT, strict=True))
            return self._hung(beat, (left, up), HIGH)

        worked = (3, 5) if self.lands else (3, 5, 6, 7)
        steps = [Step(at(bar, beat), at(bar, beat + 1.0)) for bar in worked for beat in (1.0, 3.0)]
        steps += [] if self.lands else [Step(at(8, 1), at(8, 2))]
        first = RegisterTile((rows, columns), self.thread, taught, opened, grown, steps, solid)
        if not self.lands:
            return [first]
        # "Registers carry the math": a step a beat; on "write" the sums leave.
        again = Track(0.0).to(1.0, at(7, 1), 0.75, arrive).to(0.0, at(8, 3.5), 1.0, leave)
        beats = [at(7, 1) + k for k in range(1, 6)]
        running = [Step(beat - 0.5, beat) for beat in beats]
        return [first, RegisterTile((rows, columns), self.thread, self._beside, again, lambda beat: columns, running, solid)]

    def captions(self) -> Sequence[tuple[Shown, Callable[[], Sequence[Item]]]]:
        """Moments and makers of what is said of the column, then of the square; in the end of what there is no rung of."""
        at = self.at
        column, square = window(at(2, 3), at(4, 1) + 0.5), window(at(4, 2), at(6, 1) + 0.3)
        last = window(at(6, 2), at(8, 3))
        said = [
            (column, lambda: self._say(COLUMN, "a column of sums", column, at(3, 1))),
            (square, lambda: self._say(SQUARE, "a square of sums", square, at(5, 1))),
        ]
        if not self.lands:
            said.append((last, lambda: self._say(COLUMN, "a column of sums", last, at(6, 2) - 2.0)))
        return said

    def _hung(self, beat: float, spot: tuple[float, float], high: float) -> Vector:
        """Where on the frame something EDGE high is `high` of its height: a point of the world."""
        camera = self.camera(beat)
        depth = EDGE / high / _span(camera)
        x, y, z = _spot(camera, spot, depth)
        return float(x), float(y), float(z)

    def _beside(self, beat: float) -> Vector:
        """To the right of the cube, wherever that stands, and above the lyric."""
        camera = self.camera(beat)
        here = self.thread(beat)
        right, _ = _seen(camera, here)
        return self._hung(beat, (right + (BESIDE if self.placed else BESIDE / 2), MIDDLE), LOW if self.placed else LOWER)

    def _say(self, name: str, shape: str, shown: Shown, reads: float) -> Sequence[Item]:
        rung, tile = find(self.data, name), self.tile(name)
        items: list[Item] = [Text(shape, FACT, LEFT, 262, "left", shown)]
        if rung is None or tile is None:
            why = "not measured" if rung is None else "its tile is not known"
            return [*items, Text(f"{called(rung, name)}: {why}", SMALL, LEFT, 310, "left", shown)]
        rows, columns = tile
        items.append(Text(f"{rung.title}: kept in registers", SMALL, LEFT, 310, "left", shown))
        said: list[tuple[str, Colour, float, float]] = [
            (f"{rows} + {columns} values in", MEMORY, 378, reads),
            (f"{rows} × {columns} = {rows * columns} multiply-adds", COMPUTE, 436, reads + 1.0),
            (f"{rows * columns / (rows + columns):.2g} for each value in", TEXT, 494, reads + 2.0),
        ]
        for words, colour, y, begin in said:
            items.append(Text(words, FACT.coloured(colour), LEFT, y, "left", _since(begin, shown)))
        return items


def _since(begin: float, shown: Shown) -> Shown:
    """An opacity that begins on a beat."""
    return lambda beat: ramp(beat, begin - 0.2, 0.2) * shown(beat)


def _span(camera: Camera) -> float:
    """Height of the frame over the depth at which it is seen."""
    return 2.0 * math.tan(math.radians(camera.fov / 2))


def _depth(camera: Camera, point: Vector) -> float:
    return float(np.dot(np.subtract(point, camera.eye), camera.axes()[2]))


def _seen(camera: Camera, point: Vector) -> tuple[float, float]:
    """Where on the frame a point is, right and up of the middle in shares of the height."""
    right, up, _ = camera.axes() @ np.subtract(point, camera.eye) / _depth(camera, point) / _span(camera)
    return float(right), float(up)


def _moved(camera: Camera, point: Vector, spot: tuple[float, float | None], weight: float) -> Camera:
    """The camera moved aside by `weight` of what brings a point to a spot of the frame; None leaves its height."""
    right, up = _seen(camera, point)
    goal = (spot[0], up if spot[1] is None else spot[1])
    far = weight * _depth(camera, point) * _span(camera)
    by = far * (right - goal[0]) * camera.axes()[0] + far * (up - goal[1]) * camera.axes()[1]
    (ax, ay, az), (bx, by_, bz) = (np.add(end, by).tolist() for end in (camera.eye, camera.target))
    return replace(camera, eye=(ax, ay, az), target=(bx, by_, bz))


def _spot(camera: Camera, spot: tuple[float, float], depth: float) -> NDArray[np.float64]:
    """The point (3,) of the world at a depth that is seen at a place of the frame."""
    right, up, forward = camera.axes()
    return np.asarray(camera.eye + depth * (forward + _span(camera) * (spot[0] * right + spot[1] * up)))
