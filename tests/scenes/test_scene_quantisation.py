"""Quantisation: a fold leaves half of the bits; trains are as long as their bytes and pass in the measured time."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from measure.dataset import MEASUREMENTS
from scenes.props.bits import EDGE, Bits
from scenes.props.trains import FROM, GATE, HIGHEST, LONGEST, NAMES, SM, WIDE, Train, Trains
from scenes.quantisation import FORMATS, SLOWEST, TRACKS, Quantisation
from scenes.stage.palette import THREAD
from scenes.stage.world import Boxes, World

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import staging
from staging import boxes, small_frames, texts, world_at

BITS_WITH_SCALES = {"fp32": 32.0, "fp16": 16.0, "int8": 8.0 + 16 / 128, "int4": 4.0 + 16 / 128}


def staged(*specs: str | Path) -> Quantisation:
    scene = staging.staged("quantisation", *specs)
    assert isinstance(scene, Quantisation)
    return scene


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with small_frames(320, 180, media=tmp_path):
        yield


@pytest.fixture
def scene() -> Quantisation:
    return staged("nvidia-h200")


def on_track(scene: Quantisation, which: int, beat: float) -> Boxes:
    """The wagons and weights of one track."""
    world = World()
    scene.trains.draw(world, beat)
    return next(batch for batch in world.boxes[1:] if abs(batch.origin[0, 1] - (TRACKS[which] - WIDE / 2)) < 1e-4)


def test_folds_and_the_start_fall_on_the_words_of_the_song(scene: Quantisation) -> None:
    origin = scene.timeline.downbeats[scene.context.first_bar - 1]
    here = [line for line in scene.timeline.lines if 0 <= scene.timeline.position(line.start) - origin < 24]
    starts = {w.text.strip(",.;").lower(): scene.timeline.position(w.start) - origin for line in here for w in line.words}
    assert list(scene.bits.folds) == pytest.approx([starts["number"], starts["lighten"], starts["load"]])
    assert scene.trains.start == pytest.approx(starts["more"])


def test_each_fold_leaves_half_of_the_bits(scene: Quantisation) -> None:
    shown = [int((scene.bits.places(beat)[1] > 0.5).sum()) for beat in (0.0, 2.0, 4.0, 6.0, 9.0)]
    assert shown == [32, 16, 8, 4, 4] == [scene.bits.left(beat) for beat in (0.0, 2.0, 4.0, 6.0, 9.0)]
    places, size = scene.bits.places(7.0)
    row = places[size > 0.5]
    assert row[:, 0].mean() == pytest.approx(0.0, abs=1e-6) and (row[:, 2] == 0.0).all()
    assert isinstance(scene.bits, Bits)


def test_trains_are_as_long_as_their_bits_with_scales(scene: Quantisation) -> None:
    """4 bits and an fp16 scale for every 128 weights: 4.125 bits, 7.76 times fewer than 32."""
    for which, (name, _) in enumerate(FORMATS):
        train = scene.trains.trains[which]
        assert train.length == pytest.approx(LONGEST * BITS_WITH_SCALES[name] / 32)
        wagons = on_track(scene, which, 11.9)
        assert float((wagons.origin + wagons.size)[:, 0].max() - wagons.origin[:, 0].min()) == pytest.approx(
            train.length, abs=0.3
        )
        white = wagons.color.min(axis=1) > 0.5
        assert white.sum() == (1 if name.startswith("int") else 0)
        if white.any():  # 16 bits of 528 (int4) or of 1040 (int8): at their true length
            assert float(wagons.size[white, 0].sum()) == pytest.approx(LONGEST / 32 * 16 / 128, rel=1e-3)


def test_a_scale_is_drawn_as_large_as_it_is_beside_its_group(scene: Quantisation) -> None:
    """128 weights of 4 bits and 16 bits of scale: 528 cubes of one size, 16 of them white."""
    world = World()
    scene.bits.draw(world, 10.2)
    drawn = world.all_boxes()
    there = drawn.size[:, 0] > 0.9 * EDGE
    assert there.sum() == 528 and drawn.size[there].max() == pytest.approx(drawn.size[there].min(), rel=1e-3)
    assert (drawn.color[there].min(axis=1) > 0.5).sum() == 16
    corners = {tuple(row) for row in drawn.origin[there].round(3)}
    assert len(corners) == 528, "no two stand in one place"


def test_outputs_are_off_their_marks_by_the_measured_error(scene: Quantisation) -> None:
    """By the file's error of each format: the 2-norm of what is off over that of the exact y, and the same marks for all."""
    for which, rung in enumerate(rungs_of(scene)):
        high = scene.trains.heights(which, 23.0) / HIGHEST
        off = np.linalg.norm(high - scene.trains.exact) / np.linalg.norm(scene.trains.exact)
        assert off == pytest.approx(rung["figures"]["quantisation_error"]["value"], rel=1e-6)
        train = scene.trains.trains[which]
        half = scene.trains.start + train.lasts() * 0.55
        assert (scene.trains.heights(which, half) > 0).sum() == 4, "outputs come as their weights have passed"


