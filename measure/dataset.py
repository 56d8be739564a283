"""What the film reads: one or several measurement files seen as one, each subject still owned by the file it came from.

Files are overlaid by subject (`measure.keys.subject_of`): a later file's roofs, ladder, trace or all-reduce replaces an
earlier file's whole, never figure by figure.  Every read is noted, field by field (`measure.noted`), so that a picture can be
cached under the values it was drawn from.  Keys of reads are dotted keys, and: `X?` whether there is an X, and in which file;
`X#` which members X has; `X@device.F` and `X@run.F` a field of the device or run that X belongs to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from measure import keys, roofline_model, schema
from measure.errors import SchemaError
from measure.noted import MEMBERS, PRESENCE, member_names, noted
from measure.overlaid import Extent, File, Overlay, Reading
from measure.records import (
    AllReduce,
    Device,
    DivergenceTrace,
    IndexTrace,
    Ladder,
    LaunchTrace,
    Measurements,
    Roof,
    Run,
    Sweep,
    Traffic,
)

__all__ = [
    "DEFAULT_SPECS", "MEASUREMENTS", "Dataset", "Extent", "Owned", "Reading", "find_file", "known_names",
]  # fmt: skip

T = TypeVar("T")
MEASUREMENTS = Path(__file__).resolve().parent / "measurements"
DEFAULT_SPECS = ("hgx-h100-published", "nvidia-h200")


@dataclass(frozen=True, slots=True)
class Owned(Generic[T]):
    """A record with the device it was measured on, the run it comes from (None: not measured), its key and its file's stem."""

    value: T
    device: Device
    run: Run | None
    key: str
    file: str


def whose(key: str) -> str:
    """The read that says which GPU a quantity belongs to."""
    subject, *rest = key.split(".")
    if rest in (["fp32_lanes"], ["shared_memory"]):
        return "device.name"
    if subject == "derived":
        key = "roofs" if rest[:1] == ["ridge"] else ".".join(["ladders", *rest[1:2]])
    subject = keys.subject_of(key)
    return "device.name" if subject in ("device", "run") else f"{subject}@device.name"


def known_names() -> tuple[str, ...]:
    """Names of the measurement files that come with the project."""
    return tuple(sorted(path.stem for path in MEASUREMENTS.glob("*.json")))


def find_file(spec: str | Path) -> Path:
    """The file that a name or a path means: a bare name is one of `known_names`; with a slash or `.json` it is a path.

    Raises SchemaError, listing the known names, where there is none.
    """
    text = str(spec)
    if isinstance(spec, Path) or "/" in text or "\\" in text or text.endswith(".json"):
        path = Path(spec).expanduser().resolve()
        if not path.is_file():
            raise SchemaError(f"{spec}: no such measurement file")
        return path
    path = MEASUREMENTS / f"{text}.json"
    if not path.is_file():
        raise SchemaError(f"{text}: no measurement of that name; known are {', '.join(known_names())}, or give a file's path")
    return path


@lru_cache(maxsize=16)
def _load(path: str, stamp: tuple[int, int]) -> Measurements:
    del stamp  # part of the cache's key only: a file that was written anew is read anew
    return schema.load(Path(path))


