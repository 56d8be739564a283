"""Who sends what to whom in an all-reduce among n ranks, step by step.  The kernels compute the same by themselves.

A buffer is cut into n chunks of whole 16-byte packs, one a rank, the last one shorter or empty where it does not come out even.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from kernels.catalogue import KernelError

MOST_RANKS = 8
"""As many as a server has GPUs behind one switch; the kernels keep one pack of each rank in registers."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """In `step`, `chunk` goes from rank `source` to rank `target`, which adds it to its own or keeps it as the finished sum.

    `chunk` is None where it is the whole buffer.  All transfers of a step may be under way at once.
    """

    step: int
    source: int
    target: int
    chunk: int | None
    adds: bool


def chunk_packs(packs: int, ranks: int, chunk: int) -> range:
    """The packs of one chunk of a buffer of so many packs."""
    share = -(-packs // ranks)
    return range(min(chunk * share, packs), min((chunk + 1) * share, packs))


def one_shot(ranks: int) -> tuple[Transfer, ...]:
    """Every rank reads the whole buffer of every other."""
    return tuple(Transfer(0, s, t, None, True) for t in range(ranks) for s in range(ranks) if s != t)


def two_shot(ranks: int) -> tuple[Transfer, ...]:
    """Chunk r is added up by rank r (reduce-scatter), then every rank gets every sum (all-gather)."""
    pairs = [(one, other) for one in range(ranks) for other in range(ranks) if one != other]
    scatter = [Transfer(0, source, owner, owner, True) for owner, source in pairs]
    gather = [Transfer(1, owner, target, owner, False) for owner, target in pairs]
    return (*scatter, *gather)


def ring(ranks: int) -> tuple[Transfer, ...]:
    """In step s rank r sends chunk r - s to rank r + 1 (mod n); n - 1 steps add, n - 1 steps carry the sums round."""
    return tuple(
        Transfer(step, rank, (rank + 1) % ranks, (rank - step) % ranks, step < ranks - 1)
        for step in range(2 * (ranks - 1))
        for rank in range(ranks)
    )


SCHEDULES: Mapping[str, Callable[[int], tuple[Transfer, ...]]] = {
    "one_shot": one_shot,
    "two_shot": two_shot,
    "two_shot_push": two_shot,  # the same transfers, written by the owner of the chunk instead of read by the others
    "ring": ring,
}


def transfers(name: str, ranks: int) -> tuple[Transfer, ...]:
    """All transfers of an algorithm.  Raises KernelError for an unknown one or for too few or too many ranks."""
    check_ranks(ranks)
    if name not in SCHEDULES:
        raise KernelError(f"there is no all-reduce {name!r}; there are {', '.join(SCHEDULES)}")
    return SCHEDULES[name](ranks)


def received(name: str, ranks: int) -> Fraction:
    """Buffers that come in over the busiest rank's link in one call: n - 1 for one-shot, 2(n - 1)/n for the others."""
    parts = [Fraction(0)] * ranks
    for one in transfers(name, ranks):
        parts[one.target] += 1 if one.chunk is None else Fraction(1, ranks)
    return max(parts)


def check_ranks(ranks: int) -> None:
    """Raise KernelError unless the kernels are written for so many ranks."""
    if not 2 <= ranks <= MOST_RANKS:
        raise KernelError(f"an all-reduce needs 2 to {MOST_RANKS} ranks, not {ranks}")
