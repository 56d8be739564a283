"""The results of a measurement file, one by one: what two files are compared by.

A figure counts as a result when it was measured with a spread: a roof, a rung's rate back to back and with a cold L2, a
vendor's line, a latency in cycles, a value of a sweep, the cycles of a trace, the time of an all-reduce.
Left out is what repeats another figure (a time beside its rate, nanoseconds beside cycles, bandwidths and speed-ups worked out
from a rate), what describes the machine (clocks, sizes, ticks), and hardware counters.  Told beside the results, and not
counted, are published and datasheet figures, single readings, and what a launch costs: that is the host's and its bus's as much
as the GPU's.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from measure.records import AllReduce, Ladder, Measurements, Quantity

REPEATS = ("time",)
"""Series of a sweep that repeat the samples of another series in another unit."""

OF_HOST = ("sweeps.launches.", "traces.launch.launch_latency")
"""What a launch costs."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One result: its key in the file, the quantity, raw samples in its unit where they were kept, and what it depends on.

    `condition` is the problem or kernel of the figure: figures of different conditions cannot be compared."""

    key: str
    quantity: Quantity
    samples: tuple[float, ...] = ()
    condition: str = ""

    @property
    def subject(self) -> str:
        """The part of the file that it belongs to."""
        return ".".join(self.key.split(".")[: 2 if self.key.startswith(("ladders.", "sweeps.", "traces.")) else 1])

    @property
    def counts(self) -> bool:
        """Whether it is a result of the GPU: measured, with quartiles of several samples."""
        of_gpu = not self.key.startswith(OF_HOST)
        return of_gpu and self.quantity.source == "measured" and self.quantity.low is not None and (self.quantity.n or 0) > 1

    @property
    def less_is_better(self) -> bool:
        """Whether it is a time."""
        return self.quantity.unit in ("s", "ns", "cycles")


def figures(found: Measurements) -> dict[str, Figure]:
    """Every figure of a file that another file may have too, by its key, in the file's order."""
    return {figure.key: figure for figure in _all(found) if figure.quantity.value > 0}


def _all(found: Measurements) -> Iterator[Figure]:
    for name, roof in found.roofs.items():
        if roof.best is not None:
            yield Figure(f"roofs.{name}", roof.best, roof.samples if roof.best is roof.measured else ())
    for name, latency in found.latencies.items():
        yield Figure(f"latencies.{name}.cycles", latency.cycles)
    for name, ladder in found.ladders.items():
        yield from _ladder(f"ladders.{name}", ladder)
    for name, sweep in found.sweeps.items():
        titles = [series.name for series in sweep.series]
        for series in sweep.series:
            if series.name in REPEATS and len(titles) > 1:
                continue
            for point, quantity in series.values.items():
                yield Figure(f"sweeps.{name}.series.{series.name}.values.{point}", quantity, condition=sweep.kernel)
    launch, divergence = found.traces.launch, found.traces.divergence
    if launch is not None and launch.launch_latency is not None:
        yield Figure("traces.launch.launch_latency", launch.launch_latency)
    if divergence is not None:
        yield Figure("traces.divergence.cycles", divergence.cycles, condition=divergence.condition)
        yield Figure("traces.divergence.uniform_cycles", divergence.uniform_cycles, condition=divergence.condition)
    for name, shared in (("all_reduce", found.all_reduce), ("virtual_all_reduce", found.virtual_all_reduce)):
        if shared is not None:
            yield from _all_reduce(name, shared)


def _ladder(key: str, ladder: Ladder) -> Iterator[Figure]:
    for rung in ladder.rungs:
        if rung.rate is not None:
            yield Figure(f"{key}.rungs.{rung.name}.rate", rung.rate, _rates(rung.rate, rung.samples), ladder.problem)
        if rung.time_cold is not None:
            yield Figure(f"{key}.rungs.{rung.name}.time_cold", rung.time_cold, rung.samples_cold, ladder.problem)
    for line in ladder.lines:
        yield Figure(f"{key}.lines.{line.name or line.title}.rate", line.rate, _rates(line.rate, line.samples), ladder.problem)


def _rates(rate: Quantity, seconds: tuple[float, ...]) -> tuple[float, ...]:
    """Seconds turned into rates whose median is the recorded one."""
    if not seconds or min(seconds) <= 0:
        return ()
    middle = statistics.median(seconds)
    return tuple(rate.value * middle / second for second in seconds)


def _all_reduce(name: str, found: AllReduce) -> Iterator[Figure]:
    for run in found.runs:
        key = f"{name}.runs.{run.algorithm}.{run.bytes.value:.0f}.time"
        yield Figure(key, run.time, condition=f"{found.gpus.value:.0f} ranks")
