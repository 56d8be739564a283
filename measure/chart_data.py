"""What a roofline chart shows of a measurement file: slopes, beams, ridges and rungs as numbers and words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from measure.records import Ladder, Measurements, Quantity, Roof, Rung
from measure.roofline_model import ridge, rung_intensity

SLOPES = {"load_path": "SM load path", "l1": "L1", "l2": "L2", "dram": "DRAM"}
"""The memory roofs that are drawn, nearest to the math first, by the names that the chart gives them."""

BEAMS = {"fp32": "FMA units, fp32"}
"""Shorter names of math roofs than their titles."""

LEVEL_NAMES = {"load_path": "the SM load path", "l2": "L2", "dram": "DRAM", "algorithmic": "least"}


@dataclass(frozen=True, slots=True)
class Line:
    """A roof: `value` in TB/s for a slope and TFLOP/s for a beam; `printed` is the datasheet's figure beside it.

    `solid`: somebody measured `value`; else it is itself the datasheet's, a published or a computed figure, and named so."""

    name: str
    title: str
    value: float
    solid: bool
    kind: str
    printed: float | None = None


@dataclass(frozen=True, slots=True)
class Ridge:
    """Where a slope meets a beam: `x` in FLOP/B, `y` in TFLOP/s."""

    slope: str
    beam: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Mark:
    """One rung: `x` in FLOP/B at its ladder's level, None where bytes are unknown; rates in TFLOP/s, cold None if not timed."""

    ladder: str
    name: str
    title: str
    x: float | None
    hot: float
    cold: float | None
    throttled: bool = False


@dataclass(frozen=True, slots=True)
class Climb:
    """One ladder: its words for the legend, its marks in order, and the vendor's lines as (title, TFLOP/s)."""

    name: str
    title: str
    details: str
    marks: tuple[Mark, ...]
    lines: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class View:
    """A whole chart."""

    title: str
    details: str
    slopes: tuple[Line, ...]
    beams: tuple[Line, ...]
    ridges: tuple[Ridge, ...]
    climbs: tuple[Climb, ...]
    notes: tuple[str, ...]

    @property
    def marks(self) -> tuple[Mark, ...]:
        return tuple(mark for climb in self.climbs for mark in climb.marks)


def view(found: Measurements) -> View:
    """Everything that a chart of one file shows; figures that are not in the file are left out, never made up."""
    slopes = tuple(_lines(found.roofs, "memory", SLOPES))
    beams = tuple(_lines(found.roofs, "math", BEAMS))
    climbs = tuple(climb for name, ladder in found.ladders.items() if (climb := _climb(name, ladder)).marks)
    return View(
        title=found.device.name,
        details=_details(found),
        slopes=slopes,
        beams=beams,
        ridges=tuple(Ridge(s.name, b.name, ridge(b.value, s.value), b.value) for b in beams for s in slopes),
        climbs=climbs,
        notes=tuple(_notes(found)),
    )


def _lines(roofs: Mapping[str, Roof], kind: str, names: Mapping[str, str]) -> Iterable[Line]:
    order = [name for name in names if name in roofs] + [name for name in roofs if name not in names and kind == "math"]
    for name in order:
        roof = roofs[name]
        best = roof.best
        if roof.kind == kind and best is not None:
            printed = roof.datasheet.value if roof.datasheet is not None and roof.datasheet is not best else None
            yield Line(name, names.get(name, roof.title), best.value, best is roof.measured, roof.best_field or "", printed)


def _climb(name: str, ladder: Ladder) -> Climb:
    marks = tuple(mark for rung in ladder.rungs if (mark := _mark(name, ladder, rung)) is not None)
    where = f"bytes at {LEVEL_NAMES[ladder.level]}" if ladder.level else "bytes not counted"
    lines = tuple((line.title, line.rate.value) for line in ladder.lines if line.rate.unit == "TFLOP/s")
    return Climb(name, ladder.title, f"{ladder.problem}, {where}", marks, lines)


