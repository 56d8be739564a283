"""One segment drawn: a passage played by Manim through a window of frames, each handed to the encoder as it is finished."""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audio.timeline import Timeline
from measure.dataset import Dataset
from measure.errors import MeasureError
from scenes.film import Row
from scenes.render.errors import RenderError
from scenes.render.quality import Quality
from scenes.stage.claims import Claim

Sink = Callable[[NDArray[np.uint8]], None]


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs to draw frames `first` to `last` (exclusive) of the film; `target` ends in .mp4, or .png for a still.

    `specs` are measurement files by absolute path; `before` and `after` are the rows next to this one, for the transitions.
    Everything in it can be pickled.
    """

    row: Row
    first: int
    last: int
    quality: Quality
    specs: tuple[str, ...]
    timeline: Timeline
    target: Path
    before: Row | None = None
    after: Row | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """What came of a job: digests of the readings, claims, CPU seconds in all and within the drawing, peak memory in bytes."""

    reads: dict[str, str]
    claims: tuple[Claim, ...]
    seconds: float
    peak_memory: int


def prepare(folder: Path, quality: Quality) -> None:
    """Set Manim up in this process: quiet, its files in `folder`, nothing read from or written to the caller's folder."""
    os.chdir(folder)  # before the import: Manim reads a manim.cfg where it stands
    from manim import config
    from manim.scene import scene

    # Manim's progress bars, though unseen, share a semaphore between processes, which a killed process would leave behind.
    scene.tqdm.set_lock(threading.RLock())  # type: ignore[attr-defined]
    config.verbosity = "ERROR"
    config.progress_bar = "none"
    config.disable_caching = True
    config.dry_run = True  # Manim's own writer makes no media; the frames go to the sink
    config.seed = 0
    config.media_dir = str(folder / "media")
    config.text_dir, config.tex_dir = str(folder / "texts"), str(folder / "tex")
    config.pixel_width, config.pixel_height, config.frame_rate = quality.width, quality.height, quality.fps


def play(job: Job, sink: Sink) -> tuple[dict[str, str], tuple[Claim, ...]]:
    """Play a job's frames through Manim into a sink, in order; the array handed over is only valid during the call.

    Returns the digests of the measured values that were read, by key, and the claims that were made.
    """
    from scenes.render.renderer import FrameRenderer
    from scenes.stage.passage import Context, Window
    from scenes.stage.type import sprite

    dataset = Dataset.open(job.specs)
    context = Context.of(dataset, job.timeline, job.row, job.before, job.after)
    passage = job.row.load()(context, Window(job.first, job.last), renderer=FrameRenderer(sink))
    passage.render()
    sprite.cache_clear()  # texts of one scene: a counter's every figure, megabytes each at 4K
    return {key: reading_digest(dataset, key) for key in sorted(dataset.reads)}, passage.log.claims


def run(job: Job, tell: Callable[[int], None]) -> Drawn:
    """Draw a job's frames into its target; `tell` hears how many are done.  Raises what a scene raises, and RenderError."""
    start, done = time.process_time(), 0

    def counted(sink: Sink) -> Sink:
        def count(pixels: NDArray[np.uint8]) -> None:
            nonlocal done
            sink(pixels)
            done += 1
            tell(done)

        return count

    if job.target.suffix == ".png":
        reads, claims = play(job, counted(lambda pixels: _save_png(pixels, job.target)))
    else:
        from scenes.render.encode import Encoder

        with Encoder(job.target, job.quality) as encoder:
            reads, claims = play(job, counted(encoder.write))
    if done != job.last - job.first:
        raise RenderError(f"{job.row.name}: drew {done} frames, expected {job.last - job.first}")
    return Drawn(reads, claims, time.process_time() - start, peak_memory())


def reading_digest(dataset: Dataset, key: str) -> str:
    """Digest of the value that one key has now; a key that can no longer be read has its own."""
    try:
        return dataset.fingerprint([key])[:20]
    except MeasureError as error:
        return f"unreadable: {error}"


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _save_png(pixels: NDArray[np.uint8], target: Path) -> None:
    from PIL import Image

    Image.fromarray(np.ascontiguousarray(pixels[..., :3])).save(target)
