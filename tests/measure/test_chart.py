"""The roofline as a picture: what it shows is the file's, and no words lie over others."""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import made_up

from measure import chart
from measure.chart_data import Line, decades, limits, together, view
from measure.dataset import Dataset
from measure.errors import MeasureError, OutputError
from measure.labels import Box, Wish, crosses, meet, place, stack
from measure.records import Verification

FILES = {
    "full": made_up.full(),
    "small": made_up.small(),
    "h200": Dataset.open(["nvidia-h200"]).main,
    "published": Dataset.open(["rtx-3090-published"]).main,
}


# ---- what is shown --------------------------------------------------------------------------------------------------


def test_ridges_are_peak_over_bandwidth() -> None:
    """65.2 TFLOP/s over 33.3, 8.8 and 4.6 TB/s meet at 1.96, 7.4 and 14.2 FLOP/B; 660 at ten times that."""
    found = view(made_up.full(spread=0.0))
    corners = {(corner.slope, corner.beam): corner.x for corner in found.ridges}
    assert corners["load_path", "fp32"] == pytest.approx(65.2 / 33.3) and corners["l2", "fp32"] == pytest.approx(65.2 / 8.8)
    assert corners["dram", "fp32"] == pytest.approx(65.2 / 4.6) and corners["dram", "bf16_mma"] == pytest.approx(660 / 4.6)
    assert len(corners) == 4 * 2


def test_marks_are_the_rungs_at_their_ladder_s_level() -> None:
    found = view(made_up.full(spread=0.0))
    assert [climb.name for climb in found.climbs] == ["gemm_fp32", "gemm_bf16", "attention", "gemv"]
    tile = next(mark for mark in found.marks if mark.name == "tile_2d")
    assert tile.x == pytest.approx(1.35) and tile.hot == pytest.approx(0.512 * 65.2)
    assert tile.cold == pytest.approx(tile.hot / 1.06)
    gemv = found.climbs[3]
    assert [mark.x for mark in gemv.marks] == pytest.approx([0.5, 1.0, 1.94, 3.76]) and "DRAM" in gemv.details
    ((title, rate),) = found.climbs[0].lines
    assert title == "cuBLAS fp32" and rate == pytest.approx(0.78 * 65.2)


def test_title_says_gpu_driver_and_date() -> None:
    found = view(FILES["h200"])
    run = FILES["h200"].run
    assert run is not None and found.title == "NVIDIA H200"
    assert f"driver {run.driver}" in found.details and run.date in found.details and "132 SMs" in found.details


def test_a_roof_nobody_measured_is_not_solid() -> None:
    found = view(FILES["published"])
    assert [(line.name, line.solid, line.kind) for line in (*found.slopes, *found.beams)] == [
        ("dram", False, "datasheet"),
        ("fp32", False, "datasheet"),
    ]
    assert all(mark.x is None and mark.cold is None for mark in found.marks) and "published" in found.details
    assert all(line.solid for line in view(FILES["h200"]).slopes)


def test_a_wrong_rung_has_no_mark_and_is_named() -> None:
    full = made_up.full()
    ladder = full.ladders["gemv"]
    wrong = dataclasses.replace(
        ladder.rungs[3], rate=None, time=None, time_cold=None, verification=Verification(False, 1.0, 1.0, 1e-6, "float64")
    )
    broken = dataclasses.replace(full, ladders={"gemv": dataclasses.replace(ladder, rungs=(*ladder.rungs[:3], wrong))})
    found = view(broken)
    assert [mark.name for mark in found.marks] == ["fp32", "fp16", "int8"]
    assert any("int4" in note for note in found.notes)


@pytest.mark.parametrize("name", FILES)
def test_limits_hold_everything(name: str) -> None:
    found = view(FILES[name])
    ends = limits([found])
    for mark in found.marks:
        assert ends.bottom < mark.hot < ends.top
        assert ends.start < (ends.right if mark.x is None else mark.x) <= ends.right
    for corner in found.ridges:
        assert ends.start < corner.x < ends.right and corner.y < ends.top
    assert math.log10(ends.right / ends.start) >= 3 - 1e-9 and math.log10(ends.top / ends.bottom) >= 2.5 - 1e-9
    assert (ends.left < ends.unknown < ends.start) == (name == "published")


def test_lines_on_each_other_are_named_together() -> None:
    """33.3 and 33.28 cannot be told apart; 8.8 and 4.6 can."""
    lines = [Line(name, name, value, True, "measured") for name, value in {"a": 33.3, "c": 8.8, "b": 33.28, "d": 4.6}.items()]
    assert [[line.name for line in group] for group in together(lines)] == [["a", "b"], ["c"], ["d"]]


