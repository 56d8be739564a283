"""One sum on every GPU: the finished copies of a ring's chunk 0 in the thread's colour, and a line that ties them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scenes.props.ring import DEPTH, GAP, TALL, Floats, Ring, frames
from scenes.stage.keys import linear, ramp
from scenes.stage.palette import THREAD
from scenes.stage.world import Ribbons, World

CLOSES = 0.5  # beats that the line takes from the last copy to the first
LINE, FRAME = 0.07, 0.04  # widths, world units


@dataclass(frozen=True, slots=True)
class Tied:
    """From each copy that the ring has held up, the line runs to the next, where it arrives on that one's beat; at the last it
    closes (two copies have but one line between them)."""

    ring: Ring
    is_thread: ClassVar[bool] = True

    def draw(self, world: World, beat: float) -> None:
        held = self.ring.counted(beat)
        if not held:
            return
        foot = self.ring.copies(beat)
        wide = self.ring.pitch * (1.0 - GAP) + 0.04
        a, b = frames(foot[:held] - (wide / 2, DEPTH / 2, 0.0), (wide, DEPTH, TALL))
        world.add(Ribbons.of(a, b, FRAME, THREAD, alpha=0.95, emission=0.35))
        a, b = self.line(beat)
        if len(a):
            world.add(Ribbons.of(a, b, LINE, THREAD, alpha=0.95, emission=0.45))

    def line(self, beat: float) -> tuple[Floats, Floats]:
        """Both ends, (K, 3), of the line's pieces from copy to copy; the one that runs ends where it has come to."""
        tops, n = self.ring.copies(beat) + np.array([0.0, 0.0, TALL]), self.ring.ranks
        counts = np.array(self.ring.counts)
        arrives = np.append(counts[1:], counts[-1] + CLOSES)[: n if n > 2 else n - 1]
        come = np.array([ramp(beat, a, b - a, linear) for a, b in zip(counts, arrives, strict=False)])
        seen = np.flatnonzero(come > 0.0)
        start, end = tops[seen], tops[(seen + 1) % n]
        return start, start + (end - start) * come[seen, None]