def test_a_train_passes_in_the_time_that_was_measured(scene: Quantisation) -> None:
    rungs = {r["name"]: r for r in json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())["ladders"]["gemv"]["rungs"]}
    slowest = rungs["fp32"]["time"]["value"]
    for (name, _), train in zip(FORMATS, scene.trains.trains, strict=True):
        quickest = min(r["time"]["value"] for key, r in rungs.items() if key.split("_")[0] == name and "batch" not in key)
        assert train.beats is not None and train.beats() == pytest.approx(SLOWEST * quickest / slowest, rel=1e-3)
        done = scene.trains.start + train.beats()
        assert train.passed(done - 0.05, scene.trains.start) < 1.0 == train.passed(done + 1e-6, scene.trains.start)


def test_the_same_road_carries_more_of_the_shorter_weights(scene: Quantisation) -> None:
    """In one length of road there are 7.76 int4 weights for one of fp32."""
    counts = []
    for train in scene.trains.trains:
        assert train.speed is not None
        road = scene.trains.front(train, 22.0) - FROM
        world = World()
        scene.trains._weights(world, train, 22.0)
        counts.append(len(world.boxes[0].origin) / min(road, GATE - FROM))
    assert counts[3] / counts[0] == pytest.approx(32 / 4.125, rel=0.15)


@pytest.mark.parametrize("files", [("nvidia-h200",), ("rtx-3090-published",)])
def test_exactly_one_cube_is_magenta(files: tuple[str, ...]) -> None:
    made = staged(*files)
    for beat in np.arange(0.0, 24.0, 0.7):
        assert (np.abs(boxes(made, float(beat)).color - np.array(THREAD)).max(axis=1) < 1e-3).sum() == 1


def test_figures_are_the_files(scene: Quantisation) -> None:
    assert {"16 bits", "one weight as fp16"} <= texts(scene, 3.0)
    assert {"4 + 16 / 128 = 4.125 bits", "a weight: 128 of them share one scale, in white"} <= texts(scene, 10.0)
    problem = gemv()["problem"].replace(" x ", " × ")  # 7.76: 32 bits over 4.125, which no GPU changes
    best = rungs_of(scene)[3]["figures"]
    gain = f"{best['speedup']['value']:.2f} ×"
    race = texts(scene, 17.0)
    assert {"7.76 ×", "fewer bits a weight:", "4.125 in int4, 32 in fp32"} <= race
    assert {gain, "faster y = Wx: int4 against fp32, derived", f"W {problem}"} <= race
    here = texts(scene, 22.0)
    off = f"{100.0 * best['quantisation_error']['value']:.1f} %"
    assert {off, f"{best['read_share']['value']:.2f}", "OF THE READ ROOF", "of DRAM's roof, measured"} <= here
    assert not {gain, "7.76 ×"} & here and not [text for text in here if text.endswith("TB/s")], "two numbers a moment"
    assert {"at each gate: weights taken in", "relative error of int4's y; exact y in white"} <= here
    assert "Euclidean norm, normal weights, measured" in here
    assert scene.achieved()(19.0) is None
    known = scene.data.get(f"ladders.gemv.rungs.{scene.rungs['int4']}.figures.speedup")
    assert known is not None and {claim.key for claim in scene.log.claims} >= {known.key}


