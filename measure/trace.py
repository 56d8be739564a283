"""The recordings that drive motion: which index each thread computed, which SM ran each block and when, how a warp divides."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernels.launch import load_function
from kernels.traces import probes
from measure.device import Hardware
from measure.errors import VerificationError
from measure.records import DivergenceTrace, IndexTrace, LaunchTrace, Measurements, Quantity
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import Plan, Stopwatch, summarise

INDEX_BLOCKS, INDEX_THREADS, INDEX_N = 8, 32, 250
BLOCKS_PER_SM = 2
WAVES = 3.5
MOST_BLOCKS = 1000
BLOCK_SECONDS = 40e-6
DIVERGENCE_SPLIT = 16
DIVERGENCE_WORK = 500
LAUNCH_CHAIN = (0.9999, 0.5)  # factor and offset of the traced kernels' multiply-adds
DIVERGENCE_CHAINS = ((0.999, 0.5), (0.998, -0.5))
UNWRITTEN = np.uint32(0xFFFFFFFF)
REPEATS = 21
LANES = 32
TICKS = 512
LAUNCHES, LAUNCHES_UNCOUNTED = 200, 50
Floats = np.ndarray[tuple[int], np.dtype[np.float32]]


def collect_index(bench: Bench) -> Raw:
    """What every thread of a small grid wrote, -1 where the guard kept it out.  Raises VerificationError if it is wrong."""
    import cupy

    function = load_function(probes.INDEX, "trace_index")
    out = cupy.full(INDEX_BLOCKS * INDEX_THREADS, -1, cupy.int32)
    function((INDEX_BLOCKS,), (INDEX_THREADS,), (out, np.int32(INDEX_N)))
    values = [int(value) for value in out.get()]
    if values != [i if i < INDEX_N else -1 for i in range(len(values))]:
        raise VerificationError("the index kernel wrote something else than each thread's own number")
    bench.step("index trace")
    return {"values": values}


def record_index(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The index trace."""
    trace = IndexTrace(INDEX_BLOCKS, INDEX_THREADS, INDEX_N, tuple(raw["values"]))
    return replace(found, traces=replace(found.traces, index=trace))


