"""One tensor-core instruction as a thing to look at: the tiles A and B are walls that meet over the floor of sums C.

m runs along x, n along y, k upwards: A stands behind the floor (m x k), B to its left (k x n), so that an edge of each is as
long as the edge of C that it belongs to.  Where they meet, all k layers of products are there at once, and fall into C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Vector
from scenes.props.instruction import FMA_FLOP, LANES, Instruction
from scenes.props.signs import Signs
from scenes.stage.keys import Track, arrive, leave, overshoot, ramp, window
from scenes.stage.overlay import Text, Value
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, FACT, NUMBER, SMALL, Align, Style
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]
MOST = 16  # cells drawn along an edge; of a longer one a cell stands for several values
CELL, TALL, FILL = 0.16, 0.078, 0.82  # pitch along m and n, and along k; share of it that is filled
GAP = 0.14  # between the floor and a wall that has arrived
PITCH, LANE = 0.155, 0.115  # of the lanes, and the edge of one
FRONT = -1.5  # y of the lanes, from the middle of C
ROW = 0.17  # from warp to warp
LOW, HIGH = 0.16, 0.34  # heights of a lane at rest and at work
SOON = 0.02  # beats: the frame nearest to a beat may lie a little before it
EQUALS, EQUAL = 8, (0.74, 0.56)  # outlines along an edge of their field; from one to the next along x and y


@dataclass(slots=True)
class Tensor:
    """Stands with the middle of C on `foot`.

    `apart` is 1 while the walls are far and 0 where they meet, at beat `meet`; the products stand as a block until `falls`;
    `stand` 1 to 0 sinks the walls; `size` scales all.
    """

    shape: Instruction
    foot: Vector
    meet: float
    falls: float
    apart: Track
    stand: Track
    size: Track

    @property
    def cells(self) -> tuple[int, int, int]:
        """Cells drawn along m, n and k."""
        return min(self.shape.m, MOST), min(self.shape.n, MOST), min(self.shape.k, MOST)

    def reach(self, beat: float) -> tuple[float, float]:
        """Half the floor's width and depth."""
        m, n, _ = self.cells
        return m * CELL * self.size(beat) / 2, n * CELL * self.size(beat) / 2

    def a(self, beat: float) -> Floats:
        """Middles of A's cells, (m, k, 3)."""
        (m, _, k), (_, deep) = self.cells, self.reach(beat)
        x, z = np.meshgrid(_steps(m) * CELL * self.size(beat), (np.arange(k) + 0.5) * TALL * self.stand(beat), indexing="ij")
        far = deep + GAP + 0.95 * self.apart(beat)
        return np.asarray(np.stack([x, np.full_like(x, far), z + 0.12 + 0.08 * self.apart(beat)], -1) + np.array(self.foot))

    def b(self, beat: float) -> Floats:
        """Middles of B's cells, (k, n, 3)."""
        (_, n, k), (wide, _) = self.cells, self.reach(beat)
        z, y = np.meshgrid((np.arange(k) + 0.5) * TALL * self.stand(beat), -_steps(n) * CELL * self.size(beat), indexing="ij")
        far = wide + GAP + 1.15 * self.apart(beat)
        return np.asarray(np.stack([np.full_like(y, -far), y, z + 0.12 + 0.08 * self.apart(beat)], -1) + np.array(self.foot))

    def c(self, beat: float) -> Floats:
        """Middles of the bases of C's cells, (m, n, 3)."""
        m, n, _ = self.cells
        x, y = np.meshgrid(_steps(m) * CELL * self.size(beat), -_steps(n) * CELL * self.size(beat), indexing="ij")
        return np.asarray(np.stack([x, y, np.zeros_like(x)], -1) + np.array(self.foot))

    def fallen(self, beat: float) -> float:
        """0..1, how far the products have come down into the sums."""
        return ramp(beat, self.falls, 1.1, leave)

    def draw(self, world: World, beat: float) -> None:
        stand, size = self.stand(beat), self.size(beat)
        if stand > 0.02:
            near = 1.0 - self.apart(beat)
            for cells, extent in (
                (self.a(beat), (CELL * FILL * size, 0.07, TALL * FILL * stand)),
                (self.b(beat), (0.07, CELL * FILL * size, TALL * FILL * stand)),
            ):
                middle = cells.reshape(-1, 3)
                colour = mix(mix(PLATE, MEMORY, 0.8), MEMORY, near)
                world.add(Boxes.of(middle - np.array(extent) / 2, extent, colour, 0.35 + 0.3 * near, 0.6, shadow=0.0))
        self._sums(world, beat, size)
        self._products(world, beat)

    def _sums(self, world: World, beat: float, size: float) -> None:
        base, warm = self.c(beat).reshape(-1, 3), ramp(beat, self.falls + 0.7, 0.4)
        edge, tall = CELL * FILL * size, (0.04 + 0.12 * ramp(beat, self.falls + 0.7, 0.5, overshoot)) * size
        colour = mix(mix(STEEL, QUIET, 0.1), COMPUTE, warm)
        world.add(Boxes.of(base - (edge / 2, edge / 2, 0.0), (edge, edge, tall), colour, 0.4 * warm, 0.9, shadow=0.4))

    def _products(self, world: World, beat: float) -> None:
        """k layers of m x n products, drawn as strips along n."""
        fallen, (m, _, k) = self.fallen(beat), self.cells
        if beat < self.meet - 1e-6 or fallen > 0.97:
            return
        burst = ramp(beat, self.meet, 0.25, overshoot)
        (_, deep), left = self.reach(beat), 1.0 - fallen
        x, z = np.meshgrid(_steps(m) * CELL, (np.arange(k) + 0.5) * TALL * left, indexing="ij")
        size = np.array([CELL * FILL * burst, 2 * deep * burst, max(TALL * 0.6 * left, 0.004)])
        at = np.stack([x, np.zeros_like(x), z + 0.18], -1).reshape(-1, 3) + np.array(self.foot)
        world.add(Boxes.of(at - size / 2, size, mix(PLATE, COMPUTE, 0.8), 0.3, 0.6, shadow=0.0, alpha=0.8))


