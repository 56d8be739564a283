"""Stalls: each wait lasts as long as its cycles on one scale; the meter's share and its cause are the file's, never assumed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import staging
from staging import boxes, placed, small_frames, texts, world_at

from measure.dataset import MEASUREMENTS
from scenes.props.load_queue import SLOTS, LoadQueue
from scenes.props.reach import FARTHEST, Reach, Scale, Trip
from scenes.props.slots import COLUMNS, SCHEDULERS, Slots, spread, swept
from scenes.props.waiting import GATE, ROWS, standing
from scenes.stage.palette import MEMORY, THREAD
from scenes.stalls import Stalls

FILE = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
COUNTED = FILE["ladders"]["gemm_fp32"]["rungs"][0]["counters"]
CYCLES = {name: level["cycles"]["value"] for name, level in FILE["latencies"].items()}


def staged(*specs: str | Path) -> Stalls:
    scene = staging.staged("stalls", *specs)
    assert isinstance(scene, Stalls)
    return scene


def changed(tmp_path: Path, change: Any) -> Path:
    document = json.loads(json.dumps(FILE))
    change(document)
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with small_frames(media=tmp_path):
        yield


@pytest.fixture
def scene() -> Stalls:
    return staged("nvidia-h200")


def test_each_wait_and_each_way_are_as_long_as_the_cycles(scene: Stalls) -> None:
    trips = {name: trip for name, trip in scene.trips.items() if isinstance(trip, Trip)}
    assert set(trips) == {"shared", "l2", "dram"}
    a_beat = CYCLES["dram"] / trips["dram"].beats
    for name, trip in trips.items():
        assert trip.beats == pytest.approx(CYCLES[name] / a_beat)
        assert trip.far == pytest.approx(FARTHEST * CYCLES[name] / CYCLES["dram"])
        assert np.hypot(*trip.place(trip.turns)[:2]) == pytest.approx(trip.far)
        assert np.hypot(*trip.place(trip.home)[:2]) == pytest.approx(0.0)
        assert not trip.under_way(trip.home + 0.01) and trip.under_way(trip.home - 0.01)
    for beat in np.arange(0.0, 24.0, 0.1):
        assert sum(trip.under_way(float(beat)) for trip in trips.values()) <= 1  # one request at a time
    assert f"1 beat = {a_beat:.0f} cycles, out and back" in texts(scene, 6.0)


def test_levels_stand_where_their_requests_turn(scene: Stalls) -> None:
    reach = next(item for item in scene.props if isinstance(item, Reach))
    drawn = boxes(scene, 6.0)
    high = (drawn.origin[:, 2] > 1.0) & (drawn.origin[:, 1] > 5.0)  # only DRAM is built so high
    middle = drawn.origin[high, :2] + drawn.size[high, :2] / 2
    assert high.sum() > 5 and np.hypot(*middle.T) == pytest.approx(FARTHEST + 1.1, rel=1e-4)
    assert reach.scale is not None and reach.scale.far("l2") == pytest.approx(FARTHEST * CYCLES["l2"] / CYCLES["dram"])


def test_the_farthest_is_reached_on_its_word_and_answers_on_the_next_line(scene: Stalls) -> None:
    origin = scene.timeline.downbeats[scene.context.first_bar - 1]
    first, second = [line for line in scene.timeline.lines if 0 <= scene.timeline.position(line.start) - origin + 0.1 < 16]
    at = {word.text.strip(",.;"): scene.timeline.position(word.start) - origin for word in (*first.words, *second.words)}
    dram = scene.trips["dram"]
    assert (dram.leaves, dram.turns, dram.home) == pytest.approx((at["data"], at["far"], at["slow"]))
    assert scene.trips["l2"].leaves == pytest.approx(at["big"]) and scene.meter == pytest.approx(at["wait"])


def test_figures_are_the_files(scene: Stalls) -> None:
    shared, l2, dram = (f"{CYCLES[name]:.0f} cycles" for name in ("shared", "l2", "dram"))
    assert {shared, "shared memory, on the SM", "L2, on the same chip"} <= texts(scene, 3.0)
    assert l2 in texts(scene, 3.9) and dram not in texts(scene, 7.5)
    for beat in (8.5, 11.7):  # all three side by side, for most of a bar
        assert {shared, l2, dram, "DRAM, off the chip"} <= texts(scene, beat)
    words = texts(scene, 15.7)
    assert f"{100 * COUNTED['issue_active']['value']:.1f} %" in words
    assert any(said.endswith("measured, counted") for said in words)


def test_the_cause_is_the_files_greatest(scene: Stalls, tmp_path: Path) -> None:
    shares = {key.removeprefix("warp_time_"): value["value"] for key, value in COUNTED.items() if key.startswith("warp_time_")}
    most = max(shares, key=lambda reason: shares[reason])
    assert {f"{100 * shares[most]:.0f} %", f"stall reason {most}, measured"} <= texts(scene, 20.0)

    def wait_for_memory(document: Any) -> None:
        first = document["ladders"]["gemm_fp32"]["rungs"][0]["counters"]
        first["warp_time_long_scoreboard"] = {**first["issue_active"], "value": 0.62}
        first["warp_time_lg_throttle"] = {**first["issue_active"], "value": 0.31}

    made = staged(changed(tmp_path, wait_for_memory))
    assert {"62 %", "stall reason long_scoreboard, measured"} <= texts(made, 20.0)
    assert "waiting for L1, L2 or DRAM" in {plane.text for plane in world_at(made, 20.0).planes}


def test_what_the_waiting_leaves_of_the_slots_stays_beside_it(scene: Stalls) -> None:
    words = texts(scene, 20.0)
    assert {f"{100 * COUNTED['issue_active']['value']:.1f} %", "of its chances to issue used"} <= words
    assert "they wait to ask, not for DRAM" in words and COUNTED["warp_time_lg_throttle"]["value"] > 0.5


def test_one_figure_is_told_at_a_time_and_the_earlier_ones_are_kept(scene: Stalls) -> None:
    for beat, told, kept in ((1.7, "shared", ()), (3.2, "l2", ("shared",)), (7.0, "dram", ("shared", "l2"))):
        seen = {box.text: box.opacity for box in placed(scene, beat, 0.1) if box.text.endswith(" cycles")}
        assert len(seen) == 1 + len(kept)
        assert sorted(opacity > 0.9 for opacity in seen.values()) == [False] * len(kept) + [True]
        assert all(0.5 < seen[f"{CYCLES[name]:.0f} cycles"] < 0.8 for name in kept), told


@pytest.mark.parametrize("file", ["nvidia-h200", "rtx-3090-published"])
def test_no_memory_stands_behind_what_is_written_at_the_top(file: str) -> None:
    made = staged(file)
    for beat in np.arange(2.2, 22.0, 0.4):
        lines = [box.bottom for box in placed(made, float(beat), 0.1) if 180 / 4 < box.bottom < 400 / 4]
        reach = [prop for prop in made.props if isinstance(prop, Reach)]
        world = world_at(made, float(beat), reach)
        drawn, edges = world.all_boxes(), world.all_ribbons()
        tops = [drawn.origin + drawn.size * (0.5, 0.5, 1.0)] if len(drawn.origin) else []
        tops += [edges.b[edges.b[:, 2] > 0.1]]  # of outlines, not the arcs on the floor
        signs = [plane for plane in world_at(made, float(beat)).planes if plane.text in ("L2", "far L2", "DRAM")]
        tops += [np.array([plane.at]) + plane.height * np.array([plane.up]) for plane in signs]
        high = made.view(float(beat)).project(np.concatenate(tops), 480, 270)
        high = high[(high[:, 2] > 0.3) & (np.abs(high[:, 0] - 240) < 240)]
        if lines and len(high):
            assert high[:, 1].min() > max(lines), beat


def test_the_slots_that_issue_are_the_counted_share(scene: Stalls) -> None:
    slots = next(item for item in scene.props if isinstance(item, Slots))
    share = COUNTED["issue_active"]["value"]
    assert slots.issued is not None and slots.issued() == share
    drawn = world_at(scene, 15.0, [slots]).all_boxes()
    assert len(drawn.size) == SCHEDULERS * COLUMNS
    assert (drawn.size[:, 2] > 1.0).sum() == round(share * SCHEDULERS * COLUMNS)


def test_time_steps_over_the_slots_on_half_beats() -> None:
    assert [swept(beat, 10.0, 0.5, 5) for beat in (3.0, 10.0, 10.5, 11.0, 15.0)] == [0.0, 0.0, 5.0, 10.0, 50.0]
    assert swept(10.2, 10.0, 0.5, 5) == 0.0 and 0.0 < swept(10.4, 10.0, 0.5, 5) < 5.0


def test_rows_before_the_gate_are_the_share_of_the_waiting(tmp_path: Path) -> None:
    """92 % of 25 rows are 23, the thread's among them; two wait for something else, beyond the gate."""

    def wait(document: Any) -> None:
        document["ladders"]["gemm_fp32"]["rungs"][0]["counters"]["warp_time_lg_throttle"]["value"] = 0.917

    made = staged(changed(tmp_path, wait))
    crowd = made.waiting
    assert crowd is not None and standing(0.917) == 23 and (standing(0.0), standing(1.0)) == (0, ROWS)
    for beat in (17.9, 19.8, 23.0):  # between the moments at which it opens
        drawn = world_at(made, beat, [crowd]).all_boxes()
        lane = np.isclose(drawn.size[:, 0], 0.76 * crowd.pitch, atol=1e-5) & (drawn.alpha > 0.5)
        rows = np.unique(np.round(drawn.origin[lane, 1], 3))
        assert (rows < GATE).sum() == 23 - 1 and (rows > GATE).sum() == ROWS - 23  # the thread's row is drawn with it
        assert lane.sum() == 32 * len(rows)
    assert crowd.own(16.0) == pytest.approx(0.0) and crowd.own(23.0) == pytest.approx(3.0)  # three have been let through


