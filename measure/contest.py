"""A contest on a GPU: verify everyone, time everyone in turns, verify again.  Raw samples come back; nothing is judged here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kernels.build import Cubin
from kernels.catalogue import Launch
from measure import verify
from measure.subject import Bench, Raw
from measure.timing import Run, time_all


@dataclass(frozen=True, slots=True)
class LaunchInfo:
    """What one launch of a contender used; `shared` static and dynamic bytes together, `sha256` of its source's code."""

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    spills: int
    shared: int
    options: tuple[str, ...]
    sha256: str


def launch_info(entry: str, launch: Launch, cubin: Cubin, sha256: str) -> LaunchInfo:
    """The facts of a launch from what the compiler said."""
    used = cubin.resources[entry]
    shared = used.shared + launch.dynamic_shared
    return LaunchInfo(entry, launch.grid, launch.block, used.registers, used.spills, shared, cubin.options, sha256)


@dataclass(frozen=True, slots=True)
class Contender:
    """One that is timed: `run` enqueues it, `check` poisons the output, runs once and returns the error (inf if not finite).

    `tolerance` is the largest error that counts as right, None for a vendor's library, which is timed in any case.
    `odd_sizes` says whether small problems of odd sizes come out right too.  `refusal` is why it cannot run here at all.
    """

    name: str
    run: Run
    check: Callable[[], float]
    tolerance: float | None
    odd_sizes: Callable[[], bool] = lambda: True
    launches: tuple[LaunchInfo, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    refusal: str = ""


def refused(name: str, reason: str) -> Contender:
    """A contender that cannot run on this GPU."""
    return Contender(name, lambda: None, lambda: math.inf, 0.0, refusal=reason)


def hold(bench: Bench, contenders: Sequence[Contender]) -> Raw:
    """Verify, time in shuffled rounds, verify again.  One step for the verification and one for each turn: see `steps`."""
    able = [one for one in contenders if not one.refusal]
    before = {one.name: one.check() for one in able}
    odd = {one.name: one.odd_sizes() for one in able}
    bench.step("verify")
    right = {
        one.name: one.run
        for one in able
        if one.tolerance is None or (verify.passes(before[one.name], one.tolerance) and odd[one.name])
    }
    timings = time_all(bench.watch, right, bench.plan, bench.step, reasons=bench.reasons)
    after = {one.name: one.check() for one in able if one.name in timings}
    found: dict[str, Raw] = {}
    for one in contenders:
        timing = timings.get(one.name)
        found[one.name] = {
            "refusal": one.refusal,
            "tolerance": one.tolerance,
            "error": _json(before.get(one.name)),
            "error_after": _json(after.get(one.name, before.get(one.name))),
            "odd_sizes": odd.get(one.name, False),
            "hot": list(timing.hot) if timing else [],
            "cold": list(timing.cold) if timing else [],
            "clocks": list(timing.clocks) if timing else [],
            "reasons": sorted(timing.reasons) if timing else [],
            "launches": [asdict(launch) for launch in one.launches],
            "extra": _finite(dict(one.extra)),
        }
    return {"contenders": found, "clocks": [clock for timing in timings.values() for clock in timing.clocks]}


def steps(contenders: int, rounds: int) -> int:
    """How many steps a contest of so many takes."""
    return 1 + contenders * rounds


def _json(error: float | None) -> float | None:
    """JSON has no infinity: None stands for an output that was not finite, or for nothing run."""
    return error if error is not None and math.isfinite(error) else None


def _finite(value: Any) -> Any:
    """Any JSON with None for what is not finite: what a broken kernel wrote must not keep the rest from being written."""
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return _json(value) if isinstance(value, float) else value
