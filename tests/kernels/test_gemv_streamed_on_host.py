"""int4 by the copy engine, run without a GPU: the sources themselves, their PTX carried out by what its manual says."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.catalogue import Mutant, Step
from kernels.gemv.batch import SIXTEEN
from kernels.gemv.ladder import LADDER
from kernels.gemv.mutants import MUTANTS
from kernels.gemv.problem import INT4_CHUNKED, GemvProblem
from kernels.gemv.quantise import store
from kernels.gemv.streamed import BATCH, STREAMED, VECTORS, batch_steps, streamed_steps
from measure import verify

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import on_host

pytestmark = pytest.mark.skipif(on_host.COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

HELPERS = Path(on_host.__file__).parent
BEFORE = "".join(f'#include "{HELPERS / name}"\n' for name in ("lanes.hpp", "halves.hpp", "warpgroup.hpp", "bulk.hpp"))
ONE = LADDER["int4_streamed"]
SHAPES = [(1, 1), (7, 3), (33, 257), (70, 130), (130, 1024), (21, 2440)]


def as_cpp(text: str) -> str:
    """The source without the function whose PTX is more than one instruction: the helper has it."""
    text, count = re.subn(r"__device__ __forceinline__ void wait\(.*?\n\}\n", "", text, flags=re.S)
    assert count == 1
    return re.sub(r"\bwait\(", "await_phase(", text)


def run(folder: Path, problem: GemvProblem, step: Step, text: str, freedom: on_host.Freedom, vectors: int) -> float:
    """Error of the product over |W||x|, W as stored; what is read lies among NaN."""
    generator = np.random.default_rng(problem.rows)
    stored = store(np, generator.standard_normal((problem.rows, problem.cols), dtype=np.float32), INT4_CHUNKED)
    x = np.zeros((vectors, problem.groups * 128), np.float16)
    x[:, : problem.cols] = generator.random((vectors, problem.cols), dtype=np.float32) * 2 - 1
    given = x if vectors > 1 else x[0, : problem.cols]
    out = np.full((vectors, problem.rows), np.nan, np.float32)
    inputs = [_among_nan(one) for one in (*stored.arrays, given)]
    library = on_host.compile_kernel(folder, BEFORE + as_cpp(text), step.entry, step.launch.constants)
    pointers = [ctypes.c_void_p(one.ctypes.data) for one in (*inputs, out)]
    sizes = (ctypes.c_int(problem.rows), ctypes.c_int(problem.cols))
    on_host.launch(library, step.launch.grid, step.launch.block, (*pointers, *sizes), freedom)
    meant, wide = stored.meant.astype(np.float64), x[:, : problem.cols].astype(np.float64)
    return verify.error(np, out, wide @ meant.T, np.abs(wide) @ np.abs(meant).T)


def _among_nan(array: Any) -> Any:
    """The array, aligned to 16 bytes, with NaN (all bits set) before and behind it, so that a read past its ends shows."""
    memory = np.full(array.nbytes + 2 * 4096 + 16, 0xFF, np.uint8)
    first = 4096 + -memory.ctypes.data % 16
    inside = memory[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    inside[...] = array
    return inside


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streamed")


ONES = [{**STREAMED} | {"WARPS": 3}, {"CHUNKS": 1, "WARPS": 2, "SLOTS": 3}]


@pytest.mark.parametrize("constants", ONES, ids=str)
def test_one_vector(folder: Path, constants: Mapping[str, int]) -> None:
    """Warps with more groups than others, and with none; rings longer than all that is to come."""
    for index, shape in enumerate(SHAPES):
        problem = GemvProblem(*shape)
        (step,) = streamed_steps(problem, constants)
        assert verify.passes(run(folder, problem, step, ONE.text, on_host.FREEDOMS[index % 4], 1), ONE.tolerance(problem)), (
            shape
        )


SIXTEENS = [{**BATCH} | {"WARPS": 2}, {"CHUNKS": 1, "WARPS": 3, "SLOTS": 5}]


@pytest.mark.parametrize("constants", SIXTEENS, ids=str)
def test_sixteen_vectors(folder: Path, constants: Mapping[str, int]) -> None:
    for index, shape in enumerate(SHAPES):
        problem = GemvProblem(*shape)
        (step,) = batch_steps(problem, constants)
        found = run(folder, problem, step, SIXTEEN.text, on_host.FREEDOMS[index % 4], VECTORS)
        assert verify.passes(found, SIXTEEN.tolerance(problem)), shape


BROKEN = [mutant for mutant in MUTANTS if mutant.rung in (ONE.name, SIXTEEN.name)]
BROKEN += [
    # sixteen times too large
    Mutant("off_by_one", ONE.name, "high[0] * 0.0625f", "high[0]"),
    # the ring is one chunk longer than it is
    Mutant("off_by_one", SIXTEEN.name, "(++put == SLOTS)", "(++put == SLOTS + 1)"),
]


@pytest.mark.parametrize("mutant", BROKEN, ids=lambda mutant: f"{mutant.kind}-{mutant.rung}")
def test_what_is_broken_is_found_out(folder: Path, mutant: Mutant) -> None:
    routine, steps, vectors = (ONE, streamed_steps, 1) if mutant.rung == ONE.name else (SIXTEEN, batch_steps, VECTORS)
    text, constants = mutant.apply(routine.text), {"CHUNKS": 1, "WARPS": 2, "SLOTS": 3}
    for shape in ((21, 1024), (70, 130), (33, 300)):
        problem = GemvProblem(*shape)
        (step,) = steps(problem, constants)
        for freedom in on_host.FREEDOMS:
            if not passes_in_a_child(lambda: run(folder, problem, step, text, freedom, vectors), routine.tolerance(problem)):  # noqa: B023
                return
    raise AssertionError("what is broken passed as right")


def passes_in_a_child(product: Callable[[], float], tolerance: float) -> bool:
    """Whether it comes out right in a process of its own, which what a barrier was never told of ends."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        status = 1
        try:
            status = 0 if verify.passes(product(), tolerance) else 1
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0
