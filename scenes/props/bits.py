"""The bits of one weight as a row of cubes: each fold lays one half of them into the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.stage.keys import overshoot, ramp, smooth
from scenes.stage.palette import MEMORY, PLATE, TEXT, mix
from scenes.stage.world import Boxes, World

Floats = NDArray[np.float64]

WIDEST = 32  # bits of an fp32 weight
EDGE, PITCH = 0.52, 0.64  # of a cube, world units
FOLD = 0.75  # beats from the start of a fold to its landing
SCALE_BITS = 16  # an fp16 scale


@dataclass(slots=True)
class Bits:
    """32 cubes along x, their middle on (0, y); on each of `folds` the upper half of those that are left lands in the lower.

    `shown` takes the row away (1 stands, 0 is gone); at `scale_at` a row of 16 white cubes comes beside what is left.
    """

    y: float
    folds: Sequence[float]
    shown: Callable[[float], float]
    scale_at: float

    def left(self, beat: float) -> int:
        """How many bits there are at a beat: half of them from each landing on."""
        return WIDEST >> sum(beat >= fold for fold in self.folds)

    def half_width(self, beat: float) -> float:
        """Half of the row's width; it closes up as a fold lands."""
        wide = float(WIDEST)
        for k, fold in enumerate(self.folds):
            wide += (WIDEST >> (k + 1)) * -ramp(beat, fold - FOLD, FOLD, smooth)
        return wide * PITCH / 2

    def places(self, beat: float) -> tuple[Floats, Floats]:
        """Middles of the cubes' bases (32, 3) and their size 0..1, (32,)."""
        index = np.arange(WIDEST, dtype=float)
        z, size = np.zeros(WIDEST), np.ones(WIDEST)
        for k, fold in enumerate(self.folds):
            keep = WIDEST >> (k + 1)
            over = (np.arange(WIDEST) >= keep) & (np.arange(WIDEST) < 2 * keep)
            u = ramp(beat, fold - FOLD, FOLD, smooth)
            index = np.where(over, index - keep * u, index)
            z = np.where(over, z + 2.2 * np.sin(np.pi * u), z)
            size = np.where(over, size * (1.0 - ramp(beat, fold - 0.12, 0.12)), size)
        x = (index + 0.5) * PITCH - self.half_width(beat)
        hit = sum(np.exp(-(beat - fold) / 0.25) for fold in self.folds if beat >= fold)
        return np.column_stack([x, np.full(WIDEST, self.y), z]), size * (1.0 + 0.14 * hit)

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        if shown <= 0.01:
            return
        base, size = self.places(beat)
        edge = EDGE * size * shown
        there = edge > 0.02
        origin = base[there] - np.column_stack([edge[there] / 2, edge[there] / 2, np.zeros(there.sum())])
        light = 0.3 + 0.5 * (np.arange(WIDEST)[there] % 2)  # ones and zeros in turn: what they say does not matter here
        colour = np.array(PLATE) + (np.array(mix(MEMORY, TEXT, 0.08)) - np.array(PLATE)) * light[:, None]
        world.add(Boxes.of(origin, np.repeat(edge[there][:, None], 3, 1), colour, 0.1 + 0.35 * light, 0.8))
        self._scale(world, beat, shown)

    def _scale(self, world: World, beat: float, shown: float) -> None:
        """16 small white cubes: what 128 weights share."""
        u = ramp(beat, self.scale_at - 0.5, 0.5, overshoot)
        if u <= 0.01:
            return
        x = self.half_width(beat) + 1.0 + PITCH * 0.5 * np.arange(SCALE_BITS)
        edge = EDGE * 0.5 * shown
        origin = np.column_stack([x, np.full(SCALE_BITS, self.y - edge / 2), np.full(SCALE_BITS, 3.0 * (1.0 - u))])
        world.add(Boxes.of(origin, (edge, edge, edge), mix(PLATE, TEXT, 0.75), 0.12, 0.7))
