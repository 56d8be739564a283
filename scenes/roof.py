"""The roofline, four times: built, then climbed rung by rung.  The last time is `scenes.last_roof`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import ClassVar

from scenes import film
from scenes.props import hall_light, lesson
from scenes.props import rungs as facts
from scenes.props.axes import axes
from scenes.props.climb import FLIGHT, block, by_quarters, climb, quick_run
from scenes.props.cube import Cube
from scenes.props.framing import Lens
from scenes.props.gauges import Gap, Headroom
from scenes.props.hall_flight import ROOF_1, ROOF_2, ROOF_3, Key, flight
from scenes.props.register_story import Registers
from scenes.props.roof_line import RoofLine
from scenes.props.roofline import CUBE, FLOOR, HALF_DEPTH, HEIGHT, Chart, Hall, Tower, light_the_hall, towers
from scenes.stage.camera import Camera
from scenes.stage.hud import Ratio
from scenes.stage.keys import Track, linear, overshoot, ramp, window
from scenes.stage.overlay import Text
from scenes.stage.passage import Passage, Scenery
from scenes.stage.type import FACT

Moment = tuple[int, float]


class Roof(Passage):
    """Roof 1: speed is capped by memory or by math; the first rung lands almost on the floor."""

    name: ClassVar[str] = "roof-1"
    title: ClassVar[str] = "THE ROOFLINE"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 6"
    landings: ClassVar[tuple[Moment, ...]] = ((6, 3),)  # bar and beat of each new rung: long notes
    builds: ClassVar[bool] = True
    opening: ClassVar[tuple[str, ...]] = ()  # lines of a caption that stands where the first rung's facts will
    facts_at: float = 0.0  # design pixels by which facts stand lower: under a beam that reaches over the whole hall
    aside: ClassVar[tuple[float, float, float]] = (0.65, 0.95, 3.8)  # left, up, back: for the camera in a hall without a slope
    path: ClassVar[Sequence[Key]] = ROOF_1

    def construct(self) -> None:
        # A hall over the board: its slope, its beam and the place of every tower come from the measurements.
        self.chart = Chart.of(self.data)
        self.sky = self.prop(Scenery(light_the_hall))
        self.camera_at = self.fly()
        self.hud_shown.set(0.0, 0).to(1.0, self.at(2), 0.5)
        if self.chart is None:
            self.text(Text(f"roofs not measured on {self.data.device.name}", FACT, 96, 300))
            return self.finish()
        built, placed = 0.0 if self.builds else 1.0, self.chart.placed
        self.slope, self.beam = Track(built if placed else 0.0), Track(built)
        self.across = Track(0.0 if placed else built)
        self.lens = Lens(FLOOR, FLOOR + HEIGHT, self.zoom(self.chart))
        # From the first landing on, what matters is the roof over the towers, not the hall's two rails.
        self.stands = Track(0.0).to(1.0, self.first(), FLIGHT) if self.builds else Track(1.0)
        hall = Hall(self.chart, self.slope, self.beam, self.axis_shown(), self.across, self.lens, self.pinned, self.stands)
        self.prop(hall)
        # The rate axis waits until the roof, which is lettered in its place, has been built.
        rates = window(self.first() if self.builds else self.at(2), self.closing())
        self.text(*axes(self.chart, self.axis_shown(), rates, self.pinned, self.lens, self.standing, not self.builds))

        # Earlier rungs stand already; the new ones rise on their downbeats and carry the cube up.
        earlier = self.rungs_before()
        self.land = dict(self.steps())
        rises = {rung: Track(1.0) for rung in earlier}
        rises |= {rung: self.rise(moment) for rung, moment in self.land.items()}
        self.towers = towers(self.data, self.chart, rises, self.lens)
        self.cube = climb(self.chart, self.towers, self.stops(rises))
        self.prop(*self.towers.values(), Cube(self.cube, size=CUBE, emission=0.8))
        self.roof_line = self.prop(RoofLine(hall, self.planes, self.stands))
        if self.builds:
            self.raise_the_roof(self.chart)
        else:
            self.light_up(self.chart)
        for rung, moment in self.land.items():
            self.present(rung, moment)
        self.close()
        self.finish()

    def standing(self) -> Iterable[Tower]:
        """The towers: made after the axes that keep clear of them."""
        return self.towers.values()

    def planes(self, beat: float) -> list[tuple[float, float]]:
        """Where the roof is drawn over what stands under it: in the cube's own plane first, then over each older tower."""
        x, y, _ = self.cube(beat)
        older = [tower.lot for tower in self.towers.values() if tower.rise(beat) > 0.5]
        mine = (x, min(HALF_DEPTH, max(-HALF_DEPTH, y)))
        return [mine, *((lot.x, lot.y) for lot in older if abs(lot.x - x) > 0.1 or abs(lot.y - y) > 0.1)]

    def raise_the_roof(self, chart: Chart) -> None:
        # The drop: within a bar the roof is drawn in light from the cube on; then "memory" and "math" stop what rises.
        dawn = self.prop(lesson.Dawn(chart, (0.0, self.at(2), self.at(2, 3), self.at(3, 1.25)), self.pinned))
        self.sky.arrange = dawn.light
        for k in range(1, 33):
            self.slope.to(dawn.slope(0.125 * k), 0.125 * k, 0.125, linear)
            self.beam.to(dawn.beam(0.125 * k), 0.125 * k, 0.125, linear)
        roofs, leave = (self.read(f"roofs.{chart.level}"), self.read("roofs.fp32")), self.first() - FLIGHT
        self.text(*lesson.words(self.data, chart, roofs, self.at, leave, self.pinned, self.clock.beats))
        self.prop(lesson.ghosts(chart, self.at, leave))
        for tower in self.towers.values():
            gap, named = lesson.room(chart, tower, self.at, self.closing() - 1.25)
            self.prop(gap)
            self.text(*named)
        # Rungs whose bytes nobody published have a height, but no place under a slope: the beam alone is their roof.
        if chart.placed:
            self.prop(lesson.shine(chart, self.at))
        else:
            self.slope.to(0.0, self.first(), 2.0)
            self.across.to(1.0, self.first(), 2.0)

    def light_up(self, chart: Chart) -> None:
        # On each "rise" and with each landing light runs up the roof; the drop's own is as bright as the first roof's.
        self.sky.arrange = hall_light.chorus(list(self.land.values()))
        for band in hall_light.bands(chart, [0.0, 2.0, *self.land.values(), self.at(5), self.at(5, 3)]):
            self.prop(band)

    def present(self, name: str, moment: float) -> None:
        """The facts of a rung, or of a quick run, on the left while it is the newest, and how much roof is left above it."""
        run = quick_run(self.land, name)
        chart, tower, mark = self.chart, self.towers.get(name), f"derived.intensity.gemm_fp32.{name}"
        if not run or chart is None or tower is None:
            return
        following = [m for m in self.land.values() if m > moment]
        leaves = min(following) - FLIGHT - 0.15 if following else self.closing()
        begins = run[0][1] - (0.0 if self.opening and run[0][1] == self.first() else FLIGHT - 0.15)
        seen, stands = window(begins, leaves, 0.3), window(moment - 0.06, leaves, 0.12)
        shown, landed = (lambda b: seen(b) and seen(b) * self.room(b)), (lambda b: stands(b) and stands(b) * self.room(b))
        self.text_later(shown, lambda: block(self.data, run, shown, landed, self.builds, self.facts_at))
        if self.data.has(mark):
            over = cache(lambda: chart.z(chart.limit(self.read(mark).quantity.value)))
            left = window(moment + 1.0, self.closing())
            self.prop(Headroom(tower, over, lambda beat: left(beat) * ramp(tower.rise(beat), 0.9, 0.1)))

    def close(self) -> None:
        """It ends on the way to where the song goes on, without the HUD."""
        self.hud_shown.to(0.0, self.clock.beats - 0.5, 1.0)

    def closing(self) -> float:
        """The moment at which everything lettered in the world leaves."""
        return self.clock.beats - 1.0

    def room(self, beat: float) -> float:
        """How much of the rung's facts is left by what else is said there, 0..1."""
        return 1.0

    @property
    def rungs(self) -> tuple[str, ...]:
        """The rungs that this roof adds."""
        return film.row(self.name).rungs

    def first(self) -> float:
        """The moment at which its first rung lands."""
        return self.at(*self.landings[0])

    def steps(self) -> tuple[tuple[str, float], ...]:
        """Each new rung that this ladder has, and when it lands."""
        there = filter(partial(facts.find, self.data), self.rungs)
        return tuple((rung, self.at(*moment)) for rung, moment in zip(there, self.landings, strict=False))

    def stops(self, rises: dict[str, Track]) -> list[tuple[float, str]]:
        """On which tower the cube lands when: it stands on the newest of those that `rises` has from the beginning."""
        standing = [rung for rung in self.towers if rung not in self.land]
        return [*((-1.0, rung) for rung in standing[-1:]), *((moment, rung) for rung, moment in self.land.items())]

    def rise(self, moment: float) -> Track:
        """How a tower grows on which the cube lands at a moment."""
        return Track(0.0).to(1.0, moment, FLIGHT, overshoot)

    def zoom(self, chart: Chart) -> Callable[[float], float]:
        """How far the vertical scale is zoomed: not at all."""
        return lambda beat: 1.0

    def achieved(self) -> Callable[[float], Ratio | None]:
        """The fastest rung that has landed, of the beam; where its share of the slope is told, that is the only ratio."""
        best, before, steps = cache(self.best_of), self.rungs_before(), self.steps()

        def ratio(beat: float) -> Ratio | None:
            landed = tuple(rung for rung, moment in steps if beat >= moment)
            told = self.builds and any(facts.roof_over(self.data, rung) for rung in landed)
            return None if told else best(before + landed)

        return ratio

    def fly(self) -> Callable[[float], Camera]:
        # Without a slope the hall's left is empty: it gives way to the facts, or the beam would lie across them.
        begin = self.first() - 4.0 if self.builds else 0.0
        aside = self.aside if self.chart is not None and not self.chart.placed else (0.0, 0.0, 0.0)
        return flight(self.path, aside, begin, self.closing() - 0.75)

    def axis_shown(self) -> Callable[[float], float]:
        # Towers without an intensity must not seem to stand at one: the axis goes before the first of them rises.
        if self.chart is not None and self.chart.placed:
            return window(self.at(2), self.closing())
        return window(self.at(2), self.first() - FLIGHT) if self.builds else (lambda beat: 0.0)


