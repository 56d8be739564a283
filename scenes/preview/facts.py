"""What the preview's page knows of a scene: its music in seconds of its draft, how it stands and why, its files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from audio.timeline_file import SUFFIX
from scenes.render import why
from scenes.render.cache import Cache, Lookup
from scenes.render.content import digest, parts, source_of
from scenes.render.errors import RenderError
from scenes.render.make import Request
from scenes.render.plan import plan
from scenes.stage.clock import Clock

KEPT = 6  # folders of drafts: one for each set of measurements, track and quality


def folder_of(request: Request, cache: Cache) -> Path:
    """Where the drafts of a request lie; those of sets that were not previewed for longest are removed."""
    import shutil

    told = [request.quality.label, *request.dataset.specs, str(request.track.path), [row.name for row in request.order]]
    root = cache.root / "drafts"
    found = root / digest(json.dumps(told))
    found.mkdir(parents=True, exist_ok=True)
    found.touch()
    for old in sorted(root.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return found


def scenes(request: Request, cache: Cache, folder: Path, first: str = "") -> Iterator[dict[str, Any]]:
    """Every scene of a request, `first` before the others; one whose source does not parse has an `error` and no state."""
    for row in sorted(request.rows, key=lambda row: row.name != first):
        told: dict[str, Any] = {"name": row.name, "module": row.module, "idea": row.idea}
        try:
            segments = plan([row], request.timeline, request.quality)
            known = [parts(segment, request.timeline, request.quality, request.order) for segment in segments]
            lookups = [
                cache.look_up(segment, request.quality, part, request.dataset)
                for segment, part in zip(segments, known, strict=True)
            ]
        except RenderError as error:
            yield {**told, "error": str(error), "inputs": "", "files": sorted(str(path) for path in _where(row.module))}
            continue
        files = {str(path) for part in known for name in part if (path := source_of(name)) is not None}
        files |= {str(request.track.path), str(request.track.path.with_name(request.track.path.stem + SUFFIX))}
        yield {
            **told, **_music(request, lookups), **state(lookups, folder), "files": sorted(files), "parent_bars": row.first_bar,
            "inputs": digest(json.dumps([known, [Path(spec).read_text() for spec in request.dataset.specs]], sort_keys=True)),
        }  # fmt: skip


def state(lookups: Sequence[Lookup], folder: Path) -> dict[str, Any]:
    """How a scene stands: `drawn`, `stale` or `missing`, why, and the draft that there is, newest first."""
    name, missing = lookups[0].segment.row.name, [lookup for lookup in lookups if lookup.entry is None]
    drafts = sorted(folder.glob(f"{name}.*.mp4"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    reasons = [line.removeprefix(f"{name} ") for line in why.lines(lookups)] if missing else []
    never = all(lookup.why == "not rendered yet" for lookup in missing) and bool(missing) and not drafts
    return {
        "state": "drawn" if not missing else "missing" if never else "stale",
        "why": reasons,
        "draft": token(lookups) if not missing and (folder / f"{name}.{token(lookups)}.mp4").is_file() else "",
        "latest": drafts[0].name.split(".")[-2] if drafts else "",
        "share": 1.0 - sum(lookup.segment.frames for lookup in missing) / sum(lookup.segment.frames for lookup in lookups),
    }


def token(lookups: Sequence[Lookup]) -> str:
    """Names a draft by the segments that it is joined from."""
    return digest(" ".join(lookup.entry.video.stem if lookup.entry else "-" for lookup in lookups))


def _music(request: Request, lookups: Sequence[Lookup]) -> dict[str, Any]:
    """Frames, and in seconds of the draft its beats (with bar and beat inside of the scene) and words."""
    row, timeline, fps = lookups[0].segment.row, request.timeline, request.quality.fps
    clock = Clock.of(timeline, row, fps)
    start = clock.start / fps
    beats = []
    for bar in range(1, (row.written or row.bars) + 1):
        moments = range(round(clock.moment(bar + 1) - clock.moment(bar)))
        beats += [[round(clock.seconds(clock.moment(bar) + k) - start, 4), bar, k + 1] for k in moments]
    section = timeline.section_at(row.first_bar)
    words = [
        [word.text, round(max(word.start - start, 0.0), 3), round(word.end - start, 3)]
        for line in timeline.lines
        for word in line.words
        if clock.start < word.end * fps and word.start * fps < clock.end
    ]
    return {
        "bars": row.bars, "first_bar": row.first_bar, "first": clock.start, "frames": clock.end - clock.start, "fps": fps,
        "beats": beats, "words": words, "section": section.name if section else "", "kind": section.kind if section else "",
    }  # fmt: skip


def _where(module: str) -> Iterator[Path]:
    path = source_of(module)
    if path is not None:
        yield path
