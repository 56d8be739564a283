"""What a roofline is, told once: memory caps what rises on the left, math what rises on the right, the ridge lies between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from measure.dataset import Dataset, Reading
from scenes.props.framing import View
from scenes.props.gauges import Gap
from scenes.props.ghosts import Ghost, Ghosts, Shine
from scenes.props.roofline import FLOOR, HALF_DEPTH, Chart, Tower
from scenes.props.rungs import LEFT, LEVEL_NAMES, bandwidth
from scenes.stage.claims import Figure, figure
from scenes.stage.keys import Track, window
from scenes.stage.layout import Label, Labels
from scenes.stage.overlay import Item, Text
from scenes.stage.palette import COMPUTE, MEMORY, QUIET, Colour
from scenes.stage.type import FACT, SMALL, Align, Style

UNDER_SLOPE, UNDER_BEAM = 0.5, 1.1  # where the first two cubes rise: shares of the way from the slope's foot to the ridge
RISING = (0.18, 0.34, 0.67, 0.84)  # of those that follow


def words(
    data: Dataset,
    chart: Chart,
    roofs: tuple[Reading, Reading],
    at: Callable[[int, float], float],
    leave: float,
    view: View,
    beats: float,
) -> list[Item]:
    """Names and figures of both roofs on "memory" and "math", of the ridge on "height"; then which way is what.

    At most two figures stand at a time. `roofs` are the readings of memory and of math; `leave` is the moment by which all go.
    """
    memory, math = roofs
    ridge, level = data.ridge(chart.level), LEVEL_NAMES.get(chart.level, chart.level)
    x, z = chart.along_the_slope(UNDER_SLOPE)
    labels = [_label(f"memory, {level}", bandwidth(memory), window(at(3, 1), at(4, 3)), (x, HALF_DEPTH, z), MEMORY)]
    x, z = chart.along_the_slope(1.0)
    labels.append(_label("math", figure(math, 1), window(at(3, 3), at(5, 1)), (x + 1.6, -HALF_DEPTH, z), COMPUTE))
    if ridge is not None:
        shown = figure(ridge, 2 if ridge.quantity.value < 10 else 1)
        labels.append(_label("ridge: both roofs meet", shown, window(at(4, 3), leave), (x, -HALF_DEPTH, FLOOR), QUIET))
    ways = window(at(4, 4), leave)
    return [
        Labels(labels, view, beats, partial(chart.boxes, view)),
        Text("right = fewer bytes for the same math", FACT, LEFT, 262, opacity=ways),
        Text("up = faster, as far as the roof", FACT, LEFT, 324, opacity=ways),
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


def room(chart: Chart, tower: Tower, at: Callable[[int, float], float], leave: float) -> tuple[Gap, Text]:
    """On "speed has a roof": how far the first rung's tower is under the beam, and what that is."""
    gap = Gap(chart, tower, Track(0.0).to(1.0, at(7, 3), 3.0), window(at(6, 4), leave))
    seen = window(at(7, 3) - 0.6, leave)
    # Without a slope the facts stand to the left of the measure, with one the rates' numerals to its right.
    beside: tuple[int, Align] = (-24, "right") if chart.placed else (24, "left")
    return gap, Text("room to climb", FACT, beside[0], 10, beside[1], lambda beat: seen(beat) * gap.there(beat), gap.middle)


def _label(name: str, shown: Figure, seen: Callable[[float], float], point: Sequence[float], colour: Colour) -> Label:
    lines: list[tuple[str | Figure, Style]] = [(f"{name} · {shown.source}", SMALL), (shown, FACT.coloured(colour))]
    return Label(lines, point, seen, colour)
