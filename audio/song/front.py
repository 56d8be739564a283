"""The voice in front: its tone, and its level above what plays, line by line, as an engineer rides the fader.

In popular recordings since 1975 the lead voice lies about 1 dB above all that accompanies it, more for solo artists (Gerdes and
Siedenburg, JASA Express Letters 3, 043201, 2023).
"""

from __future__ import annotations

import numpy as np

from audio.song.arrange import Arrangement
from audio.song.dsp import RATE, Signal, follow, pole, samples
from audio.song.effects import bell, compress, cut
from audio.song.master import loudness
from audio.song.stems import Span

OVER = 1.0  # LU of a line above what plays
BEFORE, AFTER = 0.15, 0.1  # seconds around a line's notes that belong to it
LEAST = 0.5  # seconds that a loudness can be taken of


def tone(x: Signal) -> Signal:
    """A voice made to stand in front: even in level, clear at 3 kHz, and with air, as Kokoro's sound ends at 12 kHz."""
    x = compress(bell(x, 320.0, -2.0, 0.9), -24.0, 3.5, 0.003, 0.09, 6.0)
    rough = np.tanh(6.0 * cut(x, low=3000.0))
    return np.asarray(bell(x, 3200.0, 3.0, 0.8) + 0.02 * cut(rough, 6500.0, 17000.0))


def fader(lead: Signal, others: Signal, arrangement: Arrangement, span: Span) -> Signal:
    """Gain over time, shape (n, 1), that puts every line of the lead OVER the others; straight in dB between two lines."""
    at, gains = [0.0], [0.0]
    for phrase in arrangement.phrases:
        (first, *_), (last, steps, *_) = phrase.notes[0], phrase.notes[-1]
        if phrase.stem != "lead" or not span.holds(first):
            continue
        a = max(span.at(first) - samples(BEFORE), 0)
        b = min(span.at(last + steps) + samples(AFTER), len(lead))
        if b - a < samples(LEAST):
            continue
        gain = loudness(others[a:b]) + OVER - loudness(lead[a:b])
        if np.isfinite(gain):
            at += [float(a), float(b)]
            gains += [gain, gain]
    gains[0] = gains[min(1, len(gains) - 1)]
    return np.asarray(10.0 ** (np.interp(np.arange(len(lead)), at, gains) / 20.0))[:, None]


def presence(lead: Signal) -> Signal:
    """How much the lead sounds, 0..1, shape (n,): what else must step back follows it."""
    level = follow(np.abs(lead).max(axis=1), pole(0.01), pole(0.15))
    return np.minimum(level / max(0.5 * float(np.percentile(level[:: RATE // 100], 95.0)), 1e-9), 1.0)
