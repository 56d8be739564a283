"""What a subject of the measuring suite is: how its raw samples are collected on a GPU, and how they become records.

The two halves are apart on purpose.  `collect` runs kernels and returns plain JSON: seconds, cycles, errors, what the compiler
said; it decides nothing.  `record` does all statistics and needs no GPU, so that a recording can be replayed through it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.device import Hardware
from measure.records import Measurements
from measure.timing import Plan, Stopwatch

Raw = dict[str, Any]
"""Plain JSON: what one subject saw on a GPU.  A list `clocks` at its top holds SM clocks in MHz, a sample a round."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A GPU to measure on.  `step(words)` reports progress; `reasons()` says what holds the clock down at this moment."""

    hardware: Hardware
    plan: Plan
    quick: bool
    watch: Stopwatch
    step: Callable[[str], None]
    reasons: Callable[[], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Context:
    """What turning samples into records may know of the GPU that they come from."""

    hardware: Hardware
    quick: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """One subject.  `key` is its place in the file (`ladders.gemm_fp32`), which is also where its absence is noted.

    `sources` are the CUDA files that its figures belong to: once their code changes, it is measured anew.  `steps(plan)` is how
    often `collect` calls `Bench.step`.  `needs` are subjects that must be in the file before.
    """

    name: str
    title: str
    key: str
    sources: tuple[Path, ...]
    collect: Callable[[Bench], Raw]
    record: Callable[[Measurements, Raw, Context], Measurements]
    steps: Callable[[Plan], int] = lambda plan: 1
    min_arch: int = 75
    needs: tuple[str, ...] = ()
