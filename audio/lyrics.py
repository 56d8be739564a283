"""Captions of a timeline: SRT, WebVTT, ASS with karaoke, and enhanced LRC.

SRT and VTT hold a line each; ASS lights it word by word, by syllable where those are known, with `\\k` tags; enhanced LRC
stamps each word.  ASS and LRC count hundredths of a second, SRT and VTT thousandths: every stamp is rounded from absolute time.
"""

from __future__ import annotations

import os
from pathlib import Path

from audio.timeline import Line, SungSyllable, Timeline, TimelineError, Word

FORMATS = ("srt", "vtt", "ass", "lrc")
LEAD = 0.4  # seconds that an ASS line stands before its first word
GAP = 2 / 24  # seconds from one caption to the next: two frames of cinema, so that the eye sees a new one come


def captions(timeline: Timeline, form: str) -> str:
    """The text of a captions file in one of FORMATS.  Raises TimelineError for another format, or where nothing is sung."""
    if form not in FORMATS:
        raise TimelineError(f"captions as {form!r}: expected one of {', '.join(FORMATS)}")
    if not timeline.lines:
        raise TimelineError(f"{timeline.title!r} has no lyrics: there is nothing to write as {form}")
    return _lrc(timeline) if form == "lrc" else _subtitles(timeline, form)


def save(timeline: Timeline, path: Path) -> None:
    """Write captions in the format that the file's ending names, whole or not at all.  Raises TimelineError."""
    text = captions(timeline, path.suffix.lstrip(".").lower())
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise TimelineError(f"{path}: cannot write the captions: {error.strerror}") from None


def spans(timeline: Timeline) -> list[tuple[float, float]]:
    """Start and end of each line as a caption, in seconds: a line that runs into the next ends GAP before it."""
    starts = [line.start for line in timeline.lines]
    return [
        (line.start, min(line.end, max(line.start, after - GAP)))
        for line, after in zip(timeline.lines, [*starts, float("inf")][1:], strict=True)
    ]


def _subtitles(timeline: Timeline, form: str) -> str:
    import pysubs2

    out = pysubs2.SSAFile()
    out.info["Title"] = timeline.title
    for i, (line, (begin, end)) in enumerate(zip(timeline.lines, spans(timeline), strict=True)):
        if form == "ass":
            before = timeline.lines[i - 1].end if i else 0.0
            start = max(line.start - LEAD, before, 0.0)
            out.append(pysubs2.SSAEvent(_centi(start) * 10, _centi(line.end) * 10, karaoke(line, start)))
        else:
            out.append(pysubs2.SSAEvent(round(begin * 1000), round(end * 1000), line.text))
    return out.to_string(form)


def karaoke(line: Line, start: float) -> str:
    """A line with `\\k` tags in hundredths of a second, counted from `start`; the tags add up to the line's end."""
    out, now = "", _centi(start)
    for i, word in enumerate(line.words):
        for piece in word.syllables or (SungSyllable(word.text, word.start, word.end),):
            if (wait := _centi(piece.start) - now) > 0:
                out += f"{{\\k{wait}}}"
            now = max(now, _centi(piece.start))
            out += f"{{\\kf{_centi(piece.end) - now}}}{piece.text}"
            now = _centi(piece.end)
        out += " " if i + 1 < len(line.words) else ""
    return out


def _lrc(timeline: Timeline) -> str:
    rows = [f"[ti:{timeline.title}]", f"[length:{_stamp(timeline.duration)}]"]
    for line in timeline.lines:
        rows.append(f"[{_stamp(line.start)}] {' '.join(_word(w) for w in line.words)} <{_stamp(line.end)}>")
    return "\n".join(rows) + "\n"


def _word(word: Word) -> str:
    return f"<{_stamp(word.start)}> {word.text}"


def _stamp(seconds: float) -> str:
    minutes, rest = divmod(_centi(seconds), 6000)
    return f"{minutes:02d}:{rest // 100:02d}.{rest % 100:02d}"


def _centi(seconds: float) -> int:
    return round(seconds * 100)
