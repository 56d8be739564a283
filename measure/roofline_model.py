"""The roofline's arithmetic: intensity, ridge, what is attainable, and which roof binds.

After Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore architectures",
Communications of the ACM 52(4), 2009: attainable rate = min(peak, intensity x bandwidth).  One such line a memory level, as in
the hierarchical roofline (Yang et al., 2019).  Rates in TFLOP/s, bandwidths in TB/s, so that an intensity is in FLOP/B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from measure.records import Ladder, Level, Roof, Rung

BOUND_WITHIN = 0.30
"""A kernel is said to be bound by a roof only when it runs within this share of it."""

LEVEL_ROOF: Mapping[Level, str] = {"load_path": "load_path", "l2": "l2", "dram": "dram", "algorithmic": "dram"}
"""The roof that limits each level's traffic."""

LEVELS: tuple[Level, ...] = ("load_path", "l2", "dram")
"""The levels at which bytes really move, nearest to the math first; `algorithmic` is a lower bound, not traffic."""


@dataclass(frozen=True, slots=True)
class Share:
    """How near a kernel is to one roof: `limit` is that roof at the kernel's intensity, in the unit of the kernel's rate."""

    roof: str
    limit: float
    share: float


def intensity(work: float, traffic: float) -> float:
    """Arithmetic intensity in FLOP/B of `work` FLOP over `traffic` B.  Raises ValueError unless both are positive."""
    if not (work > 0 and traffic > 0):
        raise ValueError(f"intensity needs positive work and traffic, got {work} FLOP and {traffic} B")
    return work / traffic


def ridge(peak: float, bandwidth: float) -> float:
    """Intensity in FLOP/B at which a slope of `bandwidth` TB/s meets a flat roof of `peak` TFLOP/s."""
    return intensity(peak, bandwidth)


def attainable(flop_per_byte: float, peak: float, bandwidth: float) -> float:
    """Rate in TFLOP/s that a kernel of this intensity can reach under `peak` TFLOP/s and `bandwidth` TB/s."""
    return min(peak, flop_per_byte * bandwidth)


def rung_intensity(ladder: Ladder, rung: Rung, level: Level) -> float | None:
    """Intensity of a rung at a level in FLOP/B, or None where its work or its bytes there are not known."""
    traffic = rung.traffic.get(level)
    if ladder.work is None or traffic is None or traffic.best is None:
        return None
    return intensity(ladder.work.value, traffic.best.value)


def math_roof_of(ladder: Ladder, rung: Rung) -> str:
    """The roof of the units that a rung computes on."""
    return rung.math_roof or ladder.math_roof


def shares(ladder: Ladder, rung: Rung, roofs: Mapping[str, Roof]) -> tuple[Share, ...]:
    """A rung's share of every roof that is known with it: the math roof first, then the levels from the math outwards."""
    if rung.rate is None:
        return ()
    rate, result = rung.rate.value, []
    name = math_roof_of(ladder, rung)
    math_roof = roofs.get(name)
    if math_roof is not None and math_roof.best is not None:
        result.append(Share(name, math_roof.best.value, rate / math_roof.best.value))
    for level in LEVELS:
        roof, flop_per_byte = roofs.get(LEVEL_ROOF[level]), rung_intensity(ladder, rung, level)
        if roof is not None and roof.best is not None and flop_per_byte is not None:
            limit = flop_per_byte * roof.best.value
            result.append(Share(LEVEL_ROOF[level], limit, rate / limit))
    return tuple(result)


def bound_by(ladder: Ladder, rung: Rung, roofs: Mapping[str, Roof]) -> Share | None:
    """The roof a rung runs within 30 % of, the nearest where there are several, or None: then no bound may be named."""
    nearest = max(shares(ladder, rung, roofs), key=lambda item: item.share, default=None)
    return nearest if nearest is not None and nearest.share >= 1.0 - BOUND_WITHIN else None


def binding_level(ladder: Ladder, roofs: Mapping[str, Roof]) -> Level | None:
    """The memory level to draw a ladder at: where its rungs come nearest to that level's roof on average.

    Only levels whose roof and whose bytes of every rung with a rate are known take part; None where there is none.
    """
    rated = [rung for rung in ladder.rungs if rung.rate is not None]
    means: dict[Level, float] = {}
    for level in LEVELS:
        roof = LEVEL_ROOF[level]
        at_level = [item.share for rung in rated for item in shares(ladder, rung, roofs) if item.roof == roof]
        if rated and len(at_level) == len(rated):
            means[level] = sum(at_level) / len(at_level)
    return max(means.items(), key=lambda item: item[1])[0] if means else None
