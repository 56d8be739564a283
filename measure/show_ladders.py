"""One ladder as tables: rates and shares of roofs, what else was found of its rungs, and why they are as fast as they are."""

from __future__ import annotations

from collections.abc import Iterator

from measure.chart_data import rate_of
from measure.dataset import Dataset
from measure.records import Ladder, Quantity, Rung
from measure.roofline_model import BOUND_WITHIN
from measure.tables import Table
from measure.wording import figure, number, scaled, spread

WAIT = "warp_time_"
PAGE = 4
"""Columns of named figures that fit beside each other."""

LEAST_WAIT = 0.05
"""Share of the warps' time from which on a reason to wait is named."""


def tables(dataset: Dataset, name: str) -> Iterator[Table]:
    """The tables of one ladder of the main file."""
    owned = dataset.ladder(name)
    if owned is None:
        yield Table("", notes=(f"no ladder {name}: {dataset.why_absent(f'ladders.{name}')}",))
        return
    ladder: Ladder = owned.value
    yield _rates(dataset, name, ladder)
    yield from _figures(ladder)
    yield _reasons(ladder)


def _rates(dataset: Dataset, name: str, ladder: Ladder) -> Table:
    rows, styles, notes = [], [], []
    for rung in ladder.rungs:
        achieved, intensity = dataset.achieved(name, rung.name), dataset.intensity(name, rung.name)
        share, bound = dataset.of_level(name, rung.name), dataset.bound_by(name, rung.name)
        wrong = rung.verification is not None and not rung.verification.passed
        cold = rate_of(ladder, None, rung.time_cold)
        rows.append(
            (
                rung.title,
                "wrong" if wrong else "not run" if rung.absent else number(rung.rate),
                spread(rung.rate),
                "-" if cold is None else figure(cold),
                "-" if rung.time is None else scaled(rung.time.value, "s"),
                number(achieved.quantity if achieved else None),
                number(intensity.quantity if intensity else None),
                number(share.quantity if share else None, 2),
                (bound.roof if bound else "-") + (" !" if rung.throttled else ""),
            )
        )
        styles.append("bold red" if wrong else "dim" if rung.rate is None else "yellow" if rung.throttled else "")
        if rung.absent:
            notes.append(f"{rung.title} was not run: {rung.absent}")
        if rung.throttled:
            reasons = ", ".join(rung.throttle_reasons) or f"its clock was {number(rung.clock, 4)} MHz"
            notes.append(f"! {rung.title} THROTTLED: {reasons}")
        if wrong and rung.verification is not None:
            notes.append(f"{rung.title} is WRONG: error {_worst(rung):.2g}, at most {rung.verification.tolerance:.2g} passes")
    peak = dataset.main.roofs[ladder.math_roof].best if ladder.math_roof in dataset.main.roofs else None
    for line in ladder.lines:
        ratio = "" if peak is None or peak.unit != line.rate.unit else figure(line.rate.value / peak.value)
        rows.append((line.title, number(line.rate), spread(line.rate), "", "", ratio, "", "", ""))
        styles.append("cyan")
    level = f"FLOP/B at the level {ladder.level}" if ladder.level else "no intensity: bytes were not counted"
    header = ("rung", "TFLOP/s", "± %", "cold", "time", "of peak", "FLOP/B", "of its roof", "bound by")
    foot = [f"{level}; bound by: named where a rung runs within {BOUND_WITHIN:.0%} of that roof"]
    checked = [_worst(rung) / rung.verification.tolerance for rung in ladder.rungs if rung.verified and rung.verification]
    if checked:
        foot.append(f"right before and after timing: largest error {max(checked):.2g} of what is tolerated")
    title = f"{ladder.title}, {ladder.problem}, {ladder.dtype}"
    return Table(title, header, tuple(rows), (*notes, *foot, *filter(None, [ladder.reference])), tuple(styles))


def _worst(rung: Rung) -> float:
    return 0.0 if rung.verification is None else max(rung.verification.error, rung.verification.error_after)


def _figures(ladder: Ladder) -> Iterator[Table]:
    """Named figures, a column each, in tables that fit a page."""
    names = list(dict.fromkeys(name for rung in ladder.rungs for name in rung.figures))
    rungs = [rung for rung in ladder.rungs if rung.figures]
    for first in range(0, len(names), PAGE):
        page = names[first : first + PAGE]
        header = (f"{ladder.title}: rung", *(name.replace("_", " ") for name in page))
        estimated = [
            name.replace("_", " ")
            for name in page
            if any(name in rung.figures and rung.figures[name].source == "estimated" for rung in rungs)
        ]
        rows = tuple((rung.title, *(_figure(rung.figures.get(name)) for name in page)) for rung in rungs)
        yield Table("", header, rows, (f"estimated: {', '.join(estimated)}",) if estimated else ())


def _figure(quantity: Quantity | None) -> str:
    if quantity is None:
        return "-"
    if quantity.unit in ("s", "B"):
        return scaled(quantity.value, quantity.unit)
    return f"{number(quantity)} {quantity.unit}".strip()


def _reasons(ladder: Ladder) -> Table:
    """Issue slots and what warps wait for, by the hardware's counters; bytes by level beside the model's."""
    rows = []
    for rung in ladder.rungs:
        if not rung.counters:
            continue
        waits = {name.removeprefix(WAIT): found.value for name, found in rung.counters.items() if name.startswith(WAIT)}
        most = sorted(((share, name) for name, share in waits.items() if share >= LEAST_WAIT), reverse=True)[:3]
        words = ", ".join(f"{name.replace('_', ' ')} {share:.0%}" for share, name in most)
        issue = rung.counters.get("issue_active")
        model = [
            f"{traffic.model.value / traffic.counters.value:.2f}"
            if (traffic := rung.traffic.get(level)) is not None and traffic.model and traffic.counters
            else "-"
            for level in ("load_path", "l2", "dram")
        ]
        rows.append((rung.title, "-" if issue is None else f"{issue.value:.1%}", *model, words or "-"))
    header = (f"{ladder.title}: rung", "slots used", "load path", "L2", "DRAM", "warps wait for")
    notes = ("by Nsight Compute; load path, L2 and DRAM: the model's bytes over the counted ones",) if rows else ()
    return Table("", header, tuple(rows), notes)
