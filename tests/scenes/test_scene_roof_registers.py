"""The wall of sums of roof 3: as many cells and values as the kernel was built with, and what it says where nobody knows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from measure.dataset import MEASUREMENTS, Dataset
from scenes.props.register_story import Registers
from scenes.props.register_tile import RegisterTile, Step, tile_of
from scenes.props.rungs import called, find
from scenes.stage.camera import Camera
from scenes.stage.palette import MEMORY
from scenes.stage.world import World

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import gpus
import staging

H200 = "nvidia-h200"


def moment(bar: int, beat: float = 1.0) -> float:
    return 4.0 * (bar - 1) + beat - 1.0


def story(spec: str, lands: bool = True) -> Registers:
    keyed = Camera.orbit((3.0, 0.0, 5.5), 13.4, 8.0, 1.0, 42.0)
    return Registers(Dataset.open([spec]), lambda beat: (0.0, 0.0, 4.0), moment, lands, lambda beat: keyed)


def said(spec: str) -> list[str]:
    return [item.text for _, make in story(spec).captions() for item in make()]  # type: ignore[attr-defined]


def drawn(wall: RegisterTile, beat: float) -> tuple[int, int]:
    """Cells, and values on their way, at a beat."""
    world = World()
    wall.draw(world, beat)
    colours = np.concatenate([batch.color for batch in world.boxes]) if world.boxes else np.zeros((0, 3))
    values = int(np.isclose(colours, MEMORY, atol=1e-3).all(axis=1).sum())
    return len(colours) - values, values


def test_the_wall_is_the_tile_that_the_rung_was_built_with() -> None:
    document = json.loads((MEASUREMENTS / f"{H200}.json").read_text())
    for name in ("tile_1d", "tile_2d"):
        rung = next(r for r in document["ladders"]["gemm_fp32"]["rungs"] if r["name"] == name)
        constants = dict(o[2:].split("=") for o in rung["builds"][0]["options"] if o.startswith("-D"))
        assert tile_of(find(Dataset.open([H200]), name)) == (int(constants["TM"]), int(constants.get("TN", 1)))
    first, again = story(H200).walls()
    assert drawn(first, moment(2, 2)) == (0, 0), "closed before the word"
    assert drawn(first, moment(3, 2)) == (8, 9), "a column of sums: a value a row and one"
    assert drawn(first, moment(5, 2)) == (64, 16), "a square: a value a row and a column"
    assert drawn(first, moment(6, 3)) == (0, 0), "closed as the cube lands"
    assert drawn(again, moment(6, 4))[0] == 0 and drawn(again, moment(7, 3))[0] == 64


@pytest.mark.parametrize(("rows", "columns"), [(16, 8), (4, 4), (8, 1)])
def test_other_tiles_redraw_it(rows: int, columns: int) -> None:
    here = lambda b: (0.0, 0.0, 0.0)  # noqa: E731
    wall = RegisterTile((rows, columns), here, here, lambda b: 1.0, lambda b: columns, [Step(1.0, 2.0)])
    assert drawn(wall, 1.5) == (rows * columns, rows + columns)
    (x, _, _), wide, high = wall.frame(0.0)
    assert wide / high == pytest.approx(columns / rows) and x == pytest.approx(wide / 2)


def test_it_says_what_goes_in_and_what_is_done_with_it() -> None:
    words = said(H200)
    assert {"8 + 1 values in", "8 × 1 = 8 multiply-adds", "8 + 8 values in", "8 × 8 = 64 multiply-adds"} <= set(words)


def test_published_figures_without_a_build_are_an_outline_that_says_so() -> None:
    words = said("rtx-3090-published")
    assert "2D tiling: its tile is not known" in words and not any("multiply-adds" in w for w in words)
    assert story("rtx-3090-published").walls()[0].solid == 0


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published", "small", "below-the-ridge"])
def test_the_wall_is_half_of_the_frame_high_over_the_lyric_and_never_over_the_cube(spec: str, tmp_path: Path) -> None:
    file = gpus.write(spec, tmp_path / "made.json") if spec in gpus.KINDS else spec
    scene = staging.staged("roof-3", file)
    first, *rest = (prop for prop in scene.props if isinstance(prop, RegisterTile))
    assert len(rest) == (spec != "small"), "a landing is seen on the chart, with the wall beside it"
    again = rest[0] if rest else first
    for beat in np.arange(moment(2, 4), moment(8, 2), 0.5):
        wall = first if first.opened(beat) > 0.99 else again
        if wall.opened(beat) < 0.99:
            continue
        (x, y, z), wide, high = wall.frame(beat)
        ends = scene.pinned(beat, np.array([(x + i * wide / 2, y, z + k * high / 2) for i in (-1, 1) for k in (-1, 1)]))
        (left, top, _), (right, bottom, _) = ends.min(0), ends.max(0)
        assert 96 < left and right < 1824 and 200 < top and bottom < 868, (beat, ends)
        assert wall is not first or bottom - top > 0.42 * 1080, beat
        cube = scene.pinned(beat, np.array([scene.cube(beat)]))[0]  # type: ignore[attr-defined]
        assert not (left < cube[0] < right and top < cube[1] < bottom), (beat, cube)
        assert 0 < cube[0] < 1920 and 0 < cube[1] < 868, (beat, cube)


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published", "small"])
def test_no_bar_is_without_a_step_or_a_move(spec: str, tmp_path: Path) -> None:
    """In each half bar from "light" on a wall unfolds, grows, folds up or works; but for the landing's."""
    scene = staging.staged("roof-3", gpus.write(spec, tmp_path / "made.json") if spec in gpus.KINDS else spec)
    walls = [prop for prop in scene.props if isinstance(prop, RegisterTile)]

    def state(beat: float) -> list[float]:
        return [value for wall in walls for value in (wall.opened(beat), wall.columns(beat) * (wall.opened(beat) > 0.0))]

    still = []
    for half in np.arange(moment(2, 3), moment(8, 3), 2.0):
        works = any(half <= step.adds < half + 2.0 and wall.opened(step.adds) > 0.9 for wall in walls for step in wall.steps)
        if not works and state(half) == state(half + 1.0) == state(half + 2.0):
            still.append(half)
    assert still == []


