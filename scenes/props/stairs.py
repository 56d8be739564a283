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
from scenes.stage.palette import COMPUTE, PLATE, QUIET, STEEL, TEXT, mix
from scenes.stage.plane import TextPlane
from scenes.stage.type import FACT, LABEL
from scenes.stage.world import Boxes, Ribbons, World

TALL, WIDE, DEEP, BROAD = 22.0, 50.0, 5.0, 8.0  # highest step, whole width, depth, widest step, world units
NUMBER, NAME = 1.2, 1.0  # height of capitals
LOW = 0.35  # of a step that has no height to show


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

    `told(beat)` is the opacity of rates and names, `rated(beat)` of the rates alone. Heights are proportional to the rates.
    """

    data: Dataset
    y: float
    lit: Callable[[int, float], float]
    told: Callable[[float], float]
    x: float = 0.0
    rated: Callable[[float], float] = lambda beat: 0.0
    steps: tuple[Step, ...] = field(init=False)
    broad: float = field(init=False)
    _planes: list[TextPlane] | None = field(init=False, default=None)

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
            world.add(Boxes.of(origin, size, colour, emission=0.16 * light[:, 0], edge=0.6 + 0.4 * light[:, 0]))
            nosing = origin + size * (0.0, 0.0, 1.0) + (0.0, -0.02, 0.05)  # the edge that one steps on is what shines
            ends = nosing, nosing + size * (1.0, 0.0, 0.0)
            world.add(Ribbons.of(*ends, 0.22, COMPUTE, 0.25 + 0.75 * light[:, 0], 0.15 + 0.75 * light[:, 0]))
        for step in self.steps:
            if not step.rate:
                a, b = frames(np.array([(step.x + 0.12, self.y, 0.0)]), (self.broad - 0.24, DEEP, LOW))
                world.add(Ribbons.of(a, b, 0.08, mix(STEEL, TEXT, 0.4), 0.8))
        told, rated = self.told(beat), self.rated(beat)
        if max(told, rated) > 0.004:
            if self._planes is None:
                self._planes = [plane for step in self.steps for plane in self._letters(step)]
            for plane in self._planes:
                shown = told if plane.figure is None else max(told, rated)
                if shown > 0.004:
                    world.add(plane.shown(shown, 0.2))

    def _letters(self, step: Step) -> list[TextPlane]:
        """The rate on the step's front and the name that runs up to it; over a step that is too low for them."""
        x, y = step.x + self.broad / 2, self.y - 0.1
        size = min(1.0, self.broad / 5.4)
        number, name = NUMBER * size, NAME * size
        words = step.title if step.rate else f"{step.title}: {step.missing}"
        upright = TextPlane(words, LABEL.coloured(TEXT), (x + name / 2, y, 0.8), (0, 0, 1), (-1, 0, 0), name)
        inside = step.rate is not None and upright.width + number + 2.2 <= step.height
        if not inside:
            over = step.height + (2.0 + number if step.rate else 0.7)
            upright = replace(upright, style=LABEL.coloured(QUIET), at=(x + name / 2, y, over))
        if step.rate is None:
            return [upright]
        shown = figure(step.rate, 2 if step.rate.quantity.value < 1 else 1, "")
        z = step.height + (-0.7 - number if inside else 1.2)
        plain = TextPlane.standing(shown.text, FACT.coloured(TEXT), (x, y, z), number, 0.0, "centre")
        return [upright, replace(plain, figure=shown)]


def why(rung: Rung) -> str:
    """Why a rung has no rate: the files keep none that failed its check."""
    return "failed verification" if rung.verification is not None and not rung.verification.passed else "not measured"


def one_by_one(begin: float, every: float, over: float = 0.4) -> Callable[[int, float], float]:
    """Steps that light up after one another: the first one at `begin`."""
    return lambda k, beat: 0.15 + 0.85 * ramp(beat, begin + every * k - over / 2, over)
