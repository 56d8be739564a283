"""A measurement file as a table of text, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from measure.dataset import Dataset
from measure.records import Ladder, Quantity, Roof
from measure.roofline_model import BOUND_WITHIN


def table(dataset: Dataset) -> str:
    """Device, roofs, ladder with its shares of peak and of its level's roof, traces and what is absent."""
    parts = [
        _device(dataset),
        _roofs(dataset),
        _latencies(dataset),
        _ladder(dataset, "gemm_fp32"),
        _traces(dataset),
        _all_reduce(dataset),
        _absent(dataset),
    ]
    return "\n\n".join(part for part in parts if part)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text as columns: the first to the left, the others to the right."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def number(quantity: Quantity | None, digits: int = 3) -> str:
    """A value to so many significant digits, or a dash."""
    return "-" if quantity is None else figure(quantity.value, digits)


def figure(value: float, digits: int = 3) -> str:
    """A number to so many significant digits, without an exponent: 0.0151, 40.5, 132."""
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e" in text and abs(value) >= 1 else text


def _device(dataset: Dataset) -> str:
    device, run = dataset.device, dataset.run
    memory = device.memory
    size = "" if memory.size is None else f"{memory.size.value / 1e9:.0f} GB "
    lines = [
        f"{device.name}  (compute capability {device.compute_capability or '?'}, {number(device.sm_count)} SMs, "
        f"{size}{memory.kind or 'memory'})"
    ]
    if run is None:
        lines.append("not measured: published figures")
    else:
        clock = f", SM clock {number(run.clock, 4)} MHz" if run.clock else ""
        quick = ", a quick look only" if run.quick else ""
        lines.append(
            f"measured {run.date}, driver {run.driver or '?'}, CuPy {run.cupy or '?'}, NVRTC {run.nvrtc or '?'}{clock}{quick}"
        )
        lines.extend(run.notes)
    return "\n".join(lines)


def _roofs(dataset: Dataset) -> str:
    rows = [("roof", "measured", "computed", "datasheet", "unit")]
    for name in ("fp32", "load_path", "l1", "l2", "dram", "dram_copy"):
        owned = dataset.roof(name)
        if owned is not None and owned.value.best is not None:
            roof: Roof = owned.value
            rows.append(
                (roof.title, number(roof.measured), number(roof.computed), number(roof.datasheet), owned.value.best.unit)
            )
    return columns(rows) if len(rows) > 1 else ""


def _ladder(dataset: Dataset, name: str) -> str:
    owned = dataset.ladder(name)
    if owned is None:
        return f"no ladder {name}: {dataset.why_absent(f'ladders.{name}')}"
    ladder: Ladder = owned.value
    rows = [("rung", "TFLOP/s", "of peak", "FLOP/B", "of its roof", "bound by")]
    for rung in ladder.rungs:
        achieved, intensity = dataset.achieved(name, rung.name), dataset.intensity(name, rung.name)
        share, bound = dataset.of_level(name, rung.name), dataset.bound_by(name, rung.name)
        failed = rung.verification is not None and not rung.verification.passed
        rows.append(
            (
                rung.title,
                "wrong" if failed else number(rung.rate),
                number(achieved.quantity if achieved else None),
                number(intensity.quantity if intensity else None),
                number(share.quantity if share else None, 2),
                bound.roof if bound else "-",
            )
        )
    for line in ladder.lines:
        rows.append((line.title, number(line.rate), "", "", "", ""))
    level = f"intensity at the level {ladder.level}" if ladder.level else "no intensity: bytes were not counted"
    head = f"{ladder.title}, {ladder.problem}, {ladder.dtype}; {level}"
    foot = f"bound by: named where a rung runs within {BOUND_WITHIN:.0%} of that roof"
    return "\n".join((head, columns(rows), foot)) + (f"\n{ladder.reference}" if ladder.reference else "")


def _latencies(dataset: Dataset) -> str:
    found = {name: dataset.get(f"latencies.{name}.cycles") for name in ("shared", "l1", "l2", "l2_far", "dram")}
    words = ", ".join(f"{name} {number(reading.quantity)}" for name, reading in found.items() if reading is not None)
    return f"latency of a load in cycles: {words}" if words else ""


def _traces(dataset: Dataset) -> str:
    lines = []
    launch, divergence, index = dataset.launch_trace(), dataset.divergence_trace(), dataset.index_trace()
    if launch is not None:
        trace = launch.value
        lines.append(
            f"launch trace: {trace.blocks} blocks on {len(set(trace.sm))} SMs, "
            f"{number(trace.blocks_per_sm)} at a time on each, {trace.duration.value / 1e3:.1f} us"
        )
    if divergence is not None:
        found = divergence.value
        lines.append(
            f"divergence: if ({found.condition}): {number(found.cycles, 4)} cycles against "
            f"{number(found.uniform_cycles, 4)} undivided, {number(found.slowdown)} times"
        )
    if index is not None:
        lines.append(f"index trace: {index.value.blocks} blocks of {index.value.threads} threads, n = {index.value.n}")
    return "\n".join(lines)


def _all_reduce(dataset: Dataset) -> str:
    owned = dataset.all_reduce()
    if owned is None:
        return ""
    rates = ", ".join(f"{name} {number(rate)} {rate.unit} ({rate.source})" for name, rate in owned.value.bus_bandwidth.items())
    return f"all-reduce, {owned.device.name}: bus bandwidth {rates}"


def _absent(dataset: Dataset) -> str:
    lines = [f"not in the file: {subject}: {reason}" for subject, reason in sorted(dataset.main.absent.items())]
    return "\n".join(lines)
