"""Memory as a sheet of 128-byte lines, a warp before it, and the words and sectors that one load of the warp asks for.

A line is 32 words of 4 bytes, in four sectors of 32 bytes: a sector is the least that memory delivers (CUDA C++ Best Practices
Guide, coalesced access).  Lane i of a load with a stride of s words reads word i x s; which sectors that touches is arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Vector
from scenes.stage.keys import ramp, smooth
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, TEXT, THREAD, mix
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]
LANES = 32  # of a warp
WORDS, SECTORS, WORD = 32, 4, 4  # words and sectors of a line, bytes of a word
ROWS = 32  # lines of the sheet: as many as a stride of a whole line reaches
PITCH, GAP, DEEP = 0.5, 0.22, 0.66  # from word to word, between two sectors, from line to line
BASE, TOP = 0.16, 0.12  # thickness of a sector and of a word on it
FRONT = -3.4  # y of the warp
EDGE = 0.38  # of a lane's block and of the thread
GLIDE = 0.4  # beats before its own in which a stride's words slide to their places


def words_of(stride: int) -> NDArray[np.int64]:
    """The word that each lane reads, (32,), counted from the start of the sheet."""
    return np.arange(LANES) * stride


def sectors_of(stride: int) -> NDArray[np.int64]:
    """The different sectors of a load, in order: 4 for a stride of 1, 32 from 8 on."""
    return np.unique(words_of(stride) * SECTORS // WORDS)


def across(word: NDArray[np.int64]) -> Floats:
    """x of words, by their place in their lines."""
    place = word % WORDS
    return np.asarray((place - (WORDS - 1) / 2) * PITCH + (place * SECTORS // WORDS - (SECTORS - 1) / 2) * GAP)


def places(stride: int) -> Floats:
    """Middles of the bases of the words that a load reads, (32, 3): on their sectors."""
    word = words_of(stride)
    return np.column_stack([across(word), DEEP * (word // WORDS), np.full(LANES, BASE)])


def seats() -> Floats:
    """Where the lanes stand, (32, 3): each before the word that it reads in a line read side by side."""
    return np.column_stack([across(np.arange(LANES)), np.full(LANES, FRONT), np.zeros(LANES)])


@dataclass(slots=True)
class Lines:
    """`strides`: (beat, stride) from which on each holds, in order.  `thread` is the followed lane.

    From `trip[0]` to `trip[1]` the words of the first load go to their lanes, all in one.  The beams run out on beat `asks`;
    by `rests` they have gone and the sheet has dimmed.
    """

    strides: Sequence[tuple[float, int]]
    thread: int
    asks: float
    rests: float
    trip: tuple[float, float]
    done: Callable[[float], float]
    _places: dict[int, Floats] = field(init=False)

    def __post_init__(self) -> None:
        self._places = {stride: places(stride) for _, stride in self.strides}

    def step(self, beat: float) -> tuple[int, int, float]:
        """The stride before and the stride now, and how far the words have slid from one to the other, 0..1."""
        before = now = self.strides[0][1]
        slid = 1.0
        for start, stride in self.strides[1:]:
            if beat < start - GLIDE:
                break
            before, now, slid = now, stride, ramp(beat, start - GLIDE, GLIDE, smooth)
        return before, now, slid

    def stride(self, beat: float) -> int:
        """The stride that holds at a beat."""
        return next(stride for start, stride in reversed(self.strides) if beat >= start or start == self.strides[0][0])

    def words(self, beat: float) -> Floats:
        """Where the words of the load are now, (32, 3)."""
        before, now, slid = self.step(beat)
        return np.asarray(self._places[before] + (self._places[now] - self._places[before]) * slid)

    def mark(self, beat: float) -> Vector:
        """Middle of the base of the thread's word."""
        x, y, z = self.words(beat)[self.thread]
        return float(x), float(y), float(z)

    def lit(self, beat: float) -> Floats:
        """How far each sector of the sheet is asked for, (ROWS, SECTORS), 0..1."""
        before, now, slid = self.step(beat)
        lit = np.zeros(ROWS * SECTORS)
        for stride, share in ((before, 1.0 - slid), (now, slid)):
            lit[sectors_of(stride)] = np.maximum(lit[sectors_of(stride)], share)
        return np.asarray(lit.reshape(ROWS, SECTORS) * ramp(beat, self.asks + 0.35, 0.3) * self.awake(beat))

    def awake(self, beat: float) -> float:
        """How bright the sheet is: less once it rests."""
        return 1.0 - 0.55 * ramp(beat, self.rests - 1.0, 1.5)

    # ---- drawing ----------------------------------------------------------------------------------------------------------

    def draw(self, world: World, beat: float) -> None:
        self._sheet(world, beat)
        self._words(world, beat)
        self._lanes(world, beat)
        self._beams(world, beat)
        self._trip(world, beat)

    def _sheet(self, world: World, beat: float) -> None:
        lit = self.lit(beat).ravel()
        row, sector = (axis.ravel() for axis in np.indices((ROWS, SECTORS)))
        wide = PITCH * WORDS / SECTORS
        x = (sector - (SECTORS - 1) / 2) * (wide + GAP) - wide / 2
        origin = np.column_stack([x, DEEP * row - 0.42 * DEEP, np.zeros(len(x))])
        colour = np.array(PLATE) + (np.array(MEMORY) - PLATE) * (0.12 + 0.2 * lit)[:, None]
        world.add(Boxes.of(origin, (wide, 0.84 * DEEP, BASE), colour, 0.02 + 0.07 * lit, 0.35 + 0.5 * lit))

    def _words(self, world: World, beat: float) -> None:
        at, edge = self.words(beat), 0.78 * PITCH
        asked = ramp(beat, self.asks + 0.35, 0.3) * self.awake(beat)
        colour = mix(mix(PLATE, MEMORY, 0.4), MEMORY, asked)
        size = (edge, edge, TOP)
        world.add(Boxes.of(at - np.array([edge / 2, edge / 2, 0.0]), size, colour, 0.15 + 0.55 * asked, 0.7, shadow=0.3))
        x, y, z = self.mark(beat)
        r, top = edge / 2 + 0.07, z + TOP + 0.02
        corner = np.array([(x - r, y - r, top), (x + r, y - r, top), (x + r, y + r, top), (x - r, y + r, top)])
        world.add(Ribbons.of(corner, np.roll(corner, -1, 0), 0.06, THREAD, 1.0, 0.7))

    def _lanes(self, world: World, beat: float) -> None:
        """All lanes but the thread: idle until their words are there."""
        work = self.done(beat)
        seat = np.delete(seats(), self.thread, axis=0)
        colour = mix(mix(STEEL, QUIET, 0.3), COMPUTE, work)
        size = (EDGE, EDGE, 0.3 + 0.1 * work)
        world.add(Boxes.of(seat - np.array([EDGE / 2, EDGE / 2, 0.0]), size, colour, 0.4 * work, 0.6))

    def _beams(self, world: World, beat: float) -> None:
        """From each lane to its word: they run out as it asks."""
        out, shown = ramp(beat, self.asks, 0.5), 1.0 - ramp(beat, self.rests - 1.0, 1.0)
        if out <= 0.0 or shown <= 0.0:
            return
        a, b = seats() + np.array([0.0, EDGE / 2, 0.42]), self.words(beat) + np.array([0.0, 0.0, TOP])
        colour = np.tile(mix(MEMORY, TEXT, 0.35), (LANES, 1))
        wide, alpha = np.full(LANES, 0.035), np.full(LANES, 0.5)
        colour[self.thread], wide[self.thread], alpha[self.thread] = THREAD, 0.09, 0.95
        world.add(Ribbons.of(a, a + (b - a) * out, wide, colour, shown * alpha, 0.5))

    def _trip(self, world: World, beat: float) -> None:
        """The words of the first load on their one way to the lanes."""
        u = ramp(beat, self.trip[0], self.trip[1] - self.trip[0], smooth)
        shown = 1.0 - ramp(beat, self.trip[1] + 0.1, 0.4)
        if not 0.0 < u or shown <= 0.01:
            return
        start, end = self._places[self.strides[0][1]] + np.array([0.0, 0.0, TOP]), seats() + np.array([0.0, 0.0, 0.62])
        at = start + (end - start) * u + np.array([0.0, 0.0, 4.0 * 0.5 * u * (1.0 - u)])
        edge = 0.7 * PITCH
        world.add(Boxes.of(at - np.array([edge / 2, edge / 2, 0.0]), (edge, edge, 0.22), MEMORY, 0.75, 0.8, alpha=shown))
