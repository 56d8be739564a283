"""The roofline, four times: built, then climbed rung by rung.  Roofs 1 to 4 differ in their rungs, camera and close."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import ClassVar

from measure.dataset import Reading
from scenes import film
from scenes.props import rungs as facts
from scenes.props.axes import axes
from scenes.props.climb import FLIGHT, climb
from scenes.props.cube import Cube
from scenes.props.gauges import Headroom, Line
from scenes.props.roofline import CUBE, FLOOR, HALF_DEPTH, Chart, Hall, light_the_hall, towers
from scenes.stage.camera import Camera
from scenes.stage.claims import Figure, figure
from scenes.stage.hud import Ratio
from scenes.stage.keys import Path, Track, arrive, overshoot, ramp, window
from scenes.stage.layout import Label, Labels
from scenes.stage.overlay import Text
from scenes.stage.palette import COMPUTE, MEMORY, QUIET, Colour
from scenes.stage.passage import Passage, Scenery
from scenes.stage.type import FACT, SMALL, Style

Moment = tuple[int, float]
Key = tuple[float, Sequence[float]]  # beat; target x, y, z, distance, azimuth, elevation


class Roof(Passage):
    """Roof 1: speed is capped by memory or by math; the first rung lands almost on the floor."""

    name: ClassVar[str] = "roof-1"
    title: ClassVar[str] = "THE ROOFLINE"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 6"
    landings: ClassVar[tuple[Moment, ...]] = ((6, 3),)  # bar and beat of each new rung: long notes
    builds: ClassVar[bool] = True
    aside: ClassVar[tuple[float, float]] = (1.2, 0.6)  # how far left and up the camera looks past a hall without a slope
    path: ClassVar[tuple[Key, ...]] = (
        (0, (-6.4, 0.0, 0.9, 11.0, -50, 5)),
        (4, (-2.2, 0.0, 2.6, 18.5, -40, 6)),
        (8, (0.4, 0.0, 2.9, 22.5, -30, 7)),
        (12, (0.8, 0.0, 2.8, 23.5, -22, 9)),
        (18, (0.2, 0.0, 3.0, 22.0, -18, 7)),
        (22, (-3.4, 0.0, 3.9, 16.0, -27, 6)),
        (26, (-2.6, 0.0, 3.9, 17.0, -37, 4)),
        (29, (-1.2, 0.0, 2.9, 19.5, -33, 7)),
        (31, (-5.0, 0.0, 1.2, 10.0, -30, 7)),
        (32, (-6.9, 0.0, 0.8, 5.2, -28, 7)),
    )

    def construct(self) -> None:
        # A hall over the board: its slope, its beam and the place of every tower come from the measurements.
        self.chart = Chart.of(self.data)
        self.prop(Scenery(light_the_hall))
        self.camera_at = self.fly()
        self.hud_shown.set(0.0, 0).to(1.0, self.at(2), 0.5)
        if self.chart is None:
            self.text(Text(f"roofs not measured on {self.data.device.name}", FACT, 96, 300))
            return self.finish()
        built, placed = 0.0 if self.builds else 1.0, self.chart.placed
        self.slope, self.beam = Track(built if placed else 0.0), Track(built)
        self.across = Track(0.0 if placed else built)
        self.prop(Hall(self.chart, self.slope, self.beam, self.axis_shown(), self.across))
        # The rate axis waits until the roof, which is lettered in its place, has been built.
        rates = window(self.first() if self.builds else self.at(2), self.closing())
        self.text(*axes(self.chart, self.axis_shown(), rates))

        # Earlier rungs stand already; the new ones rise on their downbeats and carry the cube up.
        earlier = self.rungs_before()
        self.land = dict(self.steps())
        rises: dict[str, Callable[[float], float]] = dict.fromkeys(earlier, lambda beat: 1.0)
        rises |= {rung: Track(0.0).to(1.0, moment, FLIGHT, overshoot) for rung, moment in self.land.items()}
        self.towers = towers(self.data, self.chart, rises)
        self.prop(*self.towers.values(), Cube(climb(self.chart, self.towers, earlier, self.land), size=CUBE, emission=0.8))
        if self.builds:
            self.raise_the_roof(self.chart)
        for rung, moment in self.land.items():
            self.present(rung, moment)
        self.close()
        self.finish()

    def raise_the_roof(self, chart: Chart) -> None:
        # "Memory": the slope has run up from the floor.
        self.slope.to(1.0, self.at(3), 6.5, arrive)
        memory, math, ridge = self.read(f"roofs.{chart.level}"), self.read("roofs.fp32"), self.data.ridge(chart.level)
        name, end = f"memory, {facts.LEVEL_NAMES.get(chart.level, chart.level)}", self.first() - 1.0
        x, z = chart.along_the_slope(0.55)
        labels = [self.label(name, facts.bandwidth(memory), self.at(3), end, (x, HALF_DEPTH, z), MEMORY)]
        # "Math": a beam that nothing passes; "decide": where they meet.
        self.beam.to(1.0, self.at(3, 3), 2.0, arrive)
        x, z = chart.along_the_slope(1.0)
        labels.append(self.label("math", figure(math, 1), self.at(3, 3), end, (x + 1.6, -HALF_DEPTH, z), COMPUTE))
        if ridge is not None:
            digits = 2 if ridge.quantity.value < 10 else 1
            labels.append(self.label("ridge", figure(ridge, digits), self.at(4), end, (x, -HALF_DEPTH, FLOOR), QUIET))
        self.text(Labels(labels, self.pinned, self.clock.beats, partial(chart.boxes, self.pinned)))

        # Rungs whose bytes nobody published have a height, but no place under a slope: the beam alone is their roof.
        if not chart.placed:
            self.slope.to(0.0, self.first(), 2.0)
            self.across.to(1.0, self.first(), 2.0)

    def label(self, name: str, shown: Figure, start: float, end: float, at: Sequence[float], colour: Colour) -> Label:
        lines: list[tuple[str | Figure, Style]] = [(f"{name} · {shown.source}", SMALL), (shown, FACT.coloured(colour))]
        return Label(lines, at, window(start, end), colour)

    def present(self, name: str, moment: float) -> None:
        """The rung's facts on the left while it is the newest, and how much roof is left above it."""
        following = [m for m in self.land.values() if m > moment]
        leaves = min(following) - FLIGHT - 0.15 if following else self.closing()
        seen = window(moment - FLIGHT + 0.15, leaves, 0.3)

        def shown(beat: float) -> float:
            return seen(beat) * self.room(beat) if seen(beat) > 0.0 else 0.0

        chart, tower, mark = self.chart, self.towers.get(name), f"derived.intensity.gemm_fp32.{name}"
        if chart is None or tower is None:
            return
        self.text_later(shown, lambda: facts.lettering(self.data, name, shown, lambda beat: chart.rate(tower.summit(beat))))
        if self.data.has(mark):
            over = cache(lambda: chart.z(chart.limit(self.read(mark).quantity.value)))
            self.prop(Headroom(tower, over, window(moment + 1.0, self.closing())))

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

    def achieved(self) -> Callable[[float], Ratio | None]:
        best, before = cache(self.best_of), self.rungs_before()
        steps = self.steps()
        return lambda beat: best(before + tuple(rung for rung, moment in steps if beat >= moment))

    def fly(self) -> Callable[[float], Camera]:
        path = Path(self.path)
        # Without a slope the hall's left is empty: it gives way to the facts, or the beam would lie across them.
        begin = self.first() - 4.0 if self.builds else 0.0
        left, up = self.aside if self.chart is not None and not self.chart.placed else (0.0, 0.0)

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            away = ramp(beat, begin, 4.0) * (1.0 - ramp(beat, self.closing() - 3.0, 4.0))
            return Camera.orbit((x - left * away, y, z + up * away), distance, azimuth, elevation, 42.0)

        return camera

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
    builds, aside = False, (3.6, 0.0)
    path = (
        (0, (-5.2, 0.0, 2.2, 9.5, -20, 9)),
        (6, (0.2, 0.0, 4.5, 16.5, -34, 6)),
        (14, (0.4, 0.0, 4.6, 16.5, -22, 7)),
        (22, (1.8, 0.0, 4.8, 15.5, -40, 5)),
        (28, (0.8, 0.0, 3.4, 20.5, -30, 9)),
        (31, (2.0, 0.0, 4.6, 12.5, -24, 7)),
        (32, (2.6, 0.0, 4.8, 8.0, -22, 6)),
    )


