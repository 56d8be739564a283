"""The two ends of a passage: what happens there to its camera, its texts and its picture, and the neighbour's still for it.

A transition is drawn by both passages, each in its own frames: before the cut the outgoing one moves and the incoming one is
held on its first picture, after the cut the incoming one moves and the outgoing one is held on its last.  So each frame depends
on its own passage and on one still of the other, whoever draws it and in whatever order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scenes.stage.camera import Camera
from scenes.stage.keys import smooth
from scenes.stage.transitions import travel
from scenes.stage.transitions.cut import IN_PIECES, Cut
from scenes.stage.transitions.mix import Mixer, brightest
from scenes.stage.transitions.smear import kept
from scenes.stage.transitions.span import Span

if TYPE_CHECKING:
    from scenes.film import Row
    from scenes.stage.overlay import Canvas
    from scenes.stage.passage import Passage

Pixels = NDArray[np.uint32]
Take = Callable[[int, int], Pixels]  # width, height -> a still of one side of the cut at that size
HUD_FADE = 0.5  # beats in which the head-up display leaves before a cut, and comes after it
TEXT_SHARE = 0.4  # of the time before the cut, and after it, in which texts of the scene leave and come


@dataclass(slots=True)
class Side:
    """One end of a passage: its transition, its frames there, and stills of both sides, each taken once when it is needed.

    A transition in pieces has no thread in its stills. Where the passage's own picture comes in pieces, too (`spares`), it is
    drawn without the thread, which is then laid over the pieces as it is: there is always one, it is whole, and it is here.
    """

    cut: Cut
    span: Span
    leaving: bool
    outgoing: Take
    incoming: Take
    _mixer: Mixer | None = field(default=None, init=False)
    _held: Pixels | None = field(default=None, init=False)
    _live: Pixels | None = field(default=None, init=False)

    def holds(self, frame: int) -> bool:
        return self.span.first <= frame < self.span.last

    @property
    def spares(self) -> bool:
        return self.cut.kind == "glitch" or (self.cut.kind in IN_PIECES and self.leaving)

    def draw(self, frame: int, pixels: Pixels) -> None:
        """Turn the passage's own picture of a frame, in place, into the transition's."""
        height, width = pixels.shape
        if self._mixer is None or self._held is None or self._held.shape != pixels.shape:
            self._held = self.incoming(width, height) if self.leaving else self.outgoing(width, height)
            focus = self.cut.focus
            if focus is None:
                focus = brightest(self.outgoing(width, height) if self.leaving else self._held)
            self._mixer, self._live = Mixer(self.cut, focus), np.empty_like(pixels)
        assert self._live is not None
        self._live[:] = pixels
        a, b = (self._live, self._held) if self.leaving else (self._held, self._live)
        self._mixer.draw(a, b, self.span.progress(frame, self.cut.share), pixels)

    def move(self, camera: Camera, beat: float, beats: float) -> Camera:
        """The passage's camera with the transition's travel, at a moment of a passage of so many beats."""
        if self.leaving:
            u = (beat - (beats - self.cut.before)) / self.cut.before
            return travel.leave(self.cut, camera, u) if u > 0.0 else camera
        v = beat / self.cut.after
        return travel.enter(self.cut, camera, v) if v < 1.0 else camera

    def letters(self, beat: float, beats: float) -> float:
        """Opacity of the passage's own texts: nobody reads through a transition, and a neighbour's still claims nothing."""
        if self.leaving:
            return 1.0 - smooth(min(max((beat - beats) / self.cut.before + 1.0, 0.0) / TEXT_SHARE, 1.0))
        return smooth(min(max((beat / self.cut.after - 0.1) / TEXT_SHARE, 0.0), 1.0))

    def hud(self, beat: float, beats: float) -> float:
        """Opacity of the head-up display: its words change at the cut, so none are there then."""
        gap = beats - beat if self.leaving else beat
        return smooth(min(max(gap / HUD_FADE - 0.1, 0.0), 1.0))


class Ends:
    """Both ends of a passage; where its context names no neighbour, or the film has a plain cut, nothing happens there."""

    def __init__(self, passage: Passage) -> None:
        context, clock = passage.context, passage.clock
        row, before, after = context.row, context.before, context.after
        self._beats = clock.beats
        self._sides: list[Side] = []
        self._stage = passage.paint_stage
        if row is None:
            return
        if before is not None and row.transition is not None:
            last, first = _still(passage, before, None, row, -1), _still(passage, row, before, None, 0)
            self._sides.append(Side(row.transition, Span.after(clock, row.transition), False, last, first))
        if after is not None and after.transition is not None:
            last, first = _still(passage, row, None, after, -1), _still(passage, after, row, None, 0)
            self._sides.append(Side(after.transition, Span.before(clock, after.transition), True, last, first))

    def paint(self, frame: int, pixels: Pixels) -> Canvas:
        """Draw the passage's own picture of a frame and turn it into the film's."""
        sides = [side for side in self._sides if side.holds(frame)]
        spared = any(side.spares for side in sides)
        whole = np.empty_like(pixels) if spared else None
        if whole is not None:
            self._stage(frame, whole)
        canvas = self._stage(frame, pixels, not spared)
        bare = pixels.copy() if spared else None
        for side in sides:
            side.draw(frame, pixels)
        if bare is not None and whole is not None:
            kept(bare, whole, pixels)
        return canvas

    def move(self, camera: Camera, beat: float) -> Camera:
        """The camera with its transitions' travel."""
        for side in self._sides:
            camera = side.move(camera, beat, self._beats)
        return camera

    def letters(self, beat: float) -> float:
        """Opacity of the scene's texts."""
        return math.prod(side.letters(beat, self._beats) for side in self._sides)

    def hud(self, beat: float) -> float:
        """Opacity of the head-up display."""
        return math.prod(side.hud(beat, self._beats) for side in self._sides)


def _still(passage: Passage, row: Row, before: Row | None, after: Row | None, which: int) -> Take:
    """Takes the first (0) or the last (-1) picture of a row's passage, without transition and head-up display."""

    def take(width: int, height: int) -> Pixels:
        from scenes.stage.passage import Context

        other = row.load()(Context.of(passage.data, passage.timeline, row, before, after))
        cut = row.transition if which == 0 else after.transition if after is not None else None
        thread = cut is None or cut.kind not in IN_PIECES
        return other.shoot(other.clock.start if which == 0 else other.clock.end - 1, width, height, thread)

    return take
