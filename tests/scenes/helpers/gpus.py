"""Measurement files of GPUs that the film has to bear, made from the project's own file by arithmetic.

    .venv/bin/python tests/scenes/helpers/gpus.py small out/small.json
    ./roofline render --measurements out/small.json -q l

None of their figures was measured: their notes say so, and the GPU's name does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BASE = Path(__file__).resolve().parents[3] / "measure" / "measurements" / "nvidia-h200.json"


def quantities(node: Any) -> Iterator[dict[str, Any]]:
    """Every quantity below a node of a file."""
    if isinstance(node, dict) and "value" in node and "source" in node:
        yield node
    elif isinstance(node, dict | list):
        for part in node.values() if isinstance(node, dict) else node:
            yield from quantities(part)


def scaled(node: Any, factor: float, *units: str) -> None:
    """Quantities in these units times a factor, with the low and high between which they lie."""
    for quantity in quantities(node):
        if quantity["unit"] in units:
            quantity.update({key: quantity[key] * factor for key in ("value", "low", "high") if key in quantity})


def faster(document: Any, factor: float) -> None:
    """All rungs and lines of all ladders so much faster: more a second, in less time; their samples with them."""
    for ladder in document["ladders"].values():
        for member in [*ladder["rungs"], *ladder.get("lines", [])]:
            scaled(member, factor, "TFLOP/s", "TB/s", "GB/s")
            scaled(member, 1 / factor, "s", "ns")
            if "samples" in member:
                member["samples"] = [sample / factor for sample in member["samples"]]


def small(document: Any) -> None:
    """A laptop's GPU: 20 SMs and one memory chip, a tenth of the rates; four rungs of one ladder, no traces."""
    device = document["device"]
    device["sm_count"]["value"], device["l2_size"]["value"] = 20.0, 2.0 * 2**20
    device["memory"].update(kind="GDDR6", packages=1)
    device["memory"]["size"]["value"], device["memory"]["bandwidth"]["value"] = 4.0 * 2**30, 0.128
    document["roofs"] = {name: document["roofs"][name] for name in ("fp32", "l2", "dram")}
    document["ladders"] = {"gemm_fp32": document["ladders"]["gemm_fp32"]}
    ladder = document["ladders"]["gemm_fp32"]
    ladder["rungs"], ladder["level"] = ladder["rungs"][:4], "dram"
    scaled(document["roofs"], 0.1, "TFLOP/s", "TB/s")
    faster(document, 0.1)
    document["latencies"] = {"dram": document["latencies"]["dram"]}
    for gone in ("traces", "sweeps", "virtual_all_reduce"):
        document.pop(gone, None)


def below_the_ridge(document: Any) -> None:
    """No rung comes near the ridge: each moves a hundred times the bytes, at a hundredth of the rate."""
    for ladder in document["ladders"].values():
        for rung in ladder["rungs"]:
            scaled(rung.get("traffic", {}), 100.0, "B")
    faster(document, 0.01)


def throttled(document: Any) -> None:
    """A GPU that ran at half of its clock: roofs and rungs half as fast, and the run says why."""
    scaled(document["roofs"], 0.5, "TFLOP/s", "TB/s")
    faster(document, 0.5)
    document["run"].update(throttled=True, notes=["every clock held down by heat"])
    document["run"]["clock"] = {**document["run"]["clock"], "value": 990.0, "low": 840.0, "high": 1140.0}
    for subject in document["run"]["subjects"].values():
        subject["throttle_reasons"] = ["thermal"]


def above_the_peak(document: Any) -> None:
    """Rungs and libraries 1.6 times as fast as they ran: some past the measured roof, the computed peak and the datasheet."""
    faster(document, 1.6)


KINDS: dict[str, Callable[[Any], None]] = {
    "small": small, "below-the-ridge": below_the_ridge, "throttled": throttled, "above-the-peak": above_the_peak,
}  # fmt: skip


def write(kind: str, path: Path) -> Path:
    """Write the file of one kind of GPU; returns its path."""
    document: Any = json.loads(BASE.read_text())
    KINDS[kind](document)
    document["device"].update(name=f"Example GPU, {kind.replace('-', ' ')}", slug=f"example-{kind}")
    document["provenance"] = "Made by arithmetic from another GPU's file, to see the film of such a GPU: not measured."
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: gpus.py {'|'.join(KINDS)} FILE")
    print(write(sys.argv[1], Path(sys.argv[2])))
