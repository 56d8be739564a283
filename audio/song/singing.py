"""Speech made song: WORLD takes the spoken line apart into spectrum, noisiness and pitch; time is bent so that every vowel
begins on its note, and the melody takes the pitch's place.

WORLD: Morise, Yokomori and Ozawa, IEICE Transactions E99-D (2016), through pyworld (MIT).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audio.song.phonemes import CLOSURES, UNVOICED
from audio.song.speech import FRAME, RATE, Speech

PERIOD = 5.0  # ms between WORLD's frames
LEAD = 0.5  # seconds of sound before the first note's beginning, for consonants that come early
TAIL = 0.6  # and after the last one
SHORTEST = 0.06  # seconds that a vowel lasts at least
EDGE = 0.05  # seconds at a vowel's ends that are not stretched
GLIDE = 0.075  # seconds from one pitch to the next
EARLY = 0.045  # seconds before a note at which its pitch is set out for
CLOSURE = 0.04  # seconds of quiet before a burst
SIBILANTS = "sʃʧ"
SIBILANCE = 6.5  # dB by which these, loud as they are, are lifted less than other consonants
MOST_LIFT = 8.0  # dB by which a syllable is brought nearer to the others
Wave = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SungNote:
    """A syllable's note, in seconds from the line's first one; MIDI pitch."""

    start: float
    seconds: float
    pitch: float


@dataclass(frozen=True, slots=True)
class Manner:
    """How a take differs from another: cents off, depth of vibrato in cents, a seed of its drift, scale of its formants.

    `consonants` is by how many dB unvoiced consonants, taken over as they were said, are lifted: a song drowns them.
    """

    cents: float = 0.0
    vibrato: float = 22.0
    seed: int = 1
    formants: float = 1.0
    consonants: float = 6.0


@dataclass(frozen=True, slots=True)
class Analysis:
    """WORLD's view of a spoken line: pitch (Hz, 0 unvoiced), spectral envelope and aperiodicity, a row each 5 ms."""

    pitch: Wave
    spectrum: Wave
    noise: Wave


@dataclass(frozen=True, slots=True)
class _Placed:
    """A syllable in time: start of its onset, of its vowel, end of its vowel, end of its coda, in the line's seconds."""

    start: float
    vowel: float
    vowel_end: float
    end: float


@dataclass(frozen=True, slots=True)
class _Kept:
    """A consonant that keeps its length: where it goes and where it comes from."""

    symbol: str
    to: float
    source: float
    seconds: float


def analyse(speech: Speech) -> Analysis:
    """Take a spoken line apart; its pitch is known, so that no vowel is taken for noise."""
    import pyworld

    pitch, times = pyworld.harvest(speech.sound, RATE, f0_floor=90.0, f0_ceil=450.0, frame_period=PERIOD)
    pitch = pyworld.stonemask(speech.sound, pitch, times, RATE)
    known = speech.pitch[np.clip((times * 2 * RATE / FRAME).astype(int), 0, len(speech.pitch) - 1)]
    right = (known > 0) & (np.abs(pitch / np.maximum(known, 1.0) - 1.0) < 0.06)
    pitch = np.where(right, pitch, known)
    spectrum = pyworld.cheaptrick(speech.sound, pitch, times, RATE, f0_floor=90.0)
    return Analysis(pitch, spectrum, pyworld.d4c(speech.sound, pitch, times, RATE, threshold=0.0))


def sing(speech: Speech, analysis: Analysis, notes: tuple[SungNote, ...], manner: Manner) -> Wave:
    """The line sung, mono at 24 kHz; its first note begins LEAD seconds in."""
    import pyworld

    places, knots, kept = _place(speech, notes)
    count = int((LEAD + notes[-1].start + notes[-1].seconds + TAIL) * 1000.0 / PERIOD)
    times: Wave = np.arange(count, dtype=np.float64) * PERIOD / 1000.0
    source = np.interp(times, knots[0], knots[1]) * 1000.0 / PERIOD
    below = np.clip(source.astype(int), 0, len(analysis.pitch) - 2)
    part = np.clip(source - below, 0.0, 1.0)[:, None]
    log = np.log(analysis.spectrum)
    spectrum = np.exp(log[below] * (1.0 - part) + log[below + 1] * part)
    noise = np.clip(analysis.noise[below] * (1.0 - part) + analysis.noise[below + 1] * part, 1e-6, 1.0)
    voiced, active = analysis.pitch[below] > 0.0, np.zeros(count)
    for place in places:
        voiced[(times >= place.vowel) & (times < place.vowel + 0.02)] = True
        active[(times >= place.start) & (times <= place.end)] = 1.0
    for each in kept:
        if each.symbol in UNVOICED:
            voiced[(times >= each.to) & (times < each.to + each.seconds)] = False
    pitch = np.where(voiced & (active > 0.0), melody(notes, times - LEAD, manner), 0.0)
    if manner.formants != 1.0:
        bins = np.arange(spectrum.shape[1])
        spectrum = np.array([np.interp(bins / manner.formants, bins, row) for row in spectrum])
    gain = _levels(10.0 * np.log10(spectrum.mean(axis=1) + 1e-12), times, places)
    spectrum = np.ascontiguousarray(spectrum * 10.0 ** (gain[:, None] / 10.0))
    out: Wave = pyworld.synthesize(pitch, spectrum, np.ascontiguousarray(noise), RATE, PERIOD)
    out = out * np.interp(np.arange(len(out)) / RATE, times, np.convolve(active, np.ones(5) / 5.0, "same"))
    lift = np.array([manner.consonants - (SIBILANCE if k.symbol in SIBILANTS else 0.0) for k in kept])
    _consonants(out, speech.sound, kept, np.interp([k.to for k in kept], times, gain) + lift)
    return out


