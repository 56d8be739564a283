"""Arrangement -> stems: every event synthesised and laid at its sample, one stereo buffer for each group of instruments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from audio.song import transitions
from audio.song.arrange import Arrangement, Effect, Note, Phrase
from audio.song.drums import struck
from audio.song.dsp import RATE, Signal, add, stereo
from audio.song.score import Song
from audio.song.synths import SYNTHS, Tone, lead

Progress = Callable[[str, int, int], None]  # what is being done, steps done, steps in all

DRUM_STEMS = {
    "kick": "kick",
    "snare": "snare",
    "clap": "snare",
    "tom": "snare",
    "hat": "tops",
    "open": "tops",
    "shaker": "tops",
    "rim": "tops",
    "ride": "tops",
    "crash": "tops",
}
DRUM_LEVELS = {
    "kick": 1.0,
    "snare": 0.85,
    "clap": 0.55,
    "tom": 0.8,
    "hat": 0.65,
    "open": 0.6,
    "shaker": 0.6,
    "rim": 0.4,
    "ride": 0.3,
    "crash": 0.6,
}
STEMS = ("kick", "snare", "tops", "bass", "chords", "pad", "arp", "bell", "strings", "lead", "harmony", "fx")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the song in sixteenths, and its length in samples; times inside it count from its first step."""

    song: Song
    first: int
    last: int
    samples: int

    def at(self, step: float) -> int:
        """The sample of a step: one rounding of an absolute time."""
        return round(self.song.seconds(step - self.first) * RATE)

    def holds(self, step: float) -> bool:
        return self.first <= step < self.last


def whole(song: Song) -> Span:
    """The whole song and its ring."""
    return Span(song, 0, song.bars * 16, round(song.duration * RATE))


def bars(song: Song, first: int, count: int, ring: float = 0.5) -> Span:
    """An excerpt of whole bars (from 1) and `ring` seconds after it; what began before is not in it."""
    return Span(song, (first - 1) * 16, (first - 1 + count) * 16, round((song.seconds(count * 16) + ring) * RATE))


def render(arrangement: Arrangement, span: Span, progress: Progress | None = None) -> dict[str, Signal]:
    """The stems of a stretch, each of shape (span.samples, 2), before any mixing."""
    out = {name: np.zeros((span.samples, 2)) for name in STEMS}
    hits = [hit for hit in arrangement.hits if span.holds(hit.step)]
    notes = [note for note in arrangement.notes if span.holds(note.step)]
    phrases = [phrase for phrase in arrangement.phrases if span.holds(phrase.notes[0][0])]
    effects = [effect for effect in arrangement.effects if span.holds(effect.step)]
    total, done = len(hits) + len(notes) + len(phrases) + len(effects), 0

    def step(what: str) -> None:
        nonlocal done
        done += 1
        if progress is not None and (done % 25 == 0 or done == total):
            progress(what, done, total)

    for hit in hits:
        start = span.at(hit.step) + round(hit.shift * RATE)
        add(out[DRUM_STEMS[hit.drum]], struck(hit.drum, hit.level, hit.variant), start, DRUM_LEVELS[hit.drum])
        step("drums")
    for note in notes:
        add(out[note.stem], _note(note, span), span.at(note.step))
        step("synths")
    for phrase in phrases:
        add(out[phrase.stem], _phrase(phrase, span), span.at(phrase.notes[0][0]))
        step("lead")
    for effect in effects:
        sound = _effect(effect, span)
        # a swell ends with its part to the sample
        start = span.at(effect.step + effect.steps) - len(sound) if effect.kind == "swell" else span.at(effect.step)
        add(out["fx"], sound, start, effect.level)
        step("transitions")
    return out


def _note(note: Note, span: Span) -> Signal:
    held, phase = span.song.seconds(note.steps), int(note.step) * 131 + note.pitch
    tone = Tone(note.pitch, held, note.level, note.bright, note.bright_end, phase)
    sound = SYNTHS[note.voice](tone)
    return stereo(sound, note.pan) if note.pan else sound


def _phrase(phrase: Phrase, span: Span) -> Signal:
    first = phrase.notes[0][0]
    seconds = span.song.seconds
    tones, starts = [], []
    for i, (step, steps, pitch, level) in enumerate(phrase.notes):
        last = i == len(phrase.notes) - 1 or phrase.notes[i + 1][0] > step + steps
        tones.append(Tone(pitch, seconds(steps * (0.94 if last else 1.0)), level, phrase.bright, phrase.bright, 0))
        starts.append(seconds(step - first))
    return lead(tones, starts, phrase.air, phrase.octave)


def _effect(effect: Effect, span: Span) -> Signal:
    seconds = span.song.seconds(effect.steps)
    if effect.kind == "riser":
        return transitions.riser(seconds, effect.pitch)
    if effect.kind == "swell":
        return transitions.swell(seconds)
    if effect.kind == "impact":
        return transitions.impact(seconds, effect.pitch)
    return transitions.fall(seconds)
