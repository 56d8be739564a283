"""The last climb: when the cube lands on which tower, how the scale is magnified, the line to pass and the burst as it is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from measure.dataset import Dataset, Reading
from scenes.props import hall_light
from scenes.props import rungs as facts
from scenes.props.climb import FLIGHT
from scenes.props.cube import Vector
from scenes.props.framing import View
from scenes.props.hall_flight import Key
from scenes.props.roofline import CUBE, FLOOR, HALF_WIDTH, HEIGHT, Chart, Tower, light_the_hall
from scenes.props.sentence import Sentence
from scenes.stage.claims import Figure, figure
from scenes.stage.keys import Track, arrive, leave, overshoot, ramp, smooth
from scenes.stage.overlay import SAFE, Canvas, Item
from scenes.stage.palette import MEMORY, TEXT, THREAD, mix
from scenes.stage.type import FACT, Style, measure_text
from scenes.stage.world import Ribbons, World

# Beats after the first landing on which a word of "Rise with me, rise with me, up to the light" begins, the heaviest first.
WORDS = (0.0, 6.0, 2.0, 4.0, 1.0, 3.0, 5.0, 1.5, 3.5, 5.5)
FALL = 1.25  # beats from the newest tower down to the first one
MOST = 16.0  # times that the scale is magnified at most
PAST, LEVEL, UNDER = "past", "level with", "under"
SHARDS, FLIES = 34, 3.0  # pieces of light that leave the cube, and for how many beats they are seen

MAGNIFIES, OVER = 6.25, 2.0  # beat on which the scale begins to be magnified, and for how long it is

# Over the whole ladder, from the drop to its last tower.
LADDER: tuple[Key, ...] = (
    (0, (-0.6, 0.0, 4.0, 16.5, 26, 3)),
    (2, (-0.3, 0.0, 4.6, 18.0, 20, 2)),
    (4, (0.2, 0.0, 4.85, 19.0, 15, 1)),
    (6, (1.4, 0.0, 4.9, 18.4, 10, 1)),
)
# One magnified scale, from its floor to the beam.
MAGNIFIED: tuple[Key, ...] = (
    (8.25, (3.5, 0.0, 4.2, 18.4, 14, 0)),
    (12, (3.7, 0.0, 4.2, 18.0, 19, 0)),
    (15.5, (3.8, 0.0, 4.2, 18.2, 8, 0)),
    (20, (4.2, 0.0, 4.3, 17.6, 17, 0)),
    (22.6, (4.1, 0.0, 4.3, 17.7, 21, 0)),
    (24.5, (3.8, 0.0, 4.2, 18.2, 11, 0)),
    (27.4, (4.2, 0.0, 4.3, 17.6, 14, 0)),
)
PAST_IT: tuple[Key, ...] = (
    (28.1, (4.9, 0.0, 5.0, 13.6, 9, 0)),
    (30.5, (5.0, 0.0, 5.05, 13.2, 3, 0)),
    (32, (3.4, 0.0, 5.2, 15.6, 12, 4)),
)
UNDER_IT: tuple[Key, ...] = (
    (30.5, (4.4, 0.0, 4.4, 17.0, 4, 0)),
    (32, (3.4, 0.0, 5.2, 15.6, 12, 4)),
)
# Without a rung to magnify: seen whole, round it from word to word.
WHOLE: tuple[Key, ...] = (
    (10, (1.2, 0.0, 4.8, 16.8, 17, 1)),
    (14, (1.6, 0.0, 4.9, 16.2, 6, 1)),
    (16.2, (0.2, 0.0, 4.8, 18.0, 11, 1)),
    (19, (0.4, 0.0, 4.8, 17.6, 17, 1)),
    (22, (1.0, 0.0, 4.85, 17.0, 10, 1)),
    (28, (1.8, 0.0, 5.0, 15.6, 4, 1)),
    (30.6, (1.4, 0.0, 5.0, 16.4, 12, 2)),
    (32, (2.4, 0.0, 5.4, 15.0, 14, 5)),
)


@dataclass(frozen=True, slots=True)
class LastClimb:
    """Towers grow together leg by leg, and the cube lands on the last one of each; `legs` are the beats and the towers.

    Those after beat `leaps` slam up while the cube flies past them: it lands on none.
    """

    legs: Sequence[tuple[float, Sequence[str]]]
    leaps: float = math.inf

    @classmethod
    def sung(cls, names: Sequence[str], begins: float) -> LastClimb:
        """A tower to each of the heaviest words of a line that begins on a beat."""
        words = sorted(WORDS[min(k, len(WORDS) - 1)] for k in range(len(names)))
        return cls([(begins + word, [name]) for word, name in zip(words, names, strict=True)])

    @property
    def stops(self) -> list[tuple[float, str]]:
        """When the cube lands on which tower."""
        return [(moment, leg[-1]) for moment, leg in self.legs if moment < self.leaps]

    def grow(self, rises: Mapping[str, Track], sink: bool = True) -> None:
        """All towers but the first leg's grow under the cube; before, they `sink` as it falls, or have never stood."""
        begins = self.legs[0][0] if self.legs else 0.0
        for (before, _), (moment, leg) in itertools.pairwise(self.legs):
            for name in leg:
                if sink:
                    rises[name].to(0.0, begins - 0.1, FALL - 0.35, leave)
                else:
                    rises[name].set(0.0, begins - 8.0)
                over = min(FLIGHT, max(0.4, moment - before)) if moment < self.leaps else 0.45
                rises[name].to(1.0, moment, over, arrive if sink else overshoot)