def test_each_format_is_named_between_its_own_gate_and_its_own_outputs(scene: Quantisation) -> None:
    names = {plane.text: plane for plane in world_at(scene, 17.0).planes}
    for (name, _), y in zip(FORMATS, TRACKS, strict=True):
        plane = names[name]
        assert abs(plane.at[1] - y) < WIDE / 2 and plane.at[0] == NAMES
        outputs = boxes(scene, 19.9, [scene.trains])
        on = (outputs.origin[:, 2] > SM[2] - 0.01) & (np.abs(outputs.origin[:, 1] - y) < WIDE / 2)
        assert GATE + 1.7 < plane.at[0] and plane.at[0] + plane.width < outputs.origin[on, 0].min() and on.sum() == 8
    for beat in (13.0, 17.0, 22.0):  # and none of them is under the thread, which rests behind the last gate
        x = scene.thread(beat)[0]
        assert x + 0.31 < NAMES


def test_what_nobody_measured_waits_in_outline_and_is_said() -> None:
    made = staged("rtx-3090-published")
    assert "fp32, fp16, int8, int4 not measured on NVIDIA GeForce RTX 3090" in texts(made, 16.0)
    assert all(isinstance(train, Train) and train.beats is None for train in made.trains.trains)
    assert isinstance(made.trains, Trains) and "outlines go by their bytes alone" in texts(made, 16.0)
    for (name, _), train in zip(FORMATS, made.trains.trains, strict=True):
        assert train.lasts() == pytest.approx(SLOWEST * BITS_WITH_SCALES[name] / 32)
    taken = np.array([made.trains.taken(train, 23.0) for train in made.trains.trains])
    assert taken / taken[0] == pytest.approx([32 / bits for bits in BITS_WITH_SCALES.values()]), "at one speed, by bytes alone"
    assert made.trains.tail(3, 23.0)[0] > SM[0] and not made.trains.heights(3, 23.0).any()
    assert made.achieved()(23.0) is None
    assert not [claim for claim in made.log.claims if claim.key.startswith("ladders.gemv")]


def test_weights_are_level_at_the_gate_on_bar_6_and_run_as_fast_as_they_were_read(scene: Quantisation) -> None:
    """What has passed since is bytes a second over bytes a weight: the gain that the file has for each format."""
    series = [known["figures"] for known in rungs_of(scene)]
    speeds = np.array([figures["bandwidth"]["value"] for figures in series])
    trains = scene.trains.trains
    assert [scene.trains.front(train, 20.0) for train in trains] == pytest.approx([GATE] * 4)
    for beat in (19.0, 22.0):
        way = np.array([scene.trains.front(train, beat) - GATE for train in trains])
        assert way / way[0] == pytest.approx(speeds / speeds[0])
    taken = np.array([scene.trains.taken(train, 23.0) for train in trains])
    gains = np.array([figures["speedup"]["value"] for figures in series])
    assert taken / taken[0] == pytest.approx(gains, rel=0.02) and int(taken.argmax()) == 3
    assert [scene.trains.taken(train, 19.9) for train in trains] == [0.0] * 4


def gemv() -> Any:
    return json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())["ladders"]["gemv"]


def rungs_of(scene: Quantisation) -> list[Any]:
    """The file's quickest rung of each format for one vector, in the order of the tracks."""
    return [next(rung for rung in gemv()["rungs"] if rung["name"] == scene.rungs[name]) for name, _ in FORMATS]