class Roof3(Roof):
    """Roof 3: each thread keeps a square of sums in registers."""

    name = "roof-3"
    title = "REGISTERS FEED THE MATH"
    landings = ((2, 3),)
    builds, aside = False, (3.6, 0.0)
    path = (
        (0, (1.8, 0.0, 4.4, 9.5, 22, 4)),
        (6, (3.2, 0.0, 5.2, 13.5, -8, 6)),
        (18, (2.6, 0.0, 5.2, 14.5, -38, 3)),
        (26, (0.8, 0.0, 3.4, 20.5, -28, 10)),
        (31, (3.2, 0.0, 5.2, 11.5, -20, 7)),
        (32, (3.8, 0.0, 5.6, 7.0, -18, 5)),
    )


class Roof4(Roof):
    """Roof 4: rung after rung up to the best; the vendor's line beside it; then the whole climb as a staircase of light."""

    name = "roof-4"
    title = "TO THE TOP"
    landings = ((2, 1), (3, 1), (4, 1), (5, 1), (6, 3))  # the last one on the last "light"
    builds, aside = False, (3.6, 0.0)
    path = (  # from the beam's side: the newest towers stand in front, and nothing hides the cube
        (0, (3.0, 0.0, 5.2, 9.5, 20, 3)),
        (5, (3.4, 0.0, 6.1, 13.5, 30, 5)),
        (12, (2.6, 0.0, 6.0, 15.2, 36, 5)),
        (17, (2.9, 0.0, 6.1, 14.9, 41, 4)),
        (22, (3.2, 0.0, 6.2, 14.3, 34, 6)),
        (26, (1.6, 0.0, 4.2, 18.5, 30, 9)),
        (30, (1.4, 0.0, 4.0, 18.5, 26, 11)),
        (32, (2.6, 0.0, 5.4, 13.0, 16, 7)),
    )
    vendors: ClassVar[Moment] = (7, 2)  # "wide": its line is drawn, and takes the place of the rung's facts
    top: ClassVar[Moment] = (8, 3)  # "sight": the whole ladder shines

    def close(self) -> None:
        # The vendor's library as a dashed line, never a rung.
        assert self.chart is not None
        super().close()
        last, begin, end = self.towers.get(next(reversed(self.land), "")), self.at(*self.vendors), self.at(*self.top)
        if last is not None and self.data.has(facts.VENDOR):
            drawn = Track(0.0).to(1.0, begin + 1.0, 1.5, arrive).to(0.0, self.closing(), 0.5)
            shown = window(begin, self.closing() - 0.3)
            self.prop(Line(self.chart, self.vendor_line, last, drawn))
            self.text_later(shown, lambda: facts.vendor(self.data, self.vendor_line(), shown))
        # The whole ladder as a staircase of light: it dims, then lights up rung by rung, an eighth note each.
        for k, tower in enumerate(reversed(self.towers.values())):
            tower.light = Track(1.0).to(0.3, end - 4.75, 1.0).to(1.0, end - 0.5 * k, 0.4, arrive)

    def room(self, beat: float) -> float:
        leaves = self.at(*self.vendors) - 0.3
        return window(-9.0, leaves, 0.3)(beat) if beat > leaves - 1.0 and self.vendor_line() is not None else 1.0

    def vendor_line(self) -> Reading | None:
        return facts.vendor_line(self.data, self.chart.peak) if self.chart else None
