"""How a kernel is timed: warm by time, hot and cold, until the median is known well enough, with the clock it ran at.

- *hot*: launches back to back, as many to a sample as fill 10 ms, between two CUDA events; a sample is the time of one.
- *cold*: single launches, twice the size of L2 overwritten before each, outside of the events.
- Sampling stops once the median is known to half a percent, or after a time limit; nothing is ever thrown away.
- Kernels that are compared take turns in shuffled rounds, so that a GPU that grows hot slows all of them.
- Two reads of every SM's cycle counter and of the global timer bracket each round: the clock is measured, not asked for.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from measure.device import Hardware
from measure.records import Quantity

Run = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure.  Times in seconds; `precision` is the relative standard error of the median to reach."""

    warm: float = 0.3
    sample: float = 0.010
    samples: int = 10
    total: float = 0.5
    limit: float = 15.0
    precision: float = 0.005
    rounds: int = 3
    cold: int = 9


FULL = Plan()
QUICK = Plan(warm=0.05, sample=0.002, samples=5, total=0.02, limit=2.0, precision=0.05, rounds=1, cold=3)


@dataclass(slots=True)
class Timing:
    """Seconds a launch, hot and cold, the SM clock in MHz of every round, and what held it down."""

    hot: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    clocks: list[float] = field(default_factory=list)
    reasons: set[str] = field(default_factory=set)

    @property
    def clock(self) -> Quantity | None:
        """The clock it ran at; None where the timer was too coarse to tell."""
        return summarise(self.clocks, "MHz", reference="cycles over nanoseconds on every SM") if self.clocks else None


def summarise(samples: Sequence[float], unit: str, reference: str = "") -> Quantity:
    """Median and quartiles of measured samples.  Raises ValueError without samples."""
    if not samples:
        raise ValueError("no samples to summarise")
    ordered = sorted(samples)
    low, high = (ordered[0], ordered[-1])
    if len(ordered) > 1:
        low, _, high = statistics.quantiles(ordered, n=4, method="inclusive")
    return Quantity(statistics.median(ordered), unit, "measured", low, high, len(ordered), reference)


def median_error(samples: Sequence[float]) -> float:
    """Relative standard error of the median: 1.2533 s / (sqrt(n) median), the large-sample value for normal noise."""
    if len(samples) < 2:
        return math.inf
    middle = statistics.median(samples)
    return 1.2533 * statistics.stdev(samples) / (math.sqrt(len(samples)) * middle) if middle > 0 else math.inf


def enough(samples: Sequence[float], spent: float, plan: Plan) -> bool:
    """The stop rule: enough samples, enough time and a median that is known well enough, or the time limit."""
    if spent >= plan.limit and len(samples) >= 3:
        return True
    return len(samples) >= plan.samples and spent >= plan.total and median_error(samples) <= plan.precision


def launches_a_sample(seconds: float, plan: Plan) -> int:
    """How many launches of this length fill one sample."""
    return max(1, math.ceil(plan.sample / seconds)) if seconds > 0 else 1


class Stopwatch:
    """Times work on the current GPU.  Needs CuPy."""

    def __init__(self, hardware: Hardware) -> None:
        import cupy

        from kernels.launch import load_function
        from kernels.roofs.probes import CLOCK

        self._cupy: Any = cupy
        self._sms = hardware.sm_count
        self._read_clocks = load_function(CLOCK, "read_clocks")
        self._flush = cupy.empty(max(2 * hardware.l2_size, 1 << 20), dtype=cupy.uint8)

    def seconds(self, run: Run, launches: int = 1) -> float:
        """GPU seconds of one of `launches` launches back to back."""
        event, runtime = self._cupy.cuda.Event, self._cupy.cuda
        start, stop = event(), event()
        start.record()
        for _ in range(launches):
            run()
        stop.record()
        stop.synchronize()
        return float(runtime.get_elapsed_time(start, stop)) * 1e-3 / launches

    def warm_up(self, run: Run, plan: Plan) -> float:
        """Run for a while; returns the shortest time of one launch."""
        best, spent = math.inf, 0.0
        while spent < plan.warm:
            seconds = self.seconds(run)
            best, spent = min(best, seconds), spent + max(seconds, 1e-5)
        return best

    def hot(self, run: Run, plan: Plan) -> list[float]:
        """Samples until the stop rule is met."""
        launches = launches_a_sample(self.warm_up(run, plan), plan)
        samples: list[float] = []
        spent = 0.0
        while not enough(samples, spent, plan):
            samples.append(self.seconds(run, launches))
            spent += samples[-1] * launches
        return samples

    def cold(self, run: Run, count: int) -> list[float]:
        """Single launches with L2 overwritten before each."""
        samples = []
        for index in range(count):
            self._flush.fill(index & 0xFF)
            samples.append(self.seconds(run))
        return samples

    @contextmanager
    def clock_into(self, clocks: list[float]) -> Iterator[None]:
        """Append the SM clock in MHz over what runs inside, if it ran long enough for the timer's step."""
        before = self._clocks()
        yield
        after = self._clocks()
        rates = [
            (after[sm][0] - cycles) / (after[sm][1] - nanoseconds) * 1e3
            for sm, (cycles, nanoseconds) in before.items()
            if sm in after and after[sm][1] - nanoseconds > 1e6 and after[sm][0] > cycles
        ]
        if rates:
            clocks.append(statistics.median(rates))

    def _clocks(self) -> dict[int, tuple[int, int]]:
        xp = self._cupy
        sm, cycles, nanoseconds = (xp.empty(self._sms, dtype) for dtype in (xp.uint32, xp.uint64, xp.uint64))
        self._read_clocks((self._sms,), (1,), (sm, cycles, nanoseconds))
        return {int(s): (int(c), int(n)) for s, c, n in zip(sm.get(), cycles.get(), nanoseconds.get(), strict=True)}


def time_all(
    watch: Stopwatch,
    runs: Mapping[str, Run],
    plan: Plan,
    done: Callable[[str], None],
    seed: int = 1,
    reasons: Callable[[], Iterable[str]] = lambda: (),
) -> dict[str, Timing]:
    """Time several kernels in shuffled rounds; `done(name)` is called after each turn, `reasons()` right after its samples."""
    order, shuffler = list(runs), random.Random(seed)
    timings = {name: Timing() for name in runs}
    share = Plan(
        warm=plan.warm / plan.rounds,
        sample=plan.sample,
        samples=-(-plan.samples // plan.rounds),
        total=plan.total / plan.rounds,
        limit=plan.limit / plan.rounds,
        precision=plan.precision * math.sqrt(plan.rounds),
        rounds=1,
        cold=-(-plan.cold // plan.rounds),
    )
    for _ in range(plan.rounds):
        shuffler.shuffle(order)
        for name in order:
            timing = timings[name]
            with watch.clock_into(timing.clocks):
                timing.hot.extend(watch.hot(runs[name], share))
                timing.reasons.update(reasons())
            timing.cold.extend(watch.cold(runs[name], share.cold))
            done(name)
    return timings
