"""Room on chip: the shared memory of a GPU's SMs beside a square of scores, both as areas on one scale."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from measure.dataset import Dataset, Reading
from scenes.props.cube import Vector
from scenes.stage.claims import Figure, figure
from scenes.stage.keys import ramp
from scenes.stage.palette import MEMORY, PLATE, mix
from scenes.stage.world import Boxes, World

KIB, FP32 = 1024, 4  # bytes; of a score
SLIT, THICK, STEP = 0.14, 0.16, 0.6  # of a tile, that stays dark around it; world units; beats that tiles take to light up


@dataclass(frozen=True, slots=True)
class Room:
    """`each` bytes of shared memory on each of `count` SMs, and a square of `side` x `side` fp32 scores, too large."""

    count: int
    each: int
    side: int

    @classmethod
    def of(cls, data: Dataset, side: int) -> Room | None:
        """All SMs, or one of them where all together had room for a head's square; None where one has, or none is known."""
        whole, sms = data.get("derived.shared_memory"), data.get("device.sm_count")
        if whole is None or sms is None:
            return None
        all_of_them = cls(round(sms.quantity.value), round(whole.quantity.value / sms.quantity.value), side)
        fitting = (room for room in (all_of_them, replace(all_of_them, count=1)) if room.share() < 1.0)
        return next(fitting, None)

    def share(self) -> float:
        """Of the square's bytes that there is room for, 0..1."""
        return self.count * self.each / (FP32 * self.side**2)

    def words(self) -> str:
        """What it is."""
        return f"shared memory, {f'{self.count} × ' if self.count > 1 else 'one SM: '}{self.each // KIB} KiB"


def megabytes(reading: Reading) -> Figure:
    """A number of bytes with two digits or more: 31 MB, 8.4 MB."""
    return figure(reading, 0 if reading.quantity.value >= 1e7 else 1, "MB", 1e-6)


@dataclass(slots=True)
class OnChip:
    """A tile for each SM, upright, rows from the ground up; `right` is the lower right corner of them all.

    As large beside a square of `wide` world units as its bytes are beside that square's.  They light up from `lit` on and
    are gone at `gone`.
    """

    room: Room
    right: Vector
    wide: float
    lit: float
    gone: float

    @property
    def pitch(self) -> float:
        """World units from tile to tile: the side of one SM's share of the square."""
        return self.wide * math.sqrt(self.room.share() / self.room.count)

    @property
    def columns(self) -> int:
        return math.ceil(math.sqrt(self.room.count))

    @property
    def top(self) -> Vector:
        """Upper right corner of all tiles."""
        rows = math.ceil(self.room.count / self.columns)
        return self.right[0], self.right[1], self.right[2] + rows * self.pitch

    def draw(self, world: World, beat: float) -> None:
        which = np.arange(self.room.count)
        rise = np.clip((beat - self.lit - STEP * which / max(self.room.count - 1, 1)) / 0.3, 0.0, 1.0)
        rise = rise * (1.0 - ramp(beat, self.gone - 0.6, 0.6))
        on = rise > 0.02
        if not on.any():
            return
        row, column = np.divmod(which[on], self.columns)
        x, y, z = self.right[0] - self.columns * self.pitch, *self.right[1:]
        edge = self.pitch * (1.0 - SLIT)
        at = np.column_stack([x + (column + 0.5) * self.pitch, np.full(len(row), y), z + (row + 0.5) * self.pitch])
        size = np.column_stack([edge * rise[on], np.full(len(row), THICK), edge * rise[on]])
        world.add(Boxes.of(at - size / 2, size, mix(PLATE, MEMORY, 0.72), 0.26, 0.7))
