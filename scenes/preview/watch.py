"""Notices that files were saved, by looking at them twice a second: on any file system, and with no library."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

EVERY = 0.5  # seconds between two looks
Sight = tuple[int, int, int]


def look(paths: Iterable[str]) -> dict[str, Sight | None]:
    """Of each file when it was written, how large it is and which it is; None where there is none."""
    found: dict[str, Sight | None] = {}
    for path in paths:
        try:
            stat = os.stat(path)
            found[path] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        except OSError:
            found[path] = None
    return found


class Watcher:
    """Looks at `files()` and at every source below `folders`, and tells `saved` which have changed once they are at rest."""

    def __init__(
        self, files: Callable[[], set[str]], folders: Iterable[Path], saved: Callable[[set[str]], None], every: float = EVERY
    ) -> None:
        self._files, self._folders, self._saved, self._every = files, tuple(folders), saved, every
        self._seen: dict[str, Sight | None] = {}
        self._moving: set[str] = set()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        self._seen = look(self._watched())
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(5)

    def _watched(self) -> set[str]:
        return self._files() | {str(path) for folder in self._folders for path in folder.rglob("*.py")}

    def _watch(self) -> None:
        while not self._end.wait(self._every):
            self.step()

    def step(self) -> None:
        """One look: what changed since the one before is told once all of it has stayed as it is for a look."""
        now = look(self._watched() | set(self._seen))
        changed = {path for path, sight in now.items() if path in self._seen and sight != self._seen[path]}
        new = {path for path in now if path not in self._seen and any(Path(path).is_relative_to(one) for one in self._folders)}
        self._seen = now
        if changed or new:
            self._moving |= changed | new
        elif self._moving:
            saved, self._moving = self._moving, set()
            self._saved(saved)
