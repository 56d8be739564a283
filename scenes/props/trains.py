"""Weights under way on four equal tracks: trains as long as their format's bytes, as fast as they were read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Vector
from scenes.stage.keys import ramp
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]

GATE = 9.0  # x at which the weights enter the SM
LONGEST = 24.0  # length of the fp32 train, world units
WAGONS = 32  # of that train: one for every bit of a weight
WIDE, TALL, SLIT = 1.5, 0.7, 0.13
FROM = -19.0  # where the tracks begin
FLOW = 3.4  # world units a beat of the fp32 weights that come one by one, and the length of one of them
WEIGHT = 3.2
SM = (GATE + 0.5, GATE + 4.2, 1.5)  # x of its walls, height


@dataclass(frozen=True, slots=True)
class Train:
    """One format on the track at y: `ratio` of the fp32 bytes to its own, scales included, which are a share `scales` of it.

    `beats` reads how long it takes to pass the gate, asked only once it moves; None: nobody measured it, an outline that waits.
    `speed` reads how fast its weights flow beside those of fp32, 1 being as fast.
    """

    y: float
    ratio: float
    scales: float
    beats: Callable[[], float] | None
    speed: Callable[[], float] | None = None

    @property
    def length(self) -> float:
        return LONGEST / self.ratio

    def head(self, beat: float, start: float) -> float:
        """x of its front: at the gate until it starts, then at one speed; its end passes the gate when its time is over."""
        if self.beats is None or beat <= start:
            return GATE
        return GATE + self.length * (beat - start) / self.beats()

    def passed(self, beat: float, start: float) -> float:
        """Share of it that has passed the gate, 0..1."""
        return min(1.0, max(0.0, (self.head(beat, start) - GATE) / self.length))


@dataclass(slots=True)
class Trains:
    """The tracks, what runs on them, and the SM that takes it in; its mouths glow while their train passes.

    From `flow` on weight after weight comes along each track, each as long as its bits: many short ones where a long one was.
    """

    trains: Sequence[Train]
    start: float
    flow: float
    shown: Callable[[float], float]

    def tail(self, which: int, beat: float) -> Vector:
        """Middle of the top of a train's last wagon; on top of the SM once it has passed."""
        train = self.trains[which]
        x = train.head(beat, self.start) - train.length + 0.5 * LONGEST / WAGONS
        u = 0.0 if train.beats is None else ramp(beat, self.start + train.beats() - 0.25, 0.6)
        top = SM[2] if u >= 1.0 else TALL + (SM[2] - TALL) * u + 1.2 * np.sin(np.pi * u)
        return min(x, GATE - 0.4) * (1.0 - u) + (SM[0] + 1.0) * u, train.y, float(top)

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
        for train in self.trains:
            if train.beats is None:
                self._outline(world, train, shown)
            else:
                self._wagons(world, train, beat, shown)
                self._weights(world, train, beat)
        self._sm(world, beat, shown)

    def _wagons(self, world: World, train: Train, beat: float, shown: float) -> None:
        pitch, head = LONGEST / WAGONS, train.head(beat, self.start)
        weights = train.length * (1.0 - train.scales)
        edges = np.arange(0.0, weights - 1e-6, pitch)
        ahead = np.append(edges, weights) if train.scales > 0.0 else edges
        long = (
            np.append(np.minimum(pitch, weights - edges), train.length - weights) if train.scales > 0.0 else pitch + 0 * edges
        )
        high = np.minimum(head - ahead - SLIT / 2, GATE)
        low = head - ahead - np.maximum(long, 2.4 * SLIT) + SLIT / 2
        on = high > low + 0.01
        white = np.zeros(len(ahead), bool)
        white[len(edges) :] = True
        origin = np.column_stack([low, np.full(len(low), train.y - WIDE / 2), np.full(len(low), 0.1)])[on]
        size = np.column_stack([high - low, np.full(len(low), WIDE), np.full(len(low), TALL * shown)])[on]
        colour = np.where(white[:, None], mix(PLATE, TEXT, 0.8), mix(PLATE, MEMORY, 0.62))[on]
        world.add(Boxes.of(origin, size, colour, np.where(white, 0.15, 0.22)[on], 0.8))

    def front(self, train: Train, beat: float) -> float:
        """x of the first of the weights that come one by one."""
        speed = train.speed() if train.speed is not None and beat > self.flow else 0.0
        return FROM + FLOW * speed * (beat - self.flow)

    def _weights(self, world: World, train: Train, beat: float) -> None:
        front = self.front(train, beat)
        if front <= FROM or train.speed is None:
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
        dark, light = np.array(mix(PLATE, MEMORY, 0.4)), np.array(mix(PLATE, MEMORY, 0.75))
        world.add(Boxes.of(origin, size, dark + (light - dark) * bright[:, None], 0.12 + 0.14 * bright, 0.8))

    def _outline(self, world: World, train: Train, shown: float) -> None:
        x0, x1, y0, y1 = GATE - train.length, GATE, train.y - WIDE / 2, train.y + WIDE / 2
        foot = np.array([(x0, y0, 0.1), (x1, y0, 0.1), (x1, y1, 0.1), (x0, y1, 0.1)])
        lid = foot + np.array([0.0, 0.0, TALL])
        a, b = np.concatenate([foot, lid, foot]), np.concatenate([np.roll(foot, -1, 0), np.roll(lid, -1, 0), lid])
        world.add(Ribbons.of(a, b, 0.05, QUIET, 0.8 * shown))

    def _sm(self, world: World, beat: float, shown: float) -> None:
        low, high = min(t.y for t in self.trains) - 1.6, max(t.y for t in self.trains) + 1.6
        world.add(Boxes.of([(SM[0], low, 0.0)], (SM[1] - SM[0], high - low, SM[2] * shown), mix(PLATE, STEEL, 0.7), 0.0, 0.7))
        ys = np.array([train.y for train in self.trains])
        busy = np.array([0.0 < t.passed(beat, self.start) < 1.0 or self.front(t, beat) > GATE for t in self.trains], float)
        origin = np.column_stack([np.full(len(ys), SM[0] - 0.12), ys - WIDE / 2, np.full(len(ys), 0.1)])
        colour = np.array(STEEL) + (np.array(COMPUTE) - np.array(STEEL)) * busy[:, None]
        world.add(Boxes.of(origin, (0.12, WIDE, TALL * shown), colour, 0.75 * busy, 0.6))
