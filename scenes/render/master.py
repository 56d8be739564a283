"""Segments and sound to one film: H.264 is copied, the sound is encoded once, the file is checked and then appears whole."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import av
import numpy as np
from av.audio.stream import AudioStream
from av.packet import Packet
from av.video.stream import VideoStream
from numpy.typing import NDArray

from scenes.render.errors import RenderError, RequestError

SOUND_RATE = 48_000
SOUND_BITS = 256_000  # bits a second of AAC
AAC_FRAME = 1024  # samples


@dataclass(frozen=True, slots=True)
class Piece:
    """A finished segment on its way into the film: its file, and how many frames it must hold."""

    video: Path
    frames: int


@dataclass(frozen=True, slots=True)
class Chapter:
    """A named span of the film's own frames, `first` to `last` (exclusive)."""

    title: str
    first: int
    last: int


def write_film(
    target: Path, pieces: Sequence[Piece], sound: NDArray[np.int16], fps: int, chapters: Sequence[Chapter] = (),
    metadata: Mapping[str, str] | None = None,
) -> int:  # fmt: skip
    """Join pieces, mux the sound (n, 2) int16 at 48 kHz cut or padded to the picture, and return the number of frames.

    The film appears at `target` whole or not at all.  Raises RenderError if the pieces do not fit, RequestError for the target.
    """
    frames = sum(piece.frames for piece in pieces)
    samples = np.zeros((samples_of(frames, fps), 2), np.int16)
    samples[: len(sound)] = sound[: len(samples)]
    with whole_file(target) as part:
        _mux(part, pieces, samples, fps, chapters, metadata or {})
        check_film(part, frames, fps)
    return frames


def samples_of(frames: int, fps: int) -> int:
    """Sound samples as long as some frames."""
    return round(Fraction(frames, fps) * SOUND_RATE)


def temporary_beside(target: Path) -> tuple[Path, IO[bytes]]:
    """An empty file in the target's folder, which is made if need be, open and locked as long as it is being written.

    Those that killed runs left there for the same target are swept first.  Raises RequestError where none can be written.
    """
    prefix = f".{target.stem}.part-"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        for left in target.parent.glob(f"{glob.escape(prefix)}*{glob.escape(target.suffix)}"):
            with contextlib.suppress(OSError), left.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=target.suffix, dir=target.parent)
    except OSError as error:
        raise RequestError(f"{target}: cannot be written: {(error.strerror or 'unknown reason').lower()}") from None
    file = os.fdopen(handle, "rb")
    fcntl.flock(file, fcntl.LOCK_EX)
    return Path(name), file


