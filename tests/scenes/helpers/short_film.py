"""A short film for the engine's tests: its rows, a track made here (noise bursts on the beats), and small pictures."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from audio import tracks
from audio.timeline import Line, Timeline, Word
from audio.timeline_file import save
from measure.dataset import Dataset
from scenes.film import Row
from scenes.render.make import Request
from scenes.render.quality import Quality

ROWS = (
    Row("small", "small_passage", "Small", 1, 4, "a box crosses the picture", ("coalesced",)),
    Row("sequel", "small_passage", "Sequel", 5, 2, "and goes on"),
)
BROKEN = Row("broken", "small_passage", "Broken", 1, 4, "a mistake")
ABSENT = Row("absent", "small_passage", "Absent", 1, 4, "no such class")
UNIMPORTABLE = Row("unimportable", "unimportable_passage", "Anything", 1, 4, "needs what is not there")
DIES = Row("dies", "small_passage", "Dies", 1, 4, "no memory")
BPM = 171.0  # no whole number of frames a beat at any usual rate
TINY = Quality("t", 320, 180, 15, "ultrafast", 20)


def timeline(word: str = "tile") -> Timeline:
    """Six bars of four with a tail, and one lyric line in bar 2."""
    beats = tuple(60.0 / BPM * k for k in range(25))
    line = Line((Word("a", beats[4], beats[5]), Word(word, beats[5], beats[6])))
    return Timeline("Short", beats[-1] + 0.4, beats, tuple(range(0, 25, 4)), (), (line,), {"half": beats[8]})


def track(folder: Path, word: str = "tile") -> tracks.Track:
    """The track as files: bursts of noise that start exactly on the beats, each unlike the others."""
    made, rate, rng = timeline(word), 48_000, np.random.default_rng(7)
    samples = np.zeros((round(made.duration * rate), 2))
    for beat in made.beats[:-1]:
        at = round(beat * rate)
        burst = rng.standard_normal((3000, 2)) * np.exp(-np.arange(3000) / 600)[:, None]
        samples[at : at + 3000] += 0.2 * burst[: len(samples) - at]
    folder.mkdir(exist_ok=True)
    with wave.open(str(folder / "short.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples * 32767).clip(-32768, 32767).astype("<i2").tobytes())
    save(made, folder / "short.timeline.json")
    return tracks.open(folder / "short.wav")


def request(
    folder: Path, quality: Quality = TINY, rows: tuple[Row, ...] = ROWS, measurements: str | Path = "rtx-3090-published"
) -> Request:
    """A request to render the short film."""
    return Request(rows, quality, Dataset.open([measurements]), track(folder), rows)
