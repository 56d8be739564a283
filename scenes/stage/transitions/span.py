"""Which frames a transition fills."""

from __future__ import annotations

from dataclasses import dataclass

from scenes.stage.clock import Clock
from scenes.stage.transitions.cut import Cut


@dataclass(frozen=True, slots=True)
class Span:
    """Frames of the film that a transition fills, `first` to `last` (exclusive), around the cut's own: the first of the new."""

    first: int
    cut: int
    last: int

    @classmethod
    def before(cls, clock: Clock, cut: Cut) -> Span:
        """Around the end of a passage with this clock; frames past its end are counted by its last beat's length."""
        first = clock.frame(clock.beats - min(cut.before, clock.beats))
        return cls(first, clock.end, clock.end + _length(clock, clock.beats - 1.0, clock.beats, cut.after))

    @classmethod
    def after(cls, clock: Clock, cut: Cut) -> Span:
        """Around the start of a passage with this clock."""
        last = clock.frame(min(cut.after, clock.beats))
        return cls(clock.start - _length(clock, 0.0, 1.0, cut.before), clock.start, last)

    def progress(self, frame: int, share: float) -> float:
        """0..1 over the transition, `share` at the cut, whatever the tempo on either side of it."""
        if frame < self.cut:
            return share * (frame - self.first + 0.5) / max(self.cut - self.first, 1)
        return share + (1.0 - share) * (frame - self.cut + 0.5) / max(self.last - self.cut, 1)


def _length(clock: Clock, start: float, end: float, beats: float) -> int:
    return round((clock.seconds(end) - clock.seconds(start)) * beats * clock.fps)
