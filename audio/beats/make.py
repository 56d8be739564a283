"""From a user's sound file to its track: beats heard or read from a file, parts by structure, words from a lyrics file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from audio import beats_file, lyrics_file, timeline_file, tracks
from audio.asked import Asked
from audio.beats import SURE, BeatError, Found, features, sounding, track
from audio.beats.structure import sections
from audio.decode import RATE, decode, to_array
from audio.timeline import Timeline, TimelineError
from audio.tracks import Track

if TYPE_CHECKING:
    from pydub import AudioSegment

SHORTEST = 8.0  # seconds of sound in which bars can be told
FEWEST = 5  # beats
EARLY = 0.07  # seconds before the sound at which a beat is still that of its beginning
Told = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Heard:
    """A track; its sound where it has been decoded, which is then the sound to use; a line for everything to be checked."""

    track: Track
    sound: AudioSegment | None = None
    doubts: tuple[str, ...] = ()
    found: Found | None = None


def hear(spec: str | Path, asked: Asked | None = None, told: Told = lambda share: None) -> Heard:
    """A track that comes with the project, by name, or any sound file: the timeline beside it, or else what is heard.

    `told` hears the share done. Raises DecodeError, TrackError, BeatError and TimelineError, each one line.
    """
    wanted = asked or Asked()
    path = tracks.open(spec).path if str(spec) in tracks.names() else Path(spec)
    beside = path.with_name(path.stem + timeline_file.SUFFIX)
    if not path.exists() or (beside.is_file() and not wanted.about_beats):
        known = tracks.open(spec)
        return Heard(replace(known, timeline=_with_words(known.timeline, wanted.lyrics)))
    sound = decode(path)
    samples = to_array(sound)
    duration = len(samples) / RATE
    if duration < SHORTEST:
        raise BeatError(f"{path}: {duration:.1f} s of sound are too short to find bars in: give at least {SHORTEST:g} s")
    found = None
    if wanted.beats is None:
        try:
            found = track(samples, RATE, wanted.bpm, wanted.first_downbeat, told)
        except BeatError as error:
            raise BeatError(f"{path}: {error}") from None
        made = _timeline(path, duration, [float(t) for t in found.beats], [int(n) for n in found.numbers], found.bands)
    elif wanted.beats.suffix.lower() == ".json":
        made = _within(timeline_file.load(wanted.beats), wanted.beats, path, duration)
    else:
        read = beats_file.read(wanted.beats)
        if read.times[-1] > duration + 0.05:
            inside = f"expected beats inside of {path} ({duration:.1f} s)"
            raise TimelineError(f"{wanted.beats}: {inside}, found one at {read.times[-1]:g} s")
        mono = features.mono(samples, RATE)
        sounding(mono)  # silence has no parts
        made = _timeline(path, duration, list(read.times), list(read.numbers), features.spectrogram(mono))
    told(1.0)
    doubts = doubts_of(path, found, wanted) if found is not None else ()
    return Heard(Track(path, _with_words(made, wanted.lyrics)), sound, doubts, found)


def doubts_of(path: Path, found: Found, asked: Asked) -> tuple[str, ...]:
    """A line for what a user should check, with what to do about it; none where they have said it themselves."""
    if not found.sure and asked.bpm is None:
        known = f"the networks agree to {found.agreement:.2f}, which is sure from {SURE}; {found.bpm:.0f} BPM found"
        if found.agreement >= SURE:
            known = f"the tempo wanders from {found.slowest:.0f} to {found.fastest:.0f} BPM"
        return (f"{path}: the beats are uncertain ({known}): check them, and give --bpm, or --beats FILE",)
    if not found.sure_of_bars and asked.first_downbeat is None:
        cure = "check them, and give --first-downbeat, or --beats FILE"
        return (f"{path}: where bars of {found.metre} begin is uncertain: {cure}",)
    return ()


def whole_bars(times: list[float], numbers: list[int], duration: float) -> tuple[list[float], list[int]]:
    """Beats and the indices of the downbeats, such that beats begin with a downbeat and end with the end of the last bar.

    A first bar whose beginning was not heard and a last bar that has only begun are filled up at their own tempo where the
    sound has room for that; otherwise their beats are left out.
    """
    first = numbers.index(1) if 1 in numbers else len(numbers)
    if len(times) < FEWEST or first == len(numbers):
        return [], []
    step = float(np.median(np.diff(times[: 2 * FEWEST])))
    lead = [times[0] - step * k for k in range(numbers[0] - 1, 0, -1)] if first else []
    if first and lead and lead[0] > -EARLY:
        beats, downs = [max(t, 0.0) for t in (*lead, *times)], [0]
    else:
        beats, downs = [max(t, 0.0) for t in times[first:]], []
        lead, numbers = [], numbers[first:]
    downs += [len(lead) + k for k, number in enumerate(numbers) if number == 1]
    usual = int(np.median(np.diff(downs))) if len(downs) > 1 else 4
    missing = usual - (len(beats) - downs[-1])
    step = float(np.median(np.diff(beats[-2 * FEWEST :])))
    filled = [*beats, *(beats[-1] + step * k for k in range(1, missing + 2))]
    if missing >= 0 and filled[-1] <= duration:
        return filled, [*downs, downs[-1] + usual]
    return beats[: downs[-1] + 1], downs


def _timeline(path: Path, duration: float, times: list[float], numbers: list[int], bands: features.Floats) -> Timeline:
    beats, downs = whole_bars(times, numbers, duration)
    if len(downs) < 3:
        raise BeatError(f"{path}: fewer than two whole bars are found: give --bpm and --first-downbeat, or --beats FILE")
    frames = np.array([round(beats[index] * features.FPS) for index in downs], np.int64)
    return Timeline(path.stem, duration, tuple(beats), tuple(downs), sections(bands, frames))


def _within(made: Timeline, beats: Path, path: Path, duration: float) -> Timeline:
    if made.beats[-1] > duration + 0.5:
        raise TimelineError(f"{beats}: its beats run to {made.beats[-1]:.1f} s, but {path} ends at {duration:.1f} s")
    return replace(made, duration=max(duration, made.beats[-1]))


def _with_words(made: Timeline, lyrics: Path | None) -> Timeline:
    return made if lyrics is None else replace(made, lines=lyrics_file.read(lyrics, made.duration))
