"""A second opinion on the flash check: what IRIS, Electronic Arts' published analyser, says of the same films.

Its verdicts are recorded in `helpers/iris_verdicts.json`, from its port to Python (iris-pse-detection 1.1.2, MIT; the original
is BSD-3, github.com/electronicarts/IRIS), and are taken anew where that is installed: it brings OpenCV with Qt, too much to
ask of everybody. Both follow WCAG 2.2, 2.3.1, and both have IRIS's extended rule; IRIS tells the worse of the two only. They
differ in the area that counts: a quarter of the screen there, a quarter of a field of vision (1/36 of the screen) here.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from scenes.render.flash import scan

RECORDED = Path(__file__).parent / "helpers" / "iris_verdicts.json"
FPS = 30
HEIGHT, WIDTH = 36, 64
Frame = NDArray[np.uint8]
Colour = tuple[int, int, int]
BLACK, WHITE, RED, BLUE = (0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 0, 255)
BRICK = (255, 90, 90)  # R/(R + G + B) of 0.83
MAGENTA = (255, 43, 214)  # the film's own
SHORT, LONG = 3.0, 8.0  # seconds: the extended rule looks at five


def grey(luminance: float) -> Colour:
    """The sRGB grey of a relative luminance (IEC 61966-2-1)."""
    code = 12.92 * luminance if luminance <= 0.0031308 else 1.055 * luminance ** (1 / 2.4) - 0.055
    return (round(255 * code),) * 3


def square(hertz: float, seconds: float, share: float = 1.0, a: Colour = BLACK, b: Colour = WHITE) -> Iterator[Frame]:
    """A rectangle of `share` of the screen that is `b` in the first half of every period."""
    height, width = round(HEIGHT * share**0.5), round(WIDTH * share**0.5)
    for index in range(round(seconds * FPS)):
        frame = np.full((HEIGHT, WIDTH, 3), a, np.uint8)
        if index * hertz / FPS % 1 < 0.5:
            frame[:height, :width] = b
        yield frame


def fade(hertz: float, seconds: float, low: float, high: float) -> Iterator[Frame]:
    """The whole screen up and down between two luminances, evenly."""
    for index in range(round(seconds * FPS)):
        up = 1.0 - abs(2.0 * (index * hertz / FPS % 1) - 1.0)
        yield np.full((HEIGHT, WIDTH, 3), grey(low + (high - low) * up), np.uint8)


def beats(a_minute: float, every: int) -> Iterator[Frame]:
    """A tenth of a second of white on every so many beats, as music videos have it, for twelve seconds."""
    for index in range(12 * FPS):
        yield np.full((HEIGHT, WIDTH, 3), 255 if index / FPS % (60 / a_minute * every) < 0.1 else 0, np.uint8)


PAIRS = {
    "black and white": (BLACK, WHITE), "black and red": (BLACK, RED), "grey and red as light": (grey(0.2126), RED),
    "blue and red": (BLUE, RED), "blue and brick": (BLUE, BRICK), "black and magenta": (BLACK, MAGENTA),
    "too small a change": (grey(0.2), grey(0.28)), "too light": (grey(0.84), grey(0.98)),
}  # fmt: skip
TIMES = [(hertz, seconds) for hertz in (2, 3, 4) for seconds in (SHORT, LONG)]
Film = Callable[[], Iterator[Frame]]
FILMS: dict[str, Film] = {
    **{f"{name}, {hz} Hz, {s:g} s": functools.partial(square, hz, s, 1.0, a, b)
       for name, (a, b) in PAIRS.items() for hz, s in TIMES},
    **{f"{share:.0%}, {hz} Hz, {s:g} s": functools.partial(square, hz, s, share)
       for share in (0.3, 0.2, 0.02) for hz, s in TIMES},
    **{f"fade {low:g} to {high:g}, {hz} Hz, {s:g} s": functools.partial(fade, hz, s, low, high)
       for low, high in ((0.0, 1.0), (0.1, 0.19), (0.1, 0.3), (0.82, 0.98)) for hz, s in [(1, SHORT), (1, LONG), *TIMES]},
    **{f"every {every} of {bpm} beats a minute": functools.partial(beats, bpm, every)
       for bpm, every in ((132, 1), (132, 2), (132, 4), (100, 1), (174, 2), (190, 1))},
}  # fmt: skip


def iris(frames: Iterator[Frame]) -> list[str]:
    """IRIS's verdict, by its own classes."""
    configuration = importlib.import_module("iris_pse_detection.configuration").Configuration()
    detection = importlib.import_module("iris_pse_detection.flash_detection").FlashDetection(
        FPS, (HEIGHT, WIDTH), configuration
    )
    for index, frame in enumerate(frames):
        detection.set_current_frame(np.ascontiguousarray(frame[:, :, ::-1]))
        detection.analyse_frame(index)
    tracker, found = detection.transition_tracker, list[str]()
    for kind, result in (("general", tracker.luminance_results), ("red", tracker.red_results)):
        if result.flash_fail:
            found.append(kind)
        elif result.extended_fail:
            found.append(f"{kind}, extended")
    return found


def ours(frames: Iterator[Frame]) -> list[str]:
    found = {str(one.kind) for one in scan(frames, FPS)}
    return sorted(kind for kind in found if "extended" not in kind or kind.partition(",")[0] not in found)


def recorded() -> dict[str, list[str]]:
    verdicts: dict[str, list[str]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return verdicts


@pytest.mark.parametrize("name", [name for name in FILMS if not name.startswith("20%")])
def test_both_say_the_same(name: str) -> None:
    assert ours(FILMS[name]()) == recorded()[name]


@pytest.mark.parametrize("name", [name for name in FILMS if name.startswith("20%")])
def test_between_their_areas_the_field_of_vision_is_stricter(name: str) -> None:
    """20 % of the screen is less than a quarter of it, and more than a quarter of any field in it: as all of the screen is."""
    assert recorded()[name] == []
    assert ours(FILMS[name]()) == recorded()[name.replace("20%", "black and white")]


def test_the_verdicts_are_those_of_iris() -> None:
    pytest.importorskip("iris_pse_detection", reason="no IRIS here: pip install iris-pse-detection", exc_type=ImportError)
    assert recorded() == {name: iris(film()) for name, film in FILMS.items()}
