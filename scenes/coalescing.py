"""Coalescing: neighbours read together.  One line serves a whole warp; scattered, each lane needs a sector of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import ClassVar

import numpy as np

from scenes.props.cube import Cube, Vector
from scenes.props.lines import BASE, DEEP, EDGE, FACE, FRONT, LANES, ROWS, SECTORS, WORD, WORDS, Columns, Lines, places, seats
from scenes.props.seats import Hall
from scenes.props.signs import Signs
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.keys import Path, Track, pulse, ramp, smooth, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import MEMORY, QUIET, TEXT, mix
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, FACT, LABEL, NUMBER, SMALL
from scenes.stage.ways import Packets, Ways
from scenes.stage.world import Fog, Ground, Light, World

LEFT, RIGHT = 96, 1824
SWEEP = "sweeps.coalescing"
BACK = DEEP * ROWS + 1.6  # y of the columns, behind the sheet
TALLEST = 7.2
FASTEST = 4.2  # world units a beat at which words run where the warp reads side by side


class Coalescing(Passage):
    """Read side by side, and one trip takes it all; scatter the lanes, and the speed has to fall."""

    name: ClassVar[str] = "coalescing"
    title: ClassVar[str] = "COALESCING"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 5"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        # Bar 1: the warp asks for a line; the words leave on "trip" and are there on "all".  Bars 3 and 4: further
        # apart from "scatter" to "lanes", where each has a sector of its own; a whole line apart on "fall".
        at = (self.at(3), self.at(3, 2), self.at(3, 3), self.at(4, 3))
        self.strides = ((0.0, 1), (at[0], 2), (at[1], 4), (at[2], 8), (at[3], 32))
        self.trip = (self.at(2), self.at(2, 3))
        self.thread = Hall.of(self.data).thread % LANES
        self.measured = self.data.has(f"{SWEEP}.series.useful.values.1")
        lines = Lines(self.strides, self.thread, self.at(1, 2), self.at(5, 2), self.trip, self.works)
        self.lines: Lines = self.prop(Scenery(self.light), lines)
        self.flow()
        self.columns = self.stand_columns()
        self.letter()
        self.say_the_code()
        self.say(1, self.at(1, 3), self.at(3) - 0.1)
        self.say(8, self.at(3, 3) + 0.15, self.at(4, 3) - 0.1)
        self.say(32, self.at(4, 3) + 0.15, self.at(5, 3) - 0.15)

        # Bars 5 and 6: the thread rides down the whole curve, whose ends are said.
        self.stops = [stop for stop in self.ride() if stop[1] in self.columns.strides]
        self.prop(Cube(self.seat, Track(EDGE).to(0.5, self.at(5, 3), 1.5), self.ducks, 0.8))
        self.say_the_ends()
        self.camera_at = self.fly()
        self.finish()

    # ---- motion -----------------------------------------------------------------------------------------------------------

    def works(self, beat: float) -> float:
        """The warp works when its line has come."""
        return ramp(beat, self.trip[1] - 0.05, 0.15) * (1.0 - ramp(beat, self.at(3) - 0.4, 0.4))

    def ride(self) -> list[tuple[float, int]]:
        """On which beat the thread lands on the column of which stride."""
        last = self.at(6)
        return [(last - 2.0, 1), (last - 1.0, 2), (last, 4), (last + 0.5, 8), (last + 1.0, 16), (last + 2.0, 32)]

    def seat(self, beat: float) -> Vector:
        """Among its lanes until bar 5; then from column to column."""
        x, y, z = (float(v) for v in seats()[self.thread])
        for which, (lands, stride) in enumerate(self.stops):
            over = 0.4 if which else 1.5
            if beat <= lands - over:
                break
            u, end = ramp(beat, lands - over, over, smooth), self.columns.top(stride)
            x, y, z = (a + (b - a) * u for a, b in zip((x, y, z), end, strict=True))
            z += (0.7 if which else 5.0) * float(np.sin(np.pi * u))
        return x, y, z

    def ducks(self, beat: float) -> float:
        return 1.0 - 0.08 * pulse(beat) + 0.3 * self.works(beat) * pulse(beat, 0.2)

    def useful(self, stride: int) -> float:
        """Measured useful bandwidth of a stride."""
        return self.read(f"{SWEEP}.series.useful.values.{stride}").quantity.value

    def flow(self) -> None:
        """Words on their way to the lanes: as dense for every stride, as fast as the bandwidth was measured."""
        seat = seats() + np.array([0.0, EDGE / 2, 0.42])
        ends = [start for start, _ in self.strides[1:]] + [self.at(5, 3)]
        for (start, stride), end in zip(self.strides, ends, strict=True):
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
        strides = (
            sorted(int(stride) for stride in series.values if int(stride) <= LANES) if series else list(range(1, LANES + 1))
        )
        passed = Track(0.0).to(1.0, self.trip[1], 0.6, smooth)
        for beat, stride in self.strides[1:]:
            passed.to(float(stride), beat + 0.3, 0.6 if stride < LANES else 1.2, smooth)
        return Columns(strides, BACK, TALLEST, cache(self.useful) if self.measured else None, passed)

    # ---- words ------------------------------------------------------------------------------------------------------------

    def say_the_code(self) -> None:
        """What each lane reads, in code."""
        shown = window(self.at(1, 2), self.at(5, 3))

        def code(beat: float) -> str:
            stride = self.lines.stride(beat + 0.02)  # half a frame: the beat's own frame has it
            return "x[lane]" if stride == 1 else f"x[lane * {stride}]"

        self.text(Text(code, CODE, LEFT, 262, "left", shown, kind="clock"))
        if not self.measured:
            words = f"bandwidth by stride not measured on {self.data.device.name}"
            self.text(Text(words, LABEL, LEFT, 318, opacity=window(self.at(1, 2), self.clock.beats + 9.0)))

    def sectors(self, stride: int) -> str | None:
        """The key of the sectors of a request: as counted, else as modelled."""
        keys = (f"{SWEEP}.series.sectors_{how}.values.{stride}" for how in ("counted", "model"))
        return next((key for key in keys if self.data.has(key)), None)

    def say(self, stride: int, begin: float, end: float) -> None:
        """Useful bandwidth on the left, sectors a request on the right, while a stride holds."""
        key, shown = f"{SWEEP}.series.useful.values.{stride}", window(begin, end, 0.3)

        def bandwidth() -> Sequence[Item]:
            useful = figure(self.read(key), 2)
            return [
                Number(useful, NUMBER.coloured(MEMORY), LEFT, 350, "left", shown),
                Text("of useful bytes", SMALL.coloured(TEXT), LEFT, 400, "left", shown),
                Text(useful.source, SMALL, LEFT, 440, "left", shown),
            ]

        def split() -> Sequence[Item]:
            asked = figure(self.read(self.sectors(stride) or ""), 0, "sectors")
            return [
                Number(asked, NUMBER, RIGHT, 318, "right", shown),
                Text(f"of {WORD * WORDS // SECTORS} bytes for one load", SMALL.coloured(TEXT), RIGHT, 368, "right", shown),
                Text(asked.source, SMALL, RIGHT, 408, "right", shown),
            ]

        if self.data.has(key):
            self.text_later(shown, bandwidth)
        if self.sectors(stride):
            self.text_later(shown, split)

    def say_the_ends(self) -> None:
        """The first and the last column's bandwidth at their tops."""
        shown = window(self.at(5, 3) + 0.25, self.clock.beats + 9.0, 0.4)
        if not self.measured:
            return

        def ends() -> Sequence[Item]:
            items: list[Item] = []
            for stride in (self.columns.strides[0], self.columns.strides[-1]):
                bandwidth = figure(self.read(f"{SWEEP}.series.useful.values.{stride}"), 2)
                items.append(Number(bandwidth, FACT.coloured(MEMORY), 0, -78, "centre", shown, self.columns.top(stride)))
            source = f"useful bytes by stride, {bandwidth.source}"
            return [*items, Text(source, SMALL, RIGHT, 318, "right", shown)]

        self.text_later(shown, ends)

    def letter(self) -> None:
        """What the line, the warp and the sheet are; the strides under their columns."""
        cyan, steel = CODE.coloured(mix(MEMORY, TEXT, 0.3)), LABEL.coloured(mix(QUIET, TEXT, 0.4))
        first, later = window(0.0, self.trip[0] + 0.15, 0.4), window(self.at(3), self.at(5))
        asking = window(0.0, self.at(3) - 0.5)
        ends = window(self.at(4, 3), self.clock.beats + 9.0)
        line, before = (0.0, 1.3 * DEEP, BASE + 0.16), (0.0, FRONT - 1.2, 0.02)
        signs = [
            (TextPlane.standing(f"one {WORD * WORDS}-byte line, {SECTORS} sectors", cyan, line, 0.46, 0.0, "centre"), first),
            (TextPlane.lying(f"a warp: {LANES} lanes, {WORD} bytes each", steel, before, 0.42, 0.0, "centre"), asking),
            (TextPlane.lying(f"each row of memory a line of {WORD * WORDS} bytes", cyan, before, 0.42, 0.0, "centre"), later),
        ]
        marks = [stride for stride in (1, 8, 16, 24, 32) if stride in self.columns.strides]
        for stride in marks:
            at = (self.columns.x(stride), BACK - FACE - 0.02, 0.16)
            words = f"stride {stride}" if stride == marks[0] else str(stride)
            signs.append((TextPlane.standing(words, steel, at, 0.42, 0.0, "centre"), ends))
        self.prop(self.columns, Signs(signs))

    # ---- the picture ------------------------------------------------------------------------------------------------------

    def light(self, world: World, beat: float) -> None:
        out = ramp(beat, self.at(3) - 0.5, 3.0)
        back = ramp(beat, self.at(5), 2.5)
        world.light = Light(focus=(0.0, -1.0 + 9.0 * out + 8.0 * back), radius=10.0 + 12.0 * out, ambient=0.34)
        world.fog = Fog(start=36.0, end=100.0)
        world.ground = Ground(spacing=2.4, extent=90.0)

    def fly(self) -> Callable[[float], Camera]:
        """Close on the thread and its word; the whole line; up over the sheet as it scatters; on to the columns."""
        path = Path([
            (0, (2.6, -2.2, 0.4, 11.5, -18, 24)),
            (3, (0.6, -1.6, 0.5, 18.0, -8, 27)),
            (6, (0.0, -1.4, 0.5, 19.5, 5, 25)),
            (8, (0.0, -0.4, 0.5, 22.0, 8, 26)),
            (10, (0.0, 2.2, 0.5, 29.5, 7, 29)),
            (12, (0.0, 3.0, 0.6, 32.0, 1, 28)),
            (14, (0.0, 3.6, 0.8, 34.5, -5, 26)),
            (16, (0.0, 5.2, 1.2, 36.0, -9, 22)),
            (18.5, (0.2, 21.0, 4.2, 27.5, -6, 9)),
            (22, (0.2, 21.0, 4.5, 26.5, 4, 8)),
            (24, (1.0, 19.5, 4.0, 25.0, 8, 10)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation, 36.0)

        return camera
