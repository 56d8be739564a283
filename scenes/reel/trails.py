"""Ribbons and trails: points of light weave through a colonnade, each drawing the way that it has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scenes.reel.element import Element
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, STEEL, TEXT, THREAD, Colour, mix
from scenes.stage.passage import Scenery
from scenes.stage.trail import Trail
from scenes.stage.world import Boxes, Fog, Ground, Light, Ribbons, Sprites, World

Floats = NDArray[np.float64]
SPACE = 2.4  # world units between pillars
RADII = (3.6, 6.4, 9.2)  # of the rings in which pillars stand
LOOP = 8.0  # beats once around


@dataclass(frozen=True, slots=True)
class Weave:
    """A closed curve about the z axis: `turns` swings in and out and up and down on each way round."""

    radius: float
    swing: float
    turns: int
    low: float
    high: float
    phase: float

    def __call__(self, beats: Floats) -> Floats:
        a = 2.0 * np.pi * (beats / LOOP + self.phase)
        r = self.radius + self.swing * np.sin(self.turns * a)
        z = self.low + (self.high - self.low) * (0.5 - 0.5 * np.cos((self.turns - 1) * a))
        return np.column_stack([r * np.cos(a), r * np.sin(a), z])


COMETS: tuple[tuple[Weave, Colour, float], ...] = (
    (Weave(5.0, 1.5, 4, 0.5, 2.7, 0.02), THREAD, 0.15),
    (Weave(5.0, 1.6, 3, 0.4, 2.5, 0.27), COMPUTE, 0.13),
    (Weave(5.0, 1.6, 3, 0.5, 2.9, 0.52), MEMORY, 0.13),
    (Weave(7.6, 1.4, 4, 0.4, 2.2, 0.77), TEXT, 0.11),
    (Weave(7.6, 1.5, 5, 0.4, 2.4, 0.40), COMPUTE, 0.11),
    (Weave(2.4, 0.5, 2, 0.6, 3.0, 0.62), TEXT, 0.10),
)


class Trails(Element):
    """Trails pass before and behind the pillars; ribbons on the floor mark the same ways."""

    name: ClassVar[str] = "reel-trails"
    title: ClassVar[str] = "RIBBONS AND TRAILS"
    line: ClassVar[str] = "each hidden by what stands before it"
    camera_does: ClassVar[str] = "orbit between the pillars"
    shows: ClassVar[tuple[str, ...]] = ("ribbons", "trails", "sprites", "occlusion", "streak")

    def construct(self) -> None:
        # Three rings of pillars, and the ways of the comets on the floor between them.
        self.prop(Scenery(self._light), Pillars())
        for curve, colour, width in COMETS:
            self.prop(Trail(curve, colour, width, 3.2))
            self.prop(Trail(Below(curve), mix(PLATE, colour, 0.32), width, 5.0, heat=0.0, emission=0.0, floor=True))
        self.prop(Heads())

        # Orbit with the comets: high and wide first, then low between the pillars.
        self.fly([
            (self.at(1), (0.0, 0.0, 0.8, 21.0, -30.0, 30.0)), (self.at(2), (0.0, 0.0, 0.9, 17.5, 0.0, 24.0)),
            (self.at(3), (0.0, 0.0, 1.5, 13.5, 34.0, 16.0)), (self.at(4), (0.0, 0.4, 1.7, 13.0, 70.0, 13.0)),
            (self.at(5), (0.0, 0.2, 1.5, 16.0, 108.0, 20.0)),
        ])  # fmt: skip
        self.caption()
        self.finish()

    def _light(self, world: World, beat: float) -> None:
        world.light = Light(focus=(0.0, 0.0), radius=12.0, ambient=0.5)
        world.fog = Fog(start=16.0, end=44.0)
        world.ground = Ground(spacing=1.2, extent=40.0, line_alpha=0.16, reflect=0.6)


@dataclass(frozen=True, slots=True)
class Below:
    """The same way on the floor."""

    curve: Weave

    def __call__(self, beats: Floats) -> Floats:
        points = self.curve(beats)
        points[:, 2] = 0.004
        return points


class Pillars:
    """Steel pillars in rings, with a cap that catches the light; they sink and rise a little with the bar."""

    def __init__(self) -> None:
        place = []
        for k, radius in enumerate(RADII):
            count = round(2.0 * np.pi * radius / SPACE)
            a = 2.0 * np.pi * (np.arange(count) + 0.5 * (k % 2)) / count
            place.append(np.column_stack([radius * np.cos(a), radius * np.sin(a), np.full(count, k)]))
        self.place = np.concatenate(place)

    def draw(self, world: World, beat: float) -> None:
        x, y, ring = self.place.T
        tall = (2.6 - 0.5 * ring) * (1.0 + 0.12 * np.sin(2.0 * np.pi * (beat / 8.0) + ring + 1.7 * np.arctan2(y, x)))
        wide, cap = 0.5, 0.62
        body = np.column_stack([x - wide / 2, y - wide / 2, np.zeros_like(x)])
        top = np.column_stack([x - cap / 2, y - cap / 2, tall])
        world.add(Boxes.of(body, np.column_stack([np.full((len(x), 2), wide), tall]), mix(STEEL, TEXT, 0.14), 0.0, 0.9))
        world.add(Boxes.of(top, (cap, cap, 0.1), mix(STEEL, TEXT, 0.3), 0.0, 1.0))
        rails = [self.place[ring == k] for k in range(2)]
        for k, ends in enumerate(rails):  # a hairline from cap to cap round each inner ring
            heights = tall[ring == k] + 0.16
            a = np.column_stack([ends[:, :2], heights])
            world.add(Ribbons.of(a, np.roll(a, -1, 0), 0.022, mix(STEEL, TEXT, 0.55), 0.7, 0.1))


class Heads:
    """The points of light at the head of each trail."""

    def draw(self, world: World, beat: float) -> None:
        now = np.array([beat])
        for curve, colour, width in COMETS:
            world.add(Sprites.of(curve(now), width * 0.75, mix(colour, (1.0, 1.0, 1.0), 0.5), 1.0))
