"""What is wrong with the texts of a frame: text over text, out of the safe area, too small, read at less than 4.5:1.

    PYTHONPATH=. .venv/bin/python tests/scenes/helpers/laid_out.py [FILE|NAME|KIND] [SCENE ...]

lists it for every second beat of the film over a measurement file, or over one of `gpus.KINDS` (all of them, where none is
named); ends with 1 where anything is wrong.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import gpus
import numpy as np
from numpy.typing import NDArray
from staging import small_frames, staged

from scenes import film
from scenes.stage.overlay import Canvas, Placed
from scenes.stage.passage import Passage

WIDTH, HEIGHT = 640, 360
SAFE = 0.05
ROUNDING = 0.6  # px by which a font's size is rounded at this height
LINEAR = np.array([c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in np.arange(256) / 255])  # WCAG 2.2


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


def over(scene: Passage, beats: Iterable[float]) -> tuple[int, list[str]]:
    """How many texts stand on the frames of these beats, and their faults; letters are not drawn while it looks."""
    found, texts = [], 0
    inked, Canvas.inked = Canvas.inked, False
    try:
        for beat in beats:
            pixels = np.zeros((HEIGHT, WIDTH), np.uint32)
            scene.paint(scene.clock.frame(float(beat)), pixels)
            placed = [box for box in scene.placed if box.kind != "lyric-lit"]  # a lit word stands on itself
            texts += len(placed)
            found += [f"beat {beat:g}: {fault}" for fault in faults(placed, pixels)]
    finally:
        Canvas.inked = inked
    return texts, found


def listed(spec: str | Path, rows: Iterable[film.Row]) -> Iterator[str]:
    """The faults of these rows over a measurement file, and the scenes that cannot be built on it."""
    for row in rows:
        try:
            with small_frames(WIDTH, HEIGHT):
                scene = staged(row, spec)
            lines = over(scene, np.arange(0.0, scene.clock.beats, 2.0))[1]
        except Exception as problem:
            lines = [f"not drawn: {type(problem).__name__}: {problem}"]
        yield from (f"{Path(spec).stem} {row.name} {line}" for line in lines)


def main(words: list[str]) -> int:
    """List what is wrong; returns 1 where anything is."""
    names = {row.name for row in film.FILM}
    rows = [row for row in film.FILM if row.name in words] or list(film.FILM)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for spec in [word for word in words if word not in names] or list(gpus.KINDS):
            file = gpus.write(spec, Path(folder) / f"{spec}.json") if spec in gpus.KINDS else spec
            for line in listed(file, rows):
                print(line, flush=True)
                wrong += 1
    print(f"{wrong} faults")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
