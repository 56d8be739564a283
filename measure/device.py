"""What GPU this is: CUDA attributes, a small table of datasheets, and NVML where it answers.

The device is CuPy's current one; NVML, which ignores CUDA_VISIBLE_DEVICES, is asked by UUID.  No UUID or serial is kept.
"""

from __future__ import annotations

import math
import platform
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from measure.errors import NoGPUError
from measure.records import Device, Memory, Quantity

LANES = {75: 64, 80: 64, 86: 128, 87: 128, 89: 128, 90: 128, 100: 128, 103: 128, 110: 128, 120: 128, 121: 128}
"""fp32 FMA results a clock an SM (CUDA C++ Programming Guide, throughput of native arithmetic instructions)."""

LANES_SOURCE = "CUDA C++ Programming Guide, throughput of native arithmetic instructions"
ATTRIBUTE = "CUDA device attribute"


@dataclass(frozen=True, slots=True)
class Datasheet:
    """What the vendor prints: memory kind, bandwidth in TB/s, fp32 peak in TFLOP/s, and where."""

    kind: str
    bandwidth: float
    fp32: float
    reference: str


DATASHEETS: Mapping[str, Datasheet] = {
    "NVIDIA H200": Datasheet("HBM3e", 4.8, 67.0, "NVIDIA H200 Tensor Core GPU datasheet (SXM)"),
    "NVIDIA H100 80GB HBM3": Datasheet("HBM3", 3.35, 67.0, "NVIDIA H100 Tensor Core GPU datasheet (SXM)"),
    "NVIDIA H100 PCIe": Datasheet("HBM2e", 2.0, 51.0, "NVIDIA H100 Tensor Core GPU datasheet (PCIe)"),
    "NVIDIA A100-SXM4-40GB": Datasheet("HBM2", 1.555, 19.5, "NVIDIA A100 Tensor Core GPU datasheet"),
    "NVIDIA A100-SXM4-80GB": Datasheet("HBM2e", 2.039, 19.5, "NVIDIA A100 Tensor Core GPU datasheet"),
    "Tesla T4": Datasheet("GDDR6", 0.320, 8.1, "NVIDIA T4 datasheet"),
    "NVIDIA L4": Datasheet("GDDR6", 0.300, 30.3, "NVIDIA L4 datasheet"),
    "NVIDIA L40S": Datasheet("GDDR6", 0.864, 91.6, "NVIDIA L40S datasheet"),
    "NVIDIA RTX A6000": Datasheet("GDDR6", 0.768, 38.7, "NVIDIA RTX A6000 datasheet"),
    "NVIDIA GeForce RTX 2080 Ti": Datasheet("GDDR6", 0.616, 13.4, "NVIDIA Turing GPU Architecture whitepaper"),
    "NVIDIA GeForce RTX 3080": Datasheet("GDDR6X", 0.760, 29.8, "NVIDIA Ampere GA102 GPU Architecture whitepaper"),
    "NVIDIA GeForce RTX 3090": Datasheet("GDDR6X", 0.936, 35.6, "NVIDIA Ampere GA102 GPU Architecture whitepaper"),
    "NVIDIA GeForce RTX 4090": Datasheet("GDDR6X", 1.008, 82.6, "NVIDIA Ada GPU Architecture whitepaper"),
    "NVIDIA GeForce RTX 5090": Datasheet("GDDR7", 1.792, 104.8, "NVIDIA RTX Blackwell GPU Architecture whitepaper"),
}
"""By the name that CUDA reports.  A GPU that is not listed has no datasheet figures; nothing is guessed."""


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
    sheet = DATASHEETS.get(hardware.name)
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
        memory=_memory(hardware, sheet),
        facts=facts(hardware),
    )


def _memory(hardware: Hardware, sheet: Datasheet | None) -> Memory:
    size = Quantity(hardware.memory_size, "B", "measured", reference="total memory that CUDA reports")
    if sheet is None:
        return Memory(size=size)
    # an HBM stack has 1024 data lines, a GDDR chip 32; clamshell boards have a second chip on the back for each
    lines = 1024 if sheet.kind.startswith("HBM") else 32
    packages = math.ceil(hardware.bus / lines) or None  # rounded up: a product may leave a part of a stack's lines unused
    unit = "stacks" if lines == 1024 else "chips on the side of the die"
    return Memory(
        kind=sheet.kind,
        packages=packages,
        size=size,
        bandwidth=Quantity(sheet.bandwidth, "TB/s", "datasheet", reference=sheet.reference),
        reference=f"kind: {sheet.reference}; {unit}: bus of {hardware.bus} bits / {lines} bits of one (JEDEC), rounded up",
    )


def facts(hardware: Hardware) -> dict[str, str]:
    """Everything else worth keeping, as text; what NVML does not answer is left out."""
    found = {
        "threads an SM": str(hardware.threads_per_sm),
        "registers an SM": str(hardware.registers_per_sm),
        "shared memory an SM": f"{hardware.shared_per_sm // 1024} KiB",
        "memory bus": f"{hardware.bus} bit" if hardware.bus else "",
        "memory clock": f"{hardware.memory_clock:.0f} MHz" if hardware.memory_clock else "",
        "system": "WSL" if "microsoft" in platform.release().lower() else platform.system(),
    }
    return {key: value for key, value in {**found, **_nvml_facts()}.items() if value}


def _nvml_facts() -> dict[str, str]:
    found: dict[str, str] = {}
    with_nvml(lambda nvml, handle: found.update(power_limit=f"{nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000:.0f} W"))
    with_nvml(lambda nvml, handle: found.update(ecc="on" if nvml.nvmlDeviceGetEccMode(handle)[0] else "off"))
    with_nvml(lambda nvml, handle: found.update(mig="on" if nvml.nvmlDeviceGetMigMode(handle)[0] else "off"))
    return {key.replace("_", " "): value for key, value in found.items()}


def with_nvml(ask: Callable[[Any, Any], Any]) -> Any:
    """Ask NVML about the current device by its UUID; None where NVML is missing or does not answer (WSL, MIG, containers)."""
    try:
        import cupy
        import pynvml

        raw = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["uuid"]
        digits = bytes(raw)[:16].hex()
        uuid = "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        pynvml.nvmlInit()
    except Exception:  # any of a missing package, a missing library or a refusal; all mean: no NVML here
        return None
    try:
        return ask(pynvml, pynvml.nvmlDeviceGetHandleByUUID(uuid))
    except pynvml.NVMLError:
        return None
    finally:
        pynvml.nvmlShutdown()


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
