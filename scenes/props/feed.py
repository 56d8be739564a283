"""What memory sends to a chip: the lines of its buses as ways for packets, which run on the beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scenes.props.chip import Chip, memory_lines
from scenes.props.cube import Vector
from scenes.stage.keys import Track, arrive
from scenes.stage.palette import MEMORY
from scenes.stage.ways import Packets, Ways

ABOVE = 0.04  # of a packet's middle over the line that it runs on
STEP, SIZE = 0.36, (0.12, 0.055, 0.05)  # of a packet with each half beat, and how large it is, world units


def feeds(chip: Chip) -> list[Sequence[Vector]]:
    """A way for each line of the memory's buses; from stacks the middle one goes on over the die to the L2 between its halves.

    Empty where the record tells neither kind nor number of the memory's packages.
    """
    plan, lines = chip.plan, memory_lines(chip.plan)
    if not lines:
        return []
    each, column, top = len(lines) // len(plan.memory), max(len(plan.memory) // 2, 1), chip.floor + ABOVE + 0.05
    ways: list[Sequence[Vector]] = []
    for k, line in enumerate(lines):
        way: list[Vector] = [(x, y, z + ABOVE) for x, y, z in line]
        stack, number = divmod(k, each)
        if plan.stacked and plan.l2 and number == each // 2:
            _, (x, y, _) = line
            side, rank = float(np.sign(x)), stack % column
            aisle, inner = x - side * (0.1 + 0.06 * rank), (rank - (column - 1) / 2) * 0.15
            way += [(aisle, y, top), (aisle, inner, top), (side * 0.2, inner, top)]
        ways.append(way)
    return ways


def stream(chip: Chip, since: float, until: float) -> Packets | None:
    """Packets on all lines of the memory, two steps a beat, between two beats; None where no line is known."""
    ways = feeds(chip)

    def walked(beat: float) -> float:
        run = max(2.0 * (beat - since), 0.0)
        return STEP * float(np.floor(run) + arrive(run - np.floor(run)))

    shown = Track(0.0).to(1.0, since, 0.3).to(0.0, until, 1.0)
    return Packets(Ways.of(ways), walked, MEMORY, SIZE, every=STEP, shown=shown) if ways else None
