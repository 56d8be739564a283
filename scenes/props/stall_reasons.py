"""What the warps of a kernel wait for: the hardware's stall reasons in plain words, and the greatest of a rung."""

from __future__ import annotations

from measure.dataset import Dataset
from measure.records import Rung

PREFIX = "warp_time_"  # of a rung's counters: shares of its warps' time, by reason
# Nsight Compute's reasons (its documentation, warp states) on a sign over a gate that the warps stand before, and which of them
# are memory's; others are shown by their own name.
GATES = {
    "lg_throttle": "load queue: full",
    "long_scoreboard": "waiting for L1, L2 or DRAM",
    "mio_throttle": "shared memory's queue: full",
    "short_scoreboard": "waiting for shared memory",
    "barrier": "waiting at a barrier",
    "math_pipe_throttle": "math pipe: busy",
    "wait": "waiting a fixed time",
    "not_selected": "ready, not chosen",
    "dispatch_stall": "dispatcher: busy",
    "no_instruction": "waiting for code",
}
OF_A_QUEUE = ("lg_throttle", "mio_throttle")  # those that mean: it has no room
OF_MEMORY = ("lg_throttle", "long_scoreboard", "mio_throttle", "short_scoreboard")
ISSUED, IDLE = "counters.issue_active", "figures.idle_issue_slots"  # of a rung: shares of its issue slots


def slots_of(data: Dataset, rung: str) -> str | None:
    """The key of the issued slots of a rung (its key), as counted, else of its idle ones, as estimated; None: neither."""
    return next((f"{rung}.{key}" for key in (ISSUED, IDLE) if rung and data.has(f"{rung}.{key}")), None)


def greatest(rung: Rung) -> str | None:
    """The reason with the largest counted share of a rung's warp time, such as 'lg_throttle'; None where none was counted."""
    shares = {key.removeprefix(PREFIX): share.value for key, share in rung.counters.items() if key.startswith(PREFIX)}
    return max(shares, key=lambda reason: shares[reason]) if shares else None
