"""Tiles of K and V come from DRAM past a tile of Q on an SM; of each row only a running max, a running sum and O stay.

Laid out as a product is: the scores stand where the rows of Q meet the columns of K^T, the output where the rows of weights
meet the columns of V.  All heights and lengths are those of the example's online softmax (scenes/props/attention.Example).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scenes.props.attention import BAND, CELLS, K_Y, ROWS, SIDE, TILE, V_Y, VALUES, Example, middle
from scenes.props.cube import Vector
from scenes.props.signs import Sign
from scenes.stage.keys import arrive, leave, overshoot, ramp, smooth
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]

TOP, SHELF = 1.2, 0.1  # of the SM's floor; thickness of what lies on it
LEFT, RIGHT, NEAR, FAR = -8.9, 7.9, -23.5, -14.4  # the SM's walls
PITCH, EDGE = 0.84, 0.66  # from value to value, and the edge of one
Q_X, S_X, O_X, ROW_Y, SLOT_Y = -5.9, -1.7, 5.5, -20.9, -16.7  # middles of the tiles; K and V come to SLOT_Y
BARS, BAR, THIN = (0.55, 2.1), 1.3, 0.46  # left ends of the bars of max and of sum, beside each other; length, depth
GAP, PLACES = 3.7, 2  # from tile to tile as they queue, and how many places there are before the slot
HIT, SHRINK, ADD, DROP = 0.12, 0.15, 0.45, 0.85  # beats from a tile's landing: scores stand, rescaled, added, thrown away
HIGH = 0.95  # of a weight of 1, and of an output of 1
STEPS = CELLS // TILE


def grid(x: float, y: float, rows: int, columns: int) -> Floats:
    """Middles of a tile's values, (rows, columns, 2): rows come towards the observer."""
    down, along = (PITCH * (np.arange(n) - (n - 1) / 2) for n in (rows, columns))
    y_, x_ = np.meshgrid(y - down, x + along, indexing="ij")
    return np.stack([x_, y_], -1)


