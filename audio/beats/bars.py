"""The bar-pointer model: the likeliest beats and downbeats given how likely each frame is one.

A hidden state is a place in a bar at a tempo (Whiteley, Cemgil and Godsill, ISMIR 2006; Krebs, Böck and Widmer, ISMIR 2015):
every beat lasts a whole number of frames, and only from beat to beat may that number change, with chance exp(-λ |ratio - 1|).
Observations are those of Böck, Krebs and Widmer (ISMIR 2016). As nothing is decided within a beat, the Viterbi path is found
from beat to beat, not from frame to frame: the same maximum at a fraction of the states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SLOWEST, FASTEST = 50.0, 215.0  # beats a minute
STEADINESS = 100.0  # λ: how dear it is to change the tempo
SHARE = 16  # one part of a beat in so many is the beat itself
FLOOR = 1e-5  # no frame is quite certain
METRES = {4: 0.0, 3: 0.05, 5: 0.12, 7: 0.12, 6: 0.12}
"""Beats a bar, and what each beat of such a bar costs: metres that are rare have to be plainer to be believed."""


@dataclass(frozen=True, slots=True)
class Bars:
    """Frames of the beats, each with its number in its bar from 1, and the log-likelihood of the path a frame."""

    frames: NDArray[np.int64]
    numbers: NDArray[np.int64]
    metre: int
    likelihood: float


def decode(
    activations: Array, fps: float, metres: Sequence[int] = tuple(METRES), tempo: tuple[float, float] = (SLOWEST, FASTEST),
    anchor: int | None = None,
) -> Bars:  # fmt: skip
    """Probabilities (frames, 2) of beat and downbeat -> beats of one metre throughout, within `tempo` (beats a minute).

    `anchor` is a frame that has to be a beat.
    """
    shortest, longest = max(round(60.0 * fps / tempo[1]), 2), round(60.0 * fps / tempo[0])
    lengths = np.arange(shortest, max(longest, shortest) + 1)
    slots = slots_of(metres)
    rates = _densities(activations, anchor)
    pad, count = int(lengths[-1]), len(activations)
    total = count + 2 * pad
    # Before the sound and after it nothing is observed: the first beat and the last may lie outside.
    sums = np.zeros((3, total + 1))
    sums[:, pad + 1 : pad + count + 1] = np.cumsum(rates, axis=1)
    sums[:, pad + count + 1 :] = sums[:, pad + count][:, None]
    head = -(-lengths // SHARE)
    change = _changes(lengths)
    kind = np.array([1 if number else 2 for number, _, _ in slots])  # row of the densities that a slot's beat reads
    price = np.array([METRES.get(metre, 0.12) for _, _, metre in slots])
    after = np.array([following for _, following, _ in slots])

    best = np.full((total + 1, len(slots), len(lengths)), -np.inf)
    came = np.zeros((total + 1, len(slots), len(lengths)), np.int16)
    best[: pad + 1] = 0.0
    index = np.arange(len(lengths))
    for t in range(pad + 1, total + 1):
        start = t - lengths
        heard = sums[kind][:, start + head] - sums[kind][:, start]
        quiet = sums[0][t] - sums[0][start + head]
        ended = best[start, :, index].T + heard + quiet - price[:, None]
        scores = ended[:, :, None] + change
        chosen = scores.argmax(axis=1)
        best[t, after] = np.take_along_axis(scores, chosen[:, None, :], axis=1)[:, 0]
        came[t, after] = chosen
    last = pad + count + int(np.argmax(best[pad + count :].reshape(total + 1 - pad - count, -1).max(axis=1)))
    return _trace(best, came, slots, lengths, last, pad, count)


def slots_of(metres: Sequence[int]) -> list[tuple[int, int, int]]:
    """Every beat of every metre: its number from 0, the slot that follows it, its metre."""
    found: list[tuple[int, int, int]] = []
    for metre in metres:
        first = len(found)
        found += [(k, first + (k + 1) % metre, metre) for k in range(metre)]
    return found


def _densities(activations: Array, anchor: int | None) -> Array:
    """Log-densities (3, frames) of no beat, beat, downbeat."""
    rates: Array
    beat, down = np.clip(activations[:, 0], FLOOR, 1.0), np.clip(activations[:, 1], FLOOR, 1.0)
    none = np.clip(1.0 - activations.sum(axis=1), FLOOR, 1.0) / (SHARE - 1)
    rates = np.log(np.stack([none, beat, down]))
    if anchor is not None:
        rates[:, anchor] = (-1e4, 0.0, 0.0)
    return rates


def _changes(lengths: NDArray[np.int64]) -> Array:
    """Log-probability of the next beat's length (columns) after a beat's (rows)."""
    chance = np.exp(-STEADINESS * np.abs(lengths[None, :] / lengths[:, None] - 1.0))
    return np.asarray(np.log(chance / chance.sum(axis=1, keepdims=True) + 1e-300))


def _trace(
    best: Array, came: NDArray[np.int16], slots: list[tuple[int, int, int]], lengths: NDArray[np.int64], last: int, pad: int,
    count: int,
) -> Bars:  # fmt: skip
    """Back from the best end, from beat to beat."""
    slot, length = (int(k) for k in np.unravel_index(int(best[last].argmax()), best[last].shape))
    score, t, before = float(best[last].max()), last, {following: k for k, (_, following, _) in enumerate(slots)}
    frames, numbers = [], []
    while t > pad:
        previous = int(came[t, slot, length])
        slot, length = before[slot], previous
        t -= int(lengths[length])
        frames.append(t - pad)
        numbers.append(slots[slot][0] + 1)
    # A beat at the very start may have begun a frame before it.
    both = ((max(frame, 0) if frame >= -1 else frame, n) for frame, n in zip(frames[::-1], numbers[::-1], strict=True))
    inside = [(frame, number) for frame, number in both if 0 <= frame < count]
    return Bars(
        np.array([frame for frame, _ in inside], np.int64), np.array([number for _, number in inside], np.int64),
        slots[slot][2], score / max(count, 1),
    )  # fmt: skip
