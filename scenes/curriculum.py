"""Curriculum: the path in one look. From the top of the ladder back along every place of the film; up to the light; credits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from audio import tracks
from measure.records import Rung
from scenes import film
from scenes.props import credits
from scenes.props.cube import Cube, Vector
from scenes.props.end_card import FACING, Beam, EndCard
from scenes.props.places import Place, Road
from scenes.props.rungs import problem
from scenes.props.signs import Signs
from scenes.props.stairs import Stairs, one_by_one
from scenes.stage.camera import Camera
from scenes.stage.hud import Lamps
from scenes.stage.keys import Path, Track, arrive, pulse, ramp, smooth, window
from scenes.stage.overlay import Item, Text
from scenes.stage.passage import Passage, Scenery
from scenes.stage.type import FACT, LABEL, SMALL
from scenes.stage.world import Fog, Ground, Light, World

LEFT = 96  # left edge of what is written
FRONT = 110.0  # y of the staircase's front, world units
CUBE = 3.0
MANY = 6  # rungs
TAN = 0.5 / math.tan(math.radians(16.0))  # distance of a view over its height
OVERVIEW = (0.0, FRONT, -37.7, 235.0, 0.0, 12.0)  # keys of the view that shows the whole path
FINE, FLOOR, RIGHT, WHOLE = 25.5, 840.0, 1730.0, 1080.0  # the view of the ladder: pixels of a world unit, foot, end, height


class Curriculum(Passage):
    """The path in one look; then what it was drawn from."""

    name: ClassVar[str] = "curriculum"
    title: ClassVar[str] = "THE WHOLE PATH"
    chapter: ClassVar[str] = "CUDA for Deep Learning"
    bars: ClassVar[int] = 6
    rises: ClassVar[tuple[int, float]] = (1, 2.0)  # "you": the first rung lights up
    back: ClassVar[tuple[int, float]] = (2, 2.75)  # the ladder has been read, the way back begins
    first: ClassVar[tuple[int, float]] = (2, 3.5)  # "way": the first place lights up
    climbs: ClassVar[tuple[int, float]] = (4, 1.0)  # "climb": the path has been told, the ladder lights up behind it
    leaves: ClassVar[tuple[int, float]] = (4, 2.75)  # the way back to the ladder begins
    up: ClassVar[tuple[int, float]] = (5, 3.0)  # "rise": the last flight begins
    last: ClassVar[tuple[int, float]] = (6, 1.0)  # the song's last hit

    def construct(self) -> None:
        # A staircase as high as the rungs are fast, the thread on its top, named rung by rung as they light up.
        end, back, gone = self.clock.beats, self.at(*self.back), self.at(*self.leaves) + 0.3
        rated = Track(0.0).to(1.0, self.at(*self.last) + 0.5, 0.5)
        self.stairs = Stairs(self.data, FRONT, self._steps_lit(), self._step_told, rated=rated, crown=CUBE + 2.0)
        self.prop(Scenery(self._light), self.stairs, Cube(self._thread, CUBE, self._stretch, 0.8))
        self.hud_shown.to(0.0, back + 0.1, 0.5)
        self._tell_the_ladder(window(self.at(*self.rises) - 0.25, back, 0.4))

        # Back from it, along the places of the film, verse by verse; they light up one after another.
        signs = Track(0.0).to(1.0, back + 1.15, 0.4).to(0.0, gone, 0.3)
        there = Track(0.0).to(1.0, back + 0.5, 0.5).to(0.0, gone + 0.5, 0.5)
        x, y, z, *orbit = OVERVIEW
        whole = Camera.orbit((x, y, z), *orbit)
        self.road: Road = self.prop(Road(self._places(), whole, self._place_lit, signs, there, self.view))
        read = window(back + 1.5, gone - 0.3, 0.3)
        self.text(Text("the whole path", FACT, LEFT, 130, opacity=read))
        self.text(Text(f"chapters of {self.chapter}", SMALL, LEFT, 180, opacity=read))

        # Up to the light; the title once more, and what the film was drawn from.
        own = self.timeline.title == tracks.default().timeline.title
        self.card = EndCard(self.stairs, lambda: credits.lines(self.data, own, self.timeline.title))
        self.prop(Signs(self.card.signs(self.at(*self.last))), self.card.told(self.at(*self.last)))
        self.prop(Beam(self.stairs.top, Track(0.0).to(1.0, self.at(*self.last) + 1.0, 1.0, arrive)))
        self.camera_at = self._travel()

        # After the last hit the light goes; what is left is the thread.
        self.dim.to(0.55, end + self.tail - 0.4, 2.0)
        self.finish()

    def setup(self) -> None:
        """The beat lamps are counted to the last beat, then they go."""
        super().setup()
        gone = Track(1.0).to(0.0, self.clock.beats + 0.3 * self.tail, 0.15 * self.tail)
        self._hud = [Lamps(self.clock, gone) if isinstance(item, Lamps) else item for item in self._hud]

    @property
    def tail(self) -> float:
        """Beats that the sound rings on after the last bar."""
        return self.clock.at_frame(self.clock.end) - self.clock.beats

    # ---- what stands in the world ------------------------------------------------------------------------------------

    def _rungs(self) -> Sequence[Rung]:
        owned = self.data.ladder("gemm_fp32")
        return owned.value.rungs if owned else ()

    def _steps_lit(self) -> Callable[[int, float], float]:
        """Step after step they light up: as the ladder is told, as the path arrives, and once more to the last hit."""
        count, up, last, climbs = max(len(self._rungs()), 1), self.at(5), self.at(*self.last), self.at(*self.climbs)
        told = (one_by_one(self.at(*self.rises), self._every), Track(1.0).to(0.25, self.at(*self.back) + 0.5, 1.0))
        come = (one_by_one(climbs - 1.0, 1.5 / count), Track(1.0).to(0.5, up, 1.5))
        again = one_by_one(up, (last - up) / max(count - 1, 1))
        return lambda k, beat: max(told[0](k, beat) * told[1](beat), come[0](k, beat) * come[1](beat), again(k, beat))

    @property
    def _every(self) -> float:
        """Beats from one rung of the ladder to the next: half a beat, a quarter where there are many."""
        return 0.5 if len(self._rungs()) <= MANY else 0.25

    def _step_told(self, k: int, beat: float) -> float:
        """A rung's name and rate come as it lights up, and leave with all others."""
        come = ramp(beat, self.at(*self.rises) + self._every * k - 0.2, 0.4, arrive)
        return come * (1.0 - ramp(beat, self.at(*self.back) - 0.25, 0.5))

    def _places(self) -> list[list[Place]]:
        """Every passage of the film but this one with its chapter, in rows; a row ends with the passage in which it climbs."""
        rows: list[list[Place]] = [[]]
        for row in film.FILM:
            if row.name != self.name:
                rows[-1].append(Place(row.name, row.load().chapter.rpartition("Ch. ")[2]))
                if row.rungs:
                    rows.append([])
        return [places for places in rows if places]

    def _place_lit(self, which: int, beat: float) -> float:
        """One after another, four a beat, all of them a beat and more before the word "climb"."""
        return ramp(beat, self.at(*self.first) + 0.25 * which - 0.1, 0.2)

    def _light(self, world: World, beat: float) -> None:
        dusk = smooth(min(max((beat - self.clock.beats) / max(self.tail - 0.5, 1.0), 0.0), 1.0))
        x, y, _ = self.camera_at(beat).target
        eye = self.camera_at(beat).eye
        near = math.dist((x, y), eye[:2])
        ambient = 0.42 + 0.3 * ramp(near, 120.0, 80.0)  # the whole path lies far before its light
        world.light = Light((x * 0.7, y - 0.35 * near), 26.0 + 0.3 * near, ambient * (1.0 - 0.8 * dusk), bloom=1.0)
        world.fog = Fog(start=190.0, end=420.0, max=0.8)
        world.ground = Ground(spacing=4.0, extent=150.0)

    def _thread(self, beat: float) -> Vector:
        """On the highest step; it hops and lands on every beat, lower and lower once the song is over."""
        x, y, z = self.stairs.top
        u = (beat - math.floor(beat) - 0.4) / 0.6
        rest = self.clock.beats - 2.0
        return x, y, z + (6.0 * u * (1.0 - u) * smooth(min(max(rest - beat, 0.0), 1.0)) if u > 0.0 else 0.0)

    def _stretch(self, beat: float) -> float:
        """Squashed where it lands, most of all on the last hit."""
        phase, last = beat - math.floor(beat), self.at(*self.last)
        return (
            1.0
            - (0.14 if beat < last else 0.0) * pulse(phase, 0.12)
            - 0.38 * (beat >= last) * pulse(min(beat - last, 0.999), 0.18)
        )

    def _travel(self) -> Callable[[float], Camera]:
        """Keys of the camera: where it looks, distance, azimuth and elevation."""
        x, y, z = self.stairs.top
        card, distance = self.card.target, self.card.distance
        whole, leaves = OVERVIEW, self.at(*self.leaves)
        ladder, back = self._before_the_ladder(), self.at(*self.back)
        keys = [
            (self.at(1), (x - 4.0, y, z - 1.5, 34.0, 16.0, 3.0)),
            (self.at(*self.rises) + 0.25, (*ladder, WHOLE / FINE * TAN, 5.0, 4.5)),
            (back, (*ladder, WHOLE / FINE * TAN * 0.97, -1.5, 4.0)),
            (back + 1.6, (*whole[:3], whole[3] + 2.0, -0.6, whole[5] + 0.1)),
            (leaves - 2.5, (*whole[:3], whole[3] - 1.0, 0.0, whole[5])),
            (leaves + 0.3, (*whole[:3], whole[3] - 2.5, 0.15, whole[5])),
            (leaves + 2.0, (-22.0, y, 6.0, 120.0, 8.0, 8.0)),
            (self.at(*self.up), (-14.0, y, 9.0, 96.0, 11.0, 6.5)),
            (self.at(5, 4.25), (*card, distance * 1.12, FACING + 5.0, 5.0)),
            (self.at(*self.last), (*card, distance * 1.02, FACING + 2.0, 4.0)),
            (self.clock.beats, (*card, distance, FACING, 4.0)),
            (self.clock.beats + max(self.tail, 1.0), (*card, distance * 0.985, FACING - 1.5, 4.0)),
        ]  # fmt: skip
        turn, (start, down) = Path(keys), (keys[0][0], keys[1][0])  # down from the top it turns about the stairs
        keys[1:1] = [(beat, tuple(turn(beat).tolist())) for beat in np.linspace(start, down, 6).tolist()[1:-1]]
        views = [(beat, Camera.orbit(key[:3], *key[3:])) for beat, key in keys]
        path = Path([(beat, (*view.eye, *view.target)) for beat, view in views])  # so no row swings through the song's words

        def camera(beat: float) -> Camera:
            a, b, c, *target = path(beat)
            return Camera((a, b, c), (target[0], target[1], target[2]))

        return camera

    def _before_the_ladder(self) -> Vector:
        """Where the camera looks that shows all of the ladder, its foot above the song and its end at the picture's right."""
        half = self.stairs.broad * len(self.stairs.steps) / 2
        right = min(RIGHT, 1080.0 + half * FINE)
        return self.stairs.x + half - (right - 960.0) / FINE, FRONT, (FLOOR - 540.0) / FINE

    # ---- what is written ---------------------------------------------------------------------------------------------

    def _tell_the_ladder(self, shown: Callable[[float], float]) -> None:
        """Whose rates stand on the steps, in which unit."""
        if not self._rungs():
            self.text(Text(f"fp32 ladder not measured on {self.data.device.name}", LABEL, LEFT, 268, opacity=shown))
            return

        def words() -> Sequence[Item]:
            first = next((step.rate for step in self.stairs.steps if step.rate), None)
            source = first.quantity.source if first else "not measured"
            return [
                Text("the ladder, TFLOP/s", FACT, LEFT, 268, opacity=shown),
                Text(f"{problem(self.data)} · {source}", SMALL, LEFT, 318, opacity=shown),
            ]

        self.text_later(shown, words)
