"""The all-reduces run without a GPU: each source is compiled as C++, all threads of all ranks run as fibres.

A fibre runs until it waits: at a barrier of its block, while it polls a signal, or after it has set one.  Which block of which
rank goes on is drawn at random, some ranks far more often than others, and each rank goes through several calls with new data
on its own stream, so that a fast rank runs ahead of a slow one as far as the signals let it: a missing wait gives a wrong sum.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from kernels.all_reduce.algorithms import ALGORITHMS, SIGNALS, Algorithm, algorithm, constants, tolerance
from kernels.all_reduce.mutants import MUTANTS
from measure import verify

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

from all_reduce_on_host import COMPILER, built

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

THREADS, BLOCKS, CALLS = 8, 2, 4


@dataclass(frozen=True)
class Ran:
    """What came of some calls: `out[call][rank]`, the inputs as the kernel saw them, who finished, who gave up waiting."""

    inputs: np.ndarray
    out: np.ndarray
    beyond: np.ndarray
    finished: int
    failed: tuple[int, ...]

    def error(self) -> float:
        """The largest error over the sum of |inputs| of all calls; infinite where ranks do not agree to the bit."""
        exact, scale = self.inputs.astype(np.float64).sum(1), np.abs(self.inputs.astype(np.float64)).sum(1)
        if not all(np.array_equal(self.out[:, 0], self.out[:, r]) for r in range(self.out.shape[1])):
            return float("inf")
        return verify.error(np, self.out[:, 0], exact, scale)


def rounded(values: np.ndarray) -> np.ndarray:
    """fp32 to the bits of bf16, to nearest, ties to even."""
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def widened(bits: np.ndarray) -> np.ndarray:
    """bf16 bits to fp32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def run(
    folder: Path,
    one: Algorithm,
    ranks: int,
    count: int,
    *,
    text: str | None = None,
    signals: str | None = None,
    bf16: bool = False,
    together: bool = False,
    favoured: int = -1,
    missing: int = -1,
    epoch: int = 1,
    patience: int = 1 << 60,
    blocks: int = BLOCKS,
    budget: int = 400_000,
) -> Ran:
    """Several calls of one algorithm, its source (and that of the signals) taken from `text` where it is broken on purpose."""
    defines = constants(ranks, count, bf16, THREADS)
    chosen = ALGORITHMS if text is None else (one,)
    source = (signals or SIGNALS.read_text()) + (text or "".join(each.own_text for each in ALGORITHMS))
    library = built(folder, source, {**defines, "ENTRIES": ",".join(each.entry for each in chosen)})
    generator = np.random.default_rng(count)
    values = generator.random((CALLS, ranks, count), dtype=np.float32) * 2 - 1
    # numbers of one size would be added without rounding, and the order of the ranks would not show
    values = np.ldexp(values, -generator.integers(0, 8, values.shape)).astype(np.float32)
    element = np.uint16 if bf16 else np.uint32
    bits = rounded(values) if bf16 else values.view(np.uint32)
    room = count + 64  # what lies behind the values is NaN in the inputs and must be as it was in the outputs
    data = np.full((CALLS, ranks, room), np.iinfo(element).max, element)
    data[..., :count] = bits
    live_in, live_out = (_aligned(ranks, room, element) for _ in range(2))
    results = np.full_like(data, 0)
    sheets = np.full((ranks, blocks * ranks), epoch - 1, np.uint32)
    failed = np.zeros((ranks, 1), np.uint32)
    finished = ctypes.CDLL(str(library)).run(
        chosen.index(one),
        *(_addresses(rows) for rows in (live_in, live_out, sheets, failed)),
        *(_pointer(array) for array in (data, results)),
        ctypes.c_long(room * data.itemsize),
        ctypes.c_ulonglong(count),
        blocks,
        CALLS,
        ctypes.c_uint(epoch),
        ctypes.c_ulonglong(patience),
        int(together),
        favoured,
        missing,
        ctypes.c_long(budget),
    )
    widen = widened if bf16 else (lambda array: array.view(np.float32))
    return Ran(
        widen(np.ascontiguousarray(data[..., :count])),
        widen(np.ascontiguousarray(results[..., :count])),
        results[..., count:],
        finished,
        tuple(int(rank) for rank in np.flatnonzero(failed[:, 0])),
    )


