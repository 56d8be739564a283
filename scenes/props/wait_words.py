"""Words about waiting: a column a level, told one after another and kept; a stall reason beside the slots that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scenes.props.reach import Trip
from scenes.props.stall_reasons import OF_A_QUEUE
from scenes.stage.claims import Figure
from scenes.stage.digits import Counter
from scenes.stage.keys import window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import MEMORY, TEXT
from scenes.stage.type import FACT, NUMBER, SMALL, Align

LEFT, MIDDLE, RIGHT = 96, 995, 1824
FIRST, TOP, SECOND, THIRD = 212, 256, 312, 354  # baselines: of a caption alone; of a number and of the two lines under it
DOWN = 8  # by which the larger figures stand lower
KEPT = 0.62  # opacity of a figure that the next one has followed: still 4.5 to 1
NAMES = {"shared": "shared memory", "l1": "L1", "l2": "L2", "l2_far": "far L2", "dram": "DRAM"}
COLUMNS: Mapping[str, tuple[str, float, Align]] = {
    "shared": ("shared memory, on the SM", LEFT, "left"),
    "l2": ("L2, on the same chip", MIDDLE, "centre"),
    "dram": ("DRAM, off the chip", RIGHT, "right"),
}
TO_ASK = "they wait to ask, not for DRAM"  # before a queue that is full
KINDS = ("used", "idle")  # of its slots: as counted, as estimated

Opacity = Callable[[float], float]


def moments(trip: Trip, leaves: Mapping[str, float], end: float) -> tuple[Opacity, Opacity]:
    """(told, kept): opacity while a level's request is the last that went out, and until `end`, when all are over."""
    after = min((at for at in leaves.values() if at > leaves[trip.level.name]), default=end)
    return window(trip.leaves, min(after + 0.4, end), 0.3), window(trip.leaves, end, 0.3)


def column(cycles: Figure, trip: Trip, told: Opacity, kept: Opacity) -> list[Item]:
    """A level's cycles, counted as its request goes, bright while they are told; its source as long."""
    where, x, align = COLUMNS[trip.level.name]

    def shown(beat: float) -> float:
        return max(told(beat), KEPT * kept(beat))

    return [
        Counter(cycles, trip.passed, NUMBER.sized(80).coloured(MEMORY), x, TOP, align, shown),
        Text(where, FACT.sized(38), x, SECOND, align, shown),
        Text(f"one load, {cycles.source}", SMALL, x, THIRD, align, told),
    ]


def reason(name: str, waits: Figure, slots: Figure, counted: bool, shown: Opacity) -> list[Item]:
    """What its warps wait for most, large, and what that leaves of its issue slots, kept; a full queue is no wait for DRAM."""

    def kept(beat: float) -> float:
        return KEPT * shown(beat)

    return [
        Number(waits, NUMBER.sized(104), LEFT, TOP + DOWN, "left", shown),
        Text("of their time its warps wait here", FACT.sized(38), LEFT, SECOND + DOWN, "left", shown),
        Text(f"stall reason {name}, {waits.source}", SMALL, LEFT, THIRD + DOWN, "left", shown),
        Number(slots, NUMBER.sized(80), RIGHT, TOP + DOWN, "right", kept),
        Text(f"of its chances to issue {KINDS[not counted]}", FACT.sized(38), RIGHT, SECOND + DOWN, "right", kept),
        *([Text(TO_ASK, SMALL.coloured(TEXT), RIGHT, THIRD + DOWN, "right", shown)] if name in OF_A_QUEUE else []),
    ]
