"""Tensor cores: tiles of the shape that was issued, sums where they meet, two beams and two rates on one scale."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from manim import tempconfig

from audio import tracks
from measure.dataset import MEASUREMENTS, Dataset
from measure.records import Build, Rung
from scenes import film
from scenes.props.instruction import FMA_FLOP, MMA_SYNC, instruction_of
from scenes.props.mma import CELL, Tensor, WarpLanes
from scenes.props.second_roof import SecondRoof
from scenes.stage.overlay import Placed
from scenes.stage.palette import THREAD
from scenes.stage.passage import Context, Window
from scenes.stage.world import Boxes, World
from scenes.tensor_cores import TensorCores

WIDTH, HEIGHT = 320, 180
LANDS, MEETS, FMA, TOPS = 2.0, 6.0, 8.0, 18.0  # "-struc-", "time", bar 3, "climb"


def staged(*specs: str | Path) -> TensorCores:
    scene = TensorCores(Context.of(Dataset.open(specs), tracks.default().timeline, film.row("tensor-cores")), Window(0, 0))
    scene.setup()
    scene.construct()
    return scene


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with tempconfig({"pixel_width": WIDTH, "pixel_height": HEIGHT, "frame_rate": 30, "media_dir": str(tmp_path)}):
        yield


@pytest.fixture
def scene() -> TensorCores:
    return staged("nvidia-h200")


@pytest.fixture
def record() -> Any:
    return json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())


def boxes(scene: TensorCores, beat: float, only: object = None) -> Boxes:
    world = World()
    for item in scene.props if only is None else [only]:
        item.draw(world, beat)  # type: ignore[attr-defined]
    return world.all_boxes()


def texts(scene: TensorCores, beat: float) -> list[Placed]:
    scene.paint(scene.clock.frame(beat), np.zeros((HEIGHT, WIDTH), np.uint32))
    return [placed for placed in scene.placed if placed.opacity > 0.5]


def rung(entry: str, *options: str) -> Rung:
    return Rung("r", "R", "", builds=(Build((1, 1, 1), (128, 1, 1), options=options, entry=entry),))


def test_the_shape_is_that_of_the_instruction_in_the_rungs_source() -> None:
    assert (MMA_SYNC.shape, MMA_SYNC.flop, MMA_SYNC.lanes) == ("m16n8k16", 4096, 32) and FMA_FLOP == 64
    assert instruction_of(rung("mma_deep_tiles", "-DBM=128", "-DBN=256")) == MMA_SYNC == instruction_of(None)
    wide = instruction_of(rung("wgmma_stores", "-DBM=128", "-DBN=256"))
    assert (wide.shape, wide.flop, wide.lanes) == ("m64n256k16", 524288, 128)
    assert instruction_of(rung("wgmma_warpgroup", "-DBN=128")).shape == "m64n128k16"


def test_what_happens_falls_on_the_words_of_the_song(scene: TensorCores) -> None:
    origin = scene.timeline.downbeats[scene.context.first_bar - 1]
    words = [(scene.timeline.position(w.start) - origin, w.text) for line in scene.timeline.lines for w in line.words]
    sung = {text.strip(".,:;"): beat for beat, text in words if 0 <= beat < 24}
    assert (scene.meets, scene.tops) == (MEETS, TOPS) and sung["time"] == pytest.approx(MEETS)
    assert sung["climb"] == pytest.approx(TOPS) and scene.lands == LANDS


def test_the_tiles_have_the_shape_that_was_issued_and_meet_edge_on_edge(scene: TensorCores) -> None:
    tensor = scene.tensor
    a, b, c = tensor.a(MEETS), tensor.b(MEETS), tensor.c(MEETS)
    assert (a.shape[:2], b.shape[:2], c.shape[:2]) == ((16, 16), (16, 8), (16, 8))
    assert a[:, 0, 0] == pytest.approx(c[:, 0, 0]), "a row of A stands behind its row of sums"
    assert b[0, :, 1] == pytest.approx(c[0, :, 1]), "a column of B stands beside its column of sums"
    assert a[0, :, 2] == pytest.approx(b[:, 0, 2]), "both walls count k upwards"
    gaps = a[0, 0, 1] - c[:, :, 1].max(), c[:, :, 0].min() - b[0, 0, 0]
    assert all(0 < gap - CELL / 2 < 0.2 for gap in gaps)
    apart = [float(tensor.a(beat)[0, 0, 1]) for beat in (0.0, 2.0, 4.0, 5.0, 5.9, 6.0)]
    assert all(x >= y for x, y in pairwise(apart)) and apart[0] > apart[-1] + 0.9


def test_products_stand_between_the_tiles_and_fall_into_the_sums(scene: TensorCores) -> None:
    tensor: Tensor = scene.tensor
    before, there, after = (len(boxes(scene, beat, tensor).origin) for beat in (5.9, 6.4, 7.9))
    assert (before, there - before, after) == (256 + 128 + 128, 16 * 16, before)  # k layers of m strips, gone again
    assert tensor.fallen(MEETS) == 0.0 and tensor.fallen(7.6) == pytest.approx(1.0)


@pytest.mark.parametrize("beat", [LANDS, MEETS, FMA])
def test_all_lanes_work_at_once(scene: TensorCores, beat: float) -> None:
    lanes: WarpLanes = scene.lanes
    assert lanes.heat(beat) == 1.0 and lanes.heat(beat - 0.2) < 0.2
    drawn = boxes(scene, beat, lanes)
    assert len(np.unique(drawn.origin[:, 0].round(3))) >= 32


def test_both_beams_and_both_towers_stand_at_their_rates_on_one_scale(scene: TensorCores, record: Any) -> None:
    chart, second, tower = scene.chart, scene.second, scene.tower
    assert chart is not None and isinstance(second, SecondRoof) and tower is not None
    rate = max(item["rate"]["value"] for item in record["ladders"]["gemm_bf16"]["rungs"])
    own, fp32 = record["roofs"]["bf16_mma"]["measured"]["value"], record["roofs"]["fp32"]["measured"]["value"]
    unit = (chart.z(fp32) - chart.z(fp32 / 10)) / math.log(10)
    assert second.height - chart.z(fp32) == pytest.approx(unit * math.log(own / fp32))
    assert second.height - tower.summit(TOPS) == pytest.approx(unit * math.log(own / rate))
    assert scene.thread(20.0)[2] < second.height and tower.summit(14.0) < 1.0


@pytest.mark.parametrize("files", [("nvidia-h200",), ("rtx-3090-published",)])
def test_exactly_one_cube_is_magenta(files: tuple[str, ...]) -> None:
    made = staged(*files)
    for beat in np.arange(0.0, 24.0, 1.1):
        assert (np.abs(boxes(made, float(beat)).color - np.array(THREAD)).max(axis=1) < 1e-3).sum() == 1


def test_figures_are_the_files(scene: TensorCores) -> None:
    assert {"mma.sync m16n8k16", "32 lanes of one warp", "A  16 × 16", "B  16 × 8"} <= {p.text for p in texts(scene, 3.0)}
    assert {"4 096 FLOP", "64 FLOP", "C  16 × 8"} <= {p.text for p in texts(scene, 10.0)}
    assert {"51.7 TFLOP/s", "best fp32 rung, measured"} <= {p.text for p in texts(scene, 15.0)}
    assert {"437.3 TFLOP/s", "measured · bf16 GEMM 8192³"} <= {p.text for p in texts(scene, 18.2)}
    assert {"0.67", "of its own roof, derived"} <= {p.text for p in texts(scene, 21.5)}


def test_another_instruction_is_drawn_with_its_own_shape(record: Any, tmp_path: Path) -> None:
    best = record["ladders"]["gemm_bf16"]["rungs"][-1]
    best["builds"][0] |= {"entry": "wgmma_stores", "options": ["-DBN=256"]}
    path = tmp_path / "wide.json"
    path.write_text(json.dumps(record))
    made = staged(path)
    assert made.tensor.cells == (16, 16, 16) and made.lanes.warps == 4
    assert {"wgmma m64n256k16", "128 lanes of 4 warps", "a cell: 4 × 16 values"} <= {p.text for p in texts(made, 3.0)}
    assert "524 288 FLOP" in {p.text for p in texts(made, 10.0)}


def test_what_nobody_measured_is_said(record: Any, tmp_path: Path) -> None:
    made = staged("rtx-3090-published")
    assert made.second is None and made.tower is None
    assert "tensor cores not measured on NVIDIA GeForce RTX 3090" in {p.text for p in texts(made, 16.0)}
    bare = {key: record[key] for key in ("schema", "device", "run")}
    path = tmp_path / "bare.json"
    path.write_text(json.dumps(bare))
    made = staged(path)
    assert made.chart is None and "tensor cores not measured on NVIDIA H200" in {p.text for p in texts(made, 16.0)}
