"""Every kernel of the project under compute-sanitizer: memory, races, uninitialised reads, barriers.

`python -m measure.sanitize [--tool TOOL] [--subject SUBJECT]` runs each subject (see `measure.sanitized`) under each tool in a
process of its own and prints a line a tool.  Only the project's kernels are instrumented, but for initcheck, to which what a
library's kernel writes must count as written; its findings are told apart by the kernel they name.  That a tool finds anything
at all here is shown first: a planted fault of its kind, under the same filter, has to be reported.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kernels.catalogue import KernelError
from kernels.families import units
from measure.errors import MeasureError
from measure.files import write_text
from measure.sanitized import CONTROL, RUN
from measure.sanitizer_log import read
from measure.suite import check_writable

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
TOOL_OPTIONS: Mapping[str, tuple[str, ...]] = {"racecheck": ("--racecheck-report", "hazard")}
"""What one tool needs besides: the other reports of racecheck 2025.3 end the program where CuPy is loaded."""

OPTIONS = ("--report-api-errors", "no", "--target-processes", "application-only", "--print-limit", "10000")
"""CuPy asks the driver for what it may not have, which is no fault; helpers of a subject are not the project's kernels."""

PLACES = ("/usr/local/cuda", "/opt/cuda")
SECONDS = 300
JOBS = min(6, max(1, (os.cpu_count() or 2) // 2))


@dataclass(frozen=True, slots=True)
class Ran:
    """What one process under one tool gave: its output, the entry points that it launched, why it did not end well.

    `skipped` is why the subject cannot be run on this GPU at all.
    """

    output: str
    launched: frozenset[str] = frozenset()
    failure: str = ""
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """One tool on one subject.  `clean` is None where nothing can be said; `foreign` findings are in libraries' kernels."""

    tool: str
    subject: str
    clean: bool | None
    findings: Mapping[str, int]
    foreign: int
    launched: frozenset[str]
    words: str = ""
    skipped: bool = False


Runner = Callable[[str, str], Ran]


def find_sanitizer() -> Path:
    """The program, in PATH or where CUDA puts it.  Raises MeasureError."""
    found, profiler = shutil.which("compute-sanitizer"), shutil.which("ncu")
    roots = [root for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), *PLACES) if root]
    places = [Path(found)] if found else []
    places += [Path(root) / "bin" / "compute-sanitizer" for root in roots]
    places += [Path(profiler).resolve().parent / "compute-sanitizer"] if profiler else []
    for place in places:
        if place.is_file():
            return place
    raise MeasureError("compute-sanitizer is not installed; it comes with the CUDA toolkit")


def under(sanitizer: Path, tool: str, subject: str) -> Ran:
    """Run one subject, or the planted fault, under one tool."""
    root = str(Path(__file__).resolve().parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}
    with TemporaryDirectory(prefix="sanitize-") as folder:
        notes = Path(folder) / "notes.json"
        child = (sys.executable, "-m", "measure.sanitized", tool, subject, str(notes))
        command = (str(sanitizer), "--tool", tool, *OPTIONS, *TOOL_OPTIONS.get(tool, ()), *kernel_filter(tool), *child)
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, env=environment, cwd=root, check=False
            )
        except subprocess.TimeoutExpired:
            return Ran("", failure=f"did not end within {SECONDS} s")
        output = result.stdout + result.stderr
        if not notes.exists():
            return Ran(output, failure=_last(result.stderr) or f"exit code {result.returncode}")
        found = json.loads(notes.read_text())
    return Ran(output, frozenset(found["launched"]), found["failure"], found["skipped"])


def kernel_filter(tool: str) -> tuple[str, ...]:
    """Options that leave libraries' kernels alone; initcheck has to see all that is written."""
    return () if tool == "initcheck" else ("--kernel-name", f"regex=^({'|'.join(sorted(ours(tool)))})$")


def ours(tool: str) -> frozenset[str]:
    """The project's entry points, with the planted fault of a tool."""
    return frozenset(entry for unit in units() for entry in unit.entries) | {f"planted_{tool}"}


