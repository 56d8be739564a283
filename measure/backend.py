"""Where raw samples come from: the GPU of this machine, or a recording of one, which goes through the same suite."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from kernels.catalogue import KernelError
from measure import schema
from measure.device import Hardware, describe, driver_version, explain, python_version, require_gpu, throttle_reasons
from measure.errors import MeasureError, NoGPUError, SchemaError
from measure.files import write_bytes
from measure.records import Device
from measure.subject import Bench, Raw, Subject
from measure.timing import FULL, QUICK, Plan, Stopwatch

VERSIONS = ("driver", "cuda_driver", "cuda_runtime", "nvrtc", "cupy", "numpy", "python", "system")


@dataclass(frozen=True, slots=True)
class Collected:
    """What one subject saw: its raw samples, or the reason why there are none."""

    raw: Raw | None
    seconds: float
    date: str
    reasons: tuple[str, ...] = ()
    absent: str = ""


class Backend(Protocol):
    """A GPU as the suite sees it."""

    @property
    def hardware(self) -> Hardware: ...

    @property
    def device(self) -> Device: ...

    @property
    def versions(self) -> Mapping[str, str | None]: ...

    def collect(self, subject: Subject, quick: bool, step: Callable[[str], None]) -> Collected:
        """Raw samples of a subject, or why there are none."""


class Live:
    """The current GPU of this machine, measured by `plan` or by the suite's own.  Raises NoGPUError where there is none."""

    _plan: Plan | None = None

    def __init__(self, plan: Plan | None = None) -> None:
        self._plan = plan
        self.hardware = require_gpu()
        self.device = describe(self.hardware)
        self.versions: Mapping[str, str | None] = _versions()
        self._watch: Stopwatch | None = None

    def collect(self, subject: Subject, quick: bool, step: Callable[[str], None]) -> Collected:
        """Run the subject's kernels.  What CUDA refuses (memory, a lost device) is a reason like any other."""
        if self._watch is None:
            self._watch = Stopwatch(self.hardware)
        plan = self._plan or (QUICK if quick else FULL)
        bench = Bench(self.hardware, plan, quick, self._watch, step, throttle_reasons)
        began, raw, absent = time.monotonic(), None, ""
        try:
            if self.hardware.capability < subject.min_arch:
                need = f"{subject.min_arch // 10}.{subject.min_arch % 10}"
                raise MeasureError(f"needs compute capability {need}; this GPU has {self.hardware.capability / 10:.1f}")
            raw = subject.collect(bench)
        except NoGPUError:
            raise
        except Exception as error:
            if not isinstance(error, MeasureError | KernelError) and not type(error).__module__.startswith("cupy"):
                raise
            absent = explain(str(error))
        reasons = throttle_reasons()
        _release()
        return Collected(raw, round(time.monotonic() - began, 2), today(), reasons, absent)


class Recorded:
    """A recording: what `Keeping` wrote.  Raises SchemaError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        try:
            document = json.loads(_read(path))
            self.hardware = Hardware(**document["hardware"])
            self.device = schema.structure(document["device"], Device, f"{path}: $.device")
            self.versions = dict(document["versions"])
            self._subjects = {
                name: Collected(**{**one, "reasons": tuple(one["reasons"])}) for name, one in document["subjects"].items()
            }
        except FileNotFoundError:
            raise SchemaError(f"{path}: no such recording") from None
        except (KeyError, TypeError, AttributeError, ValueError, OSError, EOFError) as error:
            raise SchemaError(f"{path}: not a recording of a GPU ({type(error).__name__}: {error})") from None

    def collect(self, subject: Subject, quick: bool, step: Callable[[str], None]) -> Collected:
        """What was recorded."""
        step(subject.name)
        found = self._subjects.get(subject.name)
        return found if found is not None else Collected(None, 0.0, today(), absent="not in the recording")


@dataclass(slots=True)
class Keeping:
    """Any backend, with everything that it collects written to a recording as well."""

    backend: Backend
    path: Path
    kept: dict[str, Collected] = field(default_factory=dict)

    @property
    def hardware(self) -> Hardware:
        return self.backend.hardware

    @property
    def device(self) -> Device:
        return self.backend.device

    @property
    def versions(self) -> Mapping[str, str | None]:
        return self.backend.versions

    def collect(self, subject: Subject, quick: bool, step: Callable[[str], None]) -> Collected:
        """Collect, then write all that was collected so far."""
        found = self.backend.collect(subject, quick, step)
        self.kept[subject.name] = found
        document = {
            "hardware": asdict(self.hardware),
            "device": schema.unstructure(self.device),
            "versions": dict(self.versions),
            "subjects": {name: asdict(one) for name, one in self.kept.items()},
        }
        _write(self.path, json.dumps(document, allow_nan=False))
        return found


def _read(path: Path) -> str:
    if path.suffix == ".gz":
        import gzip

        return gzip.decompress(path.read_bytes()).decode()
    return path.read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    data = text.encode()
    if path.suffix == ".gz":
        import gzip

        data = gzip.compress(data, mtime=0)
    write_bytes(path, data)


def today() -> str:
    """As `2026-12-02`, UTC."""
    return datetime.now(UTC).date().isoformat()


def _release() -> None:
    """Give memory back; after a fault that CUDA does not get over, there is none to give."""
    import cupy

    try:
        cupy.get_default_memory_pool().free_all_blocks()
    except cupy.cuda.runtime.CUDARuntimeError:
        pass


def _versions() -> dict[str, str | None]:
    """Every version that can change a figure."""
    import cupy
    import numpy

    from kernels.build import nvrtc_version

    def cuda(number: int) -> str:
        return f"{number // 1000}.{number % 1000 // 10}"

    found: dict[str, Any] = {
        "driver": driver_version(),
        "cuda_driver": cuda(cupy.cuda.runtime.driverGetVersion()),
        "cuda_runtime": cuda(cupy.cuda.runtime.runtimeGetVersion()),
        "nvrtc": ".".join(map(str, nvrtc_version())),
        "cupy": cupy.__version__,
        "numpy": numpy.__version__,
        "python": python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    return found
