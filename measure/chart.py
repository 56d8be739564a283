"""A roofline as a picture: log-log, one slope a memory level, one beam a kind of math unit, every rung of every ladder.

Needs matplotlib (the extra `plot`), which is imported where it is used: a GPU is measured without it.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from measure import chart_words as words
from measure.chart_data import View, decades, limits
from measure.chart_sheet import COMPUTE, GRID, GROUND, LADDERS, MEMORY, OTHER, PLATE, QUIET, TEXT, Sheet
from measure.errors import MeasureError, OutputError
from measure.files import write_bytes
from measure.labels import Box, Segment
from measure.wording import figure

FONTS = Path(__file__).resolve().parents[1] / "scenes" / "stage" / "fonts"
WIDTH, HEIGHT = 1600, 1000
AXES = (0.062, 0.085, 0.742, 0.79)  # left, bottom, width, height as shares of the picture


def draw(views: Sequence[View], path: Path, labels: Sequence[str] = ()) -> tuple[tuple[str, Box], ...]:
    """Draw one file, or two over each other (the first dim), to a PNG; returns the rungs' labels and where they lie.

    `labels` are the names of two views.  Raises OutputError where the file cannot be written, MeasureError without matplotlib
    or with nothing to draw.
    """
    if path.suffix.lower() != ".png":
        raise OutputError(f"{path}: a chart is a PNG; give a name that ends in .png")
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MeasureError("a chart needs matplotlib: start ./roofline with --png, which installs it") from None
    with rc_context({"font.family": _family(), "font.size": 11, "text.color": TEXT, "axes.edgecolor": GRID}):
        picture = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor=GROUND)
        FigureCanvasAgg(picture)
        sheet = _sheet(picture, views)
        _heading(sheet, views, labels)
        front = views[-1]
        for back in views[:-1]:
            _roofs(sheet, back, dim=True)
        _roofs(sheet, front, dim=False)
        words.beside(sheet, front)
        words.legend(sheet, views, labels)
        for back in views[:-1]:
            _marks(sheet, back, dim=True)
        _marks(sheet, front, dim=False)
        words.slope_names(sheet, front)
        words.ridges(sheet, front)
        found = words.rung_names(sheet, front, views[0] if len(views) > 1 else None)
        _write(picture, path)
    return found


def _family() -> list[str]:
    """The film's letters where they lie beside this package, matplotlib's own elsewhere."""
    from matplotlib import font_manager

    families = []
    for file in sorted(FONTS.glob("InterDisplay-*.otf")):
        with suppress(Exception):  # a font that cannot be read is one that is not there
            font_manager.fontManager.addfont(str(file))
            families.append(font_manager.FontProperties(fname=str(file)).get_name())
    return [*dict.fromkeys(families), "DejaVu Sans"]


def _sheet(picture: Any, views: Sequence[View]) -> Sheet:
    try:
        ends = limits(views)
    except ValueError as error:
        raise MeasureError(f"no chart: {error}") from None
    axes = picture.add_axes(AXES, facecolor=PLATE, xscale="log", yscale="log")
    axes.set(xlim=(ends.left, ends.right), ylim=(ends.bottom, ends.top))
    axes.set_xlabel("arithmetic intensity, FLOP/B at the level of each ladder", color=QUIET, fontsize=12, labelpad=8)
    axes.set_ylabel("rate, TFLOP/s", color=QUIET, fontsize=12, labelpad=4)
    for axis, low, high in ((axes.xaxis, ends.start, ends.right), (axes.yaxis, ends.bottom, ends.top)):
        ticks = decades(low, high)
        axis.set_ticks(ticks, labels=[figure(tick) for tick in ticks])
        axis.set_tick_params(which="major", colors=QUIET, labelsize=12, length=0)
        axis.set_tick_params(which="minor", length=0)
        axis.set_minor_formatter("")
    axes.grid(True, which="major", color=GRID, linewidth=1.0)
    axes.grid(True, which="minor", color=GRID, linewidth=0.5, alpha=0.45)
    axes.set_axisbelow(True)
    picture.canvas.draw()
    found = axes.get_window_extent()
    frame = Box(found.x0 + 4, found.y0 + 4, found.x1 - 4, found.y1 - 4)
    sheet = Sheet(picture, axes, ends, frame, [], [], [])
    if ends.left < ends.start:
        axes.axvspan(ends.left, ends.start, color=GROUND, zorder=1)
        x, y = sheet.at(ends.unknown, ends.top)
        sheet.write(x - 8, y - 12, "intensity not known:\nbytes were not counted", 11, QUIET, va="top", linespacing=1.3)
    return sheet


def _heading(sheet: Sheet, views: Sequence[View], labels: Sequence[str]) -> None:
    write = partial(sheet.figure.text, AXES[0], va="baseline")
    if len(views) == 1:
        write(0.945, f"Roofline of the {views[0].title}", fontsize=25, fontweight="bold")
        write(0.905, views[0].details, fontsize=13, color=QUIET)
    else:
        write(0.945, f"{labels[1]}  against  {labels[0]}", fontsize=25, fontweight="bold")
        for up, one, name in zip((0.918, 0.892), reversed(views), reversed(labels), strict=True):
            write(up, f"{name}: {one.title} · {one.details}", fontsize=12, color=TEXT if up > 0.9 else QUIET)


def _roofs(sheet: Sheet, one: View, dim: bool) -> None:
    """Slopes up to the highest beam, beams from the steepest slope on; dashed where a datasheet says so."""
    left, right = sheet.limits.start, sheet.limits.right
    ceiling = max((beam.value for beam in one.beams), default=sheet.limits.top)
    steepest = max((slope.value for slope in one.slopes), default=None)
    alpha = 0.35 if dim else 1.0
    for line in one.slopes:
        for value, dashed in ((line.printed, True), (line.value, not line.solid)):
            if value is not None:
                _segment(sheet, (left, left * value, ceiling / value, ceiling), MEMORY, alpha, dashed)
    for line in one.beams:
        for value, dashed in ((line.printed, True), (line.value, not line.solid)):
            if value is not None:
                start = left if steepest is None else value / steepest
                _segment(sheet, (start, value, right, value), COMPUTE, alpha, dashed)


def _segment(sheet: Sheet, ends: Segment, colour: str, alpha: float, dashed: bool) -> None:
    x0, y0, x1, y1 = ends
    style: Any = (0, (5, 4)) if dashed else "solid"
    width, shade = (1.3, 0.75 * alpha) if dashed else (2.4, alpha)
    sheet.axes.plot((x0, x1), (y0, y1), color=colour, linewidth=width, linestyle=style, alpha=shade, zorder=2)
    if alpha == 1.0:
        sheet.lines.append((*sheet.at(x0, y0), *sheet.at(x1, y1)))


def _marks(sheet: Sheet, one: View, dim: bool) -> None:
    for climb in one.climbs:
        colour, shape = LADDERS.get(climb.name, OTHER)
        known = [mark for mark in climb.marks if mark.x is not None]
        plot = partial(sheet.axes.plot, color=colour, alpha=0.4 if dim else 1.0)
        plot([mark.x for mark in known], [mark.hot for mark in known], linewidth=1.2, linestyle=(0, (2, 3)), zorder=3)
        for before, after in itertools.pairwise(known):
            sheet.threads.append((*sheet.spot(before, before.hot), *sheet.spot(after, after.hot)))
        for mark in climb.marks:
            x = sheet.limits.unknown if mark.x is None else mark.x
            plot([x], [mark.hot], marker=shape, markersize=8, markeredgecolor=GROUND, markeredgewidth=0.8, zorder=5)
            if mark.cold is not None:
                plot([x], [mark.cold], marker=shape, markersize=12, markerfacecolor="none", markeredgewidth=1.3, zorder=4)


def _write(picture: Any, path: Path) -> None:
    """The file whole or not at all."""
    memory = io.BytesIO()
    picture.savefig(memory, format="png", facecolor=GROUND, metadata={"Software": None})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
    write_bytes(path, memory.getvalue())
