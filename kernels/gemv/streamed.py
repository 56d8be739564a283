"""How the int4 kernels are launched whose weights the copy engine brings: for one vector, and for sixteen at once.

Both take the weights as `INT4_CHUNKED` stores them; a block has a ring in shared memory for each of its warps.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernels.catalogue import WARP, Launch, Step
from kernels.gemv.problem import GROUP, INT4_CHUNKED, OUTPUT_BYTES, VECTOR_BYTES, GemvProblem
from kernels.gemv.quantise import CHUNK_BYTES, CHUNK_ROWS

VECTORS = 16
LINE_BYTES = GROUP * VECTOR_BYTES + 64  # sixteen vectors' values of a group lie so far apart
STREAMED: Mapping[str, int] = {"CHUNKS": 4, "WARPS": 8, "SLOTS": 6}
BATCH: Mapping[str, int] = {"CHUNKS": 4, "WARPS": 8, "SLOTS": 3}
"""What was fastest on an H200 of those that `kernels/PREDICTIONS.md` lists."""


def units(problem: GemvProblem, constants: Mapping[str, int]) -> int:
    """How often the rows that a block works on fit into the problem's."""
    return -(-problem.rows // (CHUNK_ROWS * constants["CHUNKS"]))


def streamed_steps(problem: GemvProblem, constants: Mapping[str, int] = STREAMED) -> tuple[Step, ...]:
    """One vector; GUARD where the last group is not full."""
    shared = constants["WARPS"] * (constants["SLOTS"] * CHUNK_BYTES + GROUP * VECTOR_BYTES)
    return (_step("gemv_int4_streamed", problem, {**constants, "GUARD": int(problem.cols % GROUP != 0)}, shared),)


def batch_steps(problem: GemvProblem, constants: Mapping[str, int] = BATCH) -> tuple[Step, ...]:
    """Sixteen vectors, 16 x groups * 128 in fp16 filled up with zeros, to 16 x rows in fp32."""
    shared = constants["WARPS"] * (constants["SLOTS"] * CHUNK_BYTES + VECTORS * LINE_BYTES)
    return (_step("gemv_int4_batch", problem, constants, shared),)


def _step(entry: str, problem: GemvProblem, constants: Mapping[str, int], shared: int) -> Step:
    return Step(entry, Launch((units(problem, constants), 1, 1), (constants["WARPS"] * WARP, 1, 1), constants, shared))


def batch_bytes(problem: GemvProblem) -> int:
    """The fewest bytes for sixteen vectors: weights, scales and vectors read once, the outputs written once."""
    return problem.weight_bytes(INT4_CHUNKED) + VECTORS * (VECTOR_BYTES * problem.cols + OUTPUT_BYTES * problem.rows)
