"""How the pixel code is compiled: one thread, no global lock, cached on disk.

numba's cache notices a change of the file that holds a function, not of the files of functions it calls. The cache's folder is
therefore named after the contents of all kernel files, so that a change of any of them compiles anew. Whoever uses a folder
holds it for as long as it runs, and sweeps those that nobody holds, but for the few used last.

Every frame has to come out of the same machine code, bit by bit, whichever process draws it. So one process at a time compiles,
and the others take its code from disk; and a kernel that another calls is compiled with it, since code from disk cannot be
inlined. It is inlined always: of a function that is called, each kernel brings a copy of its own, optimised for itself, and
which of them runs, and so how it rounds, would depend on which kernel came first.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import NullCache
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Array: TypeAlias = NDArray[Any]
Scalar: TypeAlias = Any  # a float32 of a kernel

f4, u4, u8, i4, i8 = np.float32, np.uint32, np.uint64, np.int32, np.int64

_HERE = Path(__file__).parent
_KERNEL_FILES = (
    "assemble", "blit", "bloom", "build", "colour", "compose", "contact", "grid", "ground", "ink", "jit", "order", "pixels",
    "records", "transitions/pieces", "transitions/portal", "transitions/smear",
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
    """Compile `function` at its first call for the types found; a division by zero gives infinity, not an exception.

    What another kernel calls is inlined there; it is not to be called from Python too.
    """
    settings: Any = numba.config
    elsewhere, settings.CACHE_DIR = settings.CACHE_DIR, _CACHE
    try:
        dispatcher: Any = numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")(function)
    finally:
        settings.CACHE_DIR = elsewhere
    if hasattr(dispatcher, "compile"):  # it has none where NUMBA_DISABLE_JIT is set
        dispatcher.compile = _one_at_a_time(dispatcher)
    return cast(Function, dispatcher)


_compiling = threading.local()


def _one_at_a_time(dispatcher: Any) -> Callable[[Any], Any]:
    """numba's way to get the code of one signature, from disk or by compiling, under a lock that all processes share."""
    get = dispatcher.compile

    def compile_or_load(signature: Any) -> Any:
        if getattr(_compiling, "now", False):  # for a kernel that calls this one
            kept, dispatcher._cache = dispatcher._cache, NullCache()
            dispatcher.targetoptions["forceinline"] = True
            try:
                return get(signature)
            finally:
                dispatcher._cache = kept
                del dispatcher.targetoptions["forceinline"]
        _hold()
        with open(os.path.join(_CACHE, "lock"), "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _compiling.now = True
            try:
                return get(signature)
            finally:
                _compiling.now = False

    return compile_or_load


_held: list[int] = []  # the open lock, closed when this process ends


def _hold() -> None:
    """Make the folder, take a share of its lock before anybody sweeps it, and sweep the others; once a process."""
    name = os.path.join(_CACHE, "in-use")
    while not _held:
        os.makedirs(_CACHE, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # swept between two lines of this
            lock = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if os.path.exists(name) and os.path.samestat(os.fstat(lock), os.stat(name)):
                os.utime(name)
                _held.append(lock)
                sweep(Path(_CACHE))
            else:
                os.close(lock)


def sweep(mine: Path, kept: int = 3) -> list[Path]:
    """Remove folders of kernels beside `mine` that no process uses, but for the `kept` used last; returns those removed."""

    def used(folder: Path) -> float:
        lock = folder / "in-use"
        return (lock if lock.exists() else folder).stat().st_mtime

    removed = []
    with contextlib.suppress(OSError):  # another process sweeps, too
        others = [folder for folder in mine.parent.glob("kernels-*") if folder != mine]
        for folder in sorted(others, key=used, reverse=True)[kept:]:
            with open(folder / "in-use", "a") as lock, contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
                removed.append(folder)
    return removed


def aligned(shape: tuple[int, ...], dtype: Any) -> Array:
    """Zeros on a 64-byte boundary: a run of 16 pixels is then one cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    offset = -raw.ctypes.data % 64
    array: Array = raw[offset : offset + size].view(dtype).reshape(shape)
    return array