def test_decades_of_an_axis() -> None:
    assert decades(0.009, 150) == [0.01, 0.1, 1, 10, 100] and decades(1, 10) == [1, 10]


# ---- words beside points --------------------------------------------------------------------------------------------


def test_labels_cover_neither_each_other_nor_points_nor_what_is_there() -> None:
    """Forty points in a heap, a box in the middle."""
    spots = np.random.default_rng(3).normal((500, 400), 90, (40, 2))
    wishes = [Wish(float(x), float(y), 90, 14) for x, y in spots]
    frame, taken = Box(0, 0, 1000, 800), Box(480, 300, 560, 340)
    boxes = [box for box in place(wishes, frame, [taken], [(0, 0, 1000, 800)]) if box is not None]
    assert len(boxes) >= 36
    for one, other in itertools.combinations([*boxes, taken], 2):
        assert not one.meets(other)
    for box, wish in itertools.product(boxes, wishes):
        assert not box.meets(Box(wish.x - 7, wish.y - 7, wish.x + 7, wish.y + 7))
    assert all(box.inside(frame) for box in boxes)


def test_a_lone_label_stands_near_its_point_and_off_the_line() -> None:
    (box,) = place([Wish(100, 100, 60, 14)], Box(0, 0, 300, 200), lines=[(0, 0, 200, 200)])
    assert box is not None and not crosses(box, (0, 0, 200, 200))
    assert math.hypot(box.near(100, 100)[0] - 100, box.near(100, 100)[1] - 100) < 20


def test_no_room_is_no_label() -> None:
    assert place([Wish(50, 50, 500, 14)], Box(0, 0, 100, 100)) == [None]


def test_a_line_through_a_box() -> None:
    box = Box(0, 0, 10, 10)
    assert crosses(box, (-5, 5, 15, 5)) and crosses(box, (2, 2, 3, 3)) and crosses(box, (-1, -1, 11, 11))
    assert not crosses(box, (-5, 11, 15, 11)) and not crosses(box, (-5, 0, 0, 16)) and not crosses(box, (11, 0, 11, 10))
    assert meet((0, 0, 10, 10), (0, 10, 10, 0)) and not meet((0, 0, 1, 1), (0, 10, 10, 0))


def test_a_column_is_spread_without_overlap() -> None:
    """Three of height 20 that all want 50 in 0..100, and one that wants the ceiling."""
    centres = stack([20.0] * 4, [50, 50, 50, 99], 0, 100)
    ordered = sorted(centres)
    assert all(b - a >= 20 - 1e-9 for a, b in itertools.pairwise(ordered)) and 10 <= ordered[0] and ordered[-1] <= 90


# ---- the picture ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_every_rung_is_named_and_no_name_lies_over_another(name: str, tmp_path: Path) -> None:
    found = chart.draw([view(FILES[name])], tmp_path / "roofline.png")
    assert len(found) == len(view(FILES[name]).marks)
    for (_, one), (_, other) in itertools.combinations(found, 2):
        assert not one.meets(other)
    with Image.open(tmp_path / "roofline.png") as picture:
        assert picture.size == (1600, 1000)
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    for colour in ("#00E5FF", "#FFB000", "#FF5BDE"):  # memory, math and the fp32 ladder are on it
        rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert (np.abs(pixels - rgb).sum(axis=2) < 40).sum() > 50
    assert list(tmp_path.iterdir()) == [tmp_path / "roofline.png"]


def test_the_same_file_gives_the_same_picture(tmp_path: Path) -> None:
    for name in ("one.png", "two.png"):
        chart.draw([view(FILES["small"])], tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_two_files_over_each_other_show_ratios(tmp_path: Path) -> None:
    before, after = made_up.full(spread=0.0), made_up.full(spread=0.0, shift=1.25)
    found = chart.draw([view(before), view(after)], tmp_path / "both.png", ("before", "after"))
    assert any(words == "2D tiling  ×1.25" for words, _ in found)


def test_what_cannot_be_drawn_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = dataclasses.replace(made_up.full(), roofs={}, ladders={})
    with pytest.raises(OutputError, match=r"ends in \.png"):
        chart.draw([view(FILES["small"])], tmp_path / "roofline.svg")
    with pytest.raises(MeasureError, match="nothing to draw"):
        chart.draw([view(bare)], tmp_path / "roofline.png")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        chart.draw([view(FILES["small"])], tmp_path / "file" / "roofline.png")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MeasureError, match="matplotlib"):
        chart.draw([view(FILES["small"])], tmp_path / "roofline.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_letters_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package has no film beside it."""
    monkeypatch.setattr(chart, "FONTS", tmp_path / "none")
    assert len(chart.draw([view(FILES["small"])], tmp_path / "roofline.png")) == 13
