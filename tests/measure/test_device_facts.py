"""The table of datasheets against arithmetic, and what becomes of GPUs that it does not know, of slices, and without NVML."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from measure import device, roofs
from measure.datasheets import DATASHEETS, memory_kind, whole_of
from measure.device import Hardware, describe, facts, uuids, with_nvml

SLICE = Hardware("NVIDIA H200 MIG 1g.18gb", 90, 16, 7 << 20, 18 << 30, 1980.0, 3201.0, 768, 2048, 65536, 228 << 10, 227 << 10)
UNKNOWN = Hardware("NVIDIA Rubin", 140, 200, 96 << 20, 288 << 30, 2200.0, 4000.0, 8192, 2048, 65536, 228 << 10, 227 << 10)

# SMs, fp32 lanes an SM, boost clock in GHz, bus in bits, Gbit/s a line, and where the tensor units run at the boost clock too,
# their dense bf16 FLOP a clock an SM: from the same whitepapers and product briefs.
PARTS: dict[str, tuple[int, int, float, int, float, int | None]] = {
    "NVIDIA H200": (132, 128, 1.98, 6144, 6.25, None),
    "NVIDIA H200 NVL": (132, 128, 1.785, 6144, 6.25, None),
    "NVIDIA H100 80GB HBM3": (132, 128, 1.98, 5120, 5.23, None),
    "NVIDIA H100 PCIe": (114, 128, 1.755, 5120, 3.19, None),
    "NVIDIA H100 NVL": (132, 128, 1.785, 6016, 5.2, None),
    "NVIDIA A100-SXM4-40GB": (108, 64, 1.41, 5120, 2.43, 2048),
    "NVIDIA A100-SXM4-80GB": (108, 64, 1.41, 5120, 3.186, 2048),
    "NVIDIA A100-PCIE-40GB": (108, 64, 1.41, 5120, 2.43, 2048),
    "NVIDIA A100 80GB PCIe": (108, 64, 1.41, 5120, 3.024, 2048),
    "NVIDIA A30": (56, 64, 1.44, 3072, 2.43, 2048),
    "NVIDIA A10": (72, 128, 1.695, 384, 12.5, 1024),
    "NVIDIA A40": (84, 128, 1.74, 384, 14.5, 1024),
    "Tesla T4": (40, 64, 1.59, 256, 10.0, None),
    "NVIDIA L4": (58, 128, 2.04, 192, 12.5, 1024),
    "NVIDIA L40": (142, 128, 2.49, 384, 18.0, 512),
    "NVIDIA L40S": (142, 128, 2.52, 384, 18.0, None),
    "NVIDIA RTX A5000": (64, 128, 1.695, 384, 16.0, None),
    "NVIDIA RTX A6000": (84, 128, 1.80, 384, 16.0, 1024),
    "NVIDIA RTX 6000 Ada Generation": (142, 128, 2.505, 384, 20.0, None),
    "NVIDIA GeForce RTX 2080 Ti": (68, 64, 1.545, 352, 14.0, None),
    "NVIDIA GeForce RTX 3070": (46, 128, 1.725, 256, 14.0, 512),
    "NVIDIA GeForce RTX 3080": (68, 128, 1.71, 320, 19.0, 512),
    "NVIDIA GeForce RTX 3080 Ti": (80, 128, 1.665, 384, 19.0, 512),
    "NVIDIA GeForce RTX 3090": (82, 128, 1.695, 384, 19.5, 512),
    "NVIDIA GeForce RTX 3090 Ti": (84, 128, 1.86, 384, 21.0, 512),
    "NVIDIA GeForce RTX 4080": (76, 128, 2.505, 256, 22.4, 512),
    "NVIDIA GeForce RTX 4090": (128, 128, 2.52, 384, 21.0, 512),
    "NVIDIA GeForce RTX 5080": (84, 128, 2.617, 256, 30.0, 512),
    "NVIDIA GeForce RTX 5090": (170, 128, 2.407, 512, 28.0, 512),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_datasheet_is_what_its_parts_make(name: str) -> None:
    """2 x SMs x lanes x clock, lines x rate, and the tensor units' FLOP a clock: as printed, to the digits that are printed."""
    sms, lanes, clock, bus, line_rate, tensor = PARTS[name]
    sheet = DATASHEETS[name]
    assert sheet.fp32 == pytest.approx(2 * sms * lanes * clock / 1e3, rel=0.01)
    assert sheet.bandwidth == pytest.approx(bus * line_rate / 8e3, rel=0.025)  # 2.04 TB/s are printed as 2
    if tensor is not None:
        assert sheet.bf16 == pytest.approx(sms * tensor * clock / 1e3, rel=0.005)


