"""One step of a tiled product: tiles of A and B come from DRAM onto an SM, all threads meet at a door, every value is used.

Drawn SIDE x SIDE.  C's threads stand where the row of A and the column of B that they multiply meet: A lies to their left, B
behind them.  A row of threads stands for a warp: its lanes load, walk and wait together.  The order of use is the kernel's
(kernels/gemm_fp32/03_shared.cu): in step k every thread reads a[row][k] and b[k][column].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Vector
from scenes.props.signs import Signs
from scenes.stage.keys import arrive, leave, overshoot, ramp, smooth, window
from scenes.stage.overlay import Text
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, NUMBER, SMALL
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]
SIDE = 4
PITCH, EDGE = 1.3, 0.92  # from value to value, and the edge of one, world units
TOP, SHELF = 1.5, 0.12  # of the SM's floor; thickness of the slabs that are shared memory
HALF, NEAR, FAR = 9.4, -8.4, 8.0  # the SM: half its width, its front and its back
THREAD, LAYER = 0.86, 0.34  # edge of a thread, height of one multiply-add
START, LINE, DOOR = -7.3, -5.2, -4.35  # y where threads wait for their values, where they wait for each other, of the door
HOVER, LIFTED = 2.6, 1.7  # above its seat before a value drops; beats from DRAM to there
FIELD, FIELD_X, FIELD_Y = 12, 10.0, 18.0  # values along a matrix in DRAM; where the matrices lie: -x A, +x B
# Loads of a thread for each step of the sum, and in words: its own; of a tile; of one SIDE times as tall, for as many threads
LOADS = (2.0, 2.0 / SIDE, 1.0 / SIDE + 1.0 / SIDE**2)
LOADS_SAID = (
    ("each thread", "loads its own"),
    (f"a tile of {SIDE} × {SIDE}:", f"used {SIDE} times"),
    (f"{SIDE} outputs a thread:", "a taller tile"),
)
VALUES = 2 * SIDE * SIDE  # of both tiles
STEP = np.arange(SIDE) - (SIDE - 1) / 2
C_X, A_X, C_Y, B_Y = 2.9, -3.5, -1.2, 4.95  # middles of the tiles


@dataclass(frozen=True, slots=True)
class Times:
    """Beats: the tiles leave DRAM; each row's values land, its threads reach the door; the door opens; the steps of use."""

    lift: float
    land: Sequence[float]
    reach: Sequence[float]
    opens: float
    uses: Sequence[float]

    def reads(self, beat: float) -> int:
        """Values that threads have read by now: in each step every thread one of A and one of B (VALUES, too, were loaded)."""
        return VALUES * sum(beat >= use - 1e-6 for use in self.uses)


def grid(x: float, y: float) -> Floats:
    """Middles of a tile's values about (x, y), (SIDE rows, SIDE columns, 2): rows come towards the observer."""
    rows, columns = np.meshgrid(y - PITCH * STEP, x + PITCH * STEP, indexing="ij")
    return np.stack([columns, rows], -1)


def field(x: float) -> Floats:
    """Middles of a matrix in DRAM, (FIELD, FIELD, 2)."""
    step = PITCH * (np.arange(FIELD) - (FIELD - 1) / 2)
    rows, columns = np.meshgrid(FIELD_Y - step, x + step, indexing="ij")
    return np.stack([columns, rows], -1)


