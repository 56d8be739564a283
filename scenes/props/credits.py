"""What the film was drawn from, in a few lines for its last picture: all of it asked for from the measurements."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, replace

from measure.dataset import Dataset, Reading
from scenes.props.rungs import LADDER, problem
from scenes.stage.claims import Figure, figure

LADDERS = (LADDER, "gemm_bf16", "attention", "gemv")  # whose rungs are shown with a clock of their own
WIDTH = 44  # letters of a line


@dataclass(frozen=True, slots=True)
class Credit:
    """A line; `figure` is the last figure in it, if it has one."""

    words: str
    figure: Figure | None = None


def lines(data: Dataset, own: bool, song: str) -> list[Credit]:
    """GPU, date, driver, clock and check of what was measured, or where it was published; what others did; song, pictures.

    Software is in the film's provenance, its ladders in the description. `own` says that the song is the project's.
    """
    run, name = data.run, data.device.name
    told = wrapped(f"{problem(data)} on {name}" if problem(data) else name)
    if run is None:
        told += _publications(data) or wrapped("figures published, or from the datasheet")
    else:
        told += wrapped(f"measured {run.date[:10]}, driver {run.driver or 'unknown'}")
        told += _clocks(data)
    server = data.all_reduce()
    if server is not None and server.run is None:
        told += wrapped(f"all-reduce published: {server.device.name.partition(',')[0]}")
    elif server is not None and server.device.name != name:
        told += wrapped(f"all-reduce measured on {server.device.name.partition(',')[0]}")
    if run is not None:
        told += wrapped("results checked against float64")
    return told + wrapped("song, pictures: the project's own" if own else f"song: {song}; pictures: the project's own")


def _publications(data: Dataset) -> list[Credit]:
    """What the drawn rates and peaks were published in, each title once, without addresses: those are in the file."""
    owned, told = data.ladder(LADDER), list[Credit]()
    rates = [f"ladders.{LADDER}.rungs.{rung.name}.rate" for rung in (owned.value.rungs if owned else ())]
    for label, keys in (("rates published", rates), ("peaks", ["roofs.fp32", "roofs.dram"])):
        cited = [found.quantity.reference for key in keys if (found := data.get(key)) is not None]
        for title in dict.fromkeys(re.split("[;,]", re.sub(r" \(.*?\)", "", words))[0] for words in cited if words):
            told += wrapped(f"{label}: {title}")
    return told


def _clocks(data: Dataset) -> list[Credit]:
    """The SM clock over all rungs, slowest to fastest, and what held some of them down."""
    reasons, found = dict[str, None](), list[Reading]()
    for name in LADDERS:
        owned = data.ladder(name)
        for rung in owned.value.rungs if owned else ():
            if rung.clock is not None and (reading := data.get(f"ladders.{name}.rungs.{rung.name}.clock")) is not None:
                found.append(reading)
            if rung.throttled:
                reasons |= dict.fromkeys(rung.throttle_reasons)
    if not found:
        return []
    found.sort(key=lambda reading: reading.quantity.value)
    low, high = figure(found[0], 0, ""), figure(found[-1], 0)
    words = f"SM clock {low.numeral} to {high.text}" if low.numeral != high.numeral else f"SM clock {high.text}"
    return [replace(line, figure=high if k == 0 else None) for k, line in enumerate(wrapped(", ".join([words, *reasons])))]


def wrapped(text: str, width: int = WIDTH) -> list[Credit]:
    """Lines of at most so many letters, broken between words."""
    return [Credit(line) for line in textwrap.wrap(text, width, break_on_hyphens=False)]
