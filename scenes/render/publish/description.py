"""The text that a film is posted with: what it is, its chapters, what was measured or published, and whom it credits.

Every figure in it is read from the measurements, as those on screen are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from audio import tracks
from audio.timeline_file import SUFFIX
from measure.dataset import Dataset
from scenes import film
from scenes.render.master import whole_file
from scenes.render.publish import notice
from scenes.render.publish.chapters import Chapter
from scenes.stage.claims import Figure, figure

LADDERS = ("gemm_fp32", "gemm_bf16", "attention")
TAGS = ("CUDA", "GPU", "roofline", "HPC", "DeepLearning", "manim")
LIMIT = 5000  # characters that YouTube takes (support.google.com/youtube/answer/57407)
MADE_WITH = "Drawn with Manim, NumPy and Numba"


def title() -> str:
    """The film's title, as its first passage has it."""
    return film.FILM[0].load().title.title()


def write(target: Path, data: Dataset, track: tracks.Track, chapters: Sequence[Chapter]) -> Path:
    """Write the description, whole or not at all."""
    with whole_file(target) as part:
        part.write_text(text(data, track, chapters), encoding="utf-8")
    return target


def text(data: Dataset, track: tracks.Track, chapters: Sequence[Chapter]) -> str:
    """The description as plain text; its first two lines stand alone, as players show them before one asks for more."""
    blocks = [[title(), *_opening(data)]]
    if chapters:
        blocks.append(["Chapters", *(f"{chapter.stamp} {chapter.title}" for chapter in chapters)])
    blocks += [
        [heading(data), *measured(data)],
        ["Credits", *credits(track)],
        [" ".join(f"#{tag}" for tag in TAGS)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _opening(data: Dataset) -> Iterator[str]:
    told, device = "How a GPU kernel climbs the roofline, one idea at a time.", data.device.name
    if data.run is None:
        yield f"{told} Its figures were published for the {device} by others; the screen says so."
    else:
        yield f"{told} Its figures, and most of its motion, were measured on the {device}; what was not says so on screen."


def heading(data: Dataset) -> str:
    """What the lines under it are: figures that were measured, figures that were published, or some of each."""
    climbs = [climb(data, name)[1] for name in LADDERS]
    server = data.all_reduce()
    measured_here = {data.run is not None, *(best.source == "measured" for best in climbs if best)}
    measured_here |= {server.run is not None} if server else set()
    if len(measured_here) == 2:
        return "What was measured, and what was published"
    return "What was measured" if measured_here == {True} else "What was published"


def measured(data: Dataset) -> Iterator[str]:
    """GPU, driver and date; of every ladder its first and its best rung."""
    run, device = data.run, data.device
    parts = [device.name, *([f"{device.sm_count.value:.0f} SMs"] if device.sm_count else [])]
    if run is None:
        yield ", ".join([*parts, "every figure published or from the datasheet"])
    else:
        parts += [f"driver {run.driver}"] if run.driver else []
        yield ", ".join([*parts, *([f"CUDA {run.cuda_driver}"] if run.cuda_driver else []), run.date[:10]])
    for name in LADDERS:
        (first, best), owned = climb(data, name), data.ladder(name)
        if first and best and owned:
            yield f"{owned.value.title}, {owned.value.dtype}: {first.numeral} to {best.text} ({best.source})"
    server = data.all_reduce()
    if server is not None:
        yield f"all-reduce: {server.device.name} ({'published' if server.run is None else 'measured'})"


def climb(data: Dataset, ladder: str) -> tuple[Figure | None, Figure | None]:
    """The slowest-standing first rung with a rate and the fastest, as figures; None where the ladder has no rate."""
    owned = data.ladder(ladder)
    if owned is None:
        return None, None
    rated = [
        rung for rung in owned.value.rungs
        if rung.rate is not None and (rung.verification is None or rung.verification.passed)
    ]  # fmt: skip
    if not rated:
        return None, None
    best = max(rated, key=lambda rung: rung.rate.value if rung.rate else 0.0)
    return _rate(data, ladder, rated[0].name), _rate(data, ladder, best.name)


def _rate(data: Dataset, ladder: str, rung: str) -> Figure | None:
    reading = data.get(f"ladders.{ladder}.rungs.{rung}.rate")
    return None if reading is None else figure(reading, 2 if reading.quantity.value < 1 else 1)


def credits(track: tracks.Track) -> Iterator[str]:
    """Song, voice, letters, what it was drawn with, the book: what NOTICE asks for, and what belongs to this film."""
    name, song = track.path.stem, track.timeline.title
    if name in tracks.names():
        yield f"Song: {song}, composed and synthesised by the project"
        if not name.endswith("-instrumental"):
            yield "Voice: " + "; ".join(credit.text for credit in notice.credits(notice.SUNG))
    else:
        yield f"Song: {song}"
        if not track.path.with_name(name + SUFFIX).is_file():
            yield "Beats found with: " + "; ".join(credit.text for credit in notice.credits(notice.HEARD))
    yield "Letters: " + "; ".join(credit.text for credit in notice.credits(notice.SHOWN))
    yield MADE_WITH
    books = {row.load().chapter.partition(", Ch.")[0] for row in film.FILM} - {""}
    yield from (f"Chapter references are to the book {book}" for book in sorted(books))
