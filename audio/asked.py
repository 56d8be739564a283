"""What a user says of a track's beats and words, and the options of the command line that say it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

OPTIONS = (
    click.option("--beats", type=click.Path(path_type=Path), metavar="FILE",
                 help="The track's beats: a timeline (.json), Audacity labels or .beats."),
    click.option("--bpm", type=click.FloatRange(20, 400), help="The track's tempo, where it is heard wrongly."),
    click.option("--first-downbeat", type=click.FloatRange(0), metavar="SECONDS", help="Where the track's first bar begins."),
    click.option("--lyrics", type=click.Path(path_type=Path), metavar="FILE", help="The track's words: .lrc or .srt."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """A tempo (beats a minute), the first downbeat (seconds), files of beats and of words; None where nothing is said."""

    bpm: float | None = None
    first_downbeat: float | None = None
    beats: Path | None = None
    lyrics: Path | None = None

    @property
    def about_beats(self) -> bool:
        return (self.bpm, self.first_downbeat, self.beats) != (None, None, None)


def steered(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options; it gets them as one `asked`."""

    @functools.wraps(verb)
    def call(*, beats: Path | None, bpm: float | None, first_downbeat: float | None, lyrics: Path | None, **rest: Any) -> None:
        verb(asked=Asked(bpm, first_downbeat, beats, lyrics), **rest)

    for option in reversed(OPTIONS):
        call = option(call)
    return call
