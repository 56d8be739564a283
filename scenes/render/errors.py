"""The errors of rendering; each message is one line that says what, where and what to do."""

from __future__ import annotations

from pathlib import Path


class RenderError(RuntimeError):
    """A render that failed: a worker that died, a scene that raised, a file that does not hold what was drawn.

    `trace` is the whole traceback where a scene raised; the message is one line.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class RequestError(ValueError):
    """A request that cannot be met: an output that cannot be written, a bar outside of its scene, a bad file name."""


def there(film: Path) -> Path:
    """The path of a finished film.  Raises RequestError where there is none: told before anything heavy is imported."""
    if not film.is_file():
        raise RequestError(f"{film}: no such film: render it first, or name the one that you have")
    return film
