"""A line of words with figures among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from measure.dataset import Reading
from scenes.stage.claims import Figure, figure
from scenes.stage.overlay import Canvas, Value, value_at
from scenes.stage.type import Align, Style, measure_text


def microseconds(reading: Reading) -> Figure:
    """A time as µs with one decimal, from a reading in s or ns."""
    return figure(reading, 1, "µs", {"s": 1e6, "ns": 1e-3}[reading.quantity.unit])


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and figures after one another on a baseline at design pixels (x, y); every figure is logged as a claim."""

    parts: Sequence[tuple[str | Figure, Style]]
    x: float
    y: float
    align: Align = "left"
    opacity: Value = 1.0

    def draw(self, canvas: Canvas) -> None:
        opacity = value_at(self.opacity, canvas.beat)
        if opacity <= 0.004:
            return
        words = [(what if isinstance(what, str) else what.text, style) for what, style in self.parts]
        wide = sum(measure_text(text, style, canvas.scale)[0] for text, style in words) / canvas.scale
        x = self.x - {"left": 0.0, "centre": wide / 2, "right": wide}[self.align]
        for what, style in self.parts:
            if isinstance(what, str):
                x += canvas.write(what, style, x, self.y, opacity=opacity)
            else:
                x += canvas.claim(what, style, x, self.y, opacity=opacity)
