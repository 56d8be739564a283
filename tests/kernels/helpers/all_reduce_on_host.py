"""Builds the all-reduces as C++ libraries whose threads are fibres; see `all_reduce_fibres.cpp`."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
FIBRES = Path(__file__).with_name("all_reduce_fibres.cpp")


def built(folder: Path, source: str, defines: Mapping[str, int | str]) -> Path:
    """The library of some of the kernels' sources, compiled once; `ENTRIES` of the defines lists their entry points."""
    assert COMPILER is not None
    name = hashlib.sha256(repr((source, sorted(defines.items()))).encode()).hexdigest()[:16]
    library = folder / f"{name}.so"
    if not library.exists():
        text = FIBRES.read_text().replace("// SOURCES", source.replace("#pragma unroll", ""))
        (folder / f"{name}.cpp").write_text(text)
        options = [f"-D{key}={value}" for key, value in defines.items()]
        command = [COMPILER, "-std=c++17", "-O0", "-w", "-shared", "-fPIC", *options, f"{name}.cpp", "-o", library.name]
        subprocess.run(command, cwd=folder, check=True)
    return library
