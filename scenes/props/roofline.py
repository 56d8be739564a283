"""The roofline as architecture: a slope for a memory level, a beam for math, a tower for every rung at its true place.

Heights and places are logarithmic, as on every roofline chart: one unit of `Chart.x` or `Chart.z` is the same ratio everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from measure.dataset import Dataset
from measure.records import Rung
from measure.roofline_model import LEVEL_ROOF
from scenes.props.framing import Lens, View, above_the_words
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, STEEL, TEXT, mix
from scenes.stage.world import Boxes, Fog, Ground, Light, Ribbons, World

Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]  # left, top, right, bottom
HALF_WIDTH, HALF_DEPTH, HEIGHT = 9.0, 2.6, 7.4  # the hall, in world units
FLOOR = 0.16  # top of the board
TOWER = 0.56
LANES = (0.75, 1.75, -0.75, -1.75)  # y of the towers, of every second one mirrored
ROW = (0.8, 6.6)  # x of the first and last tower where none has an intensity
CUBE, RIDE = 0.52, 0.03  # the cube's edge, and how far it hovers above a tower, so that both keep their edges
RAIL_END = HALF_WIDTH + 1.2
BACK = HALF_DEPTH + 0.4  # y of the rails
EMBER = (0.36, 0.20, 0.03)  # compute amber, barely lit
LOWEST = 6.0  # the lowest rate that is shown over that of the floor: its tower is a few floors high
UNZOOMED = Lens(FLOOR, FLOOR + HEIGHT)
DIMMED = 0.78  # how much of the rails' light is gone while the roof is drawn in the planes of its towers


@dataclass(frozen=True, slots=True)
class Chart:
    """Scales of the hall, from the measurements: FLOP/B to x, TFLOP/s to z.

    `placed` is False where no intensity of the rungs is known: then towers stand in a row of their own, in order, and only
    their height means something.
    """

    bandwidth: float
    peak: float
    level: str
    placed: bool
    low_x: float
    high_x: float
    low_z: float
    high_z: float

    @classmethod
    def of(cls, data: Dataset) -> Chart | None:
        """The chart of the fp32 ladder; None where no math roof or no memory roof is known."""
        owned, extent, math_roof = data.ladder("gemm_fp32"), data.extent("gemm_fp32"), data.get("roofs.fp32")
        placed = extent is not None and extent.intensity is not None
        level = LEVEL_ROOF[owned.value.level] if owned and owned.value.level and placed else "dram"
        memory_roof = data.get(f"roofs.{level}")
        if extent is None or math_roof is None or memory_roof is None:
            return None
        peak, bandwidth = math_roof.quantity.value, memory_roof.quantity.value
        lowest = (
            min(peak / 100, extent.slowest) if extent.intensity is None else min(extent.intensity * bandwidth, extent.slowest)
        )
        low_x = lowest / LOWEST / bandwidth
        high_x = max(peak / bandwidth * 4.2, 1.3 * (extent.highest or 0.0))  # no tower stands beyond the beam's end
        return cls(bandwidth, peak, level, placed, low_x, high_x, low_x * bandwidth, extent.fastest * 1.05)

    @property
    def ridge(self) -> float:
        """FLOP/B at which the slope meets the beam."""
        return self.peak / self.bandwidth

    def x(self, flop_per_byte: float) -> float:
        share = math.log(flop_per_byte / self.low_x) / math.log(self.high_x / self.low_x)
        return -HALF_WIDTH + 2 * HALF_WIDTH * share

    def z(self, rate: float) -> float:
        share = math.log(max(rate, self.low_z) / self.low_z) / math.log(self.high_z / self.low_z)
        return FLOOR + HEIGHT * share

    def rate(self, z: float) -> float:
        """TFLOP/s at a height: the inverse of `z`."""
        return self.low_z * math.exp(math.log(self.high_z / self.low_z) * (z - FLOOR) / HEIGHT)

    def along_the_slope(self, share: float) -> tuple[float, float]:
        """x and z of a point of the slope: 0 is its foot, 1 the ridge."""
        mark = self.low_x * (self.ridge / self.low_x) ** share
        return self.x(mark), self.z(mark * self.bandwidth)

    def boxes(self, view: Callable[[float, Floats], Floats], beat: float) -> list[Box]:
        """The slope and the beam at a beat, in pieces, on the frame that `view` projects to: what labels keep clear of."""
        marks = np.array([*(self.along_the_slope(s) for s in np.linspace(0.0, 1.0, 15)), (HALF_WIDTH + 0.6, self.z(self.peak))])
        edges = np.array([[(x, y, z) for y in (-HALF_DEPTH, HALF_DEPTH)] for x, z in marks])
        corners = np.concatenate([edges[:-1], edges[1:]], axis=1)
        flat = view(beat, corners.reshape(-1, 3)).reshape(-1, 4, 3)[..., :2]
        return [(*low, *high) for low, high in zip(flat.min(1).tolist(), flat.max(1).tolist(), strict=True)]

    def limit(self, flop_per_byte: float) -> float:
        """The roof above an intensity, in TFLOP/s."""
        return min(self.peak, flop_per_byte * self.bandwidth)


@dataclass(slots=True)
class Hall:
    """The board, the slope and the beam.  `slope` and `beam` go from 0 (nothing) to 1 (built), `axis` is its opacity.

    With `across` at 1 the beam reaches over the whole hall: the roof of towers that have a height but no intensity. `lens`
    zooms its heights.  With `view` the slope's light goes out where it would run through the words below.

    At `aside` 1 its rails, which lie before and behind the towers, step back for the roof's line over them (`RoofLine`).
    """

    chart: Chart
    slope: Callable[[float], float]
    beam: Callable[[float], float]
    axis: Callable[[float], float]
    across: Callable[[float], float]
    lens: Lens = UNZOOMED
    view: View | None = None
    aside: Callable[[float], float] = lambda beat: 0.0

    def draw(self, world: World, beat: float) -> None:
        rail = 1.0 - DIMMED * self.aside(beat)
        self._board(world, self.axis(beat))
        self._rails(world, beat)
        self._slope(world, beat, self.slope(beat), rail)
        self._beam(world, beat, self.beam(beat), self.across(beat), rail)

    def _board(self, world: World, axis: float) -> None:
        origin = [(-HALF_WIDTH - 1.4, -4.4, 0.0)]
        size = [(2 * HALF_WIDTH + 2.8, 8.2, FLOOR)]
        colour = [PLATE]
        edge = [0.9]
        # Small parts along the front edge give the floor its scale.
        for k in range(24):
            x = -HALF_WIDTH - 0.9 + k * 0.84
            tall = 0.10 + 0.06 * (k * 7 % 4)
            origin.append((x, -4.15, FLOOR))
            size.append((0.46 if k % 3 else 0.62, 0.30, tall))
            colour.append(mix(STEEL, PLATE, 0.45))
            edge.append(0.6)
        world.add(Boxes.of(origin, size, colour, 0.0, edge))
        ticks = decades(self.chart.low_x, self.chart.high_x)
        a = [(self.chart.x(v), -3.3, FLOOR + 0.004) for v in ticks]
        b = [(self.chart.x(v), HALF_DEPTH, FLOOR + 0.004) for v in ticks]
        world.add(Ribbons.of(a, b, 0.03, mix(STEEL, TEXT, 0.35), 0.55 * axis))

    def _rails(self, world: World, beat: float) -> None:
        """Rates: a rail a decade along the back, under a zoom one for each ten or hundred of the last decade as well."""
        steps = np.linspace(-HALF_WIDTH, RAIL_END, 13)
        for rate, shown in graduations(self.chart, self.lens.magnify(beat)):
            z = self.lens(self.chart.z(rate), beat)
            if z > FLOOR and shown > 0.0:
                points = np.column_stack([steps, np.full(13, BACK), np.full(13, z)])
                world.add(Ribbons.of(points[:-1], points[1:], 0.022, mix(STEEL, TEXT, 0.35), 0.30 * shown))

    def _slope(self, world: World, beat: float, built: float, rail: float) -> None:
        chart, lens = self.chart, self.lens
        foot, top = np.array([chart.x(chart.low_x), FLOOR]), np.array([chart.x(chart.ridge), chart.z(chart.peak)])
        begin = max(0.0, (lens.lowest(beat) - FLOOR) / (top[1] - FLOOR))
        if built <= begin:
            return

        def points(shares: Floats, y: float | Floats) -> Floats:
            at = foot + shares[:, None] * (top - foot)
            heights = np.array([lens(float(z), beat) for z in at[:, 1]])
            return np.column_stack([at[:, 0], np.broadcast_to(y, len(at)), heights])

        rows = np.linspace(-HALF_DEPTH, HALF_DEPTH, 9)
        along, across = np.linspace(begin, built, 31), np.linspace(0.0, 1.0, 19)
        across = across[(across >= begin) & (across <= built)]
        lines = [points(along, y) for y in rows]
        a, b = np.concatenate([line[:-1] for line in lines]), np.concatenate([line[1:] for line in lines])
        outer = np.repeat(np.abs(rows) > HALF_DEPTH - 0.01, len(along) - 1)
        width, glow = np.where(outer, 0.03 + 0.10 * rail, 0.03), np.where(outer, 0.85 * rail, 0.10 * rail)
        alpha = np.where(outer, rail, 0.32 * (0.4 + 0.6 * rail))
        world.add(Ribbons.of(a, b, width, MEMORY, alpha * above_the_words(self.view, (a + b) / 2, beat), glow))
        ends = np.linspace(-HALF_DEPTH, HALF_DEPTH, 7)
        a, b = (np.concatenate([points(across, y) for y in part]) for part in (ends[:-1], ends[1:]))
        world.add(Ribbons.of(a, b, 0.03, MEMORY, 0.30 * above_the_words(self.view, (a + b) / 2, beat), 0.08))
        # Steel columns carry the slope at its back: none of them stands before a tower.
        held = points(np.array([s for s in (0.34, 0.67, 1.0) if begin < s <= built]), HALF_DEPTH)
        if len(held):
            tall = np.maximum(held[:, 2] - FLOOR - 0.12, 0.02)
            origin = np.column_stack([held[:, 0] - 0.05, held[:, 1] - 0.05, np.full(len(held), FLOOR)])
            size = np.column_stack([np.full((len(held), 2), 0.10), tall])
            world.add(Boxes.of(origin, size, mix(STEEL, TEXT, 0.10), 0.0, 0.9))

    def _beam(self, world: World, beat: float, built: float, across: float, rail: float) -> None:
        if built <= 0.0:
            return
        chart = self.chart
        ridge, z = chart.x(chart.ridge), self.lens(chart.z(chart.peak), beat)
        x0, x1 = ridge - (ridge - ROW[0] + 0.7) * across, ridge + (HALF_WIDTH + 0.6 - ridge) * built
        origin, size, glow = [], [], []
        for y in (-HALF_DEPTH, HALF_DEPTH):
            origin.append((x0, y - 0.12, z - 0.12))
            size.append((x1 - x0, 0.24, 0.24))
            glow.append(0.85)
        count = int((x1 - x0) / 0.8)
        for k in range(count + 1):
            origin.append((x0 + 0.1 + 0.8 * k, -HALF_DEPTH + 0.13, z - 0.05))
            size.append((0.09, 2 * HALF_DEPTH - 0.26, 0.10))
            glow.append(0.45)
        world.add(Boxes.of(origin, size, COMPUTE, rail * np.array(glow), 0.8, alpha=0.3 + 0.7 * rail))
        if built > 0.98:
            posts = [(x1 - 0.10, y - 0.05, FLOOR) for y in (-HALF_DEPTH, HALF_DEPTH)]
            world.add(Boxes.of(posts, (0.10, 0.10, z - FLOOR - 0.1), mix(STEEL, TEXT, 0.10), 0.0, 0.9))


@dataclass(frozen=True, slots=True)
class Lot:
    """Where a tower stands and how high it gets: to the rung's rate; `share` of the peak sets how bright its amber is."""

    x: float
    y: float
    top: float
    share: float
    hollow: bool = False


