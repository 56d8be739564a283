"""The layout pass: labels that keep apart and inside in orbit and never jump; veils; live digits; texts that yield."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from measure.dataset import Reading
from measure.records import Device, Quantity
from scenes.stage.camera import Camera
from scenes.stage.claims import ClaimLog, Figure, figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Track
from scenes.stage.layout import Label, Labels, _cheapest
from scenes.stage.overlay import Canvas, Placed, Text, in_order
from scenes.stage.palette import COMPUTE, QUIET, TEXT
from scenes.stage.type import FACT, LABEL, NUMBER, SMALL, Style, luminance, readable, sprite

BEATS = 16.0
PEAK = figure(Reading("roofs.fp32", Quantity(65.2449, "TFLOP/s", "measured"), Device("NVIDIA Test", "test"), "test-file"), 1)
CORNERS = [(x, y, z) for x in (-1.5, 0.0, 1.5) for y in (-0.6, 0.6) for z in (0.4, 1.1)]


def camera(beat: float) -> Camera:
    return Camera.orbit((0, 0, 0.8), 11 - 0.2 * beat, -60 + 8 * beat, 18)


def view(beat: float, points: NDArray[np.float64]) -> NDArray[np.float64]:
    return camera(beat).project(points, 1920, 1080)


def page(beat: float, height: int = 180, grey: int = 0) -> Canvas:
    pixels = np.full((height, height * 16 // 9), 0xFF000000 | grey * 0x010101, np.uint32)
    width = pixels.shape[1]
    return Canvas(pixels, round(60 * beat), beat, lambda p: camera(beat).project(p, width, height), ClaimLog("test"))


def crowd(count: int = 6) -> Labels:
    lines: list[tuple[str | Figure, Style]] = [("SM load path", SMALL), (PEAK, FACT)]
    return Labels([Label(lines, at) for at in CORNERS[:count]], view, BEATS)


def boxes(canvas: Canvas) -> list[Placed]:
    return [box for box in canvas.placed if box.opacity > 0.05]


def overlap(a: Placed, b: Placed) -> bool:
    return a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom


def test_six_labels_in_orbit_never_touch_nor_leave_the_safe_area_and_stay_readable() -> None:
    labels, seen, frames = crowd(), 0.0, 0
    for beat in np.arange(0.0, BEATS, 0.21):
        canvas = page(float(beat))
        labels.draw(canvas)
        shown = boxes(canvas)
        assert not any(overlap(a, b) for a, b in combinations(shown, 2))
        width, height = 320, 180
        assert all(b.left >= 0.05 * width - 0.7 and b.right <= 0.95 * width + 0.7 for b in shown)
        assert all(b.top >= 0.05 * height - 0.7 and b.bottom <= 0.95 * height + 0.7 for b in shown)
        seen += sum(box.opacity for box in shown) / 12
        frames += 1
    assert seen / frames > 0.85  # two lines a label: they are shown, not only hidden


def test_labels_glide_and_never_jump() -> None:
    """At 60 frames a second and 120 beats a minute no label moves against its point by more than 12 px a frame."""
    labels = crowd()
    for which in range(6):
        path = np.array([labels.offset(which, beat) for beat in np.arange(0.0, BEATS, 1 / 30)])
        assert np.abs(np.diff(path, axis=0)).max() < 12.0


def test_a_place_is_a_function_of_the_beat_alone() -> None:
    forward, backward = crowd(), crowd()
    there = [forward.offset(2, beat) for beat in (0.0, 3.3, 7.7, 12.1)]
    assert [backward.offset(2, beat) for beat in (12.1, 7.7, 3.3, 0.0)][::-1] == there
    first, again = page(5.0), page(5.0)
    forward.draw(first)
    backward.draw(again)
    assert (first.pixels == again.pixels).all()


def test_the_plan_is_the_cheapest_path() -> None:
    """Against every path there is."""
    rng = np.random.default_rng(3)
    cost, switch = rng.random((5, 3)), 0.4 * (1 - np.eye(3))
    every = np.stack(np.meshgrid(*[np.arange(3)] * 5, indexing="ij"), -1).reshape(-1, 5)
    sums = [sum(cost[n, p[n]] for n in range(5)) + sum(switch[a, b] for a, b in pairwise(p)) for p in every]
    assert _cheapest(cost, switch).tolist() == every[int(np.argmin(sums))].tolist()


def test_labels_stand_clear_of_what_they_are_told_to_avoid() -> None:
    taken = (700.0, 200.0, 1900.0, 700.0)
    labels = Labels([Label([("L2", SMALL)], CORNERS[5])], view, BEATS, lambda beat: [taken])
    for beat in (2.0, 6.0, 10.0):
        canvas = page(beat, 1080)
        labels.draw(canvas)
        (box,) = canvas.placed
        assert box.right < taken[0] or box.left > taken[2] or box.bottom < taken[1] or box.top > taken[3]


def test_a_leader_joins_the_label_to_its_point() -> None:
    labels = Labels([Label([("L2", SMALL)], (0.0, 0.0, 0.8), colour=COMPUTE)], view, BEATS)
    canvas = page(4.0, 1080)
    labels.draw(canvas)
    x, y, _ = canvas.pin((0.0, 0.0, 0.8))
    amber = round(255 * COMPUTE[1])
    dot = int(canvas.pixels[int(y), int(x)])
    assert (dot & 255, dot >> 8 & 255) == (255, amber)
    (box,) = canvas.placed
    ex, ey = min(max(x, box.left), box.right), min(max(y, box.top), box.bottom)
    middle = int(canvas.pixels[round((y + ey) / 2 - 0.5), round((x + ex) / 2 - 0.5)])
    assert middle & 255 > 120


def test_a_text_that_yields_leaves_before_it_touches_one_that_stays() -> None:
    fixed = Text("65.2 TFLOP/s", NUMBER, 600, 500)
    opacity = []
    for y in range(380, 500, 4):
        canvas = page(0.0, 1080)
        for item in in_order([Text("math", SMALL, 640, y, yields=True), fixed]):
            item.draw(canvas)
        assert canvas.placed[0].text == "65.2 TFLOP/s"
        shown = [box for box in canvas.placed if box.text == "math"]
        assert not any(overlap(box, canvas.placed[0]) for box in shown)
        opacity.append(shown[0].opacity if shown else 0.0)
    assert opacity[0] == 1.0 and opacity[-1] == 0.0 and max(-np.diff(opacity)) < 0.5


def test_a_pinned_text_slides_along_the_border_of_the_safe_area() -> None:
    for shift, gone in ((0.0, False), (3.0, False), (11.0, True)):
        canvas = page(0.0, 1080)
        point = float(canvas.project(np.array([[0.0, 0.0, 0.0]]))[0, 0])
        Text("10 TFLOP/s", SMALL, 1824 - point - 200 + 10 * shift, 0, at=(0.0, 0.0, 0.0)).draw(canvas)
        if gone:
            assert not canvas.placed
        else:
            assert canvas.placed[0].right <= 1824.01 and canvas.placed[0].opacity == pytest.approx(1.0)


@pytest.mark.parametrize("colour", [TEXT, QUIET, COMPUTE])
def test_text_on_a_bright_beam_is_read_at_4_5_to_1(colour: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Canvas, "inked", False)
    canvas = page(0.0, 1080)
    canvas.pixels[480:540] = 0xFF000000 | 255 | 176 << 8  # amber at full light
    canvas.write("use it many times", SMALL.coloured(colour), 300, 520)
    (box,) = canvas.placed
    part = canvas.pixels[int(box.top) : int(box.bottom) + 1, int(box.left) : int(box.right) + 1]
    linear = [luminance(((int(p) & 255) / 255, (int(p) >> 8 & 255) / 255, (int(p) >> 16 & 255) / 255)) for p in part.ravel()]
    assert (luminance(colour) + 0.05) / (np.percentile(linear, 99) + 0.05) >= 4.5
    assert int(canvas.pixels[510, 1500]) == 0xFF000000 | 255 | 176 << 8  # the beam elsewhere is as it was


def test_a_dark_ground_needs_no_veil() -> None:
    canvas = page(0.0, 540, 12)
    before = canvas.pixels.copy()
    canvas.veil(300, 300, 900, 340, TEXT)
    assert (canvas.pixels == before).all()


def test_a_colour_too_dark_to_read_is_lightened_and_others_are_not() -> None:
    assert readable(TEXT) == TEXT and readable(QUIET) == QUIET
    assert (luminance(readable((0.2, 0.2, 0.25))) + 0.05) / (0.015 + 0.05) >= 4.5


def test_live_digits_keep_their_place_and_rasterise_each_glyph_once() -> None:
    counter = Counter(PEAK, Track(0.0).to(1.0, 8.0, 8.0), NUMBER, 900, 500, "right")
    widths = []
    for beat in (0.0, 1.0, 2.5, 4.0, 6.5, 7.9, 8.0):
        canvas = page(beat, 1080)
        counter.draw(canvas)
        widths.append(canvas.placed[0].right - canvas.placed[0].left)
        assert [claim.text for claim in canvas.log.claims] == (["65.2 TFLOP/s"] if beat == 8.0 else [])
    assert max(widths) - min(widths) < 1e-9
    for digit in "0123456789":
        sprite(digit, NUMBER, 1.0, "halo"), sprite(digit, NUMBER, 1.0, "ink")
    misses = sprite.cache_info().misses
    for beat in np.arange(0.0, 8.0, 0.05):
        counter.draw(page(float(beat), 1080))
    assert sprite.cache_info().misses == misses
    assert counter.text(8.0) == "65.2 TFLOP/s" and counter.text(0.0).strip("\u2007") == "0.0 TFLOP/s"


def test_digits_put_together_look_like_the_line_written_at_once() -> None:
    together, at_once = page(8.0, 1080), page(8.0, 1080)
    Counter(PEAK, lambda beat: 1.0, NUMBER, 300, 500).draw(together)
    at_once.write("65.2 TFLOP/s", NUMBER, 300, 500)
    a, b = (canvas.pixels[420:520, 280:900].astype(float) % 256 for canvas in (together, at_once))
    assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > 0.995


def test_labels_are_large_enough() -> None:
    assert all(sprite("H", style, 1.0)[4] >= 0.022 * 1080 for style in (SMALL, LABEL, FACT, NUMBER))
