"""The rungs run without a GPU: each source is compiled as C++ and its threads run as fibres, one block at a time.

A fibre runs until it meets __syncthreads() or ends, then the next one takes its turn: a missing barrier or a wrong index
gives a wrong product here as it would on a GPU.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest

from kernels.catalogue import Kernel, Mutant, Problem
from kernels.gemm_fp32.ladder import LADDER, autotuned
from kernels.gemm_fp32.mutants import MUTANTS
from kernels.gemm_fp32.warp_tile import WARP_TILES, WarpTile
from measure import verify

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

SHIM = r"""
#include <ucontext.h>
#include <vector>
struct uint3 { unsigned x, y, z; };
struct float4 { float x, y, z, w; };
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static uint3 threadIdx, blockIdx;
static ucontext_t scheduler, *running;
static void barrier() { swapcontext(running, &scheduler); }
#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads() barrier()
"""

DRIVER = r"""
struct Fibre { ucontext_t context; std::vector<char> stack; uint3 thread; bool done; };
static struct { const float *a, *b; float* c; int m, n, k; } args;
static void body(Fibre* f) {
    ENTRY(args.a, args.b, args.c, args.m, args.n, args.k);
    f->done = true;
    swapcontext(&f->context, &scheduler);
}
extern "C" void launch(unsigned gx, unsigned gy, unsigned bx, unsigned by, const float* a, const float* b, float* c,
                       int m, int n, int k) {
    args = {a, b, c, m, n, k};
    std::vector<Fibre> fibres(bx * by);
    for (blockIdx.y = 0; blockIdx.y < gy; ++blockIdx.y)
        for (blockIdx.x = 0; blockIdx.x < gx; ++blockIdx.x) {
            for (unsigned t = 0; t < bx * by; ++t) {
                Fibre& f = fibres[t];
                f.stack.resize(16384);
                f.thread = {t % bx, t / bx, 0};
                f.done = false;
                getcontext(&f.context);
                f.context.uc_stack.ss_sp = f.stack.data();
                f.context.uc_stack.ss_size = f.stack.size();
                makecontext(&f.context, (void (*)())body, 1, &f);
            }
            for (unsigned left = bx * by; left > 0;)
                for (Fibre& f : fibres) {
                    if (f.done) continue;
                    threadIdx = f.thread;
                    running = &f.context;
                    swapcontext(&scheduler, running);
                    left -= f.done;
                }
        }
}
"""

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]
SHAPES = [(1, 1, 1), (7, 5, 3), (33, 31, 65), (65, 130, 9), (129, 63, 17), (128, 128, 32), (128, 256, 40)]


def run(folder: Path, kernel: Kernel, problem: Problem, text: str) -> float:
    """Error of a kernel's product over |A||B|, its source taken from `text`."""
    assert COMPILER is not None
    launch = kernel.launch(problem)
    source, library = folder / f"{kernel.name}.cpp", folder / f"{kernel.name}_{abs(hash((text, *launch.constants.items())))}.so"
    if not library.exists():
        source.write_text(SHIM + text.replace("#pragma unroll", "") + DRIVER.replace("ENTRY", kernel.entry))
        constants = [f"-D{name}={value}" for name, value in launch.constants.items()]
        subprocess.run(
            [COMPILER, "-std=c++17", "-O1", "-w", "-shared", "-fPIC", *constants, str(source), "-o", str(library)], check=True
        )
    a, b = (_among_nan(matrix) for matrix in verify.inputs(np, problem.m, problem.n, problem.k, seed=problem.m))
    out = verify.poisoned(np, problem.m, problem.n)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, out)]
    ctypes.CDLL(str(library)).launch(*launch.grid[:2], *launch.block[:2], *pointers, problem.m, problem.n, problem.k)
    return verify.error(np, out, *verify.reference(np, a, b))


def _among_nan(matrix: Matrix) -> Matrix:
    """The matrix with NaN before and behind it, so that a read past its ends shows."""
    memory = np.full(3 * matrix.size + 1024, np.nan, dtype=np.float32)
    inside = memory[matrix.size : 2 * matrix.size]
    inside[:] = matrix.ravel()
    return inside.reshape(matrix.shape)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("host_run")


@pytest.mark.parametrize("kernel", LADDER.rungs, ids=lambda kernel: kernel.name)
def test_a_rung_multiplies_matrices_of_any_size(folder: Path, kernel: Kernel) -> None:
    for rows, cols, depth in SHAPES:
        problem = Problem(rows, cols, depth)
        error = run(folder, kernel, problem, kernel.text)
        assert verify.passes(error, kernel.tolerance(problem)), (problem, error)


# What the GPU's mutants leave out: races and reads past the end, which only the fibres and the NaN show for certain.
BROKEN = [
    Mutant("off_by_one", "coalesced", "col >= N", "col > N"),
    Mutant("skipped_tile", "shared", "        __syncthreads();\n#pragma", "#pragma"),
    Mutant("skipped_tile", "shared", "b[k][tx];\n        __syncthreads();", "b[k][tx];"),
    Mutant("off_by_one", "tile_1d", "step + b_row < K && ", ""),
    Mutant("off_by_one", "tile_2d", "row < M && col < N", "row < M && col <= N"),
    Mutant("off_by_one", "vectorised", "inside > 2 ? p[2]", "inside > 3 ? p[2]"),
    Mutant("stale", "double_buffered", "now = BUFFER - now;", ""),
    Mutant(
        "skipped_tile", "double_buffered", "fetch_tile(step + 2 * BK);\n        __syncthreads();", "fetch_tile(step + 2 * BK);"
    ),
    Mutant("skipped_tile", "warp_tile", "        __syncthreads();\n        get_values(0);", "        get_values(0);"),
]


@pytest.mark.parametrize("mutant", [*MUTANTS, *BROKEN], ids=lambda mutant: f"{mutant.rung}-{mutant.kind}")
def test_a_broken_kernel_is_found_out(folder: Path, mutant: Mutant) -> None:
    kernel, found = LADDER[mutant.rung], []
    text = mutant.apply(kernel.text)
    for rows, cols, depth in [(33, 31, 65), (129, 63, 17), *([(65, 130, 17)] if mutant in MUTANTS else [])]:
        problem = Problem(rows, cols, depth)
        found.append(not verify.passes(run(folder, kernel, problem, text), kernel.tolerance(problem)))
    assert any(found)


@pytest.mark.parametrize("tile", WARP_TILES, ids=str)
def test_every_candidate_of_the_last_rung_is_right(folder: Path, tile: WarpTile) -> None:
    """At odd sizes, and where whole tiles fit, of which three follow each other."""
    kernel = replace(autotuned(tile), name="_".join(str(size) for size in astuple(tile)))
    for problem in (Problem(65, 130, 9), Problem(33, 31, 65), Problem(tile.bm, tile.bn, 3 * tile.bk)):
        error = run(folder, kernel, problem, kernel.text)
        assert verify.passes(error, kernel.tolerance(problem)), (problem, error)
    assert kernel.launch(problem).constants["GUARD"] == 0


def test_there_is_a_mutant_of_every_kind_and_of_every_rung() -> None:
    assert {mutant.kind for mutant in MUTANTS} == {"off_by_one", "skipped_tile", "zeros", "nan", "stale"}
    assert {mutant.rung for mutant in MUTANTS} == {rung.name for rung in LADDER.rungs}
