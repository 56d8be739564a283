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
from scenes.stage.keys import Track, arrive, overshoot, ramp, smooth
from scenes.stage.overlay import Item, Text, Value, value_at
from scenes.stage.type import FACT

FLIGHT = 1.5  # beats from one tower to the next; the tower it lands on rises as long
QUICK = 2.0  # beats within which a rung lands after the one before to be told together with it
HEAD = 64.0  # design pixels from one title of a run to the next
OUTSIDE = -HALF_DEPTH - 0.5  # y of the way in front of the hall


def climb(chart: Chart, built: Mapping[str, Tower], landings: Sequence[tuple[float, str]]) -> Callable[[float], Vector]:
    """Where the cube is: on the last floor of one tower after the other, landing on each on its beat.

    Before its first tower it waits on the board, left of the slope's foot.
    """
    stops = [(moment, built[name]) for moment, name in landings if name in built]
    # In a quick run a flight lasts as long as there is time for: the cube leaves a tower when it has landed on it.
    flights = [FLIGHT, *(min(FLIGHT, after[0] - before[0] - 0.1) for before, after in itertools.pairwise(stops))]
    departs = [*(moment - over for (moment, _), over in zip(stops[1:], flights[1:], strict=True)), math.inf]
    for tower in built.values():
        stays = [(stops[k][0] - flights[k], departs[k]) for k in range(len(stops)) if stops[k][1] is tower]
        if stays:
            tower.carries = partial(carried, stays)
    seat = (chart.x(chart.low_x) - 0.75, 0.4 - HALF_DEPTH, FLOOR + CUBE)  # before the near rail's foot: never over it

    def where(beat: float) -> Vector:
        start: Vector = seat
        here: Vector = (*seat[:2], FLOOR)
        for (moment, tower), over in zip(stops, flights, strict=True):
            end = (tower.lot.x, tower.lot.y, max(FLOOR + CUBE, tower.lot.top))
            if beat >= moment:
                here = (*end[:2], max(FLOOR, tower.summit(beat) - CUBE))
            elif beat > moment - over:
                # Where its top is without a zoom: a straight line there is under the roof, and so it is in any zoom.
                x, y, top = swing(start, end, smooth((beat - moment + over) / over))
                return x, y, max(FLOOR, tower.lens(top, beat) - CUBE)
            else:
                break
            start = end
        return here

    return where


def by_quarters(moment: float) -> Track:
    """A tower grows a quarter on each of the three beats before a landing, the last one under the cube."""
    grown = Track(0.0)
    for k in (1, 2, 3):
        grown.to(0.25 * k, moment - 4.0 + k, 0.4, arrive)
    return grown.to(1.0, moment, 0.6, overshoot)


def swing(start: Vector, end: Vector, u: float) -> Vector:
    """From tower to tower in front of the hall.  Height follows x in a straight line, as the roof does: it is never passed."""
    x, y, z = (a + (b - a) * u for a, b in zip(start, end, strict=True))
    return x, y + (OUTSIDE - y) * 4.0 * u * (1.0 - u), z


def carried(stays: Sequence[tuple[float, float]], beat: float) -> float:
    """1 as long as a tower carries the cube, or waits for it; the floor that the cube was grows when it has left.

    A stay is the beat on which the cube sets out for the tower, and that on which it leaves it.
    """
    _, departs = next((stay for stay in reversed(stays) if beat >= stay[0]), stays[0])
    return 1.0 - ramp(beat, departs, 0.4)


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
