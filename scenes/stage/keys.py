"""Motion as pure functions of musical time: a value keyed in beats, asked for at any beat in any order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

Ease = Callable[[float], float]


def linear(u: float) -> float:
    return u


def smooth(u: float) -> float:
    """Ease in and out: zero speed at both ends."""
    return u * u * (3.0 - 2.0 * u)


def arrive(u: float) -> float:
    """Fast start, soft landing: for things that must be there on the beat."""
    return 1.0 - (1.0 - u) ** 3


def leave(u: float) -> float:
    """Soft start, fast end: for things that go away on the beat."""
    return u * u * u


def quicken(u: float) -> float:
    """From rest, ever faster, with no jump in acceleration at the start: what a transition does before its cut."""
    return u * u * u * (2.0 - u)


def overshoot(u: float) -> float:
    """Lands 6 % past the goal and settles: for hits."""
    v = u - 1.0
    s = 1.35
    return 1.0 + v * v * ((s + 1.0) * v + s)


class Track:
    """A number keyed in beats.  `to(value, at, over)` arrives at beat `at` after `over` beats of travel."""

    def __init__(self, value: float = 0.0) -> None:
        self._first = value
        self._moves: list[tuple[float, float, float, float, Ease]] = []

    def to(self, value: float, at: float, over: float = 1.0, ease: Ease = smooth) -> Track:
        """Add a move that ends at beat `at`; moves must be added in order of their start."""
        start = at - over
        if self._moves and start < self._moves[-1][0]:
            raise ValueError(f"a move that starts at beat {start:g} comes before the one at beat {self._moves[-1][0]:g}")
        self._moves.append((start, at, self(start), value, ease))
        return self

    def set(self, value: float, at: float) -> Track:
        """Jump to a value at a beat."""
        return self.to(value, at, 0.0)

    def __call__(self, beat: float) -> float:
        value = self._first
        for start, end, a, b, ease in self._moves:
            if beat < start:
                break
            value = b if beat >= end else a + (b - a) * ease((beat - start) / (end - start))
        return value


class Path:
    """A smooth curve of vectors through keys (beat, vector): monotone cubic, so it never overshoots a key."""

    def __init__(self, keys: Sequence[tuple[float, Sequence[float]]]) -> None:
        beats = np.array([beat for beat, _ in keys], float)
        self._values = np.array([value for _, value in keys], float)
        self._low, self._high = float(beats[0]), float(beats[-1])
        self._curve = PchipInterpolator(beats, self._values, axis=0) if len(keys) > 1 else None

    def __call__(self, beat: float) -> NDArray[np.float64]:
        if self._curve is None:
            return np.asarray(self._values[0])
        return np.asarray(self._curve(min(max(beat, self._low), self._high)))


def ramp(beat: float, start: float, over: float, ease: Ease = smooth) -> float:
    """0 before `start`, 1 from `start + over` on, eased between."""
    if over <= 0.0:
        return 1.0 if beat >= start else 0.0
    return ease(min(max((beat - start) / over, 0.0), 1.0))


def window(start: float, end: float, fade: float = 0.5) -> Callable[[float], float]:
    """Opacity of something that is there from one moment to another, with `fade` beats of change around each."""
    return lambda beat: ramp(beat, start - fade / 2, fade) * (1.0 - ramp(beat, end - fade / 2, fade))


def during(start: float, end: float, rise: float = 0.0, fall: float = 0.0) -> Callable[[float], float]:
    """Opacity of one of several that take turns in one place: there from half a frame before `start` until the next comes.

    `rise` and `fall` are beats of change after `start` and before `end`; 0 is at once.
    """
    early = 0.02

    def shown(beat: float) -> float:
        if not start <= beat + early < end:
            return 0.0
        risen = min(1.0, (beat + early - start) / rise) if rise else 1.0
        return min(risen, (end - beat - early) / fall) if fall else risen

    return shown


def pulse(beat: float, decay: float = 0.35) -> float:
    """1 on every beat, falling off exponentially: for motion, scale or hue at equal luminance (never for brightness)."""
    return math.exp(-(beat - math.floor(beat)) / decay)
