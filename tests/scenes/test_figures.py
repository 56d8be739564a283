"""Figures and claims: decimal rounding, frames that show them, joining of segments."""

from __future__ import annotations

import pytest

from measure.dataset import Reading
from measure.records import Device, Quantity
from scenes.stage.claims import ClaimLog, figure, merge, numeral


def reading(value: float, unit: str = "TFLOP/s", key: str = "roofs.fp32.measured") -> Reading:
    return Reading(key, Quantity(value, unit, "measured"), Device("NVIDIA Test", "test"), "test-file")


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(65.2449, 1, "65.2"), (0.0077, 2, "0.01"), (0.125, 2, "0.12"), (0.375, 2, "0.38"), (5035, 0, "5 035"), (1.0, 2, "1.00")],
)
def test_rounding_is_half_to_even_in_decimal(value: float, digits: int, text: str) -> None:
    assert numeral(value, digits) == text


def test_scale_and_unit_go_together() -> None:
    shown = figure(reading(0.936, "TB/s", "roofs.dram.datasheet"), 0, "GB/s", 1000.0)
    assert shown.text == "936 GB/s"


def test_a_claim_spans_the_frames_that_show_it() -> None:
    log = ClaimLog("roof-1")
    shown = figure(reading(65.2449), 1)
    for frame in (120, 118, 150):
        log.saw(shown, frame)
    (claim,) = log.claims
    assert (claim.first_frame, claim.last_frame, claim.text, claim.value) == (118, 150, "65.2 TFLOP/s", 65.2449)
    assert (claim.source, claim.device, claim.file, claim.scene) == ("measured", "NVIDIA Test", "test-file", "roof-1")


def test_segments_of_a_scene_join_their_claims() -> None:
    first, second = ClaimLog("roof-1"), ClaimLog("roof-1")
    first.saw(figure(reading(65.2449), 1), 10)
    second.saw(figure(reading(65.2449), 1), 40)
    second.saw(figure(reading(32.8, "TB/s", "roofs.load_path.measured"), 1), 41)
    merged = merge([*second.claims, *first.claims])
    assert [(c.text, c.first_frame, c.last_frame) for c in merged] == [("65.2 TFLOP/s", 10, 40), ("32.8 TB/s", 41, 41)]
