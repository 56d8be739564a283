"""The HUD and the lyric line on real pixels: which lamp is lit, which words are bright, what leaves with the HUD."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from audio.timeline import Line, Timeline, Word
from measure.dataset import Dataset
from scenes.stage.claims import ClaimLog, figure
from scenes.stage.clock import Clock
from scenes.stage.hud import LAMP_RADIUS, Hud, Lamps, Ratio, lamp_places
from scenes.stage.lyric import UNSUNG, Lyric
from scenes.stage.overlay import Canvas
from scenes.stage.palette import GROUND, Colour

FPS = 30
WORDS = (Word("every", 1.0, 1.3), Word("thread", 1.3, 1.9), Word("begins", 2.0, 2.6))
BEATS = tuple(0.5 * k for k in range(17))
TRACK = Timeline("test", 8.0, BEATS, (0, 4, 8, 12, 16), lines=(Line(WORDS),))


def canvas(frame: int, height: int = 540) -> Canvas:
    pixels = np.full((height, height * 16 // 9), 0xFF000000, np.uint32)
    clock = Clock(TRACK, 1, 4, FPS)
    return Canvas(pixels, frame, clock.at_frame(frame), lambda points: np.asarray(points, float), ClaimLog("test"))


def brightness(pixels: NDArray[np.uint32], x: float, y: float) -> float:
    p = int(pixels[int(y), int(x)])
    return sum(p >> shift & 255 for shift in (0, 8, 16)) / 3


@pytest.mark.parametrize("beat", range(8))
def test_exactly_the_lamp_of_the_beat_is_lit(beat: int) -> None:
    page = canvas(round(BEATS[beat] * FPS))
    Lamps(Clock(TRACK, 1, 4, FPS)).draw(page)
    lit = [brightness(page.pixels, x * page.scale, y * page.scale) > 150 for x, y in lamp_places(4)]
    assert lit == [k == beat % 4 for k in range(4)]


def test_lamps_are_inside_of_the_safe_area_and_apart() -> None:
    places = lamp_places(4)
    assert all(x + LAMP_RADIUS <= 1920 * 0.95 + 1 and y + LAMP_RADIUS <= 1080 * 0.95 for x, y in places)
    assert all(b[0] - a[0] > 2 * LAMP_RADIUS for a, b in itertools.pairwise(places))


def test_words_light_up_as_they_are_sung() -> None:
    page = canvas(round(1.6 * FPS))
    Lyric(TRACK, 1 / FPS).draw(page)
    assert [p.text for p in page.placed if p.kind == "lyric-lit"] == ["every", "thread"]
    assert [p.text for p in page.placed if p.kind == "lyric"] == ["begins"]


def test_the_line_is_gone_after_its_hold() -> None:
    page = canvas(round(3.6 * FPS))
    Lyric(TRACK, 1 / FPS).draw(page)
    assert page.placed == []


def luminance(colour: Colour) -> float:
    """WCAG 2.2 relative luminance."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_unsung_words_keep_a_contrast_of_4_5_to_1() -> None:
    assert (luminance(UNSUNG) + 0.05) / (luminance(GROUND) + 0.05) >= 4.5


def test_the_hud_says_of_what_its_ratio_is_and_leaves_its_corner_empty_without_one() -> None:
    reading = Dataset.open(["rtx-3090-published"]).get("derived.achieved.gemm_fp32.vectorised")
    assert reading is not None
    told = Ratio(figure(reading, 2, ""), "Vectorised, fp16", "of the fp32 peak, published")
    page, bare, empty = canvas(0, 1080), canvas(0, 1080), canvas(0, 1080)
    Hud("TITLE", "Ch. 2", "GPU", lambda beat: told).draw(page)
    said = [p.text for p in page.placed]
    assert said == ["TITLE", "Ch. 2", "GPU", "ACHIEVED / PEAK", "0.78", "Vectorised, fp16", "of the fp32 peak, published"]
    Hud("TITLE", "Ch. 2", "GPU", lambda beat: None).draw(bare)
    assert [p.text for p in bare.placed] == ["TITLE", "Ch. 2", "GPU"]
    assert (bare.pixels[:300, 1200:] == 0xFF000000).all()
    Hud("TITLE", "Ch. 2", "GPU", lambda beat: told, opacity=0.0).draw(empty)
    assert empty.placed == [] and (empty.pixels == 0xFF000000).all()


def test_a_track_without_words_has_no_lyric_line() -> None:
    page = canvas(round(1.6 * FPS))
    Lyric(Timeline("silent", 8.0, BEATS, (0, 4, 8, 12, 16)), 1 / FPS).draw(page)
    assert page.placed == [] and (page.pixels == 0xFF000000).all()


def test_what_lies_beneath_the_line_does_not_change_as_words_light_up() -> None:
    """Bright picture under the line: after each word the same light is left beside the letters."""

    def beside(seconds: float) -> int:
        page = canvas(round(seconds * FPS))
        page.pixels[:] = 0xFFC0C0C0
        Lyric(TRACK, 1 / FPS).draw(page)
        return int(page.pixels[round(940 * page.scale), 480]) & 255

    assert beside(1.1) == beside(1.5) == beside(2.4) < 0xC0


def test_lamps_that_are_off_are_seen_at_3_to_1() -> None:
    page = canvas(round(BEATS[1] * FPS), 1080)
    Lamps(Clock(TRACK, 1, 4, FPS)).draw(page)
    x, y = lamp_places(4)[0]
    off, rim = (int(page.pixels[int(y), int(x + d)]) for d in (0, LAMP_RADIUS + 2))
    light = [luminance(((p & 255) / 255, (p >> 8 & 255) / 255, (p >> 16 & 255) / 255)) for p in (off, rim)]
    assert (light[0] + 0.05) / (light[1] + 0.05) >= 3.0
