"""Beat times finer than a frame: the peak between frames, then a smooth course of the tempo through all of them.

The smoother is Whittaker's (1923; Eilers, Analytical Chemistry 2003): it weighs how far a beat lies from its peak against how
much the length of a beat changes, and hears less of a peak that lies far off.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from audio.beats.bars import Array

REACH = 2  # frames
STIFFNESS = 2.0  # of the tempo: as if a beat were heard in four of its neighbours
OFF = 0.03  # seconds off its neighbours at which a beat counts for half


def times(frames: NDArray[np.int64], strength: Array, fps: float) -> Array:
    """Frames of the beats and the strength of each frame being one -> seconds of the beats, increasing."""
    peaks, weights = np.empty(len(frames)), np.empty(len(frames))
    for k, frame in enumerate(frames):
        first = max(int(frame) - REACH, 0)
        top = first + int(np.argmax(strength[first : int(frame) + REACH + 1]))
        peaks[k], weights[k] = (top + _between(strength, top)) / fps, float(strength[top])
    if len(frames) < 4:
        return peaks
    smooth = _whittaker(peaks, weights + 0.02)
    for _ in range(3):
        smooth = _whittaker(peaks, (weights + 0.02) / (1.0 + ((peaks - smooth) / OFF) ** 2))
    return smooth if np.all(np.diff(smooth) > 0) else peaks


def _between(strength: Array, top: int) -> float:
    """Where a parabola through a peak and its neighbours is highest, in frames from it: at most half a frame."""
    if not 0 < top < len(strength) - 1:
        return 0.0
    a, b, c = strength[top - 1 : top + 2]
    curve = a - 2.0 * b + c
    return float(np.clip(0.5 * (a - c) / curve, -0.5, 0.5)) if curve < -1e-9 else 0.0


def _whittaker(values: Array, weights: Array) -> Array:
    """argmin over t of sum w (t - y)^2 + STIFFNESS * sum (t[k] - 2 t[k+1] + t[k+2])^2, by its banded normal equations."""
    n = len(values)
    bands = np.zeros((3, n))
    for offset, factors in ((0, (1.0, 4.0, 1.0)), (1, (-2.0, -2.0)), (2, (1.0,))):
        for k, factor in enumerate(factors):
            bands[2 - offset, offset + k : n - 2 + offset + k] += STIFFNESS * factor
    bands[2] += weights
    from scipy.linalg import solveh_banded  # late, as in `features`

    return np.asarray(solveh_banded(bands, weights * values))