@dataclass(slots=True)
class Tiles:
    """Both matrices in DRAM, the SM, and the values of the two tiles."""

    times: Times

    def places(self, beat: float) -> Floats:
        """Centres of the values, (2 tiles, SIDE, SIDE, 3)."""
        times, out = self.times, np.empty((2, SIDE, SIDE, 3))
        # the third row of tiles of A, the second column of tiles of B: both of the block whose outputs these are
        homes = field(-FIELD_X)[8:12, 4:8], field(FIELD_X)[4:8, 4:8]
        gone = ramp(beat, times.lift, LIFTED)
        for tile, (home, seat) in enumerate(zip(homes, (grid(A_X, C_Y), grid(C_X, B_Y)), strict=True)):
            floor = TOP + SHELF + EDGE / 2
            for row in range(SIDE):
                drop = ramp(beat, times.land[row] - 0.3, 0.3, leave)
                out[tile, row, :, :2] = home[row] + (seat[row] - home[row]) * gone
                over = 0.6 + (floor + HOVER - 0.6) * gone + 2.4 * np.sin(np.pi * gone)
                out[tile, row, :, 2] = over + (floor - over) * drop
        for k, use in enumerate(times.uses):
            up = max(0.0, self.level(beat) - TOP - SHELF - EDGE / 2) * _read(beat, use)
            out[0, :, k, 2] += up
            out[1, k, :, 2] += up
        return out

    def level(self, beat: float) -> float:
        """Height at which values are read: a hair above the threads."""
        return TOP + stacked(self.times, beat) + THREAD + 0.2

    def draw(self, world: World, beat: float) -> None:
        self._ground(world, 1.0 - 0.6 * ramp(beat, self.times.opens, 2.0))
        centre, glow = self.places(beat), np.full((2, SIDE, SIDE), 0.35)
        for k, use in enumerate(self.times.uses):
            lit = _read(beat, use)
            glow[0, :, k] += 0.55 * lit
            glow[1, k, :] += 0.55 * lit
            if lit > 0.01:
                self._wires(world, centre[0, :, k], centre[1, k], lit)
        colour = np.array(mix(PLATE, MEMORY, 0.72)) + (np.array(MEMORY) - mix(PLATE, MEMORY, 0.72)) * glow[..., None]
        world.add(Boxes.of(centre.reshape(-1, 3) - EDGE / 2, EDGE, colour.reshape(-1, 3), glow.ravel(), 0.8))

    def _wires(self, world: World, a: Floats, b: Floats, lit: float) -> None:
        """From each read value along the row, or down the column, of the threads that read it: to all of them at once."""
        right, front = C_X + PITCH * SIDE / 2, C_Y - PITCH * SIDE / 2
        ends = np.concatenate([a, b]), np.concatenate([a, b])
        ends[1][:SIDE, 0], ends[1][SIDE:, 1] = right, front
        world.add(Ribbons.of(*ends, 0.1, MEMORY, 0.75 * lit, 0.6 * lit))

    def _ground(self, world: World, awake: float) -> None:
        """Matrices as dark fields of memory, far and low; the SM as a podium with two slabs of shared memory.

        `awake` is how bright the fields are: less once they have handed over their tiles.
        """
        flat = np.concatenate([field(x).reshape(-1, 2) for x in (-FIELD_X, FIELD_X)])
        origin = np.column_stack([flat - EDGE / 2, np.full(len(flat), 0.08)])
        world.add(Boxes.of(origin, (EDGE, EDGE, 0.26), mix(PLATE, MEMORY, 0.34 * awake), 0.03 * awake, 0.7, shadow=0.0))
        wide = FIELD * PITCH + 0.5
        slabs = [(x - wide / 2, FIELD_Y - wide / 2, 0.0) for x in (-FIELD_X, FIELD_X)]
        world.add(Boxes.of(slabs, (wide, wide, 0.08), mix(PLATE, STEEL, 0.5), edge=0.9))
        world.add(Boxes.of((-HALF, NEAR, 0.0), (2 * HALF, FAR - NEAR, TOP), mix(PLATE, STEEL, 0.55), edge=1.0))
        across = SIDE * PITCH + 0.3
        shelves = [(x - across / 2, y - across / 2, TOP) for x, y in ((A_X, C_Y), (C_X, B_Y))]
        world.add(Boxes.of(shelves, (across, across, SHELF), mix(PLATE, MEMORY, 0.22), 0.04, 0.9, shadow=0.3))


