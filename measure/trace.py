"""The recordings that drive motion: which index each thread computed, which SM ran each block and when, how a warp divides."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from kernels.launch import load_function
from kernels.traces import probes
from measure.device import Hardware
from measure.errors import VerificationError
from measure.records import DivergenceTrace, IndexTrace, LaunchTrace, Quantity
from measure.timing import Plan, Stopwatch, summarise

INDEX_BLOCKS, INDEX_THREADS, INDEX_N = 8, 32, 250
BLOCKS_PER_SM = 2
WAVES = 3.5
MOST_BLOCKS = 1000
BLOCK_SECONDS = 40e-6
DIVERGENCE_SPLIT = 16
DIVERGENCE_WORK = 500
REPEATS = 21
LANES = 32
Floats = np.ndarray[tuple[int], np.dtype[np.float32]]


def index_trace() -> IndexTrace:
    """What every thread of a small grid wrote, -1 where the guard kept it out.  Raises VerificationError if it is wrong."""
    import cupy

    function = load_function(probes.INDEX, "trace_index")
    out = cupy.full(INDEX_BLOCKS * INDEX_THREADS, -1, cupy.int32)
    function((INDEX_BLOCKS,), (INDEX_THREADS,), (out, np.int32(INDEX_N)))
    values = tuple(int(value) for value in out.get())
    if values != tuple(i if i < INDEX_N else -1 for i in range(len(values))):
        raise VerificationError("the index kernel wrote something else than each thread's own number")
    return IndexTrace(INDEX_BLOCKS, INDEX_THREADS, INDEX_N, values)


def blocks_to_trace(sm_count: int) -> int:
    """Blocks of the traced launch: three and a half waves, fewer on a GPU of many SMs, so that each can be drawn."""
    half_waves = min(int(2 * WAVES), max(2, 2 * MOST_BLOCKS // (sm_count * BLOCKS_PER_SM)))
    return max(1, half_waves * sm_count * BLOCKS_PER_SM // 2)


def launch_trace(hardware: Hardware) -> LaunchTrace:
    """Start, end and SM of every block of one launch, the second of two so that nothing is loaded meanwhile."""
    import cupy

    # shared memory keeps the number of blocks an SM holds at once where every GPU can have it
    shared = min(hardware.shared_optin, hardware.shared_per_sm // BLOCKS_PER_SM - 1024) // 1024 * 1024
    function = load_function(probes.LAUNCH, "trace_launch", shared)
    blocks, threads = blocks_to_trace(hardware.sm_count), probes.LAUNCH_THREADS
    generator = cupy.random.default_rng(3)
    x = generator.random(blocks * threads, dtype=cupy.float32)
    sm, start, end = cupy.empty(blocks, cupy.uint32), cupy.empty(blocks, cupy.uint64), cupy.empty(blocks, cupy.uint64)

    def run(work: int) -> None:
        function((blocks,), (threads,), (x, np.int32(work), sm, start, end), shared_mem=shared)

    def block_seconds() -> float:
        return float(np.median((end - start).get())) * 1e-9

    trial = 20_000
    run(trial)
    run(trial)
    work = max(1000, int(trial * BLOCK_SECONDS / block_seconds()))
    begin = x.copy()
    run(work)
    x[:] = begin
    run(work)
    _check_work(begin.get(), x.get(), work)
    starts, ends = start.get().astype(np.int64), end.get().astype(np.int64)
    first = int(starts.min())
    sms = [int(number) for number in sm.get()]
    return LaunchTrace(
        blocks=blocks,
        threads=threads,
        kernel=f"{threads} threads a block, {work} dependent multiply-adds each",
        sm=tuple(sms),
        start_ns=tuple(int(value) - first for value in starts),
        end_ns=tuple(int(value) - first for value in ends),
        tick_ns=timer_tick(),
        duration=Quantity(float(ends.max() - first), "ns", "measured", reference="first start to last end, global timer"),
        launch_latency=launch_latency(),
        blocks_per_sm=Quantity(
            most_at_once(sms, starts.tolist(), ends.tolist()), "", "measured", reference="most blocks on one SM at one time"
        ),
    )


def _check_work(before: Floats, after: Floats, work: int) -> None:
    power = 0.999**work
    expected = power * before.astype(np.float64) + 0.5 * (1 - power) / 0.001
    if not np.all(np.abs(after - expected) <= 0.01 * np.abs(expected)):
        raise VerificationError("the traced launch did not do its work")


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


def timer_tick() -> Quantity:
    """The step of the global timer in ns: the median of the differences that one thread saw."""
    import cupy

    count = 512
    out = cupy.empty(count, cupy.uint64)
    load_function(probes.LAUNCH, "timer_ticks")((1,), (1,), (out, np.int32(count)))
    steps = np.diff(out.get().astype(np.int64))
    return summarise([float(step) for step in steps], "ns", "differences of the global timer as one thread saw it")


def launch_latency() -> Quantity:
    """Seconds from asking for an empty kernel to knowing that it is done, as the host's clock has it."""
    import cupy

    empty = load_function(probes.LAUNCH, "empty")
    stream = cupy.cuda.get_current_stream()
    samples = []
    for _ in range(200):
        began = time.perf_counter()
        empty((1,), (1,), ())
        stream.synchronize()
        samples.append(time.perf_counter() - began)
    return summarise(samples[50:], "s", "launch and wait for an empty kernel, host clock")


def divergence_trace(watch: Stopwatch) -> DivergenceTrace:
    """When each lane ran its side of one `if`, the median run of several by its length, against the undivided twin."""
    import cupy

    function = load_function(probes.DIVERGENCE, "trace_divergence")
    before, start, end = (cupy.empty(LANES, cupy.int64) for _ in range(3))

    def run(split: int) -> tuple[list[int], list[int]]:
        x = cupy.full(LANES, 0.5, cupy.float32)
        function((1,), (LANES,), (x, np.int32(split), np.int32(DIVERGENCE_WORK), before, start, end))
        first = int(before.get().min())
        return [int(value) - first for value in start.get()], [int(value) - first for value in end.get()]

    def warm() -> None:
        run(LANES)

    watch.warm_up(warm, Plan(warm=0.05))
    divided = sorted((run(DIVERGENCE_SPLIT) for _ in range(REPEATS)), key=lambda lanes: max(lanes[1]))
    undivided = sorted((run(LANES) for _ in range(REPEATS)), key=lambda lanes: max(lanes[1]))
    starts, ends = divided[REPEATS // 2]
    words = f"{DIVERGENCE_WORK} dependent multiply-adds a side, from before the branch to the last lane's end"
    cycles = summarise([float(max(lanes[1])) for lanes in divided], "cycles", words)
    uniform = summarise([float(max(lanes[1])) for lanes in undivided], "cycles", words.replace("a side", "on one side"))
    return DivergenceTrace(
        condition=f"threadIdx.x < {DIVERGENCE_SPLIT}",
        start=tuple(starts),
        end=tuple(ends),
        cycles=cycles,
        uniform_cycles=uniform,
        slowdown=Quantity(cycles.value / uniform.value, "", "measured", reference="divided over undivided cycles"),
    )
