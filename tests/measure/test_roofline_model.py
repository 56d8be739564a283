"""The roofline's arithmetic against figures worked out by hand."""

from __future__ import annotations

import pytest

from measure.records import Ladder, Level, Quantity, Roof, Rung, Traffic
from measure.roofline_model import attainable, binding_level, bound_by, intensity, ridge, rung_intensity, shares


def q(value: float, unit: str = "") -> Quantity:
    return Quantity(value, unit, "measured")


def test_ridge_and_slope_of_the_original_s_gpu() -> None:
    """RTX 3090: 35.6 TFLOP/s over 0.936 TB/s is a ridge of 38.03 FLOP/B; left of it the slope limits, right of it the beam."""
    assert ridge(35.6, 0.936) == pytest.approx(38.034, abs=1e-3)
    assert attainable(10.0, 35.6, 0.936) == pytest.approx(9.36)
    assert attainable(38.034, 35.6, 0.936) == pytest.approx(35.6, rel=1e-4)
    assert attainable(100.0, 35.6, 0.936) == 35.6


def test_intensity_of_vector_addition() -> None:
    """One addition for 12 bytes (two loads and a store of fp32): 1/12 FLOP/B."""
    assert intensity(1.0, 12.0) == pytest.approx(1 / 12)
    for work, traffic in ((0.0, 1.0), (1.0, 0.0), (-1.0, 1.0)):
        with pytest.raises(ValueError, match="positive"):
            intensity(work, traffic)


def rung(name: str, rate: float, traffic: dict[Level, float]) -> Rung:
    bytes_ = {level: Traffic(model=q(value, "B")) for level, value in traffic.items()}
    return Rung(name, name, "", rate=q(rate, "TFLOP/s"), traffic=bytes_)


def ladder(*rungs: Rung) -> Ladder:
    return Ladder("t", "p", "fp32", q(1e12, "FLOP"), "fp32", None, rungs)


ROOFS = {
    "fp32": Roof("FMA", "math", measured=q(60.0, "TFLOP/s")),
    "load_path": Roof("load path", "memory", measured=q(30.0, "TB/s")),
    "dram": Roof("DRAM", "memory", measured=q(4.0, "TB/s")),
}


def test_shares_are_of_each_roof_at_the_rung_s_intensity() -> None:
    """1 TFLOP over 4 TB is 0.25 FLOP/B, so the load path allows 7.5 TFLOP/s; over 0.1 TB at DRAM 10 FLOP/B, so 40."""
    one = rung("one", 6.0, {"load_path": 4e12, "dram": 1e11})
    found = {share.roof: share for share in shares(ladder(one), one, ROOFS)}
    assert found["fp32"].share == pytest.approx(0.1)
    assert [found["load_path"].limit, found["load_path"].share] == pytest.approx([7.5, 0.8])
    assert [found["dram"].limit, found["dram"].share] == pytest.approx([40.0, 0.15])
    assert rung_intensity(ladder(one), one, "l2") is None


@pytest.mark.parametrize(("rate", "bound"), [(7.5, "load_path"), (5.26, "load_path"), (5.24, None), (1.0, None)])
def test_bound_is_named_only_within_thirty_percent(rate: float, bound: str | None) -> None:
    one = rung("one", rate, {"load_path": 4e12})
    found = bound_by(ladder(one), one, ROOFS)
    assert (found.roof if found else None) == bound


def test_bound_by_math_where_that_roof_is_nearer() -> None:
    one = rung("one", 57.0, {"load_path": 4e11})
    found = bound_by(ladder(one), one, ROOFS)
    assert found is not None and found.roof == "fp32" and found.share == pytest.approx(0.95)


def test_the_binding_level_is_the_one_that_the_rungs_are_nearest_to() -> None:
    two = (rung("a", 6.0, {"load_path": 4e12, "dram": 1e11}), rung("b", 12.0, {"load_path": 2e12, "dram": 1e11}))
    assert binding_level(ladder(*two), ROOFS) == "load_path"
    copies = (rung("a", 0.9, {"load_path": 1e12, "dram": 4e12}),)
    assert binding_level(ladder(*copies), ROOFS) == "dram"


def test_no_level_without_its_roof_or_without_every_rung_s_bytes() -> None:
    one, bare = rung("a", 6.0, {"load_path": 4e12}), rung("b", 6.0, {})
    assert binding_level(ladder(one), {"fp32": ROOFS["fp32"]}) is None
    assert binding_level(ladder(one, bare), ROOFS) is None
    assert binding_level(ladder(Rung("c", "c", "")), ROOFS) is None
    assert shares(ladder(one), Rung("c", "c", ""), ROOFS) == ()
