"""How loud the film is, and how near to clipping (ITU-R BS.1770-4, EBU R 128)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from audio import tracks
from audio.decode import RATE, decode, to_array
from scenes.render.check.film import Film
from scenes.render.check.outcome import Fault, Outcome

LOUDNESS, AROUND = -14.0, 1.0  # LUFS that streaming sites play at, and LU to either side
TRUE_PEAK, CODED = -1.0, 0.5  # dBTP of a master, and dB that a lossy codec may add
KEPT = 0.3  # LU that the film's sound may differ from its track's
LEAST = 0.4  # seconds: shorter sounds have no loudness (BS.1770-4, 400 ms blocks)


def check(film: Film) -> Outcome:
    """As loud as its track; the project's own at the level of streaming sites, with no peak between samples over the limit."""
    heard, played = film.sound, _played(film)
    expected = f"as loud as its track within {KEPT} LU, true peak at most {TRUE_PEAK + CODED:g} dBTP"
    if min(len(heard), len(played)) < LEAST * RATE:
        return Outcome("sound", "Loudness", "too short to be measured", expected)
    loud, was, peak = loudness(heard), loudness(played), true_peak(heard)
    faults = []
    if not abs(loud - was) <= KEPT:
        faults.append(Fault(f"the film is at {loud:.1f} LUFS, its track at {was:.1f}"))
    note = ""
    own = film.track.path.parent == tracks.HERE
    whole = sum(span.last - span.first for span in film.spans) >= 0.95 * film.track.timeline.duration * film.fps
    if own and whole:
        expected += f", {LOUDNESS:g} LUFS within {AROUND:g}"
        if not abs(loud - LOUDNESS) <= AROUND:
            faults.append(Fault(f"the film is at {loud:.1f} LUFS"))
    elif loud > LOUDNESS + AROUND:
        note = f"sites that play at {LOUDNESS:g} LUFS will turn it down by {loud - LOUDNESS:.1f} dB"
    if own and peak > TRUE_PEAK + CODED:
        faults.append(Fault(f"the true peak is {peak:.2f} dBTP"))
    elif peak > TRUE_PEAK + CODED:
        note = f"{note}; ".lstrip("; ") + "the track itself peaks above -1 dBTP"
    return Outcome("sound", "Loudness", f"{loud:.1f} LUFS, true peak {peak:.2f} dBTP", expected, tuple(faults), note)


def loudness(sound: NDArray[np.int16]) -> float:
    """Integrated loudness in LUFS of (n, 2) int16 at 48 kHz; -inf for silence."""
    import pyloudnorm

    return float(pyloudnorm.Meter(RATE).integrated_loudness(sound / 32768.0))


def true_peak(sound: NDArray[np.int16], factor: int = 4) -> float:
    """Largest sample of the oversampled sound in dBTP (BS.1770-4, annex 2); a second at a time, to save memory."""
    from scipy.signal import resample_poly

    most, margin = 0.0, 256
    for first in range(0, len(sound), RATE):
        start, end = max(0, first - margin), first + RATE + margin
        finer = resample_poly(sound[start:end] / 32768.0, factor, 1, axis=0)
        inner = finer[factor * (first - start) : factor * (first - start + RATE)]  # the filter rings at a piece's ends
        most = max(most, float(np.abs(inner).max()))
    return 20.0 * float(np.log10(max(most, 1e-12)))


def _played(film: Film) -> NDArray[np.int16]:
    """What the film should sound like: the track under its spans."""
    whole = to_array(decode(film.track.path))
    pieces = [whole[round(s.first / film.fps * RATE) : round(s.last / film.fps * RATE)] for s in film.spans]
    return np.concatenate(pieces)
