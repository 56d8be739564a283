"""The border to Manim: a camera that lets one mobject paint a whole picture by itself.

`class MyScene(manim.Scene)` passes `camera_class=StageCamera`. Any mobject with `draw_batch(camera, pixel_array)` is then
drawn by that method, in add order between ordinary mobjects; `pixel_array` is Manim's frame, (H, W, 4) uint8 RGBA.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import manim
import numpy as np
from manim.typing import PixelArray
from numpy.typing import NDArray


def as_uint32(pixel_array: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """(H, W) uint32 view of an (H, W, 4) uint8 RGBA array; writing to it writes to the array."""
    return pixel_array.view(np.uint32)[..., 0]


class BatchMobject(manim.VMobject):
    """A mobject that draws itself. `paints_every_pixel` lets the camera skip the background beneath it when it comes first."""

    paints_every_pixel = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # Manim drops mobjects without points; an invisible diagonal over the frame also gives it a sensible size
        x, y = manim.config.frame_width / 2, manim.config.frame_height / 2
        self.set_points_as_corners(np.array([[-x, -y, 0.0], [x, y, 0.0]]))
        self.set_stroke(opacity=0.0)

    def draw_batch(self, camera: manim.Camera, pixel_array: NDArray[np.uint8]) -> None:
        """Paint into `pixel_array`, (H, W, 4) uint8 RGBA, in place."""
        raise NotImplementedError


class StageCamera(manim.Camera):
    """Manim's Cairo camera with batch drawing; the frame's background is copied only where it can be seen."""

    stage_first = False  # set by a scene whose first mobject covers the whole frame
    _pending: PixelArray | None = None

    def set_frame_to_background(self, background: PixelArray) -> None:
        # the renderer always captures mobjects next: wait until it is known whether the first of them covers the whole frame
        self._pending = background

    def reset(self) -> Any:
        if hasattr(self, "pixel_array") and self.background is not None and self.pixel_array.shape == self.background.shape:
            self._pending = self.background
            return self
        return super().reset()

    def capture_mobjects(self, mobjects: Iterable[manim.Mobject], **kwargs: Any) -> None:
        shown = list(mobjects)
        self._flush(covered=bool(shown) and (self.stage_first or _covers(shown)))
        super().capture_mobjects(shown, **kwargs)

    def get_image(self, pixel_array: Any = None) -> Any:
        self._flush(covered=False)
        return super().get_image(pixel_array)

    def display_multiple_non_background_colored_vmobjects(
        self, vmobjects: Iterable[manim.VMobject], pixel_array: PixelArray
    ) -> None:
        ordinary: list[manim.VMobject] = []
        for mobject in vmobjects:
            draw = getattr(mobject, "draw_batch", None)
            if draw is None:
                ordinary.append(mobject)
                continue
            if ordinary:
                super().display_multiple_non_background_colored_vmobjects(ordinary, pixel_array)
                ordinary = []
            draw(self, pixel_array)
        if ordinary:
            super().display_multiple_non_background_colored_vmobjects(ordinary, pixel_array)

    def _flush(self, covered: bool) -> None:
        pending, self._pending = self._pending, None
        if pending is not None and not covered:
            super().set_frame_to_background(pending)


def _covers(shown: list[manim.Mobject]) -> bool:
    """Whether the mobject drawn first paints every pixel (a lower z_index is drawn earlier)."""
    first = min(shown, key=lambda m: m.z_index)
    return bool(getattr(first, "paints_every_pixel", False))
