"""Launch: one line starts a grid; its thread blocks fly to the SMs that really ran them, for as long as recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from measure.records import LaunchTrace
from scenes.props.chip import BOARD, Chip, far_off
from scenes.props.cube import Cube
from scenes.props.flight import TRAVEL, Flight, Rack, Stretch, Tray, seats
from scenes.props.floorplan import Rect
from scenes.props.seats import camera_of
from scenes.props.sentence import Sentence, microseconds
from scenes.props.waves import Pennant, Rounds, Waves
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Path, Track, arrive, pulse
from scenes.stage.overlay import Item, Number, Run, Text, Value
from scenes.stage.palette import QUIET
from scenes.stage.passage import Passage, Scenery
from scenes.stage.type import CODE, FACT, LABEL, NUMBER, SMALL, Style
from scenes.stage.world import Fog, Ground, Light, World

LEFT, RIGHT = 96, 1824
LINE_1, LINE_2, LINE_3 = 244, 296, 342  # baselines of the code and of what explains it
BIG, FINE, FINER = 166, 220, 264  # baselines of the number on the right and of the lines under it: over all signs of the world
MOST_WAVES = 6  # that stand side by side behind the chip
RACKS = 6.9  # half the width of racks for three waves and a half, the camera as far off as for a large chip, world units


class Launch(Passage):
    """Launching is easy; how fast did it run?"""

    name: ClassVar[str] = "launch"
    title: ClassVar[str] = "LAUNCH"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 2"
    bars: ClassVar[int] = 4
    launch_at: ClassVar[tuple[int, float]] = (2, 1.0)  # the first blocks leave the tray
    run_from: ClassVar[tuple[int, float]] = (3, 1.0)  # the recording fills the beats from here ...
    run_to: ClassVar[tuple[int, float]] = (4, 3.0)  # ... to here, by one factor

    def construct(self) -> None:
        # Set the chip of the GPU that ran the launch on its board, and the blocks of the launch on a tray behind it.
        owned = self.data.launch_trace()
        trace = owned.value if owned else None
        chip = Chip(owned.device, len(set(owned.value.sm))) if owned else Chip(self.data.device)
        tray = self._tray(chip, trace)
        self.prop(Scenery(self._light(tray)), chip, tray)

        # Send every block to its SM as recorded; one of them holds the thread that we follow.  Nothing recorded, nothing moves.
        if trace:
            flight = self._fly(trace, chip, tray)
            hero = flight.hero or 0
            leaves = float(flight.depart[hero])
            if tray.wave:
                self.prop(Waves(flight, Track(0.0).to(1.0, self.at(2, 1.4), 0.4).to(0.0, self.at(4, 2.5), 0.5)))
            cube = Cube(self._hop(flight, hero), size=flight.cube)
        else:
            hero, leaves = tray.shape[0] // 2, self.at(4, 4)
            self.prop(Rack(tray, skip=hero), Rounds(tray, chip, hero, self.at(*self.launch_at), self.at(*self.run_to)))
            cube = Cube(tray.places()[hero], size=tray.cube)
        self.prop(cube)
        self._mark(cube, leaves, None if trace and not tray.wave else tray.shelves()[-1].x1)

        # Begin beside our block, draw back over the whole chip for the run, dive to where our block ran.
        self.camera_at = self._travel(chip, cube, trace)

        # Type the launch; say what a launch costs; let the recording's clock run.
        self._type_launch(trace)
        self._say_where(chip, trace)
        if trace:
            self._say_cost()
            self._say_fit(trace, len(tray.racks()) if tray.wave else 0)
            self._run_clock(trace)
        else:
            shown = Track(0.0).to(1.0, self.at(2, 2), 0.5).to(0.0, self.at(4, 4), 0.5)
            self.text(Text(f"block trace not measured on {self.data.device.name}", LABEL, LEFT, LINE_2, opacity=shown))
            self.text(Text("outlines: an SM with room takes the next block", SMALL, LEFT, LINE_3, opacity=shown))
        self.finish()

    # ---- what stands in the world ------------------------------------------------------------------------------------

    def _light(self, tray: Tray) -> Callable[[World, float], None]:
        """The pool of light goes from the tray to the chip as the blocks do."""
        place, wide = Track(tray.rect.y1 - 1.0).to(0.4, self.at(3), 4.0), Track(11.0).to(13.0, self.at(3), 3.0)
        around = Track(0.6).to(0.36, self.at(3), 4.0)

        def arrange(world: World, beat: float) -> None:
            world.light = Light(focus=(0.0, place(beat)), radius=wide(beat), ambient=around(beat))
            world.fog = Fog(start=26.0, end=70.0)
            world.ground = Ground(spacing=2.0, extent=70.0, reflect=0.0)

        return arrange

    def _tray(self, chip: Chip, trace: LaunchTrace | None) -> Tray:
        """Racks behind the package, one for each wave that the SMs can hold; without a recording one block for each SM."""
        package, behind = chip.plan.package, chip.reach.y1 + 0.6
        place, low = Rect(package.x0 + 2.2, behind, package.x1 - 2.2, behind + 3.4), BOARD + 0.24
        if trace is None:
            return Tray(place, low, max(1, len(chip.plan.sms)), 0.3)
        wave = seats(trace)[1] * len(set(trace.sm))
        split = wave < trace.blocks <= MOST_WAVES * wave
        half = RACKS * far_off(chip.reach) * min(1.0, trace.blocks / wave / 3.5)
        place = place.grown(max(0.0, half - place.x1), 0.0) if split else place
        return Tray(place, BOARD + 1.2 if split else low, trace.blocks, 0.2, wave if split else 0)

    def _stretch(self, trace: LaunchTrace) -> Stretch:
        return Stretch(self.at(*self.run_from), self.at(*self.run_to), float(max(trace.end_ns)))

    def _fly(self, trace: LaunchTrace, chip: Chip, tray: Tray) -> Flight:
        flight: Flight = self.prop(Flight(trace, chip, tray, self._stretch(trace), self.at(*self.launch_at)))
        chip.work, chip.warmth = flight.work, flight.warmth
        flight.hero = flight.last_near(0.0, chip.plan.die.y0)
        flight.called_at = self.at(1, 2)  # by the word "blocks"
        return flight

    def _hop(self, flight: Flight, hero: int) -> Callable[[float], tuple[float, float, float]]:
        """Our block flies as recorded; while it waits it stands out of the queue by half its height and ducks on every beat."""
        rest = Track(0.5).to(0.0, float(flight.depart[hero]) + TRAVEL, TRAVEL)

        def where(beat: float) -> tuple[float, float, float]:
            x, y, z = flight.position(beat)[hero]
            return float(x), float(y), float(z) + flight.cube * rest(beat) * (1.0 - 0.6 * pulse(beat))

        return where

    def _mark(self, cube: Cube, leaves: float, edge: float | None) -> None:
        """A hairline finds our block among a thousand; until it flies it is named, beside the racks under their signs."""
        aside = Track(0.0).to(1.0, self.at(2), 0.4).to(0.0, leaves, 0.5) if edge is not None else Track(0.0)
        mark = self.prop(Pennant(cube, Track(1.0).to(0.0, self.at(5), 1.0), aside, edge or 0.0))
        right, down = lambda beat: 20 * aside(beat) - 8, lambda beat: 26 * aside(beat) - 14
        for words, shown in (
            ("our thread's block", Track(1.0).to(0.0, self.at(1, 4.75), 0.3)),
            ("our block waits", Track(0.0).to(1.0, self.at(2, 2), 0.4).to(0.0, leaves - 0.25, 0.3)),
        ):
            self.text(Text(words, LABEL, right, down, "left", shown, mark.tip))

    def _travel(self, chip: Chip, cube: Cube, trace: LaunchTrace | None) -> Callable[[float], Camera]:
        """Keys of the camera: where it looks, distance, azimuth and elevation."""
        room = chip.reach if trace else chip.plan.die.grown(0.3)  # outlines are to be seen from near
        far, middle = far_off(room, 0.5 if trace else 0.36), (room.y0 + room.y1) / 2
        first, last = cube.centre(0.0), cube.centre(self.clock.beats)
        side, lift = 1.0 if first[0] > 0.0 else -1.0, min(1.0, far + 0.1 if trace is None else 0.5 * far + 0.58)
        high = 2.3 if trace else 2.3 * lift
        path = Path([
            (self.at(1), (first[0] * 0.72, first[1] - 0.8, first[2] - 0.1, 9.8, 24.0 * side, 17.0)),
            (self.at(1, 3), (first[0] * 0.7, first[1] - 1.2, first[2] + 0.05, 11.4, 22.0 * side, 18.0)),
            (self.at(2), (first[0] * 0.4, first[1] - 2.6 * lift, high, 17.5 * far, 13.0 * side, 20.0)),
            (self.at(3), (0.0, middle + 0.9 * lift, 2.9 * lift, 23.5 * far, -7.0, 23.0)),
            (self.at(4), (0.0, middle + 0.7 * lift, 3.1 * lift, 23.0 * far, 9.0, 23.5)),
            (self.at(*self.run_to), (last[0] * 0.5, last[1] * 0.5 + 0.4, 1.9 * lift, 18.0 * far, 18.5, 27.0)),
            (self.at(5), (last[0], last[1], last[2] + 0.1, 3.2, 26.0, 33.0)),
        ])  # fmt: skip
        return camera_of(path)

    # ---- what is written ---------------------------------------------------------------------------------------------

    def _type_launch(self, trace: LaunchTrace | None) -> None:
        """`kernel<<<blocks, threads, smem>>>();` a term a beat; on the launch two words turn into the recorded numbers.

        The bytes of dynamic shared memory are no part of the record; that they were asked for is (kernels/traces/launch.cu).
        """
        launch = self.at(*self.launch_at) - 0.02  # half a frame: the beat's own frame has the numbers

        def typed(word: str, beat: int, start: float = 0.0) -> Callable[[float], str]:
            began = self.at(1, beat + start) - 0.2  # so that the first letters are there on the beat
            return lambda now: word[: len(word) if beat == 1 else max(0, int((now - began) * 16))]

        def term(word: str, value: int | None, beat: int, start: float) -> Callable[[float], str]:
            before = typed(word, beat, start)
            return lambda now: before(now) if value is None or now < launch else str(value)

        def caret(now: float) -> str:
            return "_" if now < launch and now % 1.0 < 0.75 else ""

        quiet = CODE.coloured(QUIET)
        parts: list[tuple[Callable[[float], str], Style, Value]] = [
            (typed("kernel", 1), quiet, 1.0),
            (typed("<<<", 2), quiet, 1.0),
            (term("blocks", trace.blocks if trace else None, 2, 0.2), CODE, 1.0),
            (typed(", ", 3), quiet, 1.0),
            (term("threads", trace.threads if trace else None, 3, 0.1), CODE, 1.0),
            (typed(", smem" if trace else "", 3, 0.6), quiet, 1.0),
            (typed(">>>", 4), quiet, 1.0),
            (typed("();", 4, 0.2), quiet, 1.0),
            (caret, CODE, 1.0),
        ]
        self.text(Run(parts, LEFT, LINE_1, Track(1.0).to(0.0, self.at(4, 4), 0.5)))

    def _say_where(self, chip: Chip, trace: LaunchTrace | None) -> None:
        """Whose recording it is, where it is another GPU's; without one how many SMs wait for blocks."""
        shown, count = Track(0.0).to(1.0, self.at(2, 1.4), 0.4, arrive), self.data.get("device.sm_count")
        shown.to(0.0, self.at(4, 4), 0.5)
        if chip.device.name != self.data.device.name:
            self.text(Text(f"recorded on {chip.device.name}", SMALL, LEFT, LINE_3, "left", shown))
        elif trace is None and count is not None:
            self.text(Number(figure(count, 0, "SMs"), NUMBER, RIGHT, BIG, "right", shown))
            self.text(Text(count.quantity.source, SMALL, RIGHT, FINE, "right", shown))

    def _say_cost(self) -> None:
        """What it takes to launch nothing, alone for a bar while the blocks leave."""
        shown = Track(0.0).to(1.0, self.at(2, 1.4), 0.4, arrive).to(0.0, self.at(3), 0.25)

        def cost() -> Sequence[Item]:
            time = microseconds(self.read("traces.launch.launch_latency"))
            said = ("an empty kernel, there and back", FINE), (f"launched from Python, {time.source}", FINER)
            lines = [Text(words, SMALL, RIGHT, y, "right", shown) for words, y in said]
            return [Number(time, NUMBER, RIGHT, BIG, "right", shown), *lines]

        if self.data.has("traces.launch.launch_latency"):
            self.text_later(shown, cost)

    def _say_fit(self, trace: LaunchTrace, waves: int) -> None:
        """What the third word of the launch asks for; then what comes of it: how many blocks an SM holds, and the waves."""
        said = Track(0.0).to(1.0, self.at(2, 2), 0.4).to(0.0, self.at(*self.run_from), 0.3)
        self.text(Text("smem: bytes of shared memory for each block", LABEL, LEFT, LINE_2, opacity=said))
        if not self.data.has("traces.launch.blocks_per_sm"):
            return
        shown = Track(0.0).to(1.0, self.at(*self.run_from) + 0.4, 0.4).to(0.0, self.at(3, 3.25), 0.25)

        def room() -> Sequence[Item]:
            fit = figure(self.read("traces.launch.blocks_per_sm"), 0, "blocks")
            words = "smem leaves room for ", f" on an SM, {fit.source}"
            return [Sentence([(words[0], LABEL), (fit, LABEL), (words[1], LABEL)], LEFT, LINE_2, opacity=shown)]

        self.text_later(shown, room)
        if waves:
            then = Track(0.0).to(1.0, self.at(3, 3.6), 0.25).to(0.0, self.at(4, 1.75), 0.25)
            self.text(Text(f"so {trace.blocks} blocks go in {waves} waves", LABEL, LEFT, LINE_2, opacity=then))

    def _run_clock(self, trace: LaunchTrace) -> None:
        """The recording's clock runs up to the whole time, which stays; then the film's question."""
        if not self.data.has("traces.launch.duration"):
            return
        stretch, begin, end = self._stretch(trace), self.at(*self.run_from), self.at(*self.run_to)
        shown, clock = Track(0.0).to(1.0, begin + 0.5, 0.5).to(0.0, end, 0.25), Track(0.0).to(1.0, begin + 0.5, 0.5)

        def passed(beat: float) -> float:
            return stretch.ns(beat) / stretch.span_ns

        def whole() -> Sequence[Item]:
            time = microseconds(self.read("traces.launch.duration"))
            last = Sentence([("of ", SMALL), (time, FACT), (" until the last ended", SMALL)], RIGHT, FINER, "right", shown)
            began = Text(f"since the first block began, {time.source}", SMALL, RIGHT, FINE, "right", shown)
            return [Counter(time, passed, NUMBER, RIGHT, BIG, "right", clock), began, last]

        self.text_later(clock, whole)
        self.text(Text("is that fast?", FACT, RIGHT, FINE + 6, "right", Track(0.0).to(1.0, end + 0.25, 0.25)))
