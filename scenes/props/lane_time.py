"""Time of a divergent warp as recorded: a track for every lane, time running to the camera, a bar while the lane ran."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from measure.records import DivergenceTrace
from scenes.props.cube import Vector
from scenes.props.ring import frames
from scenes.props.warp import LANES, WIDTH, Floats, Row
from scenes.stage.keys import smooth
from scenes.stage.overlay import Value, value_at
from scenes.stage.palette import COMPUTE, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.world import Boxes, Ribbons, World

TRACK = 0.05  # height of a track's plate
BAR = 0.62  # height of a bar of time


@dataclass(frozen=True, slots=True)
class Schedule:
    """A recorded warp laid on the beat: clock 0 falls on beat `first`, the last lane's end on beat `last`, one factor between.

    `start` and `end` are SM cycles a lane, (32,); `split` is the first lane of the second half.
    """

    start: Floats
    end: Floats
    first: float
    last: float
    split: int = LANES // 2

    @classmethod
    def of(cls, trace: DivergenceTrace, first: float, last: float) -> Schedule:
        """Raises ValueError for a record that does not hold 32 lanes."""
        start, end = np.array(trace.start, float), np.array(trace.end, float)
        if start.shape != (LANES,) or end.shape != (LANES,):
            raise ValueError(f"divergence trace: expected {LANES} lanes, found {len(start)} starts and {len(end)} ends")
        return cls(start, end, first, last)

    @property
    def total(self) -> float:
        """Cycles until the last lane ends."""
        return float(self.end.max())

    def now(self, beat: float) -> float:
        """Cycles that have passed at a beat, held at 0 before and at `total` after."""
        return self.total * min(max((beat - self.first) / (self.last - self.first), 0.0), 1.0)

    def beat(self, cycles: float) -> float:
        """The beat at which a clock reading is shown."""
        return self.first + (self.last - self.first) * cycles / self.total

    def running(self, beat: float) -> Floats:
        """1 for each lane inside of its recorded interval, else 0; (32,)."""
        now = self.total * (beat - self.first) / (self.last - self.first)
        return np.asarray((self.start <= now) & (now < self.end), float)

    def working(self, beat: float, over: float = 0.22) -> Floats:
        """`running` as a motion, (32,) from 0 to 1: up over `over` beats to a lane's start, down as long after its end."""
        a_cycle = (self.last - self.first) / self.total
        since = self.first + a_cycle * self.start - beat
        after = beat - self.first - a_cycle * self.end
        return np.asarray([1.0 - smooth(u) for u in np.clip(np.maximum(since, after) / over, 0.0, 1.0).tolist()])

    def done(self, beat: float) -> tuple[Floats, Floats]:
        """(start, end so far) in cycles of each lane's bar; equal where it has not begun."""
        return self.start, np.clip(self.now(beat), self.start, self.end)

    def side(self, which: int) -> slice:
        """Lanes of a half."""
        return slice(0, self.split) if which == 0 else slice(self.split, LANES)

    def runs(self, which: int, beat: float) -> bool:
        """Whether any lane of a half is inside of its interval."""
        return bool(self.running(beat)[self.side(which)].any())

    def order(self) -> tuple[int, int]:
        """The halves by their first start: (1, 0) where lanes 16 to 31 ran first."""
        return (0, 1) if self.start[self.side(0)].min() <= self.start[self.side(1)].min() else (1, 0)


def nice_step(total: float, least: int = 4) -> float:
    """The largest of 1, 2, 5 x 10^k of which `total` holds at least `least`: nice_step(5035) == 1000."""
    scale = 10.0 ** math.floor(math.log10(total))
    return next(m * scale for m in (5.0, 2.0, 1.0, 0.5, 0.2, 0.1) if total / (m * scale) >= least)


