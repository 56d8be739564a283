"""Reverberation, echo, chorus, equaliser, compressor and the ducking curve.  Stereo signals of shape (n, 2) at 48 kHz."""

from __future__ import annotations

from functools import lru_cache

import numba as nb
import numpy as np
from scipy import signal

from audio.song.dsp import RATE, Signal, clock, follow, noise, pole, samples


def cut(x: Signal, low: float | None = None, high: float | None = None, order: int = 2) -> Signal:
    """Butterworth band limits in hertz: nothing below `low`, nothing above `high`."""
    for edge, kind in ((low, "high"), (high, "low")):
        if edge is not None:
            x = signal.sosfilt(signal.butter(order, edge, kind, fs=RATE, output="sos"), x, axis=0)
    return np.asarray(x)


def bell(x: Signal, freq: float, gain_db: float, q: float = 1.0) -> Signal:
    """Peaking equaliser (Audio EQ Cookbook, Bristow-Johnson)."""
    amp, w = 10.0 ** (gain_db / 40.0), 2.0 * np.pi * freq / RATE
    alpha = np.sin(w) / (2.0 * q)
    b = [1.0 + alpha * amp, -2.0 * np.cos(w), 1.0 - alpha * amp]
    a = [1.0 + alpha / amp, -2.0 * np.cos(w), 1.0 - alpha / amp]
    return np.asarray(signal.lfilter(np.array(b) / a[0], np.array(a) / a[0], x, axis=0))


def shelf(x: Signal, freq: float, gain_db: float, high: bool) -> Signal:
    """Low or high shelf of slope 1 (Audio EQ Cookbook, Bristow-Johnson)."""
    amp, w = 10.0 ** (gain_db / 40.0), 2.0 * np.pi * freq / RATE
    c, root = np.cos(w), 2.0 * np.sqrt(amp) * np.sin(w) / np.sqrt(2.0)
    s = -1.0 if high else 1.0
    b = [
        amp * ((amp + 1) - s * (amp - 1) * c + root),
        s * 2 * amp * ((amp - 1) - s * (amp + 1) * c),
        amp * ((amp + 1) - s * (amp - 1) * c - root),
    ]
    a = [(amp + 1) + s * (amp - 1) * c + root, -s * 2 * ((amp - 1) + s * (amp + 1) * c), (amp + 1) + s * (amp - 1) * c - root]
    return np.asarray(signal.lfilter(np.array(b) / a[0], np.array(a) / a[0], x, axis=0))


@lru_cache(maxsize=8)
def room(decay: float, predelay: float, dark: float, seed: int, build: float = 0.012) -> Signal:
    """Impulse response of a room, shape (n, 2), unit energy a side: decaying noise, each band with a decay of its own.

    `decay` is the time to fall 60 dB in the low mids, highs fall `dark` times as long (below 1); `build` is the time that the
    diffuse field takes to rise; sides are independent, so the room is wide.
    """
    n = samples(decay * 1.15)
    t = clock(n)
    white = noise(n, seed, 2)
    out = np.zeros((n, 2))
    for low, high, share in ((180.0, 700.0, 1.0), (700.0, 2500.0, 0.9), (2500.0, 6000.0, dark), (6000.0, 12000.0, dark * 0.6)):
        band = signal.sosfilt(signal.butter(2, [low, high], "band", fs=RATE, output="sos"), white, axis=0)
        out += band * (10.0 ** (-3.0 * t / (decay * share)))[:, None]
    out *= np.minimum(1.0, t / build)[:, None]
    out[-samples(0.05) :] *= np.linspace(1.0, 0.0, samples(0.05))[:, None]
    out = np.concatenate([np.zeros((samples(predelay), 2)), out])
    return np.asarray(out / np.sqrt((out**2).sum(axis=0)))


def reverb(x: Signal, response: Signal) -> Signal:
    """x through a room, cut to x's length."""
    return np.stack([signal.oaconvolve(x[:, c], response[:, c])[: len(x)] for c in (0, 1)], axis=1)


