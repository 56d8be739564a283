"""Is verification worth anything?  Every kernel family broken on purpose, on the GPU: each mutant must be refused.

`python -m measure.mutants [-o TABLE.json]` copies the kernels, breaks one source, and lets the suite measure its subject
(`measure.brief`), in a process of its own with a time limit: a mutant may fault or run for ever.  It is caught if the file that
comes out gives its rung no rate, or if the subject is absent from it.  The unbroken kernels go the same way first and have to
pass, so that a harness which refuses everything would show.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from kernels import catalogue
from kernels.catalogue import KernelError, Mutant
from kernels.families import FAMILIES, Family
from measure import schema
from measure.errors import MeasureError
from measure.files import write_text
from measure.records import Measurements, Verification
from measure.subject import Subject
from measure.subjects import SUBJECTS
from measure.suite import check_writable
from measure.tables import columns

SECONDS = 120
JOBS = min(8, max(1, (os.cpu_count() or 2) // 2))
NO_VERDICT = ("does not compile", "OutOfMemory", "no CUDA compiler")
"""What says nothing about verification: a mutant that was never run."""


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement of one subject: `mutant` None is the unbroken one."""

    family: str
    subject: Subject
    mutant: Mutant | None = None
    source: Path | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a measurement left: its file and raw samples, or why there is none."""

    document: Measurements | None = None
    raw: Mapping[str, Any] | None = None
    failure: str = ""
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table.  `caught` is None where nothing can be said; for the unbroken kernels it has to be False."""

    family: str
    rung: str
    kind: str
    error: float | None
    tolerance: float | None
    caught: bool | None
    words: str
    skipped: bool = False

    @property
    def right(self) -> bool:
        """Whether it went as it must; a rung that this GPU cannot run says nothing either way."""
        return self.skipped or self.caught is (self.kind != "unbroken")


Runner = Callable[[Case], Outcome]


def cases(families: Sequence[Family] = FAMILIES, subjects: Sequence[Subject] = SUBJECTS) -> tuple[Case, ...]:
    """Every mutant with the subject that verifies its rung, and every such subject unbroken, first.  Raises KernelError."""
    broken = []
    for family in families:
        for mutant in family.mutants:
            source = family.of(mutant.rung)[0].source
            found = [subject for subject in subjects if source in subject.sources and not subject.needs]
            if mutant.rung in family.verified_by:
                found = [subject for subject in found if subject.name == family.verified_by[mutant.rung]]
            if len(found) != 1:
                names = ", ".join(subject.name for subject in found) or "none"
                raise KernelError(f"{family.name} {mutant.rung}: expected one subject that verifies it, found {names}")
            broken.append(Case(family.name, found[0], mutant, source))
    whole = {case.subject.name: Case(case.family, case.subject) for case in broken}
    return (*whole.values(), *broken)


def measure_broken(case: Case, seconds: float = SECONDS) -> Outcome:
    """Measure a subject from a copy of the kernels, broken by the case's mutant, in a process of its own."""
    root = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        tree = Path(folder)
        shutil.copytree(root / "kernels", tree / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
        (tree / "measure").symlink_to(root / "measure")
        if case.mutant is not None and case.source is not None:
            copy = tree / "kernels" / case.source.relative_to(catalogue.ROOT)
            copy.write_text(case.mutant.apply(copy.read_text(encoding="utf-8")), encoding="utf-8")
        return _measure(tree, case.subject.name, seconds)


def _measure(tree: Path, subject: str, seconds: float) -> Outcome:
    out, raw = tree / "out.json", tree / "raw.json"
    command = [sys.executable, "-m", "measure.brief", subject, str(out), str(raw)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(tree), os.environ.get("PYTHONPATH"))))}
    try:
        result = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return Outcome(failure=f"did not end within {seconds:.0f} s", timed_out=True)
    if result.returncode != 0 or not out.exists():
        lines = [line for line in result.stderr.splitlines() if line.strip()] or [f"exit code {result.returncode}"]
        return Outcome(failure=lines[-1])
    kept = json.loads(raw.read_text(encoding="utf-8"))["subjects"].get(subject, {}) if raw.exists() else {}
    return Outcome(schema.load(out), kept.get("raw"))


def judge(case: Case, outcome: Outcome) -> Row:
    """What the measurement says about the rung that was broken, or about all of them."""
    rung, kind = (case.mutant.rung, case.mutant.kind) if case.mutant else (case.subject.name, "unbroken")

    def row(caught: bool | None, words: str, error: float | None = None, tolerance: float | None = None) -> Row:
        return Row(case.family, rung, kind, error, tolerance, caught, words)

    if outcome.timed_out:
        return row(True, outcome.failure)
    if outcome.document is None:
        return row(True if _cuda(outcome.failure) else None, outcome.failure)
    reason = outcome.document.absent.get(case.subject.key, "")
    if reason:
        return row(None if any(words in reason for words in NO_VERDICT) else True, reason)
    if case.mutant is None:
        failed = [name for name, one in verifications(outcome.document) if not one.passed]
        refused = [one.name for ladder in outcome.document.ladders.values() for one in ladder.rungs if one.absent]
        words = f"wrong: {', '.join(failed)}" if failed else "right" if not refused else f"not run: {', '.join(refused)}"
        return row(bool(failed), words)
    one = (outcome.raw or {}).get("contenders", {}).get(rung)
    if one is not None and one["refusal"]:
        return row(None, one["refusal"])
    named = [found for name, found in verifications(outcome.document) if name == rung]
    found = named or [found for _, found in verifications(outcome.document)]
    if not found:  # a subject without a verification in the file refuses by being absent: this one was measured
        run = outcome.document.run
        measured = run is not None and case.subject.name in run.subjects
        return row(False, "measured as if it were right") if measured else row(None, "the file does not hold its subject")
    worst = next((verification for verification in found if not verification.passed), found[0])
    error, tolerance = (worst.error, worst.tolerance) if one is None else (one["error"], one["tolerance"])
    return row(not worst.passed, _words(worst, one), error, tolerance)


