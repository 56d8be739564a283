"""The warp-access model: from the addresses of 32 lanes to sectors and wavefronts, and from those to a kernel's bytes by level.

A *sector* is 32 aligned bytes, what a cache moves.  A *wavefront* is one pass through the SM's load path (the data stage of L1
and shared memory), which carries up to 128 bytes: that is why load-path bytes are wavefronts x 128.

Rules, after NVIDIA's Nsight Compute documentation ("wavefronts", "sectors") and the CUDA C++ Programming Guide (32 banks of
4 bytes; lanes that want the same word share it).  L1 and shared memory are one array with the same banks, so one rule serves
both: a warp is served in groups of lanes, and a group takes as many wavefronts as the most different words in one bank.

- 4 bytes a lane: the warp is one group; 8 bytes: two halves; 16 bytes: four quarters.
- Shared memory alone: where every lane wants what its neighbour (lane XOR 1), or the next but one (lane XOR 2), wants, two
  groups go together.
- A cp.async of 16 bytes a lane: one, whatever its addresses, in either memory.

Checked against `l1tex__data_pipe_lsu_wavefronts` of an H200 on 162 address patterns (`measure.patterns`): exact for shared
memory; for global memory exact where few lines are touched, and up to a quarter low where a warp scatters over some 30 lines.
That cp.async counts once was found on the same GPU with five kernels that use it: their bytes then agree within 3 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernels.catalogue import WARP, Access, Kernel, Problem

SECTOR = 32
BANKS = 32
WORD = 4
WAVEFRONT_BYTES = 128


@dataclass(frozen=True, slots=True)
class Residency:
    """What decides how blocks share L2: the GPU's SMs and how many blocks of the kernel one SM holds at once."""

    sm_count: int
    blocks_per_sm: int


@dataclass(frozen=True, slots=True)
class Bytes:
    """Modelled bytes of one launch by level; `dram` is None without a residency."""

    load_path: float
    l2: float
    dram: float | None
    algorithmic: float


def sectors(addresses: Sequence[int], width: int) -> int:
    """Number of different 32-byte sectors that lanes touch which each want `width` bytes at their byte address."""
    return len({piece // SECTOR for address in addresses for piece in range(address, address + width, WORD)})


def bank_passes(addresses: Sequence[int], width: int) -> int:
    """Passes that one group of lanes needs: the most different words in any of the 32 banks."""
    words = {piece // WORD for address in addresses for piece in range(address, address + width, WORD)}
    banks = [0] * BANKS
    for word in words:
        banks[word % BANKS] += 1
    return max(banks, default=0)


def wavefronts(addresses: Sequence[int], width: int, space: Literal["global", "shared"]) -> int:
    """Wavefronts of one instruction of a warp: `addresses` holds the byte addresses of its 32 lanes, `width` is 4, 8 or 16."""
    groups = {4: 1, 8: 2, 16: 4}[width]
    alike = any(all(addresses[lane] == addresses[lane ^ step] for lane in range(WARP)) for step in (1, 2))
    if space == "shared" and alike and groups > 1:
        groups //= 2
    size = WARP // groups
    return sum(bank_passes(addresses[first : first + size], width) for first in range(0, WARP, size))


def access_wavefronts(access: Access) -> int:
    """Wavefronts of one execution of a kernel's instruction by the first warp of its block."""
    if access.kind == "copy":
        return 1
    return wavefronts([access.address(thread) for thread in range(WARP)], access.width, access.space)


def load_path_bytes(kernel: Kernel, problem: Problem) -> float:
    """Bytes at the SM's load path of one launch: every warp's wavefronts x 128."""
    warps = kernel.launch(problem).warps
    return warps * WAVEFRONT_BYTES * sum(access.times * access_wavefronts(access) for access in kernel.accesses(problem))


def l2_bytes(kernel: Kernel, problem: Problem) -> float:
    """Bytes between L1 and L2 of one launch: each block fetches its rows of A and columns of B once, and writes its part of C.

    L1 or shared memory is taken to catch every reuse inside of a block and none between blocks.
    """
    rows, cols = kernel.tile
    fetched = kernel.launch(problem).blocks * (rows + cols) * problem.k
    return 4.0 * (fetched + problem.m * problem.n)


def dram_bytes(kernel: Kernel, problem: Problem, residency: Residency) -> float:
    """Bytes between L2 and DRAM of one launch, an estimate from below: blocks that run at the same time share what they read.

    Blocks start in the order of blockIdx.x, then .y.  Each wave of `sm_count x blocks_per_sm` blocks reads the panels of A, B
    that it covers once; nothing stays in L2 from one wave to the next.  The output is written once.  (L2s in two halves fetch a
    panel that both sides want twice, which this leaves out.)
    """
    launch = kernel.launch(problem)
    across = launch.grid[0]
    wave = residency.sm_count * residency.blocks_per_sm
    panels = 0.0
    for first in range(0, launch.blocks, wave):
        last = min(first + wave, launch.blocks) - 1
        panels += min(across, last - first + 1) * kernel.tile[1] + (last // across - first // across + 1) * kernel.tile[0]
    return 4.0 * (panels * problem.k + problem.m * problem.n)


def model(kernel: Kernel, problem: Problem, residency: Residency | None = None) -> Bytes:
    """Bytes of one launch at every level."""
    return Bytes(
        load_path=load_path_bytes(kernel, problem),
        l2=l2_bytes(kernel, problem),
        dram=dram_bytes(kernel, problem, residency) if residency is not None else None,
        algorithmic=float(problem.compulsory_bytes),
    )


def blocks_per_sm(
    threads: int, registers: int, shared: int, threads_per_sm: int, registers_per_sm: int, shared_per_sm: int
) -> int:
    """How many blocks an SM holds at once, by threads, registers and shared memory (CUDA C++ Programming Guide, occupancy).

    Registers are handed out to warps in units of 256, shared memory in units of 128 bytes after 1 KiB that the system keeps.
    """
    warps = math.ceil(threads / WARP)
    by_threads = threads_per_sm // (warps * WARP)
    by_registers = registers_per_sm // (warps * math.ceil(registers * WARP / 256) * 256)
    by_shared = shared_per_sm // (math.ceil((shared + 1024) / 128) * 128)
    return max(1, min(by_threads, by_registers, by_shared, 32))
