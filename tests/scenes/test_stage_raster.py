"""The picture: same bytes every time, one look at every size, colours that keep their hue, shadows, mirror, fades, no pops."""

from __future__ import annotations

import colorsys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from scenes.stage.camera import Camera
from scenes.stage.raster import STEPS, Raster
from scenes.stage.world import Boxes, Ground, Light, Ribbons, Sprites, World

AMBER, CYAN, STEEL = (1.0, 0xB0 / 255, 0.0), (0.0, 0xE5 / 255, 1.0), (0.17, 0.20, 0.27)
AMBER_HUE = 41.41  # degrees: 60 (G - B) / (R - B) of #FFB000
VIEW = Camera.orbit((0, 0, 0.5), 9, -25, 24)


def render(world: World, camera: Camera = VIEW, width: int = 480, height: int = 270) -> NDArray[np.float64]:
    """(H, W, 3) of a frame, 0..255."""
    out = Raster(width, height).render(world, camera, np.zeros((height, width), np.uint32))
    rgba = out.view(np.uint8).reshape(height, width, 4)
    assert (rgba[..., 3] == 255).all()
    return rgba[..., :3].astype(float)


def chip() -> World:
    """A plate with nine boxes, lines and points."""
    world = World()
    world.add(Boxes.of([(-2.2, -2.2, 0)], (4.4, 4.4, 0.2), (0.055, 0.07, 0.105)))
    i, j = (v.ravel() - 1 for v in np.meshgrid(np.arange(3), np.arange(3)))
    colour = np.where((i + j > 0)[:, None], AMBER, STEEL)
    place = np.column_stack([i * 1.3 - 0.45, j * 1.3 - 0.45, 0 * i + 0.2])
    world.add(Boxes.of(place, (0.9, 0.9, 0.5), colour, 0.8 * (i + j > 0)))
    world.add(Ribbons.of([(-2, -2.1, 0.21)], [(2, -2.1, 0.21)], 0.03, CYAN, 0.8, 0.4))
    world.add(Sprites.of([(-1, -2.1, 0.25), (1, -2.1, 0.25)], 0.05, CYAN))
    return world


def one(**box: object) -> World:
    world = World()
    values: dict[str, object] = {"color": STEEL, **box}
    world.add(Boxes.of([(-0.5, -0.5, 0)], 1, **values))  # type: ignore[arg-type]
    return world


def hue(rgb: NDArray[np.float64]) -> float:
    return colorsys.rgb_to_hsv(*(rgb / 255))[0] * 360


def box_on_screen(world: World, camera: Camera, width: int, height: int) -> NDArray[np.bool_]:
    """(H, W) where one of the world's boxes is drawn."""
    plain = Raster(width, height, flat=True)
    painted = World(ground=Ground(color=(0, 0, 0)))
    for batch in world.boxes:
        painted.add(replace(batch, color=np.ones_like(batch.color)))
    drawn: NDArray[np.bool_] = plain.render(painted, camera, np.zeros((height, width), np.uint32)) & 0xFFFFFF != 0
    return drawn


def test_two_rasters_give_the_same_bytes_whatever_they_drew_before() -> None:
    fresh, used = Raster(333, 187), Raster(333, 187)
    used.render(one(emission=1.0), Camera.orbit((0, 0, 0), 4, 100, 40), np.zeros((187, 333), np.uint32))
    first = fresh.render(chip(), VIEW, np.zeros((187, 333), np.uint32))
    second = used.render(chip(), VIEW, np.full((187, 333), 0xDEADBEEF, np.uint32))
    assert (first == second).all()


def test_an_odd_sized_frame_may_be_part_of_a_larger_array() -> None:
    alone = Raster(101, 67).render(chip(), VIEW, np.zeros((67, 101), np.uint32))
    wide = np.zeros((67, 120), np.uint32)
    part = wide[:, 3:104]
    assert (Raster(101, 67).render(chip(), VIEW, part) == alone).all() and not wide[:, 104:].any()


@pytest.mark.parametrize("out", [np.zeros((90, 161), np.uint32), np.zeros((90, 160), np.int32)])
def test_a_frame_of_another_size_or_type_is_refused(out: NDArray[np.uint32]) -> None:
    with pytest.raises(ValueError, match=r"expected uint32 \(90, 160\), found"):
        Raster(160, 90).render(chip(), VIEW, out)
    with pytest.raises(ValueError, match="at least 16 x 16"):
        Raster(8, 8)


def test_steps_are_told_in_order() -> None:
    told: list[str] = []
    Raster(160, 90).render(chip(), VIEW, np.zeros((90, 160), np.uint32), told.append)
    assert tuple(told) == STEPS


