"""The matrix-vector sources compile without spills at odd sizes, too; the tiled layout puts each weight where it is read."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.build import ARCHITECTURES, SHARED_LIMIT, arch_number, compile_source
from kernels.catalogue import Routine
from kernels.gemv.ladder import LADDER, ODD
from kernels.gemv.problem import INT4, INT4_TILED, GemvProblem
from kernels.gemv.quantise import store, tiled
from measure import gemv

HAS_AN_ODD_TILE = GemvProblem(35, 300)


@pytest.mark.parametrize("routine", LADDER.rungs, ids=lambda routine: routine.name)
def test_an_odd_size_compiles_without_spills(routine: Routine[GemvProblem]) -> None:
    """On the oldest and the newest that it claims; `test_nvrtc_versions` has what is timed on one of each instruction set."""
    pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")
    (step,) = routine.steps(ODD)
    numbers = ((arch, arch_number(arch)) for arch in ARCHITECTURES)
    claimed = [arch for arch, number in numbers if number >= routine.min_arch and SHARED_LIMIT[number] >= routine.min_shared]
    for arch in (claimed[0], claimed[-1]):
        used = compile_source(routine.text, arch, step.launch.constants, routine.source.name).resources[step.entry]
        assert (used.spills, used.stack) == (0, 0), arch


def test_tiles_hold_a_group_of_each_of_their_rows() -> None:
    """Two rows of two groups of two in tiles of two: first both rows' first group, then both rows' second."""
    rows = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]])
    expected = [1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 0, 0, 11, 12, 0, 0]
    assert tiled(np, rows, groups=2, tile_rows=2).ravel().tolist() == expected


def test_the_tiled_weights_stand_for_the_same_ones() -> None:
    weights = np.random.default_rng(0).standard_normal((35, 300), dtype=np.float32)
    plain, other = store(np, weights, INT4), store(np, weights, INT4_TILED)
    assert np.array_equal(plain.meant, other.meant)
    assert [one.shape for one in other.arrays] == [(48, 48), (48, 3)]


def test_weights_stored_chunk_by_chunk_are_those_stored_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemv, "CHUNK", 16)
    parts = gemv.operands(np, HAS_AN_ODD_TILE, (INT4_TILED,), 1).weights["int4_tiled"].arrays
    monkeypatch.setattr(gemv, "CHUNK", 64)
    once = gemv.operands(np, HAS_AN_ODD_TILE, (INT4_TILED,), 1).weights["int4_tiled"].arrays
    assert all(np.array_equal(one, other) for one, other in zip(parts, once, strict=True))
