"""How far memory is, in cycles: its levels as arcs about the thread, each as far out as half of its latency.

A request runs at one speed for all of them, so that it is there after half of its level's cycles and home after all of them.
The place of a level is its latency, not its place on the chip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Vector
from scenes.stage.keys import linear, ramp
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.trail import Trail
from scenes.stage.world import Boxes, Ribbons, Sprites, World

Floats = NDArray[np.float64]
FARTHEST = 30.0  # world units from the thread to the slowest level
# Where levels stand that nobody measured: in order, no more; that L2 has a far half is itself found by measuring.
OUTLINED = {"shared": 2.0, "l1": 3.2, "l2": 13.0, "dram": FARTHEST}
HEIGHT = 0.3  # over the floor, of a request on its way
ON_SM = ("shared", "l1")


@dataclass(frozen=True, slots=True)
class Level:
    """A level of memory as it is built: `slabs` one on another, each `tall`, `across` x `deep`, from one bearing to another.

    Bearings are degrees to the right of straight ahead; `gate` is the one at which its request arrives.
    """

    name: str
    bearings: tuple[float, float]
    gate: float
    count: int
    slabs: int
    across: float
    deep: float
    tall: float


LEVELS = (
    Level("shared", (-74.0, -20.0), -45.0, 5, 1, 0.22, 0.20, 0.16),
    Level("l1", (20.0, 70.0), 42.0, 6, 1, 0.26, 0.24, 0.22),
    Level("l2", (-52.0, -9.0), -26.0, 7, 2, 1.3, 1.0, 0.55),
    Level("l2_far", (9.0, 54.0), 24.0, 10, 2, 1.8, 1.4, 0.62),
    Level("dram", (-56.0, 56.0), 0.0, 17, 3, 2.6, 2.2, 0.66),
)


def point(bearing: float, far: float, z: float = 0.0) -> Vector:
    """A point at a bearing (degrees, 0 straight ahead, growing to the right) and a distance from the thread."""
    a = np.radians(bearing)
    return float(far * np.sin(a)), float(far * np.cos(a)), z


@dataclass(frozen=True, slots=True)
class Scale:
    """One scale for all: `cycles` of each measured level by name; `a_beat` cycles a beat, `a_unit` cycles a unit of way."""

    cycles: Mapping[str, float]
    a_beat: float
    a_unit: float

    @classmethod
    def of(cls, cycles: Mapping[str, float], beats: float) -> Scale:
        """The slowest level takes `beats` and stands `FARTHEST` away."""
        slowest = max(cycles.values())
        return cls(cycles, slowest / beats, slowest / (2.0 * FARTHEST))

    def beats(self, level: str) -> float:
        """How long a request to a level takes on screen, there and back."""
        return self.cycles[level] / self.a_beat

    def far(self, level: str) -> float:
        """How far away a level stands: half of its cycles, as a request goes there and comes back."""
        return self.cycles[level] / (2.0 * self.a_unit)


@dataclass(slots=True)
class Reach:
    """The arcs.  Without a scale nothing was measured: outlines in order.  `busy(name, beat)` is 1 while a level is asked.

    `up(name, beat)` 0..1 is how far a level stands out of the floor.
    """

    scale: Scale | None
    busy: Callable[[str, float], float]
    up: Callable[[str, float], float] = lambda name, beat: 1.0

    def far(self, level: Level) -> float | None:
        """Distance of a level; None for one that is not measured while others are."""
        if self.scale is None:
            return OUTLINED.get(level.name)
        return self.scale.far(level.name) if level.name in self.scale.cycles else None

    def stacks(self, level: Level, far: float) -> Floats:
        """Middles (x, y) of a level's stacks, (count, 2): their near sides stand on its arc."""
        bearing = np.radians(np.linspace(*level.bearings, level.count))
        return (far + level.deep / 2) * np.column_stack([np.sin(bearing), np.cos(bearing)])

    def draw(self, world: World, beat: float) -> None:
        for level in LEVELS:
            far, up = self.far(level), self.up(level.name, beat)
            if far is not None and up > 0.01:
                self._arc(world, level, far, beat, up)
                self._stacks(world, level, far, beat, up)

    def _arc(self, world: World, level: Level, far: float, beat: float, up: float) -> None:
        bearing = np.radians(np.linspace(-72.0, 72.0, 49))
        ring = np.column_stack([far * np.sin(bearing), far * np.cos(bearing), np.full(len(bearing), 0.02)])
        lit = self.busy(level.name, beat)
        wide = 0.03 + 0.003 * far
        world.add(Ribbons.of(ring[:-1], ring[1:], wide, mix(QUIET, MEMORY, 0.5), up * (0.22 + 0.5 * lit), 0.4 * lit, True))

    def _stacks(self, world: World, level: Level, far: float, beat: float, up: float) -> None:
        middle = self.stacks(level, far)
        if self.scale is None:
            self._outlines(world, level, middle, up)
            return
        lit = self.busy(level.name, beat)
        gate = np.radians(level.gate)
        near = np.exp(-(((np.arctan2(middle[:, 0], middle[:, 1]) - gate) / np.radians(9.0)) ** 2))
        low = np.tile(np.arange(level.slabs) * level.tall * up, level.count)
        x, y = np.repeat(middle, level.slabs, axis=0).T
        origin = np.column_stack([x - level.across / 2, y - level.deep / 2, low])
        glow = 0.07 + lit * (0.10 + 0.5 * np.repeat(near, level.slabs))
        colour = np.array(PLATE) + (np.array(MEMORY) - PLATE) * (0.33 + 0.6 * glow)[:, None]
        world.add(Boxes.of(origin, (level.across, level.deep, 0.84 * level.tall * up), colour, glow, edge=0.9))

    def _outlines(self, world: World, level: Level, middle: Floats, up: float) -> None:
        tall = level.slabs * level.tall * up
        corner = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * (level.across / 2, level.deep / 2)
        foot = np.concatenate([(middle[:, None, :] + corner).reshape(-1, 2), np.full((4 * level.count, 1), 0.02)], axis=1)
        lid = foot + np.array([0.0, 0.0, tall])
        turned = lid.reshape(-1, 4, 3)[:, [1, 2, 3, 0]].reshape(-1, 3)
        world.add(Ribbons.of(np.concatenate([foot, lid]), np.concatenate([lid, turned]), 0.05, QUIET, 0.5))


