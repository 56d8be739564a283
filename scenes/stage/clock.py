"""The frame clock: musical time of one passage to absolute frames of the film, and back."""

from __future__ import annotations

from dataclasses import dataclass

from audio.timeline import Timeline


class OverrunError(ValueError):
    """A screenplay that asks for a moment which has already passed, or which lies outside of its passage."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Frames of a passage that fills `bars` bars of a track from `first_bar` on, at `fps` frames a second.

    Inside a passage bars count from 1, and moments are floats: beats from the passage's first downbeat.
    """

    timeline: Timeline
    first_bar: int
    bars: int
    fps: float

    def __post_init__(self) -> None:
        last = self.first_bar + self.bars - 1
        if self.bars < 1 or self.first_bar < 1 or last > self.timeline.bars:
            raise OverrunError(
                f"bars {self.first_bar} to {last} do not lie in {self.timeline.title!r}, "
                f"which has bars 1 to {self.timeline.bars}"
            )

    @property
    def origin(self) -> int:
        """Index of the passage's first beat in the track."""
        return self.timeline.downbeats[self.first_bar - 1]

    @property
    def beats(self) -> float:
        """Length of the passage in beats."""
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
        if not 1 <= bar <= self.bars + 1:
            raise OverrunError(f"bar {bar} is outside of a passage of {self.bars} bars")
        return self.timeline.downbeats[self.first_bar + bar - 2] - self.origin + beat - 1.0

    def seconds(self, moment: float) -> float:
        """Seconds of the track at a moment of the passage."""
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
        return self.timeline.position(frame / self.fps) - self.origin

    def lit_beat(self, frame: int) -> int:
        """Index in the track of the beat whose lamp is lit on a frame; -1 before the first."""
        beats = self.timeline.beats
        index = min(int(self.timeline.position(frame / self.fps)) + 1, len(beats) - 1)
        while index >= 0 and round(beats[index] * self.fps) > frame:
            index -= 1
        return index
