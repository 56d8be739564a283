"""What GPU this is: CUDA attributes, the table of datasheets, and NVML where it answers.

The device is CuPy's current one; NVML, which ignores CUDA_VISIBLE_DEVICES, is asked by UUID.  No UUID or serial is kept.
"""

from __future__ import annotations

import math
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from measure.datasheets import DATASHEETS as DATASHEETS
from measure.datasheets import memory_kind, whole_of
from measure.errors import NoGPUError
from measure.records import Device, Memory, Quantity

LANES = {75: 64, 80: 64, 86: 128, 87: 128, 89: 128, 90: 128, 100: 128, 103: 128, 110: 128, 120: 128, 121: 128}
"""fp32 FMA results a clock an SM (CUDA C++ Programming Guide, throughput of native arithmetic instructions).

A compute capability that is not listed is probed and no more: no roof is computed for it, and its record says so."""

LANES_SOURCE = "CUDA C++ Programming Guide, throughput of native arithmetic instructions"
ATTRIBUTE = "CUDA device attribute"


@dataclass(frozen=True, slots=True)
class Hardware:
    """The numbers that measuring needs, as CUDA gives them; clocks in MHz, sizes in B, bus in bits, 0 where unknown."""

    name: str
    capability: int
    sm_count: int
    l2_size: int
    memory_size: int
    clock: float
    memory_clock: float
    bus: int
    threads_per_sm: int
    registers_per_sm: int
    shared_per_sm: int
    shared_optin: int

    @property
    def arch(self) -> str:
        """As `sm_90`."""
        return f"sm_{self.capability}"

    @property
    def slug(self) -> str:
        """The name as a file's stem: `nvidia-h200`."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


def require_gpu() -> Hardware:
    """The current GPU.  Raises NoGPUError, with what to do, where there is no CuPy, driver or GPU that can be measured."""
    try:
        import cupy
    except ImportError as error:
        raise NoGPUError(f"no GPU can be measured: CuPy is not installed ({error}); install the extra gpu-cuda13") from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
        if count < 1:
            raise NoGPUError("no GPU can be measured: the driver reports no CUDA device")
        hardware = _read(cupy)
    except NoGPUError:
        raise
    except Exception as error:
        raise NoGPUError(f"no GPU can be measured: {explain(str(error))}") from None
    _check_compiler(hardware)
    return hardware


def explain(message: str) -> str:
    """CUDA's error in a user's words; the same code stands for an old driver and for none at all."""
    if "InsufficientDriver" in message:
        return "there is no NVIDIA driver here, or it is older than the CUDA that CuPy was built for"
    if "NoDevice" in message:
        return "the driver sees no CUDA device (is it hidden by CUDA_VISIBLE_DEVICES?)"
    return message.splitlines()[0] if message else "CUDA gives no reason"


def _read(cupy: Any) -> Hardware:
    device = cupy.cuda.Device()
    attributes = device.attributes
    properties = cupy.cuda.runtime.getDeviceProperties(device.id)
    name = properties["name"]
    return Hardware(
        name=name.decode() if isinstance(name, bytes) else str(name),
        capability=int(device.compute_capability),
        sm_count=attributes["MultiProcessorCount"],
        l2_size=attributes["L2CacheSize"],
        memory_size=int(properties["totalGlobalMem"]),
        clock=attributes.get("ClockRate", 0) / 1e3,
        memory_clock=attributes.get("MemoryClockRate", 0) / 1e3,
        bus=attributes.get("GlobalMemoryBusWidth", 0),
        threads_per_sm=attributes["MaxThreadsPerMultiProcessor"],
        registers_per_sm=attributes["MaxRegistersPerMultiprocessor"],
        shared_per_sm=attributes["MaxSharedMemoryPerMultiprocessor"],
        shared_optin=attributes["MaxSharedMemoryPerBlockOptin"],
    )


def _check_compiler(hardware: Hardware) -> None:
    from kernels.build import nvrtc_version, supported_architectures
    from kernels.catalogue import KernelError

    try:
        supported, version = supported_architectures(), ".".join(map(str, nvrtc_version()))
    except KernelError as error:
        raise NoGPUError(f"no GPU can be measured: {error}") from None
    if hardware.capability not in supported:
        way = "install the extra gpu-cuda12" if hardware.capability < min(supported) else "install a newer CuPy"
        raise NoGPUError(
            f"{hardware.name} (compute capability {hardware.capability / 10:.1f}) cannot be measured: the compiler of CUDA "
            f"{version} builds for {min(supported) / 10:.1f} to {max(supported) / 10:.1f}; {way}"
        )


def describe(hardware: Hardware) -> Device:
    """The record of a GPU: what CUDA says is `measured`, what the vendor prints is `datasheet`, the rest is left out."""
    lanes = LANES.get(hardware.capability)
    return Device(
        name=hardware.name,
        slug=hardware.slug,
        compute_capability=f"{hardware.capability / 10:.1f}",
        sm_count=Quantity(hardware.sm_count, "", "measured", reference=ATTRIBUTE),
        fp32_lanes_per_sm=Quantity(lanes, "", "datasheet", reference=LANES_SOURCE) if lanes else None,
        warp_size=Quantity(32, "", "datasheet", reference="CUDA C++ Programming Guide, compute capabilities"),
        l2_size=Quantity(hardware.l2_size, "B", "measured", reference=ATTRIBUTE) if hardware.l2_size else None,
        boost_clock=Quantity(hardware.clock, "MHz", "measured", reference=ATTRIBUTE) if hardware.clock else None,
        memory=_memory(hardware),
        facts=facts(hardware),
    )


def _memory(hardware: Hardware) -> Memory:
    size = Quantity(hardware.memory_size, "B", "measured", reference="total memory that CUDA reports")
    kind = memory_kind(hardware.name)
    if kind is None:
        return Memory(size=size)
    name, source = kind
    sheet = DATASHEETS.get(hardware.name)
    if sheet is None:
        return Memory(kind=name, size=size, reference=f"kind: {source}; how a slice shares the stacks is printed nowhere")
    # an HBM stack has 1024 data lines, a GDDR chip 32; clamshell boards have a second chip on the back for each
    lines = 1024 if name.startswith("HBM") else 32
    packages = math.ceil(hardware.bus / lines) or None  # rounded up: a product may leave a part of a stack's lines unused
    unit = "stacks" if lines == 1024 else "chips on the side of the die"
    return Memory(
        kind=name,
        packages=packages,
        size=size,
        bandwidth=Quantity(sheet.bandwidth, "TB/s", "datasheet", reference=source),
        reference=f"kind: {source}; {unit}: bus of {hardware.bus} bits / {lines} bits of one (JEDEC), rounded up",
    )


UNKNOWN = "unknown: no roof can be computed, all of them are probed"


def facts(hardware: Hardware) -> dict[str, str]:
    """Everything else worth keeping, as text; what NVML does not answer is left out."""
    whole = whole_of(hardware.name)
    found = {
        "fp32 lanes": "" if hardware.capability in LANES else UNKNOWN,
        "threads an SM": str(hardware.threads_per_sm),
        "registers an SM": str(hardware.registers_per_sm),
        "shared memory an SM": f"{hardware.shared_per_sm // 1024} KiB",
        "memory bus": f"{hardware.bus} bit" if hardware.bus else "",
        "memory clock": f"{hardware.memory_clock:.0f} MHz" if hardware.memory_clock else "",
        "system": system(),
    }
    nvml = {"mig": f"a slice of one {whole}; its SMs and memory are the slice's"} if whole else _nvml_facts()
    return {key: value for key, value in {**found, **nvml}.items() if value}


def system(release: str | None = None) -> str:
    """The operating system; `WSL` where Linux runs in Windows, whose driver then batches launches and hides some of NVML."""
    return "WSL" if "microsoft" in (release or platform.release()).lower() else platform.system()


def _nvml_facts() -> dict[str, str]:
    """Each by itself: under WSL, in a container or on a GeForce some of them are not supported."""
    found: dict[str, str] = {}
    with_nvml(lambda nvml, handle: found.update(power_limit=f"{nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000:.0f} W"))
    with_nvml(lambda nvml, handle: found.update(ecc="on" if nvml.nvmlDeviceGetEccMode(handle)[0] else "off"))
    with_nvml(lambda nvml, handle: found.update(mig="on" if nvml.nvmlDeviceGetMigMode(handle)[0] else "off"))
    return {key.replace("_", " "): value for key, value in found.items()}


def uuids(raw: bytes) -> tuple[str, str]:
    """CUDA's sixteen bytes as NVML spells them: of a whole GPU, and of a MIG slice."""
    digits = raw[:16].hex()
    joined = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return f"GPU-{joined}", f"MIG-{joined}"


