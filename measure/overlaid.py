"""Measurement files laid over one another: what lies under a key, and whose it is.  What is read is noted in `dataset`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from measure import derived, keys, roofline_model
from measure.errors import DatasetKeyError
from measure.records import Device, Measurements, Quantity, Roof, Rung

MAIN_SUBJECTS = ("ladders.gemm_fp32", "roofs", "traces.launch")


@dataclass(frozen=True, slots=True)
class Reading:
    """One quantity as it was read: its key (the field that was picked, in full), the device it belongs to, its file's stem.

    A derived reading has a key that starts with `derived.`; `Dataset.get` takes that key too.
    """

    key: str
    quantity: Quantity
    device: Device
    file: str


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a ladder reaches: least and greatest FLOP/B of its rungs (None: no bytes are known) and TFLOP/s.

    The greatest rate is the math roof's where no rung passes that.
    """

    intensity: float | None
    slowest: float
    fastest: float
    highest: float | None = None


@dataclass(frozen=True, slots=True)
class File:
    """A measurement file that has been read; `subjects` are the parts of it that lie over those of earlier files."""

    stem: str
    path: str
    content: Measurements

    def subjects(self) -> Iterable[str]:
        yield from (f"ladders.{name}" for name in self.content.ladders)
        yield from (f"sweeps.{name}" for name in self.content.sweeps)
        yield from (f"traces.{name}" for name in ("index", "launch", "divergence") if getattr(self.content.traces, name))
        if self.content.roofs:
            yield "roofs"
        if self.content.latencies:
            yield "latencies"
        if self.content.all_reduce is not None:
            yield "all_reduce"
        if self.content.virtual_all_reduce is not None:
            yield "virtual_all_reduce"


class Overlay:
    """Files in order, later ones over earlier ones by subject (`measure.keys.subject_of`)."""

    def __init__(self, files: Sequence[File]) -> None:
        self.files = tuple(files)
        self.owners = {subject: file for file in self.files for subject in file.subjects()}
        self.main = next((self.owners[s] for s in MAIN_SUBJECTS if s in self.owners), self.files[-1])

    def owner(self, key: str) -> File | None:
        subject = keys.subject_of(key)
        return self.main if subject in ("device", "run") else self.owners.get(subject)

    def file_with(self, key: str) -> File | None:
        """The file that has something under a key."""
        if key.startswith("derived."):
            reading = self.read(key)
            return None if reading is None else next(file for file in self.files if file.stem == reading.file)
        subject, _, of_owner = key.partition("@")
        file, steps = self.owner(subject), (of_owner or subject.removesuffix(".best")).split(".")
        return file if file is not None and keys.step_into(file.content, steps, key) is not None else None

    def read(self, key: str) -> Reading | None:
        if key.startswith("derived."):
            return self.derive(key)
        file = self.owner(key)
        found = keys.resolve((file or self.main).content, key)
        if file is None or found is None:
            return None
        return Reading(found[0], found[1], file.content.device, file.stem)

    def derive(self, key: str) -> Reading | None:
        file: File | None = self.main
        match key.split(".")[1:]:
            case ["fp32_lanes"]:
                quantity = derived.fp32_lanes(self.main.content.device)
            case ["shared_memory"]:
                quantity = derived.shared_memory(self.main.content.device)
            case ["square", name]:
                file = self.owners.get(f"ladders.{name}")
                quantity = derived.square(name, file.content.ladders[name]) if file else None
            case ["ridge", memory_roof, math_roof]:
                file = self.owners.get("roofs")
                quantity = derived.ridge(memory_roof, math_roof, file.content.roofs) if file else None
            case ["intensity" | "achieved" | "of_level" as what, name, rung_name]:
                file = self.owners.get(f"ladders.{name}")
                ladder = file.content.ladders[name] if file else None
                rung = keys.step_into(ladder, ("rungs", rung_name), key)
                quantity = None
                if ladder is not None and isinstance(rung, Rung):
                    roofs = self.roofs_of(name)
                    quantity = {
                        "intensity": lambda: derived.intensity(name, ladder, rung),
                        "achieved": lambda: derived.achieved(name, ladder, rung, roofs),
                        "of_level": lambda: derived.of_level(name, ladder, rung, roofs),
                    }[what]()
            case ["of_line", name, rung_name, line]:
                file = self.owners.get(f"ladders.{name}")
                ladder = file.content.ladders[name] if file else None
                rung = keys.step_into(ladder, ("rungs", rung_name), key)
                quantity = derived.of_line(name, ladder, rung, line) if ladder and isinstance(rung, Rung) else None
            case _:
                raise DatasetKeyError(
                    f"key {key!r}: derived keys are intensity, achieved or of_level with LADDER.RUNG, of_line with "
                    "LADDER.RUNG.LINE, square with LADDER, ridge with two roofs, fp32_lanes and shared_memory"
                )
        return Reading(key, quantity, file.content.device, file.stem) if file and quantity else None

    def roofs_of(self, ladder: str) -> Mapping[str, Roof]:
        """The roofs of the GPU that ran a ladder; the dataset's only where its own file has none."""
        own = self.owners.get(f"ladders.{ladder}")
        owner = own if own and own.content.roofs else self.owners.get("roofs")
        return owner.content.roofs if owner else {}

    def bound(self, ladder: str, rung: str) -> roofline_model.Share | None:
        file = self.owners.get(f"ladders.{ladder}")
        found = keys.step_into(file.content, ("ladders", ladder, "rungs", rung), rung) if file else None
        if file is None or not isinstance(found, Rung):
            return None
        return roofline_model.bound_by(file.content.ladders[ladder], found, self.roofs_of(ladder))

    def extent(self, ladder: str, math_roof: str) -> Extent | None:
        file, roofs = self.owners.get(f"ladders.{ladder}"), self.owners.get("roofs")
        roof = roofs.content.roofs.get(math_roof) if roofs else None
        peak = roof.best if roof else None
        if peak is None:
            return None
        rungs = file.content.ladders[ladder].rungs if file else ()
        marks = [r.quantity.value for rung in rungs if (r := self.read(f"derived.intensity.{ladder}.{rung.name}")) is not None]
        rates = [rung.rate.value for rung in rungs if rung.rate is not None]
        return Extent(
            min(marks, default=None), min(rates, default=peak.value), max([peak.value, *rates]), max(marks, default=None)
        )
