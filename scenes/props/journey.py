"""The thread's way from a big core to a small one: it leaps from a tower to a chip and, at the last, sinks into one cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scenes.props.cube import Cube, Vector
from scenes.stage.keys import linear, pulse, ramp, smooth
from scenes.stage.overlay import Value, value_at
from scenes.stage.palette import THREAD
from scenes.stage.world import Ribbons, World

ARC, HOP, SKIP = 2.6, 0.28, 0.25  # heights of the leap, of a hop on the chip, of the skip into the cell, world units
SUNK = 0.4  # share of its edge by which the thread stands in its cell


@dataclass(frozen=True, slots=True)
class Journey:
    """Where the thread is, how large and how stretched: on `tower` until `leaps`, on `chip` from `lands`, at `sinks` in `cell`.

    `tower(beat)` and `chip(beat)` are what it stands on; `edges` its edge on each of the three, world units.
    """

    tower: Callable[[float], Vector]
    chip: Callable[[float], Vector]
    cell: tuple[float, float]
    leaps: float
    lands: float
    sinks: float
    edges: tuple[float, float, float]

    def place(self, beat: float) -> Vector:
        """Centre of its base."""
        a = np.array(self.tower(beat))
        if beat < self.leaps:
            return float(a[0]), float(a[1]), float(a[2])
        u, v = ramp(beat, self.leaps, self.lands - self.leaps, linear), self._sunk(beat)
        b = np.array(self.chip(beat))
        x, y = a[:2] + (b[:2] - a[:2]) * smooth(u) + (np.array(self.cell) - b[:2]) * v
        z = a[2] + (b[2] - a[2]) * u + 4.0 * (ARC * u * (1.0 - u) + SKIP * v * (1.0 - v)) - SUNK * v * self.edge(beat)
        phase = beat % 1.0
        hops = self.lands < beat < self.sinks - 1.0 and phase > 0.5
        return float(x), float(y), float(z) + (16.0 * HOP * (phase - 0.5) * (1.0 - phase) if hops else 0.0)

    def edge(self, beat: float) -> float:
        first, guest, last = self.edges
        edge = first + (guest - first) * ramp(beat, self.leaps + 0.2, self.lands - self.leaps - 0.2)
        return edge + (last - edge) * self._sunk(beat)

    def stretch(self, beat: float) -> float:
        """Squashed before the leap and where it lands, long in flight; on its tower it ducks on every beat."""

        def bump(at: float, width: float) -> float:
            return float(np.exp(-(((beat - at) / width) ** 2)))

        duck = 0.08 * pulse(beat) if 0.9 < beat < self.leaps - 0.4 else 0.0
        flight = 0.25 * bump((self.leaps + self.lands) / 2, 0.35)
        return 1.0 - duck - 0.25 * bump(self.leaps - 0.15, 0.12) + flight - 0.3 * bump(self.lands + 0.06, 0.1)

    def _sunk(self, beat: float) -> float:
        return ramp(beat, self.sinks - 0.6, 0.6)


@dataclass(frozen=True, slots=True)
class Needle:
    """A hairline upon the thread, `tall` world units: it finds one cube among thousands."""

    cube: Cube
    tall: float
    shown: Value
    is_thread: ClassVar[bool] = True

    def draw(self, world: World, beat: float) -> None:
        shown = 0.8 * value_at(self.shown, beat)
        if shown > 0.004:
            world.add(Ribbons.of(self.cube.top(beat, 0.06), self.cube.top(beat, self.tall), 0.03, THREAD, shown, 0.4))
