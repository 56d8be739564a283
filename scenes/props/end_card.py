"""The film's last picture: its title beside the staircase, and under it how far the kernels climbed, and the credits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from scenes.props.credits import Credit
from scenes.props.cube import Vector
from scenes.props.signs import Sign
from scenes.props.stairs import Stairs
from scenes.stage.claims import figure
from scenes.stage.keys import Track, arrive, overshoot
from scenes.stage.palette import COMPUTE, QUIET, TEXT, THREAD, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import DESIGN_HEIGHT, DESIGN_WIDTH, FACT, HEADLINE, LABEL, Style
from scenes.stage.world import Ribbons, World

WORDS = ("HOW", "KERNELS", "CLIMB")
SCALE = 22.0  # design pixels of a world unit
EDGE, TOP, END = 112.0, 186.0, 1814.0  # the title's left edge, its first baseline, the last step's right end, design pixels
ALONE = 1300.0  # where the thread stands without a staircase
RAISED = 13.4  # height that the camera looks at, world units
HIGH, LEAD, BELOW = 5.2, 6.8, 4.1  # capitals of the title, from line to line, and to what stands under it, world units
ROW, ROOM, SMALL_CAPITALS = 2.05, 10.4, 1.12  # of the credits: from line to line, from the first to the last at most, capitals
FACING = 3.0  # azimuth of the camera, and of the letters

HEIGHT, PIECES = 26.0, 24  # of the beam, world units; pieces of which each has an opacity of its own
SPARK = 2.2  # how long the light is that goes up along it, world units


@dataclass(frozen=True, slots=True)
class EndCard:
    """Beside `stairs`; `about` gives the lines under the range of rates, the credits; it is asked when they are shown."""

    stairs: Stairs
    about: Callable[[], Sequence[Credit]]

    @property
    def target(self) -> Vector:
        """Where the camera looks: the staircase's end is at the picture's right edge, whatever its number of steps."""
        right = self.stairs.x + self.stairs.broad * len(self.stairs.steps) / 2
        end = END if self.stairs.steps else ALONE
        return right - (end - DESIGN_WIDTH / 2) / SCALE, self.stairs.y, RAISED

    @property
    def distance(self) -> float:
        """Of the camera, whose field of view is 32 degrees high."""
        return DESIGN_HEIGHT / (2.0 * math.tan(math.radians(16.0))) / SCALE

    def place(self, line: float) -> Vector:
        """The left end of a line of the title, counted from 0, downwards."""
        x, y, z = self.target
        return x - (DESIGN_WIDTH / 2 - EDGE) / SCALE, y - 2.0, z + (DESIGN_HEIGHT / 2 - TOP) / SCALE - LEAD * line

    def signs(self, last: float) -> list[Sign]:
        """The title a word each half beat, the last on beat `last`."""
        signs = list[Sign]()
        for k, word in enumerate(WORDS):
            rise = Track(0.0).to(1.0, last - 0.5 * (len(WORDS) - 1 - k), 0.5, overshoot)
            signs.append((partial(_rising, word, self.place(k), rise), rise))
        return signs

    def told(self, last: float) -> Told:
        """The facts, after the title's last word on beat `last`."""
        return Told(cache(self.facts), Track(0.0).to(1.0, last + 0.5, 0.5, arrive))

    def _rates(self) -> list[TextPlane]:
        """From the slowest rung to the fastest; nothing where no rung has a rate."""
        rates = sorted((step.rate for step in self.stairs.steps if step.rate), key=lambda rate: rate.quantity.value)
        if not rates:
            return []
        low, high = (figure(rate, 2 if rate.quantity.value < 1 else 1) for rate in (rates[0], rates[-1]))
        x, y, z = self.place(len(WORDS) - 1)
        words = f"{low.numeral} → {high.text}" if len(rates) > 1 else high.text
        plane = TextPlane.standing(words, FACT.coloured(COMPUTE), (x, y, z - BELOW), 1.9, FACING)
        return [replace(plane, figure=high)]

    def facts(self) -> list[TextPlane]:
        """The range of the rates and the lines about it."""
        x, y, z = self.place(len(WORDS) - 1)
        style = Style("InterDisplay-Medium", LABEL.size, mix(QUIET, TEXT, 0.4))
        lines, planes = self.about(), self._rates()
        lead = min(ROW, ROOM / max(len(lines) - 1, 1))
        for k, line in enumerate(lines):
            at = (x, y, z - BELOW - 2.5 - lead * k)
            planes.append(replace(TextPlane.standing(line.words, style, at, SMALL_CAPITALS, FACING), figure=line.figure))
        return planes


@dataclass(frozen=True, slots=True)
class Told:
    """Planes that are made when `shown`, their opacity, first is above 0."""

    planes: Callable[[], Sequence[TextPlane]]
    shown: Callable[[float], float]

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        if shown > 0.004:
            for plane in self.planes():
                world.add(plane.shown(shown))


@dataclass(frozen=True, slots=True)
class Beam:
    """The thread's way on: a line of its light from `foot` up and out of the picture, as far as `risen` 0..1, ever fainter.

    On every beat more light leaves the thread and goes up along it.
    """

    foot: Vector
    risen: Callable[[float], float]

    def draw(self, world: World, beat: float) -> None:
        risen = self.risen(beat)
        if risen <= 0.004:
            return
        heights = np.linspace(0.0, HEIGHT * risen, PIECES + 1)
        points = np.array(self.foot) + heights[:, None] * (0.0, 0.0, 1.0)
        fade = (1.0 - heights[:-1] / HEIGHT) ** 1.5
        world.add(Ribbons.of(points[:-1], points[1:], 0.34, mix(THREAD, TEXT, 0.15), 0.85 * fade, 0.9 * fade))
        went = HEIGHT * risen * (beat % 1.0)
        near = np.exp(-(((heights[:-1] - went) / SPARK) ** 2)) * (1.0 - beat % 1.0)
        seen = near > 0.02
        if seen.any():
            a, b = points[:-1][seen], points[1:][seen]
            world.add(Ribbons.of(a, b, 0.5, mix(THREAD, TEXT, 0.55), 0.9 * near[seen], 0.9 * near[seen]))


def _rising(word: str, place: Vector, rise: Track, beat: float) -> TextPlane:
    """A word of the title on its way up to its place."""
    x, y, z = place
    return TextPlane.standing(word, HEADLINE, (x, y, z - 3.0 * (1.0 - rise(beat))), HIGH, FACING)
