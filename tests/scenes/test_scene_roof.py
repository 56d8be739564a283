"""The roofline hall: places of towers and roofs against arithmetic, and what it says of files with less in them."""

from __future__ import annotations

import itertools
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from manim import tempconfig

from audio import tracks
from measure import schema
from measure.dataset import MEASUREMENTS, Dataset
from measure.records import Ladder, Measurements, Verification
from scenes import film
from scenes.last_roof import Roof4
from scenes.props.roofline import CUBE, FLOOR, HALF_WIDTH, HEIGHT, TOWER, Chart, decades, towers
from scenes.props.rungs import roof_over
from scenes.stage.passage import Context, Passage, Window

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import gpus

H200 = "nvidia-h200"


def dataset(tmp_path: Path, content: Measurements) -> Dataset:
    path = tmp_path / "changed.json"
    schema.save(content, path)
    return Dataset.open([path])


def opened(spec: str, tmp_path: Path) -> Dataset:
    """A file by name, or one of `gpus.KINDS`."""
    return Dataset.open([gpus.write(spec, tmp_path / f"{spec}.json") if spec in gpus.KINDS else spec])


def ladder(content: Measurements, changed: Ladder) -> Measurements:
    return replace(content, ladders={**content.ladders, "gemm_fp32": changed})


def passage(name: str, data: Dataset, size: tuple[int, int] = (480, 270)) -> Passage:
    row = film.row(name)
    with tempconfig({"pixel_width": size[0], "pixel_height": size[1], "frame_rate": 30}):
        scene = row.load()(Context(data, tracks.default().timeline, row.first_bar, row.bars), Window(0, 0))
        scene.setup()
        scene.construct()
    return scene


def paint(scene: Passage, beat: float, size: tuple[int, int] = (480, 270)) -> np.ndarray:
    pixels = np.zeros((size[1], size[0], 4), np.uint8)
    scene.paint(scene.clock.frame(beat), pixels.view(np.uint32)[..., 0])
    return pixels


def test_both_scales_are_logarithmic_and_the_roof_is_the_minimum_of_both() -> None:
    chart = Chart.of(Dataset.open([H200]))
    assert chart is not None
    step = chart.x(1.0) - chart.x(0.1)
    assert chart.x(10.0) - chart.x(1.0) == pytest.approx(step)
    assert chart.x(chart.low_x) == -HALF_WIDTH and chart.x(chart.high_x) == HALF_WIDTH
    assert chart.z(chart.low_z) == FLOOR and chart.z(chart.high_z) == pytest.approx(FLOOR + HEIGHT)
    assert chart.limit(chart.ridge / 2) == pytest.approx(chart.peak / 2)
    assert chart.limit(chart.ridge * 2) == chart.peak


def test_a_tower_stands_at_its_intensity_and_is_as_high_as_its_rate() -> None:
    data = Dataset.open([H200])
    chart = Chart.of(data)
    assert chart is not None and chart.placed
    owned = data.ladder("gemm_fp32")
    assert owned is not None and owned.value.work is not None and owned.value.level is not None
    built = towers(data, chart, {rung.name: lambda beat: 1.0 for rung in owned.value.rungs})
    for rung in owned.value.rungs:
        traffic = rung.traffic[owned.value.level].best
        assert traffic is not None and rung.rate is not None
        share = math.log(owned.value.work.value / traffic.value / chart.low_x) / math.log(chart.high_x / chart.low_x)
        assert built[rung.name].lot.x == pytest.approx(-HALF_WIDTH + 2 * HALF_WIDTH * share)
        height = math.log(rung.rate.value / chart.low_z) / math.log(chart.high_z / chart.low_z)
        assert built[rung.name].summit(0.0) == pytest.approx(FLOOR + HEIGHT * height)


def test_no_tower_of_a_gpu_whose_kernels_are_far_right_of_the_ridge_stands_beyond_the_beam(tmp_path: Path) -> None:
    data = Dataset.open([gpus.write("small", tmp_path / "small.json")])
    chart, owned = Chart.of(data), data.ladder("gemm_fp32")
    assert chart is not None and chart.placed and owned is not None
    built = towers(data, chart, {rung.name: lambda beat: 1.0 for rung in owned.value.rungs})
    places = [tower.lot.x for tower in built.values()]
    assert max(places) > chart.x(chart.ridge) and max(places) + TOWER / 2 < HALF_WIDTH


