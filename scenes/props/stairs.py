"""The ladder as a staircase of light: a step for each rung, as high as its rate; without a verified rate an outline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from measure.dataset import Dataset, Reading
from measure.records import Rung
from scenes.props.cube import Vector
from scenes.props.ring import frames
from scenes.props.rungs import LADDER
from scenes.stage.claims import figure
from scenes.stage.keys import ramp
from scenes.stage.palette import COMPUTE, PLATE, STEEL, TEXT, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import FACT
from scenes.stage.world import Boxes, Ribbons, World

TALL, WIDE, DEEP, BROAD = 22.0, 50.0, 5.0, 8.0  # highest step, whole width, depth, widest step, world units
NUMBER, NAME = 1.2, 1.15  # height of capitals
LOW = 0.35  # of a step that has no height to show
OVER, CLEAR, LEAD, BESIDE = 1.5, 1.0, 0.75, 0.45  # a rate over a low step; a name over it; from name to name; from its pole


@dataclass(frozen=True, slots=True)
class Step:
    """A rung: its title, its rate, why it has none (''), and the box's left end and height."""

    title: str
    rate: Reading | None
    missing: str
    x: float
    height: float


@dataclass(slots=True)
class Stairs:
    """Steps of the fp32 GEMM ladder, their fronts at `y`, centred on `x`; `lit(k, beat)` 0..1 is each one's light.

    `told(k, beat)` 0..1 raises a step's name on its pole and shows its rate, `rated(beat)` is the opacity of the rates alone.
    Heights are proportional to the rates. Names lie level, each above the one before, over the steps on its left; over the
    best step `crown` world units are kept free.
    """

    data: Dataset
    y: float
    lit: Callable[[int, float], float]
    told: Callable[[int, float], float]
    x: float = 0.0
    rated: Callable[[float], float] = lambda beat: 0.0
    crown: float = 0.0
    steps: tuple[Step, ...] = field(init=False)
    broad: float = field(init=False)
    names: tuple[TextPlane, ...] = field(init=False)
    _rates: dict[int, TextPlane] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        owned = self.data.ladder(LADDER)
        rungs = owned.value.rungs if owned else ()
        rates = [self.data.get(f"ladders.{LADDER}.rungs.{rung.name}.rate") for rung in rungs]
        most = max((rate.quantity.value for rate in rates if rate), default=1.0)
        self.broad = min(BROAD, WIDE / max(len(rungs), 1))
        left = self.x - self.broad * len(rungs) / 2
        self.steps = tuple(
            Step(
                rung.title,
                rate,
                "" if rate else why(rung),
                left + self.broad * k,
                TALL * rate.quantity.value / most if rate else LOW,
            )
            for k, (rung, rate) in enumerate(zip(rungs, rates, strict=True))
        )
        self.names = self._names()

    @property
    def top(self) -> Vector:
        """The middle of the highest step's upper face; of the ground where there is none."""
        best = max((step for step in self.steps if step.rate), key=lambda step: step.height, default=None)
        return (best.x + self.broad / 2, self.y + DEEP / 2, best.height) if best else (self.x, self.y + DEEP / 2, 0.0)

    def draw(self, world: World, beat: float) -> None:
        solid = [(k, step) for k, step in enumerate(self.steps) if step.rate]
        if solid:
            light = np.array([self.lit(k, beat) for k, _ in solid])[:, None]
            origin = np.array([(step.x + 0.12, self.y, 0.0) for _, step in solid])
            size = np.array([(self.broad - 0.24, DEEP, step.height) for _, step in solid])
            colour = np.array(mix(PLATE, STEEL, 0.8)) * (1.0 - light) + np.array(mix(PLATE, COMPUTE, 0.72)) * light
            world.add(Boxes.of(origin, size, colour, emission=0.22 * light[:, 0], edge=0.6 + 0.4 * light[:, 0]))
            nosing = origin + size * (0.0, 0.0, 1.0) + (0.0, -0.02, 0.05)  # the edge that one steps on is what shines
            ends = nosing, nosing + size * (1.0, 0.0, 0.0)
            world.add(Ribbons.of(*ends, 0.22, COMPUTE, 0.25 + 0.75 * light[:, 0], 0.15 + 0.75 * light[:, 0]))
        for step in self.steps:
            if not step.rate:
                a, b = frames(np.array([(step.x + 0.12, self.y, 0.0)]), (self.broad - 0.24, DEEP, LOW))
                world.add(Ribbons.of(a, b, 0.08, mix(STEEL, TEXT, 0.4), 0.8))
        self._write(world, beat)

    def _write(self, world: World, beat: float) -> None:
        told, rated = [self.told(k, beat) for k in range(len(self.steps))], self.rated(beat)
        if max([rated, *told]) <= 0.004:
            return
        if self._rates is None:
            self._rates = {k: self._rate(step, step.rate) for k, step in enumerate(self.steps) if step.rate}
        for k, plane in self._rates.items():
            if (shown := max(told[k], rated)) > 0.004:
                world.add(plane.shown(shown, 0.2))
        for k, (step, name) in enumerate(zip(self.steps, self.names, strict=True)):
            if told[k] <= 0.004:
                continue
            world.add(name.shown(max(0.0, 2.0 * told[k] - 1.0), 0.2))  # once its pole is up: it must not pass others
            pole, foot, (_, y, z) = step.x + self.broad / 2, self._foot(step), name.at
            a, b = np.array([(pole, y, foot)]), np.array([(pole, y, foot + (z + name.height - foot) * told[k])])
            world.add(Ribbons.of(a, b, 0.1, mix(COMPUTE, TEXT, 0.3), told[k], 0.4))

    @property
    def _size(self) -> float:
        """Of a rate: narrow steps have smaller ones."""
        return NUMBER * min(1.0, self.broad / 5.4)

    def _inside(self, step: Step) -> bool:
        """Whether the front of a step is high enough for its rate."""
        return step.rate is not None and step.height > self._size + 2.2

    def _foot(self, step: Step) -> float:
        """Where the pole of a step's name begins: on the step, over the rate that stands on it, over the crown of the best."""
        over = 0.0 if step.rate is None or self._inside(step) else OVER + self._size + 0.4
        best = step.rate is not None and step.height == self.top[2]
        return step.height + max(over, best * (self.crown - CLEAR))

    def _names(self) -> tuple[TextPlane, ...]:
        """Each left of its pole, and over all that it reaches across."""
        names, level, left = list[TextPlane](), 0.0, self.x - self.broad * len(self.steps) / 2 - 9.0
        for step in self.steps:
            words = step.title if step.rate else f"{step.title}: {step.missing}"
            plane = TextPlane.standing(words, FACT.coloured(TEXT), (0.0, 0.0, 0.0), NAME, 0.0, "right")
            end = max(step.x + self.broad / 2 - BESIDE, left + plane.width)  # one that is too long runs over to the right
            # neither a step nor a rate over the next one may stand in its line
            begin = end - plane.width - self.broad
            reach = [end + (0.0 if self._inside(other) else 0.7 * self.broad) for other in self.steps]
            under = [other for other, far in zip(self.steps, reach, strict=True) if begin < other.x < far]
            level = max(level, *(self._foot(other) + CLEAR for other in under))
            names.append(replace(plane, at=(end, self.y - 0.1, level)))
            level += NAME + LEAD
        return tuple(names)

    def _rate(self, step: Step, rate: Reading) -> TextPlane:
        """On the step's front; over a step that is too low for it."""
        shown = figure(rate, 2 if rate.quantity.value < 1 else 1, "")
        z = step.height + (-0.7 - self._size if self._inside(step) else OVER)
        place = (step.x + self.broad / 2, self.y - 0.1, z)
        plane = TextPlane.standing(shown.text, FACT.coloured(TEXT), place, self._size, 0.0, "centre")
        return replace(plane, figure=shown)


def why(rung: Rung) -> str:
    """Why a rung has no rate: the files keep none that failed its check."""
    return "failed verification" if rung.verification is not None and not rung.verification.passed else "not measured"


def one_by_one(begin: float, every: float, over: float = 0.4) -> Callable[[int, float], float]:
    """Steps that light up after one another: the first one at `begin`."""
    return lambda k, beat: 0.15 + 0.85 * ramp(beat, begin + every * k - over / 2, over)
