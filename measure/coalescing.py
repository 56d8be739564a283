"""The coalescing sweep: what a read-only kernel gets out of DRAM by stride and by misalignment, and which sectors it asks for.

Device memory is moved in sectors of 32 bytes.  A warp that reads 32 words side by side asks for four; with a stride of 8 words
and more every lane asks for one of its own, and 28 of its 32 bytes are of no use.  The memory read is many times L2, every
element is read once, and the sums prove that it was.  The access model gives the sectors of a request; where Nsight Compute is
permitted, its counters stand beside them, with the bytes that DRAM really delivered.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kernels.catalogue import WARP
from kernels.launch import load_function
from kernels.sweeps import probes
from measure import counters
from measure.access_model import SECTOR, sectors
from measure.device import Hardware, require_gpu
from measure.errors import Unsupported, VerificationError
from measure.records import Measurements, Quantity, Series, Sweep, Verification
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import Plan, summarise, time_all

GIB = 1 << 30
LARGEST = 32
POISON = np.uint32(0xDEADBEEF)
PLAN = Plan(warm=0.012, sample=0.003, samples=9, total=0.02, limit=0.6, precision=0.005, rounds=3, cold=0)
PLAN_QUICK = Plan(warm=0.004, sample=0.002, samples=3, total=0.004, limit=0.1, precision=0.05, rounds=1, cold=0)
SECTORS_METRIC = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
REQUESTS_METRIC = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
METRICS = (SECTORS_METRIC, REQUESTS_METRIC, counters.DRAM_READ)
ORACLE = "sum of the same elements by CuPy, unsigned integers, to the bit"
ODD = ((1, 1, 0), (7, 3, 5), (257, 1, 1), (6145, 32, 0), (12_293, 5, 31))  # count, stride and offset of small reads


@dataclass(frozen=True, slots=True)
class Point:
    """One launch: which sweep it belongs to, and the stride and offset in words that it reads with."""

    sweep: str
    stride: int
    offset: int

    @property
    def key(self) -> str:
        """The parameter's value as text."""
        return str(self.stride if self.sweep == "coalescing" else self.offset)

    @property
    def sectors(self) -> int:
        """Sectors that a warp's request asks for, by the access model."""
        return sectors(probes.warp_addresses(self.stride, self.offset), probes.WORD)

    def count(self, words: int) -> int:
        """Elements read of an array of so many words; the same for every offset."""
        return (words - LARGEST) // self.stride


def points(quick: bool) -> tuple[Point, ...]:
    """Strides 1 to 32 without an offset, then offsets 0 to 31 side by side; a few of them for a quick look."""
    strides = (1, 2, 4, 8, 16, 32) if quick else tuple(range(1, LARGEST + 1))
    offsets = (0, 1, 4, 8, 16) if quick else tuple(range(LARGEST))
    return (*(Point("coalescing", stride, 0) for stride in strides), *(Point("misalignment", 1, offset) for offset in offsets))


