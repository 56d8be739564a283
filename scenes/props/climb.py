"""The cube's climb: from tower to tower, always under the roof."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from scenes.props.cube import Vector
from scenes.props.roofline import CUBE, FLOOR, HALF_DEPTH, Chart, Tower
from scenes.stage.keys import ramp, smooth

FLIGHT = 1.5  # beats from one tower to the next; the tower it lands on rises as long
OUTSIDE = -HALF_DEPTH - 0.5  # y of the way in front of the hall


def climb(
    chart: Chart, built: Mapping[str, Tower], earlier: Sequence[str], landings: Mapping[str, float]
) -> Callable[[float], Vector]:
    """Where the cube is: the last floor of the last tower of `earlier`, then of each next one, landing on its beat.

    Before its first tower it waits on the board, left of the slope's foot.
    """
    stops = [(-1.0, built[name]) for name in earlier if name in built][-1:]
    stops += [(moment, built[name]) for name, moment in landings.items() if name in built]
    for k, (_, tower) in enumerate(stops):
        departs = stops[k + 1][0] - FLIGHT if k + 1 < len(stops) else math.inf
        tower.carries = until(departs)
    seat = (chart.x(chart.low_x) - 0.75, 0.4 - HALF_DEPTH, FLOOR)  # before the near rail's foot: never over it on the frame

    def where(beat: float) -> Vector:
        here: Vector = seat
        for moment, tower in stops:
            if beat >= moment:
                here = (tower.lot.x, tower.lot.y, max(FLOOR, tower.summit(beat) - CUBE))
            elif beat > moment - FLIGHT:
                goal = (tower.lot.x, tower.lot.y, max(FLOOR, tower.top(beat) - CUBE))
                return swing(here, goal, smooth((beat - moment + FLIGHT) / FLIGHT))
            else:
                break
        return here

    return where


def swing(start: Vector, end: Vector, u: float) -> Vector:
    """From tower to tower in front of the hall.  Height follows x in a straight line, as the roof does: it is never passed."""
    x, y, z = (a + (b - a) * u for a, b in zip(start, end, strict=True))
    return x, y + (OUTSIDE - y) * 4.0 * u * (1.0 - u), z


def until(departs: float) -> Callable[[float], float]:
    """1 as long as a tower carries the cube, or waits for it; the floor that the cube was grows when it has left."""
    return lambda beat: 1.0 - ramp(beat, departs, 0.4)
