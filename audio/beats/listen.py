"""Hearing a track on the command line: with a progress bar, and what came of it in words."""

from __future__ import annotations

import sys
from pathlib import Path

from audio import beats_file, timeline_file, tracks
from audio.asked import Asked
from audio.beats import BeatError
from audio.beats.bars import FASTEST, SLOWEST
from audio.beats.make import Heard, hear
from audio.timeline import Timeline, TimelineError


def listen(spec: str | None, asked: Asked) -> Heard:
    """`make.hear`, of the project's own song where no track is named, with a bar on a terminal; doubts are told on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if spec is None and asked.about_beats:
        raise BeatError("--beats, --bpm and --first-downbeat are about a track of yours: name it with --track FILE")
    words, share = TextColumn("{task.description}"), TextColumn("{task.percentage:3.0f} %  left")
    console, silent = Console(stderr=True), not sys.stderr.isatty()
    with Progress(words, BarColumn(), share, TimeRemainingColumn(), console=console, transient=True, disable=silent) as bar:
        task = bar.add_task("listening for beats", total=1.0)
        heard = hear(spec or tracks.DEFAULT, asked, lambda done: bar.update(task, completed=done))
    for doubt in heard.doubts:
        print(f"roofline: {doubt}", file=sys.stderr)
    return heard


def write(made: Timeline, path: Path) -> None:
    """A timeline as JSON, or its beats as Audacity labels where the file is to be .txt or .beats.  Raises TimelineError."""
    if path.suffix.lower() not in (".json", *beats_file.SUFFIXES):
        raise TimelineError(f"{path}: expected a file that ends in .json, .txt or .beats, found {path.suffix or 'no ending'}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TimelineError(f"{path}: cannot write there: {(error.strerror or str(error)).lower()}") from None
    if path.suffix.lower() == ".json":
        timeline_file.save(made, path)
    else:
        beats_file.write(made, path)


def summary(heard: Heard) -> str:
    """Tempo, bars, how sure they are, and the parts of the song."""
    made = heard.track.timeline
    counts = sorted({made.beats_in(bar) for bar in range(1, made.bars + 1)}, key=lambda n: -_bars_of(made, n))
    others = f" (and of {', '.join(str(n) for n in counts[1:])})" if len(counts) > 1 else ""
    lines = [
        f"{heard.track.path}: {made.bpm:.1f} BPM, {made.bars} bars of {counts[0]}{others}, "
        f"the first at {made.time(1):.2f} s, {clock(made.duration)} in all"
    ]
    if heard.found is not None:
        found = heard.found
        lines += other_tempi(found.bpm)
        lines.append(
            f"beats {'sure' if found.sure else 'uncertain'} (agreement {found.agreement:.2f}), "
            f"bars {'sure' if found.sure_of_bars else 'uncertain'} (contrast {found.contrast:.2f})"
        )
    width = max((len(section.name) for section in made.sections), default=0)
    for section in made.sections:
        last = section.first_bar + section.bars - 1
        lines.append(
            f"  {section.name:{width}}  bars {section.first_bar:3}-{last:<3}  from {clock(made.time(section.first_bar))}"
        )
    return "\n".join(lines)


def other_tempi(bpm: float) -> list[str]:
    """A line on twice and half a tempo, as far as they are tempi that a song may have."""
    ways = [f"twice as fast, --bpm {2 * bpm:.0f}"] if 2 * bpm <= FASTEST else []
    ways += [f"half as fast, --bpm {bpm / 2:.0f}"] if bpm / 2 >= SLOWEST else []
    return [f"is it felt {', or '.join(ways)}?"] if ways else []


def clock(seconds: float) -> str:
    """Minutes and seconds, 1:05.3."""
    tenths = round(seconds * 10)
    return f"{tenths // 600}:{tenths % 600 / 10:04.1f}"


def _bars_of(made: Timeline, beats: int) -> int:
    return sum(made.beats_in(bar) == beats for bar in range(1, made.bars + 1))
