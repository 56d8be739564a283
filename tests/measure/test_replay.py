"""A recording of a GPU goes through statistics, schema and tables again; so does one that was throttled, noisy, cut or wrong.

The suite gets the same raw samples that a GPU gave it, changed in one known way; what must come out is worked out here.
"""

from __future__ import annotations

import platform
import statistics
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from measure import schema, suite
from measure.backend import Keeping, Recorded
from measure.dataset import Dataset
from measure.errors import SchemaError
from measure.records import Ladder, Measurements, Rung
from measure.show import table
from measure.timing import Plan, enough

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import replayed as rec

LADDER = "gemm_fp32"
WORK = 2 * 4096**3
Replay = Callable[..., Measurements]
ALL = suite.names()


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    """The suite over a document, its roofs and fp32 ladder if nothing else is asked for, and what it wrote."""

    numbers = count()

    def run(document: rec.Document, *only: str) -> Measurements:
        number = next(numbers)
        backend = Recorded(rec.write(document, tmp_path / f"recording-{number}.json"))
        return schema.load(suite.measure(tmp_path / f"gpu-{number}.json", only or ("roofs", LADDER), backend=backend))

    return run


def shown(found: Measurements, path: Path) -> str:
    """What `show` prints of a file."""
    return table(Dataset.open([schema.save(found, path)]))


def ladder(found: Measurements) -> Ladder:
    return found.ladders[LADDER]


def rung(found: Measurements, name: str) -> Rung:
    return next(one for one in ladder(found).rungs if one.name == name)


def raw_of(document: rec.Document, name: str) -> rec.Document:
    one: rec.Document = document["subjects"][LADDER]["raw"]["contenders"][name]
    return one


# ---- as it was seen -------------------------------------------------------------------------------------------------


def test_a_recording_is_measured_as_its_gpu_was(replay: Replay) -> None:
    """Rates by the definition: work over the median time, quartiles by linear interpolation."""
    document = rec.recorded()
    found = replay(document, *ALL)
    assert found.device.name == document["device"]["name"] == "NVIDIA H200"
    names = [name for subject, name, _ in rec.contenders(document) if subject == LADDER and name != "cublas"]
    assert [one.name for one in ladder(found).rungs] == names and len(names) >= 6
    for one in ladder(found).rungs:
        seconds = raw_of(document, one.name)["hot"]
        assert one.verified and one.rate is not None and one.time is not None
        assert one.rate.value == pytest.approx(WORK / statistics.median(seconds) / 1e12, rel=1e-6)
        assert one.time.value == pytest.approx(statistics.median(seconds)) and one.time.n == len(seconds)
        quartiles = statistics.quantiles(seconds, n=4, method="inclusive")
        assert (one.time.low, one.time.high) == pytest.approx((quartiles[0], quartiles[2]))
    assert found.run is not None
    held = {reason for one in document["subjects"].values() for reason in one["reasons"]}
    assert found.run.throttled or not held
    assert all(reason in " ".join(found.run.notes) for reason in held)
    assert set(document["subjects"]) - set(found.run.subjects) == {
        name for name, one in document["subjects"].items() if one["raw"] is None
    }


def test_a_recording_of_a_recording_is_the_same(replay: Replay, tmp_path: Path) -> None:
    document = rec.recorded()
    first = Recorded(rec.write(document, tmp_path / "first.json"))
    suite.measure(tmp_path / "one.json", backend=Keeping(first, tmp_path / "second.json"))
    suite.measure(tmp_path / "two.json", backend=Recorded(tmp_path / "second.json"))
    one, two = (schema.unstructure(schema.load(tmp_path / name)) for name in ("one.json", "two.json"))
    assert {**one["run"], "seconds": 0, "date": ""} == {**two["run"], "seconds": 0, "date": ""}
    one.pop("run"), two.pop("run")
    assert one == two


# ---- slower ---------------------------------------------------------------------------------------------------------


def test_a_throttled_gpu_keeps_its_figures_and_says_so(replay: Replay, tmp_path: Path) -> None:
    whole, document = replay(rec.calm(), *ALL), rec.calm()
    rec.throttled(document, 1.4, "power cap")
    found = replay(document, *ALL)
    for before, after in zip(ladder(whole).rungs, ladder(found).rungs, strict=True):
        assert before.rate is not None and after.rate is not None and before.clock is not None and after.clock is not None
        assert after.rate.value == pytest.approx(before.rate.value / 1.4)
        assert after.clock.value == pytest.approx(before.clock.value / 1.4)
        assert not before.throttled and after.throttled and after.throttle_reasons == ("power cap",)
    timed = [
        (before, after)
        for name, one in whole.ladders.items()
        for before, after in zip(one.rungs, found.ladders[name].rungs, strict=True)
        if before.time is not None
    ]
    for before, after in timed:
        assert before.time is not None and after.time is not None and after.throttled
        assert after.time.value == pytest.approx(1.4 * before.time.value)
    assert found.run is not None and found.run.throttled and found.run.notes == ("clock held down by power cap",)
    assert found.run.clock is not None and found.run.clock.value < 0.9 * document["hardware"]["clock"]
    assert "power cap" in shown(found, tmp_path / "shown.json")
    assert "power cap" not in shown(whole, tmp_path / "shown.json")


