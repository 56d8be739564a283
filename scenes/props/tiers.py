"""The index as a staircase: each block stands on as many layers as blocks come before it, each seat rises by its place.

A seat's height over the floor is its number: whole blocks below it (blockIdx.x * blockDim.x) plus its own rise (threadIdx.x).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from measure.records import IndexTrace
from scenes.props.seats import IDLE, PITCH, REST, ROW, SEAT, Floats, Hall, Vector
from scenes.stage.keys import Track, smooth
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, STEEL, TEXT, mix
from scenes.stage.world import Boxes, Ribbons, Sprites, World

UNIT = 0.02  # world units that one count of the index lifts
TRAY = 0.12  # slab under a block
DEPTH = ROW - 0.12  # of a tray and its layers: a slit of floor stays between blocks
CELL = (0.74, 0.52, 0.05)
CELL_Y = -0.92  # middle of a memory cell, from the middle of its seat
DARK_CELL = mix((0.01, 0.02, 0.03), MEMORY, 0.10)
FENCE_HEIGHT, KNOCK = 1.5, 0.7  # of the fence; how far threads run against it
WORKING = 0.62 * np.array(COMPUTE)  # a seat at work; the full colour is kept for those that just get a term
EDGES = [(a, b) for a in range(8) for b in range(a + 1, 8) if (a ^ b).bit_count() == 1]  # of a cube, corners as bits x, y, z


def unmoved(beat: float, blocks: int, threads: int) -> Floats:
    """No hop at all: zeros (blocks, threads)."""
    return np.zeros((blocks, threads))


@dataclass(slots=True)
class Tiers:
    """The hall's blocks and seats at work.  Tracks, all in beats:

    `tray` 0..1 lifts the slabs under the blocks; `layers` = blocks passed so far, `counted` = threads passed so far in every
    row; `working` 0..1 turns seats amber until they have their number; `cells` 0..1 shows the output array, `written` rows
    of it have stored their values; `fence` 0..1 hollows the seats whose recorded value is -1; `hover` world units lift the
    followed cube off its seat.
    """

    hall: Hall
    trace: IndexTrace | None
    tray: Track = field(default_factory=Track)
    layers: Track = field(default_factory=Track)
    counted: Track = field(default_factory=Track)
    working: Track = field(default_factory=Track)
    cells: Track = field(default_factory=Track)
    written: Track = field(default_factory=Track)
    fence: Track = field(default_factory=Track)
    hover: Track = field(default_factory=Track)
    hop: Callable[[float, int, int], Floats] = unmoved
    heat: Callable[[float, int, int], Floats] = unmoved
    number: NDArray[np.int64] = field(init=False)  # (blocks, threads), as recorded; by arithmetic where nothing was recorded
    stored: NDArray[np.bool_] = field(init=False)  # (blocks, threads), True where the kernel stored a value

    def __post_init__(self) -> None:
        blocks, threads = self.hall.blocks, self.hall.threads
        arithmetic = np.arange(blocks * threads).reshape(blocks, threads)
        if self.trace is None:
            self.number, self.stored = arithmetic, np.zeros((blocks, threads), bool)
        else:
            recorded = np.array(self.trace.values, np.int64).reshape(blocks, threads)
            self.stored = recorded >= 0
            # a thread beyond n has computed its number too, but stored nothing: its height is the code's own arithmetic
            self.number = np.where(self.stored, recorded, arithmetic)

    # ---- where things are -------------------------------------------------------------------------------------------------

    def tier(self, beat: float) -> Floats:
        """Top of each block's slab and layers, (blocks,): its first thread's number, as far as blocks have been passed."""
        passed = np.minimum(np.arange(self.hall.blocks), self.layers(beat))
        share = passed / np.maximum(np.arange(self.hall.blocks), 1)
        return np.asarray(TRAY * self.tray(beat) + self.number[:, 0] * UNIT * share)

    def rise(self, beat: float) -> Floats:
        """What each seat has added of its own, (blocks, threads)."""
        own = self.number - self.number[:, :1]
        sunk = np.where(self.stored | (self.trace is None), 1.0, max(0.0, 1.0 - self.fence(beat)))
        return np.asarray(np.clip(own, 0, self.counted(beat)) * UNIT * sunk)

    def foot(self, beat: float, block: int, thread: int) -> Vector:
        """The point that the cube of a thread stands on."""
        z = self.tier(beat)[block] + self.rise(beat)[block, thread] + self._hops(beat)[block, thread] + self.hover(beat)
        return self.hall.x(thread), self.hall.y(block), float(z)

    def knock(self, beat: float, thread: int) -> float:
        """How far a thread that is turned away has run against the shut fence, one after another on each beat, world units."""
        phase = (beat - 0.08 * (thread % 6)) % 1.0
        return KNOCK * (math.exp(-phase / 0.15) + smooth(max(0.0, phase - 0.8) / 0.2)) * (self.fence(beat) >= 1.0)

    def passed(self, beat: float, block: int) -> bool:
        """Whether all blocks before this one have been counted, so that its product stands."""
        return self.layers(beat) >= block - 0.05

    def places(self, beat: float, thread: int) -> int:
        """How much of its own place a thread has counted: 0 to `thread`."""
        return min(thread, int(self.counted(beat) + 0.05))

    def cell(self, beat: float, block: int, thread: int) -> Vector:
        """Middle of the top of a memory cell."""
        return self.hall.x(thread), self.hall.y(block) + CELL_Y, float(self.tier(beat)[block]) + CELL[2]

    # ---- drawing ----------------------------------------------------------------------------------------------------------

    def draw(self, world: World, beat: float) -> None:
        self._draw_blocks(world, beat)
        self._draw_seats(world, beat)
        if self.cells(beat) > 0.01:
            self._draw_cells(world, beat)
        if self.fence(beat) > 0.01:
            self._draw_fence(world, beat)

    def _hops(self, beat: float) -> Floats:
        return self.hop(beat, self.hall.blocks, self.hall.threads)

    def _draw_blocks(self, world: World, beat: float) -> None:
        tray = TRAY * self.tray(beat)
        if tray <= 0.002:
            return
        hall, layer = self.hall, self.hall.threads * UNIT
        left, width = hall.x(0) - PITCH / 2 - 0.12, hall.threads * PITCH + 0.24
        origin, size = [], []
        for block, top in enumerate(self.tier(beat)):
            y = hall.y(block) + SEAT / 2 + 0.12 - DEPTH
            origin.append((left, y, 0.0))
            size.append((width, DEPTH, tray))
            for low in np.arange(tray, top - 0.004, layer):
                origin.append((left, y, low))
                size.append((width, DEPTH, min(layer - 0.03, top - low)))
        world.add(Boxes.of(origin, size, mix(PLATE, STEEL, 0.9), edge=1.0))

    def _draw_seats(self, world: World, beat: float) -> None:
        hall, hops = self.hall, self._hops(beat)
        x, y = hall.seats()
        keep = np.ones(x.shape, bool)
        keep[hall.block, hall.thread] = False
        base = np.broadcast_to(self.tier(beat)[:, None], x.shape)
        rise = self.rise(beat)
        hollow = min(self.fence(beat), 1.0) * (~self.stored & (self.trace is not None))
        height = (REST + rise) * (1.0 - 0.9 * hollow)
        busy, front = self._busy(beat)
        tint = np.array(IDLE) + busy[..., None] * (WORKING - np.array(IDLE))
        tint = tint + (0.7 * front)[..., None] * (np.array(COMPUTE) - tint)
        tint = tint * (1.0 - 0.7 * hollow[..., None])
        heat = np.clip(self.heat(beat, hall.blocks, hall.threads), 0.0, 1.0)
        hot = 0.75 * heat * (1.0 - busy) * (self.trace is not None)
        tint = tint + hot[..., None] * (np.array(COMPUTE) - tint)
        origin = np.stack([x - SEAT / 2, y - SEAT / 2, base + np.maximum(hops, 0.0)], -1)
        size = np.stack([np.full_like(x, SEAT), np.full_like(x, SEAT), height], -1)
        edge, glow = 0.6 + 0.6 * heat + 0.3 * front, 0.12 * busy + 0.3 * front + 0.4 * hot
        world.add(Boxes.of(origin[keep], size[keep], tint[keep], emission=glow[keep], edge=edge[keep]))
        # under the followed cube stands what it has climbed: a pillar as high as its own share
        own = float(rise[hall.block, hall.thread])
        if own > 0.004:
            cx, cy = hall.x(hall.thread), hall.y(hall.block)
            foot = (cx - SEAT / 2, cy - SEAT / 2, float(base[hall.block, 0]))
            colour = tint[hall.block, hall.thread]
            world.add(Boxes.of([foot], (SEAT, SEAT, own), colour, edge=0.5))

    def _busy(self, beat: float) -> tuple[Floats, Floats]:
        """Where a thread still computes its number, and where it is just getting a term: both 0..1, (blocks, threads)."""
        ahead = np.arange(self.hall.threads)[None, :] - self.counted(beat)
        busy = np.clip(ahead / 2.0 + 0.5, 0.0, 1.0) * self.working(beat)
        landing = np.exp(-((ahead / 1.5) ** 2)) * (self.counted(beat) > 0.01) * self.working(beat)
        # lit until its last layer has come: no flicker from layer to layer
        rising = np.clip(np.arange(self.hall.blocks)[:, None] - self.layers(beat), 0.0, 1.0) * self.working(beat)
        shape = self.number.shape
        return np.asarray(np.broadcast_to(busy, shape)), np.asarray(np.broadcast_to(np.maximum(landing, rising), shape))

    def _draw_cells(self, world: World, beat: float) -> None:
        """The output array: one 4-byte cell in front of every seat that has one; a row stores its values all at once."""
        hall, shown = self.hall, self.cells(beat)
        block, thread = np.nonzero(self.stored)
        if not len(block):
            return
        index = self.number[block, thread]
        x, y = hall.x(0) + PITCH * (index % hall.threads), hall.y(0) + ROW * (index // hall.threads) + CELL_Y
        z = self.tier(beat)[index // hall.threads]
        flight = np.clip(self.written(beat) - block, 0.0, 1.0)
        lit = np.clip((flight - 0.8) / 0.2, 0.0, 1.0)
        origin = np.column_stack([x - CELL[0] / 2, y - CELL[1] / 2, z])
        colour = np.array(DARK_CELL) + lit[:, None] * (np.array(MEMORY) * 0.9 - np.array(DARK_CELL))
        size = np.array([CELL]) * np.array([1.0, shown, 1.0])
        world.add(Boxes.of(origin, size, colour, emission=0.32 * lit, edge=0.25 + 0.35 * lit, shadow=0.0, alpha=shown))
        fly = (flight > 0.02) & (flight < 0.98)
        if fly.any():
            u = flight[fly]
            seat = z[fly] + self.rise(beat)[block[fly], thread[fly]] + REST
            fall = smooth_array(u)
            height = seat + 0.35 * np.sin(np.pi * u) + (z[fly] + 0.1 - seat) * u * u
            place = np.column_stack([x[fly], hall.y(0) + ROW * block[fly] + CELL_Y * fall, height])
            world.add(Sprites.of(place, 0.15, MEMORY, 0.9))

    def _draw_fence(self, world: World, beat: float) -> None:
        """Around the threads that `i < n` turns away: hollow seats, and a gate before the first of them."""
        shut = self.fence(beat)
        block, thread = np.nonzero(~self.stored)
        if self.trace is None or not len(block):
            return
        hall = self.hall
        tier, rise = self.tier(beat), self.rise(beat)
        a: list[Floats] = []
        b: list[Floats] = []
        for bl, th in zip(block.tolist(), thread.tolist(), strict=True):
            foot = np.array([hall.x(th) - SEAT / 2, hall.y(bl) - SEAT / 2 - self.knock(beat, th), tier[bl] + 0.02])
            span = np.array([SEAT, SEAT, REST + rise[bl, th]])
            corners = np.array([foot + span * [(k >> axis) & 1 for axis in range(3)] for k in range(8)])
            a.extend(corners[p] for p, _ in EDGES)
            b.extend(corners[q] for _, q in EDGES)
        world.add(Ribbons.of(a, b, 0.03, mix(STEEL, TEXT, 0.5), alpha=0.85 * shut))
        for bl in np.unique(block):
            low, high = thread[block == bl].min(), thread[block == bl].max()
            x0, x1 = hall.x(low) - PITCH / 2, hall.x(high) + PITCH / 2
            y0, y1 = hall.y(bl) + CELL_Y - 0.3, hall.y(bl) + SEAT / 2 + 0.08
            self._draw_rails(world, (x0, x1), (y0, y1), float(tier[bl]), smooth(min(shut, 1.0)))

    def _draw_rails(self, world: World, xs: tuple[float, float], ys: tuple[float, float], z: float, shut: float) -> None:
        top = z + FENCE_HEIGHT * shut
        round_ = [(xs[0], ys[0]), (xs[0], ys[1]), (xs[1], ys[1]), (xs[1], ys[0])]
        a, b = [], []
        for (px, py), (qx, qy) in zip(round_, [*round_[1:], round_[0]], strict=True):
            a.append((px, py, z))
            b.append((px, py, top))
            for share in (0.5, 1.0):
                a.append((px, py, z + FENCE_HEIGHT * shut * share))
                b.append((qx, qy, z + FENCE_HEIGHT * shut * share))
        world.add(Ribbons.of(a, b, 0.06, TEXT, alpha=0.95 * shut, emission=0.25))


def smooth_array(u: Floats) -> Floats:
    """Ease in and out of an array in 0..1."""
    return u * u * (3.0 - 2.0 * u)
