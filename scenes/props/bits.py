"""The bits of one weight as a row of cubes: each fold lays one half of them into the other; then its group and their scale.

A group is drawn whole and at one size: 128 weights of as many bits as are left, and the 16 bits of the scale that they share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.stage.keys import leave, ramp, smooth
from scenes.stage.palette import MEMORY, PLATE, TEXT, mix
from scenes.stage.world import Boxes, World

Floats = NDArray[np.float64]

WIDEST = 32  # bits of an fp32 weight
EDGE, PITCH = 0.52, 0.64  # of a cube, world units
FOLD = 0.75  # beats from the start of a fold to its landing
GROUP, SCALE_BITS = 128, 16  # weights that share a scale, an fp16 (kernels/gemv)
ACROSS = 8  # weights in a row of the group
GAP, DEEP = 0.3, 0.86  # between two weights; from row to row of the group, towards the observer


@dataclass(slots=True)
class Bits:
    """32 cubes along x, their middle on (0, y); on each of `folds` the upper half of those that are left lands in the lower.

    `shown` takes all away (1 stands, 0 is gone).  By `group_at` the weight's group stands around it, at `scale_at` the 16 white
    cubes of their scale land before it.
    """

    y: float
    folds: Sequence[float]
    shown: Callable[[float], float]
    group_at: float
    scale_at: float

    def left(self, beat: float) -> int:
        """How many bits there are at a beat: half of them from each landing on."""
        return WIDEST >> sum(beat >= fold for fold in self.folds)

    @property
    def last(self) -> int:
        """Bits of a weight of the group."""
        return WIDEST >> len(self.folds)

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

    def group(self) -> tuple[Floats, Floats]:
        """Middles of the bases of the group's bits (128 x bits, 3), those of the weight that is there already left out; when
        each comes, 0..1: from that weight outwards."""
        bits, wide = self.last, self.last * PITCH + GAP
        weight, bit = (axis.ravel() for axis in np.indices((GROUP, bits)))
        column, row = weight % ACROSS, weight // ACROSS
        x = (column - (ACROSS - 1) / 2 + 0.5) * wide + (bit - (bits - 1) / 2) * PITCH
        at = np.column_stack([x, self.y - DEEP * row, np.zeros(len(x))])
        own = (column == (ACROSS - 1) // 2) & (row == 0)
        far = np.hypot((column - (ACROSS - 1) // 2) * wide, DEEP * row)
        return at[~own], (far / far.max())[~own]

    def scale(self) -> Floats:
        """Middles of the bases of the scale's bits, (16, 3): a row of their own before the group, at the group's pitch."""
        x = (np.arange(SCALE_BITS) - (SCALE_BITS - 1) / 2) * PITCH
        return np.column_stack([x, np.full(SCALE_BITS, self.y - DEEP * (GROUP // ACROSS + 0.7)), np.zeros(SCALE_BITS)])

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        if shown <= 0.01:
            return
        base, size = self.places(beat)
        there = EDGE * size * shown > 0.02
        self._cubes(world, base[there], (EDGE * size * shown)[there], np.arange(WIDEST)[there])
        spread = beat - self.group_at + 1.6
        if spread > 0.0:
            at, comes = self.group()
            u = np.clip((spread - 1.1 * comes) / 0.5, 0.0, 1.0)
            some = u > 0.02
            self._cubes(world, at[some], (EDGE * shown * u)[some], np.arange(len(at))[some])
        down = ramp(beat, self.scale_at - 0.6, 0.6, leave)
        if beat > self.scale_at - 0.6:
            edge = EDGE * shown * min(1.0, 3.0 * down + 0.2)
            at = self.scale() + np.array([-edge / 2, -edge / 2, 3.0 * (1.0 - down)])
            world.add(Boxes.of(at, (edge, edge, edge), mix(PLATE, TEXT, 0.75), 0.2, 0.7))

    def _cubes(self, world: World, base: Floats, edge: Floats, index: NDArray[np.int64]) -> None:
        """Ones and zeros in turn: what they say does not matter here."""
        light = 0.3 + 0.5 * (index % 2)
        colour = np.array(PLATE) + (np.array(mix(MEMORY, TEXT, 0.08)) - np.array(PLATE)) * light[:, None]
        origin = base - np.column_stack([edge / 2, edge / 2, np.zeros(len(edge))])
        world.add(Boxes.of(origin, np.repeat(edge[:, None], 3, 1), colour, 0.1 + 0.35 * light, 0.8))
