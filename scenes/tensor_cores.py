"""Tensor cores: one instruction multiplies a whole tile; and the hall gets a second, higher beam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import ClassVar

from measure.records import Rung
from scenes.props.cube import Cube, Vector
from scenes.props.instruction import LANES, best_rung, data_type, instruction_of
from scenes.props.marks import Column, Mark, beyond_the_beam, over_the_rung
from scenes.props.mma import LANE, Card, Equal, Tensor, WarpLanes, arithmetic, labels
from scenes.props.peaks import Peaks
from scenes.props.roof_line import RoofLine
from scenes.props.roofline import CUBE, FLOOR, HALF_DEPTH, Chart, Hall, Lot, Tower, towers
from scenes.props.seats import Hall as Seats
from scenes.props.second_roof import BESIDE, LONG, SecondRoof
from scenes.props.sentence import Sentence
from scenes.props.tensor_flight import flight
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.hud import Ratio
from scenes.stage.keys import Track, arrive, leave, ramp, smooth, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import COMPUTE, TEXT
from scenes.stage.passage import Passage, Scenery
from scenes.stage.type import FACT, LABEL, NUMBER, SMALL
from scenes.stage.world import Fog, Ground, Light, World

LEFT, RIGHT = 96, 1824
FP32, BF16 = "gemm_fp32", "gemm_bf16"


class TensorCores(Passage):
    """One instruction, one tile."""

    name: ClassVar[str] = "tensor-cores"
    title: ClassVar[str] = "TENSOR CORES"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 7"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        # The hall of the roofs still stands; before its next tower's place a warp waits for one instruction.
        self.chart = Chart.of(self.data)
        self.peaks = Peaks.of(self.data, BF16)
        self.fastest = best_rung(self.data, BF16)
        self.shape = instruction_of(self.fastest)
        self.lands, self.meets, self.single, self.falls = self.at(1, 3), self.at(2, 3), self.at(3), self.at(3, 3)
        self.pulls, self.tops = self.at(4), self.at(5, 3)
        self.foot = (self.place(), 0.0, FLOOR if self.chart else 0.0)
        self.prop(Scenery(self.light))
        self.hall()

        # Bars 1 and 2: the instruction falls on all lanes on "instruction"; on "time" its two tiles meet.
        apart = Track(1.0).to(0.82, self.at(2), 1.5, smooth).to(0.0, self.meets, self.meets - self.at(2), leave)
        gone = Track(1.0).to(0.0, self.pulls, 0.8) if self.chart else Track(1.0)
        self.tensor: Tensor = self.prop(Tensor(self.shape, self.foot, self.meets, self.falls, apart, gone, self.shrink()))
        lane, fires = Seats.of(self.data).thread % LANES, (self.lands, self.meets, self.single)
        m, n, _ = self.tensor.cells
        per_cell = (self.shape.m / m, self.shape.n / n)
        self.lanes: WarpLanes = self.prop(WarpLanes(self.foot, self.shape.warps, lane, fires, self.single, gone, per_cell))
        self.prop(Card(self.lanes, self.lands, f"{self.shape.name}  {self.shape.shape}"))
        self.text(*labels(self.tensor, window(self.at(1) + 0.5, self.meets - 0.25), self.floor_is_seen))
        self.text(*arithmetic(self.tensor, self.at(1) + 0.25, self.single, self.pulls - 0.25))

        # Bar 3: an FMA of the same warp before the block; bars 4 to 6: the second beam, and how near to it its best rung comes.
        self.prop(Card(self.lanes, self.single, "fma  fp32", 0.8, 1.2, before=0.42))
        size = Track(LANE).to(CUBE, self.pulls + 1.0, 1.0) if self.chart else LANE
        self.prop(Cube(self.thread, size=size, emission=0.8))
        self.say_the_rates()
        self.camera_at = self.fly()
        self.finish()

    # ---- what the measurements say --------------------------------------------------------------------------------------

    @cached_property
    def plain(self) -> Rung | None:
        """The fastest fp32 rung that the film has landed so far; asked from bar 4 on: no frame before depends on it."""
        return best_rung(self.data, FP32, self.rungs_before())

    @cached_property
    def library(self) -> list[tuple[Mark, list[Item]]]:
        """Where no rung of ours is known, a library's rate on tensor cores as a line over the beam."""
        if self.chart is None or self.peaks is not None:
            return []
        return beyond_the_beam(self.data, self.chart, self.tops, self.clock.beats - 1.0)

    def achieved(self) -> Callable[[float], Ratio | None]:
        """From where its tower has landed, the best tensor rung against the roof of its own instruction, or a library."""
        lands = self.at(5, 3)

        @cache
        def share() -> Ratio | None:
            found = self.peaks.ratio(self.data) if self.peaks else None
            return replace(found, heading="OF THE BEAM") if found and self.peaks and self.peaks.own else found

        return lambda beat: share() if beat >= lands and self.tower else None

    def place(self) -> float:
        """x of the tensor rung's tower: at its intensity where that is of the hall's own level, beside the hall otherwise."""
        if self.chart is None:
            return 0.0
        mark = self.data.intensity(BF16, self.fastest.name) if self.fastest else None
        owned = self.data.ladder(BF16)
        same = owned is not None and owned.value.level == self.chart.level
        return max(self.chart.x(mark.quantity.value), BESIDE - 1.5) if mark and self.chart.placed and same else BESIDE

    # ---- the hall -------------------------------------------------------------------------------------------------------

    def hall(self) -> None:
        """The fp32 hall as the roofs left it, and what is built in it from bar 4 on: beam and tower."""
        self.second: SecondRoof | None = None
        self.tower: Tower | None = None
        if self.chart is None:
            return
        chart, placed = self.chart, float(self.chart.placed)
        still = Track(1.0)
        hall = self.prop(Hall(chart, Track(placed), still, Track(0.0), Track(1.0 - placed), view=self.pinned, aside=still))
        before = towers(self.data, chart, dict.fromkeys(self.rungs_before(), still)).values()
        self.prop(*before, RoofLine(hall, lambda beat: [(tower.lot.x, tower.lot.y) for tower in reversed(before)], still))
        if self.peaks is None or self.peaks.rung.rate is None:
            return
        peak, rate = self.read(self.peaks.beam(self.data)).quantity.value, self.peaks.rung.rate.value
        slope, beam = Track(0.0).to(1.0, self.at(4, 3), 1.5), Track(0.0).to(1.0, self.at(5), 1.5, arrive)
        self.second = self.prop(SecondRoof(chart, peak, slope, beam))
        lot = Lot(self.foot[0], 0.0, chart.z(rate), min(1.0, rate / peak))
        rise = Track(0.0).to(1.0, self.tops, 3.4, arrive)  # no overshoot: nothing passes its roof
        self.tower = self.prop(Tower(lambda: lot, rise, lambda beat: 1.0))
        shown = window(self.at(4, 3), self.clock.beats - 0.75)
        # The scale's numbers leave before the peaks are told beside it: between them they would be read as peaks, too.
        self.text(*self.second.numerals(window(self.at(4, 3), self.at(5) - 0.25), self.pinned))
        self.prop(self.second.names(shown, data_type(self.data, FP32), data_type(self.data, BF16), -26.0))
        self.name_the_peaks(chart, self.second, self.peaks)

    def name_the_peaks(self, chart: Chart, second: SecondRoof, peaks: Peaks) -> None:
        """On bar 5 the beam says what it is; on bar 6 the vendor's rate is drawn, and before it any roof that does not bind."""
        end, span = self.clock.beats - 0.75, (second.ridge - 0.8, second.ridge + LONG + 1.4)
        beam = (second.ridge + LONG, -HALF_DEPTH, second.height)
        told = over_the_rung(self.data, peaks, chart, beam, span, (self.at(5), self.at(6)), end)
        self.prop(*(item.mark for item in told if item.mark))
        self.text_later(window(self.at(5), end), lambda: [Column.of(self.data, told, end)])

    def floor_is_seen(self, beat: float) -> float:
        """Whether no card stands before the floor of sums and no FMA is compared with its block, 0..1."""
        return window(self.lands + 1.5, self.single - 0.6)(beat)

    def shrink(self) -> Track:
        """The tile becomes the foot of its tower; where there is none it stays."""
        return Track(1.0).to(0.22, self.pulls + 2.25, 1.75) if self.tower else Track(1.0)

    def thread(self, beat: float) -> Vector:
        """On its lane; from bar 4 on the last floor of the tensor rung's tower, where there is a hall to stand in."""
        seat = self.lanes.seat(beat)
        u = ramp(beat, self.pulls - 0.25, 1.5, smooth)
        if u <= 0.0 or self.chart is None:
            return seat
        z = max(self.foot[2] + 0.2, self.tower.summit(beat) - CUBE) if self.tower else self.foot[2] + 0.2
        x, y, z = (a + (b - a) * u for a, b in zip(seat, (*self.foot[:2], z), strict=True))
        return x, y, z + 1.2 * 4.0 * u * (1.0 - u) * (1.0 - u)

    # ---- words ----------------------------------------------------------------------------------------------------------

    def say_the_rates(self) -> None:
        """The best fp32 rung so far; in its place, once its tower stands, the best tensor rung."""
        end = self.clock.beats + 9.0
        slow, landed = window(self.at(4, 3), self.tops - 0.25, 0.2), window(self.tops, end, 0.2)
        if self.second is None:
            words = f"tensor cores not measured on {self.data.device.name}"
            until = self.tops - 0.25 if self.library else end
            self.text(Text(words, LABEL, RIGHT, 262, "right", window(self.pulls + 0.25, until)))
            for line, told in self.library:  # on "climb"
                self.prop(line)
                self.text(*told)
            if self.chart:  # how many FMA instructions the one stands for, one column of them after the other
                pace = 0.25 if self.library else 1.0
                equal: Equal = self.prop(Equal(self.foot, self.shape, tuple(self.pulls + 2.0 + pace * k for k in range(8))))
                self.text(*equal.words(window(self.pulls + 1.75, until)))
            return
        self.text_later(slow, lambda: self.plain_rate(slow))
        self.text_later(landed, lambda: self.tensor_rate(landed))

    def plain_rate(self, shown: Callable[[float], float]) -> Sequence[Item]:
        reading = self.data.get(f"ladders.{FP32}.rungs.{self.plain.name}.rate") if self.plain else None
        if reading is None:
            return []
        rate = figure(reading, 1)
        return [
            Text("without tensor cores", FACT, LEFT, 262, "left", shown),
            Number(rate, NUMBER, LEFT, 344, "left", shown),
            Text(f"{data_type(self.data, FP32)}, best so far, {rate.source}", SMALL, LEFT, 392, "left", shown),
        ]

    def tensor_rate(self, shown: Callable[[float], float]) -> Sequence[Item]:
        owned = self.data.ladder(BF16)
        if self.peaks is None or owned is None:
            return []
        rate, size = figure(self.read(self.peaks.key("rate")), 1), owned.value.problem.split(" x ")[0]
        beside = ", height only" if self.foot[0] == BESIDE else ""  # its bytes are not of the level of this slope
        items: list[Item] = [
            Text("on tensor cores", FACT, LEFT, 262, "left", shown),
            Number(rate, NUMBER.coloured(COMPUTE), LEFT, 344, "left", shown),
            Text(f"{rate.source} · {data_type(self.data, BF16)} GEMM {size}³{beside}", SMALL, LEFT, 392, "left", shown),
        ]
        slowed = self.peaks.rung.throttle_reasons
        if slowed and self.data.has(self.peaks.key("clock")):  # its roof was taken at a higher one
            clock = figure(self.read(self.peaks.key("clock")), 0)
            words = ("at ", SMALL), (clock, SMALL.coloured(TEXT)), (f": {', '.join(slowed)}", SMALL)
            items.append(Sentence(words, LEFT, 434, opacity=shown))
        return items

    # ---- the picture ----------------------------------------------------------------------------------------------------

    def light(self, world: World, beat: float) -> None:
        u = ramp(beat, self.pulls - 0.5, 2.0)
        world.light = Light(focus=(self.foot[0] - 8.0 * u, 0.0), radius=6.0 + 9.0 * u, ambient=0.5 - 0.1 * u)
        far = ramp(beat, self.pulls - 1.25, 2.0, smooth)  # the hall is out of sight until the camera draws back to it
        world.fog = Fog(start=6.5 + 19.5 * far, end=10.5 + 59.5 * far)
        world.ground = Ground(spacing=1.5)

    def fly(self) -> Callable[[float], Camera]:
        top = self.tower.lot.top if self.tower else 5.0
        deep = self.tensor.cells[1] > 8  # a deeper floor of sums
        return flight(self.foot[0], top, deep, self.chart is not None, self.tower is not None, bool(self.library))
