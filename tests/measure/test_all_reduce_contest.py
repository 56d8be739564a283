"""The contest among all-reduces over ranks made of NumPy arrays, which carry out the schedules and can be broken on purpose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from kernels.all_reduce.schedule import chunk_packs, transfers
from measure import all_reduce_check as checks
from measure import all_reduce_contest as contest
from measure.all_reduce_check import Verdict
from measure.all_reduce_contest import MOST_CALLS, NCCL, Wanted, calls_a_sample, hold
from measure.timing import Plan
from measure.wording import size_words

PLAN = Plan(samples=4, rounds=2, sample=0.01)


class Arrays:
    """Ranks whose all-reduce is the schedule's; `faults` by algorithm: one_rank, stale, overrun, odd, late, order."""

    def __init__(self, ranks: int, faults: dict[str, str] | None = None) -> None:
        self.ranks, self.faults = ranks, faults or {}
        self.timed: list[tuple[str, int, int, int]] = []
        self.kept: dict[tuple[str, int], np.ndarray] = {}
        self.seed = 0

    def load(self, count: int, seed: int) -> None:
        self.seed = seed
        self.inputs = np.stack([checks.values(np, rank, 0, count, seed) for rank in range(self.ranks)])
        self.exact, self.scale = checks.reference(np, self.ranks, count, seed)

    def shapes(self, name: str, count: int) -> Sequence[int]:
        return (0,) if name == NCCL else (8, 32)

    def check(self, name: str, count: int, blocks: int) -> Verdict:
        fault = self.faults.get(name, "")
        out = self.all_reduce("ring" if name == NCCL else name, count)
        if fault == "stale":
            out = self.kept.setdefault((name, count), out)
        if fault == "one_rank":
            out[-1, count // 2] += 1
        if fault == "order":
            out[-1] = self.inputs[::-1].cumsum(0)[-1]
        if fault == "odd" and count % 4:
            out[:, -1] = np.nan
        same = len({checks.digest(np, row) for row in out}) == 1
        shown = out[:1] if same else out
        error = max(checks.error(np, row, self.exact, self.scale) for row in shown)
        return Verdict(error, same, fault != "overrun")

    def all_reduce(self, name: str, count: int) -> np.ndarray:
        out = self.inputs.copy()
        steps = transfers(name, self.ranks)
        for step in range(max(one.step for one in steps) + 1):
            before = out.copy()
            if name == "one_shot":
                total = before[0]
                for rank in range(1, self.ranks):
                    total = total + before[rank]
                out[:] = total
                continue
            for one in (each for each in steps if each.step == step):
                packs = chunk_packs(count, self.ranks, one.chunk or 0)
                part = slice(packs.start, packs.stop)
                out[one.target, part] = before[one.source, part] + (out[one.target, part] if one.adds else 0)
        return out

    def seconds(self, name: str, count: int, blocks: int, calls: int) -> float:
        self.timed.append((name, count, blocks, calls))
        return 1e-6 * (1 + count / 1000) * (2 if blocks == 8 else 1)

    def soak(self, name: str, count: int, blocks: int) -> bool:
        return self.faults.get(name) != "late"


def run(group: Arrays, *names: str, sizes: tuple[int, ...] = (1024, 4096)) -> list[dict[str, object]]:
    steps: list[str] = []
    rows = hold(group, Wanted(names, sizes, PLAN), steps.append)
    assert len(steps) == len(sizes)
    return rows


def test_all_are_verified_and_timed_at_every_size() -> None:
    group = Arrays(4)
    rows = run(group, "one_shot", "two_shot", "ring", NCCL)
    assert [(row["algorithm"], row["bytes"]) for row in rows] == [
        (name, size) for size in (1024, 4096) for name in ("one_shot", "two_shot", "ring", NCCL)
    ]
    for row in rows:
        assert row["odd_sizes"] is True and len(row["samples"]) == 4  # type: ignore[arg-type]
        assert 0 < row["error"] <= row["tolerance"] and 0 < row["error_after"] <= row["tolerance"]  # type: ignore[operator]
        assert row["error"] != row["error_after"]  # other inputs
        assert row["blocks"] == (0 if row["algorithm"] == NCCL else 32)  # the faster grid
        assert row["ranks"] == 4 and row["threads"] == (0 if row["algorithm"] == NCCL else 512)


def test_turns_are_shuffled_in_rounds() -> None:
    group = Arrays(2)
    run(group, "one_shot", "two_shot", "ring", sizes=(4096,))
    turns = [name for name, count, _, calls in group.timed if count == 1024 and calls > 2]
    assert len(turns) == 12 and turns[:6] != turns[6:]
    assert {name: turns.count(name) for name in turns} == {"one_shot": 4, "two_shot": 4, "ring": 4}


@pytest.mark.parametrize("fault", ["one_rank", "overrun", "odd", "late", "order"])
def test_a_wrong_one_is_not_timed(fault: str) -> None:
    group = Arrays(4, {"ring": fault})
    rows = run(group, "one_shot", "ring")
    assert all(row["samples"] == [] for row in rows if row["algorithm"] == "ring")
    assert all(row["samples"] for row in rows if row["algorithm"] == "one_shot")
    assert all(row["odd_sizes"] is False for row in rows if row["algorithm"] == "ring")


def test_a_result_kept_from_before_is_found_after_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "ODD_COUNTS", (3,))
    rows = run(Arrays(4, {"ring": "stale"}), "ring", sizes=(1024,))
    assert rows[0]["error"] <= rows[0]["tolerance"] < rows[0]["error_after"]  # type: ignore[operator]


def test_a_library_may_give_ranks_other_bits_but_not_a_wrong_sum() -> None:
    rows = run(Arrays(4, {NCCL: "order"}), NCCL)
    assert all(row["samples"] and row["error"] is not None for row in rows)
    rows = run(Arrays(4, {NCCL: "one_rank"}), NCCL)
    assert all(row["samples"] == [] for row in rows)


def test_a_sample_is_a_few_milliseconds_and_never_too_many_calls() -> None:
    assert calls_a_sample(1e-3, 0.004) == 4 and calls_a_sample(0.1, 0.004) == 1
    assert calls_a_sample(1e-6, 0.004) == MOST_CALLS and calls_a_sample(0.0, 0.004) == 1


def test_sizes_in_words() -> None:
    assert [size_words(size) for size in (512, 1024, 1 << 16, 1 << 22, 1 << 30)] == [
        "512 B",
        "1 KiB",
        "64 KiB",
        "4 MiB",
        "1 GiB",
    ]
