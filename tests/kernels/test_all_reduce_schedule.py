"""The schedules of the all-reduces give the sum; the sources compile everywhere; launches stay within what runs at once."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.all_reduce.algorithms import ALGORITHMS, algorithm, constants, launch, most_blocks, programs, tolerance
from kernels.all_reduce.mutants import MUTANTS
from kernels.all_reduce.schedule import SCHEDULES, chunk_packs, received, transfers
from kernels.build import ARCHITECTURES, STATIC_SHARED_LIMIT, arch_number, build_program, supported_architectures
from kernels.catalogue import KernelError


def simulate(name: str, inputs: np.ndarray) -> np.ndarray:
    """All ranks' buffers after a schedule was carried out on `inputs[rank, value]`; a step's transfers see what was before."""
    ranks, count = inputs.shape
    buffers = inputs.copy()
    steps = transfers(name, ranks)
    for step in range(max(one.step for one in steps) + 1):
        before = buffers.copy()
        for one in (each for each in steps if each.step == step):
            part = slice(0, count) if one.chunk is None else slice(*_bounds(chunk_packs(count, ranks, one.chunk)))
            if one.adds:
                buffers[one.target, part] += before[one.source, part]
            else:
                buffers[one.target, part] = before[one.source, part]
    return buffers


def _bounds(packs: range) -> tuple[int, int]:
    return packs.start, packs.stop


@pytest.mark.parametrize("name", SCHEDULES)
@given(ranks=st.integers(2, 8), count=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
def test_a_schedule_leaves_the_sum_everywhere(name: str, ranks: int, count: int, seed: int) -> None:
    inputs = np.random.default_rng(seed).integers(-(2**40), 2**40, (ranks, count))
    assert (simulate(name, inputs) == inputs.sum(0)).all()


@given(packs=st.integers(0, 1000), ranks=st.integers(2, 8))
def test_chunks_are_the_buffer_in_order(packs: int, ranks: int) -> None:
    chunks = [chunk_packs(packs, ranks, chunk) for chunk in range(ranks)]
    assert [pack for chunk in chunks for pack in chunk] == list(range(packs))
    assert max(map(len, chunks)) == math.ceil(packs / ranks)


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_a_ring_uses_every_link_in_every_step_and_only_those_to_the_next(ranks: int) -> None:
    steps = transfers("ring", ranks)
    assert Counter(one.step for one in steps) == dict.fromkeys(range(2 * (ranks - 1)), ranks)
    assert all(one.target == (one.source + 1) % ranks for one in steps)
    assert all(one.chunk == (one.source - one.step) % ranks for one in steps)


def test_bytes_over_a_link_are_the_known_ones() -> None:
    """2(n - 1)/n buffers is the least without a switch that adds (nccl-tests, doc/PERFORMANCE.md); one-shot takes n - 1."""
    assert received("ring", 8) == received("two_shot", 8) == received("two_shot_push", 8) == Fraction(7, 4)
    assert received("one_shot", 8) == 7 and received("one_shot", 2) == received("ring", 2) == 1


def test_every_algorithm_has_its_schedule_and_bad_names_are_refused() -> None:
    assert {one.name for one in ALGORITHMS} == set(SCHEDULES)
    with pytest.raises(KernelError, match="there is no all-reduce 'tree'; there are one_shot, two_shot, two_shot_push, ring"):
        transfers("tree", 4)
    with pytest.raises(KernelError, match="there is no all-reduce 'tree'"):
        algorithm("tree")
    for ranks in (1, 9):
        with pytest.raises(KernelError, match=f"an all-reduce needs 2 to 8 ranks, not {ranks}"):
            constants(ranks, 4)
    with pytest.raises(KernelError, match=r"at least as many threads as there are ranks \(8\), not 4"):
        constants(8, 4, threads=4)


def test_a_grid_is_no_larger_than_the_work_or_than_what_runs_at_once() -> None:
    ring, one_shot = algorithm("ring"), algorithm("one_shot")
    assert launch(one_shot, 8, 1, 4 * 512 * 10, 100).grid == (10, 1, 1)  # 10 packs of 4 values a thread
    assert launch(ring, 8, 8, 4 * 512 * 10, 100).grid == (2, 8, 1)  # an eighth of them a rank
    assert launch(ring, 8, 8, 1 << 28, 33).grid == (33, 8, 1)
    assert launch(one_shot, 2, 1, 1, 33).grid == (1, 1, 1)
    with pytest.raises(KernelError, match="8 ranks on one GPU cannot run at the same time"):
        launch(one_shot, 8, 8, 1, 0)


def test_ranks_of_one_gpu_share_its_places_and_the_tightest_gpu_decides() -> None:
    assert most_blocks([132], [2], [8]) == 33
    assert most_blocks([132, 46], [2, 3], [1, 1]) == 138
    assert most_blocks([4], [1], [8]) == 0


def test_tolerances_are_highams() -> None:
    u = 2.0**-24
    for one in ALGORITHMS:
        assert tolerance(one, 2) == u / (1 - u)
        assert tolerance(one, 8) == 7 * u / (1 - 7 * u) == tolerance(None, 8)
    assert 2.0**-8 < tolerance(algorithm("one_shot"), 8, bf16=True) < 1.01 * 2.0**-8
    assert 7 * 2.0**-8 < tolerance(algorithm("ring"), 8, bf16=True) < 7.3 * 2.0**-8


PROGRAMS = tuple(programs())


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_sources_compile_without_spills(arch: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")
    assert {"sm_75", "sm_120"} <= set(ARCHITECTURES) and arch_number(arch) in supported_architectures()
    for program in PROGRAMS:
        (used,) = build_program(program, arch).resources.values()
        assert (used.spills, used.stack) == (0, 0), program
        assert used.shared <= STATIC_SHARED_LIMIT
        assert used.registers * program.constants["THREADS"] <= 65536


def test_no_multicast_and_no_reduction_in_the_switch() -> None:
    for program in PROGRAMS:
        assert "multimem" not in program.text and "multicast" not in program.text


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.kind}-{mutant.rung}")
def test_a_mutant_changes_one_place_of_its_rung(mutant: object) -> None:
    from kernels.catalogue import Mutant

    assert isinstance(mutant, Mutant)
    text = algorithm(mutant.rung).own_text
    assert mutant.apply(text) != text