@dataclass(slots=True)
class WarpLanes:
    """The lanes of `warps` warps in front of it, a row each; on each beat of `fires` all of them are at work at once.

    From beat `single` on each of the last warp's lanes, the nearest row, holds one product of its own: what an FMA instruction
    makes, at the block's own scale, where a cell may stand for `per_cell` values along m and n.  `stand` 1 to 0 sinks them.
    """

    foot: Vector
    warps: int
    thread: int
    fires: tuple[float, ...]
    single: float
    stand: Track
    per_cell: tuple[float, float] = (1.0, 1.0)

    def x(self) -> Floats:
        """Middles of the lanes, (32,)."""
        return np.asarray(self.foot[0] + _steps(LANES) * PITCH)

    def heat(self, beat: float) -> float:
        return max(ramp(beat, fire - 0.12, 0.12) * (1.0 - ramp(beat, fire + 0.6, 1.0)) for fire in self.fires)

    def tall(self, beat: float) -> float:
        return (LOW + (HIGH - LOW) * self.heat(beat)) * self.stand(beat)

    def seat(self, beat: float) -> Vector:
        """Where the cube of the followed lane stands."""
        return float(self.x()[self.thread]), self.foot[1] + FRONT, self.foot[2] + max(0.0, self.tall(beat) - LANE)

    def draw(self, world: World, beat: float) -> None:
        tall, heat = self.tall(beat), self.heat(beat)
        if tall < 0.01:
            return
        x, far = np.tile(self.x(), self.warps), ROW * np.repeat(np.arange(self.warps), LANES)  # behind the nearest row
        at = np.column_stack([x, self.foot[1] + FRONT + far, np.full(len(x), self.foot[2])])
        high = np.where(np.arange(len(x)) != self.thread, tall, max(tall - LANE - 0.01, 0.0))
        some, near = high > 0.005, at[:LANES]
        size = np.column_stack([np.full((len(x), 2), LANE), high])
        colour = mix(mix(STEEL, QUIET, 0.34), COMPUTE, heat)
        world.add(Boxes.of((at - (LANE / 2, LANE / 2, 0.0))[some], size[some], colour, 0.4 * heat, 0.7))
        product = ramp(beat, self.single - 0.05, 0.3, overshoot) * self.stand(beat)
        if product > 0.02:
            along_m, along_n = self.per_cell
            edge = np.array([CELL * FILL / along_m, CELL * FILL / along_n, TALL * FILL]) * product
            over = tall + 0.12 + 0.16 * ramp(beat, self.single + 0.4, 0.6)
            world.add(Boxes.of(near + np.array([0.0, 0.0, over]) - edge / 2, edge, COMPUTE, 0.5, 0.8, shadow=0.3))


