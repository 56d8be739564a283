"""`roofline compare`: what the command line says and asks; everything heavy is imported when it runs."""

from __future__ import annotations

from pathlib import Path

import click


class Apart(click.ClickException):
    """Two files that agree less than was asked for."""


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--png", type=click.Path(path_type=Path), metavar="PNG", help="Also draw a roofline chart to this file.")
@click.option("--within", type=click.FloatRange(0, 100), metavar="PERCENT", help="Fail unless the figures agree within this.")
@click.option("--share", type=click.FloatRange(0, 100), default=95.0, show_default=True, metavar="PERCENT",
              help="How many of all figures have to agree with --within.")  # fmt: skip
def compare(a: str, b: str, png: Path | None, within: float | None, share: float) -> None:
    """Two measurement files by subject: the ratio of every result, with its uncertainty.

    With --png both rooflines over each other, A's dim.
    """
    from measure import compare as both
    from measure.dataset import Dataset
    from measure.tables import Table, emit

    first, second = Dataset.open([a]), Dataset.open([b])
    names = both.names(a, b)
    found = both.compare(first.main, second.main)
    emit(both.tables(first, second, found, names))
    if png is not None:
        from measure import chart, chart_data

        chart.draw([chart_data.view(first.main), chart_data.view(second.main)], png, names)
        click.echo(f"\n{png}")
    if within is not None:
        emit([both.outside(found, within / 100), Table("", notes=(both.summary(found, within / 100),))])
        if not both.enough(found, within / 100, share / 100):
            raise Apart(f"less than {share:g} % of the figures agree within {within:g} %")
