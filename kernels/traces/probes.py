"""The tracing kernels: what each records is said in its source."""

from __future__ import annotations

from pathlib import Path

from kernels.catalogue import Program

HERE = Path(__file__).resolve().parent

LAUNCH_THREADS = 256

INDEX = Program("index", HERE / "index.cu", ("trace_index",))
LAUNCH = Program("launch", HERE / "launch.cu", ("trace_launch", "timer_ticks", "empty"))
DIVERGENCE = Program("divergence", HERE / "divergence.cu", ("trace_divergence",))


PATTERN_READS = 64
PATTERN_BYTES = 32 * 1024
PATTERNS = {
    width: Program(f"pattern_{width}", HERE / "pattern.cu", ("pattern_shared", "pattern_global"), {"WORDS": width // 4})
    for width in (4, 8, 16)
}
"""By the bytes that a lane reads at once."""

PROGRAMS = (INDEX, LAUNCH, DIVERGENCE, *PATTERNS.values())
