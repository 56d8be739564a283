"""The cube's climb: from tower to tower, always under the roof."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from measure.dataset import Dataset
from scenes.props import rungs as facts
from scenes.props.cube import Vector
from scenes.props.roofline import CUBE, FLOOR, HALF_DEPTH, Chart, Tower
from scenes.stage.keys import Track, arrive, ramp, smooth
from scenes.stage.overlay import Item, Text, Value, value_at
from scenes.stage.type import FACT

FLIGHT = 1.5  # beats from one tower to the next; the tower it lands on rises as long
QUICK = 2.0  # beats within which a rung lands after the one before to be told together with it
HEAD = 64.0  # design pixels from one title of a run to the next
OUTSIDE = -HALF_DEPTH - 0.5  # y of the way in front of the hall


def climb(
    chart: Chart, built: Mapping[str, Tower], earlier: Sequence[str], landings: Mapping[str, float]
) -> Callable[[float], Vector]:
    """Where the cube is: the last floor of the last tower of `earlier`, then of each next one, landing on its beat.

    Before its first tower it waits on the board, left of the slope's foot.
    """
    stops = [(-1.0, built[name]) for name in earlier if name in built][-1:]
    stops += [(moment, built[name]) for name, moment in landings.items() if name in built]
    # In a quick run a flight lasts as long as there is time for: the cube leaves a tower when it has landed on it.
    flights = [FLIGHT, *(min(FLIGHT, after[0] - before[0] - 0.1) for before, after in itertools.pairwise(stops))]
    for k, (_, tower) in enumerate(stops):
        tower.carries = until(stops[k + 1][0] - flights[k + 1] if k + 1 < len(stops) else math.inf)
    seat = (chart.x(chart.low_x) - 0.75, 0.4 - HALF_DEPTH, FLOOR)  # before the near rail's foot: never over it on the frame

    def where(beat: float) -> Vector:
        here: Vector = seat
        for (moment, tower), over in zip(stops, flights, strict=True):
            if beat >= moment:
                here = (tower.lot.x, tower.lot.y, max(FLOOR, tower.summit(beat) - CUBE))
            elif beat > moment - over:
                goal = (tower.lot.x, tower.lot.y, max(FLOOR, tower.top(beat) - CUBE))
                return swing(here, goal, smooth((beat - moment + over) / over))
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


def quick_run(landings: Mapping[str, float], name: str) -> list[tuple[str, float]]:
    """The rungs told together with `name`, itself last, and when each lands; none where a later rung tells it as well."""
    found: list[tuple[str, float]] = []
    for rung, moment in landings.items():
        if found and moment - found[-1][1] >= QUICK:
            if found[-1][0] == name:
                return found
            found = []
        found.append((rung, moment))
    return found if found and found[-1][0] == name else []


def block(data: Dataset, run: Sequence[tuple[str, float]], shown: Value, landed: Value, told: bool, low: float) -> list[Item]:
    """The facts of a run's last rung, under the titles of those before it, each written when it lands; `low` pixels down."""

    def since(moment: float, beat: float) -> float:
        return value_at(shown, beat) * ramp(beat, moment - 0.12, 0.12)

    below, name = HEAD * (len(run) - 1), run[-1][0]
    heads: list[Item] = []
    for k, (rung, moment) in enumerate(run[:-1]):
        found = facts.find(data, rung)
        title = found.title if found else rung
        heads.append(Text(title, FACT, facts.LEFT, 262 + HEAD * k, "left", partial(since, moment)))
    last = partial(since, run[-1][1]) if len(run) > 1 else shown
    return lowered(heads + lowered(facts.lettering(data, name, last, landed, told), below), low)


def caption(lines: Sequence[str], said: Value) -> list[Item]:
    """Lines that stand where a rung's facts will."""
    return [Text(line, FACT, facts.LEFT, 262 + HEAD * k, "left", said) for k, line in enumerate(lines)]


def lowered(items: Sequence[Item], pixels: float) -> list[Item]:
    """The items this many design pixels further down the frame."""
    return [replace(item, y=value_at(item.y, 0.0) + pixels) for item in items]  # type: ignore[type-var,attr-defined]


def staircase(towers: Sequence[Tower], end: float) -> None:
    """The whole ladder as a staircase of light: it dims, then lights up rung by rung, a sixteenth each, whole at `end`."""
    for k, tower in enumerate(reversed(towers)):
        tower.light = Track(1.0).to(0.3, end - 2.75, 0.75).to(1.0, end - 0.25 * k, 0.24, arrive)
