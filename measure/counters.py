"""Hardware counters through Nsight Compute, where it is installed and permitted; never required.

`ncu` runs this module as its child, which launches every rung of one ladder once.  The clocks are left as they are.
"""

from __future__ import annotations

import csv
import importlib
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kernels.attention.ladder import LADDER as ATTENTION
from kernels.gemm_bf16.ladder import LADDER as GEMM_BF16
from kernels.gemm_bf16.warpgroups import MATH_ROOF as WARPGROUPS
from kernels.gemm_fp32.ladder import LADDER as GEMM_FP32
from kernels.gemv.ladder import LADDER as GEMV
from measure.access_model import SECTOR, WAVEFRONT_BYTES
from measure.errors import MeasureError
from measure.records import Ladder, Level, Measurements, Quantity, Traffic
from measure.subject import Bench, Context, Raw, Subject

WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts.sum"
L2_SECTORS = "lts__t_sectors_srcunit_tex.sum"
DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITE = "dram__bytes_write.sum"
ISSUE_ACTIVE = "smsp__issue_active.avg.pct_of_peak_sustained_active"
METRICS = (WAVEFRONTS, L2_SECTORS, DRAM_READ, DRAM_WRITE, ISSUE_ACTIVE)
STALL_PREFIX = "smsp__average_warps_issue_stalled_"
STALL_SUFFIX = "_per_issue_active.ratio"
LEVELS: tuple[Level, ...] = ("load_path", "l2", "dram")
UNSEEN = ("load_path",)
"""Levels at which products of warpgroups and the copy engine go past the counter, which sees what warps load and store."""

MIN_SHARE = 0.005
SECONDS = 240


class CountersUnavailable(MeasureError):
    """No counters here: ncu is missing, not permitted, or failed; the message says which."""


COUNTED: Mapping[str, str] = {
    "gemm_fp32": "measure.ladders",
    "gemm_bf16": "measure.gemm_bf16",
    "attention": "measure.attention",
    "gemv": "measure.gemv",
}
"""Ladders that are counted, and the module of each, which has `ENTRIES` (entry points by rung) and `launch_all()`."""


def collect(bench: Bench) -> Raw:
    """Nsight Compute's rows for one launch of every rung.  Raises CountersUnavailable if no ladder could be counted.

    A quick look goes without: the profiler's replays would take as long as all the rest of it.
    """
    if bench.quick:
        raise CountersUnavailable("a quick look leaves the counters out")
    found: Raw = {}
    problems = []
    for name, module in COUNTED.items():
        entries = sorted({entry for names in importlib.import_module(module).ENTRIES.values() for entry in names})
        child = ("measure.counters", name)
        try:
            rows = profile("|".join(entries), METRICS, child, sections=("WarpStateStats",))
        except CountersUnavailable as error:
            problems.append(str(error))
            rows = []
        keep = ("Kernel Name", *METRICS)
        found[name] = [{key: row[key] for key in row if key in keep or key.startswith(STALL_PREFIX)} for row in rows]
        bench.step(f"counters {name}")
    if not any(found.values()):
        raise CountersUnavailable(problems[0])
    return {"rows": found}


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """Every counted ladder with its counted bytes and stall reasons; ladders that are not in the file are left out."""
    del context
    ladders = dict(found.ladders)
    for name, rows in raw["rows"].items():
        if name in ladders and name in COUNTED and rows:
            ladders[name] = with_counters(ladders[name], by_rung(importlib.import_module(COUNTED[name]).ENTRIES, rows))
    return replace(found, ladders=ladders)


def by_rung(entries: Mapping[str, Sequence[str]], rows: Sequence[Mapping[str, str]]) -> dict[str, dict[str, Quantity]]:
    """The counters of every rung; of one that takes several launches, the bytes of all of them, and nothing else."""
    by_entry = {row["Kernel Name"].split("(")[0]: quantities(row) for row in rows}
    found = {}
    for rung, names in entries.items():
        if not all(name in by_entry for name in names):
            continue
        parts = [by_entry[name] for name in names]
        if len(parts) == 1:
            found[rung] = parts[0]
            continue
        levels = [level for level in LEVELS if all(level in part for part in parts)]
        found[rung] = {level: replace(parts[0][level], value=sum(part[level].value for part in parts)) for level in levels}
    return found