@dataclass(slots=True)
class Tower:
    """A rung as a tower of floors.  `rise` goes from 0 to 1; `survey` reads where it stands, not before it begins to rise.

    While it carries the cube, the cube is its last floor: the cube's top is the rate then.
    """

    survey: Callable[[], Lot]
    rise: Callable[[float], float]
    carries: Callable[[float], float] = lambda beat: 0.0
    light: Callable[[float], float] = lambda beat: 1.0
    lens: Lens = UNZOOMED
    _lot: Lot | None = field(default=None, init=False)

    @property
    def lot(self) -> Lot:
        """Its place and height."""
        if self._lot is None:
            self._lot = self.survey()
        return self._lot

    def top(self, beat: float) -> float:
        """Height of its rate at a beat, however far it has risen."""
        return self.lens(self.lot.top, beat)

    def summit(self, beat: float) -> float:
        """Height of its top at a beat."""
        rise = self.rise(beat)
        return FLOOR + (self.top(beat) - FLOOR) * rise if rise > 0.0 else FLOOR

    def draw(self, world: World, beat: float) -> None:
        height = self.summit(beat) - FLOOR - (CUBE + RIDE) * self.carries(beat)
        if height < 0.02:
            return
        lot, whole = self.lot, self.top(beat) - FLOOR
        pitch = (lot.top - FLOOR) / max(1, round((lot.top - FLOOR) / 0.40))
        full = max(1, math.ceil(whole / pitch - 1e-6))  # under a zoom more of them come up out of the floor
        origin, size, colour, glow = [], [], [], []
        for k in range(full):
            low = max(0.0, whole - (full - k) * pitch)
            if low >= height - 1e-6:
                break
            tall = min(whole - (full - 1 - k) * pitch, height) - low
            up = 1.0 - (full - 1 - k) * pitch / whole
            heat = (0.10 + 0.90 * up**1.4) * lot.share**0.28 * self.light(beat)
            origin.append((lot.x - TOWER / 2, lot.y - TOWER / 2, FLOOR + low + 0.02))
            size.append((TOWER, TOWER, max(0.02, tall - 0.045)))
            # Dark amber, not amber mixed with grey: a half-lit floor must not turn olive.
            colour.append(mix(mix(STEEL, EMBER, min(1.0, 2.2 * heat)), COMPUTE, heat))
            glow.append(0.75 * heat**1.8)
        alpha = 0.28 if lot.hollow else 1.0
        world.add(Boxes.of(origin, size, colour, 0.0 if lot.hollow else np.array(glow), 0.9, True, alpha))


