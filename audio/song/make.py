"""The whole song made: sung track, instrumental, stems and timeline, each mastered and in 16 bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audio.song import voice
from audio.song.arrange import arrange
from audio.song.dsp import Signal
from audio.song.master import master
from audio.song.mix import mix
from audio.song.score import Song
from audio.song.stems import Progress, Span, render, whole

Samples = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Piece:
    """One finished sound: `track`, `instrumental`, or `stems/NAME`; int16 of shape (n, 2) at 48 kHz."""

    name: str
    samples: Samples


def make(song: Song, keep: Path, progress: Progress | None = None, span: Span | None = None) -> Iterator[Piece]:
    """The track, its stems and the instrumental, one after the other; spoken lines are kept in the folder `keep`.

    The stems add up to the mix before mastering; all are scaled by one gain, so that none clips.
    Raises VoiceError where the voice's model is missing, ScoreError, OSError.
    """
    from audio.song import to_int16

    arrangement, span = arrange(song), span or whole(song)
    played = render(arrangement, span, progress)
    sung = voice.stems(song, arrangement, keep, span, progress)
    mixed = mix(played, arrangement, span, progress, sung)
    yield Piece("track", to_int16(master(mixed.sound).astype(np.float32)))
    stems: dict[str, Signal] = {"lead": sung["voice"], **mixed.stems}
    loudest = max(float(np.abs(stem).max()) for stem in mixed.stems.values())
    for name, stem in stems.items():
        level = 0.7 / (float(np.abs(stem).max()) if name == "lead" else loudest)
        yield Piece(f"stems/{name}", to_int16((level * stem).astype(np.float32)))
    del mixed, stems, sung
    yield Piece("instrumental", to_int16(master(mix(played, arrangement, span, progress).sound).astype(np.float32)))
