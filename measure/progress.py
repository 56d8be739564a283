"""How far a measurement is: a bar with the time left where rich and a terminal are there, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Steps of a run whose number is known beforehand."""

    def step(self, words: str) -> None:
        """One step is done; `words` names it."""


class _Lines:
    def __init__(self, total: int) -> None:
        self._total, self._done, self._began = total, 0, time.monotonic()

    def step(self, words: str) -> None:
        self._done += 1
        spent = time.monotonic() - self._began
        left = spent / self._done * max(0, self._total - self._done)
        print(f"[{self._done}/{self._total}] {words}  ({spent:.0f} s, about {left:.0f} s left)", file=sys.stderr, flush=True)


@contextmanager
def progress(total: int, title: str) -> Iterator[Progress]:
    """Show progress on stderr over `total` steps."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
    except ImportError:
        yield _Lines(total)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with RichProgress(*columns, console=console) as bar:
        task = bar.add_task(title, total=total)

        class _Bar:
            def step(self, words: str) -> None:
                bar.update(task, advance=1, description=words)

        yield _Bar()
