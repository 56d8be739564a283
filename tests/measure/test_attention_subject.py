"""The subject attention from end to end without a GPU: NumPy stands in for CuPy, the CPU runs the kernels, time is invented."""

from __future__ import annotations

import ctypes
import json
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.attention.ladder import LADDER
from kernels.attention.problem import Attention
from kernels.build import Cubin, Resources
from kernels.catalogue import KernelError, Program
from measure import attention, attention_check, schema
from measure.device import Hardware, describe
from measure.errors import Unsupported
from measure.records import SCHEMA_VERSION, Measurements
from measure.subject import Bench, Context
from measure.timing import Plan

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels" / "helpers"))
import on_host

pytestmark = pytest.mark.skipif(on_host.COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

GPU = Hardware("NVIDIA H200", 90, 132, 60 << 20, 1 << 37, 1980.0, 3201.0, 6144, 2048, 65536, 228 * 1024, 227 * 1024)
SMALL = Attention(1, 2, 128)
PLAN = Plan(warm=0.0, sample=0.001, samples=2, total=0.0, limit=1.0, precision=1.0, rounds=1, cold=1)
LANES = f'#include "{Path(on_host.__file__).with_name("lanes.hpp")}"\n'
FREE = 140 * 10**9


class Watch:
    """Every launch takes a millisecond."""

    def __init__(self) -> None:
        self.launches = 0

    def hot(self, run: Callable[[], None], plan: Plan) -> list[float]:
        before = self.launches
        run()
        return [0.001 * (self.launches - before)] * plan.samples

    def cold(self, run: Callable[[], None], count: int) -> list[float]:
        return [0.002] * count

    @contextmanager
    def clock_into(self, clocks: list[float]) -> Iterator[None]:
        yield
        clocks.append(1900.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


Change = Callable[[str], str]


@pytest.fixture
def collected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], tuple[Measurements, Any]]:
    """What the subject records where the sources are changed by a function of their text."""

    def run(change: Change) -> tuple[Measurements, Any]:
        watch = Watch()

        def load_function(program: Program, entry: str, dynamic_shared: int = 0) -> Any:
            text = "" if program.feature_arch else change(program.text)
            if not text:
                raise KernelError("needs more than this GPU has")
            library = on_host.compile_kernel(folder, LANES + text, entry, program.constants)

            def launch(grid: Any, block: Any, arguments: tuple[Any, ...], shared_mem: int = 0) -> None:
                assert shared_mem == dynamic_shared
                watch.launches += 1
                values = tuple(
                    ctypes.c_int(int(one)) if isinstance(one, np.integer) else ctypes.c_void_p(one.ctypes.data)
                    for one in arguments
                )
                on_host.launch(library, grid, block, values, on_host.FREEDOMS[0])

            return launch

        def build_program(program: Program, arch: str) -> Cubin:
            return Cubin(b"", arch, (), {entry: Resources(128, 0, 0, 1024) for entry in program.entries}, "")

        cupy = types.ModuleType("cupy")
        cupy.__dict__.update({name: getattr(np, name) for name in dir(np) if not name.startswith("__")})
        cupy.__dict__["cuda"] = types.SimpleNamespace(Device=lambda: types.SimpleNamespace(mem_info=(FREE, FREE)))
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        monkeypatch.setattr(attention, "load_function", load_function)
        monkeypatch.setattr(attention, "build_program", build_program)
        monkeypatch.setattr(attention, "device_arch", lambda: "sm_90")
        monkeypatch.setattr(attention, "peak_memory", allocated)
        monkeypatch.setattr(attention, "QUICK_PROBLEM", SMALL)
        monkeypatch.setattr(attention_check, "SMALL", (Attention(1, 1, 65),))
        steps: list[str] = []
        raw = attention.collect(Bench(GPU, PLAN, True, watch, steps.append, lambda: ()))  # type: ignore[arg-type]
        timed = sum(bool(one["hot"]) for one in raw["contenders"].values())
        assert len(steps) == 1 + timed and attention.SUBJECT.steps(PLAN) == 1 + 8 + 2
        raw = json.loads(json.dumps(raw))  # what is kept is plain JSON
        empty = Measurements(SCHEMA_VERSION, describe(GPU), None)
        return attention.record(empty, raw, Context(GPU, quick=True)), raw

    return run


