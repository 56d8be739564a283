"""All-reduce among the GPUs of one process, through peer pointers: the algorithms, how they are built, launched and judged.

Every source is compiled behind `primitives.cuh` and `signals.cuh`, which hold what all of them share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.all_reduce.schedule import check_ranks
from kernels.catalogue import KernelError, Launch, Program

HERE = Path(__file__).resolve().parent
PRIMITIVES, SIGNALS, GATE = HERE / "primitives.cuh", HERE / "signals.cuh", HERE / "gate.cu"

THREADS = 512
PACK = 16
"""Bytes that a thread moves at once."""

SIGNAL_NUMBERS = 64
"""Signal numbers that one call may use up: a ring of 8 takes 15, the others 2 or 3."""

ROUNDOFF = {False: 2.0**-24, True: 2.0**-8}
"""Unit roundoff of fp32 and, for True, of bf16."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One all-reduce: `divided` where each rank adds up its own chunk, `in_order` where all add in the order of the ranks."""

    name: str
    title: str
    change: str
    source: Path
    entry: str
    divided: bool
    in_order: bool

    @property
    def own_text(self) -> str:
        """The CUDA C++ of the algorithm alone."""
        return self.source.read_text(encoding="utf-8")

    def program(self, constants: Mapping[str, int]) -> Program:
        """The source with what all share before it, compiled with these constants."""
        return _Whole(self.name, self.source, (self.entry,), constants)


@dataclass(frozen=True, slots=True)
class _Whole(Program):
    """A program of which `source` is the last part."""

    @property
    def text(self) -> str:
        return "\n".join(path.read_text(encoding="utf-8") for path in (PRIMITIVES, SIGNALS, self.source))


ALGORITHMS = (
    Algorithm(
        "one_shot",
        "One-shot",
        "everyone reads everything",
        HERE / "01_one_shot.cu",
        "all_reduce_one_shot",
        divided=False,
        in_order=True,
    ),
    Algorithm(
        "two_shot",
        "Two-shot",
        "each adds up one part, then all fetch the sums",
        HERE / "02_two_shot.cu",
        "all_reduce_two_shot",
        divided=True,
        in_order=True,
    ),
    Algorithm(
        "two_shot_push",
        "Two-shot, pushed",
        "a finished sum is written to everyone at once",
        HERE / "03_two_shot_push.cu",
        "all_reduce_two_shot_push",
        divided=True,
        in_order=True,
    ),
    Algorithm(
        "ring",
        "Ring",
        "each sends to its neighbour only",
        HERE / "04_ring.cu",
        "all_reduce_ring",
        divided=True,
        in_order=False,
    ),
)

SHARED = (PRIMITIVES, SIGNALS)
SOURCES = (PRIMITIVES, SIGNALS, GATE, *(one.source for one in ALGORITHMS))


def algorithm(name: str) -> Algorithm:
    """The algorithm of that name.  Raises KernelError where there is none."""
    for one in ALGORITHMS:
        if one.name == name:
            return one
    raise KernelError(f"there is no all-reduce {name!r}; there are {', '.join(one.name for one in ALGORITHMS)}")


def constants(ranks: int, count: int, bf16: bool = False, threads: int = THREADS) -> dict[str, int]:
    """What a source is compiled with for `count` values a rank.  Raises KernelError for a number of ranks it cannot do."""
    check_ranks(ranks)
    if threads < ranks:
        raise KernelError(f"a block needs at least as many threads as there are ranks ({ranks}), not {threads}")
    return {"RANKS": ranks, "THREADS": threads, "BF16": int(bf16), "GUARD": int(count % per_pack(bf16) != 0)}


def per_pack(bf16: bool) -> int:
    """Values in a pack of 16 bytes."""
    return PACK // (2 if bf16 else 4)


def launch(one: Algorithm, ranks: int, here: int, count: int, most: int, bf16: bool = False, threads: int = THREADS) -> Launch:
    """The launch for `here` of all the ranks on one GPU.

    `most` is how many blocks a rank may have so that all of them run at once.  All ranks must get the same number.
    """
    if most < 1:
        raise KernelError(f"{here} ranks on one GPU cannot run at the same time")
    packs = -(-count // per_pack(bf16))
    work = -(-packs // ranks) if one.divided else packs
    blocks = min(max(-(-work // threads), 1), most)
    return Launch((blocks, here, 1), (threads, 1, 1), constants(ranks, count, bf16, threads))


def most_blocks(sm_counts: Sequence[int], blocks_per_sm: Sequence[int], ranks_here: Sequence[int]) -> int:
    """Blocks that every rank may have: by GPU, what runs at once is shared among the ranks there; the tightest GPU decides."""
    return min(sms * held // here for sms, held, here in zip(sm_counts, blocks_per_sm, ranks_here, strict=True))


def tolerance(one: Algorithm | None, ranks: int, bf16: bool = False) -> float:
    """Largest allowed |out - exact| / sum of |inputs|; None stands for a library that adds in whatever order.

    A sum of n numbers in any order is within gamma(n - 1) of the exact one, gamma(k) = k u / (1 - k u) (Higham, Accuracy and
    Stability of Numerical Algorithms, 2nd ed., (4.4)).  bf16 is rounded once more at the end, or after each hop of a ring.
    """
    sums = _gamma(ranks - 1, ROUNDOFF[False])
    if not bf16:
        return sums
    hops = ranks - 1 if one is None or not one.in_order else 1
    return sums + _gamma(hops, ROUNDOFF[True]) * (1 + sums)


def _gamma(count: int, roundoff: float) -> float:
    return count * roundoff / (1 - count * roundoff)


def gate_program() -> Program:
    """The gate that holds a stream until the host opens it."""
    return _Whole("gate", GATE, ("gate",), constants(2, per_pack(False)))


def programs() -> Iterator[Program]:
    """Everything as it has to compile: few ranks and many, whole packs and parts of one, fp32 and bf16; and the gate."""
    for one in ALGORITHMS:
        for ranks, count, bf16 in ((2, 5, False), (8, 4, False), (8, 5, False), (8, 8, True), (8, 9, True)):
            yield one.program(constants(ranks, count, bf16))
    yield gate_program()