@dataclass(slots=True)
class KeyStream:
    """`lands` are the beats on which each of STEPS tiles of keys lands; Q comes by the first; at `leaves` O flies to `goal`."""

    lands: Sequence[float]
    leaves: float
    goal: Vector
    hero: int
    example: Example
    top: Floats = field(init=False)  # (STEPS + 1, ROWS): m after each tile, the least score before the first
    total: Floats = field(init=False)  # (STEPS + 1, ROWS): l
    out: Floats = field(init=False)  # (STEPS + 1, ROWS, VALUES): the output times l

    def __post_init__(self) -> None:
        states = [self.example.online(BAND + row) for row in range(ROWS)]
        least = float(self.example.scores[BAND : BAND + ROWS].min())
        self.top = np.vstack([np.full(ROWS, least), np.stack([state[0] for state in states], 1)])
        self.total = np.vstack([np.zeros(ROWS), np.stack([state[1] for state in states], 1)])
        out = np.stack([state[1][:, None] * state[2] for state in states], 1)
        self.out = np.concatenate([np.zeros((1, ROWS, VALUES)), out])

    # ---- what is kept -------------------------------------------------------------------------------------------------

    def running(self, beat: float) -> tuple[Floats, Floats, Floats]:
        """m, l (ROWS,) and O times l (ROWS, VALUES): in a step first rescaled by exp(m_old - m_new), then added to."""
        top, total, out = self.top[0], self.total[0], self.out[0]
        for step, land in enumerate(self.lands):
            if beat <= land:
                break
            less, more = ramp(beat, land + HIT, SHRINK), ramp(beat, land + HIT + SHRINK, ADD - SHRINK - HIT, arrive)
            shrunk = 1.0 + (np.exp(self.top[step] - self.top[step + 1]) - 1.0) * less
            top = self.top[step] + (self.top[step + 1] - self.top[step]) * less
            total = self.total[step] * shrunk
            total = total + (self.total[step + 1] - total) * more
            out = self.out[step] * shrunk[:, None]
            out = out + (self.out[step + 1] - out) * more
        return top, total, out

    def bars(self, beat: float) -> tuple[Floats, Floats]:
        """Lengths of the bars of max and sum, world units, (ROWS,) each."""
        top, total, _ = self.running(beat)
        return BAR * (top - self.top[0]) / (self.top.max() - self.top[0]), BAR * total / self.total.max()

    def scores(self, beat: float) -> tuple[Floats, float]:
        """Weights exp(s - m) of the tile that is there, (ROWS, TILE), and how much of it stands, 0..1."""
        for step, land in enumerate(self.lands):
            if land - HIT <= beat < land + DROP:
                stands = ramp(beat, land - HIT, HIT, overshoot) * (1.0 - ramp(beat, land + ADD, DROP - ADD, leave))
                part = self.example.scores[BAND : BAND + ROWS, step * TILE : (step + 1) * TILE]
                return np.asarray(np.exp(part - self.top[step + 1][:, None])), stands
        return np.zeros((ROWS, TILE)), 0.0

    def work(self, beat: float) -> float:
        """How much a step is going on, 0..1."""
        return max((ramp(beat, t - HIT, HIT) * (1.0 - ramp(beat, t + ADD, DROP - ADD)) for t in self.lands), default=0.0)

    # ---- on its way ---------------------------------------------------------------------------------------------------

    def tile(self, which: int, name: str, beat: float) -> tuple[Vector, float]:
        """Middle of a tile's base and its scale: leaving DRAM, queueing, in its slot; 0 where the next one overwrote it."""
        lane, row = (S_X, K_Y) if name == "K" else (O_X, V_Y)
        first = self.lands[which] - PLACES - 1.0
        u = ramp(beat, first, 1.0, smooth)
        home = ((which * TILE + (TILE - 1) / 2 - (CELLS - 1) / 2) * SIDE / CELLS, row, 0.52)
        hops = sum(ramp(beat, first + 1.4 + k, 0.6, smooth) for k in range(PLACES))
        into = ramp(beat, self.lands[which] - 0.5, 0.5, leave)
        end = (lane, SLOT_Y + GAP * (PLACES - hops), TOP + SHELF + 1.5 * (1.0 - into))
        x, y, z = (a + (b - a) * u for a, b in zip(home, end, strict=True))
        over = self.lands[which + 1] - 0.35 if which + 1 < STEPS else self.leaves - 0.1
        scale = (0.25 + 0.75 * u) * (1.0 - ramp(beat, over, 0.3))
        return (x, y, z + 1.6 * float(np.sin(np.pi * u))), scale if u > 0.0 else 0.0

    def came(self, beat: float) -> float:
        """How far Q has come from beside its rows of the wall, 0..1."""
        return ramp(beat, self.lands[0] - 1.9, 1.4, smooth)

    def seat(self, beat: float) -> Vector:
        """Where the thread stands: beside its row of the wall, before its row of Q, with its output in DRAM."""
        x, _, z = middle(BAND + self.hero, -1.6)
        row = float(grid(Q_X, ROW_Y, ROWS, 1)[self.hero, 0, 1])
        spots = [(x, -0.42, z - 0.2), (Q_X - 2.35, row, TOP), (O_X + 2.3, row, TOP), (self.goal[0] + 1.3, *self.goal[1:])]
        moves = (self.came(beat), ramp(beat, self.leaves - 1.1, 1.0), self.away(beat))
        at = np.array(spots[0])
        for spot, u, hop in zip(spots[1:], moves, (3.0, 2.2, 5.0), strict=True):
            at = at + (np.array(spot) - at) * u + (0.0, 0.0, hop * np.sin(np.pi * u))
        return float(at[0]), float(at[1]), float(at[2])

    def away(self, beat: float) -> float:
        """How far the output is on its way to DRAM, 0..1."""
        return ramp(beat, self.leaves, 1.25, smooth)

    # ---- the picture --------------------------------------------------------------------------------------------------

    def draw(self, world: World, beat: float) -> None:
        self._floor(world)
        self._query(world, beat)
        self._tiles(world, beat)
        self._scores(world, beat)
        self._bars(world, beat)
        self._output(world, beat)

    def _floor(self, world: World) -> None:
        world.add(Boxes.of((LEFT, NEAR, 0.0), (RIGHT - LEFT, FAR - NEAR, TOP), mix(PLATE, STEEL, 0.6), edge=1.0))
        spots = [(Q_X, ROW_Y, VALUES, ROWS), (S_X, SLOT_Y, TILE, VALUES), (O_X, SLOT_Y, VALUES, TILE)]
        spots += [(S_X, ROW_Y, TILE, ROWS), (O_X, ROW_Y, VALUES, ROWS)]
        at = np.array([spot[:2] for spot in spots])
        size = np.array([spot[2:] for spot in spots]) * PITCH + 0.2
        shelf = np.array([SHELF] * 3 + [SHELF / 2] * 2)
        colour = np.array([mix(PLATE, MEMORY, 0.22)] * 3 + [mix(PLATE, STEEL, 0.25)] * 2)
        origin = np.column_stack([at - size / 2, np.full(len(at), TOP)])
        world.add(Boxes.of(origin, np.column_stack([size, shelf]), colour, 0.02, 0.9, shadow=0.3))

    def _query(self, world: World, beat: float) -> None:
        """A flat tile of Q; before that four bars beside the wall's rows."""
        u, shown = self.came(beat), ramp(beat, self.lands[0] - 2.9, 0.8)
        if shown <= 0.02:
            return
        there = grid(Q_X, ROW_Y, ROWS, VALUES)
        here = np.array([[(middle(BAND + row, -2.4 + 0.55 * c)) for c in range(VALUES)] for row in range(ROWS)])
        at = here + (np.concatenate([there, np.full((ROWS, VALUES, 1), TOP + SHELF)], -1) - here) * u
        at[..., 2] += 2.0 * np.sin(np.pi * u)
        edge = (0.38 + (EDGE - 0.38) * u) * shown
        flat = at.reshape(-1, 3) - (edge / 2, edge / 2, 0.0)
        lit = 0.2 + 0.2 * self.work(beat)
        world.add(Boxes.of(flat, (edge, edge, 0.34 * shown), mix(PLATE, MEMORY, 0.7), lit, 0.8, 0.5))

    def _tiles(self, world: World, beat: float) -> None:
        places, edges = [], []
        for which in range(STEPS):
            for name, shape in (("K", (VALUES, TILE)), ("V", (TILE, VALUES))):
                (x, y, z), scale = self.tile(which, name, beat)
                if scale > 0.04:
                    flat = grid(0.0, 0.0, *shape).reshape(-1, 2) * scale + (x, y)
                    places.append(np.column_stack([flat, np.full(len(flat), z)]))
                    edges.append(np.full(len(flat), EDGE * scale))
        if places:
            at, edge = np.concatenate(places), np.concatenate(edges)
            origin = at - np.column_stack([edge / 2, edge / 2, np.zeros(len(edge))])
            world.add(Boxes.of(origin, np.column_stack([edge, edge, 0.52 * edge]), mix(PLATE, MEMORY, 0.76), 0.28, 0.8, 0.6))
        hot = self.work(beat)
        if hot > 0.02:
            rows, z = grid(Q_X, ROW_Y, ROWS, 1)[:, 0, 1], TOP + 0.62
            a = np.column_stack([np.full(ROWS, Q_X), rows, np.full(ROWS, z)])
            b = a + np.array([S_X - Q_X + PITCH * TILE / 2, 0.0, 0.0])
            columns = np.concatenate([grid(S_X, 0.0, 1, TILE)[0, :, 0], grid(O_X, 0.0, 1, VALUES)[0, :, 0]])
            c = np.column_stack([columns, np.full(len(columns), SLOT_Y), np.full(len(columns), z)])
            d = c + np.array([0.0, ROW_Y - PITCH * ROWS / 2 - SLOT_Y, 0.0])
            world.add(Ribbons.of(np.concatenate([a, c]), np.concatenate([b, d]), 0.08, MEMORY, 0.7 * hot, 0.5 * hot))

    def _scores(self, world: World, beat: float) -> None:
        weights, stands = self.scores(beat)
        if stands <= 0.02:
            return
        at, weight = grid(S_X, ROW_Y, ROWS, TILE).reshape(-1, 2), weights.ravel()
        origin = np.column_stack([at - EDGE / 2, np.full(len(at), TOP + SHELF / 2)])
        size = np.column_stack([np.full((len(at), 2), EDGE), (0.08 + HIGH * weight) * stands])
        colour = np.array(PLATE) + (np.array(COMPUTE) - np.array(PLATE)) * (0.5 + 0.4 * weight)[:, None]
        world.add(Boxes.of(origin, size, colour, 0.14 + 0.3 * weight * stands, 0.8, 0.5))

    def _bars(self, world: World, beat: float) -> None:
        rows = grid(0.0, ROW_Y, ROWS, 1)[:, 0, 1]
        for left, colour, long, glow in zip(BARS, (mix(STEEL, TEXT, 0.3), COMPUTE), self.bars(beat), (0.1, 0.3), strict=True):
            track = np.column_stack([np.full(ROWS, left), rows - THIN / 2, np.full(ROWS, TOP)])
            world.add(Boxes.of(track, (BAR, THIN, 0.04), mix(PLATE, STEEL, 0.1), 0.0, 0.5, 0.0))
            full = long > 0.01
            size = np.column_stack([long[full], np.full((int(full.sum()), 2), (THIN, 0.3))])
            world.add(Boxes.of(track[full] + (0.0, 0.0, 0.04), size, mix(PLATE, colour, 0.85), glow, 0.7, 0.4))

    def output(self, beat: float) -> Floats:
        """Heights of the output's values: what is summed so far over the l that it is divided by at the end, (ROWS, VALUES)."""
        return np.asarray(self.running(beat)[2] / self.total[-1][:, None] * HIGH)

    def _output(self, world: World, beat: float) -> None:
        """Amber while it is summed up; cyan once it has come to DRAM, where it is written once."""
        fly, high = self.away(beat), self.output(beat).ravel()
        if high.max() < 0.01:
            return
        shrink = 1.0 - 0.6 * fly
        at = np.array((O_X, ROW_Y)) + (np.array(self.goal[:2]) - (O_X, ROW_Y)) * fly
        flat = grid(0.0, 0.0, ROWS, VALUES).reshape(-1, 2) * shrink + at
        low = TOP + SHELF / 2 + (self.goal[2] - TOP - SHELF / 2) * fly + 4.0 * float(np.sin(np.pi * fly))
        edge = EDGE * shrink
        origin = np.column_stack([flat - edge / 2, np.full(len(flat), low)])
        size = np.column_stack([np.full((len(flat), 2), edge), np.maximum(high * shrink, 0.02)])
        warm, data = mix(PLATE, COMPUTE, 0.72), mix(PLATE, MEMORY, 0.8)  # by way of grey: what lies between them is green
        colour = mix(warm, STEEL, 2.0 * fly) if fly < 0.5 else mix(STEEL, data, 2.0 * fly - 1.0)
        world.add(Boxes.of(origin, size, colour, 0.22, 0.8, 0.5 * (1.0 - fly)))


