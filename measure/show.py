"""A measurement file as tables: every subject that is in it, and why the others are not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from measure import show_ladders
from measure.dataset import Dataset
from measure.records import AllReduce, Device, Latency, Quantity, Roof, Run, Sweep
from measure.tables import Table, plain
from measure.wording import figure as figure
from measure.wording import number, scaled, sized, spread


def table(dataset: Dataset) -> str:
    """Everything as plain text, at most 128 columns wide."""
    return plain(tables(dataset))


def tables(dataset: Dataset) -> Iterator[Table]:
    """Device, roofs, latencies, ladders, sweeps, traces, all-reduce, and what is absent with why."""
    main = dataset.main
    yield _device(dataset.device, dataset.run)
    yield _roofs(main.roofs.values(), dataset.device)
    yield _latencies(main.latencies)
    for name in main.ladders:
        yield from show_ladders.tables(dataset, name)
    for sweep in main.sweeps.values():
        yield _sweep(sweep)
    yield _traces(dataset)
    owned, virtual = dataset.all_reduce(), dataset.virtual_all_reduce()
    if owned is not None:
        yield _all_reduce(f"all-reduce, {owned.device.name}: {owned.value.title}", owned.value)
    if virtual is not None:
        words = "ranks share one GPU's memory: right or wrong is what it shows, never a link's speed"
        yield _all_reduce(f"all-reduce among virtual ranks: {virtual.value.title}", virtual.value, words)
    yield Table("", notes=tuple(f"not in the file: {subject}: {reason}" for subject, reason in sorted(main.absent.items())))


def _device(device: Device, run: Run | None) -> Table:
    memory = device.memory
    size = "" if memory.size is None else f"{memory.size.value / 1e9:.0f} GB "
    title = (
        f"{device.name}  (compute capability {device.compute_capability or '?'}, {number(device.sm_count)} SMs, "
        f"{size}{memory.kind or 'memory'})"
    )
    if run is None:
        return Table(title, notes=("not measured: published figures",))
    clock = f", SM clock {number(run.clock, 4)} MHz" if run.clock else ""
    taken = f", in {run.seconds:.0f} s" if run.seconds else ""
    lines = [
        f"measured {run.date}{taken}, driver {run.driver or '?'}, CuPy {run.cupy or '?'}, NVRTC {run.nvrtc or '?'}{clock}"
        f"{', a quick look only' if run.quick else ''}",
        *run.notes,
    ]
    for name in ("system", "mig", "fp32 lanes"):
        words = device.facts.get(name, "")
        if words and words not in ("Linux", "off"):
            lines.append(f"{name}: {words}")
    for name, subject in run.subjects.items():
        if subject.throttle_reasons:
            lines.append(f"THROTTLED during {name}: {', '.join(subject.throttle_reasons)}")
    return Table(title, notes=tuple(lines))


def _roofs(roofs: Collection[Roof], device: Device) -> Table:
    rows = []
    for roof in roofs:
        best = roof.best
        if best is not None:
            published = [] if roof.published is None else [f"{number(roof.published)} published"]
            shown = published[0] if published and roof.measured is None else number(roof.measured)
            rows.append((roof.title, shown, spread(roof.measured), number(roof.computed), number(roof.datasheet), best.unit))
    unknown = device.fp32_lanes_per_sm is None and any(roof.measured for roof in roofs)
    notes = ("unknown compute capability: probed only, no roof of its math units was computed",) if unknown else ()
    return Table("roofs", ("roof", "measured", "± %", "computed", "datasheet", "unit"), tuple(rows), notes if rows else ())


def _latencies(latencies: Mapping[str, Latency]) -> Table:
    rows = []
    said: dict[str, list[str]] = {}
    for name, found in latencies.items():
        size, *more = found.cycles.reference.split("; ")
        rows.append((name, number(found.cycles), number(found.time), number(found.clock, 4), size))
        for words in more:
            said.setdefault(words, []).append(name)
    header = ("latency of a load", "cycles", "ns", "at MHz", "by a chain of addresses through")
    notes = tuple(words if len(names) == len(rows) else f"{', '.join(names)}: {words}" for words, names in said.items())
    return Table("", header, tuple(rows), notes)


def _sweep(sweep: Sweep) -> Table:
    points = list(dict.fromkeys(key for series in sweep.series for key in series.values))
    units = [next((quantity.unit for quantity in series.values.values()), "") for series in sweep.series]
    header = (sweep.parameter, *(series.name for series in sweep.series))
    rows = [
        (
            sized(point) if sweep.unit == "B" else f"{point} {sweep.unit}".strip(),
            *(_cell(series.values.get(point), unit) for series, unit in zip(sweep.series, units, strict=True)),
        )
        for point in points
    ]
    notes = [
        f"{series.name}: {series.title}" + (f", {unit}" if unit and unit != "s" else "")
        for series, unit in zip(sweep.series, units, strict=True)
    ]
    if sweep.verification is not None and not sweep.verification.passed:
        notes.append("WRONG results: no figure of this sweep may be used")
    return Table(sweep.title, header, tuple(rows), (*filter(None, [sweep.kernel]), *notes, *filter(None, [sweep.reference])))


def _cell(quantity: Quantity | None, unit: str) -> str:
    if quantity is None:
        return "-"
    return scaled(quantity.value, unit) if unit in ("s", "B") else number(quantity)


def _traces(dataset: Dataset) -> Table:
    lines = []
    launch, divergence, index = dataset.launch_trace(), dataset.divergence_trace(), dataset.index_trace()
    if launch is not None:
        trace = launch.value
        wait = "" if trace.launch_latency is None else f"; an empty launch takes {scaled(trace.launch_latency.value, 's')}"
        lines.append(
            f"launch trace: {trace.blocks} blocks on {len(set(trace.sm))} SMs, {number(trace.blocks_per_sm)} at a time on "
            f"each, "
            f"{scaled(trace.duration.value * 1e-9, 's')}{wait}"
        )
    if divergence is not None:
        found = divergence.value
        lines.append(
            f"divergence: if ({found.condition}): {number(found.cycles, 4)} cycles against "
            f"{number(found.uniform_cycles, 4)} undivided, {number(found.slowdown)} times"
        )
    if index is not None:
        lines.append(f"index trace: {index.value.blocks} blocks of {index.value.threads} threads, n = {index.value.n}")
    return Table("", notes=tuple(lines))


def _all_reduce(title: str, found: AllReduce, *notes: str) -> Table:
    header = ("algorithm", "bytes", "time", "± %", "algorithm GB/s", "bus GB/s", "result")
    rows = []
    for run in found.runs:
        check = run.verification
        rows.append(
            (
                run.algorithm,
                scaled(run.bytes.value, "B"),
                scaled(run.time.value, "s"),
                spread(run.time),
                number(run.algorithm_bandwidth),
                number(run.bus_bandwidth),
                "-" if check is None else "right" if check.passed else "WRONG",
            )
        )
    lines = list(notes)
    if not rows and found.bus_bandwidth:
        rates = ", ".join(f"{name} {number(rate)} {rate.unit} ({rate.source})" for name, rate in found.bus_bandwidth.items())
        lines.append(f"bus bandwidth {rates}")
    if found.link_one_way is not None:
        lines.append(f"a GPU's links carry {number(found.link_one_way)} {found.link_one_way.unit} each way")
    lines.extend(f"{name}: {number(quantity)} {quantity.unit}".strip() for name, quantity in found.p2p.items())
    lines.extend(f"{name}: {words}" for name, words in found.facts.items())
    return Table(title, header, tuple(rows), tuple(lines))