@dataclass(slots=True)
class LaneTime:
    """Tracks, bars, the line of now and the marks of an axis.  `near` is the y of clock 0; time runs to smaller y."""

    row: Row
    schedule: Schedule | None
    near: float
    length: float  # world units for the whole record
    reach: Value = 1.0  # share of the tracks that is laid
    bars: Value = 1.0  # 0: the bars have sunk
    sweep: Value = 0.0  # opacity of the line of now
    marked: Value = 1.0  # opacity of the axis
    drawn: Callable[[int, float], float] = lambda side, beat: 0.0  # without a record: share of a side's outlines

    def y(self, cycles: float) -> float:
        """Place of a clock reading on the axis."""
        return self.near - self.length * cycles / (self.schedule.total if self.schedule else 1.0)

    def marks(self) -> list[float]:
        """Clock readings that the axis names."""
        if self.schedule is None:
            return []
        step = nice_step(self.schedule.total)
        return [step * k for k in range(1, int(self.schedule.total / step) + 1)]

    def spine(self, cycles: float, beat: float) -> Vector:
        """A point of the floor half way between the two halves, level with a clock reading."""
        return (self.row.edges(beat, 0)[1] + self.row.edges(beat, 1)[0]) / 2, self.y(cycles), 0.0

    def beside(self, cycles: float, beat: float) -> Vector:
        """A point to the right of the tracks, level with a clock reading."""
        return self.row.edges(beat, 1)[1] + 1.1, self.y(cycles), BAR

    def draw(self, world: World, beat: float) -> None:
        reach = value_at(self.reach, beat)
        if reach < 0.01:
            return
        x = self.row.x(beat)
        long = (self.length + 0.4) * reach
        plates = np.column_stack([x - WIDTH / 2, np.full(LANES, self.near + 0.2 - long), np.zeros(LANES)])
        world.add(Boxes.of(plates, (WIDTH, long, TRACK), mix(PLATE, STEEL, 0.55), edge=0.8, shadow=0.3))
        if self.schedule is None:
            self._outline(world, beat, long)
        else:
            self._axis(world, beat, reach)
            self._bars(world, beat, self.schedule, x)

    def _bars(self, world: World, beat: float, schedule: Schedule, x: Floats) -> None:
        height = BAR * value_at(self.bars, beat)
        start, end = schedule.done(beat)
        some = (end > start) & (height > 0.01)
        if some.any():
            far, close = np.array([self.y(c) for c in start[some]]), np.array([self.y(c) for c in end[some]])
            origin = np.column_stack([x[some] - WIDTH / 2, close, np.full(some.sum(), TRACK)])
            size = np.column_stack([np.full(some.sum(), WIDTH), far - close, np.full(some.sum(), height)])
            world.add(Boxes.of(origin, size, COMPUTE, emission=0.26, edge=0.8))
        across(world, self.row, beat, self.y(schedule.now(beat)), value_at(self.sweep, beat))

    def _axis(self, world: World, beat: float, reach: float) -> None:
        """A short line on every track at every mark, but where a bar lies over it."""
        alpha, x = 0.5 * value_at(self.marked, beat), self.row.x(beat)
        shown = [c for c in self.marks() if self.near - self.y(c) <= self.length * reach]
        if self.schedule is None or not shown or alpha < 0.01:
            return
        start, end = self.schedule.done(beat)
        sunk = value_at(self.bars, beat) <= 0.01
        for cycles in shown:
            free = x[(cycles <= start) | (cycles >= end) | sunk]
            a, b = ([(place + side, self.y(cycles), TRACK + 0.01) for place in free] for side in (-0.5, 0.5))
            world.add(Ribbons.of(a, b, 0.08, QUIET, alpha=alpha))

    def _outline(self, world: World, beat: float, long: float) -> None:
        """Both halves framed: no clock is known, so nothing is laid on their tracks."""
        far, close = self.near + 0.3, self.near + 0.1 - long
        for side in (0, 1):
            a, b = self.row.edges(beat, side)
            corners = [(a, far, 0.08), (b, far, 0.08), (b, close, 0.08), (a, close, 0.08)]
            seen = 0.8 * value_at(self.marked, beat)
            world.add(Ribbons.of(corners, [*corners[1:], corners[0]], 0.1, QUIET, alpha=seen))
            share, lanes = self.drawn(side, beat), self.row.x(beat)
            lanes = lanes[: self.row.split] if side == 0 else lanes[self.row.split :]
            if share > 0.01 and seen > 0.01:
                low, size = (-WIDTH / 2, self.near - (long - 0.4) * share, TRACK), (WIDTH, (long - 0.4) * share, BAR)
                feet = np.column_stack([lanes, np.zeros((len(lanes), 2))])
                edges = frames(feet + np.array(low), size)
                world.add(Ribbons.of(*edges, 0.045, mix(QUIET, TEXT, 0.6 * (share < 1.0)), alpha=0.75 * seen))


@dataclass(slots=True)
class Twin:
    """A run of the same work undivided, in glass: all 32 lanes from clock 0 to `cycles`, a pane over those with a bar there.

    How many cycles it took is read when it is first drawn.
    """

    time: LaneTime
    schedule: Schedule
    cycles: Callable[[], float]
    grown: Value
    opacity: Value

    def draw(self, world: World, beat: float) -> None:
        grown, seen = value_at(self.grown, beat), value_at(self.opacity, beat)
        if grown < 0.01 or seen < 0.01:
            return
        cycles, x = self.cycles(), self.time.row.x(beat)
        close, taken = self.time.y(cycles * grown), self.schedule.start < cycles
        base, tall = np.where(taken, TRACK + BAR + 0.08, TRACK), np.where(taken, 0.04, BAR)
        origin = np.column_stack([x - WIDTH / 2, np.full(LANES, close), base])
        size = np.column_stack([np.full(LANES, WIDTH), np.full(LANES, self.time.near - close), tall])
        world.add(Boxes.of(origin, size, mix(QUIET, TEXT, 0.5), edge=1.0, shadow=0.0, alpha=0.28 * seen))
        across(world, self.time.row, beat, close, seen)


def across(world: World, row: Row, beat: float, y: float, seen: float) -> None:
    """A white line over the tracks of both halves, on two feet; the aisle between them, with its numerals, stays free."""
    if seen > 0.01:
        (left, inner), (outer, right), top = row.edges(beat, 0), row.edges(beat, 1), TRACK + BAR + 0.22
        y -= 0.05
        a = [(left - 0.7, y, top), (outer, y, top), (left - 0.7, y, 0.0), (right + 0.7, y, 0.0)]
        b = [(inner, y, top), (right + 0.7, y, top), (left - 0.7, y, top), (right + 0.7, y, top)]
        world.add(Ribbons.of(a, b, 0.1, TEXT, alpha=seen, emission=0.2 * seen))
