"""Bytes of the bf16 ladder by level, in the same sense as those of the fp32 ladder (`measure.access_model`).

What differs is the size of a value, the order in which tiles are taken and, at the top, that two blocks share what they fetch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernels.catalogue import Kernel, Problem
from kernels.gemm_bf16.problem import BF16, block_of, compulsory_bytes, tiles
from measure.access_model import Residency, bank_passes, load_path_bytes
from measure.records import Level, Quantity, Source, Traffic


def ldmatrix_wavefronts(rows: Sequence[int]) -> int:
    """Wavefronts of an ldmatrix of up to four fragments, from the byte addresses of their rows, 8 to 32 of them.

    Each fragment is served on its own: eight rows of 16 bytes, in one pass if they fill the 32 banks, in as many as the most
    different words in a bank otherwise.
    """
    return sum(bank_passes(rows[first : first + 8], 16) for first in range(0, len(rows), 8))


@dataclass(frozen=True, slots=True)
class Tiling:
    """How a launch covers C: `across` x `down` tiles of `rows` x `cols`, `group` rows of them column by column.

    `shared` blocks compute a tile together, below each other: each column of B is fetched once for all of them.
    """

    across: int
    down: int
    rows: int
    cols: int
    group: int
    shared: int


def tiling(kernel: Kernel, problem: Problem) -> Tiling:
    """The tiles of a kernel; those of the blocks of a cluster are one."""
    constants, (rows, cols) = kernel.launch(problem).constants, kernel.tile
    shared = constants.get("CLUSTER", 1)
    across, down = tiles(problem.n, cols), tiles(problem.m, rows * shared)
    return Tiling(across, down, rows * shared, cols, constants.get("GROUP", 1), shared)


def l2_bytes(kernel: Kernel, problem: Problem) -> float:
    """Bytes between L1 and L2 of one launch: each tile fetches its rows of A and columns of B once, and writes its part of C.

    L1 or shared memory is taken to catch every reuse inside of a tile and none between tiles.
    """
    found = tiling(kernel, problem)
    fetched = found.across * found.down * (found.rows + found.cols) * problem.k
    return float(BF16 * (fetched + problem.m * problem.n))


def panels(found: Tiling, at_once: int) -> int:
    """Rows of A and columns of B that all waves of `at_once` tiles fetch, each once a wave."""
    total = 0
    for first in range(0, found.across * found.down, at_once):
        wave = range(first, min(first + at_once, found.across * found.down))
        places = [block_of(order, found.across, found.down, found.group) for order in wave]
        total += len({row for row, _ in places}) * found.rows + len({col for _, col in places}) * found.cols
    return total


def dram_bytes(kernel: Kernel, problem: Problem, residency: Residency) -> float:
    """Bytes between L2 and DRAM of one launch, an estimate: the blocks of a wave share what they read, waves share nothing."""
    found = tiling(kernel, problem)
    at_once = min(kernel.launch(problem).blocks, residency.sm_count * residency.blocks_per_sm)
    fetched = panels(found, max(1, at_once // found.shared)) * problem.k
    return float(BF16 * (fetched + problem.m * problem.n))


def traffic(kernel: Kernel, problem: Problem, residency: Residency | None) -> dict[Level, Traffic]:
    """Modelled bytes of one launch by level; without a residency, those of DRAM are left out."""

    def modelled(value: float, source: Source, reference: str) -> Traffic:
        return Traffic(model=Quantity(value, "B", source, reference=reference))

    load_path = "warp-access model: wavefronts x 128 B, ldmatrix, cp.async, wgmma and TMA included"
    levels: dict[Level, Traffic] = {
        "load_path": modelled(load_path_bytes(kernel, problem), "derived", load_path),
        "l2": modelled(l2_bytes(kernel, problem), "derived", "each tile fetches its rows and columns once"),
        "algorithmic": modelled(compulsory_bytes(problem), "derived", "each input read once, the output written once"),
    }
    if residency is not None:
        estimate = dram_bytes(kernel, problem, residency)
        levels["dram"] = modelled(estimate, "estimated", "blocks that run at the same time share what they read")
    return levels