def test_published_rates_without_bytes_get_no_place_on_the_intensity_axis() -> None:
    data = Dataset.open(["rtx-3090-published"])
    chart = Chart.of(data)
    assert chart is not None and not chart.placed
    assert (chart.peak, chart.bandwidth) == (35.6, 0.936)
    built = towers(data, chart, {name: lambda beat: 1.0 for name in ("uncoalesced", "tile_1d", "tile_2d", "vectorised")})
    assert {tower.lot.y for tower in built.values()} == {0.0}, "in one row"
    xs = [built[name].lot.x for name in ("tile_1d", "tile_2d", "vectorised")]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1]), "evenly spaced: order, not intensity"


def test_a_rung_that_failed_verification_is_hollow_and_said_to_have_failed(tmp_path: Path) -> None:
    content = schema.load(Path(Dataset.open([H200]).specs[0]))
    owned = content.ladders["gemm_fp32"]
    check = Verification(False, 0.5, 0.5, 1e-6, "float64")
    # The schema lets no rate through that was not verified.
    failed = replace(owned.rungs[0], verification=check, rate=None, time=None, time_cold=None, samples=(), samples_cold=())
    data = dataset(tmp_path, ladder(content, replace(owned, rungs=(failed, *owned.rungs[1:]))))
    scene = passage("roof-1", data)
    assert scene.towers["uncoalesced"].lot.hollow  # type: ignore[attr-defined]
    paint(scene, scene.at(7, 2))
    assert "failed verification" in [placed.text for placed in scene.placed]


def test_a_rate_above_the_peak_is_drawn_above_the_beam(tmp_path: Path) -> None:
    content = schema.load(Path(Dataset.open([H200]).specs[0]))
    owned = content.ladders["gemm_fp32"]
    last = owned.rungs[-1]
    assert last.rate is not None
    peak = content.roofs["fp32"].best
    assert peak is not None
    fast = replace(last, rate=replace(last.rate, value=peak.value * 1.04, low=None, high=None))
    data = dataset(tmp_path, ladder(content, replace(owned, rungs=(*owned.rungs[:-1], fast))))
    chart = Chart.of(data)
    assert chart is not None
    assert towers(data, chart, {last.name: lambda beat: 1.0})[last.name].lot.top > chart.z(chart.peak)


def test_without_roofs_the_scene_says_so(tmp_path: Path) -> None:
    content = schema.load(Path(Dataset.open([H200]).specs[0]))
    scene = passage("roof-1", dataset(tmp_path, replace(content, roofs={}, ladders={})))
    paint(scene, 6.0)
    assert any(placed.text == f"roofs not measured on {content.device.name}" for placed in scene.placed)


def test_the_ratio_steps_when_the_cube_lands() -> None:
    scene = passage("roof-2", Dataset.open([H200]))
    ratio = scene.achieved()
    values = []
    for bar in (2, 4, 6):  # on the third beat of each, a long note
        before, after = ratio(scene.at(bar, 3) - 0.01), ratio(scene.at(bar, 3))
        assert before is not None and after is not None
        values += [float(before.figure.numeral), float(after.figure.numeral)]
    assert values == sorted(values) and values[1] > values[0] and values[5] > values[4]


@pytest.mark.parametrize("name", ["roof-1", "roof-2", "roof-3", "roof-4"])
@pytest.mark.parametrize("spec", [H200, "rtx-3090-published"])
def test_no_text_stands_on_another_or_outside_of_the_safe_area(name: str, spec: str) -> None:
    scene = passage(name, Dataset.open([spec]))
    for beat in np.arange(0.5, scene.clock.beats, 2.0):
        paint(scene, float(beat))
        boxes = [p for p in scene.placed if p.opacity > 0.5 and p.kind not in ("lyric", "lyric-lit")]
        for k, a in enumerate(boxes):
            assert a.left > 480 * 0.02 and a.right < 480 * 0.98 and a.top > 270 * 0.02 and a.bottom < 270 * 0.98, (beat, a)
            for b in boxes[k + 1 :]:
                apart = a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
                assert apart, f"{name} at beat {beat}: {a.text!r} on {b.text!r}"