def melody(notes: tuple[SungNote, ...], times: Wave, manner: Manner) -> Wave:
    """Pitch in hertz over times (seconds from the first note): glides between notes, late vibrato, a scoop in, some drift."""
    starts, pitches = np.array([n.start for n in notes]), np.array([n.pitch for n in notes], np.float64)
    midi = pitches[np.clip(np.searchsorted(starts - EARLY, times, side="right") - 1, 0, None)]
    cents = np.full(len(times), manner.cents)
    for k, note in enumerate(notes):
        if k:
            x = (times - note.start + EARLY) / GLIDE
            inside = (x >= 0.0) & (x < 1.0)
            midi[inside] = pitches[k - 1] + (pitches[k] - pitches[k - 1]) * (0.5 - 0.5 * np.cos(np.pi * x[inside]))
        if note.seconds >= 0.5:
            x = times - note.start - 0.25
            held = (x >= 0.0) & (times < note.start + note.seconds)
            cents[held] += manner.vibrato * np.clip(x[held] / 0.4, 0.0, 1.0) * np.sin(2.0 * np.pi * 5.6 * x[held])
    scoop = (times < 0.0) & (times > -0.12)
    cents[scoop] += 150.0 * times[scoop] / 0.12
    drift = np.convolve(np.random.default_rng(manner.seed).standard_normal(len(times)), np.exp(-np.arange(60) / 20.0), "same")
    return np.asarray(440.0 * 2.0 ** ((midi - 69.0 + (cents + 5.0 * drift / drift.std()) / 100.0) / 12.0))


def _place(speech: Speech, notes: tuple[SungNote, ...]) -> tuple[list[_Placed], tuple[Wave, Wave], list[_Kept]]:
    """Where every syllable goes, the knots of the map from sung to spoken time, the consonants that keep their length."""
    groups = [[s for s in speech.segments if s.syllable == k] for k in range(len(notes))]
    early = [sum(s.end - s.start for s in group if s.part == "onset") for group in groups]
    places: list[_Placed] = []
    kept: list[_Kept] = []
    sung: list[float] = []
    said: list[float] = []
    for k, (group, note) in enumerate(zip(groups, notes, strict=True)):
        vowel = [s for s in group if s.part == "vowel"]
        coda = [s for s in group if s.part == "coda"]
        closing = sum(s.end - s.start for s in coda)
        at = LEAD + note.start
        end = at + note.seconds
        if k + 1 < len(notes):
            end = min(end, LEAD + notes[k + 1].start - early[k + 1])
        held = max(end - closing - at, SHORTEST)
        first, last = vowel[0].start, vowel[-1].end
        edge = min(EDGE, 0.3 * (last - first), 0.3 * held)
        sung += [at - early[k], at, at + edge, at + held - edge, at + held]
        said += [group[0].start, first, first + edge, last - edge, last]
        if coda:
            sung.append(at + held + closing)
            said.append(coda[-1].end)
        here = at - early[k]
        for s in group:
            if s.part == "vowel":
                here = at + held
            else:
                kept.append(_Kept(s.symbol, here, s.start, s.end - s.start))
                here += s.end - s.start
        places.append(_Placed(at - early[k], at, at + held, at + held + closing))
    order = np.argsort(sung, kind="stable")
    return places, (np.array(sung)[order], np.array(said)[order]), kept


def _levels(power: Wave, times: Wave, places: list[_Placed]) -> Wave:
    """Gain in dB (of power): notes near one another in level, and long vowels held up, which in speech die away."""
    knots, loud = [], []
    for place in places:
        inside = (times >= place.vowel) & (times < place.end)
        top = float(np.percentile(power[inside], 80)) if inside.any() else float(power.max())
        knots += [place.vowel, max(place.end, place.vowel + 1e-3)]
        loud += [top, top]
    gain = np.interp(times, knots, np.clip(0.8 * (np.median(loud) - np.array(loud)), -MOST_LIFT, MOST_LIFT))
    window = np.hanning(11) / np.hanning(11).sum()
    for place in places:
        held = np.flatnonzero((times >= place.vowel + 0.03) & (times < place.vowel_end - 0.02))
        if len(held) < 8:
            continue
        fall = 3.0 * np.clip((times[held] - times[held[0]] - 0.3) / 2.0, 0.0, 1.0)
        lack = np.clip(np.percentile(power[held], 85) - fall - power[held], -4.0, 12.0)
        gain[held] += 0.5 * np.convolve(np.pad(lack, 5, "edge"), window, "valid")
    return np.asarray(gain)


def _consonants(out: Wave, spoken: Wave, kept: list[_Kept], gains: Wave) -> None:
    """Lay the unvoiced consonants in as they were spoken, and make room before those that burst."""
    for each in kept:
        if each.symbol in CLOSURES:
            first, count = int((each.to - CLOSURE) * RATE), int((CLOSURE + 0.01) * RATE)
            if 0 <= first < len(out) - count:
                out[first : first + count] *= 0.5 + 0.5 * np.cos(
                    np.pi * np.clip(np.arange(count) / (0.6 * CLOSURE * RATE), 0.0, 1.0)
                )
    for each, gain in zip(kept, gains, strict=True):
        to, source, count, cross = int(each.to * RATE), int(each.source * RATE), int(each.seconds * RATE), int(0.006 * RATE)
        if each.symbol not in UNVOICED or to < 0 or to + count >= len(out) or source + count >= len(spoken):
            continue
        window = np.ones(count)
        window[:cross], window[-cross:] = np.linspace(0.0, 1.0, cross), np.linspace(1.0, 0.0, cross)
        louder = 10.0 ** (gain / 20.0)
        out[to : to + count] = out[to : to + count] * (1.0 - window) + spoken[source : source + count] * louder * window