def verifications(document: Measurements) -> Iterator[tuple[str, Verification]]:
    """Every verification of a file with the name of what was verified."""

    def walk(value: Any, name: str) -> Iterator[tuple[str, Verification]]:
        if isinstance(value, Verification):
            yield name, value
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                yield from walk(inner, str(key))
        elif isinstance(value, tuple):
            for inner in value:
                yield from walk(inner, name)
        elif is_dataclass(value) and not isinstance(value, type):
            own = getattr(value, "name", "") or getattr(value, "algorithm", "") or name
            for field in value.__dataclass_fields__:
                yield from walk(getattr(value, field), own)

    yield from walk(document, "")


def _words(found: Verification, raw: Mapping[str, Any] | None) -> str:
    if found.passed:
        return "passed as right"
    if raw is None:
        return "refused"
    if raw["error"] is None:
        return "not finite"
    if raw["error"] > raw["tolerance"]:
        return "error over tolerance"
    return "wrong at an odd size" if not raw["odd_sizes"] else "wrong after it was timed"


def _cuda(failure: str) -> bool:
    """Whether a process ended by what CUDA reported: a fault leaves no file at all."""
    return "cudaError" in failure or "CUDA_ERROR" in failure


def run(
    listed: Sequence[Case], runner: Runner = measure_broken, jobs: int = JOBS, done: Callable[[Row], None] = lambda row: None
) -> list[Row]:
    """The table, a row a case, the unbroken first.  A mutant of a subject that does not pass unbroken is not run."""

    def judged(case: Case, outcome: Outcome) -> Row:
        row = judge(case, outcome)
        done(row)
        return row

    with ThreadPoolExecutor(jobs) as pool:
        whole = [case for case in listed if case.mutant is None]
        outcomes = list(pool.map(runner, whole))
        unbroken = [judged(case, outcome) for case, outcome in zip(whole, outcomes, strict=True)]
        sound = {case.subject.name for case, row in zip(whole, unbroken, strict=True) if row.right}
        absent = {
            (case.subject.name, rung.name): rung.absent
            for case, outcome in zip(whole, outcomes, strict=True)
            if outcome.document is not None
            for ladder in outcome.document.ladders.values()
            for rung in ladder.rungs
            if rung.absent
        }

        def one(case: Case) -> Row:
            assert case.mutant is not None
            if case.subject.name not in sound:
                return judged(case, Outcome(failure="not run: the unbroken kernels do not pass"))
            reason = absent.get((case.subject.name, case.mutant.rung))
            if reason is not None:
                return Row(case.family, case.mutant.rung, case.mutant.kind, None, None, None, reason, skipped=True)
            return judged(case, runner(case))

        return [*unbroken, *pool.map(one, (case for case in listed if case.mutant is not None))]


def words_of(row: Row) -> str:
    """A row as it comes, for a terminal."""
    return f"{row.family} {row.rung} {row.kind}: {row.words}"


def table(rows: Sequence[Row]) -> str:
    """The rows for a terminal."""

    def figure(value: float | None) -> str:
        return "-" if value is None else f"{value:.2g}"

    lines = [("family", "rung", "kind", "error", "tolerance", "caught", "")]
    for row in rows:
        caught = "-" if row.kind == "unbroken" or row.skipped else {True: "yes", False: "NO", None: "no verdict"}[row.caught]
        lines.append((row.family, row.rung, row.kind, figure(row.error), figure(row.tolerance), caught, row.words[:90]))
    return columns(lines)


def main(arguments: Sequence[str] | None = None, runner: Runner = measure_broken) -> int:
    """Run every mutant and print the table.  Returns 0, 1 if one was not caught, 2 where none can be run."""
    parser = argparse.ArgumentParser(prog="python -m measure.mutants", description="Show that verification refuses mutants.")
    parser.add_argument("-o", "--output", type=Path, help="write the table as JSON too")
    parser.add_argument("--family", action="append", default=[], choices=[family.name for family in FAMILIES])
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"measurements at a time (default: {JOBS})")
    options = parser.parse_args(arguments)
    try:
        if options.output is not None:
            check_writable(options.output)
        if runner is measure_broken:
            from measure.device import require_gpu

            require_gpu()
        wanted = [family for family in FAMILIES if not options.family or family.name in options.family]
        rows = run(cases(wanted), runner, options.jobs, lambda row: print(words_of(row), file=sys.stderr, flush=True))
        if options.output is not None:
            write_text(options.output, json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    except (MeasureError, KernelError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    print(table(rows))
    broken = [row for row in rows if row.kind != "unbroken" and not row.skipped]
    print(f"{sum(row.right for row in broken)} of {len(broken)} mutants caught")
    return 0 if broken and all(row.right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
