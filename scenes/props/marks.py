"""Rates as lines before the beams of the roofline hall: dashed for a vendor's library, whole for a roof that does not bind."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from measure.dataset import Dataset, Reading
from scenes.props.cube import Vector
from scenes.props.instruction import data_type
from scenes.props.peaks import Peaks, instruction_under
from scenes.props.roofline import HALF_DEPTH, HALF_WIDTH, Chart
from scenes.props.rungs import VENDOR, vendor_line, vendor_title
from scenes.stage.claims import figure
from scenes.stage.keys import Track, arrive, window
from scenes.stage.overlay import SAFE, Canvas, Item, Number, Text
from scenes.stage.palette import COMPUTE, TEXT
from scenes.stage.type import FACT, NUMBER, SMALL, measure_text
from scenes.stage.world import Ribbons, World

FRONT = -HALF_DEPTH - 0.24  # y: before the near rail, so that no beam hides it
DASH, PITCH = 0.26, 0.42
HIGHEST, ROW = 310.0, 100.0  # least baseline of a rate, under the HUD's ratio; from one to the next; design pixels


@dataclass(slots=True)
class Mark:
    """A line along x from `span[0]` to `span[1]` at a rate in TFLOP/s, read when it is first seen; `shown` 0..1 draws it."""

    chart: Chart
    rate: Callable[[], float]
    span: tuple[float, float]
    dashed: bool
    shown: Callable[[float], float]

    def point(self, beat: float) -> Vector:
        """Where its name is led to: its right end."""
        low, high = self.span
        return low + (high - low) * self.shown(beat), FRONT, self.chart.z(self.rate())

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        if shown <= 0.01:
            return
        low, z = self.span[0], self.chart.z(self.rate())
        end = low + (self.span[1] - low) * shown
        x = np.arange(low, end, PITCH if self.dashed else 0.8)
        a = np.column_stack([x, np.full(len(x), FRONT), np.full(len(x), z)])
        b = np.column_stack([np.minimum(x + (DASH if self.dashed else 0.8), end), a[:, 1], a[:, 2]])
        world.add(Ribbons.of(a, b, 0.06, TEXT if self.dashed else COMPUTE, 0.95, 0.1 if self.dashed else 0.6))


@dataclass(frozen=True, slots=True)
class Told:
    """A rate that is drawn over the towers: the key of its reading, what it is, where it is led to, from which beat on."""

    key: str
    words: str
    at: Callable[[float], Vector]
    begins: float
    mark: Mark | None = None
    beyond: str = ""  # what it is where it lies above the beam


def over_the_rung(
    data: Dataset, peaks: Peaks, chart: Chart, beam: Vector, span: tuple[float, float], begins: tuple[float, float], ends: float
) -> list[Told]:
    """The roof over a rung (its beam is there already), a measured roof that does not bind it, and the vendor's library.

    `beam` is the point by which the roof is named; roofs are told from `begins[0]` on, the library from `begins[1]`.
    """
    key = peaks.beam(data)
    own = f"by {peaks.issued}" if peaks.issued and key == f"roofs.{peaks.roof}" else f"{data_type(data, peaks.ladder)} peak"
    told = [Told(key, own, lambda beat: beam, begins[0])]
    below, by = f"roofs.{peaks.other}", instruction_under(data, peaks.other) if peaks.other else ""
    lines = [(below, f"by {by}" if by else "other units", False, begins[0])] if peaks.other and below != key else []
    lines += [(peaks.line_rate, peaks.title_of_line(data), True, begins[1])] if peaks.line else []

    def rate(key: str) -> float:
        reading = data.get(key)
        return reading.quantity.value if reading else 0.0

    for key, words, dashed, begin in lines:
        drawn = Track(0.0).to(1.0, begin + 0.5, 1.0, arrive).to(0.0, ends + 0.5, 0.5)
        mark = Mark(chart, cache(partial(rate, key)), span, dashed, drawn)
        beyond = f"{words}, not by {peaks.issued}" if dashed and peaks.own and peaks.issued else ""
        told.append(Told(key, words, mark.point, begin, mark, beyond))
    return told


def beyond_the_beam(data: Dataset, chart: Chart, begins: float, ends: float) -> list[tuple[Mark, list[Item]]]:
    """The vendor's rate of the hall's own ladder where it lies above the beam, as other units give it: its line, its words."""
    reading = data.get(VENDOR)
    if reading is None or vendor_line(data, chart.peak) is not None:
        return []
    span = (chart.x(chart.ridge) if chart.placed else 0.0, HALF_WIDTH + 4.0)
    drawn, shown = Track().to(1.0, begins, 1.0, arrive).to(0.0, ends, 0.5), window(begins, ends)
    words: list[Item] = [
        Number(figure(reading, 1), NUMBER, SAFE[2], 372, "right", shown),
        Text(vendor_title(data), SMALL, SAFE[2], 422, "right", shown),
        Text(f"{reading.quantity.source} · the dashed line", SMALL, SAFE[2], 464, "right", shown),
    ]
    return [(Mark(chart, lambda: reading.quantity.value, span, True, drawn), words)]


@dataclass(slots=True)
class Column:
    """Rates and what they are, under each other at the frame's right side, each led to its line; `until` is its last beat.

    Higher rates stand higher; where their lines are nearer to each other than the words need, the words make room.
    """

    told: Sequence[Told]
    readings: Sequence[Reading]
    until: float

    @classmethod
    def of(cls, data: Dataset, told: Sequence[Told], until: float) -> Column:
        """With what has been measured of them now."""
        known = [(item, reading) for item in told if (reading := data.get(item.key)) is not None]
        known.sort(key=lambda pair: -pair[1].quantity.value)
        return cls([item for item, _ in known], [reading for _, reading in known], until)

    def rows(self, canvas: Canvas) -> list[tuple[float, float, float]]:
        """x and y of each line's end, design pixels, and the baseline of its figure."""
        ends = [canvas.pin(item.at(canvas.beat))[:2] for item in self.told]
        rows, least = [], HIGHEST
        for x, y in ends:
            least = max(least, y - 10.0)
            rows.append((x, y, least))
            least += ROW
        return rows

    def beam(self) -> float:
        """The rate of the roof over the rung: what lies above it was issued by another instruction."""
        rates = [reading.quantity.value for item, reading in zip(self.told, self.readings, strict=True) if item.mark is None]
        return max(rates, default=math.inf)

    def draw(self, canvas: Canvas) -> None:
        for item, reading, (x, y, base) in zip(self.told, self.readings, self.rows(canvas), strict=True):
            shown = window(item.begins, self.until)(canvas.beat)
            if shown <= 0.004:
                continue
            colour = TEXT if item.mark and item.mark.dashed else COMPUTE
            value = reading.quantity.value
            named = item.beyond if item.beyond and value > self.beam() else item.words
            words = f"{named}, {reading.quantity.source}"
            said, big = figure(reading, 0 if value >= 100 else 1), FACT.coloured(colour)
            wide = (
                max(measure_text(words, SMALL, canvas.scale)[0], measure_text(said.text, big, canvas.scale)[0]) / canvas.scale
            )
            end = SAFE[2] - wide - 16.0
            if end > x + 20.0:
                canvas.line(x, y, end, base - 12.0, 2.6, colour, 0.8 * shown)
            canvas.claim(said, big, SAFE[2], base, "right", shown)
            canvas.write(words, SMALL, SAFE[2], base + 40.0, "right", shown, "label")
