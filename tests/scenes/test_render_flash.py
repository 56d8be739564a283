"""The flash check against the definition it follows: rates, areas, luminance and red, each on both sides of its threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from scenes.render.errors import RequestError
from scenes.render.flash import check, scan

FPS = 30
HEIGHT, WIDTH = 90, 160
Frame = NDArray[np.uint8]
Colour = tuple[int, int, int]
BLACK, WHITE, RED = (0, 0, 0), (255, 255, 255), (255, 0, 0)


def level(luminance: float) -> Colour:
    """The sRGB grey of a relative luminance (IEC 61966-2-1)."""
    code = 12.92 * luminance if luminance <= 0.0031308 else 1.055 * luminance ** (1 / 2.4) - 0.055
    return (round(255 * code),) * 3


def flicker(
    hertz: float, seconds: float, a: Colour = BLACK, b: Colour = WHITE, height: int = HEIGHT, width: int = WIDTH
) -> Iterator[Frame]:
    """Full frames of `a` with a rectangle of `b` in the first half of every period."""
    for index in range(round(seconds * FPS)):
        frame = np.full((HEIGHT, WIDTH, 3), a, np.uint8)
        if index * hertz / FPS % 1 < 0.5:
            frame[:height, :width] = b
        yield frame


def kinds(frames: Iterator[Frame]) -> set[str]:
    return {str(violation.kind) for violation in scan(frames, FPS)}


def test_three_flashes_in_a_second_pass_and_more_do_not() -> None:
    """WCAG 2.3.1: not more than three."""
    assert kinds(flicker(3, 1.0)) == set()
    assert kinds(flicker(5, 2.0)) == {"general"}


def test_a_flash_is_a_pair_of_opposing_changes() -> None:
    """A stair that only rises is none, however many steps it has."""
    stair = (np.full((HEIGHT, WIDTH, 3), 25 * index, np.uint8) for index in range(10) for _ in range(3))
    assert kinds(stair) == set()


@pytest.mark.parametrize(
    ("dark", "bright", "found"), [(0.2, 0.28, False), (0.2, 0.32, True), (0.84, 0.98, False), (0.7, 0.9, True)]
)
def test_luminance_must_change_by_a_tenth_with_the_darker_below_four_fifths(dark: float, bright: float, found: bool) -> None:
    assert bool(kinds(flicker(5, 2.0, level(dark), level(bright)))) is found


@pytest.mark.parametrize(("rows", "columns", "found"), [(14, 26, False), (16, 28, True), (9, 160, True), (6, 160, False)])
def test_a_quarter_of_a_field_of_vision_is_let_through(rows: int, columns: int, found: bool) -> None:
    """A field is 30 rows of 53 columns here: a quarter of it are 397 cells; 14 x 26 are 364, 16 x 28 are 448, 9 rows 30 %."""
    assert bool(kinds(flicker(5, 2.0, height=rows, width=columns))) is found


def test_red_counts_by_hue_where_luminance_stays() -> None:
    """Pure red has luminance 0.2126; a grey of the same makes no general flash with it, but a red one."""
    grey = level(0.2126)
    assert kinds(flicker(5, 2.0, grey, RED)) == {"red"}
    assert kinds(flicker(5, 2.0, grey, level(0.2126))) == set()
    assert kinds(flicker(3, 1.0, grey, RED)) == set()
    # the film's magenta is no saturated red: 255, 43, 214 has R/(R + G + B) of 0.59
    assert "red" not in kinds(flicker(5, 2.0, BLACK, (255, 43, 214)))


def test_two_flashes_a_second_kept_up_fail_the_extended_rule() -> None:
    """IRIS: four to six transitions a second, for four seconds of five; once a second passes for ever."""
    assert kinds(flicker(2.5, 3.0)) == set()
    assert kinds(flicker(2.5, 8.0)) == {"general, extended"}
    assert kinds(flicker(1.0, 20.0)) == set()


@pytest.mark.parametrize(
    ("beats_a_minute", "every", "found"), [(132, 1, True), (132, 2, False), (132, 4, False), (100, 1, False)]
)
def test_a_flash_on_the_beat(beats_a_minute: float, every: int, found: bool) -> None:
    """A full flash of a tenth of a second on every beat fails from about 113 a minute (4 transitions in any second)."""

    def film() -> Iterator[Frame]:
        for index in range(20 * FPS):
            since = index / FPS % (60 / beats_a_minute * every)
            yield np.full((HEIGHT, WIDTH, 3), 255 if since < 0.1 else 0, np.uint8)

    assert bool(kinds(film())) is found


def test_a_slow_sweep_of_light_is_no_flash() -> None:
    def film() -> Iterator[Frame]:
        for index in range(4 * FPS):
            frame = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
            frame[:, index : index + 6] = 255
            yield frame

    assert kinds(film()) == set()


@pytest.mark.parametrize("speed", [1, 3, 7])
def test_a_pattern_that_moves_is_no_flash(speed: int) -> None:
    """A checkerboard of 8 cells that slides: every place turns several times a second, the field stays as bright as it is."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]

    def film() -> Iterator[Frame]:
        for index in range(3 * FPS):
            board = ((x + speed * index) // 8 + y // 8) % 2
            yield (255 * board[:, :, None]).astype(np.uint8).repeat(3, axis=2)

    assert kinds(film()) == set()


@pytest.mark.parametrize("hertz", [5, 7.5, 15])
def test_fast_flicker_is_found_up_to_the_frame_rate(hertz: float) -> None:
    assert "general" in kinds(flicker(hertz, 2.0))


def test_where_and_how_much_is_said() -> None:
    calm: Callable[[float], Iterator[Frame]] = lambda seconds: flicker(0.01, seconds, BLACK, BLACK)  # noqa: E731
    frames = [*calm(2.0), *flicker(5, 1.0), *calm(2.0)]
    (found,) = scan(iter(frames), FPS)
    assert found.kind == "general" and found.transitions >= 8 and found.area == pytest.approx(1.0)
    assert 1.5 <= found.start <= 2.5 and 2.5 <= found.end <= 4.0
    assert "flashes in a second" in str(found)


def test_what_is_no_film_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_text("no film")
    with pytest.raises(RequestError, match=r"film\.mp4: cannot be read as a film"):
        check(tmp_path / "film.mp4")
    with pytest.raises(ValueError, match="frame rate above 0"):
        scan(iter(()), 0)
