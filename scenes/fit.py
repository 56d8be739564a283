"""The film laid over another track: how many of its bars each scene gets, so that the cuts fall where the music changes.

The cost of a layout is the sum over the scenes of (bars - best)^2 / best, best being the scene's share of the track, and of a
price for each cut that falls on no section of the song, less where it falls on every fourth bar. The cheapest layout is found
by dynamic programming over (scene, bar): exact, and in the end a few million steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil

from audio import tracks
from audio.timeline import Timeline, TimelineError
from scenes import film
from scenes.film import Row

OFF_SECTION = 2.0  # price of a cut inside of a section
OFF_FOUR = (0.0, 1.5, 0.75, 1.5)  # further price of one that is not a multiple of four bars into it, by bars beyond one
LEAST, MOST = 0.5, 6.0  # of what a scene is written for: in bars of four beats, the least also in seconds


@dataclass(frozen=True, slots=True)
class Room:
    """Fewest, best and most bars of a scene."""

    least: int
    best: float
    most: int


def over(names: Sequence[str], timeline: Timeline) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The rows of these scenes on a track, all where none is named, and the whole order of rows that they stand in.

    The film is laid over a track that has not the bars and parts of its own song. On one that is too short for the whole film,
    scenes that are named have the track to themselves. Raises UnknownSceneError, TimelineError.
    """
    order, own = film.order_with(names), tracks.default().timeline
    whole = not names or any(name in film.BESIDE for name in names)
    chosen = order if whole else tuple(row for row in order if row.name in names)
    if order is not film.FILM or same_form(timeline, own):
        return chosen, order
    try:
        order = lay(order, timeline, own.bpm)
    except TimelineError:
        if whole:
            raise
        order = lay(chosen, timeline, own.bpm)
    return (order if whole else tuple(row for row in order if row.name in names)), order


def same_form(a: Timeline, b: Timeline) -> bool:
    """Whether two tracks have the same bars and sections, so that what is written for one fits the other."""
    parts = [[(section.first_bar, section.bars) for section in timeline.sections] for timeline in (a, b)]
    return a.downbeats == b.downbeats and parts[0] == parts[1]


def lay(rows: Sequence[Row], timeline: Timeline, bpm: float) -> tuple[Row, ...]:
    """The rows, written for a song of this tempo, over all bars of a track.

    Raises TimelineError where it has too few of them, or too many.
    """
    written = [row.written or row.bars for row in rows]
    rooms = rooms_of(written, timeline, bpm)
    fewest, most = sum(room.least for room in rooms), sum(room.most for room in rooms)
    if not fewest <= timeline.bars <= most:
        far = "short" if timeline.bars < fewest else "long"
        bar = (timeline.beats[timeline.downbeats[-1]] - timeline.beats[timeline.downbeats[0]]) / timeline.bars
        lasts = f"at least {clock(ceil(fewest * bar - 1e-6))}" if far == "short" else f"at most {clock(int(most * bar + 1e-6))}"
        raise TimelineError(
            f"{timeline.title!r} is too {far} for the film: expected {fewest} to {most} bars, found {timeline.bars}: "
            f"give it {lasts} at {timeline.bpm:.0f} BPM, render some of its scenes by name, or give another track"
        )
    lengths = solve(rooms, timeline.bars, prices(timeline))
    firsts = accumulate((1, *lengths))
    return tuple(
        replace(row, first_bar=first, bars=bars, written=own)
        for row, first, bars, own in zip(rows, firsts, lengths, written, strict=False)
    )


def clock(seconds: int) -> str:
    """Minutes and seconds, 1:50."""
    return f"{seconds // 60}:{seconds % 60:02d}"


def rooms_of(written: Sequence[int], timeline: Timeline, bpm: float) -> list[Room]:
    """The room of each scene on a track: the best is its share of all bars, as they are written.

    The least is half of its written bars, or of its written time where a slow track needs fewer bars for that.
    """
    beats = timeline.downbeats[-1] - timeline.downbeats[0]
    four = 4.0 * timeline.bars / beats  # bars of the track to a bar of four beats
    slow = (timeline.beats[timeline.downbeats[-1]] - timeline.beats[timeline.downbeats[0]]) * bpm / (60.0 * beats)
    share = timeline.bars / sum(written)
    return [
        Room(max(1, round(own * LEAST * four / max(slow, 1.0))), own * share, max(2, int(own * MOST * max(four, 1.0))))
        for own in written
    ]


def prices(timeline: Timeline) -> list[float]:
    """What a cut before each bar costs, by bars from 0; a song of unknown parts is counted in fours from its start."""
    out = []
    starts = sorted(section.first_bar - 1 for section in timeline.sections) or [0]
    for bar in range(timeline.bars + 1):
        within = bar - max((start for start in starts if start <= bar), default=0)
        known = bool(timeline.sections)
        out.append(0.0 if known and within == 0 else OFF_SECTION * known + OFF_FOUR[within % 4])
    return out


def solve(rooms: Sequence[Room], bars: int, cut_prices: Sequence[float]) -> list[int]:
    """The cheapest lengths that add up to `bars`; of equals the one whose earlier scenes are shorter.

    `cut_prices[b]` is the price of a cut after `b` bars; the track's own ends cost nothing.
    """
    costs: list[dict[int, float]] = [{0: 0.0}]
    chosen: list[dict[int, int]] = []
    for k, room in enumerate(rooms):
        reached: dict[int, float] = {}
        took: dict[int, int] = {}
        for at, so_far in costs[-1].items():
            for length in range(room.least, min(room.most, bars - at) + 1):
                end = at + length
                price = cut_prices[end] if k < len(rooms) - 1 else 0.0
                cost = so_far + deviation(room, length) + price
                if cost < reached.get(end, float("inf")) - 1e-12:
                    reached[end], took[end] = cost, length
        costs.append(reached)
        chosen.append(took)
    if bars not in costs[-1]:
        raise ValueError(f"{len(rooms)} scenes cannot fill {bars} bars")
    lengths, at = [], bars
    for took in reversed(chosen):
        lengths.append(took[at])
        at -= took[at]
    return lengths[::-1]


def deviation(room: Room, length: int) -> float:
    """What it costs that a scene has another length than its best."""
    return (length - room.best) ** 2 / room.best
