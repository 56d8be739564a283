"""A second opinion on the flash check: IRIS, Electronic Arts' published analyser (github.com/electronicarts/IRIS, BSD-3), in
its port to Python (iris-pse-detection, MIT), sees the same films.

Both follow WCAG 2.2, 2.3.1, and both have IRIS's extended rule; IRIS tells the worse of the two only. They differ in the area
that counts: a quarter of the screen in IRIS, a quarter of a field of vision here, which is stricter (1/36 of the screen).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from scenes.render.flash import scan

FPS = 30
HEIGHT, WIDTH = 36, 64
Frame = NDArray[np.uint8]
Colour = tuple[int, int, int]
BLACK, WHITE, RED, BLUE = (0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 0, 255)
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


def ours(frames: Sequence[Frame]) -> set[str]:
    found = {str(one.kind) for one in scan(iter(frames), FPS)}
    return {kind for kind in found if kind.partition(",")[0] not in found or "extended" not in kind}


def iris(frames: Sequence[Frame]) -> set[str]:
    pytest.importorskip("iris_pse_detection", reason="no IRIS here: pip install iris-pse-detection")
    from iris_pse_detection.configuration import Configuration
    from iris_pse_detection.flash_detection import FlashDetection

    detection = FlashDetection(FPS, (HEIGHT, WIDTH), Configuration())
    for index, frame in enumerate(frames):
        detection.set_current_frame(np.ascontiguousarray(frame[:, :, ::-1]))
        detection.analyse_frame(index)
    tracker, found = detection.transition_tracker, set[str]()
    for kind, result in (("general", tracker.luminance_results), ("red", tracker.red_results)):
        if result.flash_fail:
            found.add(kind)
        elif result.extended_fail:
            found.add(f"{kind}, extended")
    return found


PAIRS = {
    "black and white": (BLACK, WHITE), "black and red": (BLACK, RED), "grey and red, as light": (grey(0.2126), RED),
    "blue and red": (BLUE, RED), "blue and brick": (BLUE, (255, 90, 90)),
    "black and magenta": (BLACK, MAGENTA), "too small a change": (grey(0.2), grey(0.28)),
    "too light": (grey(0.84), grey(0.98)),
}  # fmt: skip


@pytest.mark.parametrize("hertz", [2, 3, 4])
@pytest.mark.parametrize("colours", PAIRS)
def test_whole_screens_that_flash(colours: str, hertz: float) -> None:
    for seconds in (SHORT, LONG):
        frames = list(square(hertz, seconds, 1.0, *PAIRS[colours]))
        assert ours(frames) == iris(frames)


@pytest.mark.parametrize(("share", "fails"), [(0.3, True), (0.02, False)])
def test_areas(share: float, fails: bool) -> None:
    """30 % of the screen is enough for both; 2 % is too little for both."""
    for hertz in (2, 3, 4):
        for seconds in (SHORT, LONG):
            frames = list(square(hertz, seconds, share))
            assert ours(frames) == iris(frames)
            assert bool(ours(frames)) is (fails and (hertz > 3 or seconds == LONG))


def test_between_them_the_field_of_vision_is_stricter() -> None:
    """20 % of the screen is less than IRIS's quarter of it, and more than a quarter of a tenfold smaller field."""
    frames = list(square(4, SHORT, 0.2))
    assert iris(frames) == set()
    assert ours(frames) == {"general"}


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.1, 0.19), (0.1, 0.3), (0.82, 0.98)])
@pytest.mark.parametrize("hertz", [1, 2, 3, 4])
def test_fades(hertz: float, low: float, high: float) -> None:
    for seconds in (SHORT, LONG):
        frames = list(fade(hertz, seconds, low, high))
        assert ours(frames) == iris(frames)


@pytest.mark.parametrize(("beats_a_minute", "every"), [(132, 1), (132, 2), (132, 4), (100, 1), (174, 2), (190, 1)])
def test_a_flash_on_the_beat(beats_a_minute: float, every: int) -> None:
    """A tenth of a second of white on beats, as music videos have it."""
    period = 60 / beats_a_minute * every
    frames = [np.full((HEIGHT, WIDTH, 3), 255 if index / FPS % period < 0.1 else 0, np.uint8) for index in range(12 * FPS)]
    assert ours(frames) == iris(frames)
