"""`roofline page`: what the command line says and asks; everything heavy is imported when it runs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("film", type=click.Path(path_type=Path), default=Path("out", "film", "film.mp4"), required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="HTML", help="Default: beside the film.")
@click.option("--track", metavar="FILE", help="The film's sound file, where it has moved since the render.")
def page(film: Path, output: Path | None, track: str | None) -> None:
    """A finished film as one web page: player, timeline, every figure with its source, and the roofline to explore.

    One file of at most 25 MB with a small copy of the film inside; beside the film it plays that.
    """
    from scenes.render.errors import there

    there(film)
    from scenes.page.build import build
    from scenes.render.check.film import Film
    from scenes.render.report import shown

    target = output or film.with_suffix(".html")
    size = build(Film.open(film, track), target)
    click.echo(f"{shown(target.absolute())}: {size / 1e6:.1f} MB; open it in a browser, from disk or from a server")
