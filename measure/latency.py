"""How long a load waits, in cycles: shared memory, L1, L2 and DRAM, by following a chain of addresses.

The chain goes through every 128-byte line of its memory once, in random order.  What answers is a matter of the size: far below
L1; a small part of L2; most of L2, where a GPU whose L2 has two halves must ask the far one too; many times L2.  A chain of too
few hops in a large memory would measure L2 again, so the large one is long and starts where nothing has been read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernels.launch import load_function
from kernels.roofs.probes import LATENCY
from measure.device import Hardware
from measure.errors import VerificationError
from measure.records import Quantity
from measure.timing import summarise

LINE = 128
HOPS = 1 << 17
REPEATS = 5
NAMES = ("shared", "l1", "l2", "l2_far", "dram")


def measure_latencies(hardware: Hardware, quick: bool, done: Callable[[str], None]) -> dict[str, Quantity]:
    """Cycles a load by level.  Raises VerificationError where a chain does not end where it must."""
    hops = HOPS // 8 if quick else HOPS
    most = hardware.memory_size // 4 // LINE
    lines = {
        "l1": 16 * 1024 // LINE,
        "l2": hardware.l2_size // 16 // LINE,
        "l2_far": hardware.l2_size * 4 // 5 // LINE,
        "dram": min(max(2 << 30, 16 * hardware.l2_size) // LINE // (8 if quick else 1), most),
    }
    found = {"shared": _shared(hops)}
    done("shared")
    for name, count in lines.items():
        entry, warm = ("chase_ca", count) if name == "l1" else ("chase_cg", 0 if name == "dram" else count)
        found[name] = _chase(entry, count, warm, hops)
        done(name)
    return found


def _shared(hops: int) -> Quantity:
    import cupy

    function = load_function(LATENCY, "chase_shared")
    last, cycles = cupy.empty(1, cupy.uint32), cupy.empty(1, cupy.int64)
    samples = []
    for _ in range(REPEATS):
        function((1,), (32,), (np.int64(hops), last, cycles))
        if int(last[0]) != hops * 33 % 1024 * 4:
            raise VerificationError("the chain through shared memory does not end where it must")
        samples.append(int(cycles[0]) / hops)
    return summarise(samples, "cycles", f"{hops} hops")


def _chase(entry: str, count: int, warm: int, hops: int) -> Quantity:
    import cupy

    function = load_function(LATENCY, entry)
    order = np.random.default_rng(11).permutation(count)
    memory = cupy.zeros(count * LINE // 8, cupy.uint64)
    first = int(memory.data.ptr)
    at = cupy.asarray(order) * (LINE // 8)
    memory[at] = cupy.asarray((np.roll(order, -1) * LINE + first).astype(np.uint64))
    last, cycles = cupy.empty(1, cupy.uint64), cupy.empty(1, cupy.int64)
    samples = []
    begin = 0
    for _ in range(REPEATS):
        start = np.uint64(first + int(order[begin]) * LINE)
        function((1,), (1,), (start, np.int64(warm), np.int64(hops), last, cycles))
        begin = (begin + warm + hops) % count
        if int(last[0]) != first + int(order[begin]) * LINE:
            raise VerificationError(f"{entry}: the chain does not end where it must")
        samples.append(int(cycles[0]) / hops)
    return summarise(samples, "cycles", f"{_size(count * LINE)}, {hops} hops")


def _size(size: int) -> str:
    return f"{size / 2**30:.3g} GiB" if size >= 2**30 else f"{size / 2**20:.3g} MiB" if size >= 2**20 else f"{size // 1024} KiB"
