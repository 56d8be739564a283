"""How the pixel code is compiled: one thread, no global lock, cached on disk.

numba's cache notices a change of the file that holds a function, not of the files of functions it calls. The cache's folder is
therefore named after the contents of all kernel files, so that a change of any of them compiles anew.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Array: TypeAlias = NDArray[Any]
Scalar: TypeAlias = Any  # a float32 of a kernel

f4, u4, i4, i8 = np.float32, np.uint32, np.int32, np.int64

_HERE = Path(__file__).parent
_KERNEL_FILES = (
    "assemble", "blit", "bloom", "build", "colour", "compose", "contact", "grid", "ground", "ink", "jit", "order", "pixels",
    "records",
)  # fmt: skip


def _cache_folder() -> str:
    """Folder of compiled kernels: beside the sources, or the user's cache folder where those are read-only."""
    digest = hashlib.sha256()
    for name in _KERNEL_FILES:
        digest.update((_HERE / f"{name}.py").read_bytes())
    beside = _HERE / "__pycache__"
    writable = os.access(beside if beside.exists() else _HERE, os.W_OK)
    base = beside if writable else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roofline"
    return str(base / f"kernels-{digest.hexdigest()[:12]}")


_CACHE = _cache_folder()


def folder() -> Path:
    """Where the compiled kernels of these sources lie, or will lie."""
    return Path(_CACHE)


def kernel(function: Function) -> Function:
    """Compile `function` at its first call for the types found; a division by zero gives infinity, not an exception."""
    settings: Any = numba.config
    elsewhere, settings.CACHE_DIR = settings.CACHE_DIR, _CACHE
    try:
        return cast(Function, numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")(function))
    finally:
        settings.CACHE_DIR = elsewhere


def aligned(shape: tuple[int, ...], dtype: Any) -> Array:
    """Zeros on a 64-byte boundary: a run of 16 pixels is then one cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    offset = -raw.ctypes.data % 64
    array: Array = raw[offset : offset + size].view(dtype).reshape(shape)
    return array
