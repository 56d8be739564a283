"""Voxels: a plain of boxes, each with a size, a colour and a glow of its own, rolling with the beat."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Cube
from scenes.reel.element import Element
from scenes.stage.keys import Track, arrive, pulse, ramp, smooth
from scenes.stage.overlay import Text
from scenes.stage.palette import COMPUTE, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.passage import Scenery
from scenes.stage.type import FACT, HEADLINE
from scenes.stage.world import Boxes, Fog, Ground, Light, World

Floats = NDArray[np.float64]
COLUMNS, ROWS, PITCH = 46, 34, 1.0
LOWEST, CREST = 0.24, 2.6


class Voxels(Element):
    """Waves leave the middle on strong beats; in the second half the boxes shrink to needles and swell again."""

    name: ClassVar[str] = "reel-voxels"
    title: ClassVar[str] = "VOXELS"
    line: ClassVar[str] = "size, colour and glow of each box by itself"
    camera_does: ClassVar[str] = "orbit, breath"
    shows: ClassVar[tuple[str, ...]] = ("voxels", "headline", "camera orbit", "camera breath")

    def construct(self) -> None:
        # A field of boxes under a pool of light; one cube of another colour rides its middle.
        x, y = np.meshgrid((np.arange(COLUMNS) - (COLUMNS - 1) / 2) * PITCH, (np.arange(ROWS) - (ROWS - 1) / 2) * PITCH)
        self.place = np.column_stack([x.ravel(), y.ravel()])
        self.away = np.hypot(*self.place.T)
        self.prop(Scenery(self._light), self)
        self.cube = self.prop(Cube(lambda beat: (0.5, 0.5, float(self._height(beat)[self._middle]) + 0.02), 0.78))

        # Begin low behind the first crest, orbit up to where the pattern is seen, and come down towards the middle.
        self.fly([
            (self.at(1), (0.0, 0.0, 1.4, 13.0, -38.0, 15.0)), (self.at(2), (0.0, 0.6, 1.2, 16.5, -18.0, 24.0)),
            (self.at(3), (0.0, 0.8, 1.0, 19.0, 6.0, 33.0)), (self.at(4), (0.0, 0.3, 1.2, 15.0, 28.0, 27.0)),
            (self.at(5), (0.5, 0.5, 0.7, 9.0, 42.0, 22.0)),
        ])  # fmt: skip

        # The reel's own title, then the caption.
        self.caption()
        self._headline()
        self.finish()

    @property
    def _middle(self) -> int:
        """The box beneath the cube."""
        return int(np.argmin(np.hypot(*(self.place - 0.5).T)))

    def _headline(self) -> None:
        gone = self.at(3)
        shown = Track(0.0).to(1.0, self.at(1, 2), 0.35, arrive).to(0.0, gone, 0.6)
        rise = Track(430.0).to(390.0, self.at(1, 2), 0.5, arrive)
        self.text(Text("THE STAGE", HEADLINE.sized(168), 96, rise, opacity=shown))
        words = Track(0.0).to(1.0, self.at(1, 3), 0.35, arrive).to(0.0, gone, 0.6)
        self.text(Text("everything that it can draw", FACT.coloured(QUIET), 102, 462, opacity=words))

    def _light(self, world: World, beat: float) -> None:
        world.light = Light(focus=(0.0, 0.0), radius=12.0, ambient=0.3)
        world.fog = Fog(start=20.0, end=46.0)
        world.ground = Ground(spacing=2.0, extent=60.0)

    def _wave(self, beat: float) -> Floats:
        """0..1 over the field: rings that leave the middle every second beat, and a swell that crosses it in two bars."""
        bar = beat / 8.0
        rings = np.zeros_like(self.away)
        for back in range(4):
            start = 2.0 * (np.floor(beat / 2.0) - back)
            age = beat - start
            rings += 0.85 * np.exp(-(((self.away - 4.5 * age) / 2.0) ** 2)) * np.exp(-age / 2.6) * ramp(age, 0.0, 0.3)
        along = self.place @ np.array([0.8, 0.6])
        swell = 0.5 + 0.5 * np.cos(2.0 * np.pi * (along / 17.0 - bar))
        return np.asarray(np.clip(0.5 * swell**3 * np.clip((self.away - 2.0) / 5.0, 0.2, 1.0) + rings, 0.0, 1.0))

    def _height(self, beat: float) -> Floats:
        calm = np.clip((self.away - 1.0) / 2.0, 0.25, 1.0)  # low around the cube, so that it is seen
        return np.asarray(LOWEST + CREST * self._wave(beat) * calm)

    def draw(self, world: World, beat: float) -> None:
        wave, tall = self._wave(beat), self._height(beat)
        # Width of each box: in the third bar a ring of needles runs outwards from the cube.
        thin = np.exp(-(((self.away - 22.0 * ramp(beat, self.at(3), 6.0, smooth)) / 5.0) ** 2)) * ramp(beat, self.at(3), 0.5)
        wide = PITCH * (0.86 - 0.5 * thin)
        size = np.column_stack([wide, wide, tall])
        origin = np.column_stack([self.place - wide[:, None] / 2, np.zeros(len(tall))])
        heat = np.clip((wave - 0.3) / 0.7, 0.0, 1.0)[:, None]
        cold, warm = np.array(mix(PLATE, STEEL, 0.85)), np.array(COMPUTE)
        colour = cold + (warm - cold) * heat
        crest = np.clip((wave - 0.82) / 0.18, 0.0, 1.0)[:, None] * 0.35
        colour = colour + (np.array(mix(COMPUTE, TEXT, 0.4)) - colour) * crest
        glow = 0.62 * heat[:, 0] ** 2 * (1.0 + 0.08 * pulse(beat))
        world.add(Boxes.of(origin, size, colour, glow, 0.5 + 0.4 * heat[:, 0]))
