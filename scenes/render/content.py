"""What a segment's picture is made from, as named digests: equal digests, equal pictures.

Measured values are not among them: which of them a passage reads is only known once it has been drawn (`cache.py`).
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from pathlib import Path

from audio.timeline import Timeline
from scenes import film
from scenes.film import Row
from scenes.render.errors import RenderError
from scenes.render.plan import Segment
from scenes.render.quality import Quality
from scenes.stage.clock import Clock
from scenes.stage.transitions.cut import Cut
from scenes.stage.transitions.span import Span

SCHEMA = "1"  # raise it when the way in which frames are drawn or coded changes without a file of the closure changing
OURS = ("scenes", "measure", "audio", "kernels")
LIBRARIES = ("manim", "numpy", "numba", "av", "pillow", "scipy", "pycairo")
ROOT = Path(film.__file__).resolve().parents[1]
FONTS = ROOT / "scenes" / "stage" / "fonts"
NO_MODULES = ("schema", "row", "rungs shown before", "timeline", "encoder", "fonts", "python", *LIBRARIES)  # other parts
SEGMENT_CODE = "scenes.render.segment"  # draws the frames, so that it belongs to every closure
LYRIC_REACH = 2.0  # seconds around a passage in which a lyric line may still, or already, be on screen


def digest(value: str | bytes) -> str:
    """Short SHA-256 of text or bytes."""
    return hashlib.sha256(value.encode() if isinstance(value, str) else value).hexdigest()[:20]


def parts(segment: Segment, timeline: Timeline, quality: Quality, rows: Sequence[Row]) -> dict[str, str]:
    """Named digests of everything but the measurements that decides a segment's frames and their coding."""
    row = segment.row
    found = {
        "schema": SCHEMA,
        "row": digest(repr(replace(row, transition=None))),
        "rungs shown before": digest(repr(_rungs_before(row, rows))),
        "timeline": digest(timeline_span(timeline, row)),
        "encoder": f"{quality.preset} {quality.crf}",
        "fonts": digest("".join(digest(path.read_bytes()) for path in sorted(FONTS.iterdir()))),
        "python": ".".join(platform.python_version_tuple()[:2]),
    }
    found.update({library: importlib.metadata.version(library) for library in LIBRARIES})
    modules = [row.module, SEGMENT_CODE]
    for name, other, cut in _transitions(segment, timeline, quality, rows):
        told = (cut, replace(other, transition=None), timeline_span(timeline, other), _rungs_before(other, rows))
        found[name] = digest(repr(told))
        modules.append(other.module)
    for module in closure(tuple(modules)):
        found[module] = _source_digest(module)
    return found


def _rungs_before(row: Row, rows: Sequence[Row]) -> list[tuple[str, ...]]:
    return [other.rungs for other in rows if other.first_bar < row.first_bar]


def _transitions(segment: Segment, timeline: Timeline, quality: Quality, rows: Sequence[Row]) -> Iterator[tuple[str, Row, Cut]]:
    """The transitions that a segment's frames belong to, each with the passage on the other side of the cut."""
    row, clock = segment.row, Clock.of(timeline, segment.row, quality.fps)
    before, after = film.neighbours(row, tuple(rows))
    if before is not None and row.transition is not None and segment.first < Span.after(clock, row.transition).last:
        yield f"transition from {before.name}", before, row.transition
    if after is not None and after.transition is not None and segment.last > Span.before(clock, after.transition).first:
        yield f"transition to {after.name}", after, after.transition


def timeline_span(timeline: Timeline, row: Row) -> str:
    """The music that a passage can show, as canonical text: its beats, bars, sections, words and cues, nothing of elsewhere."""
    first, last = timeline.downbeats[row.first_bar - 1], timeline.downbeats[row.first_bar - 1 + row.bars]
    start, end = timeline.beats[first], timeline.beats[last]
    final = row.first_bar - 1 + row.bars == timeline.bars
    # those next to it too: a section's energy reaches half a bar beyond it (the camera's breath)
    after = row.first_bar + row.bars
    sections = [s for s in timeline.sections if s.first_bar <= after and row.first_bar <= s.first_bar + s.bars]
    return json.dumps([
        first, timeline.beats[max(first - 1, 0) : last + 2],
        [index - first for index in timeline.downbeats if first <= index <= last],
        [astuple(section) for section in sections],
        [astuple(line) for line in timeline.lines if line.end > start - LYRIC_REACH and line.start < end + LYRIC_REACH],
        {name: cue for name, cue in sorted(timeline.cues.items()) if start - 1e-9 <= cue <= end + 1e-9},
        timeline.duration if final else None,
    ])  # fmt: skip


def source_of(part: str) -> Path | None:
    """The file of a part that is a module, or of any module of ours; None for other parts."""
    return None if part in NO_MODULES or part.startswith("transition ") else _path(part)


def _assigns(node: ast.AST, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


@functools.cache
def closure(modules: tuple[str, ...]) -> tuple[str, ...]:
    """Our modules that these import, directly or not, themselves included; sorted."""
    seen: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting.extend(_imports(module))
    return tuple(sorted(seen))


@functools.cache
def _path(module: str) -> Path | None:
    """The file of a module, found without importing anything; None for a name that is no module."""
    top, *steps = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None:
        return None
    if not spec.submodule_search_locations:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") and not steps else None
    folder = Path(next(iter(spec.submodule_search_locations)))
    for step in steps[:-1]:
        folder = folder / step
    if steps and (folder / f"{steps[-1]}.py").is_file():
        return folder / f"{steps[-1]}.py"
    package = folder.joinpath(*steps[-1:]) / "__init__.py"
    return package if package.is_file() else None


@functools.cache
def _tree(module: str) -> ast.Module:
    path = _path(module)
    if path is None:
        raise RenderError(f"module {module} is missing: restore it from the repository")
    try:
        return ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        raise RenderError(f"{path}: line {error.lineno}: {error.msg}") from None


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    """Our modules that one imports itself."""
    return tuple(_imported(module))


def _imported(module: str) -> Iterator[str]:
    package = module if (_path(module) or Path()).name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            names = [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            steps = name.split(".")
            if steps[0] in OURS or _beside(module, steps[0]):
                yield from (found for end in range(1, len(steps) + 1) if _path(found := ".".join(steps[:end])) is not None)


def _beside(module: str, other: str) -> bool:
    """Whether a top-level module lies in the folder that a module is imported from: a scene's own helper."""
    path, mine = _path(module), _path(other)
    return path is not None and mine is not None and mine.parent == path.parents[module.count(".")]


@functools.cache
def _source_digest(module: str) -> str:
    """Digest of a module's meaning: comments and layout do not count, and of the film's order only the row itself does."""
    tree = _tree(module)
    if module == film.__name__:
        tree = ast.Module([node for node in tree.body if not _assigns(node, "FILM")], [])
    return digest(ast.dump(tree))
