"""The kernels that are swept over a parameter, and what one launch of each must compute and ask for."""

from __future__ import annotations

from pathlib import Path

from kernels.catalogue import WARP, Program

HERE = Path(__file__).resolve().parent

STEPS = 16  # multiply-adds of a side in one round
SIDES = 32
WAYS = ("branching", "predicated", "selected")
STRIDE_THREADS = 256
STRIDE_UNROLL = 8
READ_THREADS, READ_UNROLL, READ_BLOCKS = 512, 8, 4  # READ_BLOCKS an SM
COPY_THREADS = 128
TRIAD_THREADS = 256
WORD = 4  # bytes

DIVERGENCE_PATHS = Program(
    "divergence_paths", HERE / "divergence_paths.cu", tuple(f"paths_{way}" for way in WAYS), {"STEPS": STEPS}
)
STRIDE = Program("stride", HERE / "stride.cu", ("read_strided",), {"UNROLL": STRIDE_UNROLL})
STREAMS = Program(
    "streams",
    HERE / "streams.cu",
    ("stream_read", "stream_copy", "stream_triad"),
    {"READ_THREADS": READ_THREADS, "UNROLL": READ_UNROLL, "COPY_THREADS": COPY_THREADS, "TRIAD_THREADS": TRIAD_THREADS},
)
PROGRAMS = (DIVERGENCE_PATHS, STRIDE, STREAMS)


def coefficients(side: int) -> tuple[float, float]:
    """Factor and offset of one side's multiply-adds; both are fp32 numbers exactly."""
    return 1.0 - (side + 1) / 8192, 0.25 + side / 64


def after(side: int, steps: int, start: float) -> float:
    """What `steps` times x -> factor x + offset make of `start`, in float64: f^n x + o (1 - f^n) / (1 - f)."""
    factor, offset = coefficients(side)
    power = factor**steps
    return power * start + offset * (1.0 - power) / (1.0 - factor)


def warp_addresses(stride: int, offset: int) -> list[int]:
    """Byte addresses that the lanes of the first warp of `read_strided` read together; others lie a multiple of 128 B on."""
    return [WORD * (offset + lane * stride) for lane in range(WARP)]
