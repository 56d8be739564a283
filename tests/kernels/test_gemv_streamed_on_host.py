"""int4 through shared memory, run without a GPU: the sources themselves, their PTX carried out by what its manual says."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.catalogue import Mutant, Step
from kernels.gemv.problem import INT4_TILED, GemvProblem
from kernels.gemv.quantise import store
from kernels.gemv.streamed import BATCH, ONE, SIXTEEN, STREAMED, VECTORS, batch_step, streamed_step
from measure import verify

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import on_host

pytestmark = pytest.mark.skipif(on_host.COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

HELPERS = Path(on_host.__file__).parent
BEFORE = "".join(f'#include "{HELPERS / name}"\n' for name in ("lanes.hpp", "halves.hpp"))
SHAPES = [(1, 1), (7, 3), (33, 257), (70, 130), (130, 1024), (21, 2440)]


def run(folder: Path, problem: GemvProblem, step: Step, text: str, freedom: on_host.Freedom, vectors: int) -> float:
    """Error of the product over |W||x|, W as stored; what is read lies among NaN."""
    generator = np.random.default_rng(problem.rows)
    stored = store(np, generator.standard_normal((problem.rows, problem.cols), dtype=np.float32), INT4_TILED)
    x = np.zeros((vectors, problem.groups * 128), np.float16)
    x[:, : problem.cols] = generator.random((vectors, problem.cols), dtype=np.float32) * 2 - 1
    given = x if vectors > 1 else x[0, : problem.cols]
    out = np.full((vectors, problem.rows), np.nan, np.float32)
    inputs = [_among_nan(one) for one in (*stored.arrays, given)]
    library = on_host.compile_kernel(folder, BEFORE + text, step.entry, step.launch.constants)
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


ONES = [
    (STREAMED, 0),
    (STREAMED | {"WARPS": 4, "SPLIT": 4}, 1),
    ({"TILES": 1, "WARPS": 4, "SPLIT": 1, "STAGES": 6}, 0),
    ({"TILES": 1, "WARPS": 4, "SPLIT": 2, "STAGES": 3}, 2),
]


@pytest.mark.parametrize(("constants", "blocks"), ONES, ids=str)
def test_one_vector(folder: Path, constants: Mapping[str, int], blocks: int) -> None:
    """Each block takes one unit of rows, or few blocks take all by turns, so that a ring goes on from one unit to the next."""
    for index, shape in enumerate(SHAPES):
        problem = GemvProblem(*shape)
        step = streamed_step(problem, constants, blocks)
        assert verify.passes(run(folder, problem, step, ONE.text, on_host.FREEDOMS[index % 4], 1), ONE.tolerance(problem)), (
            shape
        )


SIXTEENS = [
    BATCH | {"WARPS": 4},
    {"TILES": 1, "WARPS": 4, "SPLIT": 1, "STAGES": 3},
    {"TILES": 2, "WARPS": 4, "SPLIT": 4, "STAGES": 3},
]


@pytest.mark.parametrize("constants", SIXTEENS, ids=str)
def test_sixteen_vectors(folder: Path, constants: Mapping[str, int]) -> None:
    for index, shape in enumerate(SHAPES):
        problem = GemvProblem(*shape)
        step = batch_step(problem, constants)
        found = run(folder, problem, step, SIXTEEN.text, on_host.FREEDOMS[index % 4], VECTORS)
        assert verify.passes(found, SIXTEEN.tolerance(problem)), shape


BROKEN = [
    # codes are eight too large
    (ONE, "mma(eights,", "if (group < 0) mma(eights,"),
    # sixteen times too large
    (ONE, "high[0] * 0.0625f", "high[0]"),
    # the newest stage is read before it has come
    (ONE, '"n"(STAGES - 2)', '"n"(STAGES - 1)'),
    # the sums of a row's last warp are left out
    (ONE, "w < SPLIT; ++w", "w < SPLIT - 1; ++w"),
    (SIXTEEN, '"n"(STAGES - 2)', '"n"(STAGES - 1)'),
    (SIXTEEN, "0x80088008u", "0x80098009u"),
    (SIXTEEN, "(j * 4 + piece) ^ upper % 2 * 4", "j * 4 + piece"),
    (SIXTEEN, "slice == 0) sum", "slice == 9) sum"),
]


@pytest.mark.parametrize(("routine", "right", "wrong"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_broken_is_found_out(folder: Path, routine: Any, right: str, wrong: str) -> None:
    problem = GemvProblem(21, 2440)
    text = Mutant("stale", routine.name, right, wrong).apply(routine.text)
    if routine is ONE:
        step, vectors = streamed_step(problem, STREAMED | {"WARPS": 4, "SPLIT": 4}), 1
    else:
        step, vectors = batch_step(problem, BATCH | {"WARPS": 4}), VECTORS
    found = [run(folder, problem, step, text, freedom, vectors) for freedom in on_host.FREEDOMS]
    assert any(not verify.passes(one, routine.tolerance(problem)) for one in found)
