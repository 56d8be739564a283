"""A scene's musical time bent over another number of bars, or over bars of another metre.

A scene is written over bars of four beats. On a track that gives it other bars, each of its bar lines falls on a downbeat where
there are enough of them and on a beat otherwise, and its beats fall on beats or half beats between. From one to the next, time
runs on smoothly: a monotone cubic, so that nothing jerks. A scene that has more time plays slower, and is never at rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

BEATS = 4  # a bar, as scenes are written
STEPS = 40  # halvings: exact to a billionth of a beat

Knots = tuple[float, ...]


def knots(written: int, bars: Sequence[int]) -> Knots:
    """Where each beat of a scene of `written` bars falls, in beats of its place in the track: `BEATS * written + 1` values.

    `bars` are the beats of the bars that it fills.
    """
    downbeats = np.concatenate([[0], np.cumsum(bars)])
    total, count = int(downbeats[-1]), len(bars)
    if count >= written:
        edges = [float(downbeats[round(k * count / written)]) for k in range(written + 1)]
    else:
        edges = [_to(k * total / written, 1 if total >= written else 4) for k in range(written + 1)]
    found: list[float] = []
    for start, end in pairwise(edges):
        length = end - start
        grid = 1 if length >= BEATS else 2 if length >= BEATS / 2 else 8
        found += [start + _to(k * length / BEATS, grid) for k in range(BEATS)]
    return (*found, edges[-1])


def _to(value: float, grid: int) -> float:
    """The nearest whole part of a beat, the later of two."""
    return float(np.floor(value * grid + 0.5) / grid)


def is_plain(places: Knots) -> bool:
    """Whether nothing is bent."""
    return all(place == k for k, place in enumerate(places))


def to_track(places: Knots, moment: float) -> float:
    """Beats of the track at a moment of the scene, both from the scene's start; beyond its ends by its first or last beat."""
    last = len(places) - 1
    if moment <= 0.0:
        return moment * (places[1] - places[0])
    if moment >= last:
        return places[-1] + (moment - last) * (places[-1] - places[-2])
    return float(_curve(places)(moment))


def to_scene(places: Knots, beats: float) -> float:
    """The moment of the scene at some beats of the track: the inverse of `to_track`, exact on the knots."""
    last = len(places) - 1
    if beats <= 0.0:
        return beats / (places[1] - places[0])
    if beats >= places[-1]:
        return last + (beats - places[-1]) / (places[-1] - places[-2])
    low = int(np.searchsorted(_array(places), beats, "right")) - 1
    if places[low] == beats:
        return float(low)
    curve, a, b = _curve(places), float(low), float(low + 1)
    for _ in range(STEPS):
        middle = 0.5 * (a + b)
        a, b = (middle, b) if float(curve(middle)) < beats else (a, middle)
    return 0.5 * (a + b)


@lru_cache(64)
def _array(places: Knots) -> NDArray[np.float64]:
    return np.array(places)


@lru_cache(64)
def _curve(places: Knots) -> PchipInterpolator:
    return PchipInterpolator(np.arange(len(places)), _array(places))
