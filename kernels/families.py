"""Every kernel of the project by family, so that what must hold for all of them needs no list of its own.

A family is a folder here.  Its compile tests, its mutants and its run under the sanitizer all come from this registry; a test
holds that no source and no entry point is left out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernels.all_reduce import algorithms as all_reduce
from kernels.all_reduce.mutants import MUTANTS as ALL_REDUCE_MUTANTS
from kernels.attention.ladder import LADDER as ATTENTION
from kernels.attention.ladder import ODD as ODD_ATTENTION
from kernels.attention.mutants import MUTANTS as ATTENTION_MUTANTS
from kernels.build import Cubin, compile_source
from kernels.catalogue import Kernel, KernelError, Launch, Mutant, Problem, Program, Routine
from kernels.gemm_bf16.ladder import LADDER as GEMM_BF16
from kernels.gemm_bf16.mutants import MUTANTS as GEMM_BF16_MUTANTS
from kernels.gemm_fp32.ladder import LADDER as GEMM_FP32
from kernels.gemm_fp32.mutants import MUTANTS as GEMM_FP32_MUTANTS
from kernels.gemv.batch import BATCH_LADDER as GEMV_BATCH
from kernels.gemv.ladder import LADDER as GEMV
from kernels.gemv.ladder import ODD as ODD_GEMV
from kernels.gemv.mutants import MUTANTS as GEMV_MUTANTS
from kernels.nvrtc import Compiler
from kernels.roofs import mma_probe, wgmma_probe
from kernels.roofs import probes as roofs
from kernels.roofs.mutants import MUTANTS as ROOFS_MUTANTS
from kernels.sweeps import probes as sweeps
from kernels.sweeps.mutants import MUTANTS as SWEEPS_MUTANTS
from kernels.traces import probes as traces
from kernels.traces.mutants import MUTANTS as TRACES_MUTANTS

ODD = Problem(129, 63, 17)


@dataclass(frozen=True, slots=True)
class Unit:
    """One source as one problem compiles it: `entries` are its entry points that are launched, `launch` how, if it is fixed.

    `timed` is whether this is what gets timed; the others are of odd sizes, which are only verified.  `before` are files that
    the source is compiled behind.
    """

    family: str
    name: str
    source: Path
    entries: tuple[str, ...]
    constants: Mapping[str, int] = field(default_factory=dict)
    launch: Launch | None = None
    min_arch: int = 75
    timed: bool = True
    before: tuple[Path, ...] = ()
    min_shared: int = 0
    feature_arch: str = ""

    @property
    def key(self) -> tuple[Path, tuple[tuple[str, int], ...]]:
        """What the compiler sees: units of one key are one compilation."""
        return self.source, tuple(sorted(self.constants.items()))

    def build(self, arch: str, compiler: Compiler | None = None, mutant: Mutant | None = None) -> Cubin:
        """Compile it, broken by a mutant if one is given.  Raises CompileError."""
        text = self.source.read_text(encoding="utf-8")
        parts = (*(path.read_text(encoding="utf-8") for path in self.before), mutant.apply(text) if mutant else text)
        return compile_source("\n".join(parts), arch, self.constants, self.source.name, compiler)


@dataclass(frozen=True, slots=True)
class Family:
    """The kernels of one folder, and the mutants of them that verification must refuse.

    `verified_by` names the subject of the suite that verifies a rung or program, where several subjects use its source.
    """

    name: str
    units: tuple[Unit, ...]
    mutants: tuple[Mutant, ...] = ()
    verified_by: Mapping[str, str] = field(default_factory=dict)

    def of(self, rung: str) -> tuple[Unit, ...]:
        """The units of one rung or program.  Raises KernelError where there is none of that name."""
        found = tuple(unit for unit in self.units if unit.name == rung)
        if not found:
            raise KernelError(f"family {self.name} has no {rung!r}; it has {', '.join(sorted({u.name for u in self.units}))}")
        return found


def of_kernels(family: str, kernels: Sequence[Kernel], problems: Sequence[Problem]) -> tuple[Unit, ...]:
    """Matrix products, as each of the problems compiles them; the first is the one that is timed."""
    found = []
    for kernel in kernels:
        for problem in problems:
            launch = kernel.launch(problem)
            timed = problem is problems[0]
            unit = Unit(
                family,
                kernel.name,
                kernel.source,
                (kernel.entry,),
                launch.constants,
                launch,
                kernel.min_arch,
                timed,
                min_shared=kernel.min_shared,
                feature_arch=kernel.feature_arch,
            )
            found.append(unit)
    return tuple(found)


def of_routines(family: str, routines: Sequence[Routine[Any]], problems: Sequence[Any]) -> tuple[Unit, ...]:
    """Routines, every step as each of the problems compiles it; the first is the one that is timed."""
    found = []
    for routine in routines:
        for problem in problems:
            for step in routine.steps(problem):
                launch, timed = step.launch, problem is problems[0]
                unit = Unit(
                    family,
                    routine.name,
                    routine.source,
                    (step.entry,),
                    launch.constants,
                    launch,
                    routine.min_arch,
                    timed,
                    min_shared=routine.min_shared,
                    feature_arch=routine.feature_arch,
                )
                found.append(unit)
    return tuple(found)


def of_programs(family: str, programs: Iterable[Program], before: tuple[Path, ...] = ()) -> tuple[Unit, ...]:
    """Programs: all entry points of each at once.  What is compiled with GUARD 1 is for odd sizes."""
    return tuple(
        Unit(
            family,
            one.name,
            one.source,
            one.entries,
            one.constants,
            min_arch=one.min_arch,
            timed=not one.constants.get("GUARD", 0),
            before=before,
            feature_arch=one.feature_arch,
        )
        for one in programs
    )


FAMILIES: tuple[Family, ...] = (
    Family(
        "roofs",
        of_programs("roofs", (*roofs.PROGRAMS, *mma_probe.PROGRAMS, *wgmma_probe.PROGRAMS)),
        (*ROOFS_MUTANTS, *mma_probe.MUTANTS, *wgmma_probe.MUTANTS),
        {"latency": "latencies"},
    ),
    Family("traces", of_programs("traces", traces.PROGRAMS), TRACES_MUTANTS, {"launch": "launch"}),
    Family("sweeps", of_programs("sweeps", sweeps.PROGRAMS), SWEEPS_MUTANTS, {"streams": "streams"}),
    Family("gemm_fp32", of_kernels("gemm_fp32", GEMM_FP32.rungs, (GEMM_FP32.problem, ODD)), GEMM_FP32_MUTANTS),
    Family("gemm_bf16", of_kernels("gemm_bf16", GEMM_BF16.rungs, (GEMM_BF16.problem, ODD)), GEMM_BF16_MUTANTS),
    Family("attention", of_routines("attention", ATTENTION.rungs, (ATTENTION.problem, *ODD_ATTENTION)), ATTENTION_MUTANTS),
    Family("gemv", of_routines("gemv", (*GEMV.rungs, *GEMV_BATCH.rungs), (GEMV.problem, ODD_GEMV)), GEMV_MUTANTS),
    Family(
        "all_reduce",
        of_programs("all_reduce", all_reduce.programs(), all_reduce.SHARED),
        ALL_REDUCE_MUTANTS,
        {one.name: "virtual_all_reduce" for one in all_reduce.ALGORITHMS},
    ),
)


def units() -> tuple[Unit, ...]:
    """Every unit of every family, each compilation once for an entry point."""
    found: dict[Any, Unit] = {}
    for family in FAMILIES:
        for unit in family.units:
            found.setdefault((unit.key, unit.entries), unit)
    return tuple(found.values())
