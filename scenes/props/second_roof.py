"""A second, higher beam over the roofline hall: the roof of other math units, on the same scale of rates and of bytes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from scenes.props.axes import edge
from scenes.props.framing import View
from scenes.props.roofline import BACK, FLOOR, HALF_DEPTH, HALF_WIDTH, RAIL_END, Chart, decades
from scenes.props.signs import Signs
from scenes.stage.keys import Track
from scenes.stage.overlay import Text, Value
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, STEEL, TEXT, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, SMALL
from scenes.stage.world import Boxes, Ribbons, World

BESIDE = HALF_WIDTH + 3.3  # x of a tower whose intensity is not known
LONG = 3.6  # of the beam beyond its ridge, world units


@dataclass(slots=True)
class SecondRoof:
    """`peak` in TFLOP/s.  `slope` 0..1 runs the memory slope on from the first ridge to this one, `beam` 0..1 builds it."""

    chart: Chart
    peak: float
    slope: Track
    beam: Track

    @property
    def ridge(self) -> float:
        """x at which the beam begins: over its own ridge; over the towers where no intensity is known."""
        return self.chart.x(self.peak / self.chart.bandwidth) if self.chart.placed else BESIDE - 1.5

    @property
    def end(self) -> float:
        """x at which board and rails end."""
        return self.ridge + LONG + 0.6

    @property
    def height(self) -> float:
        return self.chart.z(self.peak)

    def draw(self, world: World, beat: float) -> None:
        left = HALF_WIDTH + 1.42  # the hall's own board ends there
        world.add(Boxes.of((left, -4.4, 0.0), (max(self.end - left, 1.0), 8.2, FLOOR), PLATE, edge=0.9))
        if self.chart.placed:
            self._slope(world, self.slope(beat))
        self._beam(world, self.beam(beat))

    def names(self, shown: Callable[[float], float], first: str, second: str, azimuth: float) -> Signs:
        """What is computed under each beam, in letters that stand on it."""
        chart, style = self.chart, CODE.coloured(mix(COMPUTE, TEXT, 0.4))
        places = (chart.x(chart.ridge) if chart.placed else 0.4, chart.z(chart.peak)), (self.ridge, self.height)
        planes = [
            TextPlane.standing(words, style, (x + 0.7, -HALF_DEPTH, z + 0.3), 0.55, azimuth)
            for words, (x, z) in zip((first, second), places, strict=True)
        ]
        return Signs([(planes[0], shown), (planes[1], lambda beat: shown(beat) * self.beam(beat))])

    def decades(self) -> list[float]:
        """Rates in TFLOP/s of the rails along the back."""
        return decades(self.chart.low_z, self.peak * 1.01)

    def numerals(self, shown: Value, view: View) -> list[Text]:
        """The rates where their rails leave the frame, clear of beams and towers; they yield to HUD and lyric."""
        heights = [self.chart.z(rate) for rate in self.decades()]
        places = [partial(edge, view, partial(_at, z)) for z in heights]
        words = [f"{rate:g} TFLOP/s" for rate in self.decades()]
        texts = [Text(word, SMALL, 0, 12, "right", shown, at, "axis", True) for word, at in zip(words, places, strict=True)]
        return [*texts, Text("log scale", SMALL, 0, 52, "right", shown, places[min(1, len(places) - 1)], "axis", True)]

    def _slope(self, world: World, built: float) -> None:
        if built <= 0.0:
            return
        chart = self.chart
        low = np.array([chart.x(chart.ridge), chart.z(chart.peak)])
        high = np.array([self.ridge, self.height])
        count = max(2, math.ceil(built * 14))
        marks = np.linspace(0.0, built, count + 1)[:, None] * (high - low) + low
        # Brightest in the plane of its tower, as the hall's own roof is: the rails lie before and behind it.
        for y, width, alpha, glow in ((-HALF_DEPTH, 0.05, 0.25, 0.2), (0.0, 0.10, 1.0, 0.85), (HALF_DEPTH, 0.05, 0.25, 0.2)):
            points = np.column_stack([marks[:, 0], np.full(count + 1, y), marks[:, 1]])
            world.add(Ribbons.of(points[:-1], points[1:], width, MEMORY, alpha, glow))
        across = marks[1::2]
        a = np.column_stack([across[:, 0], np.full(len(across), -HALF_DEPTH), across[:, 1]])
        world.add(Ribbons.of(a, a + np.array([0.0, 2 * HALF_DEPTH, 0.0]), 0.03, MEMORY, 0.3, 0.08))

    def _beam(self, world: World, built: float) -> None:
        if built <= 0.01:
            return
        z, x0 = self.height, self.ridge
        long = LONG * built
        rails = [(x0, y - 0.14, z - 0.14) for y in (-HALF_DEPTH, HALF_DEPTH)]
        world.add(Boxes.of(rails, (long, 0.28, 0.28), COMPUTE, 0.85, 0.8))
        rungs = [(x0 + 0.1 + 0.8 * k, -HALF_DEPTH + 0.15, z - 0.05) for k in range(int(long / 0.8) + 1)]
        world.add(Boxes.of(rungs, (0.09, 2 * HALF_DEPTH - 0.3, 0.1), COMPUTE, 0.45, 0.8))
        posts = [(x - 0.05, y - 0.05, FLOOR) for x in (x0, x0 + long - 0.06) for y in (-HALF_DEPTH, HALF_DEPTH)]
        world.add(Boxes.of(posts, (0.1, 0.1, max(z - FLOOR - 0.14, 0.1)), mix(STEEL, TEXT, 0.1), edge=0.9))
        for rate in self.decades():
            inside = rate <= self.chart.high_z  # the hall has a rail of its own, that ends with it
            steps = np.linspace(RAIL_END if inside else -HALF_WIDTH, self.end, 13)
            a = np.column_stack([steps, np.full(13, BACK), np.full(13, self.chart.z(rate))])
            world.add(Ribbons.of(a[:-1], a[1:], 0.022, mix(STEEL, TEXT, 0.35), 0.3 * built))


def _at(z: float, beat: float) -> float:
    """The height of a rail, at any beat."""
    return z
