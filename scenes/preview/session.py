"""What is being previewed, as plain values: the server holds it, and every process that it starts is told it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenes.render.make import Request


@dataclass(frozen=True, slots=True)
class Session:
    """Scenes by name (all where none is), measurement files by absolute path, the track.

    `track` is a sound file or the name of a track of the project; `timeline` is the JSON text of what was heard in it, "" for
    the one that lies beside it. `order` is a module whose ORDER lists the rows of a film that is none of the project's own.
    `draft` and `frame` are the fields of a `Quality`, of drafts and of single frames; `cache` is a folder, "" the usual.
    """

    names: tuple[str, ...]
    specs: tuple[str, ...]
    track: str
    timeline: str
    draft: tuple[str, int, int, int, str, int]
    frame: tuple[str, int, int, int, str, int]
    order: str = ""
    cache: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def folder(self) -> Path | None:
        """The cache's folder, where it is not the usual one."""
        return Path(self.cache) if self.cache else None

    @classmethod
    def of(cls, body: dict[str, Any]) -> Session:
        """From what `as_json` gave, lists where tuples were."""
        fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in body.items()}
        return cls(**fields)


def request_of(session: Session, names: tuple[str, ...] | None = None, single: bool = False) -> Request:
    """The render that a session asks for; of these scenes only, and in the quality of single frames, where that is said.

    Raises what opening measurements and track raises: one line each.
    """
    import importlib

    from audio import timeline_file, tracks
    from measure.dataset import Dataset
    from scenes import fit
    from scenes.render.make import Request
    from scenes.render.plan import choose
    from scenes.render.quality import Quality

    if session.timeline:
        track = tracks.Track(Path(session.track), timeline_file.from_json(json.loads(session.timeline), session.track))
    else:
        track = tracks.open(session.track)
    if session.order:
        order = tuple(importlib.import_module(session.order).ORDER)
        rows = choose(session.names, order)
    else:
        rows, order = fit.over(session.names, track.timeline)
    wanted = session.names if names is None else names
    rows = tuple(row for row in rows if names is None or row.name in wanted)
    return Request(rows, Quality(*(session.frame if single else session.draft)), Dataset.open(session.specs), track, order)
