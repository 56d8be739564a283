"""What is said about machines that are not here: each trouble that others reported of their GPUs, with its cure."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import pytest

from measure import machine
from measure.doctor import can_measure, findings, summary
from measure.finding import Finding, show
from measure.machine import Gpu, Machine

H200 = Gpu("NVIDIA H200", 90, 149 * 10**9, 150 * 10**9, False, 1980.0, False, (), 700.0, 700.0, False, 0)
GOOD = Machine(
    system="Linux",
    root=True,
    nodes={"nvidia0": True, "nvidiactl": True},
    smi=("NVIDIA H200, 580.159.04",),
    driver_cuda=(13, 0),
    nvml=True,
    cupy={"cupy-cuda13x": "14.2.0"},
    cuda=(13, 2),
    gpus=(H200,),
    nvrtc=(13, 0),
    architectures=(75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121),
    ncu="2025.3.1",
    counters_restricted=True,
    cache_free=10**10,
)
LAPTOP = Machine(system="Darwin", nvrtc_error="no CUDA compiler")


def found(seen: Machine) -> dict[str, Finding]:
    return {finding.what: finding for finding in findings(seen)}


def first(**changes: Any) -> Machine:
    """The good machine with another GPU state."""
    return replace(GOOD, gpus=(replace(H200, **changes),))


def test_a_server_in_order_is_all_well() -> None:
    """As root, restricted counters are no restriction."""
    assert {finding.state for finding in findings(GOOD)} == {"ok"}
    assert can_measure(findings(GOOD)) and summary(findings(GOOD)) == "this GPU can be measured here"
    assert "not needed" in found(GOOD)["CUDA headers"].found and "9.0" in found(GOOD)["NVRTC"].found


def test_a_laptop_cannot_measure_and_is_told_what_can() -> None:
    assert found(LAPTOP)["system"].state == "absent" and "Linux" in found(LAPTOP)["system"].cure
    assert not can_measure(findings(LAPTOP)) and "only ./roofline measure needs" in summary(findings(LAPTOP))


TROUBLES: dict[str, tuple[Machine, str, str, str, str]] = {
    # name: machine, finding, state, words of what is found, words of the cure
    "no driver": (Machine(system="Linux"), "driver", "absent", "no NVIDIA driver", "install NVIDIA's driver"),
    "no driver in a container": (Machine(system="Linux", container=True), "driver", "absent", "no NVIDIA", "--gpus all"),
    "no driver under WSL": (Machine(system="WSL"), "driver", "absent", "no NVIDIA", "in Windows"),
    "an old driver": (replace(GOOD, driver_cuda=(11, 8)), "driver", "absent", "11.8", "525"),
    "closed device files": (replace(GOOD, nodes={"nvidia0": False}), "permissions", "absent", "/dev/nvidia0", "group"),
    "closed in a container": (
        replace(GOOD, nodes={"nvidia0": False}, container=True),
        "permissions",
        "absent",
        "/dev/nvidia0",
        "--group-add",
    ),
    "no CuPy": (replace(GOOD, cupy={}, cuda=None, gpus=()), "CuPy", "absent", "not installed", "./roofline measure"),
    "two CuPys": (
        replace(GOOD, cupy={"cupy-cuda12x": "14.2.0", "cupy-cuda13x": "14.2.0"}),
        "CuPy",
        "absent",
        "overwrite",
        "ROOFLINE_VENV",
    ),
    "CuPy newer than the driver": (
        replace(GOOD, driver_cuda=(12, 4)),
        "CuPy",
        "absent",
        "needs a driver for CUDA 13; this one ends at 12.4",
        "ROOFLINE_CUDA=12",
    ),
    "a broken CuPy": (replace(GOOD, cupy_error="libcudart.so.13: cannot open"), "CuPy", "absent", "libcudart", "ROOFLINE_VENV"),
    "hidden": (
        replace(GOOD, gpus=(), gpu_error="the driver sees no CUDA device", settings={"CUDA_VISIBLE_DEVICES": "-1"}),
        "GPU",
        "absent",
        "CUDA_VISIBLE_DEVICES='-1' hides",
        "unset it",
    ),
    "MIG without an instance": (
        replace(GOOD, gpus=(), gpu_error="the driver sees no CUDA device"),
        "GPU",
        "absent",
        "NVIDIA H200, but",
        "nvidia-smi mig",
    ),
    "cupy#9475: Pascal with CUDA 13": (first(capability=61), "NVRTC", "absent", "6.1", "written for 7.5"),
    "a compiler that dropped a GPU": (
        replace(first(capability=75), architectures=(80, 90)),
        "NVRTC",
        "absent",
        "7.5",
        "ROOFLINE_CUDA=12",
    ),
    "cupy#9106: Blackwell with CUDA 12.4": (
        replace(first(capability=120), nvrtc=(12, 4), architectures=(75, 80, 86, 89, 90)),
        "NVRTC",
        "absent",
        "12.0",
        "12.8 or newer",
    ),
    "a GPU of tomorrow": (first(capability=140), "NVRTC", "absent", "14.0", "a newer one"),
    "no compiler": (
        replace(GOOD, nvrtc=None, nvrtc_error="no CUDA compiler"),
        "NVRTC",
        "absent",
        "no CUDA compiler",
        "measure",
    ),
    "WSL": (replace(GOOD, system="WSL"), "system", "note", "batched", "Windows"),
    "a slice": (first(name="NVIDIA H200 MIG 1g.18gb"), "MIG", "note", "a slice", "-mig 0"),
    "NVML silent": (replace(GOOD, nvml=False), "NVML", "note", "does not answer", "nvidia-ml-py"),
    "hot": (first(held_by=("temperature", "power cap")), "clocks", "note", "temperature, power cap", "cool"),
    "set clocks": (first(clock_set=True), "clocks", "note", "application clocks", "-rac"),
    "H100 under a cap": (first(power_limit=350.0), "power limit", "note", "350 W of the usual 700 W", "nvidia-smi -pl 700"),
    "a display": (first(watchdog=True), "watchdog", "note", "display", "desktop"),
    "company": (first(others=2), "company", "note", "2 other programs", "end them"),
    "memory taken": (first(free=10**10), "GPU memory", "note", "10.0 of 150.0 GB", "end what holds it"),
    "no links": (replace(GOOD, gpus=(H200, Gpu("NVIDIA H200")), peers=False), "links", "note", "not every GPU", "IOMMU"),
    "cupy#8710: no NCCL": (replace(GOOD, gpus=(H200, Gpu("NVIDIA H200"))), "NCCL", "note", "not installed", "nvidia-nccl"),
    "launches waited for": (
        replace(GOOD, settings={"CUDA_LAUNCH_BLOCKING": "1"}),
        "CUDA_LAUNCH_BLOCKING",
        "note",
        "waited for",
        "unset",
    ),
    "TF32 for fp32": (replace(GOOD, settings={"CUPY_TF32": "1"}), "CUPY_TF32", "note", "tensor cores", "unset"),
    "no ncu": (replace(GOOD, ncu=""), "Nsight Compute", "note", "access model alone", "optional"),
    "ERR_NVGPUCTRPERM": (
        replace(GOOD, root=False),
        "Nsight Compute",
        "note",
        "ERR_NVGPUCTRPERM",
        "NVreg_RestrictProfilingToAdminUsers=0",
    ),
    "counters in a container": (
        replace(GOOD, root=False, container=True),
        "Nsight Compute",
        "note",
        "ERR_NVGPUCTRPERM",
        "--cap-add=SYS_ADMIN",
    ),
    "a cache that is closed": (
        replace(GOOD, cache_writable=False),
        "CuPy's cache",
        "note",
        "cannot be written",
        "CUPY_CACHE_DIR",
    ),
    "a full disk": (replace(GOOD, cache_free=10**7), "CuPy's cache", "note", "10 MB free", "CUPY_CACHE_DIR"),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_each_trouble_is_named_with_its_cure(name: str) -> None:
    seen, what, state, words, cure = TROUBLES[name]
    finding = found(seen)[what]
    assert finding.state == state and words in finding.found and cure in finding.cure
    assert can_measure(findings(seen)) == (state != "absent")
    assert found(GOOD).get(what, finding).state == "ok" or what not in found(GOOD)


def test_which_of_several_gpus_is_measured() -> None:
    several = replace(GOOD, gpus=(H200, *[Gpu("NVIDIA H200")] * 7), peers=True, nccl=True)
    assert "NVIDIA H200, the first of 8" in found(several)["GPU"].found and found(several)["links"].state == "ok"
    assert "NCCL" not in found(several)


def test_an_older_cupy_on_a_newer_driver_is_well() -> None:
    assert found(replace(GOOD, cupy={"cupy-cuda12x": "14.2.0"}, cuda=(12, 9)))["CuPy"].state == "ok"


def test_plain_lines_have_the_cure_where_there_is_something_to_cure(capsys: pytest.CaptureFixture[str]) -> None:
    show("title", [Finding("a", "ok", "well", "unused"), Finding("b", "absent", "gone", "fetch it")])
    assert capsys.readouterr().out == "title\nok     a: well\nabsent b: gone; fetch it\n"


def test_a_terminal_gets_marks_and_arrows(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    show("title", [Finding("a", "ok", "well", "unused"), Finding("b", "FAILS", "[gone]", "fetch it")])
    out = capsys.readouterr().out
    assert "✓" in out and "✗" in out and "[gone]" in out and "→ fetch it" in out and "unused" not in out


# ---- reading a machine ----------------------------------------------------------------------------------------------


def test_the_driver_s_cuda_is_in_nvidia_smi_s_heading() -> None:
    assert machine.driver_cuda("| NVIDIA-SMI 550.54.14  Driver Version: 550.54.14  CUDA Version: 12.4 |") == (12, 4)
    assert machine.driver_cuda("NVIDIA-SMI has failed") is None


def test_who_may_count_is_in_the_driver_s_parameters() -> None:
    assert machine.restricted("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n") is True
    assert machine.restricted("RmProfilingAdminOnly: 0") is False and machine.restricted("") is None


def test_device_files_and_who_may_open_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "nvidia1")
    assert machine.nodes(tmp_path) == {"nvidia0": True, "nvidia1": False, "nvidiactl": True, "nvidia-uvm": True}


def test_a_machine_without_anything_is_looked_at_without_a_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "not" / "there"))
    monkeypatch.setitem(sys.modules, "cupy", None)
    seen = machine.look()
    assert not seen.gpus and not seen.smi and not seen.ncu and seen.cache_writable
    assert found(seen)["driver"].state == "absent"


def test_a_gpu_is_read_through_cupy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A laptop's GPU with a display, as CuPy shows it, and no NVML."""
    cupy = ModuleType("cupy")

    class Runtime:
        runtimeGetVersion = staticmethod(lambda: 12090)
        getDeviceCount = staticmethod(lambda: 2)
        getDeviceProperties = staticmethod(lambda index: {"name": f"GPU {index}".encode(), "uuid": bytes(16)})
        deviceCanAccessPeer = staticmethod(lambda one, other: one < other)

    class Device:
        id, compute_capability, mem_info = 0, "86", (5, 8)
        attributes = MappingProxyType({"KernelExecTimeout": 1})

        def __init__(self, index: int = 0) -> None: ...

    vars(cupy)["cuda"] = type("cuda", (), {"runtime": Runtime, "Device": Device})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path))
    seen = machine.look()
    assert seen.cuda == (12, 9) and seen.peers is False and not seen.nvml
    assert seen.gpus == (Gpu("GPU 0", 86, 5, 8, True), Gpu("GPU 1"))
