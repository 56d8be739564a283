"""The fp32 rungs broken on purpose: verification must refuse every one of them.

None is a mere race, which could come out right by luck.
"""

from __future__ import annotations

from kernels.catalogue import Mutant

MUTANTS: tuple[Mutant, ...] = (
    # the last product of every sum is left out
    Mutant("off_by_one", "uncoalesced", "k < K; ++k", "k < K - 1; ++k"),
    Mutant("off_by_one", "coalesced", "int k = 0; k < K", "int k = 1; k < K"),
    Mutant("skipped_tile", "shared", "step < K; step += TILE", "step < K - TILE; step += TILE"),
    # values of A from the neighbouring k
    Mutant("off_by_one", "tile_1d", "a[(tile_row + i) * BK + k]", "a[(tile_row + i) * BK + (k + 1) % BK]"),
    Mutant("zeros", "tile_1d", "C[row * N + col] = sum[i];", "C[row * N + col] = 0.0f;"),
    Mutant("nan", "tile_2d", "C[row * N + col] = sum[i * TN + j];", "C[row * N + col] = 0.0f / 0.0f;"),
    # half of every row of a thread is never written
    Mutant("stale", "vectorised", "store(C + row * N + far, row < M ? N - far : 0, &sum[i * 8 + 4]);", ""),
    Mutant("skipped_tile", "vectorised", "a[(a_col + 3) * BM + a_row] = v.w;", "a[(a_col + 3) * BM + a_row] = 0.0f;"),
    # the last tile is never fetched, the one before counts twice
    Mutant("skipped_tile", "double_buffered", "if (step + 2 * BK < K)", "if (step + 3 * BK < K)"),
    # the second buffer is never filled
    Mutant("stale", "double_buffered", "put_tile(buffers + now);", "put_tile(buffers);"),
    # the snake never reaches the last column
    Mutant("off_by_one", "operand_reuse", "i % 2 ? 7 - turn : turn", "(i % 2 ? 7 - turn : turn) % 7"),
    Mutant("zeros", "operand_reuse", "sum[i * 8 + j] += from_a[i] * from_b[j];", "sum[i * 8 + j] = 0.0f;"),
    # the last values of every tile but the last are left out
    Mutant("skipped_tile", "warp_tile", "multiply(BK - 1);", ""),
    Mutant("off_by_one", "warp_tile", "turn < TN; ++turn", "turn < TN - 1; ++turn"),
    Mutant("nan", "autotuned", "&sum[i * TN + j]);", "&(sum[i * TN + j] = 0.0f / 0.0f));"),
    Mutant("stale", "autotuned", "if (step + BK < K) fetch_tile(step + BK);", ""),
)
