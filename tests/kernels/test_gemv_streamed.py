"""int4 by the copy engine, by arithmetic and by the machine code; none of it needs a GPU."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kernels.build import SHARED_LIMIT, build_step
from kernels.catalogue import Routine
from kernels.gemv.batch import SIXTEEN
from kernels.gemv.ladder import LADDER
from kernels.gemv.problem import INT4, INT4_CHUNKED, GemvProblem
from kernels.gemv.quantise import chunked, store
from kernels.gemv.streamed import batch_bytes, batch_steps, streamed_steps
from kernels.machine_code import instructions, operation

PROBLEM, ONE = LADDER.problem, LADDER["int4_streamed"]
HMMA, BULK = 0x3C, 0x1BA
"""Lowest nine bits of an instruction: a product of the tensor cores; the copy engine is sent for bytes (UBLKCP)."""


def test_blocks_and_shared_memory_by_hand() -> None:
    """32768 rows are 128 times 4 chunks of 64; a warp has a ring of chunks of 64 x 66 B, and 256 B or 16 x 320 B of x."""
    (one,), (sixteen,) = streamed_steps(PROBLEM), batch_steps(PROBLEM)
    assert (one.launch.grid, one.launch.block, one.launch.dynamic_shared) == ((128, 1, 1), (256, 1, 1), 8 * (6 * 64 * 66 + 256))
    assert (sixteen.launch.grid, sixteen.launch.block) == ((128, 1, 1), (256, 1, 1))
    assert sixteen.launch.dynamic_shared == 8 * (3 * 64 * 66 + 16 * 320)
    assert streamed_steps(GemvProblem(257, 1))[0].launch.grid == batch_steps(GemvProblem(257, 1))[0].launch.grid == (2, 1, 1)
    assert [streamed_steps(GemvProblem(1, cols))[0].launch.constants["GUARD"] for cols in (256, 300)] == [0, 1]


def test_bytes_of_sixteen_vectors_by_hand() -> None:
    """Half a byte a weight, 2 B for 128 of them; vectors of 2 B, outputs of 4 B."""
    weights = 32768 * 32768 / 2 + 32768 * 256 * 2
    assert batch_bytes(PROBLEM) == weights + 16 * 32768 * (2 + 4)


def test_a_chunk_holds_each_code_where_the_kernels_say() -> None:
    """One code of row 70, column 128 + 41 in a matrix of zeros, and the scales, each found by hand.

    Row 70 is row 6 of block 1: tile 0, first half.  Column 41 of its group: word 1 of the piece p = (41 % 32) / 8 = 1, element
    1 of its eight, which is the second of the first pair: bits 16 and up.
    """
    codes = np.zeros((72, 256), np.uint8)
    codes[70, 128 + 41] = 9
    scales = np.arange(144, dtype=np.float16).reshape(72, 2)
    chunks = chunked(np, codes, scales).reshape(2, 2, 64 * 66)
    words = chunks[:, :, :4096].copy().view(np.uint32)
    found = np.argwhere(words)
    assert found.tolist() == [[1, 1, 6 * 16 + 1 * 4 + 1]] and words[tuple(found[0])] == 9 << 16
    halves = chunks[:, :, 4096:].copy().view(np.float16).reshape(2, 2, 8, 4, 2)
    # row 70 of group 1 has the scale 141: row 6 of block 1's tile 0, upper half; row 13 of block 0: row 5, lower half
    assert halves[1, 1, 6, 0, 0] == 141 and halves[0, 0, 5, 0, 1] == 26 and halves[0, 1, 0, 3, 1] == 2 * 56 + 1
    assert not halves[1, :, :, 1:].any(), "rows that fill up have a scale of zero"


def test_the_chunked_weights_stand_for_the_same_ones() -> None:
    weights = np.random.default_rng(0).standard_normal((70, 300), dtype=np.float32)
    plain, other = store(np, weights, INT4), store(np, weights, INT4_CHUNKED)
    assert np.array_equal(plain.meant, other.meant)
    assert [one.shape for one in other.arrays] == [(128, 3 * 66)]
    assert other.arrays[0].nbytes == GemvProblem(128, 300).weight_bytes(INT4_CHUNKED)


@pytest.mark.parametrize("routine", (ONE, SIXTEEN), ids=lambda routine: routine.name)
def test_nothing_spills_and_the_copy_engine_is_used(routine: Routine[GemvProblem]) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")
    (step,) = routine.steps(PROBLEM)
    assert step.launch.dynamic_shared <= routine.min_shared * 1024 < step.launch.dynamic_shared + 3072
    cubin = build_step(routine, step, "sm_90")  # the other architectures: test_nvrtc_versions
    used = cubin.resources[step.entry]
    assert (used.spills, used.stack) == (0, 0)
    assert step.launch.dynamic_shared + used.shared <= SHARED_LIMIT[90] * 1024
    seen = Counter(map(operation, instructions(cubin, step.entry)))
    # 16 tiles of 16 rows, 8 products of 16 columns each for 8 vectors; and 8 for the sum of x
    assert seen[HMMA] == (16 * 8 + 8) * (1 if routine is ONE else 2)
    assert seen[BULK] >= 2
