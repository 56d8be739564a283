"""What the film was drawn from, as a table for its credits: all of it asked for from the measurements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from measure.dataset import Dataset, Reading
from scenes.props.rungs import LADDER, problem
from scenes.stage.claims import Figure, figure
from scenes.stage.overlay import Canvas, Value, value_at
from scenes.stage.palette import Colour

# Name of a subject in a run, a key that is there where it was measured, and its words.
SUBJECTS = (
    ("roofs", "roofs.fp32", "roofs"),
    ("latencies", "latencies.dram", "latencies"),
    (LADDER, f"ladders.{LADDER}", ""),  # by the type and size of its own problem
    ("gemm_bf16", "ladders.gemm_bf16", "tensor cores"),
    ("attention", "ladders.attention", "attention"),
    ("gemv", "ladders.gemv", "quantised GEMV"),
    ("coalescing", "sweeps.coalescing", "strides"),
    ("index", "traces.index", "index"),
    ("launch", "traces.launch", "launch"),
    ("divergence", "traces.divergence", "divergence"),
)  # fmt: skip
WIDTH = 46  # letters of a line
LEAD, GAP, TALL = 52.0, 0.4, 566.0  # from line to line at most, before a new label (of a line), of the table; design pixels
Line = Sequence[str | Figure]
Row = tuple[str, Line]  # what it is ('' goes on from the row above), and what the measurements say


@dataclass(frozen=True, slots=True)
class Rule:
    """An upright hairline at design pixel `x` from `top` down to `bottom`, as far as `drawn`, 0..1."""

    x: float
    top: float
    bottom: float
    colour: Colour
    drawn: Value
    opacity: Value = 1.0

    def draw(self, canvas: Canvas) -> None:
        drawn, opacity = value_at(self.drawn, canvas.beat), value_at(self.opacity, canvas.beat)
        if drawn > 0.004 and opacity > 0.004:
            canvas.line(self.x, self.top, self.x, self.top + (self.bottom - self.top) * drawn, 3.0, self.colour, opacity)


def rows(data: Dataset, own: bool, song: str) -> list[Row]:
    """Date, software and clock; what was measured, what was published and what is not there; whose song and pictures.

    `own` says that the song is the project's.
    """
    run, told = data.run, list[Row]()
    if run is None:
        told.append(("figures", ["published, or from the datasheet"]))
        told += _publications(data)
    else:
        told.append(("measured", [f"{run.date[:10]}, driver {run.driver or 'unknown'}"]))
        software = f"CUDA {run.cuda_driver or 'unknown'} · NVRTC {run.nvrtc or 'unknown'} · CuPy {run.cupy or 'unknown'}"
        told.append(("software", [software]))
        told += _clocks(data)
        told += wrapped("checked", "against float64, before and after timing")
    there = [words or problem(data) for _, key, words in SUBJECTS if data.has(key)]
    if there:
        # Beside what the film is made of more may be in the file: the credits say so, the file says what.
        more = run is not None and not {name for name, _, _ in SUBJECTS} | {"all_reduce"} >= set(run.subjects)
        told += wrapped("shown" if run is None else "kernels", ", ".join(there) + (", and more" if more else ""))
    told += _others(data)
    if own:
        return [*told, *wrapped("song, pictures", f"{song}; both the project's own")]
    return [*told, *wrapped("song", song), *wrapped("pictures", "the project's own")]


def _publications(data: Dataset) -> list[Row]:
    """What the drawn rates and peaks were published in, each title once, without addresses: those are in the file."""
    owned, told = data.ladder(LADDER), list[Row]()
    rates = [f"ladders.{LADDER}.rungs.{rung.name}.rate" for rung in (owned.value.rungs if owned else ())]
    for label, keys in (("rates from", rates), ("peaks from", ["roofs.fp32", "roofs.dram"])):
        cited = [found.quantity.reference for key in keys if (found := data.get(key)) is not None]
        for title in dict.fromkeys(re.sub(r" \(.*?\)", "", words.split(";")[0]) for words in cited if words):
            told += wrapped(label, title)
    return told


def _clocks(data: Dataset) -> list[Row]:
    """The SM clock over all rungs, slowest to fastest, and which ladders were held down, and by what."""
    held, reasons = dict[str, None](), dict[str, None]()
    found: list[Reading] = []
    for name, key, words in SUBJECTS:
        owned = data.ladder(name) if key.startswith("ladders.") else None
        for rung in owned.value.rungs if owned else ():
            if rung.clock is not None and (reading := data.get(f"{key}.rungs.{rung.name}.clock")) is not None:
                found.append(reading)
            if rung.throttled:
                held[words or problem(data)] = None
                reasons |= dict.fromkeys(rung.throttle_reasons)
    if not found:
        return []
    found.sort(key=lambda reading: reading.quantity.value)
    low, high = figure(found[0], 0, ""), figure(found[-1], 0)
    told: list[Row] = [("SM clock", [low, " to ", high] if low.numeral != high.numeral else [high])]
    return [*told, *(wrapped("", f"held down by {', '.join(reasons)}: {', '.join(held)}") if held else ())]


def set_out(told: Sequence[Row], top: float) -> list[float]:
    """Baselines of the rows in design pixels from `top` down: a label has air above it, and all of them fit."""
    air = [0.0 if k == 0 or not label else GAP for k, (label, _) in enumerate(told)]
    lead = min(LEAD, TALL / max(len(told) + sum(air), 1.0))
    return [top + lead * (k + sum(air[: k + 1])) for k in range(len(told))]


def _others(data: Dataset) -> list[Row]:
    """All-reduce with its own device and source; what is absent, with the reason where the file gives one."""
    server, said = data.all_reduce(), list[Row]()
    if server is not None:
        source = "published" if server.run is None else f"measured {server.run.date[:10]}"
        said += wrapped("all-reduce", f"{source}, {server.device.name}")
        bus = next(iter(server.value.bus_bandwidth.values()), None)
        if bus is not None and bus.source == "published":
            said += wrapped("", re.split("[;,]", bus.reference)[0])
    absent = [words or "GEMM ladder" for _, key, words in SUBJECTS if not data.has(key)]
    absent += ["all-reduce"] if server is None else []
    if absent:
        reason = data.why_absent("all_reduce").split(";")[0].split(":")[0] if absent == ["all-reduce"] else ""
        said += wrapped("not measured" if data.run else "no figures", ", ".join(absent) + (f" ({reason})" if reason else ""))
    return said


def wrapped(label: str, text: str, width: int = WIDTH) -> list[Row]:
    """Rows of at most so many letters, broken between words; the label stands before the first."""
    import textwrap

    lines = textwrap.wrap(text, width, break_on_hyphens=False)
    return [(label if k == 0 else "", [line]) for k, line in enumerate(lines)]
