"""`python -m measure [-o FILE] [--only SUBJECT] [--quick] ...`: measure without the film's command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kernels.catalogue import KernelError
from measure.backend import Recorded
from measure.dataset import Dataset
from measure.errors import MeasureError, VerificationError
from measure.show import table
from measure.suite import measure, names


def main() -> int:
    """Measure and print the table.  Returns 0, 2 for bad input or no GPU, 1 for a run that failed."""
    parser = argparse.ArgumentParser(prog="python -m measure", description="Measure this GPU.")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: out/<GPU>.json)")
    parser.add_argument("--only", action="append", default=[], choices=names(), help="measure this subject; may be repeated")
    parser.add_argument("--quick", action="store_true", help="a quick look: a small problem and few samples")
    parser.add_argument("--keep-raw", type=Path, help="write the raw samples as well, as a recording")
    parser.add_argument("--replay", type=Path, help="take the samples of a recording instead of this GPU's")
    options = parser.parse_args()
    try:
        backend = Recorded(options.replay) if options.replay else None
        path = measure(options.output, tuple(options.only), options.quick, backend, options.keep_raw)
    except (MeasureError, KernelError) as error:
        print(f"measure: {error}", file=sys.stderr)
        return 1 if isinstance(error, KernelError | VerificationError) else 2
    print(table(Dataset.open([path])))
    print(f"written to {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
