"""Roof 1's drop: the roof is drawn in light within a bar, the space under it shines, and the dive goes through the cube."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from measure.dataset import Dataset
from scenes import film
from scenes.props.cube import Cube
from scenes.props.lesson import Dawn
from scenes.props.roofline import FLOOR, HALF_DEPTH, HALF_WIDTH, Chart
from scenes.stage.palette import COMPUTE
from scenes.stage.world import World

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import gpus
import staging

H200, PUBLISHED = "nvidia-h200", "rtx-3090-published"


def dawn(spec: str = H200) -> tuple[Chart, Dawn]:
    chart = Chart.of(Dataset.open([spec]))
    assert chart is not None
    return chart, Dawn(chart, (0.0, 4.0, 6.0, 8.0), lambda beat, points: np.full((len(points), 3), 9.0))  # above all words


@pytest.mark.parametrize("spec", [H200, PUBLISHED])
def test_the_slope_is_drawn_to_the_ridge_before_the_beam_begins_and_both_stand_after_a_bar(spec: str) -> None:
    _, light = dawn(spec)
    assert light.slope(0.0) == light.beam(0.0) == 0.0 and light.slope(4.0) == light.beam(4.0) == pytest.approx(1.0)
    assert all(light.slope(beat) == 1.0 for beat in np.arange(0.0, 4.0, 0.05) if light.beam(beat) > 0.0)


def test_what_shines_reaches_from_the_floor_to_the_lower_of_both_roofs() -> None:
    chart, light = dawn()
    world = World()
    light.draw(world, 5.0)
    strips = [strip for r in world.ribbons for strip in zip(r.a, r.b, r.color, strict=True)]
    curtain = [(a, b, c) for a, b, c in strips if a[0] == b[0] and a[1] == np.float32(HALF_DEPTH) == b[1]]
    assert min(a[2] for a, _, _ in curtain) == pytest.approx(FLOOR)
    for x in {float(a[0]) for a, _, _ in curtain}:
        mark = chart.low_x * (chart.high_x / chart.low_x) ** ((x + HALF_WIDTH) / (2 * HALF_WIDTH))
        top = max(float(b[2]) for a, b, _ in curtain if float(a[0]) == x)
        assert top == pytest.approx(chart.z(min(chart.peak, mark * chart.bandwidth)), abs=0.02), mark
        beyond = {bool(np.allclose(c, COMPUTE, atol=1e-3)) for a, _, c in curtain if float(a[0]) == x}
        assert beyond == {mark >= chart.peak / chart.bandwidth}


def test_the_drop_is_the_brightest_picture_of_the_passage_and_falls_only_once() -> None:
    with staging.small_frames(160, 90):
        scene = staging.staged("roof-1")
        light = []
        for beat in np.arange(1.0, 31.0, 1.0):
            pixels = np.zeros((90, 160), np.uint32)
            scene.paint(scene.clock.frame(beat), pixels)
            light.append(float(np.mean([pixels >> shift & 255 for shift in (0, 8, 16)])))
    assert min(light[3:6]) > 1.5 * max(light[9:]), light
    rise = np.diff(light[:10])
    assert (rise[:3] > 0).all() and (rise[6:8] < 0).all()


@pytest.mark.parametrize("spec", [H200, PUBLISHED, "small"])
def test_the_dive_goes_through_the_cube_on_both_sides_of_the_cut(spec: str, tmp_path: Path) -> None:
    """The centre of the opening lies on the cube's own box on the frame."""
    cut = film.row("roof-1").transition
    assert cut is not None and cut.focus is not None
    file = gpus.write(spec, tmp_path / "made.json") if spec in gpus.KINDS else spec
    for name, last in (("launch", True), ("roof-1", False)):
        scene = staging.staged(name, file, neighbours=True)
        beat = scene.clock.at_frame(scene.clock.end - 1) if last else 0.0
        cube = next(prop for prop in scene.props if isinstance(prop, Cube))
        base, size = np.array(cube.base(beat)), np.array(cube.extent(beat))
        corners = base + size * [[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0, 1)]
        across, down = scene.view(beat).project(corners, 1920, 1080)[:, :2].T
        assert across.min() <= cut.focus[0] * 1920 <= across.max(), (name, across)
        assert down.min() <= cut.focus[1] * 1080 <= down.max(), (name, down)
