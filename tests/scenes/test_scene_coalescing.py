"""Coalescing: sectors by the arithmetic of addresses and as counted, columns and the stream of words as measured."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from measure.dataset import MEASUREMENTS
from scenes.coalescing import BACK, TALLEST, Coalescing
from scenes.props.cube import Cube
from scenes.props.lines import FRONT, LANES, ROWS, SECTORS, places, seats, sectors_of, words_of
from scenes.props.strides import PLINTH
from scenes.stage.palette import THREAD
from scenes.stage.ways import Packets

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import staging
from staging import boxes, texts, world_at

SWEEP = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())["sweeps"]["coalescing"]
SERIES = {series["name"]: {int(k): v["value"] for k, v in series["values"].items()} for series in SWEEP["series"]}


def staged(*specs: str | Path) -> Coalescing:
    scene = staging.staged("coalescing", *specs)
    assert isinstance(scene, Coalescing)
    return scene


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with staging.small_frames(320, 180, media=tmp_path):
        yield


@pytest.fixture
def scene() -> Coalescing:
    return staged("nvidia-h200")


@pytest.mark.parametrize("stride", sorted(SERIES["sectors_counted"]))
def test_sectors_are_as_many_as_counted(stride: int) -> None:
    touched = {4 * lane * stride // 32 for lane in range(32)}  # 4-byte words, 32-byte sectors
    assert set(sectors_of(stride)) == touched
    assert len(touched) == pytest.approx(SERIES["sectors_counted"][stride], abs=0.05)


def test_words_lie_in_their_lines() -> None:
    assert words_of(32).tolist() == list(range(0, 1024, 32))
    side_by_side, apart = places(1), places(32)
    assert np.ptp(side_by_side[:, 1]) == 0.0 and (np.diff(side_by_side[:, 0]) > 0).all()
    assert np.ptp(apart[:, 0]) == 0.0 and (np.diff(apart[:, 1]) > 0).all() and len(np.unique(apart[:, 1])) == ROWS


def test_the_way_of_each_lane_to_its_word_runs_nearly_straight_on_the_frame(scene: Coalescing) -> None:
    """Side by side, word k is seen beyond lane k: the line is nowhere drawn much shorter than the warp, nor far to its side."""
    for beat in (2.0, 4.0, 6.0, 8.0):
        word, lane = (scene.camera_at(beat).project(ends, 1920, 1080)[:, 0] for ends in (places(1), seats()))
        assert np.ptp(word) / np.ptp(lane) > 0.9
        assert np.abs(word - lane).max() < 2.0 * np.diff(lane).max(), f"beat {beat}: two lanes aside"


def test_the_lit_sectors_are_those_of_the_stride(scene: Coalescing) -> None:
    for beat, stride in ((5.0, 1), (8.2, 2), (9.2, 4), (10.3, 8), (11.3, 32)):
        lit = np.flatnonzero(scene.lines.lit(beat).ravel() > 0.5)
        assert lit.tolist() == sectors_of(stride).tolist(), beat
        assert scene.lines.lit(beat).shape == (ROWS, SECTORS)


def test_scatter_and_fall_are_on_their_words(scene: Coalescing) -> None:
    origin = scene.timeline.downbeats[scene.context.first_bar - 1]
    words = {
        word.text.strip(",.;").lower(): scene.timeline.position(word.start) - origin
        for line in scene.timeline.lines
        if 0 <= scene.timeline.position(line.start) - origin < 24
        for word in line.words
    }
    starts = {stride: beat for beat, stride in scene.strides}
    assert starts[2] == pytest.approx(words["scatter"]) and starts[8] == pytest.approx(words["lanes"])
    assert starts[32] == pytest.approx(words["and"])  # each lane a line of its own
    rides = {stride: beat for beat, stride in reversed(scene.stops)}
    assert (rides[1], rides[2], rides[8]) == pytest.approx((words["speed"], words["has"], words["fall"]))
    assert scene.trip == pytest.approx((words["trip"], words["all"]))


def test_columns_are_as_high_as_the_bandwidth(scene: Coalescing) -> None:
    useful = SERIES["useful"]
    drawn = boxes(scene, 22.0)
    column = np.abs(drawn.origin[:, 1] + drawn.size[:, 1] / 2 - BACK) < 1e-3
    column &= np.abs(drawn.color - np.array(THREAD)).max(axis=1) > 1e-3
    column &= drawn.origin[:, 2] == np.float32(PLINTH)
    order = np.argsort(drawn.origin[column, 0])
    tall = drawn.size[column, 2][order]
    expected = np.array([useful[stride] for stride in sorted(useful) if stride <= 32])
    assert tall == pytest.approx(TALLEST * expected / expected[0], rel=1e-4)


def test_words_come_as_fast_as_the_bandwidth(scene: Coalescing) -> None:
    streams = [item for item in scene.props if isinstance(item, Packets)]
    speeds = [stream.walked(21.0) - stream.walked(20.0) for stream in streams]
    expected = np.array([SERIES["useful"][stride] for _, stride in scene.strides])
    assert np.array(speeds) / speeds[0] == pytest.approx(expected / expected[0])
    assert len({stream.every for stream in streams}) == 1 and all(len(stream.ways) == LANES for stream in streams)


def test_the_thread_rides_down_the_columns(scene: Coalescing) -> None:
    cube = next(item for item in scene.props if isinstance(item, Cube))
    assert cube.base(10.0)[1] == FRONT
    for beat, stride in ((12.0, 1), (13.5, 4), (15.0, 32), (20.0, 16), (22.0, 1)):
        assert cube.base(beat) == pytest.approx(scene.columns.top(stride))


@pytest.mark.parametrize("files", [("nvidia-h200",), ("rtx-3090-published",)])
def test_exactly_one_cube_is_magenta(files: tuple[str, ...]) -> None:
    made = staged(*files)
    for beat in np.arange(0.0, 24.0, 0.7):
        assert (np.abs(boxes(made, float(beat)).color - np.array(THREAD)).max(axis=1) < 1e-3).sum() == 1


def test_figures_are_the_files(scene: Coalescing) -> None:
    first, last = (f"{SERIES['useful'][stride]:.2f} TB/s" for stride in (1, 32))
    assert {"x[lane]", first, "4 sectors"} <= texts(scene, 4.0)  # 32 lanes of 4 bytes, in sectors of 32
    assert {"x[lane * 8]", "32 sectors"} <= texts(scene, 10.8)
    assert "x[lane * 8]" in texts(scene, 14.2)  # of the column that the thread stands on
    assert {first, last} <= {plane.figure.text for plane in world_at(scene, 18.0).planes if plane.figure}
    assert {f"{4 * SERIES['dram_counted'][32]:.0f} bytes", "sent by DRAM for each 4 used"} <= texts(scene, 18.0)


def test_sectors_and_bytes_are_those_of_the_stride_that_the_code_shows(scene: Coalescing) -> None:
    """Counted sectors of 32 bytes for a load, bytes that DRAM sent for each word of 4; no other stride's stand beside it."""
    seen = set()
    for beat in np.arange(2.5, 23.0, 0.25):
        words = texts(scene, float(beat))
        (code,) = (text for text in words if text.startswith("x[lane"))
        stride = int(code.removeprefix("x[lane").removesuffix("]").removeprefix(" * ") or 1)
        counted = f"{SERIES['sectors_counted'][stride]:.0f} sectors"
        sent = f"{4 * SERIES['dram_counted'][stride]:.0f} bytes"
        said = {text for text in words if re.fullmatch(r"\d+ (sectors|bytes)", text)}
        assert said <= {counted, sent}, (beat, stride)
        seen |= {(stride, text.split()[1]) for text in said}
    assert seen >= {*((stride, "sectors") for stride in (1, 2, 4, 8, 32)), (32, "bytes"), (1, "bytes")}


