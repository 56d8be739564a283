"""What the command line's `render` leaves: a film with all that it is posted with, or scenes as a file of any format."""

from __future__ import annotations

import hashlib
import re
import shlex
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from audio import tracks
from measure.dataset import DEFAULT_SPECS, find_file
from scenes.render import make, report
from scenes.render.cache import Cache
from scenes.render.progress import reporter
from scenes.render.publish import chapters, description, formats, kit, leftover
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
    before, old = leftover.digest(target), leftover.of(target)
    made = make.make(request, target, workers=workers, reporter=reporter(), titles=titles)
    other = leftover.digest(made.film) != before
    if other:
        leftover.remove(old)
    lines = [report.summary(made, request.quality)]
    if not scenes:
        written = kit.publish(request, made.film)
        shape = f"{request.quality.width}x{request.quality.height} at {request.quality.fps}"
        state = f"a draft: {shape}" if request.quality.letter == "l" else "ready to be posted"
        lines.append(f"{report.shown(made.film.parent)}/: {state}: {', '.join(path.name for path in written)}")
    gone = [path.name for path in old if other and not path.exists()]
    if gone:
        lines.append(f"removed, being of the film that was here before: {', '.join(gone)}")
    if not scenes:
        lines.append(f"prove it: ./roofline check {shlex.quote(report.shown(made.film))}")
    return "\n".join(lines)


def planned(request: make.Request) -> str:
    """The segments of a render: which are already drawn, which are not, and why."""
    return report.segments(make.survey(request, Cache()), request.quality)


def place(request: make.Request, scenes: Sequence[str], form: formats.Format, looped: bool) -> Path:
    """Where a film or scenes go by themselves: `film/film.mp4`, `title.mp4`, `title+cores.webm`, `title-loop.gif`."""
    if not scenes:
        return Path("-".join(["film", *differences(request)]), f"film{form.suffix}")
    name = scenes[0] if len(scenes) == 1 else "+".join(row.name for row in request.rows)
    return Path(f"{name}{'-loop' if looped else ''}{form.suffix}")


def differences(request: make.Request) -> list[str]:
    """Names of the measurements and of the track where they are not the project's own: what the film's folder is called by."""
    specs, track = request.dataset.specs, request.track.path
    own = specs == tuple(str(find_file(name)) for name in DEFAULT_SPECS)
    named = [] if own else [Path(spec).stem for spec in specs]
    if track.stem != tracks.DEFAULT or track.resolve().parent != tracks.HERE.resolve():
        named.append(track.stem)
    return [slug(name) for name in named]


def slug(name: str) -> str:
    """A name in small Latin letters, digits and hyphens; one that has none of them by the start of its SHA-256."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:40].strip("-") or hashlib.sha256(name.encode()).hexdigest()[:8]
