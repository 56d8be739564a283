"""The rungs that run one by one under the sanitizer: all of them, and what is wrong or refused is said."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from kernels.catalogue import KernelError
from kernels.families import FAMILIES
from measure import sanitized_rungs as rungs
from measure.errors import MeasureError, Unsupported
from measure.sanitized import RUN


def test_every_rung_of_every_ladder_is_run() -> None:
    """The families list them independently; the product that the autotuned rung is made of stands there under both names."""
    of = {family.name: {unit.name for unit in family.units} for family in FAMILIES}
    found = {family: {rung for ladder in ladders for rung in rungs.LADDERS[ladder][0]} for family, ladders in FOUND.items()}
    for family, names in found.items():
        assert names == of[family], family
    assert set(rungs.RUNGS) <= set(RUN) and not set(rungs.LADDERS) & set(RUN)


FOUND = {"gemm_fp32": ["gemm_fp32"], "gemm_bf16": ["gemm_bf16"], "attention": ["attention"], "gemv": ["gemv", "gemv_batch"]}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a rung called "it" answers by problem: an error of a tolerance of 1, or a refusal."""
    found: dict[str, Any] = {}

    def run(cupy: Any, rung: str, problem: str) -> tuple[float, float]:
        if isinstance(found[problem], str):
            raise KernelError(found[problem])
        return found[problem], 1.0

    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setattr(rungs, "LADDERS", {"a": (("it",), ("small", "odd"), run)})
    return found


def test_right_is_silent_and_one_refused_size_is_left_out(answers: dict[str, Any]) -> None:
    answers.update(small=0.5, odd="takes whole tiles")
    rungs.launch("a", "it")


def test_wrong_is_said_with_its_size(answers: dict[str, Any]) -> None:
    answers.update(small=0.5, odd=float("nan"))
    with pytest.raises(MeasureError, match="a it of odd: wrong by nan, allowed are 1"):
        rungs.launch("a", "it")


def test_what_runs_at_no_size_cannot_be_run_here(answers: dict[str, Any]) -> None:
    answers.update(small="needs compute capability 9.0", odd="the same")
    with pytest.raises(Unsupported, match=r"needs compute capability 9\.0"):
        rungs.launch("a", "it")
