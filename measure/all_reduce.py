"""The subjects `all_reduce`, among the GPUs of this machine, and `virtual_all_reduce`, among ranks that share one GPU's memory.

The second runs the same kernels with the same signals, so it shows that they are right on any GPU; what it times is the memory
of one GPU and says nothing of a link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernels.all_reduce.algorithms import ALGORITHMS, SOURCES
from kernels.all_reduce.schedule import MOST_RANKS, received
from measure import links
from measure.all_reduce_contest import NCCL, Wanted, hold
from measure.errors import Unsupported, VerificationError
from measure.ladder_record import verification_record
from measure.records import AllReduce, AllReduceRun, Measurements, Quantity, Verification
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import summarise
from measure.wording import size_words

NAMES = tuple(one.name for one in ALGORITHMS)
SIZES = tuple(1 << power for power in range(10, 31, 2))
"""Bytes a rank, 1 KiB to 1 GiB."""

QUICK_SIZES = (1 << 10, 1 << 16, 1 << 22, 1 << 24)
VIRTUAL_RANKS = (2, 4, 8)
VIRTUAL_LEAST = 1 << 20
"""Ranks in one memory are timed from here on: smaller calls take as long as their launch, whatever the algorithm."""

MEMORY_SHARE = 0.6
BUS = "algorithm bandwidth x 2(n - 1)/n (nccl-tests, doc/PERFORMANCE.md)"
NO_LINK = "ranks share one GPU's memory: no link is involved"
ORACLE = (
    "float64 sum of the same fp32 inputs, uniform in [-1, 1) times 2^0 to 2^-7, poisoned outputs, ranks alike to the bit, "
    "new inputs after timing; calls of odd sizes, and calls that follow each other at once"
)


def sizes(quick: bool, memory: int, ranks_here: int) -> tuple[int, ...]:
    """The sizes that fit: each rank's input and output, and on one GPU the sum and its scale in float64, 4 times a buffer."""
    wished = QUICK_SIZES if quick else SIZES
    return tuple(size for size in wished if size * (2 * ranks_here + 4) <= memory * MEMORY_SHARE)


def virtual_sizes(quick: bool, memory: int, ranks: int) -> tuple[int, ...]:
    """Those of the sizes that fit which are large enough to be memory traffic; the largest in any case."""
    fitting = sizes(quick, memory, ranks)
    return tuple(size for size in fitting if size >= VIRTUAL_LEAST) or fitting[-1:]


