"""Bytes as piles of slabs: as high as the bytes that a rung moved for the same work, on one scale; an outline where unknown.

Before a pile may lie a second, bright one on the same scale: the bytes that the level behind handed over for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Vector
from scenes.stage.keys import Track
from scenes.stage.palette import MEMORY, PLATE, QUIET, mix
from scenes.stage.world import Boxes, Ribbons, World

TALLEST = 5.4  # height of the pile of `most` bytes, world units
SLAB, SLIT, THIN = 0.28, 0.06, 0.01  # of a pile: from slab to slab, between two, and what is too thin for one
SIZE = (4.6, 3.2)
OUTLINE = 3.0  # height of the outline of a pile that nobody measured
COUNTED, COUNTED_HIGH = 16, 4.0  # slabs and height of the tallest pile, where loads are counted
FRONT, DEEP = 1.0, 1.7  # how far before a pile that of the level behind lies, and its depth


@dataclass(slots=True)
class Pile:
    """Stands with the middle of its base on (x, y, 0).  `count` reads its bytes, asked only from when it rises; None: unknown.

    `most` reads the bytes of the tallest pile, `behind` those that came from the level behind (None: nothing lies before it).
    """

    x: float
    y: float
    known: bool
    count: Callable[[], float]
    most: Callable[[], float]
    rise: Track
    light: Callable[[float], float]
    behind: Callable[[], float] | None = None
    share: float = 0.0  # of the tallest pile, where no bytes are known and all are drawn by counting loads; 0: nothing to count
    read: Track | None = None  # how high slabs have been read, from the ground up, of the tallest pile: at one speed in all

    def full(self) -> float:
        """Its height when it stands: proportional to its bytes."""
        if not self.known:
            return COUNTED_HIGH * self.share if self.share else OUTLINE
        return TALLEST * self.count() / self.most()

    def plate(self) -> float:
        """Height of what lies before it, on the pile's own scale."""
        return TALLEST * self.behind() / self.most() if self.behind is not None else 0.0

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
            if self.share:
                self._loads(world, (x, y), tall, beat)
            return
        if self.full() < TALLEST - SLAB:  # what the tallest moved and this one need not
            self._outline(world, (x, y), TALLEST, 0.3 * min(1.0, rise))
        low = np.arange(0.0, max(tall - THIN, 1e-6), SLAB)
        high = np.where(low + SLAB < tall - THIN, SLAB - SLIT, tall - low)  # the last slab ends at the very height
        light = self.light(beat)
        slab = self._lit(low, light, beat)
        origin = np.column_stack([np.full(len(low), x), np.full(len(low), y), low])
        size = np.column_stack([np.full(len(low), wide), np.full(len(low), deep), high])
        colour = np.array(PLATE) + (np.array(MEMORY) - np.array(PLATE)) * (0.26 + 0.44 * slab)[:, None]
        world.add(Boxes.of(origin, size, colour, 0.05 + 0.3 * slab, 0.9))
        if self.behind is not None:
            at, flat = (x, y - FRONT - DEEP, 0.0), (wide, DEEP, max(self.plate() * min(1.0, rise), 0.01))
            world.add(Boxes.of(at, flat, mix(PLATE, MEMORY, 0.5 + 0.5 * light), 0.1 + 0.4 * light, 0.9))

    def _lit(self, low: NDArray[np.float64], light: float, beat: float) -> NDArray[np.float64]:
        """Light of slabs with these lower edges, (slabs,): all alike, but bright where they have been read once that began."""
        done = self.read(beat) if self.read is not None else 0.0
        if done <= 0.0:
            return np.full(len(low), light)
        here = np.clip((TALLEST * done - low) / SLAB, 0.0, 1.0)
        dark = light + (min(light, 0.15) - light) * min(1.0, 12.0 * done)
        return np.asarray(dark + (1.0 - dark) * here)

    def _loads(self, world: World, corner: tuple[float, float], tall: float, beat: float) -> None:
        """Slabs as outlines; one after another is loaded, two a beat in every pile, and a low pile is done the sooner."""
        (x, y), (wide, deep), high = corner, SIZE, COUNTED_HIGH / COUNTED
        count = max(1, round(tall / high))
        a = np.array([(x, y, high * k) for k in range(1, count)]).reshape(-1, 3)
        world.add(Ribbons.of(a, a + np.array([wide, 0.0, 0.0]), 0.04, QUIET, 0.6))
        now = int(2.0 * beat + 0.02) % count
        low, edge = now * high, 0.3 * (1.0 - min(1.0, 2.0 * ((2.0 * beat + 0.02) % 1.0)))
        size = (wide - 0.2, deep - 0.2, max(min(high, tall - low) - 0.08, 0.01))
        world.add(Boxes.of([(x + 0.1, y + 0.1, low + 0.04 + edge)], size, mix(PLATE, MEMORY, 0.75), 0.3, 0.9, shadow=0.0))

    def _outline(self, world: World, corner: tuple[float, float], tall: float, shown: float) -> None:
        (x, y), (wide, deep) = corner, SIZE
        foot = np.array([(x, y, 0.02), (x + wide, y, 0.02), (x + wide, y + deep, 0.02), (x, y + deep, 0.02)])
        lid = foot + np.array([0.0, 0.0, tall])
        a = np.concatenate([foot, lid, foot])
        b = np.concatenate([np.roll(foot, -1, 0), np.roll(lid, -1, 0), lid])
        world.add(Ribbons.of(a, b, 0.05, QUIET, shown))
