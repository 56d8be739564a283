"""Oscillators, filters and envelopes: float64 at 48 kHz, deterministic.  Mono signals have shape (n,), stereo ones (n, 2)."""

from __future__ import annotations

from typing import TypeAlias

import numba as nb
import numpy as np
from numpy.typing import NDArray

RATE = 48_000
Signal: TypeAlias = NDArray[np.float64]

LOW, BAND, HIGH = 0, 1, 2  # outputs of the state-variable filter


def samples(seconds: float) -> int:
    """Whole samples nearest to a time."""
    return round(seconds * RATE)


def clock(n: int) -> Signal:
    """Times in seconds of n samples."""
    return np.arange(n) / RATE


def noise(n: int, seed: int, channels: int = 1) -> Signal:
    """White noise of unit variance, shape (n,) or (n, channels), the same for the same seed."""
    shape = (n,) if channels == 1 else (n, channels)
    return np.random.default_rng(seed).standard_normal(shape)


@nb.njit(cache=True)
def _blep(phase: float, step: float) -> float:
    """Polynomial band-limited step, two samples wide: takes a saw's or a pulse's edge off its aliases (Valimaki 2007)."""
    if phase < step:
        x = phase / step
        return x + x - x * x - 1.0
    if phase > 1.0 - step:
        x = (phase - 1.0) / step
        return x * x + x + x + 1.0
    return 0.0


@nb.njit(cache=True)
def saw(freq: Signal, phase: float) -> Signal:
    """Sawtooth of a frequency given for each sample (hertz), starting at `phase` (0..1)."""
    out = np.empty(len(freq))
    for i in range(len(freq)):
        step = freq[i] / RATE
        out[i] = 2.0 * phase - 1.0 - _blep(phase, step)
        phase += step
        if phase >= 1.0:
            phase -= 1.0
    return out


@nb.njit(cache=True)
def pulse(freq: Signal, width: Signal, phase: float) -> Signal:
    """Pulse wave, its mean removed; `width` (0..1) for each sample."""
    out = np.empty(len(freq))
    for i in range(len(freq)):
        step = freq[i] / RATE
        other = phase + 1.0 - width[i]
        if other >= 1.0:
            other -= 1.0
        out[i] = (phase - other) * 2.0 - _blep(phase, step) + _blep(other, step)
        phase += step
        if phase >= 1.0:
            phase -= 1.0
    return out


@nb.njit(cache=True)
def unison(freq: Signal, ratios: Signal, phases: Signal, pans: Signal) -> Signal:
    """Detuned saws spread over the stereo field, shape (n, 2); pans -1..1 at constant power, level near one saw's."""
    n, voices = len(freq), len(ratios)
    out = np.zeros((n, 2))
    gain = 1.0 / np.sqrt(voices)
    for v in range(voices):
        angle = (pans[v] + 1.0) * np.pi / 4.0
        left, right = np.cos(angle) * 1.414 * gain, np.sin(angle) * 1.414 * gain
        phase = phases[v]
        for i in range(n):
            step = freq[i] * ratios[v] / RATE
            y = 2.0 * phase - 1.0 - _blep(phase, step)
            out[i, 0] += y * left
            out[i, 1] += y * right
            phase += step
            if phase >= 1.0:
                phase -= 1.0
    return out


def sine(freq: Signal, phase: float = 0.0) -> Signal:
    """Sine of a frequency given for each sample; `phase` in turns."""
    turns = np.cumsum(freq) / RATE
    return np.asarray(np.sin(2.0 * np.pi * (turns - turns[0] + phase)))


@nb.njit(cache=True)
def _svf(x: Signal, cutoff: Signal, q: float, mode: int) -> Signal:
    out = np.empty(len(x))
    s1 = 0.0
    s2 = 0.0
    k = 1.0 / q
    for i in range(len(x)):
        g = np.tan(np.pi * min(max(cutoff[i], 10.0), RATE * 0.45) / RATE)
        a1 = 1.0 / (1.0 + g * (g + k))
        a2 = g * a1
        a3 = g * a2
        v3 = x[i] - s2
        v1 = a1 * s1 + a2 * v3
        v2 = s2 + a2 * s1 + a3 * v3
        s1 = 2.0 * v1 - s1
        s2 = 2.0 * v2 - s2
        if mode == 0:
            out[i] = v2
        elif mode == 1:
            out[i] = k * v1
        else:
            out[i] = x[i] - k * v1 - v2
    return out