class Roof2(Roof):
    """Roof 2: neighbours read together, then tiles in shared memory climb."""

    name = "roof-2"
    title = "SHARED TILES"
    landings = ((2, 3), (4, 3), (6, 3))
    builds, aside = False, (2.6, 0.0, 1.5)
    path = ROOF_2

    def rise(self, moment: float) -> Track:
        return by_quarters(moment)

    def close(self) -> None:
        # "The burden is light": how far the newest tower still is under the beam.
        super().close()
        assert self.chart is not None
        for tower in list(self.towers.values())[-1:]:
            shown = window(self.at(7), self.closing() - 0.75)
            self.prop(Gap(self.chart, tower, Track(0.0).to(1.0, self.at(8), 3.0), shown))


class Roof3(Roof):
    """Roof 3: each thread keeps a square of sums in registers."""

    name = "roof-3"
    title = "REGISTERS FEED THE MATH"
    landings = ((6, 3),)
    builds, aside = False, (3.4, 0.0, 3.0)
    path = ROOF_3

    def close(self) -> None:
        # The wall of sums is brought before the eye: the camera gives way, the towers dim behind it.
        super().close()
        assert self.chart is not None
        lands = self.land.get("tile_2d") is not None
        story = Registers(self.data, self.cube, self.at, lands, self.camera_at, self.chart.placed)
        self.camera_at = story.camera
        for tower in self.towers.values():
            tower.light = story.dimmed
        self.roof_line.shown, self.roof_line.hall.aside = story.dark, lambda beat: 1.0 + 0.28 * story.near(beat)
        self.prop(*story.walls())
        for shown, make in story.captions():
            self.text_later(shown, make)
