"""The attention of warpgroups run without a GPU: what only sm_90a has is carried out by what its manual says."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from kernels.attention.problem import Attention
from kernels.attention.warpgroups import AHEAD, PERSISTENT, SOURCE, WARPGROUPS, maps, step, together
from kernels.catalogue import Mutant
from measure import attention_check
from measure.verify import passes

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import on_host

pytestmark = pytest.mark.skipif(on_host.COMPILER is None, reason="no C++ compiler here to run the kernels' sources with")

TEXT = SOURCE.read_text(encoding="utf-8")
BEFORE = "".join(f'#include "{Path(on_host.__file__).parent / name}"\n' for name in ("lanes.hpp", "warpgroup.hpp"))
BOUND = 2.0**-8


class HostMap(ctypes.Structure):
    """A tensor map as warpgroup.hpp reads it: address, extents and box, innermost first; 128 bytes as on a GPU."""

    _fields_ = (
        ("address", ctypes.c_uint64),
        ("size", ctypes.c_int * 3),
        ("box", ctypes.c_int * 3),
        ("rest", ctypes.c_char * 96),
    )


def as_cpp(text: str) -> str:
    """The source without the functions whose PTX is more than one instruction or is built by macros: the helper has them."""
    functions = [rf"__device__ __forceinline__ void {name}" for name in ("multiply_scores", "multiply_values", "wait")]
    functions += ["template <class T, int N>\n__device__ __forceinline__ void hold"]
    for function in functions:
        text, count = re.subn(rf"{re.escape(function)}\(.*?\n\}}\n", "", text, flags=re.S)
        assert count == 1, function
    text, count = re.subn(r'asm volatile\("fence\.mbarrier_init.*?\);', "", text, flags=re.S)
    assert count == 1
    return re.sub(r"\bwait\(", "await_phase(", text)


def error(
    folder: Path,
    problem: Attention,
    constants: Mapping[str, int],
    spread: float,
    text: str,
    how: on_host.Freedom,
    blocks: int = 0,
) -> float:
    q, k, v = attention_check.inputs(np, problem, spread, problem.seq)
    sample = attention_check.reference(np, problem, q, k, v, seed=0)
    out = attention_check.poisoned(np, problem)
    tensor_maps = [
        HostMap(array.ctypes.data, tuple(reversed(box.shape)), tuple(reversed(box.box)))
        for array, box in zip((q, k, v, out), maps(problem, constants), strict=False)
    ]
    one = step(problem, constants, blocks)
    launch = one.launch
    library = on_host.compile_kernel(folder, BEFORE + as_cpp(text), one.entry, launch.constants)
    plain = [] if constants["STORES"] else [ctypes.c_void_p(out.ctypes.data)]
    sizes = (problem.seq, problem.all_heads, together(problem, blocks))
    arguments = (*tensor_maps, *plain, *map(ctypes.c_int, sizes))
    on_host.launch(library, launch.grid, launch.block, arguments, how)
    return attention_check.error(np, out, sample)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("warpgroups")


PROBLEMS = [(1, False), (65, False), (129, False), (300, False), (65, True), (257, True), (300, True)]
VARIANTS = {
    "warpgroups": WARPGROUPS,
    "turns": {**WARPGROUPS, "PING_PONG": 1},
    "ahead": AHEAD,
    "ahead without turns": {**AHEAD, "PING_PONG": 0},
    "stores": {**AHEAD, "STORES": 1},
    "persistent": PERSISTENT,
    "persistent, stores by threads": {**PERSISTENT, "STORES": 0},
    "176 keys": {**AHEAD, "BK": 176},
    "three warpgroups, 64 keys": {**AHEAD, "PING_PONG": 0, "GROUPS": 3, "BK": 64},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_any_number_of_keys_whatever_comes_first(folder: Path, name: str) -> None:
    """Two heads, so that a tile that ran into the next one would show; copies and products at once, or as late as allowed."""
    for index, (seq, causal) in enumerate(PROBLEMS):
        problem = Attention(1, 2, seq, causal)
        spread = attention_check.SPREADS[index % 2]
        blocks = 2 if VARIANTS[name]["ROOMS"] == 2 else 0
        found = error(folder, problem, VARIANTS[name], spread, TEXT, on_host.FREEDOMS[index % 4], blocks)
        assert passes(found, BOUND), (problem, found / BOUND)


BROKEN = [
    # keys behind the last one count
    ("min(S, query + 1) : S) - tile", "min(S, query + 1) : S + 9) - tile"),
    # what was added up is not shrunk
    ("out[i] *= shrink[i / 2 % 2];", "out[i] *= 1.0f;"),
    # the last tile's values are left out
    ("            values(at.stage);\n            finish<0>();\n            hold(out);\n", "            finish<0>();\n"),
    # V is let go while it is still read
    ("                finish<0>();\n                release(v_empty", "                release(v_empty"),
    # scores are read before the product is done
    ("finish<1>();", "finish<2>();"),
    # a tile is filled again as soon as one warpgroup has read it
    ("prepare(k_empty + i * 8, GROUPS * 4)", "prepare(k_empty + i * 8, 4)"),
    # half of the dimensions
    ("d / 4 * (HALF(BQ) >> 4)", "0 * (HALF(BQ) >> 4)"),
    ("describe(v, HALF(BK))", "describe(v, 1024)"),
]


@pytest.mark.parametrize(("right", "wrong"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_broken_is_found_out(folder: Path, right: str, wrong: str) -> None:
    text = TEXT
    if right == BROKEN[3][0]:  # the rung that goes ahead comes first in the source
        text = text.replace(right, wrong, 1)
    else:
        text = Mutant("stale", "ahead", right, wrong).apply(text)
    constants = {**AHEAD, "BK": 64}
    for index, how in enumerate(on_host.FREEDOMS):
        spread = attention_check.SPREADS[index % 2]
        try:
            if not passes(error(folder, Attention(1, 1, 300), constants, spread, text, how), BOUND):
                return
        except AssertionError as stuck:
            assert "wait for each other" in str(stuck)
            return
    pytest.fail("nothing shows")
