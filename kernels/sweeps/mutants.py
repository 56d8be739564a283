"""The swept kernels broken on purpose; each must be refused by the check that stands before its figures."""

from __future__ import annotations

from kernels.catalogue import Mutant

MUTANTS = (
    Mutant(
        "off_by_one",
        "divergence_paths",
        "for (int s = 0; s < STEPS; ++s) value = __fmaf_rn",
        "for (int s = 1; s < STEPS; ++s) value = __fmaf_rn",
    ),
    Mutant("off_by_one", "divergence_paths", "threadIdx.x % paths", "threadIdx.x % (paths + 1)"),
    Mutant("skipped_tile", "divergence_paths", "run_if(path == (side),", "run_if(path == (side) && (side) != 5,"),
    Mutant("zeros", "divergence_paths", "out[threadIdx.x] = value;", "out[threadIdx.x] = 0.0f;"),
    Mutant("nan", "divergence_paths", "out[threadIdx.x] = value;", "out[threadIdx.x] = __int_as_float(0x7fffffff);"),
    Mutant("stale", "divergence_paths", "out[threadIdx.x] = value;", ""),
    Mutant("off_by_one", "stride", "data + offset + thread * stride", "data + offset + 1 + thread * stride"),
    Mutant("skipped_tile", "stride", "for (; i < count; i += threads, at += step) sum += *at;", ""),
    Mutant("zeros", "stride", "sums[thread] = sum;", "sums[thread] = 0;"),
    Mutant("nan", "stride", "sums[thread] = sum;", "sums[thread] = 0x7fffffff;"),
    Mutant("stale", "stride", "sums[thread] = sum;", ""),
)
"""Sums of integers have no NaN: the bits of one are written instead."""
