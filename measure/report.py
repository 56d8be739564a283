"""The results of a measurement file as Markdown, kept between two markers of a document.

    python -m measure.report README.md [FILE|NAME]

writes them anew from a measurement file, the H200's unless another is named.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from measure.chart_data import LEVEL_NAMES
from measure.dataset import Dataset
from measure.errors import MeasureError, OutputError
from measure.files import write_text
from measure.records import Ladder, Quantity, Rung
from measure.roofline_model import LEVEL_ROOF
from measure.wording import figure, number, scaled

DEFAULT = "nvidia-h200"
BEGIN = "<!-- results: written by python -m measure.report README.md -->"
END = "<!-- end of results -->"
EXTRA = {
    "bandwidth": "bandwidth",
    "speedup": "times as fast",
    "ideal_speedup": "by its bytes alone",
    "over_cublas_fp16": "times cuBLAS fp16",
    "quantisation_error": "error of the result",
    "peak_memory": "memory allocated",
}
"""Named figures that the document shows, and its words for them."""

STREAMS = {"read": "read", "copy": "copy", "triad": "triad"}
STREAMED = ("kernel", "cudaMemcpy")
LATENCIES = {"shared": "shared memory", "l1": "L1", "l2": "L2", "l2_far": "L2, far half", "dram": "DRAM"}


def report(dataset: Dataset) -> str:
    """All tables: device, roofs, ladders, streams, latencies."""
    return "\n\n".join(part for part in _parts(dataset) if part)


def _parts(dataset: Dataset) -> Iterator[str]:
    yield _device(dataset)
    yield _roofs(dataset)
    for name, ladder in dataset.main.ladders.items():
        yield _ladder(dataset, name, ladder)
    yield _streams(dataset)
    yield _latencies(dataset)


def rewrite(text: str, dataset: Dataset) -> str:
    """A document with the results between its markers replaced.  Raises OutputError unless it has both, once and in order."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in after:
        raise OutputError(f"no results were written: the document needs the lines {BEGIN!r} and {END!r}, once each")
    return f"{before}{BEGIN}\n{report(dataset)}\n{END}{after}"


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _device(dataset: Dataset) -> str:
    device, run = dataset.device, dataset.run
    words = [device.name]
    if device.sm_count is not None:
        words.append(f"{number(device.sm_count)} SMs" + (f" at {number(run.clock, 4)} MHz" if run and run.clock else ""))
    if run is None:
        return f"{', '.join(words)}: published figures, nothing was run."
    words += [f"driver {run.driver}"] if run.driver else []
    words += [f"CUDA {run.cuda_driver}"] if run.cuda_driver else []
    quick = " A quick look, not to be published." if run.quick else ""
    return f"{', '.join([*words, run.date])}. Medians; every kernel is right before and after it is timed.{quick}"


def _roofs(dataset: Dataset) -> str:
    rows = [
        (roof.title, number(roof.measured), number(roof.computed), number(roof.datasheet), roof.best.unit)
        for roof in dataset.main.roofs.values()
        if roof.best is not None
    ]
    return _grid(("roof", "measured", "computed", "datasheet", "unit"), rows) if rows else ""


def _ladder(dataset: Dataset, name: str, ladder: Ladder) -> str:
    """Rates, shares of the math roof and of the level's roof, and the figures that are named in EXTRA.

    Of kernels whose bandwidth was worked out, it stands in the place of the rate: their math units have nothing to do."""
    extras = [extra for extra in EXTRA if any(extra in rung.figures for rung in ladder.rungs)]
    streams = "bandwidth" in extras
    header = [f"{ladder.title}, {ladder.problem.replace(' x ', ' × ')}, {ladder.dtype}"] + (
        [] if streams else ["TFLOP/s", "of its units' roof"]
    )
    if ladder.level is not None:
        level, roof = LEVEL_NAMES[ladder.level], _roof_words(dataset, ladder)
        header += [f"of the roof of {level}{roof}"] if streams else [f"FLOP/B at {level}", f"of the roof there{roof}"]
    rows = []
    for rung in ladder.rungs:
        if rung.rate is not None:
            cells = _streaming(dataset, name, ladder, rung) if streams else _computing(dataset, name, ladder, rung)
            rows.append([rung.title, *cells, *(_extra(rung.figures.get(extra)) for extra in extras)])
    peak = dataset.main.roofs[ladder.math_roof].best if ladder.math_roof in dataset.main.roofs else None
    for line in () if streams else ladder.lines:
        # a library may use instructions that are faster than those whose roof this is
        ratio = "" if peak is None or line.rate.value > peak.value else figure(line.rate.value / peak.value)
        blank = [""] * (len(header) - 3 + len(extras))
        rows.append([f"{line.title}, for comparison", number(line.rate), ratio, *blank])
    return _grid([*header, *(EXTRA[extra] for extra in extras)], rows) if rows else ""


def _roof_words(dataset: Dataset, ladder: Ladder) -> str:
    roof = dataset.main.roofs.get(LEVEL_ROOF[ladder.level]) if ladder.level is not None else None
    return f" ({number(roof.best)} TB/s)" if roof is not None and roof.best is not None else ""


def _computing(dataset: Dataset, name: str, ladder: Ladder, rung: Rung) -> list[str]:
    achieved = dataset.achieved(name, rung.name)
    cells = [number(rung.rate), number(achieved.quantity if achieved else None)]
    if ladder.level is not None:
        mark = dataset.intensity(name, rung.name)
        cells.append(number(mark.quantity if mark else None))
    return [*cells, *_streaming(dataset, name, ladder, rung)]


def _streaming(dataset: Dataset, name: str, ladder: Ladder, rung: Rung) -> list[str]:
    if ladder.level is None:
        return []
    share = dataset.of_level(name, rung.name)
    return [number(share.quantity if share else None, 2)]


def _extra(quantity: Quantity | None) -> str:
    if quantity is None:
        return ""
    return scaled(quantity.value, "B") if quantity.unit == "B" else f"{number(quantity)} {quantity.unit}".strip()


def _streams(dataset: Dataset) -> str:
    """What arrays are read, copied and combined with, beside the library's copy."""
    sweep = dataset.main.sweeps.get("streams")
    if sweep is None or sweep.verification is None or not sweep.verification.passed:
        return ""
    rows = [
        [series.title, *(number(series.values.get(what)) for what in STREAMS)]
        for series in sweep.series
        if series.name in STREAMED
    ]
    size = sweep.kernel.partition(",")[0]
    return _grid([f"{sweep.title}, {size}, TB/s", *STREAMS.values()], rows)


def _latencies(dataset: Dataset) -> str:
    found = {words: latency for name, words in LATENCIES.items() if (latency := dataset.main.latencies.get(name)) is not None}
    rows = [["cycles", *(number(latency.cycles) for latency in found.values())]]
    if any(latency.time for latency in found.values()):
        rows.append(["ns", *(number(latency.time) for latency in found.values())])
    return _grid(["a load waits for", *found], rows) if found else ""


def main(arguments: Sequence[str]) -> int:
    """Rewrite a document; returns the exit code."""
    if not 1 <= len(arguments) <= 2:
        print("usage: python -m measure.report DOCUMENT [FILE|NAME]", file=sys.stderr)
        return 2
    path = Path(arguments[0])
    try:
        text = path.read_text(encoding="utf-8")
        write_text(path, rewrite(text, Dataset.open([arguments[1] if len(arguments) > 1 else DEFAULT])))
    except OSError as error:
        print(f"{path}: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        return 2
    except MeasureError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