def blocks_to_trace(sm_count: int) -> int:
    """Blocks of the traced launch: three and a half waves, fewer on a GPU of many SMs, so that each can be drawn."""
    half_waves = min(int(2 * WAVES), max(2, 2 * MOST_BLOCKS // (sm_count * BLOCKS_PER_SM)))
    return max(1, half_waves * sm_count * BLOCKS_PER_SM // 2)


def collect_launch(bench: Bench) -> Raw:
    """Start, end and SM of every block of one launch, the second of two so that nothing is loaded meanwhile."""
    import cupy

    hardware = bench.hardware
    shared = shared_bytes(hardware)
    function = load_function(probes.LAUNCH, "trace_launch", shared)
    blocks, threads = blocks_to_trace(hardware.sm_count), probes.LAUNCH_THREADS
    generator = cupy.random.default_rng(3)
    x = generator.random(blocks * threads, dtype=cupy.float32)
    sm, start, end = cupy.full(blocks, UNWRITTEN, cupy.uint32), cupy.zeros(blocks, cupy.uint64), cupy.zeros(blocks, cupy.uint64)

    def run(work: int) -> None:
        function((blocks,), (threads,), (x, np.int32(work), sm, start, end), shared_mem=shared)

    def block_seconds() -> float:
        return float(np.median((end - start).get())) * 1e-9

    trial = 20_000
    run(trial)
    run(trial)
    work = max(1000, int(trial * BLOCK_SECONDS / max(block_seconds(), 1e-9)))
    begin = x.copy()
    run(work)
    x[:] = begin
    run(work)
    check_chain(begin.get(), x.get(), work, *LAUNCH_CHAIN)
    check_blocks(sm.get(), start.get(), end.get())
    raw: Raw = {
        "blocks": blocks,
        "work": work,
        "sm": [int(one) for one in sm.get()],
        "start": [int(one) for one in start.get()],
        "end": [int(one) for one in end.get()],
        "ticks": _ticks(),
        "empty_seconds": _empty_launches(),
    }
    bench.step("launch trace")
    return raw


def shared_bytes(hardware: Hardware) -> int:
    """Shared memory of a traced block: keeps the number of blocks an SM holds at once where every GPU can have it."""
    return min(hardware.shared_optin, hardware.shared_per_sm // BLOCKS_PER_SM - 1024) // 1024 * 1024


def record_launch(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The launch trace, times from the earliest start."""
    first = min(raw["start"])
    starts, ends = [one - first for one in raw["start"]], [one - first for one in raw["end"]]
    threads = probes.LAUNCH_THREADS
    most = most_at_once(raw["sm"], starts, ends)
    steps = [float(step) for step in np.diff(np.array(raw["ticks"], np.int64))]
    trace = LaunchTrace(
        blocks=raw["blocks"],
        threads=threads,
        kernel=f"{threads} threads a block, {raw['work']} dependent multiply-adds each",
        sm=tuple(raw["sm"]),
        start_ns=tuple(starts),
        end_ns=tuple(ends),
        tick_ns=summarise(steps, "ns", "differences of the global timer as one thread saw it"),
        duration=Quantity(float(max(ends)), "ns", "measured", reference="first start to last end, global timer"),
        launch_latency=summarise(raw["empty_seconds"], "s", "launch and wait for an empty kernel, host clock"),
        blocks_per_sm=Quantity(most, "", "measured", reference="most blocks on one SM at one time"),
    )
    return replace(found, traces=replace(found.traces, launch=trace))


def check_chain(before: Floats, after: Floats, steps: int, factor: float, offset: float) -> None:
    """Compare `steps` times x -> factor x + offset with its closed form in float64.  Raises VerificationError.

    A multiply-add rounds once, by at most 2^-24 of its result, and is forgotten by the factor: the sum of what is left of all
    roundings is below min(steps, 1 / (1 - factor)) x 2^-24 of the largest number of the chain, its first or its last.
    """
    factor, offset = float(np.float32(factor)), float(np.float32(offset))
    power, first = factor**steps, before.astype(np.float64)
    exact = power * first + offset * (1 - power) / (1 - factor)
    bound = min(steps, 1 / (1 - factor)) * 2.0**-24 * np.maximum(np.abs(exact), np.abs(first))
    if not np.all(np.abs(after - exact) <= bound):
        raise VerificationError("the traced kernel did not do its work")


def check_blocks(sm: Any, start: Any, end: Any) -> None:
    """Every block wrote its SM and its times.  Raises VerificationError."""
    if np.any(sm == UNWRITTEN) or np.any(start == 0) or np.any(end < start):
        raise VerificationError("a block of the traced launch did not write its SM or its times")


def most_at_once(sms: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> int:
    """The most blocks that were on one SM at one time; a block that ends as another starts has made room for it."""
    began = [(time_ns, 1, sm) for time_ns, sm in zip(starts, sms, strict=True)]
    ended = [(time_ns, 0, sm) for time_ns, sm in zip(ends, sms, strict=True)]
    now: dict[int, int] = {}
    most = 0
    for _, starting, sm in sorted(began + ended):
        now[sm] = now.get(sm, 0) + (1 if starting else -1)
        most = max(most, now[sm])
    return most


def _ticks() -> list[int]:
    """Different values of the global timer as one thread saw them, from the first."""
    import cupy

    out = cupy.empty(TICKS, cupy.uint64)
    load_function(probes.LAUNCH, "timer_ticks")((1,), (1,), (out, np.int32(TICKS)))
    values = out.get()
    return [int(one) for one in values - values[0]]


def _empty_launches() -> list[float]:
    """Seconds from asking for an empty kernel to knowing that it is done, as the host's clock has it."""
    import cupy

    empty = load_function(probes.LAUNCH, "empty")
    stream = cupy.cuda.get_current_stream()
    samples = []
    for _ in range(LAUNCHES):
        began = time.perf_counter()
        empty((1,), (1,), ())
        stream.synchronize()
        samples.append(time.perf_counter() - began)
    return samples[LAUNCHES_UNCOUNTED:]


def collect_divergence(bench: Bench) -> Raw:
    """When each lane ran its side of one `if`, and of an undivided twin, again and again; results checked every time."""
    import cupy

    function = load_function(probes.DIVERGENCE, "trace_divergence")
    before, start, end = (cupy.empty(LANES, cupy.int64) for _ in range(3))

    def run(split: int) -> dict[str, list[int]]:
        x = cupy.full(LANES, 0.5, cupy.float32)
        function((1,), (LANES,), (x, np.int32(split), np.int32(DIVERGENCE_WORK), before, start, end))
        check_sides(x.get(), split)
        first = int(before.get().min())
        return {"start": [int(value) - first for value in start.get()], "end": [int(value) - first for value in end.get()]}

    _warm_up(bench.watch, run)
    raw: Raw = {
        "divided": [run(DIVERGENCE_SPLIT) for _ in range(REPEATS)],
        "undivided": [run(LANES) for _ in range(REPEATS)],
    }
    bench.step("divergence trace")
    return raw


def _warm_up(watch: Stopwatch, run: Any) -> None:
    watch.warm_up(lambda: run(LANES), Plan(warm=0.05))


def check_sides(after: Floats, split: int) -> None:
    """Both sides' chains from 0.5 against their closed forms.  Raises VerificationError."""
    halves = np.full(LANES, 0.5, np.float32)
    for lanes, chain in zip((slice(0, split), slice(split, LANES)), DIVERGENCE_CHAINS, strict=True):
        check_chain(halves[lanes], after[lanes], DIVERGENCE_WORK, *chain)


def record_divergence(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The divergence trace: the median run of several by its length, against the undivided twin."""

    def length(lanes: dict[str, list[int]]) -> int:
        return max(lanes["end"])

    divided, undivided = sorted(raw["divided"], key=length), sorted(raw["undivided"], key=length)
    middle = divided[len(divided) // 2]
    words = f"{DIVERGENCE_WORK} dependent multiply-adds a side, from before the branch to the last lane's end"
    cycles = summarise([float(length(lanes)) for lanes in divided], "cycles", words)
    uniform = summarise([float(length(lanes)) for lanes in undivided], "cycles", words.replace("a side", "on one side"))
    trace = DivergenceTrace(
        condition=f"threadIdx.x < {DIVERGENCE_SPLIT}",
        start=tuple(middle["start"]),
        end=tuple(middle["end"]),
        cycles=cycles,
        uniform_cycles=uniform,
        slowdown=Quantity(cycles.value / uniform.value, "", "measured", reference="divided over undivided cycles"),
    )
    return replace(found, traces=replace(found.traces, divergence=trace))


INDEX = Subject(
    name="index",
    title="Which index each thread computes",
    key="traces.index",
    sources=(probes.INDEX.source,),
    collect=collect_index,
    record=record_index,
)
LAUNCH = Subject(
    name="launch",
    title="Which SM runs each block, and when",
    key="traces.launch",
    sources=(probes.LAUNCH.source,),
    collect=collect_launch,
    record=record_launch,
)
DIVERGENCE = Subject(
    name="divergence",
    title="When each lane of a divided warp runs",
    key="traces.divergence",
    sources=(probes.DIVERGENCE.source,),
    collect=collect_divergence,
    record=record_divergence,
)
