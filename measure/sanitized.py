"""What runs under compute-sanitizer: one subject, measured as briefly as can be, or a planted fault.

`python -m measure.sanitized TOOL SUBJECT NOTES`.  CuPy's memory pool is off, so that every array is an allocation of its own:
an access past its end, or a read of what nobody wrote, shows.  A subject verifies its kernels at small and odd sizes as always;
then one launch of each is timed; the ladders' rungs run one by one (`measure.sanitized_rungs`).
NOTES gets the entry points that were launched, and why the subject broke off or cannot run.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernels.build import compile_source
from measure import mma_roof, patterns
from measure.brief import BRIEF
from measure.errors import Unsupported
from measure.files import write_text
from measure.sanitized_rungs import LADDERS, RUNGS
from measure.subjects import SUBJECTS

OTHERS: Mapping[str, Callable[[], None]] = {"patterns": patterns.launch_all}
"""What is no subject but launches kernels."""

PROBES = {one.name: one for one in (mma_roof.MMA, mma_roof.WGMMA)}
"""The tensor cores' probes, which the subject of the bf16 ladder launches."""

RUN = (*(subject.name for subject in SUBJECTS if not subject.needs and subject.name not in LADDERS), *OTHERS, *PROBES, *RUNGS)
"""Everything that can be run; what needs another subject launches the same again; of a ladder each rung runs by itself."""

SMALL: Mapping[str, Mapping[str, Any]] = {
    "measure.mma_roof": {"LAUNCH_SECONDS": 0.0},
    "measure.streams": {"QUICK_SIZE": 1 << 20, "LEAST_L2": 0},
    "measure.all_reduce": {"QUICK_SIZES": (1 << 10, 1 << 19)},
    "measure.all_reduce_group": {"HELD": 0.0},
}
"""Sizes that fit every tile and no more, by module: instrumented code is up to some hundred times as slow.  Nothing is held
behind a gate: initcheck lets a copy wait for all kernels before it, of which the gate would be one."""

CONTROL = "a planted fault"

PLANTED = """
extern "C" __global__ void planted_memcheck(int* x, int n) { x[n + threadIdx.x] = 1; }
extern "C" __global__ void planted_racecheck(int* x, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = n;
    x[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void planted_initcheck(int* x, int n) { x[threadIdx.x] = x[threadIdx.x + 64] + n; }
extern "C" __global__ void planted_synccheck(int* x, int n) {
    if (threadIdx.x % 32 < 16) __syncthreads();
    x[threadIdx.x] = n;
}
"""
"""A fault for each tool: a write past the end, a missing barrier, a read of what nobody wrote, a barrier half a warp misses."""


def main(tool: str, name: str, notes: Path) -> int:
    """Run it and write the notes."""
    import cupy

    cupy.cuda.set_allocator(None)
    launched: set[str] = set()
    failure = skipped = ""
    try:
        if name == CONTROL:
            _plant(tool)
        else:
            _note_launches(launched)
            _collect(name)
        cupy.cuda.Device().synchronize()
    except Unsupported as error:
        skipped = str(error)
    except Exception as error:  # whatever it is, the notes have to say that this did not run to its end
        failure = f"{type(error).__name__}: {error}".splitlines()[0]
    write_text(notes, json.dumps({"launched": sorted(launched), "failure": failure, "skipped": skipped}))
    return 0


def _collect(name: str) -> None:
    from measure.device import require_gpu, throttle_reasons
    from measure.subject import Bench
    from measure.timing import Stopwatch

    if name in OTHERS or name in RUNGS:
        {**OTHERS, **RUNGS}[name]()
        return
    for module, values in SMALL.items():
        for attribute, value in values.items():
            setattr(importlib.import_module(module), attribute, value)
    hardware = require_gpu()
    bench = Bench(hardware, BRIEF, True, Stopwatch(hardware), lambda words: None, throttle_reasons)
    if name in PROBES:
        mma_roof.collect(bench, PROBES[name])
        return
    subject = next(one for one in SUBJECTS if one.name == name)
    if hardware.capability < subject.min_arch:
        raise Unsupported(f"needs compute capability {subject.min_arch / 10:.1f}")
    subject.collect(bench)


def _plant(tool: str) -> None:
    import cupy
    from cupy.cuda.function import Module

    from kernels.launch import device_arch

    module = Module()
    module.load(compile_source(PLANTED, device_arch(), name="planted.cu").code)
    x = cupy.empty(128, cupy.int32)
    module.get_function(f"planted_{tool}")((1,), (64,), (x, cupy.int32(128)))


class _Noted:
    """A function of a module that notes its launches."""

    def __init__(self, function: Any, entry: str, launched: set[str]) -> None:
        self._function, self._entry, self._launched = function, entry, launched

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self._launched.add(self._entry)
        return self._function(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


class _Module:
    """A loaded module whose functions note their launches."""

    def __init__(self, module: Any, launched: set[str]) -> None:
        self._module, self._launched = module, launched

    def get_function(self, entry: str) -> _Noted:
        return _Noted(self._module.get_function(entry), entry, self._launched)


def _note_launches(launched: set[str]) -> None:
    """Have every function that the project loads note its launches."""
    from kernels import launch

    inner = launch._module
    launch._module = lambda code: _Module(inner(code), launched)  # type: ignore[assignment]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
