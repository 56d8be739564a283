"""Every kernel of every family compiles with the compilers of CUDA 12 and 13, for what it claims, without a spill, and fits."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import pytest

from kernels.build import (
    ARCHITECTURES,
    REGISTERS_PER_SM,
    SHARED_LIMIT,
    STATIC_SHARED_LIMIT,
    CompileError,
    arch_number,
    supported_architectures,
)
from kernels.catalogue import ROOT, KernelError
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


EVERY = [arch for arch in ARCHITECTURES if arch_number(arch) in supported_architectures()]
CASES = [
    *(pytest.param(default_compiler, arch, id=f"cuda13-{arch}") for arch in EVERY),
    # the ends, the first with cp.async and the first with wgmma: each of its own instructions
    *(pytest.param(cuda_12, arch, id=f"cuda12-{arch}") for arch in ("sm_75", "sm_80", "sm_90a", "sm_120")),
]


def claimed(arch: str) -> list[Unit]:
    return [unit for unit in units() if arch_number(arch) >= unit.min_arch]


def faults(unit: Unit, arch: str, compiler: Compiler) -> Iterator[str]:
    """What keeps a unit from running on an architecture."""
    try:
        cubin = unit.build(arch, compiler)
    except CompileError as error:
        yield str(error)
        return
    if cubin.code[:4] != b"\x7fELF":
        yield "no machine code"
    for entry in unit.entries:
        used = cubin.resources.get(entry)
        if used is None:
            yield f"no entry {entry}"
            continue
        if used.spills or used.stack:
            yield f"{entry}: {used.spills} B spilled, {used.stack} B of stack"
        if used.shared > STATIC_SHARED_LIMIT:
            yield f"{entry}: {used.shared} B of static shared memory"
        if unit.launch is None:
            continue
        threads, shared = unit.launch.threads, used.shared + unit.launch.dynamic_shared
        if threads > 1024:
            yield f"{entry}: {threads} threads"
        if shared > SHARED_LIMIT[arch_number(arch)] * 1024:
            yield f"{entry}: {shared} B of shared memory"
        if -(-used.registers * 32 // 256) * 256 * -(-threads // 32) > REGISTERS_PER_SM:  # handed to warps in units of 256
            yield f"{entry}: {used.registers} registers for {threads} threads"


@pytest.mark.parametrize(("compiler", "arch"), CASES)
def test_every_kernel_compiles_without_spills_and_fits(compiler: type[Compiler], arch: str) -> None:
    nvrtc = compiler()
    assert arch_number(arch) in supported_architectures(nvrtc)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # NVRTC compiles outside of Python's lock
        found = pool.map(
            lambda unit: [f"{unit.family} {unit.name}: {fault}" for fault in faults(unit, arch, nvrtc)], claimed(arch)
        )
        assert [fault for one in found for fault in one] == []


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
    """Entry points by the sources' own text; one of a macro (`chase_##CACHE`) is found by the compiler."""
    registered = {unit.source for unit in units()}
    assert {path for path in ROOT.rglob("*.cu")} == registered
    for source in registered:
        ours = [unit for unit in units() if unit.source == source]
        built = {entry for unit in ours for entry in unit.build("sm_90a").resources}
        written = set(
            re.findall(
                r'extern "C" __global__ void (?:__launch_bounds__\([^()]*(?:\([^()]*\))?[^()]*\) )?(\w+)\(', source.read_text()
            )
        )
        assert written <= built, source.name
        assert built == {entry for unit in ours for entry in unit.entries}, source.name


def test_families_are_the_folders() -> None:
    folders = {path.parent.name for path in ROOT.rglob("*.cu")}
    assert {family.name for family in FAMILIES} == folders
    assert {unit.source.parent.name for family in FAMILIES for unit in family.units if unit.family == family.name} == folders
