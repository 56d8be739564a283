"""The mix made a record: -14 LUFS integrated (ITU-R BS.1770-4), true peak at or below -1 dBTP, no low end out of phase."""

from __future__ import annotations

import numpy as np
import pyloudnorm
from scipy import signal
from scipy.ndimage import minimum_filter1d, uniform_filter1d

from audio.song.dsp import RATE, Signal, follow, pole, samples
from audio.song.effects import bell, compress, cut, saturate, shelf, width

LOUDNESS = -14.0  # LUFS, integrated
TRUE_PEAK = -1.0  # dBTP
MARGIN = 1.3  # dB kept below TRUE_PEAK for what 16 bits and a lossy codec add: Opus adds up to 1.1 to this song


def loudness(x: Signal) -> float:
    """Integrated loudness in LUFS."""
    return float(pyloudnorm.Meter(RATE).integrated_loudness(x))


def true_peak(x: Signal, factor: int = 8) -> float:
    """Peak of the oversampled signal in dBTP (BS.1770-4, annex 2)."""
    return float(20.0 * np.log10(np.abs(signal.resample_poly(x, factor, 1, axis=0)).max() + 1e-12))


def limit(x: Signal, ceiling: float, look: float = 0.002, release: float = 0.08) -> Signal:
    """Look-ahead limiter driven by the four times oversampled peak: no sample between samples passes `ceiling` dBTP by much."""
    up = np.abs(signal.resample_poly(x, 4, 1, axis=0)).max(axis=1)[: 4 * len(x)]
    need = np.minimum(1.0, 10.0 ** (ceiling / 20.0) / np.maximum(up.reshape(-1, 4).max(axis=1), 1e-9))
    reach = samples(look)
    held = minimum_filter1d(need, 2 * reach + 1)
    gain = 1.0 - follow(1.0 - held, 0.0, pole(release))
    return np.asarray(x * uniform_filter1d(gain, reach)[:, None])  # the mean lies within the held minimum of every peak


def master(x: Signal) -> Signal:
    """The finished sound, float64 of shape (n, 2), within +-1."""
    x = cut(x, low=27.0)
    x = width(x, 1.0, mono_below=130.0)
    x = bell(x, 56.0, -1.5, 0.9)
    x = shelf(x, 11000.0, -1.0, True)
    x = compress(x * 10.0 ** ((-18.0 - loudness(x)) / 20.0), -14.0, 1.7, 0.025, 0.18)
    gain = LOUDNESS - loudness(x)
    for _ in range(4):  # limiting takes a little loudness; each round gives it back
        out = limit(saturate(x * 10.0 ** (gain / 20.0), 0.5), TRUE_PEAK - MARGIN)
        gain += LOUDNESS - loudness(out)
    return out
