"""Two files side by side: which figures are results, what a ratio's interval says, and when two runs agree."""

from __future__ import annotations

import dataclasses
import math
import random
import statistics
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import made_up

import roofline
from measure import schema
from measure.compare import Comparison, Pair, compare, enough, names, ratio, relative_error, summary
from measure.dataset import Dataset
from measure.figures import Figure, figures
from measure.records import Measurements, Quantity
from measure.timing import summarise

ONE, AGAIN = made_up.full(seed=1), made_up.full(seed=2)
FASTER = made_up.full(seed=3, shift=1.25)


def sampled(values: list[float], unit: str = "TFLOP/s", keep: bool = True) -> Figure:
    return Figure("k", summarise(values, unit), tuple(values) if keep else ())


def noisy(middle: float, spread: float, n: int, seed: int) -> list[float]:
    draw = random.Random(seed)
    return [middle * (1 + spread * draw.gauss(0, 1)) for _ in range(n)]


# ---- which figures count --------------------------------------------------------------------------------------------


def test_results_are_measured_each_once() -> None:
    """7 roofs, 5 latencies, 9 + 5 + 3 + 4 rungs hot and cold with 2 lines, 18 sweep values, 2 of traces, 5 all-reduces."""
    found = {key for key, figure in figures(ONE).items() if figure.counts}
    assert len(found) == 7 + 5 + 2 * (9 + 5 + 3 + 4) + 2 + 18 + 2 + 5
    assert "latencies.dram.cycles" in found and "latencies.dram.time" not in found  # the same wait in ns
    assert "ladders.gemv.rungs.int4.rate" in found and "ladders.gemv.rungs.int4.time" not in found  # work over the rate
    assert "ladders.gemm_fp32.lines.cublas.rate" in found
    assert "traces.divergence.cycles" in found and "traces.launch.launch_latency" not in found  # the host's as much
    for word in ("clock", "bandwidth.8.x", "speedup", "peak_memory", "sectors", "sm_count", "tick", "slowdown", "counters"):
        assert not any(word in key for key in found)


def test_a_sweep_s_time_repeats_its_other_series() -> None:
    sweep = ONE.sweeps["coalescing"]
    timed = dataclasses.replace(sweep.series[0], name="time", values={"1": summarise([1.0, 2.0, 3.0], "s")})
    found = dataclasses.replace(ONE, sweeps={"c": dataclasses.replace(sweep, series=(*sweep.series, timed))})
    assert not any(".time." in key for key in figures(found))


def test_published_figures_are_told_and_do_not_count() -> None:
    published = Dataset.open(["rtx-3090-published"]).main
    found = figures(published)
    assert found["ladders.gemm_fp32.rungs.tile_2d.rate"].quantity.value == 25.1
    assert not any(figure.counts for figure in found.values())
    pairs = {pair.key: pair for pair in compare(published, published).pairs}
    assert pairs["roofs.dram"].ratio == 1 and not pairs["roofs.dram"].differs


def test_samples_of_a_rung_become_rates_around_the_recorded_one() -> None:
    rung = ONE.ladders["gemm_fp32"].rungs[0]
    assert rung.rate is not None
    rates = figures(ONE)["ladders.gemm_fp32.rungs.uncoalesced.rate"].samples
    assert statistics.median(rates) == pytest.approx(rung.rate.value, rel=1e-3)
    work = statistics.median(rung.samples) * rung.rate.value
    assert [rate * second for rate, second in zip(rates, rung.samples, strict=True)] == pytest.approx([work] * len(rates))


# ---- ratios and their intervals -------------------------------------------------------------------------------------


def test_a_ratio_is_b_over_a_inside_of_its_interval() -> None:
    value, low, high = ratio(sampled(noisy(10, 0.01, 40, 1)), sampled(noisy(20, 0.01, 40, 2)))
    assert low <= value <= high and value == pytest.approx(2, rel=0.01) and high / low < 1.03


