"""Stalls: slow kernels wait.  Each wait lasts as long as its measured latency, on one scale; then why a slow kernel waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import ClassVar

import numpy as np

from scenes.props.cube import Cube
from scenes.props.reach import LEVELS, Level, Line, Reach, Scale, Trip, point
from scenes.props.rungs import LADDER, problem
from scenes.props.seats import Hall
from scenes.props.signs import Signs
from scenes.props.slots import COLUMNS, Slots
from scenes.props.stall_reasons import PREFIX, REASONS, greatest
from scenes.props.warp import LANES
from scenes.stage.camera import Camera
from scenes.stage.claims import Figure, figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Path, Track, arrive, linear, pulse, ramp, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import COMPUTE, MEMORY, QUIET, TEXT, mix
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, FACT, LABEL, NUMBER, SMALL, Align
from scenes.stage.world import Fog, Ground, Light, World

LEFT, RIGHT = 96, 1824
NAMES = {"shared": "shared memory", "l1": "L1", "l2": "L2", "l2_far": "L2, far half", "dram": "DRAM"}
SLOWEST = 5.25  # beats that a request to the slowest level takes: the far half of L2 is then reached on "far"
LANE = 0.42  # from lane to lane, world units
ASIDE = {"l2": -12.0, "l2_far": -11.0, "dram": -12.0}  # bearing of a level's name from its gate, degrees
FIELD_Y = -5.2  # middle of the issue slots


class Stalls(Passage):
    """A request goes out to each level of memory and comes back; a kernel that asks badly issues almost nothing."""

    name: ClassVar[str] = "stalls"
    title: ClassVar[str] = "STALLS"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 4"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        # Bar 1: shared memory and L1 answer within a third of a beat; bars 2 and 3: both halves of L2, reached by "far".
        self.leaves = {
            "shared": self.at(1, 2), "l1": self.at(1, 3), "l2": self.at(2), "l2_far": self.at(2), "dram": self.at(3),
        }  # fmt: skip
        self.known = [level for level in LEVELS if self.data.has(f"latencies.{level.name}.cycles")]
        self.scale = self.one_scale()
        reach = Reach(self.scale, self.busy)
        self.trips = {level.name: self.trip(level, reach) for level in (self.known or LEVELS)}
        # Bars 3 and 4: DRAM, all through "slow kernels wait"; bars 4 to 6: the issue slots that stay empty meanwhile.
        self.meter, self.cause = self.at(4, 3), self.at(5, 3)
        lane = Hall.of(self.data).thread % LANES
        self.prop(Scenery(self.light), reach, Line(lane, LANES, LANE, self.work))
        self.prop(*self.trips.values())
        self.prop(Cube((0.0, 0.0, 0.0), 0.8 * LANE, self.breathes, 0.8))
        self.say_the_waits()
        self.slots = self.count_the_slots()
        self.letter(reach)
        self.camera_at = self.fly()
        self.finish()

    # ---- waits ----------------------------------------------------------------------------------------------------------

    def one_scale(self) -> Scale | None:
        """Every latency on one scale; None where none was measured."""
        cycles = {level.name: self.read(f"latencies.{level.name}.cycles").quantity.value for level in self.known}
        return Scale.of(cycles, SLOWEST) if cycles else None

    def trip(self, level: Level, reach: Reach) -> Trip:
        """A level's request; where nothing was measured, it takes as long as its outline is far."""
        far = reach.far(level) or 0.0
        beats = self.scale.beats(level.name) if self.scale else SLOWEST * far / (reach.far(LEVELS[-1]) or 1.0)
        return Trip(level, far, self.leaves[level.name], beats)

    def busy(self, name: str, beat: float) -> float:
        return self.trips[name].busy(beat) if name in self.trips else 0.0

    def work(self, beat: float) -> float:
        """The warp works only for the moment in which its data has come."""
        homes = [trip.home for trip in self.trips.values()]
        return max(ramp(beat, home - 0.02, 0.1) * (1.0 - ramp(beat, home + 0.25, 0.5)) for home in homes)

    def breathes(self, beat: float) -> float:
        """The cube ducks as it asks, stretches as it is answered."""
        asks = max(float(np.exp(-(((beat - trip.leaves) / 0.12) ** 2))) for trip in self.trips.values())
        return 1.0 - 0.25 * asks + 0.5 * self.work(beat) - 0.05 * pulse(beat)

    def say_the_waits(self) -> None:
        """A counter for each request, two at a moment; the scale."""
        if self.scale is None:
            shown = window(self.at(1, 2), self.meter - 0.5)
            self.text(Text(f"latencies not measured on {self.data.device.name}", LABEL, LEFT, 262, opacity=shown))
            return
        pair, other, last = (0.0, self.at(2) + 0.05), (self.at(2) + 0.2, self.at(3) + 0.1), (self.at(3) + 0.25, self.meter)
        places: tuple[tuple[str, float, Align, tuple[float, float]], ...] = (
            ("shared", LEFT, "left", pair), ("l1", RIGHT, "right", pair),
            ("l2", LEFT, "left", other), ("l2_far", RIGHT, "right", other), ("dram", RIGHT, "right", last),
        )  # fmt: skip
        for name, x, align, span in places:
            if name in self.trips:
                shown = window(*span, 0.15)
                self.text_later(shown, lambda n=name, x=x, a=align, s=shown: self.tell(n, x, a, s))  # type: ignore[misc]
        shown = window(self.at(3) + 0.4, self.meter - 0.3, 0.4)
        said = f"1 beat = {self.scale.a_beat:.0f} cycles, for every wait"
        self.text(Text(said, SMALL, LEFT, 262, "left", shown, kind="clock"))
        self.text(Text("distance is time: half of the cycles out, half back", SMALL, LEFT, 304, "left", shown))

    def called(self, name: str) -> str:
        """A level's name; L2 has two halves where the far one was told apart."""
        return "L2, near half" if name == "l2" and "l2_far" in self.trips else NAMES[name]

    def tell(self, name: str, x: float, align: Align, shown: Callable[[float], float]) -> Sequence[Item]:
        cycles, trip = figure(self.read(f"latencies.{name}.cycles"), 0), self.trips[name]
        words = self.called(name)
        return [
            Counter(cycles, trip.passed, NUMBER.coloured(MEMORY), x, 318, align, shown),
            Text(f"a load from {words}", SMALL.coloured(TEXT), x, 368, align, shown),
            Text(cycles.source, SMALL, x, 408, align, shown),
        ]

    # ---- issue slots ----------------------------------------------------------------------------------------------------

    def rung(self) -> str | None:
        """The ladder's first rung, the slow kernel."""
        owned = self.data.ladder(LADDER)
        return owned.value.rungs[0].name if owned and owned.value.rungs else None

    def count_the_slots(self) -> bool:
        """Issued against idle slots of the first rung: as counted, else as estimated; whether either is there."""
        rung = f"ladders.{LADDER}.rungs.{self.rung()}"
        counted, estimated = f"{rung}.counters.issue_active", f"{rung}.figures.idle_issue_slots"
        key = next((key for key in (counted, estimated) if self.rung() and self.data.has(key)), None)
        shown = window(self.meter, self.clock.beats + 9.0, 0.5)
        issued: Callable[[], float] | None = None
        if key is not None:
            issued = cache(lambda: abs((key == estimated) - self.read(key).quantity.value))
        passed = Track(0.0).to(COLUMNS + 2.0, self.meter + 3.5, 3.5, linear)
        self.prop(Slots(0.0, FIELD_Y, issued, Track(0.0).to(1.0, self.meter + 0.2, 0.8), passed))
        if key is None:
            words = f"issue slots not measured on {self.data.device.name}"
            self.text(Text(words, LABEL, LEFT, 262, opacity=shown))
            return False
        self.text_later(shown, lambda: self.share(key, key == counted, shown))
        late = window(self.cause, self.clock.beats + 9.0, 0.4)
        self.text_later(late, lambda: self.reason(late))
        return True

    def share(self, key: str, counted: bool, shown: Callable[[float], float]) -> Sequence[Item]:
        percent, came = figure(self.read(key), 1, "%", 100.0), Track(0.0).to(1.0, self.meter + 3.0, 3.0, arrive)
        kind, how = ("used", "counted") if counted else ("idle", "estimated from its machine code")
        return [
            Counter(percent, came, NUMBER.sized(104).coloured(COMPUTE if counted else TEXT), LEFT, 318, "left", shown),
            Text(f"of issue slots {kind}", FACT, LEFT, 376, "left", shown),
            Text(f"first rung, {problem(self.data)}", SMALL, LEFT, 420, "left", shown),
            Text(f"{percent.source}, {how}", SMALL, LEFT, 458, "left", shown),
        ]

    def reason(self, shown: Callable[[float], float]) -> Sequence[Item]:
        """What its warps wait for most, as counted; that it was not counted, where it was not."""
        found = self.most_waited_for()
        if found is None:
            words = (f"why: not counted on {self.data.device.name}", "no cause is named")
            return [Text(line, SMALL, RIGHT, 318 + 42 * k, "right", shown) for k, line in enumerate(words)]
        name, percent = found
        return [
            Number(percent, NUMBER, RIGHT, 318, "right", shown),
            Text("of its warps' time:", SMALL.coloured(TEXT), RIGHT, 372, "right", shown),
            Text(REASONS.get(name, name), FACT.sized(38), RIGHT, 420, "right", shown),
            Text(f"{name.replace('_', '-')}, {percent.source}, counted", SMALL, RIGHT, 462, "right", shown),
        ]

    def most_waited_for(self) -> tuple[str, Figure] | None:
        """The stall reason with the largest share of the first rung's warp time."""
        owned = self.data.ladder(LADDER)
        name = greatest(owned.value.rungs[0]) if owned else None
        if name is None:
            return None
        return name, figure(self.read(f"ladders.{LADDER}.rungs.{self.rung()}.counters.{PREFIX}{name}"), 0, "%", 100.0)

    # ---- the picture ------------------------------------------------------------------------------------------------------

    def letter(self, reach: Reach) -> None:
        """Each level's name lies on the floor before its arc; what the field's rows and columns are."""
        signs = []
        for level in LEVELS:
            far = reach.far(level)
            if far is None:
                continue
            first = self.leaves[level.name] - 0.3
            last = {"shared": self.at(2, 1.5), "l1": self.at(2, 1.5), "dram": self.meter - 0.5}
            seen = window(first, last.get(level.name, self.at(3, 2)), 0.5)
            near, style = level.name in ("shared", "l1"), CODE.coloured(mix(MEMORY, TEXT, 0.3) if self.scale else QUIET)
            x, y, z = point(level.gate + ASIDE.get(level.name, 0.0), far - (0.0 if near else 2.4), 0.42 if near else 0.1)
            words = self.called(level.name).removesuffix(" half").replace(",", "")
            tall = 0.13 if near else 0.4 + 0.025 * far
            signs.append((TextPlane.standing(words, style, (x, y, z), tall, 0.0, "centre"), seen))
        signs.extend(self.ruler())
        steel = LABEL.coloured(mix(QUIET, TEXT, 0.4))
        late = window(self.at(5), self.clock.beats + 9.0, 0.5)
        said = "the share is measured, not the pattern" if self.slots else "their share is not known"
        for k, words in enumerate(("a row a scheduler, a column a cycle", said)):
            signs.append((TextPlane.lying(words, steel, (0.0, FIELD_Y - 2.9 - 0.75 * k, 0.02), 0.36, 0.0, "centre"), late))
        self.prop(Signs(signs))

    def ruler(self) -> list[tuple[TextPlane, Callable[[float], float]]]:
        """Cycles there and back, in round steps along the floor straight ahead."""
        if self.scale is None:
            return []
        shown, quiet = window(self.at(2) + 0.5, self.meter - 0.5), LABEL.coloured(mix(QUIET, TEXT, 0.2))
        marks = [(f"{cycles:.0f}", far) for cycles, far in self.scale.marks()]
        return [(TextPlane.lying(n, quiet, (0.0, far, 0.03), 0.35 + 0.025 * far, 0.0, "centre"), shown) for n, far in marks]

    def light(self, world: World, beat: float) -> None:
        out = ramp(beat, self.at(1, 4.0), 3.0) * (1.0 - ramp(beat, self.meter - 1.5, 2.0))
        world.light = Light(focus=(0.0, 1.0 + 17.0 * out - 4.0 * ramp(beat, self.meter - 1.5, 2.0)), radius=8.0 + 20.0 * out)
        world.fog = Fog(start=40.0, end=120.0)
        world.ground = Ground(spacing=3.0, extent=90.0)

    def fly(self) -> Callable[[float], Camera]:
        """Close on the thread; back and up as its requests fly; out along one to DRAM; home, over the empty slots."""
        path = Path([
            (0, (0.2, 0.9, 0.35, 6.8, -16, 20)),
            (3, (0.0, 1.1, 0.35, 7.2, -4, 23)),
            (5, (0.0, 9.0, 0.8, 33.0, -5, 20)),
            (8, (0.5, 11.0, 1.2, 40.0, -9, 16)),
            (10, (-0.6, 12.0, 1.6, 36.0, -13, 12)),
            (12, (-1.2, 12.0, 2.2, 32.0, -18, 9)),
            (13.25, (-0.6, 6.0, 1.0, 24.0, -12, 12)),
            (15, (0.0, -2.6, 0.9, 24.0, -9, 21)),
            (18, (0.0, -3.0, 0.9, 24.5, 2, 23)),
            (22, (0.0, -2.8, 0.9, 23.0, 12, 21)),
            (24, (0.0, -1.0, 0.8, 16.0, 17, 18)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation, 36.0)

        return camera
