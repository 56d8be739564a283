"""Recordings in pairs: what a comparison says where one GPU was held down, noisy, quicker or wrong is known beforehand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from measure import schema, suite
from measure.backend import Recorded
from measure.compare import Comparison, Pair, compare

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import replayed as rec

RUNGS = "ladders.gemm_fp32.rungs."
Compared = Callable[[rec.Document], Comparison]


@pytest.fixture
def against(tmp_path: Path) -> Compared:
    """A document's measurement beside that of the recording as it was seen."""

    def run(document: rec.Document) -> Comparison:
        found = []
        for name, one in (("a", rec.recorded()), ("b", document)):
            backend = Recorded(rec.write(one, tmp_path / f"{name}-recording.json"))
            found.append(schema.load(suite.measure(tmp_path / f"{name}.json", backend=backend)))
        return compare(*found)

    return run


def rates(found: Comparison) -> list[Pair]:
    return [pair for pair in found.counted if pair.key.startswith(RUNGS) and pair.key.endswith(".rate")]


def test_a_recording_agrees_with_itself(against: Compared) -> None:
    found = against(rec.recorded())
    assert len(rates(found)) >= 6 and {pair.ratio for pair in found.pairs} == {1.0}
    assert not any(pair.differs for pair in found.pairs)
    assert found.agreeing(0.0) == found.total and (found.only_a, found.only_b, found.unlike) == ((), (), {})


def test_a_throttled_gpu_is_slower_by_what_it_was_held_down(against: Compared) -> None:
    """1 / 1.4 = 0.714 for every rate of a contest, the interval around it narrow and wholly below 1."""
    document = rec.recorded()
    rec.throttled(document, 1.4, "power cap")
    found = against(document)
    assert len(rates(found)) >= 6
    for pair in rates(found):
        assert pair.ratio == pytest.approx(1 / 1.4, rel=1e-4)
        assert pair.differs and not pair.better and pair.low <= pair.ratio <= pair.high < 1
    assert found.agreeing(0.02) < found.total


def test_noise_widens_the_interval_instead_of_making_a_finding(against: Compared) -> None:
    quiet, document = against(rec.recorded()), rec.recorded()
    rec.noisy(document)
    noisy = against(document)
    for before, after in zip(rates(quiet), rates(noisy), strict=True):
        assert after.low <= after.ratio <= after.high
        assert after.high - after.low >= before.high - before.low
    assert not any(pair.better and pair.differs for pair in rates(noisy))


def test_a_rung_that_was_wrong_is_missing_and_not_slow(against: Compared) -> None:
    document = rec.recorded()
    rec.wrong(document, "gemm_fp32", "tile_1d", error=None, error_after=None)
    found = against(document)
    assert not any(".tile_1d." in pair.key for pair in found.pairs)
    assert f"{RUNGS}tile_1d.rate" in found.only_a and found.only_b == ()
    assert found.agreeing(0.02) == len(found.counted) < found.total


def test_a_subject_that_one_side_lacks_counts_against_it(against: Compared) -> None:
    document = rec.recorded()
    rec.refused(document, "roofs", "out of memory")
    found = against(document)
    assert {key.split(".")[0] for key in found.only_a} == {"roofs"}
    assert found.agreeing(0.02) == found.total - len(found.only_a)
