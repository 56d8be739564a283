"""The type layer: texts placed on the frame or pinned to points of the world, drawn after the stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from scenes.stage.blit import blit_smooth
from scenes.stage.claims import ClaimLog, Figure
from scenes.stage.keys import smooth
from scenes.stage.palette import QUIET, TEXT, Colour
from scenes.stage.type import (
    DESIGN_HEIGHT,
    Align,
    Style,
    darken,
    fill_disc,
    fill_segment,
    luminance,
    measure_text,
    readable,
    sprite,
    veil,
)

Value = float | Callable[[float], float]
Point = Sequence[float] | Callable[[float], Sequence[float]]
VISIBLE = 0.05  # below this opacity a text counts as absent: no claim, no box
# Where the HUD, the lyric line and the lamps stand, in design pixels: labels of the world fade out before they get there.
KEPT_CLEAR = ((0, 0, 1060, 172), (1180, 0, 1920, 232), (180, 868, 1740, 962), (0, 978, 1920, 1080))
SAFE = (96.0, 54.0, 1824.0, 1026.0)  # 5 % of the frame on each side
CLEARANCE = 26.0
SLIDE = 60.0  # design pixels that a pinned text moves to stay inside before it fades
APART = 14.0  # design pixels between two texts of which one yields
CONTRAST = 4.8  # to one, for the brightest of what lies beneath a text: over the 4.5 of WCAG 2.2, criterion 1.4.3
PLATE = (4.0, 4.0, 12.0)  # a veil reaches so far beyond a text, left and right, up and down; its soft border, design pixels


def value_at(value: Value, beat: float) -> float:
    return float(value(beat)) if callable(value) else value


def clearance(left: float, top: float, right: float, bottom: float) -> float:
    """1 for a box (design pixels) well clear of HUD, lyric and lamps, 0 for one that touches them, smooth between."""
    gap = CLEARANCE
    for x0, y0, x1, y1 in KEPT_CLEAR:
        gap = min(gap, max(x0 - right, left - x1, y0 - bottom, top - y1))
    return smooth(min(max(gap / CLEARANCE, 0.0), 1.0))


def kept_inside(left: float, top: float, right: float, bottom: float) -> tuple[float, float, float]:
    """How far (x, y) a box must be shifted to stay in the safe area, and 1..0: how much of a pinned text is left for it.

    A text whose point wanders to the border slides along it, then fades: it never stands in the border.
    """
    dx = max(SAFE[0] - left, 0.0) - max(right - SAFE[2], 0.0)
    dy = max(SAFE[1] - top, 0.0) - max(bottom - SAFE[3], 0.0)
    return dx, dy, 1.0 - smooth(min(max((abs(dx) + abs(dy) - SLIDE) / CLEARANCE, 0.0), 1.0))


def apart(canvas: Canvas, left: float, top: float, right: float, bottom: float) -> float:
    """1 for a box (design pixels) that stands clear of the texts placed so far, 0 for one that touches one, smooth between."""
    gap, s = APART, canvas.scale
    for box in canvas.placed:
        gap = min(gap, max(box.left / s - right, left - box.right / s, box.top / s - bottom, top - box.bottom / s))
    return smooth(max(gap / APART, 0.0))


def in_order(texts: Sequence[Item]) -> list[Item]:
    """Texts that yield after those that do not, so that they know whom to yield to."""
    return sorted(texts, key=lambda item: bool(getattr(item, "yields", False)))


class Project(Protocol):
    """Projects world points (N, 3) to frame pixels and depth (N, 3)."""

    def __call__(self, points: NDArray[np.float64]) -> NDArray[np.float64]: ...


@dataclass(frozen=True, slots=True)
class Placed:
    """A text as it stands on a frame: box in frame pixels (cap height by advance width), opacity, kind."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    opacity: float
    kind: str
    colour: Colour = TEXT


