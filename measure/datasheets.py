"""What vendors print about a GPU: memory kind, bandwidth and peak rates, each with where it stands.

A GPU that is not listed has no datasheet figures, and a figure that its source does not give is None: nothing is guessed, and
nothing is worked out from a sister product.  Tensor rates are dense: most datasheets print them with sparsity, twice as high.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

TURING = "NVIDIA Turing GPU Architecture whitepaper"
GA102 = "NVIDIA Ampere GA102 GPU Architecture whitepaper"
ADA = "NVIDIA Ada GPU Architecture whitepaper"
BLACKWELL = "NVIDIA RTX Blackwell GPU Architecture whitepaper"
A100 = "NVIDIA A100 Tensor Core GPU datasheet"
H100 = "NVIDIA H100 Tensor Core GPU datasheet"
H200 = "NVIDIA H200 Tensor Core GPU datasheet"


@dataclass(frozen=True, slots=True)
class Datasheet:
    """Memory kind, bandwidth in TB/s, fp32 peak in TFLOP/s, where they stand, and the dense bf16 tensor peak in TFLOP/s.

    `bf16` is the rate with fp32 accumulation; None where there is no such unit or the source does not print it."""

    kind: str
    bandwidth: float
    fp32: float
    reference: str
    bf16: float | None = None


DATASHEETS: Mapping[str, Datasheet] = {
    "NVIDIA B200": Datasheet("HBM3e", 7.7, 75.0, "NVIDIA Blackwell datasheet (one GPU of an HGX B200)", 2250.0),
    "NVIDIA H200": Datasheet("HBM3e", 4.8, 67.0, f"{H200} (SXM)", 989.5),
    "NVIDIA H200 NVL": Datasheet("HBM3e", 4.8, 60.0, f"{H200} (NVL)", 835.5),
    "NVIDIA H100 80GB HBM3": Datasheet("HBM3", 3.35, 67.0, f"{H100} (SXM)", 989.5),
    "NVIDIA H100 PCIe": Datasheet("HBM2e", 2.0, 51.0, f"{H100} (PCIe)", 756.5),
    "NVIDIA H100 NVL": Datasheet("HBM3", 3.9, 60.0, f"{H100} (NVL)", 835.5),
    "NVIDIA A100-SXM4-40GB": Datasheet("HBM2", 1.555, 19.5, A100, 312.0),
    "NVIDIA A100-SXM4-80GB": Datasheet("HBM2e", 2.039, 19.5, A100, 312.0),
    "NVIDIA A100-PCIE-40GB": Datasheet("HBM2", 1.555, 19.5, A100, 312.0),
    "NVIDIA A100 80GB PCIe": Datasheet("HBM2e", 1.935, 19.5, A100, 312.0),
    "NVIDIA A30": Datasheet("HBM2", 0.933, 10.3, "NVIDIA A30 Tensor Core GPU datasheet", 165.0),
    "NVIDIA A10": Datasheet("GDDR6", 0.600, 31.2, "NVIDIA A10 Tensor Core GPU datasheet", 125.0),
    "NVIDIA A40": Datasheet("GDDR6", 0.696, 37.4, "NVIDIA A40 datasheet", 149.7),
    "Tesla T4": Datasheet("GDDR6", 0.320, 8.1, "NVIDIA T4 datasheet"),
    "NVIDIA L4": Datasheet("GDDR6", 0.300, 30.3, "NVIDIA L4 datasheet", 121.0),
    "NVIDIA L40": Datasheet("GDDR6", 0.864, 90.5, "NVIDIA L40 datasheet", 181.05),
    "NVIDIA L40S": Datasheet("GDDR6", 0.864, 91.6, "NVIDIA L40S datasheet", 362.05),
    "NVIDIA RTX A5000": Datasheet("GDDR6", 0.768, 27.8, "NVIDIA RTX A5000 datasheet"),
    "NVIDIA RTX A6000": Datasheet("GDDR6", 0.768, 38.7, f"NVIDIA RTX A6000 datasheet; tensor rate: {GA102}", 154.8),
    "NVIDIA RTX 6000 Ada Generation": Datasheet("GDDR6", 0.960, 91.1, "NVIDIA RTX 6000 Ada Generation datasheet"),
    "NVIDIA GeForce RTX 2080 Ti": Datasheet("GDDR6", 0.616, 13.4, TURING),
    "NVIDIA GeForce RTX 3070": Datasheet("GDDR6", 0.448, 20.3, GA102, 40.6),
    "NVIDIA GeForce RTX 3080": Datasheet("GDDR6X", 0.760, 29.8, GA102, 59.5),
    "NVIDIA GeForce RTX 3080 Ti": Datasheet("GDDR6X", 0.912, 34.1, ADA, 68.2),
    "NVIDIA GeForce RTX 3090": Datasheet("GDDR6X", 0.936, 35.6, GA102, 71.0),
    "NVIDIA GeForce RTX 3090 Ti": Datasheet("GDDR6X", 1.008, 40.0, ADA, 80.0),
    "NVIDIA GeForce RTX 4080": Datasheet("GDDR6X", 0.7168, 48.7, ADA, 97.5),
    "NVIDIA GeForce RTX 4090": Datasheet("GDDR6X", 1.008, 82.6, ADA, 165.2),
    "NVIDIA GeForce RTX 5080": Datasheet("GDDR7", 0.960, 56.3, BLACKWELL, 112.6),
    "NVIDIA GeForce RTX 5090": Datasheet("GDDR7", 1.792, 104.8, BLACKWELL, 209.5),
}
"""By the name that CUDA reports."""

_SLICE = re.compile(r" MIG \d+c?\.?\d*g?\.\d+gb.*$")


def whole_of(name: str) -> str | None:
    """The GPU that a MIG slice is cut from, as `NVIDIA H200` for `NVIDIA H200 MIG 1g.18gb`; None for a whole GPU."""
    whole = _SLICE.sub("", name)
    return whole if whole != name else None


def memory_kind(name: str) -> tuple[str, str] | None:
    """Memory kind and its source, for a whole GPU or a slice of one; a slice's bandwidth and rates are printed nowhere."""
    sheet = DATASHEETS.get(whole_of(name) or name)
    return None if sheet is None else (sheet.kind, sheet.reference)
