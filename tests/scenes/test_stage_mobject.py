"""A real manim.Scene through the stage's camera: who draws what, in which order, on which background."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import manim
import numpy as np
import pytest
from numpy.typing import NDArray

from scenes.stage.mobject import BatchMobject, StageCamera, as_uint32

WIDTH, HEIGHT = 64, 36
RED, GREEN, BLUE = 0xFF0000FF, 0xFF00FF00, 0xFFFF0000  # little-endian RGBA


class Fill(BatchMobject):
    """Paints every pixel in one colour."""

    paints_every_pixel = True

    def __init__(self, colour: int) -> None:
        super().__init__()
        self.colour, self.calls = colour, 0

    def draw_batch(self, camera: manim.Camera, pixel_array: NDArray[np.uint8]) -> None:
        self.calls += 1
        as_uint32(pixel_array)[:] = self.colour


class Corner(BatchMobject):
    """Paints only the top left quarter."""

    def draw_batch(self, camera: manim.Camera, pixel_array: NDArray[np.uint8]) -> None:
        as_uint32(pixel_array)[: HEIGHT // 2, : WIDTH // 2] = BLUE


@pytest.fixture(autouse=True)
def small_frames(tmp_path: Path) -> Iterator[None]:
    settings = {
        "pixel_width": WIDTH, "pixel_height": HEIGHT, "frame_rate": 10, "media_dir": str(tmp_path), "dry_run": True,
        "progress_bar": "none", "verbosity": "ERROR",
    }  # fmt: skip
    with manim.tempconfig(settings):
        yield


def rendered(build: Any) -> tuple[NDArray[np.uint8], StageCamera]:
    """The last frame of a scene whose construct() is `build`, and its camera."""

    class Small(manim.Scene):
        def construct(self) -> None:
            build(self)

    scene = Small(camera_class=StageCamera)
    scene.render()
    camera = scene.renderer.camera
    assert isinstance(camera, StageCamera)
    return np.asarray(scene.renderer.get_frame()), camera


def test_a_batch_paints_the_frame_beneath_an_ordinary_mobject() -> None:
    square = manim.Square(2, fill_opacity=1, fill_color=manim.WHITE, stroke_width=0)
    frame, _ = rendered(lambda scene: scene.add(Fill(RED), square))
    assert frame[0, 0].tolist() == [255, 0, 0, 255]
    assert frame[HEIGHT // 2, WIDTH // 2].tolist() == [255, 255, 255, 255]


def test_a_batch_added_later_hides_an_ordinary_mobject() -> None:
    square = manim.Square(2, fill_opacity=1, fill_color=manim.WHITE, stroke_width=0)
    frame, _ = rendered(lambda scene: scene.add(square, Fill(GREEN)))
    assert (as_uint32(frame) == GREEN).all()


def test_the_background_shows_where_a_batch_does_not_paint() -> None:
    frame, _ = rendered(lambda scene: scene.add(Corner()))
    assert frame[0, 0].tolist() == [0, 0, 255, 255] and frame[-1, -1].tolist() == [0, 0, 0, 255]


def test_a_batch_is_drawn_once_a_frame_of_an_animation() -> None:
    fill, square = Fill(RED), manim.Square(1, fill_opacity=1, stroke_width=0)

    def build(scene: manim.Scene) -> None:
        fill.add_updater(lambda m: m)  # moving: drawn anew on every frame
        scene.add(fill, square)
        scene.play(manim.ApplyMethod(square.shift, manim.RIGHT, run_time=0.95, rate_func=manim.linear))

    frame, _ = rendered(build)
    assert 10 <= fill.calls <= 12 and frame[0, 0].tolist() == [255, 0, 0, 255]


def test_the_background_is_copied_only_where_it_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[int] = []
    plain = manim.Camera.set_frame_to_background

    def counted(camera: manim.Camera, background: Any) -> None:
        copies.append(1)
        plain(camera, background)

    monkeypatch.setattr(manim.Camera, "set_frame_to_background", counted)
    rendered(lambda scene: scene.add(Fill(RED), Corner()))
    assert not copies
    rendered(lambda scene: scene.add(Corner(), Fill(RED)))
    assert copies
