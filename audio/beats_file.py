"""Beats that somebody else found: Audacity labels, `.beats` and `.txt` files; every error is one line that names file and line.

A line is `time number` (the number of the beat in its bar, from 1), or an Audacity label `start<TAB>end<TAB>text` whose text is
that number, or bar and beat as in `12.3`. Without any number, bars of four begin with the first beat. Blank lines and
# comments are left out.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

from audio.timeline import Timeline, TimelineError

FEWEST = 5  # beats
SUFFIXES = (".txt", ".beats")


@dataclass(frozen=True, slots=True)
class Beats:
    """Seconds of the beats, increasing, and the number of each in its bar, from 1."""

    times: tuple[float, ...]
    numbers: tuple[int, ...]


def read(path: Path) -> Beats:
    """The beats in a file.  Raises TimelineError, one line."""
    times: list[float] = []
    numbers: list[int] = []
    numbered = None
    for where, line in _lines(path):
        at, text = _split(line, where)
        if times and at <= times[-1]:
            raise TimelineError(f"{where}: expected a time after the beat before ({times[-1]:g} s), found {at:g} s")
        number = _number(text, where)
        if numbered is not None and numbered != (number is not None):
            raise TimelineError(
                f"{where}: expected {'a' if numbered else 'no'} beat number, as on the lines before, found {text!r}"
            )
        numbered = number is not None
        times.append(at)
        numbers.append(number if number is not None else (len(times) - 1) % 4 + 1)
    if len(times) < FEWEST:
        raise TimelineError(f"{path}: expected at least {FEWEST} beats, found {len(times)}")
    for k in range(1, len(numbers)):
        if numbers[k] not in (1, numbers[k - 1] + 1):
            raise TimelineError(
                f"{path}: beat {k + 1} at {times[k]:g} s: expected number {numbers[k - 1] + 1} or 1, found {numbers[k]}"
            )
    return Beats(tuple(times), tuple(numbers))


def write(timeline: Timeline, path: Path) -> None:
    """The beats of a timeline as Audacity labels `bar.beat`, to be looked at, mended and read again; whole or not at all.

    The end of the last bar is no beat and is left out.  Raises TimelineError.
    """
    rows = []
    for at in timeline.beats[timeline.downbeats[0] : timeline.downbeats[-1]]:
        bar, beat = timeline.bar_beat(at)
        rows.append(f"{at:.4f}\t{at:.4f}\t{bar}.{round(beat)}\n")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text("".join(rows), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise TimelineError(f"{path}: cannot write the beats: {(error.strerror or str(error)).lower()}") from None


def _lines(path: Path) -> list[tuple[str, str]]:
    """(`file:line`, text) of the lines that say something."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TimelineError(f"{path}: cannot read the beats: {(error.strerror or 'no reason given').lower()}") from None
    except UnicodeDecodeError:
        raise TimelineError(f"{path}: expected beats, a time on each line, found a file that is not UTF-8 text") from None
    every = ((f"{path}:{k}", line) for k, line in enumerate(text.splitlines(), 1))
    return [(where, line) for where, line in every if line.strip() and line.lstrip()[0] not in "#\\"]  # \ goes on a label


def _split(line: str, where: str) -> tuple[float, str]:
    """Time, and what follows it: of an Audacity label the text, otherwise the second column."""
    fields = line.split("\t") if line.count("\t") >= 2 else re.split(r"[\s,;]+", line.strip(), maxsplit=1)
    try:
        at = float(fields[0].replace(",", "."))
    except ValueError:
        at = math.nan
    if not math.isfinite(at) or at < 0:
        raise TimelineError(f"{where}: expected a time in seconds, found {fields[0].strip()[:40]!r}")
    return at, fields[-1].strip() if len(fields) > 1 else ""


def _number(text: str, where: str) -> int | None:
    """The beat's number in its bar; None where there is none."""
    if not text:
        return None
    found = re.fullmatch(r"(?:\d+[.:])?(\d+)(?:\.0+)?", text)
    if found is None or not 1 <= int(found.group(1)) <= 32:
        raise TimelineError(f"{where}: expected a beat's number in its bar (1 to 32), found {text[:40]!r}")
    return int(found.group(1))
