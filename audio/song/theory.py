"""Pitches and chords by name: "F#4" is MIDI note 66, "D/F#" a D major chord over F#.

Middle C is C4 = MIDI note 60; concert pitch A4 = 440 Hz (ISO 16), equal temperament.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import permutations, product

LETTERS = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
NAMES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")
MAJOR = (0, 2, 4, 5, 7, 9, 11)
QUALITIES = {
    "": (0, 4, 7),
    "m": (0, 3, 7),
    "7": (0, 4, 7, 10),
    "m7": (0, 3, 7, 10),
    "maj7": (0, 4, 7, 11),
    "add9": (0, 4, 7, 14),
    "madd9": (0, 3, 7, 14),
    "m6": (0, 3, 7, 9),
    "sus4": (0, 5, 7),
    "7sus4": (0, 5, 7, 10),
}


class ScoreError(ValueError):
    """A score that does not read: an unknown note or chord, words that do not fit their notes."""


@dataclass(frozen=True, slots=True)
class Chord:
    """A chord: root, intervals above it in semitones, and the bass; root and bass are pitch classes 0..11 (C = 0)."""

    name: str
    root: int
    intervals: tuple[int, ...]
    bass: int

    @property
    def classes(self) -> tuple[int, ...]:
        """Pitch classes of the upper voices, root first."""
        return tuple((self.root + i) % 12 for i in self.intervals)

    def transposed(self, semitones: int) -> Chord:
        name = f"{self.name}{semitones:+d}" if semitones else self.name
        return Chord(name, (self.root + semitones) % 12, self.intervals, (self.bass + semitones) % 12)


def pitch_class(name: str) -> int:
    """Pitch class of a note name without octave, C = 0.  Raises ScoreError."""
    match = re.fullmatch(r"([A-G])([#b]?)", name)
    if match is None:
        raise ScoreError(f"note {name!r}: expected a letter A to G with # or b after it or nothing")
    return (LETTERS[match[1]] + {"": 0, "#": 1, "b": -1}[match[2]]) % 12


def note(name: str) -> int:
    """MIDI note number of a name with octave, as "Bb3".  Raises ScoreError."""
    match = re.fullmatch(r"([A-G])([#b]?)(\d)", name)
    if match is None:
        raise ScoreError(f"note {name!r}: expected a name and an octave, as F#4")
    return 12 * (int(match[3]) + 1) + LETTERS[match[1]] + {"": 0, "#": 1, "b": -1}[match[2]]


def hertz(midi: float) -> float:
    """Frequency of a MIDI note, A4 = 440 Hz."""
    return float(440.0 * 2.0 ** ((midi - 69.0) / 12.0))


def chord(name: str) -> Chord:
    """A chord by its symbol, as "F#m", "Gmaj7", "D/F#".  Raises ScoreError."""
    match = re.fullmatch(r"([A-G][#b]?)(.*?)(?:/([A-G][#b]?))?", name)
    if match is None or match[2] not in QUALITIES:
        raise ScoreError(f"chord {name!r}: expected a root, one of {', '.join(filter(None, QUALITIES))} or nothing, and /bass")
    root = pitch_class(match[1])
    return Chord(name, root, QUALITIES[match[2]], pitch_class(match[3]) if match[3] else root)


def lead_voices(chords: list[Chord], low: int, high: int, start: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Close voicings, lowest note first, that move as little as they can from chord to chord.

    Every voicing has four notes within [low, high] (MIDI) and holds every tone of its chord, a triad's root or fifth twice; the
    sum of the voices' steps from one chord to the next is least, common tones staying.  The first chord is drawn to `start`.
    """
    out: list[tuple[int, ...]] = []
    before = start
    for each in chords:
        best = min(_voicings(each, low, high), key=lambda shape: (_motion(before, shape), shape))
        out.append(best)
        before = best
    return out


def _motion(before: tuple[int, ...], after: tuple[int, ...]) -> float:
    steps = [abs(a - b) for a, b in zip(before, after, strict=True)]
    return sum(steps) + 0.3 * max(steps)


def _voicings(each: Chord, low: int, high: int) -> list[tuple[int, ...]]:
    voices = 4
    classes = list(dict.fromkeys(each.classes))
    sets = [classes] if len(classes) >= voices else [[*classes, classes[0]], [*classes, classes[2]]]
    shapes = set()
    for order in {order for tones in sets for order in permutations(tones, voices)}:
        for octaves in product((0, 1), repeat=voices):
            shape: list[int] = []
            floor = low
            for cls, jump in zip(order, octaves, strict=True):
                pitch = floor + (cls - floor) % 12 + 12 * jump
                shape.append(pitch)
                floor = pitch + 1
            if shape[-1] <= high and shape[-1] - shape[0] <= 19:
                shapes.add(tuple(shape))
    if not shapes:
        raise ScoreError(f"chord {each.name}: no voicing between MIDI {low} and {high}")
    return sorted(shapes)
