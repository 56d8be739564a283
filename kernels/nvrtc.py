"""The CUDA compiler as a library (NVRTC), by three ways: `cuda.bindings`, CuPy, or a library file that is named.

All load NVIDIA's own library and give the same: a version, the architectures it builds for, and cubins with the log.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from kernels.catalogue import KernelError


class CompileError(KernelError):
    """A source that the compiler refused; the message holds the first lines of its log."""


class Compiler(Protocol):
    """What the rest of the project asks of NVRTC."""

    def version(self) -> tuple[int, int]:
        """As (13, 0)."""

    def architectures(self) -> list[int]:
        """Compute capabilities that it builds for, as 90 for 9.0."""

    def compile(self, text: str, name: str, options: tuple[str, ...]) -> tuple[bytes, str]:
        """Cubin and log of one source.  Raises CompileError."""

    def __hash__(self) -> int:
        """By identity: what was compiled is kept by compiler."""


@lru_cache(maxsize=1)
def default_compiler() -> Compiler:
    """The compiler that is installed.  Raises KernelError where there is none."""
    problems = []
    for backend in (_Bindings, _Cupy):
        try:
            return backend()
        except Exception as error:  # any of ImportError, the loader's or the library's own
            problems.append(str(error).splitlines()[0] if str(error) else type(error).__name__)
    raise KernelError(f"no CUDA compiler (NVRTC) found: install nvidia-cuda-nvrtc and cuda-bindings ({'; '.join(problems)})")


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


class Library:
    """NVRTC out of one library file, so that a compiler of another CUDA can be asked beside the installed one."""

    def __init__(self, path: Path) -> None:
        """Load the library.  Raises KernelError where it is none."""
        with suppress(KernelError):
            default_compiler()  # cuda.bindings takes any NVRTC that is loaded already, so its own has to be there first
        try:
            self._library = ctypes.CDLL(str(path))
            self.version()
        except (OSError, AttributeError) as error:
            raise KernelError(f"{path.name} cannot be loaded as NVRTC: {error}") from None

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise KernelError(f"{name}: status {status}")

    def version(self) -> tuple[int, int]:
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def architectures(self) -> list[int]:
        count = ctypes.c_int()
        self._call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        found = (ctypes.c_int * count.value)()
        self._call("nvrtcGetSupportedArchs", found)
        return list(found)

    def compile(self, text: str, name: str, options: tuple[str, ...]) -> tuple[bytes, str]:
        program = ctypes.c_void_p()
        self._call("nvrtcCreateProgram", ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
        try:
            words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            status = self._library.nvrtcCompileProgram(program, len(options), words)
            log = self._read("ProgramLog", program).rstrip(b"\0").decode(errors="replace")
            if status != 0:
                raise _refused(name, log)
            return self._read("CUBIN", program), log
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _read(self, what: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(f"nvrtcGet{what}", program, buffer)
        return buffer.raw