def judge(tool: str, subject: str, ran: Ran) -> Result:
    """What a run says about the project's kernels.  A program that broke off, or an uncounted report, says nothing."""
    log = read(ran.output)
    mine = ours(tool)
    findings = Counter(f"{report.kernel}: {report.what}" for report in log.reports if report.kernel in mine)
    foreign = sum(report.kernel not in mine for report in log.reports)

    def result(clean: bool | None, words: str) -> Result:
        return Result(tool, subject, clean, dict(findings), foreign, ran.launched, words, bool(ran.skipped))

    if log.refusal:
        return result(None, log.refusal)
    if findings:
        return result(False, "; ".join(f"{what} ({times} times)" for what, times in findings.most_common(3)))
    if ran.failure or ran.skipped:
        return result(None, ran.failure or f"not run: {ran.skipped}")
    if log.counted is None:
        return result(None, _last(ran.output) or "the tool printed nothing")
    if log.counted > len(log.reports):
        return result(None, f"{log.counted - len(log.reports)} findings were not shown")
    return result(True, f"{foreign} in libraries' kernels" if foreign else "")


def check(
    tools: Sequence[str],
    subjects: Sequence[str],
    runner: Runner,
    jobs: int = JOBS,
    done: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """Every tool on the planted fault, then on every subject; a tool that misses its fault is asked no more."""

    def one(pair: tuple[str, str]) -> Result:
        result = judge(*pair, runner(*pair))
        done(result)
        return result

    with ThreadPoolExecutor(jobs) as pool:
        controls = list(pool.map(one, [(tool, CONTROL) for tool in tools]))
        able = [result.tool for result in controls if result.clean is False]
        return [*controls, *pool.map(one, [(tool, subject) for tool in able for subject in subjects])]


def words_of(result: Result) -> str:
    """A result as it comes, for a terminal."""
    verdict = {True: "clean", False: "findings", None: "no verdict"}[result.clean]
    return f"{result.tool} {result.subject}: {verdict}" + (f": {result.words}" if result.words else "")


def line(tool: str, results: Sequence[Result], wanted: frozenset[str]) -> tuple[bool, str]:
    """Whether a tool found everything clean, and its line.  Entry points that were never launched are named."""
    control = next(result for result in results if result.tool == tool and result.subject == CONTROL)
    if control.clean is not False:
        return False, f"{tool}: no verdict: {control.words or 'it does not report a planted fault here'}"
    own = [result for result in results if result.tool == tool and result.subject != CONTROL]
    bad = [f"{result.subject}: {result.words}" for result in own if result.clean is False]
    unsure = [f"{result.subject}: no verdict: {result.words}" for result in own if result.clean is None and not result.skipped]
    launched = frozenset(entry for result in own for entry in result.launched) & wanted
    left = sorted(wanted - launched)
    foreign = sum(result.foreign for result in own)
    parts = [*bad, *unsure, *([f"never launched: {', '.join(left)}"] if left else [])]
    asides = [f"{result.subject} {result.words}" for result in own if result.skipped]
    asides += [f"{foreign} reports are about libraries' kernels"] if foreign else []
    aside = "".join(f"; {words}" for words in asides)
    if parts:
        return False, f"{tool}: {'; '.join(parts)}{aside}"
    return True, f"{tool}: clean, {len(launched)} kernels of {sum(not result.skipped for result in own)} subjects{aside}"


def main(arguments: Sequence[str] | None = None, runner: Runner | None = None) -> int:
    """Run the tools and print a line each.  Returns 0 if all is clean, 1 if not, 2 where the tool cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m measure.sanitize", description="Every kernel under compute-sanitizer.")
    parser.add_argument("--tool", action="append", default=[], choices=TOOLS, help="this tool; may be repeated")
    parser.add_argument("--subject", action="append", default=[], choices=RUN, help="this subject only")
    parser.add_argument("-o", "--output", type=Path, help="write the results as JSON too")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"processes at a time (default: {JOBS})")
    options = parser.parse_args(arguments)
    tools = tuple(options.tool) or TOOLS
    subjects = tuple(options.subject) or RUN
    try:
        if options.output is not None:
            check_writable(options.output)
        if runner is None:
            from measure.device import require_gpu

            require_gpu()
            sanitizer = find_sanitizer()
            runner = lambda tool, subject: under(sanitizer, tool, subject)  # noqa: E731
        results = check(tools, subjects, runner, options.jobs, lambda one: print(words_of(one), file=sys.stderr, flush=True))
        if options.output is not None:
            listed = [{**asdict(result), "launched": sorted(result.launched)} for result in results]
            write_text(options.output, json.dumps(listed, indent=1) + "\n")
    except (MeasureError, KernelError) as error:
        print(f"sanitize: {error}", file=sys.stderr)
        return 2
    wanted = frozenset() if options.subject else frozenset(entry for unit in units() for entry in unit.entries)
    lines = [line(tool, results, wanted) for tool in tools]
    print("\n".join(words for _, words in lines))
    return 0 if all(clean for clean, _ in lines) else 1


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


if __name__ == "__main__":
    sys.exit(main())