@dataclass(slots=True)
class Canvas:
    """One frame being lettered: pixels (H, W) uint32, its scale to design pixels, and what has been placed on it."""

    pixels: NDArray[np.uint32]
    frame: int
    beat: float
    project: Project
    log: ClaimLog
    placed: list[Placed] = field(default_factory=list)
    inked: ClassVar[bool] = True  # False leaves only what lies beneath the letters: for measuring their contrast

    @property
    def scale(self) -> float:
        return float(self.pixels.shape[0] / DESIGN_HEIGHT)

    def write(
        self,
        text: str,
        style: Style,
        x: float,
        y: float,
        align: Align = "left",
        opacity: float = 1.0,
        kind: str = "text",
        veiled: bool = True,
    ) -> float:
        """Set text with its baseline at design pixels (x, y); returns its advance width in design pixels.

        Where the picture beneath is too bright for it, a soft veil goes under it first (`veiled`).
        """
        if not text or opacity <= 0.004:
            return 0.0
        scale = self.scale
        style = style.coloured(readable(style.colour))
        pixels, ox, oy, width, cap = sprite(text, style, scale, "whole" if self.inked else "halo")
        left = x * scale - {"left": 0.0, "centre": width / 2, "right": width}[align]
        baseline = y * scale
        if veiled and (words := text.strip()):  # not beneath its spaces: beside them other words may stand
            first = left + width - sprite(text.lstrip(), style, scale)[3] if words != text else left
            last = left + sprite(text.rstrip(), style, scale)[3] if words != text else left + width
            self.veil(first / scale, (baseline - cap) / scale, last / scale, y, style.colour, opacity)
        blit_smooth(self.pixels, pixels, left - ox, baseline - oy, opacity)
        if opacity > VISIBLE:
            self.placed.append(Placed(text, left, baseline - cap, left + width, baseline, opacity, kind, style.colour))
        return width / scale

    def claim(self, shown: Figure, style: Style, x: float, y: float, align: Align = "left", opacity: float = 1.0) -> float:
        """Set a figure and log it as a claim of this frame."""
        if opacity > VISIBLE:
            self.log.saw(shown, self.frame)
        return self.write(shown.text, style, x, y, align, opacity, "figure")

    def disc(self, x: float, y: float, radius: float, colour: tuple[float, float, float], opacity: float = 1.0) -> None:
        """A filled disc at design pixels."""
        s = self.scale
        red, green, blue = (channel * 255 for channel in colour)
        fill_disc(self.pixels, x * s, y * s, radius * s, red, green, blue, opacity)

    def line(self, x0: float, y0: float, x1: float, y1: float, width: float, colour: Colour, opacity: float = 1.0) -> None:
        """A line with round ends between two points in design pixels."""
        s = self.scale
        red, green, blue = (channel * 255 for channel in colour)
        fill_segment(self.pixels, x0 * s, y0 * s, x1 * s, y1 * s, width * s / 2, red, green, blue, opacity)

    def veil(self, left: float, top: float, right: float, bottom: float, colour: Colour, opacity: float = 1.0) -> None:
        """Darken what lies beneath a box (design pixels) as far as text of a colour needs it to be read there."""
        s, (across, up, soft) = self.scale, PLATE
        limit = max(0.004, (luminance(colour) + 0.05) / CONTRAST - 0.05)
        veil(
            self.pixels, (left - across) * s, (top - up) * s, (right + across) * s, (bottom + up) * s, soft * s, limit,
            min(1.0, opacity),
        )  # fmt: skip

    def shade(self, x0: float, y0: float, x1: float, y1: float, amount: float) -> None:
        """Darken a rectangle given in design pixels."""
        s = self.scale
        darken(self.pixels, round(x0 * s), round(y0 * s), round(x1 * s), round(y1 * s), amount)

    def pin(self, point: Sequence[float]) -> tuple[float, float, float]:
        """Design pixels and depth of a world point; depth is <= 0 behind the camera."""
        x, y, depth = self.project(np.asarray([point], float))[0]
        return float(x) / self.scale, float(y) / self.scale, float(depth)


class Item(Protocol):
    """Anything that letters a frame."""

    def draw(self, canvas: Canvas) -> None: ...


