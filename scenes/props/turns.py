"""32 lanes on 32 paths: each takes its turn while 31 wait, and a turn is as long as what its path adds to the measured time.

The sweep says how many cycles a warp takes on 1 to 32 paths; the time from k - 1 to k of them is drawn as lane k - 1's turn.
Which path runs when was not recorded: the lanes come in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from measure.dataset import Dataset
from scenes.props.cube import Vector
from scenes.props.lane_time import BAR, TRACK, LaneTime, Schedule, across
from scenes.props.ring import frames
from scenes.props.warp import LANES, WIDTH, Floats, Row
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import linear, ramp
from scenes.stage.overlay import Item, Text, Value, value_at
from scenes.stage.palette import QUIET, TEXT, mix
from scenes.stage.type import CODE, FACT, LABEL, NUMBER, SMALL
from scenes.stage.world import Ribbons, World

SERIES = "sweeps.divergence.series"
LEFT, RIGHT, NOTE, LINE, UNDER = 96, 1824, 236, 300, 360  # places of the words, design pixels
RISE = 0.03  # beats in which a lane gets up for its turn


@dataclass(slots=True)
class Turns:
    """A field of lanes by time, all of its time between the beats `first` and `last`; `reach` of it is laid, 0..1.

    `near` is the y of its begin and `length` its extent. The sweep is read once the field is laid. Without it outlines stand,
    equal in length: each path takes its turn.
    """

    data: Dataset
    row: Row
    near: float
    length: float
    first: float
    last: float
    reach: Value
    shown: Callable[[float], float]  # opacity of its white lines and names
    _schedule: Schedule | None = field(default=None, init=False)

    @property
    def known(self) -> bool:
        return all(self.data.has(f"{SERIES}.branching.values.{paths}") for paths in (1, LANES))

    def cycles(self) -> Floats:
        """Measured cycles of the warp on 1 to 32 paths, (32,); evenly between, where some were left out."""
        read = {paths: self.data.get(f"{SERIES}.branching.values.{paths}") for paths in range(1, LANES + 1)}
        told = {paths: reading.quantity.value for paths, reading in read.items() if reading is not None}
        ends = np.interp(np.arange(1, LANES + 1), [0, *told], [0.0, *told.values()])
        return np.asarray(np.maximum.accumulate(ends))

    def schedule(self) -> Schedule:
        """The turns on the beat; lengths without a unit where nothing was measured."""
        if self._schedule is None:
            ends = self.cycles() if self.known else np.arange(1.0, LANES + 1)
            self._schedule = Schedule(np.concatenate([[0.0], ends[:-1]]), ends, self.first, self.last)
        return self._schedule

    def share(self, beat: float) -> float:
        """Of all its time."""
        return ramp(beat, self.first, self.last - self.first, linear)

    def working(self, beat: float) -> Floats:
        """Which lane's turn it is, (32,) 0..1: nobody is shown at work where nothing was measured."""
        if not self.known or not self.first - RISE < beat < self.last + RISE:
            return np.zeros(LANES)
        return self.schedule().working(beat, RISE)

    def y(self, paths: int) -> float:
        """Where the time of so many paths ends."""
        schedule = self.schedule()
        return self.near - self.length * float(schedule.end[paths - 1]) / schedule.total

    def beside(self, paths: int) -> Callable[[float], Vector]:
        """A point to the right of the field, level with the end of so many paths."""
        return lambda beat: (self.row.edges(beat, 1)[1] + 1.1, self.y(paths), BAR)

    def over(self, paths: int, beat: float) -> float:
        """1 once so many paths have had their turn, else 0."""
        schedule = self.schedule()
        return float(beat >= schedule.beat(float(schedule.end[paths - 1])))

    def draw(self, world: World, beat: float) -> None:
        if value_at(self.reach, beat) < 0.01:
            return
        schedule, seen = self.schedule(), self.shown(beat)
        line = seen if self.known else 0.0
        time = LaneTime(self.row, schedule, self.near, self.length, self.reach, self.bars if self.known else 0.0, line, 0.0)
        time.draw(world, beat)
        if self.known:
            across(world, self.row, beat, self.y(1), seen * self.over(1, beat))
        else:
            self._outlines(world, beat, schedule, seen)

    def bars(self, beat: float) -> float:
        """The bars sink as the field is taken away."""
        return value_at(self.reach, beat) if beat > self.last else 1.0

    def _outlines(self, world: World, beat: float, schedule: Schedule, seen: float) -> None:
        begun = self.share(beat) * LANES > np.arange(LANES)
        if begun.any() and seen > 0.01:
            turn = self.length / LANES
            close = self.near - self.length * schedule.end / schedule.total
            feet = np.column_stack([self.row.x(beat) - WIDTH / 2, close, np.full(LANES, TRACK)])[begun]
            world.add(Ribbons.of(*frames(feet, (WIDTH, turn, BAR)), 0.05, mix(QUIET, TEXT, 0.4), 0.8 * seen))

    def words(self, shown: Callable[[float], float], device: str) -> list[Item]:
        """How many times as long as one path they take, counted as the turns go by, and what code does that."""
        items: list[Item] = [Text("switch (threadIdx.x)", CODE, RIGHT, NOTE, "right", shown)]
        if not self.known:
            lines = (f"cost by paths not measured on {device}", "outlines: as many turns as paths")
            return items + [Text(line, SMALL, LEFT, NOTE + 48 * k, "left", shown) for k, line in enumerate(lines)]
        items.append(Text("a path for each lane; order: drawn", SMALL, RIGHT, NOTE + 50, "right", shown))
        reading = self.data.get(f"{SERIES}.slowdown.values.{LANES}")
        if reading is not None:
            shot = figure(reading, 1, "×")
            items.append(Counter(shot, self.share, NUMBER.sized(110), LEFT, LINE, "left", shown))
            items.append(Text(f"the time of one path, {shot.source}", FACT, LEFT, UNDER, "left", shown))
        for paths, word in ((1, "path"), (LANES, "paths")):
            items.append(Text(f"{paths} {word}", LABEL, 18, 12, "left", self._told(paths, shown), self.beside(paths), "axis"))
        return items

    def _told(self, paths: int, shown: Callable[[float], float]) -> Callable[[float], float]:
        return lambda beat: shown(beat) * self.shown(beat) * self.over(paths, beat)