def svf(x: Signal, cutoff: Signal | float, q: float = 0.7071, mode: int = LOW) -> Signal:
    """State-variable filter, 12 dB an octave, by the trapezoid rule (Zavalishin, The Art of VA Filter Design).

    `cutoff` in hertz, one number or one for each sample; x mono or stereo.  Sweeps are free of zipper noise.
    """
    curve = np.full(len(x), cutoff) if isinstance(cutoff, int | float) else cutoff
    if x.ndim == 1:
        return np.asarray(_svf(np.ascontiguousarray(x), curve, q, mode))
    return np.stack([_svf(np.ascontiguousarray(x[:, c]), curve, q, mode) for c in range(x.shape[1])], axis=1)


def steep(x: Signal, cutoff: Signal | float, q: float = 0.9, mode: int = LOW) -> Signal:
    """Two state-variable filters in a row, 24 dB an octave."""
    return svf(svf(x, cutoff, 0.54, mode), cutoff, q, mode)


def adsr(n: int, attack: float, decay: float, sustain: float, release: float, hold: float) -> Signal:
    """Envelope over n samples, times in seconds: rise, exponential fall to `sustain`, exponential release from `hold` on.

    `decay` and `release` are time constants; the last 4 ms fade to zero so that no note ends in a click.
    """
    t = clock(n)
    rise = np.minimum(t / max(attack, 1e-4), 1.0)
    body = sustain + (1.0 - sustain) * np.exp(-np.maximum(t - attack, 0.0) / max(decay, 1e-4))
    out = rise * body * np.exp(-np.maximum(t - hold, 0.0) / max(release, 1e-4))
    return np.asarray(out * fade_out(n, 0.004))


def fade_out(n: int, seconds: float) -> Signal:
    """Ones that fall to zero over the last `seconds`."""
    edge = min(samples(seconds), n)
    out = np.ones(n)
    if edge:
        out[n - edge :] = np.linspace(1.0, 0.0, edge)
    return out


def stereo(x: Signal, pan: float = 0.0) -> Signal:
    """Mono to (n, 2) at constant power, unity in the middle on both sides; a stereo signal is balanced."""
    angle = (pan + 1.0) * np.pi / 4.0
    sides = np.array([np.cos(angle), np.sin(angle)]) * np.sqrt(2.0)
    return np.asarray((x[:, None] if x.ndim == 1 else x) * sides)


def add(buffer: Signal, sound: Signal, start: int, level: float = 1.0) -> None:
    """Add a stereo sound into a stereo buffer from sample `start` on; what falls outside is cut."""
    first, last = max(start, 0), min(start + len(sound), len(buffer))
    if first < last:
        buffer[first:last] += level * sound[first - start : last - start]


@nb.njit(cache=True)
def follow(x: Signal, attack: float, release: float) -> Signal:
    """Envelope follower of a non-negative signal; attack and release are one-pole coefficients (0..1, per sample)."""
    out = np.empty(len(x))
    level = 0.0
    for i in range(len(x)):
        a = attack if x[i] > level else release
        level = a * level + (1.0 - a) * x[i]
        out[i] = level
    return out


def pole(seconds: float) -> float:
    """One-pole coefficient of a time constant."""
    return float(np.exp(-1.0 / (max(seconds, 1e-5) * RATE)))


def glide(target: Signal, seconds: float) -> Signal:
    """A step curve smoothed by one pole, starting at its first value."""
    a = pole(seconds)
    return np.asarray(target[0] + follow_signed(target - target[0], a))


@nb.njit(cache=True)
def follow_signed(x: Signal, a: float) -> Signal:
    """One-pole low-pass of a signal, coefficient a."""
    out = np.empty(len(x))
    y = 0.0
    for i in range(len(x)):
        y = a * y + (1.0 - a) * x[i]
        out[i] = y
    return out
