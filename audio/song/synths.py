"""The pitched instruments.  Each takes a Tone and gives a stereo sound (n, 2).

Levels are near one another: a note at level 1 peaks between 0.4 and 1; the mix sets the balance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audio.song.dsp import (
    BAND,
    HIGH,
    Signal,
    adsr,
    clock,
    fade_out,
    glide,
    noise,
    pulse,
    samples,
    saw,
    sine,
    steep,
    stereo,
    svf,
    unison,
)
from audio.song.effects import cut
from audio.song.theory import hertz


@dataclass(frozen=True, slots=True)
class Tone:
    """One note to play: MIDI pitch, seconds held, level, brightness at its start and end, and a seed that sets its phases."""

    pitch: float
    seconds: float
    level: float
    bright: float
    bright_end: float
    seed: int


def _phases(seed: int, voices: int) -> Signal:
    return np.random.default_rng(seed).random(voices)


def _spread(voices: int, cents: float) -> Signal:
    """Detune ratios, closer in the middle than at the edges, as analogue stacks are tuned by ear."""
    x = np.linspace(-1.0, 1.0, voices)
    return np.asarray(2.0 ** (np.sign(x) * np.abs(x) ** 1.3 * cents / 1200.0))


def _cents(*cents: float) -> Signal:
    return np.asarray(2.0 ** (np.array(cents) / 1200.0))


def _pans(voices: int, wide: float) -> Signal:
    """Neighbours in tune go to opposite sides, so that no side is sharp."""
    x = np.linspace(-1.0, 1.0, voices)
    return np.asarray(wide * np.abs(x) ** 0.7 * (-1.0) ** np.arange(voices))


def bass(tone: Tone) -> Signal:
    """Mono bass: saw and pulse through a snapping filter over a sine of the same pitch; all in the middle."""
    n = samples(tone.seconds + 0.09)
    t = clock(n)
    f = np.full(n, hertz(tone.pitch))
    raw = 0.55 * saw(f, 0.5) + 0.35 * pulse(f * 1.003, np.full(n, 0.38), 0.2)
    peak = 260.0 + 2600.0 * tone.bright * tone.level
    tops = steep(raw, 260.0 + 1.5 * f[0] + peak * np.exp(-t / 0.09), 1.3)
    sub = 0.55 * sine(f)
    out = np.tanh(1.7 * (1.25 * tops + sub)) * adsr(n, 0.003, 0.35, 0.78, 0.022, tone.seconds)
    return stereo(0.7 * tone.level * out)


def reese(tone: Tone) -> Signal:
    """Slow, growling bass for the half-time bridge: two saws beating, a moving filter, a clean sine below 90 Hz."""
    n = samples(tone.seconds + 0.15)
    t = clock(n)
    f = np.full(n, hertz(tone.pitch))
    raw = saw(f * 2.0 ** (11 / 1200), 0.0) + saw(f * 2.0 ** (-11 / 1200), 0.37)
    sweep = tone.bright + (tone.bright_end - tone.bright) * t / max(tone.seconds, 0.01)
    growl = steep(raw, 140.0 + 900.0 * sweep + 500.0 * sweep * np.exp(-t / 0.12), 1.6)
    out = np.tanh(1.3 * (0.55 * cut(growl, 90.0) + 0.85 * sine(f))) * adsr(n, 0.006, 0.8, 0.85, 0.05, tone.seconds)
    return stereo(0.72 * tone.level * out)


def supersaw(tone: Tone) -> Signal:
    """Seven detuned saws, wide, for the chorus's chords; the filter opens and closes from `bright` to `bright_end`."""
    n = samples(tone.seconds + 0.25)
    t = clock(n)
    raw = unison(np.full(n, hertz(tone.pitch)), _spread(7, 17.0), _phases(tone.seed, 7), _pans(7, 0.9))
    sweep = tone.bright + (tone.bright_end - tone.bright) * np.clip(t / max(tone.seconds, 0.01), 0.0, 1.0)
    cutoff = 280.0 * 2.0 ** (5.3 * sweep) * (1.0 + 0.7 * np.exp(-t / 0.10))
    out = svf(raw, cutoff, 0.8) * adsr(n, 0.006, 0.5, 0.8, 0.06, tone.seconds)[:, None]
    return np.asarray(0.55 * tone.level * out)


def pad(tone: Tone) -> Signal:
    """Soft, slow and wide: five gentle saws and a triangle-like fundamental, darkened."""
    n = samples(tone.seconds + 1.1)
    t = clock(n)
    f = np.full(n, hertz(tone.pitch))
    drift = 1.0 + 0.0012 * np.sin(2 * np.pi * 0.31 * t + tone.seed)
    raw = unison(f * drift, _spread(5, 11.0), _phases(tone.seed, 5), _pans(5, 1.0))
    sweep = tone.bright + (tone.bright_end - tone.bright) * np.clip(t / max(tone.seconds, 0.01), 0.0, 1.0)
    out = svf(raw, 220.0 * 2.0 ** (4.2 * sweep), 0.6) + 0.25 * stereo(sine(f))
    return np.asarray(0.5 * tone.level * out * adsr(n, 0.22, 1.0, 0.85, 0.28, tone.seconds)[:, None])


