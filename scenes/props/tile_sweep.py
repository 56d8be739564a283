"""The whole square in tiles: every other band of queries streams past its own SM at once, and each holds one tile at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.props.attention import BAND, CELLS, DEEP, EDGE, ROWS, SIDE, TILE, VALUES, Example, middle
from scenes.props.cube import Vector
from scenes.props.key_stream import STEPS
from scenes.stage.keys import leave, overshoot, ramp, smooth
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, mix
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]

FIRST = tuple(row for row in range(0, CELLS, ROWS) if row != BAND)  # of each band but the one that was followed
STEP, LATE, FLIGHT = 0.25, 0.08, 0.6  # beats of a tile, from band to band, of an output to DRAM
APART, BESIDE, VALUE = 1.6, 1.3, 0.26  # of the outputs in DRAM: from one to the next, room for the cube; edge of a value


@dataclass(slots=True)
class Sweep:
    """From `start` on; `goal` is where the followed band's output lies in DRAM, the others' lie in one line with it."""

    start: float
    goal: Vector
    example: Example

    def begins(self, band: int) -> float:
        """Beat of a band's first tile; `band` counts those of FIRST."""
        return self.start + LATE * band

    def tile(self, band: int, beat: float) -> tuple[int, float]:
        """Which tile of keys a band is at, and how much of it stands, 0..1: none before its first and after its last."""
        since = (beat - self.begins(band)) / STEP
        step = int(np.floor(since))
        if not 0 <= step < STEPS:
            return 0, 0.0
        return step, ramp(since, step, 0.3, overshoot) * (1.0 - ramp(since, step + 0.7, 0.3, leave))

    def written(self, band: int, beat: float) -> float:
        """How far a band's output is on its way to DRAM, 0..1: after its last tile."""
        return ramp(beat, self.begins(band) + STEPS * STEP, FLIGHT, smooth)

    def draw(self, world: World, beat: float) -> None:
        if beat < self.start - 0.5:
            return
        self._bands(world, beat)
        weights = self.example.weights()
        for band, first in enumerate(FIRST):
            step, stands = self.tile(band, beat)
            if stands > 0.02:
                part = weights[first : first + ROWS, step * TILE : (step + 1) * TILE].ravel()
                at = np.array([middle(first + r, step * TILE + c) for r in range(ROWS) for c in range(TILE)])
                edge = np.array([EDGE, DEEP + 0.3, EDGE]) * stands
                colour = np.array(PLATE) + (np.array(COMPUTE) - np.array(PLATE)) * (0.5 + 0.4 * part)[:, None]
                world.add(Boxes.of(at - edge / 2, edge, colour, 0.14 + 0.3 * part * stands, 0.8, 0.3))
            self._output(world, band, self.written(band, beat))

    def _bands(self, world: World, beat: float) -> None:
        """A thin line between each two bands."""
        shown = 0.45 * ramp(beat, self.start - 0.5, 0.5)
        a = np.array([middle(row - 0.5, -0.5) for row in range(ROWS, CELLS, ROWS)])
        world.add(Ribbons.of(a, a + np.array([SIDE, 0.0, 0.0]), 0.035, QUIET, shown))

    def _output(self, world: World, band: int, flown: float) -> None:
        """Amber as it leaves the SM, cyan in DRAM; by way of grey, as what lies between the two is green."""
        if flown <= 0.01:
            return
        x, y, z = self.goal
        here = np.array(middle(FIRST[band] + ROWS / 2 - 0.5, CELLS + 1))
        behind = sum(first > BAND for first in FIRST[: band + 1])
        there = np.array([x + APART * (FIRST[band] - BAND) / ROWS + BESIDE * behind, y, z])
        at = here + (there - here) * flown + (0.0, 0.0, 1.5 * np.sin(np.pi * flown))
        down, along = (1.3 * VALUE * (np.arange(n) - (n - 1) / 2) for n in (ROWS, VALUES))
        flat = np.array([(at[0] + c, at[1] - r, at[2]) for r in down for c in along])
        warm, data = mix(PLATE, COMPUTE, 0.72), mix(PLATE, MEMORY, 0.8)
        colour = mix(warm, STEEL, 2.0 * flown) if flown < 0.5 else mix(STEEL, data, 2.0 * flown - 1.0)
        world.add(Boxes.of(flat - (VALUE / 2, VALUE / 2, 0.0), (VALUE, VALUE, 0.2), colour, 0.22, 0.8, 0.3))
