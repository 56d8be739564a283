"""Bytes as piles of slabs: as high as the bytes that a rung moved for the same work, on one scale; an outline where unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scenes.props.cube import Vector
from scenes.stage.keys import Track
from scenes.stage.palette import MEMORY, PLATE, QUIET, mix
from scenes.stage.world import Boxes, Ribbons, World

TALLEST = 5.4  # height of the pile of `most` bytes, world units
SLAB, SLIT = 0.28, 0.06  # of a pile: from slab to slab, and between two
SIZE = (4.6, 3.2)
OUTLINE = 3.0  # height of the outline of a pile that nobody measured


@dataclass(slots=True)
class Pile:
    """Stands with the middle of its base on (x, y, 0).  `count` reads its bytes, asked only from when it rises; None: unknown.

    `most` reads the bytes of the tallest pile.
    """

    x: float
    y: float
    known: bool
    count: Callable[[], float]
    most: Callable[[], float]
    rise: Track
    light: Callable[[float], float]

    def full(self) -> float:
        """Its height when it stands: proportional to its bytes."""
        return TALLEST * self.count() / self.most() if self.known else OUTLINE

    def top(self, beat: float) -> Vector:
        """Middle of its upper face at a beat."""
        rise = self.rise(beat)
        return self.x, self.y, self.full() * rise if rise > 0.0 else 0.0

    def draw(self, world: World, beat: float) -> None:
        rise = self.rise(beat)
        if rise <= 0.01:
            return
        wide, deep = SIZE
        x, y, tall = self.x - wide / 2, self.y - deep / 2, self.full() * rise
        if not self.known:
            self._outline(world, (x, y), tall, 0.8 * min(1.0, rise))
            return
        if self.full() < TALLEST - SLAB:  # what the tallest moved and this one need not
            self._outline(world, (x, y), TALLEST, 0.3 * min(1.0, rise))
        low = np.arange(0.0, tall - 1e-6, SLAB)
        high = np.minimum(SLAB, tall - low) - SLIT * (low + SLAB < tall)  # the last slab ends at the very height
        light = self.light(beat)
        origin = np.column_stack([np.full(len(low), x), np.full(len(low), y), low])
        size = np.column_stack([np.full(len(low), wide), np.full(len(low), deep), np.maximum(high, 0.01)])
        world.add(Boxes.of(origin, size, mix(PLATE, MEMORY, 0.26 + 0.44 * light), 0.05 + 0.3 * light, 0.9))

    def _outline(self, world: World, corner: tuple[float, float], tall: float, shown: float) -> None:
        (x, y), (wide, deep) = corner, SIZE
        foot = np.array([(x, y, 0.02), (x + wide, y, 0.02), (x + wide, y + deep, 0.02), (x, y + deep, 0.02)])
        lid = foot + np.array([0.0, 0.0, tall])
        a = np.concatenate([foot, lid, foot])
        b = np.concatenate([np.roll(foot, -1, 0), np.roll(lid, -1, 0), lid])
        world.add(Ribbons.of(a, b, 0.05, QUIET, shown))