def test_every_size_shows_the_same_picture() -> None:
    """Line widths, bevels and glow scale with the height: 960 x 540 averaged down is 480 x 270, but for the edges."""
    small = render(chip(), width=480, height=270)
    large = render(chip(), width=960, height=540).reshape(270, 2, 480, 2, 3).mean((1, 3))
    difference = np.abs(small - large).max(-1)
    assert difference.mean() < 1.5 and np.percentile(difference, 99) < 14


def test_glowing_amber_stays_amber() -> None:
    """Not lemon: neither its brightest pixel nor its halo leaves the hue of #FFB000 by more than 6 degrees."""
    world = one(color=AMBER, emission=1.0)
    lit, dark = render(world), render(one(color=AMBER, emission=0.0))
    inside = box_on_screen(world, VIEW, 480, 270)
    brightest = lit[inside][np.argsort(lit[inside].sum(-1))[-200:]]
    assert brightest.max() > 245
    assert all(abs(hue(rgb) - AMBER_HUE) <= 6 for rgb in brightest)
    gained = (lit - dark).max(-1)
    halo = lit[~inside & (gained > np.maximum(30, 3 * dark.max(-1)))]  # where the glow outshines the floor three to one
    assert len(halo) > 300
    assert np.abs([hue(rgb) - AMBER_HUE for rgb in halo]).max() <= 6


@pytest.mark.parametrize("emission", [0.0, 0.4])
def test_lit_faces_keep_the_hue_of_their_colour(emission: float) -> None:
    for light in (Light(), Light(ambient=1.0, sheen=0.0), Light(radius=2.0)):
        world = one(color=AMBER, emission=emission, edge=1.0)
        world.light = light
        inside = box_on_screen(world, VIEW, 480, 270)
        bright = [rgb for rgb in render(world)[inside] if rgb.max() > 120]
        assert len(bright) > 500
        assert np.abs([hue(rgb) - AMBER_HUE for rgb in bright]).max() <= 6


def test_no_channel_overflows_where_everything_glows() -> None:
    world = World()
    x, y = (v.ravel() for v in np.meshgrid(np.arange(-4, 4), np.arange(-4, 4)))
    world.add(Boxes.of(np.column_stack([x, y, 0 * x]), 0.95, (1, 1, 1), emission=1.0, edge=2.0))
    world.add(Sprites.of(np.column_stack([x, y, 0 * x + 1.2]), 0.3, (1, 1, 1), emission=1.0))
    picture = render(world, Camera.orbit((0, 0, 0.5), 9, 20, 40))
    assert picture[100:200, 200:280].min() > 60  # an overflowing byte would wrap to nearly nothing


def test_a_box_on_the_floor_darkens_it_around_its_foot() -> None:
    shadowed, bare = render(one(shadow=True)), render(one(shadow=False))
    outside = ~box_on_screen(one(), VIEW, 480, 270)
    change = (shadowed - bare).sum(-1)[outside]
    assert change.min() <= -12 and change.max() <= 3  # darker somewhere, brighter nowhere but for the noise
    assert (change < -4).sum() > 150


def test_a_box_on_a_plate_darkens_the_plate() -> None:
    def world(shadow: bool) -> World:
        w = World()
        w.add(Boxes.of([(-3, -3, 0)], (6, 6, 0.3), (0.3, 0.3, 0.3)))
        w.add(Boxes.of([(-0.5, -0.5, 0.3)], 1, STEEL, shadow=shadow))
        return w

    change = (render(world(True)) - render(world(False))).sum(-1)
    assert change.min() < -60 and (change < -20).sum() > 300
    flying = World()
    flying.add(Boxes.of([(-3, -3, 0)], (6, 6, 0.3), (0.3, 0.3, 0.3)))
    flying.add(Boxes.of([(-0.5, -0.5, 1.3)], 1, STEEL))
    bare = World()
    bare.add(flying.boxes[0])
    bare.add(replace(flying.boxes[1], shadow=np.zeros(1, np.float32)))
    fainter = (render(flying) - render(bare)).sum(-1)
    assert change.min() < fainter.min() < -6  # higher up: there, but weaker


def test_the_floor_mirrors_what_stands_on_it() -> None:
    def world(reflect: float) -> World:
        w = one(color=(1, 1, 1), shadow=False)
        w.ground = Ground(reflect=reflect)
        return w

    low = Camera.orbit((0, 0, 0.5), 9, -25, 8)
    gain = (render(world(0.5), low) - render(world(0.0), low)).sum(-1)
    x, y, _ = low.project([(0, -0.5, -0.3)], 480, 270)[0]  # the mirror image of the front face
    assert gain[int(y) - 3 : int(y) + 3, int(x) - 3 : int(x) + 3].mean() > 6
    _, deeper, _ = low.project([(0, -0.5, -0.9)], 480, 270)[0]
    assert gain[int(deeper), int(x) - 5 : int(x) + 5].mean() < gain[int(y), int(x) - 5 : int(x) + 5].mean()  # it fades
    assert abs(gain[:60]).max() <= 3  # nothing above the horizon


