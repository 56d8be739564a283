"""Manim's Cairo renderer with its frames handed to a sink instead of to Manim's file writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from manim import Mobject, Scene
from manim.renderer.cairo_renderer import CairoRenderer
from numpy.typing import NDArray

from scenes.stage.mobject import StageCamera


class FrameRenderer(CairoRenderer):
    """Draws a scene and hands each frame, (height, width, 4) uint8 RGBA, to `sink`: the camera's own array, never a copy.

    Manim copies every frame because its encoder runs later, in a thread; this sink is done with a frame when it returns.
    """

    def __init__(self, sink: Callable[[NDArray[np.uint8]], None], **kwargs: Any) -> None:
        super().__init__(camera_class=StageCamera, **kwargs)
        self._sink = sink

    def render(self, scene: Scene, time: float, moving_mobjects: Iterable[Mobject] | None = None) -> None:
        self.update_frame(scene, moving_mobjects)
        self.add_frame(self.camera.pixel_array)

    def add_frame(self, frame: NDArray[Any], num_frames: int = 1) -> None:
        self.time += num_frames / self.camera.frame_rate
        for _ in range(num_frames):
            self._sink(frame)
