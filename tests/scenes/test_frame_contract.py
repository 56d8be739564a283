"""The frame contract: `Roll` plays exactly n frames, each once and in order, whatever floating point makes of n / fps.

Manim counts the frames of a play as len(arange(0, run_time, 1 / fps)); with run_time = n / fps that is one too many for 246 of
the first 2999 lengths at 15, 30 and 60 frames a second, and for 999 of them at 24.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from manim import Scene, tempconfig
from numpy.typing import NDArray

from audio.timeline_file import load
from audio.tracks import DEFAULT, HERE
from measure.dataset import Dataset
from scenes.film import FILM, Row
from scenes.render.renderer import FrameRenderer
from scenes.stage.mobject import StageCamera
from scenes.stage.passage import Context, Passage, Picture, Roll, Window

LENGTHS = (1, 2, 23, 31, 46, 123)
RATES = (24, 30, 60)


class Counter:
    """Stands where a passage does: paints the number of the frame into the first pixel."""

    def paint(self, frame: int, pixels: NDArray[np.uint32]) -> None:
        pixels[:] = np.uint32(0xFF000000 | frame)


class Rolls(Scene):
    """Plays the lengths one after the other."""

    def __init__(self, fps: int, **kwargs: Any) -> None:
        super().__init__(camera_class=StageCamera, **kwargs)
        self.fps = fps

    def construct(self) -> None:
        picture = Picture(Counter())  # type: ignore[arg-type]
        self.add(picture)
        first = 0
        for length in LENGTHS:
            self.play(Roll(picture, first, length, self.fps))
            first += length


@pytest.fixture(params=RATES)
def fps(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[int]:
    size = {"pixel_width": 32, "pixel_height": 18, "frame_rate": request.param}
    quiet = {"verbosity": "ERROR", "progress_bar": "none", "disable_caching": True, "media_dir": str(tmp_path)}
    with tempconfig({**size, **quiet}):
        yield request.param


def test_the_engine_draws_every_frame_once_and_in_order(fps: int) -> None:
    seen: list[int] = []
    with tempconfig({"dry_run": True}):
        Rolls(fps, renderer=FrameRenderer(lambda pixels: seen.append(int(pixels.view(np.uint32)[0, 0, 0]) & 0xFFFFFF))).render()
    assert seen == list(range(sum(LENGTHS)))


def test_manims_own_writer_gets_as_many(fps: int, tmp_path: Path) -> None:
    Rolls(fps).render()
    parts = sorted(tmp_path.rglob("partial_movie_files/**/uncached_*.mp4"))
    counted = []
    for part in parts:
        with av.open(str(part)) as film:
            counted.append(sum(1 for _ in film.decode(video=0)))
    assert counted == list(LENGTHS)


@pytest.mark.parametrize("rate", [15, 24, 30, 60])
def test_every_length_up_to_3000_is_exact_by_manims_own_formula(rate: int) -> None:
    run_times = [max(length - 0.5, 1.0) / rate for length in range(1, 3000)]
    assert [len(np.arange(0, run_time, 1 / rate)) for run_time in run_times] == list(range(1, 3000))


# ---- every scene of the film is a pure function of the frame -----------------------------------------------------------

SONG = load(HERE / f"{DEFAULT}.timeline.json")


def passage(row: Row) -> Passage:
    """A scene with its screenplay read, at 10 frames a second."""
    with tempconfig({"pixel_width": 160, "pixel_height": 90, "frame_rate": 10}):
        scene = row.load()(Context(Dataset.open(), SONG, row.first_bar, row.bars), Window(0, 0))
        scene.setup()
        scene.construct()
    return scene


@pytest.mark.parametrize("row", FILM, ids=lambda row: row.name)
def test_a_frame_is_the_same_whatever_was_drawn_before_it(row: Row) -> None:
    straight, shuffled = passage(row), passage(row)
    frames = list(range(straight.clock.start, straight.clock.end, 9))
    pixels = np.zeros((90, 160), np.uint32)
    expected = {}
    for frame in frames:
        straight.paint(frame, pixels)
        expected[frame] = pixels.copy()
    pixels[:] = 0xFFFFFFFF
    for frame in np.random.default_rng(1).permutation(frames)[: len(frames) // 2]:
        shuffled.paint(int(frame), pixels)
        assert np.array_equal(pixels, expected[int(frame)]), frame


@pytest.mark.parametrize("row", FILM, ids=lambda row: row.name)
def test_a_scene_fills_its_bars_to_the_frame(row: Row) -> None:
    played: list[int] = []
    with tempconfig({"pixel_width": 16, "pixel_height": 16, "frame_rate": 24, "dry_run": True, "progress_bar": "none"}):
        scene = row.load()(
            Context(Dataset.open(), SONG, row.first_bar, row.bars),
            renderer=FrameRenderer(lambda pixels: played.append(int(pixels.view(np.uint32)[0, 0, 0]) & 0xFFFFFF)),
        )
        scene.paint = lambda frame, pixels: pixels.fill(np.uint32(0xFF000000 | frame))  # type: ignore[method-assign]
        scene.render()
    end = SONG.frame(24, row.first_bar + row.bars) if row is not FILM[-1] else round(SONG.duration * 24)
    assert played == list(range(SONG.frame(24, row.first_bar), end))