def test_what_dram_carried_stands_on_what_was_used(scene: Coalescing) -> None:
    drawn, useful, times = boxes(scene, 19.0), SERIES["useful"], SERIES["dram_counted"]
    pale = np.abs(drawn.origin[:, 1] + drawn.size[:, 1] / 2 - BACK) < 1e-3
    pale &= (drawn.origin[:, 2] > PLINTH + 0.1) & (np.abs(drawn.color - np.array(THREAD)).max(axis=1) > 1e-3)
    assert pale.sum() == 31  # of the first stride nothing is wasted
    top = (drawn.origin + drawn.size)[pale, 2][np.argsort(drawn.origin[pale, 0])] - PLINTH
    expected = [TALLEST * useful[stride] * times[stride] / useful[1] for stride in range(2, 33)]
    assert top == pytest.approx(expected, rel=1e-4)


def test_what_nobody_measured_is_an_outline_and_said() -> None:
    made = staged("rtx-3090-published")
    assert "bandwidth by stride not measured on NVIDIA GeForce RTX 3090" in texts(made, 12.0)
    drawn = boxes(made, 22.0)
    assert (np.abs(drawn.origin[:, 1] + drawn.size[:, 1] / 2 - BACK) < 1e-3).sum() == 1  # the thread alone
    assert made.columns.height(8) == pytest.approx(TALLEST / 8) and made.columns.height(2) == pytest.approx(TALLEST / 2)
    assert not [claim for claim in made.log.claims if claim.key.startswith("sweeps")]
    lines = world_at(made, 20.0, [made.columns]).all_ribbons().a
    bars = lines[lines[:, 1] < BACK - 0.01]  # before the outlines: what is asked for and not used falls
    strides = np.array([min(made.columns.strides, key=lambda k: abs(made.columns.x(k) - x - 0.3)) for x in bars[:, 0]])
    assert len(bars) > 100 and (strides > 1).all()
    assert all(z >= PLINTH + made.columns.height(k) - 1e-5 for z, k in zip(bars[:, 2].tolist(), strides, strict=True))


