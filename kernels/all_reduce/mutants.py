"""The all-reduces broken on purpose: verification must refuse every one of them."""

from __future__ import annotations

from kernels.catalogue import Mutant

_NAN = "Pack{{0x7fc00000u, 0x7fc00000u, 0x7fc00000u, 0x7fc00000u}}"

MUTANTS: tuple[Mutant, ...] = (
    Mutant("off_by_one", "one_shot", "i < packs; i += stride", "i + 1 < packs; i += stride"),
    Mutant("off_by_one", "two_shot", "i = rank * share + at;", "i = rank * share + at + 1;"),
    Mutant("off_by_one", "ring", "step > 0 && step < RANKS", "step > 0 && step <= RANKS"),
    Mutant("skipped_tile", "ring", "step > 0 && step < RANKS", "step > 0 && step < RANKS - 1"),
    Mutant("skipped_tile", "two_shot_push", "for (int r = 0; r < RANKS; ++r)", "for (int r = 0; r < RANKS - 1; ++r)"),
    Mutant("zeros", "one_shot", "sum_of_all(group, i, count)", "Pack{{0, 0, 0, 0}}"),
    Mutant("zeros", "two_shot", "sum_of_all(group, i, count)", "Pack{{0, 0, 0, 0}}"),
    Mutant("nan", "two_shot_push", "sum_of_all(group, i, count)", _NAN),
    Mutant("nan", "ring", "pack = pack_of(sum)", f"pack = {_NAN}"),
    Mutant("stale", "one_shot", "store(group.out[rank], i, count, sum_of_all(group, i, count))", "sum_of_all(group, i, count)"),
    Mutant("stale", "ring", "if (step == RANKS - 1) store(here, i, count, pack);", ""),
)