@pytest.mark.parametrize("share", [0.0, 0.034, 0.25, 0.5, 0.96, 1.0])
def test_slots_are_spread_evenly_over_schedulers(share: float) -> None:
    lit = spread(share)
    assert lit.sum() == round(share * lit.size)
    assert np.ptp(lit.sum(axis=1)) <= 1


def test_without_counters_the_estimate_is_named_so_and_no_cause_is(tmp_path: Path) -> None:
    def drop(document: Any) -> None:
        first = document["ladders"]["gemm_fp32"]["rungs"][0]
        first["counters"], first["figures"]["idle_issue_slots"]["value"] = {}, 0.966

    made = staged(changed(tmp_path, drop))
    late = texts(made, 20.0)
    assert {"96.6 %", "of its chances to issue idle"} <= late
    assert any(words.endswith("estimated, estimated from its machine code") for words in late)
    assert "why: not counted on NVIDIA H200" in late and not any("queue" in words for words in late)
    slots = next(item for item in made.props if isinstance(item, Slots))
    assert slots.issued is not None and slots.issued() == pytest.approx(0.034)


def test_a_level_that_was_not_measured_is_named_and_the_next_one_stands_in_its_place(tmp_path: Path) -> None:
    made = staged(changed(tmp_path, lambda document: [document["latencies"].pop(name) for name in ("shared", "l2", "l2_far")]))
    assert "latency of shared memory and L2 not measured on NVIDIA H200" in texts(made, 2.5)
    assert made.risen("dram", 1.7) == 0.0 and made.risen("dram", 2.6) == 1.0


