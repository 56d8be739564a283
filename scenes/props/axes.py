"""The lettering of the roofline hall's axes: decades of intensity along the floor, decades of rate on rails along the back."""

from __future__ import annotations

from scenes.props.roofline import FLOOR, HALF_DEPTH, RAIL_END, Chart, decades
from scenes.props.rungs import LEVEL_NAMES
from scenes.stage.overlay import Text, Value
from scenes.stage.type import SMALL, Align

FRONT = -3.55  # y of the board's front edge, where the intensities stand


def axes(chart: Chart, across: Value, up: Value) -> list[Text]:
    """Numerals and names; `across` and `up` are the opacities of the two axes.  All yield to HUD and lyric."""
    corner = (chart.x(chart.high_x) - 0.9, FRONT, FLOOR)
    level = LEVEL_NAMES.get(chart.level, chart.level)
    ticks: list[tuple[str, tuple[float, float, float], float, Align]] = [
        ("FLOP/B, log scale", corner, 34, "left"),
        (level, corner, 78, "left"),
    ]
    # The last decades would stand under the axis' name.
    ticks += [(f"{v:g}", (chart.x(v), FRONT, FLOOR), 34, "centre") for v in decades(chart.low_x, chart.high_x * 0.45)]
    items = [Text(text, SMALL, 0, below, align, across, at, "axis", True) for text, at, below, align in ticks]
    for value in decades(chart.low_z, chart.high_z):
        at = (RAIL_END, HALF_DEPTH + 0.4, chart.z(value))
        items.append(Text(f"{value:g} TFLOP/s", SMALL, 14, 12, "left", up, at, "axis", True))
    foot = (RAIL_END, HALF_DEPTH + 0.4, chart.z(chart.low_z))
    items.append(Text("log scale", SMALL, 14, 0, "left", up, foot, "axis", True))
    return items
