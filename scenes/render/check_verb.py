"""`roofline check`: what the command line says and asks; everything heavy is imported when it runs."""

from __future__ import annotations

from pathlib import Path

import click

NAMES = ("file", "sync", "flash", "sound", "captions", "contrast", "colour", "claims")  # of check.CHECKS, which is heavy


class Unproved(click.ClickException):
    """A film of which a check fails."""


class UnknownCheck(click.ClickException):
    """A check that is none."""

    exit_code = 2


@click.command()
@click.argument("film", type=click.Path(path_type=Path), default=Path("out", "film", "film.mp4"), required=False)
@click.option("--only", multiple=True, metavar="CHECK", help="Run this check only; may be given more than once.")
@click.option("--track", metavar="FILE", help="The film's sound file, where it has moved since the render.")
@click.option(
    "--measurements",
    "specs",
    multiple=True,
    metavar="FILE|NAME",
    help="What the film was drawn from, where that has moved.",
)
def check(film: Path, only: tuple[str, ...], track: str | None, specs: tuple[str, ...]) -> None:
    """Prove a finished film from its own file: sync, flashes, loudness, captions, contrast, colours, figures.

    The report is written beside it, as .check.html and .check.json; exit code 1 where a check fails.
    """
    from scenes.render.errors import there

    if unknown := [name for name in only if name not in NAMES]:
        raise UnknownCheck(f"no check {unknown[0]!r}: there are {', '.join(NAMES)}")
    there(film)
    from scenes.render import check as checks
    from scenes.render.check import report

    opened, outcomes = checks.Film.open(film, track, specs), []
    for outcome in checks.run(opened, only):
        outcomes.append(outcome)
        click.echo("\n".join(report.lines(outcome)))
    for write, suffix in ((report.write_html, ".check.html"), (report.write_json, ".check.json")):
        write(opened, outcomes, film.with_suffix(suffix))
    click.echo(f"{film.with_suffix('.check.html')}: {report.verdict(outcomes)}")
    if not all(outcome.passed for outcome in outcomes):
        raise Unproved(report.verdict(outcomes))
