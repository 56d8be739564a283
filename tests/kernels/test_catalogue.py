"""Sizes, work and launches of the kernels, by arithmetic."""

from __future__ import annotations

import pytest

from kernels.catalogue import Kernel, KernelError, Problem, code_of, sources_sha256
from kernels.gemm_fp32.ladder import LADDER
from kernels.roofs.probes import fma_flop, tile_bytes


def test_work_and_compulsory_bytes_of_the_timed_product() -> None:
    """4096^3: 2 x 68 719 476 736 FLOP = 137.4 GFLOP; three matrices of 64 MiB."""
    assert LADDER.problem.flop == 137_438_953_472
    assert LADDER.problem.compulsory_bytes == 3 * 64 * 1024 * 1024


def test_the_ladder_is_in_order_and_each_rung_has_its_own_number() -> None:
    first = ["uncoalesced", "coalesced", "shared", "tile_1d", "tile_2d", "vectorised"]
    assert [rung.name for rung in LADDER.rungs] == [*first, "double_buffered", "operand_reuse", "warp_tile", "autotuned"]
    assert [rung.source.name[:2] for rung in LADDER.rungs] == ["01", "02", "03", "04", "05", "06", "07", "08", "09", "09"]


OUTPUTS = {
    "tile_1d": 8,
    "tile_2d": 64,
    "vectorised": 64,
    "double_buffered": 64,
    "operand_reuse": 64,
    "warp_tile": 128,
    "autotuned": 128,
}


@pytest.mark.parametrize("kernel", LADDER.rungs, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("problem", [Problem(1, 1, 1), Problem(129, 257, 63), Problem(4096, 4096, 4096)], ids=str)
def test_the_grid_covers_the_output_and_not_a_tile_more(kernel: Kernel, problem: Problem) -> None:
    launch = kernel.launch(problem)
    rows, cols = kernel.tile
    assert launch.blocks == -(-problem.m // rows) * -(-problem.n // cols)
    outputs_a_thread = rows * cols / launch.threads
    assert outputs_a_thread == OUTPUTS.get(kernel.name, 1)


def test_the_guard_is_left_out_only_where_every_size_fits() -> None:
    for name, fits in (("shared", Problem(64, 96, 32)), ("tile_1d", Problem(64, 128, 8)), ("tile_2d", Problem(128, 256, 16))):
        assert LADDER[name].launch(fits).constants["GUARD"] == 0
        for odd in (
            Problem(fits.m + 1, fits.n, fits.k),
            Problem(fits.m, fits.n + 1, fits.k),
            Problem(fits.m, fits.n, fits.k + 1),
        ):
            assert LADDER[name].launch(odd).constants["GUARD"] == 1


def test_tolerance_grows_with_the_root_of_the_depth() -> None:
    """(sqrt(4096) + 1) x 2^-24."""
    assert LADDER.rungs[0].tolerance(LADDER.problem) == pytest.approx(65 * 2**-24)


def test_sizes_beyond_32_bit_indices_are_refused() -> None:
    with pytest.raises(KernelError, match="2\\^31"):
        Problem(65536, 1, 32768)
    with pytest.raises(KernelError, match="at least 1"):
        Problem(0, 1, 1)


def test_an_unknown_rung_is_named_with_the_known_ones() -> None:
    with pytest.raises(KernelError, match="no rung 'cached'; it has uncoalesced, coalesced"):
        LADDER["cached"]


def test_work_of_the_probes() -> None:
    """1056 blocks of 256 threads, 8 chains, 16 steps a round; 264 blocks of 1024 threads, 8 reads of 16 bytes a round."""
    assert fma_flop(1056, 2000) == 1056 * 256 * 8 * 16 * 2000 * 2
    assert tile_bytes(264, 10) == 264 * 1024 * 8 * 16 * 10


def test_a_digest_is_of_the_code_and_not_of_its_comments() -> None:
    assert code_of("// head\n\n  int x = 1;  // one\n") == code_of("int x = 1;\n") == "int x = 1;"
    assert code_of("int x = 2;") != code_of("int x = 1;")
    assert len({rung.sha256 for rung in LADDER.rungs}) == 9 and len(sources_sha256()) == 64
