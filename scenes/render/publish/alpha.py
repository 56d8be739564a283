"""A scene without its backdrop: every frame drawn twice, over black and over white, which tells how much each pixel covers.

Over a backdrop of colour C a picture is F + (1 - a) C, F being what is drawn times its coverage a. Drawn over black that is F,
over white F + (1 - a) W: their difference gives a, exactly, for all that mixes by coverage (A. R. Smith and J. F. Blinn, "Blue
Screen Matting", SIGGRAPH 1996, theorem 3); W is the white backdrop by itself, which darkens upwards as a sky does. It holds
for edges, glow, letters with their dark rim, and haze, whose colour is the backdrop's here: what would fade into the distance
fades out. The floor goes, with the shadows and mirror images on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scenes.render.plan import cut
from scenes.render.publish.frames import Frame
from scenes.stage.raster import Raster
from scenes.stage.world import Fog, Ground, World

if TYPE_CHECKING:
    from scenes.render.make import Request
    from scenes.stage.passage import Passage

BELOW = 1e6  # a floor so high that every camera is beneath it: it is not drawn
NOISE = 3  # of 255: the stage rounds with noise, so that two pictures of the same thing differ by so much
Words = NDArray[np.uint32]


@dataclass
class Backdrop:
    """The last prop of a passage: nothing stands behind what is shown but one grey, 0 black to 1 white."""

    grey: float = 0.0

    def draw(self, world: World, beat: float) -> None:
        colour = (self.grey, self.grey, self.grey)
        world.ground = replace(
            world.ground or Ground(), level=BELOW, color=colour, horizon=colour, line_alpha=0.0, reflect=0.0
        )  # fmt: skip
        world.fog = replace(world.fog or Fog(), color=colour)


@dataclass
class StageFrames:
    """The frames of one scene by itself, without transitions, each (height, width, 4) with straight coverage."""

    request: Request
    count: int = field(init=False)
    fps: int = field(init=False)
    size: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        quality, row = self.request.quality, self.request.rows[0]
        spans = cut(row, self.request.timeline, quality.fps)
        self.first, self.count = spans[0].first, spans[-1].last - spans[0].first
        self.fps, self.size = quality.fps, (quality.width, quality.height)
        self._backdrop = Backdrop()
        self._played: Passage | None = None

    def between(self, first: int, last: int) -> Iterator[Frame]:
        passage, (width, height) = self._passage(), self.size
        dark, bright, bare = (np.zeros((height, width), np.uint32) for _ in range(3))
        raster = Raster(width, height)
        for frame in range(self.first + first, self.first + last):
            for self._backdrop.grey, pixels in ((0.0, dark), (1.0, bright)):
                passage.paint(frame, pixels)
            empty = World()
            self._backdrop.draw(empty, 0.0)
            raster.render(empty, passage.view(passage.clock.at_frame(frame)), bare)
            yield matte(dark, bright, bare)

    def _passage(self) -> Passage:
        """The scene, its screenplay played once without a frame: after that any of its frames can be painted."""
        if self._played is None:
            from manim import tempconfig

            from scenes.stage.passage import Context, Window

            row, (width, height) = self.request.rows[0], self.size
            quiet = {"verbosity": "ERROR", "progress_bar": "none", "dry_run": True}
            shape = {"pixel_width": width, "pixel_height": height, "frame_rate": self.fps}
            with tempconfig({**quiet, **shape}):
                passage = row.load()(Context.of(self.request.dataset, self.request.timeline, row), Window(0, 0))
                passage.setup()
                passage.construct()
            passage.prop(self._backdrop)
            self._played = passage
        return self._played


def matte(dark: Words, bright: Words, bare: Words) -> Frame:
    """Straight colour and coverage (h, w, 4) of what was drawn over black and over a white backdrop, which `bare` shows alone.

    All three are (h, w) packed RGBA.
    """
    black, white, behind = (_channels(pixels) for pixels in (dark, bright, bare))
    # The least share is that of the channel that is covered most: glow covers by its brightest channel.
    clear = ((white - black) / np.maximum(behind, 1.0)).min(axis=2)
    cover = 255 * (1 - np.clip(clear, 0.0, 1.0))
    colour = np.clip(black * 255 / np.maximum(cover, 1.0)[..., None], 0, 255) * (cover > NOISE)[..., None]
    cover = np.clip((cover - NOISE) * (255 / (255 - 2 * NOISE)), 0, 255)
    return np.dstack([np.round(colour), np.round(cover)]).astype(np.uint8)


def _channels(pixels: Words) -> NDArray[np.float32]:
    return np.asarray(pixels.view(np.uint8).reshape(*pixels.shape, 4)[..., :3], np.float32)