def working_set(hardware: Hardware, quick: bool) -> int:
    """Bytes read: many times L2, so that DRAM answers.  Raises Unsupported where memory has no room for four times L2."""
    least = 4 * hardware.l2_size
    size = min(max(GIB if quick else 2 * GIB, 2 * least), hardware.memory_size // 4) // 4096 * 4096
    if size < least:
        raise Unsupported(f"needs {least >> 20} MiB of memory, four times L2; a quarter of this GPU's is {size >> 20} MiB")
    return size


def strided_sums(words: Any, count: int, stride: int, offset: int, threads: int) -> Any:
    """What each of `threads` threads must end with: element i belongs to thread i % threads.  Works on (n,) uint32 of NumPy."""
    picked = words[offset : offset + (count - 1) * stride + 1 : stride]
    padded = np.zeros(-(-count // threads) * threads, np.uint32)
    padded[:count] = picked
    return padded.reshape(-1, threads).sum(axis=0, dtype=np.uint32)


class Reader:
    """`read_strided` over random words on the current GPU."""

    def __init__(self, hardware: Hardware, size: int) -> None:
        import cupy

        self._cupy: Any = cupy
        self._function = load_function(probes.STRIDE, "read_strided")
        self._blocks = max(1, hardware.threads_per_sm // probes.STRIDE_THREADS) * hardware.sm_count
        self.words = size // probes.WORD
        self._data = cupy.empty(self.words, cupy.uint32)
        drawn = min(self.words, GIB // 16)
        some = cupy.random.default_rng(13).random(drawn, dtype=cupy.float32).view(cupy.uint32)
        for first in range(0, self.words, drawn):
            # another number is added to each piece, so that none can stand for another
            piece = min(drawn, self.words - first)
            self._data[first : first + piece] = some[:piece] + np.uint32(first // drawn)
        self._sums = cupy.empty(self._blocks * probes.STRIDE_THREADS, cupy.uint32)

    def run(self, point: Point) -> None:
        """Enqueue one launch."""
        self._launch(self._data, self._sums, self._blocks, point.count(self.words), point.stride, point.offset)

    def wrong(self, point: Point) -> int:
        """How far the sum of one launch is from what it must be, modulo 2^32, with the sums poisoned before."""
        self._sums.fill(POISON)
        self.run(point)
        end = point.offset + point.count(self.words) * point.stride
        xp = self._cupy
        exact = int(self._data[point.offset : end : point.stride].sum(dtype=xp.uint32))
        return (int(self._sums.sum(dtype=xp.uint32)) - exact) & 0xFFFFFFFF

    def odd_sizes(self) -> None:
        """Small reads of odd counts, thread by thread.  Raises VerificationError."""
        xp, blocks = self._cupy, 3
        threads = blocks * probes.STRIDE_THREADS
        for count, stride, offset in ODD:
            sums = xp.full(threads, POISON, xp.uint32)
            words = self._data[: offset + count * stride]
            self._launch(words, sums, blocks, count, stride, offset)
            if not np.array_equal(sums.get(), strided_sums(words.get(), count, stride, offset, threads)):
                raise VerificationError(f"read_strided: wrong sums of {count} elements at stride {stride}, offset {offset}")

    def _launch(self, data: Any, sums: Any, blocks: int, count: int, stride: int, offset: int) -> None:
        arguments = (data, sums, np.uint64(count), np.uint32(stride), np.uint32(offset))
        self._function((blocks,), (probes.STRIDE_THREADS,), arguments)


def collect(bench: Bench) -> Raw:
    """Seconds of every point in shuffled rounds, checked before and after.  Raises VerificationError."""
    size = working_set(bench.hardware, bench.quick)
    reader = Reader(bench.hardware, size)
    reader.odd_sizes()
    wanted = points(bench.quick)
    _check(reader, wanted)
    bench.step("coalescing: verify")
    names = {f"{point.sweep} {point.key}": point for point in wanted}
    runs = {name: partial(reader.run, point) for name, point in names.items()}
    timings = time_all(bench.watch, runs, PLAN_QUICK if bench.quick else PLAN, lambda _: None)
    _check(reader, wanted)
    bench.step("coalescing: times")
    raw: Raw = {
        "words": reader.words,
        "points": [
            {"sweep": point.sweep, "stride": point.stride, "offset": point.offset, "seconds": timings[name].hot}
            for name, point in names.items()
        ],
        "clocks": [clock for timing in timings.values() for clock in timing.clocks],
        "counted": [],
        "uncounted": "",
    }
    del reader, runs
    try:
        raw["counted"] = count(wanted, bench.quick)
    except counters.CountersUnavailable as error:
        raw["uncounted"] = str(error)
    bench.step("coalescing: counters")
    return raw


def _check(reader: Reader, wanted: Sequence[Point]) -> None:
    for point in wanted:
        if reader.wrong(point):
            raise VerificationError(f"read_strided: wrong sum at stride {point.stride}, offset {point.offset}")


def count(wanted: Sequence[Point], quick: bool) -> list[dict[str, float]]:
    """Sectors, requests and DRAM bytes of one launch of every point, by Nsight Compute.  Raises CountersUnavailable."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()  # the child reads as much memory again
    child = ("measure.coalescing", *(("--quick",) if quick else ()))
    rows = counters.profile("read_strided", METRICS, child)
    if len(rows) != len(wanted):
        raise counters.CountersUnavailable(f"ncu counted {len(rows)} of {len(wanted)} launches")
    try:
        return [{metric: float(row[metric].replace(",", "")) for metric in METRICS} for row in rows]
    except (KeyError, ValueError):
        raise counters.CountersUnavailable("ncu does not have the counters of this GPU's load requests") from None


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """Both sweeps: useful bandwidth, time, sectors a request by model and counters, and what those sectors come to."""
    counted = raw["counted"] or [None] * len(raw["points"])
    sweeps = dict(found.sweeps)
    for name, (title, parameter, unit) in TITLES.items():
        pairs = [(one, row) for one, row in zip(raw["points"], counted, strict=True) if one["sweep"] == name]
        sweeps[name] = Sweep(
            title=title,
            parameter=parameter,
            unit=unit,
            kernel="every lane reads words of 4 bytes and adds them up; nothing else is read, one word a thread is written",
            series=_series(pairs, raw["words"]),
            verification=Verification(True, 0.0, 0.0, 0.0, ORACLE),
            reference=_reference(raw),
        )
    return replace(found, sweeps=sweeps)


TITLES = {
    "coalescing": ("Coalescing: stride of a warp's reads", "stride", "words of 4 B"),
    "misalignment": ("Coalescing: misalignment of a warp's reads", "offset", "words of 4 B"),
}

Pairs = Sequence[tuple[Mapping[str, Any], Mapping[str, float] | None]]


def _series(pairs: Pairs, words: int) -> tuple[Series, ...]:
    useful, time, moved, model = {}, {}, {}, {}
    asked: dict[str, Quantity] = {}
    delivered: dict[str, Quantity] = {}
    for one, row in pairs:
        point = Point(one["sweep"], one["stride"], one["offset"])
        elements, seconds = point.count(words), one["seconds"]
        wanted = probes.WORD * elements
        sector_bytes = elements / WARP * point.sectors * SECTOR
        useful[point.key] = summarise([wanted / second / 1e12 for second in seconds], "TB/s", "4 B an element")
        time[point.key] = summarise(seconds, "s", f"{elements} elements, back to back")
        middle = time[point.key].value
        moved[point.key] = Quantity(sector_bytes / middle / 1e12, "TB/s", "derived", reference="modelled sectors x 32 B / time")
        model[point.key] = Quantity(point.sectors, "", "derived", reference="different 32-byte sectors of 32 addresses")
        if row is not None:
            metrics = f"Nsight Compute: {SECTORS_METRIC} / {REQUESTS_METRIC}"
            asked[point.key] = Quantity(row[SECTORS_METRIC] / row[REQUESTS_METRIC], "", "measured", reference=metrics)
            metrics = f"Nsight Compute: {counters.DRAM_READ} over 4 B an element"
            delivered[point.key] = Quantity(row[counters.DRAM_READ] / wanted, "", "measured", reference=metrics)
    listed = [
        Series("useful", "Useful bytes", useful),
        Series("time", "Time of a launch", time),
        Series("moved", "Bytes of all sectors asked for", moved),
        Series("sectors_model", "Sectors a request, access model", model),
    ]
    if asked:
        listed.append(Series("sectors_counted", "Sectors a request, counted", asked))
        listed.append(Series("dram_counted", "Bytes that DRAM delivered over useful bytes, counted", delivered))
    return tuple(listed)


def _reference(raw: Raw) -> str:
    size = raw["words"] * probes.WORD
    words = f"{size / GIB:.3g} GiB read once a launch, default loads through L1 and L2; sums of every launch shape exact"
    return words + (f"; not counted: {raw['uncounted']}" if raw["uncounted"] else "")


SUBJECT = Subject(
    name="coalescing",
    title="Coalescing by stride and misalignment",
    key="sweeps.coalescing",
    sources=(probes.STRIDE.source,),
    collect=collect,
    record=record,
    steps=lambda plan: 3,
)


def _child(quick: bool) -> None:
    """Launch every point once; what ncu profiles."""
    import cupy

    hardware = require_gpu()
    reader = Reader(hardware, working_set(hardware, quick))
    for point in points(quick):
        reader.run(point)
    cupy.cuda.Device().synchronize()


if __name__ == "__main__":
    _child("--quick" in sys.argv[1:])
