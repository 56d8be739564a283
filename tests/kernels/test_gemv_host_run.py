"""The matrix-vector rungs run without a GPU: each source is compiled as C++ and its threads run as fibres, a block at a time.

A fibre runs until it meets a barrier, a shuffle or an mma, then the next one takes its turn.  What stands in PTX has a stand-in
here, written from the PTX manual; everything else is the source as it is.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.catalogue import Mutant, Routine
from kernels.gemv.ladder import FORMAT_OF, LADDER
from kernels.gemv.mutants import MUTANTS
from kernels.gemv.problem import GemvProblem
from kernels.gemv.quantise import store
from measure import verify

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

SHIM = r"""
#include <algorithm>
#include <cstring>
#include <ucontext.h>
#include <vector>
using std::min;
struct uint3 { unsigned x, y, z; };
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct float4 { float x, y, z, w; };
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static uint3 threadIdx, blockIdx;
static ucontext_t scheduler, *running;
static void barrier() { swapcontext(running, &scheduler); }
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __shared__ static
#define __launch_bounds__(...)
#define __syncthreads() barrier()
template <class To, class From> static To bits(From from) { To to; memcpy(&to, &from, sizeof to); return to; }
static float __uint_as_float(unsigned word) { return bits<float>(word); }
static unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned out = 0;
    for (int i = 0; i < 4; ++i) out |= (unsigned)(both >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
    return out;
}
struct Lane { float value; unsigned a[4], b[2]; };
static Lane lanes[1024];
static float __shfl_xor_sync(unsigned, float value, int distance) {
    const unsigned me = threadIdx.x;
    lanes[me].value = value;
    barrier();
    const float other = lanes[me ^ distance].value;
    barrier();
    return other;
}
typedef unsigned short half;
static float widen(unsigned word) { return (float)bits<_Float16>((half)word); }
static half narrow(double value) { return bits<half>((_Float16)value); }
static unsigned minus(unsigned a, unsigned b) {
    return narrow(widen(a) - widen(b)) | (unsigned)narrow(widen(a >> 16) - widen(b >> 16)) << 16;
}
static unsigned multiply_add(unsigned a, unsigned b, unsigned c) {
    return narrow((double)widen(a) * widen(b) + widen(c)) |
           (unsigned)narrow((double)widen(a >> 16) * widen(b >> 16) + widen(c >> 16)) << 16;
}
template <class T> static auto stream(const T* p) {
    typename std::conditional<std::is_same<T, float>::value, float4, uint4>::type v;
    memcpy(&v, p, 16);
    return v;
}
static void load_x(bool wanted, const half* p, unsigned* v) { if (wanted) memcpy(v, p, 16); }
// PTX, mma.m16n8k16: registers 0 and 2 of A hold row lane / 4, 1 and 3 the row 8 below; 0 and 1 columns 2 (lane % 4) and the
// next, 2 and 3 those 8 on. B has column lane / 4 and the rows that are A's columns. C: rows as A, columns 2 (lane % 4) and the
// next.
static void mma(float* c, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    const unsigned me = threadIdx.x, lane = me % 32, warp = me - lane;
    lanes[me] = {0.0f, {a0, a1, a2, a3}, {b0, b1}};
    barrier();
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
        double sum = 0.0;
        for (int k = 0; k < 16; ++k) {
            const unsigned a = lanes[warp + row % 8 * 4 + k % 8 / 2].a[k / 8 * 2 + row / 8] >> k % 2 * 16;
            const unsigned b = lanes[warp + col * 4 + k % 8 / 2].b[k / 8] >> k % 2 * 16;
            sum += (double)widen(a) * widen(b);
        }
        c[i] = (float)(c[i] + sum);
    }
    barrier();
}
"""

DRIVER = r"""
struct Fibre { ucontext_t context; std::vector<char> stack; uint3 thread; bool done; };
static void** args;
static int rows, cols;
static void body(Fibre* f) {
    CALL;
    f->done = true;
    swapcontext(&f->context, &scheduler);
}
extern "C" void launch(unsigned grid, unsigned block, void** arguments, int m, int n) {
    args = arguments, rows = m, cols = n;
    std::vector<Fibre> fibres(block);
    for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x) {
        for (unsigned t = 0; t < block; ++t) {
            Fibre& f = fibres[t];
            f.stack.resize(32768);
            f.thread = {t, 0, 0};
            f.done = false;
            getcontext(&f.context);
            f.context.uc_stack.ss_sp = f.stack.data();
            f.context.uc_stack.ss_size = f.stack.size();
            makecontext(&f.context, (void (*)())body, 1, &f);
        }
        for (unsigned left = block; left > 0;)
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

PTX_WRAPPERS = ("stream", "widen", "minus", "multiply_add", "mma")
RUNGS = [rung for rung in LADDER.rungs if rung.min_arch < 90]  # the copy engine has a test of its own
NAMES = {rung.name for rung in RUNGS}
SHAPES = [(1, 1), (7, 3), (17, 257), (33, 130), (16, 1024), (21, 2440)]


def as_cpp(text: str, entry: str, pointers: int) -> str:
    """The source with what stands in PTX replaced."""
    for name in PTX_WRAPPERS:
        text = re.sub(rf"__device__ __forceinline__ \w+ {name}\([^)]*\) \{{\n.*?\n\}}\n", "", text, flags=re.S)
    text = re.sub(r"asm\(\"\{\\n.reg .pred wanted;.*?\);", "load_x(wanted, p, v);", text, flags=re.S)
    text = text.replace("typedef unsigned short half;", "").replace("#pragma unroll", "")
    assert "asm" not in text
    types = re.search(rf"{entry}\(\s*(.*?)\)", text, flags=re.S)
    assert types is not None
    casts = [declared.rsplit(" ", 1)[0].replace("__restrict__", "") for declared in types[1].split(",")[:pointers]]
    call = ", ".join(f"({cast.strip()})args[{index}]" for index, cast in enumerate(casts))
    return SHIM + text + DRIVER.replace("CALL", f"{entry}({call}, rows, cols)")


def among_nan(array: Any) -> Any:
    """The array with NaN (all bits set) before and behind it, so that a read past its ends shows."""
    margin = 4096
    memory = np.full(array.nbytes + 2 * margin, 0xFF, dtype=np.uint8)
    inside = memory[margin : margin + array.nbytes].view(array.dtype).reshape(array.shape)
    inside[...] = array
    return inside


def run(folder: Path, routine: Routine[GemvProblem], problem: GemvProblem, text: str) -> float:
    """Error of a rung's product over |W||x|, W as stored; its source taken from `text`."""
    assert COMPILER is not None
    (step,) = routine.steps(problem)
    name = f"{routine.name}_{abs(hash((text, *step.launch.constants.items())))}"
    library = folder / f"{name}.so"
    generator = np.random.default_rng(problem.rows)
    weights = generator.standard_normal((problem.rows, problem.cols), dtype=np.float32)
    stored = store(np, weights, FORMAT_OF[routine.name])
    x = (generator.random(problem.cols, dtype=np.float32) * 2 - 1).astype(np.float16)
    out = np.full(problem.rows, np.nan, dtype=np.float32)
    arrays = [*map(among_nan, (*stored.arrays, x)), out]
    if not library.exists():
        source = folder / f"{name}.cpp"
        source.write_text(as_cpp(text, step.entry, len(arrays)))
        constants = [f"-D{key}={value}" for key, value in step.launch.constants.items()]
        command = [COMPILER, "-std=c++17", "-O1", "-w", "-shared", "-fPIC", *constants, str(source), "-o", str(library)]
        subprocess.run(command, check=True)
    pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    ctypes.CDLL(str(library)).launch(step.launch.grid[0], step.launch.block[0], pointers, problem.rows, problem.cols)
    return verify.error(np, out, *verify.reference(np, stored.meant, x))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gemv")


@pytest.mark.parametrize("size", SHAPES, ids=str)
@pytest.mark.parametrize("routine", RUNGS, ids=lambda routine: routine.name)
def test_a_rung_computes_the_product_of_its_weights(folder: Path, routine: Routine[GemvProblem], size: tuple[int, int]) -> None:
    problem = GemvProblem(*size)
    assert verify.passes(run(folder, routine, problem, routine.text), routine.tolerance(problem))


@pytest.mark.parametrize(
    "mutant", [one for one in MUTANTS if one.rung in NAMES], ids=lambda mutant: f"{mutant.kind}-{mutant.rung}"
)
def test_a_mutant_is_refused(folder: Path, mutant: Mutant) -> None:
    routine = LADDER[mutant.rung]
    text = mutant.apply(routine.text)
    problems = [GemvProblem(*size) for size in ((33, 257), (20, 2440))]
    assert not all(verify.passes(run(folder, routine, one, text), routine.tolerance(one)) for one in problems)
