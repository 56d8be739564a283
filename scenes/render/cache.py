"""Finished segments on disk, found again by content.  A segment is there when its JSON file is: that is written last.

`segments/<scene>/<size>@<fps>/<first>-<last>/<key>.mp4` and `.json`; several data sets of one span live side by side.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measure.dataset import Dataset
from scenes.render.content import ROOT, digest
from scenes.render.errors import RequestError
from scenes.render.plan import Segment
from scenes.render.quality import Quality
from scenes.render.segment import reading_digest
from scenes.stage.claims import Claim

VARIABLE = "ROOFLINE_CACHE"
KEPT_A_SPAN = 6  # entries of one span kept: enough to switch between GPUs, bounded while a scene is being written


@dataclass(frozen=True, slots=True)
class Entry:
    """A finished segment: its film file, the digest of every measured value that it read, and the claims it made."""

    video: Path
    parts: Mapping[str, str]
    reads: Mapping[str, str]
    frames: int
    size: int
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """A planned segment: its content, the entry that can be used as it is or None, and why."""

    segment: Segment
    parts: Mapping[str, str]
    entry: Entry | None
    why: str


def default_root() -> Path:
    """Where segments are kept: `.roofline/cache` in the checkout, or the folder named by ROOFLINE_CACHE."""
    return Path(os.environ.get(VARIABLE) or ROOT / ".roofline" / "cache").expanduser().resolve()


class Cache:
    """The store.  Raises RequestError where its folder cannot be written."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or default_root()
        try:
            self._scratch = self.root / "scratch"
            self._scratch.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RequestError(
                f"{self.root}: the cache cannot be written: {error.strerror}; name another folder in {VARIABLE}"
            ) from None

    def folder(self, segment: Segment, quality: Quality) -> Path:
        """The folder of one span of frames."""
        return self.root / "segments" / segment.row.name / quality.label / f"{segment.first:06d}-{segment.last:06d}"

    def look_up(self, segment: Segment, quality: Quality, parts: Mapping[str, str], dataset: Dataset) -> Lookup:
        """Find a finished segment with the same content that read the same values; else say what has changed."""
        entries = _entries(self.folder(segment, quality))
        why = "not rendered yet"
        for entry in entries:
            changes = _changes(entry, parts, dataset)
            if not changes:
                return Lookup(segment, parts, entry, f"same content and {len(entry.reads)} same readings")
            if entry is entries[0]:
                why = "changed: " + ", ".join(changes[:3]) + (f" and {len(changes) - 3} more" if len(changes) > 3 else "")
        return Lookup(segment, parts, None, why)

    def store(
        self, segment: Segment, quality: Quality, parts: Mapping[str, str], video: Path, reads: Mapping[str, str],
        claims: Sequence[Claim],
    ) -> Entry:  # fmt: skip
        """Move a finished film file into its place; the JSON beside it comes last, and both appear whole."""
        folder = self.folder(segment, quality)
        folder.mkdir(parents=True, exist_ok=True)
        key = digest(json.dumps([dict(parts), dict(reads)], sort_keys=True))
        target = folder / f"{key}.mp4"
        entry = Entry(target, parts, reads, segment.frames, video.stat().st_size, tuple(claims))
        note = video.with_suffix(".json")
        body = {"parts": dict(parts), "reads": dict(reads), "frames": entry.frames, "size": entry.size}
        note.write_text(json.dumps({**body, "claims": [asdict(claim) for claim in claims]}, indent=1), encoding="utf-8")
        _sync(video)
        _sync(note)
        video.replace(target)
        note.replace(target.with_suffix(".json"))
        for old in _entries(folder)[KEPT_A_SPAN:]:
            old.video.with_suffix(".json").unlink(missing_ok=True)
            old.video.unlink(missing_ok=True)
        return entry

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder for files under way, on the same disk; those that killed runs left behind are swept first."""
        for left in self._scratch.iterdir():
            with contextlib.suppress(OSError), (left / "lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left)
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        with (folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)


def _entries(folder: Path) -> list[Entry]:
    """Whole entries of a span, newest first; a damaged one does not count."""
    if not folder.is_dir():
        return []
    notes = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    return [entry for note in notes if (entry := _read(note)) is not None]


def _read(note: Path) -> Entry | None:
    try:
        body: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
        video = note.with_suffix(".mp4")
        if video.stat().st_size != body["size"]:
            return None
        claims = tuple(Claim(**claim) for claim in body["claims"])
        return Entry(video, body["parts"], body["reads"], body["frames"], body["size"], claims)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _changes(entry: Entry, parts: Mapping[str, str], dataset: Dataset) -> list[str]:
    """Names of the parts and of the readings that differ from an entry's."""
    names = sorted({*entry.parts, *parts}, key=lambda name: (name.count("."), name))
    changes = [
        _told(name, entry.parts.get(name), parts.get(name)) for name in names if entry.parts.get(name) != parts.get(name)
    ]
    return changes + [key for key, value in sorted(entry.reads.items()) if reading_digest(dataset, key) != value]


def _told(name: str, before: str | None, now: str | None) -> str:
    if before is None:
        return f"{name} is new"
    if now is None:
        return f"{name} is gone"
    return f"{name} {before} -> {now}" if len(now) < 20 and now[:1].isdigit() else name


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
