"""Contact sheets of a finished film: a frame every two bars, and every cut before, in and after its transition.

python -m scenes.render.sheets FILM.mp4 [-o FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from scenes.render.check.film import Film
from scenes.render.master import whole_file
from scenes.stage.clock import Clock
from scenes.stage.type import load_font

BARS = 2
WIDE = 480  # px of a frame on a sheet
GAP = 6
CAPTION = 22  # px of the line under a frame
COLUMNS = 6
PER_CUT = 7  # frames of a cut: one before, five in it, one after


@dataclass(frozen=True, slots=True)
class Shot:
    """A frame of the film's file and what is written under it."""

    frame: int
    caption: str


def every_two_bars(film: Film) -> list[Shot]:
    """The first beat of every second bar of every scene, a sixteenth of a beat in."""
    shots = []
    for span, row, _ in film.rows():
        clock = Clock.of(film.track.timeline, row, film.fps)
        for bar in range(1, row.bars + 1, BARS):
            frame = min(clock.line(bar) + round(0.25 * film.fps), span.last - 1)
            if frame >= span.first:
                shots.append(Shot(span.at + frame - span.first, f"{span.scene} {bar}"))
    return shots


def cuts(film: Film) -> list[Shot]:
    """Of every cut `PER_CUT` frames: the last before its transition, even steps through it, the first after it."""
    shots = []
    spans = list(film.rows())
    for (before, row_before, _), (after, row_after, _) in pairwise(spans):
        if before.last != after.first:
            continue
        cut = row_after.transition
        reach = (cut.before, cut.after) if cut else (0.25, 0.25)
        leaving, coming = (Clock.of(film.track.timeline, row, film.fps) for row in (row_before, row_after))
        first, last = leaving.frame(leaving.beats - reach[0]), coming.frame(reach[1])
        for frame in np.linspace(first - 1, last, PER_CUT).round().astype(int):
            span = before if frame < after.first else after
            if span.first <= frame < span.last:
                name = f"{before.scene} > {after.scene} {cut.kind if cut else 'plain'}"
                shots.append(Shot(int(span.at + frame - span.first), name))
    return shots


def sheet(film: Film, shots: Sequence[Shot], columns: int) -> Image.Image:
    """The frames in rows of `columns`, each with its caption."""
    tall = round(WIDE * film.size[1] / film.size[0])
    rows = -(-len(shots) // columns)
    out = Image.new("RGB", (columns * (WIDE + GAP) + GAP, rows * (tall + CAPTION + GAP) + GAP), (40, 44, 52))
    pen, font = ImageDraw.Draw(out), load_font("JetBrainsMono-Medium", 15)
    places: dict[int, list[int]] = {}
    for k, shot in enumerate(shots):
        places.setdefault(shot.frame, []).append(k)
    for number, pixels in film.pictures(places):
        picture = shrunk(pixels, tall)
        for k in places[number]:
            x, y = GAP + k % columns * (WIDE + GAP), GAP + k // columns * (tall + CAPTION + GAP)
            out.paste(picture, (x, y))
            pen.text((x + 2, y + tall + 3), f"{shots[k].caption}  {number / film.fps:.2f} s", font=font, fill=(210, 216, 226))
    return out


def shrunk(pixels: NDArray[np.uint8], tall: int) -> Image.Image:
    return Image.fromarray(pixels).resize((WIDE, tall), Image.Resampling.LANCZOS)


@click.command()
@click.argument("path", metavar="FILM", type=click.Path(path_type=Path, dir_okay=False))
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER", help="Default: the film's.")
def main(path: Path, output: Path | None) -> None:
    """Contact sheets of a finished film: a frame every two bars, and every cut."""
    film = Film.open(path)
    folder = output or path.parent
    for name, shots, columns in (("bars", every_two_bars(film), COLUMNS), ("cuts", cuts(film), PER_CUT)):
        target = folder / f"{path.stem}.{name}.png"
        with whole_file(target) as part:
            sheet(film, shots, columns).save(part, "PNG")
        click.echo(f"{target}: {len(shots)} frames")


if __name__ == "__main__":
    from scenes.render.exits import exits

    with exits():
        sys.exit(main())
