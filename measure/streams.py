"""The subject `streams`: arrays far larger than L2 read, copied and combined, the copy beside cudaMemcpy in the same rounds.

How fast a copy runs depends by a percent on where in memory its arrays lie, and not alike for a kernel and for cudaMemcpy: both
copy from two places. The triad out = b + scale c is that of STREAM (McCalpin, "Memory bandwidth and machine balance in current
high performance computers", IEEE TCCA Newsletter, 1995); bytes are counted as there, what is read plus what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kernels.launch import load_function
from kernels.sweeps import probes
from measure.device import Hardware
from measure.errors import Unsupported, VerificationError
from measure.records import Measurements, Quantity, Series, Sweep, Verification
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import Run, summarise, time_all

GIB = 1 << 30
SIZE = 4 * GIB
QUICK_SIZE = GIB // 2
LEAST_L2 = 8  # an array is at least so many times L2, of which then next to nothing is left from one launch to the next
MEMORY_SHARE = 0.8
ARRAYS = 3
SCALE = 0.75
SMALL = (1, 33, 5000, 262_147)
"""Vectors of the small arrays that must come out right too: one, less than a block, no multiple of a block."""

AMOUNT = {"read": 1, "copy": 2, "triad": 3}
"""How many arrays each moves."""

CHUNK = 1 << 26
ORACLE = (
    "read: the sum of all words modulo 2^32; copy: every word; triad: every element against float64 rounded once; outputs "
    f"poisoned; at full size before and after, and at {len(SMALL)} small sizes"
)


@dataclass(frozen=True, slots=True)
class Arrays:
    """b, c and out (floats, a multiple of 4), and the sums of a read (uint32, one a thread)."""

    b: Any
    c: Any
    out: Any
    sums: Any

    @property
    def crossed(self) -> Arrays:
        """The same with b and c in each other's place."""
        return replace(self, b=self.c, c=self.b)

    @property
    def vectors(self) -> int:
        """Pieces of 16 bytes of one array."""
        return int(self.b.size) // 4


def arrays(xp: Any, vectors: int, sums: int) -> Arrays:
    """Random arrays, uniform in [0, 1); a quarter of a GiB is drawn and repeated."""
    generator, floats = xp.random.default_rng(5), 4 * vectors
    drawn = min(floats, CHUNK)
    found = []
    for _ in range(2):
        array, piece = xp.empty(floats, xp.float32), generator.random(drawn, dtype=xp.float32)
        for first in range(0, floats, drawn):
            array[first : first + drawn] = piece[: min(drawn, floats - first)]
        found.append(array)
    return Arrays(found[0], found[1], xp.empty(floats, xp.float32), xp.empty(sums, xp.uint32))


def right(xp: Any, what: str, data: Arrays, run: Run) -> bool:
    """Whether one run does its work, to the bit; nothing of the result is right before."""
    if what == "read":
        data.sums[:] = 0xFFFFFFFF
        run()
        return int(data.sums.sum(dtype=xp.uint32)) == int(data.b.view(xp.uint32).sum(dtype=xp.uint32))
    if what == "copy":
        xp.invert(data.b.view(xp.uint32), out=data.out.view(xp.uint32))
        run()
        return bool((data.b.view(xp.uint32) == data.out.view(xp.uint32)).all())
    data.out.fill(xp.nan)
    run()
    for first in range(0, data.out.size, CHUNK):
        b, c, out = (one[first : first + CHUNK] for one in (data.b, data.c, data.out))
        # exact in float64: a product of 24 and 2 bits, and a sum that spans less than 53
        if not bool((out == (b.astype(xp.float64) + SCALE * c.astype(xp.float64)).astype(xp.float32)).all()):
            return False
    return True


