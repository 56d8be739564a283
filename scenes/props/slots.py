"""Issue slots of an SM as a field: a row a scheduler, a column a cycle; lit where an instruction was issued.

Only the share is measured: how the issued slots lie is not, so they are spread evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.stage.keys import overshoot, ramp
from scenes.stage.palette import COMPUTE, QUIET, STEEL, TEXT, mix
from scenes.stage.world import Boxes, Ribbons, World

SCHEDULERS = 4  # of an SM, each one issue slot a cycle (CUDA C++ Programming Guide, compute capability 7.5 and later)
COLUMNS = 50
WIDE, DEEP = 0.40, 1.1  # from slot to slot
PHASES = (0.125, 0.625, 0.375, 0.875)  # where in its share of the columns each scheduler's first issued slot lies
FILL = 0.78
FLAT, TALL = 0.08, 1.3  # heights of an idle and of an issued slot
TICK = 0.22  # how high an idle slot ticks as time passes it
STEP, COLUMNS_A_STEP = 0.5, 5  # of time as it sweeps over them: beats, columns
AGAIN = 60  # columns from sweep to sweep where none was counted


def columns_of(moments: Sequence[float], beat: float) -> list[float]:
    """In which columns moments (beats since the first sweep began) lie, of the sweep that goes on at a beat."""
    a_beat = COLUMNS_A_STEP / STEP
    start = AGAIN * (beat * a_beat // AGAIN)
    return [moment * a_beat - start for moment in moments if moment * a_beat > start]


def spread(share: float) -> NDArray[np.bool_]:
    """Which of the slots (SCHEDULERS, COLUMNS) issue: the nearest whole number of them to a share, as evenly as may be."""
    count = round(min(max(share, 0.0), 1.0) * SCHEDULERS * COLUMNS)
    lit = np.zeros((SCHEDULERS, COLUMNS), bool)
    for row, phase in enumerate(PHASES):
        own = count // SCHEDULERS + (row < count % SCHEDULERS)
        lit[row, ((np.arange(own) + phase) * COLUMNS / max(own, 1)).astype(int)] = True
    return lit


def swept(beat: float, begin: float, every: float, columns: int) -> float:
    """Columns that have gone by: `columns` more with every `every` beats from `begin` on, each step landing on its beat."""
    steps = max((beat - begin) / every, 0.0)
    whole = int(steps)
    return columns * (whole + ramp(steps - whole, 0.45, 0.55))


@dataclass(slots=True)
class Slots:
    """`issued` reads the share, asked only once the field is seen; None: not known.  `passed(beat)` columns have gone by.

    The field's middle is at (x, y). `drawn(beat)`: columns in which a slot stands as an outline, drawn and not measured.
    """

    x: float
    y: float
    issued: Callable[[], float] | None
    grown: Callable[[float], float]
    passed: Callable[[float], float]
    drawn: Callable[[float], Sequence[float]] = lambda beat: ()

    def draw(self, world: World, beat: float) -> None:
        grown = self.grown(beat)
        if grown <= 0.01:
            return
        lit = spread(self.issued()) if self.issued else np.zeros((SCHEDULERS, COLUMNS), bool)
        row, column = (axis.ravel() for axis in np.indices(lit.shape))
        passed = self.passed(beat)
        up = np.array([ramp(passed, float(c), 1.5, overshoot) for c in range(COLUMNS)])[column] * lit.ravel()
        ticks = np.exp(-(((column + 0.5 - passed) / 1.2) ** 2)) * ~lit.ravel() * (0.0 < passed < COLUMNS + 2.0)
        x = self.x + WIDE * (column - COLUMNS / 2)
        y = self.y + DEEP * (SCHEDULERS / 2 - 1 - row)
        here = ramp(grown, 0.0, 1.0)
        tall = FLAT + (TALL - FLAT) * up * here + TICK * ticks
        size = np.column_stack([np.full(len(x), FILL * WIDE), np.full(len(x), FILL * DEEP), tall])
        went = np.clip(passed - column, 0.0, 1.0) * ~lit.ravel()
        colour = np.array(mix(STEEL, QUIET, 0.22)) * (1.0 - 0.55 * went)[:, None] * (1.0 - up)[:, None]
        colour = colour + np.array(COMPUTE) * np.minimum(up, 1.0)[:, None]
        origin = np.column_stack([x, y, np.zeros(len(x))])
        world.add(Boxes.of(origin, size, np.clip(colour, 0.0, 1.0), 0.5 * up, 0.5, shadow=here, alpha=here))
        if self.issued is None:
            self._outlined(world, self.drawn(beat), passed, here)
        self._now(world, passed, here)

    def _outlined(self, world: World, columns: Sequence[float], passed: float, here: float) -> None:
        """Slots of one scheduler as outlines: they rise as time passes them."""
        for column in columns:
            up = ramp(passed, column, 1.5, overshoot) * (column < COLUMNS)
            if up > 0.01:
                x, y = self.x + WIDE * (column - COLUMNS / 2), self.y
                wide, deep = 1.4 * WIDE, FILL * DEEP
                foot = np.array([(x, y, FLAT), (x + wide, y, FLAT), (x + wide, y + deep, FLAT), (x, y + deep, FLAT)])
                lid = foot + np.array([0.0, 0.0, TALL * up])
                a, b = np.concatenate([foot, lid, foot]), np.concatenate([np.roll(foot, -1, 0), np.roll(lid, -1, 0), lid])
                world.add(Ribbons.of(a, b, 0.06, mix(COMPUTE, TEXT, 0.2), 0.9 * here, 0.3))

    def _now(self, world: World, passed: float, here: float) -> None:
        """The line of now: an arch over the column that time has come to."""
        shown = here * ramp(passed, 0.0, 1.0) * (1.0 - ramp(passed, COLUMNS, 2.0))
        if shown <= 0.01:
            return
        x = self.x + WIDE * (min(passed, float(COLUMNS)) - COLUMNS / 2)
        near, far, top = self.y - DEEP * SCHEDULERS / 2 - 0.15, self.y + DEEP * SCHEDULERS / 2 + 0.15, TALL + 0.35
        a = [(x, near, 0.0), (x, near, top), (x, far, top)]
        b = [(x, near, top), (x, far, top), (x, far, 0.0)]
        world.add(Ribbons.of(a, b, 0.07, TEXT, 0.85 * shown, 0.25))
