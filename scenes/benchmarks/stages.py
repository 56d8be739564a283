"""Where each millisecond of a frame goes: CPU ms by stage and passage, of this tree and, alternating with it, of another.

    python -m scenes.benchmarks.stages [--against REF] [--quality h] [--frames 24] [--scene NAME ...]

A run of frames from every two bars, now from their start, now from their end, is drawn and coded as in a render, in one process
a tree. With --against, the tree of a git ref is checked out beside this one and the two draw each run in turn, because a
machine's speed drifts. What is counted is CPU time, so that other work on the machine disturbs little. The stages: Manim's own
share; `scene`, the passage's numpy; `order`, who hides whom; `transform`, projection and records; `ground`, `raster`, `bloom`
and `composite`, the pixels; `text`; `yuv` and `x264`, the coding. What a segment's start and its first frame cost is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from audio import tracks
from scenes.benchmarks.stage_probe import STAGES
from scenes.film import FILM
from scenes.render.content import ROOT
from scenes.render.plan import choose, plan
from scenes.render.quality import QUALITIES
from scenes.render.report import table

PROBE = Path(__file__).with_name("stage_probe.py")
GOLDEN = (5**0.5 - 1) / 2  # its multiples, modulo one, fill the unit interval evenly
RATE = 60  # frames a second at which windows are counted


@dataclass(slots=True)
class Cost:
    """CPU nanoseconds by stage, and the frames that they went into."""

    spent: Counter[str] = field(default_factory=Counter)
    frames: int = 0

    def add(self, answer: dict[str, Any]) -> None:
        self.spent.update(answer["spent"])
        self.frames += answer["frames"]

    def of(self, stage: str) -> float:
        """CPU ms a frame."""
        return self.spent[stage] / max(self.frames, 1) / 1e6

    @property
    def total(self) -> float:
        return sum(self.of(stage) for stage in self.spent)


class Probe:
    """A process that draws with the code of one tree; a context manager."""

    def __init__(self, tree: Path, quality: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(PROBE), "--quality", quality],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def ask(self, scene: str, first: int, last: int) -> dict[str, Any]:
        """Draw frames `first` to `last` (exclusive) of the film.  Raises RuntimeError where the tree cannot."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(scene, first, last, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{scene}: the process that draws has ended with code {self._process.wait()}")
        found: dict[str, Any] = json.loads(answer)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.communicate()


@contextlib.contextmanager
def tree_of(ref: str) -> Iterator[Path]:
    """A checkout of a git ref, for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="stages-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "--detach", "--quiet", str(tree), ref], check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(tree)], check=True)


def windows(scenes: Sequence[str], frames: int) -> Iterator[tuple[str, int, int]]:
    """One from each two bars: scene, first frame, last frame (exclusive).  Their places in the bars are spread evenly."""
    timeline = tracks.default().timeline
    for number, segment in enumerate(plan(choose(scenes), timeline, QUALITIES["h"].at(RATE))):
        count = min(frames + 1, segment.frames)
        first = segment.first + round((number * GOLDEN + 0.5) % 1.0 * (segment.frames - count))
        yield segment.row.name, first, first + count


def measure(probes: Sequence[Probe], scenes: Sequence[str], frames: int) -> list[dict[str, Cost]]:
    """The cost of each scene by each probe, window by window in turn."""
    costs: list[dict[str, Cost]] = [{} for _ in probes]
    for name, first, last in windows(scenes, frames):
        for probe in probes:  # whatever is still to be compiled is compiled now
            probe.ask(name, first, first + 2)
            probe.ask(name, last - 2, last)
    for number, (name, first, last) in enumerate(windows(scenes, frames)):
        order = range(len(probes)) if number % 2 else range(len(probes) - 1, -1, -1)
        for k in order:
            costs[k].setdefault(name, Cost()).add(probes[k].ask(name, first, last))
    return costs


def whole(costs: dict[str, Cost]) -> Cost:
    """All scenes together; windows are alike in length and stand for two bars each, so that frames weigh alike."""
    result = Cost()
    for cost in costs.values():
        result.add({"spent": cost.spent, "frames": cost.frames})
    return result


def lines(title: str, costs: dict[str, Cost]) -> str:
    """The table of one tree."""
    named = {**costs, **({"film": whole(costs)} if len(costs) > 1 else {})}
    body = [(name, *(f"{cost.of(stage):.2f}" for stage in STAGES), f"{cost.total:.1f}") for name, cost in named.items()]
    head = (title, *STAGES, "total")
    return table(head, body, right=range(1, len(head)))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--against", metavar="REF", help="a git ref whose tree is measured too, alternating with this one")
    parser.add_argument("--quality", default="h", choices=sorted(QUALITIES))
    parser.add_argument("--frames", type=int, default=24, help="frames of each window that count")
    parser.add_argument("--scene", action="append", default=[], choices=[row.name for row in FILM])
    chosen = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        trees = [ROOT, *([stack.enter_context(tree_of(chosen.against))] if chosen.against else [])]
        probes = [stack.enter_context(Probe(tree, chosen.quality)) for tree in trees]
        costs = measure(probes, chosen.scene, chosen.frames)
    quality = QUALITIES[chosen.quality]
    print(f"CPU ms a frame at {quality.width}x{quality.height}, {quality.preset} crf {quality.crf}")
    titles = ["this tree", f"{chosen.against}"]
    for title, cost in reversed(list(zip(titles, costs, strict=False))):
        print("\n" + lines(title, cost))
    if chosen.against:
        now, before = (whole(cost).total for cost in costs)
        print(f"\n{before:.1f} -> {now:.1f} ms: {before / now:.2f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
