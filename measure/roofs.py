"""The roofs, measured: FMA units, the SM's load path, L1, L2, DRAM read and copy.

Each probe proves its own work: the bandwidth probes add up what they read as integers, which must match to the bit; the FMA
probe's chains have a closed form.  Where the best launch shape is not known beforehand, a few are tried and the best is kept: a
roof is the most that was reached.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from kernels.launch import load_function
from kernels.roofs import probes
from kernels.sweeps import probes as streams
from measure.device import DATASHEETS, LANES, Hardware
from measure.errors import VerificationError
from measure.ladder_record import rounded
from measure.records import Measurements, Quantity, Roof
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import Plan, Run, Stopwatch, summarise

NAMES = ("fp32", "load_path", "l1", "l2", "dram", "dram_copy")
LAUNCH_SECONDS = 0.005
SHARED_BYTES_PER_CLOCK = 128  # 32 banks of 4 bytes
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Try:
    """One launch shape of a probe: `amount` is the FLOP or bytes of a launch, `check` raises VerificationError if wrong."""

    words: str
    run: Run
    amount: float
    check: Callable[[], None]


def collect(bench: Bench) -> Raw:
    """Seconds of every probe's best launch shape.  Raises VerificationError where a probe did not do its work."""
    hardware, watch, quick = bench.hardware, bench.watch, bench.quick
    clocks: list[float] = []
    tries: dict[str, Callable[[], Iterable[Try]]] = {
        "fp32": lambda: _fma(hardware, watch),
        "load_path": lambda: _tile("probe_shared", hardware, watch),
        "l1": lambda: _tile("probe_l1", hardware, watch),
        "l2": lambda: chain.from_iterable(_reads(hardware, watch, size) for size in _l2_sizes(hardware)),
        "dram": lambda: chain.from_iterable(_reads(hardware, watch, size) for size in _dram_sizes(hardware, quick)),
        "dram_copy": lambda: _copies(hardware, _dram_size(hardware, quick) // 2),
    }
    found: Raw = {}
    for name in NAMES:
        with watch.clock_into(clocks):
            amount, words, samples = _best(watch, tries[name](), bench.plan)
        found[name] = {"amount": amount, "words": words, "seconds": samples}
        _release()
        bench.step(f"roof {name}")
    return {"roofs": found, "clocks": clocks}


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The roofs with what the datasheet says and what units times width times clock gives."""
    roofs = dict(found.roofs)
    for name, one in raw["roofs"].items():
        math_roof = name == "fp32"
        rates = [one["amount"] / seconds / 1e12 for seconds in one["seconds"]]
        roofs[name] = Roof(
            title=TITLES[name],
            kind="math" if math_roof else "memory",
            measured=summarise(rates, "TFLOP/s" if math_roof else "TB/s", one["words"]),
            computed=_computed(name, context.hardware),
            datasheet=_datasheet(name, context.hardware),
            samples=rounded(rates),
        )
    return replace(found, roofs=roofs)


TITLES = {
    "fp32": "FMA units, fp32",
    "load_path": "SM load path (shared memory)",
    "l1": "L1 cache",
    "l2": "L2 cache",
    "dram": "Device memory, read",
    "dram_copy": "Device memory, copy (read + write)",
}


def _best(watch: Stopwatch, tries: Iterable[Try], plan: Plan) -> tuple[float, str, list[float]]:
    """The fastest shape by a few samples, then sampled in full and checked again."""
    ranked = []
    for shape in tries:
        shape.run()
        shape.check()
        watch.warm_up(shape.run, Plan(warm=plan.warm / 3))
        ranked.append((shape.amount / statistics.median(watch.seconds(shape.run) for _ in range(5)), shape))
    best = max(ranked, key=lambda pair: pair[0])[1]
    samples = watch.hot(best.run, plan)
    best.check()
    return best.amount, best.words, samples


def _computed(name: str, hardware: Hardware) -> Quantity | None:
    clock, lanes = hardware.clock * 1e6, LANES.get(hardware.capability)
    if name == "fp32" and lanes and clock:
        value, words = 2 * hardware.sm_count * lanes * clock / 1e12, f"2 x {hardware.sm_count} SMs x {lanes} lanes"
        return Quantity(value, "TFLOP/s", "derived", reference=f"{words} x {hardware.clock:.0f} MHz")
    if name == "load_path" and lanes and clock:  # an unknown capability may have another width
        value, words = hardware.sm_count * SHARED_BYTES_PER_CLOCK * clock / 1e12, f"{hardware.sm_count} SMs x 128 B"
        return Quantity(value, "TB/s", "derived", reference=f"{words} x {hardware.clock:.0f} MHz")
    if name == "dram" and hardware.memory_clock and hardware.bus:
        value = 2 * hardware.memory_clock * 1e6 * hardware.bus / 8 / 1e12
        return Quantity(value, "TB/s", "derived", reference=f"2 x {hardware.memory_clock:.0f} MHz x {hardware.bus} bit / 8")
    return None


def _datasheet(name: str, hardware: Hardware) -> Quantity | None:
    sheet = DATASHEETS.get(hardware.name)
    if sheet is None or name not in ("fp32", "dram"):
        return None
    if name == "fp32":
        return Quantity(sheet.fp32, "TFLOP/s", "datasheet", reference=sheet.reference)
    return Quantity(sheet.bandwidth, "TB/s", "datasheet", reference=sheet.reference)


def _rounds(watch: Stopwatch, run: Callable[[int], None]) -> int:
    """How many rounds of a probe's loop fill a launch."""
    run(16)
    seconds = watch.seconds(lambda: run(64)) / 64
    return max(64, math.ceil(LAUNCH_SECONDS / max(seconds, 1e-9)))


def chain_after(steps: int, factor: float, start: Any) -> Any:
    """What `steps` times x -> factor x + factor / 2 makes of `start`: the closed form of the FMA probe's chain, in float64."""
    power = factor**steps
    return power * start + 0.5 * factor * (1.0 - power) / (1.0 - factor)


def _fma(hardware: Hardware, watch: Stopwatch) -> Iterable[Try]:
    import cupy

    function = load_function(probes.FMA, "probe_fma")
    for per_sm in (4, 8):
        blocks = per_sm * hardware.sm_count
        out = cupy.empty(blocks * probes.FMA_THREADS, cupy.float32)

        def run(rounds: int, factor: float = 0.999, blocks: int = blocks, out: Any = out) -> None:
            function((blocks,), (probes.FMA_THREADS,), (out, np.float32(factor), np.int32(rounds)))

        rounds = _rounds(watch, run)
        steps = rounds * probes.FMA_UNROLL
        # a chain forgets its start after 1 / (1 - factor) steps; this factor lets the count of steps show in the result
        factor = float(np.float32(1.0 - 1.0 / steps))

        def check(out: Any = out, steps: int = steps, factor: float = factor) -> None:
            starts = np.arange(probes.FMA_THREADS)[:, None] + np.arange(probes.FMA_CHAINS)[None, :]
            expected = chain_after(steps, factor, starts.astype(np.float64)).sum(axis=1)
            got = out.get().reshape(-1, probes.FMA_THREADS).astype(np.float64)
            if not np.all(np.abs(got - expected) <= 0.01 * np.abs(expected)):
                raise VerificationError("the FMA probe's chains do not end where their closed form does")

        amount = probes.fma_flop(blocks, rounds)
        yield Try(f"{blocks} blocks of {probes.FMA_THREADS}", partial(run, rounds, factor), amount, check)


def tile_sum(data: Any, rounds: int) -> Any:
    """What each thread of `probe_shared` and `probe_l1` must end with: the sums of its reads, modulo 2^32.

    `data` is (TILE_VECTORS, 4) uint32; the result has TILE_THREADS elements.
    """
    totals = data.astype(np.uint64).sum(axis=1)
    step, threads = probes.TILE_STEP, probes.TILE_THREADS
    window = sum(totals[step * u : step * u + threads] for u in range(probes.TILE_READS))
    whole, rest = divmod(rounds, threads)
    cumulative = np.concatenate([[0], np.cumsum(np.concatenate([window, window]))]).astype(np.uint64)
    first = np.arange(threads)
    return ((window.sum() * np.uint64(whole) + cumulative[first + rest] - cumulative[first]) & np.uint64(0xFFFFFFFF)).astype(
        np.uint32
    )


def _tile(entry: str, hardware: Hardware, watch: Stopwatch) -> Iterable[Try]:
    import cupy

    function = load_function(probes.BANDWIDTH, entry)
    data = _random_words(cupy, probes.TILE_VECTORS)
    per_sm = max(1, hardware.threads_per_sm // probes.TILE_THREADS)
    blocks = per_sm * hardware.sm_count
    out = cupy.empty(blocks * probes.TILE_THREADS, cupy.uint32)

    def run(rounds: int) -> None:
        function((blocks,), (probes.TILE_THREADS,), (data, out, np.int32(rounds)))

    rounds = _rounds(watch, run)

    def check() -> None:
        expected = tile_sum(data.get().reshape(-1, 4), rounds)
        if not np.array_equal(out.get().reshape(blocks, -1), np.broadcast_to(expected, (blocks, expected.size))):
            raise VerificationError(f"{entry} did not read what it should")

    amount = probes.tile_bytes(blocks, rounds)
    yield Try(f"{blocks} blocks of {probes.TILE_THREADS}, 16 bytes a lane", lambda: run(rounds), amount, check)


def _l2_sizes(hardware: Hardware) -> tuple[int, ...]:
    """An eighth, a quarter and a half of L2: the largest may not fit where each half of an L2 keeps its own copy."""
    return tuple(max(hardware.l2_size // part, 1 << 20) // (1 << 20) * (1 << 20) for part in (8, 4, 2))


def _dram_sizes(hardware: Hardware, quick: bool) -> tuple[int, ...]:
    """What a copy takes for both arrays, and half of it, where fewer pages have to be known: the better one is the roof."""
    whole = _dram_size(hardware, quick)
    half = whole // 2
    return (whole,) if quick or half < 8 * hardware.l2_size else (whole, half)


def _dram_size(hardware: Hardware, quick: bool) -> int:
    """Many times L2, at most 8 GiB and two fifths of the memory."""
    wish = GIB if quick else 8 * GIB
    return max(min(wish, hardware.memory_size * 2 // 5), 8 * hardware.l2_size) // (1 << 20) * (1 << 20)


def _reads(hardware: Hardware, watch: Stopwatch, size: int) -> Iterable[Try]:
    import cupy

    function = load_function(probes.BANDWIDTH, "probe_read")
    count = size // probes.VECTOR
    data = _random_words(cupy, count)
    total = int(data.sum(dtype=cupy.uint32))
    seconds = max(watch.seconds(lambda: data.sum(dtype=cupy.uint32)), 1e-6)
    rounds = 1 if size >= 8 * hardware.l2_size else max(1, math.ceil(4 * LAUNCH_SECONDS / seconds))
    words = f"{size / GIB:.3g} GiB" if size >= GIB else f"{size >> 20} MiB, {rounds} times"
    for per_sm in (2, 4, 8, 16, 32):
        blocks = per_sm * hardware.sm_count
        out = cupy.empty(blocks * probes.READ_THREADS, cupy.uint32)

        def run(blocks: int = blocks, out: Any = out) -> None:
            function((blocks,), (probes.READ_THREADS,), (data, out, np.uint64(count), np.int32(rounds)))

        def check(out: Any = out) -> None:
            if int(out.sum(dtype=cupy.uint32)) != (total * rounds) & 0xFFFFFFFF:
                raise VerificationError("probe_read did not read everything")

        yield Try(f"{words}; {blocks} blocks of {probes.READ_THREADS}", run, float(size) * rounds, check)
    if size > GIB:  # a quick look goes without
        yield from _pieces(hardware, data, total, words)


def _pieces(hardware: Hardware, data: Any, total: int, words: str) -> Iterable[Try]:
    """The same read piece by piece: what a block has under way are neighbours."""
    import cupy

    function = load_function(streams.STREAMS, "stream_read")
    for per_sm in (2, 4):
        blocks = per_sm * hardware.sm_count
        out = cupy.empty(blocks * streams.READ_THREADS, cupy.uint32)

        def run(blocks: int = blocks, out: Any = out) -> None:
            function((blocks,), (streams.READ_THREADS,), (data, out, np.uint64(data.size // 4)))

        def check(out: Any = out) -> None:
            if int(out.sum(dtype=cupy.uint32)) != total:
                raise VerificationError("stream_read did not read everything")

        yield Try(f"{words}; {blocks} blocks of {streams.READ_THREADS}, by pieces", run, float(data.nbytes), check)


def _copies(hardware: Hardware, size: int) -> Iterable[Try]:
    import cupy

    function = load_function(probes.BANDWIDTH, "probe_copy")
    count = size // probes.VECTOR
    source = _random_words(cupy, count)
    target = cupy.zeros_like(source)

    def check(run: Run) -> None:
        cupy.invert(source, out=target)  # no word is right before: the last copy was
        run()
        if not bool((source == target).all()):
            raise VerificationError("the copy differs from its source")

    def library() -> None:
        cupy.copyto(target, source)

    words = f"{size / GIB:.3g} GiB"
    yield Try(f"{words}; cudaMemcpy", library, 2.0 * size, partial(check, library))
    for per_sm in (8, 16, 32):
        blocks = per_sm * hardware.sm_count

        def run(blocks: int = blocks) -> None:
            function((blocks,), (probes.READ_THREADS,), (source, target, np.uint64(count)))

        yield Try(f"{words}; {blocks} blocks of {probes.READ_THREADS}", run, 2.0 * size, partial(check, run))
    streaming, threads = load_function(streams.STREAMS, "stream_copy"), streams.COPY_THREADS

    def streamed() -> None:
        streaming((-(-count // threads),), (threads,), (source, target, np.uint64(count)))

    yield Try(f"{words}; a thread for 16 bytes, blocks of {threads}", streamed, 2.0 * size, partial(check, streamed))


def _random_words(cupy: Any, vectors: int) -> Any:
    """Vectors of four random 32-bit words, flat; a gigabyte is drawn and repeated."""
    words = 4 * vectors
    drawn = min(words, GIB // 4)
    data = cupy.empty(words, cupy.uint32)
    data[:drawn] = cupy.random.default_rng(7).random(drawn, dtype=cupy.float32).view(cupy.uint32)
    for first in range(drawn, words, drawn):
        piece = min(drawn, words - first)
        data[first : first + piece] = data[:piece]
    return data


def _release() -> None:
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()


SUBJECT = Subject(
    name="roofs",
    title="Roofs: FMA units, load path, L1, L2, device memory",
    key="roofs",
    sources=(probes.FMA.source, probes.BANDWIDTH.source, streams.STREAMS.source),
    collect=collect,
    record=record,
    steps=lambda plan: len(NAMES),
)
