"""What the beat networks hear: a logarithmic spectrogram and how much louder each band has become, 50 frames a second.

The chain and its constants are BeatNet's (Heydari, Cwitkowitz and Duan, ISMIR 2021), which are those of madmom's beat trackers
(Böck, Krebs and Widmer, ISMIR 2016): 64 ms Hann windows, 24 triangular bands an octave from 30 Hz, `log10(1 + x)`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

RATE = 22_050  # samples a second that the networks were trained at
HOP = 441
FPS = RATE / HOP  # 50 frames a second
WINDOW = int(0.064 * RATE)
BANDS_AN_OCTAVE, LOWEST, HIGHEST, TUNING = 24, 30.0, 17_000.0, 440.0
BLOCK = 2048  # frames transformed at a time


def mono(samples: NDArray[np.int16], rate: int) -> Floats:
    """(n, channels) int16 -> (m,) float32 in -1..1 at 22.05 kHz."""
    both = samples.astype(np.float32).mean(axis=1) / np.float32(32768)
    common = np.gcd(RATE, rate)
    from scipy.signal import resample_poly  # late: what reads a timeline that is written needs no scipy

    return np.asarray(resample_poly(both, RATE // common, rate // common), np.float32)


def spectrogram(sound: Floats) -> Floats:
    """(n,) at 22.05 kHz -> log-filtered magnitudes (frames, bands); frame k is centred on sample `k * HOP`."""
    from scipy import fft

    count = -(-len(sound) // HOP)
    left = WINDOW // 2
    padded = np.concatenate([np.zeros(left, np.float32), sound, np.zeros(WINDOW + HOP, np.float32)])
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP][:count]
    window, bank = np.hanning(WINDOW).astype(np.float32), filterbank()
    out = np.empty((count, bank.shape[1]), np.float32)
    for first in range(0, count, BLOCK):
        block = frames[first : first + BLOCK] * window
        magnitude = np.abs(fft.rfft(block, axis=1)[:, : WINDOW // 2])
        out[first : first + BLOCK] = np.log10(magnitude @ bank + 1.0)
    return out


def features(bands: Floats) -> Floats:
    """The bands and, beside them, their rise since the window before that overlaps them by half: (frames, 2 * bands)."""
    lag = difference_lag()
    rise = np.zeros_like(bands)
    rise[lag:] = np.maximum(bands[lag:] - bands[:-lag], 0.0)
    return np.concatenate([bands, rise], axis=1)


@cache
def filterbank() -> Floats:
    """Triangles between neighbouring bands' bins, each of area 1: (bins, bands); bands that share a bin are one."""
    bins = np.arange(WINDOW // 2) * RATE / (WINDOW // 2 * 2)  # as if the window were even, which is what was trained with
    steps = np.arange(
        np.floor(np.log2(LOWEST / TUNING) * BANDS_AN_OCTAVE), np.ceil(np.log2(HIGHEST / TUNING) * BANDS_AN_OCTAVE)
    )
    centres = TUNING * 2.0 ** (steps / BANDS_AN_OCTAVE)
    centres = centres[(centres >= LOWEST) & (centres <= HIGHEST)]
    right = np.clip(np.searchsorted(bins, centres), 1, len(bins) - 1)
    nearest = np.unique(right - (centres - bins[right - 1] < bins[right] - centres))
    columns = []
    for start, centre, stop in zip(nearest, nearest[1:], nearest[2:], strict=False):
        if stop - start < 2:
            centre, stop = start, start + 1
        triangle = np.zeros(len(bins), np.float32)
        triangle[start:centre] = np.linspace(0, 1, centre - start, endpoint=False)
        triangle[centre:stop] = np.linspace(1, 0, stop - centre, endpoint=False)
        columns.append(triangle / triangle.sum())
    return np.stack(columns, axis=1)


@cache
def difference_lag() -> int:
    """Frames back at which a window's overlap has fallen to half of its height."""
    window = np.hanning(WINDOW)
    first = int(np.argmax(window > 0.5 * window.max()))
    return max(1, round((WINDOW / 2 - first) / HOP))
