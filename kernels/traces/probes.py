"""The tracing kernels: what each records is said in its source."""

from __future__ import annotations

from pathlib import Path

from kernels.catalogue import Program

HERE = Path(__file__).resolve().parent

LAUNCH_THREADS = 256

INDEX = Program("index", HERE / "index.cu", ("trace_index",))
LAUNCH = Program("launch", HERE / "launch.cu", ("trace_launch", "timer_ticks", "empty"))
DIVERGENCE = Program("divergence", HERE / "divergence.cu", ("trace_divergence",))
PROGRAMS = (INDEX, LAUNCH, DIVERGENCE)
