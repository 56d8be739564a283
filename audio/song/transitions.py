"""What joins the sections: risers, falls, impacts and swells.  Each gives a stereo sound (n, 2) of the seconds asked."""

from __future__ import annotations

import numpy as np

from audio.song.drums import crash
from audio.song.dsp import BAND, Signal, clock, fade_out, noise, samples, saw, sine, stereo, svf
from audio.song.effects import cut, reverb, room
from audio.song.theory import hertz


def riser(seconds: float, pitch: int) -> Signal:
    """Noise and a pair of saws that climb an octave to `pitch`, growing louder, wider and brighter up to the last sample."""
    n = samples(seconds)
    x = clock(n) / seconds
    hiss = svf(noise(n, 801, 2), 350.0 * 2.0 ** (4.8 * x), 1.4, BAND)
    f = hertz(pitch - 12) * 2.0 ** (x**1.6)
    tone = np.stack([saw(f * 1.006, 0.0), saw(f * 0.994, 0.5)], axis=1)
    tone = svf(tone, 400.0 * 2.0 ** (3.8 * x), 0.9)
    throb = 0.75 + 0.25 * np.cos(2.0 * np.pi * np.cumsum(2.2 * 2.0 ** (2.0 * x)) / 48_000.0)
    shape = (x**1.7) * fade_out(n, 0.012)
    return np.asarray((0.5 * hiss + 0.22 * tone * throb[:, None]) * shape[:, None])


def fall(seconds: float) -> Signal:
    """The answer to a riser: noise that sinks and fades after a drop."""
    n = samples(seconds)
    x = clock(n) / seconds
    hiss = svf(noise(n, 811, 2), 7000.0 * 2.0 ** (-4.5 * x), 1.0, BAND)
    return np.asarray(0.35 * hiss * ((1.0 - x) ** 1.8 * np.minimum(x / 0.01, 1.0))[:, None])


def impact(seconds: float, pitch: int) -> Signal:
    """A drop's landing: a sub that sinks to `pitch`, a thud and a wide tail of room."""
    n = samples(seconds)
    t = clock(n)
    sub = sine(hertz(pitch) * (1.0 + 1.2 * np.exp(-t / 0.07))) * np.exp(-t / 0.38)
    thud = cut(noise(n, 821, 2), 90.0, 1400.0) * np.exp(-t / 0.06)[:, None]
    tail = reverb(cut(thud, 200.0), room(2.4, 0.01, 0.5, 823))
    return np.asarray((stereo(0.75 * np.tanh(1.5 * sub)) + 0.5 * thud + 0.9 * tail) * fade_out(n, 0.2)[:, None])


def swell(seconds: float) -> Signal:
    """A cymbal played backwards: it ends where the next section begins."""
    n = samples(seconds)
    tail = crash(1.0, 0)
    tail = np.concatenate([tail, np.zeros((max(n - len(tail), 0), 2))])[:n]
    shape = np.linspace(0.0, 1.0, n) ** 1.3
    return np.asarray(tail[::-1] * (shape * fade_out(n, 0.004))[:, None] * 1.4)
