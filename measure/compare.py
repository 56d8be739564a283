"""Two measurement files side by side: each result's ratio with its uncertainty, and how many agree.

The ratio is that of two medians, B over A.  Its interval of 99 % comes

- from the raw samples, where both files keep them: percentiles of the ratio over resamples drawn with replacement (the
  percentile bootstrap of Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13), 2000 with a fixed seed;
- else from quartiles: a median's standard error is about 1.25 IQR / (1.35 sqrt n) (McGill, Tukey and Larsen, Variations of Box
  Plots, The American Statistician 32(1), 1978); the relative errors of both add in quadrature.

It holds what varies within a run.  What changes between runs (clock, heat, where memory lies) is what a difference shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measure.dataset import Dataset
from measure.figures import Figure, figures
from measure.records import Measurements, Quantity
from measure.tables import Table
from measure.wording import figure, scaled

CONFIDENCE = 0.99
Z = 2.5758  # of a normal distribution, two sides of 99 %
RESAMPLES = 2000
SEED = 1
RESOLUTION = 0.005
"""What timing aims at: medians known to half a percent.  A smaller difference is no finding, however sure."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One figure in both files: `ratio` is B over A, between `low` and `high` with 99 % confidence."""

    a: Figure
    b: Figure
    ratio: float
    low: float
    high: float

    @property
    def key(self) -> str:
        return self.a.key

    @property
    def counts(self) -> bool:
        """Whether both sides are results, measured with a spread."""
        return self.a.counts and self.b.counts

    @property
    def differs(self) -> bool:
        """Whether the interval lies wholly beyond half a percent of 1; only of results it can be said."""
        return self.counts and (self.low > 1 + RESOLUTION or self.high < 1 - RESOLUTION)

    @property
    def better(self) -> bool:
        """Whether B is the better one: faster, or with less to wait for."""
        return (self.ratio < 1) == self.a.less_is_better

    def within(self, share: float) -> bool:
        """Whether the larger value is at most `share` above the smaller."""
        return max(self.ratio, 1 / self.ratio) <= 1 + share