def test_dense_tensor_rates_not_the_sparse_ones() -> None:
    """1,979, 1,671 and 1,513 TFLOP/s are printed for Hopper with sparsity; dense is half of it."""
    for name, sparse in {
        "NVIDIA H200": 1979,
        "NVIDIA H100 80GB HBM3": 1979,
        "NVIDIA H100 NVL": 1671,
        "NVIDIA H100 PCIe": 1513,
    }.items():
        assert DATASHEETS[name].bf16 == sparse / 2
    assert DATASHEETS["Tesla T4"].bf16 is None and DATASHEETS["NVIDIA GeForce RTX 2080 Ti"].bf16 is None  # Turing has no bf16
    assert len(DATASHEETS) >= 25 and all(sheet.reference for sheet in DATASHEETS.values())


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("NVIDIA H200 MIG 1g.18gb", "NVIDIA H200"),
        ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", "NVIDIA A100-SXM4-40GB"),
        ("NVIDIA H100 80GB HBM3 MIG 1c.2g.20gb", "NVIDIA H100 80GB HBM3"),
        ("NVIDIA H200", None),
        ("NVIDIA GeForce RTX 3090", None),
    ],
)
def test_the_gpu_that_a_slice_is_cut_from(name: str, whole: str | None) -> None:
    assert whole_of(name) == whole


def test_a_slice_has_its_own_sms_and_no_bandwidth_of_the_whole() -> None:
    found = describe(SLICE)
    assert found.sm_count is not None and found.sm_count.value == 16 and found.slug == "nvidia-h200-mig-1g-18gb"
    assert found.memory.kind == "HBM3e" and found.memory.bandwidth is None and found.memory.packages is None
    assert "NVIDIA H200" in found.facts["mig"] and memory_kind(SLICE.name) == memory_kind("NVIDIA H200")


def test_an_unknown_compute_capability_is_said_to_be_so() -> None:
    found = describe(UNKNOWN)
    assert found.fp32_lanes_per_sm is None and "probed" in found.facts["fp32 lanes"]
    assert "fp32 lanes" not in describe(SLICE).facts


def test_no_roof_of_the_sms_is_computed_for_an_unknown_capability() -> None:
    """What its memory's clock and bus allow is arithmetic all the same."""
    assert roofs._computed("fp32", UNKNOWN) is None and roofs._computed("load_path", UNKNOWN) is None
    memory = roofs._computed("dram", UNKNOWN)
    assert memory is not None and memory.value == pytest.approx(2 * 4e9 * 8192 / 8 / 1e12)


def test_linux_in_windows_is_recorded() -> None:
    assert device.system("5.15.153.1-microsoft-standard-WSL2") == "WSL"
    assert device.system("6.8.0-45-generic") != "WSL"


class NVMLError(Exception):
    pass


def nvml(monkeypatch: pytest.MonkeyPatch, known: tuple[str, ...], **functions: Any) -> None:
    """A CuPy whose device has the UUID 00 01 .. 0f, and an NVML that knows some names."""
    cupy, fake = ModuleType("cupy"), ModuleType("pynvml")

    class Runtime:
        @staticmethod
        def getDeviceProperties(index: int) -> dict[str, Any]:
            return {"uuid": bytes(range(16))}

    class Cuda:
        runtime = Runtime

        class Device:
            id = 0

    def by_uuid(name: str) -> str:
        if name not in known:
            raise NVMLError("not found")
        return name

    members: dict[str, Any] = {
        "NVMLError": NVMLError,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetHandleByUUID": by_uuid,
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": lambda handle: f"whole of {handle}",
        **functions,
    }
    vars(cupy)["cuda"] = Cuda
    vars(fake).update(members)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "pynvml", fake)


WHOLE, PART = uuids(bytes(range(16)))


def test_nvml_is_asked_by_uuid() -> None:
    assert WHOLE == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f" and PART == WHOLE.replace("GPU", "MIG")


def test_nvml_of_a_slice_speaks_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml(monkeypatch, (WHOLE,))
    assert with_nvml(lambda module, handle: handle) == WHOLE
    nvml(monkeypatch, (PART,))
    assert with_nvml(lambda module, handle: handle) == f"whole of {PART}"
    nvml(monkeypatch, ())
    assert with_nvml(lambda module, handle: handle) is None


def test_what_nvml_does_not_support_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(handle: str) -> list[int]:
        raise NVMLError("Not Supported")

    nvml(monkeypatch, (WHOLE,), nvmlDeviceGetEnforcedPowerLimit=lambda handle: 700_000, nvmlDeviceGetEccMode=refused)
    found = facts(UNKNOWN)
    assert found["power limit"] == "700 W" and "ecc" not in found and "mig" not in found


@pytest.mark.parametrize(("bits", "words"), [(0, ()), (1, ()), (4, ("power cap",)), (4 | 32 | 1, ("power cap", "temperature"))])
def test_reasons_that_hold_the_clock_down(monkeypatch: pytest.MonkeyPatch, bits: int, words: tuple[str, ...]) -> None:
    """Bit 1 is an idle GPU, which is no throttling."""
    nvml(monkeypatch, (WHOLE,), nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: bits)
    assert device.throttle_reasons() == words