def test_the_bootstrap_agrees_with_the_normal_law() -> None:
    """The ratio of two medians of n normal samples has a relative standard error of 1.2533 sqrt(2 / n) sigma."""
    widths = []
    for seed in range(20):
        _, low, high = ratio(sampled(noisy(1, 0.02, 60, seed)), sampled(noisy(1, 0.02, 60, 1000 + seed)))
        widths.append(math.log(high / low))
    expected = 2 * 2.5758 * 1.2533 * math.sqrt(2 / 60) * 0.02
    assert statistics.mean(widths) == pytest.approx(expected, rel=0.2)


def test_quartiles_serve_where_no_samples_were_kept() -> None:
    """A normal law's quartiles are 1.349 sigma apart: 1.25 x 1.349 / (1.35 x 10) of sigma for 100 samples."""
    found = relative_error(Quantity(50.0, "s", "measured", 50 - 0.6745, 50 + 0.6745, 100))
    assert found == pytest.approx(1.25 * 1.349 / 1.35 / 10 / 50, rel=1e-3)
    assert relative_error(Quantity(50.0, "s", "measured")) == 0
    one, other = sampled(noisy(1, 0.02, 60, 1), keep=False), sampled(noisy(1, 0.02, 60, 2), keep=False)
    value, low, high = ratio(one, other)
    assert low < value < high and math.log(high / low) == pytest.approx(2 * 2.5758 * 1.2533 * math.sqrt(2 / 60) * 0.02, rel=0.4)


def test_how_often_the_same_is_called_different() -> None:
    """Of 300 pairs drawn from one law, hardly one interval of 99 % may miss 1 by more than half a percent."""
    wrong = 0
    for seed in range(300):
        one, other = sampled(noisy(1, 0.01, 20, seed)), sampled(noisy(1, 0.01, 20, 5000 + seed))
        wrong += Pair(one, other, *ratio(one, other)).differs
    assert wrong <= 3


def test_a_real_difference_is_found_and_a_tiny_one_is_none() -> None:
    base = sampled(noisy(100, 0.002, 40, 1))
    large, tiny = sampled(noisy(103, 0.002, 40, 2)), sampled(noisy(100.2, 0.0001, 40, 3))
    assert Pair(base, large, *ratio(base, large)).differs
    assert not Pair(base, tiny, *ratio(base, tiny)).differs


def test_more_is_better_for_rates_and_less_for_times() -> None:
    one, more = sampled([1.0, 1.0, 1.0]), sampled([2.0, 2.0, 2.0])
    assert Pair(one, more, 2.0, 2.0, 2.0).better and not Pair(more, one, 0.5, 0.5, 0.5).better
    short, long = sampled([1.0, 1.0], "s"), sampled([2.0, 2.0], "s")
    assert not Pair(short, long, 2.0, 2.0, 2.0).better and Pair(long, short, 0.5, 0.5, 0.5).better


def test_within_is_the_same_both_ways() -> None:
    """98 and 100 are 2.04 % apart, whichever comes first."""
    a, b = sampled([98.0, 98.0]), sampled([100.0, 100.0])
    for pair in (Pair(a, b, 100 / 98, 1, 1), Pair(b, a, 0.98, 1, 1)):
        assert not pair.within(0.02) and pair.within(0.0205)


# ---- two files ------------------------------------------------------------------------------------------------------


def test_the_same_gpu_twice_agrees() -> None:
    found = compare(ONE, AGAIN)
    assert not found.only_a and not found.only_b and not found.unlike and found.total == len(found.counted) == 81
    assert enough(found, 0.02, 0.95) and summary(found, 0.02) == "81 of 81 figures within 2 %: 100.0 %"
    assert sum(pair.differs for pair in found.pairs) <= 2
    assert {pair.ratio for pair in compare(ONE, ONE).pairs} == {1.0}


def test_a_faster_gpu_is_faster_where_it_was_made_so() -> None:
    """Rates and roofs x 1.25, times by it; latencies and sweeps as before."""
    pairs = {pair.key: pair for pair in compare(ONE, FASTER).pairs}
    assert pairs["ladders.gemm_bf16.rungs.grouped.rate"].ratio == pytest.approx(1.25, rel=0.01)
    assert pairs["ladders.gemm_bf16.rungs.grouped.time_cold"].ratio == pytest.approx(0.8, rel=0.01)
    assert pairs["roofs.l2"].ratio == pytest.approx(1.25, rel=0.01) and pairs["roofs.l2"].better
    assert pairs["latencies.dram.cycles"].ratio == pytest.approx(1, rel=0.02)
    assert not enough(compare(ONE, FASTER), 0.02, 0.95)


