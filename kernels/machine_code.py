"""What a cubin's machine code says without a disassembler: its instructions, their memory accesses, its main loop.

An instruction has 16 bytes since Volta (CUDA Binary Utilities documentation lists their names, not their bits).  The bits that
are read here were found with nvdisasm and are checked by tests on every architecture: the lowest nine say what an instruction
does, whatever the form of its operands; bits 73 to 75 how wide a memory access is; a branch's offset lies in bits 34 to 81.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from kernels.build import Cubin, arch_number
from kernels.catalogue import KernelError

SIZE = 16
FFMA = 0x023
BRANCH = 0x147

Access = tuple[Literal["shared", "global"], Literal["load", "store"], int]
"""Memory space, what is done there, and bytes a lane."""

_SPACES: dict[int, tuple[Literal["shared", "global"], Literal["load", "store"]]] = {
    0x184: ("shared", "load"),
    0x188: ("shared", "store"),
    0x181: ("global", "load"),
    0x186: ("global", "store"),
}
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 8, 6: 16}
_SPLIT_SINCE = 90  # from Hopper on the lowest eight bits of a branch's offset lie apart, in bits 16 to 23


def instructions(cubin: Cubin, entry: str) -> tuple[int, ...]:
    """The 128-bit instructions of a kernel, in order.  Raises KernelError where the cubin has no such entry."""
    code = cubin.code
    sections = struct.unpack_from("<Q", code, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", code, 0x3A)
    table = [struct.unpack_from("<IIQQQQ", code, sections + index * size) for index in range(count)]
    for name, _, _, _, offset, length in table:
        start = table[names][4] + name
        if code[start : code.index(b"\0", start)].decode() == f".text.{entry}":
            return tuple(int.from_bytes(code[at : at + SIZE], "little") for at in range(offset, offset + length, SIZE))
    raise KernelError(f"no machine code of {entry} in a cubin of {', '.join(cubin.resources)}")


def operation(instruction: int) -> int:
    """What an instruction does, as `FFMA` and `BRANCH` name it."""
    return instruction & 0x1FF


def memory_accesses(code: Sequence[int]) -> Counter[Access]:
    """Loads and stores of shared and global memory; local memory, atomics and asynchronous copies are left out."""
    found: Counter[Access] = Counter()
    for instruction in code:
        if (place := _SPACES.get(operation(instruction))) is not None:
            found[*place, _WIDTHS[instruction >> 73 & 7]] += 1
    return found


def branch_target(instruction: int, index: int, arch: str) -> int:
    """Index of the instruction that a branch at `index` goes to."""
    offset = instruction >> 34 & (1 << 48) - 1
    offset -= (offset >> 47) << 48
    if arch_number(arch) >= _SPLIT_SINCE:
        offset = offset << 8 | instruction >> 16 & 0xFF
    return index + 1 + offset * 4 // SIZE


def main_loop(code: Sequence[int], arch: str, wanted: int = FFMA) -> range:
    """Indices of the loop with most of the wanted operation; of nested ones the innermost.  Raises KernelError if none."""
    loops = [
        range(target, index + 1)
        for index, instruction in enumerate(code)
        if operation(instruction) == BRANCH and 0 <= (target := branch_target(instruction, index, arch)) < index
    ]
    if not loops:
        raise KernelError("the machine code has no loop")
    return max(loops, key=lambda loop: (sum(operation(code[index]) == wanted for index in loop), -len(loop)))
