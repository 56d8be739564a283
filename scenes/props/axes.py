"""The lettering of the roofline hall's axes: decades of intensity along the floor, rates where their rails leave the frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from scenes.props.cube import Vector
from scenes.props.framing import Lens, View
from scenes.props.roofline import BACK, FLOOR, HALF_DEPTH, HALF_WIDTH, TOWER, UNZOOMED, Box, Chart, Tower, decades, graduations
from scenes.stage.overlay import SAFE, Text, Value, clearance, value_at
from scenes.stage.type import SMALL, measure_text

FRONT = -3.55  # y of the board's front edge, where the intensities stand
BELOW = 34.0  # design pixels from the board's front edge down to the intensities
CAP = 18.0  # design pixels: half a numeral's height and a little air
WIDE = 270.0  # design pixels: of the longest numeral with its unit
LEVELS = {"load_path": "byte loaded", "l1": "L1 byte", "l2": "L2 byte", "dram": "DRAM byte"}
ABOVE = 836.0  # design pixels: baseline of intensities that stand in the hall, clear of the lyric
FAR = np.geomspace(4.0, 240.0, 161) - 2.0  # x along a rail, far beyond its end


def axes(
    chart: Chart,
    across: Value,
    up: Value,
    view: View,
    lens: Lens = UNZOOMED,
    towers: Callable[[], Iterable[Tower]] = tuple,
    standing: bool = False,
) -> list[Text]:
    """Numerals and names; `across` and `up` are the opacities of the two axes.  All yield to HUD, lyric and each other.

    The intensities lie along the board's front edge or, `standing`, in the hall at one height above the lyric, clear of towers.
    A rate stands at the frame's right edge, on the line of its rail, and goes where the beam or a tower comes under it.
    """
    # Its name comes first: a decade that would stand under it yields.
    items = [Text(axis_name(chart), SMALL, 0, BELOW, "right", across, partial(name_place, view), "axis", True)]
    for mark in decades(chart.low_x, chart.high_x):
        items.append(Text(f"{mark:g}", SMALL, 0, BELOW, "centre", across, (chart.x(mark), FRONT, FLOOR), "axis", True))
    if standing:
        items = in_the_hall(chart, across, view, towers)

    def height(rate: float, beat: float) -> float:
        return lens(chart.z(rate), beat)

    def seen(rate: float, which: int, beat: float) -> float:
        shown = value_at(up, beat) * graduations(chart, lens.magnify(beat))[which][1]
        shown *= min(1.0, max(0.0, (height(rate, beat) - FLOOR) / 0.3))
        if shown > 0.0:
            box = numeral(view, partial(height, rate), beat)
            shown *= off_the_beam(chart, view, lens, box, beat) * off_the_towers(towers(), view, box, beat)
        return shown

    for k, (rate, _) in enumerate(graduations(chart, 1.0)):
        at = partial(edge, view, partial(height, rate))
        items.append(Text(f"{rate:g} TFLOP/s", SMALL, 0, 12, "right", partial(seen, rate, k), at, "axis", True))
    # What kind of scale it is, under the highest rail that is numbered at the moment.
    tens, last = decades(chart.low_z, chart.high_z)[-1], graduations(chart, 1.0)[-1][0]

    def highest(beat: float) -> float:
        return height(last if graduations(chart, lens.magnify(beat))[-1][1] > 0.5 else tens, beat)

    def named(beat: float) -> float:
        """Gone where the numeral above it has gone."""
        shown = value_at(up, beat)
        if shown > 0.0:
            box = numeral(view, highest, beat)
            shown *= clearance(*box) * off_the_beam(chart, view, lens, box, beat) * off_the_towers(towers(), view, box, beat)
        return shown

    items.append(Text("log scale", SMALL, 0, 52, "right", named, partial(edge, view, highest), "axis", True))
    return items


def in_the_hall(chart: Chart, across: Value, view: View, towers: Callable[[], Iterable[Tower]]) -> list[Text]:
    """The intensities and their name above the lyric, in the plane of the towers; each goes where a tower stands behind it."""

    def clear(left: float, right: float, beat: float) -> float:
        return value_at(across, beat) * off_the_towers(towers(), view, (left, ABOVE - 2 * CAP, right, ABOVE), beat)

    def seen(x: float, beat: float) -> float:
        middle = float(view(beat, np.array([upright(view, x, beat)]))[0, 0])
        return clear(middle - 44.0, middle + 44.0, beat)

    marks = [chart.x(mark) for mark in decades(chart.low_x, chart.high_x)]
    items = [
        Text(f"{mark:g}", SMALL, 0, 0, "centre", partial(seen, x), partial(upright, view, x), "axis", True)
        for x, mark in zip(marks, decades(chart.low_x, chart.high_x), strict=True)
    ]
    left = SAFE[0]
    name = axis_name(chart)
    shown = partial(clear, left, left + measure_text(name, SMALL, 1.0)[0] + CAP)
    return [Text(name, SMALL, left, ABOVE, "left", shown, None, "axis", True), *items]


def axis_name(chart: Chart) -> str:
    """What is along the floor, with the level at which its bytes are counted."""
    return f"FLOP per {LEVELS.get(chart.level, 'byte')}"


def upright(view: View, x: float, beat: float) -> Vector:
    """The point over `x` of the floor that is seen `ABOVE` design pixels down the frame; on the floor where that is higher."""
    low, high = view(beat, np.array([(x, 0.0, FLOOR), (x, 0.0, FLOOR + 1.0)]))[:, 1]
    return x, 0.0, FLOOR + max(0.0, float((low - ABOVE) / max(low - high, 1.0)))


def numeral(view: View, height: Callable[[float], float], beat: float) -> Box:
    """The box of a rate's numeral and of the line under it, design pixels."""
    x, y, _ = view(beat, np.array([edge(view, height, beat)]))[0]
    return float(x) - WIDE, float(y) - CAP, float(x), float(y) + CAP