def allocated(routine: Any, loaded: Any, problem: Attention) -> int:
    """What the arrays of a rung take."""
    return sum(one.nbytes for one in attention.arrays_of(np, routine, problem).values())


def test_every_rung_with_its_memory_bytes_and_speed_up(
    collected: Callable[[Change], tuple[Measurements, Any]], tmp_path: Path
) -> None:
    found, _ = collected(lambda text: text)
    ladder = found.ladders["attention"]
    assert ladder.problem == "1 x 2 heads, 128 x 128" and ladder.work is not None
    assert ladder.work.value == 4 * 2 * 128**3
    assert [rung.verified for rung in ladder.rungs] == [True] * 5 + [False] * 3
    assert [rung.math_roof for rung in ladder.rungs] == ["fp32", "fp32", "", "", "", *["bf16_wgmma"] * 3]
    assert ladder.math_roof == "bf16_mma" and {rung.absent for rung in ladder.rungs[5:]} == {"needs more than this GPU has"}
    tensors, square = 4 * 2 * 128 * 128 * 2, 2 * 128 * 128 * 4
    for rung in ladder.rungs[:5]:
        seconds = 0.003 if rung.name == "unfused" else 0.001  # three launches
        assert rung.rate is not None and rung.rate.value == pytest.approx(4 * 2 * 128**3 / seconds / 1e12)
        assert rung.figures["speedup"].value == pytest.approx(0.003 / seconds)
        assert rung.figures["peak_memory"].value == tensors + (square if rung.name == "unfused" else 0)
        assert ("square" in rung.figures) == (rung.name == "unfused")
        assert set(rung.traffic) == {"load_path", "l2", "dram", "algorithmic"}
        assert len(rung.builds) == (3 if rung.name == "unfused" else 1)
    assert ladder.rungs[0].figures["square"].value == square
    assert [build.entry for build in ladder.rungs[0].builds] == list(attention.ENTRIES["unfused"])
    schema.save(found, tmp_path / "file.json")
    assert schema.load(tmp_path / "file.json").ladders == found.ladders


def test_a_rung_that_is_wrong_and_one_that_cannot_be_built(
    collected: Callable[[Change], tuple[Measurements, Any]],
) -> None:
    def change(text: str) -> str:
        if text.startswith("// Swizzled"):
            return ""
        return text.replace("out[i][j] *= shrink;", "out[i][j] *= 1.0f;") if text.startswith("// Fused") else text

    found, _ = collected(change)
    rungs = {rung.name: rung for rung in found.ladders["attention"].rungs}
    assert rungs["swizzled"].absent == "needs more than this GPU has" and rungs["swizzled"].rate is None
    assert not rungs["fused"].verified and rungs["fused"].rate is None and not rungs["fused"].figures
    assert rungs["pipelined"].verified and rungs["pipelined"].rate is not None


def test_a_first_rung_that_is_wrong_leaves_no_speed_up(collected: Callable[[Change], tuple[Measurements, Any]]) -> None:
    found, _ = collected(lambda text: text.replace("power(v.x - all)", "power(v.x)"))
    rungs = {rung.name: rung for rung in found.ladders["attention"].rungs}
    assert not rungs["unfused"].verified
    assert set(rungs["fused"].figures) == {"peak_memory"}


def test_heads_are_left_out_until_the_square_fits() -> None:
    """A head of 8192 takes 268.4 + 8.4 MB: 40 % of 140 GB holds all 32, of 8 GB 11.6, so 8; of 2 GB 2.9, so 2."""
    whole = Attention(2, 16, 8192)
    assert attention.fitting(whole, FREE) == whole
    assert attention.fitting(whole, 8 * 10**9) == Attention(1, 8, 8192)
    assert attention.fitting(whole, 2 * 10**9) == Attention(1, 2, 8192)
    assert attention.fitting(whole, 12 * 10**9) == Attention(1, 16, 8192)
    with pytest.raises(Unsupported, match=r"one head's square of 8192 x 8192 does not fit into 0\.5 GB of free memory"):
        attention.fitting(whole, 5 * 10**8)


def test_the_quick_problem_is_small_and_of_whole_tiles() -> None:
    quick = attention.QUICK_PROBLEM
    assert quick.flop < LADDER.problem.flop / 50
    assert all(step.launch.constants["GUARD"] == 0 for routine in LADDER.rungs[:5] for step in routine.steps(quick))
