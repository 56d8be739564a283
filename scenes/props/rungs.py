"""What may be said of a rung and of the file it comes from, in words: all of it asked for from the measurements."""

from __future__ import annotations

from collections.abc import Callable

from measure.dataset import Dataset, Reading
from measure.records import Rung
from measure.roofline_model import LEVEL_ROOF
from scenes.stage.claims import Figure, figure
from scenes.stage.digits import Counter
from scenes.stage.overlay import Item, Number, Text, Value
from scenes.stage.palette import COMPUTE, TEXT
from scenes.stage.type import FACT, LABEL, NUMBER, SMALL

LADDER = "gemm_fp32"
VENDOR = "ladders.gemm_fp32.lines.cublas.rate"
LEFT = 96
BINDS = 0.9
LEVEL_NAMES = {"load_path": "SM load path", "l2": "L2", "dram": "DRAM", "l1": "L1"}


def find(data: Dataset, name: str) -> Rung | None:
    """A rung of the fp32 ladder by name."""
    owned = data.ladder(LADDER)
    return next((rung for rung in owned.value.rungs if rung.name == name), None) if owned else None


def problem(data: Dataset) -> str:
    """Type and size of the product, such as 'fp32 GEMM 4096³'."""
    owned = data.ladder(LADDER)
    return f"{owned.value.dtype.split(' in')[0]} GEMM {owned.value.problem.split(' x ')[0]}³" if owned else ""


def bandwidth(reading: Reading) -> Figure:
    """A bandwidth in TB/s, or in GB/s where it is less than one."""
    return figure(reading, 1) if reading.quantity.value >= 1 else figure(reading, 0, "GB/s", 1000.0)


def lettering(data: Dataset, name: str, shown: Value, climbed: Callable[[float], float]) -> list[Item]:
    """A rung's title, its one idea, its rate, and how near it is to its level's roof; or why it has no rate.

    The rate counts up with its tower: `climbed` is the rate in TFLOP/s that the tower's top stands at.
    """
    rung, rate = find(data, name), data.get(f"ladders.{LADDER}.rungs.{name}.rate")
    if rung is None or rate is None:
        failed = rung is not None and rung.verification is not None and not rung.verification.passed
        title, why = rung.title if rung else name, "failed verification" if failed else "not measured"
        return [Text(title, FACT, LEFT, 262, "left", shown), Text(why, LABEL, LEFT, 316, "left", shown)]
    digits = 2 if rate.quantity.value < 1 else 1
    items: list[Item] = [
        Text(rung.title, FACT, LEFT, 262, "left", shown),
        Text(rung.change, SMALL, LEFT, 310, "left", shown),
        Counter(
            figure(rate, digits),
            lambda beat: climbed(beat) / rate.quantity.value,
            NUMBER.coloured(COMPUTE),
            LEFT,
            392,
            "left",
            shown,
        ),
        Text(f"{rate.quantity.source} · {problem(data)}", SMALL, LEFT, 442, "left", shown),
    ]
    under = roof_over(data, name)
    if under is None:
        items.append(Text("height only: its bytes are not published", SMALL, LEFT, 490, "left", shown))
        return items
    # Near a roof is a figure; that the roof binds is said only where almost nothing of it is left.
    share, roof = under
    said = "of its roof: bound by" if share.quantity.value >= BINDS else "of its roof:"
    items.append(Number(figure(share, 2, ""), SMALL.coloured(TEXT), LEFT, 490, "left", shown))
    items.append(Text(said, SMALL, LEFT + 100, 490, "left", shown))
    items.append(Text(roof, SMALL, LEFT, 532, "left", shown))
    return items


def roof_over(data: Dataset, name: str) -> tuple[Reading, str] | None:
    """A rung's rate over the lower of its two roofs, and that roof's name; None where its bytes are not known.

    Left of the ridge that is its level's slope, right of it the math units' beam.
    """
    share, owned, mark = data.of_level(LADDER, name), data.ladder(LADDER), data.intensity(LADDER, name)
    if share is None or mark is None or owned is None or owned.value.level is None:
        return None
    math, ridge = data.achieved(LADDER, name), data.ridge(LEVEL_ROOF[owned.value.level])
    if math is not None and ridge is not None and mark.quantity.value >= ridge.quantity.value:
        return math, "fp32 math"
    return share, f"the {LEVEL_NAMES.get(owned.value.level, owned.value.level)}"


def vendor(data: Dataset, line: Reading | None, shown: Value) -> list[Item]:
    """Name and rate of the vendor's library; nothing where there is no line to name."""
    owned = data.ladder(LADDER)
    if line is None or owned is None:
        return []
    title = next(item.title for item in owned.value.lines if item.name == VENDOR.split(".")[3])
    return [
        Text(title, FACT, LEFT, 268, "left", shown),
        Number(figure(line, 1), NUMBER, LEFT, 356, "left", shown),
        Text(f"{line.quantity.source} · the dashed line", SMALL, LEFT, 410, "left", shown),
    ]


def vendor_line(data: Dataset, peak: float) -> Reading | None:
    """The vendor library's rate, where it stands under a roof of `peak` TFLOP/s: one on tensor cores has another."""
    line = data.get(VENDOR)
    return line if line is not None and line.quantity.value <= 1.05 * peak else None
