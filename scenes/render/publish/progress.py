"""How far a conversion or a check is: a bar with the time left on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from scenes.render.progress import LINE_EVERY, time_left


@contextlib.contextmanager
def told(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function that hears how many of `total` frames are done, for as long as the work takes."""
    if not sys.stderr.isatty():
        yield _Lines(what, total).tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("frames"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), redirect_stdout=sys.stdout.isatty()) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


class _Lines:
    def __init__(self, what: str, total: int) -> None:
        self._what, self._total = what, total
        self._start = self._told = time.monotonic()

    def tell(self, done: int) -> None:
        now = time.monotonic()
        if now - self._told >= LINE_EVERY:
            self._told = now
            speed = done / (now - self._start)
            left = time_left(self._total - done, speed)
            print(f"{self._what}: {done} of {self._total} frames, {left} left", file=sys.stderr, flush=True)
