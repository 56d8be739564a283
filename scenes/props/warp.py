"""A warp as a thing to look at: 32 lanes in one row, the instruction that falls on them, and the gate that splits them.

x runs along the row, lane 0 leftmost seen from azimuth 0; the lanes walk towards the camera, down y; one unit is the pitch of
the lanes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Vector
from scenes.stage.keys import arrive, ramp, smooth
from scenes.stage.overlay import Value, value_at
from scenes.stage.palette import COMPUTE, QUIET, STEEL, TEXT, mix
from scenes.stage.world import Boxes, World

LANES = 32  # threads of a warp, on every GPU that CUDA has run on
WIDTH = 0.78  # of a lane's block, along the row and in depth
LOW, TALL = 1.0, 2.7  # heights of a lane that waits and of a lane at work
AIR, SQUASH = 0.34, 0.16  # of a beat in the air before a landing; how much of its height a landing costs

Floats = NDArray[np.float64]
Share = Callable[[float], Floats]


def march(beat: float, first: float, last: float, stride: float, lift: float = 0.42) -> tuple[float, float]:
    """(steps x stride, height above the floor) of a walk that lands on every whole beat from `first` to `last`."""
    if beat <= first - AIR:
        return 0.0, 0.0
    landed = min(np.floor(beat), last) - first + 1.0 if beat >= first else 0.0
    goal = np.floor(beat) + 1.0
    u = ramp(beat, goal - AIR, AIR, lambda v: v) if first <= goal <= last else 0.0
    return stride * (landed + smooth(u)), 4.0 * lift * u * (1.0 - u)


def settle(beat: float, decay: float = 0.16) -> float:
    """1 at the moment that a whole beat lands, fading after it, and drawn in over the last sixteenth before it: no jump."""
    since = beat - np.floor(beat)
    return float(np.exp(-since / decay) + (1.0 - np.exp(-1.0 / decay)) * smooth(max(0.0, since - 0.9) / 0.1))


@dataclass(slots=True)
class Row:
    """Where the lanes stand: the lanes before and from `split` on, pushed apart by `gap`; `y` and `z` of their feet."""

    split: int = LANES // 2
    gap: Value = 0.0
    y: Value = 0.0
    z: Value = 0.0

    def x(self, beat: float) -> Floats:
        """Centres of the 32 lanes."""
        lane = np.arange(LANES)
        return lane - (LANES - 1) / 2 + np.where(lane < self.split, -0.5, 0.5) * value_at(self.gap, beat)

    def edges(self, beat: float, side: int) -> tuple[float, float]:
        """Left and right end of a side of the split, 0 or 1."""
        lanes = self.x(beat)[: self.split] if side == 0 else self.x(beat)[self.split :]
        return float(lanes[0]) - 0.5, float(lanes[-1]) + 0.5


@dataclass(slots=True)
class Warp:
    """32 blocks; `work` gives (32,) shares from 0, waiting: steel and low, to 1, at work: amber and tall.

    The block of lane `thread` leaves room on top for the cube that the film follows, so that it is as high as the others;
    a negative number means that the thread is in another warp.
    """

    row: Row
    work: Share
    thread: int
    stamp: Share = field(default=lambda beat: np.zeros(LANES))  # (32,) how hard the current beat lands on each lane, 0..1
    grown: Value = 1.0  # share of its height that stands out of the floor

    def heights(self, beat: float) -> Floats:
        """Heights of the blocks, (32,)."""
        tall = (LOW + (TALL - LOW) * self.work(beat)) * value_at(self.grown, beat)
        return np.asarray(tall * (1.0 - SQUASH * settle(beat) * self.stamp(beat)))

    def seat(self, beat: float) -> Vector:
        """Where the cube of the thread stands: the centre of its base."""
        z = value_at(self.row.z, beat) + float(self.heights(beat)[self.thread]) - WIDTH
        return float(self.row.x(beat)[self.thread]), value_at(self.row.y, beat), z

    def draw(self, world: World, beat: float) -> None:
        if value_at(self.grown, beat) < 0.01:
            return
        x, tall, work = self.row.x(beat), self.heights(beat), self.work(beat)[:, None]
        foot = np.column_stack([x, np.full(LANES, value_at(self.row.y, beat)), np.full(LANES, value_at(self.row.z, beat))])
        idle = np.array(mix(STEEL, QUIET, 0.3))
        colour = idle + (np.array(COMPUTE) - idle) * work
        block = np.where(np.arange(LANES) == self.thread, np.maximum(tall - WIDTH - 0.04, 0.02), tall)
        size = np.column_stack([np.full((LANES, 2), WIDTH), block])
        world.add(Boxes.of(foot - (WIDTH / 2, WIDTH / 2, 0.0), size, colour, 0.5 * work[:, 0], edge=0.6))


@dataclass(slots=True)
class Press:
    """One instruction: a plate over the lanes that run it, which falls on them all at once and lands on its beat.

    `span` gives its left and right end when it comes; the plate hangs `hang` above the heads before it falls.
    """

    warp: Warp
    beat: float
    span: Callable[[float], tuple[float, float]]
    tall: float = 1.3  # height of the plate
    hang: float = 1.1
    along: float = 0.62  # where on its face the text is pinned, as a share of its length

    def shown(self, beat: float) -> float:
        """Opacity: in over half a beat, gone within half a beat of the landing."""
        return ramp(beat, self.beat - 0.92, 0.3) * (1.0 - ramp(beat, self.beat + 0.04, 0.4))

    def base(self, beat: float) -> float:
        """Height of its lower face."""
        floor = value_at(self.warp.row.z, beat) + float(self.warp.heights(beat).max())
        falls, comes = ramp(beat, self.beat - 0.3, 0.3, lambda u: u * u), ramp(beat, self.beat - 0.95, 0.4, arrive)
        return floor + 0.02 + self.hang * (1.0 - falls + 0.4 * (1.0 - comes))

    def face(self, beat: float) -> Vector:
        """The point of its front face that its text is pinned to."""
        left, right = self.span(beat)
        return left + (right - left) * self.along, value_at(self.warp.row.y, beat) - WIDTH / 2, self.base(beat) + self.tall / 2

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        if shown < 0.01:
            return
        left, right = self.span(beat)
        y = value_at(self.warp.row.y, beat)
        origin, size = (left + 0.1, y - WIDTH / 2, self.base(beat)), (right - left - 0.2, WIDTH, self.tall)
        world.add(Boxes.of(origin, size, mix(STEEL, QUIET, 0.12), edge=1.2, alpha=0.94 * shown, shadow=shown))


@dataclass(slots=True)
class Gate:
    """The `if` as a gate: posts, a beam over both halves, and a barrier before each, sunk while that half runs.

    `rise` lifts it out of the floor, `wedge` drives the middle post up between the halves, `shut` closes the barriers.
    """

    row: Row
    y: float
    rise: Value
    wedge: Value
    shut: tuple[Value, Value]
    TALL = 3.9

    def draw(self, world: World, beat: float) -> None:
        up, wedge = value_at(self.rise, beat), value_at(self.wedge, beat)
        if up < 0.01:
            return
        (left, inner), (outer, right) = self.row.edges(beat, 0), self.row.edges(beat, 1)
        tall, middle, frame = self.TALL * up, (inner + outer) / 2, mix(STEEL, QUIET, 0.35)
        posts = [(left - 0.62, self.y - 0.25, 0.0), (right + 0.12, self.y - 0.25, 0.0)]
        world.add(Boxes.of(posts, (0.5, 0.5, tall), frame, edge=0.9))
        world.add(Boxes.of((left - 0.62, self.y - 0.25, tall), (right - left + 1.24, 0.5, 0.45 * up), frame, edge=0.9))
        if wedge > 0.01:
            world.add(Boxes.of((middle - 0.2, self.y - 0.25, 0.0), (0.4, 0.5, min(tall, self.TALL * wedge)), frame, edge=0.9))
        for side, (a, b) in enumerate(((left, inner), (outer, right))):
            high = 0.75 * value_at(self.shut[side], beat) * up
            if high > 0.02:
                bars = [(a, self.y - 0.06, high * k) for k in (0.28, 0.72)]
                world.add(Boxes.of(bars, (b - a, 0.12, min(0.12, 0.4 * high)), mix(QUIET, TEXT, 0.5), edge=0.6, shadow=0.0))


def half_of(condition: str) -> int:
    """First lane of the second half, from a condition such as `lane < 16`; half of the warp where it says something else."""
    found = re.search(r"<\s*(\d+)\s*$", condition)
    return int(found[1]) if found and 0 < int(found[1]) < LANES else LANES // 2
