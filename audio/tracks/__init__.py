"""Tracks: a sound file and, beside it, its timeline under the same stem: `song.opus` and `song.timeline.json`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from audio.timeline import Timeline, TimelineError
from audio.timeline_file import SUFFIX, load

HERE = Path(__file__).parent
DEFAULT = "up-to-the-light"
SOUNDS = (".opus", ".ogg", ".m4a", ".mp3", ".flac", ".wav")


class TrackError(ValueError):
    """A track that cannot be used: one line that says what, where and what to do."""


@dataclass(frozen=True, slots=True)
class Track:
    """A sound file and its timeline."""

    path: Path
    timeline: Timeline


def names() -> tuple[str, ...]:
    """Names of the tracks that come with the project."""
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in HERE.glob(f"*{SUFFIX}")))


def default() -> Track:
    """The project's own song.  Raises TrackError, TimelineError."""
    return open(DEFAULT)


def open(path_or_name: str | Path) -> Track:
    """A track that comes with the project, by name, or a user's own file with its timeline beside it.

    Raises TrackError if the file, or its timeline, is not there; TimelineError if the timeline does not read.
    """
    asked = str(path_or_name)
    if asked in names():
        found = [HERE / f"{asked}{suffix}" for suffix in SOUNDS if (HERE / f"{asked}{suffix}").is_file()]
        if not found:
            raise TrackError(f"track {asked!r}: its sound file is missing from {HERE}: restore it from the repository")
        path = found[0]
    else:
        path = Path(asked)
        if not path.is_file():
            raise TrackError(f"track {asked!r}: no such file, and no track of that name (there are: {', '.join(names())})")
    beside = path.with_name(path.stem + SUFFIX)
    if not beside.is_file():
        raise TrackError(f"track {asked!r}: its timeline is missing: put the track's beats in {beside}")
    return Track(path, load(beside))


__all__ = ["SOUNDS", "Timeline", "TimelineError", "Track", "TrackError", "default", "names", "open"]
