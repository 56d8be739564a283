"""Sixteen vectors without a GPU: their operands in NumPy, and the figures of made-up samples by arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels.gemv.problem import FP16, INT4_CHUNKED, GemvProblem
from measure import gemv, gemv_batch, schema
from measure.device import Hardware
from measure.records import SCHEMA_VERSION, Device, Measurements, Quantity, Roof
from measure.subject import Context

GPU = Hardware("Test GPU", 90, 4, 1 << 20, 1 << 33, 1000.0, 1000.0, 1024, 2048, 65536, 228 << 10, 227 << 10)
ROOF = Roof("Device memory, read", "memory", measured=Quantity(2.0, "TB/s", "measured"))
EMPTY = Measurements(SCHEMA_VERSION, Device("Test GPU", "test-gpu"), None, roofs={"dram": ROOF})


def samples(seconds: float, **changes: Any) -> dict[str, Any]:
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


def recorded(ours: dict[str, Any]) -> Measurements:
    slow, fast = samples(5e-6, tolerance=None), samples(4e-6, tolerance=None)
    contenders = {"int4_batch": ours, "cublas_fp16_rows": fast, "cublas_fp16_columns": slow}
    return gemv_batch.record(EMPTY, {"problem": [1024, 2048], "vectors": 16, "contenders": contenders}, Context(GPU, False))


def test_the_figures_by_hand() -> None:
    """1024 x 2048 in int4 is 1 081 344 B with scales; 16 x (2 x 2048 + 4 x 1024) B of vectors and outputs: 1 212 416 B in 1 us.

    16 x 2 x 2^21 FLOP in 1 us are 67.1 TFLOP/s; the faster library form took four times as long.
    """
    found = recorded(samples(1e-6))
    ladder = found.ladders["gemv_batch"]
    (rung,) = ladder.rungs
    assert rung.rate is not None and rung.rate.value == pytest.approx(67.108864)
    assert ladder.work is not None and ladder.work.value == 2**26
    assert rung.figures["bandwidth"].value == pytest.approx(1.212416)
    assert rung.figures["read_share"].value == pytest.approx(0.606208)
    assert rung.figures["over_cublas_fp16"].value == pytest.approx(4.0)
    assert rung.traffic["dram"].model is not None and rung.traffic["dram"].model.value == 1_212_416
    assert {line.name for line in ladder.lines} == set(gemv_batch.LINES)
    assert schema.dumps(found)


def test_a_wrong_one_has_no_figures() -> None:
    (rung,) = recorded(samples(1e-6, hot=[], error=1.0)).ladders["gemv_batch"].rungs
    assert rung.rate is None and not rung.figures and not rung.verified


def test_sixteen_vectors_are_rows_filled_up_to_whole_groups() -> None:
    problem = GemvProblem(70, 300)
    data = gemv.operands(np, problem, (FP16, INT4_CHUNKED), 1, 16)
    assert data.x.shape == (16, 384) and not data.x[:, 300:].any() and data.x[:, :300].any(axis=1).all()
    for one in data.weights.values():
        assert one.exact.shape == one.scale.shape == (16, 70)
    wide = data.x[:, :300].astype(np.float64)
    assert np.allclose(data.weights["fp16"].exact, wide @ data.weights["fp16"].arrays[0].astype(np.float64).T)
    assert data.weights["int4_chunked"].arrays[0].shape == (128, 3 * 66)
