"""A user's words: LRC, plain or with word stamps (enhanced), and SRT; every error is one line that names file and line.

Where only a line is stamped, its words share its time by their length: up to the next line, but no slower than one sings.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from audio.timeline import Line, TimelineError, Word

SLOWEST = 0.16  # seconds a letter: a line that stands alone does not last until the next verse
SHORTEST = 0.02  # seconds of a word
STAMP = r"(\d+):(\d{1,2}(?:[.:]\d{1,3})?)"
LRC_LINE = re.compile(rf"((?:\[{STAMP}\]\s*)+)(.*)")
SRT_TIMES = re.compile(r"(\d+):(\d+):(\d+)[,.](\d{1,3})\s*-->\s*(\d+):(\d+):(\d+)[,.](\d{1,3})")

Stamped = list[tuple[float, str]]


def read(path: Path, duration: float) -> tuple[Line, ...]:
    """The lyric lines of an .lrc or .srt file for a track of so many seconds.  Raises TimelineError, one line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TimelineError(f"{path}: cannot read the lyrics: {(error.strerror or 'no reason given').lower()}") from None
    except UnicodeDecodeError:
        raise TimelineError(f"{path}: expected lyrics as UTF-8 text, found something else") from None
    suffix = path.suffix.lower()
    if suffix not in (".lrc", ".srt"):
        raise TimelineError(f"{path}: expected lyrics as .lrc or .srt, found {suffix or 'no suffix'}")
    groups = _lrc(path, text) if suffix == ".lrc" else _srt(path, text)
    if not groups:
        raise TimelineError(f"{path}: expected lines with times, found none")
    return _checked(path, groups, duration)


def _lrc(path: Path, text: str) -> list[tuple[Stamped, float | None]]:
    """Lines of LRC as stamped words and their end, None where only the next line tells."""
    shift, several = 0.0, False
    found: list[tuple[float, str, str]] = []
    for k, line in enumerate(text.splitlines(), 1):
        if offset := re.fullmatch(r"\s*\[offset:\s*([+-]?\d+)\s*\]\s*", line, re.IGNORECASE):
            shift = -int(offset.group(1)) / 1000.0  # positive: the words come sooner
        elif match := LRC_LINE.fullmatch(line.strip()):
            stamps = re.findall(rf"\[{STAMP}\]", match.group(1))
            several |= len(stamps) > 1
            found += [(_minutes(*stamp), match.group(4).strip(), f"{path}:{k}") for stamp in stamps]
        elif line.strip() and not re.fullmatch(r"\s*\[\w+:.*\]\s*", line):
            raise TimelineError(f"{path}:{k}: expected [minutes:seconds] words, found {line.strip()[:40]!r}")
    if several:
        found.sort(key=lambda entry: entry[0])  # a refrain that is written once stands where it is sung first
    for (before, _, _), (at, _, where) in pairwise(found):
        if at < before:
            raise TimelineError(f"{where}: expected a time after the line before ({before:g} s), found {at:g} s")
    groups: list[tuple[Stamped, float | None]] = []
    for k, (at, words, where) in enumerate(found):
        if not words:
            continue  # an empty line ends the one before
        after = next((later + shift for later, _, _ in found[k + 1 :] if later > at), None)
        groups.append(_enhanced(at, words, where, shift, after))
    return groups


def _enhanced(at: float, words: str, where: str, shift: float, after: float | None) -> tuple[Stamped, float | None]:
    pieces = re.split(rf"<{STAMP}>", words)
    if len(pieces) == 1:
        return _shared(words, at + shift, after), None
    stamped: Stamped = [(at + shift, word) for word in [pieces[0].strip()] if word]
    end = after
    for minutes, seconds, word in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        moment = _minutes(minutes, seconds) + shift
        if stamped and moment < stamped[-1][0]:
            raise TimelineError(f"{where}: expected a time after the word before ({stamped[-1][0]:g} s), found {moment:g} s")
        if word.strip():
            stamped.append((moment, word.strip()))
        else:
            end = moment
    return stamped, end if end is not None else (stamped[-1][0] + SLOWEST * len(stamped[-1][1]) if stamped else None)


def _srt(path: Path, text: str) -> list[tuple[Stamped, float | None]]:
    groups: list[tuple[Stamped, float | None]] = []
    before = 0.0
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip()):
        rows = block.splitlines()
        match = next((m for row in rows if (m := SRT_TIMES.search(row))), None)
        if match is None:
            raise TimelineError(f"{path}: expected 00:00:01,000 --> 00:00:02,000 in every block, found {block[:40]!r}")
        start, end = (_hours(*match.groups()[k : k + 4]) for k in (0, 4))
        if start < before or end <= start:
            raise TimelineError(f"{path}: {match.group(0)}: expected times that follow {before:g} s and one another")
        before = start
        words = re.sub(r"<[^>]*>|\{[^}]*\}", "", " ".join(rows[rows.index(match.string) + 1 :])).strip()
        if words:
            groups.append((_shared(words, start, end, whole=True), end))
    return groups


def _hours(hours: str, minutes: str, seconds: str, thousandths: str) -> float:
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(thousandths.ljust(3, "0")) / 1000


def _minutes(minutes: str, seconds: str) -> float:
    return int(minutes) * 60 + float(seconds.replace(":", "."))


def _shared(text: str, start: float, end: float | None, whole: bool = False) -> Stamped:
    """The words of a line, each for its share of the line's time by its letters; the last entry is where the last word ends."""
    words = text.split()
    letters = [len(word) + 1 for word in words]
    span = SLOWEST * sum(letters)
    if end is not None:
        span = end - start if whole else min(span, end - start)
    out, at = [], start
    for word, count in zip(words, letters, strict=True):
        out.append((at, word))
        at += span * count / sum(letters)
    return [*out, (at, "")]


def _checked(path: Path, groups: list[tuple[Stamped, float | None]], duration: float) -> tuple[Line, ...]:
    """Lines within the track, no word before the end of another; a word that overlaps is shortened."""
    flat: list[tuple[int, float, str]] = []
    for k, (stamped, end) in enumerate(groups):
        flat += [(k, at, word) for at, word in stamped]
        if end is not None and stamped and stamped[-1][1]:
            flat.append((k, end, ""))
    lines: dict[int, list[Word]] = {}
    after = 0.0
    for j, (k, at, text) in enumerate(flat):
        if not text:
            continue
        begin = max(at, after)
        until = flat[j + 1][1] if j + 1 < len(flat) else begin + SLOWEST * len(text)
        until = min(max(until, begin + SHORTEST), duration)
        if begin >= duration or at < 0:
            raise TimelineError(f"{path}: {text!r} at {at:g} s: expected a time inside of the track (0 to {duration:.1f} s)")
        after = until
        lines.setdefault(k, []).append(Word(text, begin, until))
    return tuple(Line(tuple(words)) for _, words in sorted(lines.items()))
