"""Thread blocks on their way: they wait in a tray, fly to the SMs that really ran them, and stay for as long as recorded."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from measure.records import LaunchTrace
from scenes.props.chip import Chip
from scenes.props.floorplan import Floats, Rect
from scenes.stage.keys import leave, smooth
from scenes.stage.palette import COMPUTE, PLATE, STEEL, TEXT, mix
from scenes.stage.world import Boxes, Ribbons, World

TRAVEL, DROP = 0.7, 0.3  # beats from the tray to above the SM, and from there down onto it
HOVER, ARC = 0.75, 1.1  # world units above the tile before the drop, and of the arc above the straight line
COOLING = 1.5  # beats after which a tile that has finished has e^-1 of its warmth left
SETTLE = 0.12  # beats in which a tile follows a block that came or went
SPREAD, AISLE = 1.4, 0.7  # pitch of the tray over the edge of a block; between its racks, world units
CALL, STAYS = 0.8, 0.35  # beats in which light runs over the racks as they are called, and how much of it stays
SHELF = 0.14  # thickness of what the tray's blocks lie on
WAITING, FLYING = mix(STEEL, TEXT, 0.12), mix(STEEL, TEXT, 0.55)


class FlightError(ValueError):
    """A recording that does not fit the chip it is drawn on."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Recorded time to musical time by one factor: `span_ns` nanoseconds fill the beats from `start` to `end`."""

    start: float
    end: float
    span_ns: float

    def beat(self, ns: Floats | float) -> Floats:
        """The beat of a moment of the recording."""
        return np.asarray(self.start + np.asarray(ns, float) * (self.end - self.start) / self.span_ns)

    def ns(self, beat: float) -> float:
        """The moment of the recording that a beat shows, held at its ends."""
        return min(max((beat - self.start) / (self.end - self.start), 0.0), 1.0) * self.span_ns


def seats(trace: LaunchTrace) -> tuple[NDArray[np.int64], int]:
    """A place on its SM for every block, shared by no two that ran at once: (B,) seat numbers, and how many seats an SM needs.

    Blocks take the lowest free seat in order of their recorded start; a block that ends when another starts makes way for it.
    """
    order = sorted(range(trace.blocks), key=lambda b: (trace.start_ns[b], b))
    found = np.zeros(trace.blocks, np.int64)
    free: dict[int, list[int]] = {}
    busy: dict[int, list[tuple[int, int]]] = {}
    opened: dict[int, int] = {}
    for b in order:
        sm, now = trace.sm[b], trace.start_ns[b]
        running, empty = busy.setdefault(sm, []), free.setdefault(sm, [])
        while running and running[0][0] <= now:
            heapq.heappush(empty, heapq.heappop(running)[1])
        if empty:
            seat = heapq.heappop(empty)
        else:
            seat = opened.get(sm, 0)
            opened[sm] = seat + 1
        found[b] = seat
        heapq.heappush(running, (trace.end_ns[b], seat))
    return found, max(opened.values(), default=1)