def test_a_low_clock_alone_is_flagged_where_nobody_says_why(replay: Replay) -> None:
    """89 % of the boost clock is flagged, 91 % is not: the line is 90 %."""
    for share, flagged in ((0.89, True), (0.91, False)):
        document = rec.calm()
        rec.clocked(document, share * document["hardware"]["clock"])
        found = replay(document)
        assert {one.throttled for one in ladder(found).rungs} == {flagged}
        assert all(one.throttle_reasons == () for one in ladder(found).rungs)
        assert found.run is not None and found.run.throttled is flagged


def test_noise_moves_quartiles_and_throws_nothing_away(replay: Replay) -> None:
    """Two samples in three are as they were, so the median stays within them; the mean would not."""
    whole, document = replay(rec.recorded()), rec.recorded()
    rec.noisy(document)
    found = replay(document)
    wider = 0
    for before, after in zip(ladder(whole).rungs, ladder(found).rungs, strict=True):
        assert before.time is not None and after.time is not None
        seconds = raw_of(document, after.name)["hot"]
        assert after.time.n == before.time.n == len(seconds) == len(after.samples)
        assert max(after.samples) == pytest.approx(max(seconds), rel=1e-4)
        assert after.time.value == pytest.approx(before.time.value, rel=0.05)
        assert (
            after.time.low is not None and after.time.high is not None and after.time.low <= after.time.value <= after.time.high
        )
        assert before.time.low is not None and before.time.high is not None
        wider += after.time.high - after.time.low > 10 * (before.time.high - before.time.low)
    assert wider > len(ladder(found).rungs) / 2


def test_noise_that_never_settles_ends_at_the_time_limit() -> None:
    """The stop rule as a GPU beside a heavy load meets it: every second sample takes a hundred times as long."""
    plan, spent = Plan(limit=15.0), 0.0
    samples: list[float] = []
    while not enough(samples, spent, plan):
        samples.append(0.01 if len(samples) % 2 else 1.0)
        spent += samples[-1]
    assert 15.0 <= spent <= 16.0 and len(samples) >= 3


# ---- beyond and below -----------------------------------------------------------------------------------------------


def test_over_a_hundred_per_cent_of_peak_is_kept_and_shown(replay: Replay, tmp_path: Path) -> None:
    """A GPU that boosts above what it reports: every rung twice as fast, the best of them past the datasheet's peak."""
    document = rec.recorded()
    for _, _, one in rec.contenders(document):
        one["hot"] = [seconds / 2 for seconds in one["hot"]]
    found = replay(document)
    roof = found.roofs["fp32"].measured
    best = max(ladder(found).rungs, key=lambda one: one.rate.value if one.rate else 0.0)
    assert roof is not None and best.rate is not None
    assert best.rate.value == pytest.approx(WORK / statistics.median(raw_of(document, best.name)["hot"]) / 1e12)
    assert best.rate.value > roof.value
    row = next(text for text in shown(found, tmp_path / "shown.json").splitlines() if text.startswith(best.title))
    assert f"{best.rate.value / roof.value:.3g}" in row


def test_a_mig_slice_is_measured_as_the_slice_that_it_is(replay: Replay, tmp_path: Path) -> None:
    """An eighth of the memory and 16 of 132 SMs; NVML refuses; computed roofs are the slice's: 2 x 16 x 128 x clock."""
    document = rec.recorded()
    rec.slower(document, 132 / 16)
    clock = document["hardware"]["clock"]
    rec.on(
        document,
        name="NVIDIA H200 MIG 1g.18gb",
        sm_count=16,
        memory_size=18 * 10**9,
        l2_size=document["hardware"]["l2_size"] // 8,
    )
    found = replay(document)
    assert found.device.slug == "nvidia-h200-mig-1g-18gb"
    assert found.device.sm_count is not None and found.device.sm_count.value == 16
    assert "slice" in found.device.facts["mig"] and "power limit" not in found.device.facts
    assert found.run is not None and found.run.driver is None
    computed = found.roofs["fp32"].computed
    assert computed is not None and computed.value == pytest.approx(2 * 16 * 128 * clock * 1e6 / 1e12)
    assert (
        found.device.memory.bandwidth is None
        and found.roofs["dram"].datasheet is None
        and found.roofs["fp32"].datasheet is None
    )
    assert "NVIDIA H200 MIG 1g.18gb" in shown(found, tmp_path / "shown.json")


