"""Every kernel of every family compiles with the compilers of CUDA 12 and 13, for what it claims, without a spill, and fits."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pytest

from kernels.build import ARCHITECTURES, CompileError, arch_number, supported_architectures
from kernels.catalogue import ROOT, KernelError
from kernels.check import check, pairs
from kernels.families import FAMILIES, Unit, units
from kernels.nvrtc import Compiler, Library, default_compiler

pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compilers come with the extra dev")


def library_of_cuda_12() -> Path:
    """The library that the package nvidia-cuda-nvrtc-cu12 brings."""
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    assert spec is not None and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations))) / "lib" / "libnvrtc.so.12"


@lru_cache(maxsize=1)
def cuda_12() -> Compiler:
    return Library(library_of_cuda_12())


KNOWN = [arch for arch in ARCHITECTURES if arch_number(arch) in supported_architectures()]
APART = ("sm_75", "sm_80", "sm_90a", "sm_100", "sm_120")
"""One of each instruction set.  The others are as one of them to the compiler but for their numbers."""


def taking_turns(listed: Sequence[Unit], archs: Sequence[str], times: int = 1) -> list[tuple[Unit, str]]:
    """Every unit on so many of the architectures that it claims, if any, one unit after the other on the next."""
    found = []
    for index, unit in enumerate(listed):
        claimed = [arch for arch in archs if pairs((unit,), (arch,))]
        found += [(unit, claimed[(index + turn) % len(claimed)]) for turn in range(times if claimed else 0)]
    return found


TIMED = [unit for unit in units() if unit.timed]
ODD = [unit for unit in units() if not unit.timed]
ONCE = list({unit.source: unit for unit in ODD}.values())
"""An odd size of each source: the others are the same text with other constants."""


def test_the_claim_reaches_from_turing_to_blackwell() -> None:
    assert {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"} <= set(KNOWN)


@pytest.mark.parametrize("arch", APART)
def test_what_is_timed_compiles_without_spills_and_fits(arch: str) -> None:
    """The whole matrix takes minutes: `python -m kernels.check` is that."""
    assert check(pairs(TIMED, (arch,))) == []


def test_the_other_architectures_take_turns() -> None:
    assert check(taking_turns(TIMED, [arch for arch in KNOWN if arch not in APART])) == []


def test_odd_sizes_compile_on_the_oldest_and_on_others_in_turn() -> None:
    oldest = [pairs((unit,), KNOWN)[0] for unit in ONCE]
    assert check(oldest + taking_turns(ODD, KNOWN)) == []


def test_the_compiler_of_cuda_12_builds_all_of_it() -> None:
    nvrtc = cuda_12()
    known = [arch for arch in KNOWN if arch_number(arch) in supported_architectures(nvrtc)]
    assert {"sm_75", "sm_80", "sm_90a", "sm_100", "sm_120"} <= set(known)
    assert check(taking_turns(TIMED, known) + taking_turns(ONCE, known[::-1]), nvrtc) == []


def test_the_two_compilers_are_of_two_cudas() -> None:
    """12.9 is the last of CUDA 12 and the last to know Volta (7.0); Turing is the oldest of CUDA 13."""
    assert cuda_12().version() == (12, 9)
    assert default_compiler().version() >= (13, 0)
    assert min(supported_architectures()) == 75 and {70, 75, 90, 120, 121} <= supported_architectures(cuda_12())


def test_the_second_compiler_does_not_take_the_place_of_the_first(root: Path) -> None:
    """Whichever is loaded first, in a fresh process."""
    code = f"""
from pathlib import Path
from kernels.nvrtc import Library, default_compiler
second = Library(Path({str(library_of_cuda_12())!r}))
print(default_compiler().version()[0], second.version()[0])
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert result.stdout == "13 12\n"


def test_an_error_is_one_line_from_either_compiler() -> None:
    for compiler in (default_compiler(), cuda_12()):
        with pytest.raises(CompileError, match=r"^broken\.cu does not compile: broken\.cu\(1\): error: .*undefined") as caught:
            compiler.compile("__global__ void f() { undefined(); }", "broken.cu", ("-arch=sm_90",))
        assert "\n" not in str(caught.value)


def test_what_is_no_compiler_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"^libnvrtc\.so\.99 cannot be loaded as NVRTC: "):
        Library(tmp_path / "libnvrtc.so.99")


def test_the_registry_leaves_no_source_and_no_entry_point_out() -> None:
    """Entry points by the sources' own text; those that a macro makes are found by the compiler alone."""
    registered = {unit.source for unit in units()}
    assert {path for path in ROOT.rglob("*.cu")} == registered
    for source in registered:
        ours = [unit for unit in units() if unit.source == source]
        built = {entry for unit in ours if unit.timed for entry in unit.build("sm_90a").resources}
        plain = "\n".join(text for text in source.read_text().splitlines() if not text.endswith("\\"))
        declared = re.sub(r"__launch_bounds__\((?:[^()]|\([^()]*\))*\)", "", plain)
        written = set(re.findall(r'extern "C" __global__ void\s+(\w+)\(', declared))
        assert {name for name in written if not name.isupper()} <= built, source.name
        assert built == {entry for unit in ours for entry in unit.entries}, source.name


def test_families_are_the_folders() -> None:
    folders = {path.parent.name for path in ROOT.rglob("*.cu")}
    assert {family.name for family in FAMILIES} == folders
    assert {unit.source.parent.name for family in FAMILIES for unit in family.units if unit.family == family.name} == folders
