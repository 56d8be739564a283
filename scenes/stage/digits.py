"""Live digits: a figure that counts, in tabular numerals, put together from the sprites of its glyphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scenes.stage.blit import blit_smooth
from scenes.stage.claims import Figure, numeral
from scenes.stage.overlay import VISIBLE, Canvas, Placed, Point, Value, value_at
from scenes.stage.type import Align, Style, load_font, readable, sprite

FIGURE_SPACE = "\u2007"  # as wide as a digit: it stands where a digit is still to come
WHOLE = 1.0 - 1e-6


@dataclass(slots=True)
class Counter:
    """A figure that counts from 0 (or `start`, in the unit shown) to its value as `count` goes from 0 to 1.

    It keeps the width of its last value, so that neither its digits nor its unit move while it runs. Running, it is a clock;
    once there it is the figure, and logged as a claim. Nothing is rasterised but each glyph once.
    """

    figure: Figure
    count: Callable[[float], float]
    style: Style
    x: Value = 0.0
    y: Value = 0.0
    align: Align = "left"
    opacity: Value = 1.0
    start: float = 0.0
    at: Point | None = None

    def text(self, beat: float) -> str:
        """What it shows at a beat."""
        share = min(1.0, max(0.0, self.count(beat)))
        if share >= WHOLE:
            return self.figure.text
        last = self.figure.reading.quantity.value * self.figure.scale
        shown = numeral(self.start + (last - self.start) * share, self.figure.digits)
        return f"{shown.rjust(len(self.figure.numeral), FIGURE_SPACE)} {self.figure.unit}".rstrip(" ")

    def draw(self, canvas: Canvas) -> None:
        opacity = value_at(self.opacity, canvas.beat)
        if opacity <= 0.004:
            return
        x, y = value_at(self.x, canvas.beat), value_at(self.y, canvas.beat)
        if self.at is not None:
            px, py, depth = canvas.pin(self.at(canvas.beat) if callable(self.at) else self.at)
            if depth <= 0.3:
                return
            x, y = x + px, y + py
        if opacity > VISIBLE and self.count(canvas.beat) >= WHOLE:
            canvas.log.saw(self.figure, canvas.frame)
        write_glyphs(canvas, self.text(canvas.beat), self.style, x, y, self.align, opacity)


def write_glyphs(canvas: Canvas, text: str, style: Style, x: float, y: float, align: Align, opacity: float) -> float:
    """Set text glyph by glyph, every digit as wide as the widest; halos first, so that none darkens its neighbour's ink.

    Returns the width in design pixels. The text is logged as one box of kind "clock".
    """
    scale = canvas.scale
    style = style.coloured(readable(style.colour))
    font = load_font(style.font, max(1, round(style.size * scale)))
    digit = max(font.getlength(d) for d in "0123456789")
    steps = [digit if c.isdigit() or c == FIGURE_SPACE else font.getlength(c) for c in text]
    wide = sum(steps)
    left, base = x * scale - {"left": 0.0, "centre": wide / 2, "right": wide}[align], y * scale
    cap = sprite("H", style, scale)[4]
    canvas.veil(left / scale, y - cap / scale, (left + wide) / scale, y, style.colour, opacity)
    for part in ("halo", "ink") if canvas.inked else ("halo",):
        at = left
        for glyph, step in zip(text, steps, strict=True):
            if glyph not in (" ", FIGURE_SPACE):
                pixels, ox, oy, width, _ = sprite(glyph, style, scale, "halo" if part == "halo" else "ink")
                blit_smooth(canvas.pixels, pixels, at + (step - width) / 2 - ox, base - oy, opacity)
            at += step
    if opacity > VISIBLE:
        canvas.placed.append(Placed(text, left, base - cap, left + wide, base, opacity, "clock", style.colour))
    return wide / scale