def keys(rungs: int) -> Sequence[Key]:
    """The camera's keys for a number of new rungs; in to the last of many, where the line is."""
    return (*LADDER, *(MAGNIFIED if rungs else WHOLE), *((PAST_IT if rungs > 1 else UNDER_IT) if rungs else ()))


def magnified(data: Dataset, chart: Chart, names: Sequence[str]) -> float:
    """How far to magnify for the cube to stand on the floor as it carries the rate of the fastest of some rungs."""
    rates = [rung.rate.value for name in names if (rung := facts.find(data, name)) is not None and rung.rate is not None]
    if not rates:
        return 1.0
    left = FLOOR + HEIGHT - chart.z(max(rates))
    return min(MOST, max(1.0, (HEIGHT - CUBE) / max(left, 1e-6)))


def drop(world: World, beat: float, top: float, passed: Callable[[], bool]) -> None:
    """The hall's light: bright on the drop, and on beat `top` if a line is `passed` then; for two bars ever less."""
    light_the_hall(world, beat)
    dawn, goal = hall_light.shine((), beat), ramp(beat, top - 0.4, 0.4) * (1.0 - ramp(beat, top + 0.5, 6.0))
    goal = goal if goal > 0.0 and passed() else 0.0
    hall_light.brighten(world, 0.6 * max(dawn, goal), 0.8 * max(dawn, goal), (MEMORY, 0.3 * dawn), (THREAD, 0.16 * goal))


def shine(towers: Mapping[str, Tower], wide: str, said: float, end: float) -> None:
    """The tower `wide` alone is bright on beat `said`; later all go darker and light up in order, the last one at `end`."""
    for k, (name, tower) in enumerate(reversed(list(towers.items()))):
        tower.light = Track(1.0)
        if wide in towers and name != wide:
            tower.light.to(0.3, said, 0.75).to(1.0, said + 1.25, 0.75)
        tower.light.to(0.45, end - 0.7, 0.3).to(1.0, end - k / 16, 0.06, arrive)


def verdict(best: Reading, line: Reading) -> str:
    """How a rate stands to a line as both were measured: where their ranges meet neither is faster."""

    def ends(reading: Reading) -> tuple[float, float]:
        q = reading.quantity
        return (q.value if q.low is None else q.low), (q.value if q.high is None else q.high)

    (low, high), (least, most) = ends(best), ends(line)
    return PAST if low > most else UNDER if high < least else LEVEL


@dataclass(frozen=True, slots=True)
class Magnifier:
    """A frame round the part of the scale that is magnified: drawn round it while it is small, it grows as far as it is.

    `shown` is its opacity; `lowest` the height, without magnification, of its lower edge, `lens` that of a height at a beat.
    """

    chart: Chart
    lowest: float
    lens: Callable[[float, float], float]
    shown: Callable[[float], float]

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        if shown <= 0.004:
            return
        y, low, high = -0.4, self.lens(self.lowest, beat) + 0.01, FLOOR + HEIGHT + 0.25
        left, right = (self.chart.x(self.chart.ridge) - 2.6 if self.chart.placed else 0.0), HALF_WIDTH + 0.9
        corners = [(left, y, low), (right, y, low), (right, y, high), (left, y, high)]
        world.add(Ribbons.of(corners, [*corners[1:], corners[0]], 0.06, TEXT, 0.9 * shown, 0.2))


