"""The order of the film, as data: one row a passage.  A new passage is one module and one row."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenes.stage.passage import Passage


class UnknownSceneError(ValueError):
    """A scene name that is not in the film."""


@dataclass(frozen=True, slots=True)
class Row:
    """A passage of the film: its name, where its class is, the bars of the track that it fills, the GEMM rungs it adds."""

    name: str
    module: str
    cls: str
    first_bar: int
    bars: int
    idea: str
    rungs: tuple[str, ...] = ()

    def load(self) -> type[Passage]:
        """Import the scene class."""
        cls: type[Passage] = getattr(importlib.import_module(self.module), self.cls)
        return cls


FILM: tuple[Row, ...] = (
    Row("title", "scenes.title", "Title", 1, 4, "one cube wakes"),
    Row("indexing", "scenes.indexing", "Indexing", 5, 8, "every thread computes its own number"),
    Row("launch", "scenes.launch", "Launch", 13, 4, "launching is easy; how fast did it run?"),
    Row("roof-1", "scenes.roof", "Roof", 17, 8, "speed is capped by memory or by math", ("uncoalesced",)),
    Row("divergence", "scenes.divergence", "Divergence", 25, 8, "one if, and half the warp waits"),
    Row("roof-2", "scenes.roof", "Roof2", 33, 8, "a tile in shared memory climbs", ("coalesced", "shared", "tile_1d")),
    Row("roof-3", "scenes.roof", "Roof3", 41, 8, "registers feed the math", ("tile_2d",)),
    Row("roof-4", "scenes.roof", "Roof4", 49, 12, "vectorised and beyond", ("vectorised",)),
)


def row(name: str) -> Row:
    """The row of a scene by name.  Raises UnknownSceneError with the names there are."""
    for candidate in FILM:
        if candidate.name == name:
            return candidate
    raise UnknownSceneError(f"no scene {name!r}: the film has {', '.join(r.name for r in FILM)}")


def row_of(cls: type[Passage]) -> Row | None:
    """The row that a scene class stands in, or None for a class outside of the film."""
    for candidate in FILM:
        if candidate.cls == cls.__name__ and candidate.module.rsplit(".", 1)[-1] == cls.__module__.rsplit(".", 1)[-1]:
            return candidate
    return None
