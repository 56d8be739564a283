"""A finished film with what belongs to it: the claims beside it, the track, the measurements, which frames show what."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import av
import av.error
import numpy as np
from numpy.typing import NDArray

from audio import tracks
from measure.dataset import Dataset
from scenes.film import Row
from scenes.fit import over
from scenes.render import claims_file
from scenes.render.claims_file import Span
from scenes.render.errors import RequestError, there


@dataclass
class Film:
    """A film that is being checked; frames and sound are decoded once for all checks that ask for them."""

    path: Path
    body: Mapping[str, Any]
    track: tracks.Track
    dataset: Dataset
    spans: tuple[Span, ...]
    fps: int
    size: tuple[int, int]
    order: tuple[Row, ...] = ()  # the film that its scenes stand in, where it is none of the project's own
    told: Callable[[], None] = lambda: None  # hears of every frame that is decoded

    @classmethod
    def open(cls, path: Path, track: str | None = None, specs: tuple[str, ...] = ()) -> Film:
        """Read what lies beside a film.

        Raises RequestError where the film or its claims are missing, what it holds is no film, or the track is another than the
        one it was made with.
        """
        there(path)
        try:
            with av.open(str(path)) as container:
                kinds = [stream.type for stream in container.streams]
        except (av.error.FFmpegError, OSError) as error:
            raise RequestError(f"{path}: cannot be read as a film: {(error.strerror or 'unknown reason').lower()}") from None
        if not {"video", "audio"} <= set(kinds):
            raise RequestError(f"{path}: expected a film with picture and sound, found {', '.join(kinds) or 'neither'}")
        beside = claims_file.path_of(path)
        if not beside.is_file():
            raise RequestError(f"{path}: its claims are missing: expected {beside.name} beside it, as `render` leaves it")
        body = claims_file.read(beside)
        music = claims_file.track_of(body, track)
        if hashlib.sha256(music.path.read_bytes()).hexdigest() != body["track"].get("sha256"):
            raise RequestError(f"{path}: was made with another sound than {music.path} holds: name that one with --track")
        dataset = Dataset.open(list(specs)) if specs else claims_file.dataset_of(body)
        spans = tuple(Span(**span) for span in body["spans"])
        try:
            size = int(body["size"][0]), int(body["size"][1])
            film = cls(path, body, music, dataset, spans, int(body["fps"]), size)
            film.frames  # noqa: B018
        except (KeyError, TypeError, ValueError, IndexError):
            raise RequestError(f"{beside}: expected the size, frames and rate of the film: render it again") from None
        return film

    @property
    def frames(self) -> int:
        """How many the claims say that it has."""
        return int(self.body["frames"])

    def seconds(self, frame: int) -> float | None:
        """Where in the film a frame of the track is shown; None where it is not."""
        for span in self.spans:
            if span.first <= frame < span.last:
                return (span.at + frame - span.first) / self.fps
        return None

    def rows(self) -> Iterator[tuple[Span, Row, tuple[Row, ...]]]:
        """Each span with its scene's row and the film that it stands in, laid as the film has it."""
        rows = self.order or over([span.scene for span in self.spans], self.track.timeline)[1]
        for span in self.spans:
            yield span, next(row for row in rows if row.name == span.scene), rows

    @cached_property
    def sound(self) -> NDArray[np.int16]:
        """Its decoded sound, (n, 2) int16 at 48 kHz."""
        from scenes.render.lamps import decoded_sound

        return decoded_sound(self.path)

    def pictures(self, wanted: Container[int]) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """(frame, pixels (height, width, 3) uint8 sRGB) of the wanted frames, in order."""
        for number, frame in self._decoded(wanted):
            yield number, np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)

    def lumas(self, wanted: Container[int]) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """(frame, luma (height, width) uint8, 16 to 235) of the wanted frames, in order; valid until the next is asked for."""
        for number, frame in self._decoded(wanted):
            plane = frame.planes[0]
            yield number, np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, -1)[:, : plane.width]

    def _decoded(self, wanted: Container[int]) -> Iterator[tuple[int, av.VideoFrame]]:
        with av.open(str(self.path)) as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            for number, frame in enumerate(container.decode(stream)):
                self.told()
                if number in wanted:
                    yield number, frame
