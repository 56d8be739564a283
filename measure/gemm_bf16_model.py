"""Bytes of the bf16 ladder by level, in the same sense as those of the fp32 ladder (`measure.access_model`).

What differs is the size of a value and, in one rung, the order in which blocks start.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.catalogue import Kernel, Launch, Problem
from kernels.gemm_bf16.ladder import BF16, block_of, compulsory_bytes
from measure.access_model import Residency, bank_passes, load_path_bytes
from measure.records import Level, Quantity, Source, Traffic


def ldmatrix_wavefronts(rows: Sequence[int]) -> int:
    """Wavefronts of an ldmatrix of up to four fragments, from the byte addresses of their rows, 8 to 32 of them.

    Each fragment is served on its own: eight rows of 16 bytes, in one pass if they fill the 32 banks, in as many as the most
    different words in a bank otherwise.
    """
    return sum(bank_passes(rows[first : first + 8], 16) for first in range(0, len(rows), 8))


def l2_bytes(kernel: Kernel, problem: Problem) -> float:
    """Bytes between L1 and L2 of one launch: each block fetches its rows of A and columns of B once, and writes its part of C.

    L1 or shared memory is taken to catch every reuse inside of a block and none between blocks.
    """
    rows, cols = kernel.tile
    fetched = kernel.launch(problem).blocks * (rows + cols) * problem.k
    return float(BF16 * (fetched + problem.m * problem.n))


def panels(launch: Launch, tile: tuple[int, int], at_once: int) -> int:
    """Rows of A and columns of B that all waves of `at_once` blocks fetch, each once a wave."""
    across, down, _ = launch.grid
    found = 0
    for first in range(0, launch.blocks, at_once):
        wave = range(first, min(first + at_once, launch.blocks))
        places = [block_of(order, across, down, launch.constants.get("GROUP", 1)) for order in wave]
        found += len({row for row, _ in places}) * tile[0] + len({col for _, col in places}) * tile[1]
    return found


def dram_bytes(kernel: Kernel, problem: Problem, residency: Residency) -> float:
    """Bytes between L2 and DRAM of one launch, an estimate: the blocks of a wave share what they read, waves share nothing."""
    launch = kernel.launch(problem)
    fetched = panels(launch, kernel.tile, residency.sm_count * residency.blocks_per_sm) * problem.k
    return float(BF16 * (fetched + problem.m * problem.n))


def traffic(kernel: Kernel, problem: Problem, residency: Residency | None) -> dict[Level, Traffic]:
    """Modelled bytes of one launch by level; without a residency, those of DRAM are left out."""

    def modelled(value: float, source: Source, reference: str) -> Traffic:
        return Traffic(model=Quantity(value, "B", source, reference=reference))

    load_path = "warp-access model: wavefronts x 128 B, ldmatrix and cp.async included"
    levels: dict[Level, Traffic] = {
        "load_path": modelled(load_path_bytes(kernel, problem), "derived", load_path),
        "l2": modelled(l2_bytes(kernel, problem), "derived", "each block fetches its rows and columns once"),
        "algorithmic": modelled(compulsory_bytes(problem), "derived", "each input read once, the output written once"),
    }
    if residency is not None:
        estimate = dram_bytes(kernel, problem, residency)
        levels["dram"] = modelled(estimate, "estimated", "blocks that run at the same time share what they read")
    return levels
