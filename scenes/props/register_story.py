"""Why registers feed the math: the column of sums of 1D tiling grows into the square of 2D tiling, out of the thread's cube.

A column of TM sums is fed by TM + 1 values for TM multiply-adds; a square of TM x TN by TM + TN values for TM * TN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from measure.dataset import Dataset
from scenes.props.cube import Vector
from scenes.props.register_tile import OUTLINE, RegisterTile, Step, tile_of
from scenes.props.rungs import LEFT, called, find
from scenes.stage.keys import Track, arrive, leave, ramp, window
from scenes.stage.overlay import Item, Text
from scenes.stage.palette import COMPUTE, MEMORY, Colour
from scenes.stage.type import FACT, SMALL

Shown = Callable[[float], float]
COLUMN, SQUARE = "tile_1d", "tile_2d"
OFFSET = (0.85, -3.0, -1.15)  # of the wall's left edge from the cube: in front of the hall, below the roof


@dataclass(slots=True)
class Registers:
    """The wall and its words; `at` is a moment of the passage by bar and beat, `lands` whether the second rung has a tower."""

    data: Dataset
    thread: Callable[[float], Vector]
    at: Callable[[int, float], float]
    lands: bool

    def tile(self, name: str) -> tuple[int, int] | None:
        return tile_of(find(self.data, name))

    def walls(self) -> Sequence[RegisterTile]:
        """The wall, from the column on "light" (bar 2) to the landing in bar 6, and once more as registers are sung of."""
        square = self.tile(SQUARE)
        rows, columns = square or OUTLINE
        at = self.at
        opened = Track(0.0).to(1.0, at(2, 3), 1.0, arrive).to(0.0, at(6, 2), 1.25, leave)
        grown = Track(1.0)
        for k in range(1, columns):  # one column after the other through bar 4, each on its part of the beat
            grown.to(1.0 + k, at(4, 1) + 4.0 * k / max(columns, 4), 3.0 / max(columns, 4), arrive)
        if self.tile(COLUMN) is None and square is not None:
            grown = Track(1.0).to(float(columns), at(4, 4), 3.0)
        steps = [Step(at(3, 1), at(3, 3)), Step(at(5, 1), at(5, 3))]
        first = RegisterTile((rows, columns), self.thread, OFFSET, opened, grown, steps, square is None)
        if not self.lands:
            return [first]
        # "Registers carry the math": a step a beat; on "write" the sums leave.
        again = Track(0.0).to(1.0, at(7, 1), 0.75, arrive).to(0.0, at(8, 3.5), 1.0, leave)
        beats = [at(7, 1) + k for k in range(1, 6)]
        running = [Step(beat - 0.5, beat) for beat in beats]
        return [
            first,
            RegisterTile((rows, columns), self.thread, OFFSET, again, lambda beat: float(columns), running, square is None),
        ]

    def captions(self) -> Sequence[tuple[Shown, Callable[[], Sequence[Item]]]]:
        """Moments and makers of what is said of the column, then of the square."""
        at = self.at
        column, square = window(at(2, 3), at(4, 1) - 0.25), window(at(4, 1) + 0.25, at(6, 1))
        return [
            (column, lambda: self._say(COLUMN, "a column of sums", column, at(3, 1), at(3, 3))),
            (square, lambda: self._say(SQUARE, "a square of sums", square, at(5, 1), at(5, 3))),
        ]

    def _say(self, name: str, shape: str, shown: Shown, reads: float, adds: float) -> Sequence[Item]:
        rung, tile = find(self.data, name), self.tile(name)
        items: list[Item] = [Text(shape, FACT, LEFT, 262, "left", shown)]
        if rung is None or tile is None:
            why = "not measured" if rung is None else "its tile is not known"
            return [*items, Text(f"{called(rung, name)}: {why}", SMALL, LEFT, 310, "left", shown)]
        rows, columns = tile
        items.append(Text(f"{rung.title}: the registers of one thread", SMALL, LEFT, 310, "left", shown))
        said: list[tuple[str, Colour, float, float]] = [
            (f"{rows} + {columns} values in", MEMORY, 378, reads),
            (f"{rows} × {columns} = {rows * columns} multiply-adds", COMPUTE, 436, adds),
        ]
        for words, colour, y, begin in said:
            items.append(Text(words, FACT.coloured(colour), LEFT, y, "left", _since(begin, shown)))
        return items


def _since(begin: float, shown: Shown) -> Shown:
    """An opacity that begins on a beat."""
    return lambda beat: ramp(beat, begin - 0.2, 0.2) * shown(beat)
