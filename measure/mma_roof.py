"""The tensor cores' roofs, measured: products in registers and shared memory alone, in TFLOP/s and in FLOP a clock an SM.

The second figure tells an expert which tensor core it is, at whatever clock it ran: 512 to 4096 in bf16 with fp32 sums, by GPU.
There are two roofs, as instructions reach the tensor cores differently: mma.sync, everywhere, and on compute capability 9.0
wgmma, whose rate is the datasheet's; mma.sync reaches some 63 % of it there (Luo et al., Dissecting the NVIDIA Hopper
architecture through microbenchmarking and multiple level analysis, arXiv:2501.12084).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kernels.catalogue import Program
from kernels.launch import load_function
from kernels.roofs import mma_probe, wgmma_probe
from measure.bf16 import to_bf16
from measure.datasheets import DATASHEETS
from measure.device import Hardware
from measure.errors import VerificationError
from measure.ladder_record import rounded
from measure.records import Quantity, Roof
from measure.subject import Bench, Context, Raw
from measure.timing import Run, summarise

LAUNCH_SECONDS = 0.010
FIRST_ROUNDS = 64  # to see how long a round takes
SEED = 5


@dataclass(frozen=True, slots=True)
class Instruction:
    """A way to the tensor cores and the probe that measures it.

    `results(blocks)` are the products of `rows` x `cols` that a launch writes, `warps` and `flop` its warps and FLOP; what
    comes of `operands`, whole numbers, is `expected`, exact up to `most_rounds`.  `words` says what a block does, `note` what
    to know on 9.0.
    """

    name: str
    title: str
    program: Program
    threads: int
    rows: int
    cols: int
    blocks_per_sm: tuple[int, ...]
    most_rounds: int
    results: Callable[[int], int]
    warps: Callable[[int], int]
    flop: Callable[[int, int], int]
    operands: Callable[[int], tuple[mma_probe.Rows, mma_probe.Rows]]
    expected: Callable[[mma_probe.Rows, int], mma_probe.Rows]
    words: str
    note: str = ""


MMA = Instruction(
    name="bf16_mma",
    title="Tensor cores, bf16 (mma.sync)",
    program=mma_probe.MMA,
    threads=mma_probe.THREADS,
    rows=mma_probe.ROWS,
    cols=mma_probe.COLS,
    blocks_per_sm=(1, 2),
    most_rounds=mma_probe.MOST_ROUNDS,
    results=mma_probe.results,
    warps=mma_probe.warps,
    flop=mma_probe.flop,
    operands=mma_probe.operands,
    expected=mma_probe.expected,
    words=f"{mma_probe.MI * mma_probe.NI} accumulators a warp",
    note="; the datasheet's rate takes wgmma, mma.sync reaches some 63 % of it on 9.0 (arXiv:2501.12084)",
)
WGMMA = Instruction(
    name="bf16_wgmma",
    title="Tensor cores, bf16 (wgmma)",
    program=wgmma_probe.WGMMA,
    threads=wgmma_probe.THREADS,
    rows=wgmma_probe.ROWS,
    cols=wgmma_probe.COLS,
    blocks_per_sm=(1,),
    most_rounds=wgmma_probe.MOST_ROUNDS,
    results=wgmma_probe.results,
    warps=wgmma_probe.warps,
    flop=wgmma_probe.flop,
    operands=wgmma_probe.operands,
    expected=wgmma_probe.expected,
    words=f"{wgmma_probe.ROWS} x {wgmma_probe.COLS} sums a warpgroup, operands in shared memory",
)


class _Probe:
    """A probe with so many blocks an SM; `per_clock` is what the last launch did, FLOP a clock on each SM."""

    def __init__(self, instruction: Instruction, hardware: Hardware, blocks_per_sm: int) -> None:
        import cupy

        self.instruction = instruction
        self.blocks = blocks_per_sm * hardware.sm_count
        self.rounds = FIRST_ROUNDS
        self._function = load_function(instruction.program, instruction.program.entries[0])
        a, self._b = instruction.operands(SEED)
        self._inputs = tuple(to_bf16(cupy, cupy.array(rows, cupy.float32)) for rows in (a, self._b))
        self._out = cupy.empty((instruction.results(self.blocks), instruction.rows, instruction.cols), cupy.float32)
        self._when = cupy.zeros((instruction.warps(self.blocks), 3), cupy.int64)

    @property
    def flop(self) -> int:
        return self.instruction.flop(self.blocks, self.rounds)

    def run(self) -> None:
        import numpy

        arguments = (*self._inputs, self._out, self._when, numpy.int32(self.rounds))
        self._function((self.blocks,), (self.instruction.threads,), arguments)

    def check(self) -> None:
        """Raises VerificationError unless every sum is what it must be, to the bit."""
        import cupy

        self._out.fill(cupy.nan)
        self.run()
        if not bool((self._out == cupy.array(self.instruction.expected(self._b, self.rounds), cupy.float32)).all()):
            raise VerificationError(f"the {self.instruction.program.name} probe did not multiply what it should")

    def per_clock(self) -> list[float]:
        return flop_per_clock(self._when.get().tolist(), self.flop / self.instruction.warps(self.blocks))


def flop_per_clock(when: Sequence[Sequence[int]], flop_a_warp: float) -> list[float]:
    """FLOP a clock of each SM, from the SM and the clocks before and after of every warp."""
    spans: dict[int, tuple[int, int, int]] = {}
    for sm, begin, end in when:
        first, last, count = spans.get(sm, (begin, end, 0))
        spans[sm] = (min(first, begin), max(last, end), count + 1)
    return [count * flop_a_warp / (last - first) for first, last, count in spans.values() if last > first]


def collect(bench: Bench, instruction: Instruction) -> Raw:
    """Seconds of the fastest launch shape.  Raises VerificationError where the probe's sums are wrong, before or after."""
    watch, plan = bench.watch, bench.plan
    ranked: list[tuple[float, _Probe]] = []
    for blocks_per_sm in instruction.blocks_per_sm:
        one = _Probe(instruction, bench.hardware, blocks_per_sm)
        one.run()
        seconds = watch.seconds(one.run) / one.rounds
        one.rounds = min(max(FIRST_ROUNDS, math.ceil(LAUNCH_SECONDS / seconds)), instruction.most_rounds)
        one.check()
        run: Run = one.run
        seconds = statistics.median(watch.seconds(run) for _ in range(5))
        ranked.append((one.flop / seconds, one))
    best = max(ranked, key=lambda pair: pair[0])[1]
    clocks: list[float] = []
    with watch.clock_into(clocks):
        samples = watch.hot(best.run, plan)
    per_clock = best.per_clock()
    best.check()
    return {
        "amount": best.flop,
        "words": f"{best.blocks} blocks of {instruction.threads}, {instruction.words}",
        "seconds": samples,
        "per_clock": per_clock,
        "clocks": clocks,
    }


