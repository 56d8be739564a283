"""Stalls: each wait lasts as long as its cycles on one scale; the meter's share and its cause are the file's, never assumed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from manim import tempconfig

from audio import tracks
from measure.dataset import MEASUREMENTS, Dataset
from scenes import film
from scenes.props.reach import FARTHEST, Reach, Scale, Trip
from scenes.props.slots import COLUMNS, SCHEDULERS, Slots, spread
from scenes.stage.overlay import Placed
from scenes.stage.palette import THREAD
from scenes.stage.passage import Context, Window
from scenes.stage.world import Boxes, World
from scenes.stalls import Stalls

WIDTH, HEIGHT = 320, 180
FILE = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
CYCLES = {name: level["cycles"]["value"] for name, level in FILE["latencies"].items()}


def staged(*specs: str | Path) -> Stalls:
    scene = Stalls(Context.of(Dataset.open(specs), tracks.default().timeline, film.row("stalls")), Window(0, 0))
    scene.setup()
    scene.construct()
    return scene


def changed(tmp_path: Path, change: Any) -> Path:
    document = json.loads(json.dumps(FILE))
    change(document)
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with tempconfig({"pixel_width": WIDTH, "pixel_height": HEIGHT, "frame_rate": 30, "media_dir": str(tmp_path)}):
        yield


@pytest.fixture
def scene() -> Stalls:
    return staged("nvidia-h200")


def boxes(scene: Stalls, beat: float) -> Boxes:
    world = World()
    for item in scene.props:
        item.draw(world, beat)
    return world.all_boxes()


def texts(scene: Stalls, beat: float) -> set[str]:
    scene.paint(scene.clock.frame(beat), np.zeros((HEIGHT, WIDTH), np.uint32))
    placed: list[Placed] = scene.placed
    return {box.text for box in placed if box.opacity > 0.5}


def test_each_wait_and_each_way_are_as_long_as_the_cycles(scene: Stalls) -> None:
    trips = {name: trip for name, trip in scene.trips.items() if isinstance(trip, Trip)}
    assert set(trips) == set(CYCLES)
    a_beat = CYCLES["dram"] / trips["dram"].beats
    for name, trip in trips.items():
        assert trip.beats == pytest.approx(CYCLES[name] / a_beat)
        assert trip.far == pytest.approx(FARTHEST * CYCLES[name] / CYCLES["dram"])
        assert np.hypot(*trip.place(trip.turns)[:2]) == pytest.approx(trip.far)
        assert np.hypot(*trip.place(trip.home)[:2]) == pytest.approx(0.0)
        assert not trip.under_way(trip.home + 0.01) and trip.under_way(trip.home - 0.01)
    assert f"1 beat = {a_beat:.0f} cycles, for every wait" in texts(scene, 10.0)


def test_levels_stand_where_their_requests_turn(scene: Stalls) -> None:
    reach = next(item for item in scene.props if isinstance(item, Reach))
    drawn = boxes(scene, 8.0)
    high = (drawn.origin[:, 2] > 5.5) & (drawn.origin[:, 1] > 5.0)  # only DRAM is built so high
    middle = drawn.origin[high, :2] + drawn.size[high, :2] / 2
    assert high.sum() > 5 and np.hypot(*middle.T) == pytest.approx(FARTHEST + 1.2, rel=1e-4)
    assert reach.scale is not None and reach.scale.far("l2") == pytest.approx(FARTHEST * CYCLES["l2"] / CYCLES["dram"])


def test_the_far_half_is_reached_on_the_word(scene: Stalls) -> None:
    origin = scene.timeline.downbeats[scene.context.first_bar - 1]
    line = next(line for line in scene.timeline.lines if scene.timeline.position(line.start) >= origin - 0.1)
    far = scene.timeline.position(line.words[-1].start) - origin
    assert scene.trips["l2_far"].turns == pytest.approx(far, abs=0.1)


def test_figures_and_the_cause_are_the_files(scene: Stalls) -> None:
    assert {"23 cycles", "a load from shared memory", "32 cycles", "a load from L1"} <= texts(scene, 3.0)
    assert "665 cycles" not in texts(scene, 12.0) and "665 cycles" in texts(scene, 13.4)
    assert {"3.4 %", "of issue slots used", "measured, counted"} <= texts(scene, 17.6)
    late = texts(scene, 20.0)
    assert {"92 %", "the queue for its loads is full", "lg-throttle, measured, counted"} <= late


def test_the_slots_that_issue_are_the_counted_share(scene: Stalls) -> None:
    slots = next(item for item in scene.props if isinstance(item, Slots))
    share = FILE["ladders"]["gemm_fp32"]["rungs"][0]["counters"]["issue_active"]["value"]
    assert slots.issued is not None and slots.issued() == share
    drawn = boxes(scene, 20.0)
    field = drawn.origin[:, 1] < -2.0
    assert field.sum() == SCHEDULERS * COLUMNS
    assert (drawn.size[field, 2] > 1.0).sum() == round(share * SCHEDULERS * COLUMNS)


@pytest.mark.parametrize("share", [0.0, 0.034, 0.25, 0.5, 0.96, 1.0])
def test_slots_are_spread_evenly_over_schedulers(share: float) -> None:
    lit = spread(share)
    assert lit.sum() == round(share * lit.size)
    assert np.ptp(lit.sum(axis=1)) <= 1


def test_without_counters_the_estimate_is_named_so_and_no_cause_is(tmp_path: Path) -> None:
    def drop(document: Any) -> None:
        document["ladders"]["gemm_fp32"]["rungs"][0]["counters"] = {}

    made = staged(changed(tmp_path, drop))
    late = texts(made, 20.0)
    assert {"96.6 %", "of issue slots idle", "estimated, estimated from its machine code"} <= late
    assert "why: not counted on NVIDIA H200" in late and not any("queue" in words for words in late)
    slots = next(item for item in made.props if isinstance(item, Slots))
    assert slots.issued is not None and slots.issued() == pytest.approx(1 - 0.9660363024588161)


def test_another_gpu_without_a_far_half_has_one_l2(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        del document["latencies"]["l2_far"]
        document["latencies"]["dram"]["cycles"].update(value=400.0, low=400.0, high=400.0)

    made = staged(changed(tmp_path, change))
    assert "l2_far" not in made.trips
    assert made.trips["dram"].beats / made.trips["l2"].beats == pytest.approx(400.0 / CYCLES["l2"])
    assert "a load from L2" in texts(made, 5.0)


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
    assert scale.far("dram") == FARTHEST and scale.far("shared") == pytest.approx(0.04 * FARTHEST)
    assert scale.marks() == [
        (100.0, 0.2 * FARTHEST),
        (200.0, 0.4 * FARTHEST),
        (300.0, pytest.approx(0.6 * FARTHEST)),
        (400.0, pytest.approx(0.8 * FARTHEST)),
    ]
