"""Hardware counters through Nsight Compute, where it is installed and permitted; never required.

`ncu` runs this module as its child, which launches every rung of a ladder once.  The clocks are left as they are.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernels.catalogue import KernelLadder, Problem
from measure.access_model import SECTOR, WAVEFRONT_BYTES
from measure.errors import MeasureError
from measure.records import Quantity

WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts.sum"
L2_SECTORS = "lts__t_sectors_srcunit_tex.sum"
DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITE = "dram__bytes_write.sum"
ISSUE_ACTIVE = "smsp__issue_active.avg.pct_of_peak_sustained_active"
METRICS = (WAVEFRONTS, L2_SECTORS, DRAM_READ, DRAM_WRITE, ISSUE_ACTIVE)
STALL_PREFIX = "smsp__average_warps_issue_stalled_"
STALL_SUFFIX = "_per_issue_active.ratio"
MIN_SHARE = 0.005
SECONDS = 240


class CountersUnavailable(MeasureError):
    """No counters here: ncu is missing, not permitted, or failed; the message says which."""


def read(ladder: KernelLadder, problem: Problem) -> dict[str, dict[str, Quantity]]:
    """Counters of one launch of every rung: by rung, then by the names that `quantities` gives.  Raises CountersUnavailable."""
    names = "|".join(rung.entry for rung in ladder.rungs)
    child = ("measure.counters", ladder.name, str(problem.m), str(problem.n), str(problem.k))
    rows = profile(names, METRICS, child, sections=("WarpStateStats",))
    by_entry = {row["Kernel Name"].split("(")[0]: row for row in rows}
    return {rung.name: quantities(by_entry[rung.entry]) for rung in ladder.rungs if rung.entry in by_entry}


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


def _child(name: str, rows: int, cols: int, depth: int) -> None:
    """Launch every rung once; what ncu profiles."""
    import cupy

    from kernels.launch import load
    from measure.ladders import LADDERS
    from measure.verify import inputs, poisoned

    problem = Problem(rows, cols, depth)
    a, b = inputs(cupy, rows, cols, depth, seed=1)
    for rung in LADDERS[name].rungs:
        out = poisoned(cupy, rows, cols)
        load(rung, problem).run(a, b, out)
        cupy.cuda.Device().synchronize()


if __name__ == "__main__":
    _child(sys.argv[1], *(int(size) for size in sys.argv[2:5]))
