"""Records of a contest: a rung with its rate, spread, bytes, verification and builds, or why it has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from measure.records import Build, Level, Quantity, ReferenceLine, Rung, Traffic, Verification
from measure.subject import Context
from measure.timing import summarise
from measure.verify import passes

CLOCK_SHARE = 0.9
"""A rung whose clock lay below this share of the GPU's boost clock is flagged as throttled."""

NOT_FINITE = 1.7976931348623157e308  # a file holds no infinity: an error without bound is written as the largest float


def rung_record(
    raw: Mapping[str, Any],
    *,
    name: str,
    title: str,
    change: str,
    work: float,
    traffic: Mapping[Level, Traffic],
    oracle: str,
    context: Context,
    figures: Mapping[str, Quantity] | None = None,
    math_roof: str = "",
) -> Rung:
    """One rung from a contender's raw samples; `work` in FLOP.  Wrong before or after, it has no rate and no time."""
    if raw["refusal"]:
        return Rung(name, title, change, math_roof=math_roof, absent=raw["refusal"])
    builds = tuple(
        Build(
            grid=tuple(one["grid"]),
            block=tuple(one["block"]),
            registers=one["registers"],
            spill_bytes=one["spills"],
            shared_bytes=one["shared"],
            options=tuple(one["options"]),
            source_sha256=one["sha256"],
            entry=one["entry"],
        )
        for one in raw["launches"]
    )
    verification = verification_record(raw, oracle)
    if not verification.passed or not raw["hot"]:
        return Rung(name, title, change, traffic=traffic, verification=verification, builds=builds, math_roof=math_roof)
    clock = summarise(raw["clocks"], "MHz", "cycles over nanoseconds on every SM") if raw["clocks"] else None
    slow = clock is not None and context.hardware.clock > 0 and clock.value < CLOCK_SHARE * context.hardware.clock
    return Rung(
        name,
        title,
        change,
        rate=rate(work, raw["hot"]),
        time=summarise(raw["hot"], "s", "back to back"),
        time_cold=summarise(raw["cold"], "s", "L2 overwritten before each launch") if raw["cold"] else None,
        traffic=traffic,
        verification=verification,
        builds=builds,
        math_roof=math_roof,
        figures=figures or {},
        clock=clock,
        throttled=slow or bool(raw["reasons"]),
        throttle_reasons=tuple(raw["reasons"]),
        samples=rounded(raw["hot"]),
        samples_cold=rounded(raw["cold"]),
    )


def verification_record(raw: Mapping[str, Any], oracle: str) -> Verification:
    """Whether a contender was right at every size, before and after it was timed."""
    before, after, tolerance = _error(raw["error"]), _error(raw["error_after"]), raw["tolerance"]
    passed = raw["odd_sizes"] and passes(before, tolerance) and passes(after, tolerance)
    return Verification(bool(passed), before, after, tolerance, oracle)


def line_record(raw: Mapping[str, Any], *, name: str, title: str, work: float) -> ReferenceLine | None:
    """A vendor's library beside a ladder, or None where it was not run."""
    return ReferenceLine(title, rate(work, raw["hot"]), rounded(raw["hot"]), name) if raw["hot"] else None


def rate(work: float, seconds: Sequence[float]) -> Quantity:
    """TFLOP/s from seconds a run: the quartiles change places, as the shortest time is the highest rate."""
    return summarise([work / second / 1e12 for second in seconds], "TFLOP/s")


def rounded(samples: Sequence[float]) -> tuple[float, ...]:
    """Raw samples to five digits, well below their noise."""
    return tuple(float(f"{sample:.5g}") for sample in samples)


def _error(value: float | None) -> float:
    return NOT_FINITE if value is None else value
