"""Does every kernel compile for what it claims, without a spill, and fit on an SM?

`python -m kernels.check [ARCH ...]` compiles everything for every architecture and prints what does not; no GPU is needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from kernels.build import (
    ARCHITECTURES,
    REGISTERS_PER_SM,
    SHARED_LIMIT,
    STATIC_SHARED_LIMIT,
    CompileError,
    arch_number,
    nvrtc_version,
    supported_architectures,
)
from kernels.families import Unit, units
from kernels.nvrtc import Compiler, default_compiler

WARP_REGISTERS = 256
"""Registers are handed to a warp in units of so many (CUDA Occupancy Calculator, since Kepler)."""

ODD_SPILLS = 64
"""Bytes a thread that the guards of an odd size may push out of registers: it is verified, and nobody takes its time."""


def pairs(listed: Sequence[Unit], archs: Iterable[str]) -> list[tuple[Unit, str]]:
    """Every unit with every architecture that it claims, and whose blocks may have the shared memory that it needs."""
    return [
        (unit, arch)
        for arch in archs
        for unit in listed
        if arch_number(arch) >= unit.min_arch
        and SHARED_LIMIT[arch_number(arch)] >= unit.min_shared
        and unit.feature_arch in ("", arch)
    ]


def check(wanted: Sequence[tuple[Unit, str]], compiler: Compiler | None = None) -> list[str]:
    """What is wrong with these pairs, a line each.  Compiles on every core: NVRTC works outside of Python's lock."""
    nvrtc = compiler or default_compiler()

    def one(pair: tuple[Unit, str]) -> list[str]:
        unit, arch = pair
        return [f"{unit.family} {unit.name} on {arch}: {fault}" for fault in faults(unit, arch, nvrtc)]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [fault for found in pool.map(one, wanted) for fault in found]


def faults(unit: Unit, arch: str, compiler: Compiler) -> Iterator[str]:
    """What keeps one unit from running on one architecture."""
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
        if used.spills > (0 if unit.timed else ODD_SPILLS) or (used.stack and not used.spills):
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
        if -(-used.registers * 32 // WARP_REGISTERS) * WARP_REGISTERS * -(-threads // 32) > REGISTERS_PER_SM:
            yield f"{entry}: {used.registers} registers for {threads} threads"


def main(archs: Sequence[str]) -> int:
    """Check all of it.  Returns 0 or 1."""
    listed = archs or [arch for arch in ARCHITECTURES if arch_number(arch) in supported_architectures()]
    wrong = 0
    for arch in listed:
        wanted = pairs(units(), (arch,))
        found = check(wanted)
        wrong += len(found)
        print(f"{arch}: {len(wanted)} compilations, {len(found) or 'no'} faults", *found, sep="\n  ", flush=True)
    print(f"NVRTC {'.'.join(map(str, nvrtc_version()))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