def test_a_fading_box_goes_smoothly_to_nothing() -> None:
    frames = [render(one(color=AMBER, alpha=a, shadow=False)) for a in (0.0, 0.25, 0.5, 0.75, 1.0)]
    middle = [frame[135, 240].sum() for frame in frames]
    assert (np.diff(middle) > 10).all()
    nothing = World()
    assert np.abs(frames[0] - render(nothing)).max() <= 1


def test_a_box_passing_the_camera_does_not_pop() -> None:
    """The camera flies along a wall and through a box: no frame differs from the one before by a jump."""
    world = World()
    world.add(Boxes.of([(0.8, -3, 0)], (0.5, 6, 2), (0.5, 0.5, 0.5)))
    world.add(Boxes.of([(-0.5, -0.6, 0.6)], (1, 0.5, 1), AMBER))
    raster = Raster(240, 136)
    frames = []
    for step in range(121):
        y = -4.0 + step / 20
        out = raster.render(world, Camera((0, y, 1.1), (0.05, y + 3, 1.0), fov=50), np.zeros((136, 240), np.uint32))
        frames.append(out.view(np.uint8).reshape(136, 240, 4)[..., :3].astype(float))
    jumps = [np.abs(b - a).mean() for a, b in pairwise(frames)]
    assert max(jumps) < 20  # the box fills the frame with a brightness of about 100; a pop would be that at once
    assert np.abs(frames[0] - frames[-1]).mean() > 2


def test_dark_gradients_are_dithered() -> None:
    """A patch of sky holds several neighbouring levels mixed at pixel scale, and its mean follows the gradient in sub-steps."""
    sky = render(World(), Camera((0, -8, 2), (0, 0, 2.2), fov=30), 640, 360)[20:140, 100:540, 2]
    rows = sky.mean(1)
    assert 2 < rows.max() - rows.min() < 40
    assert np.abs(np.diff(rows)).max() < 0.5  # a band would be a step of one
    edges = np.abs(np.diff(sky, axis=1)) > 0
    assert edges.mean() > 0.2


def test_the_horizon_is_brighter_than_the_zenith_and_the_near_floor() -> None:
    picture = render(World(), Camera((0, -12, 3), (0, 0, 3), fov=60)).sum(-1)[:, 240]
    assert picture[134] > 2 * picture[10] and picture[134] > 1.2 * picture[250]


def test_the_grid_passes_where_the_floor_says() -> None:
    world = World(ground=Ground(spacing=2.0, line_alpha=0.8))
    bare = World(ground=Ground(spacing=2.0, line_alpha=0.0))
    camera = Camera.orbit((0, 0, 0), 8, 0, 40)
    lines = (render(world, camera) - render(bare, camera)).sum(-1)
    on = camera.project([(2, 0.7, 0), (-2, -0.7, 0), (0.7, 2, 0), (0.3, 0, 0)], 480, 270).astype(int)
    off = camera.project([(1, 0.7, 0), (-1.3, -0.7, 0), (0.7, 1, 0)], 480, 270).astype(int)
    assert all(lines[y - 1 : y + 2, x - 1 : x + 2].max() > 30 for x, y, _ in on)
    assert all(np.abs(lines[y - 2 : y + 3, x - 2 : x + 3]).max() < 5 for x, y, _ in off)


def test_a_rolled_camera_draws_the_same_grid() -> None:
    """Two code paths: rolled by 180 degrees the picture is the level one turned round, but for the noise."""
    world = World(ground=Ground(spacing=1.5, line_alpha=0.5))
    camera = Camera.orbit((0, 0, 0), 8, 20, 40)
    level, turned = render(world, camera), render(world, replace(camera, roll=180.0))[::-1, ::-1]
    assert np.abs(level - turned).mean() < 1.2
    quarter = render(world, replace(camera, roll=90.0), 480, 480)
    upright = render(world, camera, 480, 480)
    assert np.abs(np.rot90(upright, -1) - quarter).mean() < 1.2


def test_flat_mode_shows_colours_as_they_are() -> None:
    world = World(light=Light(face=(0.5, 1, 1, 1, 1, 1)), ground=Ground(color=(0.2, 0.2, 0.2)))
    world.add(Boxes.of([(-1, -1, 0)], 2, (1.0, 0.6, 0.2), emission=1.0))
    out = Raster(160, 90, flat=True).render(world, Camera((0, -8, 1), (0, 0, 1)), np.zeros((90, 160), np.uint32))
    rgb = out.view(np.uint8).reshape(90, 160, 4)[..., :3]
    assert np.abs(rgb[45, 80].astype(int) - (127.5, 76.5, 25.5)).max() <= 1 and rgb[5, 5].tolist() == [51, 51, 51]
    assert len(np.unique(out)) < 60  # two colours and their mixtures on the edges