def check_target(target: Path) -> None:
    """Raise RequestError now, not after an hour, where a file cannot be written."""
    part, file = temporary_beside(target)
    with file:
        part.unlink()


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A temporary file that takes the target's place at the end, and goes away if something fails.

    Raises RequestError where the target cannot be written, RenderError where writing stops half-way.
    """
    part, file = temporary_beside(target)
    try:
        yield part
        part.chmod(0o644)
        part.replace(target)
    except OSError as error:
        raise RenderError(f"{target}: writing failed: {(error.strerror or type(error).__name__).lower()}") from None
    finally:
        file.close()
        part.unlink(missing_ok=True)


def check_film(path: Path, frames: int, fps: int) -> None:
    """Raise RenderError unless a file holds exactly `frames` pictures, one a step of 1/fps from 0 on, that start to decode at
    every key frame, and sound of the same length to within a frame."""
    with av.open(str(path)) as film:
        video, audio = film.streams.video[0], film.streams.audio[0]
        if video.time_base is None or audio.time_base is None:
            raise RenderError(f"{path.name}: no time base was written")
        times, heard = [], 0
        for packet in film.demux(video, audio):
            if packet.pts is None:
                continue
            if packet.stream is video:
                times.append(packet.pts * video.time_base * fps)
            else:
                heard = max(heard, packet.pts + (packet.duration or 0))
        if sorted(times) != list(range(frames)):
            raise RenderError(f"{path.name}: expected frames 0 to {frames - 1} without a gap, found {len(times)}")
        if abs(heard * audio.time_base - Fraction(frames, fps)) > Fraction(1, fps) + Fraction(AAC_FRAME, SOUND_RATE):
            raise RenderError(
                f"{path.name}: {float(heard * audio.time_base):.3f} s of sound for {frames / fps:.3f} s of picture"
            )
        length = Fraction(video.duration or 0) * video.time_base * fps
        if length != frames:
            raise RenderError(f"{path.name}: the picture is declared {float(length):.2f} frames long, expected {frames}")
    with av.open(str(path)) as film:
        film.streams.video[0].codec_context.skip_frame = "NONKEY"
        if not any(True for _ in film.decode(film.streams.video[0])):
            raise RenderError(f"{path.name}: no key frame decodes")


def _mux(
    part: Path, pieces: Sequence[Piece], samples: NDArray[np.int16], fps: int, chapters: Sequence[Chapter],
    metadata: Mapping[str, str],
) -> None:  # fmt: skip
    with av.open(str(part), "w", format="mp4", options={"movflags": "+faststart"}) as film:
        film.metadata.update(metadata)
        with av.open(str(pieces[0].video)) as first:
            video = film.add_stream_from_template(first.streams.video[0])
            header = first.streams.video[0].codec_context.extradata
        video.time_base = Fraction(1, fps)
        audio = film.add_stream("aac", rate=SOUND_RATE, bit_rate=SOUND_BITS, layout="stereo")
        if chapters:
            film.set_chapters([
                {"id": k, "start": c.first, "end": c.last, "time_base": Fraction(1, fps), "metadata": {"title": c.title}}
                for k, c in enumerate(chapters)
            ])  # fmt: skip
        pictures = _pictures(pieces, video, header, fps)
        sounds = _sounds(samples, audio)
        # One after the other in time, so that the muxer holds back no more than a moment of either.
        sound = next(sounds, None)
        for time, packet in pictures:
            while sound is not None and sound[0] <= time:
                film.mux(sound[1])
                sound = next(sounds, None)
            film.mux(packet)
        while sound is not None:
            film.mux(sound[1])
            sound = next(sounds, None)


def _pictures(
    pieces: Sequence[Piece], stream: VideoStream, header: bytes | None, fps: int
) -> Iterator[tuple[Fraction, Packet[Any]]]:
    """Every packet of the pieces with its film time; a piece starts with a key frame and no packet reaches into the next."""
    done = 0
    for piece in pieces:
        with av.open(str(piece.video)) as source:
            origin = source.streams.video[0]
            if origin.codec_context.extradata != header:
                raise RenderError(f"{piece.video.name}: was coded with other settings than the film's first segment")
            count = 0
            for packet in source.demux(origin):
                if packet.pts is None or packet.time_base is None:
                    continue
                frame = packet.pts * packet.time_base * fps
                if frame != count or (count == 0 and not packet.is_keyframe):
                    raise RenderError(f"{piece.video.name}: expected frame {count}, found {float(frame):g}")
                packet.stream = stream
                packet.time_base = Fraction(1, fps)
                packet.pts = packet.dts = done + count
                packet.duration = 1
                count += 1
                yield Fraction(packet.pts, fps), packet
        if count != piece.frames:
            raise RenderError(f"{piece.video.name}: holds {count} frames, expected {piece.frames}")
        done += piece.frames


def _sounds(samples: NDArray[np.int16], stream: AudioStream) -> Iterator[tuple[Fraction, Packet[Any]]]:
    """AAC packets of the sound with their times."""
    planes = np.ascontiguousarray(samples.T.astype(np.float32) / 32768.0)
    for start in range(0, planes.shape[1], AAC_FRAME):
        block = np.ascontiguousarray(planes[:, start : start + AAC_FRAME])
        frame = av.AudioFrame.from_ndarray(block, format="fltp", layout="stereo")
        frame.sample_rate, frame.pts, frame.time_base = SOUND_RATE, start, Fraction(1, SOUND_RATE)
        yield from ((_time(packet), packet) for packet in stream.encode(frame))
    yield from ((_time(packet), packet) for packet in stream.encode())


def _time(packet: Packet[Any]) -> Fraction:
    return Fraction(packet.pts or 0) * (packet.time_base or Fraction(1, SOUND_RATE))
