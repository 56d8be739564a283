"""What memory sends to a chip: the lines of its buses as ways for packets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scenes.props.chip import Chip, memory_lines
from scenes.props.cube import Vector

ABOVE = 0.04  # of a packet's middle over the line that it runs on


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
