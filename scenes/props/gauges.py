"""Dashed lines of the roofline hall: what is left above a tower, how far the beam is, and the rate of a vendor's library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scenes.props.cube import Vector
from scenes.props.roofline import CUBE, Chart, Tower
from scenes.stage.palette import TEXT
from scenes.stage.world import Ribbons, World


@dataclass(slots=True)
class Headroom:
    """A dashed line from a tower's top to the roof above it (unzoomed, read when it is shown): what is left to gain."""

    tower: Tower
    roof: Callable[[], float]
    shown: Callable[[float], float]

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        if shown <= 0.01:
            return
        low, roof, lot = self.tower.summit(beat) + 0.05, self.tower.lens(self.roof(), beat), self.tower.lot
        if roof - low < 0.12:
            return
        count = max(2, int((roof - low) / 0.16))
        z = np.linspace(low, roof, count + 1)[:-1]
        a = np.column_stack([np.full(count, lot.x), np.full(count, lot.y), z])
        b = a + np.array([0.0, 0.0, (roof - low) / count * 0.55])
        world.add(Ribbons.of(a, b, 0.045, TEXT, 0.75 * shown, 0.05))


@dataclass(slots=True)
class Gap:
    """How far a tower is under the beam, as one vertical measure where the beam begins: dashes lead from its top to there.

    `drawn` goes from 0 to 1: the first half leads there, the second goes up; `shown` is its opacity.  A tower under the beam is
    measured over itself, one without a rate not at all.
    """

    chart: Chart
    tower: Tower
    drawn: Callable[[float], float]
    shown: Callable[[float], float]

    def there(self, beat: float) -> float:
        """1 where there is a gap to measure, else 0."""
        low, high = self.ends(beat)
        return 0.0 if self.tower.lot.hollow or high - low < 0.5 else 1.0

    @property
    def x(self) -> float:
        """Where it is measured."""
        return max(self.tower.lot.x, self.chart.x(self.chart.ridge)) if self.chart.placed else self.tower.lot.x

    def ends(self, beat: float) -> tuple[float, float]:
        """Heights of the tower's rate and of the beam's lower side."""
        return self.tower.top(beat), self.tower.lens(self.chart.z(self.chart.peak), beat) - 0.12

    def middle(self, beat: float) -> Vector:
        """The middle of the vertical part: where it is named."""
        return self.x, self.tower.lot.y, sum(self.ends(beat)) / 2

    def draw(self, world: World, beat: float) -> None:
        drawn, shown = self.drawn(beat), self.shown(beat)
        if drawn <= 0.0 or shown <= 0.01 or not self.there(beat):
            return
        lot, (low, high) = self.tower.lot, self.ends(beat)
        start = min(lot.x + CUBE / 2 + 0.12, self.x)
        xs = np.arange(start, start + (self.x - start) * min(1.0, 2.0 * drawn), 0.3)
        a = np.column_stack([xs, np.full(len(xs), lot.y), np.full(len(xs), low)])
        if len(a):
            world.add(Ribbons.of(a, a + np.array([0.14, 0.0, 0.0]), 0.04, TEXT, 0.6 * shown, 0.05))
        top = low + (high - low) * max(0.0, 2.0 * drawn - 1.0)
        if top > low + 0.02:
            foot, head = (self.x, lot.y, low), (self.x, lot.y, top)
            bars = [foot, *((self.x - 0.2, lot.y, z) for z in (low, top))]
            tips = [head, *((self.x + 0.2, lot.y, z) for z in (low, top))]
            world.add(Ribbons.of(bars, tips, 0.06, TEXT, 0.95 * shown, 0.1))
