"""A whole measurement of one GPU: subject by subject into one file, which is valid after each and can be gone on with."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernels.catalogue import sources_sha256
from measure import schema
from measure.backend import Backend, Collected, Keeping, Live, Recorded, today
from measure.errors import MeasureError, OutputError, SchemaError
from measure.progress import progress
from measure.records import SCHEMA_VERSION, Measurements, Run, SubjectRun
from measure.roofline_model import binding_level
from measure.subject import Context, Subject
from measure.subjects import SUBJECTS
from measure.timing import FULL, QUICK, summarise

CLOCK_SUBJECTS = ("roofs", "gemm_fp32")
"""The subjects whose clock is the run's, the later over the earlier: both keep the whole GPU busy for seconds."""


def names() -> tuple[str, ...]:
    """Every subject by its name, in order."""
    return tuple(subject.name for subject in SUBJECTS)


def default_output(slug: str) -> Path:
    """Where a measurement goes when nobody says where."""
    return Path("out") / f"{slug}.json"


def measure(
    out: Path | None = None,
    only: Sequence[str] = (),
    quick: bool = False,
    backend: Backend | None = None,
    keep_raw: Path | None = None,
) -> Path:
    """Measure a GPU, the current one by default, and write one file; returns its path.

    `only` names subjects.  A file that is there already, of the same GPU, keeps what it has; without `only` just what it lacks,
    or has from other kernels or a quicker look, is measured.  `keep_raw` is where the raw samples go as well.  Raises
    NoGPUError, OutputError, MeasureError.
    """
    unknown = [name for name in only if name not in names()]
    if unknown:
        raise MeasureError(f"unknown subject {unknown[0]!r}; known are {', '.join(names())}")
    for path in filter(None, (out, keep_raw)):
        check_writable(path)
    if backend is None:
        backend = Live()
    path = out or default_output(backend.device.slug)
    check_writable(path)
    if keep_raw is not None:
        backend = Keeping(backend, keep_raw)
    found = _begin(path, backend)
    wanted = [one for one in SUBJECTS if (one.name in only if only else not _has(found, one, quick))]
    plan, began = QUICK if quick else FULL, time.monotonic()
    with progress(sum(one.steps(plan) for one in wanted), f"measuring {backend.device.name}") as show:
        for subject in wanted:
            missing = [name for name in subject.needs if name not in _subjects(found)]
            if missing:
                collected = Collected(None, 0.0, today(), absent=f"{missing[0]} was not measured")
            else:
                collected = backend.collect(subject, quick, show.step)
            if collected.absent:
                show.step(f"{subject.name}: {collected.absent}")
            found = _with_subject(found, subject, collected, backend, quick)
            found = replace(found, run=replace(_run(found, backend), seconds=round(time.monotonic() - began, 1)))
            schema.save(found, path)
    return path


def check_writable(path: Path) -> None:
    """Raise OutputError now rather than after minutes of measuring; makes the folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise OutputError(f"{path}: is a folder; give the name of a file")
        handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


def _begin(path: Path, backend: Backend) -> Measurements:
    """What is there to go on with, or an empty document."""
    device = backend.device
    fresh = Measurements(schema=SCHEMA_VERSION, device=device, run=None, provenance=f"Measured on one {device.name}.")
    if not path.exists():
        return fresh
    try:
        before = schema.load(path)
    except SchemaError as error:
        raise OutputError(f"{path}: holds something else than measurements, so it is left alone ({error})") from None
    if before.device.slug != device.slug:
        raise OutputError(f"{path}: holds measurements of {before.device.name}; give another file for {device.name}")
    return replace(before, device=device, schema=SCHEMA_VERSION) if before.run is not None else fresh


def _subjects(found: Measurements) -> dict[str, SubjectRun]:
    return dict(found.run.subjects) if found.run is not None else {}


def _has(found: Measurements, subject: Subject, quick: bool) -> bool:
    """Whether the file holds a subject as measured from today's kernels, and thoroughly enough."""
    before = _subjects(found).get(subject.name)
    return before is not None and before.sources_sha256 == sources_sha256(subject.sources) and (quick or not before.quick)


def _with_subject(found: Measurements, subject: Subject, collected: Collected, backend: Backend, quick: bool) -> Measurements:
    """The document with one more subject, or with the reason why it is missing."""
    run = found.run or Run(date=collected.date)
    subjects = dict(run.subjects)
    absent = {key: reason for key, reason in found.absent.items() if key != subject.key}
    reason = collected.absent
    if collected.raw is not None:
        try:
            found = subject.record(found, collected.raw, Context(backend.hardware, quick))
            digest = sources_sha256(subject.sources)
            subjects[subject.name] = SubjectRun(collected.date, collected.seconds, digest, quick, collected.reasons)
        except MeasureError as error:
            reason = str(error)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            if not isinstance(getattr(backend, "backend", backend), Recorded):
                raise
            words = f"{type(error).__name__}: {error}"
            raise SchemaError(f"the recording of {subject.name} does not fit this version of its subject ({words})") from None
    if reason:
        absent[subject.key] = reason
        subjects.pop(subject.name, None)
    elif subject.name in CLOCK_SUBJECTS and collected.raw and collected.raw.get("clocks"):
        words = "cycles over nanoseconds on every SM, a sample a round"
        run = replace(run, clock=summarise(collected.raw["clocks"], "MHz", words))
    found = replace(found, absent=absent, run=replace(run, subjects=subjects))
    ladders = {name: replace(ladder, level=binding_level(ladder, found.roofs)) for name, ladder in found.ladders.items()}
    return replace(found, ladders=ladders)


def _run(found: Measurements, backend: Backend) -> Run:
    """The record of the run so far, with every version that can change a figure."""
    run = found.run or Run(date=today())
    subjects = run.subjects.values()
    held = sorted({reason for one in subjects for reason in one.throttle_reasons})
    slow = any(rung.throttled for ladder in found.ladders.values() for rung in ladder.rungs)
    versions: dict[str, Any] = dict(backend.versions)
    return replace(
        run,
        **versions,
        date=max((one.date for one in subjects), default=run.date),
        kernels_sha256=sources_sha256(),
        quick=any(one.quick for one in subjects),
        throttled=bool(held) or slow,
        notes=(f"clock held down by {', '.join(held)}",) if held else (),
    )
