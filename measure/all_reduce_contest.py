"""All-reduces among some ranks against each other: verify, find each one's best grid, time in shuffled rounds, verify again.

What the ranks are, GPUs or parts of one, is the group's business; nothing here needs a GPU.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kernels.all_reduce.algorithms import THREADS, algorithm, tolerance
from measure import verify
from measure.all_reduce_check import Verdict
from measure.subject import Raw
from measure.timing import Plan
from measure.wording import size_words

NCCL = "nccl"
ODD_COUNTS = (1, 3, 5, 31, 127, 1023, 4099, 65_539)
"""Values a rank of the small calls that must come out right too."""

SAMPLE = 0.004
MOST_CALLS = 48
"""Seconds of a sample, and calls of one: more would wait in the queue than it is sure to hold."""

FIRST, SECOND = 1, 2
"""Seeds of the inputs before and after timing: a result that was kept from before is wrong afterwards."""


class Ranks(Protocol):
    """Some ranks that can all-reduce.  `blocks` is the grid a rank; a library chooses its own and has one shape only, 0."""

    ranks: int

    def load(self, count: int, seed: int) -> None:
        """New inputs on all ranks, and what they add up to."""

    def shapes(self, name: str, count: int) -> Sequence[int]:
        """Grids worth trying."""

    def check(self, name: str, count: int, blocks: int) -> Verdict:
        """Poison all outputs, run once and look."""

    def seconds(self, name: str, count: int, blocks: int, calls: int) -> float:
        """Seconds of one of `calls` calls back to back, on the slowest rank."""

    def soak(self, name: str, count: int, blocks: int) -> bool:
        """Several calls in the queue at once, each with new data: whether each gives what it gives alone."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is measured: which algorithms, at which sizes in bytes a rank, how thoroughly."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    plan: Plan


def hold(group: Ranks, wanted: Wanted, step: Callable[[str], None]) -> list[Raw]:
    """One row an algorithm and size.  `step` is called once a size.

    An algorithm that is wrong at an odd size or when its calls overlap is not timed at all; one that is wrong at a size is not
    timed there.  Raises MeasureError where ranks wait for each other in vain.
    """
    sound = {name: small_right(group, name) for name in wanted.names}
    rows = []
    shuffler = random.Random(group.ranks)
    for size in wanted.sizes:
        count = size // 4
        group.load(count, FIRST)
        shapes = {name: _default(group.shapes(name, count)) for name in wanted.names}
        before = {name: group.check(name, count, shapes[name]) for name in wanted.names}
        running = [name for name in wanted.names if sound[name] and right(name, group.ranks, before[name])]
        quickest = {}
        for name in running:
            shapes[name], quickest[name] = fastest(group, name, count)
        samples: dict[str, list[float]] = {name: [] for name in wanted.names}
        for _ in range(wanted.plan.rounds):
            shuffler.shuffle(running)
            for name in running:
                calls = calls_a_sample(quickest[name], min(wanted.plan.sample, SAMPLE))
                for _ in range(-(-wanted.plan.samples // wanted.plan.rounds)):
                    samples[name].append(group.seconds(name, count, shapes[name], calls))
        group.load(count, SECOND)
        after = {name: group.check(name, count, shapes[name]) for name in running}
        for name in wanted.names:
            rows.append(
                {
                    "algorithm": name,
                    "ranks": group.ranks,
                    "bytes": size,
                    "blocks": shapes[name],
                    "threads": THREADS if name != NCCL else 0,
                    "odd_sizes": sound[name],
                    "tolerance": allowed(name, group.ranks),
                    "error": _json(judged(name, before[name])),
                    "error_after": _json(judged(name, after.get(name, before[name]))),
                    "samples": samples[name],
                }
            )
        step(f"{group.ranks} ranks, {size_words(size)}")
    return rows


def small_right(group: Ranks, name: str) -> bool:
    """Whether small calls of odd sizes are right, and calls that follow each other at once with new data."""
    for seed, count in enumerate(ODD_COUNTS):
        group.load(count, seed)
        if not right(name, group.ranks, group.check(name, count, _default(group.shapes(name, count)))):
            return False
    return group.soak(name, ODD_COUNTS[-1], _default(group.shapes(name, ODD_COUNTS[-1])))


def right(name: str, ranks: int, verdict: Verdict) -> bool:
    """Whether a call gave what it must: the sum, and from ours the same bits on every rank."""
    return verify.passes(judged(name, verdict), allowed(name, ranks))


def judged(name: str, verdict: Verdict) -> float:
    """The error that counts: infinite where one of our algorithms gave the ranks different bits, which a library may."""
    return verdict.error if name == NCCL and verdict.kept else verdict.worst


def allowed(name: str, ranks: int) -> float:
    """The largest error that counts as right."""
    return tolerance(None if name == NCCL else algorithm(name), ranks)


def fastest(group: Ranks, name: str, count: int) -> tuple[int, float]:
    """The grid that is fastest by the shorter of two single calls each, and its seconds."""
    tried = [
        (min(group.seconds(name, count, blocks, calls) for calls in (1, 2)), blocks) for blocks in group.shapes(name, count)
    ]
    seconds, blocks = min(tried)
    return blocks, seconds


def calls_a_sample(seconds: float, sample: float) -> int:
    """How many calls of this length fill one sample."""
    return min(max(1, math.ceil(sample / seconds)), MOST_CALLS) if seconds > 0 else 1


def _default(shapes: Sequence[int]) -> int:
    return max(shapes)


def _json(error: float) -> float | None:
    """JSON has no infinity: None stands for an output that was not finite, differed between ranks or ran over its end."""
    return error if math.isfinite(error) else None
