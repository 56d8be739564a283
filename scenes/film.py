"""The order of the film, as data: one row a passage.  A new passage is one module and one row."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scenes.stage.transitions.cut import Cut

if TYPE_CHECKING:
    from scenes.stage.passage import Passage


class UnknownSceneError(ValueError):
    """A scene name that is in no film, or names from different films."""


@dataclass(frozen=True, slots=True)
class Row:
    """A passage of the film: its name, where its class is, the bars of the track that it fills, the GEMM rungs it adds.

    `transition` is how the film comes to it from the passage before; None is a plain cut. `files` are what it is drawn from
    besides the render's own measurements, each with a digest of its content: a change of one draws the passage anew.
    `written` is the number of bars, of four beats, that it is written for where that is another than it fills (0: the same).
    """

    name: str
    module: str
    cls: str
    first_bar: int
    bars: int
    idea: str
    rungs: tuple[str, ...] = ()
    transition: Cut | None = None
    files: tuple[str, ...] = ()
    written: int = 0

    def load(self) -> type[Passage]:
        """Import the scene class."""
        cls: type[Passage] = getattr(importlib.import_module(self.module), self.cls)
        return cls


def _told() -> tuple[str, ...]:
    """What the last passage tells of all others, as their sources have it: the order of the rows, each title and chapter."""
    rows = re.findall(r'^    Row\("([\w-]+)"', Path(__file__).read_text(encoding="utf-8"), re.M)
    words = re.compile(r'^    (?:title|chapter)\b[^=\n]*= "(.*)"$', re.M)
    scenes = sorted(Path(__file__).parent.glob("*.py"))
    return (*rows, *(text for scene in scenes for text in words.findall(scene.read_text(encoding="utf-8"))))


FILM: tuple[Row, ...] = (
    Row("title", "scenes.title", "Title", 1, 4, "one cube wakes"),
    # One flight into the cube and on: a ring opens on it, the drums come in.
    Row("cores", "scenes.cores", "Cores", 5, 6, "a CPU has a few big cores, a GPU thousands of small ones",
        transition=Cut("iris", 0.75, 0.75, travel=0.0)),
    # On into the cell that the thread has become: all its neighbours are seats.
    Row("indexing", "scenes.indexing", "Indexing", 11, 6, "every thread computes its own number",
        transition=Cut("dive", 1.0, 0.75, travel=0.0, focus=(0.5, 0.5))),
    # The build begins: blocks of seats slip and are the blocks of a launch.
    Row("launch", "scenes.launch", "Launch", 17, 4, "launching is easy; how fast did it run?",
        transition=Cut("glitch", 1.0, 1.0)),
    # First drop: a bar's dive into the lit SM and out over the hall.
    Row("roof-1", "scenes.roof", "Roof", 21, 8, "speed is capped by memory or by math", ("uncoalesced",),
        Cut("dive", 2.0, 2.0, travel=0.9, focus=(0.47, 0.66))),
    # The verse after it: swing round to a block of threads.
    Row("warps", "scenes.warps", "Warps", 29, 4, "all lanes of a warp, one instruction",
        transition=Cut("whip", 1.0, 1.0)),
    # The same warp marches on: its light streaks, nothing else moves.
    Row("divergence", "scenes.divergence", "Divergence", 33, 6, "one if, and half the warp waits",
        transition=Cut("streak", 0.15, 0.6, heading=180.0, travel=0.0)),
    # Round to what the waiting warp has asked for.
    Row("stalls", "scenes.stalls", "Stalls", 39, 6, "slow kernels wait",
        transition=Cut("whip", 1.0, 1.0)),
    # Second drop: the waiting warp bursts, the towers shine beneath it.
    Row("roof-2", "scenes.roof", "Roof2", 45, 8, "a tile in shared memory climbs", ("coalesced", "shared", "tile_1d"),
        Cut("shatter", 1.5, 2.5, travel=1.4)),
    # On down the hall, along the light: to the lines that memory is read in.
    Row("coalescing", "scenes.coalescing", "Coalescing", 53, 6, "neighbours read together",
        transition=Cut("streak", 1.5, 1.5, heading=0.0)),
    # The same flight goes on from DRAM's lines to a tile of them.
    Row("tiling", "scenes.tiling", "Tiling", 59, 6, "load once, sync, use many times",
        transition=Cut("iris", 1.0, 1.0)),
    # Into the bridge without a halt: everything that glows runs up the slope.
    Row("roof-3", "scenes.roof", "Roof3", 65, 8, "registers feed the math", ("tile_2d",),
        Cut("streak", 2.0, 2.0, heading=18.0)),
    # The bridge opens: up through the newest tower, down to one warp and one instruction.
    Row("tensor-cores", "scenes.tensor_cores", "TensorCores", 73, 6, "one instruction, one tile",
        transition=Cut("dive", 2.0, 2.0, travel=1.6)),
    # The hall bursts; what stands behind it is a wall of its own.
    Row("flash-attention", "scenes.flash_attention", "FlashAttention", 79, 6, "the big square is never written",
        transition=Cut("shatter", 1.0, 1.25)),
    # The wall's tiles slip and are the bits of one weight.
    Row("quantisation", "scenes.quantisation", "Quantisation", 85, 6, "fewer bits, fewer bytes",
        transition=Cut("glitch", 1.0, 1.0)),
    # One GPU is left behind; round to where many work as one.
    Row("all-reduce", "scenes.all_reduce", "AllReduce", 91, 6, "split it, then sum it up",
        transition=Cut("whip", 1.0, 1.0)),
    # Last drop: through the newest tower to the top of the climb.
    Row("roof-4", "scenes.last_roof", "Roof4", 97, 8, "vectorised and beyond",
        ("vectorised", "double_buffered", "operand_reuse", "warp_tile", "autotuned"), Cut("dive", 2.0, 2.0, travel=1.6)),
    # Up and out of the hall, to all of it in one look.
    Row("curriculum", "scenes.curriculum", "Curriculum", 105, 6, "the path in one look",
        transition=Cut("streak", 1.5, 1.5, heading=90.0), files=_told()),
)  # fmt: skip


BESIDE = {"stage-reel": "scenes.reel.order"}
"""Films of their own beside FILM: name, and the module whose ORDER lists their rows."""


def beside(name: str) -> tuple[Row, ...]:
    """The rows of one of the films beside FILM, by the film's name."""
    rows: tuple[Row, ...] = importlib.import_module(BESIDE[name]).ORDER  # named only here: no scene is drawn from this module
    return rows


