"""The last fp32 rung's constants, chosen on the GPU at hand: every candidate is built, verified and timed for a moment.

The list of candidates is the ladder's own and always in the same order; those that the GPU cannot hold are left out.  What was
tried and how long it took is kept as raw samples; the choice itself is a function of them alone.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kernels.catalogue import Kernel, KernelError, Problem
from kernels.gemm_fp32.ladder import autotuned
from kernels.gemm_fp32.warp_tile import WARP_TILES, WarpTile
from kernels.launch import load
from measure.subject import Bench, Raw

BUDGET, BUDGET_QUICK = 8.0, 2.0  # seconds
SAMPLES = 5
WARM_SECONDS = 0.02


def collect(
    bench: Bench,
    problem: Problem,
    verified: Callable[[Kernel, Any], bool],
    operands: Sequence[Any],
    budget: float | None = None,
) -> list[Raw]:
    """What each candidate did: its constants, whether it is right, seconds a launch; `failure` where it could not be built.

    `verified(kernel, run)` says whether a loaded candidate computes the right product; `operands` are A, B and C.  Candidates
    that the time budget (seconds) leaves no room for are left out; the first is always tried.
    """
    began = time.monotonic()
    if budget is None:
        budget = BUDGET_QUICK if bench.quick else BUDGET
    tried: list[Raw] = []
    for tile in WARP_TILES:
        if tried and time.monotonic() - began > budget:
            break
        kernel = autotuned(tile)
        one: Raw = {"tile": asdict(tile), "right": False, "seconds": [], "failure": ""}
        tried.append(one)
        try:
            run = load(kernel, problem).run
        except KernelError as error:
            one["failure"] = str(error)
            continue
        one["right"] = verified(kernel, run)
        if one["right"]:
            spent = 0.0
            while spent < WARM_SECONDS:
                spent += bench.watch.seconds(lambda run=run: run(*operands))  # type: ignore[misc]
            one["seconds"] = [bench.watch.seconds(lambda run=run: run(*operands), 3) for _ in range(SAMPLES)]  # type: ignore[misc]
    return tried


def choose(tried: Sequence[Mapping[str, Any]]) -> WarpTile:
    """The right candidate with the shortest median; the first of the list where none is right: it is then refused."""
    timed = [one for one in tried if one["right"] and one["seconds"]]
    if not timed:
        return WARP_TILES[0]
    return WarpTile(**min(timed, key=lambda one: statistics.median(one["seconds"]))["tile"])
