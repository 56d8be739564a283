"""The bf16 ladder by arithmetic and by its machine code: launches, the bytes that it states, what the compiler made of it."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

import pytest

from kernels.build import (
    ARCHITECTURES,
    SHARED_LIMIT,
    Cubin,
    arch_number,
    build,
    build_program,
    compile_source,
    supported_architectures,
)
from kernels.catalogue import Kernel, KernelError, Mutant, Problem
from kernels.gemm_bf16.ladder import LADDER
from kernels.gemm_bf16.mma_sync import RUNGS
from kernels.gemm_bf16.mutants import MUTANTS
from kernels.gemm_bf16.problem import block_of, compulsory_bytes, tolerance
from kernels.machine_code import instructions, operation
from kernels.roofs.mma_probe import MMA

ODD = Problem(129, 63, 17)
CLAIMED = [arch for arch in ARCHITECTURES if 80 <= arch_number(arch) and arch_number(arch) in supported_architectures()]
TILED = [kernel for kernel in RUNGS if kernel.name != "naive"]

pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")


def test_work_and_fewest_bytes_of_the_timed_product() -> None:
    """8192^3: 2 x 2^39 FLOP = 1.0995 TFLOP; three matrices of 2^26 values of two bytes."""
    assert LADDER.problem.flop == 2**40
    assert compulsory_bytes(LADDER.problem) == 3 * 2**27


def test_tolerance_is_that_of_sums_cut_off_at_24_bits() -> None:
    """(sqrt(8192) + 1) x 2^-23 = 1.09e-5, and the output's rounding of that."""
    assert tolerance(LADDER.problem) == pytest.approx(91.50967 * 2**-23 * (1 + 1 / 256), rel=1e-6)


