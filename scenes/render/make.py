"""From a request to a film: what is drawn already comes from the cache, the rest is drawn, and all is joined with the sound."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from audio.decode import decode, slice_seconds, to_array
from audio.timeline import Timeline
from audio.tracks import Track
from measure.dataset import Dataset
from scenes import film
from scenes.film import Row
from scenes.render import claims_file, master, why
from scenes.render.cache import Cache, Entry, Lookup
from scenes.render.content import parts
from scenes.render.errors import RenderError, RequestError
from scenes.render.plan import Segment, plan
from scenes.render.pool import Finished, Progress, compiled, cores, draw
from scenes.render.progress import Reporter, Silent
from scenes.render.quality import Quality
from scenes.render.segment import Job
from scenes.stage.claims import merge
from scenes.stage.clock import Clock
from scenes.stage.stretch import BEATS

if TYPE_CHECKING:
    from pydub import AudioSegment

FREED_TOLD = 10_000_000  # bytes: less is not worth a line
FADE = 10  # milliseconds over which a slice of the track fades at a cut that is not one of the track's own ends


@dataclass(frozen=True, slots=True)
class Request:
    """What to render from what: `rows` in the order of the film, `order` the whole film that they stand in.

    `sound` is the track's where it has been decoded, so that the beats were heard in what the film plays.
    """

    rows: tuple[Row, ...]
    quality: Quality
    dataset: Dataset
    track: Track
    order: tuple[Row, ...] = film.FILM
    sound: AudioSegment | None = None

    @property
    def timeline(self) -> Timeline:
        """The track's timeline, with cues that can go to another process."""
        return replace(self.track.timeline, cues=dict(self.track.timeline.cues))


@dataclass(frozen=True, slots=True)
class Report:
    """What a render made: seconds by the clock, frames in the film and drawn now, CPU seconds of the drawing.

    `peaks` is the most memory that each process which drew has held, in bytes.
    """

    film: Path
    claims: Path
    frames: int
    drawn: int
    seconds: float
    cpu_seconds: float
    peaks: tuple[int, ...]

    @property
    def peak_memory(self) -> int:
        """The most that one process has held, in bytes; 0 where nothing was drawn."""
        return max(self.peaks, default=0)


@dataclass(frozen=True, slots=True)
class Titles:
    """What viewers read: the film's title, and by scene its chapter's."""

    film: str
    scenes: Mapping[str, str]


def survey(request: Request, cache: Cache) -> list[Lookup]:
    """The segments of a request, each with what the cache has for it and why."""
    timeline = request.timeline
    return [
        cache.look_up(segment, request.quality, parts(segment, timeline, request.quality, request.order), request.dataset)
        for segment in plan(request.rows, timeline, request.quality)
    ]


def make(
    request: Request, target: Path, cache: Cache | None = None, workers: int | None = None, reporter: Reporter | None = None,
    titles: Titles | None = None,
) -> Report:  # fmt: skip
    """Render a film and the claims beside it.  Raises RequestError for what cannot be met, RenderError for what failed.

    Every segment is kept as soon as it is drawn, so that a render that was stopped goes on from there. Without `titles` the
    film is called as its song, and its chapters as its scenes.
    """
    start = time.monotonic()
    target = target.absolute()
    if target.suffix.lower() != ".mp4":
        raise RequestError(f"{target}: the film is an mp4: name a file that ends in .mp4")
    master.check_target(target)
    cache = cache or Cache()
    with reporter or Silent() as told, cache.scratch() as scratch:
        lookups = survey(request, cache)
        for line in why.lines(lookups):
            told.say(line)
        told.start([lookup.segment for lookup in lookups], [lookup.entry is not None for lookup in lookups])
        entries, work = _draw_missing(request, lookups, cache, scratch, workers or cores(), told)
        told.say("joining segments and sound")
        spans = claims_file.spans_of(lookup.segment for lookup in lookups)
        named = titles or Titles(request.track.timeline.title, {})
        chapters = [
            master.Chapter(named.scenes.get(span.scene, span.scene), span.at, span.at + span.last - span.first)
            for span in spans
        ]
        pieces = [master.Piece(entry.video, entry.frames) for entry in entries]
        sound = sound_under(request, [(span.first, span.last) for span in spans])
        metadata = {"title": named.film, "comment": f"figures from {', '.join(names(request.dataset))}"}
        frames = master.write_film(target, pieces, sound, request.quality.fps, chapters, metadata)
    claims = merge(claim for entry in entries for claim in entry.claims)
    beside = claims_file.write(target, request.quality, spans, request.dataset, request.track, claims)
    freed = cache.shrink()
    if freed > FREED_TOLD:
        told.say(f"{freed / 1e9:.1f} GB that were not used for longest have left the cache")
    peaks = {event.worker: event.drawn.peak_memory for event in work}  # a process's peak only grows: its last is its highest
    return Report(
        target, beside, frames, sum(lookup.segment.frames for lookup in lookups if lookup.entry is None),
        time.monotonic() - start, sum(event.drawn.seconds for event in work), tuple(peaks[key] for key in sorted(peaks)),
    )  # fmt: skip


