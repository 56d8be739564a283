"""Type: text as cached sprites.  Sizes are in design pixels of a 1920 x 1080 frame and scale with the frame's height."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from scenes.stage.jit import i4, kernel
from scenes.stage.palette import QUIET, TEXT, Colour, mix

DESIGN_WIDTH, DESIGN_HEIGHT = 1920, 1080
FONTS = Path(__file__).parent / "fonts"
Align = Literal["left", "centre", "right"]
Sprite = NDArray[np.uint32]

# Both faces have capitals 0.73 em high, so 33 design pixels give the 24 (2.2 % of the frame) that a fact needs.
SMALLEST = 33
LEAST_LUMINANCE = 0.245  # 4.5 to 1 on the brightest haze of the ground, 0.015


class FontError(RuntimeError):
    """A bundled font file is missing or cannot be read."""


@dataclass(frozen=True, slots=True)
class Style:
    """A text style: font file stem, size in design pixels, colour."""

    font: str
    size: float
    colour: Colour = TEXT

    def coloured(self, colour: Colour) -> Style:
        return Style(self.font, self.size, colour)

    def sized(self, size: float) -> Style:
        return Style(self.font, size, self.colour)


HEADLINE = Style("InterDisplay-Bold", 112)
LYRIC = Style("InterDisplay-Bold", 58)
NUMBER = Style("JetBrainsMono-Bold", 76)
FACT = Style("JetBrainsMono-Bold", 42)
CODE = Style("JetBrainsMono-Bold", 46)
LABEL = Style("JetBrainsMono-Medium", 34)
SMALL = Style("JetBrainsMono-Medium", SMALLEST, QUIET)


def luminance(colour: Colour) -> float:
    """Relative luminance 0..1 of an sRGB colour (WCAG 2.2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@functools.lru_cache(maxsize=4096)
def readable(colour: Colour) -> Colour:
    """The colour, or where it is too dark for text on the ground as much of it with white as reaches 4.5 to 1."""
    low, high = 0.0, 1.0
    if luminance(colour) >= LEAST_LUMINANCE:
        return colour
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if luminance(mix(colour, TEXT, middle)) >= LEAST_LUMINANCE else (middle, high)
    return mix(colour, TEXT, high)


@functools.cache
def load_font(name: str, pixels: int) -> ImageFont.FreeTypeFont:
    """A bundled face at a pixel size.  Raises FontError: nothing falls back to a font that happens to be installed."""
    for suffix in (".ttf", ".otf"):
        path = FONTS / f"{name}{suffix}"
        if path.exists():
            return ImageFont.truetype(path, pixels, layout_engine=ImageFont.Layout.BASIC)
    raise FontError(f"font {name!r} is missing from {FONTS.name}/: restore scenes/stage/fonts from the repository")


STYLES = {
    "headline": HEADLINE, "lyric": LYRIC, "number": NUMBER, "fact": FACT, "code": CODE, "label": LABEL, "small": SMALL,
}  # fmt: skip
Part = Literal["whole", "ink", "halo"]


@functools.lru_cache(maxsize=2048)
def sprite(text: str, style: Style, scale: float, part: Part = "whole") -> tuple[Sprite, float, float, float, float]:
    """Text as premultiplied RGBA with a dark halo, or one of the two alone.

    Returns (pixels (h, w) uint32, x and y of the text origin inside the sprite, advance width, cap height), in frame pixels;
    the origin is the left end of the baseline.
    """
    font = load_font(style.font, max(1, round(style.size * scale)))
    ascent, descent = font.getmetrics()
    width = max(1.0, font.getlength(text))
    pad = int(np.ceil(16 * scale)) if part != "ink" else 2
    size = (int(np.ceil(width)) + 2 * pad + 2, ascent + descent + 2 * pad)
    ink = Image.new("L", size, 0)
    ImageDraw.Draw(ink).text((pad, pad), text, font=font, fill=255)
    alpha = np.asarray(ink, np.float32) / 255
    total = alpha
    if part != "ink":
        dark = np.asarray(ink.filter(ImageFilter.GaussianBlur(5.5 * scale)), np.float32) / 255
        alpha = alpha if part == "whole" else np.zeros_like(alpha)
        total = alpha + (1 - alpha) * np.minimum(1.0, dark * 1.5) * 0.8
    planes = [np.uint32(1) * np.round(alpha * channel * 255).astype(np.uint32) for channel in style.colour]
    opacity = np.round(total * 255).astype(np.uint32)
    pixels = planes[0] | planes[1] << np.uint32(8) | planes[2] << np.uint32(16) | opacity << np.uint32(24)
    cap = -float(font.getbbox("H", anchor="ls")[1])
    return np.ascontiguousarray(pixels), float(pad), float(pad + ascent), width, cap


def measure_text(text: str, style: Style, scale: float) -> tuple[float, float]:
    """(advance width, cap height) in frame pixels."""
    _, _, _, width, cap = sprite(text, style, scale)
    return width, cap


@kernel
def fill_disc(out: Sprite, x: float, y: float, radius: float, red: float, green: float, blue: float, opacity: float) -> None:
    """An anti-aliased disc on out (H, W) uint32; colour 0..255."""
    height, width = out.shape
    for j in range(max(0, int(y - radius - 1)), min(height, int(y + radius + 2))):
        for i in range(max(0, int(x - radius - 1)), min(width, int(x + radius + 2))):
            distance = np.sqrt((i + 0.5 - x) ** 2 + (j + 0.5 - y) ** 2)
            cover = min(1.0, max(0.0, radius - distance + 0.5)) * opacity
            if cover > 0:
                under = out[j, i]
                r = (under & np.uint32(255)) * (1 - cover) + red * cover + 0.5
                g = ((under >> np.uint32(8)) & np.uint32(255)) * (1 - cover) + green * cover + 0.5
                b = ((under >> np.uint32(16)) & np.uint32(255)) * (1 - cover) + blue * cover + 0.5
                out[j, i] = np.uint32(0xFF000000) | np.uint32(r) | np.uint32(g) << np.uint32(8) | np.uint32(b) << np.uint32(16)


@kernel
def darken(out: Sprite, x0: int, y0: int, x1: int, y1: int, amount: float) -> None:
    """Multiply a rectangle by 1 - amount: dips between scenes, plates under text."""
    keep = np.uint32(256 * (1 - amount))
    for j in range(max(0, y0), min(out.shape[0], y1)):
        row = out[j]
        for i in range(max(0, x0), min(out.shape[1], x1)):
            p = row[i]
            rb = (((p & np.uint32(0xFF00FF)) * keep) >> np.uint32(8)) & np.uint32(0xFF00FF)
            g = (((p & np.uint32(0xFF00)) * keep) >> np.uint32(8)) & np.uint32(0xFF00)
            row[i] = np.uint32(0xFF000000) | rb | g


@kernel
def fill_segment(
    out: Sprite, x0: float, y0: float, x1: float, y1: float, half: float, red: float, green: float, blue: float, opacity: float
) -> None:
    """An anti-aliased line from (x0, y0) to (x1, y1) with round ends, `half` px to either side; colour 0..255."""
    height, width = out.shape
    dx, dy = x1 - x0, y1 - y0
    square = max(dx * dx + dy * dy, 1e-9)
    for j in range(max(0, int(min(y0, y1) - half - 1)), min(height, int(max(y0, y1) + half + 2))):
        for i in range(max(0, int(min(x0, x1) - half - 1)), min(width, int(max(x0, x1) + half + 2))):
            along = min(1.0, max(0.0, ((i + 0.5 - x0) * dx + (j + 0.5 - y0) * dy) / square))
            distance = np.sqrt((i + 0.5 - x0 - along * dx) ** 2 + (j + 0.5 - y0 - along * dy) ** 2)
            cover = min(1.0, max(0.0, half - distance + 0.5)) * opacity
            if cover > 0:
                under = out[j, i]
                r = (under & np.uint32(255)) * (1 - cover) + red * cover + 0.5
                g = ((under >> np.uint32(8)) & np.uint32(255)) * (1 - cover) + green * cover + 0.5
                b = ((under >> np.uint32(16)) & np.uint32(255)) * (1 - cover) + blue * cover + 0.5
                out[j, i] = np.uint32(0xFF000000) | np.uint32(r) | np.uint32(g) << np.uint32(8) | np.uint32(b) << np.uint32(16)


@kernel
def veil(out: Sprite, x0: float, y0: float, x1: float, y1: float, feather: float, limit: float, opacity: float) -> None:
    """Dim what is brighter than luminance `limit` (0..1) down to it inside a rectangle, ever less over `feather` px around it.

    What is darker stays as it is, so that no plate shows where none is needed.
    """
    height, width = out.shape
    first, last = max(0, int(x0 - feather)), min(width, int(x1 + feather) + 1)
    least = i4(min(limit, 1.0) * 0.999999 * 650250000.0)
    m = i4(255)
    for j in range(max(0, int(y0 - feather)), min(height, int(y1 + feather) + 1)):
        peak, under = i4(0), out[j, first : max(first, last)]
        for i in range(under.size):  # whole numbers and no branch, so that it vectorises: most rows are dark enough
            q = i4(under[i])
            red4, green4, blue4 = i4(q & m), i4(i4(q >> i4(8)) & m), i4(i4(q >> i4(16)) & m)
            peak = max(peak, i4(i4(2126) * red4 * red4 + i4(7152) * green4 * green4 + i4(722) * blue4 * blue4))
        if peak <= least:
            continue
        v = max(0.0, 1.0 - max(y0 - j, j - y1, 0.0) / feather)
        v *= v * (3 - 2 * v) * opacity
        for i in range(first, last):
            p = out[j, i]
            r, g = float(p & np.uint32(255)), float((p >> np.uint32(8)) & np.uint32(255))
            b = float((p >> np.uint32(16)) & np.uint32(255))
            light = (0.2126 * r * r + 0.7152 * g * g + 0.0722 * b * b) / 65025.0  # sRGB's curve is near a square
            if light <= limit:
                continue
            u = max(0.0, 1.0 - max(x0 - i, i - x1, 0.0) / feather)
            keep = 1.0 - (1.0 - np.sqrt(limit / light)) * u * u * (3 - 2 * u) * v
            red, green, blue = np.uint32(r * keep + 0.5), np.uint32(g * keep + 0.5), np.uint32(b * keep + 0.5)
            out[j, i] = np.uint32(0xFF000000) | red | green << np.uint32(8) | blue << np.uint32(16)
