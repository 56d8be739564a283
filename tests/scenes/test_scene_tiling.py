"""Tiling: every thread waits at the door for the last; every value is used SIDE times; piles are as high as rungs' bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from manim import tempconfig

from audio import tracks
from measure.dataset import MEASUREMENTS, Dataset
from scenes import film
from scenes.props.piles import Pile
from scenes.props.tiles import DOOR, SHELF, SIDE, TOP, Door, Threads, Tiles, grid
from scenes.stage.overlay import Placed
from scenes.stage.palette import THREAD
from scenes.stage.passage import Context, Window
from scenes.stage.world import Boxes, World
from scenes.tiling import RUNGS, Tiling

WIDTH, HEIGHT = 320, 180
FILE = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
MOVED = {rung["name"]: rung["traffic"] for rung in FILE["ladders"]["gemm_fp32"]["rungs"] if rung["name"] in RUNGS}
OPENS, USES = 6.0, (8.0, 10.0, 12.0, 14.0)  # "door"; "use", "again", "again", "more" of the song, beats from its line


def staged(*specs: str | Path) -> Tiling:
    scene = Tiling(Context.of(Dataset.open(specs), tracks.default().timeline, film.row("tiling")), Window(0, 0))
    scene.setup()
    scene.construct()
    return scene


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with tempconfig({"pixel_width": WIDTH, "pixel_height": HEIGHT, "frame_rate": 30, "media_dir": str(tmp_path)}):
        yield


@pytest.fixture
def scene() -> Tiling:
    return staged("nvidia-h200")


def prop(scene: Tiling, kind: type) -> object:
    return next(item for item in scene.props if isinstance(item, kind))


def boxes(scene: Tiling, beat: float) -> Boxes:
    world = World()
    for item in scene.props:
        item.draw(world, beat)
    return world.all_boxes()


def texts(scene: Tiling, beat: float) -> list[Placed]:
    scene.paint(scene.clock.frame(beat), np.zeros((HEIGHT, WIDTH), np.uint32))
    return [placed for placed in scene.placed if placed.opacity > 0.5]


def test_the_steps_fall_on_the_words_of_the_song(scene: Tiling) -> None:
    origin = scene.timeline.downbeats[scene.context.first_bar - 1]
    lines = [line for line in scene.timeline.lines if 0 <= scene.timeline.position(line.start) - origin < 24]
    starts = {w.text.strip(",.").lower(): scene.timeline.position(w.start) - origin for line in lines for w in line.words}
    assert scene.times.opens == pytest.approx(starts["door"]) == OPENS
    assert (
        tuple(scene.times.uses) == USES
        and starts["more"] == pytest.approx(USES[-1])
        and starts["use"] == pytest.approx(USES[0])
    )


def test_no_thread_passes_the_door_before_the_last_has_come(scene: Tiling) -> None:
    threads = prop(scene, Threads)
    door = prop(scene, Door)
    assert isinstance(threads, Threads) and isinstance(door, Door)
    for beat in np.arange(0.0, OPENS + 0.01, 0.25):
        assert (threads.feet(float(beat))[..., 1] < DOOR - 0.3).all()
        assert (door.lamps(float(beat)).sum() == SIDE * SIDE) == (beat >= OPENS)
    assert threads.feet(7.8)[..., :2] == pytest.approx(grid(2.9, -1.2))


def test_values_land_before_their_threads_go_to_the_door(scene: Tiling) -> None:
    tiles = prop(scene, Tiles)
    assert isinstance(tiles, Tiles)
    rest = TOP + SHELF + 0.46
    for row, (land, reach) in enumerate(zip(scene.times.land, scene.times.reach, strict=True)):
        assert land < reach
        assert (
            tiles.places(land)[:, row, :, 2] == pytest.approx(rest)
            and (tiles.places(land - 0.2)[:, row, :, 2] > rest + 0.3).all()
        )


def test_each_step_reads_a_column_of_a_and_a_row_of_b(scene: Tiling) -> None:
    tiles = prop(scene, Tiles)
    assert isinstance(tiles, Tiles)
    still = tiles.places(7.0)[..., 2]
    for k, use in enumerate(USES):
        lifted = tiles.places(use)[..., 2] > still + 0.05
        expected = np.zeros((2, SIDE, SIDE), bool)
        expected[0, :, k] = expected[1, k, :] = True
        assert (lifted == expected).all()
        assert scene.times.used(use - 0.01) == k and scene.times.used(use) == k + 1


@pytest.mark.parametrize("files", [("nvidia-h200",), ("rtx-3090-published",)])
def test_exactly_one_cube_is_magenta(files: tuple[str, ...]) -> None:
    made = staged(*files)
    for beat in np.arange(0.0, 24.0, 0.7):
        assert (np.abs(boxes(made, float(beat)).color - np.array(THREAD)).max(axis=1) < 1e-3).sum() == 1


def test_piles_are_as_high_as_the_rungs_bytes(scene: Tiling) -> None:
    moved = np.array([MOVED[name]["load_path"]["counters"]["value"] for name in RUNGS])
    piles = [item for item in scene.props if isinstance(item, Pile)]
    tops = np.array([pile.top(23.0)[2] for pile in piles])
    assert tops / tops[0] == pytest.approx(moved / moved[0])
    assert [pile.rise(lands) for pile, lands in zip(piles, (16.0, 18.0, 20.0), strict=True)] == [1.0, 1.0, 1.0]
    drawn = boxes(scene, 23.0)
    for pile, top in zip(piles, tops, strict=True):
        here = (np.abs(drawn.origin[:, 0] - (pile.x - 2.3)) < 1e-4) & (np.abs(drawn.size[:, 0] - 4.6) < 1e-4)
        assert float((drawn.origin + drawn.size)[here, 2].max()) == pytest.approx(top, abs=1e-4)


def gigabytes(rung: str, level: str) -> str:
    """As they are written: whole from 100 GB on, else to a tenth."""
    value = MOVED[rung][level]["counters"]["value"] / 1e9
    return f"{value:.{0 if value > 100 else 1}f} GB"


def test_figures_are_the_files(scene: Tiling) -> None:
    shared, dram = (f"{FILE['latencies'][level]['cycles']['value']:.0f} cycles" for level in ("shared", "dram"))
    assert {dram, "a load from DRAM"} <= {placed.text for placed in texts(scene, 5.0)}
    assert {shared, "a load from shared memory", "used × 2", "drawn 4 × 4, the kernel's are 32 × 32"} <= {
        placed.text for placed in texts(scene, 11.0)
    }
    for rung, beat, words in (
        ("coalesced", 17.0, {"the pile: through the SM load path", "the plate: from L2"}),
        ("shared", 19.0, {"Shared-memory tile"}),
        ("tile_1d", 21.5, {"1D tiling", "a thread computes a column of outputs"}),
    ):
        said = {placed.text for placed in texts(scene, beat)}
        assert {gigabytes(rung, "load_path"), gigabytes(rung, "l2"), *words} <= said


@pytest.mark.parametrize(
    ("from_l2", "said", "shown"),
    [(16.1e9, "L1 had kept them: as many come from L2", "16.1 GB"), (8.04e9, "fewer come from L2", "8.0 GB")],
)
def test_a_saving_is_told_at_the_level_where_it_was_measured(from_l2: float, said: str, shown: str, tmp_path: Path) -> None:
    """A tile in shared memory may bring no fewer bytes from L2, where L1 had reused them. Where it does, that is said."""
    document = json.loads(json.dumps(FILE))
    for rung in document["ladders"]["gemm_fp32"]["rungs"]:
        if rung["name"] in ("coalesced", "shared"):
            rung["traffic"]["l2"]["counters"]["value"] = 15.9e9 if rung["name"] == "coalesced" else from_l2
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    words = {placed.text for placed in texts(staged(path), 19.0)}
    assert {said, shown} <= words and len(words & {"L1 had kept them: as many come from L2", "fewer come from L2"}) == 1


def test_plates_are_as_high_as_the_bytes_from_the_level_behind(scene: Tiling) -> None:
    """One scale for the pile, of the load path, and the plate before it, of L2."""
    pile, traffic = next(item for item in scene.props if isinstance(item, Pile)), MOVED["coalesced"]
    times = traffic["load_path"]["counters"]["value"] / traffic["l2"]["counters"]["value"]
    assert pile.top(23.0)[2] / pile.plate() == pytest.approx(times, rel=1e-4)


def test_what_nobody_measured_is_an_outline_and_said() -> None:
    made = staged("rtx-3090-published")
    tops = np.array([pile.top(23.0)[2] for pile in made.props if isinstance(pile, Pile)])
    # 4 x 4 threads: 2 loads each; 4 + 4 values loaded by 16; with 4 outputs a thread 16 + 4 values for 64 outputs
    assert tops / tops[0] == pytest.approx([1.0, 8 / 32, (20 / 64) / 2])
    assert "latencies not measured on NVIDIA GeForce RTX 3090" in {placed.text for placed in texts(made, 3.0)}
    assert "bytes not measured on NVIDIA GeForce RTX 3090" in {placed.text for placed in texts(made, 18.0)}
    assert not [claim for claim in made.log.claims if claim.key.startswith(("latencies", "ladders"))]


def test_a_pile_that_alone_is_unknown_is_no_count_beside_measured_ones(tmp_path: Path) -> None:
    document = json.loads(json.dumps(FILE))
    del next(rung for rung in document["ladders"]["gemm_fp32"]["rungs"] if rung["name"] == "tile_1d")["traffic"]["load_path"]
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    assert [pile.share for pile in staged(path).props if isinstance(pile, Pile)] == [0.0, 0.0, 0.0]


def test_a_load_goes_through_each_counted_pile_on_half_beats() -> None:
    pile = [item for item in staged("rtx-3090-published").props if isinstance(item, Pile)][1]
    low = []
    for beat in (19.0, 19.5, 20.0, 20.5, 21.0):
        world = World()
        pile.draw(world, beat + 0.45)  # a moment before the next
        low.append(round(float(world.all_boxes().origin[0, 2]), 3))
    assert len(set(low)) == 4 and low[0] == low[4]  # a quarter of 16 slabs


def test_a_caption_is_gone_before_the_next_is_there(scene: Tiling) -> None:
    for beat in np.arange(16.9, 20.1, 0.05):
        scene.paint(scene.clock.frame(float(beat)), np.zeros((HEIGHT, WIDTH), np.uint32))
        said = {placed.text for placed in scene.placed if placed.opacity > 0.02}
        pairs = ("bytes for the same product", "as many come from L2", "a thread computes a column of outputs")
        assert sum(any(words.endswith(pair) for words in said) for pair in pairs) <= 1, beat
