"""The parts of a song: where its sound changes as a whole, bar by bar.

Novelty is Foote's (ICME 2000): a checkerboard is moved along the diagonal of the bars' self-similarity and is large where what
came before is like itself, what follows is like itself, and the two are unlike. Bars are compared, so parts begin on downbeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from audio.beats.bars import Array
from audio.beats.downbeats import averages, chroma
from audio.beats.features import Floats
from audio.timeline import Section

REACH = 8  # bars on either side that are compared
SHORTEST = 4  # bars of a part
CHANGE = 0.35  # deviations above the mean that a change has to stand out
LEAST = 0.1  # novelty that is a change at all: 1 is from a sound to its opposite
EVEN = 2.0  # how much more a change counts on every fourth bar: parts are mostly whole fours
LOUD, LOW = 0.62, 0.3  # of the range of loudness among the parts: a chorus is above, a bridge may be below


def sections(bands: Floats, downbeats: NDArray[np.int64]) -> tuple[Section, ...]:
    """Log-bands (frames, bands) and the frames of all downbeats, the last being the end -> the parts, without a gap."""
    spectra = averages(downbeats, bands)[:-1]
    starts = boundaries(spectra)
    lengths = [after - start for start, after in pairwise([*starts, len(spectra)])]
    level = spectra.mean(axis=1)
    loud = np.array([level[a : a + n].mean() for a, n in zip(starts, lengths, strict=True)])
    kinds = name_parts(loud, [float(level[a + n - 1] - level[a]) for a, n in zip(starts, lengths, strict=True)], lengths)
    out = []
    for k, (start, bars) in enumerate(zip(starts, lengths, strict=True)):
        count = kinds[: k + 1].count(kinds[k])
        name = kinds[k] if kinds.count(kinds[k]) == 1 else f"{kinds[k]} {count}"
        out.append(Section(name, kinds[k], int(start) + 1, int(bars)))
    return tuple(out)


def boundaries(spectra: Array) -> list[int]:
    """Mean log-bands of the bars (bars, bands) -> the bars, from 0, on which a part begins; the first is always one."""
    count = len(spectra)
    plain = novelty(similarity(spectra))
    curve = plain * np.where(np.arange(count) % 4 == 0, EVEN, 1.0)
    found = [0]
    limit = curve.mean() + CHANGE * curve.std()
    for bar in sorted(range(1, count), key=lambda bar: -curve[bar]):
        near = curve[max(bar - 1, 0) : bar + 2]
        if curve[bar] < limit or plain[bar] < LEAST or count - bar < SHORTEST:
            continue
        if curve[bar] >= near.max() and all(abs(bar - other) >= SHORTEST for other in found):
            found.append(bar)
    return sorted(found)


def similarity(spectra: Array) -> Array:
    """Cosine similarity (bars, bars) of timbre and harmony, each band and pitch class against its own mean and spread."""
    chords = chroma(spectra)
    harmony = chords / np.maximum(chords.sum(axis=1, keepdims=True), 1e-9)
    parts = []
    for block in (spectra, harmony):
        scaled = (block - block.mean(axis=0)) / (block.std(axis=0) + 1e-9)
        parts.append(scaled / np.sqrt(block.shape[1]))
    rows = np.concatenate(parts, axis=1)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return np.asarray(rows @ rows.T)


def novelty(alike: Array) -> Array:
    """Self-similarity (bars, bars) -> how much changes at the start of each bar, (bars,); 0 to 1."""
    offsets = np.arange(-REACH, REACH) + 0.5
    taper = np.exp(-0.5 * (offsets / REACH) ** 2)
    kernel = np.outer(np.sign(offsets) * taper, np.sign(offsets) * taper)
    kernel /= np.abs(kernel).sum()
    padded = np.pad(alike, REACH, mode="edge")
    count = len(alike)
    curve = np.array([np.sum(kernel * padded[k : k + 2 * REACH, k : k + 2 * REACH]) for k in range(count)])
    return np.asarray(np.maximum(curve, 0.0))


def name_parts(loud: Array, rise: Sequence[float], lengths: Sequence[int]) -> list[str]:
    """Loudness of the parts, how much each rises, their bars -> the kind of each: a guess by loudness."""
    count = len(loud)
    span = float(loud.max() - loud.min())
    level = (loud - loud.min()) / span if span > 0 else np.full(count, 0.5)
    kinds = ["chorus" if share >= LOUD else "verse" for share in level]
    for k in range(count - 1):
        if kinds[k] == "verse" and kinds[k + 1] == "chorus" and lengths[k] <= 8 and rise[k] > 0 and k > 0:
            kinds[k] = "build"
    for k in range(1, count - 1):
        if kinds[k] == "verse" and level[k] < LOW and kinds[:k].count("chorus") >= 2:
            kinds[k] = "bridge"
    if count > 1 and level[0] < LOUD:
        kinds[0] = "intro"
    if count > 2 and level[-1] < LOUD:
        kinds[-1] = "outro"
    return kinds
