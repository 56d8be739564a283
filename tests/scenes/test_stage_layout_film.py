"""Every scene of the film at every second beat: no text over text, all in the safe area, large enough, read at 4.5:1."""

from __future__ import annotations

import numpy as np
import pytest
from manim import tempconfig
from numpy.typing import NDArray

from audio import tracks
from measure.dataset import Dataset
from scenes import film
from scenes.stage.overlay import Canvas, Placed
from scenes.stage.passage import Context, Passage, Window

WIDTH, HEIGHT = 640, 360
SAFE = 0.05
ROUNDING = 0.6  # px by which a font's size is rounded at this height
LINEAR = np.array([c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in np.arange(256) / 255])  # WCAG 2.2


def staged(row: film.Row, file: str) -> Passage:
    """A passage that has been keyed, none of whose frames has been drawn."""
    with tempconfig({"pixel_width": WIDTH, "pixel_height": HEIGHT, "frame_rate": 30}):
        context = Context(Dataset.open([file]), tracks.default().timeline, row.first_bar, row.bars)
        scene = row.load()(context, Window(0, 0))
        scene.setup()
        scene.construct()
    return scene


def beneath(pixels: NDArray[np.uint32], box: Placed) -> float:
    """Luminance of the brightest fiftieth of a box of a frame without letters."""
    part = pixels[max(0, int(box.top)) : int(box.bottom) + 1, max(0, int(box.left)) : int(box.right) + 1]
    light = sum(LINEAR[part >> shift & 255] * share for shift, share in ((0, 0.2126), (8, 0.7152), (16, 0.0722)))
    return float(np.percentile(light, 98))


def ratio(a: float, b: float) -> float:
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


def of_colour(colour: tuple[float, float, float]) -> float:
    return float(sum(LINEAR[round(c * 255)] * share for c, share in zip(colour, (0.2126, 0.7152, 0.0722), strict=True)))


def faults(placed: list[Placed], pixels: NDArray[np.uint32]) -> list[str]:
    """What is wrong with the texts of a frame, in words."""
    found = []
    for k, box in enumerate(placed):
        left, right, top, bottom = box.left / WIDTH, box.right / WIDTH, box.top / HEIGHT, box.bottom / HEIGHT
        if min(left, top, 1 - right, 1 - bottom) < SAFE - ROUNDING / HEIGHT:
            found.append(f"{box.text!r} leaves the safe area: {left:.3f} {top:.3f} {right:.3f} {bottom:.3f}")
        if box.bottom - box.top < 0.022 * HEIGHT - ROUNDING:
            found.append(f"{box.text!r} is {box.bottom - box.top:.1f} px high")
        for other in placed[:k]:
            if left < other.right / WIDTH and other.left / WIDTH < right and box.top < other.bottom and other.top < box.bottom:
                found.append(f"{box.text!r} stands on {other.text!r}")
        if box.opacity > 0.9 and ratio(of_colour(box.colour), beneath(pixels, box)) < 4.5:
            found.append(f"{box.text!r} is read at {ratio(of_colour(box.colour), beneath(pixels, box)):.2f} to 1")
    return found


@pytest.mark.parametrize("file", ["nvidia-h200", "rtx-3090-published"])
@pytest.mark.parametrize("row", film.FILM, ids=lambda row: row.name)
def test_every_second_beat_is_laid_out(row: film.Row, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = staged(row, file)
    monkeypatch.setattr(Canvas, "inked", False)
    found, texts = [], 0
    for beat in np.arange(0.0, scene.clock.beats, 2.0):
        pixels = np.zeros((HEIGHT, WIDTH), np.uint32)
        scene.paint(scene.clock.frame(float(beat)), pixels)
        placed = [box for box in scene.placed if box.kind != "lyric-lit"]  # a lit word stands on itself
        texts += len(placed)
        found += [f"beat {beat:g}: {fault}" for fault in faults(placed, pixels)]
    assert (texts > 4 or row.name == "title") and not found, "\n".join(found)  # the title's words stand in the world
