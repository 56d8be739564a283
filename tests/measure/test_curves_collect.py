"""The subject curves collected on a CPU: NumPy in CuPy's place, products and attention by its definition, nothing timed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kernels.attention.problem import Attention
from kernels.catalogue import KernelError
from measure import attention, attention_vendor, autotune, bf16, curves, gemm_bf16
from measure.device import Hardware
from measure.subject import Bench

AMPERE = Hardware("one without wgmma", 80, 1, 1 << 20, 1 << 30, 1000.0, 1000.0, 1024, 2048, 65536, 228 * 1024, 227 * 1024)
PLENTY, LITTLE = 10**11, 3 * 10**6
SIZES = (64, 128)


class Watch:
    """Every launch runs and takes a millisecond."""

    def seconds(self, run: Any, launches: int = 1) -> float:
        run()
        return 1e-3

    def hot(self, run: Any, plan: Any) -> list[float]:
        return [self.seconds(run)] * 2

    def cold(self, run: Any, count: int) -> list[float]:
        return []

    @contextmanager
    def clock_into(self, clocks: list[float]) -> Iterator[None]:
        yield
        clocks.append(1.0)


def product(a: Any, b: Any, out: Any) -> None:
    """What a right kernel leaves."""
    out[:] = bf16.to_bf16(np, bf16.from_bf16(np, a) @ bf16.from_bf16(np, b)) if out.dtype == np.uint16 else a @ b


def attend(problem: Attention, arrays: Any) -> None:
    """softmax(Q K^T / sqrt(128)) V, as it is defined."""
    q, k, v = (bf16.from_bf16(np, arrays[name]).astype(np.float64) for name in "QKV")
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(128)
    if problem.causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    arrays["O"][:] = bf16.to_bf16(np, (weights @ v / weights.sum(-1, keepdims=True)).astype(np.float32))


def collected(monkeypatch: pytest.MonkeyPatch, free: int = PLENTY, wrong: float = 0.0) -> tuple[Any, list[str]]:
    cupy = ModuleType("cupy")
    cupy.__dict__.update({name: getattr(np, name) for name in dir(np) if not name.startswith("__")})
    device = SimpleNamespace(mem_info=(free, free))
    found = {"cuda": SimpleNamespace(Device=lambda: device)}
    cupy.__dict__.update(found, get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: None))
    monkeypatch.setitem(sys.modules, "cupy", cupy)

    def load(kernel: Any, problem: Any) -> Any:
        if kernel.feature_arch:
            raise KernelError("only sm_90a has it")

        def run(a: Any, b: Any, out: Any) -> None:
            product(a, b, out)
            if wrong and problem.m == SIZES[1]:
                out[-1, -1] = 0

        return SimpleNamespace(run=run)

    def load_attention(routine: Any, problem: Attention) -> Any:
        if routine.feature_arch:
            raise KernelError("only sm_90a has it")
        return SimpleNamespace(run=lambda arrays: attend(problem, arrays), launches=())

    monkeypatch.setattr(curves, "load", load)
    monkeypatch.setattr(autotune, "load", load)
    monkeypatch.setattr(attention, "load", load_attention)
    monkeypatch.setattr(gemm_bf16, "cublas_product", product)
    monkeypatch.setattr(attention_vendor, "runs", lambda problem, q, k, v: {"cudnn": lambda: None})
    for name, value in {"QUICK_SIZES": SIZES, "TOKENS": 256, "HEADS": 2, "SAMPLED": 128}.items():
        monkeypatch.setattr(curves, name, value)
    steps: list[str] = []
    watch: Any = Watch()
    raw = curves.collect(Bench(AMPERE, curves.QUICK_PLAN, True, watch, steps.append, lambda: ()))
    assert json.loads(json.dumps(raw)) == raw, "a recording has to hold it"
    return raw["curves"], steps


def test_every_curve_has_every_rung_and_its_library_at_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    found, steps = collected(monkeypatch)
    assert steps == [f"{curve} of {size}" for curve in curves.MAKERS for size in SIZES]
    libraries = {"gemm_bf16": "cublas", "gemm_fp32": "cublas", "attention": "cudnn", "attention_causal": "cudnn"}
    for curve, by_size in found.items():
        for size in SIZES:
            contenders = by_size[str(size)]
            assert list(contenders) == [*curves.RUNGS[curve], libraries[curve]]
            for name, one in contenders.items():
                if "sm_90a" in one["refusal"]:
                    assert name in ("warpgroup", "clusters", "ahead", "persistent") and not one["hot"]
                else:
                    assert one["hot"] and (one["tolerance"] is None or 0 <= one["error"] <= one["tolerance"])


def test_what_is_wrong_at_one_size_is_noticed_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of 128 x 128 outputs; every row is among those that are checked."""
    found, _ = collected(monkeypatch, wrong=1.0)
    for curve, name in (("gemm_bf16", "deep_tiles"), ("gemm_fp32", "warp_tile"), ("gemm_fp32", "autotuned")):
        right, wrong = (found[curve][str(size)][name] for size in SIZES)
        assert right["error"] <= right["tolerance"] < wrong["error"]


def test_a_size_that_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 3 MB two fifths may be taken; 256 tokens of 2 heads are 8 x 4 x 131072 B at any length."""
    found, steps = collected(monkeypatch, free=LITTLE)
    assert list(found["gemm_bf16"]) == ["64", "128"] and found["attention"] == {}
    assert "attention of 64" in steps, "the progress counts it all the same"
