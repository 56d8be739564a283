"""A processor of a few big cores: fat towers on a package, each with its vector lanes, its cache and a roof to stand on.

It is a drawing of no product: how many cores there are is a parameter, their looks are the same whatever that is.  A core has
the lanes that desktop cores usually have: two units of 256 bits for fused multiply-adds, each eight numbers of 32 bits wide
(Intel 64 and IA-32 Architectures Optimization Reference Manual, Haswell and later; AMD Software Optimization Guide, Zen 2, 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scenes.props.chip import PART, SUBSTRATE, Pile
from scenes.props.floorplan import Rect
from scenes.stage.keys import overshoot, ramp
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, mix
from scenes.stage.world import Boxes, World

Floats = NDArray[np.float64]
SIDE, PITCH, TALL = 3.4, 4.3, 3.9  # width and depth of a core, from core to core, height at full rise
LANES, PIPES, FINS = 8, 2, 6  # fp32 lanes of a vector unit of 256 bits, such units in a core; fins on its side
PACKAGE = 0.35  # thickness of what the cores stand on
FLOOR = PACKAGE
SUNK = 0.16  # height of a core that has not risen
BODY = mix(STEEL, QUIET, 0.16)
CACHE = mix(PLATE, MEMORY, 0.24)
DARK = mix(PLATE, STEEL, 0.6)
LIT = mix(PLATE, COMPUTE, 0.96)
OUT = 0.05  # how far belts and windows stand out of a wall


@dataclass(slots=True)
class Cpu:
    """`columns` x `rows` cores around `centre`, counted row by row from the front.

    They rise one an eighth note, `first` first, then by distance from it; each that stands does a task a beat.
    """

    centre: tuple[float, float]
    first: int = 0
    columns: int = 4
    rows: int = 2
    _still: Boxes = field(init=False)

    def __post_init__(self) -> None:
        pile, around = Pile(), self.package
        for side in (-1, 1):
            for k in range(4 * self.columns):  # capacitors along the package
                x = around.x0 + 0.6 + k * (around.x1 - around.x0 - 1.2) / (4 * self.columns - 1)
                y = around.y0 - 0.9 if side < 0 else around.y1 + 0.5
                pile.slab(Rect(x - 0.2, y, x + 0.2, y + 0.4), 0.0, 0.25, PART, edge=0.5, bevel=0.04)
        pile.slab(around, 0.0, PACKAGE, SUBSTRATE, edge=0.7, bevel=0.05)
        self._still = pile.batch()

    @property
    def count(self) -> int:
        return self.columns * self.rows

    @property
    def lanes(self) -> int:
        """Vector lanes of each core: fp32 multiply-adds a cycle."""
        return LANES * PIPES

    @property
    def package(self) -> Rect:
        """What the cores stand on."""
        x, y = self.centre
        wide, deep = self.columns * PITCH / 2 + 0.3, self.rows * PITCH / 2 + 0.3
        return Rect(x - wide, y - deep, x + wide, y + deep)

    def middles(self) -> Floats:
        """Centres of the cores on the ground, (N, 2)."""
        k = np.arange(self.count)
        x = self.centre[0] + (k % self.columns - (self.columns - 1) / 2) * PITCH
        return np.column_stack([x, self.centre[1] + (k // self.columns - (self.rows - 1) / 2) * PITCH])

    def _order(self) -> Floats:
        """When each core stands, in eighth notes."""
        far = np.hypot(*(self.middles() - self.middles()[self.first]).T) + 0.01 * np.arange(self.count)
        return np.asarray(np.argsort(np.argsort(far)), float)

    def rise(self, beat: float) -> Floats:
        """How far each core has risen, (N,) in 0..1."""
        return np.array([ramp(beat, 0.5 * k - 0.05, 0.55, overshoot) if k else ramp(beat, 0.0, 1.0) for k in self._order()])

    def work(self, beat: float) -> Floats:
        """How much each core works, (N,) in 0..1: a task lasts most of a beat."""
        busy = 0.3 + 0.7 * ramp((beat + 0.1) % 1.0, 0.0, 0.1) * (1.0 - ramp((beat + 0.1) % 1.0, 0.5, 0.5))
        return np.asarray(np.where(beat >= 0.5 * self._order() + 0.5, busy, 0.0))

    def roof(self, beat: float) -> Floats:
        """Heights of the cores' roofs, (N,)."""
        return np.asarray(FLOOR + SUNK + (TALL - SUNK) * self.rise(beat))

    def draw(self, world: World, beat: float) -> None:
        world.add(self._still)
        middles, top, work = self.middles(), self.roof(beat), np.clip(self.work(beat), 0.0, 1.0)
        n, tall = len(top), top - FLOOR
        half = np.array([SIDE / 2, SIDE / 2])
        base = np.column_stack([middles - half, np.full(n, FLOOR)])
        world.add(Boxes.of(base, np.column_stack([np.full((n, 2), SIDE), tall]), BODY, edge=0.8))
        # A belt of cache around the foot and, above it, the windows of its arithmetic: they light up with work.
        up = np.clip(tall / TALL, 0.0, 1.0)
        belt = np.column_stack([middles - half - OUT, np.full(n, FLOOR)])
        shown = up > 0.15
        if shown.any():
            size = np.column_stack([np.full(n, SIDE + 2 * OUT), np.full(n, OUT), 0.62 * up])
            world.add(Boxes.of(belt[shown], size[shown], CACHE, 0.04, edge=0.7, shadow=0.0))
            right = belt + np.array([SIDE + OUT, OUT, 0.0])
            size = np.column_stack([np.full(n, OUT), np.full(n, SIDE), 0.62 * up])
            world.add(Boxes.of(right[shown], size[shown], CACHE, 0.04, edge=0.7, shadow=0.0))
            self._windows(world, middles[shown], tall[shown], work[shown])
        # A raised rim on each roof: the thread stands inside of it.
        rim = np.concatenate([self._rim(middles, top, side) for side in range(4)])
        size = np.repeat(
            np.array([[SIDE, 0.2, 0.12], [SIDE, 0.2, 0.12], [0.2, SIDE - 0.4, 0.12], [0.2, SIDE - 0.4, 0.12]]), n, 0
        )
        world.add(Boxes.of(rim, size, mix(BODY, QUIET, 0.12), edge=0.9, shadow=0.0))

    def _rim(self, middles: Floats, top: Floats, side: int) -> Floats:
        x, y = (
            (-SIDE / 2, -SIDE / 2),
            (-SIDE / 2, SIDE / 2 - 0.2),
            (-SIDE / 2, 0.2 - SIDE / 2),
            (SIDE / 2 - 0.2, 0.2 - SIDE / 2),
        )[side]
        return np.column_stack([middles + np.array([x, y]), top])

    def _windows(self, world: World, middles: Floats, tall: Floats, work: Floats) -> None:
        """A window for each vector lane on the front of each core, amber where it works; on its right, fins of bare metal."""
        n = len(tall)
        up = np.clip((tall - 0.9) / (TALL - 0.9), 0.0, 1.0)
        if not (up > 0.02).any():
            return
        pitch = SIDE * 0.84 / LANES
        lane, pipe = (g.ravel() for g in np.meshgrid(np.arange(LANES), np.arange(PIPES)))
        x = middles[:, :1] + (lane - (LANES - 1) / 2) * pitch - pitch * 0.31
        z = FLOOR + tall[:, None] * (0.26 + 0.34 * pipe)
        place = np.stack([x, np.broadcast_to(middles[:, 1:] - SIDE / 2 - OUT, x.shape), z], axis=-1).reshape(-1, 3)
        high = np.repeat(np.maximum(0.27 * TALL * up, 0.01), len(lane))
        size = np.column_stack([np.full(len(place), 0.62 * pitch), np.full(len(place), OUT), high])
        busy = np.repeat(work, len(lane))
        colour = np.array(DARK) + (np.array(LIT) - DARK) * busy[:, None]
        world.add(Boxes.of(place, size, colour, 0.85 * busy, edge=0.5, shadow=0.0))
        fin = np.repeat(
            np.column_stack([middles[:, 0] + SIDE / 2, middles[:, 1] - SIDE * 0.4, np.full(n, FLOOR)]), FINS, axis=0
        )
        fin[:, 2] += np.repeat(tall, FINS) * np.tile(0.26 + 0.61 * np.arange(FINS) / (FINS - 1), n)
        size = np.column_stack(
            [np.full(n * FINS, OUT), np.full(n * FINS, SIDE * 0.8), np.repeat(0.05 * TALL * up + 0.01, FINS)]
        )
        world.add(Boxes.of(fin, size, mix(BODY, QUIET, 0.1), edge=0.9, shadow=0.0))