def _collect_virtual(bench: Bench) -> Raw:
    from measure.all_reduce_group import RankGroup

    rows: list[Raw] = []
    for ranks in VIRTUAL_RANKS:
        wanted = Wanted(NAMES, virtual_sizes(bench.quick, bench.hardware.memory_size, ranks), bench.plan)
        group = RankGroup([_device_id()] * ranks, max(wanted.sizes) // 4, per_sm=1 if bench.quick else 32)
        try:
            rows += hold(group, wanted, bench.step)
        finally:
            group.close()
    return {"rows": rows}


def _collect(bench: Bench) -> Raw:
    from cupy.cuda import runtime

    from measure.all_reduce_group import RankGroup
    from measure.all_reduce_nccl import Nccl, keep_sums_out_of_the_switch

    count = min(runtime.getDeviceCount(), MOST_RANKS)
    if count < 2:
        raise Unsupported("one GPU only: there is nobody to reduce with; see virtual_all_reduce for the same kernels on it")
    home = _device_id()
    devices = [home, *(device for device in range(runtime.getDeviceCount()) if device != home)][:count]
    switch = keep_sums_out_of_the_switch()
    matrix = links.peer_matrix()
    trial = links.try_peers()
    bench.step("copies between GPUs")
    reason = trial["reason"] or blocked(matrix, devices)
    absent: dict[str, str] = dict.fromkeys(NAMES, reason) if reason else {}
    if not reason:
        links.enable_peers(devices)
    wished = sizes(bench.quick, _least_memory(devices), 1)
    group = RankGroup(devices, max(wished) // 4, per_sm=1 if bench.quick else 32)
    version, rows = "", []
    try:
        nccl = None
        try:
            nccl = Nccl(devices, peers=not reason)
            version = nccl.version
            streams, library = [lane.stream for lane in group.lanes], nccl
            group.extra[NCCL] = lambda values: library.all_reduce(group.inputs, group.outputs, values, streams)
        except Unsupported as error:
            absent[NCCL] = str(error)
        names = tuple(name for name in (*NAMES, NCCL) if name not in absent)
        if not names:
            raise Unsupported(f"{reason}; {absent[NCCL]}")
        rows = hold(group, Wanted(names, wished, bench.plan), bench.step)
        if nccl is not None:
            nccl.close()
    finally:
        group.close()
    nvlink = [links.nvlink(device) for device in devices]
    found = {"gpus": count, "matrix": matrix, "trial": trial, "nvlink": nvlink, "switch": switch}
    return {**found, "nccl": version, "absent": absent, "rows": rows}


def _device_id() -> int:
    import cupy

    return int(cupy.cuda.Device().id)


def _least_memory(devices: Sequence[int]) -> int:
    import cupy

    found = []
    for device in devices:
        with cupy.cuda.Device(device):
            found.append(int(cupy.cuda.runtime.memGetInfo()[1]))
    return min(found)


def blocked(matrix: Sequence[Sequence[bool]], devices: Sequence[int]) -> str:
    """Which pairs may not reach each other's memory, in one line; empty if all may."""
    pairs = [f"{a}-{b}" for a in devices for b in devices if a < b and not (matrix[a][b] and matrix[b][a])]
    return f"GPUs {', '.join(pairs)} may not reach each other's memory, by CUDA" if pairs else ""


# records


def _record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    gpus = int(raw["gpus"])
    runs = _runs(raw["rows"], BUS)
    one_way, total = _line_rate(raw["nvlink"])
    server = AllReduce(
        title=f"All-reduce of fp32 among {gpus} GPUs of one machine",
        gpus=Quantity(gpus, "", "measured", reference="GPUs that CUDA sees"),
        link_total=total,
        link_one_way=one_way,
        bus_bandwidth=_best(runs, "bus_bandwidth"),
        algorithm_bandwidth=_best(runs, "algorithm_bandwidth"),
        runs=runs,
        p2p=_copies(raw["trial"]),
        facts=_facts(raw),
        reference=f"bus bandwidth = {BUS}; the best size of each algorithm; one-shot takes in {received('one_shot', gpus)} "
        f"buffers over a link, the others {float(received('ring', gpus)):.3g}",
    )
    return replace(found, all_reduce=server)


def _record_virtual(found: Measurements, raw: Raw, context: Context) -> Measurements:
    runs = _runs(raw["rows"], f"{BUS}, for comparison only; {NO_LINK}", several=True)
    ranks = sorted({int(row["ranks"]) for row in raw["rows"]})
    title = f"All-reduce of fp32 among {', '.join(map(str, ranks))} virtual ranks in the memory of one GPU (no link)"
    shared = AllReduce(
        title=title,
        gpus=Quantity(1, "", "measured", reference=NO_LINK),
        algorithm_bandwidth=_best(runs, "algorithm_bandwidth"),
        runs=runs,
        facts={"link": "none"},
        reference=f"{NO_LINK}; `ring_8` is the ring among 8 ranks; bandwidth = a rank's buffer over the time of a call",
    )
    return replace(found, virtual_all_reduce=shared)


def _runs(rows: Sequence[Mapping[str, Any]], bus: str, several: bool = False) -> tuple[AllReduceRun, ...]:
    """Every run; `several` numbers of ranks stand in the algorithms' names.  Raises VerificationError where ours was wrong."""
    runs = []
    for row in rows:
        name, ranks, size = str(row["algorithm"]), int(row["ranks"]), int(row["bytes"])
        verification = verification_record(row, ORACLE)
        if not verification.passed and name != NCCL:
            raise VerificationError(f"{name} among {ranks} ranks is wrong at {size_words(size)}: {_fault(row, verification)}")
        if not verification.passed or not row["samples"]:
            continue
        grid = f"{row['blocks']} blocks of {row['threads']} a rank" if row["blocks"] else "launched by NCCL"
        rates = [size / seconds / 1e9 for seconds in row["samples"]]
        factor = 2 * (ranks - 1) / ranks
        runs.append(
            AllReduceRun(
                algorithm=f"{name}_{ranks}" if several else name,
                bytes=Quantity(size, "B", "derived", reference="a rank's buffer"),
                time=summarise(row["samples"], "s", f"calls back to back, the slowest rank; {grid}"),
                algorithm_bandwidth=summarise(rates, "GB/s", "bytes of a rank's buffer over time"),
                bus_bandwidth=summarise([rate * factor for rate in rates], "GB/s", bus),
                verification=verification,
            )
        )
    return tuple(runs)


def _fault(row: Mapping[str, Any], verification: Verification) -> str:
    if row["error"] is None or row["error_after"] is None:
        return "not finite, or ranks that differ"
    worst = max(verification.error, verification.error_after)
    if worst > verification.tolerance:
        return f"error {worst:.3g}, at most {verification.tolerance:.3g} is rounding"
    return "small calls of odd sizes, or calls that follow each other at once"


def _best(runs: Sequence[AllReduceRun], field: str) -> dict[str, Quantity]:
    """By algorithm, the figure of the size that is best."""
    best: dict[str, Quantity] = {}
    for run in runs:
        figure = getattr(run, field)
        if run.algorithm not in best or figure.value > best[run.algorithm].value:
            size = size_words(int(run.bytes.value))
            best[run.algorithm] = replace(figure, reference=f"{figure.reference}; at {size}")
    return best


def _line_rate(nvlink: Sequence[Mapping[str, Any]]) -> tuple[Quantity | None, Quantity | None]:
    """One way and both ways of the least connected GPU, as NVML tells it; None where it does not."""
    if not nvlink or not all(one.get("active") and one.get("link_mb_s") for one in nvlink):
        return None, None
    least = min(nvlink, key=lambda one: one["active"] * one["link_mb_s"])
    rate = least["active"] * least["link_mb_s"] / 1e3
    words = f"NVML: {least['active']} NVLinks x {least['link_mb_s']} MB/s"
    return Quantity(rate, "GB/s", "derived", reference=words), Quantity(
        2 * rate, "GB/s", "derived", reference=f"{words} x 2 ways"
    )


def _copies(trial: Mapping[str, Any]) -> dict[str, Quantity]:
    """Copies from one GPU's memory to another's: all samples of all pairs."""
    found = {}
    for way, words in (("one_way", "one way"), ("both_ways", "both ways at once, together")):
        samples = [sample for pair in trial[way].values() for sample in pair]
        if samples:
            reference = f"cudaMemcpyPeerAsync of {size_words(links.SIZE)}, {words}, {len(trial[way])} pairs"
            found[way] = summarise(samples, "GB/s", reference)
    return found


def _facts(raw: Raw) -> dict[str, str]:
    links_known = [one for one in raw["nvlink"] if "links" in one]
    facts = {
        "NCCL": raw["nccl"],
        "sums in the switch": raw["switch"],
        "copies between GPUs": raw["trial"]["reason"] or "right between all pairs",
        "NVLink": f"{min(one['active'] for one in links_known)} links a GPU" if links_known else "",
        "ranks": "the same bits on every rank, but for NCCL, which is not asked",
    }
    facts |= {f"{name} not run": reason for name, reason in raw["absent"].items()}
    facts |= {f"{name} not shown": "its result is wrong" for name in (NCCL,) if _wrong(raw["rows"], name)}
    return {key: value for key, value in facts.items() if value}


def _wrong(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(row["algorithm"] == name and not verification_record(row, ORACLE).passed for row in rows)


SUBJECT = Subject(
    name="all_reduce",
    title="All-reduce among the GPUs of this machine",
    key="all_reduce",
    sources=SOURCES,
    collect=_collect,
    record=_record,
    steps=lambda plan: 1 + len(QUICK_SIZES if plan.rounds == 1 else SIZES),
)

VIRTUAL = Subject(
    name="virtual_all_reduce",
    title="All-reduce among virtual ranks of one GPU",
    key="virtual_all_reduce",
    sources=SOURCES,
    collect=_collect_virtual,
    record=_record_virtual,
    steps=lambda plan: len(VIRTUAL_RANKS) * len(virtual_sizes(plan.rounds == 1, 1 << 40, 2)),
)