def with_counters(ladder: Ladder, counters: Mapping[str, Mapping[str, Quantity]]) -> Ladder:
    """The ladder with counted bytes beside the modelled ones, and the other counters in their own field.

    What a counter does not see is no count of a level: rungs of warpgroups keep the modelled bytes of the load path alone.
    """
    rungs = []
    for rung in ladder.rungs:
        left = dict(counters.get(rung.name, {}))
        traffic = dict(rung.traffic)
        for level in LEVELS:
            if level in left:
                counted = left.pop(level)
                if level not in UNSEEN or rung.math_roof != WARPGROUPS:
                    traffic[level] = replace(traffic.get(level, Traffic()), counters=counted)
        rungs.append(replace(rung, traffic=traffic, counters=left))
    return replace(ladder, rungs=tuple(rungs))


def profile(kernels: str, metrics: Sequence[str], child: Sequence[str], sections: Sequence[str] = ()) -> list[dict[str, str]]:
    """Run `python -m CHILD` under ncu and return a row for each launch of a kernel whose name matches.

    Raises CountersUnavailable.
    """
    ncu = shutil.which("ncu")
    if ncu is None:
        raise CountersUnavailable("Nsight Compute (ncu) is not installed")
    command = [
        ncu, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--print-fp",
        "--kernel-name", f"regex:^({kernels})$", "--metrics", ",".join(metrics),
        *(word for section in sections for word in ("--section", section)),
        sys.executable, "-m", *child,
    ]  # fmt: skip
    root = str(Path(__file__).resolve().parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False)
    except subprocess.TimeoutExpired:
        raise CountersUnavailable(f"ncu took longer than {SECONDS} s") from None
    output = result.stdout + result.stderr
    if "ERR_NVGPUCTRPERM" in output:
        raise CountersUnavailable("the driver does not permit this user to read counters (ERR_NVGPUCTRPERM)")
    rows = parse(result.stdout)
    if result.returncode != 0 or not rows:
        lines = [line for line in output.splitlines() if line.startswith("==ERROR==")] or output.splitlines()[-1:]
        raise CountersUnavailable(f"ncu failed: {' '.join(lines)[:200] or f'exit code {result.returncode}'}")
    return rows


def parse(text: str) -> list[dict[str, str]]:
    """Rows of ncu's raw CSV page: a header, a line of units, a line for each kernel; whatever comes before is skipped."""
    lines = text.splitlines()
    start = next((index for index, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    table = list(csv.DictReader(io.StringIO("\n".join(lines[start:]))))
    return [row for row in table if (row.get("ID") or "").strip()]


def quantities(row: Mapping[str, str]) -> dict[str, Quantity]:
    """The counters of one kernel under the project's names, with the shares of its warps' time by reason."""

    def number(name: str) -> float | None:
        try:
            return float(row[name].replace(",", ""))
        except (KeyError, ValueError):
            return None

    found: dict[str, Quantity] = {}

    def keep(name: str, value: float | None, unit: str, source: str) -> None:
        if value is not None:
            found[name] = Quantity(value, unit, "measured", reference=f"Nsight Compute: {source}")

    wavefronts, sectors, issue = number(WAVEFRONTS), number(L2_SECTORS), number(ISSUE_ACTIVE)
    reads, writes = number(DRAM_READ), number(DRAM_WRITE)
    keep("load_path", None if wavefronts is None else wavefronts * WAVEFRONT_BYTES, "B", f"{WAVEFRONTS} x {WAVEFRONT_BYTES} B")
    keep("l2", None if sectors is None else sectors * SECTOR, "B", f"{L2_SECTORS} x {SECTOR} B")
    keep("dram", None if reads is None or writes is None else reads + writes, "B", f"{DRAM_READ} + {DRAM_WRITE}")
    keep("issue_active", None if issue is None else issue / 100, "", ISSUE_ACTIVE)

    stalls = {name: number(name) or 0.0 for name in row if name.startswith(STALL_PREFIX) and name.endswith(STALL_SUFFIX)}
    total = sum(stalls.values())
    for name, value in sorted(stalls.items(), key=lambda item: -item[1]):
        reason = name.removeprefix(STALL_PREFIX).removesuffix(STALL_SUFFIX)
        if total > 0 and value / total >= MIN_SHARE:
            keep(f"warp_time_{reason}", value / total, "", f"{name} over the sum of all reasons")
    return found


SUBJECT = Subject(
    name="counters",
    title="Hardware counters of the ladders, by Nsight Compute",
    key="counters",
    sources=(
        *(kernel.source for ladder in (GEMM_FP32, GEMM_BF16) for kernel in ladder.rungs),
        *(routine.source for routine in ATTENTION.rungs),
        *(routine.source for routine in GEMV.rungs),
    ),
    collect=collect,
    record=record,
    steps=lambda plan: len(COUNTED),
    needs=("gemm_fp32",),
)


if __name__ == "__main__":
    importlib.import_module(COUNTED[sys.argv[1]]).launch_all()
