"""NCCL beside our own all-reduces: one communicator a GPU, all in this process.  Needs CuPy and NCCL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from measure.errors import Unsupported

SWITCH = "NCCL_NVLS_ENABLE"
"""NCCL's variable for sums inside of the NVLink switch (NVLS, multicast)."""


def keep_sums_out_of_the_switch() -> str:
    """Turn NVLS off for this process unless the user has said something; how it stands then, in words."""
    os.environ.setdefault(SWITCH, "0")
    value = os.environ[SWITCH]
    return f"off ({SWITCH}=0)" if value == "0" else f"as NCCL likes ({SWITCH}={value} was set)"


class Nccl:
    """An all-reduce of fp32 sums among GPUs, rank r on `devices[r]`.  Raises Unsupported, in one line, without NCCL."""

    def __init__(self, devices: Sequence[int], peers: bool = True) -> None:
        self.switch = keep_sums_out_of_the_switch()
        if not peers:
            os.environ.setdefault("NCCL_P2P_DISABLE", "1")
        try:
            from cupy.cuda import nccl  # never by `cupy.cuda.nccl`: that is there only once somebody has imported it
        except ImportError as error:
            raise Unsupported(f"NCCL cannot be loaded ({_line(error)}); install nvidia-nccl for the CUDA of CuPy") from None
        if not getattr(nccl, "available", True):
            raise Unsupported("this CuPy was built without NCCL")
        self._nccl: Any = nccl
        self._devices = tuple(devices)
        try:
            self._comms = nccl.NcclCommunicator.initAll(list(self._devices))
        except Exception as error:  # NcclError, or the loader's own; both mean: no NCCL among these GPUs
            raise Unsupported(f"NCCL could not start: {_line(error)}") from None

    @property
    def version(self) -> str:
        """As `2.28.3`."""
        number = int(self._nccl.get_version())
        return f"{number // 10000}.{number % 10000 // 100}.{number % 100}"

    def all_reduce(self, inputs: Sequence[Any], outputs: Sequence[Any], count: int, streams: Sequence[Any]) -> None:
        """Enqueue one sum of `count` values on each rank's stream."""
        import cupy

        nccl = self._nccl
        nccl.groupStart()
        for device, comm, source, target, stream in zip(self._devices, self._comms, inputs, outputs, streams, strict=True):
            with cupy.cuda.Device(device):
                comm.allReduce(source.data.ptr, target.data.ptr, count, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, stream.ptr)
        nccl.groupEnd()

    def close(self) -> None:
        """Give the communicators back."""
        for comm in self._comms:
            comm.destroy()


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
