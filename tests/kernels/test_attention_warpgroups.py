"""The attention of warpgroups by arithmetic and by its machine code; none of it needs a GPU."""

from __future__ import annotations

from collections import Counter

import pytest

from kernels.attention.ladder import LADDER
from kernels.attention.problem import Attention
from kernels.attention.warpgroups import AHEAD, RUNGS, WARPGROUPS, maps, step
from kernels.build import SHARED_LIMIT, build_step
from kernels.catalogue import KernelError, Routine
from kernels.machine_code import instructions, operation

HGMMA, UTMALDG, USETMAXREG, STL, LDL, MUFU = 0x1F0, 0x1B4, 0x1C8, 0x187, 0x183, 0x108
"""Lowest nine bits of an instruction, seen beside the names in a disassembly."""


def test_blocks_shared_memory_and_boxes_by_hand() -> None:
    problem = Attention(2, 3, 300, causal=True)
    launch = step(problem, WARPGROUPS).launch
    assert (launch.grid, launch.block) == ((3, 6, 1), (384, 1, 1))
    assert launch.dynamic_shared == 128 * 256 + 2 * 2 * 128 * 256 + 1024
    assert launch.constants["CAUSAL"] == 1
    q, k, v = maps(problem, {**AHEAD, "BK": 176})
    assert q.shape == k.shape == v.shape == (6, 300, 128)
    assert (q.box, k.box, v.box) == ((1, 128, 64), (1, 176, 64), (1, 176, 64))
    assert q.swizzle == k.swizzle == 128 and q.box_bytes == 16384


@pytest.mark.parametrize("routine", RUNGS, ids=lambda routine: routine.name)
@pytest.mark.parametrize("causal", (False, True))
def test_machine_code(routine: Routine[Attention], causal: bool) -> None:
    """Products by wgmma that nothing serialises (C7510 to C7514), tiles by the copy engine, no spills."""
    pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")
    (one,) = routine.steps(Attention(2, 16, 8192, causal))
    cubin = build_step(routine, one, "sm_90")
    used = cubin.resources[one.entry]
    assert cubin.arch == "sm_90a" and (used.spills, used.stack) == (0, 0) and "C75" not in cubin.log
    assert used.registers * one.launch.threads <= 65536
    assert one.launch.dynamic_shared + used.shared <= routine.min_shared * 1024 <= SHARED_LIMIT[90] * 1024
    seen = Counter(map(operation, instructions(cubin, one.entry)))
    # 8 x 16 dimensions of the first tile and of those in the loop; 8 x 16 keys in the loop and of the last tile
    assert seen[HGMMA] == 4 * 8
    assert seen[UTMALDG] == 2 * 3  # halves of Q, K and V
    assert seen[USETMAXREG] == 2
    assert seen[STL] == seen[LDL] == 0
    assert seen[MUFU] >= 2 * 64  # a thread's 64 of 64 x 128 exponentials, twice


def test_other_architectures_are_refused_and_the_ladder_does_not_know_them_yet() -> None:
    problem = Attention(1, 1, 128)
    for routine in RUNGS:
        for arch in ("sm_80", "sm_100"):
            with pytest.raises(KernelError, match=f"{routine.name} uses instructions that only sm_90a has, and this is {arch}"):
                build_step(routine, routine.steps(problem)[0], arch)
    assert not {routine.name for routine in RUNGS} & {rung.name for rung in LADDER.rungs}
