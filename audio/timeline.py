"""The timeline of a track: beats, bars, sections, words and cues, in seconds from the first sample of the sound.

Bars and beats count from 1, as musicians count.  `time(3, 2.5)` is the moment half way between beats 2 and 3 of bar 3.
A frame is always `round(seconds * fps)` of an absolute time; durations are never summed (they would drift).
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


class TimelineError(ValueError):
    """A timeline that is inconsistent, or a moment outside of it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the song: `kind` is one of intro, verse, build, chorus, bridge, outro; bars count from 1."""

    name: str
    kind: str
    first_bar: int
    bars: int


@dataclass(frozen=True, slots=True)
class SungSyllable:
    """One syllable as it is written, with the start and end of its note in seconds."""

    text: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the lyric line with its start and end in seconds; its syllables, in order, where they are known."""

    text: str
    start: float
    end: float
    syllables: tuple[SungSyllable, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One lyric line: words in order of time, none overlapping the next."""

    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def start(self) -> float:
        return self.words[0].start

    @property
    def end(self) -> float:
        return self.words[-1].end


@dataclass(frozen=True, slots=True)
class Timeline:
    """Musical time of one track.  All times in seconds, strictly increasing; `downbeats` are indices into `beats`.

    `beats` reaches one past the last beat that sounds, so that the end of the last bar has a time too.
    """

    title: str
    duration: float
    beats: tuple[float, ...]
    downbeats: tuple[int, ...]
    sections: tuple[Section, ...] = ()
    lines: tuple[Line, ...] = ()
    cues: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if len(self.beats) < 2 or len(self.downbeats) < 2:
            raise TimelineError(f"timeline {self.title!r}: needs at least two beats and two downbeats")
        if any(b <= a for a, b in zip(self.beats, self.beats[1:], strict=False)):
            raise TimelineError(f"timeline {self.title!r}: beats must increase strictly")
        if any(b <= a for a, b in zip(self.downbeats, self.downbeats[1:], strict=False)):
            raise TimelineError(f"timeline {self.title!r}: downbeats must increase strictly")
        if self.downbeats[0] < 0 or self.downbeats[-1] >= len(self.beats):
            raise TimelineError(f"timeline {self.title!r}: downbeats must be indices into the {len(self.beats)} beats")

    @property
    def bars(self) -> int:
        """Number of whole bars."""
        return len(self.downbeats) - 1

    @property
    def bpm(self) -> float:
        """Mean tempo over the whole track, in beats a minute."""
        return 60.0 * (len(self.beats) - 1) / (self.beats[-1] - self.beats[0])

    def beats_in(self, bar: int) -> int:
        """Number of beats in a bar (bars count from 1)."""
        if not 1 <= bar <= self.bars:
            raise TimelineError(f"bar {bar} is outside of {self.title!r}, which has bars 1 to {self.bars}")
        return self.downbeats[bar] - self.downbeats[bar - 1]

    def time(self, bar: int, beat: float = 1.0) -> float:
        """Seconds of a beat of a bar; `beat` may be fractional and may run on into later bars.

        Bar `bars + 1`, beat 1 is the end of the music.
        """
        if not 1 <= bar <= self.bars + 1 or beat < 1:
            raise TimelineError(f"bar {bar} beat {beat:g} is outside of {self.title!r} (bars 1 to {self.bars})")
        position = self.downbeats[bar - 1] + beat - 1.0
        index = int(position)
        if index >= len(self.beats) - 1:
            if position > len(self.beats) - 1:
                raise TimelineError(f"bar {bar} beat {beat:g} is past the end of {self.title!r}")
            return self.beats[-1]
        here, after = self.beats[index], self.beats[index + 1]
        return here + (after - here) * (position - index)

    def frame(self, fps: float, bar: int, beat: float = 1.0) -> int:
        """The frame of a beat: `round(time * fps)` of absolute time."""
        return round(self.time(bar, beat) * fps)

    def position(self, seconds: float) -> float:
        """Beats since beat 0 of the track, fractional: the inverse of `time` counted in beats."""
        index = min(max(bisect.bisect_right(self.beats, seconds) - 1, 0), len(self.beats) - 2)
        here, after = self.beats[index], self.beats[index + 1]
        return index + (seconds - here) / (after - here)

    def bar_beat(self, seconds: float) -> tuple[int, float]:
        """Bar and fractional beat at a time, both from 1; moments before the first downbeat belong to bar 1."""
        position = self.position(seconds)
        bar = min(max(bisect.bisect_right(self.downbeats, position + 1e-9), 1), self.bars)
        return bar, position - self.downbeats[bar - 1] + 1.0

    def section_at(self, bar: int) -> Section | None:
        """The section that a bar belongs to, or None."""
        for section in self.sections:
            if section.first_bar <= bar < section.first_bar + section.bars:
                return section
        return None

    def line_at(self, seconds: float, lead: float = 0.4, hold: float = 0.8) -> Line | None:
        """The lyric line to show: from `lead` seconds before its first word to `hold` after its last, or the next's lead."""
        shown = None
        for line in self.lines:
            if line.start - lead <= seconds < line.end + hold:
                shown = line
        return shown
