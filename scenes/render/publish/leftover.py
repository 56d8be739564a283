"""What another film has left in a film's place: its captions, page and report must not stand beside the new one.

Only what the project has written goes: captions that are, to the letter, those of the film that its claims tell of; pages and
reports by how they begin; a thumbnail and a description where a provenance of the project's stands beside them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from audio import timeline_file
from audio.lyrics import FORMATS, captions
from audio.timeline import TimelineError
from scenes.render import claims_file
from scenes.render.claims_file import Span
from scenes.render.errors import RequestError
from scenes.render.publish.captions import in_film

HEAD = 4096  # bytes of a page in which it says what wrote it


def of(film: Path) -> tuple[Path, ...]:
    """The files under a film's name that the project wrote with the film that stands there now, or stood there last."""
    found = [*_captions(film), *_posted(film)]
    page, report, verdicts = (film.with_suffix(suffix) for suffix in (".html", ".check.html", ".check.json"))
    if 'name="generator" content="roofline ' in _head(page):
        found.append(page)
    if f"<title>Checks of {film.name}</title>" in _head(report):
        found.append(report)
    if {"film", "frames", "fps"} <= _json(verdicts).keys():
        found.append(verdicts)
    return tuple(found)


def digest(film: Path) -> str:
    """SHA-256 of a film, which tells whether it is still the same; empty where there is none."""
    if not film.is_file():
        return ""
    with film.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove(paths: Sequence[Path]) -> None:
    """Remove files, those that have gone already included."""
    for path in paths:
        path.unlink(missing_ok=True)


def _captions(film: Path) -> list[Path]:
    """Captions that the claims beside the film account for: others are somebody's own."""
    try:
        body = claims_file.read(claims_file.path_of(film))
        timeline = timeline_file.from_json(body["track"]["timeline"], film.name)
        heard = in_film(timeline, [Span(**span) for span in body["spans"]], int(body["fps"]))
    except (RequestError, TimelineError, KeyError, TypeError, ValueError):
        return []
    if not heard.lines:
        return []
    paths = [(film.with_suffix(f".{form}"), form) for form in FORMATS]
    return [path for path, form in paths if path.is_file() and path.read_bytes() == captions(heard, form).encode()]


def _posted(film: Path) -> list[Path]:
    provenance = film.with_suffix(".provenance.json")
    if not {"schema", "film", "project"} <= _json(provenance).keys():
        return []
    beside = (film.with_suffix(suffix) for suffix in (".thumbnail.png", ".description.txt"))
    return [provenance, *(path for path in beside if path.is_file())]


def _head(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(HEAD).decode(errors="replace")


def _json(path: Path) -> dict[str, object]:
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}
