"""A small band for measuring with: drums, bass, chords and a tune played on beats that are given, so that the truth is exact.

It is no song: a beat tracker and the fitting of the film are tried on it, at any tempo, in any metre, straight or swung.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

RATE = 48_000
Wave = NDArray[np.float64]
CHORDS = (
    (0, (0, 4, 7)),
    (-3, (0, 3, 7)),
    (5, (0, 4, 7)),
    (7, (0, 4, 7)),
)  # I vi IV V: above the key, above the root
KEY = 57  # A3, as a MIDI number
TUNE = (7, 9, 12, 9, 7, 4, 2, 4)  # semitones above the key
FULL = ("drums", "bass", "chords", "tune")


@dataclass(frozen=True, slots=True)
class Part:
    """Bars in which these players play: of "drums", "hats", "bass", "chords", "tune"."""

    bars: int
    players: tuple[str, ...] = FULL


@dataclass(frozen=True, slots=True)
class Piece:
    """What is played: seconds of the beats (one more than sound, the last being the end), beats a bar, the parts in order.

    `swing` is how far into a beat its second half comes: 0.5 straight, 0.667 a triplet's.
    """

    beats: tuple[float, ...]
    metre: int
    parts: tuple[Part, ...]
    swing: float = 0.5
    tail: float = 1.5
    seed: int = 1
    roots: tuple[int, ...] = field(default=())

    @property
    def bars(self) -> int:
        return (len(self.beats) - 1) // self.metre


def steady(bpm: float, beats: int, lead: float = 0.0) -> tuple[float, ...]:
    """So many beats at one tempo after `lead` seconds, and their end."""
    return tuple(lead + 60.0 / bpm * k for k in range(beats + 1))


def ramp(first: float, last: float, beats: int) -> tuple[float, ...]:
    """Beats whose length runs geometrically from one tempo to another."""
    lengths = 60.0 / (first * (last / first) ** (np.arange(beats) / (beats - 1)))
    return (0.0, *(float(t) for t in np.cumsum(lengths)))


def play(piece: Piece) -> NDArray[np.int16]:
    """The sound of a piece, (n, 2) int16 at 48 kHz; the same bytes every time."""
    beats, metre = piece.beats, piece.metre
    mix = np.zeros((int((beats[-1] + piece.tail) * RATE), 2))
    rng = np.random.default_rng(piece.seed)
    players = [part.players for part in piece.parts for _ in range(part.bars)]
    strong = strong_beats(metre)
    for bar in range(piece.bars):
        heard = players[min(bar, len(players) - 1)]
        root, tones = CHORDS[bar % len(CHORDS)]
        times = beats[bar * metre : (bar + 1) * metre + 1]
        for k in range(metre):
            start, length = times[k], times[k + 1] - times[k]
            half = start + length * piece.swing
            if "drums" in heard:
                _add(mix, _kick() if k in strong else _snare(), start, 0.9 if k in strong else 0.55)
            if "drums" in heard or "hats" in heard:
                _add(mix, _hat(), start, 0.16 + 0.02 * rng.random(), 0.2)
                _add(mix, _hat(), half, 0.11 + 0.02 * rng.random(), 0.2)
            if "bass" in heard and (k in strong or k == metre - 1):
                _add(mix, _tone(KEY - 24 + root, min(length, 1.0), 5, 3.0), start, 0.45)
            if "tune" in heard:
                steps = (TUNE[(bar * metre + k) % len(TUNE)], TUNE[(bar * metre + k + 3) % len(TUNE)])
                _add(mix, _tone(KEY + 12 + steps[0], min(length, 1.5), 4, 4.0), start, 0.14, -0.15)
                if (bar + k) % 2:
                    _add(mix, _tone(KEY + 12 + steps[1], min(length / 2, 1.5), 4, 5.0), half, 0.1, -0.15)
        if "chords" in heard:
            for tone in tones:
                _add(mix, _tone(KEY + root + tone, times[-1] - times[0], 6, 0.9), times[0], 0.13, 0.1 * tone - 0.35)
    return np.asarray(np.round(np.clip(np.tanh(mix), -1.0, 1.0) * 32_000), np.int16)


def drone(seconds: float, seed: int = 2) -> NDArray[np.int16]:
    """Sound without a beat: tones that swell and fade, none at the same moment as another."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * RATE)) / RATE
    mix = np.zeros((len(t), 2))
    for pitch in (33, 40, 45, 52, 57, 61, 64):
        swell = 0.5 - 0.5 * np.cos(2 * np.pi * (t / (9.0 + 8.0 * rng.random()) + rng.random()))
        tone = np.sin(2 * np.pi * hertz(pitch) * t + rng.random()) * swell
        mix += tone[:, None] * rng.uniform(0.05, 0.12, 2)
    return np.asarray(np.round(np.tanh(mix) * 32_000), np.int16)


def strong_beats(metre: int) -> Sequence[int]:
    """The beats of a bar, from 0, on which the kick falls: groups of two and three, threes first."""
    return {2: (0,), 3: (0,), 4: (0, 2), 5: (0, 3), 6: (0, 3), 7: (0, 3, 5)}[metre]


def hertz(pitch: int) -> float:
    """Frequency of a MIDI pitch, equal temperament at 440 Hz."""
    return float(440.0 * 2.0 ** ((pitch - 69) / 12.0))


def _add(mix: Wave, sound: Wave, at: float, gain: float, pan: float = 0.0) -> None:
    first = round(at * RATE)
    part = sound[: max(len(mix) - first, 0)]
    mix[first : first + len(part)] += gain * part[:, None] * np.array([1.0 - pan, 1.0 + pan])


@cache
def _kick() -> Wave:
    t = np.arange(int(0.25 * RATE)) / RATE
    return np.asarray(np.sin(2 * np.pi * (48.0 * t + 130.0 * 0.03 * (1.0 - np.exp(-t / 0.03)))) * np.exp(-t / 0.09))


@cache
def _snare() -> Wave:
    t = np.arange(int(0.2 * RATE)) / RATE
    noise = np.random.default_rng(3).standard_normal(len(t))
    return np.asarray((0.5 * noise + 0.6 * np.sin(2 * np.pi * 190.0 * t)) * np.exp(-t / 0.05))


@cache
def _hat() -> Wave:
    t = np.arange(int(0.06 * RATE)) / RATE
    noise = np.random.default_rng(4).standard_normal(len(t) + 2)
    return np.asarray(np.diff(noise, 2) * 0.5 * np.exp(-t / 0.012))


@cache
def _tone(pitch: int, length: float, harmonics: int, decay: float) -> Wave:
    t = np.arange(max(int(length * RATE), 1)) / RATE
    rise, fall = np.minimum(t / 0.004, 1.0), np.minimum((length - t) / 0.02, 1.0)
    tone = sum(np.sin(2 * np.pi * k * hertz(pitch) * t) / k**1.4 for k in range(1, harmonics + 1))
    return np.asarray(tone * rise * np.clip(fall, 0.0, 1.0) * np.exp(-decay * t))
