"""One subject on this GPU as briefly as can be: verified as always, timed by a single sample of a single launch.

`python -m measure.brief SUBJECT OUT.json RAW.json` is the project's own command but for that.  It is for runs whose times
nobody reads: those of mutants, many at once on one GPU.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

from kernels.catalogue import KernelError
from measure.backend import Live
from measure.errors import MeasureError
from measure.suite import measure
from measure.timing import Plan

BRIEF = Plan(warm=0.0, sample=0.0, samples=1, total=0.0, limit=1.0, precision=math.inf, rounds=1, cold=1)
"""One sample of one launch."""


def main(subject: str, out: Path, raw: Path) -> int:
    """Measure it.  Returns 0, or 2 with one line where there is no GPU."""
    try:
        measure(out, (subject,), quick=True, backend=Live(BRIEF), keep_raw=raw)
    except (MeasureError, KernelError) as error:
        print(f"measure: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