def pluck(tone: Tone) -> Signal:
    """Short, bright pluck for arpeggios: pulse and saw, filter and level falling fast; brightness is how far it opens."""
    n = samples(min(tone.seconds, 0.5) + 0.32)
    t = clock(n)
    f = np.full(n, hertz(tone.pitch))
    raw = 0.6 * pulse(f, 0.32 + 0.1 * np.sin(2.0 * np.pi * 0.7 * t + tone.seed), 0.0) + 0.5 * saw(f * 1.004, 0.41)
    cutoff = 1.1 * f[0] + (500.0 + 6500.0 * tone.bright**1.5) * np.exp(-t / (0.035 + 0.05 * tone.bright))
    out = svf(raw, cutoff, 1.5) * np.exp(-t / (0.10 + 0.06 * tone.bright)) * np.minimum(t / 0.0015, 1.0)
    return stereo(0.8 * tone.level * out * fade_out(n, 0.05))


def bell(tone: Tone) -> Signal:
    """Glassy electric bell by frequency modulation: a 3.5:1 strike that dies at once over a 1:1 tone that rings."""
    n = samples(min(tone.seconds, 1.2) + 1.1)
    t = clock(n)
    w = 2.0 * np.pi * hertz(tone.pitch) * t
    strike = np.exp(-t / 0.06) * (0.5 + 1.1 * tone.bright)
    ring = np.sin(w + (0.35 + 0.5 * tone.bright) * np.exp(-t / 0.35) * np.sin(w)) * np.exp(-t / 0.42)
    left = ring + 0.4 * np.sin(w * 1.001 + strike * np.sin(3.5 * w)) * np.exp(-t / 0.22)
    right = ring + 0.4 * np.sin(w * 0.999 + strike * np.sin(3.5 * w + 0.6)) * np.exp(-t / 0.22)
    shape = np.minimum(t / 0.001, 1.0) * fade_out(n, 0.2)
    return np.asarray(0.5 * tone.level * np.stack([left, right], axis=1) * shape[:, None])


def strings(tone: Tone) -> Signal:
    """High ensemble for the counter-melody: slow bow, late vibrato, air above."""
    n = samples(tone.seconds + 0.4)
    t = clock(n)
    swing = 2.0 ** (np.clip((t - 0.15) / 0.3, 0.0, 1.0) * 11.0 / 1200.0 * np.sin(2.0 * np.pi * 5.1 * t + tone.seed))
    raw = unison(hertz(tone.pitch) * swing, _spread(5, 13.0), _phases(tone.seed, 5), _pans(5, 0.85))
    out = svf(svf(raw, 2200.0 + 4200.0 * tone.bright, 0.7), 420.0, 0.7, HIGH)
    return np.asarray(0.5 * tone.level * out * adsr(n, 0.05, 0.6, 0.85, 0.11, tone.seconds)[:, None])


def lead(tones: list[Tone], starts: list[float], air: float, octave: float) -> Signal:
    """One sung phrase, legato: pitch slides from note to note, each note speaks with its own filter, vibrato comes late.

    `starts` are seconds from the phrase's start; `air` (0..1) opens the top, `octave` adds a voice an octave up.  Shape (n, 2).
    """
    end = starts[-1] + tones[-1].seconds
    n = samples(end + 0.35)
    t = clock(n)
    pitch, since, gate, open_ = np.full(n, float(tones[0].pitch)), np.full(n, 9.0), np.zeros(n), np.zeros(n)
    for tone, start in zip(tones, starts, strict=True):
        a, b = samples(start), samples(start + tone.seconds)
        pitch[a:] = tone.pitch
        since[a:] = t[a:] - start
        gate[a:b] = tone.level
        open_[a:] = tone.bright
        gate[max(a - samples(0.014), 0) : a] *= 0.25  # the tongue between two syllables
    swing = np.clip((since - 0.22) / 0.25, 0.0, 1.0) * 22.0 * np.sin(2.0 * np.pi * 5.6 * t)
    scoop = -35.0 * np.exp(-since / 0.03)
    curve = glide(pitch, 0.016) + (swing + scoop) / 100.0
    f = 440.0 * 2.0 ** ((curve - 69.0) / 12.0)
    raw = unison(f, _cents(0, 7, -8), np.array([0.0, 0.31, 0.64]), np.array([0.0, 0.7, -0.7]))
    raw += stereo(0.34 * pulse(f, 0.5 + 0.12 * np.sin(2 * np.pi * 0.9 * t), 0.2) + 0.22 * pulse(f / 2.0, np.full(n, 0.5), 0.1))
    if octave > 0.0:
        raw += octave * unison(2.0 * f, _cents(9, -9), np.array([0.1, 0.7]), np.array([0.8, -0.8]))
    speak = 1.0 - np.exp(-since / 0.018)
    cutoff = 700.0 + glide(open_, 0.02) * speak * (1900.0 + 2600.0 * air + 2400.0 * np.exp(-since / 0.16))
    out = svf(raw, cutoff, 1.15)
    out += 0.30 * svf(out, 1150.0 + 500.0 * np.exp(-since / 0.09), 2.2, BAND)  # a vowel's weight, so that it sings
    breath = cut(noise(n, 71, 2), 5000.0, 12000.0) * (0.018 * air * np.exp(-since / 0.05))[:, None]
    loud = glide(gate, 0.007) * (0.86 + 0.14 * np.exp(-since / 0.2))
    return np.asarray(np.tanh(1.2 * 0.42 * (out + breath)) * (loud * fade_out(n, 0.05))[:, None])


SYNTHS = {
    "bass": bass,
    "reese": reese,
    "chords": supersaw,
    "pad": pad,
    "arp": pluck,
    "bell": bell,
    "strings": strings,
}
