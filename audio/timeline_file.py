"""The timeline as a JSON file: written whole or not at all, read strictly, every error one line that names the JSON path.

Version 2: `{"format": "timeline", "version": 2, "title", "duration", "beats", "downbeats", "sections", "lines", "cues"}`;
seconds are numbers, bars count from 1, downbeats are indices into beats, a line is `{"words": [{"text", "start", "end",
"syllables": [{"text", "start", "end"}]}]}`, where `syllables` may be left out.  Version 1 knew no syllables and is still read.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from audio.timeline import Line, Section, SungSyllable, Timeline, TimelineError, Word

FORMAT = "timeline"
VERSION = 2
KINDS = ("intro", "verse", "build", "chorus", "bridge", "outro")
SUFFIX = ".timeline.json"


def save(timeline: Timeline, path: Path) -> None:
    """Write a timeline; the file appears whole (temporary file, then rename).  Raises TimelineError if it cannot be written."""
    body = to_json(timeline)
    from_json(body, str(path))  # what cannot be read back is not written
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(_layout(body), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise TimelineError(f"{path}: cannot write the timeline: {error.strerror}") from None


def to_json(timeline: Timeline) -> dict[str, Any]:
    """A timeline as the JSON object that its file holds."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": timeline.title,
        "duration": timeline.duration,
        "beats": list(timeline.beats),
        "downbeats": list(timeline.downbeats),
        "sections": [{"name": s.name, "kind": s.kind, "first_bar": s.first_bar, "bars": s.bars} for s in timeline.sections],
        "lines": [{"words": [_word(word) for word in line.words]} for line in timeline.lines],
        "cues": dict(timeline.cues),
    }


def _word(word: Word) -> dict[str, Any]:
    body: dict[str, Any] = {"text": word.text, "start": word.start, "end": word.end}
    if word.syllables:
        body["syllables"] = [{"text": s.text, "start": s.start, "end": s.end} for s in word.syllables]
    return body


