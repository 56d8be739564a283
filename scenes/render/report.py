"""Tables and summaries of the command line, as plain aligned text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `roofline scenes` needs none of what draws
    from audio.timeline import Timeline
    from scenes.film import Row
    from scenes.render.cache import Lookup
    from scenes.render.make import Report
    from scenes.render.quality import Quality


def table(head: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[int] = ()) -> str:
    """Columns as wide as their widest cell; those in `right` are set to the right."""
    lines = [[str(cell) for cell in line] for line in (head, *rows)]
    for column in range(len(head)):
        width = max(len(line[column]) for line in lines)
        for line in lines:
            line[column] = line[column].rjust(width) if column in right else line[column].ljust(width)
    return "\n".join("  ".join(line).rstrip() for line in lines)


def scenes(rows: Sequence[Row], timeline: Timeline) -> str:
    """The scenes of the film: name, bars of the track, seconds, idea."""
    body = []
    for row in rows:
        start, end = timeline.time(row.first_bar), timeline.time(row.first_bar + row.bars)
        body.append((row.name, f"{row.first_bar}-{row.first_bar + row.bars - 1}", row.bars, f"{end - start:.1f}", row.idea))
    return table(("scene", "bars", "length", "seconds", "idea"), body, right=(2, 3))


def segments(lookups: Sequence[Lookup], quality: Quality) -> str:
    """The segments of a render: what is already drawn, what is not, and why."""
    body = [
        (lookup.segment.row.name, f"{lookup.segment.first_bar}-{lookup.segment.last_bar}",
         f"{lookup.segment.first}-{lookup.segment.last - 1}", "hit" if lookup.entry else "miss", lookup.why)
        for lookup in lookups
    ]  # fmt: skip
    frames = sum(lookup.segment.frames for lookup in lookups)
    missing = sum(lookup.segment.frames for lookup in lookups if lookup.entry is None)
    total = f"{frames} frames of {quality.width}x{quality.height} at {quality.fps} a second, {missing} to draw"
    return table(("scene", "bars", "frames", "cache", "why"), body) + f"\n{total}"


def summary(report: Report, quality: Quality) -> str:
    """What a render made and what it took."""
    lines = [
        f"{shown(report.film)}: {report.frames} frames, {report.frames / quality.fps:.2f} s at {quality.label}, "
        f"{report.film.stat().st_size / 1e6:.1f} MB",
        f"{shown(report.claims)}: every figure on screen, with its source",
        f"took {report.seconds:.1f} s, {report.drawn} frames drawn",
    ]
    if report.drawn:
        lines[-1] += (
            f" ({report.cpu_seconds * 1e3 / report.drawn:.1f} ms of CPU each; "
            f"at most {', '.join(f'{peak / 1e6:.0f}' for peak in report.peaks)} MB in each process)"
        )
    return "\n".join(lines)


def shown(path: Path) -> str:
    """A path as seen from here, where that is shorter."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