@dataclass(frozen=True, slots=True)
class Comparison:
    """All pairs, the results that one side lacks, and the keys whose figures belong to different problems (with both).

    `total` are the results of either file: one that the other lacks, or has of another problem, counts as not agreeing."""

    pairs: tuple[Pair, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    unlike: Mapping[str, str]
    total: int

    @property
    def counted(self) -> tuple[Pair, ...]:
        """The pairs of results."""
        return tuple(pair for pair in self.pairs if pair.counts)

    def agreeing(self, share: float) -> int:
        """Results that both files have within `share` of each other."""
        return sum(pair.within(share) for pair in self.counted)


def compare(a: Measurements, b: Measurements) -> Comparison:
    """Pair the figures of two files."""
    first, second = figures(a), figures(b)
    pairs, unlike = [], {}
    for key, one in first.items():
        other = second.get(key)
        if other is None:
            continue
        if one.quantity.unit != other.quantity.unit:
            unlike[key] = f"{one.quantity.unit} and {other.quantity.unit}"
        elif one.condition != other.condition:
            unlike[key] = f"{one.condition} and {other.condition}"
        else:
            pairs.append(Pair(one, other, *ratio(one, other)))
    results = {figure.key for figure in (*first.values(), *second.values()) if figure.counts}
    return Comparison(
        tuple(pairs),
        tuple(key for key, figure in first.items() if key not in second and figure.counts),
        tuple(key for key, figure in second.items() if key not in first and figure.counts),
        unlike,
        len(results),
    )


def ratio(a: Figure, b: Figure) -> tuple[float, float, float]:
    """B over A with the ends of its interval of 99 %."""
    value = b.quantity.value / a.quantity.value
    if len(a.samples) > 1 and len(b.samples) > 1:
        ratios = _medians(b.samples, SEED + 1) / _medians(a.samples, SEED)
        low, high = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return value, min(float(low), value), max(float(high), value)
    error = math.hypot(relative_error(a.quantity), relative_error(b.quantity))
    return value, value * math.exp(-Z * error), value * math.exp(Z * error)


def _medians(samples: Sequence[float], seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    drawn = np.random.default_rng(seed).choice(np.asarray(samples), (RESAMPLES, len(samples)))
    return np.asarray(np.median(drawn, axis=1), dtype=np.float64)


def relative_error(quantity: Quantity) -> float:
    """Standard error of a median over the median, from its quartiles; 0 where they are not known."""
    if quantity.low is None or quantity.high is None or not quantity.n or not quantity.value:
        return 0.0
    return 1.25 * (quantity.high - quantity.low) / (1.35 * math.sqrt(quantity.n) * abs(quantity.value))


def names(a: str, b: str) -> tuple[str, str]:
    """Short names of two files: their stems, or what was asked for where these are equal."""
    stems = Path(a).stem, Path(b).stem
    return stems if stems[0] != stems[1] else (a, b)


def tables(a: Dataset, b: Dataset, found: Comparison, names: tuple[str, str]) -> Iterator[Table]:
    """A table a subject, then what is missing and how to read all of it."""
    heads = [
        f"{name} ({data.device.name}{f', {data.run.date}' if data.run else ''})"
        for name, data in zip(names, (a, b), strict=True)
    ]
    yield Table("  against  ".join(reversed(heads)), notes=(f"ratio: {names[1]} over {names[0]}",))
    subjects = list(dict.fromkeys(pair.a.subject for pair in found.pairs))
    for subject in subjects:
        pairs = [pair for pair in found.pairs if pair.a.subject == subject]
        rows = tuple(_row(pair, subject) for pair in pairs)
        styles = tuple("" if not pair.differs else "green" if pair.better else "red" for pair in pairs)
        yield Table("", (subject, names[0], names[1], "ratio", "99 % interval", ""), rows, styles=styles)
    notes = [f"only in {names[0]}: {', '.join(found.only_a)}"] if found.only_a else []
    notes += [f"only in {names[1]}: {', '.join(found.only_b)}"] if found.only_b else []
    notes += [f"not comparable: {key}: {why}" for key, why in found.unlike.items()]
    yield Table("", notes=tuple(notes))
    differing = sum(pair.differs for pair in found.pairs)
    yield Table(
        "",
        notes=(
            f"{differing} of {len(found.counted)} results differ: their interval lies beyond {RESOLUTION:.1%} of 1; "
            f"one in a hundred may do so by chance",
            "interval: from raw samples by bootstrap, else from quartiles; it holds what varies within a run",
            "results: figures measured with a spread, each once; clocks, counters and what is worked out from others are none",
        ),
    )


def _row(pair: Pair, subject: str) -> tuple[str, ...]:
    word = "" if not pair.counts else "same" if not pair.differs else "better" if pair.better else "worse"
    name = pair.key.removeprefix(f"{subject}.").replace("series.", "").replace("values.", "").removeprefix("rungs.")
    return (
        name,
        _value(pair.a.quantity),
        _value(pair.b.quantity),
        f"{pair.ratio:.4f}",
        f"{pair.low:.4f} .. {pair.high:.4f}" if pair.counts else "-",
        word,
    )


def _value(quantity: Quantity) -> str:
    words = scaled(quantity.value, "s", 4) if quantity.unit == "s" else f"{figure(quantity.value, 4)} {quantity.unit}".strip()
    return words if quantity.source == "measured" else f"{words} ({quantity.source})"


def outside(found: Comparison, share: float) -> Table:
    """The figures that are farther apart than `share`, the farthest first."""
    far = sorted((pair for pair in found.counted if not pair.within(share)), key=lambda pair: -abs(math.log(pair.ratio)))
    return Table(f"farther apart than {100 * share:g} %", (), tuple((pair.key, f"{pair.ratio:.4f}") for pair in far))


def summary(found: Comparison, share: float) -> str:
    """How many figures agree, in one line."""
    agreeing = found.agreeing(share)
    percent = 100 * agreeing / found.total if found.total else 0.0
    lacking = found.total - len(found.counted)
    words = f"; {lacking} of them are not in both files" if lacking else ""
    return f"{agreeing} of {found.total} figures within {100 * share:g} %: {percent:.1f} %{words}"


def enough(found: Comparison, share: float, least: float) -> bool:
    """Whether at least the share `least` of all figures agrees within `share`."""
    return found.total > 0 and found.agreeing(share) >= least * found.total - 1e-9