@dataclass(slots=True)
class Text:
    """A line of text at a place of the frame (design pixels, baseline) or pinned to a point of the world plus an offset.

    With `yields` it fades out where it would come near the HUD, the lyric line, the lamps or the frame's border.
    """

    text: str | Callable[[float], str]
    style: Style
    x: Value = 0.0
    y: Value = 0.0
    align: Align = "left"
    opacity: Value = 1.0
    at: Point | None = None
    kind: str = "text"
    yields: bool = False

    def place(self, canvas: Canvas) -> tuple[float, float, bool]:
        x, y = value_at(self.x, canvas.beat), value_at(self.y, canvas.beat)
        if self.at is None:
            return x, y, True
        px, py, depth = canvas.pin(self.at(canvas.beat) if callable(self.at) else self.at)
        return px + x, py + y, depth > 0.3

    def draw(self, canvas: Canvas) -> None:
        x, y, ahead = self.place(canvas)
        if ahead:
            text = self.text(canvas.beat) if callable(self.text) else self.text
            opacity = value_at(self.opacity, canvas.beat)
            if text and opacity > 0.004:
                x, y, clear = self.stand(canvas, text, x, y)
                opacity *= clear
            canvas.write(text, self.style, x, y, self.align, opacity, self.kind)

    def stand(self, canvas: Canvas, text: str, x: float, y: float) -> tuple[float, float, float]:
        """Where this text stands (its baseline, kept inside the safe area if pinned), and how clear of others it is, 0..1."""
        if self.at is None and not self.yields:
            return x, y, 1.0
        width, cap = (v / canvas.scale for v in measure_text(text, self.style, canvas.scale))
        left = x - {"left": 0.0, "centre": width / 2, "right": width}[self.align]
        dx, dy, clear = kept_inside(left, y - cap, left + width, y) if self.at is not None else (0.0, 0.0, 1.0)
        x, y, left = x + dx, y + dy, left + dx
        if self.yields:
            box = (left, y - cap, left + width, y)
            clear = min(clear, clearance(*box), apart(canvas, *box))
        return x, y, clear


@dataclass(slots=True)
class Number:
    """A figure of the measurements on the frame or in the world; every frame that shows it is logged as a claim."""

    figure: Figure
    style: Style
    x: Value = 0.0
    y: Value = 0.0
    align: Align = "left"
    opacity: Value = 1.0
    at: Point | None = None
    yields: bool = False

    def draw(self, canvas: Canvas) -> None:
        anchor = Text(self.figure.text, self.style, self.x, self.y, self.align, at=self.at)
        x, y, ahead = anchor.place(canvas)
        opacity = value_at(self.opacity, canvas.beat)
        if ahead and opacity > 0.004:
            anchor.yields = self.yields
            x, y, clear = anchor.stand(canvas, self.figure.text, x, y)
            canvas.claim(self.figure, self.style, x, y, self.align, opacity * clear)


@dataclass(slots=True)
class Run:
    """A line of differently coloured parts on one baseline, each with its own opacity: code that assembles term by term."""

    parts: Sequence[tuple[str | Callable[[float], str], Style, Value]]
    x: Value = 0.0
    y: Value = 0.0
    opacity: Value = 1.0
    align: Align = "left"

    def draw(self, canvas: Canvas) -> None:
        beat = canvas.beat
        texts = [(text(beat) if callable(text) else text, style, shown) for text, style, shown in self.parts]
        width = sum(sprite(text, style, canvas.scale)[3] for text, style, _ in texts if text) / canvas.scale
        x = value_at(self.x, beat) - {"left": 0.0, "centre": width / 2, "right": width}[self.align]
        y, opacity = value_at(self.y, beat), value_at(self.opacity, beat)
        tallest = max((measure_text(text, style, canvas.scale)[1] for text, style, _ in texts if text), default=0.0)
        placed = []
        for text, style, shown in texts:
            if text:
                placed.append((text, style, x, opacity * value_at(shown, beat)))
                x += sprite(text, style, canvas.scale)[3] / canvas.scale
        # beneath each part as far as it shows: a part that is not there yet must not darken another line in its place
        for text, style, left, part in placed:
            if part > VISIBLE and text.strip():
                right = left + sprite(text, style, canvas.scale)[3] / canvas.scale
                canvas.veil(left, y - tallest / canvas.scale, right, y, QUIET, part)
        for text, style, left, part in placed:
            canvas.write(text, style, left, y, "left", part, veiled=False)