@dataclass(slots=True)
class Target:
    """The vendor's line: its rate dashed in the plane of the tower that meets it, named at its end, never a tower of ours.

    `rate` and `says` are read when they are shown; `rate` None draws nothing. `shown` 0..1 draws it from the right; from beat
    `told` on it is said how the tower stands to it.
    """

    chart: Chart
    rate: Callable[[], Reading | None]
    title: Callable[[], str]
    says: Callable[[], str]
    tower: Tower
    shown: Callable[[float], float]
    told: float

    def point(self, beat: float) -> Vector | None:
        """Where it meets the tower, None without a line."""
        rate = self.rate()
        if rate is None:
            return None
        return self.tower.lot.x, self.tower.lot.y, self.tower.lens(self.chart.z(rate.quantity.value), beat)

    def draw(self, world: World, beat: float) -> None:
        shown = self.shown(beat)
        middle = self.point(beat) if shown > 0.01 else None
        if middle is None:
            return
        x, y, z = middle
        right, left = max(HALF_WIDTH, x + 1.5), x - 2.2
        xs = np.arange(right, left, -0.4)
        xs = xs[xs > right - (right - left) * shown]
        a = np.column_stack([xs, np.full(len(xs), y), np.full(len(xs), z)])
        # Once it has been passed, the dashes beside the cube are thrown up and go out.
        late = max(beat - self.told, 0.0) if beat > self.told and self.passed() else 0.0
        near = np.clip(1.0 - np.abs(a[:, 0] - x) / 1.3, 0.0, 1.0) * (late > 0.0)
        a[:, 2] += 0.9 * near * smooth(min(1.0, late / 1.5))
        alpha = 0.95 * (1.0 - near * min(1.0, late / 1.5))
        world.add(Ribbons.of(a, a + np.array([0.24, 0.0, 0.0]), 0.07, TEXT, alpha, 0.15))

    def passed(self) -> bool:
        """Whether the tower is over it."""
        return self.says() == PAST

    def words(self, view: View) -> list[Item]:
        """Its name and rate over its right end; over that, once it is told, how the tower stands to it."""
        rate = self.rate()
        return [] if rate is None else [Named(self, rate, view)]


@dataclass(frozen=True, slots=True)
class Named:
    """The words at a vendor's line."""

    line: Target
    rate: Reading
    view: View

    def draw(self, canvas: Canvas) -> None:
        line, beat, point = self.line, canvas.beat, self.line.point(canvas.beat)
        if point is None:
            return
        x, y, z = point
        (px, py, _), *_ = self.view(beat, np.array([(x + 0.6, y, z)])).tolist()
        parts: list[tuple[str | Figure, Style]] = [(f"{line.title()} ", FACT), (figure(self.rate, 1), FACT)]
        wide = sum(measure_text(part if isinstance(part, str) else part.text, FACT, 1.0)[0] for part, _ in parts)
        left, shown = min(px, SAFE[2] - wide), ramp(line.shown(beat), 0.6, 0.4)
        Sentence(parts, left, py - 16.0, "left", shown).draw(canvas)
        if beat >= line.told:
            canvas.write(line.says(), FACT, left, py - 62.0, opacity=shown)


@dataclass(frozen=True, slots=True)
class Burst:
    """A line is `passed`: light leaves the cube to all sides as it lands at `where` on beat `begins`, and one ring."""

    where: Callable[[float], Vector]
    begins: float
    passed: Callable[[], bool]

    def draw(self, world: World, beat: float) -> None:
        late = beat - self.begins
        if not 0.0 <= late < FLIES or not self.passed():
            return
        far, left = arrive(late / FLIES), 1.0 - smooth(late / FLIES)
        middle = np.add(self.where(self.begins), (0.0, 0.0, CUBE / 2))
        k = np.arange(SHARDS)
        turn, reach = 2.39996 * k, 1.1 + 2.6 * ((k * 7) % SHARDS) / SHARDS  # the golden angle: no two the same way
        way = np.column_stack([np.cos(turn), -0.5 - 0.4 * np.sin(3.0 * turn), np.sin(turn)])
        tip, size = middle + way * (reach * far)[:, None], 0.34 * left + 0.05
        tip[:, 2] -= 0.5 * (late / FLIES) ** 2
        world.add(Ribbons.of(tip - way * size, tip, 0.10, mix(THREAD, TEXT, 0.2), 0.95 * left, 1.0))
        angle = np.linspace(0.0, 2.0 * np.pi, 49)
        ring = middle + 4.2 * arrive(min(1.0, late / 2.0)) * np.column_stack([np.cos(angle), 0.0 * angle, np.sin(angle)])
        world.add(Ribbons.of(ring[:-1], ring[1:], 0.02 + 0.12 * left**2, THREAD, 0.8 * left**2, 0.9))
