"""What stands between this machine and a measurement of its GPU, each finding with its cure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from measure.finding import Finding, show
from measure.machine import Gpu, Machine, look

OLDEST = 75
"""The oldest compute capability that any kernel is written for, 7.5."""

CACHE_ROOM = 200e6
KNOWN_SINCE = {100: (12, 8), 103: (12, 9), 110: (13, 0), 120: (12, 8), 121: (12, 9)}
"""First CUDA whose compiler knows each of the newest compute capabilities (CUDA release notes)."""


def findings(machine: Machine | None = None) -> Iterator[Finding]:
    """Everything that measuring needs, in the order in which it is needed."""
    seen = look() if machine is None else machine
    yield _system(seen)
    yield _driver(seen)
    yield from _permissions(seen)
    yield _cupy(seen)
    yield _gpu(seen)
    yield _compiler(seen)
    yield Finding("CUDA headers", "ok", "not needed: the kernels include none, and no toolkit has to be installed")
    if seen.gpus:
        yield from _state_of(seen.gpus[0], seen)
        yield from _several(seen)
    yield from _settings(seen)
    yield _counters(seen)
    if seen.gpus:
        yield _cache(seen)


def can_measure(found: Iterable[Finding]) -> bool:
    """Whether nothing that measuring needs is missing."""
    return all(finding.state not in ("absent", "FAILS") for finding in found)


def _system(seen: Machine) -> Finding:
    if seen.system == "WSL":
        return Finding(
            "system",
            "note",
            "Linux in Windows (WSL): launches are batched and times are noisier; the file records it",
            "for figures to publish measure under Linux itself; clocks are locked from Windows, not from here",
        )
    if seen.system != "Linux":
        return Finding("system", "absent", seen.system, "measure on Linux with an NVIDIA GPU; its file renders here")
    return Finding("system", "ok", "Linux, in a container" if seen.container else "Linux")


def _driver(seen: Machine) -> Finding:
    if seen.driver_cuda is None and not seen.smi and not seen.gpus:
        if seen.container:
            cure = "start the container with --gpus all, which needs the NVIDIA Container Toolkit on its host"
        elif seen.system == "WSL":
            cure = "install NVIDIA's driver in Windows, none in WSL itself"
        else:
            cure = "install NVIDIA's driver; no CUDA toolkit is needed"
        return Finding("driver", "absent", "no NVIDIA driver found", cure)
    version = {line.rpartition(",")[2].strip() for line in seen.smi}
    words = f"{', '.join(sorted(version)) or 'present'}"
    if seen.driver_cuda is None:
        return Finding("driver", "ok", words)
    words += f", for CUDA up to {_dotted(seen.driver_cuda)}"
    if seen.driver_cuda < (12, 0):
        return Finding("driver", "absent", words, "install a driver for CUDA 12 or 13 (525 or newer)")
    return Finding("driver", "ok", words)


def _permissions(seen: Machine) -> Iterator[Finding]:
    closed = [f"/dev/{name}" for name, opens in seen.nodes.items() if not opens]
    if closed:
        cure = "join the group that owns them (ls -l /dev/nvidia*) and log in again"
        if seen.container:
            cure = "give the container its devices and this user's groups (--gpus all, --group-add keep-groups)"
        yield Finding("permissions", "absent", f"this user may not open {', '.join(closed)}", cure)
    elif seen.nodes:
        yield Finding("permissions", "ok", f"{', '.join(seen.nodes)} can be opened")


def _cupy(seen: Machine) -> Finding:
    names = ", ".join(f"{name} {version}" for name, version in seen.cupy.items())
    wheels = [name for name in seen.cupy if name.startswith("cupy-cuda")]
    if not seen.cupy and seen.cuda is None:
        return Finding(
            "CuPy", "absent", seen.cupy_error or "not installed", "./roofline measure installs the one for the driver"
        )
    if len(seen.cupy) > 1:
        return Finding(
            "CuPy",
            "absent",
            f"{names} in one environment overwrite each other's files",
            "name a new folder in ROOFLINE_VENV, where ./roofline measure installs one",
        )
    if seen.driver_cuda and wheels and int(wheels[0][len("cupy-cuda") :].rstrip("x")) > seen.driver_cuda[0]:
        return Finding(
            "CuPy",
            "absent",
            f"{names} needs a driver for CUDA {wheels[0][len('cupy-cuda') :].rstrip('x')}; this one ends at "
            f"{_dotted(seen.driver_cuda)}",
            f"install a newer driver, or set ROOFLINE_CUDA={seen.driver_cuda[0]} and a new folder in ROOFLINE_VENV",
        )
    if seen.cupy_error:
        return Finding(
            "CuPy", "absent", f"{names}: {seen.cupy_error}", "name a new folder in ROOFLINE_VENV and start ./roofline measure"
        )
    return Finding("CuPy", "ok", (names or "installed") + (f", CUDA {_dotted(seen.cuda)}" if seen.cuda else ""))


def _gpu(seen: Machine) -> Finding:
    hidden = seen.settings.get("CUDA_VISIBLE_DEVICES")
    if not seen.gpus:
        listed = "; ".join(line.rpartition(",")[0] for line in seen.smi)
        if hidden is not None and (listed or seen.gpu_error):
            return Finding(
                "GPU",
                "absent",
                f"CUDA_VISIBLE_DEVICES={hidden!r} hides every GPU",
                "unset it, or name the GPU to measure: 0, 1, ...",
            )
        if seen.gpu_error and listed:
            cure = "create a MIG instance (nvidia-smi mig -cgi ... -C) or switch MIG off, if it is on; else restart the driver"
            return Finding("GPU", "absent", f"{listed}, but {seen.gpu_error}", cure)
        if listed:
            return Finding("GPU", "ok", f"{listed}; CUDA is asked once CuPy is there")
        return Finding("GPU", "absent", seen.gpu_error or "none found", "only ./roofline measure needs one")
    first = seen.gpus[0]
    words = first.name
    if len(seen.gpus) > 1:
        return Finding("GPU", "ok", f"{words}, the first of {len(seen.gpus)}, is measured; CUDA_VISIBLE_DEVICES names another")
    return Finding("GPU", "ok", words + ("" if hidden is None else f" (CUDA_VISIBLE_DEVICES={hidden})"))


def _compiler(seen: Machine) -> Finding:
    if seen.nvrtc is None:
        return Finding("NVRTC", "absent", seen.nvrtc_error or "not installed", "./roofline measure installs it")
    words = f"{_dotted(seen.nvrtc)}, builds for {min(seen.architectures) / 10:.1f} to {max(seen.architectures) / 10:.1f}"
    capability = seen.gpus[0].capability if seen.gpus else None
    if capability is None:
        return Finding("NVRTC", "ok", words)
    own = f"compute capability {capability / 10:.1f}"
    if capability < OLDEST:
        return Finding(
            "NVRTC", "absent", f"{words}; this GPU has {own}", f"the kernels are written for {OLDEST / 10} and later"
        )
    if capability in seen.architectures:
        return Finding("NVRTC", "ok", f"{words}; this GPU has {own}")
    if capability < min(seen.architectures):
        cure = "its last compiler is CUDA 12's: set ROOFLINE_CUDA=12 and a new folder in ROOFLINE_VENV"
    else:
        since = f"CUDA {_dotted(KNOWN_SINCE[capability])} or newer" if capability in KNOWN_SINCE else "a newer one"
        cure = f"install {since} of nvidia-cuda-nvrtc, and empty CuPy's cache ({seen.cache})"
    return Finding("NVRTC", "absent", f"{words}; this GPU has {own}", cure)


def _state_of(gpu: Gpu, seen: Machine) -> Iterator[Finding]:
    """The GPU that would be measured, as it is at this moment."""
    if " MIG " in gpu.name:
        yield Finding(
            "MIG",
            "note",
            "a slice is measured: its own SMs and memory; NVML tells less, and neighbours share the power",
            "for figures of the whole GPU switch MIG off: nvidia-smi -mig 0",
        )
    elif gpu.mig is not None:
        yield Finding("MIG", "note" if gpu.mig else "ok", "on" if gpu.mig else "off", "switch it off: nvidia-smi -mig 0")
    if not seen.nvml:
        yield Finding(
            "NVML",
            "note",
            "does not answer: what holds a clock down and the power limit are not recorded (clocks are measured all the same)",
            "usual under WSL and in some containers; else install nvidia-ml-py",
        )
    if gpu.held_by:
        yield Finding(
            "clocks",
            "note",
            f"held down at this moment by {', '.join(gpu.held_by)}",
            "let it cool, and see to its power and air",
        )
    elif gpu.clock_set:
        yield Finding("clocks", "note", "somebody has set application clocks", "nvidia-smi -rac and -rgc give them back")
    elif gpu.clock_set is not None:
        most = f", at most {gpu.clock_max:.0f} MHz" if gpu.clock_max else ""
        yield Finding("clocks", "ok", f"free{most}, nothing holds them down at this moment")
    if gpu.power_limit and gpu.power_default:
        low = gpu.power_limit < 0.98 * gpu.power_default
        words = f"{gpu.power_limit:.0f} W" + (f" of the usual {gpu.power_default:.0f} W" if low else "")
        yield Finding("power limit", "note" if low else "ok", words, f"nvidia-smi -pl {gpu.power_default:.0f}")
    if gpu.watchdog:
        yield Finding(
            "watchdog",
            "note",
            "a display hangs on this GPU: the system ends a kernel that runs for seconds, and the desktop takes its share",
            "measure without a desktop, or another GPU; sizes follow the memory at hand, so most kernels stay far below that",
        )
    elif gpu.watchdog is not None:
        yield Finding("watchdog", "ok", "no display: a kernel may run for as long as it takes")
    if gpu.others:
        yield Finding("company", "note", f"{gpu.others} other programs compute on this GPU", "end them, or wait for them")
    if gpu.free and gpu.memory:
        full = gpu.free < 0.8 * gpu.memory
        words = f"{gpu.free / 1e9:.1f} of {gpu.memory / 1e9:.1f} GB free"
        yield Finding("GPU memory", "note" if full else "ok", words, "end what holds it: large subjects shrink to what is free")


def _several(seen: Machine) -> Iterator[Finding]:
    if len(seen.gpus) < 2:
        return
    if seen.peers is not None:
        yield Finding(
            "links",
            "ok" if seen.peers else "note",
            "every GPU may reach every other's memory" if seen.peers else "not every GPU may reach every other's memory",
            "the all-reduce over links is left out; on servers see to ACS and IOMMU, which block or hang it",
        )
    if not seen.nccl:
        yield Finding(
            "NCCL", "note", "not installed", "for its line beside the all-reduce: pip install nvidia-nccl-cu12 or -cu13"
        )


def _settings(seen: Machine) -> Iterator[Finding]:
    if seen.settings.get("CUDA_LAUNCH_BLOCKING", "0") != "0":
        yield Finding("CUDA_LAUNCH_BLOCKING", "note", "set: every launch is waited for, which is timed as well", "unset it")
    if seen.settings.get("CUPY_TF32", "0") != "0":
        yield Finding("CUPY_TF32", "note", "set: cuBLAS's line of fp32 would use tensor cores with less precision", "unset it")


def _counters(seen: Machine) -> Finding:
    if not seen.ncu:
        return Finding(
            "Nsight Compute",
            "note",
            "no ncu program: bytes come from the access model alone",
            "optional: install Nsight Compute",
        )
    if seen.counters_restricted and not seen.root:
        if seen.container:
            cure = "start the container with --cap-add=SYS_ADMIN"
        else:
            cure = "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0"
        return Finding(
            "Nsight Compute",
            "note",
            f"ncu {seen.ncu}, but counters are for administrators (ERR_NVGPUCTRPERM)",
            f"optional: {cure}",
        )
    return Finding("Nsight Compute", "ok", f"ncu {seen.ncu}")


def _cache(seen: Machine) -> Finding:
    """Where CuPy keeps the kernels of its own that it compiled; ours never go there."""
    cure = "name another folder in CUPY_CACHE_DIR"
    if not seen.cache_writable:
        return Finding("CuPy's cache", "note", f"{seen.cache} cannot be written: CuPy compiles its own kernels each time", cure)
    if seen.cache_free is not None and seen.cache_free < CACHE_ROOM:
        return Finding("CuPy's cache", "note", f"{seen.cache_free / 1e6:.0f} MB free at {seen.cache}", f"free some, or {cure}")
    return Finding("CuPy's cache", "ok", str(seen.cache))


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def summary(found: Iterable[Finding]) -> str:
    """One line: whether a GPU can be measured here."""
    held = list(found)
    missing = sum(finding.state in ("absent", "FAILS") for finding in held)
    notes = sum(finding.state == "note" for finding in held)
    if missing:
        return f"no GPU can be measured here: {missing} to cure, which only ./roofline measure needs"
    return "this GPU can be measured here" + (f", with {notes} to note" if notes else "")


def main() -> int:
    """Print every finding; 0 when a GPU can be measured here, else 1."""
    found = list(findings())
    show("measuring a GPU", found)
    print(summary(found))
    return 0 if can_measure(found) else 1