@dataclass(slots=True)
class Trip:
    """A request that leaves the thread at beat `leaves` for a level `far` away and is home `beats` later, at even speed."""

    level: Level
    far: float
    leaves: float
    beats: float

    @property
    def home(self) -> float:
        """The beat on which its data is there."""
        return self.leaves + self.beats

    @property
    def turns(self) -> float:
        """The beat on which it reaches its level."""
        return self.leaves + self.beats / 2

    def passed(self, beat: float) -> float:
        """Share of its time that has passed, 0..1."""
        return ramp(beat, self.leaves, self.beats, linear)

    def under_way(self, beat: float) -> bool:
        return self.leaves < beat < self.home

    def place(self, beat: float) -> Vector:
        """Where it is."""
        u = self.passed(beat)
        return point(self.level.gate, self.far * (1.0 - abs(2.0 * u - 1.0)), HEIGHT)

    def busy(self, beat: float) -> float:
        """How much its level is lit: from its departure, most while it is there, until it is home."""
        on = ramp(beat, self.leaves, 0.1) * (1.0 - ramp(beat, self.home, 0.6))
        return on * (0.45 + 0.55 * float(np.exp(-(((beat - self.turns) / (0.08 + 0.12 * self.beats)) ** 2))))

    def draw(self, world: World, beat: float) -> None:
        """Out, a small white request; back, a large cyan word of data; behind both the way that they came."""
        if not self.leaves - 0.05 < beat < self.home + 0.6:
            return
        shown = 1.0 - ramp(beat, self.home, 0.6)
        a, b = point(self.level.gate, 0.4, 0.03), point(self.level.gate, self.far, 0.03)
        world.add(Ribbons.of([a], [b], 0.05 + 0.002 * self.far, mix(QUIET, MEMORY, 0.6), 0.35 * shown, 0.1, True))
        if not self.under_way(beat):
            return
        back = beat >= self.turns
        x, y, z = self.place(beat)
        colour, edge = (
            (MEMORY, 0.22 + 0.028 * np.hypot(x, y)) if back else (mix(MEMORY, TEXT, 0.75), 0.16 + 0.018 * np.hypot(x, y))
        )
        start = self.turns if back else self.leaves

        def curve(beats: Floats) -> Floats:
            return np.array([self.place(float(np.clip(b, start, beat))) for b in beats])

        Trail(curve, colour, 0.8 * edge, min(0.7, beat - start), pieces=14, floor=False).draw(world, beat)
        world.add(Boxes.of([(x - edge / 2, y - edge / 2, z - edge / 2)], (edge, edge, edge), colour, 0.9, 0.9, shadow=0.6))
        world.add(Sprites.of([(x, y, z)], 0.9 * edge, colour, 0.35))


def errands(trip: Trip | None, since: float, until: float) -> list[Trip]:
    """The same request again and again, home every second beat (or fourth, ..., as long as it takes) from `since` on."""
    if trip is None:
        return []
    every = 2.0 * float(np.ceil(trip.beats / 2.0 + 0.05))
    return [replace(trip, leaves=float(home) - trip.beats) for home in np.arange(since + every, until, every)]


@dataclass(slots=True)
class Line:
    """The other lanes of the thread's warp in a row beside it, at its place: `work(beat)` 0..1 lifts and warms them."""

    lane: int
    lanes: int
    pitch: float
    work: Callable[[float], float]
    at: Callable[[float], Vector]

    def draw(self, world: World, beat: float) -> None:
        work, wide = self.work(beat), 0.76 * self.pitch
        x = self.pitch * (np.delete(np.arange(self.lanes), self.lane) - self.lane)
        tall = 0.22 + 0.3 * work
        _, y, z = self.at(beat)
        origin = np.column_stack([x - wide / 2, np.full(len(x), y - wide / 2), np.full(len(x), z)])
        colour = mix(mix(STEEL, QUIET, 0.3), COMPUTE, work)
        world.add(Boxes.of(origin, (wide, wide, tall), colour, 0.45 * work, 0.6))
