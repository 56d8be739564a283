"""What this machine is to a measurement: system, driver, GPUs, CuPy, compiler, profiler.  Read, and not yet judged.

Every reading stands by itself and may be missing: a laptop without a GPU, WSL, a container and a MIG slice all answer less.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from measure.device import explain, system, throttle_reasons, with_nvml

T = TypeVar("T")
CUPY_PACKAGES = ("cupy-cuda12x", "cupy-cuda13x", "cupy-cuda11x", "cupy")
SETTINGS = ("CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "CUPY_TF32")
APPLICATION_CLOCKS = 2
"""NVML's bit for clocks that somebody has set (nvmlClocksEventReasonApplicationsClocksSetting)."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as CUDA and NVML see it; clocks in MHz, power in W, memory in B; None where nobody answers."""

    name: str
    capability: int | None = None
    free: int | None = None
    memory: int | None = None
    watchdog: bool | None = None
    clock_max: float | None = None
    clock_set: bool | None = None
    held_by: tuple[str, ...] = ()
    power_limit: float | None = None
    power_default: float | None = None
    mig: bool | None = None
    others: int | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """All readings.  `smi` are the lines of nvidia-smi, a GPU each; `gpus` what CUDA may use, the first of them is measured.

    `cuda` is what CuPy was built for and `driver_cuda` what the driver supports, as (13, 0); `nodes` says of each device file
    whether it may be opened; `counters` whether hardware counters are for administrators only."""

    system: str
    container: bool = False
    root: bool = False
    nodes: Mapping[str, bool] = field(default_factory=dict)
    smi: tuple[str, ...] = ()
    driver_cuda: tuple[int, int] | None = None
    nvml: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    cupy: Mapping[str, str] = field(default_factory=dict)
    cuda: tuple[int, int] | None = None
    cupy_error: str = ""
    gpus: tuple[Gpu, ...] = ()
    gpu_error: str = ""
    peers: bool | None = None
    nccl: bool = False
    nvrtc: tuple[int, int] | None = None
    architectures: tuple[int, ...] = ()
    nvrtc_error: str = ""
    ncu: str = ""
    counters_restricted: bool | None = None
    cache: Path = field(default_factory=Path)
    cache_writable: bool = True
    cache_free: int | None = None


def look() -> Machine:
    """Read everything that can be read here.  Raises nothing."""
    cupy, cupy_error = _cupy()
    gpus, gpu_error = _gpus(cupy)
    nvrtc, architectures, nvrtc_error = _compiler()
    cache = Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
    return Machine(
        system=system(),
        container=_or(lambda: Path("/.dockerenv").exists() or Path("/run/.containerenv").exists(), False),
        root=_or(lambda: os.geteuid() == 0, False),
        nodes=nodes(Path("/dev")),
        smi=_smi("--query-gpu=name,driver_version", "--format=csv,noheader"),
        driver_cuda=driver_cuda(" ".join(_smi())),
        nvml=bool(gpus) and with_nvml(lambda nvml, handle: True) is True,
        settings={name: os.environ[name] for name in SETTINGS if name in os.environ},
        cupy={name: version for name in CUPY_PACKAGES if (version := package(name))},
        cuda=_or(lambda: _two(cupy.cuda.runtime.runtimeGetVersion()), None),
        cupy_error=cupy_error,
        gpus=gpus,
        gpu_error=gpu_error,
        peers=_or(lambda: _peers(cupy, len(gpus)), None) if len(gpus) > 1 else None,
        nccl=bool(cupy) and _or(lambda: bool(__import__("cupy.cuda.nccl", fromlist=["nccl"]).get_version()), False),
        nvrtc=nvrtc,
        architectures=architectures,
        nvrtc_error=nvrtc_error,
        ncu=_ncu(),
        counters_restricted=_or(lambda: restricted(Path("/proc/driver/nvidia/params").read_text()), None),
        cache=cache,
        cache_writable=os.access(_there(cache), os.W_OK),
        cache_free=_or(lambda: shutil.disk_usage(_there(cache)).free, None),
    )


def _or(read: Callable[[], T], otherwise: T) -> T:
    """A reading, or what stands for its absence: libraries, drivers and files refuse in too many ways to list."""
    try:
        return read()
    except Exception:
        return otherwise


