"""int4 with the weights under way in shared memory: for one vector, and for sixteen at once.

Both take the weights as `INT4_TILED` stores them.  They join the ladder once a GPU has verified and timed them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernels.catalogue import Launch, Routine, Step
from kernels.gemv.ladder import TILE_ROWS, tensor_tolerance
from kernels.gemv.problem import FP16, GROUP, INT4_TILED, OUTPUT_BYTES, VECTOR_BYTES, GemvProblem

HERE = Path(__file__).resolve().parent
VECTORS = 16
STREAMED = {"TILES": 2, "WARPS": 8, "SPLIT": 8, "STAGES": 4}
BATCH = {"TILES": 2, "WARPS": 16, "SPLIT": 2, "STAGES": 4}
BLOCK_BYTES = TILE_ROWS * (GROUP // 2 + FP16.bits // 8)
"""Bytes of a tile's rows and one group, codes and scales."""


def units(problem: GemvProblem, constants: Mapping[str, int]) -> int:
    """How often the rows that a block works on at once fit into the problem's."""
    tiles = -(-problem.rows // TILE_ROWS)
    return -(-tiles // (constants["TILES"] * constants["WARPS"] // constants["SPLIT"]))


def streamed_step(problem: GemvProblem, constants: Mapping[str, int] = STREAMED, most_blocks: int = 0) -> Step:
    """One vector: a block a unit, or `most_blocks` that take units by turns."""
    blocks = units(problem, constants)
    shared = constants["STAGES"] * constants["WARPS"] * (constants["TILES"] * BLOCK_BYTES + GROUP * VECTOR_BYTES)
    grid = (min(blocks, most_blocks) if most_blocks else blocks, 1, 1)
    return Step("gemv_int4_streamed", Launch(grid, (constants["WARPS"] * 32, 1, 1), constants, shared))


def batch_step(problem: GemvProblem, constants: Mapping[str, int] = BATCH) -> Step:
    """Sixteen vectors, 16 x groups * 128 in fp16 filled up with zeros, to 16 x rows in fp32."""
    x = constants["SPLIT"] * VECTORS * GROUP * VECTOR_BYTES
    shared = constants["STAGES"] * (constants["WARPS"] * constants["TILES"] * BLOCK_BYTES + x)
    launch = Launch((units(problem, constants), 1, 1), (constants["WARPS"] * 32, 1, 1), constants, shared)
    return Step("gemv_int4_batch", launch)


def batch_bytes(problem: GemvProblem) -> int:
    """The fewest bytes for sixteen vectors: weights, scales and vectors read once, the outputs written once."""
    return problem.weight_bytes(INT4_TILED) + VECTORS * (VECTOR_BYTES * problem.cols + OUTPUT_BYTES * problem.rows)


def _traffic(problem: GemvProblem) -> Mapping[str, float]:
    needed = float(problem.needed_bytes(INT4_TILED))
    return {"dram": needed, "algorithmic": needed}


def _batch_traffic(problem: GemvProblem) -> Mapping[str, float]:
    needed = float(batch_bytes(problem))
    return {"dram": needed, "algorithmic": needed}


ONE: Routine[GemvProblem] = Routine(
    "int4_streamed",
    "int4, streamed",
    "what is under way waits in shared memory, and codes are multiplied as they are",
    HERE / "08_int4_streamed.cu",
    lambda problem: (streamed_step(problem),),
    _traffic,
    tensor_tolerance,
    min_arch=80,
    min_shared=75,
)

SIXTEEN: Routine[GemvProblem] = Routine(
    "int4_batch",
    "int4, sixteen vectors",
    "each code is unpacked once for sixteen values of x",
    HERE / "09_int4_batch.cu",
    lambda problem: (batch_step(problem),),
    _batch_traffic,
    tensor_tolerance,
    min_arch=80,
    min_shared=164,
)

RUNGS = (ONE, SIXTEEN)
