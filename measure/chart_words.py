"""The words of a chart: legend, names of roofs, ridges and rungs, each where it covers nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from measure.chart_data import SLOPES, Line, Mark, View, together
from measure.chart_sheet import COMPUTE, GRID, GROUND, LADDERS, MEMORY, OTHER, QUIET, TEXT, Sheet
from measure.labels import Box, Wish, place, stack
from measure.wording import figure


def legend(sheet: Sheet, views: Sequence[View], labels: Sequence[str]) -> None:
    """What marks and strokes mean, at the lower right, where intensities are high and rates low: no kernel lands there."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    front, solid = views[-1], "measured"
    rows: list[tuple[Any, str, str]] = []
    mark = partial(Line2D, [0], [0], linestyle="none", markersize=9, markeredgewidth=1.6)
    for climb in front.climbs:
        colour, shape = LADDERS.get(climb.name, OTHER)
        rows.append((mark(marker=shape, color=colour, markeredgecolor=colour), climb.title, climb.details))
    rows.append((mark(marker="o", color=QUIET, markeredgecolor=QUIET), "filled", "hot: launches back to back"))
    rows.append((mark(marker="o", color="none", markeredgecolor=QUIET), "hollow", "cold: L2 overwritten before each launch"))
    rows.append((Line2D([0], [0], color=QUIET, linewidth=2.4), "solid roof", solid))
    rows.append(
        (Line2D([0], [0], color=QUIET, linewidth=1.3, linestyle=(0, (5, 4))), "dashed roof", "datasheet, published or computed")
    )
    rows.append((mark(marker="d", color=TEXT, markersize=6), "ridge", "FLOP/B at which a slope meets a beam"))
    if len(views) > 1:
        rows.append((Line2D([0], [0], color=QUIET, linewidth=2.4, alpha=0.35), "dim", labels[0]))
    rows += [(None, "note", note) for note in front.notes]
    names = max(sheet.size(name, 11.5, "bold")[0] for _, name, _ in rows)
    width = 44 + names + 14 + max(sheet.size(words, 11)[0] for _, _, words in rows) + 16
    height = 22.0 * len(rows) + 18
    box = Box(sheet.frame.right - 10 - width, sheet.frame.bottom + 10, sheet.frame.right - 10, sheet.frame.bottom + 10 + height)
    sheet.taken.append(box)
    panel = Rectangle(
        (box.left, box.bottom), width, height, transform=None, facecolor=GROUND, edgecolor=GRID, alpha=0.94, zorder=6
    )
    sheet.figure.add_artist(panel)
    for index, (handle, name, words) in enumerate(rows):
        y = box.top - 20 - 22.0 * index
        if handle is not None:
            handle.set_transform(None)
            line = not handle.get_marker() or handle.get_marker() == "None"
            handle.set_data(*(([box.left + 10, box.left + 34], [y, y]) if line else ([box.left + 22], [y])))
            handle.set_zorder(7)
            sheet.figure.add_artist(handle)
        put = partial(sheet.figure.text, transform=None, va="center", zorder=7)
        put(box.left + 44, y, name, fontsize=11.5, fontweight="bold")
        put(box.left + 44 + names + 14, y, words, fontsize=11, color=QUIET)


def beside(sheet: Sheet, one: View) -> None:
    """Beams and the vendors' lines are named to the right of the chart, each at its height as far as there is room."""
    rows: list[tuple[float, str, str, str]] = []
    for beam in one.beams:
        printed = f", datasheet {figure(beam.printed)}" if beam.printed is not None else ""
        rows.append((beam.value, COMPUTE, beam.title, f"{figure(beam.value)} TFLOP/s {beam.kind}{printed}"))
    for climb in one.climbs:
        for title, rate in climb.lines:
            rows.append((rate, LADDERS.get(climb.name, OTHER)[0], title, f"{figure(rate)} TFLOP/s, for comparison"))
    edge, width = sheet.frame.right + 4, float(sheet.figure.bbox.width)
    wanted = [sheet.at(sheet.limits.right, rate)[1] for rate, *_ in rows]
    centres = stack([42.0] * len(rows), wanted, sheet.frame.bottom, sheet.frame.top + 16)
    for (rate, colour, title, words), wish, centre in zip(rows, wanted, centres, strict=True):
        text = partial(sheet.figure.text, transform=None, va="center", ha="left")
        text(edge + 30, centre + 8, _cut(sheet, title, 12, width - edge - 48), color=colour, fontsize=12, fontweight="bold")
        text(edge + 30, centre - 9, _cut(sheet, words, 10.5, width - edge - 40), color=QUIET, fontsize=10.5)
        sheet.leader((edge + 2, wish), (edge + 26, centre), colour)
        if colour != COMPUTE:
            x0, _ = sheet.axes.transData.inverted().transform((edge - 46, wish))
            sheet.axes.plot((x0, sheet.limits.right), (rate, rate), color=colour, linewidth=2.2, linestyle=(0, (1, 1.2)))


def _cut(sheet: Sheet, words: str, points: float, room: float) -> str:
    """Text that fits into a width, its end replaced by dots where it does not."""
    short = words
    while len(short) > 4 and sheet.size(short, points)[0] > room:
        words = words[:-1].rstrip(" ,.")
        short = f"{words}…"
    return short


