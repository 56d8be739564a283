"""CUDA C++ to cubin with NVRTC, for any architecture and without a GPU, and what the compiler says about the result.

The sources are header-free, so nothing of the CUDA toolkit but its compiler is needed.  Every function asks the installed
compiler unless it is handed another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kernels.catalogue import Kernel, KernelError, Launch, Program, Routine, Step
from kernels.nvrtc import CompileError, Compiler, default_compiler

__all__ = [
    "ARCHITECTURES", "REGISTERS_PER_SM", "SHARED_LIMIT", "STATIC_SHARED_LIMIT", "CompileError", "Cubin", "Resources",
    "arch_number", "build", "build_program", "build_step", "compile_source", "nvrtc_version", "read_resources",
    "supported_architectures", "target",
]  # fmt: skip

ARCHITECTURES = (
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_103", "sm_110", "sm_120",
)  # fmt: skip
"""The architectures that the kernels are written for, Turing to Blackwell; older ones left CUDA with version 13."""

SHARED_LIMIT = {75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227, 100: 227, 103: 227, 110: 227, 120: 99}
"""Largest shared memory of a block in KiB (CUDA C++ Programming Guide, technical specifications per compute capability)."""

STATIC_SHARED_LIMIT = 48 * 1024
"""Largest shared memory of a block that is declared in the source, on every architecture."""

CACHING_SINCE = (12, 9)
"""From this version on NVRTC hands out cubins of earlier processes, without the log that the resources are read from."""

REGISTERS_PER_SM = 65536
"""32-bit registers of an SM, on every architecture listed (same table)."""

_ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SMEM = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True, slots=True)
class Resources:
    """What one kernel needs: registers a thread, bytes of local stack, bytes spilled (stores + loads), static shared bytes."""

    registers: int
    stack: int
    spills: int
    shared: int


@dataclass(frozen=True, slots=True)
class Cubin:
    """Machine code of one source for one architecture; `resources` by entry point."""

    code: bytes
    arch: str
    options: tuple[str, ...]
    resources: Mapping[str, Resources]
    log: str


def arch_number(arch: str) -> int:
    """75 of `sm_75`, 90 of `sm_90a`."""
    digits = re.fullmatch(r"sm_(\d+)[af]?", arch)
    if digits is None:
        raise KernelError(f"{arch!r} is no architecture; write it like sm_90")
    return int(digits[1])


def nvrtc_version(compiler: Compiler | None = None) -> tuple[int, int]:
    """Version of the compiler.  Raises KernelError where there is none."""
    return (compiler or default_compiler()).version()


def supported_architectures(compiler: Compiler | None = None) -> frozenset[int]:
    """Compute capabilities that the compiler can build for."""
    return frozenset((compiler or default_compiler()).architectures())


def compile_source(
    text: str,
    arch: str,
    constants: Mapping[str, int] | None = None,
    name: str = "kernel.cu",
    compiler: Compiler | None = None,
) -> Cubin:
    """Compile CUDA C++ to a cubin for one architecture, constants passed as macros.  Raises CompileError with the log."""
    compiler = compiler or default_compiler()
    options = (
        f"-arch={arch}",
        "-std=c++17",
        "--ptxas-options=-v",
        *(("--no-cache",) if compiler.version() >= CACHING_SINCE else ()),
        *(f"-D{key}={value}" for key, value in sorted((constants or {}).items())),
    )
    return _compile(compiler, text, options, arch, name)


def build(kernel: Kernel, launch: Launch, arch: str, compiler: Compiler | None = None) -> Cubin:
    """Compile a kernel of the catalogue as one launch of it needs it."""
    arch = target(kernel.name, kernel.min_arch, kernel.feature_arch, arch)
    return compile_source(kernel.text, arch, launch.constants, kernel.source.name, compiler)


def build_step(routine: Routine[Any], step: Step, arch: str, compiler: Compiler | None = None) -> Cubin:
    """Compile a routine's source as one of its steps needs it."""
    arch = target(routine.name, routine.min_arch, routine.feature_arch, arch)
    return compile_source(routine.text, arch, step.launch.constants, routine.source.name, compiler)


def build_program(program: Program, arch: str, compiler: Compiler | None = None) -> Cubin:
    """Compile a program of the catalogue."""
    arch = target(program.name, program.min_arch, program.feature_arch, arch)
    return compile_source(program.text, arch, program.constants, program.source.name, compiler)


def target(name: str, least: int, feature_arch: str, arch: str) -> str:
    """What to compile for so that it runs on `arch`: `sm_90a` on an `sm_90` for what uses that one's own instructions.

    Raises KernelError where it cannot run there.
    """
    if feature_arch and arch_number(arch) != arch_number(feature_arch):
        raise KernelError(f"{name} uses instructions that only {feature_arch} has, and this is {arch}")
    if arch_number(arch) < least:
        raise KernelError(f"{name} is written for sm_{least} and newer, not for {arch}")
    return feature_arch or arch


def read_resources(log: str) -> dict[str, Resources]:
    """Registers, stack, spills and shared memory by entry point, from the log that `ptxas -v` writes."""
    found: dict[str, Resources] = {}
    entry, stack, spills = None, 0, 0
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            entry, stack, spills = match[1], 0, 0
        elif match := _SPILLS.search(line):
            stack, spills = int(match[1]), int(match[2]) + int(match[3])
        elif entry is not None and (match := _USED.search(line)):
            shared = _SMEM.search(line)
            found[entry] = Resources(int(match[1]), stack, spills, int(shared[1]) if shared else 0)
            entry = None
    return found


@lru_cache(maxsize=4096)
def _compile(compiler: Compiler, text: str, options: tuple[str, ...], arch: str, name: str) -> Cubin:
    code, log = compiler.compile(text, name, options)
    return Cubin(code, arch, options, read_resources(log), log)