def still(request: Request, bar: int, beat: float, target: Path, cache: Cache | None = None) -> int:
    """Write one frame of a scene as PNG and return its number in the film; bars and beats count from 1 inside of the scene."""
    row, timeline = request.rows[0], request.timeline
    clock, bars = Clock.of(timeline, row, request.quality.fps), row.written or row.bars
    if not 1 <= bar <= bars or not clock.moment(bar) <= clock.moment(bar, beat) < clock.moment(bar + 1):
        raise RequestError(
            f"{row.name} bar {bar} beat {beat:g}: the scene has bars 1 to {bars} of {beats_in(row, timeline)} beats"
        )
    frame = min(clock.frame(clock.moment(bar, beat)), clock.end - 1)
    draw_frame(request, frame, target, cache)
    return frame


def draw_frame(request: Request, frame: int, target: Path, cache: Cache | None = None) -> None:
    """Write one frame of a request's first scene, by its number in the film, as PNG.  Raises RequestError, RenderError."""
    row = request.rows[0]
    clock = Clock.of(request.timeline, row, request.quality.fps)
    if not clock.start <= frame < clock.end:
        raise RequestError(f"{row.name} has frames {clock.start} to {clock.end - 1}, no frame {frame}")
    if target.suffix.lower() != ".png":
        raise RequestError(f"{target}: a still is a PNG: name a file that ends in .png")
    master.check_target(target)
    store = cache or Cache()
    with store.scratch() as scratch, master.whole_file(target.absolute()) as part:
        shot = scratch / "still.png"
        shots = draw([_job(request, Segment(row, 1, 1, frame, frame + 1), shot)], request.quality, 1, scratch)
        for _ in _traced(shots, store.root / "last-error.txt"):
            pass
        part.write_bytes(shot.read_bytes())


def beats_in(row: Row, timeline: Timeline) -> str:
    """Beats of a scene's bars: "4", or "3 to 4" where they differ."""
    if row.written:
        return f"{BEATS}"
    counts = sorted({timeline.beats_in(bar) for bar in range(row.first_bar, row.first_bar + row.bars)})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def names(dataset: Dataset) -> list[str]:
    """Names of a data set's files, without their folders."""
    return [Path(spec).stem for spec in dataset.specs]


def _job(request: Request, segment: Segment, target: Path) -> Job:
    return Job(
        segment.row, segment.first, segment.last, request.quality, request.dataset.specs, request.timeline, target,
        *film.neighbours(segment.row, request.order),
    )  # fmt: skip


def _draw_missing(
    request: Request, lookups: Sequence[Lookup], cache: Cache, scratch: Path, workers: int, told: Reporter
) -> tuple[list[Entry], list[Finished]]:
    """Every lookup's entry, those that were missing drawn now, and what their drawing took."""
    found = {index: lookup.entry for index, lookup in enumerate(lookups) if lookup.entry is not None}
    missing = [index for index in range(len(lookups)) if index not in found]
    jobs = [_job(request, lookups[index].segment, scratch / f"segment-{index}.mp4") for index in missing]
    work: list[Finished] = []
    if jobs and not compiled():
        told.say("the drawing code is compiled first, once: about half a minute")
    for event in _traced(draw(jobs, request.quality, workers, scratch), cache.root / "last-error.txt"):
        lookup = lookups[missing[event.index]]
        if isinstance(event, Finished):
            done = event.drawn
            video = jobs[event.index].target
            found[missing[event.index]] = cache.store(
                lookup.segment, request.quality, lookup.parts, video, done.reads, done.claims
            )
            work.append(event)
            told.frames(lookup.segment, lookup.segment.frames)
        else:
            told.frames(lookup.segment, event.frames)
    if len(found) != len(lookups):
        raise RenderError(f"{len(lookups) - len(found)} segments were not drawn")
    return [found[index] for index in range(len(lookups))], work


def _traced(events: Iterator[Progress | Finished], path: Path) -> Iterator[Progress | Finished]:
    """The same events; where a scene raised, its whole traceback goes to a file that the error names."""
    try:
        yield from events
    except RenderError as error:
        if not error.trace:
            raise
        path.write_text(error.trace, encoding="utf-8")
        raise RenderError(f"{error}; the whole trace is in {path}", error.trace) from None


def sound_under(request: Request, spans: Sequence[tuple[int, int]]) -> NDArray[np.int16]:
    """The track's sound under some spans of frames, (n, 2) int16 at 48 kHz, one span after the other."""
    fps, track = request.quality.fps, request.sound if request.sound is not None else decode(request.track.path)
    end = round(request.track.timeline.duration * fps)
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        joined = [*joined[:-1], (joined[-1][0], last)] if joined and joined[-1][1] == first else [*joined, (first, last)]
    pieces = []
    for first, last in joined:
        piece = slice_seconds(track, first / fps, last / fps)
        piece = piece if first == 0 else piece.fade_in(FADE)
        pieces.append(to_array(piece if last >= end else piece.fade_out(FADE)))
    return np.concatenate(pieces)
