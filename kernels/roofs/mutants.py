"""The probes broken on purpose: each must be refused by the check that stands before its roof or latency."""

from __future__ import annotations

from kernels.catalogue import Mutant

MUTANTS = (
    Mutant("off_by_one", "fma", "u < UNROLL", "u < UNROLL - 1"),
    Mutant(
        "skipped_tile", "fma", "for (int i = 0; i < 8; ++i) sum += chain[i];", "for (int i = 0; i < 7; ++i) sum += chain[i];"
    ),
    Mutant("zeros", "fma", "= sum;", "= 0.0f;"),
    Mutant("nan", "fma", "= sum;", "= __int_as_float(0x7fffffff);"),
    Mutant("stale", "fma", "out[blockIdx.x * blockDim.x + threadIdx.x] = sum;", ""),
    Mutant(
        "off_by_one", "bandwidth", "const Words* p = tile + ((t + r) & 1023);", "const Words* p = tile + ((t + r + 1) & 1023);"
    ),
    Mutant("off_by_one", "bandwidth", "total(load_l1(p + u * 32))", "total(load_l1(p + u * 31))"),
    Mutant("off_by_one", "bandwidth", "for (; i < count; i += stride) sum +=", "for (; i + 1 < count; i += stride) sum +="),
    Mutant("skipped_tile", "bandwidth", "data + i + u * stride", "data + i + u / 2 * stride"),
    Mutant("skipped_tile", "bandwidth", "i < count; i += stride) to[i]", "i < count; i += 2 * stride) to[i]"),
    Mutant("zeros", "bandwidth", "out[first] = sum;", "out[first] = 0;"),
    Mutant("nan", "bandwidth", "out[first] = sum;", "out[first] = 0x7fffffff;"),
    Mutant("zeros", "bandwidth", "to[i] = from[i];", "to[i] = Words{0, 0, 0, 0};"),
    Mutant("stale", "bandwidth", "to[i] = from[i];", "if (from[i].x == 1 && from[i].y == 2) to[i] = from[i];"),
    Mutant("stale", "bandwidth", "out[first] = sum;", "if (sum == 1) out[first] = sum;"),
    Mutant("off_by_one", "latency", "ring[i] = base + (i + 33) % 1024 * 4;", "ring[i] = base + (i + 34) % 1024 * 4;"),
    Mutant("skipped_tile", "latency", "i < warm; ++i)", "i < warm / 2; ++i)"),
    Mutant("zeros", "latency", "*last = at - base;", "*last = 0;"),
    Mutant("nan", "latency", "*last = at - base;", "*last = 0x7fffffff;"),
    Mutant("stale", "latency", "*last = at - base;", "if (at == 1) *last = at - base;"),
)
"""Sums of integers and addresses have no NaN: the bits of one are written instead."""
