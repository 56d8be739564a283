"""The attention kernels broken on purpose: verification must refuse every one of them."""

from __future__ import annotations

from kernels.catalogue import Mutant

MUTANTS: tuple[Mutant, ...] = (
    # the last key has no weight
    Mutant("off_by_one", "unfused", "const int seen = CAUSAL ? query + 1 : S;", "const int seen = CAUSAL ? query + 1 : S - 1;"),
    # the weights of every other step are not added up
    Mutant("skipped_tile", "unfused", "key0 < end; key0 += STEP", "key0 < end; key0 += 2 * STEP"),
    # a thread's first four columns
    Mutant("zeros", "unfused", "make_uint2(narrow(out[i][0], out[i][1]), narrow(out[i][2], out[i][3]));", "make_uint2(0, 0);"),
    # what lies behind the last key counts as a key
    Mutant("off_by_one", "fused", "INSIDE(key < S)", "INSIDE(key <= S)"),
    Mutant("skipped_tile", "fused", "key0 < end; key0 += BK", "key0 < end; key0 += 2 * BK"),
    # what was added up under a smaller maximum is not shrunk
    Mutant("stale", "fused", "out[i][j] *= shrink;", "out[i][j] *= 1.0f;"),
    Mutant("nan", "fused", "const float share = 1.0f / totals[line];", "const float share = 0.0f / 0.0f;"),
    # half of the scores are zero
    Mutant("zeros", "tensor_cores", "multiply(sum[n + 1], a, b[1], b[3]);", ""),
    # values one row too low
    Mutant("off_by_one", "tensor_cores", "&v[place(n * 8 + lane % 16,", "&v[place(n * 8 + (lane + 1) % 16,"),
    # half of the columns miss the last 16 keys of each tile
    Mutant("skipped_tile", "swizzled", "multiply(out[d + 1], p", "if (n + 2 < BK / 8) multiply(out[d + 1], p"),
    # every other row of eight is never written
    Mutant("stale", "swizzled", "if (INSIDE(query0 + row < S))", "if (half == 0 && INSIDE(query0 + row < S))"),
    # the last tile of keys is the one before it
    Mutant("stale", "pipelined", "if (key0 + BK < end) send", "if (key0 + 2 * BK < end) send"),
    Mutant("skipped_tile", "pipelined", "key0 < end; key0 += BK", "key0 < end; key0 += 2 * BK"),
    Mutant("nan", "pipelined", '"f"(high), "f"(low)', '"f"(high), "f"(0.0f / 0.0f)'),
    # what lies behind the last key counts as a key
    Mutant("off_by_one", "pipelined", "min(S, query + 1) : S) - key0", "min(S, query + 1) : S + 1) - key0"),
    # what lies behind the last key counts as a key
    Mutant("off_by_one", "warpgroups", "min(S, query + 1) : S) - tile", "min(S, query + 1) : S + 1) - tile"),
    # half of the dimensions, twice
    Mutant("skipped_tile", "warpgroups", "d / 4 * (HALF(BQ) >> 4)", "0 * (HALF(BQ) >> 4)"),
    # what was added up under a smaller maximum is not shrunk
    Mutant("stale", "ahead", "out[i] *= shrink[i / 2 % 2];", "out[i] *= 1.0f;"),
    # the first keys have no values
    Mutant("skipped_tile", "ahead", "values(at.stage);\n", ""),
    Mutant("nan", "ahead", '"f"(high), "f"(low)', '"f"(high), "f"(0.0f / 0.0f)'),
    # the left half of the output leaves twice
    Mutant("stale", "persistent", '"r"(half * 64), "r"(row), "r"(head), "r"(to', '"r"(0), "r"(row), "r"(head), "r"(to'),
    # pieces of a row of the output do not change places
    Mutant("off_by_one", "persistent", "(piece ^ line % 8) * 16", "piece * 16"),
    # every other round of tiles
    Mutant("skipped_tile", "persistent", "return int(round * gridDim.x", "return int(2 * round * gridDim.x"),
)  # fmt: skip
