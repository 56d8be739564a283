"""What may be said of a rung and of the file it comes from, in words: all of it asked for from the measurements."""

from __future__ import annotations

import textwrap

from measure.dataset import Dataset, Reading
from measure.records import Rung
from measure.roofline_model import LEVEL_ROOF
from scenes.stage.claims import Figure, decimals, figure
from scenes.stage.overlay import Item, Number, Text, Value
from scenes.stage.palette import COMPUTE
from scenes.stage.type import FACT, LABEL, NUMBER, SMALL, measure_text

LADDER = "gemm_fp32"
VENDOR = "ladders.gemm_fp32.lines.cublas.rate"
LEFT = 96
BINDS, OVER = 0.9, 1.02  # shares of a roof from which on a rung is at it, or over it as it was measured
MATH = "fp32 math"
# What it means that nothing, or something, is left under the beam (True) or a slope, in a beginner's words.
LIMITED = {
    True: ("math can go no faster", "math could go faster"),
    False: ("{roof} can carry no more", "{roof} could carry more"),
}
WIDE = "vectorised"  # the rung whose threads load several values at once
UNNAMED = {"tile_1d": "1D tiling", "tile_2d": "2D tiling", WIDE: "Vectorised loads"}
WRAP, LINE = 42, 42  # letters a line of a rung's idea, design pixels from line to line
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


def lettering(data: Dataset, name: str, shown: Value, landed: Value, told: bool = False) -> list[Item]:
    """A rung's title, its one idea, its rate, and where it stands under its roof; or why it has no rate.

    What was measured of it is written with `landed`, when its tower stands: a rate never runs through those of no rung. `told`
    gives its share of the roof above it as a figure, and what that means; otherwise the HUD's ratio is the only one.
    """
    rung, rate = find(data, name), data.get(f"ladders.{LADDER}.rungs.{name}.rate")
    if rung is None or rate is None:
        failed = rung is not None and rung.verification is not None and not rung.verification.passed
        title, why = called(rung, name), "failed verification" if failed else "not measured"
        return [Text(title, FACT, LEFT, 262, "left", shown), Text(why, LABEL, LEFT, 316, "left", shown)]
    digits = decimals(rate.quantity.value, 1 if rate.quantity.value >= 1 else 2)
    ideas = textwrap.wrap(rung.change, WRAP if len(rung.change) <= WRAP else len(rung.change) // 2 + 6)
    items: list[Item] = [Text(rung.title, FACT, LEFT, 262, "left", shown)]
    items += [Text(line, SMALL, LEFT, 310 + LINE * k, "left", shown) for k, line in enumerate(ideas)]
    y = 392 + LINE * (len(ideas) - 1)
    items.append(Number(figure(rate, digits), NUMBER.coloured(COMPUTE), LEFT, y, "left", landed))
    items.append(Text(f"{rate.quantity.source} · {problem(data)}", SMALL, LEFT, y + 50, "left", landed))
    under = roof_over(data, name)
    if under is None:
        items.append(Text("height only: its bytes are not published", SMALL, LEFT, y + 98, "left", landed))
        return items
    share, roof = under
    part = "beam" if roof == MATH else "slope"
    if told:
        of = f"of this {part} as measured" if share.quantity.value > OVER else f"of what this {part} allows"
        number = figure(share, 0, "%", 100.0)
        items.append(Number(number, FACT, LEFT, y + 112, "left", landed))
        items.append(Text(of, FACT, LEFT + 22 + measure_text(number.text, FACT, 1.0)[0], y + 112, "left", landed))
        items.append(Text(limited(share.quantity.value, roof), SMALL, LEFT, y + 118 + LINE, "left", landed))
    else:
        items.append(Text(f"{standing(share.quantity.value)} the {part}: {roof}", SMALL, LEFT, y + 98, "left", landed))
    return items


def standing(share: float) -> str:
    """Where a rate stands that is this share of a roof."""
    return "over" if share > OVER else "at" if share >= BINDS else "under"


def limited(share: float, roof: str) -> str:
    """What it means to stand at such a share of a roof; that it binds is said only where almost nothing of it is left."""
    if share > OVER:
        return "faster than this roof was measured"
    none, some = LIMITED[roof == MATH]
    return (none if share >= BINDS else some).format(roof=roof)


def roof_over(data: Dataset, name: str) -> tuple[Reading, str] | None:
    """A rung's rate over the lower of its two roofs, and that roof's name; None where its bytes are not known.

    Left of the ridge that is its level's slope, right of it the math units' beam.
    """
    share, owned, mark = data.of_level(LADDER, name), data.ladder(LADDER), data.intensity(LADDER, name)
    if share is None or mark is None or owned is None or owned.value.level is None:
        return None
    beam, ridge = data.achieved(LADDER, name), data.ridge(LEVEL_ROOF[owned.value.level])
    if beam is not None and ridge is not None and mark.quantity.value >= ridge.quantity.value:
        return beam, MATH
    return share, f"the {LEVEL_NAMES.get(owned.value.level, owned.value.level)}"


def vendor(data: Dataset, line: Reading | None, shown: Value) -> list[Item]:
    """Name and rate of the vendor's library; nothing where there is no line to name."""
    if line is None:
        return []
    return [
        Text(vendor_title(data), FACT, LEFT, 268, "left", shown),
        Number(figure(line, 1), NUMBER, LEFT, 356, "left", shown),
        Text(f"{line.quantity.source} · the dashed line", SMALL, LEFT, 410, "left", shown),
    ]


def called(rung: Rung | None, name: str) -> str:
    """A rung's title; of one that no file names, words of its name, never the bare key."""
    return rung.title if rung else UNNAMED.get(name, name.replace("_", " ").capitalize())


def vendor_title(data: Dataset) -> str:
    """What the file calls the vendor library's rate; empty without one."""
    owned = data.ladder(LADDER)
    return next((line.title for line in owned.value.lines if line.name == VENDOR.split(".")[3]), "") if owned else ""


def vendor_line(data: Dataset, peak: float) -> Reading | None:
    """The vendor library's rate, where it stands under a roof of `peak` TFLOP/s: one on tensor cores has another."""
    line = data.get(VENDOR)
    return line if line is not None and line.quantity.value <= 1.05 * peak else None
