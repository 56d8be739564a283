"""Bandwidth by stride of a warp's reads: for each a column, solid what is used, pale what memory carried besides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Vector
from scenes.props.lines import PITCH, SECTORS, across, sectors_of
from scenes.stage.claims import Figure
from scenes.stage.keys import ramp, smooth
from scenes.stage.overlay import Item, Number, Text, Value
from scenes.stage.palette import MEMORY, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, FACT, LABEL, NUMBER, SMALL
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]

RAIN = 7  # bars that fall in the tallest column
PLINTH, FACE = 0.75, 0.45  # height of what the columns stand on; its front from their middles


@dataclass(slots=True)
class Columns:
    """A column for each measured stride, `strides` in order, as high as its bandwidth: `tallest` for the best of them.

    `value(stride)` reads a bandwidth, asked only from when its column rises; None: nothing was measured, outlines stand.
    `passed(beat)` is the largest stride whose column has come up; the newest of them is bright.  `carried(stride)` is what
    memory carried for it: it stands pale on the column as far as `told(beat)`, 0..1; None where that is not known.
    """

    strides: Sequence[int]
    y: float
    tallest: float
    value: Callable[[int], float] | None
    passed: Callable[[float], float]
    carried: Callable[[int], float] | None = None
    told: Callable[[float], float] = lambda beat: 0.0

    def x(self, stride: int) -> float:
        """Middle of a stride's column: that of its word of a line."""
        return float(across(np.array([stride - 1]))[0])

    def top(self, stride: int) -> Vector:
        """Middle of the upper face of a stride's column."""
        return self.x(stride), self.y, PLINTH + self.height(stride)

    def height(self, stride: int) -> float:
        """Of a column that has come up."""
        if self.value is None:  # by the addresses alone: bytes used over bytes of the sectors asked for
            return self.tallest * SECTORS / len(sectors_of(stride))
        return self.tallest * self.value(stride) / self.value(self.strides[0])

    def rate(self, stride: int, shown: Figure) -> TextPlane:
        """A column's bandwidth: over the first one, clear of what was carried, at the right of the last one."""
        x, y, z = self.top(stride)
        first = stride == self.strides[0]
        at = (x - 0.37, y - FACE, z + 0.3) if first else (x + 0.6, y - FACE, z - 0.1)
        flat = TextPlane.standing(shown.text, FACT.coloured(mix(MEMORY, TEXT, 0.35)), at, 0.56, 0.0, "left")
        return replace(flat, figure=shown)

    def marks(self) -> list[TextPlane]:
        """Some of the strides, before their columns' feet."""
        marks, steel = (
            [stride for stride in (1, 8, 16, 24, 32) if stride in self.strides],
            LABEL.coloured(mix(QUIET, TEXT, 0.4)),
        )
        signs = []
        for stride in marks:
            x, first = self.x(stride), stride == marks[0]
            at, words = (x - PITCH / 2 * first, self.y - FACE - 0.02, 0.14), f"stride {stride}" if first else str(stride)
            signs.append(TextPlane.standing(words, steel, at, 0.46, 0.0, "left" if first else "centre"))
        return signs

    def waste(self) -> TextPlane:
        """What the pale part is."""
        at = (2.0, self.y - FACE, PLINTH + 0.55 * self.tallest)
        words = "carried, not used" if self.value is not None else "asked for, not used"
        return TextPlane.standing(words, CODE, at, 0.62, 0.0, "centre")

    def draw(self, world: World, beat: float) -> None:
        self._plinth(world)
        passed = self.passed(beat)
        there = [stride for stride in self.strides if stride < passed + 1.0]
        if not there:
            return
        rise = np.array([ramp(passed, stride - 1.0, 1.0, smooth) for stride in there])
        tall = np.array([self.height(stride) for stride in there]) * rise
        x, edge = np.array([self.x(stride) for stride in there]), 0.74 * PITCH
        if self.value is None:
            sides = np.concatenate([x - edge / 2, x + edge / 2])
            a = np.column_stack([sides, np.full(len(sides), self.y), np.full(len(sides), PLINTH)])
            b = a + np.column_stack([np.zeros((len(a), 2)), np.tile(tall, 2)])
            lid = b.reshape(2, -1, 3)
            world.add(Ribbons.of(np.concatenate([a, lid[0]]), np.concatenate([b, lid[1]]), 0.04, QUIET, 0.6))
            up = (self.tallest - tall) * self._told(beat, len(there))
            foot = np.column_stack([x - edge / 2, np.full(len(x), self.y), PLINTH + tall])[up > 0.02]
            self._rain(world, foot, np.column_stack([np.full((len(foot), 2), edge), up[up > 0.02]]), beat)
            return
        bright = np.clip(1.0 - (passed - np.array(there)) / 3.0, 0.5, 1.0)
        origin = np.column_stack([x - edge / 2, np.full(len(x), self.y - edge / 2), np.full(len(x), PLINTH)])
        size = np.column_stack([np.full((len(x), 2), edge), np.maximum(tall, 0.01)])
        colour = np.array(PLATE) + (np.array(MEMORY) - PLATE) * (0.5 + 0.4 * bright)[:, None]
        world.add(Boxes.of(origin, size, colour, 0.22 + 0.3 * bright, 0.9))
        if self.told(beat) > 0.0 and self.carried is not None:
            best = self.value(self.strides[0])
            more = np.array([max(self.tallest * self.carried(stride) / best - self.height(stride), 0.0) for stride in there])
            up = more * self._told(beat, len(there))
            seen = up > 0.02
            foot = origin[seen] + np.column_stack([np.zeros((seen.sum(), 2)), tall[seen]])
            rest = np.column_stack([size[seen, :2], up[seen]])
            world.add(Boxes.of(foot, rest, mix(PLATE, MEMORY, 0.36), 0.10, 1.0, shadow=0.0))
            self._rain(world, foot, rest, beat)

    def _told(self, beat: float, count: int) -> Floats:
        """How far what was not used has been told of each column, 0..1: of the first one first."""
        told = self.told(beat)
        return np.array([ramp(told, 0.6 * k / max(count - 1, 1), 0.4, smooth) for k in range(count)])

    def _rain(self, world: World, foot: Floats, rest: Floats, beat: float) -> None:
        """Bytes that fall past those used: bars across the pale part of each column, one pitch down on every 8th of a bar."""
        drops = np.arange(RAIN)
        place = (drops[None] + 0.37 * np.arange(len(foot))[:, None] - 2.0 * beat) % RAIN / RAIN  # 0..1 of the tallest
        z = foot[:, 2:] + self.tallest * place
        which, drop = np.nonzero(place * self.tallest < rest[:, 2:] - 0.05)
        if len(which):
            a = np.column_stack([foot[which, 0] + 0.04, foot[which, 1] - 0.02, z[which, drop]])
            b = a + np.column_stack([rest[which, 0] - 0.08, np.zeros((len(which), 2))])
            world.add(Ribbons.of(a, b, 0.10, mix(MEMORY, TEXT, 0.15), 0.9, 0.45))

    def _plinth(self, world: World) -> None:
        left, right = self.x(self.strides[0]) - 0.9, self.x(self.strides[-1]) + 0.9
        origin, size = (left, self.y - FACE, 0.0), (right - left, FACE + 0.9, PLINTH)
        world.add(Boxes.of([origin], size, mix(PLATE, STEEL, 0.5), edge=0.7))


def beside(number: Figure, what: str, source: str, x: float, y: float, shown: Value) -> list[Item]:
    """A figure that ends at design pixels x, y; under it what it is and where it is from."""
    return [
        Number(number, NUMBER, x, y, "right", shown),
        Text(what, FACT.sized(38), x, y + 52, "right", shown),
        Text(source, SMALL, x, y + 94, "right", shown),
    ]
