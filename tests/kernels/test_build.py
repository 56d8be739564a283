"""What the compiler says is read right, and the machine code of the fp32 ladder is what the access model takes it for."""

from __future__ import annotations

import re
import struct
from collections import Counter
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
from kernels.catalogue import ROOT, Kernel, KernelError, Problem
from kernels.gemm_fp32.ladder import LADDER

pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")

ODD = Problem(129, 63, 17)
CLAIMED = [arch for arch in ARCHITECTURES if arch_number(arch) in supported_architectures()]


@pytest.mark.parametrize("name", ["tile_2d", "vectorised"])
@pytest.mark.parametrize("arch", CLAIMED)
def test_two_blocks_of_the_tiled_rungs_fit_on_an_sm(name: str, arch: str) -> None:
    """One register more and only one fits: a third of the rate was seen to go."""
    kernel = LADDER[name]
    assert build(kernel, kernel.launch(LADDER.problem), arch).resources[kernel.entry].registers <= 128


OPCODES = {0x184: ("shared", "load"), 0x188: ("shared", "store"), 0x181: ("global", "load"), 0x186: ("global", "store")}
WIDTHS = {4: 4, 5: 8, 6: 16}


def memory_instructions(cubin: bytes, entry: str) -> Counter[tuple[str, str, int]]:
    """Memory instructions in the machine code of a kernel by space, kind and bytes a lane.

    An instruction has 16 bytes since Volta; its lowest nine bits say what it does, whatever the form of the address; bits 73 to
    75 say how wide.
    """
    sections = struct.unpack_from("<Q", cubin, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    table = [struct.unpack_from("<IIQQQQ", cubin, sections + index * size) for index in range(count)]
    found: Counter[tuple[str, str, int]] = Counter()
    for name, _, _, _, offset, length in table:
        start = table[names][4] + name
        if cubin[start : cubin.index(b"\0", start)].decode() != f".text.{entry}":
            continue
        for at in range(offset, offset + length, 16):
            low, high = struct.unpack_from("<QQ", cubin, at)
            if (low & 0x1FF) in OPCODES:
                found[*OPCODES[low & 0x1FF], WIDTHS[high >> 9 & 7]] += 1
    return found


@pytest.mark.parametrize("arch", [arch for arch in CLAIMED if arch not in ("sm_90a",)])
@pytest.mark.parametrize("kernel", LADDER.rungs[2:6], ids=lambda kernel: kernel.name)
def test_the_machine_code_has_the_accesses_that_the_model_counts(kernel: Kernel, arch: str) -> None:
    """Per step of the main loop; the first two rungs have theirs unrolled and are left out."""
    problem = LADDER.problem
    code = memory_instructions(build(kernel, kernel.launch(problem), arch).code, kernel.entry)
    depth = kernel.launch(problem).constants.get("BK", kernel.launch(problem).constants.get("TILE"))
    assert depth is not None
    steps = problem.k // depth
    stated: Counter[tuple[str, str, int]] = Counter()
    for access in kernel.accesses(problem):
        in_loop = access.what != "C"
        stated[access.space, access.kind, access.width] += int(access.times / (steps if in_loop else 1))
    assert not stated - code, "an access that the model counts is not in the machine code"
    # NVRTC does not always choose the same registers: where they run short, it may load one value of a step again.
    assert (code - stated).total() <= 2, f"accesses that the model does not count: {code - stated}"


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
