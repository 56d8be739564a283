"""What launching costs: empty kernels, one to many of them back to back, by the host's clock and by the GPU's own.

Three different things are called launch overhead.  *Submit*: how long the host is busy asking for a launch (here from Python,
through CuPy).  *Wait*: from asking to knowing that the last one is done, over their number.  *Queued*: how fast the GPU gets
through launches that are waiting for it already, between two events behind a kernel that keeps it busy meanwhile.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from kernels.launch import load_function
from kernels.traces import probes
from measure.records import Measurements, Series, Sweep
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import summarise

COUNTS = tuple(1 << shift for shift in range(10))  # the driver's queue holds about a thousand launches
REPEATS = 21
REPEATS_QUICK = 5
HEADROOM = 3  # the blocking kernel lasts so many times as long as submitting what waits behind it
TRIAL = 20_000


def collect(bench: Bench) -> Raw:
    """Seconds of the host's asking, of asking and waiting, and of the GPU's own way through, by number of launches."""
    import cupy

    empty = load_function(probes.LAUNCH, "empty")
    stream = cupy.cuda.get_current_stream()
    blocker = _Blocker(bench.watch.seconds)

    def submit(count: int) -> float:
        began = time.perf_counter()
        for _ in range(count):
            empty((1,), (1,), ())
        return time.perf_counter() - began

    def waited(count: int) -> tuple[float, float]:
        stream.synchronize()
        began = time.perf_counter()
        spent = submit(count)
        stream.synchronize()
        return spent, time.perf_counter() - began

    def queued(count: int, submitting: float) -> float:
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        blocker.run(HEADROOM * submitting)
        start.record()
        submit(count)
        stop.record()
        late = start.done  # the GPU was free before the host had asked for all: not a queue's rate
        stop.synchronize()
        seconds = float(cupy.cuda.get_elapsed_time(start, stop)) * 1e-3
        return -1.0 if late else seconds

    for _ in range(REPEATS):
        waited(COUNTS[3])
    found: dict[str, dict[str, list[float]]] = {"submit": {}, "wait": {}, "queued": {}}
    for count in COUNTS:
        pairs = [waited(count) for _ in range(REPEATS_QUICK if bench.quick else REPEATS)]
        found["submit"][str(count)] = [spent for spent, _ in pairs]
        found["wait"][str(count)] = [whole for _, whole in pairs]
        longest = max(spent for spent, _ in pairs)
        found["queued"][str(count)] = [one for one in (queued(count, longest) for _ in pairs) if one >= 0]
    bench.step("launches")
    return {"seconds": found}


class _Blocker:
    """A kernel of one block that keeps the GPU busy for about as long as it is asked to."""

    def __init__(self, seconds: Any) -> None:
        import cupy

        self._function = load_function(probes.LAUNCH, "trace_launch")
        self._x = cupy.zeros(probes.LAUNCH_THREADS, cupy.float32)
        self._written = (cupy.zeros(1, cupy.uint32), cupy.zeros(1, cupy.uint64), cupy.zeros(1, cupy.uint64))
        self._work(TRIAL)
        self._a_step = seconds(lambda: self._work(TRIAL)) / TRIAL

    def run(self, seconds: float) -> None:
        """Enqueue it, at least for a tenth of a millisecond."""
        self._work(int(max(seconds, 1e-4) / self._a_step))

    def _work(self, steps: int) -> None:
        self._function((1,), (probes.LAUNCH_THREADS,), (self._x, np.int32(steps), *self._written))


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The sweep: seconds a launch in each of the three senses."""
    series = []
    for name, (title, words) in TITLES.items():
        values = {
            count: summarise([one / int(count) for one in samples], "s", words)
            for count, samples in raw["seconds"][name].items()
            if samples
        }
        if values:
            series.append(Series(name, title, values))
    sweep = Sweep(
        title="Launches back to back",
        parameter="launches",
        unit="",
        kernel="an empty kernel of one thread, launched from Python through CuPy on one stream",
        series=tuple(series),
        reference="time over the number of launches",
    )
    return replace(found, sweeps={**found.sweeps, "launches": sweep})


TITLES = {
    "submit": ("Host: asking", "host clock around the calls"),
    "wait": ("Host: asking and waiting", "host clock from the first call to knowing that the last is done"),
    "queued": ("GPU: from its queue", "events around launches that wait behind a busy GPU"),
}

SUBJECT = Subject(
    name="launches",
    title="What a launch costs",
    key="sweeps.launches",
    sources=(probes.LAUNCH.source,),
    collect=collect,
    record=record,
)
