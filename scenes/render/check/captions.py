"""Caption lint: the lines of the lyric as subtitles, by the rules that broadcasters and streaming services publish.

Limits after Netflix's English timed text style guide: 42 characters a row and two rows, 20 characters a second at most,
five sixths of a second at least and seven at most, two frames between one and the next.
"""

from __future__ import annotations

from collections.abc import Iterator

from audio.timeline import Timeline
from scenes.render.check.film import Film
from scenes.render.check.outcome import Fault, Outcome

ROW, ROWS = 42, 2
SPEED = 20.0  # characters a second
SHORTEST, LONGEST = 5 / 6, 7.0
GAP = 2  # frames


def check(film: Film) -> Outcome:
    """Length, reading speed, time on screen, gaps and overlap of every line."""
    lines = film.track.timeline.lines
    faults = tuple(lint(film.track.timeline, film.fps))
    speeds = [len(line.text) / max(line.end - line.start, 1e-9) for line in lines]
    found = f"{len(lines)} lines, at most {max(speeds):.1f} characters a second" if lines else "the track has no words"
    expected = f"{ROWS} rows of {ROW} characters, {SPEED:g} a second, {SHORTEST:.2f} to {LONGEST:g} s, {GAP} frames between"
    return Outcome("captions", "Captions", found, expected, faults)


def lint(timeline: Timeline, fps: int) -> Iterator[Fault]:
    """What is wrong with a timeline's lines as captions; times are seconds of the track."""
    for k, line in enumerate(timeline.lines):
        length = line.end - line.start
        if len(line.text) > ROW * ROWS or any(len(word.text) > ROW for word in line.words):
            yield Fault(f"{line.text!r} has {len(line.text)} characters, more than {ROWS} rows of {ROW}", line.start)
        if length < SHORTEST:
            yield Fault(f"{line.text!r} stands {length:.2f} s, less than {SHORTEST:.2f}", line.start)
        if length > LONGEST:
            yield Fault(f"{line.text!r} stands {length:.1f} s, more than {LONGEST:g}", line.start)
        if len(line.text) / max(length, 1e-9) > SPEED:
            yield Fault(f"{line.text!r} runs at {len(line.text) / max(length, 1e-9):.1f} characters a second", line.start)
        if k + 1 < len(timeline.lines):
            gap = timeline.lines[k + 1].start - line.end
            if gap < -1e-6:
                yield Fault(f"{line.text!r} is still there when the next line begins", line.start)
            elif gap < GAP / max(fps, 24) - 1e-6:
                yield Fault(f"{line.text!r} ends {gap * 1e3:.0f} ms before the next line", line.start)
