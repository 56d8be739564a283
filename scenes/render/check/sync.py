"""Picture and sound together: beat lamps and sung words, read from the frames, against beats and words of the track's sound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from audio.timeline import Word
from scenes.render import lamps
from scenes.render.check.film import Film
from scenes.render.check.outcome import Fault, Outcome
from scenes.render.errors import RenderError, RequestError
from scenes.stage.lyric import BASELINE, UNSUNG, places
from scenes.stage.palette import TEXT
from scenes.stage.type import DESIGN_HEIGHT, LYRIC, luminance, measure_text

SEEN = 0.15  # seconds around a word's start in which its lighting up is looked for
DIM, LIT = 0.75, 0.25  # how near a word's light has to come to its unsung and its sung level to count as seen


@dataclass(frozen=True, slots=True)
class Lighting:
    """A word of the lyric line: when it is sung, in seconds of the film, and its box (left, top, right, bottom) px."""

    word: Word
    at: float
    box: tuple[int, int, int, int]


def check(film: Film) -> Outcome:
    """Beats within half a frame and 2 ms, words likewise; sound as long as its pictures at its own place."""
    limit = 0.5 / film.fps + lamps.SLACK
    expected = f"every lamp and every sung word within half a frame and 2 ms ({limit * 1e3:.1f} ms) of the sound"
    try:
        result = lamps.check(film.path, film.track, film.spans, film.told)
    except (RenderError, RequestError) as error:
        return Outcome("sync", "Picture and sound", "lamps and beats do not match", expected, (Fault(str(error)),))
    faults = [] if result.passed else [Fault(f"a lamp is {result.worst * 1e3:.1f} ms from its beat")]
    if result.spread > lamps.SLACK or abs(result.offset) > lamps.SLACK:
        faults.append(Fault(f"the sound lies {result.offset * 1e3:+.1f} ms from its place, {result.spread * 1e3:.1f} ms apart"))
    errors = list(words(film))
    faults += [
        Fault(f"{light.word.text!r} lights up {error * 1e3:+.1f} ms from where it is sung", light.at)
        for light, error in errors
        if abs(error) > limit
    ]
    sizes = np.abs([error for _, error in errors]) * 1e3
    told = f"; {len(errors)} words: worst {sizes.max():.1f} ms, mean {sizes.mean():.1f} ms" if errors else ""
    asked = sum(1 for _ in lightings(film))
    note = (
        f"{asked - len(errors)} of {asked} words stand over a picture too bright to read them from"
        if asked > len(errors)
        else ""
    )
    return Outcome("sync", "Picture and sound", f"{result}{told}", expected, tuple(faults), note)


def lightings(film: Film) -> Iterator[Lighting]:
    """Every word that lights up while the film shows it."""
    scale = film.size[1] / DESIGN_HEIGHT
    top = round((BASELINE - measure_text("H", LYRIC, scale)[1] / scale) * scale)
    for line in film.track.timeline.lines:
        for word, left, width in places(line, scale):
            at = film.seconds(round(word.start * film.fps))
            if at is not None:
                box = (round(left * scale), top, round((left + width) * scale), round(BASELINE * scale))
                yield Lighting(word, at - round(word.start * film.fps) / film.fps + word.start, box)


def words(film: Film) -> Iterator[tuple[Lighting, float]]:
    """Each word whose lighting up is seen on the frames, with its error in seconds (late is positive)."""
    todo = list(lightings(film))
    reach = SEEN + 1.5 / film.fps
    spans = [(math.ceil((light.at - reach) * film.fps), math.floor((light.at + reach) * film.fps)) for light in todo]
    wanted = {frame for first, last in spans for frame in range(first, last + 1)}
    traces: list[list[tuple[float, float]]] = [[] for _ in todo]
    for number, luma in film.lumas(wanted):
        for light, (first, last), trace in zip(todo, spans, traces, strict=True):
            if first <= number <= last:
                trace.append((number / film.fps, ink(luma, light.box)))
    for light, trace in zip(todo, traces, strict=True):
        at = crossing(trace)
        if at is not None:
            yield light, at - light.at


def ink(luma: NDArray[np.uint8], box: tuple[int, int, int, int]) -> float:
    """Light of the letters in a box: the brightest tenth of its pixels, 0 for unsung and 1 for sung."""
    left, top, right, bottom = box
    grey = min(1.0, max(0.0, (float(np.percentile(luma[top:bottom, left:right], 90)) - 16.0) / 219.0))
    low, high = luminance(UNSUNG), luminance(TEXT)
    return (luminance((grey, grey, grey)) - low) / (high - low)


def crossing(trace: list[tuple[float, float]]) -> float | None:
    """The moment at which a rising curve of (seconds, level) passes half way; None where it is not seen dim and then lit."""
    if len(trace) < 2 or trace[0][1] > 1.0 - DIM or trace[-1][1] < 1.0 - LIT:
        return None
    for (t0, a), (t1, b) in pairwise(trace):
        if a < 0.5 <= b:
            return t0 + (t1 - t0) * (0.5 - a) / (b - a)
    return None
