"""The bf16 products of warpgroups run without a GPU: what only sm_90a has is carried out by what its manual says.

Blocks run one after the other there, so clusters are left to the GPU; their tall blocks run alone.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from kernels.catalogue import Launch, Mutant, Problem
from kernels.gemm_bf16.ladder import LADDER
from kernels.gemm_bf16.mutants import MUTANTS
from kernels.gemm_bf16.problem import tolerance
from kernels.gemm_bf16.warpgroups import CLUSTERS, PERSISTENT, ROLES, SIMPLE, STORES, guarded, launch_roles, launch_simple
from measure import bf16
from measure.verify import passes

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import on_host

pytestmark = pytest.mark.skipif(on_host.COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

HELPERS = ("lanes.hpp", "warpgroup.hpp", "tiles2d.hpp")
BEFORE = "".join(f'#include "{Path(on_host.__file__).parent / name}"\n' for name in HELPERS)
Launching = Callable[[Problem], Launch]
ALONE = {**CLUSTERS, "CLUSTER": 1}
VARIANTS: Mapping[str, tuple[Mapping[str, int], Launching]] = {
    "warpgroup": (SIMPLE, launch_simple(SIMPLE)),
    "roles": (ROLES, launch_roles(ROLES)),
    "persistent": (PERSISTENT, launch_roles(PERSISTENT, 2)),
    "stores": (STORES, launch_roles(STORES, 2)),
    "clusters": (ALONE, launch_roles(ALONE, 2)),
}


class HostMap(ctypes.Structure):
    """A tensor map as warpgroup.hpp reads it: address, extents and box, innermost first; 128 bytes as on a GPU."""

    _fields_ = (
        ("address", ctypes.c_uint64),
        ("size", ctypes.c_int * 3),
        ("box", ctypes.c_int * 3),
        ("rest", ctypes.c_char * 96),
    )


def as_cpp(text: str) -> str:
    """The source without the functions whose PTX is more than one instruction: the helpers have them."""
    for name in ("multiply", "wait", "arrive_at"):
        text, count = re.subn(rf"__device__ __forceinline__ void {name}\(.*?\n\}}\n", "", text, flags=re.S)
        assert count == 1 or name == "arrive_at", name
    return re.sub(r"\bwait\(", "await_phase(", text)


def error(folder: Path, name: str, problem: Problem, how: on_host.Freedom, mutant: Mutant | None = None) -> float:
    """Error of a rung's product, its source broken by the mutant."""
    constants, launching = VARIANTS[name]
    launch, kernel = launching(problem), LADDER[name]
    text = kernel.text if mutant is None else mutant.apply(kernel.text)
    a, b = bf16.inputs(np, problem.m, problem.n, problem.k, seed=problem.m)
    out = bf16.poisoned(np, problem.m, problem.n)
    library = on_host.compile_kernel(folder, BEFORE + as_cpp(text), kernel.entry, launch.constants)

    def mapped(array: np.ndarray[tuple[int, ...], np.dtype[np.uint16]], rows: int) -> HostMap:
        return HostMap(array.ctypes.data, (array.shape[1], array.shape[0], 1), (64, rows, 1))

    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, out)]
    arrays: list[ctypes.c_void_p | HostMap] = list(pointers)
    if not guarded(problem):
        arrays = [mapped(a, constants["BM"]), mapped(b, 64), mapped(out, 64) if constants.get("BOXES") else pointers[2]]
    sizes = [ctypes.c_int(size) for size in (problem.m, problem.n, problem.k)]
    on_host.launch(library, launch.grid, launch.block, (*arrays, *sizes), how)
    return bf16.error(np, out, *bf16.reference(np, a, b))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gemm_warpgroups")


@pytest.mark.parametrize("name", VARIANTS)
def test_any_size_whatever_comes_first(folder: Path, name: str) -> None:
    """Odd sizes value by value; by the copy engine a box that hangs over, and more steps and tiles than stages and blocks."""
    for index, shape in enumerate([(7, 5, 3), (129, 63, 17), (65, 40, 72), (140, 264, 328), (300, 136, 64)]):
        problem = Problem(*shape)
        found = error(folder, name, problem, on_host.FREEDOMS[index % 4])
        assert passes(found, tolerance(problem)), (shape, found)


LEFT_OUT = ("rank * EACH", "CLUSTER + rank", "step / STAGES % 2);")
"""What only a cluster shows, and a barrier that is misused, at which the helper ends the process."""


@pytest.mark.parametrize(
    "mutant",
    [one for one in MUTANTS if one.rung in VARIANTS and not any(words in one.old for words in LEFT_OUT)],
    ids=lambda mutant: f"{mutant.rung}-{mutant.kind}",
)
def test_what_is_broken_is_found_out(folder: Path, mutant: Mutant) -> None:
    for how in on_host.FREEDOMS:
        try:
            problem = Problem(264, 520, 136)
            if not passes(error(folder, mutant.rung, problem, how, mutant), tolerance(problem)):
                return
        except AssertionError as stuck:
            assert "wait for each other" in str(stuck)
            return
    pytest.fail("nothing shows")
