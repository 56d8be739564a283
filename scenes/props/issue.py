"""A block's warps before the schedulers of an SM: how they stand, whose turn it is, and the blocks that serve them.

On compute capability 7.x to 9.x an SM has four warp schedulers; its warps are distributed among them, and whenever it is time
to issue each scheduler issues one instruction for one of its warps that is ready (CUDA C++ Programming Guide, compute
capabilities).  Which warp goes to which scheduler, and who comes first, is not said there: here they stand in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scenes.props.warp import LANES, Floats
from scenes.stage.keys import ramp
from scenes.stage.overlay import Value, value_at
from scenes.stage.palette import COMPUTE, QUIET, STEEL, TEXT, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import LABEL
from scenes.stage.world import Boxes, Ribbons, World

SCHEDULERS = {7: 4, 8: 4, 9: 4}  # warp schedulers of an SM by major compute capability
FRONT = 3  # drawn groups, where the number of schedulers is not known
END = LANES / 2 + 1.4  # x of a scheduler's near end, beyond the last lane
BLOCK, CAPITAL = (10.8, 1.2, 2.4), 1.35  # of a scheduler: width, depth, height; capitals of its name
WIRE = 1.5  # height at which its line runs over the lanes
STEP = 0.5  # share of its work that a warp shows on a step of its march


def schedulers_of(compute_capability: str | None) -> int:
    """Warp schedulers of an SM; 0 where that is not known."""
    major = (compute_capability or "").partition(".")[0]
    return SCHEDULERS.get(int(major), 0) if major.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Ranks:
    """`warps` rows one behind the other in groups of one scheduler each, the first in front; y grows away from the camera.

    `opened(beat)` goes from 0, one dense block, to 1: rows `within` apart in a group, groups `between` apart.
    """

    warps: int
    groups: int
    opened: Callable[[float], float]
    dense: float = 1.0
    within: float = 2.4
    between: float = 5.0

    @property
    def each(self) -> int:
        """Warps of a group."""
        return -(-self.warps // self.groups)

    def behind(self, warp: int, beat: float) -> float:
        """How far behind the first row a warp stands."""
        group, rank = divmod(warp, self.each)
        apart = (group * ((self.each - 1) * self.within + self.between)) + rank * self.within
        return self.dense * warp + (apart - self.dense * warp) * self.opened(beat)

    def middle(self, group: int, beat: float) -> float:
        """How far behind the first row the middle of a group is."""
        last = min((group + 1) * self.each, self.warps) - 1
        return (self.behind(group * self.each, beat) + self.behind(last, beat)) / 2

    def turns(self, warp: int, first: int, last: int) -> list[int]:
        """The beats from `first` to `last` on which it is this warp's turn: each group's warps in order, one a beat."""
        return [beat for beat in range(first, last + 1) if (beat - first) % self.each == warp % self.each]

    def served(self, group: int, beat: int, first: int) -> int:
        """The warp of a group whose turn a beat is, where the turns begin on beat `first`."""
        return min(group * self.each + (beat - first) % self.each, self.warps - 1)


def at_work(turns: Sequence[float], steps: Sequence[float] = (), ever: float = np.inf) -> Callable[[float], Floats]:
    """Work of all lanes of a warp, (32,): up with each of its turns and down before the next beat, half as much with each step.

    From the moment `ever` on it is up for good.
    """
    bumps = [*((beat, beat, 1.0) for beat in turns), *((beat, beat, STEP) for beat in steps)]
    if steps:
        bumps.append((min(steps), max(steps), 0.5 * STEP))  # it does not go out between them: nothing flashes

    def work(beat: float) -> Floats:
        shares = (much * ramp(beat, a - 0.1, 0.14) * (1.0 - ramp(beat, b + 0.6, 0.32)) for a, b, much in bumps)
        return np.full(LANES, max(max(shares, default=0.0), ramp(beat, ever - 0.1, 0.14)))

    return work


def struck(beats: list[int]) -> Callable[[float], Floats]:
    """Whether the current beat lands on a warp, (32,): on all of its lanes at once, or on none."""
    hits = frozenset(beats)
    return lambda beat: np.full(LANES, float(int(np.floor(beat + 0.1)) in hits))


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A scheduler: a block with its name at the right end of its warps; `rise` lifts it out of the floor.

    On each beat of its warps' turns, `issues`, it jumps, and a line runs from it over all lanes of the warp that it serves,
    whose y `served(beat)` tells.
    """

    y: Callable[[float], float]
    rise: Value
    issues: Sequence[float]
    served: Callable[[float], float]
    name: str = "scheduler"

    def strikes(self, beat: float) -> float:
        """How much it issues, 0..1: most on the beat, over well before the next."""
        return max((ramp(beat, at - 0.12, 0.12) * (1.0 - ramp(beat, at + 0.1, 0.6)) for at in self.issues), default=0.0)

    def draw(self, world: World, beat: float) -> None:
        up = value_at(self.rise, beat)
        if up < 0.01:
            return
        y, hit, (wide, deep, tall) = self.y(beat), self.strikes(beat), BLOCK
        low, frame = 0.5 * hit * up, mix(STEEL, QUIET, 0.3)
        world.add(Boxes.of([(END, y - deep / 2, low)], (wide, deep, tall * up), frame, 0.0, 1.0))
        sign = TextPlane.standing(
            self.name, LABEL.coloured(TEXT), (END + wide / 2, y - deep / 2 - 0.02, low + 0.55 * up), CAPITAL * up, 0.0, "centre"
        )
        world.add(sign.shown(min(1.0, max(0.0, 2.0 * up - 1.0))))
        if hit > 0.01:
            at = self.served(beat)
            knots = np.array([(END, y, low + 0.5 * tall), (END - 0.6, at, WIRE), (-LANES / 2, at, WIRE)])
            world.add(Ribbons.of(knots[:-1], knots[1:], 0.14, COMPUTE, 0.9 * hit * up, 0.5 * hit))
