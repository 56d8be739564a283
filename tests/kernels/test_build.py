"""What the compiler says is read right, and every source says what it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernels.build import (
    ARCHITECTURES,
    CompileError,
    arch_number,
    build,
    compile_source,
    read_resources,
    supported_architectures,
)
from kernels.catalogue import ROOT, KernelError, Problem
from kernels.gemm_fp32.ladder import LADDER

pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")

ODD = Problem(129, 63, 17)
CLAIMED = [arch for arch in ARCHITECTURES if arch_number(arch) in supported_architectures()]


@pytest.mark.parametrize("source", sorted(ROOT.rglob("[0-9][0-9]_*.cu")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_source_says_what_it_is_and_why(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    head = text.split("\n\n")[0]
    assert re.match(r"// [^:\n]+: ", head)
    assert "// The change: " in head and re.search(r"// Why it (is slow|helps): ", head)
    assert "#include" not in text


def test_resources_are_read_from_the_assembler_s_log() -> None:
    log = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 8192 bytes smem, 380 bytes cmem[0]
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 7 registers, 360 bytes cmem[0]
"""
    found = read_resources(log)
    first, second = found["first"], found["second"]
    assert (first.registers, first.stack, first.spills, first.shared) == (40, 16, 20, 8192)
    assert (second.registers, second.stack, second.spills, second.shared) == (7, 0, 0, 0)


def test_a_spill_is_seen() -> None:
    """A kernel that keeps more alive than it may have registers."""
    text = """
extern "C" __global__ void __launch_bounds__(1024) greedy(float* x) {
    float v[200];
#pragma unroll
    for (int i = 0; i < 200; ++i) v[i] = x[i * 1024 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 200; ++i) x[i * 1024 + threadIdx.x] = v[(199 - i)] * v[(i * 7) % 200];
}
"""
    assert compile_source(text, "sm_90").resources["greedy"].spills > 0


def test_an_error_of_the_compiler_is_one_line() -> None:
    with pytest.raises(CompileError, match=r"^broken\.cu does not compile: broken\.cu\(1\): error: .*") as caught:
        compile_source("__global__ void f() { undefined(); }", "sm_90", name="broken.cu")
    assert "\n" not in str(caught.value)


def test_what_is_no_architecture_is_refused() -> None:
    with pytest.raises(KernelError, match="write it like sm_90"):
        arch_number("90")
    kernel = LADDER.rungs[0]
    with pytest.raises(KernelError, match="sm_75 and newer"):
        build(kernel, kernel.launch(ODD), "sm_60")
