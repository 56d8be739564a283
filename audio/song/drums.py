"""The drum kit, synthesised: every drum is a function of its level (0..1) and a variant, and gives a stereo sound (n, 2).

A drum's first sample is its onset.  Peaks at level 1 lie between 0.3 and 1.8; harder hits are also brighter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from audio.song.dsp import BAND, HIGH, Signal, clock, fade_out, noise, samples, sine, stereo, svf
from audio.song.effects import cut, reverb, room

METAL = (2570.0, 3417.0, 4211.0, 5189.0, 6353.0, 7411.0)  # inharmonic partials of a cymbal's plate


def kick(level: float, variant: int) -> Signal:
    """Sine that falls from a click to 49 Hz (G1, the chorus's first root), driven softly, under a short beater."""
    n = samples(0.36)
    t = clock(n)
    body = sine(49.0 + 130.0 * np.exp(-t / 0.03) + 900.0 * np.exp(-t / 0.0022), 0.0)
    shape = np.where(t < 0.05, 1.0, np.exp(-(t - 0.05) / 0.085))
    beater = cut(noise(n, 101), 1800.0, 9000.0) * np.exp(-t / 0.004) * (0.22 + 0.2 * level)
    knock = np.sin(2.0 * np.pi * 1150.0 * t) * np.exp(-t / 0.006) * 0.16
    out = np.tanh(2.1 * (body * shape + beater + knock)) * fade_out(n, 0.03)
    return stereo(0.9 * level * out)


def snare(level: float, variant: int) -> Signal:
    """Two drum modes under bright noise, with the short, shut-off room of the eighties behind it."""
    n = samples(0.42)
    t = clock(n)
    drop = 1.0 + 0.35 * np.exp(-t / 0.012)
    body = 0.8 * sine(186.0 * drop) * np.exp(-t / 0.075) + 0.4 * sine(331.0 * drop) * np.exp(-t / 0.045)
    rattle = cut(noise(n, 211 + variant % 4, 2), 1500.0, 11500.0)
    rattle *= (np.exp(-t / (0.06 + 0.035 * level)) + 0.5 * np.exp(-t / 0.012))[:, None]
    snap = cut(noise(n, 220), 4000.0) * np.exp(-t / 0.003)
    dry = 0.62 * stereo(body) + 0.34 * rattle + 0.35 * stereo(snap)
    gate = np.where(t < 0.2, 1.0, np.exp(-(t - 0.2) / 0.018))
    wet = reverb(cut(dry, 300.0), room(0.9, 0.002, 0.8, 230, 0.004)) * gate[:, None]
    out = np.tanh(1.5 * (dry + 0.5 * wet)) * fade_out(n, 0.02)[:, None]
    return np.asarray(0.8 * level * out)


def clap(level: float, variant: int) -> Signal:
    """Three quick bursts and a tail, wide."""
    n = samples(0.34)
    t = clock(n)
    hands = sum(np.where(t >= d, np.exp(-np.maximum(t - d, 0.0) / 0.005), 0.0) for d in (0.0, 0.009, 0.019))
    shape = 0.65 * hands + np.where(t > 0.026, np.exp(-np.maximum(t - 0.026, 0.0) / 0.075), 0.0)
    out = svf(noise(n, 310 + variant % 4, 2), 1500.0, 0.9, BAND)
    out = cut(out, 700.0, 9500.0) + 0.35 * cut(noise(n, 320 + variant % 4, 2), 4500.0, 12000.0)
    return np.asarray(0.75 * level * out * (shape * fade_out(n, 0.03))[:, None])


def _plate(n: int, spread: float) -> Signal:
    """The clang of a cymbal: six square waves, detuned apart on the two sides, shape (n, 2)."""
    t = clock(n)
    sides = [sum(np.sign(np.sin(2.0 * np.pi * f * (1.0 + s * spread) * t + f)) for f in METAL) for s in (-1.0, 1.0)]
    return np.stack(sides, axis=1) / len(METAL)


def hat(level: float, variant: int) -> Signal:
    """Closed hi-hat; harder is longer."""
    n = samples(0.11)
    t = clock(n)
    source = cut(0.55 * _plate(n, 0.004) + 0.5 * noise(n, 410 + variant % 8, 2), 7600.0, 16500.0, 3)
    return np.asarray(0.9 * level * source * (np.exp(-t / (0.012 + 0.016 * level)) * fade_out(n, 0.02))[:, None])


def open_hat(level: float, variant: int) -> Signal:
    """Open hi-hat, closed by the next beat."""
    n = samples(0.30)
    t = clock(n)
    shape = np.exp(-t / 0.16) * np.where(t < 0.19, 1.0, np.exp(-(t - 0.19) / 0.014)) * fade_out(n, 0.02)
    source = cut(0.5 * _plate(n, 0.006) + 0.5 * noise(n, 430 + variant % 4, 2), 6800.0, 16500.0, 3)
    return np.asarray(0.75 * level * source * shape[:, None])


def shaker(level: float, variant: int) -> Signal:
    """Soft grains with a slow front, for sixteenths."""
    n = samples(0.10)
    t = clock(n)
    shape = np.minimum(t / 0.016, 1.0) * np.exp(-np.maximum(t - 0.016, 0.0) / 0.02) * fade_out(n, 0.02)
    return np.asarray(0.7 * level * cut(noise(n, 450 + variant % 8, 2), 5200.0, 14000.0) * shape[:, None])


def tom(level: float, variant: int) -> Signal:
    """Electronic tom; variants 0, 1, 2 are high, middle, low, from right to left."""
    n = samples(0.45)
    t = clock(n)
    pitch = (196.0, 147.0, 110.0)[variant % 3]
    body = sine(pitch * (1.0 + 0.9 * np.exp(-t / 0.045))) * np.exp(-t / 0.14)
    skin = cut(noise(n, 510), 900.0, 5000.0) * np.exp(-t / 0.02) * 0.3
    out = stereo(np.tanh(1.7 * (body + skin)) * fade_out(n, 0.05), (0.4, 0.0, -0.4)[variant % 3])
    gate = np.where(t < 0.26, 1.0, np.exp(-(t - 0.26) / 0.02))[:, None]
    return np.asarray(0.7 * level * (out + 0.35 * reverb(out, room(0.9, 0.002, 0.8, 230, 0.004)) * gate))


def rim(level: float, variant: int) -> Signal:
    """A dry woodblock-like tick."""
    n = samples(0.07)
    t = clock(n)
    out = (np.sin(2.0 * np.pi * 1720.0 * t) + 0.5 * np.sin(2.0 * np.pi * 2890.0 * t)) * np.exp(-t / 0.011)
    return stereo(0.5 * level * out * fade_out(n, 0.01), -0.25)


def crash(level: float, variant: int) -> Signal:
    """Crash cymbal: two and a half seconds of plate and noise, its highs dying first."""
    n = samples(2.6)
    t = clock(n)
    wide = 0.5 * _plate(n, 0.011) + 0.8 * noise(n, 610 + variant % 2, 2)
    low = cut(wide, 3200.0, 7000.0) * np.exp(-t / 0.62)[:, None]
    high = cut(wide, 7000.0, 16000.0) * (0.8 * np.exp(-t / 0.34) + 0.5 * np.exp(-t / 0.03))[:, None]
    return np.asarray(0.42 * level * (0.7 * low + high) * (np.minimum(t / 0.002, 1.0) * fade_out(n, 0.3))[:, None])


def ride(level: float, variant: int) -> Signal:
    """Ride cymbal: a ping over a thin wash."""
    n = samples(0.7)
    t = clock(n)
    ping = sum(np.sin(2.0 * np.pi * f * t + f) for f in (3140.0, 4470.0, 5930.0, 7820.0)) * np.exp(-t / 0.09) / 4.0
    wash = svf(_plate(n, 0.008) + 0.6 * noise(n, 650, 2), 7000.0, 0.7, HIGH) * np.exp(-t / 0.22)[:, None]
    return np.asarray(0.4 * level * (stereo(ping, 0.3) + 0.6 * wash) * fade_out(n, 0.1)[:, None])


KIT: dict[str, Callable[[float, int], Signal]] = {
    "kick": kick,
    "snare": snare,
    "clap": clap,
    "hat": hat,
    "open": open_hat,
    "shaker": shaker,
    "tom": tom,
    "rim": rim,
    "crash": crash,
    "ride": ride,
}


@lru_cache(maxsize=512)
def struck(name: str, level: float, variant: int) -> Signal:
    """A drum's sound, kept, as most hits repeat; callers must not write into it."""
    out = KIT[name](level, variant)
    out.setflags(write=False)
    return out
