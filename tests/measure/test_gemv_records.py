"""The matrix-vector subject without a GPU: its operands in NumPy, how large it may be, and its figures from made-up samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels.gemv.batch import BATCH_LADDER
from kernels.gemv.ladder import FORMAT_OF, LADDER, SUBNORMAL
from kernels.gemv.problem import FORMATS, FP32, INT4, GemvProblem
from kernels.gemv.quantise import store
from measure import gemv
from measure.device import Hardware
from measure.errors import Unsupported
from measure.records import SCHEMA_VERSION, Device, Ladder, Measurements
from measure.subject import Context

PROBLEM = GemvProblem(1024, 2048)
GPU = Hardware("Test GPU", 90, 4, 1 << 20, 1 << 33, 1000.0, 1000.0, 1024, 2048, 65536, 228 << 10, 227 << 10)


def samples(seconds: float, **changes: Any) -> dict[str, Any]:
    """What a contest says of one that was right and took the same time thrice."""
    found: dict[str, Any] = {
        "refusal": "",
        "tolerance": 1e-6,
        "error": 1e-8,
        "error_after": 1e-8,
        "odd_sizes": True,
        "hot": [seconds] * 3,
        "cold": [seconds],
        "clocks": [990.0],
        "reasons": [],
        "launches": [],
        "extra": {"copies": 1, "quantisation_error": 0.1},
    }
    return {**found, **changes}


def recorded(contenders: dict[str, Any]) -> Ladder:
    """The record of a contest among these."""
    lines = {name: samples(5e-6, tolerance=None) for name in gemv.LINES}
    raw = {"problem": [PROBLEM.rows, PROBLEM.cols], "contenders": {**contenders, **lines}}
    empty = Measurements(schema=SCHEMA_VERSION, device=Device("Test GPU", "test-gpu"), run=None)
    return gemv.record(empty, raw, Context(GPU, False)).ladders["gemv"]


def test_the_figures_of_a_rung() -> None:
    """1024 x 2048 in int4: 1 MiB of codes, 32 KiB of scales, 4 KiB of x, 4 KiB of y are 1 089 536 B; in 1 us 1.09 TB/s.

    2 x 1024 x 2048 FLOP in 1 us are 4.19 TFLOP/s.
    """
    ladder = recorded({"fp32": samples(6e-6), "int4_pairs": samples(1e-6)})
    first, rung = ladder.rungs
    assert rung.rate is not None and rung.rate.value == pytest.approx(4.194304)
    figures = rung.figures
    assert figures["bandwidth"].value == pytest.approx(1.089536) and figures["bandwidth"].unit == "TB/s"
    assert figures["speedup"].value == pytest.approx(6.0)
    assert figures["ideal_speedup"].value == pytest.approx(7.7576, abs=1e-4)
    assert figures["quantisation_error"].value == 0.1
    assert rung.traffic["dram"].model is not None and rung.traffic["dram"].model.value == 1_089_536
    assert first.figures["speedup"].value == pytest.approx(1.0)
    assert [line.title for line in ladder.lines] == ["cuBLAS fp32", "cuBLAS fp16"]


def test_a_rung_that_is_wrong_has_no_figures_and_no_speed_up_stands_on_it() -> None:
    wrong = samples(1e-6, hot=[], error=1.0)
    ladder = recorded({"fp32": wrong, "int8": samples(1e-6)})
    first, rung = ladder.rungs
    assert first.rate is None and not first.figures and not first.verified
    assert "bandwidth" in rung.figures and "speedup" not in rung.figures


def test_the_matrix_shrinks_to_the_memory_at_hand() -> None:
    """60 % of the free memory at most; too little for a thousand rows is a reason, not a crash."""
    total = sum(LADDER.problem.weight_bytes(format) for format in FORMATS)
    assert gemv.fitting(LADDER.problem, total * 2) == LADDER.problem
    assert gemv.fitting(LADDER.problem, total) == GemvProblem(16384, 32768)
    with pytest.raises(Unsupported, match=r"do not fit into 0\.1 GB"):
        gemv.fitting(LADDER.problem, 10**8)


def test_copies_take_turns_until_l2_is_no_help() -> None:
    """Four L2s of 60 MB are 240 MB: one matrix of 553 MB does, of 69 MB it takes four."""
    assert gemv.copies(LADDER.problem, INT4, 60_000_000) == 1
    assert gemv.copies(GemvProblem(4096, 32768), INT4, 60_000_000) == 4
    assert gemv.copies(PROBLEM, FP32, 0) == 1


def test_operands_are_the_same_for_every_format_and_errors_grow_as_bits_go() -> None:
    """Rounding error of the result in the 2-norm: about 2^-12 to 2^-11 for fp16; the steps of int8 and int4 differ by 127/7."""
    problem = GemvProblem(300, 515)
    data = gemv.operands(np, problem, FORMATS, seed=2)
    error = {name: gemv.norm_error(np, one.exact, data.exact) for name, one in data.weights.items()}
    assert error["fp32"] == 0.0
    assert 2**-13 < error["fp16"] < 2**-11
    assert error["int4"] / error["int8"] == pytest.approx(127 / 7, rel=0.15)
    assert {FORMAT_OF[rung.name].name for rung in LADDER.rungs} <= set(data.weights)
    for one in data.weights.values():
        assert one.exact.shape == one.scale.shape == (300,)
        assert (np.abs(one.exact) <= one.scale).all()


def test_what_subnormal_codes_count_as() -> None:
    """Weights 7, -7, 1 have the scale 1; x = 1, -2, 0.5 has the largest magnitude 2: 1024 x 1 x 2 beside |W||x| = 21.5."""
    stored = store(np, np.array([[7.0, -7.0, 1.0]], np.float32), INT4)
    x = np.array([1.0, -2.0, 0.5])
    assert gemv.nominal_scale(np, stored, x, INT4).tolist() == [2048.0]
    assert gemv.nominal_scale(np, stored, np.stack([x, 2 * x], axis=1), INT4).tolist() == [[2048.0, 4096.0]]
    one = gemv.Weights((), 0.0, np.array([21.5]), np.array([2048.0]))
    assert one.scale_of("int4_streamed").tolist() == [2069.5] and one.scale_of("int4_pairs").tolist() == [21.5]
    assert gemv.nominal_scale(np, store(np, np.ones((2, 3), np.float32), FP32), x, FP32).tolist() == [0.0, 0.0]


def test_the_rungs_with_subnormal_codes_are_those_that_give_2_to_the_24_back() -> None:
    rungs = {rung.name: rung.text for rung in (*LADDER.rungs, *BATCH_LADDER.rungs)}
    assert {name for name, text in rungs.items() if "16777216.0f" in text} == SUBNORMAL
