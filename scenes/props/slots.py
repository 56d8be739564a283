"""Issue slots of an SM as a field: a row a scheduler, a column a cycle; lit where an instruction was issued.

Only the share is measured: how the issued slots lie is not, so they are spread evenly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.stage.keys import overshoot, ramp
from scenes.stage.palette import COMPUTE, QUIET, STEEL, mix
from scenes.stage.world import Boxes, World

SCHEDULERS = 4  # of an SM, each one issue slot a cycle (CUDA C++ Programming Guide, compute capability 7.5 and later)
COLUMNS = 50
WIDE, DEEP = 0.40, 1.0  # from slot to slot
PHASES = (0.125, 0.625, 0.375, 0.875)  # where in its share of the columns each scheduler's first issued slot lies
FILL = 0.78
FLAT, TALL = 0.08, 1.15  # heights of an idle and of an issued slot


def spread(share: float) -> NDArray[np.bool_]:
    """Which of the slots (SCHEDULERS, COLUMNS) issue: the nearest whole number of them to a share, as evenly as may be."""
    count = round(min(max(share, 0.0), 1.0) * SCHEDULERS * COLUMNS)
    lit = np.zeros((SCHEDULERS, COLUMNS), bool)
    for row, phase in enumerate(PHASES):
        own = count // SCHEDULERS + (row < count % SCHEDULERS)
        lit[row, ((np.arange(own) + phase) * COLUMNS / max(own, 1)).astype(int)] = True
    return lit


@dataclass(slots=True)
class Slots:
    """`issued` reads the share, asked only once the field is seen; None: not known.  `passed(beat)` columns have gone by.

    The field's middle is at (x, y).
    """

    x: float
    y: float
    issued: Callable[[], float] | None
    grown: Callable[[float], float]
    passed: Callable[[float], float]

    def draw(self, world: World, beat: float) -> None:
        grown = self.grown(beat)
        if grown <= 0.01:
            return
        lit = spread(self.issued()) if self.issued else np.zeros((SCHEDULERS, COLUMNS), bool)
        row, column = (axis.ravel() for axis in np.indices(lit.shape))
        up = np.array([ramp(self.passed(beat), float(c), 1.5, overshoot) for c in range(COLUMNS)])[column] * lit.ravel()
        x = self.x + WIDE * (column - COLUMNS / 2)
        y = self.y + DEEP * (SCHEDULERS / 2 - 1 - row)
        here = ramp(grown, 0.0, 1.0)
        tall = FLAT + (TALL - FLAT) * up
        size = np.column_stack([np.full(len(x), FILL * WIDE), np.full(len(x), FILL * DEEP), tall])
        went = np.clip(self.passed(beat) - column, 0.0, 1.0) * ~lit.ravel()
        colour = np.array(mix(STEEL, QUIET, 0.16)) * (1.0 - 0.35 * went)[:, None] * (1.0 - up)[:, None]
        colour = colour + np.array(COMPUTE) * np.minimum(up, 1.0)[:, None]
        origin = np.column_stack([x, y, np.zeros(len(x))])
        world.add(Boxes.of(origin, size, np.clip(colour, 0.0, 1.0), 0.5 * up, 0.5, shadow=here, alpha=here))
