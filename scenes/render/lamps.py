"""Proof from a finished film that picture and sound are together: its beat lamps against the beats of its own decoded sound.

    python -m scenes.render.lamps FILM.mp4 [--track FILE]

The lamps are read from the decoded frames; where the track's sound lies in the file is found by cross-correlation. Which beats
the film was laid over stands in the claims beside it; without them they are the track's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import click
import numpy as np
from numpy.typing import NDArray
from scipy.signal import correlate

from audio import tracks
from audio.decode import RATE, decode, to_array
from audio.timeline import Timeline
from scenes.render import claims_file
from scenes.render.claims_file import Span
from scenes.render.errors import RenderError, RequestError
from scenes.stage.hud import LAMP_OFF, LAMP_ON, LAMP_RADIUS, lamp_places
from scenes.stage.type import DESIGN_HEIGHT

SLACK = 0.002  # seconds allowed beyond half a frame
REACH = 0.25  # seconds around its expected place in which the sound is looked for
LUMA = (0.2126, 0.7152, 0.0722)


@dataclass(frozen=True, slots=True)
class Result:
    """Errors in seconds of lamps against beats: worst and mean size; `offset` of the sound and its spread over the file."""

    beats: int
    worst: float
    mean: float
    limit: float
    offset: float
    spread: float

    @property
    def passed(self) -> bool:
        return self.worst <= self.limit

    def __str__(self) -> str:
        return (
            f"{self.beats} beats: worst {self.worst * 1e3:.2f} ms, mean {self.mean * 1e3:.2f} ms, "
            f"allowed {self.limit * 1e3:.2f} ms; sound {self.offset * 1e3:+.2f} ms from its place, "
            f"within {self.spread * 1e3:.2f} ms over the file"
        )


def check(
    film: Path, track: tracks.Track, spans: Sequence[Span] | None = None, told: Callable[[], None] = lambda: None
) -> Result:
    """Compare every lamp with its beat.  Raises RenderError where a lamp lights too often or not at all.

    `spans` say which frames of the track the file shows; None means that the file starts with the track.
    `told` hears of every frame.
    """
    times, lit, fps = read_lamps(film, [track.timeline.beats_in(bar) for bar in range(1, track.timeline.bars + 1)], told)
    spans = spans or [Span("film", 0, len(times), 0)]
    heard, played = mono(decoded_sound(film)), mono(to_array(decode(track.path)))
    errors: list[float] = []
    offsets: list[float] = []
    for span in spans:
        here = slice(span.at, span.at + span.last - span.first)
        offset, spread = sound_offset(heard[_samples(span.at, fps) : _samples(here.stop, fps)], played, span.first / fps)
        offsets += [offset - spread / 2, offset + spread / 2]
        shift = offset + (span.at - span.first) / fps  # a moment of the track is this much later in the file
        beats = list(beats_of(track.timeline, span.first / fps, span.last / fps, fps))
        lights = sum(len(rising(column[here])) for column in lit.values())
        moved = comings_on(beats)
        if lights != len(moved):
            raise RenderError(
                f"{film.name}: {span.scene} has {len(beats)} beats, its lamps should light {len(moved)} times, "
                f"but light {lights} times"
            )
        for at, index, lamp in moved:
            rises = rising(lit[lamp][here])
            near = [rise for rise in rises if abs(times[span.at + rise] - at - shift) < _half_beat(track.timeline, index)]
            if len(near) != 1:
                raise RenderError(
                    f"{film.name}: the lamp of beat {index + 1} lights {len(near)} times around {at + shift:.3f} s"
                )
            errors.append(times[span.at + near[0]] - at - shift)
    if not errors:
        raise RequestError(f"{film}: holds no beat of the track")
    sizes = np.abs(errors)
    middle = float(np.mean(offsets))
    return Result(len(errors), float(sizes.max()), float(sizes.mean()), 0.5 / fps + SLACK, middle, max(offsets) - min(offsets))


def beats_of(timeline: Timeline, start: float, end: float, fps: float) -> Iterator[tuple[float, int, tuple[float, float]]]:
    """(seconds, index, lamp) of the sounding beats whose nearest frame lies in a span of the track; the lamp by its place."""
    for index, at in enumerate(timeline.beats[:-1]):
        if start - 1e-9 <= round(at * fps) / fps < end - 1e-9 and index >= timeline.downbeats[0]:
            bar, _ = timeline.bar_beat(at + 1e-6)
            yield at, index, lamp_places(timeline.beats_in(bar))[index - timeline.downbeats[bar - 1]]


def comings_on(beats: Sequence[tuple[float, int, tuple[float, float]]]) -> list[tuple[float, int, tuple[float, float]]]:
    """Those of a span's beats on which a lamp comes on: in a bar of one beat the last bar's last lamp stays lit."""
    return [beat for k, beat in enumerate(beats) if k == 0 or beat[2] != beats[k - 1][2]]


def read_lamps(
    film: Path, bars: Sequence[int], told: Callable[[], None] = lambda: None
) -> tuple[NDArray[np.float64], dict[tuple[float, float], NDArray[np.bool_]], float]:
    """Start of each frame in seconds, which frames each lamp is lit on, frames a second; `bars` are the beats of the bars."""
    places = sorted({place for count in set(bars) for place in lamp_places(count)})
    threshold = (luma(LAMP_ON) + luma(LAMP_OFF)) / 2
    times: list[float] = []
    seen: list[list[bool]] = []
    with av.open(str(film)) as container:
        if not container.streams.video:
            raise RequestError(f"{film}: expected a film, found no picture")
        stream = container.streams.video[0]
        if stream.average_rate is None or stream.time_base is None:
            raise RequestError(f"{film}: expected a film, found no frame rate")
        stream.thread_type = "AUTO"
        for frame in container.decode(stream):
            told()
            if frame.pts is None:
                raise RenderError(f"{film.name}: a frame has no time")
            times.append(float(frame.pts * stream.time_base))
            plane = frame.planes[0]
            pixels = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]
            seen.append([_brightness(pixels, place) > threshold for place in places])
        fps = float(stream.average_rate)
    columns = np.array(seen, bool).reshape(-1, len(places)).T
    return np.array(times), dict(zip(places, columns, strict=True)), fps


def rising(lit: NDArray[np.bool_]) -> list[int]:
    """Frames on which a lamp comes on; one that is on from the start comes on with frame 0."""
    return [int(frame) for frame in np.flatnonzero(lit & ~np.concatenate([[False], lit[:-1]]))]


def sound_offset(heard: NDArray[np.float32], played: NDArray[np.float32], start: float) -> tuple[float, float]:
    """Seconds by which a file's sound lags the track's own from `start` on: mean and spread over its beginning, middle and end.

    Both are mono at 48 kHz.  Each place is the peak of the cross-correlation of up to four seconds.
    """
    length = min(4 * RATE, len(heard))
    found = []
    for at in sorted({0, (len(heard) - length) // 2, len(heard) - length}):
        piece = heard[at : at + length]
        first = round(start * RATE) + at - round(REACH * RATE)
        wide = np.zeros(length + 2 * round(REACH * RATE), np.float32)
        low, high = max(first, 0), min(first + len(wide), len(played))
        wide[low - first : high - first] = played[low:high]
        if not np.any(piece) or not np.any(wide):
            continue  # silence has no place
        peak = int(np.argmax(correlate(wide, piece, "valid", "fft")))
        found.append((round(REACH * RATE) - peak) / RATE)
    if not found:
        raise RenderError("the film's sound is silent where the track is to be found")
    return float(np.mean(found)), max(found) - min(found)


def mono(samples: NDArray[np.int16]) -> NDArray[np.float32]:
    """(n, 2) int16 -> (n,) float32 in -1..1."""
    return np.asarray(samples.mean(axis=1, dtype=np.float32) / np.float32(32768))


def luma(colour: tuple[float, float, float]) -> float:
    """BT.709 luma of an sRGB colour as an 8-bit code of limited range."""
    return 16.0 + 219.0 * sum(weight * channel for weight, channel in zip(LUMA, colour, strict=True))


def _brightness(pixels: NDArray[np.uint8], place: tuple[float, float]) -> float:
    """Mean luma of the inner half of a lamp."""
    scale = pixels.shape[0] / DESIGN_HEIGHT
    x, y, reach = place[0] * scale, place[1] * scale, max(LAMP_RADIUS * scale / 2, 0.5)
    rows, columns = slice(int(y - reach + 0.5), int(y + reach + 0.5)), slice(int(x - reach + 0.5), int(x + reach + 0.5))
    return float(pixels[rows, columns].mean())


def _half_beat(timeline: Timeline, index: int) -> float:
    return (timeline.beats[index + 1] - timeline.beats[index]) / 2


def _samples(frames: int, fps: float) -> int:
    return round(Fraction(frames) / Fraction(fps).limit_denominator(1001) * RATE)


def decoded_sound(film: Path) -> NDArray[np.int16]:
    """The film's decoded sound, (n, 2) int16 at 48 kHz, each sample at its own time in the file."""
    with av.open(str(film)) as container:
        if not container.streams.audio:
            raise RequestError(f"{film}: holds no sound")
        stream = container.streams.audio[0]
        resampler = av.AudioResampler("s16", "stereo", RATE)
        blocks: list[NDArray[np.int16]] = []
        first = None
        for frame in container.decode(stream):
            if first is None:
                first = frame.time or 0.0
            blocks += [out.to_ndarray().reshape(-1, 2).astype(np.int16) for out in resampler.resample(frame)]
    if not blocks:
        raise RequestError(f"{film}: holds no sound")
    sound = np.concatenate(blocks)
    lead = round((first or 0.0) * RATE)
    return np.concatenate([np.zeros((lead, 2), np.int16), sound]) if lead > 0 else sound[-lead:]


@click.command(help=__doc__)
@click.argument("films", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--track", "name", help="Sound the film was made with, where it has moved since.")
def main(films: Sequence[Path], name: str | None) -> None:
    failed = False
    for film in films:
        notes = claims_file.path_of(film)
        body = claims_file.read(notes) if notes.is_file() else None
        spans = [Span(**span) for span in body["spans"]] if body else None
        track = claims_file.track_of(body, name) if body else tracks.open(name) if name else tracks.default()
        result = check(film, track, spans)
        failed |= not result.passed
        print(f"{film}: {'' if result.passed else 'NOT '}together: {result}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    from scenes.render.exits import exits

    with exits():
        main()
