"""The wall of sums of roof 3: as many cells and values as the kernel was built with, and what it says where nobody knows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from measure.dataset import MEASUREMENTS, Dataset
from scenes.props.register_story import Registers
from scenes.props.register_tile import RegisterTile, Step, tile_of
from scenes.props.rungs import called, find
from scenes.stage.palette import MEMORY
from scenes.stage.world import World

H200 = "nvidia-h200"


def moment(bar: int, beat: float = 1.0) -> float:
    return 4.0 * (bar - 1) + beat - 1.0


def story(spec: str, lands: bool = True) -> Registers:
    return Registers(Dataset.open([spec]), lambda beat: (0.0, 0.0, 4.0), moment, lands)


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
    wall = RegisterTile((rows, columns), lambda b: (0, 0, 0), (0, 0, 0), lambda b: 1.0, lambda b: columns, [Step(1.0, 2.0)])
    assert drawn(wall, 1.5) == (rows * columns, rows + columns)
    (x, _, _), wide, high = wall.frame(0.0)
    assert wide / high == pytest.approx(columns / rows) and x == pytest.approx(wide / 2)


def test_it_says_what_goes_in_and_what_is_done_with_it() -> None:
    words = said(H200)
    assert {"8 + 1 values in", "8 × 1 = 8 multiply-adds", "8 + 8 values in", "8 × 8 = 64 multiply-adds"} <= set(words)


def test_published_figures_without_a_build_are_an_outline_that_says_so() -> None:
    words = said("rtx-3090-published")
    assert "2D tiling: its tile is not known" in words and not any("multiply-adds" in w for w in words)
    assert story("rtx-3090-published").walls()[0].hollow
    assert len(story(H200, lands=False).walls()) == 1


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
