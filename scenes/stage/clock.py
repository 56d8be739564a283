"""The frame clock: musical time of one passage to absolute frames of the film, and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from audio.timeline import Timeline
from scenes.stage.stretch import BEATS, Knots, is_plain, knots, to_scene, to_track

if TYPE_CHECKING:
    from scenes.film import Row


class OverrunError(ValueError):
    """A screenplay that asks for a moment which has already passed, or which lies outside of its passage."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Frames of a passage that fills `bars` bars of a track from `first_bar` on, at `fps` frames a second.

    Inside a passage bars count from 1, and moments are floats: beats from the passage's first downbeat.  A passage that is
    written for other bars than these (`written` bars of four beats) has its own time bent over them: see `stretch`.
    """

    timeline: Timeline
    first_bar: int
    bars: int
    fps: float
    written: int = 0
    _bent: Knots | None = field(init=False, default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        last = self.first_bar + self.bars - 1
        if self.bars < 1 or self.first_bar < 1 or last > self.timeline.bars:
            raise OverrunError(
                f"bars {self.first_bar} to {last} do not lie in {self.timeline.title!r}, "
                f"which has bars 1 to {self.timeline.bars}"
            )
        if self.written:
            places = knots(self.written, [self.timeline.beats_in(bar) for bar in range(self.first_bar, last + 1)])
            object.__setattr__(self, "_bent", None if is_plain(places) else places)

    @classmethod
    def of(cls, timeline: Timeline, row: Row, fps: float) -> Clock:
        """Of a row of a film."""
        return cls(timeline, row.first_bar, row.bars, fps, row.written)

    @property
    def origin(self) -> int:
        """Index of the passage's first beat in the track."""
        return self.timeline.downbeats[self.first_bar - 1]

    @property
    def beats(self) -> float:
        """Length of the passage in its own beats."""
        if self._bent is not None:
            return float(len(self._bent) - 1)
        return float(self.timeline.downbeats[self.first_bar - 1 + self.bars] - self.origin)

    @property
    def start(self) -> int:
        """First frame; the film's first passage begins with the sound, before its first downbeat if there is a lead-in."""
        return 0 if self.first_bar == 1 else self.timeline.frame(self.fps, self.first_bar)

    @property
    def end(self) -> int:
        """One past the last frame; the passage that ends the music also holds the sound's tail."""
        if self.first_bar + self.bars - 1 == self.timeline.bars:
            return round(self.timeline.duration * self.fps)
        return self.timeline.frame(self.fps, self.first_bar + self.bars)

    def moment(self, bar: int, beat: float = 1.0) -> float:
        """Beats from the passage's start to a beat of one of its bars."""
        if self._bent is not None:
            if not 1 <= bar <= self.written + 1:
                raise OverrunError(f"bar {bar} is outside of a passage of {self.written} bars")
            return BEATS * (bar - 1) + beat - 1.0
        if not 1 <= bar <= self.bars + 1:
            raise OverrunError(f"bar {bar} is outside of a passage of {self.bars} bars")
        return self.timeline.downbeats[self.first_bar + bar - 2] - self.origin + beat - 1.0

    def seconds(self, moment: float) -> float:
        """Seconds of the track at a moment of the passage."""
        moment = self.track_beats(moment)
        whole = int(moment)
        index = min(max(self.origin + whole, 0), len(self.timeline.beats) - 2)
        here, after = self.timeline.beats[index], self.timeline.beats[index + 1]
        return here + (after - here) * (self.origin + moment - index)

    def frame(self, moment: float) -> int:
        """The frame that shows a moment: `round(seconds * fps)`, kept inside of the passage."""
        if moment >= self.beats:
            return self.end
        return max(self.start, round(self.seconds(moment) * self.fps))

    def at_frame(self, frame: int) -> float:
        """The moment that a frame shows, in beats from the passage's start."""
        return self.moment_of(self.timeline.position(frame / self.fps))

    def moment_of(self, position: float) -> float:
        """The moment, in the passage's own beats from its start, at a position in beats of the track."""
        beats = position - self.origin
        return beats if self._bent is None else to_scene(self._bent, beats)

    def track_beats(self, moment: float) -> float:
        """Beats of the track from the passage's first downbeat to a moment: the inverse of `moment_of`."""
        return moment if self._bent is None else to_track(self._bent, moment)

    def line(self, bar: int) -> int:
        """The frame on which one of the bars that the passage fills begins; of bar `bars + 1` its end."""
        if bar > self.bars:
            return self.end
        return self.start if bar == 1 else self.timeline.frame(self.fps, self.first_bar + bar - 1)

    def lit_beat(self, frame: int) -> int:
        """Index in the track of the beat whose lamp is lit on a frame; -1 before the first."""
        beats = self.timeline.beats
        index = min(int(self.timeline.position(frame / self.fps)) + 1, len(beats) - 1)
        while index >= 0 and round(beats[index] * self.fps) > frame:
            index -= 1
        return index
