"""Beats and downbeats of any song: samples in, beats, bars, tempo and how sure they are out.

BeatNet's three networks (`net`) say how likely each frame is a beat; their mean goes through a bar-pointer model (`bars`), bars
are laid over the beats by harmony too (`downbeats`), and the times are made finer than a frame (`refine`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from audio.beats import bars, downbeats, features, net, refine
from audio.beats.bars import Array

NARROW = 0.06  # a tempo that was asked for may be off by this share
NEAR = 0.07  # seconds within which two beats are the same, as in MIREX
SURE = 0.75  # agreement of the networks below which the beats are uncertain
WIDE = 1.8  # from the slowest to the fastest tempo: about where one may have been taken for its double or half
PHRASE = 8  # beats over which a tempo is meant
USUAL = (3, 4)  # beats a bar; any other count is believed only where its downbeats stand out twice as far
QUIET = 10.0 ** (-60 / 20)  # of the loudest: silence
PLAIN, BETWEEN = 0.8, 0.3  # mean strength to every network at the beats, and half way between them, of a plain beat
HEARD = 0.05  # mean strength of the beats below which there is no beat at all


class BeatError(ValueError):
    """Sound in which no beat can be found: one line with what to do."""


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds of the beats, the number of each in its bar (from 1), and how sure they are.

    `agreement` is the mean F-measure of the networks' beats with one another: where they disagree, they are often wrong
    (Holzapfel et al., "Selective sampling for beat tracking evaluation", 2012); it is 1 where beats are plain, whatever each
    would make of them alone. `contrast` says how far downbeats stand out.
    """

    beats: Array
    numbers: NDArray[np.int64]
    metre: int
    agreement: float
    strength: float
    contrast: float
    bands: features.Floats

    @property
    def sure(self) -> bool:
        return self.agreement >= SURE and self.fastest <= WIDE * self.slowest

    @property
    def sure_of_bars(self) -> bool:
        return self.contrast >= downbeats.CLARITY * (1 if self.metre in USUAL else 2)

    @property
    def bpm(self) -> float:
        """Median tempo, beats a minute."""
        return 60.0 / float(np.median(np.diff(self.beats)))

    @property
    def slowest(self) -> float:
        """Lowest tempo of a phrase, beats a minute."""
        return float(self._tempi().min())

    @property
    def fastest(self) -> float:
        """Highest tempo of a phrase, beats a minute."""
        return float(self._tempi().max())

    def _tempi(self) -> Array:
        beats = min(PHRASE, len(self.beats) - 1)
        return np.asarray(60.0 * beats / (self.beats[beats:] - self.beats[:-beats]))


def track(
    samples: NDArray[np.int16], rate: int, bpm: float | None = None, first_downbeat: float | None = None,
    told: Callable[[float], None] = lambda share: None,
) -> Found:  # fmt: skip
    """Samples (n, channels) -> beats of the span in which there is sound.

    `bpm` narrows the tempo, `first_downbeat` (seconds) is where a bar has to begin; with both, a beat that nobody hears is laid
    evenly. `told` hears the share done. Raises BeatError for silence and for sound without a beat.
    """
    sound = features.mono(samples, rate)
    first, last = sounding(sound)
    bands = features.spectrogram(sound)
    heard = net.activations(features.features(bands), lambda share: told(0.7 * share))[:, first:last]
    mean, strength = heard.mean(axis=0), heard.mean(axis=0).sum(axis=1)
    tempo = (bars.SLOWEST, bars.FASTEST) if bpm is None else (bpm * (1 - NARROW), bpm * (1 + NARROW))
    start = None if first_downbeat is None else round(first_downbeat * features.FPS) - first
    if start is not None and not 0 <= start < last - first:
        span = f"{first / features.FPS:.2f} to {last / features.FPS:.2f} s"
        raise BeatError(f"--first-downbeat {first_downbeat:g}: expected a moment within the sound, {span}")
    best = bars.decode(mean, features.FPS, tempo=tempo, anchor=start)
    told(0.85)
    alone = [bars.decode(one, features.FPS, (4,), tempo, start).frames / features.FPS for one in heard]
    told(1.0)
    agreement = float(np.mean([f_measure(a, b) for a, b in combinations(alone, 2)]))
    agreement = 1.0 if plain(best.frames, heard) else agreement
    peaks = [strength[max(frame - 2, 0) : frame + 3].max() for frame in best.frames]
    if len(peaks) < 4 or np.mean(peaks) < HEARD:
        if bpm is None or first_downbeat is None:
            raise BeatError("no beat is heard in it: say where it is with --bpm and --first-downbeat, or with --beats FILE")
        beats = np.arange(first_downbeat, last / features.FPS, 60.0 / bpm)
        return Found(beats, np.arange(len(beats)) % 4 + 1, 4, 0.0, 0.0, 0.0, bands)
    seconds = refine.times(best.frames, strength, features.FPS) + first / features.FPS
    anchor = None if start is None else int(np.argmin(np.abs(best.frames - start)))
    labels = downbeats.label(best.frames, mean, bands[first:last], anchor)
    numbers = labels.numbers
    if anchor is not None:
        seconds, numbers = seconds[anchor:], numbers[anchor:]
    return Found(seconds, numbers, labels.metre, agreement, float(np.mean(peaks)), labels.contrast, bands)


def sounding(sound: features.Floats) -> tuple[int, int]:
    """First frame with sound and one past the last.  Raises BeatError for silence."""
    count = -(-len(sound) // features.HOP)
    padded = np.concatenate([sound, np.zeros(count * features.HOP - len(sound), np.float32)])
    peaks = np.abs(padded.reshape(count, features.HOP)).max(axis=1) if count else np.zeros(0)
    if not count or peaks.max() < 1e-4:
        raise BeatError("it is silent: there is no beat to find")
    loud = np.flatnonzero(peaks > QUIET * peaks.max())
    return int(loud[0]), int(loud[-1]) + 1


def plain(frames: NDArray[np.int64], heard: Array) -> bool:
    """Whether every network, (networks, frames, 2), says beat at these frames, and nothing half way between them."""
    if len(frames) < 4:
        return False

    def level(at: NDArray[np.int64]) -> Array:
        near = np.clip(at[:, None] + np.arange(-2, 3), 0, heard.shape[1] - 1)
        return np.asarray(heard.sum(axis=2)[:, near].max(axis=2).mean(axis=1))

    return bool(level(frames).min() >= PLAIN and level((frames[1:] + frames[:-1]) // 2).max() <= BETWEEN)


def f_measure(a: Array, b: Array, near: float = NEAR) -> float:
    """F-measure of two increasing lists of seconds: each may match one of the other within `near` (Davies et al. 2009)."""
    if not len(a) or not len(b):
        return 0.0
    i = j = hits = 0
    while i < len(a) and j < len(b):
        if abs(a[i] - b[j]) <= near:
            hits, i, j = hits + 1, i + 1, j + 1
        elif a[i] < b[j]:
            i += 1
        else:
            j += 1
    return 2.0 * hits / (len(a) + len(b))
