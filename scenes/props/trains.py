"""Weights under way on equal tracks: trains as long as their format's bytes, as fast as they were read; what comes out of them.

A train is one matrix of weights.  On the SM that takes it in stand its outputs, one after the other as its weights have passed:
each beside a white mark at the exact value, off it by the error that was measured for its format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Vector
from scenes.stage.keys import overshoot, ramp
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]

GATE = 9.0  # x at which the weights enter the SM
LONGEST = 24.0  # length of the fp32 train, world units
WAGONS = 32  # of that train: one for every bit of a weight
WIDE, TALL, SLIT = 1.5, 0.7, 0.13
FROM = -19.0  # where the tracks begin
WEIGHT = 3.2  # length of an fp32 weight of those that come one by one, world units
SM = (GATE + 0.5, GATE + 8.7, 1.1)  # x of its walls, height
NAMES = GATE + 1.9  # x at which a track's name begins, on the SM: between it and the gate a cube has room
OUTPUTS, FIRST, PITCH, EDGE = 8, GATE + 4.95, 0.47, 0.32  # drawn of y; x of the first; from one to the next; edge of one
HIGHEST = 1.5  # of an output, world units


@dataclass(frozen=True, slots=True)
class Train:
    """One format on the track at y: `ratio` of the fp32 bytes to its own, scales included, which are a share `scales` of it.

    `beats` reads how long it takes to pass the gate, asked only once it moves, `speed` how fast its weights flow beside those
    of fp32, `error` the relative error of its outputs.  None: nobody measured that; an outline then goes by its bytes.
    """

    y: float
    ratio: float
    scales: float
    beats: Callable[[], float] | None
    speed: Callable[[], float] | None = None
    error: Callable[[], float] | None = None
    slowest: float = 8.0  # beats that the fp32 weights take

    @property
    def length(self) -> float:
        return LONGEST / self.ratio

    def lasts(self) -> float:
        """Beats that it takes to pass the gate: as measured, else as long as its bytes at the speed of fp32."""
        return self.beats() if self.beats is not None else self.slowest / self.ratio

    def head(self, beat: float, start: float) -> float:
        """x of its front: at the gate until it starts, then at one speed; its end passes the gate when its time is over."""
        if beat <= start:
            return GATE
        return GATE + self.length * (beat - start) / self.lasts()

    def passed(self, beat: float, start: float) -> float:
        """Share of it that has passed the gate, 0..1."""
        return min(1.0, max(0.0, (self.head(beat, start) - GATE) / self.length))


@dataclass(slots=True)
class Trains:
    """The tracks, what runs on them, and the SM that takes it in; its mouths glow while their train passes.

    Then weight after weight comes along each track, each as long as its bits: many short ones where a long one was.  The first
    of each format is at the gate at `flow`; one of fp32 goes `pace` world units a beat.
    """

    trains: Sequence[Train]
    start: float
    flow: float
    pace: float
    shown: Callable[[float], float]
    exact: Floats = field(init=False)  # (OUTPUTS,) of y, as an example
    off: Floats = field(init=False)  # (OUTPUTS,) what they are off by at a relative error of 1, in the 2-norm

    def __post_init__(self) -> None:
        random = np.random.default_rng(7)
        self.exact = random.uniform(0.45, 1.0, OUTPUTS)
        off = random.normal(size=OUTPUTS)
        self.off = off / np.linalg.norm(off) * np.linalg.norm(self.exact)

    def tail(self, which: int, beat: float) -> Vector:
        """Middle of the top of a train's last wagon; on top of the SM once it has passed."""
        train = self.trains[which]
        x = train.head(beat, self.start) - train.length + 0.5 * LONGEST / WAGONS
        u = 0.0 if beat <= self.start else ramp(beat, self.start + train.lasts() - 0.25, 0.6)
        top = SM[2] if u >= 1.0 else TALL + (SM[2] - TALL) * u + 1.2 * np.sin(np.pi * u)
        return min(x, GATE - 0.4) * (1.0 - u) + (SM[0] + 0.75) * u, train.y, float(top)

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        if shown <= 0.01:
            return
        ys = np.array([train.y for train in self.trains])
        rows = np.column_stack([np.full(len(ys), FROM), ys - WIDE / 2 - 0.2, np.zeros(len(ys))])
        world.add(Boxes.of(rows, (GATE - FROM + 0.4, WIDE + 0.4, 0.06 * shown), mix(PLATE, STEEL, 0.3), 0.0, 0.3, 0.4))
        sides = np.concatenate([ys - WIDE / 2 - 0.2, ys + WIDE / 2 + 0.2])
        a = np.column_stack([np.full(len(sides), FROM), sides, np.full(len(sides), 0.08)])
        world.add(Ribbons.of(a, a + np.array([GATE - FROM, 0.0, 0.0]), 0.05, MEMORY, 0.5 * shown, 0.2))
        for which, train in enumerate(self.trains):
            if train.beats is None:
                self._outline(world, train, beat, shown)
            else:
                self._wagons(world, train, beat, shown)
            self._weights(world, train, beat)
            self._outputs(world, which, beat)
        self._sm(world, beat, shown)

    def _wagons(self, world: World, train: Train, beat: float, shown: float) -> None:
        pitch, head = LONGEST / WAGONS, train.head(beat, self.start)
        weights = train.length * (1.0 - train.scales)
        edges = np.arange(0.0, weights - 1e-6, pitch)
        ahead, long = edges, np.minimum(pitch, weights - edges)
        if train.scales > 0.0:  # at the end, as long as they are beside their weights
            ahead, long = np.append(edges, weights), np.append(long, train.length - weights)
        white = np.arange(len(ahead)) >= len(edges)
        gap = np.where(white, 0.0, np.minimum(SLIT, 0.5 * long)) / 2
        high, low = np.minimum(head - ahead - gap, GATE), head - ahead - long + gap
        on = high > low + 0.01
        origin = np.column_stack([low, np.full(len(low), train.y - WIDE / 2), np.full(len(low), 0.1)])[on]
        size = np.column_stack([high - low, np.full(len(low), WIDE), np.full(len(low), TALL * shown)])[on]
        colour = np.where(white[:, None], mix(PLATE, TEXT, 0.9), mix(PLATE, MEMORY, 0.62))[on]
        world.add(Boxes.of(origin, size, colour, np.where(white, 0.3, 0.22)[on], 0.8))

    def front(self, train: Train, beat: float) -> float:
        """x of the first of the weights that come one by one: all formats are level where they begin to pass the gate."""
        if beat <= self.flow - 1.6 * (GATE - FROM) / self.pace:  # nothing is asked before it shows
            return FROM
        speed = train.speed() if train.speed is not None else 1.0
        return max(FROM, GATE + self.pace * speed * (beat - self.flow))

    def taken(self, train: Train, beat: float) -> float:
        """How many of the weights that come one by one have passed the gate since `flow`."""
        return max(0.0, self.front(train, beat) - GATE) * train.ratio / WEIGHT

    def _weights(self, world: World, train: Train, beat: float) -> None:
        front = self.front(train, beat)
        if front <= FROM:
            return
        pitch = WEIGHT / train.ratio
        first = max(0, int((front - GATE) / pitch))
        number = np.arange(first, int((front - FROM) / pitch) + 1)
        high = np.minimum(front - pitch * number, GATE)
        low = np.maximum(front - pitch * (number + 1) + min(SLIT, 0.3 * pitch), FROM)
        on = high > low + 0.01
        high, low, bright = high[on], low[on], (number[on] % 2).astype(float)
        origin = np.column_stack([low, np.full(len(low), train.y - WIDE / 2), np.full(len(low), 0.1)])
        size = np.column_stack([high - low, np.full(len(low), WIDE), np.full(len(low), TALL)])
        known = MEMORY if train.speed is not None else QUIET
        dark, light = np.array(mix(PLATE, known, 0.4)), np.array(mix(PLATE, known, 0.75))
        glow = (0.12 + 0.14 * bright) * (train.speed is not None)
        world.add(Boxes.of(origin, size, dark + (light - dark) * bright[:, None], glow, 0.8))

    def heights(self, which: int, beat: float) -> Floats:
        """Heights of a format's outputs at a beat, (OUTPUTS,): each stands once all of its weights have passed; 0 before."""
        train = self.trains[which]
        if train.error is None or beat <= self.start:
            return np.zeros(OUTPUTS)
        done = np.array([ramp(beat, self.start + train.lasts() * (k + 1) / OUTPUTS, 0.4, overshoot) for k in range(OUTPUTS)])
        if not done.any():
            return done
        return np.asarray(HIGHEST * done * (self.exact + train.error() * self.off))

    def _outputs(self, world: World, which: int, beat: float) -> None:
        high, y = self.heights(which, beat), self.trains[which].y
        there = high > 0.01
        if not there.any():
            return
        x = FIRST + PITCH * np.arange(OUTPUTS)[there]
        origin = np.column_stack([x - EDGE / 2, np.full(len(x), y - EDGE / 2), np.full(len(x), SM[2])])
        size = np.column_stack([np.full((len(x), 2), EDGE), high[there]])
        world.add(Boxes.of(origin, size, mix(PLATE, COMPUTE, 0.85), 0.3, 0.8))
        mark = np.column_stack([x - 0.62 * EDGE, np.full(len(x), y - EDGE / 2 - 0.03), SM[2] + HIGHEST * self.exact[there]])
        world.add(Ribbons.of(mark, mark + np.array([1.24 * EDGE, 0.0, 0.0]), 0.05, TEXT, 0.95, 0.2))

    def _outline(self, world: World, train: Train, beat: float, shown: float) -> None:
        head = train.head(beat, self.start)
        x0, x1, y0, y1 = head - train.length, min(head, GATE), train.y - WIDE / 2, train.y + WIDE / 2
        if x0 >= x1:
            return
        foot = np.array([(x0, y0, 0.1), (x1, y0, 0.1), (x1, y1, 0.1), (x0, y1, 0.1)])
        lid = foot + np.array([0.0, 0.0, TALL])
        a, b = np.concatenate([foot, lid, foot]), np.concatenate([np.roll(foot, -1, 0), np.roll(lid, -1, 0), lid])
        world.add(Ribbons.of(a, b, 0.05, QUIET, 0.8 * shown))

    def _sm(self, world: World, beat: float, shown: float) -> None:
        low, high = min(t.y for t in self.trains) - 1.6, max(t.y for t in self.trains) + 1.6
        world.add(Boxes.of([(SM[0], low, 0.0)], (SM[1] - SM[0], high - low, SM[2] * shown), mix(PLATE, STEEL, 0.7), 0.0, 0.7))
        busy = np.array([t.beats is not None and self._passing(t, beat) for t in self.trains], float)
        ys = np.array([train.y for train in self.trains])
        origin = np.column_stack([np.full(len(ys), SM[0] - 0.12), ys - WIDE / 2, np.full(len(ys), 0.1)])
        colour = np.array(STEEL) + (np.array(COMPUTE) - np.array(STEEL)) * busy[:, None]
        world.add(Boxes.of(origin, (0.4, WIDE, (SM[2] - 0.06) * shown), colour, 0.6 * busy, 0.6))

    def _passing(self, train: Train, beat: float) -> bool:
        """Whether weights of it go through the gate now."""
        return 0.0 < train.passed(beat, self.start) < 1.0 or self.front(train, beat) > GATE
