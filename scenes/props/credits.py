"""What the film was drawn from, in lines for its credits: all of it asked for from the measurements."""

from __future__ import annotations

from collections.abc import Sequence

from measure.dataset import Dataset
from scenes.stage.claims import Figure, figure

SUBJECTS = (
    ("roofs.fp32", "roofs"),
    ("latencies.dram", "latencies"),
    ("ladders.gemm_fp32", "fp32 GEMM"),
    ("ladders.gemm_bf16", "tensor cores"),
    ("ladders.attention", "attention"),
    ("ladders.gemv", "quantised GEMV"),
    ("traces.index", "index"),
    ("traces.launch", "launch"),
    ("traces.divergence", "divergence"),
)  # fmt: skip
WIDTH = 47  # letters of a line
Line = Sequence[str | Figure]


def lines(data: Dataset, own: bool, song: str) -> list[Line]:
    """GPU, software, clock and date; what was measured, what was published and what is not there; whose song and pictures.

    `own` says that the song is the project's.
    """
    run, told = data.run, list[Line]()
    if run is None:
        told.append(["every figure published or from the datasheet"])
    else:
        told.append([f"measured {run.date[:10]} · driver {run.driver or 'unknown'}"])
        told.append([f"CUDA {run.cuda_driver or 'unknown'} · NVRTC {run.nvrtc or 'unknown'} · CuPy {run.cupy or 'unknown'}"])
        clock = data.get("run.clock")
        if clock is not None:
            told.append(["SM clock ", figure(clock, 0), *([f" · {run.notes[0].removeprefix('clock ')}"] if run.notes else [])])
        told.append(["each kernel checked against float64,"])
        told.append(["before and after it was timed"])
    there = [name for key, name in SUBJECTS if data.has(key)]
    if there:
        told += [[line] for line in wrapped(("shown: " if run is None else "measured: ") + ", ".join(there))]
    told += [[line] for line in _others(data)]
    whose = "song and pictures: the project's own" if own else f"music: {song} · pictures: the project's own"
    return [*told, *([line] for line in wrapped(whose))]


def _others(data: Dataset) -> list[str]:
    """All-reduce with its own device and source; what is absent, with the reason where the file gives one."""
    server, said = data.all_reduce(), []
    if server is not None:
        source = "published" if server.run is None else f"measured {server.run.date[:10]}"
        said += wrapped(f"all-reduce: {source}, {server.device.name}")
    absent = [name for key, name in SUBJECTS if not data.has(key)]
    absent += ["all-reduce"] if server is None else []
    if absent:
        reason = data.why_absent("all_reduce").split(";")[0].split(":")[0] if absent == ["all-reduce"] else ""
        said += wrapped("not measured: " + ", ".join(absent) + (f" ({reason})" if reason else ""))
    return said


def wrapped(text: str, width: int = WIDTH) -> list[str]:
    """Lines of at most so many letters, broken between words; the following ones are set in."""
    import textwrap

    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)
