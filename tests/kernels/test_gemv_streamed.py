"""int4 through shared memory, by arithmetic and by the machine code; none of it needs a GPU."""

from __future__ import annotations

from collections import Counter

import pytest

from kernels.build import ARCHITECTURES, SHARED_LIMIT, arch_number, build_step, supported_architectures
from kernels.catalogue import Routine
from kernels.gemv.ladder import LADDER
from kernels.gemv.problem import GemvProblem
from kernels.gemv.streamed import BATCH, ONE, RUNGS, SIXTEEN, STREAMED, batch_bytes, batch_step, streamed_step
from kernels.machine_code import instructions, operation

PROBLEM = LADDER.problem


def test_blocks_and_shared_memory_by_hand() -> None:
    """32768 rows are 2048 tiles; a stage is 2 x (1024 + 32) B of weights and scales a warp, 256 B of x for one vector."""
    one, sixteen = streamed_step(PROBLEM).launch, batch_step(PROBLEM).launch
    assert (one.grid, one.block, one.dynamic_shared) == ((1024, 1, 1), (256, 1, 1), 4 * 8 * (2 * 1056 + 256))
    assert (sixteen.grid, sixteen.block) == ((128, 1, 1), (512, 1, 1))
    assert sixteen.dynamic_shared == 4 * (16 * 2 * 1056 + 2 * 16 * 128 * 2)
    assert streamed_step(PROBLEM, STREAMED, 264).launch.grid == (264, 1, 1)
    assert streamed_step(GemvProblem(33, 1)).launch.grid == (2, 1, 1)
    assert batch_step(GemvProblem(257, 1), BATCH).launch.grid == (2, 1, 1)


def test_bytes_of_sixteen_vectors_by_hand() -> None:
    """Half a byte a weight, 2 B for 128 of them; vectors of 2 B, outputs of 4 B."""
    weights = 32768 * 32768 / 2 + 32768 * 256 * 2
    assert batch_bytes(PROBLEM) == weights + 16 * 32768 * (2 + 4)


@pytest.mark.parametrize("routine", RUNGS, ids=lambda routine: routine.name)
def test_no_architecture_spills_and_copies_are_asynchronous(routine: Routine[GemvProblem]) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")
    (step,) = routine.steps(PROBLEM)
    assert step.launch.dynamic_shared <= routine.min_shared * 1024 < step.launch.dynamic_shared + 2048
    for arch in ARCHITECTURES:
        if arch_number(arch) not in supported_architectures() or arch_number(arch) < routine.min_arch:
            continue
        cubin = build_step(routine, step, arch)
        used = cubin.resources[step.entry]
        assert (used.spills, used.stack) == (0, 0), arch
        if routine.min_shared <= SHARED_LIMIT[arch_number(arch)]:
            assert step.launch.dynamic_shared + used.shared <= SHARED_LIMIT[arch_number(arch)] * 1024
        if arch == "sm_90":
            seen = Counter(map(operation, instructions(cubin, step.entry)))
            # a product of 16 x 16 codes each for 8 columns; 8 more for the sum of x, or twice as many for sixteen vectors
            assert seen[0x3C] == (2 * 8 + 8 if routine is ONE else 2 * 8 * 2)
            assert seen[0x1AE] >= 5  # LDGSTS: global to shared without registers
    assert SIXTEEN.min_arch == ONE.min_arch == 80
