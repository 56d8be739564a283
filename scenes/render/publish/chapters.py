"""Chapters as viewers want them: named by what a passage is about, long enough to be worth a mark.

YouTube shows chapters where the first begins at 0:00, there are at least three, in order, and each lasts ten seconds or more
(support.google.com/youtube/answer/9884579).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from audio.timeline import Timeline
from scenes.film import Row
from scenes.fit import clock
from scenes.render.claims_file import Span

LEAST_SECONDS, LEAST_COUNT = 10, 3
NAMES = ("FlashAttention", "GPU", "CPU")  # not set in small letters within a title


@dataclass(frozen=True, slots=True)
class Chapter:
    """One mark: whole seconds from the film's start, and its title."""

    second: int
    title: str

    @property
    def stamp(self) -> str:
        """As it is typed in a description: 0:00, 2:07."""
        return clock(self.second)


@dataclass(frozen=True, slots=True)
class _Part:
    start: float
    end: float
    titles: tuple[str, ...]
    kind: str


def title_of(row: Row) -> str:
    """A passage's title as a sentence has it: "SHARED TILES" -> "Shared tiles"."""
    words = (row.load().title or row.name.replace("-", " ")).capitalize()
    for name in NAMES:
        words = words.replace(name.lower(), name).replace(name.capitalize(), name)
    return words


def chapters(spans: Sequence[Span], rows: Sequence[Row], timeline: Timeline, fps: int) -> list[Chapter]:
    """The marks of a film, by the rules above; a passage that is too short joins a neighbour of its part of the song.

    It joins the one after it, which it leads to, unless only the one before it is of the same kind of part (a verse, a chorus).
    None where the film has too few passages for chapters.
    """
    parts = []
    for span, row in zip(spans, rows, strict=True):
        section = timeline.section_at(row.first_bar)
        end = (span.at + span.last - span.first) / fps
        parts.append(_Part(span.at / fps, end, (title_of(row),), section.kind if section else ""))
    while len(parts) > 1:
        short = next((k for k, part in enumerate(parts) if round(part.end) - round(part.start) < LEAST_SECONDS), None)
        if short is None:
            break
        first = short - 1 if short and _joins_before(parts, short) else short
        one, two = parts[first], parts[first + 1]
        kind = two.kind if first == short else one.kind
        parts[first : first + 2] = [_Part(one.start, two.end, (*one.titles, *two.titles), kind)]
    if len(parts) < LEAST_COUNT:
        return []
    return [Chapter(round(part.start), " · ".join(part.titles)) for part in parts]


def _joins_before(parts: Sequence[_Part], k: int) -> bool:
    last = k + 1 == len(parts)
    return last or (parts[k - 1].kind == parts[k].kind and parts[k + 1].kind != parts[k].kind)