def echo(x: Signal, seconds: float, feedback: float, repeats: int = 6, low: float = 350.0, high: float = 5200.0) -> Signal:
    """Ping-pong echo: the sound's middle answers left, then right, each answer duller and `feedback` times as loud."""
    n, step = len(x), samples(seconds)
    voice = x.mean(axis=1)
    out = np.zeros_like(x)
    gain = 1.0
    for k in range(1, repeats + 1):
        voice = cut(voice, low, high, 1)
        if k * step >= n:
            break
        out[k * step :, (k + 1) % 2] += gain * voice[: n - k * step]
        out[k * step :, k % 2] += 0.25 * gain * voice[: n - k * step]
        gain *= feedback
    return out


@nb.njit(cache=True)
def _moving_delay(x: Signal, delay: Signal) -> Signal:
    out = np.zeros(len(x))
    for i in range(len(x)):
        at = i - delay[i]
        k = int(np.floor(at))
        f = at - k
        if k >= 0 and k + 1 < len(x):
            out[i] = x[k] * (1.0 - f) + x[k + 1] * f
    return out


def ensemble(x: Signal, depth: float = 0.0022, rate: float = 0.43, mix: float = 0.5) -> Signal:
    """Chorus: three slowly moving delays a side, in different phases left and right; `depth` in seconds, `rate` in hertz."""
    t = clock(len(x))
    out = (1.0 - mix) * x
    for side in (0, 1):
        for k in range(3):
            swing = np.sin(2.0 * np.pi * (rate * (1.0 + 0.31 * k) * t + k / 3.0 + side / 2.0))
            delay = (0.011 + 0.003 * k + depth * swing) * RATE
            out[:, side] += mix * 0.62 * _moving_delay(np.ascontiguousarray(x[:, side]), delay)
    return np.asarray(out)


def compress(x: Signal, threshold: float, ratio: float, attack: float, release: float, makeup: float = 0.0) -> Signal:
    """Feed-forward peak compressor linked over both sides; threshold and makeup in dB, times in seconds, soft knee of 6 dB."""
    level = 20.0 * np.log10(follow(np.abs(x).max(axis=1), pole(attack), pole(release)) + 1e-9)
    over = level - threshold
    bent = np.where(over > 3.0, over, np.where(over < -3.0, 0.0, (over + 3.0) ** 2 / 12.0))
    return np.asarray(x * (10.0 ** ((makeup - bent * (1.0 - 1.0 / ratio)) / 20.0))[:, None])


def saturate(x: Signal, drive: float) -> Signal:
    """Soft clipping with unit gain for small signals, four times oversampled so that its harmonics do not fold back."""
    up = signal.resample_poly(x, 4, 1, axis=0)
    return np.asarray(signal.resample_poly(np.tanh(up * drive) / drive, 1, 4, axis=0)[: len(x)])


def width(x: Signal, amount: float, mono_below: float = 0.0) -> Signal:
    """Side signal scaled by `amount`; below `mono_below` hertz both sides are made the same."""
    mid, side = x.mean(axis=1), (x[:, 0] - x[:, 1]) / 2.0 * amount
    if mono_below > 0.0:
        side = cut(side, low=mono_below, order=2)
    return np.stack([mid + side, mid - side], axis=1)


def duck(n: int, hits: list[int], depth: float, recover: float, fall: float = 0.004) -> Signal:
    """Gain curve of n samples that dips to `1 - depth` at every hit (sample index) and recovers in `recover` seconds.

    The dip is reached `fall` seconds after the hit begins, so that it does not click, and its return is a smooth S.
    """
    shape_t = clock(samples(recover) + samples(fall))
    rise = np.clip((shape_t - fall) / recover, 0.0, 1.0)
    back = rise * rise * (3.0 - 2.0 * rise)
    shape = 1.0 - depth * np.where(shape_t < fall, shape_t / fall, 1.0 - back)
    out = np.ones(n)
    for hit in hits:
        last = min(hit + len(shape), n)
        if hit < last:
            out[hit:last] = np.minimum(out[hit:last], shape[: last - hit])
    return out