def test_a_square_that_was_not_measured_is_an_outline_beside_the_column_that_was(tmp_path: Path) -> None:
    (first,) = story(str(gpus.write("small", tmp_path / "small.json")), lands=False).walls()
    assert first.tile == (8, 8) and first.solid == 1, "the column of the file, and as many outlined ones as it has sums"
    assert drawn(first, moment(7, 1.5)) == (64, 16), "they work on: there is no landing to see"


def test_the_multiply_adds_for_each_value_are_those_of_the_tile() -> None:
    assert {f"{8 / 9:.2f} for each value in", f"{64 / 16:.0f} for each value in"} <= set(said(H200))


def test_a_rung_that_no_file_has_is_named_in_words(tmp_path: Path) -> None:
    document = json.loads((MEASUREMENTS / f"{H200}.json").read_text())
    rungs = document["ladders"]["gemm_fp32"]["rungs"]
    title = next(rung["title"] for rung in rungs if rung["name"] == "tile_2d")
    document["ladders"]["gemm_fp32"]["rungs"] = [rung for rung in rungs if rung["name"] != "tile_2d"]
    path = tmp_path / "without.json"
    path.write_text(json.dumps(document))
    assert f"{title}: not measured" in said(str(path)) and not any("tile_2d" in words for words in said(str(path)))


def test_a_rung_that_no_file_names_is_never_called_by_its_bare_key() -> None:
    assert [called(None, key) for key in ("tile_2d", "double_buffered", "shared")] == ["2D tiling", "Double buffered", "Shared"]
