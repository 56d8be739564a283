"""What the command line's `render` leaves: a film with all that it is posted with, or scenes as a file of any format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scenes.render import make, report
from scenes.render.cache import Cache
from scenes.render.progress import reporter
from scenes.render.publish import chapters, description, formats, kit
from scenes.render.publish.convert import convert


def deliver(
    request: make.Request, scenes: Sequence[str], folder: Path, output: Path | None, named: str | None, looped: bool,
    workers: int | None,
) -> str:  # fmt: skip
    """Render into `output`, or into a place of its own in `folder`, and return what is to be said about it.

    The whole film goes to a folder of its own, with everything beside it that it is posted with.
    """
    form = formats.choose(named, output)
    target = output or folder / place(request, scenes, form, looped)
    if looped or form is not formats.FORMATS["mp4"]:
        frames = convert(request, form, target, looped, workers, reporter())
        size = target.stat().st_size / 1e6
        return f"{report.shown(target)}: {frames} frames, {size:.1f} MB: {form.use}"
    titles = None if scenes else make.Titles(description.title(), {row.name: chapters.title_of(row) for row in request.rows})
    made = make.make(request, target, workers=workers, reporter=reporter(), titles=titles)
    lines = [report.summary(made, request.quality)]
    if not scenes:
        written = kit.publish(request, made.film)
        lines.append(f"{report.shown(made.film.parent)}/: ready to be posted: {', '.join(path.name for path in written)}")
    return "\n".join(lines)


def planned(request: make.Request) -> str:
    """The segments of a render: which are already drawn, which are not, and why."""
    return report.segments(make.survey(request, Cache()), request.quality)


def place(request: make.Request, scenes: Sequence[str], form: formats.Format, looped: bool) -> Path:
    """Where a film or scenes go by themselves: `film/film.mp4`, `title.mp4`, `title+cores.webm`, `title-loop.gif`."""
    if not scenes:
        return Path("film", f"film{form.suffix}")
    name = scenes[0] if len(scenes) == 1 else "+".join(row.name for row in request.rows)
    return Path(f"{name}{'-loop' if looped else ''}{form.suffix}")