def names(shown: Callable[[float], float]) -> list[Sign]:
    """What comes, what is made and what stays, upright at each tile's left front; max and sum well apart."""
    quiet, blue = CODE.coloured(mix(QUIET, TEXT, 0.5)), CODE.coloured(mix(MEMORY, TEXT, 0.35))
    front, back = ROW_Y - PITCH * ROWS / 2 - 0.12, ROW_Y + PITCH * ROWS / 2 + 0.3
    spots = [
        ("Q", Q_X, front, blue), ("scores", S_X, front, quiet), ("output", O_X, front, quiet),
        ("K", S_X - PITCH * TILE / 2 - 0.5, SLOT_Y, blue), ("V", O_X - PITCH * VALUES / 2 - 0.5, SLOT_Y, blue),
        ("max", BARS[0] + BAR / 2, back, quiet), ("sum", BARS[1] + BAR / 2, back, CODE.coloured(COMPUTE)),
    ]  # fmt: skip
    signs: list[Sign] = [
        (TextPlane.lying(words, style, (x, y - 0.55, TOP + 0.02), 0.5, align="centre"), shown)
        if y == front
        else (TextPlane.standing(words, style, (x, y, TOP + (0.3 if y == back else 0.02)), 0.5, align="centre"), shown)
        for words, x, y, style in spots
    ]
    return [*signs, (TextPlane.standing("SM", quiet, (LEFT + 0.4, NEAR - 0.02, 0.35), 0.6), shown)]