@dataclass(slots=True)
class Threads:
    """SIDE x SIDE threads: they wait for their values, meet at the door, take their places, and add a product a step."""

    times: Times
    hero: tuple[int, int]

    def feet(self, beat: float) -> Floats:
        """Centres of the threads' bases, (SIDE, SIDE, 3)."""
        times, out, goal = self.times, np.empty((SIDE, SIDE, 3)), grid(C_X, C_Y)
        for row in range(SIDE):
            walk = ramp(beat, times.reach[row] - 0.7, 0.7)
            go = ramp(beat, times.opens + 0.1 + 0.12 * (SIDE - 1 - row), 1.3)
            slot = np.column_stack([slots(row), np.full(SIDE, START + (LINE - START) * walk)])
            out[row, :, :2] = slot + (goal[row] - slot) * go
            out[row, :, 2] = TOP + 0.5 * np.sin(np.pi * walk) + 1.1 * np.sin(np.pi * go) + stacked(times, beat)
        return out

    def seat(self, beat: float) -> Vector:
        """Where the cube of the thread that is followed stands."""
        x, y, z = self.feet(beat)[self.hero]
        return float(x), float(y), float(z)

    def draw(self, world: World, beat: float) -> None:
        feet, others = self.feet(beat), np.ones((SIDE, SIDE), bool)
        others[self.hero] = False
        work = max((_read(beat, use) for use in self.times.uses), default=0.0)
        idle = mix(STEEL, QUIET, 0.34)
        origin = feet[others] - (THREAD / 2, THREAD / 2, 0.0)
        world.add(Boxes.of(origin, THREAD, mix(idle, COMPUTE, 0.9 * work), 0.25 * work, 0.8))
        floors = grid(C_X, C_Y).reshape(-1, 2) - THREAD / 2
        low = TOP
        for use in self.times.uses:
            tall = LAYER * _added(beat, use)
            if tall > 0.01:
                warm = 0.62 + 0.38 * _read(beat, use)
                at = np.column_stack([floors, np.full(len(floors), low)])
                world.add(Boxes.of(at, (THREAD, THREAD, max(tall - 0.05, 0.01)), mix(PLATE, COMPUTE, warm), 0.5 * warm**3, 0.8))
            low += tall


@dataclass(slots=True)
class Door:
    """`__syncthreads()`: a barrier before all threads, a lamp for each; it opens when the last of them has come."""

    times: Times
    rise: float  # the beat at which it stands
    TALL, BEAM = 2.8, 1.15  # height of the opening, and of the beam over it

    def lamps(self, beat: float) -> Floats:
        """0..1 for each thread: whether it has come, (SIDE * SIDE,)."""
        return np.repeat([ramp(beat, reach - 0.05, 0.05) for reach in self.times.reach], SIDE)

    def words(self, beat: float) -> Vector:
        """Where the words on its beam stand: the middle of their baseline."""
        return 0.0, DOOR - 0.2, TOP + (self.TALL + 0.46) * self.up(beat)

    def up(self, beat: float) -> float:
        """0..1, how far it stands: it comes down to the floor again when all have gone through."""
        return ramp(beat, self.rise - 0.6, 0.6, overshoot) * (1.0 - ramp(beat, self.times.opens + 1.1, 0.8))

    def draw(self, world: World, beat: float) -> None:
        up = self.up(beat)
        if up < 0.01:
            return
        reach, frame = float(slots(SIDE - 1)[-1]) + 0.9, mix(STEEL, QUIET, 0.5)
        tall, top = self.TALL * up, TOP + self.TALL * up
        world.add(Boxes.of([(-reach - 0.35, DOOR - 0.18, TOP), (reach, DOOR - 0.18, TOP)], (0.35, 0.36, tall), frame, edge=1.0))
        world.add(
            Boxes.of(
                (-reach - 0.35, DOOR - 0.18, top), (2 * reach + 0.35, 0.36, self.BEAM * up), mix(STEEL, PLATE, 0.3), edge=1.2
            )
        )
        come = self.lamps(beat)
        x = np.concatenate([slots(row) for row in range(SIDE)])
        at = np.column_stack([x - 0.28, np.full(len(x), DOOR - 0.26), np.full(len(x), top + 0.1 * up)])
        colour = np.array(mix(PLATE, STEEL, 0.4)) + (np.array(TEXT) - mix(PLATE, STEEL, 0.4)) * come[:, None]
        world.add(Boxes.of(at, (0.56, 0.08, max(0.16 * up, 0.01)), colour, 0.35 * come, 0.2, shadow=0.0))
        shut = 1.0 - ramp(beat, self.times.opens - 0.1, 0.35, arrive)
        bars = [(-reach, DOOR - 0.07, TOP + high * shut) for high in (0.35, 0.95)]
        if shut > 0.03:
            world.add(Boxes.of(bars, (2 * reach, 0.14, 0.2 * shut), mix(QUIET, TEXT, 0.4), edge=0.7, shadow=0.0))