def off_the_beam(chart: Chart, view: View, lens: Lens, box: Box, beat: float) -> float:
    """1 for a numeral that is clear of the beam on the frame, 0 for one that would lie on it, smooth between."""
    xs, up = np.linspace(chart.x(chart.ridge), HALF_WIDTH + 0.6, 12), lens(chart.z(chart.peak), beat)
    across, down, _ = view(beat, np.array([(x, y, up) for y in (-HALF_DEPTH, HALF_DEPTH) for x in xs])).T
    near = across > box[0]
    gap = np.maximum(down - box[3], box[1] - down)[near].min() if near.any() else np.inf
    return float(min(1.0, max(0.0, (gap - 20.0) / 20.0)))


def off_the_towers(towers: Iterable[Tower], view: View, box: Box, beat: float) -> float:
    """1 for a numeral that no tower stands behind, 0 for one that would stick to a tower, smooth between."""
    stand = [(tower.lot, tower.summit(beat)) for tower in towers if tower.rise(beat) > 0.0]
    if not stand:
        return 1.0
    corners = [(lot.x + s, lot.y, z) for lot, top in stand for s in (-TOWER, TOWER) for z in (FLOOR, top)]
    seen = view(beat, np.array(corners)).reshape(-1, 4, 3)
    across, down = seen[..., 0], seen[..., 1]
    gap = np.maximum.reduce([across.min(1) - box[2], box[0] - across.max(1), down.min(1) - box[3]]).min()
    return float(min(1.0, max(0.0, gap / 20.0)))


def name_place(view: View, beat: float) -> Vector:
    """Where the name of the floor's axis ends: at the frame's right edge or, where all of the board is seen, at its corner."""
    x, y, z = edge(view, lambda beat: FLOOR, beat, FRONT)
    return min(x, HALF_WIDTH + 1.2), y, z


def edge(view: View, height: Callable[[float], float], beat: float, y: float = BACK) -> Vector:
    """The point at which a line along the hall at depth `y` comes to the right edge of the safe area, world units.

    Far along it where it never does.
    """
    z = height(beat)
    across, _, depth = view(beat, np.column_stack([FAR, np.full(len(FAR), y), np.full(len(FAR), z)])).T
    inside = (depth > 0.3) & (across < SAFE[2])
    last = int(np.argmin(inside)) if not inside.all() else len(FAR) - 1  # the first that is not
    if last == 0:
        return float(FAR[0]), y, z
    share = (SAFE[2] - across[last - 1]) / (across[last] - across[last - 1]) if depth[last] > 0.3 else 0.0
    return float(FAR[last - 1] + (FAR[last] - FAR[last - 1]) * min(1.0, max(0.0, share))), y, z
