"""Attention as a picture: the square of scores as a wall of cells, and the tiles of it that a fused kernel makes and forgets.

The cells' values are a small seeded example; the maximum, the sum and the output that run along are its online softmax
(Milakov and Gimelshein 2018, https://arxiv.org/abs/1805.02867; Dao et al. 2022, https://arxiv.org/abs/2205.14135).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Vector
from scenes.props.signs import Sign
from scenes.stage.keys import leave, overshoot, ramp
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]

CELLS, TILE, ROWS = 24, 3, 4  # cells of the wall's side; keys and queries of a tile
PITCH, EDGE, DEEP = 0.44, 0.38, 0.3
LOW = 0.5  # z of the wall's lowest cells
BAND = 16  # first row, from the top, of the queries that are followed: a whole number of bands of ROWS
HERO = BAND + 1
K_Y, V_Y, PLACE_Y = -2.2, -3.3, -5.6  # y of K, of V and of the square's place in DRAM
RACE_Y = (-8.9, -10.5, -12.1)  # y of the bars of the race
SIDE = CELLS * PITCH
RACE_X, RACE = -4.2, 1.3 * SIDE  # where they begin, and the length of the longest
VALUES = 4  # of a key, a query and an output, in the example


@dataclass(frozen=True, slots=True)
class Example:
    """One head with 24 queries and keys of 4 values: scores (24, 24) and V (24, 4)."""

    scores: Floats
    v: Floats

    @classmethod
    def seeded(cls) -> Example:
        random = np.random.default_rng(42)
        q, k = random.normal(size=(2, CELLS, VALUES))
        return cls(1.4 * q @ k.T / VALUES**0.5, random.uniform(0.2, 1.0, (CELLS, VALUES)))

    def weights(self) -> Floats:
        """Softmax of each row over its largest weight, 0..1, (24, 24)."""
        return np.asarray(np.exp(self.scores - self.scores.max(1, keepdims=True)))

    def online(self, row: int) -> tuple[Floats, Floats, Floats]:
        """Running maximum (8,), sum (8,) and normalised output (8, 4) of a query after each tile of keys."""
        maxima, sums, outputs = [], [], []
        top, total, out = -np.inf, 0.0, np.zeros(VALUES)
        for first in range(0, CELLS, TILE):
            s = self.scores[row, first : first + TILE]
            new = max(top, float(s.max()))
            old, p = np.exp(top - new), np.exp(s - new)
            total, out, top = total * old + p.sum(), out * old + p @ self.v[first : first + TILE], new
            maxima.append(top)
            sums.append(total)
            outputs.append(out / total)
        return np.array(maxima), np.array(sums), np.array(outputs)


@dataclass(frozen=True, slots=True)
class Beats:
    """When what happens: the wall is whole, pours, is refused, dissolves; each tile of keys arrives; whether a race follows."""

    whole: float
    pours: float
    refused: float
    dissolves: float
    tiles: tuple[float, ...]
    raced: bool = True

    def cleared(self, beat: float) -> float:
        """How far the scene behind the race has stepped back, 0..1: from half a beat after the last tile."""
        return ramp(beat, self.tiles[-1] + 0.5, 1.0) * self.raced


def middle(row: float, column: float) -> Vector:
    """Middle of a cell of the wall."""
    return (column - (CELLS - 1) / 2) * PITCH, 0.0, LOW + (CELLS - 0.5 - row) * PITCH


@dataclass(slots=True)
class Wall:
    """The square of scores: it grows, its first rows pour to their place in DRAM, a gate stops them, all of it dissolves."""

    times: Beats
    example: Example

    def row_leaves(self) -> Floats:
        """Beat at which each cell starts to pour, (24, 24): row by row from the top, twelve rows before the gate stands."""
        row, column = np.mgrid[0:CELLS, 0:CELLS]
        pace = (self.times.refused - self.times.pours) / 12
        return np.asarray(self.times.pours + pace * (row + 0.6 * column / CELLS))

    def dies(self) -> Floats:
        """Beat at which each cell begins to go, (24, 24): from the upper right corner on."""
        row, column = np.mgrid[0:CELLS, 0:CELLS]
        return np.asarray(self.times.dissolves + 2.6 * (CELLS - 1 - column + row) / (2 * CELLS))

    def standing(self, beat: float) -> Floats:
        """Size of each cell, 0..1, (24, 24)."""
        row, column = np.mgrid[0:CELLS, 0:CELLS]
        born = self.times.whole - 6.0 + 5.5 * (column + 0.35 * (CELLS - row)) / (1.35 * CELLS)
        grown = _ramps(beat - born, 0.45)
        return np.asarray(grown * (1.0 - _ramps(beat - self.dies(), 0.4)))

    def draw(self, world: World, beat: float) -> None:
        size, leaves = self.standing(beat), self.row_leaves()
        pouring = leaves < self.times.refused - 0.7
        u = np.where(pouring, _ramps(beat - leaves, 0.9), 0.0)
        refused = ramp(beat, self.times.refused + 0.1, 0.8, leave)  # what came through is dropped with the rest
        size = np.where(u > 0.0, size * (1.0 - refused), size)
        cold = _ramps(beat - self.dies() + 0.9, 0.9)  # what nobody will store is no work: grey before it goes
        on = size > 0.03
        row, column = np.mgrid[0:CELLS, 0:CELLS]
        x = (column - (CELLS - 1) / 2) * PITCH
        z = LOW + (CELLS - 0.5 - row) * PITCH
        y = np.where(u > 0.0, (PLACE_Y + 1.2 - 0.21 * row) * u, 0.0)
        z = z * (1.0 - u) + 0.2 * u + 1.6 * np.sin(np.pi * u) + 0.9 * refused * (u > 0.0)
        z = z - 1.4 * _ramps(beat - self.dies(), 0.4) * (u == 0.0)  # it drops as it goes
        lit = self.example.weights() * (1.0 - cold)
        warm = np.array(PLATE) + (np.array(COMPUTE) - np.array(PLATE)) * (0.24 + 0.62 * lit)[..., None]
        warm = warm + (np.array(mix(PLATE, STEEL, 0.8)) - warm) * np.maximum(cold, np.clip(5.0 * u, 0.0, 1.0))[..., None]
        blue = np.clip(5.0 * u - 1.0, 0.0, 1.0)  # data as soon as it is off the wall; by way of grey: between the two is green
        colour = warm + (np.array(mix(PLATE, MEMORY, 0.7)) - warm) * blue[..., None]
        edge = np.stack([EDGE * size, (DEEP * (1 - u) + 0.16 * u) * size, (EDGE * (1 - u) + 0.1 * u) * size], -1)
        at = np.stack([x, y, z], -1)
        glow = (0.06 * (1.0 - cold) + 0.34 * lit * (1.0 - u))[on]
        world.add(Boxes.of((at - edge / 2)[on], edge[on], colour[on], glow, 0.6, shadow=0.25))
        self._frame(world, beat)
        self._gate(world, beat)

    def _frame(self, world: World, beat: float) -> None:
        """The outline of a square that is not there."""
        shown, half = ramp(beat, self.times.dissolves, 1.5) * (1.0 - self.times.cleared(beat)), SIDE / 2
        corners = np.array([(-half, 0, LOW), (half, 0, LOW), (half, 0, LOW + SIDE), (-half, 0, LOW + SIDE)])
        if shown > 0.01:
            world.add(Ribbons.of(corners, np.roll(corners, -1, 0), 0.05, QUIET, 0.55 * shown))

    def _gate(self, world: World, beat: float) -> None:
        """Before the square's place in DRAM: up on its beat, down again once nothing is left to stop."""
        up = ramp(beat, self.times.refused - 0.3, 0.3, overshoot) * (1.0 - ramp(beat, self.times.dissolves + 2.4, 0.6))
        if up > 0.01:
            at = (-SIDE / 2 - 0.3, (V_Y + PLACE_Y) / 2 + 0.3, 0.1)
            world.add(Boxes.of([at], (SIDE + 0.6, 0.14, 1.3 * up), mix(STEEL, TEXT, 0.4), 0.05, 1.2))


