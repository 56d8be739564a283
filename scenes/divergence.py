"""Divergence: one `if`, and half of the warp waits.  Both phases come from clocks that a real warp's lanes recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np

from scenes.props.branch import LEFT, LINE_1, LINE_2, beside, code
from scenes.props.cube import Cube
from scenes.props.lane_time import LaneTime, Schedule, Twin
from scenes.props.seats import Hall
from scenes.props.turns import Turns
from scenes.props.warp import LANES, WIDTH, Floats, Gate, Press, Row, Warp, half_of, march
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Path, Track, arrive, linear, overshoot, ramp, smooth
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import COMPUTE, QUIET
from scenes.stage.passage import Passage, Scenery
from scenes.stage.type import FACT, LABEL, NUMBER, SMALL
from scenes.stage.world import Fog, Ground, Light, World

STRIDE = 1.6  # a step of the march, in lanes
LENGTH = 16.0  # of the time axis
CONDITION = "threadIdx.x < 16"  # code, where no record names its own
AISLE = 5.0  # between the halves
BEGIN, FIELD = -1.5, 28.0  # y at which time begins, and the length of 32 turns
Span: TypeAlias = Callable[[float], tuple[float, float]]
# What the recorded kernel does before its `if` (kernels/traces/divergence.cu).
TEST = "test condition"
RIGHT, BIG, FINE = 1824, 236, 290  # places of the two figures, the first at LEFT, design pixels


class Divergence(Passage):
    """32 lanes march in lockstep, meet an `if`, and take its two sides one after the other."""

    name: ClassVar[str] = "divergence"
    title: ClassVar[str] = "DIVERGENCE"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 3"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        owned = self.data.divergence_trace()
        self.trace = owned.value if owned else None
        self.condition = self.trace.condition if self.trace else CONDITION
        # The moments, on the words of the song: "along", "yes", "no", "wait", "go".
        self.gate, self.split, self.other = self.at(1, 3), self.at(2), self.at(2, 1.5)
        self.first, self.last = self.at(2, 3), self.at(4, 3)  # of the record's clocks
        self.lands, self.join, self.alone, self.go = self.at(4, 3.5), self.at(5, 1.8), self.at(5, 2), self.at(6, 3)
        self.schedule = Schedule.of(self.trace, self.first, self.last) if self.trace else None
        # The warp walks up to its `if` in lockstep, an instruction a beat.
        self.prop(Scenery(self.light))
        self.gap = Track(0.0).to(AISLE, self.split, 0.5, overshoot).to(0.0, self.join, 0.6, smooth)
        self.row = Row(half_of(self.condition), self.gap, lambda beat: self.feet(beat)[0], lambda beat: self.feet(beat)[1])
        self.warp = self.prop(Warp(self.row, self.work, Hall.of(self.data).thread % LANES, self.stamp))
        self.prop(Cube(self.warp.seat, WIDTH))
        self.issue(1.0, self.whole, TEST)
        self.camera_at = self.fly()

        # The code is typed as the warp comes; on "yes" the gate's wedge drives the halves apart, on "no" a half waits.
        self.type_the_code()
        self.name_the_halves()
        rise = Track().to(1, self.gate, 0.6, overshoot).to(0, self.join - 0.3, 0.5)
        wedge = Track().to(1, self.split, 0.3, overshoot).to(0, self.join - 0.4, 0.4)
        self.prop(Gate(self.row, -0.85, rise, wedge, (self.shut(0), self.shut(1))))
        laid = Track().to(1, self.first, 1.6, arrive).to(0, self.join - 0.2, 0.6)
        self.lane_time = self.prop(LaneTime(self.row, self.schedule, BEGIN, LENGTH, laid))
        if self.schedule is None:
            self.outline()
        else:
            # Each lane lays a bar of time during exactly its recorded interval; the others wait at a shut gate.
            self.lay_time(self.schedule)
            # A run of the same work undivided, laid over it.
            self.compare(self.schedule)

        # A path for each lane: 32 turns, one after another, until the last bar; then all 32 are together again.
        spread = Track().to(1, self.alone, 0.35, arrive)
        told = Track().to(1, self.alone - 0.1, 0.2).to(0, self.at(6, 3.9), 0.3)
        lined = Track().to(1, self.alone, 0.2).to(0, self.go + 0.4, 0.3)  # before the camera passes its end
        self.turns = self.prop(Turns(self.data, self.row, BEGIN, FIELD, self.alone, self.at(6), spread, lined))
        for k in range(int(self.clock.beats - self.go)):
            self.issue(self.go + k, self.whole)
        self.text_later(told, lambda: self.turns.words(told, self.data.device.name))
        self.finish()

    # ---- what the lanes do --------------------------------------------------------------------------------------------

    def work(self, beat: float) -> Floats:
        """Share of work of every lane, (32,): all in lockstep, then as recorded, then all again."""
        together = 1.0 - ramp(beat, self.first - 0.3, 0.35) + ramp(beat, self.go - 0.4, 0.4)
        apart = self.schedule.working(beat) if self.schedule else np.zeros(LANES)
        return np.asarray(np.maximum(np.maximum(together, apart), self.turns.working(beat)))

    def stamp(self, beat: float) -> Floats:
        """Whether the beat lands on a lane: on all that work."""
        return np.asarray(self.work(beat) > 0.5, float)

    def feet(self, beat: float) -> tuple[float, float]:
        """y and z of the row: up to the gate, and on from it when all run again."""
        steps = int(self.gate)
        to, air = march(beat, 1, steps, STRIDE)
        on, more = march(beat, self.go, self.clock.beats, STRIDE)
        return STRIDE * steps - to - on, max(air, more) + 0.06

    def shut(self, side: int) -> Callable[[float], float]:
        """How far a half's barrier is closed: while none of its lanes runs."""
        schedule = self.schedule
        return lambda beat: 1.0 - float(schedule.working(beat)[schedule.side(side)].max()) if schedule else 1.0

    def side(self, which: int, beat: float) -> tuple[float, float]:
        return self.row.edges(beat, which)

    def whole(self, beat: float) -> tuple[float, float]:
        return self.row.edges(beat, 0)[0], self.row.edges(beat, 1)[1]

    # ---- words ----------------------------------------------------------------------------------------------------------

    def issue(self, beat: float, span: Span, words: str = "", along: float = 0.62) -> None:
        """An instruction that lands on a beat, on the lanes of a span."""
        tall, hang = (1.3, 1.35) if words else (0.5, 0.6)
        card = self.prop(Press(self.warp, beat, span, tall, hang, along))
        self.text(Text(words, FACT, 0, 15, "centre", card.shown, card.face))

    def type_the_code(self) -> None:
        """Two lines, a word on a half beat; amber while their half runs, dim while that waits; figures take their place."""
        gone = Track(1.0).to(0, self.lands - 0.1 if self.schedule else self.join - 0.25, 0.4)
        self.text(*code(self.condition, (self.gate, self.split, self.other), self.state, gone))
        shown = Track().to(1, self.first + 0.5, 0.5)
        notes = ["", "// order: recorded, not promised"]
        if self.schedule is None:
            notes = ["// outlines: one side, then the other", f"// per-lane clocks not measured on {self.data.device.name}"]
        for note, x, y in zip(notes, beside(self.condition), (LINE_1, LINE_2), strict=True):
            self.text(Text(note, SMALL, x, y, opacity=lambda beat: shown(beat) * gone(beat)))

    def state(self, side: int, beat: float) -> str:
        """What the record says of a half: run or wait; before it begins, and without one, only what was typed."""
        if self.schedule is None or beat < self.first:
            return "typed"
        return "run" if self.schedule.runs(side, beat) else "wait"

    def name_the_halves(self) -> None:
        """Above each half its lanes, and then what the record says they do."""
        shown = Track().to(1, self.split, 0.1).to(0, self.lands, 0.3)
        for side, lanes in enumerate((range(self.row.split), range(self.row.split, LANES))):
            name = f"lanes {lanes[0]}–{lanes[-1]}"
            for runs in (True, False):

                def words(beat: float, name: str = name, side: int = side) -> str:
                    state = self.state(side, beat)
                    return name if state == "typed" else f"{name} {state}"

                def seen(beat: float, side: int = side, runs: bool = runs) -> float:
                    return shown(beat) * float((self.schedule is not None and self.schedule.runs(side, beat)) == runs)

                def above(beat: float, side: int = side) -> tuple[float, float, float]:
                    return sum(self.row.edges(beat, side)) / 2, -0.85, Gate.TALL + 0.95

                self.text(Text(words, FACT.coloured(COMPUTE if runs else QUIET), 0, 0, "centre", seen, above))

    def lay_time(self, schedule: Schedule) -> None:
        time, shown = self.lane_time, Track().to(1, self.first, 0.4).to(0, self.join - 0.25, 0.4)
        time.sweep, time.marked, time.bars = shown, shown, Track(1.0).to(0, self.join - 0.25, 0.5)
        for cycles in time.marks():
            numeral = f"{cycles:,.0f}".replace(",", " ")
            self.text(Text(numeral, SMALL, 0, 10, "centre", shown, partial(time.spine, cycles), "axis"))
        self.text(Text("cycles", SMALL, 0, 10, "centre", shown, partial(time.spine, 0.0)))
        for beat in range(int(schedule.first) + 1, int(schedule.last) + 1):
            for side in (0, 1):
                if schedule.runs(side, beat):
                    self.issue(float(beat), partial(self.side, side))

    def outline(self) -> None:
        """Nobody recorded a clock: first the one side's tracks are drawn on, then the other's, as outlines of no length."""
        self.lane_time.marked = Track().to(1, self.first, 0.5).to(0, self.join - 0.5, 0.5)
        middle = (self.first + self.last) / 2
        sides = [Track().to(1, beat, middle - self.first, linear) for beat in (middle, self.last)]
        self.lane_time.drawn = lambda side, beat: sides[side](beat)

    def compare(self, schedule: Schedule) -> None:
        """Both lengths in cycles where the code stood; at their ends which is which."""
        shown = Track().to(1, self.lands + 0.2, 0.3).to(0, self.join - 0.2, 0.2)
        named = Track().to(1, self.lands + 0.2, 0.3).to(0, self.join - 0.7, 0.2)  # before the camera passes the ends
        timed = Track().to(1, self.first + 0.2, 0.3).to(0, self.join - 0.2, 0.2)
        pale = Track().to(1, self.lands, 0.5).to(0, self.join - 0.25, 0.5)

        def uniform() -> float:
            return self.read("traces.divergence.uniform_cycles").quantity.value

        def lengths() -> list[Item]:
            shot = figure(self.read("traces.divergence.uniform_cycles"), 0)
            ends = (("undivided", uniform()), ("divided", schedule.total))
            return [
                Number(shot, NUMBER, LEFT, BIG, "left", shown),
                Text(f"the same work undivided, {shot.source}", SMALL, LEFT, FINE, "left", shown),
                *(Text(name, LABEL, 18, 12, "left", named, partial(self.lane_time.beside, at)) for name, at in ends),
            ]

        def clock() -> list[Item]:
            shot = figure(self.read("traces.divergence.cycles"), 0)
            ran = Counter(shot, lambda beat: schedule.now(beat) / schedule.total, NUMBER, RIGHT, BIG, "right", timed)
            return [ran, Text(f"the divided warp, {shot.source}", SMALL, RIGHT, FINE, "right", timed)]

        self.prop(Twin(self.lane_time, schedule, uniform, Track().to(1, self.lands, 1.0, arrive), pale))
        self.text_later(shown, lengths)
        self.text_later(timed, clock)

    # ---- the picture ------------------------------------------------------------------------------------------------------

    def light(self, world: World, beat: float) -> None:
        world.light = Light(focus=(0.0, self.focus(beat)), radius=26.0, ambient=0.24, sheen=0.1, bloom=1.5)
        world.fog = Fog(start=48.0, end=130.0)
        world.ground = Ground(spacing=STRIDE, extent=90.0, reflect=0.9)

    def focus(self, beat: float) -> float:
        return self.row.y(beat) - 2.0  # type: ignore[operator]

    def fly(self) -> Callable[[float], Camera]:
        """Low along the lanes, round to face them, up to look down on time, and low again as they join."""
        aside, far = (3.5, 60.5) if self.schedule else (0.0, 54.0)  # room for two names to the right of the tracks
        path = Path([
            (0, (4.6, 1.0, 1.6, 27.0, 54, 8)),
            (2, (2.4, -1.4, 1.7, 33.0, 40, 10)),
            (4, (1.6, -1.4, 1.9, 42.0, 26, 12)),
            (6, (0.0, -2.6, 1.0, 48.0, 8, 17)),
            (10, (0.0, -2.4, 1.0, 50.0, -4, 18)),
            (13, (0.0, -2.8, 0.4, 52.0, -8, 21)),
            (15, (aside, -4.6, 1.2, far, -2, 28)),
            (16, (aside + 0.4, -4.4, 1.2, far - 1.0, -4, 27)),
            (17.5, (0.6, -8.0, 3.0, 64.0, -5, 27)),
            (20, (2.2, -13.0, 3.6, 65.0, -11, 21)),
            (21.8, (2.6, -13.0, 3.2, 65.0, -16, 20)),
            (22.8, (1.5, -8.0, 3.6, 50.0, -22, 17)),
            (24, (5.5, -2.6, 2.6, 30.0, -30, 11)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation, 32.0)

        return camera
