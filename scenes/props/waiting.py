"""A kernel's warps before a gate: of their time, the share that they wait for one thing is the share of rows that stand there.

Each row is a warp of 32 lanes and stands for the same part of the warps' time.  Only that share is measured: in which order
they stand and how often the gate opens is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scenes.props.warp import LANES, Floats
from scenes.stage.keys import ramp, smooth
from scenes.stage.palette import COMPUTE, MEMORY, QUIET, STEEL, TEXT, mix
from scenes.stage.world import Boxes, World

ROWS = 25  # all of the warps' time
APART = 1.0  # from row to row, world units
OWN = 3  # rows that wait before the followed thread's
CLEAR = 0.2  # from the first row to the gate, more than from row to row
GATE = APART * (OWN + 1) + CLEAR  # y of the gate: the thread's row then stands at 0
BEYOND = 2.2  # y from the gate to the first of the rows that wait for something else
BARS = 16  # of the gate
TALL, HIGH = 0.95, 3.0  # of a bar, and of the gate's beam over the floor
OVER = 0.4  # beats in which a row moves up
HOP = 0.3  # of those that wait, with the beat


def standing(share: float) -> int:
    """Rows before the gate: the nearest whole number to a share of the warps' time."""
    return round(min(max(share, 0.0), 1.0) * ROWS)


@dataclass(slots=True)
class Waiting:
    """`share()` reads what part of their time the warps wait; asked only once the rows rise, `grown(beat)` 0..1.

    The rows' lanes are `pitch` apart, lane `lane` at x = 0. At each of `opens` (beats) one row is let through and all others
    move up. The gate's bars are cyan where what is waited for is memory.
    """

    lane: int
    pitch: float
    share: Callable[[], float]
    grown: Callable[[float], float]
    opens: tuple[float, ...]
    memory: bool

    @property
    def middle(self) -> float:
        """x of the rows' middle."""
        return self.pitch * ((LANES - 1) / 2 - self.lane)

    def served(self, beat: float, behind: float = 0.0) -> float:
        """Rows that have been let through; a row that stands `behind` others moves a little later."""
        return sum(ramp(beat, at + 0.03 * behind, OVER, smooth) for at in self.opens)

    def y(self, row: int, beat: float) -> float:
        """Where a row stands: row 0 is the first that goes through."""
        ahead = max(row - self.served(beat, row), 0.0)
        gone = max(self.served(beat, row) - row, 0.0)
        return GATE - CLEAR - APART * (1.0 + ahead) + 4.0 * min(gone, 1.0)

    def own(self, beat: float) -> float:
        """y of the thread's row."""
        return self.y(OWN, beat)

    def lift(self, row: int, beat: float) -> float:
        """How high a row hops: every beat runs through the rows from the gate to the back, all but those let through."""
        since = (beat - 0.025 * max(row - self.served(beat, row), 0.0)) % 1.0
        return HOP * float(np.sin(np.pi * min(since / 0.3, 1.0))) * ramp(self.grown(beat), 0.9, 0.1)

    def shut(self, beat: float) -> float:
        """How far the gate's bars stand up, 0..1."""
        return 1.0 - max((ramp(beat, at - 0.12, 0.15) * (1.0 - ramp(beat, at + 0.3, 0.25)) for at in self.opens), default=0.0)

    def draw(self, world: World, beat: float) -> None:
        grown = self.grown(beat)
        if grown <= 0.01:
            return
        self._rows(world, beat, grown)
        self._gate(world, beat, grown)

    def _rows(self, world: World, beat: float, grown: float) -> None:
        here = standing(self.share())
        through = int(np.ceil(self.served(beat)))
        rows = [row for row in range(here + through) if row != OWN and self.served(beat) - row < 1.5]
        y = np.array([self.y(row, beat) for row in rows] + [GATE + BEYOND + APART * k for k in range(ROWS - here)])
        gone = np.array([min(max(self.served(beat, row) - row, 0.0), 1.0) for row in rows] + [0.0] * (ROWS - here))
        order = np.concatenate([np.arange(len(rows)), np.full(ROWS - here, 2.0)])
        last = np.array([float(row >= here + self.served(beat, row)) for row in rows] + [0.0] * (ROWS - here))
        up = np.array([ramp(grown * 1.5, float(k) / ROWS, 0.5) for k in order]) * (1.0 - last)
        light = np.clip(3.0 * gone, 0.0, 1.0) * np.clip(3.0 * (1.0 - gone), 0.0, 1.0)
        alpha = 1.0 - np.clip(2.0 * gone - 1.0, 0.0, 1.0)
        z = np.array([self.lift(row, beat) for row in rows] + [0.0] * (ROWS - here)) * (1.0 - light) * (1.0 - last)
        self._row(world, y, z, up, light, alpha)

    def _row(self, world: World, y: Floats, z: Floats, up: Floats, light: Floats, alpha: Floats) -> None:
        wide = 0.76 * self.pitch
        x = self.pitch * (np.arange(LANES) - self.lane)
        k, lane = (axis.ravel() for axis in np.indices((len(y), LANES)))
        seen = (up[k] > 0.01) & (alpha[k] > 0.01)
        k, lane = k[seen], lane[seen]
        idle = np.array(mix(STEEL, QUIET, 0.3))
        colour = idle + (np.array(COMPUTE) - idle) * light[k][:, None]
        origin = np.column_stack([x[lane] - wide / 2, y[k] - wide / 2, z[k]])
        size = np.column_stack([np.full((len(k), 2), wide), 0.22 * up[k] + 0.3 * light[k]])
        world.add(Boxes.of(origin, size, colour, 0.45 * light[k], 0.6, alpha=alpha[k]))

    def _gate(self, world: World, beat: float, grown: float) -> None:
        """Two posts and a beam; between them its bars, shut but for the moment in which it lets a row through."""
        half, frame = self.pitch * LANES / 2 + 0.3, mix(STEEL, TEXT, 0.30)
        left, right, high = self.middle - half, self.middle + half, HIGH * ramp(grown, 0.0, 0.5)
        posts = [(left - 0.5, GATE - 0.25, 0.0), (right, GATE - 0.25, 0.0)]
        world.add(Boxes.of(posts, (0.5, 0.5, high), frame, edge=0.9))
        world.add(Boxes.of([(left - 0.5, GATE - 0.25, high)], (2 * half + 0.5, 0.5, 1.3 * min(1.0, grown)), frame, edge=1.0))
        pitch = 2 * half / BARS
        x = left + pitch * (np.arange(BARS) + 0.12)
        tall = max(0.04, TALL * self.shut(beat) * min(1.0, grown))
        colour = mix(STEEL, MEMORY, 0.75) if self.memory else mix(STEEL, TEXT, 0.6)
        origin = np.column_stack([x, np.full(BARS, GATE - 0.2), np.zeros(BARS)])
        world.add(Boxes.of(origin, (0.76 * pitch, 0.4, tall), colour, 0.28 * self.shut(beat), 0.9))