def names(times: Times, door: Door, until: float) -> Signs:
    """What stands in the world: the memory and the SM (up to beat `until`) by name, the barrier's own words on its beam."""
    steel, cyan = CODE.coloured(mix(QUIET, TEXT, 0.3)), CODE.coloured(mix(MEMORY, TEXT, 0.25))
    away, far = window(-9.0, until), window(-9.0, times.opens)
    first = window(-9.0, door.rise - 0.5)  # until the door stands before it
    front = FIELD_Y - 8.4

    def call(beat: float) -> TextPlane:
        return TextPlane.standing("__syncthreads()", CODE, door.words(beat), 0.62, 0.0, "centre")

    return Signs([
        (TextPlane.standing("SM", steel, (-HALF + 0.4, NEAR - 0.02, 0.35), 0.8), away),
        (TextPlane.standing("shared memory", cyan, (A_X, C_Y - 3.0, TOP + 0.02), 0.44, 0.0, "centre"), first),
        (TextPlane.standing("DRAM  A", cyan, (-FIELD_X - 4.9, front, 1.2), 1.1, 0.0, "centre"), far),  # clear of its tile's way
        (TextPlane.standing("DRAM  B", cyan, (FIELD_X, front, 1.2), 1.1, 0.0, "centre"), far),
        (call, lambda beat: min(1.0, door.up(beat))),
    ])  # fmt: skip


def arrivals(door: Door, at: tuple[float, float, float, float], shown: Callable[[float], float]) -> list[Text]:
    """How many threads have come to the door, and what it waits for, at x and baselines `at`, design pixels."""
    x, big, *lines = at

    def come(beat: float) -> str:
        return f"{int((door.lamps(beat + 0.02) > 0.5).sum())} of {SIDE * SIDE}"  # half a frame on: a beat's own frame has it

    told = zip(("threads have loaded;", "the door waits for all"), lines, strict=True)
    count = Text(come, NUMBER.sized(64), x, big, opacity=shown, kind="clock")
    return [count, *(Text(words, SMALL, x, y, opacity=shown) for words, y in told)]


def slots(row: int) -> Floats:
    """x of a row's threads before the door, (SIDE,): rows stand side by side."""
    return np.asarray((row * SIDE + np.arange(SIDE) - (SIDE * SIDE - 1) / 2) * 0.98 + (row - (SIDE - 1) / 2) * 0.5)


def stacked(times: Times, beat: float) -> float:
    """Height of the products that every thread has added so far."""
    return LAYER * sum(_added(beat, use) for use in times.uses)


def _added(beat: float, use: float) -> float:
    return ramp(beat, use - 0.25, 0.4, overshoot)


def _read(beat: float, use: float) -> float:
    """How much a step is going on, 0..1: up on its beat, over before the next."""
    return ramp(beat, use - 0.25, 0.25, smooth) * (1.0 - ramp(beat, use + 0.7, 0.8))
