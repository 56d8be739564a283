"""The film as segments: each passage cut on bar lines into spans of absolute frames that processes can draw apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from audio.timeline import Timeline
from scenes import film
from scenes.film import Row
from scenes.render.quality import Quality
from scenes.stage.clock import Clock

BARS_A_SEGMENT = 2  # long enough that starting one costs little, short enough that two processes finish together


@dataclass(frozen=True, slots=True)
class Segment:
    """Frames `first` to `last` (exclusive) of the film: bars `first_bar` to `last_bar` (inclusive, from 1) of a passage."""

    row: Row
    first_bar: int
    last_bar: int
    first: int
    last: int

    @property
    def frames(self) -> int:
        return self.last - self.first

    @property
    def label(self) -> str:
        return f"{self.row.name} bars {self.first_bar}-{self.last_bar}"


def cut(row: Row, timeline: Timeline, fps: int, bars: int = BARS_A_SEGMENT) -> tuple[Segment, ...]:
    """A passage's segments: contiguous, together exactly its frames.  Raises OverrunError where the track is too short."""
    clock = Clock.of(timeline, row, fps)
    firsts = range(1, row.bars + 1, bars)
    edges = [clock.start, *(clock.line(bar) for bar in firsts[1:]), clock.end]
    return tuple(
        Segment(row, bar, min(bar + bars - 1, row.bars), first, last)
        for bar, (first, last) in zip(firsts, pairwise(edges), strict=True)
        if last > first
    )


def plan(rows: Sequence[Row], timeline: Timeline, quality: Quality) -> tuple[Segment, ...]:
    """The segments of some passages in the order of the film."""
    return tuple(segment for row in rows for segment in cut(row, timeline, quality.fps))


def choose(names: Sequence[str], rows: Sequence[Row] | None = None) -> tuple[Row, ...]:
    """The rows of these scenes in the order of their film, all of FILM where none is named; a film's name is all its scenes.

    With `rows` these are the only scenes there are.  Raises UnknownSceneError.
    """
    every = tuple(film.order_with(names) if rows is None else rows)
    if rows is None and any(name in film.BESIDE for name in names):
        return every
    for name in names:
        if name not in (row.name for row in every):
            raise film.UnknownSceneError(f"no scene {name!r}: the film has {', '.join(row.name for row in every)}")
    return tuple(row for row in every if not names or row.name in names)
