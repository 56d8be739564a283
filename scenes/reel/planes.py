"""Planes: text that stands in the world, lit and hidden like everything else: a road past the rungs of a ladder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from measure.dataset import Dataset
from scenes.reel.element import Element
from scenes.stage.claims import Figure, figure
from scenes.stage.keys import Track, overshoot, smooth
from scenes.stage.palette import COMPUTE, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.passage import Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import FACT, LABEL, NUMBER
from scenes.stage.world import Boxes, Fog, Ground, Light, Ribbons, World

LADDER = "gemm_fp32"
PITCH, ASIDE = 5.2, 1.35  # world units from one wall to the next, and from the road's middle to a wall
WIDE, TALL, DEEP = 4.7, 1.9, 0.24
FOOT = 0.12
HIGHEST = 1.6  # of a bar on its wall, for the fastest rung
NEAREST, FADE = 6.6, 1.8  # world units before the eye at which what is written is gone, and over which it goes
SINK = 2.4  # world units over which its wall sinks into the floor with it, so that no bare wall fills the picture


@dataclass(frozen=True, slots=True)
class Station:
    """A wall beside the road: what is written on it, and the share of the best rate that its bar shows."""

    title: str
    rate: Figure | None
    share: float


def stations(data: Dataset) -> tuple[Station, ...]:
    """One for each rung of the ladder with a rate, in order; without a ladder the walls name the stage's elements."""
    owned = data.ladder(LADDER)
    found = []
    for rung in owned.value.rungs if owned else ():
        reading = data.get(f"ladders.{LADDER}.rungs.{rung.name}.rate")
        if reading is not None:
            found.append((rung.title, figure(reading, 1), reading.quantity.value))
    best = max((value for _, _, value in found), default=1.0)
    if not found:
        return tuple(Station(name, None, 0.2 + 0.2 * k) for k, name in enumerate(("Boxes", "Ribbons", "Sprites", "Text")))
    return tuple(Station(title, rate, value / best) for title, rate, value in found)


class Planes(Element):
    """The camera runs down a road between walls; each wall's bar is as high as the rate written on it; a passed wall sinks."""

    name: ClassVar[str] = "reel-planes"
    title: ClassVar[str] = "TEXT IN THE WORLD"
    line: ClassVar[str] = "planes in perspective, each figure a claim"
    camera_does: ClassVar[str] = "run, sway"
    shows: ClassVar[tuple[str, ...]] = ("text planes", "claims", "shatter")

    def construct(self) -> None:
        # Walls left and right of the road, a bar on top of each, the next ones in the fog.
        self.stations = stations(self.data)
        count = len(self.stations)
        last = PITCH * (count - 1)
        self.rise = [Track(0.0).to(1.0, 0.5 + 13.0 * k / count, 1.0, overshoot) for k in range(count)]
        self.prop(Scenery(self._light), self)

        # Run past all of them, swaying to each side in turn; slower at the last, which is the highest.
        sway = (-9.0, 8.0, -7.0, 9.0)
        self.fly([
            (self.at(1), (0.0, -1.0, 1.5, 8.6, sway[0], 10.0)), (self.at(2), (0.3, 0.24 * last, 1.4, 8.2, sway[1], 8.0)),
            (self.at(3), (-0.3, 0.52 * last, 1.4, 8.0, sway[2], 7.0)), (self.at(4), (0.3, 0.80 * last, 1.5, 8.4, sway[3], 8.0)),
            (self.at(5), (0.0, 0.98 * last, 2.0, 10.0, -6.0, 10.0)),
        ], fov=42.0)  # fmt: skip
        self.caption()
        self.finish()

    def _light(self, world: World, beat: float) -> None:
        world.light = Light(focus=(0.0, float(self.camera_at(beat).target[1]) + 1.0), radius=10.0, ambient=0.34)
        world.fog = Fog(start=12.0, end=40.0)
        world.ground = Ground(spacing=1.3, extent=60.0)

    def draw(self, world: World, beat: float) -> None:
        boxes: list[tuple[Any, ...]] = []
        eye = float(self.camera_at(beat).eye[1])
        for k, station in enumerate(self.stations):
            side, y = (-1.0 if k % 2 == 0 else 1.0), PITCH * k
            x = -ASIDE - WIDE if side < 0 else ASIDE
            stands = smooth(min(1.0, max(0.0, (y - eye - NEAREST - FADE + SINK) / SINK)))
            if stands <= 0.004:
                continue
            bar = HIGHEST * station.share * self.rise[k](beat) * stands
            heat = mix(PLATE, COMPUTE, 0.3 + 0.7 * station.share)
            glowing = 0.5 * station.share
            along = x + WIDE / 2 - 0.45 + side * 1.2  # on the outer side: it hides no wall that comes
            parts = (
                ((x, y, FOOT * stands), (WIDE, DEEP, TALL * stands), mix(PLATE, STEEL, 0.5), 0.0, 0.9),
                ((x - 0.1, y - 0.14, 0.0), (WIDE + 0.2, DEEP + 0.28, FOOT * stands), mix(STEEL, TEXT, 0.1), 0.0, 0.8),
                ((along, y - 0.04, (FOOT + TALL) * stands), (0.9, DEEP + 0.08, bar), heat, glowing, 0.9),
            )  # fmt: skip
            boxes.extend(parts)
            self._write(world, station, x, y, stands, min(1.0, max(0.0, (y - eye - NEAREST) / FADE)))
        if boxes:
            origin, size, colour, glow, edge = zip(*boxes, strict=True)
            world.add(Boxes.of(origin, size, colour, glow, edge))
        self._road(world)

    def _write(self, world: World, station: Station, x: float, y: float, stands: float, shown: float) -> None:
        """Title, rate and its source on a wall, each a hair before the one above it; gone before the camera is beside them."""
        left, low = x + 0.3, FOOT - 0.04
        world.add(TextPlane.standing(station.title, FACT, (left, y - 0.03, (low + 1.34) * stands), 0.27).shown(shown))
        if station.rate is None:
            return
        rate = TextPlane.standing(station.rate.text, NUMBER.coloured(COMPUTE), (left, y - 0.04, (low + 0.64) * stands), 0.41)
        world.add(replace(rate, figure=station.rate, alpha=shown, emission=0.35))
        source = TextPlane.standing(station.rate.source, LABEL.coloured(QUIET), (left, y - 0.05, (low + 0.27) * stands), 0.19)
        world.add(source.shown(shown))

    def _road(self, world: World) -> None:
        """Two lines on the floor, and the number of each rung between them."""
        far = PITCH * (len(self.stations) + 2)
        x = np.array([-ASIDE + 0.35, ASIDE - 0.35])
        a, b = np.column_stack([x, [-14.0] * 2, [0.004] * 2]), np.column_stack([x, [far] * 2, [0.004] * 2])
        world.add(Ribbons.of(a, b, 0.05, mix(STEEL, TEXT, 0.5), 0.8, 0.1, floor=True))
        for k in range(len(self.stations)):
            world.add(TextPlane.lying(f"{k + 1}", NUMBER.coloured(QUIET), (0.0, PITCH * k - 1.4, 0.01), 0.8, align="centre"))
