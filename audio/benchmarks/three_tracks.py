"""`python -m audio.benchmarks.three_tracks -o DIR`: three songs that are as unlike as can be, to lay the film over.

A slow one of five minutes, a house track, and a fast one of 1:50 in broken beats, each as a WAV file with its true beats beside
it as `.beats`; then how far what is heard in them lies from that, by itself and with `--bpm` as a user would say it.
"""

from __future__ import annotations

import argparse
import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from audio import beats_file
from audio.asked import Asked
from audio.beats import f_measure, make
from audio.benchmarks import band
from audio.benchmarks.band import Part, Piece
from audio.timeline import Timeline

SOFT, LIGHT = ("hats", "chords"), ("hats", "bass", "chords")


@dataclass(frozen=True, slots=True)
class Song:
    """Its name, tempo, seconds of silence before it, where the second half of a beat falls, and its parts."""

    name: str
    bpm: float
    lead: float
    swing: float
    parts: tuple[Part, ...]

    def piece(self) -> Piece:
        """As the band plays it, in four."""
        bars = sum(part.bars for part in self.parts)
        return Piece(band.steady(self.bpm, 4 * bars, self.lead), 4, self.parts, self.swing)


BEAT = ("drums", "bass")
SONGS = (
    Song("slow-60", 60.0, 0.0, 0.5, (
        Part(8, SOFT), Part(12, LIGHT), Part(12), Part(11, LIGHT), Part(12), Part(8, SOFT), Part(8), Part(4, SOFT),
    )),
    Song("house-128", 128.0, 1.2, 0.5, (
        Part(8, ("drums",)), Part(16, BEAT), Part(16), Part(8, ("chords", "tune")), Part(16), Part(16, LIGHT), Part(16),
        Part(4, ("drums",)),
    )),
    Song("fast-174", 174.0, 0.4, 0.62, (
        Part(4, ("hats", "tune")), Part(16, BEAT), Part(16), Part(8, SOFT), Part(8, LIGHT), Part(16), Part(10, BEAT),
    )),
)  # fmt: skip
"""Of 75, 100 and 78 bars: 5:00, 3:10 and 1:48 with what rings after them."""


def write(song: Song, folder: Path) -> Path:
    """A song as WAV and its beats as `.beats`; the path of the sound."""
    piece, path = song.piece(), folder / f"{song.name}.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(band.RATE)
        file.writeframes(band.play(piece).astype("<i2").tobytes())
    ends = tuple(range(0, len(piece.beats), 4))
    beats_file.write(Timeline(song.name, piece.beats[-1] + piece.tail, piece.beats, ends), path.with_suffix(".beats"))
    return path


def told(song: Song, path: Path, bpm: float | None) -> str:
    """How right what is heard is, with a tempo that is asked for or without."""
    heard = make.hear(path, Asked(bpm=bpm))
    found, truth = heard.track.timeline, np.array(song.piece().beats[:-1])
    beats = np.array(found.beats)
    downs = beats[list(found.downbeats)]
    offset = float(np.median([beats[np.abs(beats - at).argmin()] - at for at in truth]))
    parts = ", ".join(f"{section.kind} {section.bars}" for section in found.sections)
    return (
        f"{path}{f' --bpm {bpm:g}' if bpm else ''}: {found.bpm:.2f} BPM, {found.bars} bars ({parts}); "
        f"F {f_measure(beats, truth):.3f}, downbeats {f_measure(downs, truth[::4]):.3f}, offset {1e3 * offset:+.1f} ms; "
        f"{len(heard.doubts)} doubts"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("out/tracks"), metavar="DIR")
    folder: Path = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    for song in SONGS:
        path = write(song, folder)
        for bpm in (None, song.bpm):
            print(told(song, path, bpm), flush=True)


if __name__ == "__main__":
    main()