def runs(data: Arrays, blocks: int) -> dict[str, tuple[str, Arrays, Run]]:
    """What is run by name: which of AMOUNT it is, on which arrays, and the launch; a read has so many blocks.

    Names of one kernel, or of the library's copy, differ after their colon.
    """
    import cupy

    count = np.uint64(data.vectors)
    read, copy, triad = (load_function(probes.STREAMS, f"stream_{what}") for what in AMOUNT)

    def grid(threads: int) -> tuple[int]:
        return (-(-data.vectors // threads),)

    def copied(on: Arrays) -> None:
        copy(grid(probes.COPY_THREADS), (probes.COPY_THREADS,), (on.b, on.out, count))

    def memcpy(on: Arrays) -> None:
        kind, stream = cupy.cuda.runtime.memcpyDeviceToDevice, cupy.cuda.get_current_stream()
        cupy.cuda.runtime.memcpyAsync(on.out.data.ptr, on.b.data.ptr, on.b.nbytes, kind, stream.ptr)

    def combined() -> None:
        triad(grid(probes.TRIAD_THREADS), (probes.TRIAD_THREADS,), (data.b, data.c, data.out, count, np.float32(SCALE)))

    found: dict[str, tuple[str, Arrays, Run]] = {
        "read": ("read", data, lambda: read((blocks,), (probes.READ_THREADS,), (data.b, data.sums, count))),
        "triad": ("triad", data, combined),
    }
    for source, on in (("b", data), ("c", data.crossed)):
        found[f"copy:{source}"] = ("copy", on, partial(copied, on))
        found[f"memcpy:{source}"] = ("copy", on, partial(memcpy, on))
    return found


def size_of_array(hardware: Hardware, free: int, quick: bool) -> int:
    """Bytes of each array, halved until three fit.  Raises Unsupported where they would be too small beside L2."""
    size = QUICK_SIZE if quick else SIZE
    while size * ARRAYS > MEMORY_SHARE * free:
        size //= 2
    if size < LEAST_L2 * hardware.l2_size:
        raise Unsupported(f"three arrays of {LEAST_L2} times L2 do not fit into {free / 1e9:.1f} GB of free memory")
    return size


def collect(bench: Bench) -> Raw:
    """Seconds of each in shuffled rounds, everything checked before and after.  Raises VerificationError, Unsupported."""
    import cupy

    blocks = probes.READ_BLOCKS * bench.hardware.sm_count
    size = size_of_array(bench.hardware, cupy.cuda.Device().mem_info[0], bench.quick)

    def check(data: Arrays) -> dict[str, Run]:
        launches = runs(data, blocks)
        for name, (what, on, run) in launches.items():
            if not right(cupy, what, on, run):
                raise VerificationError(f"stream {name} of {data.vectors} vectors of 16 bytes did not do its work")
        return {name: run for name, (_, _, run) in launches.items()}

    for vectors in SMALL:
        check(arrays(cupy, vectors, blocks * probes.READ_THREADS))
    data = arrays(cupy, size // 16, blocks * probes.READ_THREADS)
    launches = check(data)
    bench.step("verify")
    timings = time_all(bench.watch, launches, bench.plan, bench.step, reasons=bench.reasons)
    check(data)
    del data, launches
    cupy.get_default_memory_pool().free_all_blocks()
    return {
        "size": size,
        "blocks": blocks,
        "hot": pooled({name: one.hot for name, one in timings.items()}),
        "clocks": [clock for one in timings.values() for clock in one.clocks],
    }


def pooled(samples: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """The samples of each kernel together, from wherever it copied: keys up to their colon, seconds."""
    found: dict[str, list[float]] = {}
    for name, seconds in samples.items():
        found.setdefault(name.partition(":")[0], []).extend(seconds)
    return found


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """A sweep over what is done: the kernels' rates, the library's, and the share of the roof of reading."""
    rate: Callable[[str, str], Quantity] = partial(_rate, raw)
    words = {"read": "read", "copy": "read + written", "triad": "two read, one written"}
    kernels = {what: rate(what, words[what]) for what in AMOUNT}
    roof = found.roofs.get("dram")
    shares = {}
    if roof is not None and roof.measured is not None:
        shares = {
            what: Quantity(one.value / roof.measured.value, "", "derived", reference="over the roof of reading device memory")
            for what, one in kernels.items()
        }
    series = [
        Series("kernel", "These kernels", kernels),
        Series("cudaMemcpy", "cudaMemcpy, device to device", {"copy": rate("memcpy", words["copy"])}),
        *([Series("share", "Of the roof of reading device memory", shares)] if shares else []),
    ]
    sweep = Sweep(
        title="Streams",
        parameter="stream",
        unit="",
        kernel=(
            f"arrays of {raw['size'] / GIB:g} GiB, 16 bytes a lane; read: {raw['blocks']} blocks of {probes.READ_THREADS}; "
            f"copy and triad: a thread for 16 bytes, blocks of {probes.COPY_THREADS} and {probes.TRIAD_THREADS}"
        ),
        series=tuple(series),
        verification=Verification(True, 0.0, 0.0, 0.0, ORACLE),
        reference="bytes read plus bytes written over the time; in shuffled turns with cudaMemcpy from the same places",
    )
    return replace(found, sweeps={**found.sweeps, "streams": sweep})


def _rate(raw: Raw, name: str, words: str) -> Quantity:
    moved = AMOUNT["copy" if name == "memcpy" else name] * raw["size"]
    return summarise([moved / second / 1e12 for second in raw["hot"][name]], "TB/s", f"{moved / GIB:g} GiB: {words}")


SUBJECT = Subject(
    name="streams",
    title="Streams: read, copy and triad",
    key="sweeps.streams",
    sources=(probes.STREAMS.source,),
    collect=collect,
    record=record,
    steps=lambda plan: 1 + (len(AMOUNT) + 3) * plan.rounds,
)