def roof(raw: Raw, context: Context, instruction: Instruction) -> Roof:
    """The roof's record; `computed` is the measured FLOP a clock at the GPU's boost clock."""
    hardware = context.hardware
    rates = [raw["amount"] / seconds / 1e12 for seconds in raw["seconds"]]
    per_clock = statistics.median(raw["per_clock"])
    words = f"{raw['words']}; {per_clock:.0f} FLOP a clock an SM{instruction.note if hardware.capability == 90 else ''}"
    return Roof(
        title=instruction.title,
        kind="math",
        measured=summarise(rates, "TFLOP/s", words),
        computed=_computed(per_clock, hardware),
        datasheet=_datasheet(hardware.name),
        samples=rounded(rates),
    )


def _computed(per_clock: float, hardware: Hardware) -> Quantity | None:
    if not hardware.clock:
        return None
    words = f"{hardware.sm_count} SMs x {per_clock:.0f} FLOP a clock (measured) x {hardware.clock:.0f} MHz"
    return Quantity(hardware.sm_count * per_clock * hardware.clock * 1e6 / 1e12, "TFLOP/s", "derived", reference=words)


def _datasheet(name: str) -> Quantity | None:
    sheet: Any = DATASHEETS.get(name)
    if sheet is None or sheet.bf16 is None:
        return None
    return Quantity(sheet.bf16, "TFLOP/s", "datasheet", reference=f"{sheet.reference}; dense")
