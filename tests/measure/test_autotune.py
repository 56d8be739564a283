"""Choosing the last rung's constants: only from right candidates, the fastest by median, the same list every time."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from kernels.catalogue import Kernel, KernelError, Problem
from kernels.gemm_fp32.ladder import LADDER
from kernels.gemm_fp32.warp_tile import WARP_TILES
from measure import autotune, ladders
from measure.autotune import choose, collect
from measure.device import Hardware
from measure.subject import Bench
from measure.timing import QUICK

GPU = Hardware("Test GPU", 90, 4, 1 << 20, 1 << 30, 1000.0, 1000.0, 1024, 2048, 65536, 228 * 1024, 227 * 1024)
PROBLEM = Problem(1024, 1024, 1024)


def candidate(index: int, *seconds: float, right: bool = True) -> dict[str, Any]:
    return {"tile": asdict(WARP_TILES[index]), "right": right, "seconds": list(seconds), "failure": ""}


def test_the_fastest_right_one_is_chosen_by_its_median() -> None:
    """One lucky sample does not win, a wrong candidate never does."""
    tried = [
        candidate(0, 3.0, 3.0, 3.0),
        candidate(1, 0.1, 4.0, 4.0),
        candidate(2, 2.0, 2.5, 9.0),
        candidate(3, 1.0, right=False),
    ]
    assert choose(tried) == WARP_TILES[2]


def test_where_nothing_is_right_the_first_is_named() -> None:
    assert choose([]) == WARP_TILES[0]
    assert choose([candidate(3, right=False)]) == WARP_TILES[0]


class Watch:
    """A stopwatch that gives every candidate as many seconds as its place in the list."""

    def __init__(self) -> None:
        self.now = 0.0

    def seconds(self, run: Any, launches: int = 1) -> float:
        run()
        return self.now


@pytest.fixture
def bench() -> tuple[Bench, Watch]:
    watch = Watch()
    return Bench(GPU, QUICK, True, watch, lambda words: None, lambda: ()), watch  # type: ignore[arg-type]


def test_candidates_are_verified_before_they_are_timed(monkeypatch: pytest.MonkeyPatch, bench: tuple[Bench, Watch]) -> None:
    ran: list[int] = []

    class Loaded:
        def __init__(self, index: int) -> None:
            self.index = index

        def run(self, a: Any, b: Any, c: Any) -> None:
            ran.append(self.index)

    def load(kernel: Kernel, problem: Problem) -> Loaded:
        index = [dict(tile.constants) for tile in WARP_TILES].index(
            {key: value for key, value in kernel.launch(problem).constants.items() if key not in ("GUARD", "TUNED")}
        )
        if index == 1:
            raise KernelError("needs 200 KiB of shared memory a block; this GPU allows 99")
        bench[1].now = float(len(WARP_TILES) - index)
        return Loaded(index)

    monkeypatch.setattr(autotune, "load", load)
    tried = collect(bench[0], PROBLEM, lambda kernel, run: "BM" in kernel.launch(PROBLEM).constants, (1, 2, 3))
    assert [one["tile"] for one in tried] == [asdict(tile) for tile in WARP_TILES]
    assert tried[1]["failure"].startswith("needs 200 KiB") and not tried[1]["seconds"] and 1 not in ran
    assert choose(tried) == WARP_TILES[-1]
    wrong = collect(bench[0], PROBLEM, lambda kernel, run: False, (1, 2, 3))
    assert not any(one["seconds"] for one in wrong) and choose(wrong) == WARP_TILES[0]


def test_the_time_budget_holds_but_for_the_first(monkeypatch: pytest.MonkeyPatch, bench: tuple[Bench, Watch]) -> None:
    clock = iter(float(second) for second in range(0, 100, 10))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    monkeypatch.setattr(autotune, "load", lambda kernel, problem: (_ for _ in ()).throw(KernelError("no")))
    assert len(collect(bench[0], PROBLEM, lambda kernel, run: True, ())) == 1


def test_the_counters_are_of_the_chosen_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile's bytes differ from another's by up to a half, so that the last rung is not counted where nothing was chosen."""
    monkeypatch.delenv(ladders.CHOSEN, raising=False)
    assert [kernel.name for kernel in ladders.counted_rungs()] == [rung.name for rung in LADDER.rungs[:-1]]
    monkeypatch.setenv(ladders.CHOSEN, json.dumps(asdict(WARP_TILES[3])))
    last = ladders.counted_rungs()[-1]
    constants = last.launch(PROBLEM).constants
    assert last.name == "autotuned" and {name: constants[name] for name in WARP_TILES[3].constants} == WARP_TILES[3].constants