def test_another_gpu_without_a_far_half_has_one_l2(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        del document["latencies"]["l2_far"]
        document["latencies"]["l2"]["cycles"].update(value=270.0, low=270.0, high=270.0)
        document["latencies"]["dram"]["cycles"].update(value=400.0, low=400.0, high=400.0)

    made = staged(changed(tmp_path, change))
    assert "l2_far" not in made.trips
    for beat in np.arange(0.0, 24.0, 0.1):
        assert sum(trip.under_way(float(beat)) for trip in made.trips.values()) <= 1  # a slow L2 is asked earlier
    assert made.trips["dram"].beats / made.trips["l2"].beats == pytest.approx(400.0 / 270.0)
    assert "L2, on the same chip" in texts(made, 3.5)


@pytest.mark.parametrize("files", [("nvidia-h200",), ("rtx-3090-published",)])
def test_exactly_one_cube_is_magenta(files: tuple[str, ...]) -> None:
    made = staged(*files)
    for beat in np.arange(0.0, 24.0, 0.7):
        assert (np.abs(boxes(made, float(beat)).color - np.array(THREAD)).max(axis=1) < 1e-3).sum() == 1


def test_what_nobody_measured_is_an_outline_and_said() -> None:
    made = staged("rtx-3090-published")
    assert "latencies not measured on NVIDIA GeForce RTX 3090" in texts(made, 4.0)
    assert "issue slots not measured on NVIDIA GeForce RTX 3090" in texts(made, 20.0)
    assert (boxes(made, 10.0).origin[:, 1] < 30.0).all()  # no stack of DRAM
    assert not [claim for claim in made.log.claims if claim.key.startswith(("latencies", "ladders"))]


def test_the_scale_is_one_for_all() -> None:
    scale = Scale.of({"shared": 20.0, "dram": 500.0}, 5.0)
    assert (scale.a_beat, scale.beats("dram"), scale.beats("shared")) == (100.0, 5.0, 0.2)
    assert scale.far("dram") == pytest.approx(FARTHEST) and scale.far("shared") == pytest.approx(0.04 * FARTHEST)


def test_the_queue_is_full_but_for_the_moment_before_the_gate_opens(tmp_path: Path) -> None:
    """Its slots hold a request each; one leaves in the beat before the gate opens, one comes in as it does."""

    def wait(document: Any) -> None:
        document["ladders"]["gemm_fp32"]["rungs"][0]["counters"]["warp_time_lg_throttle"]["value"] = 0.917

    made = staged(changed(tmp_path, wait))
    queue = next(item for item in made.props if isinstance(item, LoadQueue))
    assert made.waiting is not None and queue.opens == made.waiting.opens
    left, slot = made.waiting.middle - queue.wide / 2, queue.wide / SLOTS
    for beat, full in ((17.0, True), (17.8, False), (18.3, True), (19.0, True), (19.8, False), (23.0, True)):
        drawn = world_at(made, beat, [queue]).all_boxes()
        cyan = (np.abs(drawn.color - np.array(MEMORY)).max(axis=1) < 1e-3) & (drawn.origin[:, 1] < GATE)
        places = (drawn.origin[cyan, 0] + drawn.size[cyan, 0] / 2 - left) / slot - 0.5
        assert sorted(places) == pytest.approx(range(SLOTS if full else SLOTS - 1), abs=1e-4), beat


def test_a_stall_that_is_no_queue_has_none(tmp_path: Path) -> None:
    def wait(document: Any) -> None:
        first = document["ladders"]["gemm_fp32"]["rungs"][0]["counters"]
        first["warp_time_barrier"] = {**first["issue_active"], "value": 0.99}

    assert not any(isinstance(item, LoadQueue) for item in staged(changed(tmp_path, wait)).props)


def test_where_no_slot_was_counted_a_warp_issues_as_its_data_comes() -> None:
    made = staged("rtx-3090-published")
    slots = next(item for item in made.props if isinstance(item, Slots))
    assert [trip.home for trip in made.errands] == [12.0, 14.0, 16.0, 18.0, 20.0, 22.0]  # on even beats, one after another
    assert list(slots.drawn(13.0))[:2] == [20.0, 40.0] and list(slots.drawn(17.0))[:2] == [20.0, 40.0]  # ten columns a beat
    for beat in np.arange(10.0, 24.0, 0.1):
        assert sum(trip.under_way(float(beat)) for trip in made.errands) <= 1
    assert not staged("nvidia-h200").errands
