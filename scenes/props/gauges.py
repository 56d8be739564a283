"""Dashed lines of the roofline hall: what is left above a tower, and the rate of a vendor's library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from measure.dataset import Reading
from scenes.props.roofline import HALF_WIDTH, Chart, Tower
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
class Line:
    """A vendor library's rate as a dashed line over a tower, in the tower's own plane: never a tower of ours.

    `rate` is read when it is shown; None draws nothing.
    """

    chart: Chart
    rate: Callable[[], Reading | None]
    tower: Tower
    shown: Callable[[float], float]

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        rate = self.rate() if shown > 0.01 else None
        if rate is None:
            return
        height = self.tower.lens(self.chart.z(rate.quantity.value), beat)
        lot = self.tower.lot
        xs = np.arange(HALF_WIDTH, lot.x - 1.1, -0.4)
        xs = xs[xs > HALF_WIDTH - (HALF_WIDTH - lot.x + 1.1) * shown]
        a = np.column_stack([xs, np.full(len(xs), lot.y), np.full(len(xs), height)])
        world.add(Ribbons.of(a, a + np.array([0.24, 0.0, 0.0]), 0.06, TEXT, 0.95, 0.1))
