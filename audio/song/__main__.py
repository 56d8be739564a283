"""`python -m audio.song -o DIR`: synthesise the song again, with a progress bar, and write WAV, Opus and timeline."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from audio import timeline_file
from audio.song import synthesise, to_int16
from audio.song.files import write_opus, write_wav
from audio.song.score import FIRST_SONG, Song
from audio.timeline import TimelineError


def stem(song: Song) -> str:
    """The song's file name without an ending."""
    return song.title.lower().replace(" ", "-")


def write(folder: Path) -> list[Path]:
    """Synthesise the song into a folder; the paths written.  Raises OSError, TimelineError."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description:12}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeRemainingColumn())
    with Progress(*columns) as bar:
        tasks: dict[str, int] = {}

        def show(what: str, done: int, total: int) -> None:
            if what in ("drums", "synths", "lead", "transitions"):
                what = "synthesising"
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(bar.task_ids[tasks[what]], completed=done)

        sound, timeline = synthesise(show)
        for what in tasks.values():
            bar.update(bar.task_ids[what], completed=bar.tasks[what].total)
    samples, name = to_int16(sound), stem(FIRST_SONG)
    paths = [folder / f"{name}.wav", folder / f"{name}.opus", folder / f"{name}{timeline_file.SUFFIX}"]
    write_wav(samples, paths[0])
    write_opus(samples, paths[1], FIRST_SONG.title)
    timeline_file.save(timeline, paths[2])
    return paths


def main(arguments: list[str] | None = None) -> int:
    """The command; 0, or 2 if the folder cannot be written."""
    parser = argparse.ArgumentParser(prog="python -m audio.song", description="Synthesise the project's song from its score.")
    parser.add_argument("-o", "--output", type=Path, default=Path("out"), metavar="DIR", help="where to (default: out)")
    folder = parser.parse_args(arguments).output
    try:
        for path in write(folder):
            print(path)
    except OSError as error:
        print(f"{folder}: cannot write the song there: {error.strerror}", file=sys.stderr)
        return 2
    except TimelineError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
