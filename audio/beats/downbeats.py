"""Which beats are downbeats: bars of beats, by what the networks say of each and by how much the harmony changes there.

Chords change on downbeats more than elsewhere (Davies and Plumbley, EUSIPCO 2006; Papadopoulos and Peeters, ISMIR 2008), so the
change of spectrum and of chroma at a beat stands beside the networks' word. Bars follow one another as in `bars`, but a bar may
be cut short, at a price, to two beats or more: a song that drops a beat goes on in step. Where all beats are alike, as a
metronome's, there is no evidence to be scaled up, and bars are of four.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audio.beats.bars import METRES, Array, slots_of
from audio.beats.features import RATE, TUNING, WINDOW, Floats, filterbank

NEAR = 2  # frames around a beat in which the networks' peak may lie
SPREAD = 2.0  # to which the evidence is scaled, in nats
ALIKE = 1.5  # deviation of the evidence, before that, below which it is not scaled up: kicks alone have 0.3 to 0.9, a band 3
STILL = 0.01  # deviation of a change (a cosine distance) below which it is not scaled up: one sound over and over
NEEDED = 0.8  # evidence that a downbeat has to show, in nats
CUT = np.log(1e-4)  # log-probability that a bar ends early
CLARITY = 0.5  # contrast below which the downbeats are a guess
LOW, HIGH = 60.0, 2500.0  # Hz, the range in which chroma is heard


@dataclass(frozen=True, slots=True)
class Labels:
    """Number in its bar of each beat, from 1; the metre that most beats are in; how far downbeats stand out, in deviations."""

    numbers: NDArray[np.int64]
    metre: int
    contrast: float


def label(frames: NDArray[np.int64], activations: Array, bands: Floats, anchor: int | None = None) -> Labels:
    """Beats at these frames -> their numbers; `anchor` is the index of a beat that has to be a downbeat.

    With an anchor all bars are of one length: who says where bars begin means all of them.
    """
    found = evidence(frames, activations, bands)
    gain, cut = found - NEEDED, CUT
    if anchor is not None:
        gain[anchor], cut = 1e6, -np.inf
    slots = slots_of(tuple(METRES))
    is_first = np.array([number == 0 for number, _, _ in slots])
    before = np.empty(len(slots), int)
    before[[following for _, following, _ in slots]] = np.arange(len(slots))
    price = np.array([METRES[metre] for _, _, metre in slots])
    emitted = np.where(is_first[None], gain[:, None], 0.0) - price
    score, came = emitted[0].copy(), np.zeros((len(frames), len(slots)), int)
    for t in range(1, len(frames)):
        moved, origin = score[before], before.copy()
        begun = np.where(is_first, -np.inf, score)  # no bar is cut to a single beat
        early = is_first & (begun.max() + cut > moved)
        moved, origin = np.where(early, begun.max() + cut, moved), np.where(early, int(begun.argmax()), origin)
        score, came[t] = moved + emitted[t], origin
    path = [int(score.argmax())]
    for t in range(len(frames) - 1, 0, -1):
        path.append(int(came[t, path[-1]]))
    numbers = np.array([slots[k][0] + 1 for k in path[::-1]], np.int64)
    metre = int(np.bincount([slots[k][2] for k in path]).argmax())
    return Labels(numbers, metre, contrast(found, numbers, metre))


def evidence(frames: NDArray[np.int64], activations: Array, bands: Floats) -> Array:
    """How much each beat looks like a downbeat, (beats,), mean 0, deviation SPREAD, or less where all beats are alike."""
    peaks = np.array([activations[max(frame - NEAR, 0) : frame + NEAR + 1].max(axis=0) for frame in frames])
    said = np.clip(np.log((peaks[:, 1] + 0.02) / (peaks[:, 0] + 0.02)), -2.5, 2.5)
    spectra = averages(frames, bands)
    chords = chroma(spectra)
    total = said + _scaled(changes(spectra, 1)) + 0.5 * _scaled(changes(chords, 1)) + 0.5 * _scaled(changes(chords, 2))
    total -= total.mean()
    return np.asarray(SPREAD * total / max(float(total.std()), ALIKE))


def contrast(found: Array, numbers: NDArray[np.int64], metre: int) -> float:
    """Mean evidence of the downbeats less that of the best other place in the bar, in deviations."""
    means = [found[numbers == k].mean() for k in range(1, metre + 1) if np.any(numbers == k)]
    return float((means[0] - max(means[1:])) / SPREAD) if len(means) > 1 else 0.0


def averages(frames: NDArray[np.int64], bands: Floats) -> Array:
    """Mean of the bands from each beat to the next, (beats, bands)."""
    usual = int(np.median(np.diff(frames))) if len(frames) > 1 else 1
    edges = np.minimum(np.append(frames, frames[-1] + usual), len(bands))
    sums = np.concatenate([np.zeros((1, bands.shape[1])), np.cumsum(bands, axis=0, dtype=float)])
    return np.asarray((sums[edges[1:]] - sums[edges[:-1]]) / np.maximum(np.diff(edges), 1)[:, None])


def chroma(spectra: Array) -> Array:
    """Log-bands (n, bands) -> energy in the twelve pitch classes, (n, 12)."""
    bank = filterbank()
    centres = bank.T @ np.arange(len(bank)) * RATE / (WINDOW // 2 * 2)
    heard = np.flatnonzero((centres > LOW) & (centres < HIGH))
    fold = np.zeros((bank.shape[1], 12))
    fold[heard, np.round(12.0 * np.log2(centres[heard] / TUNING)).astype(int) % 12] = 1.0
    return np.asarray((10.0**spectra - 1.0) @ fold)


def changes(vectors: Array, reach: int) -> Array:
    """Cosine distance at each row between the mean of `reach` rows before it and that of as many from it on; 0 at the first."""
    out = np.zeros(len(vectors))
    for k in range(1, len(vectors)):
        a, b = vectors[max(k - reach, 0) : k].mean(axis=0), vectors[k : k + reach].mean(axis=0)
        out[k] = 1.0 - a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-9)
    return out


def _scaled(values: Array) -> Array:
    return np.asarray(np.clip((values - values.mean()) / max(float(values.std()), STILL), -2.0, 2.5))
