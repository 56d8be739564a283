"""The thread that the film follows: one magenta cube, always exactly one in a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scenes.stage.overlay import Point, Value, value_at
from scenes.stage.palette import THREAD
from scenes.stage.world import Boxes, World

Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Cube:
    """A glowing magenta cube that stands with the centre of its base on `position` (a point, a Path or a function of the beat).

    `size` is the edge in world units; `stretch` scales the height and keeps the volume: anticipation (< 1), flight (> 1).
    """

    position: Point
    size: Value = 0.8
    stretch: Value = 1.0
    emission: Value = 0.55
    shown: Value = 1.0
    is_thread: ClassVar[bool] = True  # a transition makes no copies of it

    def base(self, beat: float) -> Vector:
        """Centre of the face that it stands on, in world units."""
        x, y, z = (float(v) for v in (self.position(beat) if callable(self.position) else self.position))
        return x, y, z

    def extent(self, beat: float) -> Vector:
        """Width, depth and height in world units."""
        edge, tall = value_at(self.size, beat), value_at(self.stretch, beat)
        wide = edge / max(tall, 1e-6) ** 0.5
        return wide, wide, edge * tall

    def centre(self, beat: float) -> Vector:
        """Its middle: where a camera looks."""
        x, y, z = self.base(beat)
        return x, y, z + self.extent(beat)[2] / 2

    def top(self, beat: float, above: float = 0.0) -> Vector:
        """Centre of its upper face, `above` world units higher: where a label is pinned."""
        x, y, z = self.base(beat)
        return x, y, z + self.extent(beat)[2] + above

    def draw(self, world: World, beat: float) -> None:
        shown = value_at(self.shown, beat)
        if shown <= 0.004:
            return
        size = np.array(self.extent(beat))
        origin = np.array(self.base(beat)) - (size[0] / 2, size[1] / 2, 0.0)
        world.add(Boxes.of(origin, size, THREAD, emission=value_at(self.emission, beat), edge=0.9, alpha=shown))
