"""The probes that measure the roofs, and what one launch of each computes or moves."""

from __future__ import annotations

from pathlib import Path

from kernels.catalogue import Program

HERE = Path(__file__).resolve().parent

FMA_UNROLL = 16
FMA_CHAINS = 8
FMA_THREADS = 256
TILE_THREADS = 1024
TILE_READS = 8
TILE_STEP = 32
TILE_VECTORS = TILE_THREADS + (TILE_READS - 1) * TILE_STEP
READ_UNROLL = 8
READ_THREADS = 512
VECTOR = 16  # bytes that a lane reads at once
LATENCY_EACH = 2048  # hops of a chain that are timed one by one

FMA = Program("fma", HERE / "fma.cu", ("probe_fma",), {"UNROLL": FMA_UNROLL})
BANDWIDTH = Program(
    "bandwidth", HERE / "bandwidth.cu", ("probe_shared", "probe_l1", "probe_read", "probe_copy"), {"UNROLL": READ_UNROLL}
)
CLOCK = Program("clock", HERE / "clock.cu", ("read_clocks",))
LATENCY = Program(
    "latency",
    HERE / "latency.cu",
    ("chase_ca", "chase_cg", "chase_shared", "chase_shared_index", "chase_l1_index", "chase_each"),
    {"EACH": LATENCY_EACH},
)
PROGRAMS = (FMA, BANDWIDTH, CLOCK, LATENCY)


def fma_flop(blocks: int, rounds: int) -> int:
    """FLOP of one launch of `probe_fma`: an FMA counts as two."""
    return 2 * FMA_CHAINS * FMA_UNROLL * rounds * blocks * FMA_THREADS


def tile_bytes(blocks: int, rounds: int) -> int:
    """Bytes that one launch of `probe_shared` or `probe_l1` reads in its loop."""
    return VECTOR * TILE_READS * rounds * blocks * TILE_THREADS
