"""GPUs in a ring that add up their buffers: each step passes one chunk on to the next GPU, along an arch of light.

A ring all-reduce (Patarasuk and Yuan 2009): in step s rank r sends chunk r - s (mod N) to rank r + 1. N - 1 steps add
(reduce-scatter), N - 1 carry the sums round (all-gather). A chunk is a column; each rank's contribution is a slab of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from measure.records import Device
from scenes.props.chip import SILICON, SUBSTRATE, Pile
from scenes.props.cube import Vector
from scenes.props.floorplan import Rect, floorplan
from scenes.stage.keys import overshoot, ramp, smooth
from scenes.stage.overlay import Value, value_at
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, mix
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]

WIDE, DEEP, CHIP_WIDE = 3.9, 3.1, 3.3  # of a module, and of the chip on it, world units
BOARD, MODULE = 0.2, 0.16  # thickness of the board and of a module
RAIL = 0.95  # how far behind its module's centre the buffer stands
FOOT = BOARD + MODULE + 0.08  # height of the rail that the buffer stands on
TALL = 1.4  # a column that holds the contributions of all ranks
REACH, GAP = 3.3, 0.26  # width of a buffer; share of a column's place that is air once the buffer is split
ARCH = 1.3  # how high an arch rises over the rails
FLIGHT, LONGEST = 0.8, 3.2  # of a step in the air, and beats at most
PIECES = 36  # of an arch
DEPTH = 0.46  # of a buffer and of the rail that it stands on
BAND = 0.46  # width of an arch that stands for the whole rate of a link
GLOW, COOLS = 0.3, 0.3  # beats that an addition stays amber, and in which it cools
LIFT = 0.2  # by how much of their height the finished sums leap
RAISED, RISE = 0.7, 0.3  # how high a counted sum is held up, and beats that it takes
EDGE = 3.7  # of the board outside of the ring, at its sides


@dataclass(frozen=True, slots=True)
class Steps:
    """Beats on which the 2(N - 1) steps of a ring of N ranks arrive; `flight` is the beats in the air of each, (2(N - 1),)."""

    ranks: int
    arrives: Floats
    flight: Floats

    @classmethod
    def fitted(cls, ranks: int, begin: float, scattered: float, end: float) -> Steps:
        """Steps of a power of two beats: the adding ones from `begin`, over by `scattered`; the last one arrives at `end`."""
        turns = max(ranks - 1, 1)
        add = 2.0 ** math.floor(math.log2((scattered - begin) / turns))
        carry = 2.0 ** math.floor(math.log2((end - scattered) / turns))
        adding = begin + add * np.arange(1, turns + 1)
        carrying = end - carry * np.arange(turns)[::-1]
        long = [min(FLIGHT * step, LONGEST) for step in (add, carry)]
        return cls(ranks, np.concatenate([adding, carrying]), np.repeat(long, turns))

    def at(self, beat: float) -> tuple[int, float]:
        """How many steps have arrived, and how far the next one has come, 0..1."""
        done = int((self.arrives <= beat).sum())
        if done == len(self.arrives):
            return done, 0.0
        return done, max(0.0, 1.0 - (float(self.arrives[done]) - beat) / float(self.flight[done]))


def spread(ranks: int, first: float, last: float) -> tuple[float, ...]:
    """Beats, one a rank: the first and the last as told, the others a power of two beats apart before the last."""
    if ranks < 2:
        return (first,)
    pace = 2.0 ** math.floor(math.log2((last - first) / (ranks - 1)))
    return (first, *(last - pace * np.arange(ranks - 1)[::-1]).tolist())


@dataclass(slots=True)
class Ring:
    """`steps.ranks` GPUs on a board, centred on the origin; of those that nobody measured (all but `real`) outlines are drawn,
    and of what they send, too.

    `split` 0..1 parts each buffer into its chunks; `stream` 0..1 shows the links' steady traffic; `share()` is how much of a
    link's rate that is, 0..1, or None where the rate is not known. On the N beats `counts` the copies of chunk 0 are held up
    one after the other, round the ring from the one that the last step brought.
    """

    device: Device
    steps: Steps
    split: Value = 1.0
    stream: Value = 0.0
    share: Callable[[], float | None] = lambda: None
    real: int | None = None
    counts: Sequence[float] = ()
    ranks: int = field(init=False)
    radii: tuple[float, float] = field(init=False)
    centres: Floats = field(init=False)
    _still: Boxes = field(init=False)
    _dies: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.ranks = self.steps.ranks
        wide = max(4.3, 1.06 * self.ranks)
        self.radii = (wide, max(0.62 * wide, 3.9))
        # The last step brings chunk 0 to rank N - 2: that one stands in front, left of the middle.
        angle = (np.arange(self.ranks) - (self.ranks - 2) - 0.5) * 2.0 * math.pi / self.ranks
        self.centres = np.column_stack([self.radii[0] * np.sin(angle), -self.radii[1] * np.cos(angle)])
        self._still, self._dies = self._build()

    @property
    def pitch(self) -> float:
        """Width of a chunk's place in a buffer."""
        return REACH / self.ranks

    @property
    def slab(self) -> float:
        """Height of one rank's contribution."""
        return TALL / self.ranks

    @property
    def edge(self) -> float:
        """Of a cube that rides on a column."""
        return min(0.42, 0.86 * self.pitch)

    def foot(self, rank: NDArray[np.int64], chunk: NDArray[np.int64]) -> Floats:
        """(..., 3) where the column of a chunk stands at a rank: the middle of its base."""
        offset = (chunk - (self.ranks - 1) / 2) * self.pitch
        x, y = self.centres[rank % self.ranks, 0] + offset, self.centres[rank % self.ranks, 1] + RAIL
        return np.stack(np.broadcast_arrays(x, y, FOOT), -1)

    def arch(self, rank: NDArray[np.int64], u: Floats | float) -> Floats:
        """(..., 3) a point of the arch from a rank to the next, `u` 0..1 along it."""
        a, b = self.centres[rank % self.ranks], self.centres[(rank + 1) % self.ranks]
        v = np.clip((np.asarray(u) - 0.07) / 0.86, 0.0, 1.0)
        v = (v * v * (3.0 - 2.0 * v))[..., None]
        along = b - a
        side = np.stack([along[..., 1], -along[..., 0]], -1) / np.linalg.norm(along, axis=-1, keepdims=True)
        apart = (0.5 if self.ranks == 2 else 0.0) * side * 4.0 * v * (1.0 - v)  # two ranks: there and back are two links
        flat = a + along * v + apart
        height = ARCH * np.sin(math.pi * np.clip(u, 0.0, 1.0)) ** 0.7
        return np.concatenate([flat + np.array([0.0, RAIL]), (FOOT + height * np.ones(flat.shape[:-1]))[..., None]], -1)

    def place(self, rank: NDArray[np.int64], chunk: NDArray[np.int64], u: float, start: float, end: float) -> Floats:
        """(..., 3) base of a stack on its way from a rank to the next, from a height over the rail to another."""
        if u <= 0.0:
            return self.foot(rank, chunk)
        offset = (chunk - (self.ranks - 1) / 2) * self.pitch * (1.0 - math.sin(math.pi * u) ** 0.6)
        point = self.arch(rank, np.full(np.broadcast(rank, chunk).shape, u))
        point[..., 0] += offset
        point[..., 2] += start * (1.0 - u) ** 2 + end * smooth(u)
        return point

    def slabs(self, beat: float) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Base centres (M, 3) of all slabs, whose contribution each is (M,), and how hot (M,) with an addition, 0..1."""
        n, chunk = self.ranks, np.arange(self.ranks)[:, None]
        done, u = self.steps.at(beat)
        layer = np.arange(n)[None, :]
        owner = (chunk + layer) % n
        if done < n - 1:
            joined = layer <= done
            riding = self.place(chunk + done, chunk, u, 0.0, self.slab) + np.zeros((n, n, 1))
            riding[..., 2] += (done - layer) * self.slab
            base = np.where(joined[..., None], riding, self.foot(owner, chunk))
            hot = np.where(joined & (done > 0), self.heat(beat), 0.0) * np.ones((n, 1))
            return base.reshape(-1, 3), owner.ravel(), hot.ravel()
        copies = np.arange(done - n + 2)[None, :]
        resting = self.foot(chunk + n - 1 + copies, chunk)
        if u > 0.0:
            resting = np.concatenate([resting, self.place(chunk + done, chunk, u, TALL, 0.0)], 1)
        base = resting[:, :, None] + (n - 1 - layer)[0][:, None] * self.slab * np.array([0.0, 0.0, 1.0])
        owner = np.broadcast_to(owner[:, None], base.shape[:3])
        return base.reshape(-1, 3), owner.ravel(), np.full(owner.size, self.heat(beat))

    def heat(self, beat: float) -> float:
        """How much of the amber of the last addition is left, 0..1."""
        past = self.steps.arrives[: self.ranks - 1]
        past = past[past <= beat]
        return 1.0 - ramp(beat, float(past[-1]) + GLOW, COOLS) if len(past) else 0.0

    def leap(self, beat: float) -> float:
        """How far the columns are stretched when the last step has landed: 1 at rest."""
        if beat < (end := float(self.steps.arrives[-1])):
            return 1.0
        return 1.0 + LIFT * math.exp(-(beat - end) / 0.45)

    def rider(self, beat: float) -> Vector:
        """Top of chunk 0 where it has come to: on its way twice round, then at the last rank that it reached."""
        n, zero = self.ranks, np.zeros(1, np.int64)
        done, u = self.steps.at(beat)
        adds = done < n - 1
        start, end = (0.0, self.slab) if adds else (TALL, 0.0)
        x, y, z = self.place(zero + done, zero, u, start, end)[0]
        top = FOOT + (float(z) - FOOT + (self.slab * (done + 1) if adds else TALL)) * self.leap(beat)
        return float(x), float(y), top + (float(self.raised(beat)[0]) if self.counts else 0.0)

    def counted(self, beat: float) -> int:
        """Copies of chunk 0 that have been held up."""
        return sum(at <= beat + 1e-6 for at in self.counts)

    def raised(self, beat: float) -> Floats:
        """(N,) how high the copies of chunk 0 are held up, in the order in which they are."""
        return np.array([RAISED * ramp(beat, at, RISE, overshoot) for at in self.counts])

    def copies(self, beat: float) -> Floats:
        """(N, 3) bases of the finished copies of chunk 0, in the order in which they are held up."""
        turn = self.ranks - 2 + np.arange(self.ranks)
        return self.foot(turn, np.zeros_like(turn)) + np.array([0.0, 0.0, 1.0]) * self.raised(beat)[:, None]

    # ---- pictures -----------------------------------------------------------------------------------------------------

    def draw(self, world: World, beat: float) -> None:
        world.add(self._still)
        if self.real is None:
            self._work(world, beat)
        else:
            self._open(world, self.real)
        self._links(world, beat)
        base, owner, hot = self.slabs(beat)
        leap = self.leap(beat)
        base[:, 2] = FOOT + (base[:, 2] - FOOT) * leap
        if self.counted(beat):  # chunk 0's slabs come first, from rank N - 1 on; the first to be held up is rank N - 2's
            base[: self.ranks**2, 2] += np.repeat(np.roll(self.raised(beat), -1), self.ranks)
        size = np.array([self.pitch * (1.0 - GAP * value_at(self.split, beat)), DEPTH, self.slab * 0.9 * leap])
        if self.real is not None:
            a, b = frames(base - size * (0.5, 0.5, 0.0), (float(size[0]), float(size[1]), float(size[2])))
            world.add(Ribbons.of(a, b, 0.025, mix(QUIET, MEMORY, 0.5), alpha=0.9))
            return
        tint = 0.30 + 0.62 * (owner / max(self.ranks - 1, 1))[:, None]
        cool = np.array(PLATE) + (np.array(MEMORY) - PLATE) * tint
        heat = hot[:, None]
        # from cyan to amber by way of steel: halfway between the two would be a green that means nothing
        steel = np.array(STEEL)
        colour = np.where(
            heat > 0.5, steel + (np.array(COMPUTE) - steel) * (2.0 * heat - 1.0), cool + (steel - cool) * 2.0 * heat
        )
        glow = 0.10 + 0.35 * heat[:, 0] + (leap - 1.0)
        world.add(Boxes.of(base - size * (0.5, 0.5, 0.0), size, colour, emission=glow, edge=0.8))

    def _work(self, world: World, beat: float) -> None:
        """Every GPU adds at once: its die is at work."""
        heat = self.heat(beat)
        size = np.array([*self._dies[0, 2:], 0.05])
        origin = np.column_stack([self._dies[:, :2], np.full(len(self._dies), BOARD + MODULE + 0.14)])
        world.add(Boxes.of(origin, size, mix(STEEL, COMPUTE, 0.85 * heat), emission=0.25 * heat, edge=0.5 + 0.4 * heat))

    def _links(self, world: World, beat: float) -> None:
        """Arches: steel at rest; light runs along them as long as a step is under way; in the stream as wide as the traffic."""
        _, u = self.steps.at(beat)
        busy = smooth(min(1.0, 5.0 * u, 6.0 * (1.0 - u))) if u > 0.0 else 0.0
        stream = value_at(self.stream, beat)
        grid = np.linspace(0.0, 1.0, PIECES + 1)
        points = self.arch(np.arange(self.ranks)[:, None], np.broadcast_to(grid, (self.ranks, PIECES + 1)))
        a, b = points[:, :-1].reshape(-1, 3), points[:, 1:].reshape(-1, 3)
        middle = np.tile((grid[:-1] + grid[1:]) / 2, self.ranks)
        world.add(Ribbons.of(a, b, 0.05, mix(STEEL, MEMORY, 0.25 + 0.5 * busy), alpha=0.9, emission=0.1 + 0.2 * busy))
        runs = 0.5 + 0.5 * np.cos(
            2.0 * math.pi * (6.0 * middle - 1.5 * beat)
        )  # dashes that travel, so that light is seen to move
        front = np.clip(1.0 - np.abs(middle - u) / 0.16, 0.0, 1.0) * busy
        light = np.maximum(front, stream * (0.30 + 0.70 * runs * runs))
        share = self.share() if stream > 0.0 else None
        level = np.array([0.0, 0.0, 0.09])
        if share is not None:
            self._capacity(world, stream, points)
            level = np.array([0.0, 0.0, 0.09 + BAND * share / 2])
        wide = 0.13 + ((BAND * share if share is not None else 0.3) - 0.13) * stream
        seen = light > 0.01
        if seen.any():
            up = level * stream
            world.add(
                Ribbons.of(a[seen] + up, b[seen] + up, wide, MEMORY, alpha=0.85 * light[seen], emission=0.55 * light[seen])
            )

    def _capacity(self, world: World, stream: float, points: Floats) -> None:
        """The upper rail of a link's whole rate, over the arch: what the traffic leaves free is seen beneath it."""
        inner = points[:, 2:-2:2] + (0.0, 0.0, 0.09 + BAND)
        a, b = inner[:, :-1].reshape(-1, 3), inner[:, 1:].reshape(-1, 3)
        world.add(Ribbons.of(a, b, 0.035, mix(STEEL, (1.0, 1.0, 1.0), 0.55), alpha=0.9 * stream, emission=0.1))

    def _open(self, world: World, real: int) -> None:
        """What nobody measured, in outline: the other modules and their buffers' rails."""
        centres = np.column_stack([self.centres[real:], np.zeros(self.ranks - real)])
        boxes = [
            ((-WIDE / 2, -DEEP / 2, BOARD), (WIDE, DEEP, MODULE)),
            ((-REACH / 2, RAIL - DEPTH / 2, FOOT), (REACH, DEPTH, 0.1)),
        ]
        for low, size in boxes:
            a, b = frames(centres + low, size)
            world.add(Ribbons.of(a, b, 0.03, mix(STEEL, (1.0, 1.0, 1.0), 0.4), alpha=0.8))

    def _build(self) -> tuple[Boxes, Floats]:
        """Board, modules with their chips from the device's record, rails; and the dies, (N, 4): least corner and size."""
        pile, (rx, ry) = Pile(), self.radii
        pile.slab(Rect(-rx - EDGE, -ry - 2.3, rx + EDGE, ry + 2.9), 0.0, BOARD, PLATE, edge=0.5, bevel=0.05)
        plan, dies = floorplan(self.device), []
        reach = [plan.package, *plan.memory]
        scale = CHIP_WIDE / (max(r.x1 for r in reach) - min(r.x0 for r in reach))
        scale = min(scale, 1.5 / (max(r.y1 for r in reach) - min(r.y0 for r in reach)))

        def at(rect: Rect, x: float, y: float) -> Rect:
            return Rect(x + rect.x0 * scale, y + rect.y0 * scale, x + rect.x1 * scale, y + rect.y1 * scale)

        for x, y in self.centres[: self.real].tolist():
            z = pile.slab(Rect(x - WIDE / 2, y - DEEP / 2, x + WIDE / 2, y + DEEP / 2), BOARD, MODULE, SUBSTRATE, 0.6, 0.03)
            pile.slab(
                Rect(x - REACH / 2 - 0.1, y + RAIL - 0.33, x + REACH / 2 + 0.1, y + RAIL + 0.33), z, FOOT - z, SILICON, 0.6
            )
            front = y - 0.42
            top = pile.slab(at(plan.package, x, front), z, 0.08, mix(SUBSTRATE, STEEL, 0.3), 0.5, 0.02)
            die = at(plan.die, x, front)
            pile.slab(die, top, 0.06, mix(SILICON, STEEL, 0.25), 0.7)
            dies.append((die.x0, die.y0, die.x1 - die.x0, die.y1 - die.y0))
            for stack in plan.memory:
                pile.slab(at(stack, x, front), top if plan.stacked else z, 0.16, mix(PLATE, MEMORY, 0.22), 0.9, 0.02, 0.03)
        return pile.batch(), np.array(dies)


def frames(corner: Floats, size: tuple[float, float, float]) -> tuple[Floats, Floats]:
    """Both ends of the 12 edges of each of K boxes, from their least corners (K, 3): twice (12 K, 3)."""
    ends = [(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7)]
    corners = np.array([(k & 1, k >> 1 & 1, k >> 2 & 1) for k in range(8)]) * np.array(size)
    a, b = corners[[one for one, _ in ends]], corners[[two for _, two in ends]]
    return (corner[:, None] + a).reshape(-1, 3), (corner[:, None] + b).reshape(-1, 3)