def test_wsl_without_nvml_leaves_out_what_nobody_said(replay: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "release", lambda: "5.15.153.1-microsoft-standard-WSL2")
    document = rec.calm()
    rec.on(document)
    found = replay(document)
    assert found.device.facts["system"] == "WSL"
    assert not {"power limit", "ecc", "mig"} & set(found.device.facts)
    assert found.run is not None and found.run.driver is None and not found.run.throttled and found.run.notes == ()
    assert "None" not in shown(found, tmp_path / "shown.json")


def test_a_timer_too_coarse_for_the_clock_claims_none(replay: Replay, tmp_path: Path) -> None:
    document = rec.calm()
    rec.without_clocks(document)
    found = replay(document)
    for one in ladder(found).rungs:
        assert one.clock is None and not one.throttled and one.rate is not None
    assert found.run is not None and found.run.clock is None and not found.run.throttled
    assert "MHz" not in shown(found, tmp_path / "shown.json").splitlines()[1]


# ---- wrong ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [{"error": None, "error_after": None}, {"error": 0.25, "error_after": 0.25}, {"error_after": 0.25}, {"odd_sizes": False}],
    ids=["not finite", "wrong", "wrong after it was timed", "wrong at odd sizes"],
)
def test_a_wrong_rung_has_no_rate_and_the_others_keep_theirs(replay: Replay, tmp_path: Path, fault: rec.Document) -> None:
    whole, document = replay(rec.recorded()), rec.recorded()
    rec.wrong(document, LADDER, "tile_1d", **fault)
    found = replay(document)
    broken = rung(found, "tile_1d")
    assert not broken.verified and broken.rate is None and broken.time is None and broken.samples == ()
    assert broken.verification is not None and broken.builds == rung(whole, "tile_1d").builds
    for one in ladder(found).rungs:
        if one.name != "tile_1d":
            assert one == rung(whole, one.name)
    row = next(text for text in shown(found, tmp_path / "shown.json").splitlines() if text.startswith(broken.title))
    assert "17.2" not in row


def test_a_subject_that_cannot_run_is_absent_with_its_reason(replay: Replay, tmp_path: Path) -> None:
    document, reason = rec.recorded(), "needs compute capability 9.0; this GPU has 7.5"
    rec.refused(document, LADDER, reason)
    found = replay(document)
    assert LADDER not in found.ladders and found.absent[f"ladders.{LADDER}"] == reason
    assert found.run is not None and LADDER not in found.run.subjects and found.roofs
    assert reason in shown(found, tmp_path / "shown.json")


def test_a_rung_that_cannot_run_is_named_and_has_no_figure(replay: Replay, tmp_path: Path) -> None:
    document, reason = rec.recorded(), "needs 100000 bytes of shared memory a block; this GPU allows 65536"
    raw_of(document, "vectorised").update(refusal=reason, hot=[], cold=[], clocks=[], error=None, error_after=None, launches=[])
    found = replay(document)
    one = rung(found, "vectorised")
    assert one.absent == reason and one.rate is None and one.verification is None
    assert reason in shown(found, tmp_path / "shown.json")


def test_what_was_refused_is_tried_again(tmp_path: Path) -> None:
    """The same file, first without the ladder, then with it."""
    document, path = rec.recorded(), tmp_path / "gpu.json"
    rec.refused(document, LADDER, "out of memory")
    suite.measure(path, backend=Recorded(rec.write(document, tmp_path / "without.json")))
    suite.measure(path, backend=Recorded(rec.write(rec.recorded(), tmp_path / "with.json")))
    found = schema.load(path)
    assert LADDER in found.ladders and f"ladders.{LADDER}" not in found.absent


# ---- no recording ---------------------------------------------------------------------------------------------------


def broken(change: Callable[[rec.Document], object]) -> rec.Document:
    document = rec.recorded()
    change(document)
    return document


@pytest.mark.parametrize(
    "document",
    [
        broken(lambda document: document.pop("hardware")),
        broken(lambda document: document["hardware"].pop("clock")),
        broken(lambda document: document["hardware"].update(nonsense=1)),
        broken(lambda document: document["subjects"]["roofs"].pop("raw")),
        broken(lambda document: document.update(subjects=[])),
        broken(lambda document: document["device"].update(name=7)),
    ],
    ids=["no hardware", "no clock", "an unknown field", "no raw", "a list", "a number for a name"],
)
def test_what_is_no_recording_is_one_line_with_its_path(document: rec.Document, tmp_path: Path) -> None:
    path = rec.write(document, tmp_path / "bad.json")
    with pytest.raises(SchemaError) as caught:
        Recorded(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("{")
    (tmp_path / "cut.json.gz").write_bytes(rec.PATH.read_bytes()[:500])
    (tmp_path / "plain.json.gz").write_text("{}")
    for name in ("text.json", "cut.json.gz", "plain.json.gz", "missing.json", "."):
        with pytest.raises(SchemaError) as caught:
            Recorded(tmp_path / name)
        assert "\n" not in str(caught.value)