def order_with(names: Sequence[str]) -> tuple[Row, ...]:
    """The whole film that all these scenes (or films) belong to; FILM where none is named.

    Raises UnknownSceneError for a name that is in no film, and for names of different films.
    """
    films = {"": FILM, **{name: beside(name) for name in BESIDE}}
    owners = {scene.name: film for film, rows in films.items() for scene in rows} | {name: name for name in BESIDE}
    for name in names:
        if name not in owners:
            if near := difflib.get_close_matches(name, owners, 1):
                raise UnknownSceneError(f"no scene {name!r}: did you mean {near[0]!r}? ./roofline scenes lists them all")
            told = "; ".join(f"{film or 'the film'} has {', '.join(r.name for r in rows)}" for film, rows in films.items())
            raise UnknownSceneError(f"no scene {name!r}: {told}")
    found = {owners[name] for name in names} or {""}
    if len(found) > 1:
        raise UnknownSceneError(f"{' and '.join(names)} belong to different films: render those of one film at a time")
    return films[found.pop()]


def row(name: str) -> Row:
    """The row of a scene by name, of any film.  Raises UnknownSceneError with the names there are."""
    found = next((candidate for candidate in order_with([name]) if candidate.name == name), None)
    if found is None:
        raise UnknownSceneError(f"{name} is a film, not a scene: its scenes are {', '.join(r.name for r in beside(name))}")
    return found


def neighbours(of: Row, order: tuple[Row, ...] | None = None) -> tuple[Row | None, Row | None]:
    """The rows that end and begin where a row begins and ends, in an order of rows; None where there is no such row.

    Without an order it is the film that the row stands in; of a row that is in none, FILM.
    """
    if order is None:
        order = next((rows for rows in map(beside, BESIDE) if of in rows), FILM)
    before = next((other for other in order if other.first_bar + other.bars == of.first_bar), None)
    after = next((other for other in order if of.first_bar + of.bars == other.first_bar), None)
    return before, after


def row_of(cls: type[Passage]) -> Row | None:
    """The row that a scene class stands in, or None for a class outside of every film."""
    for candidate in (*FILM, *(r for name in BESIDE for r in beside(name))):
        if candidate.cls == cls.__name__ and candidate.module.rsplit(".", 1)[-1] == cls.__module__.rsplit(".", 1)[-1]:
            return candidate
    return None
