"""Light: glow that keeps its hue, contact shadows that close as things land, fog up to the horizon, a dark without bands."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scenes.reel.element import LEFT, Element
from scenes.stage.keys import Track, arrive, leave, overshoot, smooth
from scenes.stage.overlay import Text
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, TEXT, THREAD, Colour, mix
from scenes.stage.passage import Scenery
from scenes.stage.type import FACT, HEADLINE
from scenes.stage.world import Boxes, Fog, Ground, Light, World

Floats = NDArray[np.float64]
COLUMNS: tuple[tuple[float, float, Colour], ...] = (
    (-4.4, 0.6, MEMORY), (-2.2, -0.4, COMPUTE), (0.0, 0.8, THREAD), (2.2, -0.4, COMPUTE), (4.4, 0.6, MEMORY),
)  # fmt: skip
DROP = 6.5  # world units from which the cubes come down


class Lights(Element):
    """Columns light up one a beat, cubes land between them, and all of it goes down with the song."""

    name: ClassVar[str] = "reel-light"
    title: ClassVar[str] = "LIGHT"
    line: ClassVar[str] = "glow that keeps its hue, shadow, fog, horizon"
    camera_does: ClassVar[str] = "draw back, rest"
    shows: ClassVar[tuple[str, ...]] = ("bloom", "ground and horizon", "mirror", "fog", "contact shadow", "dithering", "iris")

    def construct(self) -> None:
        # Five dark columns on a mirror, slabs behind them into the fog.
        self.lit = [Track(0.0).to(1.0, 1.0 + k, 0.6, arrive) for k in (2, 1, 0, 3, 4)]
        self.land = [Track(1.0).to(0.0, 6.0 + k, 1.6, leave) for k in range(6)]
        self.squash = [Track(0.7).to(1.0, 6.8 + k, 0.8, overshoot) for k in range(6)]
        self.prop(Scenery(self._light), self)

        # Low in front of them, then back until all of it stands above the line that is sung.
        self.fly([
            (self.at(1), (0.0, 0.2, 1.1, 10.0, -20.0, 7.0)), (self.at(2), (0.0, 0.2, 1.1, 11.5, -10.0, 9.0)),
            (self.at(3), (-1.6, 0.4, 0.9, 15.0, 4.0, 10.0)), (self.at(4), (-3.0, 1.0, 1.1, 18.5, 12.0, 9.0)),
            (self.at(5), (-3.5, 1.6, 1.4, 20.5, 17.0, 8.5)),
        ])  # fmt: skip
        self.caption()

        # What it was, from which GPU, and out.
        shown = Track(0.0).to(1.0, self.at(3, 3), 0.6, arrive).to(0.0, self.at(4, 4.5), 0.8)
        self.text(Text("THE STAGE", HEADLINE, LEFT, 330, opacity=shown))
        self.text(Text(self.footer(), FACT.coloured(QUIET), LEFT, 396, opacity=shown))
        self.dim.to(1.0, self.at(5), 1.5, smooth)
        self.finish()

    def _light(self, world: World, beat: float) -> None:
        world.light = Light(focus=(0.0, 0.4), radius=7.5, ambient=0.22)
        world.fog = Fog(start=12.0, end=40.0)
        world.ground = Ground(spacing=1.1, extent=50.0, line_alpha=0.14, reflect=0.9)

    def draw(self, world: World, beat: float) -> None:
        on = np.array([track(beat) for track in self.lit])
        x, y, _ = (np.array(values) for values in zip(*[(a, b, 0) for a, b, _ in COLUMNS], strict=True))
        hue = np.array([colour for *_, colour in COLUMNS])
        tall = np.array([1.7, 2.4, 3.1, 2.4, 1.7])
        dark = np.array(mix(PLATE, STEEL, 0.6))
        colour = dark + (hue - dark) * on[:, None]
        world.add(Boxes.of(np.column_stack([x - 0.35, y - 0.35, np.zeros(5)]), np.column_stack([np.full((5, 2), 0.7), tall]),
                           colour, 0.85 * on, 0.9, shadow=1.0 - 0.8 * on))  # fmt: skip
        self._cubes(world, beat)
        self._slabs(world)

    def _cubes(self, world: World, beat: float) -> None:
        """Six steel cubes come down between the columns; the nearer the floor, the darker and narrower the shadow."""
        k = np.arange(6)
        fall = np.array([track(beat) for track in self.land])
        tall = 0.72 * np.array([track(beat) if fall[j] <= 0.0 else 1.0 for j, track in enumerate(self.squash)])
        x, y = -3.3 + 1.32 * k, np.where(k % 2, -1.9, -2.5)
        origin = np.column_stack([x - 0.36, y - 0.36, 0.0 + DROP * fall])
        world.add(Boxes.of(origin, np.column_stack([np.full((6, 2), 0.72), tall]), mix(STEEL, TEXT, 0.18), 0.0, 1.0))

    def _slabs(self, world: World) -> None:
        """Rows of slabs behind, each row further in the fog."""
        x, y = np.meshgrid(np.arange(-26.0, 27.0, 2.6), np.array([5.0, 9.0, 14.0, 20.0, 27.0, 35.0]))
        k = np.arange(x.size)
        tall = 0.7 + 1.1 * np.abs(np.sin(1.9 * k)) + 0.05 * y.ravel()
        origin = np.column_stack([x.ravel() - 0.9 + 0.6 * np.sin(k), y.ravel(), np.zeros(x.size)])
        world.add(Boxes.of(origin, np.column_stack([np.full((x.size, 2), 1.3), tall]), mix(PLATE, STEEL, 0.7), 0.0, 0.7))
