"""The project's own song: written as a score (`score`, `patterns`) and synthesised offline, the same samples every time.

score -> arrange -> stems -> mix -> master.  `python -m audio.song -o DIR` writes the track and its timeline.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from audio.song.arrange import arrange as arrange_song
from audio.song.master import master as master_mix
from audio.song.mix import mix as mix_stems
from audio.song.score import FIRST_SONG, Song, timeline
from audio.song.stems import Progress, Span, render, whole
from audio.timeline import Timeline

RATE = 48_000


def synthesise(
    progress: Progress | None = None, song: Song = FIRST_SONG, span: Span | None = None
) -> tuple[NDArray[np.float32], Timeline]:
    """The mastered song, float32 of shape (n, 2) at 48 kHz within +-1, and its timeline (of the whole song).

    `progress(what, done, total)` is called from time to time.  `span` (see `stems.bars`) renders an excerpt instead.
    """
    arrangement = arrange_song(song)
    span = span or whole(song)
    mixed = mix_stems(render(arrangement, span, progress), arrangement, span, progress)
    if progress is not None:
        progress("mastering", 0, 1)
    sound = master_mix(mixed.sound)
    if progress is not None:
        progress("mastering", 1, 1)
    return sound.astype(np.float32), timeline(song)


def to_int16(sound: NDArray[np.float32]) -> NDArray[np.int16]:
    """16-bit samples with triangular dither of one step, the same dither every time."""
    random = np.random.default_rng(16)
    dither = random.random(sound.shape) - random.random(sound.shape)
    return np.clip(np.rint(sound.astype(np.float64) * 32767.0 + dither), -32768, 32767).astype(np.int16)