class Dataset:
    """The measurements a film is drawn from.  Open it with `Dataset.open`; it pickles as the paths of its files."""

    def __init__(self, files: Sequence[File]) -> None:
        self._all = Overlay(files)
        self._reads: set[str] = set()

    @classmethod
    def open(cls, specs: Sequence[str | Path] = ()) -> Dataset:
        """Load files, later ones over earlier ones; none given means the H200's over the published all-reduce figures.

        Raises SchemaError for an unknown name or a bad file.
        """
        files = []
        for spec in specs or DEFAULT_SPECS:
            path = find_file(spec)
            stat = path.stat()
            files.append(File(path.stem, str(path), _load(str(path), (stat.st_mtime_ns, stat.st_size))))
        return cls(files)

    def __reduce__(self) -> tuple[Callable[..., Dataset], tuple[tuple[str, ...]]]:
        return Dataset.open, (self.specs,)

    @property
    def specs(self) -> tuple[str, ...]:
        """Absolute paths of the files, in order: what another process opens to see the same."""
        return tuple(file.path for file in self._all.files)

    @property
    def main(self) -> Measurements:
        """The main file: the owner of the fp32 ladder; failing that of the roofs, then of the launch trace, else the last."""
        self._reads.add("main")
        return self._all.main.content

    @property
    def device(self) -> Device:
        """The GPU of the main file: what the chip, the title and the HUD show."""
        return noted(self._all.main.content.device, "device", self._reads.add)

    @property
    def run(self) -> Run | None:
        """The run of the main file, None where its figures were published, not measured."""
        run = self._all.main.content.run
        self._reads.add("run?")
        return None if run is None else noted(run, "run", self._reads.add)

    @property
    def reads(self) -> frozenset[str]:
        """Every key read so far, as it was asked for."""
        return frozenset(self._reads)

    def get(self, key: str) -> Reading | None:
        """One quantity by its key, or None where it is not in the files.

        `roofs.fp32` (the roof's best figure), `roofs.fp32.datasheet`, `ladders.gemm_fp32.rungs.coalesced.rate`,
        `ladders.gemm_fp32.rungs.coalesced.traffic.load_path`, `ladders.gemm_fp32.lines.cublas.rate`,
        `latencies.dram.cycles`, `sweeps.stride.series.bandwidth.values.8`, `traces.launch.duration`,
        `traces.divergence.slowdown`, `all_reduce.bus_bandwidth.ring`, `device.memory.bandwidth` and `run.clock` (both of the
        main file), and the derived `derived.intensity.LADDER.RUNG`, `derived.achieved.LADDER.RUNG`,
        `derived.of_level.LADDER.RUNG`, `derived.of_line.LADDER.RUNG.LINE`, `derived.ridge.MEMORY_ROOF.MATH_ROOF`,
        `derived.square.LADDER`, `derived.fp32_lanes`, `derived.shared_memory`.
        Raises DatasetKeyError for a key that could not exist.
        """
        self._reads |= {key, whose(key)}
        return self._all.read(key)

    def has(self, key: str) -> bool:
        """Whether there is something under a key: any of `get`'s keys, or a record's, such as `traces.launch`.

        Only that is noted, not the value: a picture which asks no more stays the same when the value changes.
        Raises DatasetKeyError for a key that could not exist.
        """
        self._reads.add(key + PRESENCE)
        return self._all.file_with(key) is not None

    def roof(self, name: str) -> Owned[Roof] | None:
        """A roof: `fp32`, `load_path`, `l1`, `l2`, `dram` (read) or `dram_copy`."""
        return self._owned(f"roofs.{name}")

    def ladder(self, name: str) -> Owned[Ladder] | None:
        """A ladder, such as `gemm_fp32`."""
        return self._owned(f"ladders.{name}")

    def sweep(self, name: str) -> Owned[Sweep] | None:
        """A sweep, such as `stride`."""
        return self._owned(f"sweeps.{name}")

    def index_trace(self) -> Owned[IndexTrace] | None:
        """What the index kernel wrote."""
        return self._owned("traces.index")

    def launch_trace(self) -> Owned[LaunchTrace] | None:
        """Which SM ran each block, and when."""
        return self._owned("traces.launch")

    def divergence_trace(self) -> Owned[DivergenceTrace] | None:
        """When each lane of a divergent warp ran."""
        return self._owned("traces.divergence")

    def trace(self, name: str) -> Owned[Any] | None:
        """A trace by its name: `index`, `launch` or `divergence`; the three methods above say the type."""
        return self._owned(f"traces.{name}")

    def all_reduce(self) -> Owned[AllReduce] | None:
        """The all-reduce figures of a server."""
        return self._owned("all_reduce")

    def virtual_all_reduce(self) -> Owned[AllReduce] | None:
        """All-reduce among ranks that share one GPU's memory: no link takes part."""
        return self._owned("virtual_all_reduce")

    def intensity(self, ladder: str, rung: str) -> Reading | None:
        """FLOP/B of a rung at its ladder's level; None where the ladder has no level or the rung no bytes there."""
        return self.get(f"derived.intensity.{ladder}.{rung}")

    def achieved(self, ladder: str, rung: str) -> Reading | None:
        """A rung's rate over its own GPU's math roof (measured; where there is none, published or the datasheet's)."""
        return self.get(f"derived.achieved.{ladder}.{rung}")

    def of_level(self, ladder: str, rung: str) -> Reading | None:
        """A rung's rate over the roof of its ladder's level at the rung's intensity."""
        return self.get(f"derived.of_level.{ladder}.{rung}")

    def ridge(self, memory_roof: str, math_roof: str = "fp32") -> Reading | None:
        """Intensity in FLOP/B at which a memory roof meets a math roof."""
        return self.get(f"derived.ridge.{memory_roof}.{math_roof}")

    def extent(self, ladder: str, math_roof: str = "fp32") -> Extent | None:
        """What the axes of a ladder's chart must reach; noted as a whole, so that no rung within it changes the axes."""
        self._reads.add(f"extent.{ladder}.{math_roof}")
        return self._all.extent(ladder, math_roof)

    def bound_by(self, ladder: str, rung: str) -> roofline_model.Share | None:
        """The roof that a rung runs within 30 % of, on its own GPU; None: no bound may be named."""
        self._reads.add(f"bound.{ladder}.{rung}")
        return self._all.bound(ladder, rung)

    def why_absent(self, subject: str) -> str:
        """Why a key or subject is missing: the reason that its file gives, or that no file has it."""
        self._reads.add(f"absent.{subject}")
        steps = subject.split(".")
        for end in range(len(steps), 0, -1):
            for file in (self._all.main, *reversed(self._all.files)):
                reason = file.content.absent.get(".".join(steps[:end]))
                if reason is not None:
                    return reason
        return f"not in {', '.join(file.stem for file in self._all.files)}"

    def fingerprint(self, reads: Iterable[str]) -> str:
        """SHA-256 over what these keys hold now, owners included: equal as long as a picture drawn from them would be."""
        digest = hashlib.sha256()
        for key in sorted(set(reads)):
            digest.update(json.dumps([key, self._held(key)], sort_keys=True).encode())
        return digest.hexdigest()

    def _held(self, key: str) -> object:
        """Whatever a noted key holds, as plain values."""
        head, _, rest = key.partition(".")
        if head == "absent":
            return self.why_absent(rest)
        if head == "main":
            return [self._all.main.stem, schema.unstructure(self._all.main.content)]
        if head == "extent":
            extent = self._all.extent(*rest.split("."))
            return None if extent is None else [extent.intensity, extent.slowest, extent.fastest, extent.highest]
        if key.endswith(PRESENCE):
            found = self._all.file_with(key.removesuffix(PRESENCE))
            return None if found is None else found.stem
        if head == "bound":
            return schema.unstructure(self._all.bound(*rest.split(".")))
        if head == "derived":
            reading = self._all.read(key)
            return None if reading is None else [reading.file, schema.unstructure(reading.quantity)]
        subject, _, of_owner = key.partition("@")
        subject = subject.removesuffix(MEMBERS)
        file = self._all.owner(subject)
        if file is None:
            return None
        steps = subject.removesuffix(".best").split(".")
        value = keys.step_into(file.content, of_owner.split(".") if of_owner else steps, key)
        if key.endswith(MEMBERS):
            return list(value) if isinstance(value, Mapping) else member_names(value) if isinstance(value, tuple) else None
        if isinstance(value, Roof | Traffic):
            value = keys.resolve(file.content, subject)  # what `get` gave for this key
        return [file.stem, schema.unstructure(value)]

    def _owned(self, key: str) -> Owned[Any] | None:
        note = self._reads.add
        note(key + PRESENCE)
        file = self._all.owner(key)
        value = keys.step_into(file.content, key.split("."), key) if file else None
        if file is None or value is None:
            return None
        run = file.content.run
        device = noted(file.content.device, f"{key}@device", note)
        return Owned(noted(value, key, note), device, None if run is None else noted(run, f"{key}@run", note), key, file.stem)
