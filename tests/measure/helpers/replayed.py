"""The recording of a real GPU, and what it would have been on a throttled, noisy, sliced or silent one.

Each function changes a document in place and leaves all else as it was seen.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from measure import schema
from measure.device import Hardware, describe

PATH = Path(__file__).resolve().parents[1] / "recordings" / "nvidia-h200.json.gz"
Document = dict[str, Any]


def recorded() -> Document:
    """The recording as it was seen."""
    document: Document = json.loads(gzip.decompress(PATH.read_bytes()))
    return document


def calm() -> Document:
    """The recording as it would have been if nothing had held the clock down: its tensor cores had met the power cap."""
    document = recorded()
    for one in document["subjects"].values():
        one["reasons"] = []
    for _, raw in raws(document):
        each_list(raw, "reasons", lambda _: [])
    clocked(document, document["hardware"]["clock"])
    return document


def write(document: Document, path: Path) -> Path:
    """The document as a file that `measure --replay` takes."""
    text = json.dumps(document, allow_nan=False)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def raws(document: Document) -> Iterator[tuple[str, Document]]:
    """Every subject that has raw samples."""
    for name, one in document["subjects"].items():
        if one["raw"] is not None:
            yield name, one["raw"]


def contenders(document: Document) -> Iterator[tuple[str, str, Document]]:
    """Subject, name and samples of everyone who ran in a contest."""
    for subject, raw in raws(document):
        for name, one in raw.get("contenders", {}).items():
            if not one["refusal"]:
                yield subject, name, one


def each_list(value: Any, key: str, change: Callable[[list[Any]], list[Any]]) -> None:
    """Apply `change` to every list of that key, however deep."""
    for name, inner in list(value.items()) if isinstance(value, dict) else list(enumerate(value)):
        if name == key and isinstance(inner, list):
            value[name] = change(inner)
        elif isinstance(inner, dict | list):
            each_list(inner, key, change)


def slower(document: Document, factor: float) -> None:
    """Every contest and every roof takes `factor` times as long."""
    for _, _, one in contenders(document):
        for mode in ("hot", "cold"):
            one[mode] = [seconds * factor for seconds in one[mode]]
    for roof in document["subjects"]["roofs"]["raw"]["roofs"].values():
        roof["seconds"] = [seconds * factor for seconds in roof["seconds"]]


def throttled(document: Document, factor: float, reason: str) -> None:
    """Held down by `reason`: times up, clocks down, and NVML says why."""
    slower(document, factor)
    for _, raw in raws(document):
        each_list(raw, "clocks", lambda clocks: [clock / factor for clock in clocks])
        each_list(raw, "reasons", lambda _: [reason])
    for one in document["subjects"].values():
        one["reasons"] = [reason]


def noisy(document: Document, seed: int = 5) -> None:
    """One sample in three is late by a heavy-tailed factor, as beside another job or a desktop."""
    chance = random.Random(seed)

    def late(seconds: float) -> float:
        return seconds * (chance.paretovariate(1.5) if chance.random() < 1 / 3 else 1.0)

    for _, _, one in contenders(document):
        for mode in ("hot", "cold"):
            one[mode] = [late(seconds) for seconds in one[mode]]


def wrong(document: Document, subject: str, name: str, **found: Any) -> None:
    """One contender as it comes out of a contest that it failed: it was not timed."""
    one = document["subjects"][subject]["raw"]["contenders"][name]
    one.update(found)
    if found.get("error", 0.0) is None or found.get("odd_sizes") is False:
        one.update(hot=[], cold=[], clocks=[])


def refused(document: Document, subject: str, reason: str) -> None:
    """A subject that cannot be measured on this GPU."""
    document["subjects"][subject].update(raw=None, absent=reason)


def clocked(document: Document, clock: float) -> None:
    """All that ran at this clock in MHz."""
    for _, raw in raws(document):
        each_list(raw, "clocks", lambda clocks: [clock] * len(clocks))


def without_clocks(document: Document) -> None:
    """A timer that is too coarse to tell the clock."""
    for _, raw in raws(document):
        each_list(raw, "clocks", lambda _: [])


def on(document: Document, **changes: Any) -> Hardware:
    """The same samples on other hardware; the device is described as it would be there, without NVML."""
    hardware = Hardware(**{**document["hardware"], **changes})
    document["hardware"] = asdict(hardware)
    document["device"] = schema.unstructure(describe(hardware))
    document["versions"]["driver"] = None
    return hardware
