"""Sizes, work, launches and bytes of the attention kernels by arithmetic, and what their sources promise about each other."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kernels.attention import ladder
from kernels.attention.ladder import ARGUMENTS, LADDER, ODD
from kernels.attention.mutants import MUTANTS
from kernels.attention.problem import Attention, tile_pairs
from kernels.build import SHARED_LIMIT, STATIC_SHARED_LIMIT, arch_number, build_step, compile_source
from kernels.catalogue import KernelError, Routine, code_of
from measure.access_model import bank_passes, wavefronts

HEAD = Attention(1, 1, 8192)
RUNGS = ["unfused", "fused", "tensor_cores", "swizzled", "pipelined"]
TOP = ["warpgroups", "ahead", "persistent"]
PORTABLE = LADDER.rungs[:5]
"""The rungs that run on more than sm_90a; the tests of the others are in `test_attention_warpgroups`."""


def test_work_and_bytes_of_the_timed_problem() -> None:
    """4 x 32 x 8192^2 x 128 = 2^40 FLOP; a head's square has 268 435 456 bytes, as much as all inputs and outputs together."""
    assert LADDER.problem == Attention(2, 16, 8192)
    assert LADDER.problem.flop == 2**40
    assert HEAD.square_bytes == 268_435_456
    assert LADDER.problem.compulsory_bytes == 268_435_456
    assert replace(LADDER.problem, causal=True).flop == 2**39


def test_sizes_that_the_kernels_do_not_take_are_refused() -> None:
    with pytest.raises(KernelError, match="at least 1"):
        Attention(1, 0, 8)
    with pytest.raises(KernelError, match="65535 heads"):
        Attention(256, 256, 8)
    with pytest.raises(KernelError, match="2\\^31"):
        Attention(1, 1, 2**24)


def test_the_ladder_is_in_order_and_each_rung_has_its_own_number() -> None:
    assert [rung.name for rung in LADDER.rungs] == [*RUNGS, *TOP]
    assert [rung.source.name for rung in PORTABLE] == [f"{at:02}_{name}.cu" for at, name in enumerate(RUNGS, 1)]
    assert {rung.source.name for rung in LADDER.rungs[5:]} == {"06_warpgroups.cu"}
    assert [rung.math_roof for rung in LADDER.rungs] == ["fp32"] * 2 + ["bf16_mma"] * 3 + ["bf16_wgmma"] * 3
    assert [rung.min_arch for rung in LADDER.rungs] == [75] * 2 + [80] * 3 + [90] * 3
    assert [rung.feature_arch for rung in LADDER.rungs] == [""] * 5 + ["sm_90a"] * 3


@pytest.mark.parametrize("routine", PORTABLE, ids=lambda routine: routine.name)
def test_a_source_says_what_it_is_and_why(routine: Routine[Attention]) -> None:
    head = routine.text.split("\n\n")[0]
    assert head.startswith(f"// {routine.title}: ")
    assert "// The change: " in head and re.search(r"// Why it (is slow|helps): ", head)
    assert "#include" not in routine.text
    entries = re.findall(r"\n?(attention_\w+)\(", routine.text)
    assert sorted(entries) == sorted(step.entry for step in routine.steps(HEAD))


