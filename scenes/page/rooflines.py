"""Every device's roofs and ladders as plain values for the page's chart: all levels, all ways to count bytes, hot and cold.

Rates in TFLOP/s, bandwidths in TB/s, intensities in FLOP/B: the chart draws what is here and works nothing out but its axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure.dataset import MEASUREMENTS, Dataset, known_names
from measure.records import Ladder, Measurements, Quantity, Roof, Rung
from measure.roofline_model import LEVEL_ROOF, intensity, math_roof_of

LEVELS = {"load_path": "SM load path", "l2": "L2", "dram": "DRAM", "algorithmic": "least possible"}
METHODS = {"counters": "hardware counters", "model": "access model"}
ROOF_FIELDS = ("measured", "computed", "datasheet", "published")


def devices(specs: Sequence[str]) -> list[dict[str, Any]]:
    """One entry a measurement file that has roofs or ladders: those of the film first, then all that come with the project."""
    paths = [Path(spec) for spec in specs]
    paths += [path for name in known_names() if (path := MEASUREMENTS / f"{name}.json") not in paths]
    found = [(path, Dataset.open([path]).main) for path in paths]
    shown = [device(path.stem, content) for path, content in found if content.roofs or content.ladders]
    own = {Path(spec).stem for spec in specs}
    return sorted(shown, key=lambda one: (one["file"] not in own, not one["ladders"]))


def device(stem: str, content: Measurements) -> dict[str, Any]:
    """One measurement file."""
    run = content.run
    told = [f"driver {run.driver}" if run and run.driver else "", f"CUDA {run.cuda_driver}" if run and run.cuda_driver else ""]
    return {
        "file": stem,
        "name": content.device.name,
        "kind": "measured" if run else "published",
        "when": run.date[:10] if run else "",
        "how": ", ".join(filter(None, told)),
        "roofs": [roof(name, one) for name, one in content.roofs.items()],
        "ladders": [ladder(name, one) for name, one in content.ladders.items()],
    }


def roof(name: str, found: Roof) -> dict[str, Any]:
    """A roof with every way in which it is known; `best` names the one that is drawn unless another is asked for."""
    values = {field: value.value for field in ROOF_FIELDS if (value := getattr(found, field)) is not None}
    return {"name": name, "title": found.title, "kind": found.kind, "values": values, "best": found.best_field}


def ladder(name: str, found: Ladder) -> dict[str, Any]:
    """A ladder with its rungs, and the vendor's rates beside it."""
    lines = [{"title": line.title, "rate": line.rate.value} for line in found.lines if line.rate.unit == "TFLOP/s"]
    return {
        "name": name, "title": found.title, "problem": found.problem.replace(" x ", " × "), "dtype": found.dtype,
        "level": found.level, "roof": found.math_roof, "lines": lines,
        "rungs": [rung(found, one) for one in found.rungs],
    }  # fmt: skip


def rung(owner: Ladder, found: Rung) -> dict[str, Any]:
    """A rung: rates hot and cold with their quartiles, intensity by level and method; why it has no rate where it has none."""
    verified = found.verification is None or found.verification.passed
    hot = _rate(owner, found.rate, found.time) if verified else None
    places = {
        level: {
            method: intensity(owner.work.value, moved.value)
            for method in METHODS
            if owner.work is not None and (moved := getattr(traffic, method)) is not None and moved.value > 0
        }
        for level, traffic in found.traffic.items()
    }
    return {
        "name": found.name, "title": found.title, "change": found.change, "roof": math_roof_of(owner, found),
        "hot": hot, "cold": _rate(owner, None, found.time_cold) if verified else None,
        "spread": [found.rate.low, found.rate.high, found.rate.n] if found.rate is not None and found.rate.low else None,
        "source": found.rate.source if found.rate is not None else "",
        "at": {level: methods for level, methods in places.items() if methods},
        "error": None if found.verification is None else [found.verification.error, found.verification.tolerance],
        "why": "" if hot is not None else found.absent or ("" if verified else "failed verification") or "not measured",
    }  # fmt: skip


def _rate(owner: Ladder, rate: Quantity | None, time: Quantity | None) -> float | None:
    """TFLOP/s as recorded, else the work over the time."""
    if rate is not None and rate.unit == "TFLOP/s":
        return rate.value
    return owner.work.value / time.value / 1e12 if time is not None and owner.work is not None else None


def words() -> dict[str, Any]:
    """What levels and methods are called, and the roof of each level."""
    return {"levels": LEVELS, "methods": METHODS, "level_roof": dict(LEVEL_ROOF)}