def with_nvml(ask: Callable[[Any, Any], Any]) -> Any:
    """Ask NVML about the current device by its UUID; None where NVML is missing or does not answer (WSL, MIG, containers).

    Of a MIG slice, the GPU that it is cut from is asked: clocks and what holds them down belong to the whole."""
    try:
        import cupy
        import pynvml

        names = uuids(bytes(cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["uuid"]))
        pynvml.nvmlInit()
    except Exception:  # any of a missing package, a missing library or a refusal; all mean: no NVML here
        return None
    try:
        return ask(pynvml, _handle(pynvml, names))
    except (pynvml.NVMLError, AttributeError):  # not supported here, or unknown to this release of the binding
        return None
    finally:
        pynvml.nvmlShutdown()


def _handle(nvml: Any, names: tuple[str, str]) -> Any:
    try:
        return nvml.nvmlDeviceGetHandleByUUID(names[0])
    except nvml.NVMLError:
        return nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvml.nvmlDeviceGetHandleByUUID(names[1]))


THROTTLE_REASONS = {4: "power cap", 8: "hardware slowdown", 32: "temperature", 64: "hardware temperature", 128: "power brake"}
"""Bits of NVML's clocks event reasons that mean the clock was held down."""


def throttle_reasons() -> tuple[str, ...]:
    """Why the clock is held down right now, as far as NVML says."""
    bits = with_nvml(lambda nvml, handle: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)) or 0
    return tuple(words for bit, words in THROTTLE_REASONS.items() if bits & bit)


def driver_version() -> str | None:
    """The driver's version, from NVML."""
    version = with_nvml(lambda nvml, handle: nvml.nvmlSystemGetDriverVersion())
    return version.decode() if isinstance(version, bytes) else version


def python_version() -> str:
    """As `3.12.3`."""
    return ".".join(map(str, sys.version_info[:3]))
