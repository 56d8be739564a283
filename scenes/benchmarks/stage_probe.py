"""One end of `stages`: draws windows of frames on request and says what each stage of the work cost.

Run as a file, with the tree to be measured on PYTHONPATH: it asks of that tree only the names that it wraps here.
Reads lines `SCENE FIRST LAST`, answers each with one line of JSON: CPU nanoseconds by stage, and the frames.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

STAGES = ("manim", "scene", "order", "transform", "ground", "raster", "bloom", "composite", "text", "yuv", "x264")
TICKS = {"build": "transform", "ground": "ground", "draw": "raster", "bloom": "bloom", "finish": "composite"}


class Watch:
    """CPU time of this thread by stage; `to` says what has just ended, `inside` takes a call's time out of its surroundings."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._last = time.thread_time_ns()

    def to(self, stage: str) -> None:
        now = time.thread_time_ns()
        self.spent[stage] += now - self._last
        self._last = now

    def inside(self, around: str, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            self.to(around)
            try:
                return function(*args, **kwargs)
            finally:
                self.to(stage)

        return timed


def wrap(watch: Watch) -> None:
    """Put the watch between the stages of the drawing and of the coding."""
    from scenes.render import encode
    from scenes.stage import raster
    from scenes.stage.passage import Passage

    render = raster.Raster.render

    def timed_render(self: Any, world: Any, camera: Any, out: Any, *args: Any) -> Any:
        watch.to("scene")
        result = render(self, world, camera, out, lambda step: watch.to(TICKS.get(step, step)))
        watch.to("composite")
        return result

    for owner, name, around, stage in (
        (raster, "painters_order", "transform", "order"),
        (Passage, "paint", "manim", "text"),
        (encode, "to_yuv709", "x264", "yuv"),
        (encode.Encoder, "write", "manim", "x264"),
    ):
        setattr(owner, name, watch.inside(around, stage, getattr(owner, name)))
    raster.Raster.render = timed_render  # type: ignore[assignment,method-assign]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quality", default="h")
    chosen = parser.parse_args()
    from audio import tracks
    from measure.dataset import Dataset
    from scenes import film
    from scenes.render.quality import QUALITIES
    from scenes.render.segment import Job, prepare, run

    quality, watch = QUALITIES[chosen.quality], Watch()
    specs, timeline = Dataset.open().specs, tracks.default().timeline
    rows = {row.name: row for row in film.FILM}
    with tempfile.TemporaryDirectory(prefix="stages-") as folder:
        prepare(Path(folder), quality)
        wrap(watch)
        for line in sys.stdin:
            name, first, last = line.split()
            target, beside = Path(folder) / "window.mp4", film.neighbours(rows[name]) if hasattr(film, "neighbours") else ()
            job = Job(rows[name], int(first), int(last), quality, specs, timeline, target, *beside)
            gc.collect()
            watch.spent.clear()
            begun: list[int] = []

            def tell(frames: int, begun: list[int] = begun) -> None:
                if not begun:  # the scene's set-up and the first frame are left out
                    watch.spent.clear()
                    begun.append(frames)

            run(job, tell)
            answer = {"frames": job.last - job.first - 1, "spent": dict(watch.spent)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
