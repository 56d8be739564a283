"""The subject gemm_bf16 from end to end without a GPU: NumPy stands in for CuPy, the CPU runs the kernels, time is invented."""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.build import Cubin, Resources
from kernels.catalogue import Kernel, KernelError, Launch, Problem
from kernels.gemm_bf16.ladder import LADDER
from kernels.launch import Loaded
from measure import bf16, gemm_bf16, mma_roof
from measure.device import Hardware, describe
from measure.errors import VerificationError
from measure.records import SCHEMA_VERSION, Measurements
from measure.subject import Bench, Context
from measure.timing import Plan

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels" / "helpers"))
import on_host

pytestmark = pytest.mark.skipif(on_host.COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

GPU = Hardware("NVIDIA A100", 80, 1, 1 << 20, 1 << 30, 1000.0, 1000.0, 1024, 2048, 65536, 228 * 1024, 227 * 1024)
SMALL = Problem(128, 256, 64)
PLAN = Plan(warm=0.0, sample=0.001, samples=2, total=0.0, limit=1.0, precision=1.0, rounds=1, cold=1)
SECONDS = 0.001
ROUNDS = 3


class Watch:
    """Every launch takes a millisecond."""

    def seconds(self, run: Callable[[], None], launches: int = 1) -> float:
        run()
        return SECONDS

    def hot(self, run: Callable[[], None], plan: Plan) -> list[float]:
        return [self.seconds(run) for _ in range(plan.samples)]

    def cold(self, run: Callable[[], None], count: int) -> list[float]:
        return [self.seconds(run) for _ in range(count)]

    @contextmanager
    def clock_into(self, clocks: list[float]) -> Iterator[None]:
        yield
        clocks.append(1000.0)


class Device(np.ndarray):
    """An array that can be fetched."""

    def get(self) -> Any:
        return np.asarray(self)


def cupy_of_numpy() -> types.ModuleType:
    found = types.ModuleType("cupy")
    found.__dict__.update({name: getattr(np, name) for name in dir(np) if not name.startswith("__")})
    found.__dict__["zeros"] = lambda *arguments: np.zeros(*arguments).view(Device)
    return found


Change = Callable[[str, str], str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture
def collected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], Measurements]:
    """What the subject records where the sources are changed by a function of entry point and text."""

    def run(change: Change) -> Measurements:
        def execute(text: str, entry: str, launch: Launch, arguments: tuple[Any, ...]) -> None:
            library = on_host.compile_kernel(folder, change(entry, text), entry, launch.constants)
            values = tuple(
                ctypes.c_int(int(one)) if isinstance(one, int | np.integer) else ctypes.c_void_p(one.ctypes.data)
                for one in arguments
            )
            on_host.launch(library, launch.grid, launch.block, values, on_host.FREEDOMS[0])

        def load(kernel: Kernel, problem: Problem) -> Loaded:
            launch = kernel.launch(problem)
            if kernel.feature_arch:
                raise KernelError(f"{kernel.name} uses instructions that only {kernel.feature_arch} has")
            if kernel.name == "naive" and problem == SMALL and change("", "refuse"):
                raise KernelError("naive cannot be built")
            cubin = Cubin(b"", "sm_90", (), {kernel.entry: Resources(128, 0, 0, 0)}, "")
            sizes = (problem.m, problem.n, problem.k)
            return Loaded(
                kernel, problem, launch, cubin, lambda a, b, c: execute(kernel.text, kernel.entry, launch, (a, b, c, *sizes))
            )

        def load_function(program: Any, entry: str) -> Any:
            return lambda grid, block, arguments: execute(
                program.text, entry, Launch((*grid, 1, 1), (*block, 1, 1), program.constants), arguments
            )

        def product(a: Any, b: Any, out: Any) -> None:
            out[:] = bf16.to_bf16(np, bf16.from_bf16(np, a) @ bf16.from_bf16(np, b))

        monkeypatch.setitem(sys.modules, "cupy", cupy_of_numpy())
        monkeypatch.setattr(gemm_bf16, "load", load)
        monkeypatch.setattr(gemm_bf16, "cublas_product", product)
        monkeypatch.setattr(gemm_bf16, "QUICK_PROBLEM", SMALL)
        monkeypatch.setattr(gemm_bf16, "SHAPES", ((7, 5, 3),))
        monkeypatch.setattr(mma_roof, "load_function", load_function)
        monkeypatch.setattr(mma_roof, "LAUNCH_SECONDS", 0.0)
        monkeypatch.setattr(mma_roof, "FIRST_ROUNDS", ROUNDS)
        monkeypatch.setattr(mma_roof, "MMA", replace(mma_roof.MMA, blocks_per_sm=(1,)))
        steps: list[str] = []
        raw = gemm_bf16.collect(Bench(GPU, PLAN, True, Watch(), steps.append, lambda: ()))  # type: ignore[arg-type]
        timed = sum(bool(one["hot"]) for one in raw["contenders"].values())
        assert len(steps) == 3 + timed and gemm_bf16.SUBJECT.steps(PLAN) == 3 + 13
        return gemm_bf16.record(Measurements(SCHEMA_VERSION, describe(GPU), None), raw, Context(GPU, quick=True))

    return run


def unchanged(entry: str, text: str) -> str:
    return text if entry else ""


def test_all_rungs_cublas_and_the_roof(collected: Callable[[Change], Measurements]) -> None:
    found = collected(unchanged)
    ladder = found.ladders["gemm_bf16"]
    assert [rung.verified for rung in ladder.rungs] == [True] * 7 + [False] * 5
    assert {rung.absent.split(" uses ")[1] for rung in ladder.rungs[7:]} == {"instructions that only sm_90a has"}
    rates = [rung.rate.value for rung in ladder.rungs if rung.rate is not None]
    assert rates == pytest.approx([2 * 128 * 256 * 64 / SECONDS / 1e12] * 7)
    assert [line.name for line in ladder.lines] == ["cublas"]
    roof = found.roofs["bf16_mma"]
    assert set(found.roofs) == {"bf16_mma"}
    assert roof.measured is not None and roof.measured.value == pytest.approx(8 * 32 * 4096 * ROUNDS / SECONDS / 1e12)


def test_a_rung_that_is_wrong_and_one_that_cannot_be_built(collected: Callable[[Change], Measurements]) -> None:
    def change(entry: str, text: str) -> str:
        return text.replace("k < BK; k += 16", "k < BK - 16; k += 16") if entry == "mma_shared" else text

    rungs = {rung.name: rung for rung in collected(change).ladders["gemm_bf16"].rungs}
    assert rungs["naive"].absent == "naive cannot be built" and rungs["naive"].rate is None
    assert not rungs["shared"].verified and rungs["shared"].rate is None
    assert rungs["grouped"].verified and len(rungs) == len(LADDER.rungs)


def test_a_probe_that_is_wrong_is_no_roof(collected: Callable[[Change], Measurements]) -> None:
    def change(entry: str, text: str) -> str:
        return text.replace("round < rounds", "round < rounds - 1") if entry else ""

    with pytest.raises(VerificationError, match="mma probe"):
        collected(change)
