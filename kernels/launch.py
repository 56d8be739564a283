"""Kernels on a GPU: load a cubin and get functions that can be launched.  CuPy is imported late, inside of functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kernels.build import Cubin, Resources, build, build_program
from kernels.catalogue import Kernel, KernelError, Launch, Problem, Program

DEFAULT_DYNAMIC_SHARED = 48 * 1024


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kernel of the catalogue ready to run: `run(A, B, C)` enqueues one launch on CuPy's current stream."""

    kernel: Kernel
    problem: Problem
    launch: Launch
    cubin: Cubin
    run: Callable[[Any, Any, Any], None]

    @property
    def resources(self) -> Resources:
        """What the compiler gave the kernel."""
        return self.cubin.resources[self.kernel.entry]


def device_arch() -> str:
    """Architecture of the current device, as `sm_90`."""
    import cupy

    return f"sm_{cupy.cuda.Device().compute_capability}"


def load(kernel: Kernel, problem: Problem) -> Loaded:
    """Build a kernel for the current device and one problem.  Raises KernelError where it cannot be built or launched."""
    import numpy

    launch = kernel.launch(problem)
    cubin = build(kernel, launch, device_arch())
    function = _module(cubin.code).get_function(kernel.entry)
    _allow_shared(function, launch.dynamic_shared, kernel.name)
    sizes = tuple(numpy.int32(size) for size in (problem.m, problem.n, problem.k))
    known: dict[tuple[int, ...], tuple[Any, ...]] = {}

    def run(a: Any, b: Any, c: Any) -> None:
        arguments: tuple[Any, ...] = (a, b, c)
        if kernel.operands is not None:  # made once for the same arrays, so that no launch waits for the driver
            place = tuple(array.data.ptr for array in arguments)
            if place not in known:
                known.clear()
                known[place] = kernel.operands(problem, *arguments)
            arguments = known[place]
        function(launch.grid, launch.block, (*arguments, *sizes), shared_mem=launch.dynamic_shared)

    return Loaded(kernel, problem, launch, cubin, run)


def load_function(program: Program, entry: str, dynamic_shared: int = 0) -> Any:
    """One entry point of a program as a CuPy function: call it with grid, block and arguments."""
    function = _module(build_program(program, device_arch()).code).get_function(entry)
    _allow_shared(function, dynamic_shared, entry)
    return function


@lru_cache(maxsize=64)
def _module(code: bytes) -> Any:
    from cupy.cuda.function import Module

    module = Module()
    module.load(code)
    return module


def _allow_shared(function: Any, size: int, name: str) -> None:
    """Ask for more dynamic shared memory than a block gets unasked."""
    if size <= DEFAULT_DYNAMIC_SHARED:
        return
    import cupy

    limit = cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    if size > limit:
        raise KernelError(f"{name} needs {size >> 10} KiB of shared memory a block; this GPU allows {limit >> 10}")
    from cupy_backends.cuda.api import driver

    driver.funcSetAttribute(function.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, size)