def load(path: Path) -> Timeline:
    """Read a timeline.  Raises TimelineError with one line: the file, the JSON path, what was expected and what was found."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TimelineError(f"{path}: cannot read the timeline: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TimelineError(f"{path}: expected a timeline in JSON, found a file that is not UTF-8 text") from None
    try:
        body = json.loads(text)
    except json.JSONDecodeError as error:
        raise TimelineError(
            f"{path}: expected JSON, found an error at line {error.lineno} column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise TimelineError(f"{path}: expected a timeline, found JSON nested too deep") from None
    return from_json(body, str(path))


def _layout(body: Mapping[str, Any]) -> str:
    """JSON with one line a top-level list item of objects, so that a changed word is a one-line difference."""
    rows = []
    for key, value in body.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = ",\n".join("    " + json.dumps(item, ensure_ascii=False) for item in value)
            rows.append(f'  "{key}": [\n{items}\n  ]')
        else:
            rows.append(f'  "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(rows) + "\n}\n"


class _Reader:
    """Typed access to a JSON value; every failure names file and JSON path."""

    def __init__(self, file: str) -> None:
        self.file = file

    def fail(self, where: str, expected: str, found: object) -> NoReturn:
        shown = found if isinstance(found, _Phrase) else _describe(found)
        raise TimelineError(f"{self.file}: {where}: expected {expected}, found {shown}")

    def fields(self, value: object, where: str, names: tuple[str, ...]) -> dict[str, Any]:
        """An object with exactly these keys."""
        if not isinstance(value, dict):
            self.fail(where, "an object", value)
        for name in names:
            if name not in value:
                self.fail(f"{where}.{name}", "a value", _Phrase("nothing"))
        for name in value:
            if name not in names:
                self.fail(f"{where}.{name}", f"only {', '.join(names)}", _Phrase("this key"))
        return value

    def items(self, value: object, where: str, least: int = 0) -> list[Any]:
        if not isinstance(value, list):
            self.fail(where, "a list", value)
        if len(value) < least:
            self.fail(where, f"a list of {least} or more", _Phrase(f"{len(value)}"))
        return value

    def text(self, value: object, where: str) -> str:
        if not isinstance(value, str) or not value.strip():
            self.fail(where, "text", value)
        return value

    def seconds(self, value: object, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            self.fail(where, "seconds, finite and not negative", value)
        return float(value)

    def count(self, value: object, where: str, least: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.fail(where, f"a whole number of {least} or more", value)
        return value


class _Phrase(str):
    """Words for an error message that are not a found value."""


def _describe(value: object) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def from_json(body: object, file: str) -> Timeline:
    """A timeline from its JSON object; `file` is where it comes from, for the words of a TimelineError."""
    read = _Reader(file)
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        read.fail("$.format", f'"{FORMAT}"', body.get("format") if isinstance(body, dict) else body)
    version = body.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= VERSION:
        read.fail("$.version", f"a version from 1 to {VERSION}, which this program reads", version)
    top = read.fields(body, "$", ("format", "version", "title", "duration", "beats", "downbeats", "sections", "lines", "cues"))
    title, duration = read.text(top["title"], "$.title"), read.seconds(top["duration"], "$.duration")
    beats = [read.seconds(b, f"$.beats[{i}]") for i, b in enumerate(read.items(top["beats"], "$.beats", 2))]
    for i in range(1, len(beats)):
        if beats[i] <= beats[i - 1]:
            read.fail(f"$.beats[{i}]", f"a time after the beat before ({beats[i - 1]:g} s)", beats[i])
    if beats[-1] > duration + 1e-6:
        read.fail("$.duration", f"the last beat ({beats[-1]:g} s) or later", duration)
    downs = [read.count(d, f"$.downbeats[{i}]", 0) for i, d in enumerate(read.items(top["downbeats"], "$.downbeats", 2))]
    for i, index in enumerate(downs):
        if index >= len(beats):
            read.fail(f"$.downbeats[{i}]", f"an index into the {len(beats)} beats", index)
        if i and index <= downs[i - 1]:
            read.fail(f"$.downbeats[{i}]", f"an index after the downbeat before ({downs[i - 1]})", index)
    cues = top["cues"]
    if not isinstance(cues, dict):
        read.fail("$.cues", "an object of names and seconds", cues)
    moments = {name: read.seconds(value, f"$.cues.{name}") for name, value in cues.items()}
    for name, moment in moments.items():
        if moment > duration:
            read.fail(f"$.cues.{name}", f"a moment inside the track ({duration:g} s)", moment)
    return Timeline(
        title=title,
        duration=duration,
        beats=tuple(beats),
        downbeats=tuple(downs),
        sections=_sections(read, top["sections"], len(downs) - 1),
        lines=_lines(read, top["lines"], duration, version),
        cues=MappingProxyType(moments),
    )


def _sections(read: _Reader, value: object, bars: int) -> tuple[Section, ...]:
    sections: list[Section] = []
    for i, item in enumerate(read.items(value, "$.sections")):
        where = f"$.sections[{i}]"
        f = read.fields(item, where, ("name", "kind", "first_bar", "bars"))
        name = read.text(f["name"], f"{where}.name")
        if any(name == s.name for s in sections):
            read.fail(f"{where}.name", "a name no other section has", name)
        if f["kind"] not in KINDS:
            read.fail(f"{where}.kind", f"one of {', '.join(KINDS)}", f["kind"])
        section = Section(
            name, f["kind"], read.count(f["first_bar"], f"{where}.first_bar", 1), read.count(f["bars"], f"{where}.bars", 1)
        )
        if section.first_bar + section.bars - 1 > bars:
            read.fail(f"{where}.bars", f"an end inside the {bars} bars", section.bars)
        if sections and section.first_bar < sections[-1].first_bar + sections[-1].bars:
            read.fail(f"{where}.first_bar", "a bar after the section before", section.first_bar)
        sections.append(section)
    return tuple(sections)


def _lines(read: _Reader, value: object, duration: float, version: int) -> tuple[Line, ...]:
    lines: list[Line] = []
    after = 0.0
    for i, item in enumerate(read.items(value, "$.lines")):
        words: list[Word] = []
        inner = read.fields(item, f"$.lines[{i}]", ("words",))["words"]
        for j, entry in enumerate(read.items(inner, f"$.lines[{i}].words", 1)):
            where = f"$.lines[{i}].words[{j}]"
            sung = version >= 2 and isinstance(entry, dict) and "syllables" in entry
            f = read.fields(entry, where, ("text", "start", "end", "syllables") if sung else ("text", "start", "end"))
            start, end = read.seconds(f["start"], f"{where}.start"), read.seconds(f["end"], f"{where}.end")
            if start < after:
                read.fail(f"{where}.start", f"a time at or after the end of the word before ({after:g} s)", start)
            if end <= start or end > duration:
                read.fail(f"{where}.end", f"a time after its start ({start:g} s) and inside the track", end)
            pieces = _syllables(read, f["syllables"], f"{where}.syllables", (start, end)) if sung else ()
            words.append(Word(read.text(f["text"], f"{where}.text"), start, end, pieces))
            after = end
        lines.append(Line(tuple(words)))
    return tuple(lines)


def _syllables(read: _Reader, value: object, where: str, span: tuple[float, float]) -> tuple[SungSyllable, ...]:
    pieces: list[SungSyllable] = []
    after = span[0]
    for i, entry in enumerate(read.items(value, where, 1)):
        at = f"{where}[{i}]"
        f = read.fields(entry, at, ("text", "start", "end"))
        start, end = read.seconds(f["start"], f"{at}.start"), read.seconds(f["end"], f"{at}.end")
        if start < after:
            read.fail(f"{at}.start", f"a time at or after the one before ends ({after:g} s)", start)
        if end <= start or end > span[1]:
            read.fail(f"{at}.end", f"a time after its start ({start:g} s) and inside its word", end)
        pieces.append(SungSyllable(read.text(f["text"], f"{at}.text"), start, end))
        after = end
    return tuple(pieces)
