"""How long a load waits, in cycles and in ns: shared memory, L1, L2 and DRAM, by following a chain of addresses.

The chain goes through every 128-byte line of its memory once, in random order.  What answers is a matter of the size: far below
L1; a small part of L2; most of L2, where a GPU whose L2 has two halves must ask the far one too; many times L2.  A chain of too
few hops in a large memory would measure L2 again, so the large one is long and starts where nothing has been read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernels.launch import load_function
from kernels.roofs.probes import LATENCY, LATENCY_EACH
from measure.device import Hardware
from measure.errors import VerificationError
from measure.records import Latency, Measurements, Quantity
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import summarise
from measure.wording import size_words

LINE = 128
PAGE = 2 << 20  # what the driver maps device memory in
SHORT = 48
HOPS = (1 << 17) - SHORT
HOPS_QUICK = (1 << 14) - SHORT
"""Multiples of the 16 hops that the kernels unroll, and of no ring's length: after whole rounds a chain would be back where it
began, and a kernel that followed nothing would end where it must."""

NOT_WRITTEN = 0xFFFFFFFF  # where no chain ends
REPEATS = 5
NAMES = ("shared", "l1", "l2", "l2_far", "dram")
SHARED_RING = 1024
SHARED_STEP = 33
CHAIN = "a chain of addresses: one load after another and nothing between them"

Sample = list[int]
"""Cycles and nanoseconds of all hops of one run."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A ring of addresses in device memory: element i of `order` is the line that holds the address of the next one's.

    `order` is a permutation of the lines, (count,) int64 on the device; `first` the byte address of the memory.
    """

    memory: Any
    order: Any
    first: int

    @property
    def count(self) -> int:
        """Lines in the ring."""
        return int(self.order.size)

    def address(self, hop: int) -> int:
        """Where the chain stands after so many hops from its beginning."""
        return self.first + int(self.order[hop % self.count]) * LINE


def chain(count: int, by_page: bool = False, seed: int = 11) -> Chain:
    """A random ring through `count` lines; `by_page` finishes each page of 2 MiB before the next begins."""
    import cupy

    order = ring_order(cupy, count, by_page, seed)
    memory = cupy.zeros(count * LINE // 8, cupy.uint64)
    first = int(memory.data.ptr)
    memory[order * (LINE // 8)] = (cupy.roll(order, -1) * LINE + first).astype(cupy.uint64)
    return Chain(memory, order, first)


def ring_order(xp: Any, count: int, by_page: bool, seed: int) -> Any:
    """A permutation of `count` lines, int64; with `by_page`, of whole pages one after the other.  NumPy or CuPy."""
    generator = xp.random.RandomState(seed)
    lines = PAGE // LINE
    if not by_page or count <= lines:
        return generator.permutation(count).astype(xp.int64)
    pages = -(-count // lines)
    inside = xp.argsort(generator.rand(pages, lines), axis=1)
    order = (generator.permutation(pages)[:, None] * lines + inside).ravel().astype(xp.int64)
    return order[order < count]


def follow(entry: str, ring: Chain, begin: int, warm: int, hops: int) -> Sample:
    """Cycles and ns of `hops` hops after `warm` untimed ones from place `begin`.  Raises VerificationError."""
    import cupy

    function = load_function(LATENCY, entry)
    last, cycles, ns = cupy.zeros(1, cupy.uint64), cupy.empty(1, cupy.int64), cupy.empty(1, cupy.uint64)
    start = np.uint64(ring.address(begin))
    function((1,), (1,), (start, np.int64(warm), np.int64(hops), last, cycles, ns))
    if int(last[0]) != ring.address(begin + warm + hops):
        raise VerificationError(f"{entry}: the chain does not end where it must")
    return [int(cycles[0]), int(ns[0])]


def collect(bench: Bench) -> Raw:
    """Cycles and ns of every chain.  Raises VerificationError where one does not end where it must."""
    hops = HOPS_QUICK if bench.quick else HOPS
    levels: Raw = {
        "shared": {**_shared("chase_shared", hops), "index": _shared("chase_shared_index", hops)},
    }
    bench.step("latency shared")
    for name, count in lines(bench.hardware, bench.quick).items():
        levels[name] = _level(name, chain(count), hops)
        if name == "l1":
            levels[name]["index"] = _l1_index(count, hops)
        bench.step(f"latency {name}")
    return {"levels": levels}


def lines(hardware: Hardware, quick: bool) -> dict[str, int]:
    """How many lines each chain through global memory has."""
    most = hardware.memory_size // 4 // LINE
    return {
        "l1": 16 * 1024 // LINE,
        "l2": hardware.l2_size // 16 // LINE,
        "l2_far": hardware.l2_size * 4 // 5 // LINE,
        "dram": min(max(2 << 30, 16 * hardware.l2_size) // LINE // (4 if quick else 1), most),
    }


def _level(name: str, ring: Chain, hops: int) -> Raw:
    entry, warm = ("chase_ca", ring.count) if name == "l1" else ("chase_cg", 0 if name == "dram" else ring.count)
    samples = []
    begin = 0
    for _ in range(REPEATS):
        samples.append(follow(entry, ring, begin, warm, hops))
        begin += warm + hops
    found: Raw = {"size": ring.count * LINE, "hops": hops, "samples": samples}
    if name != "l1":
        found["each"] = _each(ring, begin, warm)
    return found


def _each(ring: Chain, begin: int, warm: int) -> list[int]:
    """Cycles of single hops, each with the two reads of the counter and a store around it."""
    import cupy

    last, cycles = cupy.empty(1, cupy.uint64), cupy.zeros(LATENCY_EACH, cupy.uint32)
    start = np.uint64(ring.address(begin))
    load_function(LATENCY, "chase_each")((1,), (1,), (start, np.int64(warm), np.int32(LATENCY_EACH), last, cycles))
    if int(last[0]) != ring.address(begin + warm + LATENCY_EACH):
        raise VerificationError("chase_each: the chain does not end where it must")
    return [int(one) for one in cycles.get()]


def _shared(entry: str, hops: int) -> Raw:
    import cupy

    function = load_function(LATENCY, entry)
    last, cycles, ns = cupy.empty(1, cupy.uint32), cupy.empty(1, cupy.int64), cupy.empty(1, cupy.uint64)
    width = 1 if entry.endswith("index") else 4
    samples = []
    for _ in range(REPEATS):
        last.fill(NOT_WRITTEN)
        function((1,), (32,), (np.int64(hops), last, cycles, ns))
        if int(last[0]) != hops * SHARED_STEP % SHARED_RING * width:
            raise VerificationError(f"{entry}: the chain through shared memory does not end where it must")
        samples.append([int(cycles[0]), int(ns[0])])
    return {"size": 4 * SHARED_RING, "hops": hops, "samples": samples}


def _l1_index(count: int, hops: int) -> Raw:
    """The L1 chain with indices in place of addresses: four bytes of each line hold the index of the next."""
    import cupy

    order, words = ring_order(np, count, False, seed=11), LINE // 4
    indices = np.zeros(count * words, np.uint32)
    indices[order * words] = np.roll(order, -1) * words
    # the kernel begins at index 0
    place = int(np.flatnonzero(order == 0)[0])
    memory = cupy.asarray(indices)
    last, cycles, ns = cupy.empty(1, cupy.uint32), cupy.empty(1, cupy.int64), cupy.empty(1, cupy.uint64)
    samples = []
    for _ in range(REPEATS):
        last.fill(NOT_WRITTEN)
        arguments = (memory, np.int64(count), np.int64(hops), last, cycles, ns)
        load_function(LATENCY, "chase_l1_index")((1,), (1,), arguments)
        if int(last[0]) != int(order[(place + count + hops) % count]) * words:
            raise VerificationError("chase_l1_index: the chain does not end where it must")
        samples.append([int(cycles[0]), int(ns[0])])
    return {"size": count * LINE, "hops": hops, "samples": samples}


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """A latency by level, its reference saying what the chain held and how single hops spread."""
    return replace(found, latencies={name: latency(one) for name, one in raw["levels"].items()})


def latency(raw: Mapping[str, Any]) -> Latency:
    """Cycles and ns a hop and the clock that relates them; without ns where the timer's step was longer than the chain."""
    samples, hops = raw["samples"], raw["hops"]
    cycles = cycles_a_hop(samples, hops, _reference(raw))
    timed = [(count, ns) for count, ns in samples if ns > 0]
    if not timed:
        return Latency(cycles)
    time = summarise([ns / hops for _, ns in timed], "ns", "global timer around the chain")
    return Latency(cycles, time, summarise([count / ns * 1e3 for count, ns in timed], "MHz", "cycles over ns of the chain"))


def cycles_a_hop(samples: Sequence[Sample], hops: int, reference: str = "") -> Quantity:
    """The median run's cycles over its hops."""
    return summarise([count / hops for count, _ in samples], "cycles", reference)


def _reference(raw: Mapping[str, Any]) -> str:
    words = f"{size_words(raw['size'])}, {raw['hops']} hops; {CHAIN}"
    if "index" in raw:
        other = cycles_a_hop(raw["index"]["samples"], raw["index"]["hops"]).value
        words += f"; a chain of indices, i = p[i], takes {other:.1f} with the address arithmetic"
    if "each" in raw:
        low, middle, high = np.percentile(raw["each"], (10, 50, 90))
        words += f"; hop by hop, counter reads included: 10 % below {low:.0f}, half below {middle:.0f}, 90 % below {high:.0f}"
    return words


SUBJECT = Subject(
    name="latencies",
    title="Latency of a load by level",
    key="latencies",
    sources=(LATENCY.source,),
    collect=collect,
    record=record,
    steps=lambda plan: len(NAMES),
)