@pytest.mark.parametrize("kernel", RUNGS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("problem", [Problem(1, 1, 1), ODD, Problem(8192, 8192, 8192)], ids=str)
def test_the_grid_covers_the_output_and_not_a_tile_more(kernel: Kernel, problem: Problem) -> None:
    launch = kernel.launch(problem)
    rows, cols = kernel.tile
    assert launch.grid == (-(-problem.n // cols), -(-problem.m // rows), 1)
    assert launch.threads == 256
    assert launch.constants["GUARD"] == (problem.m != 8192)


@pytest.mark.parametrize("size", range(3))
def test_the_guard_is_left_out_only_where_every_size_fits(size: int) -> None:
    for kernel in RUNGS:
        fits = [*kernel.tile, 64]
        assert kernel.launch(Problem(*fits)).constants["GUARD"] == 0
        fits[size] += 8
        assert kernel.launch(Problem(*fits)).constants["GUARD"] == 1


@pytest.mark.parametrize(("across", "down", "group"), [(32, 64, 16), (5, 7, 3), (1, 1, 16), (3, 17, 16), (4, 4, 1)])
def test_every_block_has_its_own_place(across: int, down: int, group: int) -> None:
    places = [block_of(order, across, down, group) for order in range(across * down)]
    assert set(places) == {(row, col) for row in range(down) for col in range(across)}


def test_groups_go_column_by_column_and_one_row_is_the_plain_order() -> None:
    assert [block_of(order, 3, 5, 2) for order in range(4)] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert [block_of(order, 3, 5, 2) for order in (12, 13, 14)] == [(4, 0), (4, 1), (4, 2)]
    assert [block_of(order, 3, 5, 1) for order in (0, 1, 2, 3)] == [(0, 0), (0, 1), (0, 2), (1, 0)]


@pytest.mark.parametrize("arch", CLAIMED)
def test_as_many_blocks_fit_on_an_sm_as_the_rungs_count_on(arch: str) -> None:
    """Two of the small ones, 48 KiB and 128 registers each at most; one of the large ones, even in 99 KiB of shared memory,
    but for the deep tiles, which take 144 KiB."""
    for kernel in RUNGS:
        launch = kernel.launch(LADDER.problem)
        if SHARED_LIMIT[arch_number(arch)] < kernel.min_shared:
            continue
        blocks = 2 if kernel.tile == (128, 128) else 1
        used = build(kernel, launch, arch).resources[kernel.entry]
        assert (used.spills, used.stack) == (0, 0)
        assert -(-used.registers // 8) * 8 * launch.threads * blocks <= 65536
        assert (used.shared + launch.dynamic_shared + 1024) * blocks <= (SHARED_LIMIT[arch_number(arch)] + 1) * 1024


def test_older_architectures_are_refused() -> None:
    with pytest.raises(KernelError, match="sm_80 and newer"):
        build(LADDER["naive"], LADDER["naive"].launch(ODD), "sm_75")


OPCODES = {0x3C: "mma", 0x3B: "ldmatrix", 0x1AE: "cp.async", 0x181: "load", 0x186: "store", 0x188: "shared store"}
"""Lowest nine bits of an instruction since Volta, which has 16 bytes; seen beside the names in a disassembly."""


def counted(cubin: Cubin, entry: str) -> Counter[str]:
    return Counter(OPCODES[kind] for word in instructions(cubin, entry) if (kind := operation(word)) in OPCODES)


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("kernel", RUNGS, ids=lambda kernel: kernel.name)
def test_the_machine_code_has_the_accesses_that_the_model_counts(kernel: Kernel, arch: str) -> None:
    """For every mma of the main loop, as the compiler may unroll it; fragments and stages are fetched ahead of it as well."""
    problem = LADDER.problem
    launch = kernel.launch(problem)
    code = counted(build(kernel, launch, arch), kernel.entry)
    c = launch.constants
    mma = c["WM"] // 16 * (c["WN"] // 8) * problem.k // 16
    stated: Counter[tuple[str, str]] = Counter()
    for access in kernel.accesses(problem):
        stated[access.space, access.kind] += int(access.times)
    unrolled = Fraction(mma, code["mma"])
    ahead = c["WM"] // 16 + c["WN"] // 16 if kernel.name in ("double_buffered", "grouped", "deep_tiles") else 0
    assert stated["shared", "load"] - ahead == (code["ldmatrix"] - ahead) * unrolled
    stages = c.get("STAGES", 1)
    assert stated["shared", "copy"] == code["cp.async"] // stages * unrolled
    assert stated["shared", "store"] == code["shared store"] * unrolled
    assert stated["global", "load"] == code["load"] * unrolled
    assert stated["global", "store"] == code["store"]


def test_the_probe_s_loop_is_mma_and_nothing_else() -> None:
    """Two for each of the 16 accumulators."""
    found = counted(build_program(MMA, "sm_90"), "probe_mma")
    assert found["mma"] == 32 and not found["ldmatrix"]


@pytest.mark.parametrize("kernel", RUNGS, ids=lambda kernel: kernel.name)
def test_a_source_says_what_it_is_and_why(kernel: Kernel) -> None:
    head = kernel.text.split("\n\n")[0]
    own = re.fullmatch(rf"\d\d_{kernel.name}\.cu", kernel.source.name)
    assert head.startswith(f"// {kernel.title}") if own else kernel.name == "deep_tiles" and "DEEP 1" in head
    assert "// The change: " in head and re.search(r"// Why it (is slow|helps): ", head)
    assert "#include" not in kernel.text


def test_mutants_are_of_every_kind_and_of_every_rung() -> None:
    assert {mutant.kind for mutant in MUTANTS} == {"off_by_one", "skipped_tile", "zeros", "nan", "stale"}
    assert {mutant.rung for mutant in MUTANTS} == {kernel.name for kernel in LADDER.rungs}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.rung}-{mutant.kind}")
def test_a_mutant_compiles(mutant: Mutant) -> None:
    kernel = LADDER[mutant.rung]
    for problem in (LADDER.problem, ODD):
        assert compile_source(mutant.apply(kernel.text), kernel.feature_arch or "sm_90", kernel.launch(problem).constants).code
