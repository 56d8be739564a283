"""The roof in the planes of the towers: each is seen to stop under the line that is drawn where it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.props.framing import above_the_words
from scenes.props.roofline import CUBE, FLOOR, HALF_WIDTH, ROW, Hall
from scenes.stage.palette import COMPUTE, MEMORY
from scenes.stage.world import Ribbons, World

Floats = NDArray[np.float64]
Plane = tuple[float, float]  # x, y of what stands there
WIDTH = 0.10  # of the line over the newest tower
REACH = 0.75  # how far an older tower's line reaches to either side


@dataclass(slots=True)
class RoofLine:
    """The roof of a hall as a line through each of `planes`: whole in the first one, short over each of the others.

    The hall's rails lie in other planes, so that on the frame a tower may stand above one of them and still be under the roof;
    in its own plane it cannot. `shown` is 0..1. The line's lower edge is the limit half a cube further right: it is where the
    upper left corner of a cube meets the roof when the cube's middle is at the limit.
    """

    hall: Hall
    planes: Callable[[float], Sequence[Plane]]
    shown: Callable[[float], float]

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        if shown <= 0.01:
            return
        for k, plane in enumerate(self.planes(beat)):
            self._line(world, beat, plane, k == 0, shown)

    def heights(self, x: Floats, beat: float) -> Floats:
        """Lower edge of the line over places (N,) along the axis, as it stands at a beat."""
        chart, lens = self.hall.chart, self.hall.lens
        foot, ridge, peak = chart.x(chart.low_x), chart.x(chart.ridge), chart.z(chart.peak)
        share = np.clip((x + CUBE / 2 - foot) / (ridge - foot), 0.0, 1.0) if chart.placed else np.ones(len(x))
        return np.array([lens(float(z), beat) for z in FLOOR + share * (peak - FLOOR)])

    def _line(self, world: World, beat: float, plane: Plane, newest: bool, shown: float) -> None:
        hall, (x, y) = self.hall, plane
        chart, ridge = hall.chart, hall.chart.x(hall.chart.ridge)
        foot = chart.x(chart.low_x)
        low = foot if chart.placed else ridge - (ridge - ROW[0] + 0.7) * hall.across(beat)
        high = foot + (ridge - foot) * hall.slope(beat) if chart.placed else ridge
        high += (HALF_WIDTH + 0.6 - ridge) * hall.beam(beat)
        if not newest:
            low, high = max(low, x - REACH), min(high, x + REACH)
        if high - low < 0.05:
            return
        xs = np.union1d(np.linspace(low, high, 61), np.clip(ridge - CUBE / 2, low, high))
        width = WIDTH if newest else 0.6 * WIDTH
        points = np.column_stack([xs, np.full(len(xs), y), self.heights(xs, beat) + width / 2])
        out = points[:, 2] > FLOOR + width  # of the floor: zoomed, the slope's foot lies under it
        pieces = out[:-1] & out[1:]
        a, b = points[:-1][pieces], points[1:][pieces]
        if not len(a):
            return
        middle = (a + b) / 2
        tint = np.where((middle[:, :1] < ridge - CUBE / 2) & chart.placed, np.array(MEMORY), np.array(COMPUTE))
        alpha = (1.0 if newest else 0.6) * shown * above_the_words(hall.view, middle, beat)
        world.add(Ribbons.of(a, b, width, tint, alpha, 0.85 if newest else 0.4))
