"""The matrix-vector kernels broken on purpose; verification must refuse every one."""

from __future__ import annotations

from kernels.catalogue import Mutant

MUTANTS = (
    # a last column that is alone in its 16 bytes is left out: only an odd size shows it
    Mutant("off_by_one", "fp16", "col < cols; col += THREADS * LANE", "col < cols - 1; col += THREADS * LANE"),
    Mutant("off_by_one", "int8", "8388736.0f", "8388735.0f"),
    Mutant("off_by_one", "int4_shifts", "(float)(code - 8)", "(float)(code - 7)"),
    Mutant("off_by_one", "int4_pairs", "const unsigned bits = i < 2 ?", "const unsigned bits = i < 1 ?"),
    Mutant("off_by_one", "int4_tensor", "0x64086408u", "0x64076407u"),
    Mutant("skipped_tile", "fp32", "col += THREADS * LANE) {", "col += 2 * THREADS * LANE) {"),
    Mutant("skipped_tile", "int4_tensor", "if (group >= groups) break;", "if (group + 1 >= groups) break;"),
    Mutant("off_by_one", "int4_tiled", "* groups * 16 + row % 16", "* groups * 16 + (row + 1) % 16"),
    Mutant("skipped_tile", "int4_tiled", "if (group >= groups) break;", "if (group + 1 >= groups) break;"),
    Mutant("zeros", "int4_tiled", "y[row0 + threadIdx.x] = total;", "y[row0 + threadIdx.x] = 0.0f;"),
    Mutant("off_by_one", "int4_subnormal", "0x00080008u", "0x00070007u"),
    Mutant("skipped_tile", "int4_subnormal", "if (group >= groups) break;", "if (group + 1 >= groups) break;"),
    # the scale of eight rows above; codes stay eight too large; nobody waits for what comes; the last column is left out
    Mutant("off_by_one", "int4_streamed", "widen(scales[t] >> 16)", "widen(scales[t])"),
    Mutant("off_by_one", "int4_streamed", "j ? low : eights", "j ? low : high"),
    Mutant("stale", "int4_streamed", "wait(full + get * 8, parity);", ""),
    Mutant("off_by_one", "int4_streamed", "col + 1 < cols ? x[col + 1]", "col + 2 < cols ? x[col + 1]"),
    Mutant("skipped_tile", "int4_streamed", "w < WARPS; ++w)", "w < WARPS - 1; ++w)"),
    Mutant("zeros", "int4_streamed", "y[row] = total * 16777216.0f;", "y[row] = 0.0f;"),
    Mutant("zeros", "int8", "y[threadIdx.x] = total;", "y[threadIdx.x] = 0.0f;"),
    Mutant("zeros", "int4_tensor", "y[row0 + threadIdx.x] = total;", "y[row0 + threadIdx.x] = 0.0f;"),
    Mutant("nan", "fp16", "y[threadIdx.x] = total;", "y[threadIdx.x] = total * (0.0f / 0.0f);"),
    Mutant("stale", "fp32", "y[threadIdx.x] = total;", "(void)total;"),
    Mutant("stale", "int4_pairs", "y[threadIdx.x] = total;", "(void)total;"),
    Mutant("off_by_one", "int4_batch", "widen(scales[t] >> 16)", "widen(scales[t])"),
    Mutant("off_by_one", "int4_batch", "j ? low[n] : eights[n]", "j ? low[n] : high[n]"),
    Mutant("stale", "int4_batch", "wait(x_full, x_parity);", ""),
    Mutant("skipped_tile", "int4_batch", "w < WARPS; ++w)", "w < WARPS - 1; ++w)"),
    Mutant("nan", "int4_batch", "= total * 16777216.0f;", "= total * (0.0f / 0.0f);"),
)
