"""CUDA C++ to cubin with NVRTC, for any architecture and without a GPU, and what the compiler says about the result.

NVRTC comes with `cuda.bindings` or, where that is not installed, through CuPy; both load NVIDIA's own library.  The sources are
header-free, so nothing else of the CUDA toolkit is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kernels.catalogue import Kernel, KernelError, Launch, Program

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


class CompileError(KernelError):
    """A source that the compiler refused; the message holds the first lines of its log."""


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


def nvrtc_version() -> tuple[int, int]:
    """Version of the compiler.  Raises KernelError where there is none."""
    return _nvrtc().version()


def supported_architectures() -> frozenset[int]:
    """Compute capabilities that the installed compiler can build for."""
    return frozenset(_nvrtc().architectures())


def compile_source(text: str, arch: str, constants: Mapping[str, int] | None = None, name: str = "kernel.cu") -> Cubin:
    """Compile CUDA C++ to a cubin for one architecture, constants passed as macros.  Raises CompileError with the log."""
    options = (
        f"-arch={arch}",
        "-std=c++17",
        "--ptxas-options=-v",
        *(("--no-cache",) if nvrtc_version() >= CACHING_SINCE else ()),
        *(f"-D{key}={value}" for key, value in sorted((constants or {}).items())),
    )
    return _compile(text, options, arch, name)


def build(kernel: Kernel, launch: Launch, arch: str) -> Cubin:
    """Compile a kernel of the catalogue as one launch of it needs it."""
    if arch_number(arch) < kernel.min_arch:
        raise KernelError(f"{kernel.name} is written for sm_{kernel.min_arch} and newer, not for {arch}")
    return compile_source(kernel.text, arch, launch.constants, kernel.source.name)


def build_program(program: Program, arch: str) -> Cubin:
    """Compile a program of the catalogue."""
    return compile_source(program.text, arch, program.constants, program.source.name)


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


@lru_cache(maxsize=256)
def _compile(text: str, options: tuple[str, ...], arch: str, name: str) -> Cubin:
    code, log = _nvrtc().compile(text, name, options)
    return Cubin(code, arch, options, read_resources(log), log)


def _refused(name: str, log: str) -> CompileError:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return CompileError(f"{name} does not compile: {' | '.join(lines[:4])}")


class _Bindings:
    """NVRTC through `cuda.bindings`, every call's status checked."""

    def __init__(self) -> None:
        from cuda.bindings import nvrtc

        self.nvrtc: Any = nvrtc
        self.version()  # loads the library, or says that it is not there

    def call(self, name: str, *arguments: Any) -> Any:
        status, *results = getattr(self.nvrtc, name)(*arguments)
        if status != self.nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise KernelError(f"{name}: {status.name}")
        return results[0] if len(results) == 1 else tuple(results)

    def version(self) -> tuple[int, int]:
        major, minor = self.call("nvrtcVersion")
        return int(major), int(minor)

    def architectures(self) -> list[int]:
        return list(self.call("nvrtcGetSupportedArchs"))

    def compile(self, text: str, name: str, options: tuple[str, ...]) -> tuple[bytes, str]:
        program = self.call("nvrtcCreateProgram", text.encode(), name.encode(), 0, [], [])
        try:
            status = self.nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])[0]
            buffer = b" " * self.call("nvrtcGetProgramLogSize", program)
            self.call("nvrtcGetProgramLog", program, buffer)
            log = buffer.rstrip(b"\0 ").decode(errors="replace")
            if status != self.nvrtc.nvrtcResult.NVRTC_SUCCESS:
                raise _refused(name, log)
            code = b" " * self.call("nvrtcGetCUBINSize", program)
            self.call("nvrtcGetCUBIN", program, code)
            return code, log
        finally:
            self.nvrtc.nvrtcDestroyProgram(program)


class _Cupy:
    """NVRTC through CuPy, for a GPU machine without `cuda.bindings`."""

    def __init__(self) -> None:
        from cupy.cuda import nvrtc

        self.nvrtc: Any = nvrtc
        self.version()

    def version(self) -> tuple[int, int]:
        major, minor = self.nvrtc.getVersion()
        return int(major), int(minor)

    def architectures(self) -> list[int]:
        return list(self.nvrtc.getSupportedArchs())

    def compile(self, text: str, name: str, options: tuple[str, ...]) -> tuple[bytes, str]:
        program = self.nvrtc.createProgram(text, name, (), ())
        try:
            self.nvrtc.compileProgram(program, options)
            return self.nvrtc.getCUBIN(program), self.nvrtc.getProgramLog(program)
        except self.nvrtc.NVRTCError:
            raise _refused(name, self.nvrtc.getProgramLog(program)) from None
        finally:
            self.nvrtc.destroyProgram(program)


@lru_cache(maxsize=1)
def _nvrtc() -> _Bindings | _Cupy:
    problems = []
    for backend in (_Bindings, _Cupy):
        try:
            return backend()
        except Exception as error:  # any of ImportError, the loader's or the library's own
            problems.append(str(error).splitlines()[0] if str(error) else type(error).__name__)
    raise KernelError(f"no CUDA compiler (NVRTC) found: install nvidia-cuda-nvrtc and cuda-bindings ({'; '.join(problems)})")
