"""Coalescing: neighbours read together.  One line serves a whole warp; scattered, each lane needs a sector of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import ClassVar

import numpy as np

from scenes.props.cube import Cube, Vector
from scenes.props.lines import BASE, DEEP, EDGE, FRONT, LANES, ROWS, SECTORS, WORD, WORDS, Lines, places, seats
from scenes.props.seats import Hall
from scenes.props.signs import Sign, Signs
from scenes.props.strides import Columns, beside
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.keys import Path, Track, during, linear, pulse, ramp, smooth, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import MEMORY, QUIET, TEXT, mix
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, FACT, LABEL, NUMBER, SMALL
from scenes.stage.ways import Packets, Ways
from scenes.stage.world import Fog, Ground, Light, World

LEFT, RIGHT, FIRST = 96, 1824, 212
SWEEP = "sweeps.coalescing"
BACK = DEEP * ROWS + 1.6  # y of the columns, behind the sheet
NARROW = 22.0  # degrees of view on the line and its warp: from afar, so that the way of each lane to its word runs straight
TALLEST, FASTEST = 5.0, 4.2  # world units of a column; a beat, at which words run where the warp reads side by side


class Coalescing(Passage):
    """Read side by side, and one trip takes it all; scatter the lanes, and the speed has to fall."""

    name: ClassVar[str] = "coalescing"
    title: ClassVar[str] = "COALESCING"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 5"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        # Bar 1: the warp asks for a line; the words leave on "trip" and are there on "all".  Bar 3: further apart from
        # "scatter" to "lanes", where each has a sector of its own, and on "and" a whole line of its own.
        at = (self.at(3), self.at(3, 2), self.at(3, 3), self.at(3, 4))
        self.strides = ((0.0, 1), (at[0], 2), (at[1], 4), (at[2], 8), (at[3], 32))
        self.trip = (self.at(2), self.at(2, 3))
        self.chart = self.at(4)  # "speed": the thread lands on the first column
        self.thread = Hall.of(self.data).thread % LANES
        self.measured = self.data.has(f"{SWEEP}.series.useful.values.1")
        lines = Lines(self.strides, self.thread, self.at(1, 2), self.chart + 0.5, self.trip, self.works)
        self.lines: Lines = self.prop(Scenery(self.light), lines)
        self.flow()
        self.columns = self.stand_columns()
        self.stops = [stop for stop in self.ride() if stop[1] in self.columns.strides]
        self.prop(Cube(self.seat, Track(EDGE).to(0.5, self.chart, 1.5), lambda beat: 1.0 - 0.08 * pulse(beat), 0.8))
        self.letter()
        self.say_the_code()
        self.say_the_line()
        self.say_the_waste()
        self.camera_at = self.fly()
        self.finish()

    def works(self, beat: float) -> float:
        """The warp works when its line has come."""
        return ramp(beat, self.trip[1] - 0.05, 0.15) * (1.0 - ramp(beat, self.at(3) - 0.4, 0.4))

    def ride(self) -> list[tuple[float, int]]:
        """On which beat the thread lands on the column of which stride: down on "has to fall", and up again in bar 6."""
        down, up = self.at(4, 2), self.at(6)
        return [
            (self.chart, 1), (down, 2), (down + 0.5, 4), (down + 1.0, 8), (down + 1.5, 16), (down + 2.0, 32),
            (up, 16), (up + 0.5, 8), (up + 1.0, 4), (up + 1.5, 2), (up + 2.0, 1),
        ]  # fmt: skip

    def seat(self, beat: float) -> Vector:
        """Among its lanes until bar 4; then from column to column."""
        x, y, z = (float(v) for v in seats()[self.thread])
        for which, (lands, stride) in enumerate(self.stops):
            over = 0.4 if which else 1.5
            if beat <= lands - over:
                break
            u, end = ramp(beat, lands - over, over, smooth), self.columns.top(stride)
            x, y, z = (a + (b - a) * u for a, b in zip((x, y, z), end, strict=True))
            z += (0.7 if which else 5.0) * float(np.sin(np.pi * u))
        return x, y, z

    def useful(self, stride: int) -> float:
        return self.read(f"{SWEEP}.series.useful.values.{stride}").quantity.value

    def flow(self) -> None:
        """Words on their way to the lanes: as dense for every stride, as fast as the bandwidth was measured."""
        seat = seats() + np.array([0.0, EDGE / 2, 0.42])
        for (start, stride), (end, _) in pairwise([*self.strides, (self.chart + 0.5, 0)]):
            if not self.data.has(f"{SWEEP}.series.useful.values.{stride}"):
                continue
            begin = self.trip[1] if stride == 1 else start
            speed = cache(lambda stride=stride: FASTEST * self.useful(stride) / self.useful(1))
            ways = Ways.of([np.array([a, b]) for a, b in zip(places(stride) + np.array([0.0, 0.0, 0.3]), seat, strict=True)])

            def walked(beat: float, begin: float = begin, speed: Callable[[], float] = speed) -> float:
                return 60.0 + speed() * (beat - begin) if beat > begin else 60.0

            self.prop(Packets(ways, walked, MEMORY, (0.26, 0.16, 0.16), 3.2, shown=window(begin + 0.1, end - 0.2, 0.2)))

    def stand_columns(self) -> Columns:
        """A column for each measured stride; they come up as the stride passes them."""
        owned = self.data.sweep("coalescing")
        series = next((s for s in owned.value.series if s.name == "useful"), None) if owned else None
        strides = sorted(k for k in map(int, series.values) if k <= LANES) if series else list(range(1, LANES + 1))
        passed = Track(0.0).to(1.0, self.trip[1], 0.6, smooth)
        for beat, stride in self.strides[1:]:
            passed.to(float(stride), beat + (0.3 if stride < LANES else 1.2), 0.6 if stride < LANES else 1.2, smooth)
        # how many bytes DRAM delivered for one that is used, as counted; '' where that was not
        counted = f"{SWEEP}.series.dram_counted.values"
        self.waste = counted if self.measured and all(self.data.has(f"{counted}.{stride}") for stride in strides) else ""
        told = Track(0.0).to(1.0, self.at(5, 3), 2.0, linear)
        value, more = cache(self.useful) if self.measured else None, cache(self.carried) if self.waste else None
        return Columns(strides, BACK, TALLEST, value, passed, more, told)

    def carried(self, stride: int) -> float:
        """Bandwidth that DRAM delivered for a stride: useful bytes times bytes delivered for each."""
        return self.useful(stride) * self.read(f"{self.waste}.{stride}").quantity.value

    def say_the_code(self) -> None:
        """What each lane reads, in code: while it asks, and of the column that the thread stands on."""

        def code(beat: float) -> str:
            beat += 0.02  # half a frame: the beat's own frame has it
            on = next((stride for lands, stride in reversed(self.stops) if lands <= beat), self.lines.stride(beat))
            return "x[lane]" if on == 1 else f"x[lane * {on}]"

        shown = window(self.at(1, 2), self.clock.beats + 9.0)
        self.text(Text(code, CODE, LEFT, FIRST, "left", shown, kind="clock"))
        told = window(self.chart + 0.25, self.at(6, 3.25))
        if self.measured:
            self.text(Text("stride: words from lane to lane", SMALL.coloured(TEXT), LEFT, FIRST + 52, opacity=told))
        else:
            absent = f"bandwidth by stride not measured on {self.data.device.name}"
            self.text(Text(absent, LABEL, LEFT, FIRST + 56, opacity=shown))
            self.text(Text("outlines: share of the bytes used, by the addresses", SMALL, LEFT, FIRST + 104, opacity=shown))

    def sectors(self, stride: int) -> str | None:
        keys = (f"{SWEEP}.series.sectors_{how}.values.{stride}" for how in ("counted", "model"))
        return next((key for key in keys if self.data.has(key)), None)

    def say_the_line(self) -> None:
        """Useful bandwidth of a line read side by side; the sectors of its load, and of each as the lanes are scattered."""
        near = window(self.at(1, 3), self.at(3) - 0.1, 0.3)

        def bandwidth() -> Sequence[Item]:
            useful = figure(self.read(f"{SWEEP}.series.useful.values.1"), 2)
            return [
                Number(useful, NUMBER.coloured(MEMORY), LEFT, FIRST + 92, "left", near),
                Text("of useful bytes", FACT.sized(38), LEFT, FIRST + 144, "left", near),
                Text(useful.source, SMALL, LEFT, FIRST + 186, "left", near),
            ]

        def split(stride: int, shown: Callable[[float], float]) -> Sequence[Item]:
            asked = figure(self.read(self.sectors(stride) or ""), 0, "sectors")
            return beside(asked, f"of {WORD * WORDS // SECTORS} bytes for one load", asked.source, RIGHT, FIRST + 36, shown)

        if self.measured:
            self.text_later(near, bandwidth)
        for (start, stride), (end, _) in pairwise([*self.strides, (self.chart - 0.25, 0)]):
            shown = during(max(start, self.at(1, 3)), end, 0.3 * (stride == 1), 0.3 * (end > self.at(3, 4)))
            if self.sectors(stride):
                self.text_later(shown, partial(split, stride, shown))

    def say_the_waste(self) -> None:
        """How many bytes DRAM sends for each word that is used: of the column that the thread stands on, the last first."""
        seen, ends = self.at(5, 1.5), (self.clock.beats + 9.0, 0)

        def words(stride: int, shown: Callable[[float], float]) -> Sequence[Item]:
            sent = figure(self.read(f"{self.waste}.{stride}"), 0, "bytes", WORD)
            source = f"{sent.source}, at stride {stride}{self.pairs(stride)}"
            return beside(sent, f"sent by DRAM for each {WORD} used", source, RIGHT, FIRST + 36, shown)

        stops = [(seen, self.columns.strides[-1]), *(stop for stop in self.stops if stop[0] > seen), ends]
        for (lands, stride), (end, _) in pairwise(stops if self.waste else ()):
            shown = during(lands, end, 0.4 * (lands == seen))
            self.text_later(shown, partial(words, stride, shown))

    def pairs(self, stride: int) -> str:
        """Whether DRAM sends twice the sectors that are asked for, in words; '' where it does not, or that was not counted."""
        key = self.sectors(stride)
        asked = self.read(key).quantity.value * WORD * WORDS / SECTORS if key else 0.0
        sent = self.read(f"{self.waste}.{stride}").quantity.value * WORD * LANES
        return ": sectors come in pairs" if asked and round(sent / asked) == 2 else ""

    def letter(self) -> None:
        """What the line, the warp and the sheet are; the strides under their columns."""
        cyan, steel = CODE.coloured(mix(MEMORY, TEXT, 0.3)), LABEL.coloured(mix(QUIET, TEXT, 0.4))
        first, later = window(0.75, self.trip[0] + 0.15, 0.4), window(self.at(3), self.at(3, 3.5))
        asking = window(0.75, self.at(3) - 0.5)
        line, before = (0.0, 1.3 * DEEP, BASE + 0.16), (0.0, FRONT - 1.2, 0.02)
        signs: list[Sign] = [
            (TextPlane.standing(f"one {WORD * WORDS}-byte line, {SECTORS} sectors", cyan, line, 0.46, 0.0, "centre"), first),
            (TextPlane.lying(f"a warp: {LANES} lanes, {WORD} bytes each", steel, before, 0.42, 0.0, "centre"), asking),
            (TextPlane.lying(f"each row of memory a line of {WORD * WORDS} bytes", cyan, before, 0.42, 0.0, "centre"), later),
        ]
        signs += [(mark, window(self.at(3, 4.5), self.clock.beats + 9.0)) for mark in self.columns.marks()]
        if self.waste or not self.measured:
            signs.append((self.columns.waste(), window(self.at(5, 2), self.at(6, 3.25))))
        if self.measured:
            for stride, since in ((self.columns.strides[0], self.chart + 1.0), (self.columns.strides[-1], self.at(4, 4))):
                signs.append((self.rate(stride), window(since, self.at(6, 2.25), 0.5)))
        self.prop(self.columns, Signs(signs))

    def rate(self, stride: int) -> Callable[[float], TextPlane]:
        """The useful bandwidth of a column, standing beside its top."""
        plane = cache(lambda: self.columns.rate(stride, figure(self.read(f"{SWEEP}.series.useful.values.{stride}"), 2)))
        return lambda beat: plane()

    def light(self, world: World, beat: float) -> None:
        out, back = ramp(beat, self.at(3) - 0.5, 3.0), ramp(beat, self.chart - 1.0, 1.5)
        world.light = Light(focus=(0.0, -1.0 + 9.0 * out + 13.0 * back), radius=10.0 + 12.0 * out, ambient=0.34)
        world.fog = Fog(start=36.0, end=100.0)
        world.ground = Ground(spacing=2.4, extent=90.0)

    def fly(self) -> Callable[[float], Camera]:
        """Close on the thread and its word; the whole line; up over the sheet as it scatters; on to the columns."""
        left, right = self.columns.x(self.columns.strides[0]), self.columns.x(self.columns.strides[-1])
        mid, far = (left + right) / 2, max((right - left) / (2.0 * abs(self.columns.x(1))), 0.9)
        path = Path([
            (0, (2.6, -2.2, 0.4, 18.0, -9, 27, NARROW)),
            (2, (0.5, -1.6, 0.5, 31.0, -5, 29, NARROW)),
            (6, (0.0, -1.4, 0.5, 32.0, 3, 27, NARROW)),
            (8, (0.0, -0.4, 0.5, 34.0, 5, 27, NARROW)),
            (10, (-0.8, 2.6, 0.3, 35.0, 4, 28, 31.0)),
            (11.25, (-1.6, 5.5, 1.0, 33.0, -3, 24, 36.0)),
            (12.0, (mid + 0.8, BACK, 3.8, 21.5 * far, -13, 9, 36.0)),
            (16, (mid + 1.4, BACK, 3.6, 21.2 * far, -6, 7, 36.0)),
            (20, (mid + 2.2, BACK, 4.3, 21.8 * far, 3, 8, 36.0)),
            (22, (mid + 1.6, BACK, 4.3, 20.4 * far, 7, 9, 36.0)),
            (24, (left + 4.0, BACK, 4.2, 13.0, 12, 10, 36.0)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation, angle = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation, angle)

        return camera