def slope_names(sheet: Sheet, one: View) -> None:
    """Along each slope, above it; slopes that lie on each other share one line of words."""
    ceiling = max((beam.value for beam in one.beams), default=sheet.limits.top)
    for group in together(one.slopes):
        words = "  ·  ".join(_slope_words(line) for line in sorted(group, key=lambda line: list(SLOPES).index(line.name)))
        value = group[0].value
        (x0, y0), (x1, y1) = sheet.at(1.0, value), sheet.at(2.0, 2 * value)
        turn = math.atan2(y1 - y0, x1 - x0)
        width, height = sheet.size(words, 12, "bold")
        start, end = _visible(sheet, value, ceiling)
        length = math.hypot(end[0] - start[0], end[1] - start[1])
        for step in range(60):
            along = 14 + 12 * step
            if along + width > length:
                break
            x = start[0] + along * math.cos(turn) - 7 * math.sin(turn)
            y = start[1] + along * math.sin(turn) + 7 * math.cos(turn)
            boxes = _along(x, y, turn, width, height)
            if all(box.inside(sheet.frame) for box in boxes) and not any(
                box.meets(o, 2) for box in boxes for o in _busy(sheet, one)
            ):
                turned = {"rotation": math.degrees(turn), "rotation_mode": "anchor"}
                sheet.write(x, y, words, 12, MEMORY, va="bottom", ha="left", fontweight="bold", **turned)
                sheet.taken.extend(boxes)
                break


def _slope_words(line: Line) -> str:
    printed = f" (datasheet {figure(line.printed)})" if line.printed is not None else "" if line.solid else f" ({line.kind})"
    return f"{line.title} {figure(line.value)} TB/s{printed}"


def _visible(sheet: Sheet, value: float, ceiling: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Both ends of a slope in pixels, inside of the axes."""
    x = max(sheet.limits.start, sheet.limits.bottom / value)
    return sheet.at(x, x * value), sheet.at(ceiling / value, ceiling)


def _along(x: float, y: float, turn: float, width: float, height: float) -> list[Box]:
    """Squares that cover a turned line of text."""
    count = max(1, math.ceil(width / height))
    boxes = []
    for index in range(count):
        along = (index + 0.5) * width / count
        middle = (
            x + along * math.cos(turn) - height / 2 * math.sin(turn),
            y + along * math.sin(turn) + height / 2 * math.cos(turn),
        )
        boxes.append(Box(middle[0] - height / 2, middle[1] - height / 2, middle[0] + height / 2, middle[1] + height / 2))
    return boxes


def _busy(sheet: Sheet, one: View) -> list[Box]:
    """What may not be written over: what is written already, and the marks."""
    boxes = list(sheet.taken)
    for mark in one.marks:
        for rate in (mark.hot, mark.cold):
            if rate is not None:
                x, y = sheet.spot(mark, rate)
                boxes.append(Box(x - 9, y - 9, x + 9, y + 9))
    return boxes


def ridges(sheet: Sheet, one: View) -> None:
    """A mark where each slope meets each beam, with its intensity above; ridges that lie on each other are marked once."""
    for beam in one.beams:
        shown: list[tuple[float, float, str]] = []
        for corner in sorted((corner for corner in one.ridges if corner.beam == beam.name), key=lambda found: found.x):
            x, y = sheet.at(corner.x, corner.y)
            if not shown or x - shown[-1][0] >= 16:
                shown.append((x, y, figure(corner.x)))
                sheet.axes.plot([corner.x], [corner.y], marker="d", markersize=6, color=TEXT, markeredgecolor=GROUND, zorder=4)
        for index, (x, y, words) in enumerate(shown):
            width, height = sheet.size(words, 11, "bold")
            left = x - width / 2
            if index == len(shown) - 1:
                words += " FLOP/B"
                width = sheet.size(words, 11, "bold")[0]
            box = Box(left, y + 8, left + width, y + 8 + height)
            if not any(box.meets(other, 2) for other in _busy(sheet, one)):
                sheet.write(left, y + 8, words, 11, TEXT, ha="left", va="bottom", fontweight="bold")
                sheet.taken.append(box)


def rung_names(sheet: Sheet, one: View, before: View | None) -> tuple[tuple[str, Box], ...]:
    """Every rung's title beside its mark; with a second file its ratio as well.  Returns them with where they lie."""
    old = {(mark.ladder, mark.name): mark.hot for mark in before.marks} if before is not None else {}
    colours = {climb.name: LADDERS.get(climb.name, OTHER)[0] for climb in one.climbs}
    words = [_rung_words(mark, old.get((mark.ladder, mark.name))) for mark in one.marks]
    wishes = [Wish(*sheet.spot(mark, mark.hot), *sheet.size(text, 11)) for mark, text in zip(one.marks, words, strict=True)]
    cold = [sheet.spot(mark, mark.cold) for mark in one.marks if mark.cold is not None]
    rings = [Box(x - 8, y - 8, x + 8, y + 8) for x, y in cold]
    found = []
    places = place(wishes, sheet.frame, sheet.taken, sheet.lines, sheet.threads, rings)
    for mark, text, wish, box in zip(one.marks, words, wishes, places, strict=True):
        if box is None:
            continue
        end = box.near(wish.x, wish.y)
        if math.hypot(end[0] - wish.x, end[1] - wish.y) > 20:
            sheet.leader((wish.x, wish.y), end, colours[mark.ladder])
        sheet.write(box.left, box.bottom, text, 11, colours[mark.ladder], ha="left", va="bottom")
        found.append((text, box))
    return tuple(found)


def _rung_words(mark: Mark, before: float | None) -> str:
    words = mark.title + (", throttled" if mark.throttled else "")
    if before is not None:
        words += f"  ×{mark.hot / before:.2f}"
    return words if mark.x is not None else f"{words}  {figure(mark.hot)} TFLOP/s"
