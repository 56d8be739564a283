"""The swept kernels: what their machine code does, and their results on the CPU, whole and broken on purpose."""

from __future__ import annotations

import ctypes
import dataclasses
import re
import shutil
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.build import arch_number, build_program, supported_architectures
from kernels.catalogue import Mutant
from kernels.machine_code import instructions
from kernels.sweeps import probes
from kernels.sweeps.mutants import MUTANTS
from measure import coalescing, streams, sweeps
from measure.errors import VerificationError

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

# ---- machine code ---------------------------------------------------------------------------------------------------

BSSY, BSYNC, FFMA = 0x145, 0x141, 0x023
"""Lowest nine bits of an instruction: a region that lanes may leave one by one begins, and ends; an fp32 multiply-add."""


@pytest.mark.parametrize("arch", ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120"))
def test_only_the_branch_divides_the_warp(arch: str) -> None:
    """The assembler opens a region of divergence where lanes may part; the two ways without a branch have none.

    With the branch, every side's multiply-adds are there, with the side's own offset as an immediate operand: none were merged.
    """
    pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")
    if arch_number(arch) not in supported_architectures():
        pytest.skip(f"the installed compiler does not build for {arch}")
    cubin = build_program(probes.DIVERGENCE_PATHS, arch)
    for way in probes.WAYS:
        code = [word & (1 << 64) - 1 for word in instructions(cubin, f"paths_{way}")]
        kinds = Counter(word & 0x1FF for word in code)
        assert (kinds[BSSY] > 0, kinds[BSYNC] > 0) == ((True, True) if way == "branching" else (False, False))
        immediates = {struct.unpack("<f", struct.pack("<I", word >> 32))[0] for word in code if word & 0x1FF == FFMA}
        offsets = {float(np.float32(probes.coefficients(side)[1])) for side in range(probes.SIDES)}
        if way == "selected":
            assert kinds[FFMA] == probes.STEPS
        else:
            assert kinds[FFMA] >= probes.SIDES * probes.STEPS and offsets <= immediates


# ---- on the CPU -----------------------------------------------------------------------------------------------------

SHIM = r"""
#include <cmath>
#include <cstring>
struct uint3 { unsigned x, y, z; };
static uint3 threadIdx, blockIdx, blockDim, gridDim;
static long long ticks = 0;
static inline long long clock64() { return ++ticks; }
static inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
static inline float __int_as_float(int x) { float f; std::memcpy(&f, &x, 4); return f; }
static inline float __uint_as_float(unsigned x) { return __int_as_float((int)x); }
static inline unsigned __float_as_uint(float f) { unsigned x; std::memcpy(&x, &f, 4); return x; }
#define __align__(n) __attribute__((aligned(n)))
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __syncwarp()
#define FOR_ALL(blocks, threads, call) { \
    gridDim.x = blocks; blockDim.x = threads; \
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) \
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) call; }
"""
DRIVERS = {
    "divergence_paths": r"""
extern "C" void launch(int way, const float* x, float* out, int paths, int rounds, int passes, long long* cycles) {
    auto kernel = way == 0 ? paths_branching : way == 1 ? paths_predicated : paths_selected;
    FOR_ALL(1, 32, kernel(x, out, paths, rounds, passes, cycles))
}
""",
    "stride": r"""
extern "C" void launch(unsigned blocks, const unsigned* data, unsigned* sums, unsigned long long count, unsigned stride,
                       unsigned offset) {
    FOR_ALL(blocks, 256, read_strided(data, sums, count, stride, offset))
}
""",
    "streams": r"""
extern "C" void launch(int what, unsigned blocks, const Words* b, const Words* c, Words* out, unsigned* sums,
                       unsigned long long count, float scale) {
    if (what == 0) FOR_ALL(blocks, READ_THREADS, stream_read(b, sums, count))
    if (what == 1) FOR_ALL((count + COPY_THREADS - 1) / COPY_THREADS, COPY_THREADS, stream_copy(b, out, count))
    if (what == 2) FOR_ALL((count + TRIAD_THREADS - 1) / TRIAD_THREADS, TRIAD_THREADS, stream_triad(b, c, out, count, scale))
}
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sweeps")


def library(folder: Path, name: str, mutant: Mutant | None = None) -> Any:
    """A program as a library of this machine, broken by a mutant if one is given."""
    assert COMPILER is not None
    program = next(one for one in probes.PROGRAMS if one.name == name)
    stem = name if mutant is None else f"{name}_{MUTANTS.index(mutant)}"
    source, path = folder / f"{stem}.cpp", folder / f"{stem}.so"
    if not path.exists():
        text = mutant.apply(program.text) if mutant else program.text
        text = re.sub(r'asm volatile\("ld\..*?: "l"\(p\)\);', "v = *p;", text)
        text = re.sub(r'asm volatile\("st\..*?: "memory"\);', "*p = v;", text)
        source.write_text(SHIM + text + DRIVERS[name])
        constants = [f"-D{key}={value}" for key, value in program.constants.items()]
        subprocess.run(
            [COMPILER, "-std=c++17", "-O0", "-w", "-shared", "-fPIC", *constants, str(source), "-o", str(path)], check=True
        )
    return ctypes.CDLL(str(path))


def pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def divergence_wrong(folder: Path, mutant: Mutant | None = None) -> bool:
    """Whether the check that stands before the figures refuses any way at any number of paths."""
    code = library(folder, "divergence_paths", mutant)
    start = np.random.default_rng(3).uniform(-1, 1, 32).astype(np.float32)

    def launch(way: str, paths: int, rounds: int, passes: int) -> tuple[Any, Any, Any]:
        out, cycles = np.full(32, np.nan, np.float32), np.full(32, -1, np.int64)
        code.launch(probes.WAYS.index(way), pointer(start), pointer(out), paths, rounds, passes, pointer(cycles))
        return start, out, cycles

    try:
        for way in probes.WAYS:
            for paths in (1, 2, 7, 32):
                for rounds, passes in (*sweeps.ODD, (sweeps.ROUNDS, sweeps.PASSES)):
                    sweeps.checked(launch, way, paths, rounds, passes)
    except VerificationError:
        return True
    return False


def stride_wrong(folder: Path, mutant: Mutant | None = None) -> bool:
    """The same of the sums, thread by thread, at the odd sizes."""
    code, blocks = library(folder, "stride", mutant), 3
    threads = blocks * probes.STRIDE_THREADS
    for count, stride, offset in coalescing.ODD:
        words = np.random.default_rng(count).integers(0, 2**32, offset + count * stride + 64, dtype=np.uint32)
        sums = np.full(threads, 0xDEADBEEF, np.uint32)
        code.launch(
            blocks, pointer(words), pointer(sums), ctypes.c_ulonglong(count), ctypes.c_uint(stride), ctypes.c_uint(offset)
        )
        if not np.array_equal(sums, coalescing.strided_sums(words, count, stride, offset, threads)):
            return True
    return False


def streams_wrong(folder: Path, mutant: Mutant | None = None) -> bool:
    """The same of a sum, a copy and a triad; the outputs are one vector longer, which nobody may write."""
    code, blocks = library(folder, "streams", mutant), 2
    for vectors in (1, 33, 2 * 512 * 8 + 700):
        data = streams.arrays(np, vectors, blocks * probes.READ_THREADS)
        spare = np.full(4 * vectors + 4, np.nan, np.float32)
        data = dataclasses.replace(data, out=spare[:-4])
        for what in streams.AMOUNT:

            def run(what: str = what, data: streams.Arrays = data) -> None:
                arrays = (data.b, data.c, data.out, data.sums)
                kind = list(streams.AMOUNT).index(what)
                code.launch(
                    kind, blocks, *map(pointer, arrays), ctypes.c_ulonglong(data.vectors), ctypes.c_float(streams.SCALE)
                )

            if not streams.right(np, what, data, run) or not np.isnan(spare[-4:]).all():
                return True
    return False


WRONG = {"divergence_paths": divergence_wrong, "stride": stride_wrong, "streams": streams_wrong}


@needs_compiler
@pytest.mark.parametrize("name", WRONG)
def test_a_swept_kernel_computes_what_it_must(folder: Path, name: str) -> None:
    assert not WRONG[name](folder)


@needs_compiler
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.rung}-{mutant.kind}")
def test_a_broken_one_is_refused(folder: Path, mutant: Mutant) -> None:
    assert WRONG[mutant.rung](folder, mutant)


def test_a_side_s_closed_form() -> None:
    """Iterated step by step in float64."""
    for side in (0, 5, 31):
        factor, offset = probes.coefficients(side)
        assert factor == float(np.float32(factor)) and offset == float(np.float32(offset))
        value = -0.75
        for _ in range(700):
            value = factor * value + offset
        assert probes.after(side, 700, -0.75) == pytest.approx(value, rel=1e-11)


def test_the_lanes_addresses() -> None:
    """Stride 3 from word 5: lane 31 reads word 5 + 93, byte 392."""
    addresses = probes.warp_addresses(3, 5)
    assert (addresses[0], addresses[1], addresses[31], len(addresses)) == (20, 32, 392, 32)
