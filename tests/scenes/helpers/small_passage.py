"""A passage with everything that the engine has to carry, and little to draw: a moving box, a text, a figure."""

from __future__ import annotations

from typing import ClassVar

from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.overlay import Number, Text
from scenes.stage.passage import Passage
from scenes.stage.type import FACT
from scenes.stage.world import Boxes, World


class Slider:
    """A box that crosses the picture once in 16 beats, half a unit a beat."""

    def draw(self, world: World, beat: float) -> None:
        world.add(Boxes.of([(-4.0 + beat / 2, -0.5, 0.0)], (1.0, 1.0, 1.0), (0.2, 0.9, 1.0)))


class Small(Passage):
    """Two figures are read: one is shown for the whole passage, the other only in its second half."""

    name: ClassVar[str] = "small"
    title: ClassVar[str] = "SMALL"

    def construct(self) -> None:
        self.prop(Slider())
        self.camera_at = lambda beat: Camera((0.0, -14.0, 6.0), (0.1 * beat - 0.8, 0.0, 0.5))
        peak, slope = self.data.get("roofs.fp32"), self.data.get("roofs.dram")
        if peak is not None:
            self.text(Number(figure(peak, 1), FACT, 96, 320))
        self.until(3)
        if slope is not None:
            self.text(Number(figure(slope, 3), FACT, 96, 420, opacity=lambda beat: float(beat >= 8.0)))
        self.text(Text(lambda beat: f"beat {beat:.1f}", FACT, 96, 520))
        self.until(4, 3.5)


class Sequel(Small):
    """Reads one figure only."""

    name: ClassVar[str] = "sequel"

    def construct(self) -> None:
        self.prop(Slider())
        peak = self.data.get("roofs.fp32")
        if peak is not None:
            self.text(Number(figure(peak, 1), FACT, 96, 320))
        self.finish()


class Broken(Small):
    """Fails on its second bar."""

    name: ClassVar[str] = "broken"

    def construct(self) -> None:
        self.until(2)
        raise ZeroDivisionError("a scene's own mistake")


class Dies(Small):
    """Takes its process with it."""

    name: ClassVar[str] = "dies"

    def construct(self) -> None:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)
