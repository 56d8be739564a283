"""What a kernel is to the rest of the project: its source, how it is launched, what it must compute and what it moves.

Nothing here needs a GPU or a compiler.  The catalogue of a subject lies beside its sources, in `kernels/<subject>/ladder.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

WARP = 32
P = TypeVar("P")
ROOT = Path(__file__).resolve().parent

Dim3 = tuple[int, int, int]


class KernelError(Exception):
    """A kernel that does not exist, or a problem that it cannot be launched for."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The size of a matrix product: C (m x n) = A (m x k) times B (k x n), row-major."""

    m: int
    n: int
    k: int

    def __post_init__(self) -> None:
        if min(self.m, self.n, self.k) < 1:
            raise KernelError(f"a matrix product needs sizes of at least 1, got {self}")
        if max(self.m * self.k, self.k * self.n, self.m * self.n) >= 2**31:
            raise KernelError(f"{self}: a matrix of 2^31 elements or more is beyond the kernels' 32-bit indices")

    def __str__(self) -> str:
        return f"{self.m} x {self.n} x {self.k}"

    @property
    def flop(self) -> int:
        """2mnk: a multiplication and an addition for each of the mnk products."""
        return 2 * self.m * self.n * self.k

    @property
    def compulsory_bytes(self) -> int:
        """The fewest bytes of fp32: each input read once, the output written once."""
        return 4 * (self.m * self.k + self.k * self.n + self.m * self.n)


