"""Title: one cube wakes on a dark floor, its neighbours rise around it, and a plain of them reaches the horizon."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Cube
from scenes.props.seats import APPROACH, CUT_LIGHT, REST, Floats, Hall, Plain, camera_of, light_hall
from scenes.stage.keys import Path, Track, overshoot, ramp, smooth
from scenes.stage.palette import QUIET, TEXT, THREAD, mix
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import FACT, HEADLINE
from scenes.stage.world import HORIZON_COLOR, Ground, World

WORDS = ("HOW", "KERNELS", "CLIMB")
# The title in the world: its left end, distance, azimuth that it faces; first foot, stair, height of capitals, gap.
LEFT, FAR, FACING = -10.8, 4.0, 24.0
FOOT, STAIR, TALL, SMALL_TALL, GAP = 2.6, 0.95, 1.4, 0.5, 0.92
PITCH, MOST_LINES = 0.7, 3  # of the small lines under the second word: apart, and how many there may be over what ripples
SAID = FACT.coloured(mix(QUIET, TEXT, 0.7))  # read on a plain that ripples
WAKES = mix((0.25, 0.27, 0.48), THREAD, 0.42)  # a seat in the light that leaves the cube
DAWN = (0.19, 0.15, 0.34)
# How far from the cube the seats have woken, beat by beat, in world units.
REACH = (0.0, 1.2, 2.3, 3.6, 5.2, 7.2, 10.0, 14.0, 19.0, 25.0, 32.0, 41.0, 52.0, 70.0)


@dataclass(frozen=True, slots=True)
class Words:
    """The title as three walls of letters that rise out of the plain, a stair each; under them where its figures come from.

    Those lines begin under the second word, clear of the first, which stands low, and are no longer than the words over them.
    """

    words: tuple[str, ...]
    rises: Sequence[Callable[[float], float]]
    shown: Callable[[float], float]
    byline: Callable[[], tuple[str, str]]
    named: Callable[[float], float]

    def draw(self, world: World, beat: float) -> None:
        shown, reached, ends = self.shown(beat), 0.0, [0.0]
        for k, (word, rise) in enumerate(zip(self.words, self.rises, strict=True)):
            up = rise(beat)
            plane = TextPlane.standing(word, HEADLINE, along(reached, FOOT + STAIR * k - (1.0 - up) * 2.0), TALL, FACING)
            if up > 0.0:
                world.add(plane.shown(shown * min(1.0, 3.0 * up), 0.35))
            reached += plane.width + GAP
            ends.append(reached)
        named = shown * self.named(beat)
        if named > 0.0:
            for k, line in enumerate(lines_of(*self.byline(), ends[-1] - GAP - ends[1])):
                place = along(ends[1], FOOT - PITCH * k)
                world.add(TextPlane.standing(line, SAID, place, SMALL_TALL, FACING).shown(named, 0.2))


@cache
def lines_of(name: str, source: str, width: float) -> tuple[str, ...]:
    """A GPU's name and where its figures come from in lines no longer than `width`; a name that needs more is cut short."""
    letters = int(width / TextPlane.standing("m", SAID, (0.0, 0.0, 0.0), SMALL_TALL).width)
    whole = f"{name} · {source}"
    if len(whole) <= letters:
        return (whole,)
    named = textwrap.wrap(name, letters, max_lines=MOST_LINES - 1, placeholder=" …", break_on_hyphens=False)
    return (*named, source)


def along(reached: float, z: float) -> tuple[float, float, float]:
    """A point of the wall of letters, so far from its left end and so high."""
    a = np.radians(FACING)
    return LEFT + reached * float(np.cos(a)), FAR + reached * float(np.sin(a)), z


