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
    # a stage is multiplied before it has come: the other parity is that of the phase before
    Mutant("off_by_one", "warpgroup", "step / STAGES % 2);", "(step / STAGES + 1) % 2);"),
    # the last step is left out
    Mutant(
        "skipped_tile",
        "warpgroup",
        "for (int step = 0; step < steps; ++step) {",
        "for (int step = 0; step < steps - 1; ++step) {",
    ),
    # the way from 64 columns of B to the next 64 is that from eight rows to the next eight
    Mutant("stale", "roles", "descriptor(b + k * 128, SUB * 2)", "descriptor(b + k * 128, 1024)"),
    # a consumer starts before the first stage has come
    Mutant("off_by_one", "roles", "wait(full + stage * 8, parity);", "if (step > 0) wait(full + stage * 8, parity);"),
    # sums go on from one tile to the next
    Mutant("stale", "persistent", "step + k > 0);", "1);"),
    # every other row of a group is computed twice, the ones between never
    Mutant("skipped_tile", "persistent", "((first + at % rows) * CLUSTER", "((first + at % rows / 2 * 2) * CLUSTER"),
    # pieces of a row of the output do not change places
    Mutant(
        "off_by_one",
        "stores",
        "address(box + swizzled(row, (piece + lane / 16) * 8))",
        "address(box + row * 64 + (piece + lane / 16) * 8)",
    ),
    # a quarter of the columns leaves, four times
    Mutant("skipped_tile", "stores", '"r"(col0 + j * 64), "r"(row0)', '"r"(col0), "r"(row0)'),
    # both blocks of a cluster fetch the first half of B
    Mutant("stale", "clusters", "int j = rank * EACH; j < rank * EACH + EACH; ++j", "int j = 0; j < EACH; ++j"),
    # both compute the upper tile
    Mutant("skipped_tile", "clusters", "* CLUSTER + rank) * BM", "* CLUSTER) * BM"),
    Mutant("nan", "clusters", '"f"(second), "f"(first)', '"f"(second), "f"(0.0f / 0.0f)'),
)
