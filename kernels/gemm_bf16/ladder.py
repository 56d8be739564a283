"""The bf16 ladder: tensor cores by mma.sync on sm_80 and later, and above that by warpgroups, which only sm_90a has."""

from __future__ import annotations

from kernels.catalogue import KernelLadder, Problem
from kernels.gemm_bf16 import mma_sync, warpgroups

LADDER = KernelLadder(
    name="gemm_bf16",
    title="Matrix multiply on tensor cores",
    dtype="bf16 in, fp32 accumulation, bf16 out",
    problem=Problem(8192, 8192, 8192),
    math_roof="bf16_mma",
    rungs=(*mma_sync.RUNGS, *warpgroups.RUNGS),
)
