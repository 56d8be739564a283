"""Type: sizes from the fonts' own tables, the 2.2 % rule, blending against the formula of 'over'."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import ImageFont

from scenes.stage import type as lettering
from scenes.stage.blit import blit_smooth
from scenes.stage.type import (
    CODE,
    FACT,
    HEADLINE,
    LABEL,
    LYRIC,
    NUMBER,
    SMALL,
    FontError,
    Style,
    load_font,
    sprite,
)


@pytest.mark.parametrize("style", [HEADLINE, LYRIC, NUMBER, FACT, CODE, LABEL, SMALL])
def test_capitals_are_at_least_2_2_percent_of_the_frame_high(style: Style) -> None:
    _, _, _, _, cap = sprite("H", style, 1.0)
    assert cap >= 0.022 * 1080


@pytest.mark.parametrize(("scale", "height"), [(480 / 1080, 480), (720 / 1080, 720), (2.0, 2160)])
def test_facts_keep_their_share_of_the_frame_at_every_quality(scale: float, height: int) -> None:
    assert sprite("H", SMALL, scale)[4] >= 0.022 * height - 0.6


def test_the_advance_is_the_font_s_own() -> None:
    font = ImageFont.truetype(lettering.FONTS / "JetBrainsMono-Bold.ttf", 42, layout_engine=ImageFont.Layout.BASIC)
    assert sprite("65.2 TFLOP/s", FACT, 1.0)[3] == font.getlength("65.2 TFLOP/s")


def test_a_missing_font_is_an_error_and_no_other_takes_its_place() -> None:
    with pytest.raises(FontError, match="font 'Nowhere-Bold' is missing"):
        load_font("Nowhere-Bold", 20)


def test_blending_is_premultiplied_over() -> None:
    out = np.full((3, 3), 0xFF000000 | 100 | 50 << 8 | 200 << 16, np.uint32)
    half = np.array([[128 << 24 | 64 | 32 << 8 | 0 << 16]], np.uint32)
    blit_smooth(out, half, 1.0, 1.0, 1.0)
    expected = [round(s + u * (1 - 128 / 255)) for s, u in zip((64, 32, 0), (100, 50, 200), strict=True)]
    got = [int(out[1, 1]) >> shift & 255 for shift in (0, 8, 16)]
    assert got == expected
    assert int(out[0, 0]) == int(out[2, 2]) == 0xFF000000 | 100 | 50 << 8 | 200 << 16


def test_a_fractional_place_keeps_the_ink() -> None:
    ink = np.array([[255 << 24 | 200]], np.uint32)
    out = np.full((4, 4), 0xFF000000, np.uint32)
    blit_smooth(out, ink, 1.5, 1.25, 1.0)
    assert [int(v) & 255 for v in (out[1, 1], out[1, 2], out[2, 1], out[2, 2])] == [75, 75, 25, 25]


def test_text_at_the_border_is_clipped() -> None:
    out = np.full((20, 20), 0xFF000000, np.uint32)
    pixels = sprite("Wide text", FACT, 1.0)[0]
    for x, y in ((-300.5, -10.0), (15.0, 18.0), (-5.0, 400.0)):
        blit_smooth(out, pixels, x, y, 1.0)
    assert out.shape == (20, 20)