@dataclass(slots=True)
class Equal:
    """As many FMA instructions of a warp as make the FLOP of one tensor instruction: outlines on the floor, right of its sums.

    They come column by column, one on each of `beats`, all there after the last; up to `EQUALS` x `EQUALS` are drawn, so that
    an outline may stand for several.  Arithmetic of the shapes: no rate and no time is in it.
    """

    foot: Vector
    shape: Instruction
    beats: tuple[float, ...]

    @property
    def count(self) -> int:
        """FMA instructions in all."""
        return self.shape.flop // FMA_FLOP

    def drawn(self, beat: float) -> int:
        """Outlines that are there, fully or on their way."""
        share = sum(at - SOON <= beat for at in self.beats) / len(self.beats)
        return round(share * min(self.count, EQUALS * EQUALS))

    def counted(self, beat: float) -> int:
        """FMA instructions that the outlines stand for."""
        return self.drawn(beat) * self.count // min(self.count, EQUALS * EQUALS)

    def words(self, shown: Callable[[float], float]) -> list[Text]:
        """The count; that it is as much work only once it is."""

        def full(beat: float) -> float:
            return shown(beat) * ramp(beat, self.beats[-1], 0.3)

        style = NUMBER.coloured(COMPUTE)
        return [
            Text(lambda beat: f"{self.counted(beat)} of {self.count} FMA", style, 1824, 372, "right", shown, kind="clock"),
            Text(f"as many FLOP as one {self.shape.name}", SMALL, 1824, 422, "right", full),
            Text("by their shapes, no rate", SMALL, 1824, 464, "right", full),
        ]

    def draw(self, world: World, beat: float) -> None:
        count = self.drawn(beat)
        if not count:
            return
        column, row = np.divmod(np.arange(count), EQUALS)
        began = max(at for at in self.beats if at - SOON <= beat) - SOON
        new = column >= self.drawn(began - 1e-6) // EQUALS
        drop = np.where(new, 0.7 * (1.0 - ramp(beat, began, 0.3, arrive)), 0.0)
        low = np.column_stack([column * EQUAL[0] + 1.9, row * EQUAL[1] - 2.0, drop + 0.02]) + np.array(self.foot)
        wide, deep = EQUAL[0] * 0.8, EQUAL[1] * 0.72
        ring = np.array([(0.0, 0.0, 0.0), (wide, 0.0, 0.0), (wide, deep, 0.0), (0.0, deep, 0.0)])
        ends = np.roll(ring, -1, axis=0)
        glow = np.repeat(np.where(new, 1.0 - 0.6 * ramp(beat, began + 0.2, 0.7), 0.4), 4)
        a, b = ((low[:, None] + side).reshape(-1, 3) for side in (ring, ends))
        world.add(Ribbons.of(a, b, 0.045, mix(STEEL, COMPUTE, 0.85), 0.9, glow))


@dataclass(slots=True)
class Card:
    """An instruction: a plate that falls on all lanes at once and lands on its beat; its words stand on its face."""

    lanes: WarpLanes
    beat: float
    text: str
    ahead: float = 1.2  # beats before it lands that it comes into sight
    stays: float = 0.9  # beats after it
    before: float = 0.0  # how far before the lanes it falls: their front is then free to be seen, and what stands behind them

    def shown(self, beat: float) -> float:
        return ramp(beat, self.beat - self.ahead, self.ahead / 3) * (1.0 - ramp(beat, self.beat + self.stays, 0.5))

    def base(self, beat: float) -> float:
        floor = self.lanes.foot[2] + (0.02 if self.before else HIGH + 0.03)
        return floor + 0.55 * (1.0 - ramp(beat, self.beat - 0.3, 0.3, lambda u: u * u))

    def words(self, beat: float) -> Vector:
        """Middle of the baseline of what it says."""
        return self.lanes.foot[0], self.lanes.foot[1] + FRONT - LANE - self.before, self.base(beat) + 0.09

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        Signs([(TextPlane.standing(self.text, CODE, self.words(beat), 0.15, 0.0, "centre"), self.shown)]).draw(world, beat)
        if shown > 0.01:
            wide = LANES * PITCH
            corner = (self.lanes.foot[0] - wide / 2, self.lanes.foot[1] + FRONT - LANE - self.before + 0.01, self.base(beat))
            world.add(Boxes.of(corner, (wide, 2 * LANE, 0.34), mix(STEEL, PLATE, 0.35), edge=1.2, alpha=0.95 * shown))


