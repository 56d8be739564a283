"""The attention of warpgroups by arithmetic and by its machine code; none of it needs a GPU."""

from __future__ import annotations

from collections import Counter

import pytest

from kernels.attention.ladder import LADDER
from kernels.attention.problem import Attention
from kernels.attention.warpgroups import AHEAD, PERSISTENT, RUNGS, WARPGROUPS, longest, maps, step, together
from kernels.build import SHARED_LIMIT, build_step
from kernels.catalogue import KernelError, Routine
from kernels.machine_code import instructions, operation

HGMMA, UTMALDG, USETMAXREG, STL, LDL, MUFU = 0x1F0, 0x1B4, 0x1C8, 0x187, 0x183, 0x108
"""Lowest nine bits of an instruction, seen beside the names in a disassembly."""


def test_blocks_shared_memory_and_boxes_by_hand() -> None:
    problem = Attention(2, 3, 300, causal=True)
    launch = step(problem, WARPGROUPS).launch
    assert (launch.grid, launch.block) == ((18, 1, 1), (384, 1, 1))
    assert launch.dynamic_shared == 128 * 256 + 2 * 2 * 128 * 256 + 1024
    assert launch.constants["CAUSAL"] == 1
    stays = step(problem, PERSISTENT, 5).launch
    assert stays.grid == (5, 1, 1) and stays.dynamic_shared == launch.dynamic_shared + 128 * 256
    q, k, v = maps(problem, {**AHEAD, "BK": 176})
    assert q.shape == k.shape == v.shape == (6, 300, 128)
    *_, out = maps(problem, PERSISTENT)
    assert (out.shape, out.box) == ((6, 300, 128), (1, 64, 64))
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


def test_other_architectures_are_refused() -> None:
    problem = Attention(1, 1, 128)
    for routine in RUNGS:
        for arch in ("sm_80", "sm_100"):
            with pytest.raises(KernelError, match=f"{routine.name} uses instructions that only sm_90a has, and this is {arch}"):
                build_step(routine, routine.steps(problem)[0], arch)
    assert LADDER.rungs[-3:] == RUNGS


def test_heads_that_go_together_share_half_of_l2() -> None:
    """K and V of 8192 keys have 4 MiB: six heads fit 24 MiB; one by one where a block has one tile, or all tiles are alike."""
    causal = Attention(4, 16, 8192, causal=True)
    assert [together(causal, blocks) for blocks in (0, 132)] == [1, 6]
    assert together(Attention(4, 16, 8192), 132) == 1
    assert together(Attention(1, 1, 1 << 20, causal=True), 132) == 1


def test_heads_that_go_together_divide_the_work_evenly() -> None:
    """By hand, two blocks: a head of two rows has steps 3 and 2 with what they begin and end with.

    One head: 3, 2 and to and fro 3, 2 for the second, whose blocks change places, so 3 + 2 each. Two together: 3, 3, then 2, 2.
    Three heads of one row have 2 steps each: 2 + 2 for the block with two of them.  Eight rows on one block: 2 + ... + 9.
    """
    assert [longest(2, 2, count, 2) for count in (1, 2)] == [5, 5]
    assert longest(1, 3, 1, 2) == 4 and longest(8, 1, 1, 1) == sum(range(2, 10))
    # 32 heads of 8192 keys: with six together the last block had a fifth more than its share, and so it ran: 592 of 693 TFLOP/s
    share = 32 * sum(range(2, 66)) / 132
    assert longest(64, 32, 6, 132) / share == pytest.approx(1.20, abs=0.01)
    chosen = together(Attention(2, 16, 8192, causal=True), 132)
    assert chosen <= 6 and longest(64, 32, chosen, 132) / share < 1.035
    # 512 keys: 4 x 512^2 x 128 / 2 FLOP over 4 x 512 x 256 B are 128 FLOP a byte; 1024 keys have twice as many
    assert together(Attention(64, 16, 512, causal=True), 132) == 1
    assert together(Attention(32, 16, 1024, causal=True), 132) == 48


@pytest.mark.parametrize("causal", (False, True))
@pytest.mark.parametrize(("rows", "heads", "count"), [(64, 64, 6), (3, 5, 2), (8, 512, 48), (1, 1, 1)])
def test_every_tile_of_queries_is_computed_once_and_no_block_gets_the_longest_of_all_rounds(
    rows: int, heads: int, count: int, causal: bool
) -> None:
    """The order of the source, `item_of` and `place`; causal row r has r + 1 tiles of keys."""
    blocks, found, most = 132, Counter[tuple[int, int]](), Counter[int]()
    for block in range(blocks):
        for turn in range(rows * heads):
            item = turn * blocks + (blocks - 1 - block if turn % 2 else block)
            if item >= rows * heads:
                break
            first = item // (count * rows) * count
            together_now, at = min(count, heads - first), item - first * rows
            row = rows - 1 - at // together_now if causal else at // together_now
            found[first + at % together_now, row] += 1
            most[block] += row + 1 if causal else rows
    assert found == {(head, row): 1 for head in range(heads) for row in range(rows)}
    if rows * heads >= 31 * blocks:
        assert max(most.values()) <= 1.05 * sum(most.values()) / blocks
