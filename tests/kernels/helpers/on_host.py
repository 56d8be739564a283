"""A CUDA source run on the CPU: compiled as C++, every thread a fibre, every inline PTX instruction a function of its warp.

The source is taken as it is: each `asm` statement becomes a call of the function in `ptx.hpp` that is named after its opcode,
with the operands in the order of the instruction's text, so that a wrong one shows.  Blocks run one after the other.

Two freedoms that a GPU has are taken to either extreme, and a kernel must be right at all of them:
- whose turn it is: the first warp runs ahead until it must wait, or the last one does;
- when a cp.async arrives: at once, or no sooner than the wait that asks for it.
Dynamic shared memory starts as NaN in every block.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
HEADER = Path(__file__).with_name("ptx.hpp")


@dataclass(frozen=True)
class Freedom:
    """How the host uses what a GPU leaves open."""

    last_warp_first: bool
    copies_arrive_late: bool


FREEDOMS = (Freedom(False, True), Freedom(True, False), Freedom(True, True), Freedom(False, False))


def translate(text: str) -> str:
    """CUDA C++ with inline PTX to C++ that `ptx.hpp` can run."""
    text = re.sub(
        r"\bextern\s+__shared__\s+(?:__align__\(\d+\)\s+)?(\w+)\s+(\w+)\s*\[\s*\]", r"\1* \2 = (\1*)dynamic_shared", text
    )
    found, at = [], 0
    for match in re.finditer(r"\basm\s*(?:volatile)?\s*\(", text):
        end = _closing(text, match.end() - 1)
        found += [text[at : match.start()], _call(text[match.end() : end])]
        at = end + 1
    return "".join([*found, text[at:]])


def _closing(text: str, opening: int) -> int:
    """Where the bracket that opens at `opening` closes; brackets in strings do not count."""
    depth, at = 0, opening
    while True:
        if text[at] == '"':
            at = text.index('"', at + 1)
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
        at += 1


def _operands(text: str) -> Iterator[str]:
    """The expressions of `"r"(expression), ...`."""
    for match in re.finditer(r'"[=+]?\w"\s*\(', text):
        yield text[match.end() : _closing(text, match.end() - 1)]


def _call(inside: str) -> str:
    """An asm statement's inside as a call, its arguments in the order in which the instruction names them."""
    strings = re.match(r'\s*((?:"[^"]*"\s*)+)', inside)
    assert strings is not None, inside
    instruction = "".join(re.findall(r'"([^"]*)"', strings[1])).strip().rstrip(";")
    expressions = list(_operands(inside[strings.end() :]))
    opcode, _, rest = instruction.partition(" ")
    tokens = re.findall(r"%%\w+|%\d+|\b\d+\b", rest)
    named = {
        token: f'"{token[2:]}"' if token[:2] == "%%" else expressions[int(token[1:])] for token in tokens if token[0] == "%"
    }
    arguments = [named.get(token, token) for token in tokens]
    return f"ptx_{re.sub(r'[.:]+', '_', opcode)}({', '.join(arguments)})"


def compile_kernel(folder: Path, text: str, entry: str, constants: Mapping[str, int]) -> ctypes.CDLL:
    """Compile a source once for each text and set of constants; the library has `launch`, see `ptx.hpp`."""
    assert COMPILER is not None
    body = f'#include "{HEADER}"\n{translate(text)}\nRUN({entry})\n'
    digest = hashlib.sha256(repr((body, sorted(constants.items()))).encode()).hexdigest()[:16]
    source, library = folder / f"{digest}.cpp", folder / f"{digest}.so"
    if not library.exists():
        source.write_text(body)
        defines = [f"-D{name}={value}" for name, value in constants.items()]
        command = [COMPILER, "-std=c++17", "-O1", "-w", "-shared", "-fPIC", *defines, str(source), "-o", str(library)]
        subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def launch(
    library: ctypes.CDLL,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arguments: tuple[Any, ...],
    freedom: Freedom,
) -> None:
    """Run a kernel; `arguments` are ctypes values in the order of its parameters."""
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
    three = ctypes.c_uint * 3
    status = library.launch(
        three(*grid), three(*block), pointers, int(freedom.last_warp_first), int(freedom.copies_arrive_late)
    )
    assert status == 0, "the threads of a block wait for each other for ever"
