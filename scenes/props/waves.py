"""Waves: a launch fills the chip several times; each rack of the tray holds one such wave, its plinth tells when it runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from scenes.props.chip import BOARD, EMBER
from scenes.props.flight import SHELF, Flight
from scenes.stage.keys import ramp
from scenes.stage.overlay import Value, value_at
from scenes.stage.palette import COMPUTE, GROUND, PLATE, QUIET, STEEL, TEXT, Colour, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import FACT
from scenes.stage.world import Boxes, World

IDLE = mix(PLATE, STEEL, 0.7)
PALE = mix(QUIET, TEXT, 0.3)
TALL = 0.46  # of a sign's capitals, world units


@dataclass(slots=True)
class Waves:
    """A plinth under each rack of a flight's tray: steel before its blocks run, amber while they do, an ember afterwards."""

    flight: Flight
    shown: Value = 1.0
    _blocks: list[NDArray[np.bool_]] = field(init=False)

    def __post_init__(self) -> None:
        tray = self.flight.tray
        rack = tray.rack_of(np.arange(tray.count))
        self._blocks = [rack == wave for wave in range(len(tray.racks()))]

    def running(self, wave: int, beat: float) -> float:
        """Share of a wave's blocks that run at a beat, 0..1."""
        return float(((self.flight.arrive <= beat) & (beat < self.flight.gone))[self._blocks[wave]].mean())

    def ends(self, wave: int) -> float:
        """The beat on which a wave's last block ends."""
        return float(self.flight.gone[self._blocks[wave]].max())

    def draw(self, world: World, beat: float) -> None:
        tray, shown = self.flight.tray, value_at(self.shown, beat)
        high = tray.z - SHELF - BOARD
        for wave, rect in enumerate(tray.shelves()):
            at_work, done = self.running(wave, beat), ramp(beat, self.ends(wave), 0.5)
            colour = mix(mix(IDLE, EMBER, done), COMPUTE, 0.9 * at_work)
            origin, size = (rect.x0, rect.y0, BOARD), (rect.x1 - rect.x0, rect.y1 - rect.y0, high)
            world.add(Boxes.of(origin, size, colour, emission=0.45 * at_work, edge=0.9))
            ink = ink_on(at_work)
            sign = TextPlane.standing(f"wave {wave + 1}", FACT.coloured(ink), (0.0, 0.0, 0.0), TALL, align="centre")
            tall = TALL * min(1.0, 0.9 * (rect.x1 - rect.x0) / sign.width)  # no wider than its plinth
            place = ((rect.x0 + rect.x1) / 2, rect.y0 - 0.02, BOARD + high - tall - 0.12)
            world.add(replace(sign, at=place, height=tall, alpha=shown))


def ink_on(at_work: float) -> Colour:
    """Pale ink on steel and on an ember, dark ink on amber."""
    return mix(PALE, GROUND, ramp(at_work, 0.3, 0.4))