def graduations(chart: Chart, magnify: float) -> list[tuple[float, float]]:
    """Rates of the vertical scale and how much of each is shown, 0..1: powers of ten, zoomed the last one's steps too."""
    tens = decades(chart.low_z, chart.high_z)
    steps = [k * tens[-1] for k in range(2, 10)]
    if chart.high_z < 2.5 * tens[-1]:  # the last decade has only begun
        steps = [2 * tens[-2], 5 * tens[-2], *steps]
    fine = min(1.0, max(0.0, (magnify - 1.6) / 1.4))
    return [(v, 1.0) for v in tens] + [(v, fine) for v in steps if v <= chart.high_z]


def decades(low: float, high: float) -> list[float]:
    """Powers of ten inside a range."""
    return [10.0**k for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def towers(
    data: Dataset, chart: Chart, rises: Mapping[str, Callable[[float], float]], lens: Lens = UNZOOMED
) -> dict[str, Tower]:
    """A tower for each rung in `rises`, at its intensity; else evenly spaced, in order.

    A rung without a rate (it failed its check, or was not run) is a hollow footprint: it has no height to show. Rungs of nearly
    the same intensity stand behind one another, so that each is seen.
    """
    owned = data.ladder("gemm_fp32")
    rungs: tuple[Rung, ...] = owned.value.rungs if owned else ()
    places: dict[int, tuple[float, float] | None] = {}

    def place(k: int) -> tuple[float, float] | None:
        """Where the k-th rung stands: the first of its lanes that no rung before it has taken there."""
        if k not in places:
            mark = data.intensity("gemm_fp32", rungs[k].name)
            x, side = (chart.x(mark.quantity.value) if mark else 0.0), (-1 if k % 2 else 1)
            before = [spot for j in range(k) if rungs[j].name in rises and (spot := place(j)) is not None]
            near = [spot for spot in before if abs(spot[0] - x) < TOWER + 0.1]
            free = [side * lane for lane in LANES if not any(abs(spot[1] - side * lane) < TOWER for spot in near)]
            places[k] = (x, (free or [side * LANES[0]])[0]) if mark else None
        return places[k]

    def survey(k: int, rung: Rung) -> Lot:
        spot = place(k)
        if spot is not None:
            x, y = spot
        else:
            x, y = ROW[0] + (ROW[1] - ROW[0]) * k / max(1, len(rungs) - 1), 0.0
        if rung.rate is None:
            return Lot(x, y, FLOOR + 0.14, 0.0, hollow=True)
        return Lot(x, y, chart.z(rung.rate.value), min(1.0, rung.rate.value / chart.peak))

    named = {rung.name: partial(survey, k, rung) for k, rung in enumerate(rungs) if rung.name in rises}
    return {name: Tower(lot, rises[name], lens=lens) for name, lot in named.items()}


def light_the_hall(world: World, beat: float) -> None:
    world.light = Light(focus=(1.0, 0.0), radius=13.0, ambient=0.40)
    world.fog = Fog(start=22.0, end=62.0)
    world.ground = Ground(spacing=1.5)
