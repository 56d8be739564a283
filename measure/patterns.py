"""Address patterns on the GPU, their wavefronts counted: what the access model's rules are checked against.

`python -m measure.patterns FILE` writes the patterns with what Nsight Compute counted.  Only for GPUs with counters; the
project comes with the counts of one.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from kernels.traces import probes
from measure import counters
from measure.errors import MeasureError

ROUNDS = 16
WIDTHS = (4, 8, 16)
LANES = 32


@dataclass(frozen=True, slots=True)
class Pattern:
    """Byte addresses of 32 lanes which each read `width` bytes; `wavefronts` is the count of one read, None before counting."""

    name: str
    space: str
    width: int
    addresses: tuple[int, ...]
    wavefronts: float | None = None


def patterns() -> list[Pattern]:
    """Strides, broadcasts, pairs, halves, quarters and random addresses, for every width and both spaces."""
    shuffle = random.Random(5)
    found = []
    for space in ("shared", "global"):
        for width in WIDTHS:
            slots = probes.PATTERN_BYTES // width
            shapes = {f"stride {step}": [lane * step for lane in range(LANES)] for step in (1, 2, 3, 4, 5, 8, 16, 32, 33)}
            shapes["all one"] = [0] * LANES
            shapes["halves"] = [lane // 16 for lane in range(LANES)]
            shapes["halves a line apart"] = [lane // 16 * 128 // width for lane in range(LANES)]
            shapes["quarters"] = [lane // 8 for lane in range(LANES)]
            shapes["pairs"] = [lane // 2 for lane in range(LANES)]
            shapes["pairs apart"] = [lane // 2 * 2 for lane in range(LANES)]
            shapes["next but one"] = [lane // 4 * 2 + lane % 2 for lane in range(LANES)]
            shapes["period 16"] = [lane % 16 for lane in range(LANES)]
            shapes["period 16 apart"] = [lane % 16 * 2 for lane in range(LANES)]
            shapes["period 8"] = [lane % 8 for lane in range(LANES)]
            shapes["reversed"] = [LANES - 1 - lane for lane in range(LANES)]
            shapes["one odd lane"] = [1 if lane == 9 else 0 for lane in range(LANES)]
            for index in range(4):
                shapes[f"random {index}"] = [shuffle.randrange(slots) for _ in range(LANES)]
            for index in range(2):
                shapes[f"random near {index}"] = [shuffle.randrange(64) for _ in range(LANES)]
            found += [
                Pattern(name, space, width, tuple(slot % slots * width for slot in shape)) for name, shape in shapes.items()
            ]
    return found


def count() -> list[Pattern]:
    """The patterns with their counted wavefronts.  Raises MeasureError where counters are not to be had."""
    listed = patterns()
    rows = counters.profile("pattern_shared|pattern_global", (counters.WAVEFRONTS,), ("measure.patterns", "--child"))
    if len(rows) != len(listed):
        raise MeasureError(f"ncu counted {len(rows)} of {len(listed)} patterns")
    reads = ROUNDS * probes.PATTERN_READS
    return [
        Pattern(**{**asdict(pattern), "wavefronts": float(row[counters.WAVEFRONTS].replace(",", "")) / reads})
        for pattern, row in zip(listed, rows, strict=True)
    ]


def launch_all() -> None:
    """Read every pattern once, in order: what Nsight Compute counts."""
    import cupy
    import numpy

    from kernels.launch import load_function

    memory = cupy.zeros(probes.PATTERN_BYTES, cupy.uint8)
    out = cupy.empty(LANES, cupy.uint32)
    for pattern in patterns():
        function = load_function(probes.PATTERNS[pattern.width], f"pattern_{pattern.space}")
        offsets = cupy.asarray(numpy.array(pattern.addresses, numpy.uint32))
        spaces = (memory,) if pattern.space == "global" else ()
        function((1,), (LANES,), (offsets, *spaces, out, numpy.int32(ROUNDS), numpy.uint32(0)))
    cupy.cuda.Device().synchronize()


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        launch_all()
    else:
        Path(sys.argv[1]).write_text("[\n" + ",\n".join(json.dumps(asdict(pattern)) for pattern in count()) + "\n]\n")