def _aligned(ranks: int, room: int, element: type) -> np.ndarray:
    """Buffers that start on 16 bytes, as a pack must."""
    row = -(-room * np.dtype(element).itemsize // 16) * 16
    memory = np.zeros(ranks * row + 16, np.uint8)
    start = -memory.ctypes.data % 16
    return memory[start : start + ranks * row].reshape(ranks, row)


def _addresses(rows: np.ndarray) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(rows))(*(row.ctypes.data for row in rows))


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("all_reduce")


def assert_right(ran: Ran, one: Algorithm, ranks: int, bf16: bool = False) -> None:
    assert ran.finished == ranks and ran.failed == ()
    error = ran.error()
    assert verify.passes(error, tolerance(one, ranks, bf16)), error
    assert (ran.beyond == np.iinfo(ran.beyond.dtype).max).all()


@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize("one", ALGORITHMS, ids=lambda one: one.name)
def test_every_rank_gets_the_sum_at_any_size(folder: Path, one: Algorithm, ranks: int) -> None:
    for count in (1, 3, 29, 4 * ranks * THREADS * BLOCKS + 6, 331):
        ran = run(folder, one, ranks, count, favoured=count % ranks if count % 2 else -1)
        assert_right(ran, one, ranks)


@pytest.mark.parametrize("one", ALGORITHMS, ids=lambda one: one.name)
def test_whole_packs_need_no_guard(folder: Path, one: Algorithm) -> None:
    for count in (4, 40, 332):
        assert constants(4, count)["GUARD"] == 0
        assert_right(run(folder, one, 4, count), one, 4)


@pytest.mark.parametrize("one", ALGORITHMS, ids=lambda one: one.name)
def test_bf16_is_summed_in_fp32_and_rounded(folder: Path, one: Algorithm, ranks: int = 4) -> None:
    for count in (1, 7, 203):
        ran = run(folder, one, ranks, count, bf16=True)
        assert_right(ran, one, ranks, bf16=True)
        if one.in_order:
            sums = ran.inputs[:, 0]
            for rank in range(1, ranks):
                sums = sums + ran.inputs[:, rank]
            assert np.array_equal(ran.out[:, 0], widened(rounded(sums)))


@pytest.mark.parametrize("one", [one for one in ALGORITHMS if one.in_order], ids=lambda one: one.name)
def test_sums_are_those_of_the_ranks_in_order(folder: Path, one: Algorithm) -> None:
    ran = run(folder, one, 4, 331)
    expected = ((ran.inputs[:, 0] + ran.inputs[:, 1]) + ran.inputs[:, 2]) + ran.inputs[:, 3]
    assert np.array_equal(ran.out[:, 2], expected)


def test_a_ring_sums_each_chunk_from_its_own_rank_on(folder: Path) -> None:
    ran = run(folder, algorithm("ring"), 4, 64)
    for chunk in range(4):
        part = ran.inputs[:, :, 16 * chunk : 16 * chunk + 16]
        expected = part[:, chunk]
        for hop in range(1, 4):
            expected = expected + part[:, (chunk + hop) % 4]
        assert np.array_equal(ran.out[:, 0, 16 * chunk : 16 * chunk + 16], expected)


@pytest.mark.parametrize("one", ALGORITHMS, ids=lambda one: one.name)
def test_ranks_may_share_one_launch(folder: Path, one: Algorithm) -> None:
    assert_right(run(folder, one, 4, 203, together=True), one, 4)


