"""The divergence sweep: cycles of one warp whose lanes take 1 to 32 different paths, with a branch and without one.

A warp has one instruction at a time for all of its lanes.  Where they take different sides of a branch, the sides run one after
the other, and lanes of other sides wait: the warp's time is the sum.  The twins without a branch show the two ways out: going
through every side and keeping one (predication) always costs all sides; choosing the data instead of the code costs one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernels.catalogue import WARP
from kernels.launch import load_function
from kernels.sweeps import probes
from measure.errors import VerificationError
from measure.records import Measurements, Quantity, Series, Sweep, Verification
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import summarise

ROUNDS = 32
PASSES = 2
REPEATS = 21
REPEATS_QUICK = 5
ODD = ((1, 1), (3, 1), (5, 3))  # rounds and passes of the small chains that must come out right too
ORACLE = "closed form of each lane's chain, float64"
UNIT_ROUNDOFF = 2.0**-24  # of fp32

Launch = Callable[[str, int, int, int], tuple[Any, Any, Any]]
"""(way, paths, rounds, passes) -> the lanes' starts, results and cycles."""


def expected(start: Any, paths: int, steps: int) -> Any:
    """What every lane must end with, in float64: lane t goes through `steps` multiply-adds of side t % paths."""
    return np.array([probes.after(lane % paths, steps, float(x)) for lane, x in enumerate(start)])


def tolerance(steps: int) -> float:
    """Every multiply-add rounds once, by at most 2^-24 of its result, and the chain lets no error grow: n x 2^-24."""
    return steps * UNIT_ROUNDOFF


def error(start: Any, out: Any, paths: int, steps: int) -> float:
    """The largest error of a lane relative to the largest number in its chain; infinite where a result is not finite.

    The chain rises or falls all the way, so its largest number is its first or its last.
    """
    if not np.all(np.isfinite(out)):
        return math.inf
    exact = expected(start, paths, steps)
    return float((np.abs(out - exact) / np.maximum(np.abs(exact), np.abs(start))).max())


def checked(launch: Launch, way: str, paths: int, rounds: int = ROUNDS, passes: int = PASSES) -> tuple[float, int]:
    """Error and cycles of one launch.  Raises VerificationError where a lane ends with something else than its chain."""
    start, out, cycles = launch(way, paths, rounds, passes)
    steps = passes * rounds * probes.STEPS
    found = error(start, out, paths, steps)
    if not found <= tolerance(steps):
        raise VerificationError(f"paths_{way}, {paths} paths: a lane is off by {found:.2g} of its chain")
    return found, int(np.max(cycles))


def collect_divergence(bench: Bench) -> Raw:
    """Cycles and errors by way and number of paths, every launch checked.  Raises VerificationError."""
    launch = _launcher()
    counts = range(1, probes.SIDES + 1)
    repeats = REPEATS_QUICK if bench.quick else REPEATS
    for way in probes.WAYS:
        for rounds, passes in ODD:
            for paths in counts:
                checked(launch, way, paths, rounds, passes)
    ways: dict[str, Any] = {way: {str(paths): [] for paths in counts} for way in probes.WAYS}
    errors = []
    for _ in range(repeats):
        # in turns, so that whatever changes meanwhile meets all of them
        for way in probes.WAYS:
            for paths in counts:
                found, cycles = checked(launch, way, paths)
                errors.append(found)
                ways[way][str(paths)].append(cycles)
    bench.step("divergence by paths")
    return {"ways": ways, "rounds": ROUNDS, "passes": PASSES, "error": errors[0], "error_after": max(errors)}


def _launcher() -> Launch:
    import cupy

    functions = {way: load_function(probes.DIVERGENCE_PATHS, f"paths_{way}") for way in probes.WAYS}
    start = np.random.default_rng(5).uniform(-1, 1, WARP).astype(np.float32)
    x, out, cycles = cupy.asarray(start), cupy.empty(WARP, cupy.float32), cupy.empty(WARP, cupy.int64)

    def launch(way: str, paths: int, rounds: int, passes: int) -> tuple[Any, Any, Any]:
        out.fill(cupy.nan)
        cycles.fill(-1)
        functions[way]((1,), (WARP,), (x, out, np.int32(paths), np.int32(rounds), np.int32(passes), cycles))
        return start, out.get(), cycles.get()

    return launch


def record_divergence(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The sweep: cycles of the three ways by number of paths, and the branch's slowdown against one path."""
    steps = raw["rounds"] * probes.STEPS
    words = f"{steps} multiply-adds a side; from before the branch until all lanes are together again, second pass"
    cycles = {
        way: {paths: summarise([float(one) for one in samples], "cycles", words) for paths, samples in by_paths.items()}
        for way, by_paths in raw["ways"].items()
    }
    one = cycles["branching"]["1"]
    slowdown = {
        paths: Quantity(value.value / one.value, "", "measured", reference="cycles over those of one path, medians")
        for paths, value in cycles["branching"].items()
    }
    bound = tolerance(raw["passes"] * steps)
    right = raw["error"] <= bound and raw["error_after"] <= bound
    sweep = Sweep(
        title="Divergence by paths",
        parameter="paths",
        unit="",
        kernel=f"one warp, lane t takes side t % paths of {probes.SIDES}; {steps} dependent multiply-adds a side",
        series=(
            Series("branching", "A branch: one side after the other", cycles["branching"]),
            Series("predicated", f"No branch: all {probes.SIDES} sides, each lane keeps its own", cycles["predicated"]),
            Series("selected", "No branch: coefficients chosen, one chain for all", cycles["selected"]),
            Series("slowdown", "The branch against one path", slowdown),
        ),
        verification=Verification(right, raw["error"], raw["error_after"], bound, ORACLE),
        reference="clock64 of the warp's SM, one warp alone on it; every launch checked lane by lane",
    )
    return replace(found, sweeps={**found.sweeps, "divergence": sweep})


DIVERGENCE = Subject(
    name="divergence_paths",
    title="Divergence by number of paths",
    key="sweeps.divergence",
    sources=(probes.DIVERGENCE_PATHS.source,),
    collect=collect_divergence,
    record=record_divergence,
)
