"""Finished segments on disk, found again by content.  A segment is there when its JSON file is: that is written last.

`segments/<scene>/<size>@<fps>/<first>-<last>/<key>.mp4` and `.json`; several data sets of one span live side by side.
What was used least recently goes when all of it is larger than the limit, but never under a render that is running.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measure.dataset import Dataset
from scenes.render import changes
from scenes.render.content import ROOT, digest
from scenes.render.errors import RequestError
from scenes.render.plan import Segment
from scenes.render.quality import Quality
from scenes.render.segment import reading_digest
from scenes.stage.claims import Claim

VARIABLE, LIMIT_VARIABLE = "ROOFLINE_CACHE", "ROOFLINE_CACHE_LIMIT"
LIMIT = 8.0  # GB: some twenty films at 1080p60
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


def default_limit() -> int:
    """The most bytes that are kept: 8 GB, or as many GB as ROOFLINE_CACHE_LIMIT says.  Raises RequestError for no number."""
    text = os.environ.get(LIMIT_VARIABLE) or str(LIMIT)
    try:
        size = float(text)
    except ValueError:
        size = math.nan
    if not 0 <= size < math.inf:
        raise RequestError(f"{LIMIT_VARIABLE}={text}: expected the most GB that the cache may hold, such as {LIMIT:g}")
    return round(size * 1e9)


class Cache:
    """The store.  Raises RequestError where its folder cannot be written."""

    def __init__(self, root: Path | None = None, limit: int | None = None) -> None:
        self.root, self.limit = root or default_root(), default_limit() if limit is None else limit
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
            changed = _changes(entry, parts, dataset)
            if not changed:
                with contextlib.suppress(OSError):
                    os.utime(entry.video.with_suffix(".json"))  # used now
                return Lookup(segment, parts, entry, f"same content and {len(entry.reads)} same readings")
            if entry is entries[0]:
                why = f"changed: {changed}"
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
        """A folder for files under way, on the same disk; those that killed runs left behind are swept first.

        As long as it is there, no other run shrinks the store.
        """
        for left in self._scratch.iterdir():
            with contextlib.suppress(OSError), (left / "lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left)
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        with (self.root / "in-use").open("a") as users, (folder / "lock").open("a") as lock:
            fcntl.flock(users, fcntl.LOCK_SH)
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def shrink(self) -> int:
        """Remove halves of entries, and whole ones, least recently used first, down to the limit; returns the bytes freed.

        Does nothing while a render is running.
        """
        with (self.root / "in-use").open("a") as users:
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return 0
            return _shrink(self.root / "segments", self.limit)


def _shrink(folder: Path, limit: int) -> int:
    files = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
    total = freed = sum(stat.st_size for stat in files.values())
    pairs: dict[Path, list[Path]] = {}
    for path in files:
        pairs.setdefault(path.with_suffix(""), []).append(path)

    def age(stem: Path) -> tuple[bool, int]:
        return len(pairs[stem]) == 2, max(files[path].st_mtime_ns for path in pairs[stem])

    for stem in sorted(pairs, key=age):
        if len(pairs[stem]) == 2 and total <= limit:
            break
        for path in sorted(pairs[stem]):  # the JSON first: without it the film file is no entry
            path.unlink(missing_ok=True)
            total -= files[path].st_size
    for left in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
        with contextlib.suppress(OSError):
            left.rmdir()  # only an empty one can be removed
    return freed - total


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


def _changes(entry: Entry, parts: Mapping[str, str], dataset: Dataset) -> str:
    """What differs from an entry's parts and readings, in words; empty where nothing does."""
    read = [key for key in sorted(entry.reads, key=_telling) if reading_digest(dataset, key) != entry.reads[key]]
    return changes.told(entry.parts, parts, read)


def _telling(key: str) -> tuple[bool, int, str]:
    """The order in which changed readings are named: what was measured before what follows from it, the short ones first."""
    return key.partition(".")[0] in ("derived", "extent", "bound"), key.count(".") + 9 * key.count("@"), key


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
