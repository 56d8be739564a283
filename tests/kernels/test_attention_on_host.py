"""The attention rungs run without a GPU: the sources themselves, their PTX carried out by what its manual says."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.attention.ladder import ARGUMENTS, LADDER
from kernels.attention.mutants import MUTANTS
from kernels.attention.problem import Attention
from kernels.catalogue import Mutant, Routine
from measure import attention, attention_check, bf16
from measure.verify import passes

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import on_host

PORTABLE = [routine for routine in LADDER.rungs if not routine.feature_arch]

pytestmark = pytest.mark.skipif(on_host.COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

LANES = f'#include "{Path(on_host.__file__).with_name("lanes.hpp")}"\n'
CASES = [
    *((Attention(1, 1, seq), spread) for seq in (1, 7, 65, 129, 257) for spread in attention_check.SPREADS),
    *((Attention(1, 1, seq, causal=True), spread) for seq in (65, 257) for spread in attention_check.SPREADS),
]
WHOLE = [(Attention(2, 1, 128), 1.0), (Attention(1, 1, 384), 24.0)]


def error(
    folder: Path, routine: Routine[Attention], problem: Attention, spread: float, text: str, freedom: on_host.Freedom
) -> float:
    """Error of a rung's output, its source taken from `text`; the inputs lie among NaN."""
    arrays = {name: _among_nan(one) for name, one in attention.arrays_of(np, routine, problem).items()}
    arrays.update(zip("QKV", map(_among_nan, attention_check.inputs(np, problem, spread, problem.seq)), strict=True))
    sample = attention_check.reference(np, problem, arrays["Q"], arrays["K"], arrays["V"], seed=0)

    def run(given: attention.Arrays) -> None:
        for step in routine.steps(problem):
            launch = step.launch
            library = on_host.compile_kernel(folder, LANES + text, step.entry, launch.constants)
            pointers = tuple(ctypes.c_void_p(given[name].ctypes.data) for name in ARGUMENTS[step.entry])
            on_host.launch(library, launch.grid, launch.block, (*pointers, ctypes.c_int(problem.seq)), freedom)

    return attention.checked(np, attention.Loaded(run, ()), arrays, sample)


def _among_nan(array: Any) -> Any:
    """The array, aligned to 16 bytes, with NaN before and behind it, so that a read past its ends shows."""
    size, width = array.size, array.itemsize
    memory = np.empty(size + 2 * 4096 + 16 // width, dtype=array.dtype)
    memory.fill(bf16.NAN if width == 2 else np.nan)
    first = 4096 + -memory.ctypes.data % 16 // width
    inside = memory[first : first + size]
    inside[:] = array.ravel()
    return inside.reshape(array.shape)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("on_host")


@pytest.mark.parametrize("routine", PORTABLE, ids=lambda routine: routine.name)
def test_a_rung_attends_to_any_number_of_keys(folder: Path, routine: Routine[Attention]) -> None:
    for index, (problem, spread) in enumerate(CASES):
        assert all(step.launch.constants["GUARD"] == 1 for step in routine.steps(problem))
        found = error(folder, routine, problem, spread, routine.text, on_host.FREEDOMS[index % 4])
        assert passes(found, routine.tolerance(problem)), (problem, spread, found)


@pytest.mark.parametrize("routine", PORTABLE, ids=lambda routine: routine.name)
def test_a_rung_attends_to_whole_tiles(folder: Path, routine: Routine[Attention]) -> None:
    """Without the guard, under every order of the warps and arrival of the copies."""
    for problem, spread in WHOLE:
        assert all(step.launch.constants["GUARD"] == 0 for step in routine.steps(problem))
        for freedom in on_host.FREEDOMS if routine.name == "pipelined" else on_host.FREEDOMS[1:2]:
            found = error(folder, routine, problem, spread, routine.text, freedom)
            assert passes(found, routine.tolerance(problem)), (problem, spread, freedom, found)


@pytest.mark.parametrize(
    "mutant", [one for one in MUTANTS if LADDER[one.rung] in PORTABLE], ids=lambda mutant: f"{mutant.rung}-{mutant.kind}"
)
def test_a_broken_rung_is_found_out(folder: Path, mutant: Mutant) -> None:
    """By one of the small problems that every rung is verified with."""
    routine = LADDER[mutant.rung]
    text = mutant.apply(routine.text)
    problems = [problem for problem in attention_check.SMALL if problem.seq >= 65 and not problem.causal]
    found = (
        error(folder, routine, Attention(1, 1, problem.seq), spread, text, on_host.FREEDOMS[0])
        for problem in problems
        for spread in attention_check.SPREADS
    )
    assert any(not passes(one, routine.tolerance(problems[0])) for one in found)


LOOP = "    for (int key0 = 0; key0 < end; key0 += BK) {\n"
RACES = [
    # who waits for nobody: a tile is overwritten while it is read, or read before it has come
    ("fused", "        __syncthreads();\n        const Eight from_q", "        const Eight from_q"),
    ("fused", "        __syncthreads();\n        multiply<1>", "        multiply<1>"),
    ("swizzled", LOOP + "        __syncthreads();\n", LOOP),
    ("pipelined", "arrived();  // this V; and everyone has finished with this K", ""),
    ("pipelined", "cp.async.wait_group 0;", "cp.async.wait_group 1;"),
    ("pipelined", "    __syncthreads();\n}", "}"),
]


@pytest.mark.parametrize(("name", "right", "wrong"), RACES, ids=range(len(RACES)))
def test_a_missing_wait_is_found_out(folder: Path, name: str, right: str, wrong: str) -> None:
    routine = LADDER[name]
    text = Mutant("stale", name, right, wrong).apply(routine.text)
    found = [error(folder, routine, Attention(1, 1, 384), 1.0, text, freedom) for freedom in on_host.FREEDOMS]
    assert any(not passes(one, routine.tolerance(LADDER.problem)) for one in found)