@dataclass(frozen=True, slots=True)
class Launch:
    """How one kernel is started: grid and block, the constants it is compiled with, dynamic shared memory in bytes."""

    grid: Dim3
    block: Dim3
    constants: Mapping[str, int] = field(default_factory=dict)
    dynamic_shared: int = 0

    @property
    def threads(self) -> int:
        """Threads in a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def warps(self) -> int:
        """Warps in the whole grid."""
        return self.blocks * -(-self.threads // WARP)


@dataclass(frozen=True, slots=True)
class Access:
    """One memory instruction of a kernel as a warp issues it.

    `address(thread)` is the byte address, from the start of its array, of the `width` bytes (4, 8 or 16) that a thread of block
    (0, 0) touches; `times` is how often every warp issues the instruction in one launch.  Every warp is taken to make the same
    pattern, which holds for sizes that are multiples of the tile.  A `copy` is a cp.async, from global to `space` shared.
    """

    what: str
    space: Literal["global", "shared"]
    kind: Literal["load", "store", "copy"]
    width: int
    times: float
    address: Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: `source` file, `entry` point, a title, the one `change` from the rung before.

    `launch(problem)` gives the launch, `accesses(problem)` its memory instructions, `tile` the rows and columns of C that a
    block computes, `tolerance(problem)` the largest error that still counts as right (see `measure.verify`).
    `min_arch` is the oldest compute capability it is written for, as 75 for 7.5; `min_shared` the KiB of shared memory that a
    block must be allowed to have.  `feature_arch` is the one architecture whose own instructions it uses, as `sm_90a`; other
    GPUs cannot run it.  `operands(problem, a, b, c)` are the arguments for three CuPy arrays where they are not these arrays.
    `math_roof` names the unit that does its arithmetic where it is not the ladder's.
    """

    name: str
    title: str
    change: str
    source: Path
    entry: str
    tile: tuple[int, int]
    launch: Callable[[Problem], Launch]
    accesses: Callable[[Problem], tuple[Access, ...]]
    tolerance: Callable[[Problem], float]
    min_arch: int = 75
    min_shared: int = 0
    feature_arch: str = ""
    operands: Callable[[Problem, Any, Any, Any], tuple[Any, ...]] | None = None
    math_roof: str = ""

    @property
    def text(self) -> str:
        """The CUDA C++ source."""
        return self.source.read_text(encoding="utf-8")

    @property
    def sha256(self) -> str:
        """Digest of the code, comments aside."""
        return hashlib.sha256(code_of(self.text).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class KernelLadder:
    """Kernels that solve one problem, each one idea faster than the one before."""

    name: str
    title: str
    dtype: str
    problem: Problem
    math_roof: str
    rungs: tuple[Kernel, ...]

    def __getitem__(self, name: str) -> Kernel:
        for rung in self.rungs:
            if rung.name == name:
                return rung
        raise KernelError(f"ladder {self.name} has no rung {name!r}; it has {', '.join(rung.name for rung in self.rungs)}")


@dataclass(frozen=True, slots=True)
class Step:
    """One launch of a routine: the entry point of its source and how it is started."""

    entry: str
    launch: Launch


@dataclass(frozen=True, slots=True)
class Routine(Generic[P]):
    """A rung that is no plain matrix product, or takes several launches; P is the type of its problem.

    `steps(problem)` are its launches in order, `traffic(problem)` the bytes that one run moves by level (`load_path`, `l2`,
    `dram`, `algorithmic`; only those that are known), `tolerance(problem)` the largest error that still counts as right.
    `math_roof` names the unit that does its arithmetic.  Every step is compiled from `source` with its launch's constants.
    `min_arch`, `min_shared` and `feature_arch` are those of a `Kernel`.  `operands(problem, arrays)` are the arguments for CuPy
    arrays by their names, where they are not these arrays.
    """

    name: str
    title: str
    change: str
    source: Path
    steps: Callable[[P], tuple[Step, ...]]
    traffic: Callable[[P], Mapping[str, float]]
    tolerance: Callable[[P], float]
    math_roof: str = "fp32"
    min_arch: int = 75
    min_shared: int = 0
    feature_arch: str = ""
    operands: Callable[[P, Mapping[str, Any]], tuple[Any, ...]] | None = None

    @property
    def text(self) -> str:
        """The CUDA C++ source."""
        return self.source.read_text(encoding="utf-8")

    @property
    def sha256(self) -> str:
        """Digest of the code, comments aside."""
        return hashlib.sha256(code_of(self.text).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class RoutineLadder(Generic[P]):
    """Routines that solve one problem, each one idea better than the one before."""

    name: str
    title: str
    dtype: str
    problem: P
    math_roof: str
    rungs: tuple[Routine[P], ...]

    def __getitem__(self, name: str) -> Routine[P]:
        for rung in self.rungs:
            if rung.name == name:
                return rung
        raise KernelError(f"ladder {self.name} has no rung {name!r}; it has {', '.join(rung.name for rung in self.rungs)}")


MutantKind = Literal["off_by_one", "skipped_tile", "zeros", "nan", "stale"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A rung broken on purpose, which verification must refuse: the text `old`, found once in its source, becomes `new`.

    `off_by_one` an index or bound one too far or short, `skipped_tile` a part of the sum left out, `zeros` and `nan` written
    instead of the result, `stale` nothing written at all, so that what was there before would pass for the result.
    """

    kind: MutantKind
    rung: str
    old: str
    new: str

    def apply(self, text: str) -> str:
        """The broken source.  Raises KernelError unless `old` occurs exactly once."""
        if text.count(self.old) != 1:
            raise KernelError(f"mutant {self.kind} of {self.rung}: {self.old!r} occurs {text.count(self.old)} times, not once")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Program:
    """A source with several entry points and the constants it is compiled with: the probes and the tracing kernels."""

    name: str
    source: Path
    entries: tuple[str, ...]
    constants: Mapping[str, int] = field(default_factory=dict)
    min_arch: int = 75
    feature_arch: str = ""

    @property
    def text(self) -> str:
        """The CUDA C++ source."""
        return self.source.read_text(encoding="utf-8")


def code_of(text: str) -> str:
    """A source without its comments, blank lines and indentation: what a measurement belongs to."""
    lines = (line.split("//")[0].strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def sources_sha256(paths: Iterable[Path] | None = None) -> str:
    """Digest over the code of CUDA sources, all if none are given: figures of other code are not these kernels'."""
    digest = hashlib.sha256()
    for path in sorted(ROOT.rglob("*.cu*") if paths is None else set(paths)):
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0{code_of(path.read_text(encoding='utf-8'))}\0".encode())
    return digest.hexdigest()