@pytest.mark.parametrize("problem", [Attention(1, 1, 1), Attention(3, 2, 257), HEAD], ids=str)
def test_the_grid_has_a_block_for_every_tile_of_queries_of_every_head(problem: Attention) -> None:
    for routine, queries in zip(PORTABLE, (64, 64, 64, 64, 128), strict=True):
        for step in routine.steps(problem):
            across = problem.seq if step.entry == "attention_softmax" else -(-problem.seq // queries)
            assert step.launch.grid == (across, problem.batch * problem.heads, 1)


def test_the_guard_is_left_out_only_where_every_size_fits() -> None:
    for routine in PORTABLE:
        guards = {
            seq: {step.launch.constants["GUARD"] for step in routine.steps(Attention(1, 1, seq))}
            for seq in (8192, 128, 127, 129, 96)
        }
        assert guards == {8192: {0}, 128: {0}, 127: {1}, 129: {1}, 96: {1}}


def test_arguments_are_those_of_the_sources() -> None:
    for routine in PORTABLE:
        for step in routine.steps(HEAD):
            found = re.search(rf"{step.entry}\(([^)]*)\)", routine.text)
            assert found is not None
            names = [parameter.split()[-1].lstrip("*") for parameter in found[1].split(",")]
            assert names == [*ARGUMENTS[step.entry], "S"]


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("routine", PORTABLE, ids=lambda routine: routine.name)
def test_a_rung_fits(routine: Routine[Attention], arch: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")
    if arch_number(arch) < routine.min_arch:
        pytest.skip(f"{routine.name} is written for sm_{routine.min_arch} and newer")
    for problem in (LADDER.problem, *ODD):
        for step in routine.steps(problem):
            used = build_step(routine, step, arch).resources[step.entry]
            assert (used.spills, used.stack) == (0, 0)
            assert used.shared <= STATIC_SHARED_LIMIT
            assert used.shared + step.launch.dynamic_shared <= SHARED_LIMIT[arch_number(arch)] * 1024


def test_fusion_changes_nothing_but_where_the_scores_go() -> None:
    """The first two rungs share everything up to their first kernel: the same tiles, the same products."""

    def shared_part(name: str) -> str:
        text = LADDER[name].text
        return text[text.index("#define D 128") : text.index("__forceinline__ int tile_row()")].replace("#define ROW 512\n", "")

    assert shared_part("unfused") == shared_part("fused")


def test_the_swizzle_changes_nothing_but_where_pieces_lie() -> None:
    plain, swizzled = (code_of(LADDER[name].text).splitlines() for name in ("tensor_cores", "swizzled"))
    differ = [one.split("(")[0] for one, other in zip(plain, swizzled, strict=True) if one != other]
    assert differ == ["__device__ __forceinline__ int place", "attention_tensor_cores"]


def place(row: int, piece: int, swizzled: bool) -> int:
    """Byte of a piece of 16 bytes in a tile whose rows have 256, after the sources."""
    return row * 256 + piece // 8 * 128 + (piece % 8 ^ row % 8 if swizzled else piece % 8) * 16


@pytest.mark.parametrize("piece", range(16))
def test_ldmatrix_asks_each_bank_once_where_pieces_are_swizzled(piece: int) -> None:
    """An 8 x 8 matrix is eight rows of 16 bytes: 128 bytes, one wavefront at best."""
    for first in (0, 8, 24):
        rows = range(first, first + 8)
        assert bank_passes([place(row, piece, swizzled=False) for row in rows], 16) == 8
        assert bank_passes([place(row, piece, swizzled=True) for row in rows], 16) == 1


def test_a_swizzled_tile_has_every_piece_once() -> None:
    assert sorted(place(row, piece, swizzled=True) for row in range(64) for piece in range(16)) == list(range(0, 64 * 256, 16))


ROW = [(lane >> 1 & 1) * 4 for lane in range(32)]
COL = [((lane & 1) | (lane >> 2) << 1) * 4 for lane in range(32)]


def shared(words: list[int], width: int = 16) -> int:
    return wavefronts([word * 4 for word in words], width, "shared")


def test_the_products_on_cuda_cores_take_two_wavefronts_a_read() -> None:
    """A warp is 2 x 16 threads, its row the second bit of the lane: 3 reads of a score's depth, 4 of a value's."""
    assert len(set(zip(ROW, COL, strict=True))) == 32
    for stride_a in (64, 68):  # queries, weights
        assert [shared([k * stride_a + row for row in ROW]) for k in range(4)] == [2] * 4
    for stride_b in (64, 128):  # keys, values
        assert [shared([k * stride_b + col for col in COL]) for k in range(4)] == [2] * 4
    assert (ladder.SCORES, ladder.VALUES) == (128 * (2 + 1) * 2, 64 * (2 + 2) * 2)


def test_what_is_staged_on_cuda_cores_takes_as_many_wavefronts_as_stated() -> None:
    """From the addresses of a warp's first accesses, for 64 queries and 64 keys; rows of Q, K and V have 256 bytes."""
    line, part = [lane // 2 for lane in range(32)], [lane % 2 * 8 for lane in range(32)]
    load = wavefronts([at * 256 + piece * 2 for at, piece in zip(line, part, strict=True)], 16, "global")
    stores = [shared([(piece + i) * 64 + at for at, piece in zip(line, part, strict=True)], 4) for i in range(8)]
    assert ladder.STAGE_SCORES == 128 // 16 * 2 * (load + sum(stores))  # Q and K for every 16 dimensions

    at = [lane // 16 * 128 + lane % 16 * 8 for lane in range(32)]  # of V: two rows of 128
    load, stores = wavefronts([one * 2 for one in at], 16, "global"), [shared([one + j for one in at]) for j in (0, 4)]
    assert ladder.STAGE_VALUES == 64 // 16 * 2 * (load + sum(stores))  # twice 8 rows for every 16 keys

    tile = list(zip(ROW, COL, strict=True))
    assert ladder.WRITE_SQUARE == 8 * wavefronts([(row * 8192 + col) * 4 for row, col in tile], 16, "global")
    load = wavefronts([(lane // 4 * 8192 + lane % 4 * 4) * 4 for lane in range(32)], 16, "global")
    stores = [shared([(lane % 4 * 4 + i) * 68 + lane // 4 for lane in range(32)], 4) for i in range(4)]
    assert ladder.STAGE_SQUARE == 64 // 16 * 2 * (load + sum(stores))
    assert ladder.KEEP_WEIGHTS == 2 * sum(shared([(col + j) * 68 + row for row, col in tile]) for j in range(4))


def test_bytes_on_the_load_path_of_the_scores_are_those_that_were_counted() -> None:
    """8 heads of 8192 on an H200, by Nsight Compute: 714 592 204 wavefronts."""
    made = 8 * 128 * 128 * 4 * (ladder.STAGE_SCORES + ladder.SCORES + ladder.WRITE_SQUARE)
    assert made == pytest.approx(714_592_204, rel=0.02)


@pytest.mark.parametrize(("bq", "bk", "seq"), [(64, 64, 256), (64, 32, 257), (128, 64, 1000), (64, 64, 1)])
def test_tiles_of_a_causal_problem(bq: int, bk: int, seq: int) -> None:
    """Every pair of tiles in which some query sees some key."""
    pairs = sum(
        any(other <= query for query in range(first, min(first + bq, seq)))
        for first in range(0, seq, bq)
        for other in range(0, seq, bk)
    )
    assert tile_pairs(Attention(2, 1, seq, causal=True), bq, bk) == 2 * pairs
    assert tile_pairs(Attention(1, 1, seq), bq, bk) == -(-seq // bq) * -(-seq // bk)


def test_bytes_in_device_memory() -> None:
    """A head: Q, K, V and the output are 8 MiB; unfused, the square passes four times, 1 GiB."""
    unfused, *others = (dict(routine.traffic(HEAD)) for routine in LADDER.rungs)
    assert unfused["dram"] == 4 * 268_435_456 + 8 * 2**20
    assert [one["dram"] for one in others] == [8 * 2**20] * 7
    assert all(one["algorithmic"] == 8 * 2**20 for one in (unfused, *others))


def test_bytes_on_the_load_path_of_the_tensor_core_rungs() -> None:
    """Of 8 x 8 matrices a warp of 16 queries and 64 keys reads 32 of Q, 128 of K and 128 of V; one of 32 queries 64 of Q."""
    plain, swizzled, wide = (dict(LADDER[name].traffic(HEAD)) for name in RUNGS[2:])
    staged = 128 * 8192 * 512 + 4 * 2**20  # bytes of K and V for each of 128 blocks, and of Q and the output
    assert plain["load_path"] == pytest.approx(128 * 128 * 4 * 288 * 8 * 128 + 2 * staged)
    assert swizzled["load_path"] == pytest.approx(128 * 128 * 4 * 288 * 128 + 2 * staged)
    staged = 64 * 8192 * 512 + 4 * 2**20
    assert wide["load_path"] == pytest.approx(64 * 128 * 4 * 320 * 128 + staged / 4)


def test_there_is_a_mutant_of_every_kind_and_of_every_rung() -> None:
    assert {mutant.kind for mutant in MUTANTS} == {"off_by_one", "skipped_tile", "zeros", "nan", "stale"}
    assert {mutant.rung for mutant in MUTANTS} == {*RUNGS, *TOP}
    for mutant in MUTANTS:
        assert mutant.apply(LADDER[mutant.rung].text) != LADDER[mutant.rung].text


def test_the_swizzle_refuses_a_block_that_it_is_wrong_for() -> None:
    """With 64 threads a thread's rows are four apart: every other one would need a swizzle of its own."""
    pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")
    routine = LADDER["pipelined"]
    (step,) = routine.steps(HEAD)
    with pytest.raises(KernelError, match="multiple of eight apart"):
        compile_source(routine.text, "sm_90", {**step.launch.constants, "WARPS": 2, "BLOCKS": 4}, routine.source.name)
