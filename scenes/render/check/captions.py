"""Caption lint: the lines of the lyric as subtitles, by the rules that broadcasters and streaming services publish.

Limits after Netflix's English timed text style guide: 42 characters a row and two rows, 20 characters a second at most,
five sixths of a second at least and seven at most; that two frames are free between two is seen to where captions are written.
"""

from __future__ import annotations

from collections.abc import Iterator

from audio.lyrics import spans
from audio.timeline import Timeline
from scenes.render.check.film import Film
from scenes.render.check.outcome import Fault, Outcome

ROW, ROWS = 42, 2
SPEED = 20.0  # characters a second
SHORTEST, LONGEST = 5 / 6, 7.0


def check(film: Film) -> Outcome:
    """Length, reading speed, time on screen and overlap of every line, as its captions have it."""
    lines = film.track.timeline.lines
    faults = tuple(lint(film.track.timeline))
    speeds = [len(line.text) / max(line.end - line.start, 1e-9) for line in lines]
    found = f"{len(lines)} lines, at most {max(speeds):.1f} characters a second" if lines else "the track has no words"
    expected = f"{ROWS} rows of {ROW} characters, {SPEED:g} a second, {SHORTEST:.2f} to {LONGEST:g} s"
    return Outcome("captions", "Captions", found, expected, faults)


def lint(timeline: Timeline) -> Iterator[Fault]:
    """What is wrong with a timeline's lines as captions; times are seconds of the track."""
    shown = spans(timeline)
    for k, (line, (start, end)) in enumerate(zip(timeline.lines, shown, strict=True)):
        length = end - start
        if len(line.text) > ROW * ROWS or any(len(word.text) > ROW for word in line.words):
            yield Fault(f"{line.text!r} has {len(line.text)} characters, more than {ROWS} rows of {ROW}", line.start)
        if length < SHORTEST:
            yield Fault(f"{line.text!r} stands {length:.2f} s, less than {SHORTEST:.2f}", line.start)
        if length > LONGEST:
            yield Fault(f"{line.text!r} stands {length:.1f} s, more than {LONGEST:g}", line.start)
        if len(line.text) / max(length, 1e-9) > SPEED:
            yield Fault(f"{line.text!r} runs at {len(line.text) / max(length, 1e-9):.1f} characters a second", line.start)
        if k + 1 < len(timeline.lines) and timeline.lines[k + 1].start < line.end - 1e-6:
            yield Fault(f"{line.text!r} is still sung when the next line begins", line.start)