def test_what_one_file_lacks_does_not_agree() -> None:
    """Without gemv's 4 rungs, 8 of 81 figures are on one side only: at most 90.1 % can agree."""
    less = dataclasses.replace(AGAIN, ladders={name: one for name, one in AGAIN.ladders.items() if name != "gemv"})
    for found, missing in ((compare(ONE, less), "only_a"), (compare(less, ONE), "only_b")):
        assert len(getattr(found, missing)) == 8 and found.total == 81 and found.agreeing(1.0) == 73
        assert not enough(found, 1.0, 0.95) and "8 of them are not in both files" in summary(found, 0.02)


def test_other_problems_are_not_compared() -> None:
    ladder = dataclasses.replace(AGAIN.ladders["attention"], problem="batch 1, 1 head, 512 x 64")
    found = compare(ONE, dataclasses.replace(AGAIN, ladders={**AGAIN.ladders, "attention": ladder}))
    assert set(found.unlike) == {key for key in figures(ONE) if key.startswith("ladders.attention")}
    assert found.total == 81 and len(found.counted) == 75


def test_nothing_in_common_is_no_agreement() -> None:
    empty = dataclasses.replace(ONE, roofs={}, ladders={}, latencies={}, sweeps={}, all_reduce=None, virtual_all_reduce=None)
    empty = dataclasses.replace(empty, traces=dataclasses.replace(empty.traces, launch=None, divergence=None))
    assert not enough(Comparison((), (), (), {}, 0), 0.02, 0.95) and compare(empty, empty).total == 0


def test_names_of_two_files() -> None:
    assert names("out/a.json", "nvidia-h200") == ("a", "nvidia-h200")
    assert names("first/h200.json", "second/h200.json") == ("first/h200.json", "second/h200.json")


# ---- the verb -------------------------------------------------------------------------------------------------------


def saved(tmp_path: Path, **files: Measurements) -> list[str]:
    return [str(schema.save(found, tmp_path / f"{name}.json")) for name, found in files.items()]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(roofline.main, ["compare", *arguments])


def test_the_verb_tells_ratios_and_what_is_missing(tmp_path: Path) -> None:
    done = invoke(*saved(tmp_path, before=ONE, after=made_up.small()))
    assert done.exit_code == 0, done.output
    for words in ("after (Made-up Mini", "against", "ladders.gemv", "99 % interval", "worse", "only in before", "by bootstrap"):
        assert words in done.output, words
    assert max(len(line) for line in done.output.splitlines()) <= 128


def test_within_decides_the_exit_code(tmp_path: Path) -> None:
    paths = saved(tmp_path, one=ONE, again=AGAIN, faster=FASTER)
    done = invoke(*paths[:2], "--within", "2")
    assert done.exit_code == 0 and "81 of 81 figures within 2 %: 100.0 %" in done.output
    done = invoke(paths[0], paths[2], "--within", "2")
    assert done.exit_code == 1 and "figures within 2 %" in done.output and "less than 95 %" in done.output
    assert "farther apart than 2 %" in done.output
    assert invoke(paths[0], paths[2], "--within", "2", "--share", "30").exit_code == 0


def test_the_verb_draws_both(tmp_path: Path) -> None:
    target = tmp_path / "both.png"
    done = invoke(*saved(tmp_path, one=ONE, faster=FASTER), "--png", str(target))
    assert done.exit_code == 0 and target.read_bytes()[:4] == b"\x89PNG"


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    done = invoke("nvidia-h200", str(tmp_path / "none.json"))
    assert done.exit_code == 2 and done.output.count("\n") == 1 and "no such measurement file" in done.output


def test_resampling_is_repeatable() -> None:
    one, other = sampled(noisy(1, 0.02, 30, 1)), sampled(noisy(1, 0.02, 30, 2))
    assert ratio(one, other) == ratio(one, other)