@dataclass(slots=True)
class Dram:
    """K and V where they lie, before the square's place; the rows of the queries that are followed are marked on the wall."""

    times: Beats

    def draw(self, world: World, beat: float) -> None:
        half = SIDE / 2
        world.add(Boxes.of([(-half - 1.6, PLACE_Y - 1.6, 0.0)], (SIDE + 2.1, 6.1, 0.08), mix(PLATE, MEMORY, 0.08), 0.0, 0.7))
        columns = (np.arange(CELLS // TILE) * TILE + (TILE - 1) / 2 - (CELLS - 1) / 2) * PITCH
        size = np.array([TILE * PITCH - 0.12, 0.62, 0.42])
        bright = 1.0 - 0.7 * self.times.cleared(beat)
        for y in (K_Y, V_Y):
            at = np.column_stack([columns, np.full(len(columns), y), np.full(len(columns), 0.31)])
            world.add(Boxes.of(at - size / 2, size, mix(PLATE, MEMORY, 0.6 * bright), 0.2 * bright, 0.8))
        shown = ramp(beat, self.times.tiles[0] - 2.9, 0.8) * (1.0 - self.times.cleared(beat))
        if shown > 0.02:
            a, b = np.array([middle(r, -0.5) for r in (BAND - 0.5, BAND + ROWS - 0.5)]), np.array([SIDE, 0.0, 0.0])
            world.add(Ribbons.of(a, a + b, 0.035, COMPUTE, 0.5 * shown, 0.2))


@dataclass(slots=True)
class Race:
    """Bars on the floor that grow at one speed from `start` on, each until its time is over; the longest takes `beats`.

    The last one is the fastest, and the brightest.
    """

    start: float
    beats: float
    shares: Callable[[], tuple[float, ...]]  # of the longest; asked only once they move
    y: tuple[float, ...] = RACE_Y

    def length(self, which: int, beat: float) -> float:
        """World units that a bar has grown to."""
        if beat <= self.start:
            return 0.0
        return RACE * min(self.shares()[which], (beat - self.start) / self.beats)

    def draw(self, world: World, beat: float) -> None:
        for which, y in enumerate(self.y):
            if (length := self.length(which, beat)) > 0.02:
                last, at = which == len(self.y) - 1, (RACE_X, y - 0.45, 0.02)
                world.add(
                    Boxes.of([at], (length, 0.9, 0.5), mix(PLATE, COMPUTE, 0.8 if last else 0.42), 0.34 if last else 0.12, 0.9)
                )

    def names(self, words: tuple[str, ...], shown: Callable[[float], float]) -> list[Sign]:
        """What each bar is the time of, upright at its beginning."""
        quiet = CODE.coloured(mix(QUIET, TEXT, 0.6))
        return [
            (TextPlane.standing(name, quiet, (RACE_X - 0.3, y - 0.3, 0.14), 0.36, align="right"), shown)
            for name, y in zip(words, self.y, strict=True)
        ]


def names(shown: Callable[[float], float], letters: Callable[[float], float]) -> list[Sign]:
    """DRAM left of it; K left of its row and V right of it, so that the two never meet."""
    blue = CODE.coloured(mix(MEMORY, TEXT, 0.35))
    left, right = -SIDE / 2, SIDE / 2
    return [
        (TextPlane.standing("DRAM", blue, (left - 1.75, K_Y - 0.5, 0.1), 0.8, align="right"), shown),
        (TextPlane.standing("K", blue, (left - 0.25, K_Y - 0.1, 0.1), 0.75, align="right"), letters),
        (TextPlane.standing("V", blue, (right + 0.25, V_Y - 0.1, 0.1), 0.75), letters),
    ]


def _ramps(since: Floats, over: float) -> Floats:
    """Smooth ramps, one for each element."""
    u = np.clip(since / over, 0.0, 1.0)
    return np.asarray(u * u * (3.0 - 2.0 * u))
