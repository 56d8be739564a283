"""Waves: a launch fills the chip several times; each rack of the tray holds one such wave, its plinth tells when it runs.

Of a launch that nobody recorded there are outlines: a block for each SM, round after round, at the pace of the music.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scenes.props.chip import BOARD, EMBER, Chip, far_off
from scenes.props.cube import Cube, Vector
from scenes.props.flight import SHELF, SPREAD, TRAVEL, Flight, Tray
from scenes.props.ring import frames
from scenes.stage.keys import ramp
from scenes.stage.overlay import Value, value_at
from scenes.stage.palette import COMPUTE, PLATE, QUIET, STEEL, TEXT, THREAD, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import FACT
from scenes.stage.world import Boxes, Ribbons, World

IDLE = mix(PLATE, STEEL, 0.7)
PALE = mix(QUIET, TEXT, 0.3)
TALL = 0.62  # of a sign's capitals, world units
BAR = 4.0  # beats
SIDE = 0.34  # edge of an outlined block on its SM
FLAT = 0.06  # height of an outline's arc over its length: below the name beside the tray
CLEAR = 0.5  # of a sign over what lies in its rack: nothing that flies comes so high
LOW, BESIDE = 0.4, 0.3  # of the hairline over our block, and by how much it ends beside the racks, world units


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
            # behind its rack and over it, no wider: what flies to the chip leaves to the front, and covers no name
            sign = TextPlane.standing(f"wave {wave + 1}", FACT, (0.0, 0.0, 0.0), TALL, align="centre")
            tall = TALL * min(1.0, far_off(self.flight.chip.reach), 0.9 * (rect.x1 - rect.x0) / sign.width)
            place = ((rect.x0 + rect.x1) / 2, rect.y1, tray.z + tray.shape[1] * tray.cube * SPREAD + CLEAR)
            ink = mix(mix(PALE, COMPUTE, at_work), QUIET, 0.6 * done)
            world.add(replace(sign, at=place, height=tall, alpha=shown, style=FACT.coloured(ink)))


@dataclass(frozen=True, slots=True)
class Pennant:
    """A hairline upon our block; `aside` 0..1 bends its end, under the signs, to beside the racks' right edge `right`."""

    cube: Cube
    shown: Value
    aside: Value
    right: float
    is_thread: ClassVar[bool] = True

    def tip(self, beat: float) -> Vector:
        """Where its name is pinned."""
        x, y, z = self.cube.top(beat, LOW)
        return x + (self.right + BESIDE - x) * value_at(self.aside, beat), y, z

    def draw(self, world: World, beat: float) -> None:
        shown, foot, bend, tip = value_at(self.shown, beat), self.cube.top(beat, 0.05), self.cube.top(beat, LOW), self.tip(beat)
        world.add(Ribbons.of([foot, bend], [bend, tip], 0.03, THREAD, 0.8 * shown, 0.4))


@dataclass(slots=True)
class Rounds:
    """Outlines of blocks that fly from a tray to the SMs, one for each, from `launch` on; a round a bar, the last before `end`.

    Which SM would take which block, and when, nobody recorded: so they have no body, and keep to the bars.
    """

    tray: Tray
    chip: Chip
    skip: int
    launch: float
    end: float
    _from: NDArray[np.float64] = field(init=False)
    _to: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        count = min(self.tray.count, len(self.chip.plan.sms))
        keep = np.arange(count) != self.skip
        wide, deep = self.chip.tile
        spots = self.chip.plan.sms[:count] + np.array([wide / 2, deep / 2])
        foot = self.chip.floor + float(self.chip.heights(np.zeros(len(self.chip.plan.sms))).max(initial=0.0))
        self._to = np.column_stack([spots, np.full(count, foot)])[keep]
        self._from = self.tray.places()[:count][keep]

    def places(self, beat: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(M, 3) bases of the outlines that are seen, and how far they have come, (M,) 0..1."""
        late = BAR * 0.7 * np.arange(len(self._to)) / max(1, len(self._to))
        found, far = [], np.linalg.norm(self._to - self._from, axis=1)
        for start in np.arange(self.launch, self.end - 1e-6, BAR):
            go, gone = (beat - start - late) / TRAVEL, beat - start - late - BAR
            u = np.clip(go, 0.0, 1.0)
            u = u * u * (3.0 - 2.0 * u)
            at = self._from * (1.0 - u[:, None]) + self._to * u[:, None]
            at[:, 2] += 4.0 * FLAT * far * u * (1.0 - u)
            seen = (go > 0.0) & (gone < 0.0)
            found.append((at[seen], u[seen]))
        return np.concatenate([at for at, _ in found]), np.concatenate([u for _, u in found])

    def draw(self, world: World, beat: float) -> None:
        if beat <= self.launch or not len(self._to):
            return
        base, come = self.places(beat)
        if len(base):
            a, b = frames(base - (SIDE / 2, SIDE / 2, 0.0), (SIDE, SIDE, SIDE))
            lines = np.repeat(0.5 + 0.45 * (come < 1.0), 12)
            world.add(Ribbons.of(a, b, 0.03, mix(QUIET, TEXT, 0.6), alpha=lines))
