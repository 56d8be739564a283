"""The tracing kernels broken on purpose: each must be refused by the check of what it recorded."""

from __future__ import annotations

from kernels.catalogue import Mutant

MUTANTS = (
    Mutant("off_by_one", "index", "if (i < n) out[i] = i;", "if (i <= n) out[i] = i;"),
    Mutant("skipped_tile", "index", "if (i < n) out[i] = i;", "if (i < n && blockIdx.x != 3) out[i] = i;"),
    Mutant("zeros", "index", "if (i < n) out[i] = i;", "if (i < n) out[i] = 0;"),
    Mutant("nan", "index", "if (i < n) out[i] = i;", "if (i < n) out[i] = 0x7fffffff;"),
    Mutant("stale", "index", "if (i < n) out[i] = i;", "if (i < n && n < 0) out[i] = i;"),
    Mutant("skipped_tile", "launch", "w < work; ++w)", "w < work / 2; ++w)"),
    Mutant("zeros", "launch", "x[i] = value;", "x[i] = 0.0f;"),
    Mutant("nan", "launch", "x[i] = value;", "x[i] = __int_as_float(0x7fffffff);"),
    Mutant("stale", "launch", "x[i] = value;", "if (value == 1.0f) x[i] = value;"),
    Mutant("off_by_one", "launch", "sm[blockIdx.x] = id;", "if (blockIdx.x > 0) sm[blockIdx.x] = id;"),
    Mutant("off_by_one", "divergence", "if (lane < split)", "if (lane <= split)"),
)
"""Whole numbers have no NaN: the bits of one are written instead."""
