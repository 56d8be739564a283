"""Tensor cores: one instruction multiplies a whole tile; and the hall gets a second, higher beam."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar

from measure.dataset import Reading
from measure.records import Rung
from scenes.props.cube import Cube, Vector
from scenes.props.instruction import FMA_FLOP, LANES, best_rung, data_type, instruction_of
from scenes.props.mma import LANE, Card, Tensor, WarpLanes, labels
from scenes.props.roofline import CUBE, FLOOR, Chart, Hall, Lot, Tower, towers
from scenes.props.seats import Hall as Seats
from scenes.props.second_roof import BESIDE, SecondRoof
from scenes.props.signs import Signs
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Path, Track, arrive, leave, ramp, smooth, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import COMPUTE
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, FACT, LABEL, NUMBER, SMALL, Align
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
        owned = self.data.ladder(BF16)
        self.bf16 = owned.value if owned else None
        self.fastest = best_rung(self.data, BF16)
        self.shape = instruction_of(self.fastest)
        self.lands, self.meets, self.single = self.at(1, 3), self.at(2, 3), self.at(3)
        self.pulls, self.tops = self.at(4), self.at(5, 3)
        self.foot = (self.place(), 0.0, FLOOR if self.chart else 0.0)
        self.prop(Scenery(self.light))
        self.hall()

        # Bars 1 and 2: the instruction falls on all lanes on "instruction"; on "time" its two tiles meet.
        apart = Track(1.0).to(0.82, self.at(2), 1.5, smooth).to(0.0, self.meets, self.meets - self.at(2), leave)
        gone = Track(1.0).to(0.0, self.pulls, 0.8)
        self.tensor: Tensor = self.prop(Tensor(self.shape, self.foot, self.meets, apart, gone, self.shrink()))
        lane, fires = Seats.of(self.data).thread % LANES, (self.lands, self.meets, self.single)
        self.lanes: WarpLanes = self.prop(WarpLanes(self.foot, self.shape.warps, lane, fires, self.single, gone))
        self.order(f"{self.shape.name}  {self.shape.shape}", self.lands)
        early, late = window(self.at(1) + 0.5, self.meets - 0.25), window(self.meets + 1.25, self.pulls - 0.5)
        self.text(*labels(self.tensor, early, late))
        self.count_the_math()

        # Bar 3: an FMA of the same warp beside it; bars 4 to 6: the second beam, and how near to it its best rung comes.
        self.order("fma  fp32", self.single, 0.5)
        size = Track(LANE).to(CUBE, self.pulls + 1.0, 1.0)
        self.prop(Cube(self.thread, size=size, emission=0.8))
        self.say_the_rates()
        self.camera_at = self.fly()
        self.finish()

    # ---- what the measurements say --------------------------------------------------------------------------------------

    @cached_property
    def plain(self) -> Rung | None:
        """The fastest verified fp32 rung; asked from bar 4 on, so that no frame before it depends on that ladder's rates."""
        return best_rung(self.data, FP32)

    def roof(self) -> str:
        """The roof of the units that the fastest tensor rung computes on."""
        return (self.fastest and self.fastest.math_roof) or (self.bf16.math_roof if self.bf16 else "bf16_mma")

    def place(self) -> float:
        """x of the tensor rung's tower: at its intensity where that is of the hall's own level, beside the hall otherwise."""
        if self.chart is None:
            return 0.0
        mark = self.data.intensity(BF16, self.fastest.name) if self.fastest else None
        same = self.bf16 is not None and self.bf16.level == self.chart.level
        return max(self.chart.x(mark.quantity.value), BESIDE - 1.5) if mark and self.chart.placed and same else BESIDE

    # ---- the hall -------------------------------------------------------------------------------------------------------

    def hall(self) -> None:
        """The fp32 hall as the roofs left it, the tower of its best rung, and what is built on bar 4: beam and tower."""
        self.second: SecondRoof | None = None
        self.tower: Tower | None = None
        if self.chart is None:
            return
        chart, placed = self.chart, float(self.chart.placed)
        self.prop(Hall(chart, Track(placed), Track(1.0), Track(0.0), Track(1.0 - placed)))
        before = self.rungs_before()
        self.prop(*towers(self.data, chart, dict.fromkeys(before, lambda beat: 1.0)).values())
        grown = Track(0.0).to(1.0, self.at(4, 2), 1.0, arrive)

        def risen(beat: float) -> float:
            return grown(beat) if grown(beat) > 0.0 and self.plain and self.plain.name not in before else 0.0

        def survey() -> Lot:
            name = self.plain.name if self.plain else ""
            return towers(self.data, chart, {name: grown})[name].lot

        self.prop(Tower(survey, risen))
        roof, owned = self.data.get(f"roofs.{self.roof()}"), self.data.roof(self.roof())
        if roof is None or owned is None or self.fastest is None or self.fastest.rate is None:
            return
        slope, beam = Track(0.0).to(1.0, self.at(4, 3), 1.5), Track(0.0).to(1.0, self.at(5), 1.5, arrive)
        self.second = self.prop(SecondRoof(chart, roof.quantity.value, slope, beam))
        rate = self.fastest.rate.value
        lot = Lot(self.foot[0], 0.0, chart.z(rate), min(1.0, rate / roof.quantity.value))
        rise = Track(0.0).to(1.0, self.tops, 3.4, arrive)  # no overshoot: nothing passes its roof
        self.tower = self.prop(Tower(lambda: lot, rise, lambda beat: 1.0))
        shown = window(self.at(4, 3), self.clock.beats - 0.75)
        self.text(*self.second.numerals(shown))
        issued = re.search(r"\((\S+)\)", owned.value.title)  # the instruction that the roof was measured with
        higher = f"{data_type(self.data, BF16)} {issued[1] if issued else 'tensor cores'}"
        self.prop(self.second.names(shown, data_type(self.data, FP32), higher, -26.0))

    def shrink(self) -> Track:
        """The tile becomes the foot of its tower; where there is none it stays."""
        return Track(1.0).to(0.22, self.pulls + 0.75, 0.9) if self.tower else Track(1.0)

    def thread(self, beat: float) -> Vector:
        """On its lane; from bar 4 on the last floor of the tensor rung's tower."""
        seat = self.lanes.seat(beat)
        u = ramp(beat, self.pulls - 0.25, 1.5, smooth)
        if u <= 0.0:
            return seat
        z = max(self.foot[2] + 0.2, self.tower.summit(beat) - CUBE) if self.tower else self.foot[2] + 0.2
        x, y, z = (a + (b - a) * u for a, b in zip(seat, (*self.foot[:2], z), strict=True))
        return x, y, z + 1.2 * 4.0 * u * (1.0 - u) * (1.0 - u)

    # ---- words ----------------------------------------------------------------------------------------------------------

    def order(self, words: str, beat: float, ahead: float = 1.2) -> None:
        """An instruction that falls on all lanes on a beat, with its name on it."""
        card: Card = self.prop(Card(self.lanes, beat, ahead))

        def face(now: float) -> TextPlane:
            return TextPlane.standing(words, CODE, card.words(now), 0.15, 0.0, "centre")

        self.prop(Signs([(face, card.shown)]))

    def count_the_math(self) -> None:
        """What one instruction does, counted as its products fall; and what an FMA of the warp does."""
        shape = self.shape
        shown, beside = window(self.at(1) + 0.25, self.pulls - 0.25), window(self.single, self.pulls - 0.25, 0.25)
        who = "one warp" if shape.warps == 1 else f"{shape.warps} warps"
        drawn = max(shape.m, shape.n) > max(self.tensor.cells)

        def counted(beat: float) -> str:
            return f"{round(shape.flop * ramp(beat, self.meets, 1.6, arrive)):,} FLOP".replace(",", " ")

        done = window(self.meets - 0.2, self.pulls - 0.25, 0.3)
        cells = " × ".join(str(a // b) for a, b in zip((shape.m, shape.n), self.tensor.cells[:2], strict=True))
        lines: list[tuple[str, float, float, Align, Callable[[float], float]]] = [
            (f"{shape.name} {shape.shape}", LEFT, 262, "left", shown),
            (f"{shape.lanes} lanes of {who}", LEFT, 308, "left", shown),
            ("issue it together", LEFT, 350, "left", shown),
            (f"a cell: {cells} values" if drawn else "", LEFT, 392, "left", shown),
            ("in one instruction", RIGHT, 366, "right", done),
            ("in one fp32 FMA of a warp", RIGHT, 492, "right", beside),
        ]
        for k, (words, x, y, align, seen) in enumerate(lines):
            self.text(Text(words, FACT if k == 0 else SMALL, x, y, align, seen))
        self.text(Text(counted, NUMBER.sized(64).coloured(COMPUTE), RIGHT, 318, "right", done, kind="clock"))
        self.text(Text(f"{FMA_FLOP} FLOP", NUMBER.sized(64), RIGHT, 444, "right", beside))

    def say_the_rates(self) -> None:
        """The best fp32 rung, the best tensor rung as its tower rises, and how near that is to its own roof."""
        end = self.clock.beats + 9.0
        slow, fast, near = window(self.at(4, 2), self.at(5, 4)), window(self.at(4, 4), end), window(self.at(6), end)
        self.text_later(slow, lambda: self.beside(self.plain_rate(), f"best {data_type(self.data, FP32)} rung", slow))
        if self.second is None or self.fastest is None:
            words = f"tensor cores not measured on {self.data.device.name}"
            self.text(Text(words, LABEL, LEFT, 262, opacity=window(self.pulls + 0.25, end)))
            return
        best = self.fastest.name
        self.text_later(fast, lambda: self.tensor_rate(fast))
        self.text_later(near, lambda: self.beside(self.data.achieved(BF16, best), "of its own roof", near))

    def plain_rate(self) -> Reading | None:
        return self.data.get(f"ladders.{FP32}.rungs.{self.plain.name}.rate") if self.plain else None

    def beside(self, reading: Reading | None, words: str, shown: Callable[[float], float]) -> Sequence[Item]:
        """The smaller of two figures."""
        if reading is None or (not reading.quantity.unit and reading.quantity.value > 1.0):
            return []  # a rung over this roof has another instruction than the roof was measured with
        rate = figure(reading, 1 if reading.quantity.unit else 2)
        return [
            Number(rate, NUMBER.sized(58), LEFT, 476, "left", shown),
            Text(f"{words}, {rate.source}", SMALL, LEFT, 522, "left", shown),
        ]

    def tensor_rate(self, shown: Callable[[float], float]) -> Sequence[Item]:
        assert self.fastest is not None and self.tower is not None and self.chart is not None and self.bf16 is not None
        reading, chart, tower = self.read(f"ladders.{BF16}.rungs.{self.fastest.name}.rate"), self.chart, self.tower
        rate, size = figure(reading, 1), self.bf16.problem.split(" x ")[0]

        def climbed(beat: float) -> float:
            return 1.0 if beat >= self.tops else min(0.999, chart.rate(tower.summit(beat)) / reading.quantity.value)

        return [
            Text("on tensor cores", FACT, LEFT, 262, "left", shown),
            Counter(rate, climbed, NUMBER.coloured(COMPUTE), LEFT, 344, "left", shown),
            Text(f"{rate.source} · {data_type(self.data, BF16)} GEMM {size}³", SMALL, LEFT, 392, "left", shown),
        ]

    # ---- the picture ----------------------------------------------------------------------------------------------------

    def light(self, world: World, beat: float) -> None:
        u = ramp(beat, self.pulls - 0.5, 2.0)
        world.light = Light(focus=(self.foot[0] - 8.0 * u, 0.0), radius=6.0 + 9.0 * u, ambient=0.5 - 0.1 * u)
        world.fog = Fog(start=26.0, end=70.0)
        world.ground = Ground(spacing=1.5)

    def fly(self) -> Callable[[float], Camera]:
        """Close to the warp and its tiles; on bar 4 back until the whole hall stands under both beams; up along the tower."""
        x = self.foot[0]
        top = self.tower.lot.top if self.tower else 5.0
        far = 1.0 if self.tensor.cells[1] <= 8 else 1.14  # a deeper floor of sums
        keys: list[tuple[float, tuple[float, ...]]] = [
            (0, (x - 1.2, -0.5, 0.66, 7.4 * far, 6, 9)),
            (3.5, (x - 1.15, -0.5, 0.66, 6.8 * far, 14, 11)),
            (6, (x + 0.15, -0.5, 0.62, 6.0 * far, 24, 14)),
            (8, (x + 0.35, -0.6, 0.58, 5.8 * far, 28, 16)),
            (11.5, (x + 0.4, -0.6, 0.56, 5.6 * far, 18, 14)),
            (14, (x - 6.4, 0.0, 6.4, 26.0, -14, 7)),
            (18, (x - 6.2, 0.0, 6.5, 26.0, -26, 5)),
            (22, (x - 5.2, 0.0, 7.1, 24.0, -34, 4)),
            (24, (x - 0.5, 0.0, top - 0.4, 9.0, -38, 3)),
        ]
        path = Path(keys)

        def camera(beat: float) -> Camera:
            tx, ty, tz, distance, azimuth, elevation = path(beat)
            return Camera.orbit((tx, ty, tz), distance, azimuth, elevation, 40.0)

        return camera