class Title(Passage):
    """The first passage of the film."""

    name: ClassVar[str] = "title"
    title: ClassVar[str] = "HOW KERNELS CLIMB"
    chapter: ClassVar[str] = ""
    bars: ClassVar[int] = 4

    def construct(self) -> None:
        end = self.clock.beats
        hall = Hall.of(self.data)

        # Clear the frame of all but the beat lamps.
        self.hud_shown.set(0.0, self.clock.at_frame(self.clock.start) - 1.0)

        # Wake the cube: it swells, then hops and lands on every beat; each landing sends a ripple through the seats.
        size = Track(0.62).to(0.8, self.at(1, 2), 1.0, overshoot)
        far = CUT_LIGHT[2]
        keys_of_light = [(0.0, (5.0, 1.0, far)), (self.at(2), (7.0, 1.0, far)), (self.at(3), (16.0, 1.1, far))]
        light = Path([*keys_of_light, (self.at(4), keys_of_light[-1][1]), (end, CUT_LIGHT)])
        self.prop(Scenery(lambda world, beat: self._arrange(world, beat, light)))
        self.prop(Cube(lambda beat: (0.0, 0.0, self._hop(beat)), size, stretch=self._stretch))

        # Let its neighbours rise, a ring further on each beat, until the plain is full.
        self.prop(Plain(hall, self._height, self._heat, WAKES))

        # Begin low and close; rise and draw back as the plain grows; dive to the cube in the last two beats.
        keys: list[tuple[float, tuple[float, ...]]] = [
            (self.at(1), (0.0, 0.0, 0.55, 5.2, -34.0, 5.0)),
            (self.at(1, 3), (0.0, 0.2, 0.6, 6.4, -26.0, 8.0)),
            (self.at(2), (0.0, 0.8, 0.9, 9.5, -16.0, 10.0)),
            (self.at(3), (0.0, 2.2, 2.8, 22.5, 3.0, 8.0)),
            (self.at(4), (0.0, 3.0, 3.2, 24.0, 10.0, 8.0)),
        ]
        keys += [(end + beat, vector) for beat, vector in APPROACH]
        self.camera_at = camera_of(Path(keys))

        # Set the title as three stairs, a word a beat from the third downbeat, under it where the film's figures come from.
        self._set_title()
        self.finish()

    def _arrange(self, world: World, beat: float, light: Path) -> None:
        """Night around the cube; a dawn at the horizon comes with the title."""
        light_hall(world, (0.0, 0.0), *light(beat))
        dawn = ramp(beat, self.at(2, 3), 6.0)
        sky = mix(HORIZON_COLOR, DAWN, dawn * (1.0 - ramp(beat, self.clock.beats - 2.0, 2.0)))
        world.light = replace(world.light, ambient=0.1 + 0.18 * ramp(beat, self.clock.beats - 2.0, 2.0), bloom=1.3)
        world.fog = replace(world.fog, color=sky)
        world.ground = replace(world.ground or Ground(), horizon=sky, reflect=0.8 * (1.0 - ramp(beat, self.at(2), 2.0)))

    def _set_title(self) -> None:
        gone = self.at(4, 3.3)
        rises = [Track(0.0).to(1.0, self.at(3, 1 + k), 0.6, overshoot) for k in range(len(WORDS))]
        named = Track(0.0).to(1.0, self.at(3, 4), 0.5)
        self.prop(Words(WORDS, rises, Track(1.0).to(0.0, gone, 0.6), cache(self._byline), named))

    def _byline(self) -> tuple[str, str]:
        """The GPU, and the day its figures were measured or that they were published."""
        name, _, source = self.footer().rpartition(" · ")
        return name, source

    def _hop(self, beat: float) -> float:
        """Height of the cube: it leaves the floor half way to each beat and lands on it; at rest before the first and last."""
        u = (beat - np.floor(beat) - 0.4) / 0.6
        return float(3.2 * u * (1.0 - u)) if u > 0.0 and 0.0 <= beat < self.clock.beats - 1.0 else 0.0

    def _stretch(self, beat: float) -> float:
        """Squashed where it lands, long in flight, the same volume always."""
        phase = beat - np.floor(beat)
        squash = -0.22 * np.exp(-phase / 0.12) * ramp(phase, 0.0, 0.06) - 0.12 * np.exp(-(((phase - 0.36) / 0.08) ** 2))
        return float(1.0 + squash) if 0.9 < beat < self.clock.beats - 0.9 else 1.0

    def _front(self, beat: float) -> float:
        """How far from the cube the seats have woken: it leaps outwards just before each beat and lands on it."""
        step = int(np.floor(beat))
        here, there = REACH[min(max(step, 0), len(REACH) - 1)], REACH[min(max(step + 1, 0), len(REACH) - 1)]
        return here + (there - here) * ramp(beat - step, 0.45, 0.55, smooth)

    def _height(self, beat: float, distance: Floats, inside: NDArray[np.bool_]) -> Floats:
        del inside
        risen = np.clip((self._front(beat) - distance + 0.6) / 1.2, 0.0, 1.0)
        return REST * risen * risen * (3.0 - 2.0 * risen) + self._swell(beat, distance) * risen

    def _swell(self, beat: float, distance: Floats) -> Floats:
        """A ripple that leaves the cube on every beat and dies down on its way."""
        phase = beat - np.floor(beat)
        strength = 0.55 * ramp(phase, 0.0, 0.12) * (1.0 - phase) ** 1.5
        clear = np.clip((distance - 1.6) / 1.6, 0.0, 1.0)  # its nearest neighbours stay low: they would hide the cube
        return np.asarray(strength * clear * np.exp(-((distance - 9.0 * phase - 1.6) ** 2) / 2.2))

    def _heat(self, beat: float, distance: Floats) -> Floats:
        return np.clip(1.0 - np.abs(self._front(beat) - distance) / 2.5, 0.0, 1.0) * 0.7 + 1.7 * self._swell(beat, distance)
