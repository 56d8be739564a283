"""The hall: a grid of thread blocks as rows of seats, one seat a thread, and the plain of seats that it is part of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from measure.dataset import Dataset
from scenes.stage.camera import Camera
from scenes.stage.keys import Path
from scenes.stage.palette import STEEL, TEXT, Colour, mix
from scenes.stage.world import Boxes, Fog, Ground, Light, World

Vector = tuple[float, float, float]
Floats = NDArray[np.float64]

PITCH = 1.0  # from seat to seat of a block, along x
ROW = 2.05  # from block to block, along y
SEAT = 0.8  # width and depth of a seat
REST = 0.5  # height of an idle seat
IDLE = mix(STEEL, TEXT, 0.22)

# The camera around the cut from the title to the indexing passage, in beats from the cut: both passages fly through these keys,
# so that place and speed agree.  Vectors are target x, y, z, distance, azimuth, elevation.
APPROACH: tuple[tuple[float, tuple[float, ...]], ...] = (
    (-2.0, (0.0, 2.2, 2.2, 21.0, 22.0, 9.5)),
    (0.0, (0.0, 0.1, 0.5, 5.6, 12.0, 24.0)),
    (2.0, (-2.0, 0.4, 0.4, 15.0, -8.0, 30.0)),
)


# Radius and level of the light and start of the fog at the cut: low, so that the words stay legible over the seats.
CUT_LIGHT = (6.0, 0.62, 30.0)


@dataclass(frozen=True, slots=True)
class Hall:
    """`blocks` rows of `threads` seats; the seat of the thread that we follow stands at the origin of the world."""

    blocks: int = 8
    threads: int = 32

    @classmethod
    def of(cls, data: Dataset) -> Hall:
        """The shape of the index kernel's launch; 8 x 32, the project's own, where it was not run."""
        trace = data.index_trace()
        return cls() if trace is None else cls(trace.value.blocks, trace.value.threads)

    @property
    def block(self) -> int:
        """The followed thread's blockIdx.x: enough blocks before it that the product has something to count."""
        return min(3, self.blocks - 1)

    @property
    def thread(self) -> int:
        """The followed thread's threadIdx.x."""
        return min(24, self.threads - 1)

    def x(self, thread: float) -> float:
        """Middle of a seat along its row."""
        return (thread - self.thread) * PITCH

    def y(self, block: float) -> float:
        """Middle of a row of seats."""
        return (block - self.block) * ROW

    @property
    def middle(self) -> tuple[float, float]:
        """Middle of the whole hall on the floor."""
        return self.x((self.threads - 1) / 2), self.y((self.blocks - 1) / 2)

    def seats(self) -> tuple[Floats, Floats]:
        """x and y of the seats' middles, both (blocks, threads)."""
        x = self.x(0) + PITCH * np.arange(self.threads)
        y = self.y(0) + ROW * np.arange(self.blocks)
        grid = np.meshgrid(x, y)
        return grid[0], grid[1]


@dataclass(slots=True)
class Plain:
    """Seats to the horizon around the followed one, which is left out; `height(beat, distance, inside)` is each seat's height.

    `distance` (N,) is measured on the floor from the followed seat, `inside` (N,) tells the seats of the hall; a height of 0 or
    less draws nothing.  `heat(beat, distance)` in 0..1 lights the edges, and as far as `lit` differs from IDLE the whole seat.
    """

    hall: Hall
    height: Callable[[float, Floats, NDArray[np.bool_]], Floats]
    heat: Callable[[float, Floats], Floats]
    lit: Colour = IDLE
    across: int = 46  # seats left and right of the hall's middle
    near: int = 9  # rows before and
    far: int = 34  # behind the followed one
    _x: Floats = field(init=False)
    _y: Floats = field(init=False)
    _distance: Floats = field(init=False)
    _inside: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        hall = self.hall
        columns = np.arange(hall.thread - self.across, hall.thread + self.across + 1)
        rows = np.arange(hall.block - self.near, hall.block + self.far + 1)
        t, b = (g.ravel() for g in np.meshgrid(columns, rows))
        keep = (t != hall.thread) | (b != hall.block)
        t, b = t[keep], b[keep]
        self._x, self._y = (t - hall.thread) * PITCH, (b - hall.block) * ROW
        self._distance = np.hypot(self._x, self._y)
        self._inside = (t >= 0) & (t < hall.threads) & (b >= 0) & (b < hall.blocks)

    def draw(self, world: World, beat: float) -> None:
        height = self.height(beat, self._distance, self._inside)
        up = height > 0.01
        if not up.any():
            return
        h, heat = height[up], self.heat(beat, self._distance[up])
        origin = np.column_stack([self._x[up] - SEAT / 2, self._y[up] - SEAT / 2, np.zeros(len(h))])
        size = np.column_stack([np.full(len(h), SEAT), np.full(len(h), SEAT), h])
        share, glows = np.clip(heat, 0.0, 1.0), self.lit != IDLE
        colour = np.array(IDLE) * (1.0 + 0.5 * heat[:, None]) * (1.0 - share[:, None]) + np.array(self.lit) * share[:, None]
        world.add(Boxes.of(origin, size, colour, emission=0.55 * share * glows, edge=0.35 + 0.65 * heat))


def camera_of(path: Path) -> Callable[[float], Camera]:
    """A camera that flies a path of vectors: target x, y, z, distance, azimuth, elevation (degrees)."""

    def at(beat: float) -> Camera:
        x, y, z, distance, azimuth, elevation = (float(v) for v in path(beat))
        return Camera.orbit((x, y, z), distance, azimuth, elevation)

    return at


def light_hall(world: World, focus: tuple[float, float], radius: float, level: float, far: float) -> None:
    """Light, fog (from `far` world units on) and floor of the passages that play here; the light follows what is being told."""
    y0, x1, y1, x0, top, below = (level * share for share in (0.62, 0.42, 0.34, 0.48, 1.0, 0.16))
    world.light = Light(focus=focus, radius=radius, ambient=0.28, face=(y0, x1, y1, x0, top, below))
    world.fog = Fog(start=far, end=far + 50.0)
    world.ground = Ground(spacing=ROW, line_alpha=0.16)
