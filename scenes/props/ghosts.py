"""Hollow cubes that rise in the roofline hall until the roof stops them: that there is a roof, before any kernel meets it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scenes.props.roofline import CUBE, FLOOR, HALF_DEPTH, Chart
from scenes.stage.keys import ramp
from scenes.stage.palette import COMPUTE, MEMORY, TEXT, Colour, mix
from scenes.stage.world import Boxes, Ribbons, World

RISE = 1.5  # beats from the floor to the roof
RAIL = 0.10  # how far the slope's and the beam's own thickness reaches down
RECOIL = 0.30  # how far it is thrown back from the roof, world units


@dataclass(frozen=True, slots=True)
class Ghost:
    """What rises at `mark` FLOP/B, meets the roof on beat `hit` and is gone at `leaves`."""

    mark: float
    hit: float
    leaves: float


@dataclass(slots=True)
class Ghosts:
    """All of them.  Each is stopped by the lower of the two roofs at its intensity, which shines where it is met."""

    chart: Chart
    ghosts: Sequence[Ghost]

    def base(self, ghost: Ghost, beat: float) -> float:
        """Height of a ghost's lower face at a beat: up ever faster, stopped on its beat, then a short way back."""
        roof = self.chart.z(self.chart.limit(ghost.mark))
        stop, late = roof - RAIL - CUBE, 3.0 * (beat - ghost.hit)
        if late < 0.0:
            return FLOOR + (stop - FLOOR) * min(1.0, max(0.0, 1.0 + late / 3.0 / RISE)) ** 2
        return max(FLOOR, stop - RECOIL * late * math.exp(1.0 - late))

    def draw(self, world: World, beat: float) -> None:
        for ghost in self.ghosts:
            shown = ramp(beat, ghost.hit - RISE, 0.4) * (1.0 - ramp(beat, ghost.leaves - 0.75, 0.75))
            if shown <= 0.004:
                continue
            x, z = self.chart.x(ghost.mark), self.base(ghost, beat)
            corner = (x - CUBE / 2, -CUBE / 2, z)
            world.add(Boxes.of(corner, (CUBE, CUBE, CUBE), mix(self.colour(ghost), TEXT, 0.5), 0.45, 1.0, alpha=0.85 * shown))
            marks = np.arange(FLOOR, max(z, FLOOR + 0.01), 0.34)  # its way up, dashed
            a = np.column_stack([np.full(len(marks), x), np.zeros(len(marks)), marks])
            b = a + np.array([0.0, 0.0, 0.17])
            b[:, 2] = np.minimum(b[:, 2], max(z, FLOOR + 0.01))
            world.add(Ribbons.of(a, b, 0.04, TEXT, 0.5 * shown))
            self._met(world, ghost, beat - ghost.hit, shown)

    def colour(self, ghost: Ghost) -> Colour:
        """Of the roof that stops it."""
        return COMPUTE if ghost.mark >= self.chart.ridge else MEMORY

    def _met(self, world: World, ghost: Ghost, late: float, shown: float) -> None:
        """A bar across the roof where it was met, wide at first."""
        if late < 0.0:
            return
        x, z = self.chart.x(ghost.mark), self.chart.z(self.chart.limit(ghost.mark)) + 0.02
        width, alpha = 0.06 + 0.20 * math.exp(-2.5 * late), (0.35 + 0.65 * math.exp(-1.2 * late)) * shown
        a, b = (x, -HALF_DEPTH, z), (x, HALF_DEPTH, z)
        world.add(Ribbons.of([a], [b], width, mix(self.colour(ghost), TEXT, 0.35), alpha, 0.6))


@dataclass(frozen=True, slots=True)
class Shine:
    """A light that runs up the slope from beat `start` on, over `beats` beats, from a share of its way on."""

    chart: Chart
    start: float
    beats: float
    first: float = 0.2

    def draw(self, world: World, beat: float) -> None:
        u = (beat - self.start) / self.beats
        if not 0.0 <= u <= 1.0:
            return
        shares = np.clip(self.first + (1.0 - self.first) * u - 0.012 * np.arange(10), 0.0, 1.0)  # a head and its trail
        marks = np.array([self.chart.along_the_slope(float(share)) for share in shares])
        a = np.column_stack([marks[:, 0], np.full(len(marks), -HALF_DEPTH), marks[:, 1] + 0.02])
        fade = np.linspace(1.0, 0.0, len(marks)) ** 1.5 * min(1.0, 4.0 * u, 8.0 * (1.0 - u))
        world.add(Ribbons.of(a, a + np.array([0.0, 2 * HALF_DEPTH, 0.0]), 0.10, mix(MEMORY, TEXT, 0.6), 0.8 * fade, 0.6))
