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
    Mutant("skipped_tile", "streams", "for (u64 i = mine; i < count; i += READ_THREADS) sum += total(load(from + i));", ""),
    Mutant("off_by_one", "streams", "load(from + mine + u * READ_THREADS)", "load(from + mine + u * (READ_THREADS - 1))"),
    Mutant("off_by_one", "streams", "if (i < count) store_once", "if (i + 1 < count) store_once"),
    Mutant("zeros", "streams", "store_once(to + i, load_kept(from + i));", "store_once(to + i, Words{0, 0, 0, 0});"),
    Mutant("off_by_one", "streams", "triad(x.w, y.w, scale)", "triad(x.w, y.z, scale)"),
    Mutant("nan", "streams", "__fmaf_rn(scale,", "__fmaf_rn(__uint_as_float(0x7fffffff),"),
    Mutant("stale", "streams", "= sum;\n}", ";\n}"),
)
"""Sums of integers have no NaN: the bits of one are written instead."""