def _mark(name: str, ladder: Ladder, rung: Rung) -> Mark | None:
    hot = rate_of(ladder, rung.rate, rung.time)
    if hot is None:
        return None
    cold = None
    if rung.time_cold is not None:
        if ladder.work is not None:
            cold = ladder.work.value / rung.time_cold.value / 1e12
        elif rung.time is not None:
            cold = hot * rung.time.value / rung.time_cold.value
    x = rung_intensity(ladder, rung, ladder.level) if ladder.level is not None else None
    return Mark(name, rung.name, rung.title, x, hot, cold, rung.throttled)


def rate_of(ladder: Ladder, rate: Quantity | None, time: Quantity | None) -> float | None:
    """A rung's rate in TFLOP/s: as it is recorded, else its work over its time."""
    if rate is not None and rate.unit == "TFLOP/s":
        return rate.value
    return ladder.work.value / time.value / 1e12 if time is not None and ladder.work is not None else None


def _details(found: Measurements) -> str:
    run, device = found.run, found.device
    parts = [f"{device.sm_count.value:.0f} SMs" if device.sm_count is not None else ""]
    if run is None:
        return " · ".join(filter(None, [*parts, "published figures, nothing was run"]))
    if run.clock is not None:
        parts[0] = f"{parts[0]} at {run.clock.value:.0f} MHz".strip()
    parts += [f"driver {run.driver}" if run.driver else "", f"CUDA {run.cuda_driver}" if run.cuda_driver else "", run.date[:10]]
    return " · ".join(filter(None, parts))


def _notes(found: Measurements) -> Iterable[str]:
    if found.run is not None and found.run.quick:
        yield "a quick look: not to be published"
    if found.run is not None and found.run.throttled:
        yield "the clock was held down during the run"
    for ladder in found.ladders.values():
        wrong = [rung.title for rung in ladder.rungs if rung.verification is not None and not rung.verification.passed]
        if wrong:
            yield f"not drawn, as wrong results have no rate: {', '.join(wrong)}"


def together(lines: Iterable[Line], within: float = 0.04) -> list[list[Line]]:
    """Lines in groups that are too near each other to be told apart on a chart, each group from its highest line on."""
    groups: list[list[Line]] = []
    for line in sorted(lines, key=lambda one: -one.value):
        if groups and groups[-1][0].value / line.value <= 1 + within:
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


@dataclass(frozen=True, slots=True)
class Limits:
    """Ends of the axes in FLOP/B and TFLOP/s; intensities begin at `start`, and rungs without one stand to its left."""

    left: float
    right: float
    bottom: float
    top: float
    start: float

    @property
    def unknown(self) -> float:
        """Where a rung stands whose intensity is not known."""
        return float(self.left * (self.start / self.left) ** 0.14)


STRIP = 0.2
"""Share of the width that rungs without an intensity get, where there are some."""


def limits(views: Iterable[View]) -> Limits:
    """Axes that hold every mark and ridge, at least three decades wide and two and a half high.

    Raises ValueError where there is neither a roof nor a rung."""
    held = list(views)
    xs = [mark.x for one in held for mark in one.marks if mark.x is not None]
    xs += [corner.x for one in held for corner in one.ridges]
    ys = [rate for one in held for mark in one.marks for rate in (mark.hot, mark.cold) if rate is not None]
    ys += [rate for one in held for climb in one.climbs for _, rate in climb.lines]
    tops = [beam.printed or beam.value for one in held for beam in one.beams]
    if not ys and not tops:
        raise ValueError("nothing to draw: there is no roof and no rung with a rate")
    xs = xs or [1.0]
    start, right = _wider(min(xs) / 2.6, max(xs) * 4.5, 3.0)
    bottom, top = (min(ys) if ys else min(tops) / 100) / 3, max([*ys, *tops]) * 2
    bottom = min(bottom, top / 10**2.5)
    left = start
    if any(mark.x is None for one in held for mark in one.marks):
        left = start * (start / right) ** (STRIP / (1 - STRIP))
    return Limits(left, right, bottom, top, start)


def _wider(low: float, high: float, least: float) -> tuple[float, float]:
    """The same range, stretched on both sides to so many decades."""
    more = 10 ** max(0.0, (least - math.log10(high / low)) / 2)
    return low / more, high * more


def decades(low: float, high: float) -> list[float]:
    """Powers of ten from `low` to `high`, for the axis."""
    return [10.0**power for power in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]
