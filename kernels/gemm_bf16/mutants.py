"""The tensor-core rungs broken on purpose: verification must refuse every one of them."""

from __future__ import annotations

from kernels.catalogue import Mutant

MUTANTS: tuple[Mutant, ...] = (
    # the last 16 of the depth are left out
    Mutant("off_by_one", "naive", "k < K; k += 16", "k < K - 16; k += 16"),
    # a lane writes nothing where whole tiles fit
    Mutant("stale", "naive", "*reinterpret_cast<unsigned*>(p) = both;", ""),
    # rows of B one too low
    Mutant("off_by_one", "shared", "const int row = step + tid", "const int row = step + 1 + tid"),
    # the lower half of a warp's rows is multiplied with zeros
    Mutant("zeros", "shared", "mma(sum[i][j], fa[i], fb[j]);", "if (i < MI / 2) mma(sum[i][j], fa[i], fb[j]);"),
    # the last stages are never sent for
    Mutant("skipped_tile", "pipelined", "if (ahead < K) fetch", "if (ahead + BK < K) fetch"),
    # a step is multiplied before it has come
    Mutant("off_by_one", "pipelined", '"n"(STAGES - 2)', '"n"(STAGES - 1)'),
    # the second half of each step is left out
    Mutant("skipped_tile", "warp_tile", "k < BK; k += 16", "k < BK - 16; k += 16"),
    Mutant("nan", "double_buffered", '"f"(second), "f"(first)', '"f"(second), "f"(0.0f / 0.0f)'),
    # fragments of the step before
    Mutant("stale", "double_buffered", "mma(sum[i][j], fa[from][i], fb[from][j]);", "mma(sum[i][j], fa[from][i], fb[to][j]);"),
    # every other row of blocks is computed twice, the ones between never
    Mutant("skipped_tile", "grouped", "(first + place % rows) * BM", "(first + place % rows / 2 * 2) * BM"),
    Mutant("off_by_one", "deep_tiles", "(k + 16) % BK, warp_row", "k, warp_row"),
    Mutant("zeros", "grouped", '"f"(second), "f"(first)', '"f"(0.0f), "f"(0.0f)'),
)