def labels(tensor: Tensor, apart: Value, shown: Value) -> list[Text]:
    """The shapes: over A and over B while they are apart, right of the floor of sums for as long as it is `shown`."""

    def over(wall: Callable[[float], Floats], row: Callable[[Floats], Floats]) -> Callable[[float], Vector]:
        def at(beat: float) -> Vector:
            x, y, z = row(wall(beat)).mean(0)
            return float(x), float(y), float(z) + TALL

        return at

    m, n, k = tensor.shape.m, tensor.shape.n, tensor.shape.k
    wide, deep = tensor.reach(0.0)
    x, y, z = tensor.foot
    style = SMALL.coloured(TEXT)
    return [
        Text(f"A  {m} × {k}", style, 0, -18, "centre", apart, over(tensor.a, lambda cells: cells[:, -1]), yields=True),
        Text(f"B  {k} × {n}", style, 0, -18, "centre", apart, over(tensor.b, lambda cells: cells[-1]), yields=True),
        Text(f"C  {m} × {n}", style, 20, 10, "left", shown, (x + wide, y + deep, z), yields=True),
    ]


def arithmetic(tensor: Tensor, starts: float, single: float, ends: float) -> list[Text]:
    """What one instruction is, left; what it multiplies and adds, counted as its tiles meet, and what an FMA does, right.

    From beat `starts`, the FMA from `single`, all until `ends`; in design pixels.
    """
    shape, meet = tensor.shape, tensor.meet
    shown, done = window(starts, ends), window(meet + 0.15, ends, 0.3)
    beside, fair = window(single, ends, 0.25), window(single + 1.0, ends, 0.4)
    who = "one warp" if shape.warps == 1 else f"{shape.warps} warps"
    drawn = max(shape.m, shape.n) > max(tensor.cells)
    cells = " × ".join(str(a // b) for a, b in zip((shape.m, shape.n), tensor.cells[:2], strict=True))
    alone = FMA_FLOP * shape.warps  # the same warps, an FMA each: what the one instruction is set against
    times = f"{shape.flop // alone:,}".replace(",", " ")
    fma = "in one FMA of a warp" if shape.warps == 1 else "in an FMA of each warp"  # fp32, as its card says

    def counted(beat: float) -> str:
        return f"{round(shape.flop * ramp(beat, meet, 1.0, arrive)):,} FLOP".replace(",", " ")

    lines: list[tuple[str, Style, float, float, Align, Value]] = [
        (f"{shape.name} {shape.shape}", FACT, 96, 262, "left", shown),
        (f"{shape.lanes} lanes of {who}", SMALL, 96, 308, "left", shown),
        ("issue it together", SMALL, 96, 350, "left", shown),
        (f"a cell of C: {cells} sums" if drawn else "", SMALL, 96, 392, "left", shown),
        ("in one instruction", SMALL, 1824, 310, "right", done),
        (f"{alone} FLOP", NUMBER.sized(64), 1824, 394, "right", beside),
        (fma, SMALL, 1824, 442, "right", beside),
        (f"× {times} the work,", FACT, 1824, 506, "right", fair),
        ("though it takes longer", SMALL.coloured(TEXT), 1824, 550, "right", fair),
    ]
    texts = [Text(words, style, x, y, align, seen) for words, style, x, y, align, seen in lines]
    return [*texts, Text(counted, NUMBER.sized(64).coloured(COMPUTE), 1824, 262, "right", done, kind="clock")]


def _steps(count: int) -> Floats:
    return np.asarray(np.arange(count) - (count - 1) / 2)
