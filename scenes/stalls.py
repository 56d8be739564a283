"""Stalls: slow kernels wait.  Each wait lasts as long as its measured latency, on one scale; then why a slow kernel waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import ClassVar

import numpy as np

from scenes.props.cube import Cube, Vector
from scenes.props.load_queue import LoadQueue
from scenes.props.reach import LEVELS, ON_SM, Level, Line, Reach, Scale, Trip, errands, point
from scenes.props.rungs import LADDER, problem
from scenes.props.seats import Hall
from scenes.props.signs import Sign, Signs
from scenes.props.slots import AGAIN, COLUMNS, COLUMNS_A_STEP, STEP, Slots, columns_of, swept
from scenes.props.stall_reasons import GATES, IDLE, OF_A_QUEUE, OF_MEMORY, PREFIX, greatest, slots_of
from scenes.props.wait_words import DOWN, FIRST, KINDS, LEFT, NAMES, RIGHT, SECOND, THIRD, TOP, Opacity, column, moments, reason
from scenes.props.waiting import GATE, HIGH, OWN, Waiting
from scenes.props.warp import LANES
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Path, Track, arrive, linear, pulse, ramp, window
from scenes.stage.overlay import Item, Text, Value
from scenes.stage.palette import COMPUTE, MEMORY, QUIET, TEXT, mix
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, FACT, NUMBER, SMALL, Align
from scenes.stage.world import Fog, Ground, Light, World

SLOWEST = 4.0  # beats that a request to the slowest level takes: it leaves on "data", is there on "far", home on "slow"
LANE = 0.56  # from lane to lane, world units
SIGN = {"shared": 0.20, "l1": 0.20, "l2": 0.75, "l2_far": 0.95, "dram": 1.2}  # capitals of a level's name, world units
FIELD_Y = -5.0  # middle of the issue slots


class Stalls(Passage):
    """A request goes out to each level of memory and comes back; a kernel that asks badly issues almost nothing."""

    name: ClassVar[str] = "stalls"
    title: ClassVar[str] = "STALLS"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 4"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        # One request at a time: shared memory at once, L2 on "big", DRAM from "data" over "far" to "slow".
        self.leaves = {"shared": self.at(1, 2), "l2": self.at(1, 3), "dram": self.at(2)}
        self.known = [level for level in LEVELS if self.data.has(f"latencies.{level.name}.cycles")]
        self.scale = self.one_scale()
        owned = self.data.ladder(LADDER)
        rung = owned.value.rungs[0] if owned and owned.value.rungs else None  # the ladder's first, the slow kernel
        self.rung, self.why = (f"ladders.{LADDER}.rungs.{rung.name}", greatest(rung)) if rung else ("", None)
        # Bar 3: what near and far cost, side by side; from "wait" on the issue slots that stay empty; bars 5 and 6: why.
        self.meter, self.cause = self.at(3, 3), self.at(5)
        reach = Reach(self.scale, lambda name, beat: self.trips[name].busy(beat) if name in self.trips else 0.0, self.risen)
        asked = [level for level in LEVELS if level.name in self.leaves and (level in self.known or not self.known)]
        self.trips = {level.name: self.trip(level, reach) for level in asked}
        lane = Hall.of(self.data).thread % LANES
        self.prop(Scenery(self.light), reach)
        # where no slot was counted, how one warp waits is drawn: it asks L2 on and on
        self.slots_key = slots_of(self.data, self.rung)
        self.errands = errands(None if self.slots_key else self.trips.get("l2"), self.meter, self.clock.beats)
        self.prop(*self.trips.values(), *self.errands)
        self.say_the_waits()
        self.slots = self.count_the_slots(LANE * ((LANES - 1) / 2 - lane))
        self.waiting = self.crowd(lane) if self.slots and self.why else None
        self.props.extend([self.waiting] if self.waiting else [])
        self.prop(Line(lane, LANES, LANE, self.work, self.stands), Cube(self.stands, 0.86 * LANE, self.breathes, 0.8))
        self.letter(reach)
        self.camera_at = self.fly()
        self.finish()

    # ---- waits ----------------------------------------------------------------------------------------------------------

    def one_scale(self) -> Scale | None:
        cycles = {level.name: self.read(f"latencies.{level.name}.cycles").quantity.value for level in self.known}
        return Scale.of(cycles, SLOWEST) if cycles else None

    def trip(self, level: Level, reach: Reach) -> Trip:
        """A level's request, home before the next one leaves; unmeasured, it takes as long as its outline is far."""
        far = reach.far(level) or 0.0
        beats = self.scale.beats(level.name) if self.scale else SLOWEST * far / (reach.far(LEVELS[-1]) or 1.0)
        later = min((at for at in self.leaves.values() if at > self.leaves[level.name]), default=self.clock.beats)
        return Trip(level, far, min(self.leaves[level.name], later - beats), beats)

    def risen(self, name: str, beat: float) -> float:
        """Levels off the SM rise as they are asked, or in L2's place; all sink for the slots, but one that is asked on."""
        asked = self.leaves["dram" if name == "dram" and "l2" in self.trips else "l2"]
        if name in ON_SM:
            return 1.0 - ramp(beat, self.meter + 1.6, 0.8)
        stays = name == "l2" and bool(self.errands)
        return ramp(beat, asked - 0.2, 0.6, arrive) * (1.0 if stays else 1.0 - ramp(beat, self.meter - 1.7, 0.9))

    def work(self, beat: float) -> float:
        """The warp works only for the moment in which its data has come."""
        homes = [trip.home for trip in (*self.trips.values(), *self.errands)]
        return max((ramp(beat, home - 0.02, 0.1) * (1.0 - ramp(beat, home + 0.25, 0.5)) for home in homes), default=0.0)

    def stands(self, beat: float) -> Vector:
        return (0.0, self.waiting.own(beat), self.waiting.lift(OWN, beat)) if self.waiting else (0.0, 0.0, 0.0)

    def breathes(self, beat: float) -> float:
        """The cube ducks as it asks, stretches as it is answered."""
        asks = max(
            (float(np.exp(-(((beat - t.leaves) / 0.12) ** 2))) for t in (*self.trips.values(), *self.errands)), default=0.0
        )
        return 1.0 - 0.25 * asks + 0.5 * self.work(beat) - 0.05 * pulse(beat)

    def say_the_waits(self) -> None:
        """A counter for each request, as it goes: the one after another, side by side."""
        if self.scale is None:
            shown = window(self.at(1, 2), self.meter + 1.0)
            self.text(Text(f"latencies not measured on {self.data.device.name}", FACT, LEFT, FIRST, opacity=shown))
            return
        for trip in self.trips.values():
            told, kept = moments(trip, self.leaves, self.meter + 2.0)
            self.text_later(kept, partial(self.tell, trip, told, kept))
        if missing := " and ".join(NAMES[name] for name in self.leaves if name not in self.trips):
            lacks = window(self.at(1, 2), self.at(2) - 0.2, 0.3)
            words = f"latency of {missing} not measured on {self.data.device.name}"
            self.text(Text(words, SMALL, LEFT, FIRST, opacity=lacks))
        shown = window(self.at(2) + 0.6, self.at(3) + 0.4, 0.3)
        said = f"1 beat = {self.scale.a_beat:.0f} cycles, out and back"
        self.text(Text(said, SMALL.coloured(TEXT), LEFT, THIRD, opacity=shown, kind="clock"))

    def tell(self, trip: Trip, told: Opacity, kept: Opacity) -> Sequence[Item]:
        return column(figure(self.read(f"latencies.{trip.level.name}.cycles"), 0), trip, told, kept)

    # ---- issue slots ----------------------------------------------------------------------------------------------------

    def count_the_slots(self, x: float) -> bool:
        """Issued against idle slots of the first rung: as counted, else as estimated; whether either is there."""
        key, estimated = self.slots_key, f"{self.rung}.{IDLE}"
        why = key is not None and self.why is not None
        last = self.cause if why else self.clock.beats - 1.3
        shown = window(self.meter + 2.3, last - 0.1 if why else last, 0.4)
        issued = cache(lambda: abs((key == estimated) - self.read(key).quantity.value)) if key else None
        grown = Track(0.0).to(1.0, self.meter, 0.8)
        if why:
            grown.to(0.0, self.cause, 1.0)

        def passed(beat: float) -> float:
            columns = swept(beat, self.meter, STEP, COLUMNS_A_STEP)
            return columns % AGAIN if key is None else min(columns, COLUMNS + 2.0)

        homes = [trip.home - self.meter for trip in self.errands]
        self.prop(Slots(x, FIELD_Y, issued, grown, passed, lambda beat: columns_of(homes, beat - self.meter)))
        said = [Text("a row: a scheduler, a column: a cycle", SMALL.coloured(TEXT), RIGHT, FIRST, "right", shown)]
        if key is None:
            words = f"issue slots not measured on {self.data.device.name}"
            lines = ("a row: a scheduler, a column: a cycle", "drawn: a warp that waits issues once its data has come")
            self.text(Text(words, FACT, LEFT, FIRST, opacity=shown))
            self.text(*(Text(line, SMALL, LEFT, FIRST + 48 + 40 * k, opacity=shown) for k, line in enumerate(lines)))
            return False
        said.append(Text("how many is measured, not which", SMALL.coloured(TEXT), RIGHT, FIRST + 46, "right", shown))
        self.text(*said)
        self.text_later(shown, lambda: self.share(key, key != estimated, passed, shown))
        late = window(self.cause + 0.5, self.clock.beats - 1.3, 0.4)
        self.text_later(late, lambda: self.because(late, key))
        return True

    def share(self, key: str, counted: bool, passed: Callable[[float], float], shown: Value) -> Sequence[Item]:
        percent = figure(self.read(key), 1, "%", 100.0)
        kind, how = KINDS[not counted], "counted" if counted else "estimated from its machine code"
        style = NUMBER.sized(104).coloured(COMPUTE if counted else TEXT)
        return [
            Counter(percent, lambda beat: min(passed(beat) / COLUMNS, 1.0), style, LEFT, TOP + DOWN, "left", shown),
            Text(f"of its chances to issue {kind}", FACT.sized(38), LEFT, SECOND + DOWN, "left", shown),
            Text(f"first rung, {problem(self.data)}: {percent.source}, {how}", SMALL, LEFT, THIRD + DOWN, "left", shown),
        ]

    def crowd(self, lane: int) -> Waiting:
        """The warps before the gate that they wait at most: rows in proportion to the counted share of their time."""
        rows = Track(0.0).to(1.0, self.cause + 1.0, 1.6, linear)
        key = f"{self.rung}.counters.{PREFIX}{self.why}"
        opens = (self.at(5, 3), self.at(6), self.at(6, 3))
        share = cache(lambda: self.read(key).quantity.value)
        crowd = Waiting(lane, LANE, share, rows, opens, self.why in OF_MEMORY)
        if self.why in OF_A_QUEUE:
            self.prop(LoadQueue(crowd.middle, LANE * LANES, GATE, HIGH - 1.0, rows, opens))
        return crowd

    def because(self, shown: Opacity, key: str) -> Sequence[Item]:
        """What its warps wait for most, as counted, beside what that leaves of its slots; where it was not counted, so much."""
        name = self.why
        if name is None:
            return [Text(f"why: not counted on {self.data.device.name}", SMALL.coloured(TEXT), LEFT, THIRD + 54, opacity=shown)]
        waits = figure(self.read(f"{self.rung}.counters.{PREFIX}{name}"), 0, "%", 100.0)
        return reason(name, waits, figure(self.read(key), 1, "%", 100.0), not key.endswith(IDLE), shown)

    def letter(self, reach: Reach) -> None:
        """Each level's name stands before its arc, its cycles beside it once they have been told; the gate's sign."""
        signs: list[Sign] = []
        for level in LEVELS:
            far, name = reach.far(level), level.name
            if far is None:
                continue
            near = name in ON_SM
            first = 0.0 if near else self.at(2) + 0.2 if name == "dram" else self.at(1, 3.5)
            seen = window(first, self.at(1, 2.9) if near else self.at(3) + 0.4, 0.4)
            style = CODE.coloured(mix(MEMORY, TEXT, 0.3) if self.scale else QUIET)
            place = point(level.gate, far + level.deep / 2, level.slabs * level.tall + (0.14 if near else 0.25))
            align: Align = "right" if name == "shared" else "centre"
            signs.append((TextPlane.standing(NAMES[name], style, place, SIGN[name], 0.0, align), seen))
        if self.waiting is not None:
            words = GATES.get(self.why or "", self.why or "")
            at, shown = (self.waiting.middle, GATE - 0.26, HIGH + 0.28), window(self.cause + 0.2, self.clock.beats + 9.0, 0.4)
            signs.append((TextPlane.standing(words, CODE, at, 0.74, 0.0, "centre"), shown))
        self.prop(Signs(signs))

    def light(self, world: World, beat: float) -> None:
        out = ramp(beat, self.at(1, 4.0), 3.0) * (1.0 - ramp(beat, self.meter - 2.0, 2.0))
        world.light = Light(focus=(-2.0, 1.0 + 13.0 * out), radius=14.0 + 14.0 * out)
        world.fog = Fog(start=36.0, end=110.0)
        world.ground = Ground(spacing=3.0, extent=90.0)

    def fly(self) -> Callable[[float], Camera]:
        """Close on the thread; up as its requests fly; low and out with the one to DRAM; home, over what stays empty."""
        gate = [(17, (-4.6, 2.0, 3.3, 24.0, -4, 24)), (20, (-4.4, 2.0, 3.3, 23.0, 3, 23)), (22, (-3.6, 2.2, 3.4, 21.5, 9, 22))]
        slots = [(10, (-4.0, -2.0, 1.4, 22.5, -6, 20)), (14, (-4.4, -2.8, 1.2, 20, 4, 23)), (15, (-4.6, -2.4, 1.2, 20, 6, 23))]
        if self.errands:  # L2 stays in sight
            slots = [(10, (-3.6, 0.4, 1.9, 26, -6, 16)), (14, (-4.2, -0.6, 1.6, 24, 4, 17)), (15, (-4.4, -0.6, 1.6, 24, 6, 17))]
        path = Path([
            (0, (0.3, 1.0, 0.35, 7.0, -16, 20)),
            (1.1, (0.2, 1.2, 0.4, 7.8, -12, 19)),
            (2.2, (-0.4, 5.4, 2.2, 23.0, -6, 13)),
            (4, (-0.6, 7.7, 3.0, 29.0, -6, 12.8)),
            (6, (-0.5, 8.0, 3.0, 30.0, -8, 12.5)),
            (8.2, (-0.6, 7.6, 3.0, 30.0, -10, 12.5)),
            *slots,
            *(gate if self.waiting else [(20, (-4.2, -0.8, 1.6, 24.0, -5, 18))]),
            (24, (0.0, 1.6, 0.8, 15.0, 14, 19)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation, 36.0)

        return camera
