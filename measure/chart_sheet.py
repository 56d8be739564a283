"""The sheet that a chart is drawn on: its colours, its scales in pixels, and what is on it already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from measure.chart_data import Limits, Mark
from measure.labels import Box, Segment

GROUND, PLATE, GRID = "#05070D", "#0B101B", "#1C2536"
TEXT, QUIET = "#F2F7FF", "#9AA6B8"
MEMORY, COMPUTE = "#00E5FF", "#FFB000"
LADDERS = {
    "gemm_fp32": ("#FF5BDE", "o"),
    "gemm_bf16": ("#9DFF70", "s"),
    "attention": ("#B49CFF", "D"),
    "gemv": ("#FF8A5C", "^"),
}
"""Colour and mark of each ladder, the same on every chart; cyan is memory and amber is math, as in the film."""

OTHER = ("#F2F7FF", "v")
"""Colour and mark of any other ladder."""


@dataclass(slots=True)
class Sheet:
    """A figure being drawn: what is on it already, in pixels."""

    figure: Any
    axes: Any
    limits: Limits
    frame: Box
    taken: list[Box]
    lines: list[Segment]
    threads: list[Segment]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of a point given in FLOP/B and TFLOP/s."""
        across, up = self.axes.transData.transform((x, y))
        return float(across), float(up)

    def spot(self, mark: Mark, rate: float) -> tuple[float, float]:
        """Pixels of a rung at one of its rates."""
        return self.at(self.limits.unknown if mark.x is None else mark.x, rate)

    def box(self, artist: Any) -> Box:
        """Where something lies."""
        found = artist.get_window_extent(self.figure.canvas.get_renderer())
        return Box(float(found.x0), float(found.y0), float(found.x1), float(found.y1))

    def write(self, x: float, y: float, words: str, points: float, colour: str, **more: Any) -> None:
        """Text in pixels, with a dark rim, so that it can be read on a line as well."""
        from matplotlib.patheffects import withStroke

        rim = [withStroke(linewidth=3, foreground=PLATE, alpha=0.9)]
        self.figure.text(x, y, words, transform=None, fontsize=points, color=colour, zorder=6, path_effects=rim, **more)

    def leader(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        """A thin line in pixels from a thing to its words."""
        from matplotlib.lines import Line2D

        (x0, y0), (x1, y1) = start, end
        self.figure.add_artist(Line2D((x0, x1), (y0, y1), transform=None, color=colour, linewidth=0.8, alpha=0.8, zorder=5))

    def size(self, words: str, points: float, weight: str = "normal") -> tuple[float, float]:
        """Width and height of a line of text in pixels."""
        artist = self.figure.text(0, 0, words, fontsize=points, fontweight=weight)
        box = self.box(artist)
        artist.remove()
        return box.right - box.left, box.top - box.bottom
