"""Latency over the size of the memory that a chain goes through: the curve whose steps are the caches.

One random ring a size, from 1 KiB to several GiB, loads through L1.  Up to twice L2 the whole ring is followed once before it
is timed, so that what fits in a cache is there; above, L2 is overwritten first, so that DRAM answers every load.  A second
curve finishes each page of 2 MiB before the next begins: between the two lies what translating addresses of many pages costs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernels.roofs.probes import LATENCY
from measure.device import Hardware
from measure.latency import LINE, PAGE, SHORT, Sample, chain, cycles_a_hop, follow
from measure.records import Measurements, Quantity, Series, Sweep, Verification
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import summarise
from measure.wording import size_words

SMALLEST = 1 << 10
LARGEST = 4 << 30
LARGEST_QUICK = 1 << 30
HOPS = (1 << 15) - SHORT
HOPS_QUICK = (1 << 12) - SHORT
REPEATS = 3


def sizes(hardware: Hardware, quick: bool) -> tuple[int, ...]:
    """Bytes of the rings: powers of two and the steps half-way between (1.5 times), at most a quarter of the memory."""
    most = min(LARGEST_QUICK if quick else LARGEST, hardware.memory_size // 4)
    powers = [SMALLEST << shift for shift in range(24)]
    found = powers if quick else sorted([*powers, *(power * 3 // 2 for power in powers)])
    return tuple(size for size in found if size <= most)


def collect(bench: Bench) -> Raw:
    """Cycles and ns of every ring, random all over and page by page.  Raises VerificationError."""
    import cupy

    hops = HOPS_QUICK if bench.quick else HOPS
    flush = cupy.empty(2 * bench.hardware.l2_size, cupy.uint8)
    found: dict[str, dict[str, list[Sample]]] = {"random": {}, "by_page": {}}
    for size in sizes(bench.hardware, bench.quick):
        for name in found:
            if name == "by_page" and size <= PAGE:
                continue
            ring = chain(size // LINE, by_page=name == "by_page")
            warm = ring.count if size <= 2 * bench.hardware.l2_size else 0
            if not warm:
                flush.fill(1)
            samples, begin = [], 0
            for _ in range(REPEATS):
                samples.append(follow("chase_ca", ring, begin, warm, hops))
                begin += warm + hops
                warm = 0  # the ring goes on where it was
            found[name][str(size)] = samples
            del ring
    bench.step("latency by size")
    return {"rings": found, "hops": hops}


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The sweep: cycles by bytes for both orders, and ns for the random one."""
    hops = raw["hops"]

    def cycles(name: str) -> dict[str, Quantity]:
        return {
            size: cycles_a_hop(samples, hops, f"{size_words(int(size))}, {hops} hops")
            for size, samples in raw["rings"][name].items()
        }

    def times(name: str) -> dict[str, Quantity]:
        rings: dict[str, Any] = {size: [ns / hops for _, ns in one if ns > 0] for size, one in raw["rings"][name].items()}
        return {size: summarise(one, "ns", "global timer around the chain") for size, one in rings.items() if one}

    listed = (
        Series("random", "All lines in random order", cycles("random")),
        Series("by_page", "Page of 2 MiB after page", cycles("by_page")),
        Series("time", "All lines in random order", times("random")),
    )
    sweep = Sweep(
        title="Latency by size",
        parameter="size",
        unit="B",
        kernel="one thread follows a ring of addresses, one in each line of 128 B",
        series=tuple(series for series in listed if series.values),
        verification=Verification(True, 0.0, 0.0, 0.0, "every ring's last address"),
        reference="loads through L1; up to twice L2 after a whole round, above after L2 was overwritten",
    )
    return replace(found, sweeps={**found.sweeps, "latency": sweep})


SUBJECT = Subject(
    name="latency_by_size",
    title="Latency by size of the memory",
    key="sweeps.latency",
    sources=(LATENCY.source,),
    collect=collect,
    record=record,
)
