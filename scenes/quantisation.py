"""Quantisation: fewer bits a weight are fewer bytes to read; four formats race over equal tracks, and what comes out is off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import ClassVar

from scenes.props.bits import EDGE, GROUP, SCALE_BITS, Bits
from scenes.props.cube import Cube, Vector
from scenes.props.signs import Signs
from scenes.props.trains import FROM, GATE, NAMES, SM, Train, Trains
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.hud import Ratio
from scenes.stage.keys import Path, Track, arrive, ramp, smooth, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import MEMORY, QUIET, TEXT, mix
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, LABEL, NUMBER, SMALL
from scenes.stage.world import Fog, Ground, Light, World

LEFT, RIGHT = 96, 1824
BIG, FINE, FINER = 318, 368, 406  # baselines of a number and of what explains it
FORMATS = (("fp32", 32), ("fp16", 16), ("int8", 8), ("int4", 4))  # bits a weight, without scales
TRACKS = (4.8, 1.6, -1.6, -4.8)  # y of each format
ROW = -9.5  # y of the bits
SLOWEST = 6.0  # beats that the fp32 weights take to pass, up to "road": the scale of the race


class Quantisation(Passage):
    """Fewer bits, fewer bytes."""

    name: ClassVar[str] = "quantisation"
    title: ClassVar[str] = "QUANTISATION"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 9"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        # Bars 1 and 2: one weight, bit by bit; it is folded on "number", "lighten", "load"; bar 3: its group, their scale.
        self.scale_at, self.start, self.flow = self.at(3, 2), self.at(4), self.at(6)
        folds, self.group_at = (self.at(1, 3), self.at(2), self.at(2, 3)), self.at(3) - 0.1
        gone = Track(1.0).to(0.0, self.start - 0.25, 0.75)
        self.bits: Bits = self.prop(Bits(ROW, folds, gone, self.group_at, self.scale_at))
        self.say_the_bits()

        # Bar 4, on "more of them": the same matrix in four formats, each train as long as its bytes, as fast as it was read.
        self.rungs = {name: self.fastest(name) for name, _ in FORMATS}
        trains = [self.train(k) for k in range(len(FORMATS))]
        # From bar 5 on weight after weight, as fast as they were read: level at the gate on bar 6, then each gate counts them.
        pace, risen = (GATE - FROM) / (self.flow - self.at(5)), Track().to(1.0, self.start - 0.1, 0.75)
        self.trains: Trains = self.prop(Trains(trains, self.start, self.flow, pace, risen))
        self.prop(Scenery(self.light), Cube(self.thread, 0.62, emission=0.8))
        self.name_the_tracks()
        self.count_at_the_gates()
        if all(self.rungs.values()):
            self.say_the_race()
            self.say_the_cost()
        else:
            shown = window(self.start - 0.5, self.clock.beats + 9.0)
            missing = [name for name, rung in self.rungs.items() if rung is None]
            self.text(Text(f"{', '.join(missing)} not measured on {self.data.device.name}", LABEL, LEFT, 262, opacity=shown))
            self.text(Text("outlines go by their bytes alone", SMALL, LEFT, 312, "left", shown))
        self.camera_at = self.fly()
        self.finish()

    # ---- the record -------------------------------------------------------------------------------------------------------

    def fastest(self, name: str) -> str | None:
        """The rung of a format that was measured last, each being faster than the one before; None where there is none."""
        owned = self.data.ladder("gemv")
        rungs = [rung.name for rung in owned.value.rungs if rung.name.split("_")[0] == name] if owned else []
        known = [rung for rung in rungs if self.data.has(self.key(rung, "speedup")) and "batch" not in rung]
        return known[-1] if known else None

    def key(self, rung: str, what: str) -> str:
        return f"ladders.gemv.rungs.{rung}.figures.{what}"

    def of_int4(self, what: str) -> str:
        return self.key(self.rungs["int4"] or "int4", what)

    def train(self, which: int) -> Train:
        name, bits = FORMATS[which]
        rung, scales = self.rungs[name], SCALE_BITS / GROUP if name.startswith("int") else 0.0
        ratio = FORMATS[0][1] / (bits + scales)

        def beats(rung: str) -> float:
            return SLOWEST / self.read(self.key(rung, "speedup")).quantity.value

        def speed(rung: str) -> float:
            mine, plain = (self.read(self.key(name, "bandwidth")).quantity.value for name in (rung, self.rungs["fp32"] or rung))
            return mine / plain

        share = scales / (bits + scales)
        if rung is None:
            return Train(TRACKS[which], ratio, share, None, slowest=SLOWEST)
        wrong = self.key(rung, "quantisation_error")
        off = cache(lambda: self.read(wrong).quantity.value) if self.data.has(wrong) else None
        timed, flows = cache(lambda: beats(rung)), cache(lambda: speed(rung))
        return Train(TRACKS[which], ratio, share, timed, flows, off, SLOWEST)

    def achieved(self) -> Callable[[float], Ratio | None]:
        """On bar 6 the bandwidth that the smallest weights are read with, over that of the memory."""
        begins, rung = self.at(6) + 0.25, self.fastest(FORMATS[-1][0])
        if rung is None or not self.data.has(self.key(rung, "read_share")):
            return lambda beat: None

        @cache
        def share() -> Ratio:
            roof, owned = self.data.get("roofs.dram"), self.data.ladder("gemv")
            title = next((item.title for item in owned.value.rungs if item.name == rung), rung) if owned else rung
            peak = f"of DRAM's roof, {roof.quantity.source}" if roof else "of DRAM's roof"
            return Ratio(figure(self.read(self.key(rung, "read_share")), 2, ""), title, peak, "OF THE READ ROOF")

        return lambda beat: share() if beat >= begins else None

    # ---- the thread -------------------------------------------------------------------------------------------------------

    def thread(self, beat: float) -> Vector:
        """At the end of its weight, and on it; then on the last wagon of the shortest train, and on the SM that took it in."""
        on = ramp(beat, self.group_at - 1.5, 0.6)
        x, y, z = (-self.bits.half_width(beat) - 0.9) * (1.0 - on), ROW, EDGE * on + 3.2 * on * (1.0 - on)
        u = ramp(beat, self.start - 1.25, 1.25, smooth)
        if u <= 0.0:
            return x, y, z
        end = self.trains.tail(len(FORMATS) - 1, beat)
        arc = 2.5 * 4.0 * u * (1.0 - u)
        return x + (end[0] - x) * u, y + (end[1] - y) * u, z + (end[2] - z) * u + arc

    # ---- words --------------------------------------------------------------------------------------------------------------

    def say_the_bits(self) -> None:
        """How many bits are left; then what has to ride along with them."""
        shown, late = window(0.75, self.group_at - 0.4), window(self.group_at, self.start - 0.75)
        names, least = {bits: name for name, bits in FORMATS}, FORMATS[-1][1]
        self.text(Text(lambda beat: f"{self.bits.left(beat)} bits", NUMBER.coloured(MEMORY), LEFT, BIG, "left", shown))
        self.text(Text(lambda beat: f"one weight as {names[self.bits.left(beat)]}", SMALL, LEFT, FINE, "left", shown))
        whole = f"{least} + {SCALE_BITS} / {GROUP} = {self.with_scale:g} bits"
        self.text(Text(whole, NUMBER.coloured(MEMORY), LEFT, BIG, "left", late))
        self.text(Text(f"a weight: {GROUP} of them share one scale, in white", SMALL, LEFT, FINE, "left", late))

    @property
    def with_scale(self) -> float:
        """Bits of a weight of the last format, its share of the scale included."""
        return FORMATS[-1][1] + SCALE_BITS / GROUP

    def name_the_tracks(self) -> None:
        """Each format on the SM, at the gate of its track and before its outputs; the SM's own name on its front."""
        style, seen = CODE.coloured(mix(MEMORY, TEXT, 0.35)), window(self.start - 0.5, self.clock.beats + 9.0)
        names = [
            TextPlane.standing(name, style, (NAMES, y - 0.4, SM[2] + 0.04), 0.8, 6.0)
            for (name, _), y in zip(FORMATS, TRACKS, strict=True)
        ]
        grey = CODE.coloured(mix(QUIET, TEXT, 0.3))
        sm = TextPlane.standing("SM", grey, (SM[0] + 0.3, TRACKS[-1] - 1.62, 0.2), 0.66)
        told = window(self.start - 0.5, self.flow - 0.5)  # from then on it would stand on the song's words
        self.prop(Signs([*((plane, seen) for plane in names), (sm, told)]))

    def count_at_the_gates(self) -> None:
        """Right of each format's outputs how many of its weights have passed in bar 6: as measured, else by bytes alone."""
        style, seen = CODE.coloured(TEXT), window(self.flow - 0.25, self.clock.beats + 9.0)

        def counter(which: int) -> Callable[[float], TextPlane]:
            place = (SM[1] + 0.4, TRACKS[which] - 0.3, SM[2] + 0.1)
            plane = cache(lambda count: TextPlane.standing(f"{count}", style, place, 0.74, 12.0))
            return lambda beat: plane(int(self.trains.taken(self.trains.trains[which], beat + 1e-6)))

        self.prop(Signs([(counter(which), seen) for which in range(len(FORMATS))]))
        self.text(Text("at each gate: weights taken in", SMALL, RIGHT, FINE, "right", seen))

    def say_the_race(self) -> None:
        """As the trains start: how much shorter one is; from when it is in: how much sooner, until the longest is in."""
        end = self.flow - 0.25
        left, right = window(self.start + 0.25, end), window(self.start + 2.25, end)

        def shorter() -> Sequence[Item]:
            fewer = figure(self.read(self.of_int4("ideal_speedup")), 2, "×")
            return [
                Number(fewer, NUMBER.coloured(MEMORY), LEFT, BIG, "left", left),
                Text("fewer bits a weight:", SMALL, LEFT, FINE, "left", left),
                Text(f"{self.with_scale:g} in int4, {FORMATS[0][1]} in fp32", SMALL, LEFT, FINER, "left", left),
            ]

        def sooner() -> Sequence[Item]:
            faster = figure(self.read(self.of_int4("speedup")), 2, "×")
            counted = Track().to(1.0, self.start + 2.9, 0.6, arrive)
            return [
                Counter(faster, counted, NUMBER, RIGHT, BIG, "right", right, start=1.0),
                Text(f"faster y = Wx: int4 against fp32, {faster.source}", SMALL, RIGHT, FINE, "right", right),
                Text(f"W {self.problem()}", SMALL, RIGHT, FINER, "right", right),
            ]

        self.text_later(left, shorter)
        self.text_later(right, sooner)

    def problem(self) -> str:
        owned = self.data.ladder("gemv")
        return (owned.value.problem if owned else "").replace(" x ", " × ")

    def say_the_cost(self) -> None:
        """Bar 6: what the missing bits cost; the share of the roof stands in the HUD."""
        shown = window(self.flow + 0.25, self.clock.beats + 9.0)

        def cost() -> Sequence[Item]:
            wrong = figure(self.read(self.of_int4("quantisation_error")), 1, "%", 100.0)
            return [
                Number(wrong, NUMBER, LEFT, BIG, "left", shown),
                Text("relative error of int4's y; exact y in white", SMALL, LEFT, FINE, "left", shown),
                Text(f"Euclidean norm, normal weights, {wrong.source}", SMALL, LEFT, FINER, "left", shown),
            ]

        self.text_later(shown, cost)

    # ---- the picture ------------------------------------------------------------------------------------------------------

    def light(self, world: World, beat: float) -> None:
        u = ramp(beat, self.start - 2.0, 2.0)
        world.light = Light(
            focus=(4.0 * u, (ROW - 5.0 * ramp(beat, 6.5, 1.5)) * (1.0 - u)), radius=14.0 + 6.0 * u, ambient=0.36
        )
        world.fog = Fog(start=36.0, end=100.0)
        world.ground = Ground(spacing=2.0, extent=90.0)

    def fly(self) -> Callable[[float], Camera]:
        """Along the bits as they close up, over all tracks for the race, down to where the thread went in."""
        path = Path([
            (0, (-1.2, ROW, 1.6, 26.5, -14, 12)),
            (1, (-0.9, ROW, 1.5, 24.0, -12, 12)),
            (2, (-0.5, ROW, 1.3, 17.0, -10, 14)),
            (4, (-0.4, ROW, 0.9, 10.0, -3, 14)),
            (6.1, (-0.3, ROW, 0.45, 6.0, 8, 14)),
            (8, (0.0, -16.6, 2.0, 34.2, 8, 33)),
            (10.8, (0.2, -16.8, 2.1, 34.5, 0, 32)),
            (12.3, (3.4, 0.2, 2.0, 33.0, 5, 26)),
            (16, (4.2, 0.0, 1.9, 31.5, 9, 25)),
            (18.5, (5.4, -0.3, 2.2, 29.5, 11, 24)),
            (20.3, (8.6, -0.7, 2.4, 26.0, 12, 24)),
            (22, (10.6, -1.0, 3.1, 23.5, 14, 23)),
            (24, (12.2, -1.2, 3.1, 21.0, 17, 22)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation, 36.0)

        return camera
