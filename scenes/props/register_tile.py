"""The sums that one thread keeps in registers, as a wall of cells: values come in at its left and its top, all products go in.

A step of k: the thread reads a value for each row and one for each column, and adds each product of two to a cell of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measure.records import Rung
from scenes.props.cube import Vector
from scenes.props.roofline import EMBER
from scenes.stage.keys import arrive, ramp
from scenes.stage.palette import COMPUTE, MEMORY, STEEL, TEXT, mix
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]
EDGE = 2.54  # the wall's longer edge, world units
GAP = 0.2  # of a cell's pitch
OUTLINE = (4, 4)  # rows and columns drawn where nobody says how many there are
AWAY = 2.6  # pitches from which a value comes
RUN = 0.8  # beats in which a step's products light up, row after row
ACROSS = 0.02  # beats by which a cell is later than its neighbour in the row


def tile_of(rung: Rung | None) -> tuple[int, int] | None:
    """Rows and columns of the outputs that one thread computes, from the constants it was built with; None where unknown."""
    if rung is None or not rung.builds:
        return None
    constants = dict(option[2:].split("=") for option in rung.builds[0].options if option.startswith("-D") and "=" in option)
    if "TM" not in constants:
        return None
    return int(constants["TM"]), int(constants["TN"]) if "TN" in constants else 1


@dataclass(frozen=True, slots=True)
class Step:
    """A step of k: its values are there on beat `reads`, its products are added from beat `adds` on."""

    reads: float
    adds: float


@dataclass(slots=True)
class RegisterTile:
    """The middle of the wall's left edge is at `place`; `opened` 0..1 unfolds the wall out of the thread's cube.

    `columns` is how many of its columns there are at a beat (a fraction is one that grows); `solid` how many of them are known
    from the file: the others are outlines.
    """

    tile: tuple[int, int]
    thread: Callable[[float], Vector]
    place: Callable[[float], Vector]
    opened: Callable[[float], float]
    columns: Callable[[float], float]
    steps: Sequence[Step]
    solid: int = 99

    @property
    def pitch(self) -> float:
        return EDGE / max(self.tile)

    def frame(self, beat: float) -> tuple[Vector, float, float]:
        """Centre, width and height of the wall at a beat, fully unfolded, world units: it grows to the right."""
        x, y, z = self.place(beat)
        wide = self.columns(beat) * self.pitch
        return (x + wide / 2, y, z), wide, self.tile[0] * self.pitch

    def draw(self, world: World, beat: float) -> None:
        opened = self.opened(beat)
        if opened <= 0.01:
            return
        (cx, y, cz), wide, high = self.frame(beat)
        pitch, count = self.pitch, max(1, int(np.ceil(self.columns(beat) - 1e-6)))
        grown = np.ones(count)
        grown[-1] = max(0.02, self.columns(beat) - count + 1)  # the newest column grows in place
        xs: Floats = cx - wide / 2 + (np.arange(float(count)) + 0.5) * pitch - (1.0 - grown) * pitch / 2
        zs: Floats = cz + high / 2 - (np.arange(float(self.tile[0])) + 0.5) * pitch
        source = np.array(self.thread(beat)) + np.array([0.0, 0.0, 0.26])

        def place(centres: Floats, size: Floats) -> tuple[Floats, Floats]:
            """Least corners and sizes of cubes (N, 3), as far as the wall is unfolded out of the thread."""
            at, edge = source + (centres - source) * opened, size * opened
            return at - edge / 2, edge

        rows, cols = np.repeat(np.arange(len(zs)), count), np.tile(np.arange(count), len(zs))
        heat, pop = self._worked(rows * RUN / self.tile[0] + cols * ACROSS, beat)
        edge: Floats = pitch * (1.0 - GAP) * (1.0 + 0.22 * pop)
        size = np.column_stack([edge * grown[cols], edge, edge])
        centres = np.column_stack([xs[cols], np.full(len(cols), y), zs[rows]])
        dark, lit = np.array(mix(STEEL, EMBER, 0.8)), np.array(COMPUTE)
        colour = dark + (lit - dark) * heat[:, None]
        corner, size = place(centres, size)
        known = cols < self.solid
        world.add(Boxes.of(corner, size, colour, 0.6 * heat * known, 0.9, False, np.where(known, 1.0, 0.28 + 0.36 * heat)))
        self._rays(world, source, (cx, y, cz), wide, high, opened)
        self._values(world, beat, xs, zs, y, place)

    def _worked(self, late: Floats, beat: float) -> tuple[Floats, Floats]:
        """How warm each cell (N,) is, 0..1, and how far it swells, when it is `late` beats later than the first: row by row."""
        heat, pop = np.full(len(late), 0.16), np.zeros(len(late))
        for step in self.steps:
            since = beat - step.adds - late
            hit = np.where(since >= 0.0, np.exp(-np.maximum(since, 0.0) / 0.5), np.clip(1.0 + since / 0.12, 0.0, 1.0))
            heat, pop = np.maximum(heat, 0.46 * (since >= 0.0) + 0.5 * hit), np.maximum(pop, hit)
        return heat, pop

    def _values(
        self,
        world: World,
        beat: float,
        xs: Floats,
        zs: Floats,
        y: float,
        place: Callable[[Floats, Floats], tuple[Floats, Floats]],
    ) -> None:
        """The cyan values of a step, from the left and from above: a row's goes in with its row, a column's with the last."""
        pitch, count = self.pitch, len(zs)
        for step in self.steps:
            there = ramp(beat, step.reads - 0.75, 0.75, arrive)
            begins = [step.adds + RUN * k / count for k in range(count)]
            gone = np.array([ramp(beat, begin, 0.4) for begin in begins] + [ramp(beat, begins[-1], 0.4)] * len(xs))
            if there <= 0.0 or gone.min() >= 1.0:
                continue
            far = pitch * (0.5 + AWAY * (1.0 - there) + 0.75 - 0.7 * gone)
            left = np.column_stack([xs[0] - far[:count], np.full(count, y), zs])
            above = np.column_stack([xs, np.full(len(xs), y), zs[0] + far[count:]])
            centres = np.concatenate([left, above])
            corner, size = place(centres, np.full((len(centres), 3), pitch * (1.0 - GAP) * 0.8))
            known = np.concatenate([np.full(count, self.solid > 0), np.arange(len(xs)) < self.solid])
            alpha = min(1.0, 2.0 * there) * (1.0 - gone) * np.where(known, 1.0, 0.4)
            world.add(Boxes.of(corner, size, MEMORY, 0.6 * known, 0.9, False, alpha))

    def _rays(self, world: World, source: Floats, centre: Vector, wide: float, high: float, opened: float) -> None:
        """Four lines from the thread to the wall's corners: whose registers these are."""
        x, y, z = centre
        corners = np.array([(x + i * wide / 2, y, z + k * high / 2) for i in (-1, 1) for k in (-1, 1)])
        ends = source + (corners - source) * opened
        world.add(Ribbons.of(np.broadcast_to(source, ends.shape), ends, 0.02, TEXT, 0.30 * opened))
