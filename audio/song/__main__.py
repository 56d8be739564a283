"""`python -m audio.song -o DIR`: synthesise the song again: track, instrumental, stems, timeline and captions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from audio import lyrics, timeline_file
from audio.song.files import write_opus, write_wav
from audio.song.make import make
from audio.song.score import Song, timeline
from audio.song.speech import VoiceError
from audio.song.up_to_the_light import SONG
from audio.timeline import TimelineError

KEPT = "spoken"  # folder beside the song where spoken lines are kept


def stem(song: Song) -> str:
    """The song's file name without an ending."""
    return song.title.lower().replace(" ", "-")


def write(folder: Path) -> list[Path]:
    """Synthesise the song into a folder; the paths written.  Raises OSError, TimelineError, VoiceError.

    Spoken lines are kept in `spoken/`: the same command goes on where it was stopped, and speaks only what is new.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stems").mkdir(exist_ok=True)
    name, paths = stem(SONG), []
    columns = (TextColumn("{task.description:12}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeRemainingColumn())
    with Progress(*columns) as bar:
        tasks: dict[str, int] = {}

        def show(what: str, done: int, total: int) -> None:
            if what in ("drums", "synths", "lead", "transitions"):
                what = "synthesising"
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(bar.task_ids[list(tasks).index(what)], completed=done, total=total)

        for piece in make(SONG, folder / KEPT, show):
            title = {"track": name, "instrumental": f"{name}-instrumental"}.get(piece.name, piece.name)
            paths.append(folder / f"{title}.wav")
            write_wav(piece.samples, paths[-1])
            if "/" not in title:
                paths.append(folder / f"{title}.opus")
                write_opus(piece.samples, paths[-1], SONG.title)
                paths.append(folder / f"{title}{timeline_file.SUFFIX}")
                timeline_file.save(timeline(SONG), paths[-1])
    for form in lyrics.FORMATS:
        paths.append(folder / f"{name}.{form}")
        lyrics.save(timeline(SONG), paths[-1])
    return paths


def main(arguments: list[str] | None = None) -> int:
    """The command; 0, or 2 if the folder cannot be written or the voice is missing."""
    parser = argparse.ArgumentParser(prog="python -m audio.song", description="Synthesise the project's song from its score.")
    parser.add_argument("-o", "--output", type=Path, default=Path("out"), metavar="DIR", help="where to (default: out)")
    folder = parser.parse_args(arguments).output
    try:
        for path in write(folder):
            print(path)
    except OSError as error:
        print(f"{folder}: cannot write the song there: {error.strerror}", file=sys.stderr)
        return 2
    except (TimelineError, VoiceError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the lines spoken so far are kept, and the same command goes on from there", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
