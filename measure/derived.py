"""Figures computed from others of one file, each saying in its reference what went in.

A derived figure has the source `derived`, unless something published or estimated went in: that it stays, and is labelled so.
"""

from __future__ import annotations

from collections.abc import Mapping

from measure import roofline_model
from measure.records import Device, Ladder, Quantity, Roof, Rung, Source

Inputs = Mapping[str, Quantity]


def combine(value: float, unit: str, inputs: Inputs) -> Quantity:
    """A derived quantity with the weakest source of its inputs, which are named by their keys."""
    sources = {quantity.source for quantity in inputs.values()}
    source: Source = "estimated" if "estimated" in sources else "published" if "published" in sources else "derived"
    return Quantity(value, unit, source, reference="from " + ", ".join(f"{key} ({q.source})" for key, q in inputs.items()))


def roof_input(name: str, roof: Roof | None) -> dict[str, Quantity]:
    """The best figure of a roof under its full key; empty where there is none."""
    return {f"roofs.{name}.{roof.best_field}": roof.best} if roof is not None and roof.best is not None else {}


def fp32_lanes(device: Device) -> Quantity | None:
    """How many fp32 lanes a GPU has: its SMs times the lanes of one; None where either is unknown."""
    count, each = device.sm_count, device.fp32_lanes_per_sm
    if count is None or each is None:
        return None
    return combine(count.value * each.value, "", {"device.sm_count": count, "device.fp32_lanes_per_sm": each})


KIB, FP32 = 1024, 4
# KiB of shared memory of an SM at most (CUDA C++ Programming Guide, compute capabilities), where a file does not say it.
SHARED = {"7.0": 96, "7.5": 64, "8.0": 164, "8.6": 100, "8.7": 164, "8.9": 100, "9.0": 228, "10.0": 228, "12.0": 100}


def shared_memory(device: Device) -> Quantity | None:
    """Bytes of shared memory of all SMs of a GPU; None where their number or that of one is unknown."""
    count, said = device.sm_count, device.facts.get("shared memory an SM", "").partition(" KiB")[0]
    each = int(said) if said.isdecimal() else SHARED.get(device.compute_capability or "")
    if count is None or each is None:
        return None
    one = Quantity(float(each * KIB), "B", "measured" if said.isdecimal() else "datasheet")
    return combine(count.value * one.value, "B", {"device.sm_count": count, f"{each} KiB of shared memory an SM": one})


def square(name: str, ladder: Ladder) -> Quantity | None:
    """Bytes of one head's square of fp32 scores, by an attention ladder's problem 'batch x heads, queries x values'."""
    heads, _, sizes = ladder.problem.partition(" heads, ")
    side = sizes.partition("x")[0].strip()
    if not heads or not side.isdecimal():
        return None
    queries = Quantity(float(side), "", "derived")
    return combine(FP32 * queries.value**2, "B", {f"queries of ladders.{name}.problem": queries})


def _rate_input(ladder: str, rung: Rung) -> dict[str, Quantity]:
    return {f"ladders.{ladder}.rungs.{rung.name}.rate": rung.rate} if rung.rate is not None else {}


def _traffic_input(name: str, ladder: Ladder, rung: Rung) -> dict[str, Quantity]:
    traffic = rung.traffic.get(ladder.level) if ladder.level is not None else None
    if traffic is None or traffic.best is None:
        return {}
    field = "counters" if traffic.counters is not None else "model"
    return {f"ladders.{name}.rungs.{rung.name}.traffic.{ladder.level}.{field}": traffic.best}


def intensity(name: str, ladder: Ladder, rung: Rung) -> Quantity | None:
    """FLOP/B of a rung at its ladder's level."""
    traffic = _traffic_input(name, ladder, rung)
    if ladder.level is None or ladder.work is None or not traffic:
        return None
    value = roofline_model.rung_intensity(ladder, rung, ladder.level)
    return None if value is None else combine(value, "FLOP/B", {f"ladders.{name}.work": ladder.work, **traffic})


def achieved(name: str, ladder: Ladder, rung: Rung, roofs: Mapping[str, Roof]) -> Quantity | None:
    """A rung's rate over the math roof of the units it computes on, as a ratio."""
    math_roof = roofline_model.math_roof_of(ladder, rung)
    peak = roof_input(math_roof, roofs.get(math_roof))
    if rung.rate is None or not peak:
        return None
    return combine(rung.rate.value / next(iter(peak.values())).value, "", {**_rate_input(name, rung), **peak})


def of_line(name: str, ladder: Ladder, rung: Rung, line: str) -> Quantity | None:
    """A rung's rate over that of a vendor's library for the same problem, as a ratio; None where either was not measured."""
    other = next((item.rate for item in ladder.lines if item.name == line), None)
    if rung.rate is None or other is None:
        return None
    return combine(rung.rate.value / other.value, "", {**_rate_input(name, rung), f"ladders.{name}.lines.{line}.rate": other})


def of_level(name: str, ladder: Ladder, rung: Rung, roofs: Mapping[str, Roof]) -> Quantity | None:
    """A rung's rate over its level's roof at the rung's intensity, as a ratio."""
    if ladder.level is None:
        return None
    roof = roofline_model.LEVEL_ROOF[ladder.level]
    share = next((item.share for item in roofline_model.shares(ladder, rung, roofs) if item.roof == roof), None)
    if share is None:
        return None
    inputs = {**_rate_input(name, rung), **roof_input(roof, roofs.get(roof)), **_traffic_input(name, ladder, rung)}
    return combine(share, "", inputs)


def ridge(memory_roof: str, math_roof: str, roofs: Mapping[str, Roof]) -> Quantity | None:
    """Intensity in FLOP/B at which a memory roof meets a math roof."""
    slope, beam = roof_input(memory_roof, roofs.get(memory_roof)), roof_input(math_roof, roofs.get(math_roof))
    if not slope or not beam:
        return None
    value = roofline_model.ridge(next(iter(beam.values())).value, next(iter(slope.values())).value)
    return combine(value, "FLOP/B", {**beam, **slope})
