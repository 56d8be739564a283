"""A scene, or a film, as a file in any format; as a loop where that is asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scenes.render import claims_file, make, master, plan
from scenes.render.cache import Cache
from scenes.render.errors import RequestError
from scenes.render.progress import Reporter
from scenes.render.publish import encode
from scenes.render.publish.alpha import StageFrames
from scenes.render.publish.formats import FORMATS, Format
from scenes.render.publish.frames import FilmFrames, Frames, Loop
from scenes.render.publish.progress import told
from scenes.stage.clock import Clock

WIPED = 0.25  # bars of a scene's end over which its start is wiped, where it is made a loop: a beat


def convert(
    request: make.Request, form: Format, target: Path, looped: bool, workers: int | None = None,
    reporter: Reporter | None = None,
) -> int:  # fmt: skip
    """Write what was asked for as a file of a format and return its number of frames.

    A loop is silent and has no transitions; coverage (`mov-alpha`) is of one scene, drawn by itself.  Raises RequestError for
    what cannot be met, RenderError for what failed.
    """
    target = target.absolute()
    _check(request, form, target, looped)
    if looped:
        request = wordless(by_itself(request))
    with _frames(request, form, workers, reporter) as source:
        frames: Frames = Loop(source, overlap(request)) if looped else source
        sound = None if looped or not form.sound else _sound(request)
        with told(f"writing {target.name}", frames.count) as tell:
            return encode.write(frames, sound, form, target, tell)


def by_itself(request: make.Request) -> make.Request:
    """The same scenes, each with a plain start and end."""
    plain = {row: replace(row, transition=None) for row in request.order}
    return replace(request, rows=tuple(plain[row] for row in request.rows), order=tuple(plain.values()))


def wordless(request: make.Request) -> make.Request:
    """The same scenes without the lyric line: what is silent shows no sung words."""
    track = request.track
    return replace(request, track=replace(track, timeline=replace(track.timeline, lines=())))


def overlap(request: make.Request) -> int:
    """Frames of a scene's end over which its start is wiped: the last beat."""
    row, fps = request.rows[0], request.quality.fps
    clock, bars = Clock.of(request.timeline, row, fps), row.written or row.bars
    last = clock.moment(bars)
    return max(1, clock.end - clock.frame(last + (clock.beats - last) * WIPED))


@contextlib.contextmanager
def _frames(request: make.Request, form: Format, workers: int | None, reporter: Reporter | None) -> Iterator[Frames]:
    """The frames as the format needs them: with coverage from the stage, else from a film that is drawn, or cached, first."""
    if form.alpha:
        yield StageFrames(request)
        return
    cache = Cache()
    with cache.scratch() as folder:
        made = make.make(request, folder / "film.mp4", cache, workers, reporter)
        yield FilmFrames(made.film, made.frames, request.quality.fps, (request.quality.width, request.quality.height))


def _sound(request: make.Request) -> NDArray[np.int16]:
    spans = claims_file.spans_of(plan.plan(request.rows, request.timeline, request.quality))
    frames = sum(span.last - span.first for span in spans)
    samples = np.zeros((master.samples_of(frames, request.quality.fps), 2), np.int16)
    heard = make.sound_under(request, [(span.first, span.last) for span in spans])[: len(samples)]
    samples[: len(heard)] = heard
    return samples


def _check(request: make.Request, form: Format, target: Path, looped: bool) -> None:
    one = len(request.rows) == 1
    if looped and not one:
        raise RequestError(f"a loop is of one scene, not of {len(request.rows)}: name the one")
    if form.alpha and not one:
        raise RequestError(f"{FORMATS['mov-alpha'].name} is of one scene, not of {len(request.rows)}: name the one")
    master.check_target(target)
