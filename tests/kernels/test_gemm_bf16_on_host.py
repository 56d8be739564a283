"""The tensor-core rungs run without a GPU: the sources themselves, their PTX carried out by what its manual says."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernels.catalogue import Kernel, Launch, Mutant, Problem
from kernels.gemm_bf16.ladder import LADDER
from kernels.gemm_bf16.mma_sync import RUNGS
from kernels.gemm_bf16.mutants import MUTANTS
from measure import bf16
from measure.verify import passes

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import on_host

pytestmark = pytest.mark.skipif(on_host.COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

Matrix = np.ndarray[tuple[int, int], np.dtype[np.uint16]]
ODD = [(1, 1, 1), (7, 5, 3), (33, 31, 65), (65, 130, 257), (129, 63, 17), (130, 258, 40)]


def error(
    folder: Path, kernel: Kernel, problem: Problem, text: str, freedom: on_host.Freedom, more: Mapping[str, int] | None = None
) -> float:
    """Error of a kernel's product, its source taken from `text`; `more` are constants other than the ladder's."""
    launch: Launch = kernel.launch(problem)
    launch = replace(launch, constants={**launch.constants, **(more or {})})
    library = on_host.compile_kernel(folder, text, kernel.entry, launch.constants)
    a, b = (_among_nan(matrix) for matrix in bf16.inputs(np, problem.m, problem.n, problem.k, seed=problem.m))
    out = bf16.poisoned(np, problem.m, problem.n)
    sizes = (ctypes.c_int(problem.m), ctypes.c_int(problem.n), ctypes.c_int(problem.k))
    pointers = tuple(ctypes.c_void_p(array.ctypes.data) for array in (a, b, out))
    on_host.launch(library, launch.grid, launch.block, (*pointers, *sizes), freedom)
    return bf16.error(np, out, *bf16.reference(np, a, b))


def _among_nan(matrix: Matrix) -> Matrix:
    """The matrix, aligned to 16 bytes, with NaN before and behind it, so that a read past its ends shows."""
    memory = np.full(matrix.size + 2 * 4096 + 8, bf16.NAN, dtype=np.uint16)
    first = 4096 + -memory.ctypes.data % 16 // 2
    inside = memory[first : first + matrix.size]
    inside[:] = matrix.ravel()
    return inside.reshape(matrix.shape)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("on_host")


@pytest.mark.parametrize("kernel", RUNGS, ids=lambda kernel: kernel.name)
def test_a_rung_multiplies_matrices_of_any_size(folder: Path, kernel: Kernel) -> None:
    for index, shape in enumerate(ODD):
        problem = Problem(*shape)
        assert kernel.launch(problem).constants["GUARD"] == 1
        found = error(folder, kernel, problem, kernel.text, on_host.FREEDOMS[index % 4])
        assert passes(found, kernel.tolerance(problem)), (shape, found)


@pytest.mark.parametrize("freedom", on_host.FREEDOMS, ids=str)
@pytest.mark.parametrize("kernel", RUNGS, ids=lambda kernel: kernel.name)
def test_a_rung_multiplies_whole_tiles(folder: Path, kernel: Kernel, freedom: on_host.Freedom) -> None:
    """Without the guard: fewer steps than stages, and enough for every stage to be used again."""
    rows, cols = kernel.tile
    deep = kernel.launch(LADDER.problem).constants["BK"]
    for shape in ((rows, cols, deep), (2 * rows, cols, 7 * deep)):
        problem = Problem(*shape)
        assert kernel.launch(problem).constants["GUARD"] == 0
        found = error(folder, kernel, problem, kernel.text, freedom)
        assert passes(found, kernel.tolerance(problem)), (shape, found)


def test_groups_of_blocks_cover_the_output(folder: Path) -> None:
    """Groups of two out of three rows of blocks: the last group has one."""
    kernel, problem = LADDER["grouped"], Problem(300, 700, 20)
    found = error(folder, kernel, problem, kernel.text, on_host.FREEDOMS[0], {"GROUP": 2})
    assert passes(found, kernel.tolerance(problem))


@pytest.mark.parametrize("depth", [32, 64])
def test_tiles_of_other_depths_and_stages(folder: Path, depth: int) -> None:
    kernel, problem = LADDER["grouped"], Problem(128, 256, 256)
    more = {"BK": depth, "STAGES": 2 if depth == 64 else 3}
    found = error(folder, kernel, problem, kernel.text, on_host.Freedom(True, True), more)
    assert passes(found, kernel.tolerance(problem))


@pytest.mark.parametrize(
    "mutant", [one for one in MUTANTS if LADDER[one.rung] in RUNGS], ids=lambda mutant: f"{mutant.rung}-{mutant.kind}"
)
def test_a_mutant_is_refused(folder: Path, mutant: Mutant) -> None:
    """At a size of whole tiles or at an odd one, as on a GPU."""
    kernel = LADDER[mutant.rung]
    text = mutant.apply(kernel.text)
    problems = [Problem(*kernel.tile, 128), Problem(129, 63, 65)]
    assert any(not passes(error(folder, kernel, p, text, on_host.FREEDOMS[0]), kernel.tolerance(p)) for p in problems)


RACES = [
    ("shared", "        __syncthreads();\n#pragma unroll\n        for (int k", "#pragma unroll\n        for (int k"),
    ("shared", "        }\n        __syncthreads();\n    }", "        }\n    }"),
    ("pipelined", "        wait_for_stage();\n        __syncthreads();", "        __syncthreads();"),
    ("pipelined", "        wait_for_stage();\n        __syncthreads();", "        wait_for_stage();"),
    ("warp_tile", '"n"(STAGES - 2)', '"n"(STAGES - 1)'),
    (
        "double_buffered",
        "                wait_for_stage();\n                __syncthreads();",
        "                wait_for_stage();",
    ),
    ("grouped", "        next = now;\n", "        next = (next + 2) % STAGES;\n"),
]


@pytest.mark.parametrize(("name", "right", "wrong"), RACES)
def test_a_missing_wait_or_barrier_is_found_out(folder: Path, name: str, right: str, wrong: str) -> None:
    kernel = LADDER[name]
    assert kernel.text.count(right) == 1
    problem = Problem(*kernel.tile, 224)
    text = kernel.text.replace(right, wrong)
    tolerance = kernel.tolerance(problem)
    assert any(not passes(error(folder, kernel, problem, text, freedom), tolerance) for freedom in on_host.FREEDOMS)


SWAPS = [
    ("ldmatrix.sync.aligned.m8n8.x4.trans", "ldmatrix.sync.aligned.m8n8.x4"),
    ("{%4, %5, %6, %7}, {%8, %9}", "{%4, %6, %5, %7}, {%8, %9}"),
    ('"r"(b[0]), "r"(b[1])', '"r"(b[1]), "r"(b[0])'),
    ("%0, %1, %2;", "%0, %2, %1;"),
]


@pytest.mark.parametrize(("right", "wrong"), SWAPS)
def test_a_wrong_operand_is_found_out(folder: Path, right: str, wrong: str) -> None:
    kernel, problem = LADDER["shared"], Problem(128, 128, 64)
    assert kernel.text.count(right) == 1
    found = error(folder, kernel, problem, kernel.text.replace(right, wrong), on_host.FREEDOMS[0])
    assert not passes(found, kernel.tolerance(problem))
