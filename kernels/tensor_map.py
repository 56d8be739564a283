"""Tensor maps: what the copy engine of Hopper (TMA) is told of an array, so that one instruction fetches a whole tile.

A map is made by the driver (`cuTensorMapEncodeTiled`, CUDA Driver API, "Tensor Map Object Management") and handed to a kernel
by value, as a `const __grid_constant__` parameter of 128 bytes, aligned to 64.  What lies outside of the array is fetched as
zeros and never written.  The limits that are checked here are those of that function's documentation.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kernels.catalogue import KernelError

SIZE = 128
"""Bytes of an encoded map."""

ALIGNMENT = 16
"""Bytes that the array's address and its strides must be multiples of."""

MOST_DIMENSIONS, LARGEST_BOX, LARGEST_SIZE, LARGEST_STRIDE = 5, 256, 2**32, 2**40

TYPES: Mapping[str, tuple[int, int]] = {"uint8": (0, 1), "float16": (6, 2), "float32": (7, 4), "bfloat16": (9, 2)}
"""Type by name: its number in the driver's header, and its bytes."""

SWIZZLES: Mapping[int, int] = {0: 0, 32: 1, 64: 2, 128: 3}
"""Width of a swizzle's rows in bytes, 0 for none: its number in the driver's header."""

PROMOTIONS: Mapping[int, int] = {0: 0, 64: 1, 128: 2, 256: 3}
"""Bytes that a miss brings to L2 at once, 0 for no more than asked for: its number in the driver's header."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """An array of `shape`, outermost dimension first, and the `box` of it that one copy moves.

    `strides` are the bytes from one index to the next, of every dimension but the last, which is dense; by default those of an
    array in C order.  With a `swizzle` of 32, 64 or 128 a box's innermost row is no longer than so many bytes, and its 16-byte
    pieces change places by the row's number.  Raises KernelError where no such map can be made.
    """

    shape: tuple[int, ...]
    box: tuple[int, ...]
    dtype: str = "bfloat16"
    swizzle: int = 128
    strides: tuple[int, ...] | None = None
    promotion: int = 256

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise KernelError(f"tensor map of {self.shape}, box {self.box}: {problem}")

    def _problem(self) -> str:
        if self.dtype not in TYPES:
            return f"{self.dtype!r} is none of {', '.join(TYPES)}"
        if self.swizzle not in SWIZZLES or self.promotion not in PROMOTIONS:
            return f"swizzle {self.swizzle} or promotion {self.promotion} does not exist"
        if not 1 <= len(self.shape) <= MOST_DIMENSIONS or len(self.box) != len(self.shape):
            return f"1 to {MOST_DIMENSIONS} dimensions, and as many of the box"
        if not all(1 <= size <= LARGEST_SIZE for size in self.shape):
            return f"sizes of 1 to {LARGEST_SIZE}"
        if not all(1 <= size <= LARGEST_BOX for size in self.box):
            return f"a box of 1 to {LARGEST_BOX} a dimension"
        row = self.box[-1] * self.itemsize
        if row % ALIGNMENT:
            return f"the innermost row of the box has {row} bytes, not a multiple of {ALIGNMENT}"
        if self.swizzle and row > self.swizzle:
            return f"the innermost row of the box has {row} bytes, more than the swizzle's {self.swizzle}"
        strides = self.byte_strides
        if len(strides) != len(self.shape) - 1:
            return f"{len(strides)} strides for {len(self.shape)} dimensions; the last one is dense"
        if any(stride % ALIGNMENT or not 0 < stride < LARGEST_STRIDE for stride in strides):
            return f"strides of {strides} bytes, not multiples of {ALIGNMENT} below 2^40"
        return ""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return TYPES[self.dtype][1]

    @property
    def byte_strides(self) -> tuple[int, ...]:
        """Bytes from one index to the next, of every dimension but the last."""
        if self.strides is not None:
            return self.strides
        strides = [self.itemsize * self.shape[-1]]
        for size in reversed(self.shape[1:-1]):
            strides.append(strides[-1] * size)
        return tuple(reversed(strides)) if len(self.shape) > 1 else ()

    @property
    def box_bytes(self) -> int:
        """Bytes that one copy writes to shared memory: what its barrier has to be told to expect."""
        total = self.itemsize
        for size in self.box:
            total *= size
        return total

    def encode(self, address: int) -> bytes:
        """The 128 bytes of the map for an array at a device address.  Raises KernelError where the driver refuses it."""
        if address % ALIGNMENT:
            raise KernelError(f"tensor map of an array at an address that is no multiple of {ALIGNMENT} bytes")
        rank = len(self.shape)
        room = ctypes.create_string_buffer(SIZE * 2)
        start = -ctypes.addressof(room) % 64  # the driver wants its own alignment of 64 bytes
        status = _driver().cuTensorMapEncodeTiled(
            ctypes.c_void_p(ctypes.addressof(room) + start),
            ctypes.c_int(TYPES[self.dtype][0]),
            ctypes.c_uint32(rank),
            ctypes.c_void_p(address),
            (ctypes.c_uint64 * rank)(*reversed(self.shape)),
            (ctypes.c_uint64 * rank)(*reversed(self.byte_strides)),
            (ctypes.c_uint32 * rank)(*reversed(self.box)),
            (ctypes.c_uint32 * rank)(*[1] * rank),
            ctypes.c_int(0),  # not interleaved
            ctypes.c_int(SWIZZLES[self.swizzle]),
            ctypes.c_int(PROMOTIONS[self.promotion]),
            ctypes.c_int(0),  # zeros outside of the array
        )
        if status != 0:
            raise KernelError(f"tensor map of {self.shape}, box {self.box}: the driver refused it (status {status})")
        return room.raw[start : start + SIZE]

    def argument(self, address: int) -> Any:
        """The map for a kernel's parameter: a NumPy array of one 128-byte element, which CuPy passes by value."""
        import numpy

        return numpy.frombuffer(self.encode(address), dtype=[("words", "<u8", SIZE // 8)])


@lru_cache(maxsize=1)
def _driver() -> Any:
    """The CUDA driver's library.  Raises KernelError where there is none, or where it is older than tensor maps."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        library = ctypes.CDLL(name)
        _ = library.cuTensorMapEncodeTiled
    except (OSError, AttributeError) as error:
        raise KernelError(f"no CUDA driver that makes tensor maps: {error}") from None
    return library
