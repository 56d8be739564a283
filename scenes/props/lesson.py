"""What a roofline is, told once: memory caps what rises on the left, math what rises on the right, the ridge lies between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from measure.dataset import Dataset, Reading
from scenes.props.framing import View, above_the_words
from scenes.props.gauges import Gap
from scenes.props.ghosts import Ghost, Ghosts, Shine
from scenes.props.hall_light import brighten
from scenes.props.roofline import FLOOR, HALF_DEPTH, HALF_WIDTH, Chart, Tower, light_the_hall
from scenes.props.rungs import LEFT, LEVEL_NAMES, bandwidth
from scenes.stage.claims import Figure, figure
from scenes.stage.keys import Track, ramp, smooth, window
from scenes.stage.layout import Label, Labels
from scenes.stage.overlay import Item, Text
from scenes.stage.palette import COMPUTE, MEMORY, QUIET, TEXT, Colour, mix
from scenes.stage.type import FACT, SMALL, Align, Style
from scenes.stage.world import Ground, Ribbons, World

LAST = HALF_WIDTH + 0.6  # x of the beam's end
CURTAIN, BANDS = 60, 7  # strips of light along the roof, bands from the floor up
UNDER_SLOPE, UNDER_BEAM = 0.5, 1.1  # where the first two cubes rise: shares of the way from the slope's foot to the ridge
RISING = (0.25, 0.75, 1.05, 1.16)  # of those that follow: two under each roof


@dataclass(frozen=True, slots=True)
class Dawn:
    """The drop: the roof is drawn in light from the cube on, and the space under it, all that can be reached, shines.

    A front runs from the slope's foot to the beam's end between the first two of `moments`; from the third to the last its
    light goes.  `view` is where words are kept clear.
    """

    chart: Chart
    moments: tuple[float, float, float, float]
    view: View

    def drawn(self, beat: float) -> float:
        """How much of the roof is drawn, 0..1 along the hall."""
        start, end, _, _ = self.moments
        return ramp(beat, start, end - start, smooth)

    def shine(self, beat: float) -> float:
        """How bright it is, 0..1: one rise, one slow fall, never a flash."""
        start, end, holds, gone = self.moments
        return ramp(beat, start, 0.6 * (end - start)) * (1.0 - ramp(beat, holds, gone - holds))

    def slope(self, beat: float) -> float:
        """How much of the slope is drawn, 0..1."""
        return min(1.0, self.drawn(beat) * (HALF_WIDTH + LAST) / (self.chart.x(self.chart.ridge) + HALF_WIDTH))

    def beam(self, beat: float) -> float:
        """How much of the beam is drawn, 0..1."""
        ridge = self.chart.x(self.chart.ridge)
        return min(1.0, max(0.0, (self.drawn(beat) * (HALF_WIDTH + LAST) - ridge - HALF_WIDTH) / (LAST - ridge)))

    def light(self, world: World, beat: float) -> None:
        """The hall, and what the drop adds to it."""
        light_the_hall(world, beat)
        shine = self.shine(beat)
        brighten(world, 0.9 * shine, 0.9 * shine, (MEMORY, 0.32 * shine))
        ground = world.ground or Ground()
        world.ground = replace(ground, color=mix(ground.color, MEMORY, 0.09 * shine))

    def draw(self, world: World, beat: float) -> None:
        shine = self.shine(beat)
        if shine <= 0.004:
            return
        chart, front = self.chart, -HALF_WIDTH + (HALF_WIDTH + LAST) * self.drawn(beat)
        step = (HALF_WIDTH + LAST) / CURTAIN
        xs = -HALF_WIDTH + step * (np.arange(CURTAIN) + 0.5)
        xs = xs[xs < front]
        if not len(xs):
            return
        ridge = chart.x(chart.ridge)
        roof = np.array([chart.along_the_slope(min(1.0, (x + HALF_WIDTH) / (ridge + HALF_WIDTH)))[1] for x in xs.tolist()])
        tint = np.where(xs[:, None] < ridge, np.array(MEMORY), np.array(COMPUTE))
        near = np.exp((xs - front) / 2.0) * (1.0 - self.drawn(beat))  # brightest where it is just being drawn
        # A curtain from the floor to the roof, in bands that are brighter higher up.
        for k in range(BANDS):
            low, high = (FLOOR + (roof - FLOOR) * share for share in (k / BANDS, (k + 1) / BANDS))
            a, b = (np.column_stack([xs, np.full(len(xs), HALF_DEPTH), z]) for z in (low, high))
            alpha = shine * (0.22 + 0.58 * ((k + 1) / BANDS) ** 1.5)
            world.add(Ribbons.of(a, b, 1.06 * step, tint, alpha * above_the_words(self.view, (a + b) / 2, beat), 0.5))
        # The roof itself, as a sheet from rail to rail.
        for y in np.linspace(-HALF_DEPTH, HALF_DEPTH, 5)[:-1] + HALF_DEPTH / 4:
            a = np.column_stack([xs - step / 2, np.full(len(xs), y), roof])
            b = np.column_stack([xs + step / 2, np.full(len(xs), y), np.append(roof[1:], roof[-1])])
            alpha = shine * (0.7 + 0.3 * near) * above_the_words(self.view, (a + b) / 2, beat)
            world.add(Ribbons.of(a, b, 0.3, tint, alpha, 0.9))
        # Its head, which the eye follows.
        left, right = ([(front, y, float(roof[-1]))] for y in (-HALF_DEPTH, HALF_DEPTH))
        world.add(Ribbons.of(left, right, 0.22, TEXT, 4.0 * self.drawn(beat) * (1.0 - self.drawn(beat)), 1.0))


def words(
    data: Dataset,
    chart: Chart,
    roofs: tuple[Reading, Reading],
    at: Callable[[int, float], float],
    leave: float,
    view: View,
    beats: float,
) -> list[Item]:
    """Which way is what as the roof stands; both roofs on "memory" and "math", the ridge on "height"; then who decides where.

    At most two figures stand at a time. `roofs` are the readings of memory and of math; `leave` is the moment by which all go.
    """
    memory, math = roofs
    ridge, level = data.ridge(chart.level), LEVEL_NAMES.get(chart.level, chart.level)
    x, z = chart.along_the_slope(UNDER_SLOPE)
    labels = [_label(f"the slope: memory, {level}", bandwidth(memory), window(at(3, 1), at(4, 3)), (x, HALF_DEPTH, z), MEMORY)]
    x, z = chart.along_the_slope(1.0)
    labels.append(_label("the beam: math", figure(math, 1), window(at(3, 3), at(5, 1)), (x + 1.6, -HALF_DEPTH, z), COMPUTE))
    if ridge is not None:
        shown = figure(ridge, 2 if ridge.quantity.value < 10 else 1)
        labels.append(_label("the ridge: both meet", shown, window(at(4, 3), at(5, 4)), (x, -HALF_DEPTH, FLOOR), QUIET))
    ways, left, right = window(at(2, 1.5), at(3, 1) - 0.25), window(at(5, 1), leave), window(at(5, 3), leave)
    return [
        Labels(labels, view, beats, partial(chart.boxes, view)),
        Text("to the right: more math for each byte", FACT, LEFT, 262, opacity=ways),
        Text("up: faster, as far as the roof", FACT, LEFT, 324, opacity=ways),
        Text("left of the ridge, memory decides", FACT.coloured(MEMORY), LEFT, 262, opacity=left),
        Text("right of it, math decides", FACT.coloured(COMPUTE), LEFT, 324, opacity=right),
    ]


def ghosts(chart: Chart, at: Callable[[int, float], float], leave: float) -> Ghosts:
    """On "memory" one rises under the slope, on "math" one under the beam; then one a beat, from left to right."""

    def ghost(share: float, hit: float) -> Ghost:
        return Ghost(chart.low_x * (chart.ridge / chart.low_x) ** share, hit, leave)

    first = [ghost(UNDER_SLOPE, at(3, 1)), ghost(UNDER_BEAM, at(3, 3))]
    return Ghosts(chart, [*first, *(ghost(share, at(5, 1) + k) for k, share in enumerate(RISING))])


def shine(chart: Chart, at: Callable[[int, float], float]) -> Shine:
    """On "roof" a light runs up the slope."""
    return Shine(chart, at(7, 3), 4.0)


def room(chart: Chart, tower: Tower, at: Callable[[int, float], float], leave: float) -> tuple[Gap, list[Text]]:
    """On "speed has a roof": how far the first rung's tower is under the beam, what that is, then what leads up there."""
    gap = Gap(chart, tower, Track(0.0).to(1.0, at(7, 3), 3.0), window(at(6, 4), leave))
    seen = window(at(7, 3) - 0.6, leave)
    # Without a slope the facts stand to the left of the measure, with one the rates' numerals to its right.
    beside: tuple[int, Align] = (-24, "right") if chart.placed else (24, "left")
    then = window(at(7, 4), leave)

    def leads(left: bool, beat: float) -> float:
        """Shown for a tower on that side of the ridge."""
        known = chart.placed and then(beat) > 0.0 and (tower.lot.x < chart.x(chart.ridge)) == left
        return then(beat) * gap.there(beat) if known else 0.0

    return gap, [
        Text("room to climb", FACT, beside[0], 10, beside[1], lambda beat: seen(beat) * gap.there(beat), gap.middle),
        Text("more math for each byte", SMALL, beside[0], 58, beside[1], partial(leads, True), gap.middle),
        Text("busier math units", SMALL, beside[0], 58, beside[1], partial(leads, False), gap.middle),
    ]


def _label(name: str, shown: Figure, seen: Callable[[float], float], point: Sequence[float], colour: Colour) -> Label:
    lines: list[tuple[str | Figure, Style]] = [(f"{name} · {shown.source}", SMALL), (shown, FACT.coloured(colour))]
    return Label(lines, point, seen, colour)