def seat_grid(number: int, wide: float, deep: float) -> tuple[Floats, float]:
    """Centres (number, 2) of seats on a tile of wide x deep from its least corner, and the edge of a cube that fits one."""
    columns = min(range(1, number + 1), key=lambda c: -min(wide / c, deep / math.ceil(number / c)))
    rows = math.ceil(number / columns)
    k = np.arange(number)
    centres = np.column_stack([(k % columns + 0.5) * wide / columns, (k // columns + 0.5) * deep / rows])
    return centres, min(0.22, 0.78 * min(wide / columns, deep / rows))


def sites(trace: LaunchTrace, count: int) -> NDArray[np.int64]:
    """(B,) which of `count` tiles each block runs on: its SM number, or that number's rank where the numbers have gaps.

    Numbers need not be contiguous (PTX ISA, special register %smid).  Raises FlightError for more SMs than tiles.
    """
    numbers = np.array(trace.sm, np.int64)
    if numbers.max() < count:
        return numbers
    known = np.unique(numbers)
    if len(known) > count:
        raise FlightError(f"the launch trace names {len(known)} SMs, but the chip that it is drawn on has {count}")
    return np.searchsorted(known, numbers)


@dataclass(frozen=True, slots=True)
class Tray:
    """A shelf of `count` waiting blocks, the front row first and in it the top layer first: the order in which they leave.

    They lie in racks of `wave` blocks side by side, the last one as full as what is left; in one rack where `wave` is 0.
    """

    rect: Rect
    z: float
    count: int
    cube: float
    wave: int = 0

    @property
    def per_rack(self) -> int:
        return min(self.wave, self.count) or self.count

    def rack_of(self, block: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which rack blocks lie in."""
        return np.asarray(block // self.per_rack)

    def racks(self) -> list[Rect]:
        """Ground plans of the racks, from the left."""
        number = math.ceil(self.count / self.per_rack)
        wide = (self.rect.x1 - self.rect.x0 - AISLE * (number - 1)) / number
        lefts = [self.rect.x0 + k * (wide + AISLE) for k in range(number)]
        return [Rect(x, self.rect.y0, x + wide, self.rect.y1) for x in lefts]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Columns, layers and rows of a full rack."""
        pitch, rect, count = self.cube * SPREAD, self.racks()[0], self.per_rack
        columns = max(1, min(count, int((rect.x1 - rect.x0) / pitch + 1e-9)))
        rows = max(1, min(math.ceil(count / columns), int((rect.y1 - rect.y0) / pitch)))
        layers = math.ceil(count / (columns * rows))
        return columns, layers, math.ceil(count / (columns * layers))

    def places(self) -> Floats:
        """(count, 3) centres of the blocks' bases."""
        columns, layers, _ = self.shape
        pitch, block = self.cube * SPREAD, np.arange(self.count)
        middle = np.array([(rect.x0 + rect.x1) / 2 for rect in self.racks()])[self.rack_of(block)]
        k = block % self.per_rack
        x, layer, y = k % columns, (k // columns) % layers, k // (columns * layers)
        across = middle + (x - (columns - 1) / 2) * pitch
        return np.column_stack([across, self.rect.y0 + (y + 0.5) * pitch, self.z + (layers - 1 - layer) * pitch])

    def on_top(self, block: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether blocks lie in the top layer, where they are seen from the start."""
        columns, layers, _ = self.shape
        return np.asarray(block % self.per_rack // columns % layers == 0)

    def shelves(self) -> list[Rect]:
        """Ground plans of what the racks lie on."""
        columns, _, rows = self.shape
        wide, deep, y = columns * self.cube * SPREAD + 0.3, rows * self.cube * SPREAD + 0.3, self.rect.y0 - 0.15
        return [Rect((r.x0 + r.x1 - wide) / 2, y, (r.x0 + r.x1 + wide) / 2, y + deep) for r in self.racks()]

    def draw(self, world: World, beat: float) -> None:
        for shelf in self.shelves():
            size = (shelf.x1 - shelf.x0, shelf.y1 - shelf.y0, SHELF)
            world.add(Boxes.of((shelf.x0, shelf.y0, self.z - SHELF), size, mix(PLATE, STEEL, 0.6), edge=0.8))


@dataclass(frozen=True, slots=True)
class Rack:
    """Blocks that wait in a tray and go nowhere: how a launch looks that nobody recorded.  `skip` is left out.

    A ripple leaves the place of the one left out on each beat: they are ready, and no more is known.
    """

    tray: Tray
    skip: int | None = None

    def draw(self, world: World, beat: float) -> None:
        places, phase = self.tray.places(), beat - np.floor(beat)
        far = np.hypot(*(places[:, :2] - places[self.skip or 0, :2]).T)
        places[:, 2] += 0.8 * self.tray.cube * np.exp(-((far - 7.0 * phase + 0.8) ** 2)) * (1.0 - phase)
        if self.skip is not None:
            places = np.delete(places, self.skip, axis=0)
        half = self.tray.cube / 2
        world.add(Boxes.of(places - (half, half, 0.0), (self.tray.cube,) * 3, WAITING, edge=0.6))


@dataclass(slots=True)
class Flight:
    """The blocks of one recorded launch over a chip.

    `launch` is the beat on which the first leave the tray; blocks that start with the recording leave one after the other until
    they all wait above their SM, and each lands on the beat of its recorded start.  From `called_at` on light
    runs over those that wait.
    """

    trace: LaunchTrace
    chip: Chip
    tray: Tray
    stretch: Stretch
    launch: float
    hero: int | None = None
    called_at: float | None = None
    places: Floats = field(init=False)
    seats: NDArray[np.int64] = field(init=False)
    capacity: int = field(init=False)
    cube: float = field(init=False)
    arrive: Floats = field(init=False)
    gone: Floats = field(init=False)
    depart: Floats = field(init=False)
    _sm: NDArray[np.int64] = field(init=False)
    _spots: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.places = self.tray.places()
        self.seats, self.capacity = seats(self.trace)
        self._sm = sites(self.trace, len(self.chip.plan.sms))
        wide, deep = self.chip.tile
        centres, self.cube = seat_grid(self.capacity, wide, deep)
        self._spots = self.chip.plan.sms[self._sm] + centres[self.seats]
        self.arrive = self.stretch.beat(np.array(self.trace.start_ns, float))
        self.gone = self.stretch.beat(np.array(self.trace.end_ns, float))
        self.depart = self.arrive - DROP - TRAVEL
        order = np.lexsort((np.arange(self.trace.blocks), self.arrive))
        first = order[self.depart[order] < self.stretch.start - DROP - TRAVEL + 0.25]
        room = max(0.0, self.stretch.start - DROP - TRAVEL - self.launch)
        self.depart[first] = np.minimum(self.depart[first], self.launch + room * np.arange(len(first)) / max(1, len(first) - 1))

    def work(self, beat: float) -> Floats:
        """Share 0..1 of each SM's seats that is taken, (N,), easing over SETTLE after each coming and going."""
        here = np.clip((beat - self.arrive) / SETTLE, 0.0, 1.0) - np.clip((beat - self.gone) / SETTLE, 0.0, 1.0)
        return np.bincount(self._sm, weights=here, minlength=len(self.chip.plan.sms)) / self.capacity

    def warmth(self, beat: float) -> Floats:
        """How lately each SM's last block has left it, (N,): 1 just now, then cooling; 0 while it has work, or had none."""
        left = np.full(len(self.chip.plan.sms), -np.inf)
        np.maximum.at(left, self._sm, self.gone)
        since = beat - left
        return np.where(since > 0.0, np.exp(-np.maximum(since, 0.0) / COOLING), 0.0)

    def called(self, beat: float) -> Floats:
        """How bright blocks are that wait, (B,) 0..1: once called, light runs over them from the left, and some of it stays."""
        if self.called_at is None:
            return np.zeros(self.trace.blocks)
        x = self.places[:, 0]
        since = beat - self.called_at - CALL * (x - x.min()) / max(float(np.ptp(x)), 1e-6)
        return np.asarray(np.clip(since / 0.15, 0.0, 1.0) * (STAYS + (1.0 - STAYS) * np.exp(-np.maximum(since, 0.0) / 0.4)))

    def last_near(self, x: float, y: float) -> int:
        """A block to follow: of those that end late and that nothing follows in their seat, the nearest to a point of the die.

        Where there is a choice it waits in the top layer, so that it is seen from the start.
        """
        last = {(self._sm[b], self.seats[b]): b for b in np.argsort(self.arrive, kind="stable")}
        found = np.array(sorted(last.values()))
        late = self.gone >= np.quantile(self.gone[found], 0.6)
        for wish in (late, self.tray.on_top(np.arange(len(late)))):
            found = found[wish[found]] if wish[found].any() else found
        return int(found[np.argmin(np.hypot(*(self._spots[found] - (x, y)).T))])

    def position(self, beat: float, work: Floats | None = None) -> Floats:
        """(B, 3) centres of the blocks' bases."""
        top = self.chip.floor + self.chip.heights(self.work(beat) if work is None else work)[self._sm]
        go = _eased(smooth, (beat - self.depart) / TRAVEL)
        fall = _eased(leave, (beat - self.arrive + DROP) / DROP)
        flat = self.places[:, :2] * (1.0 - go[:, None]) + self._spots * go[:, None]
        above = self.chip.floor + HOVER
        height = self.places[:, 2] * (1.0 - go) + above * go + 4.0 * ARC * go * (1.0 - go)
        return np.column_stack([flat, np.where(fall > 0.0, above + (top - above) * fall, height)])

    def draw(self, world: World, beat: float) -> None:
        work = self.work(beat)
        position = self.position(beat, work)
        running = (beat >= self.arrive) & (beat < self.gone)
        flying = (beat >= self.depart) & (beat < self.arrive)
        shown = beat < self.gone + SETTLE
        if self.hero is not None:
            shown[self.hero] = False
        # a block that has ended shrinks into its tile
        edge = self.cube * (1.0 - np.clip((beat - self.gone) / SETTLE, 0.0, 1.0) * 0.95)
        waiting = np.array(WAITING) + (np.array(FLYING) - WAITING) * self.called(beat)[:, None]
        colour = np.where(flying[:, None], FLYING, np.where(running[:, None] | (beat >= self.gone)[:, None], COMPUTE, waiting))
        size = np.repeat(edge[:, None], 3, axis=1)
        origin = position - size * (0.5, 0.5, 0.0)
        emission = np.where(running, 0.42, 0.0)
        world.add(Boxes.of(origin[shown], size[shown], colour[shown], emission[shown], edge=0.6))
        self._draw_trails(world, beat, position, flying & shown)

    def _draw_trails(self, world: World, beat: float, position: Floats, flying: NDArray[np.bool_]) -> None:
        """A short streak behind everything that moves fast."""
        before = self.position(beat - 0.10)
        middle = np.array([0.0, 0.0, self.cube / 2])
        fast = flying & (np.linalg.norm(position - before, axis=1) > 1.5 * self.cube)
        if fast.any():
            world.add(Ribbons.of((before + middle)[fast], (position + middle)[fast], self.cube * 0.25, FLYING, alpha=0.18))


def _eased(ease: Callable[[float], float], u: Floats) -> Floats:
    """An ease applied to an array held within 0..1; the eases are polynomials, so they take arrays."""
    held = np.clip(u, 0.0, 1.0)
    return np.asarray(ease(held))  # type: ignore[arg-type]
