"""A queue that is full: a rail of slots in a gate, each with a request; who asks next knocks and is sent back until one leaves.

How many slots there are and how often one is freed is drawn, not measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scenes.stage.keys import arrive, leave, ramp, smooth
from scenes.stage.palette import MEMORY, STEEL, TEXT, mix
from scenes.stage.world import Boxes, Ribbons, World

SLOTS = 16
EDGE = 0.62  # of a request
BEFORE = 1.0  # beats before the gate opens in which the oldest request leaves and the others move up
AWAY = 14.0  # world units that a request is seen to fly towards memory
BELOW = 0.3  # z of a request that waits to come in
SHAKE = 0.16  # how far the rail gives when somebody knocks


@dataclass(slots=True)
class LoadQueue:
    """A rail `wide` across, its middle at x = `middle`, at y, `z` over the floor; requests come in at its right, from below.

    At each of `opens` (beats) the last slot, free since just before, is taken; on every other beat one knocks in vain.
    """

    middle: float
    wide: float
    y: float
    z: float
    grown: Callable[[float], float]
    opens: tuple[float, ...]

    @property
    def left(self) -> float:
        return self.middle - self.wide / 2

    def left_by(self, beat: float) -> float:
        """Requests that have left the queue; the fraction is how far the one that leaves has gone."""
        return sum(ramp(beat, at - BEFORE, BEFORE - 0.35, smooth) for at in self.opens)

    def taken(self, beat: float) -> int:
        """Requests that have come in since the rail stands."""
        return sum(beat >= at for at in self.opens)

    def x(self, slot: float) -> float:
        """Middle of a slot: 0 leaves next."""
        return self.left + self.wide * (slot + 0.5) / SLOTS

    def knock(self, beat: float) -> float:
        """How near the next request has come to the last slot, 0..1: 1 on every beat, back in between."""
        since = beat - np.floor(beat)
        return float(max((1.0 - since / 0.45) ** 2 if since < 0.45 else 0.0, ramp(since, 0.72, 0.28, leave)))

    def draw(self, world: World, beat: float) -> None:
        grown = self.grown(beat)
        if grown <= 0.01:
            return
        since = beat - np.floor(beat)
        give = SHAKE * float(np.exp(-since / 0.14) * np.cos(2.0 * np.pi * since / 0.28)) * ramp(grown, 0.9, 0.1)
        gone, z = self.left_by(beat), self.z + give
        self._rail(world, z, grown)
        # those that still stand in it: each request has a number, and a slot that counts down as others leave
        numbers = np.arange(int(np.ceil(gone - 1e-9)), SLOTS + self.taken(beat))
        slot = numbers - gone
        entry = np.array([self._entry(beat, int(n)) for n in numbers])
        x = self.left + self.wide * (slot + 0.5) / SLOTS
        up = np.clip(1.5 * grown * SLOTS - 0.5 * numbers, 0.0, 1.0)
        low = BELOW + (z + 0.08 - BELOW) * entry
        origin = np.column_stack([x - EDGE / 2, np.full(len(x), self.y - EDGE / 2), low])
        world.add(Boxes.of(origin, np.column_stack([np.full((len(x), 2), EDGE), EDGE * up]), MEMORY, 0.35, 0.9, shadow=0.0))
        self._leaving(world, beat, z)
        self._asking(world, beat, z, grown)

    def _entry(self, beat: float, number: int) -> float:
        """How far a request is in its slot, 0..1: those of the start are, others come up as the gate opens."""
        return 1.0 if number < SLOTS else ramp(beat, self.opens[number - SLOTS], 0.12, arrive)

    def _rail(self, world: World, z: float, grown: float) -> None:
        pitch = self.wide / SLOTS
        world.add(
            Boxes.of(
                [(self.left, self.y - 0.4, z - 0.1)],
                (self.wide * grown, 0.8, 0.14),
                mix(STEEL, TEXT, 0.3),
                edge=0.9,
            )
        )
        x = self.left + pitch * np.arange(SLOTS + 1)
        a = np.column_stack([x, np.full(len(x), self.y - 0.42), np.full(len(x), z)])
        world.add(Ribbons.of(a, a + np.array([0.0, 0.0, 0.5 * grown]), 0.05, mix(STEEL, TEXT, 0.5), 0.8))

    def _leaving(self, world: World, beat: float, z: float) -> None:
        """The oldest request flies off to memory, smaller as it goes."""
        for at in self.opens:
            u = ramp(beat, at - BEFORE, BEFORE + 0.5, leave)
            if 0.0 < u < 1.0:
                edge = EDGE * (1.0 - 0.4 * u)
                at_x = self.x(0.0) - EDGE / 2
                where = (at_x, self.y + AWAY * u, z + 0.08 + 1.2 * u)
                world.add(Boxes.of([where], (edge, edge, edge), MEMORY, 0.7, 0.9, alpha=1.0 - u**3, shadow=0.0))

    def _asking(self, world: World, beat: float, z: float, grown: float) -> None:
        """The next request, white: it comes up on every beat, finds the last slot taken, and falls back."""
        shown = ramp(grown, 0.9, 0.1)
        if any(at <= beat < at + 0.45 for at in self.opens):  # it has just got in
            return
        if shown > 0.0:
            foot = BELOW + (z - 0.12 - EDGE - BELOW) * self.knock(beat)
            origin = (self.x(SLOTS - 1.0) - EDGE / 2, self.y - 0.5 - EDGE / 2, foot)
            world.add(Boxes.of([origin], (EDGE, EDGE, EDGE), mix(TEXT, MEMORY, 0.2), 0.5, 0.9, alpha=shown, shadow=0.0))
