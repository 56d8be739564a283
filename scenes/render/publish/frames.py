"""Where the frames of a file come from: a film that is there already, the stage itself, or another source made into a loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import av
import numpy as np
from numpy.typing import NDArray

Frame = NDArray[np.uint8]


class Frames(Protocol):
    """A run of frames, (height, width, 3 or 4) uint8 sRGB, the fourth channel being straight coverage."""

    @property
    def count(self) -> int: ...
    @property
    def fps(self) -> int: ...
    @property
    def size(self) -> tuple[int, int]: ...
    def between(self, first: int, last: int) -> Iterator[Frame]:
        """Frames `first` to `last` (exclusive)."""
        ...


@dataclass
class FilmFrames:
    """The decoded frames of a film's file; `fps` and `size` (width, height) are the film's."""

    path: Path
    count: int
    fps: int
    size: tuple[int, int]

    def between(self, first: int, last: int) -> Iterator[Frame]:
        with av.open(str(self.path)) as film:
            stream = film.streams.video[0]
            stream.thread_type = "AUTO"
            for number, frame in enumerate(film.decode(stream)):
                if number >= last:
                    return
                if number >= first:
                    yield np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)


EDGE = 0.15
"""Width of the soft edge that wipes a loop's start over its end, as a share of the picture's."""


@dataclass
class Loop:
    """Another source's frames as a loop without a seam: its first frames wipe over its last `overlap` ones.

    The loop is that much shorter. Its first frame follows its last one as the source has them, so that nothing jumps when it
    begins anew, and nothing runs backwards.
    """

    source: Frames
    overlap: int

    def __post_init__(self) -> None:
        if not 0 < self.overlap <= self.source.count // 2:
            raise ValueError(f"a loop of {self.source.count} frames cannot melt {self.overlap} of them")

    @property
    def count(self) -> int:
        return self.source.count - self.overlap

    @property
    def fps(self) -> int:
        return self.source.fps

    @property
    def size(self) -> tuple[int, int]:
        return self.source.size

    @cached_property
    def _tail(self) -> list[Frame]:
        return [frame.copy() for frame in self.source.between(self.count, self.source.count)]

    def between(self, first: int, last: int) -> Iterator[Frame]:
        for number, frame in enumerate(self.source.between(first, last), first):
            if number >= self.overlap:
                yield frame
            else:
                yield melted(self._tail[number], frame, wiped(number, self.overlap, self.size[0])[:, None])


def wiped(number: int, overlap: int, width: int) -> NDArray[np.float32]:
    """How much of the coming frame each column of the `number`-th of a loop has, (width,), 0..1.

    A soft edge crosses from left to right; two pictures lie over each other nowhere else, so that words stay words.
    """
    across = (np.arange(width) + 0.5) / width
    return np.clip((number / overlap * (1 + EDGE) - across) / EDGE, 0.0, 1.0).astype(np.float32)


def melted(leaving: Frame, coming: Frame, amount: float | NDArray[np.float32]) -> Frame:
    """Two frames mixed, `amount` 0..1 of the second (a number, or columns x 1).

    Coverage is mixed too, and colours by how much each covers.
    """
    a, b = leaving.astype(np.float32), coming.astype(np.float32)
    if leaving.shape[2] == 3:
        return np.asarray(np.round(a + (b - a) * np.asarray(amount, np.float32)), np.uint8)
    second = np.asarray(amount, np.float32)
    wa, wb = a[..., 3:] * (1 - second), b[..., 3:] * second
    cover = wa + wb
    colour = (a[..., :3] * wa + b[..., :3] * wb) / np.maximum(cover, 1e-6)
    return np.asarray(np.round(np.concatenate([colour, cover], axis=2)), np.uint8)
