"""Tiling: every thread waits at the door for the last; every value is used SIDE times; piles are as high as rungs' bytes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from measure.dataset import MEASUREMENTS
from scenes.props.piles import Pile
from scenes.props.tiles import DOOR, SHELF, SIDE, TOP, Door, Threads, Tiles, grid
from scenes.stage.digits import Counter
from scenes.stage.palette import THREAD
from scenes.stage.world import World
from scenes.tiling import RUNGS, Tiling

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import staging
from staging import boxes, placed, texts

FILE = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
MOVED = {rung["name"]: rung["traffic"] for rung in FILE["ladders"]["gemm_fp32"]["rungs"] if rung["name"] in RUNGS}
OPENS, USES = 6.0, (8.0, 10.0, 12.0, 14.0)  # "door"; "use", "again", "again", "more" of the song, beats from its line


def staged(*specs: str | Path) -> Tiling:
    scene = staging.staged("tiling", *specs)
    assert isinstance(scene, Tiling)
    return scene


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with staging.small_frames(320, 180, media=tmp_path):
        yield


@pytest.fixture
def scene() -> Tiling:
    return staged("nvidia-h200")


def prop(scene: Tiling, kind: type) -> object:
    return next(item for item in scene.props if isinstance(item, kind))


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
        # 4 values of A and 4 of B, by 4 threads each: as many reads a step as values were loaded, 2 x 4 x 4
        assert (scene.times.reads(use - 0.01), scene.times.reads(use)) == (32 * k, 32 * (k + 1))


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
    assert [pile.rise(lands) for pile, lands in zip(piles, (16.0, 17.0, 18.0), strict=True)] == [1.0, 1.0, 1.0]
    drawn = boxes(scene, 23.0)
    for pile, top in zip(piles, tops, strict=True):
        here = (np.abs(drawn.origin[:, 0] - (pile.x - 2.3)) < 1e-4) & (np.abs(drawn.size[:, 0] - 4.6) < 1e-4)
        assert float((drawn.origin + drawn.size)[here, 2].max()) == pytest.approx(top, abs=1e-4)


def test_all_piles_are_read_at_one_speed(scene: Tiling) -> None:
    """From beat 19 on the tallest takes 3 beats; at each moment slabs are bright up to one height, and the low pile is done."""
    piles = [item for item in scene.props if isinstance(item, Pile)]
    for beat in (20.0, 21.0):
        level = (beat - 19.0) / 3.0 * max(pile.full() for pile in piles)
        for pile in piles:
            slabs = boxes(scene, beat, [pile])
            own = np.abs(slabs.size[:, 1] - 3.2) < 1e-4  # not the plate before it
            low, bright = slabs.origin[own, 2], slabs.emission[own] > 0.3
            assert bright[low < level - 0.3].all() and not bright[low > level].any()
    assert (boxes(scene, 20.6, [piles[2]]).emission > 0.3).all(), "204 of 550 GB are read after 1.1 of 3 beats"
    assert not (boxes(scene, 20.6, [piles[0]]).emission > 0.3).all()


def test_the_threads_at_the_door_are_counted(scene: Tiling) -> None:
    """A warp of four after the other, and the door waits until the last has come."""
    counts = [next(text for text in texts(scene, beat) if " of 16" in text) for beat in (4.4, 4.9, 5.9, OPENS)]
    assert counts == ["4 of 16", "8 of 16", "12 of 16", "16 of 16"] and "the door waits for all" in texts(scene, OPENS)


def gigabytes(rung: str, level: str = "load_path") -> str:
    """As they are written: whole from 100 GB on, else to a tenth."""
    value = MOVED[rung][level]["counters"]["value"] / 1e9
    return f"{value:.{0 if value > 100 else 1}f} GB"


def test_figures_are_the_files(scene: Tiling) -> None:
    shared, dram = (f"{FILE['latencies'][level]['cycles']['value']:.0f} cycles" for level in ("shared", "dram"))
    rungs = {rung["name"]: rung for rung in FILE["ladders"]["gemm_fp32"]["rungs"]}
    tile = next(o.split("=")[1] for o in rungs["shared"]["builds"][0]["options"] if o.startswith("-DTILE="))
    assert {dram, "a DRAM load"} <= texts(scene, 3.0)
    assert {"64 reads", "of 32 values loaded once"} <= texts(scene, 11.0)
    assert {shared, "a shared-memory load", f"drawn 4 × 4; kernel: {tile} × {tile}"} <= texts(scene, 11.0)
    said = texts(scene, 20.0)
    assert {"pile: through the SM load path", "plate before it: from L2", *(rungs[name]["title"] for name in RUNGS)} <= said
    assert {gigabytes(rung) for rung in RUNGS} == {words for words in said if words.endswith("GB")}


def test_a_piles_bytes_stand_over_it_and_over_the_thread(scene: Tiling) -> None:
    """Each counts on from those of the first pile; in the frame it is above the top of its own pile, not beside it."""
    made = [item for later in scene.texts if hasattr(later, "make") for item in later.make() if isinstance(item, Counter)]
    assert len(made) == 3
    for counter, pile in zip(made, [item for item in scene.props if isinstance(item, Pile)], strict=True):
        assert isinstance(counter.at, tuple)
        assert counter.at[0] == pile.x and counter.at[2] > pile.full() + 0.86  # the edge of the thread's cube
    assert made[-1].start == pytest.approx(MOVED[RUNGS[0]]["load_path"]["counters"]["value"] / 1e9)


@pytest.mark.parametrize(
    ("share", "said", "never"),
    [
        (1.01, {"no fewer from L2:", "L1 had kept them"}, set()),
        (0.5, {"fewer from L2"}, {"no fewer from L2:", "L1 had kept them"}),
    ],
)
def test_a_saving_is_told_at_the_level_where_it_was_measured(
    share: float, said: set[str], never: set[str], tmp_path: Path
) -> None:
    """A tile in shared memory may bring no fewer bytes from L2, where L1 had reused them. Where it does, that is said."""
    document = json.loads(json.dumps(FILE))
    rungs = {rung["name"]: rung for rung in document["ladders"]["gemm_fp32"]["rungs"]}
    rungs["shared"]["traffic"]["l2"]["counters"]["value"] = share * MOVED["coalesced"]["l2"]["counters"]["value"]
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    words = texts(staged(path), 20.0)
    assert said <= words and not never & words


def test_more_bytes_than_before_are_never_called_fewer(tmp_path: Path) -> None:
    """A ladder drawn at DRAM has no level behind it: the piles' own bytes are compared."""
    document = json.loads(json.dumps(FILE))
    ladder = document["ladders"]["gemm_fp32"]
    ladder["level"] = "dram"
    rungs = {rung["name"]: rung["traffic"]["dram"]["counters"] for rung in ladder["rungs"] if rung["name"] in RUNGS}
    for name, value in zip(RUNGS, (4e9, 8e9, 1e9), strict=True):
        rungs[name]["value"] = value
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    scene = staged(path)
    assert {"no fewer from DRAM", "fewer from DRAM", "pile: through DRAM", "4.0 GB", "1.0 GB"} <= texts(scene, 20.0)
    assert not [pile for pile in scene.props if isinstance(pile, Pile) and pile.behind is not None]


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
    assert "latencies not measured on NVIDIA GeForce RTX 3090" in texts(made, 3.0)
    assert {"bytes not measured on NVIDIA GeForce RTX 3090", "loads its own", "used 4 times"} <= texts(made, 19.0)
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


@pytest.mark.parametrize("files", [("nvidia-h200",), ("rtx-3090-published",)])
def test_what_is_said_of_the_piles_stands_for_a_bar(files: tuple[str, ...]) -> None:
    """All of it is there from beat 18 on, of the passage's 24, and goes as the next passage comes, at 22."""
    made = staging.staged("tiling", *files, neighbours=True)
    first = texts(made, 18.1, 0.3)
    for beat in (19.0, 20.0, 21.0, 21.9):
        assert {text.text for text in placed(made, beat, 0.3) if text.kind != "clock"} >= {
            words for words in first if not words.endswith(" GB")
        }
    assert len(first) > 8 and not {text for text in texts(made, 22.9, 0.3) if "tile" in text}
