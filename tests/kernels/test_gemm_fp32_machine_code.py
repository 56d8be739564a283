"""The fp32 ladder's machine code: main loops, the accesses that the model counts, registers that residency needs."""

from __future__ import annotations

from collections import Counter

import pytest

from kernels import machine_code
from kernels.build import ARCHITECTURES, Cubin, arch_number, build, compile_source, supported_architectures
from kernels.catalogue import Kernel, KernelError, Problem
from kernels.gemm_fp32.ladder import LADDER, autotuned
from kernels.gemm_fp32.warp_tile import WARP_TILES, WarpTile
from kernels.machine_code import FFMA, instructions, main_loop, memory_accesses, operation

pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")

CLAIMED = [arch for arch in ARCHITECTURES if arch_number(arch) in supported_architectures() and arch != "sm_90a"]
ODD = Problem(129, 63, 17)


def built(kernel: Kernel, arch: str, problem: Problem = LADDER.problem) -> Cubin:
    return build(kernel, kernel.launch(problem), arch)


@pytest.mark.parametrize("arch", CLAIMED)
@pytest.mark.parametrize("kernel", LADDER.rungs[2:], ids=lambda kernel: kernel.name)
def test_the_main_loop_has_the_accesses_that_the_model_counts(kernel: Kernel, arch: str) -> None:
    """Of a step, as it is one round; the first two rungs have theirs unrolled and are left out.  C is stored outside of it."""
    problem, constants = LADDER.problem, kernel.launch(LADDER.problem).constants
    code = instructions(built(kernel, arch), kernel.entry)
    loop = main_loop(code, arch)
    in_loop = memory_accesses(code[loop.start : loop.stop])
    steps = problem.k // constants.get("BK", constants.get("TILE", 1))
    stated: Counter[machine_code.Access] = Counter()
    for access in kernel.accesses(problem):
        if access.what != "C" and access.kind != "copy":
            assert access.times % steps == 0
            stated[access.space, access.kind, access.width] += int(access.times / steps)
    assert not stated - in_loop, "an access that the model counts is not in the machine code"
    # NVRTC does not always choose the same registers: where they run short, it may load one value of a step again.
    assert (in_loop - stated).total() <= 2, f"accesses that the model does not count: {in_loop - stated}"
    (stores,) = (access for access in kernel.accesses(problem) if access.what == "C")
    assert memory_accesses(code)["global", "store", stores.width] == stores.times


@pytest.mark.parametrize("arch", CLAIMED)
@pytest.mark.parametrize("kernel", LADDER.rungs[2:], ids=lambda kernel: kernel.name)
def test_the_main_loop_multiplies_one_tile(kernel: Kernel, arch: str) -> None:
    """Depth of the tile x outputs of a thread: this holds only if the branch back was decoded right."""
    launch = kernel.launch(LADDER.problem)
    depth = launch.constants.get("BK", launch.constants.get("TILE", 1))
    code = instructions(built(kernel, arch), kernel.entry)
    adds = sum(operation(code[index]) == FFMA for index in main_loop(code, arch))
    assert adds == depth * kernel.tile[0] * kernel.tile[1] / launch.threads


@pytest.mark.parametrize("name", ["tile_2d", "vectorised", "double_buffered", "operand_reuse"])
@pytest.mark.parametrize("arch", CLAIMED)
def test_two_blocks_of_the_tiled_rungs_fit_on_an_sm(name: str, arch: str) -> None:
    """One register more and only one fits: a third of the rate was seen to go."""
    kernel = LADDER[name]
    assert built(kernel, arch).resources[kernel.entry].registers <= 128


@pytest.mark.parametrize("tile", WARP_TILES, ids=str)
def test_every_candidate_of_the_last_rung_compiles_without_spills(tile: WarpTile) -> None:
    """The architectures at the ends and in the middle, whole tiles and guarded ones; so many blocks as it says fit on an SM."""
    kernel = autotuned(tile)
    for arch, problem in (("sm_75", LADDER.problem), ("sm_90", LADDER.problem), ("sm_120", LADDER.problem), ("sm_120", ODD)):
        used = built(kernel, arch, problem).resources[kernel.entry]
        assert (used.spills, used.stack) == (0, 0)
        assert -(-used.registers // 8) * 8 * tile.threads * tile.for_problem(problem).blocks <= 65536


def test_what_has_no_loop_and_no_entry_is_said_so() -> None:
    cubin = compile_source('extern "C" __global__ void one(int* x) { *x = 1; }', "sm_90")
    with pytest.raises(KernelError, match="no loop"):
        main_loop(instructions(cubin, "one")[:-32], "sm_90")
    with pytest.raises(KernelError, match="no machine code of two in a cubin of one"):
        instructions(cubin, "two")
