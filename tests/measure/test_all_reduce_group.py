"""The ranks of several GPUs, on a machine that is not there: every pointer, queue and kernel on its own GPU, and right sums."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kernels import launch as kernels_launch
from kernels.all_reduce.algorithms import ALGORITHMS, constants, launch
from measure import all_reduce_contest as contest
from measure import all_reduce_group as groups
from measure.all_reduce_group import RankGroup
from measure.errors import MeasureError
from measure.timing import QUICK

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

from several_gpus import COMPILER, Function, Machine

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")
NAMES = tuple(one.name for one in ALGORITHMS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("several_gpus")


@pytest.fixture
def machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Three GPUs of four SMs; blocks of eight threads, so that the CPU can run them."""
    found = Machine(folder, gpus=3)
    found.install(monkeypatch)
    monkeypatch.setattr(groups, "THREADS", 8)
    monkeypatch.setattr(groups, "constants", partial(constants, threads=8))
    monkeypatch.setattr(groups, "launch", partial(launch, threads=8))
    monkeypatch.setattr(groups, "build_program", lambda program, arch: SimpleNamespace(code=program))
    monkeypatch.setattr(kernels_launch, "load_function", lambda program, entry: Function(found, program, entry))
    monkeypatch.setattr(contest, "ODD_COUNTS", (1, 7, 130))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_three_gpus_get_the_sum(machine: Machine, name: str) -> None:
    group = RankGroup([0, 1, 2], 256)
    assert [(lane.device, lane.first, lane.ranks) for lane in group.lanes] == [(0, 0, 1), (1, 1, 1), (2, 2, 1)]
    for count in (1, 130, 256):
        group.load(count, seed=count)
        for blocks in group.shapes(name, count):
            assert contest.right(name, 3, group.check(name, count, blocks))
    assert {(device, grid[1]) for _, device, grid in machine.launched} == {(0, 1), (1, 1), (2, 1)}
    assert group.soak(name, 130, 2)
    group.close()


def test_ranks_of_one_gpu_share_a_launch_and_its_sms(machine: Machine) -> None:
    group = RankGroup([1, 1], 4096)
    assert [(lane.device, lane.first, lane.ranks) for lane in group.lanes] == [(1, 0, 2)]
    group.load(4096, 1)
    assert group.shapes("ring", 4096) == [2]  # four SMs, one block each, two ranks
    assert contest.right("ring", 2, group.check("ring", 4096, 2))
    assert {(device, grid) for _, device, grid in machine.launched} == {(1, (2, 2))}
    group.close()


def test_the_current_gpu_need_not_be_the_first(machine: Machine) -> None:
    machine.current = 2
    group = RankGroup([2, 0], 64)
    group.load(64, 1)
    assert contest.right("two_shot", 2, group.check("two_shot", 64, 1)) and machine.current == 2
    group.close()


def test_a_whole_contest_with_a_library_beside_it(machine: Machine) -> None:
    group = RankGroup([0, 1], 256)

    def library(count: int) -> None:
        """Adds up as a library would: in the queues, once both ranks have come to it."""
        come: set[int] = set()

        def add(rank: int) -> bool:
            come.add(rank)
            if len(come) == 2 and not done:
                total = group.inputs[0][:count] + group.inputs[1][:count]
                for out in group.outputs:
                    out[:count] = total
                done.append(True)
            return bool(done)

        done: list[bool] = []
        for rank, lane in enumerate(group.lanes):
            machine.queues[lane.stream.ptr].append(partial(add, rank))

    group.extra["nccl"] = library
    rows = contest.hold(group, contest.Wanted(("one_shot", "ring", "nccl"), (512, 1024), QUICK), lambda words: None)
    assert len(rows) == 6 and all(row["odd_sizes"] and len(row["samples"]) == 5 for row in rows)
    assert all(row["error"] <= row["tolerance"] and row["error_after"] <= row["tolerance"] for row in rows)
    assert Counter(row["blocks"] for row in rows if row["algorithm"] == "nccl") == {0: 2}
    # one event pair stands a millisecond apart here, whatever is between them: calls of a sample share it
    assert all(sample == pytest.approx(1e-3 / contest.calls_a_sample(5e-4, 0.002)) for row in rows for sample in row["samples"])
    group.close()


def test_a_rank_that_gave_up_is_an_error_and_the_next_call_is_right(machine: Machine) -> None:
    group = RankGroup([0, 1], 64)
    group.load(64, 1)
    assert contest.right("ring", 2, group.check("ring", 64, 1))
    group._failed[1][0] = 1  # what the kernel leaves behind
    with pytest.raises(MeasureError, match="rank 1 of 2 waited 10 s for another in vain"):
        group.check("ring", 64, 1)
    assert contest.right("ring", 2, group.check("ring", 64, 1))
    group.close()


def test_signals_of_different_algorithms_follow_each_other(machine: Machine) -> None:
    """Numbers only grow, whoever calls: a call that reused one would not wait at all."""
    group = RankGroup([0, 1, 2], 128)
    group.load(128, 1)
    seen = [0]
    for name in (*NAMES, *NAMES[::-1]):
        group.check(name, 128, 1)
        highest = max(int(np.max(sheet)) for sheet in group._signals)
        assert highest > seen[-1]
        seen.append(highest)
    group.close()
