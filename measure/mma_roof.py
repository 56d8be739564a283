"""The tensor cores' roof, measured: mma.sync in registers alone, in TFLOP/s and in FLOP a clock an SM.

The second figure tells an expert which tensor core it is, at whatever clock it ran: 512 to 4096 in bf16 with fp32 sums, by GPU.
On compute capability 9.0 the datasheet's rate is that of wgmma; mma.sync reaches some 63 % of it there (Luo et al., Dissecting
the NVIDIA Hopper architecture through microbenchmarking and multiple level analysis, arXiv:2501.12084).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from kernels.launch import load_function
from kernels.roofs import mma_probe as probe
from measure.bf16 import to_bf16
from measure.datasheets import DATASHEETS
from measure.device import Hardware
from measure.errors import VerificationError
from measure.ladder_record import rounded
from measure.records import Quantity, Roof
from measure.subject import Bench, Context, Raw
from measure.timing import Run, summarise

NAME = "bf16_mma"
TITLE = "Tensor cores, bf16 (mma.sync)"
LAUNCH_SECONDS = 0.010
FIRST_ROUNDS = 64  # to see how long a round takes
BLOCKS_PER_SM = (1, 2)
SEED = 5
HOPPER = "; the datasheet's rate takes wgmma, mma.sync reaches some 63 % of it on 9.0 (arXiv:2501.12084)"


class _Probe:
    """The probe with so many blocks an SM; `per_clock` is what the last launch did, FLOP a clock on each SM."""

    def __init__(self, hardware: Hardware, blocks_per_sm: int) -> None:
        import cupy

        self.blocks = blocks_per_sm * hardware.sm_count
        self.rounds = FIRST_ROUNDS
        self._function = load_function(probe.MMA, "probe_mma")
        a, self._b = probe.operands(SEED)
        self._inputs = tuple(to_bf16(cupy, cupy.array(rows, cupy.float32)) for rows in (a, self._b))
        self._out = cupy.empty((probe.warps(self.blocks), probe.ROWS, probe.COLS), cupy.float32)
        self._when = cupy.zeros((probe.warps(self.blocks), 3), cupy.int64)

    def run(self) -> None:
        import numpy

        arguments = (*self._inputs, self._out, self._when, numpy.int32(self.rounds))
        self._function((self.blocks,), (probe.THREADS,), arguments)

    def check(self) -> None:
        """Raises VerificationError unless every sum of every warp is what it must be, to the bit."""
        import cupy

        self._out.fill(cupy.nan)
        self.run()
        if not bool((self._out == cupy.array(probe.expected(self._b, self.rounds), cupy.float32)).all()):
            raise VerificationError("the mma probe did not multiply what it should")

    def per_clock(self) -> list[float]:
        return flop_per_clock(self._when.get().tolist(), probe.flop(self.blocks, self.rounds) / probe.warps(self.blocks))


def flop_per_clock(when: Sequence[Sequence[int]], flop_a_warp: float) -> list[float]:
    """FLOP a clock of each SM, from the SM and the clocks before and after of every warp."""
    spans: dict[int, tuple[int, int, int]] = {}
    for sm, begin, end in when:
        first, last, count = spans.get(sm, (begin, end, 0))
        spans[sm] = (min(first, begin), max(last, end), count + 1)
    return [count * flop_a_warp / (last - first) for first, last, count in spans.values() if last > first]


def collect(bench: Bench) -> Raw:
    """Seconds of the faster launch shape.  Raises VerificationError where the probe's sums are wrong, before or after."""
    watch, plan = bench.watch, bench.plan
    ranked: list[tuple[float, _Probe]] = []
    for blocks_per_sm in BLOCKS_PER_SM:
        one = _Probe(bench.hardware, blocks_per_sm)
        one.run()
        seconds = watch.seconds(one.run) / one.rounds
        one.rounds = min(max(FIRST_ROUNDS, math.ceil(LAUNCH_SECONDS / seconds)), probe.MOST_ROUNDS)
        one.check()
        run: Run = one.run
        seconds = statistics.median(watch.seconds(run) for _ in range(5))
        ranked.append((probe.flop(one.blocks, one.rounds) / seconds, one))
    best = max(ranked, key=lambda pair: pair[0])[1]
    clocks: list[float] = []
    with watch.clock_into(clocks):
        samples = watch.hot(best.run, plan)
    per_clock = best.per_clock()
    best.check()
    return {
        "amount": probe.flop(best.blocks, best.rounds),
        "words": f"{best.blocks} blocks of {probe.THREADS}, {probe.MI * probe.NI} accumulators a warp",
        "seconds": samples,
        "per_clock": per_clock,
        "clocks": clocks,
    }


def roof(raw: Raw, context: Context) -> Roof:
    """The roof's record; `computed` is the measured FLOP a clock at the GPU's boost clock."""
    hardware = context.hardware
    rates = [raw["amount"] / seconds / 1e12 for seconds in raw["seconds"]]
    per_clock = statistics.median(raw["per_clock"])
    words = f"{raw['words']}; {per_clock:.0f} FLOP a clock an SM{HOPPER if hardware.capability == 90 else ''}"
    return Roof(
        title=TITLE,
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
