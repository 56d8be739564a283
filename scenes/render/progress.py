"""What a render says while it runs: a bar a scene with the time left on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from scenes.fit import clock
from scenes.render.plan import Segment

LINE_EVERY = 10.0  # seconds between two lines where there is no terminal


class Reporter(Protocol):
    """Hears of every segment's progress; a context manager around the render."""

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
    def start(self, segments: Sequence[Segment], done: Sequence[bool]) -> None: ...
    def frames(self, segment: Segment, count: int) -> None: ...
    def say(self, text: str) -> None: ...


class Silent:
    """Says nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing to close."""

    def start(self, segments: Sequence[Segment], done: Sequence[bool]) -> None:
        """Nothing to show."""

    def frames(self, segment: Segment, count: int) -> None:
        """Nothing to show."""

    def say(self, text: str) -> None:
        """Nothing to show."""


class Lines(Silent):
    """Plain lines, for logs: each scene as it is done, and how far the whole is every few seconds."""

    def __init__(self) -> None:
        self._drawn: dict[Segment, int] = {}
        self._left: dict[str, int] = {}
        self._total = 0
        self._start = self._told = time.monotonic()

    def start(self, segments: Sequence[Segment], done: Sequence[bool]) -> None:
        for segment, finished in zip(segments, done, strict=True):
            self._left[segment.row.name] = self._left.get(segment.row.name, 0) + (0 if finished else segment.frames)
        self._total = sum(self._left.values())
        ready = sum(segment.frames for segment, finished in zip(segments, done, strict=True) if finished)
        self.say(f"{self._total} frames to draw, {ready} already drawn")

    def frames(self, segment: Segment, count: int) -> None:
        name = segment.row.name
        if count == self._drawn.get(segment, 0):
            return
        if not self._drawn:  # speed counts from the first frame on: processes take a while to start
            self._start = self._told = time.monotonic()
        self._left[name] -= count - self._drawn.get(segment, 0)
        self._drawn[segment] = count
        drawn, now = sum(self._drawn.values()), time.monotonic()
        speed = drawn / max(now - self._start, 1e-6)
        if self._left[name] == 0 or now - self._told >= LINE_EVERY:
            self._told = now
            what = f"{name} is drawn" if self._left[name] == 0 else "drawing"
            self.say(
                f"{what}: {drawn} of {self._total} frames, {speed:.1f} a second, {time_left(self._total - drawn, speed)} left"
            )

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Bars(Silent):
    """One bar a scene, and one for the whole."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("frames"), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(), console=Console(stderr=True),
        )  # fmt: skip
        self._tasks: dict[str, int] = {}
        self._drawn: dict[Segment, int] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def start(self, segments: Sequence[Segment], done: Sequence[bool]) -> None:
        names = list(dict.fromkeys(segment.row.name for segment in segments))
        for name in names:
            mine = [(s.frames, d) for s, d in zip(segments, done, strict=True) if s.row.name == name]
            ready = sum(frames for frames, finished in mine if finished)
            self._tasks[name] = self._progress.add_task(name, total=sum(frames for frames, _ in mine), completed=ready)
        total = sum(segment.frames for segment, finished in zip(segments, done, strict=True) if not finished)
        if len(names) > 1 and total:
            self._tasks[""] = self._progress.add_task("all", total=total)

    def frames(self, segment: Segment, count: int) -> None:
        step = count - self._drawn.get(segment, 0)
        self._drawn[segment] = count
        for name in (segment.row.name, ""):
            if name in self._tasks:
                self._progress.advance(self._tasks[name], step)  # type: ignore[arg-type]

    def say(self, text: str) -> None:
        self._progress.console.print(text, highlight=False)


def time_left(frames: int, speed: float) -> str:
    """Minutes and seconds that some frames take at a speed in frames a second."""
    seconds = round(frames / speed) if speed > 0 else 0
    return clock(seconds)


def reporter() -> Reporter:
    """Bars on a terminal, lines elsewhere."""
    return Bars() if sys.stderr.isatty() else Lines()