def test_a_shorter_sweep_of_another_gpu_has_fewer_columns(tmp_path: Path) -> None:
    document = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
    for series in document["sweeps"]["coalescing"]["series"]:
        series["values"] = {key: value for key, value in series["values"].items() if int(key) <= 8}
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    made = staged(path)
    assert list(made.columns.strides) == list(range(1, 9)) and [stride for _, stride in made.stops] == [1, 2, 4, 8, 8, 4, 2, 1]
    assert {f"{4 * SERIES['dram_counted'][8]:.0f} bytes", "measured, at stride 8"} <= texts(made, 18.0)


def test_bytes_fall_only_where_they_are_not_used(scene: Coalescing) -> None:
    """None over the first column, none through what is used; all come down on each half beat by one pitch."""
    drops, later = (world_at(scene, beat, [scene.columns]).all_ribbons().a for beat in (20.0, 20.5))
    for x, _, z in drops.tolist():
        stride = min(scene.columns.strides, key=lambda k: abs(scene.columns.x(k) - x - 0.3))
        assert stride > 1 and z >= scene.columns.top(stride)[2] - 1e-5
    assert len(drops) > 100 and len(later) == pytest.approx(len(drops), abs=2)


@pytest.mark.parametrize(
    ("sent", "said"), [(16.0, "measured, at stride 32: sectors come in pairs"), (8.0, "measured, at stride 32")]
)
def test_that_sectors_come_in_pairs_is_said_where_it_was_counted(sent: float, said: str, tmp_path: Path) -> None:
    """32 sectors of 32 bytes for 32 words of 4: 8 bytes asked for each byte used; 16 sent are twice that."""
    document = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
    for series in document["sweeps"]["coalescing"]["series"]:
        if series["name"] in ("sectors_counted", "dram_counted"):
            series["values"]["32"]["value"] = 32.0 if series["name"] == "sectors_counted" else sent
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    assert {f"{4 * sent:.0f} bytes", said} <= texts(staged(path), 18.0)


def test_no_figure_stands_on_what_was_carried_or_on_the_thread(scene: Coalescing) -> None:
    """A rate is over the first column or at the right of the last, and gone as the thread comes back."""
    for beat in (16.0, 18.0, 20.0, 21.0):
        rates = [plane for plane in world_at(scene, beat).planes if plane.figure]
        assert len(rates) == 2
        first, last = sorted(rates, key=lambda plane: float(plane.at[0]))
        assert first.at[2] > scene.columns.top(1)[2] and last.at[0] > scene.columns.x(32) + 0.5
    assert not [plane for plane in world_at(scene, 21.7).planes if plane.figure]
