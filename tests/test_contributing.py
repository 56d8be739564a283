"""The worked example of CONTRIBUTING.md is a whole passage: it is drawn, its claim is the file's, its absence is said."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from manim import tempconfig

from audio import tracks
from measure.dataset import Dataset
from scenes.stage.passage import Context, Passage, Window

TEXT = (Path(__file__).resolve().parents[1] / "CONTRIBUTING.md").read_text()
HEIGHT, WIDTH = 180, 320


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    path = tmp_path_factory.mktemp("example") / "bandwidth.py"
    path.write_text(code)
    spec = importlib.util.spec_from_file_location("bandwidth", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def staged(example: ModuleType, file: str) -> Passage:
    with tempconfig({"pixel_width": WIDTH, "pixel_height": HEIGHT, "frame_rate": 30}):
        scene: Passage = example.Bandwidth(Context(Dataset.open([file]), tracks.default().timeline, 53, 4), Window(0, 0))
        scene.setup()
        scene.construct()
    return scene


def test_the_column_and_its_figure_are_the_file_s(example: ModuleType) -> None:
    scene = staged(example, "nvidia-h200")
    scene.paint(scene.clock.frame(8.0), pixels := np.zeros((HEIGHT, WIDTH), np.uint32))
    speed = scene.data.get("roofs.dram")
    assert speed is not None
    assert [(claim.key, claim.text) for claim in scene.log.claims if claim.key.startswith("roofs")] == [
        ("roofs.dram.measured", f"{speed.quantity.value:.2f} TB/s")
    ]
    blue, red = pixels >> 16 & 255, pixels & 255
    assert (blue.astype(int) - red > 60).sum() > 300  # cyan light is there


def test_what_is_not_measured_is_said(example: ModuleType, tmp_path: Path) -> None:
    import json

    from measure.dataset import MEASUREMENTS

    body = json.loads((MEASUREMENTS / "rtx-3090-published.json").read_text())
    body["roofs"].pop("dram", None)
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps(body))
    scene = staged(example, str(bare))
    scene.paint(scene.clock.frame(8.0), np.zeros((HEIGHT, WIDTH), np.uint32))
    assert any(box.text.startswith("bandwidth not measured on NVIDIA") for box in scene.placed)


def test_its_row_is_one_that_the_film_can_hold() -> None:
    from scenes.film import Row
    from scenes.stage.transitions.cut import Cut

    (line,) = re.findall(r"`(Row\(.*?\)\))`", TEXT)
    row = eval(line, {"Row": Row, "Cut": Cut})
    assert (row.name, row.module, row.cls, row.bars) == ("bandwidth", "scenes.bandwidth", "Bandwidth", 4)
