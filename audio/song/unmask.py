"""Room for the voice: what plays gives way in the bands where the voice sounds, only there and only while it does.

A voice is hidden by what sounds in its own bands (Moore, An Introduction to the Psychology of Hearing, ch. 3), so one fader for
all would take away more than the voice needs.  Here each of 22 bands has a fader of its own that follows the voice's share of
that band, as an engineer's equaliser with a side chain does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import signal

from audio.song.dsp import RATE, Signal

WINDOW, HOP = 2048, 512  # samples: 43 ms windows, 11 ms apart
EDGES = np.geomspace(180.0, 9000.0, 23)  # hertz: bands of a quarter octave
LOWEST, HIGHEST = 300.0, 7000.0  # hertz: below and above, what plays is left alone; it takes an octave to get there
NEED = 0.1  # what plays gives half way where the voice is 10 dB below it
HELD = 0.12  # seconds that room takes to close


@dataclass(frozen=True, slots=True)
class Room:
    """How much room the voice asks for, 0..1, shape (22, frames): one row for each band, one column for each HOP."""

    asked: NDArray[np.float64]


def asked(voice: Signal, others: Signal) -> Room:
    """The room that a voice asks of what plays with it; both of shape (n, 2)."""
    over, under = (_bands(np.abs(_spectrum(x.mean(axis=1))) ** 2) for x in (voice, others))
    share = _held(over / (over + NEED * under + 1e-12), float(np.exp(-HOP / RATE / HELD)))
    around = np.pad(share, ((1, 1), (0, 0)), "edge")
    return Room(0.25 * around[:-2] + 0.5 * around[1:-1] + 0.25 * around[2:])  # no hole beside a band that stands


def give(x: Signal, room: Room, most: float) -> Signal:
    """x, shape (n, 2), with up to `most` dB taken out of the bands that the voice asks for."""
    centres = np.sqrt(EDGES[1:] * EDGES[:-1])
    inside = np.clip(np.log2(centres / LOWEST) + 0.5, 0.0, 1.0) * np.clip(np.log2(HIGHEST / centres) + 0.5, 0.0, 1.0)
    freq = np.log(np.maximum(np.fft.rfftfreq(WINDOW, 1.0 / RATE), 1.0))
    right = np.clip(np.searchsorted(np.log(centres), freq), 1, len(centres) - 1)
    part = np.clip((freq - np.log(centres)[right - 1]) / np.diff(np.log(centres))[right - 1], 0.0, 1.0)[:, None]
    shaped = room.asked * inside[:, None]
    gain = 10.0 ** (-most * (shaped[right - 1] * (1.0 - part) + shaped[right] * part) / 20.0)
    sides = [signal.istft(_spectrum(x[:, c]) * gain, RATE, nperseg=WINDOW, noverlap=WINDOW - HOP)[1] for c in (0, 1)]
    return np.stack([side[: len(x)] for side in sides], axis=1)


def _spectrum(x: Signal) -> NDArray[np.complex128]:
    """Short-time spectrum, shape (WINDOW / 2 + 1, frames); windows are centred on their frame."""
    return np.asarray(signal.stft(x, RATE, nperseg=WINDOW, noverlap=WINDOW - HOP)[2])


def _bands(power: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean power of each band; a band too narrow for a bin of its own takes the bin nearest to it."""
    freq = np.fft.rfftfreq(WINDOW, 1.0 / RATE)
    rows = []
    for low, high in pairwise(EDGES):
        bins = np.flatnonzero((freq >= low) & (freq < high))
        rows.append(power[bins if len(bins) else [int(np.argmin(np.abs(freq - np.sqrt(low * high))))]].mean(axis=0))
    return np.stack(rows)


@nb.njit(cache=True)
def _held(share: NDArray[np.float64], kept: float) -> NDArray[np.float64]:
    """At once up, slowly down, band by band."""
    out = np.empty_like(share)
    for band in range(share.shape[0]):
        level = 0.0
        for frame in range(share.shape[1]):
            level = max(share[band, frame], kept * level + (1.0 - kept) * share[band, frame])
            out[band, frame] = level
    return out