def package(name: str) -> str:
    """Version of an installed package; empty where it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _two(number: int) -> tuple[int, int]:
    """CUDA's 13020 as (13, 2)."""
    return number // 1000, number % 1000 // 10


def nodes(folder: Path) -> dict[str, bool]:
    """Device files of the NVIDIA driver (`dxg` under WSL), and whether this user may open each."""
    found = [*folder.glob("nvidia[0-9]*"), *folder.glob("nvidiactl"), *folder.glob("nvidia-uvm"), *folder.glob("dxg")]
    return {path.name: os.access(path, os.R_OK | os.W_OK) for path in sorted(found)}


def _smi(*arguments: str) -> tuple[str, ...]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    asked = _or(lambda: subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=30), None)
    return tuple(line.strip() for line in asked.stdout.splitlines() if line.strip()) if asked and not asked.returncode else ()


def driver_cuda(text: str) -> tuple[int, int] | None:
    """The newest CUDA that the driver supports, from nvidia-smi's heading."""
    found = re.search(r"CUDA[A-Za-z ]*Version: *(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def restricted(parameters: str) -> bool | None:
    """Whether the driver keeps hardware counters for administrators, from its list of parameters."""
    found = re.search(r"RmProfilingAdminOnly: *(\d)", parameters)
    return found[1] == "1" if found else None


def _there(folder: Path) -> Path:
    """A folder, or the first one above it that is there."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())


def _ncu() -> str:
    program = shutil.which("ncu")
    if program is None:
        return ""
    asked = _or(lambda: subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=60), None)
    version = re.search(r"Version ([\d.]+)", asked.stdout) if asked else None
    return version[1] if version else program


def _cupy() -> tuple[Any, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of two CuPys in one environment, which is a finding of its own
            import cupy
    except Exception as error:
        return None, "" if isinstance(error, ModuleNotFoundError) and error.name == "cupy" else _line(error)
    return cupy, ""


def _line(error: Exception) -> str:
    return explain(str(error)) if str(error) else type(error).__name__


def _compiler() -> tuple[tuple[int, int] | None, tuple[int, ...], str]:
    from kernels.build import nvrtc_version, supported_architectures

    try:
        return nvrtc_version(), tuple(supported_architectures()), ""
    except Exception as error:
        return None, (), _line(error)


def _gpus(cupy: Any) -> tuple[tuple[Gpu, ...], str]:
    """Every GPU that CUDA may use, the first in full; or why there is none."""
    if cupy is None:
        return (), ""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
        return tuple(_first(cupy) if index == 0 else Gpu(_name(cupy, index)) for index in range(count)), ""
    except Exception as error:
        return (), _line(error)


def _name(cupy: Any, index: int) -> str:
    name = cupy.cuda.runtime.getDeviceProperties(index)["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def _first(cupy: Any) -> Gpu:
    attributes = cupy.cuda.Device(0).attributes
    free, total = _or(lambda: cupy.cuda.Device(0).mem_info, (None, None))
    mig = with_nvml(lambda nvml, handle: nvml.nvmlDeviceGetMigMode(handle)[0])
    reasons = with_nvml(lambda nvml, handle: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
    return Gpu(
        name=_name(cupy, 0),
        capability=int(cupy.cuda.Device(0).compute_capability),
        free=free,
        memory=total,
        watchdog=_or(lambda: bool(attributes["KernelExecTimeout"]), None),
        clock_max=with_nvml(lambda nvml, handle: float(nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM))),
        clock_set=None if reasons is None else bool(reasons & APPLICATION_CLOCKS),
        held_by=throttle_reasons(),
        power_limit=with_nvml(lambda nvml, handle: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000),
        power_default=with_nvml(lambda nvml, handle: nvml.nvmlDeviceGetPowerManagementDefaultLimit(handle) / 1000),
        mig=None if mig is None else bool(mig),
        others=with_nvml(
            lambda nvml, handle: sum(one.pid != os.getpid() for one in nvml.nvmlDeviceGetComputeRunningProcesses(handle))
        ),
    )


def _peers(cupy: Any, count: int) -> bool:
    """Whether every GPU may reach every other's memory."""
    can = cupy.cuda.runtime.deviceCanAccessPeer
    return all(can(one, other) for one in range(count) for other in range(count) if one != other)
