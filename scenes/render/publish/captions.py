"""The words of a film as caption files beside it: SRT and WebVTT for players, ASS and LRC for karaoke."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from audio.lyrics import FORMATS, captions
from audio.timeline import Line, Timeline
from scenes.render.claims_file import Span
from scenes.render.master import whole_file


def write(timeline: Timeline, spans: Sequence[Span], fps: int, film: Path) -> list[Path]:
    """Write the captions of a film in every format, each whole or not at all; none where nothing is sung in it."""
    heard = in_film(timeline, spans, fps)
    if not heard.lines:
        return []
    written = []
    for form in FORMATS:
        target = film.with_suffix(f".{form}")
        with whole_file(target) as part:
            part.write_text(captions(heard, form), encoding="utf-8")
        written.append(target)
    return written


def in_film(timeline: Timeline, spans: Sequence[Span], fps: int) -> Timeline:
    """A track's timeline with the words that a film of some of its scenes plays, at the film's own times.

    A line belongs to the stretch of the track in which it begins; spans that follow one another in the track are one stretch.
    """
    lines = tuple(_moved(line, by) for line, by in _heard(timeline, _stretches(spans), fps))
    length = sum(span.last - span.first for span in spans) / fps
    return replace(timeline, lines=lines, duration=length)


def _stretches(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in spans:
        if joined and joined[-1].last == span.first:
            joined[-1] = replace(joined[-1], last=span.last)
        else:
            joined.append(span)
    return joined


def _heard(timeline: Timeline, stretches: Sequence[Span], fps: int) -> Iterator[tuple[Line, float]]:
    """Each line that is heard, with the seconds by which the film has it later than the track."""
    for span in stretches:
        for line in timeline.lines:
            if span.first / fps <= line.start < span.last / fps and line.end <= span.last / fps + 1e-6:
                yield line, (span.at - span.first) / fps


def _moved(line: Line, by: float) -> Line:
    words = []
    for word in line.words:
        sung = tuple(replace(s, start=s.start + by, end=s.end + by) for s in word.syllables)
        words.append(replace(word, start=word.start + by, end=word.end + by, syllables=sung))
    return replace(line, words=tuple(words))