@pytest.mark.parametrize("one", ALGORITHMS, ids=lambda one: one.name)
def test_signals_count_on_past_32_bits(folder: Path, one: Algorithm) -> None:
    assert_right(run(folder, one, 3, 50, epoch=2**32 - 70), one, 3)


@pytest.mark.parametrize("one", ALGORITHMS, ids=lambda one: one.name)
def test_a_rank_that_never_comes_is_given_up_on(folder: Path, one: Algorithm) -> None:
    ran = run(folder, one, 4, 50, missing=2, patience=2000)
    assert ran.finished == 3 and ran.failed == (0, 1, 3)
    assert run(folder, one, 4, 50, missing=2, budget=50_000).finished == 0  # without patience it would be for ever


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.kind}-{mutant.rung}")
def test_a_broken_algorithm_is_refused(folder: Path, mutant: object) -> None:
    from kernels.catalogue import Mutant

    assert isinstance(mutant, Mutant)
    one = algorithm(mutant.rung)
    for count in (63, 203):
        ran = run(folder, one, 4, count, text=mutant.apply(one.own_text))
        assert not verify.passes(ran.error(), tolerance(one, 4)), count


def test_every_kind_of_fault_is_tried() -> None:
    assert {mutant.kind for mutant in MUTANTS} == {"off_by_one", "skipped_tile", "zeros", "nan", "stale"}


RACES = [
    ("one_shot", "    meet(group, rank, epoch, patience);", ""),
    ("one_shot", "    meet(group, rank, epoch + 1, patience);", ""),
    ("two_shot", "    meet(group, rank, epoch, patience);", ""),
    ("two_shot", "    meet(group, rank, epoch + 1, patience);", ""),
    ("two_shot", "    meet(group, rank, epoch + 2, patience);", ""),
    ("two_shot_push", "    meet(group, rank, epoch, patience);", ""),
    ("two_shot_push", "    meet(group, rank, epoch + 1, patience);", ""),
    ("ring", "    meet(group, rank, epoch, patience);", ""),
    ("ring", "if (threadIdx.x == 0) wait_for(from, epoch + step, group.failed[rank], patience);", ""),
    ("ring", "wait_for(from, epoch + 2 * (RANKS - 1), group.failed[rank], patience);", ";"),
    (
        "ring",
        "        __syncthreads();\n        if (threadIdx.x == 0) store_release",
        "        if (threadIdx.x == 0) store_release",
    ),
]


@pytest.mark.parametrize(("name", "right", "wrong"), RACES)
def test_a_missing_wait_is_found_out(folder: Path, name: str, right: str, wrong: str) -> None:
    one, found = algorithm(name), []
    assert one.own_text.count(right) == 1
    for favoured in range(-1, 3):
        ran = run(folder, one, 3, 331, text=one.own_text.replace(right, wrong), favoured=favoured)
        found.append(not verify.passes(ran.error(), tolerance(one, 3)))
    assert any(found)


def test_ranks_that_add_in_different_orders_are_found_out(folder: Path) -> None:
    one, signals = algorithm("one_shot"), SIGNALS.read_text()
    call, loop = "sum_of_all(group, i, count)", "pack[r] = load(group.in[r], i, count);"
    text = one.own_text.replace(call, f"{call[:-1]}, rank)")
    signals = signals.replace(
        "unsigned long long count) {\n    Pack pack[RANKS];", "unsigned long long count, int o) {\n    Pack pack[RANKS];"
    )
    signals = signals.replace(loop, "pack[r] = load(group.in[(r + o) % RANKS], i, count);")
    ran = run(folder, one, 3, 331, text=text, signals=signals)
    alone = verify.error(np, ran.out[:, 1], ran.inputs.astype(float).sum(1), np.abs(ran.inputs.astype(float)).sum(1))
    assert verify.passes(alone, tolerance(one, 3)) and ran.error() == float("inf")
