"""What may be said of a rung and of the file it comes from, in words: all of it asked for from the measurements."""

from __future__ import annotations

from measure.dataset import Dataset
from measure.records import Rung

LADDER = "gemm_fp32"
LEVEL_NAMES = {"load_path": "SM load path", "l2": "L2", "dram": "DRAM", "l1": "L1"}


def find(data: Dataset, name: str) -> Rung | None:
    """A rung of the fp32 ladder by name."""
    owned = data.ladder(LADDER)
    return next((rung for rung in owned.value.rungs if rung.name == name), None) if owned else None


def problem(data: Dataset) -> str:
    """Type and size of the product, such as 'fp32 GEMM 4096³'."""
    owned = data.ladder(LADDER)
    return f"{owned.value.dtype.split(' in')[0]} GEMM {owned.value.problem.split(' x ')[0]}³" if owned else ""


def verdict(data: Dataset, name: str) -> str:
    """Which roof a rung is near, where it runs within 30 % of one; or that it failed its check, or has no known place."""
    rung = find(data, name)
    if rung is not None and rung.verification is not None and not rung.verification.passed:
        return "failed verification"
    if rung is None or rung.rate is None:
        return "not measured"
    share = data.bound_by(LADDER, name)
    if share is not None:
        return "bound by the math roof" if share.roof == "fp32" else f"bound by the {LEVEL_NAMES.get(share.roof, share.roof)}"
    if data.intensity(LADDER, name) is None:
        return "intensity not published: height only"
    return "no single roof binds it"


def credits(data: Dataset, song: str) -> tuple[str, ...]:
    """GPU, versions, date, what was measured and what was not, in lines."""
    run, lines = data.run, [data.device.name]
    if run is None:
        lines.append("every figure published or from the datasheet")
    else:
        lines.append(f"measured {run.date[:10]}, driver {run.driver or 'unknown'}")
        lines.append(f"CuPy {run.cupy or 'unknown'}, NVRTC {run.nvrtc or 'unknown'}")
        lines.append("each kernel checked against float64 before and after timing")
    absent = [name for name in ("index", "launch", "divergence") if data.trace(name) is None]
    if absent:
        lines.append(f"not measured: {', '.join(absent)} traces")
    lines.append(f"music: {song}")
    return tuple(lines)
