"""The subject curves without a GPU: sizes, problems, and raw samples in, sweeps out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernels.attention.ladder import LADDER as ATTENTION
from kernels.attention.problem import Attention
from kernels.catalogue import Problem
from kernels.gemm_bf16.ladder import LADDER as GEMM_BF16
from kernels.gemm_fp32.ladder import LADDER as GEMM_FP32
from measure import curves, schema
from measure.device import Hardware, describe
from measure.errors import MeasureError
from measure.records import SCHEMA_VERSION, Measurements
from measure.subject import Context

H200 = Hardware("NVIDIA H200", 90, 132, 60 << 20, 1 << 37, 1980.0, 3201.0, 6016, 2048, 65536, 228 * 1024, 227 * 1024)


def contender(seconds: float, tolerance: float | None = 1e-5, error: float | None = 1e-6, refusal: str = "") -> dict[str, Any]:
    hot = [] if refusal else [seconds] * 3
    found = {"refusal": refusal, "tolerance": tolerance, "error": error, "error_after": error, "odd_sizes": True, "hot": hot}
    return {**found, "cold": [], "clocks": [], "reasons": [], "launches": [], "extra": {}}


def recorded(raw: dict[str, Any]) -> Measurements:
    empty = Measurements(SCHEMA_VERSION, describe(H200), None)
    return curves.record(empty, {"curves": raw}, Context(H200, quick=False))


def test_every_length_of_attention_has_as_many_tokens() -> None:
    assert curves.problem_of("gemm_bf16", 2048) == Problem(2048, 2048, 2048)
    for size in curves.SIZES:
        problem = curves.problem_of("attention", size)
        assert isinstance(problem, Attention) and problem.batch * problem.seq == 32768 and not problem.causal
    assert curves.problem_of("attention_causal", 1024) == Attention(32, 16, 1024, causal=True)
    assert curves.SIZES == (512, 1024, 2048, 4096, 8192, 16384)


def test_memory_of_the_largest_sizes_by_hand() -> None:
    """16384^2 values: three matrices of 0.54 GB in bf16, 1.07 GB in fp32, several times for the check."""
    assert curves.needed("gemm_bf16", 16384) >= 3 * 2 * 16384**2
    assert curves.needed("gemm_fp32", 16384) >= 3 * 4 * 16384**2 + 2 * 8 * 16384**2  # both inputs in float64
    assert curves.needed("attention", 512) >= 4 * 2 * 32768 * 16 * 128


def test_rates_by_size_for_each_rung_and_library(tmp_path: Path) -> None:
    """512^3: 2^28 FLOP in a microsecond are 268 TFLOP/s; causal attention counts half."""
    found = recorded(
        {
            "gemm_bf16": {
                "512": {"clusters": contender(1e-6), "deep_tiles": contender(2e-6), "cublas": contender(4e-6, None)},
                "1024": {"clusters": contender(1e-6, error=1e-3), "deep_tiles": contender(1e-6, refusal="needs more")},
            },
            "attention_causal": {"512": {"ahead": contender(1e-3), "cudnn": contender(2e-3, None)}},
        }
    )
    products = {series.name: series for series in found.sweeps["gemm_bf16_sizes"].series}
    assert set(products) == {"clusters", "deep_tiles", "cublas"} and products["cublas"].title == "cuBLAS"
    assert products["clusters"].values["512"].value == pytest.approx(2**28 / 1e-6 / 1e12)
    assert products["deep_tiles"].values["512"].value == pytest.approx(2**28 / 2e-6 / 1e12)
    assert list(products["clusters"].values) == ["512"], "what is wrong has no figure"
    sweep = found.sweeps["gemm_bf16_sizes"]
    assert sweep.verification is not None and not sweep.verification.passed
    assert sweep.verification.error == pytest.approx(100) and sweep.verification.tolerance == 1
    causal = found.sweeps["attention_causal_sizes"]
    assert causal.parameter == "keys" and causal.verification is not None and causal.verification.passed
    work = 4 * 64 * 16 * 512**2 * 128 / 2
    assert causal.series[0].values["512"].value == pytest.approx(work / 1e-3 / 1e12)
    assert causal.series[1].title == "cuDNN, through PyTorch"
    assert schema.load(schema.save(found, tmp_path / "file.json")) == found


def test_nothing_right_at_any_size_is_no_curve() -> None:
    with pytest.raises(MeasureError, match="no rung came out right"):
        recorded({"gemm_bf16": {"512": {"clusters": contender(1e-6, error=1e-3)}}})


def test_the_rungs_of_the_curves_are_rungs_and_their_sources_belong_to_the_subject() -> None:
    for curve, ladder in (("gemm_bf16", GEMM_BF16), ("gemm_fp32", GEMM_FP32), ("attention", ATTENTION)):
        for name in curves.RUNGS[curve]:
            assert ladder[name].source in curves.SUBJECT.sources
    assert curves.RUNGS["attention"] == curves.RUNGS["attention_causal"]
    assert set(curves.MAKERS) == set(curves.RUNGS) == set(curves.TITLES)
