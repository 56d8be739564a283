"""Curriculum: the path in one look. From the top of the ladder back along every place of the film; credits; up to the light."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import ClassVar

from audio import tracks
from measure.records import Rung
from scenes import film
from scenes.props import credits
from scenes.props.cube import Cube, Vector
from scenes.props.places import Place, Road
from scenes.props.rungs import problem
from scenes.props.sentence import Sentence
from scenes.props.signs import Sign, Signs
from scenes.props.stairs import Stairs, one_by_one
from scenes.stage.camera import Camera
from scenes.stage.hud import Lamps, Ratio
from scenes.stage.keys import Path, Track, arrive, overshoot, pulse, smooth, window
from scenes.stage.overlay import Item, Text
from scenes.stage.palette import QUIET, TEXT
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import FACT, HEADLINE, LABEL, SMALL
from scenes.stage.world import Fog, Ground, Light, World

LEFT = 96
FRONT = 110.0  # how far up the road the staircase stands, world units
CUBE = 3.0
EYE, LOOK = (0.0, -20.0, 8.7), -6.4  # the view that shows the whole path: where from, degrees upwards
WORDS = ("HOW", "KERNELS", "CLIMB")
HIGH, TALL, FACING = 1.7, 0.6, 4.0  # capitals of the title and of the line under it, world units; azimuth they face


class Curriculum(Passage):
    """The path in one look; then what it was drawn from."""

    name: ClassVar[str] = "curriculum"
    title: ClassVar[str] = "THE WHOLE PATH"
    chapter: ClassVar[str] = "CUDA for Deep Learning"
    bars: ClassVar[int] = 6
    back: ClassVar[tuple[int, float]] = (2, 3.25)  # by then the camera stands where the road begins
    credits: ClassVar[tuple[int, float]] = (3, 3.25)  # the signs have been read; the first line of the credits
    up: ClassVar[tuple[int, float]] = (5, 2.5)  # the last flight begins
    last: ClassVar[tuple[int, float]] = (6, 1.0)  # the song's last hit

    def construct(self) -> None:
        # A staircase as high as the rungs are fast, the thread on its top; the road from the first place to it.
        end, seen = self.clock.beats, window(self.at(1, 1.2), self.at(2, 1.4), 0.4)
        self.stairs = Stairs(self.data, FRONT, self._steps_lit(), seen)
        self.prop(Scenery(self._light), self.stairs, Cube(self._thread, CUBE, self._stretch, 0.8))
        signs = Track(0.0).to(1.0, self.at(2, 2.1), 0.7).to(0.0, self.at(*self.credits) + 0.25, 0.5)
        light = Path(
            [(0.0, (FRONT,)), (self.at(*self.back), (-20.0,)), (self.at(*self.up), (0.0,)), (self.at(*self.last), (FRONT,))]
        )
        self.camera_at = self._travel()
        whole = self.at(*self.back) + 1.5  # the middle of the time in which all signs are read
        self.prop(Road(self._places(), self.view(whole), FRONT, self.view, signs, lambda beat: float(light(beat)[0])))

        # The head-up display stays for the rates and leaves before the path opens; so do the rates.
        self.hud_shown.to(0.0, self.at(2), 0.75)
        self._tell_the_ladder(seen)
        self._roll_credits()
        self._set_title()

        # After the last hit the light goes; what is left is the thread.
        self.dim.to(0.55, end + self.tail - 0.4, 3.5)
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
        """Step after step they light up; they rest while the credits are read, and do so once more, to the last hit."""
        count, up, last = max(len(self._rungs()), 1), self.at(*self.up), self.at(*self.last)
        first, again = one_by_one(0.25, 2.75 / count), one_by_one(up, (last - up) / max(count - 1, 1))
        rest = Track(1.0).to(0.4, self.at(*self.credits) + 0.5, 1.0)
        return lambda k, beat: max(first(k, beat) * rest(beat), again(k, beat))

    def _places(self) -> list[Place]:
        """Every passage of the film but this one, with the title and the chapter that it shows itself."""
        places = []
        for row in film.FILM:
            if row.name != self.name:
                scene = row.load()
                places.append(Place(row.name, scene.title, scene.chapter.rpartition(", ")[2]))
        return places

    def _light(self, world: World, beat: float) -> None:
        dusk = smooth(min(max((beat - self.clock.beats) / max(self.tail - 0.5, 1.0), 0.0), 1.0))
        x, y, _ = self.camera_at(beat).target
        eye = self.camera_at(beat).eye
        near = math.dist((x, y), eye[:2])
        world.light = Light((x * 0.7, y - 0.35 * near), 26.0 + 0.3 * near, 0.42 * (1.0 - 0.8 * dusk), bloom=1.0)
        world.fog = Fog(start=120.0, end=330.0, max=0.8)
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

    def _ahead(self, distance: float) -> Vector:
        """A point so far along the line of sight of the view that shows the whole path."""
        a = math.radians(LOOK)
        return EYE[0], EYE[1] + distance * math.cos(a), EYE[2] + distance * math.sin(a)

    def _travel(self) -> Callable[[float], Camera]:
        """Keys of the camera: where it looks, distance, azimuth and elevation."""
        x, y, z = self.stairs.top
        whole, back = self._ahead(130.0), self.at(*self.back)
        path = Path([
            (self.at(1), (x - 4.0, y, z - 1.5, 34.0, 16.0, 3.0)),
            (self.at(1, 2.5), (1.0, y, 13.0, 84.0, 7.0, 4.5)),
            (self.at(1, 4), (0.5, y, 13.5, 87.0, 3.0, 5.0)),
            (back, (*whole, 130.0, 0.0, -LOOK)),
            (self.at(3, 3), (*whole, 131.0, 0.0, -LOOK)),
            (self.at(4, 1.5), (-32.0, y, -1.5, 138.0, 3.0, 8.0)),
            (self.at(*self.up), (-32.0, y, -0.5, 132.0, 6.0, 7.5)),
            (self.at(5, 3.75), (x - 10.0, y, z - 1.0, 70.0, 8.0, 6.0)),
            (self.at(*self.last), (x - 11.3, y, z + 0.4, 44.0, 8.0, 4.0)),
            (self.clock.beats, (x - 11.3, y, z + 0.6, 42.5, 4.0, 5.0)),
            (self.clock.beats + max(self.tail, 1.0), (x - 11.3, y, z + 0.8, 41.5, 2.0, 6.0)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            tx, ty, tz, distance, azimuth, elevation = path(beat)
            return Camera.orbit((tx, ty, tz), distance, azimuth, elevation)

        return camera

    def achieved(self) -> Callable[[float], Ratio | None]:
        """The best of the whole ladder: all of it stands here."""
        best, rungs = cache(self.best_of), tuple(rung.name for rung in self._rungs())
        return lambda beat: best(rungs)

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

    def _roll_credits(self) -> None:
        """A line each half beat; all of them leave for the last flight."""
        begin, out = self.at(*self.credits) + 0.25, self.at(*self.up) + 0.5

        def roll() -> Sequence[Item]:
            own = self.timeline.title == tracks.default().timeline.title
            lines = credits.lines(self.data, own, self.timeline.title)
            items: list[Item] = [Text(self.data.device.name, FACT, LEFT, 168, opacity=window(begin, out))]
            step = min(0.5, 3.5 / max(len(lines), 1))
            for k, line in enumerate(lines):
                parts = [(part, SMALL.coloured(QUIET if isinstance(part, str) else TEXT)) for part in line]
                items.append(Sentence(parts, LEFT, 232 + 56 * k, "left", window(begin + step * (k + 1), out)))
            return items

        self.text_later(window(begin, out), roll)

    def _set_title(self) -> None:
        """The title over the stairs, a word each half beat, the last on the last hit; then whose figures these are."""
        x, _, z = self.stairs.top
        left = x - 3.2 - 0.9 * (len(WORDS) - 1) - sum(map(_width, WORDS))
        signs, reached = list[Sign](), left
        for k, word in enumerate(WORDS):
            rise = Track(0.0).to(1.0, self.at(*self.last) - 0.5 * (len(WORDS) - 1 - k), 0.5, overshoot)
            signs.append((partial(_rising, word, (reached, FRONT - 2.0, z + 1.7 + 1.0 * k), rise), rise))
            reached += _width(word) + 0.9
        named = Track(0.0).to(1.0, self.at(*self.last) + 0.5, 0.5, arrive)
        place, style = (left, FRONT - 2.0, z + 0.3), FACT.coloured(QUIET)
        byline = cache(lambda: TextPlane.standing(self.footer(), style, place, TALL, FACING))
        signs.append((lambda beat: byline(), named))
        self.prop(Signs(signs))


def _rising(word: str, place: Vector, rise: Track, beat: float) -> TextPlane:
    """A word of the title on its way up to its place."""
    x, y, z = place
    return TextPlane.standing(word, HEADLINE, (x, y, z - 3.0 * (1.0 - rise(beat))), HIGH, FACING)


def _width(word: str) -> float:
    """Of a word of the title, world units."""
    return TextPlane.standing(word, HEADLINE, (0.0, 0.0, 0.0), HIGH).width