def test_decades() -> None:
    assert decades(0.0072, 8.4) == pytest.approx([0.01, 0.1, 1.0])


def overlap(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return abs(a[0] - b[0]) < TOWER and abs(a[1] - b[1]) < TOWER


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published"])
def test_no_tower_stands_in_another(spec: str) -> None:
    data = Dataset.open([spec])
    chart, owned = Chart.of(data), data.ladder("gemm_fp32")
    assert chart is not None and owned is not None
    built = towers(data, chart, {rung.name: lambda beat: 1.0 for rung in owned.value.rungs})
    spots = [(tower.lot.x, tower.lot.y) for tower in built.values()]
    assert not [(a, b) for a, b in itertools.combinations(spots, 2) if overlap(a, b)]


def test_the_last_roof_climbs_to_the_best_verified_rung_and_the_ladder_lights_up_in_order() -> None:
    scene = passage("roof-4", Dataset.open([H200]))
    document = json.loads((MEASUREMENTS / f"{H200}.json").read_text())
    rungs = [rung for rung in document["ladders"]["gemm_fp32"]["rungs"] if "rate" in rung]
    best = max(rungs, key=lambda rung: rung["rate"]["value"])
    assert isinstance(scene, Roof4)
    assert list(scene.towers) == [rung["name"] for rung in rungs] and best["name"] in scene.land
    end = scene.achieved()(scene.clock.beats)
    assert end is not None and end.of == f"{best['title']}, fp32"
    assert float(end.figure.numeral) == round(best["rate"]["value"] / document["roofs"]["fp32"]["measured"]["value"], 2)
    last = scene.at(8, 3)  # on "sight", one after the other
    lit = [[tower.light(last - back / 16) > 0.99 for tower in scene.towers.values()] for back in range(len(rungs))]
    assert lit == [[k <= len(rungs) - 1 - back for k in range(len(rungs))] for back in range(len(rungs))]


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published", "small"])
def test_no_tower_of_the_last_roof_hides_the_cube(spec: str, tmp_path: Path) -> None:
    """Twice each beat at least half of the cube's box on the frame is magenta: some of a hexagon's corners are always free."""
    scene = passage("roof-4", opened(spec, tmp_path))
    assert isinstance(scene, Roof4) and scene.chart is not None
    around = CUBE * np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0, 1)])
    for beat in np.arange(2.0, scene.closing(), 0.5):
        corners = np.array(scene.cube(beat)) + around
        across, down = scene.view(beat).project(corners, 480, 270)[:, :2].T
        red, green, blue = np.moveaxis(paint(scene, beat)[..., :3].astype(int), 2, 0)
        magenta = (red > 80) & (green < 0.5 * red) & (blue > 0.5 * red)
        box = magenta[round(down.min()) : round(down.max()), round(across.min()) : round(across.max())]
        assert box.mean() > 0.5, f"beat {beat}"


def test_a_tower_is_told_against_the_lower_of_its_two_roofs() -> None:
    """Left of the ridge that is the slope, right of it the beam; ridge and intensities are worked out from the file."""
    data, document = Dataset.open([H200]), json.loads((MEASUREMENTS / f"{H200}.json").read_text())
    owned, roofs = document["ladders"]["gemm_fp32"], document["roofs"]
    level, peak = owned["level"], roofs["fp32"]["measured"]["value"]
    bandwidth, told = roofs[level]["measured"]["value"], set()
    for rung in owned["rungs"]:
        traffic = rung["traffic"][level]
        mark = owned["work"]["value"] / traffic.get("counters", traffic["model"])["value"]
        found = roof_over(data, rung["name"])
        assert found is not None
        assert found[0].quantity.value == pytest.approx(rung["rate"]["value"] / min(peak, mark * bandwidth)), rung["name"]
        assert (found[1] == "fp32 math") == (mark >= peak / bandwidth), rung["name"]
        told.add(found[1])
    assert len(told) == 2, "the ladder crosses the ridge"


def test_scenes_that_are_about_no_kernel_show_no_ratio() -> None:
    for name in ("cores", "coalescing", "tiling", "all-reduce"):
        scene = passage(name, Dataset.open([H200]))
        assert scene.achieved()(scene.clock.beats - 1.0) is None
