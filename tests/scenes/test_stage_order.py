"""Who hides whom, against a brute-force z-buffer: for every pixel the nearest box that its ray meets."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from scenes.stage.camera import Camera
from scenes.stage.raster import Raster
from scenes.stage.world import Boxes, Ground, Light, Ribbons, Sprites, World

WIDTH, HEIGHT = 168, 96
LIT = Light(face=(1.0, 1.0, 1.0, 1.0, 1.0, 1.0))  # every face shows its box's own colour


def nearest_box(origin: NDArray[np.float64], size: NDArray[np.float64], camera: Camera) -> NDArray[np.int64]:
    """(2 H, 2 W) index of the box that a ray through each quarter of a pixel meets first, -1 for none (Kay and Kajiya 1986)."""
    m = camera.matrix(WIDTH, HEIGHT).astype(float)
    x, y = np.meshgrid(np.arange(2 * WIDTH) / 2 + 0.25, np.arange(2 * HEIGHT) / 2 + 0.25)
    rays = m[2, :3] + ((x - m[1, 3]) / m[0, 3])[..., None] * m[0, :3] - ((y - m[2, 3]) / m[0, 3])[..., None] * m[1, :3]
    rays[np.abs(rays) < 1e-12] = 1e-12
    found, depth = np.full(x.shape, -1), np.full(x.shape, np.inf)
    for i, (low, extent) in enumerate(zip(origin, size, strict=True)):
        near, far = (low - m[3, :3]) / rays, (low + extent - m[3, :3]) / rays
        enter, leave = np.minimum(near, far).max(-1), np.maximum(near, far).min(-1)
        hit = (enter < leave) & (enter > 0) & (enter < depth)
        found[hit], depth[hit] = i, enter[hit]
    return found


def drawn_colour(origin: NDArray[np.float64], size: NDArray[np.float64], camera: Camera) -> tuple[NDArray[np.int64], int]:
    """(H, W, 3) what the raster draws of boxes in the colours of `colour_of`, and the rings it had to break."""
    world = World(light=LIT, ground=Ground(color=(0, 0, 0)))
    world.add(Boxes.of(origin, size, colour_of(np.arange(len(origin))) / 255))
    raster = Raster(WIDTH, HEIGHT, flat=True)
    out = raster.render(world, camera, np.zeros((HEIGHT, WIDTH), np.uint32))
    return out.view(np.uint8).reshape(HEIGHT, WIDTH, 4)[..., :3].astype(int), raster.unresolved


def colour_of(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """(..., 3) 26 colours that differ by 127 or more in a channel; black for -1."""
    palette = np.array([(r, g, b) for r in (0, 128, 255) for g in (0, 128, 255) for b in (0, 128, 255)])[1:]
    shuffled = np.random.default_rng(0).permutation(palette)
    return np.where((index < 0)[..., None], 0, shuffled[index % 26])


def wrong_inside(origin: NDArray[np.float64], size: NDArray[np.float64], cameras: list[Camera]) -> tuple[int, int, int]:
    """Pixels that show the wrong box, pixels looked at, rings; those beside an edge are left out."""
    wrong = looked = rings = 0
    for camera in cameras:
        truth = nearest_box(origin, size, camera)
        drawn, unresolved = drawn_colour(origin, size, camera)
        quarters = truth.reshape(HEIGHT, 2, WIDTH, 2).transpose(0, 2, 1, 3).reshape(HEIGHT, WIDTH, 4)
        truth = quarters[..., 0]
        inner = (quarters == truth[..., None]).all(-1)
        inner[[0, -1]] = inner[:, [0, -1]] = False
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                inner &= (np.roll(quarters, (dy, dx), (0, 1)) == truth[..., None]).all(-1)
        wrong += int(((np.abs(drawn - colour_of(truth)).max(-1) > 64) & inner).sum())
        looked += int((inner & (truth >= 0)).sum())
        rings += unresolved
    return wrong, looked, rings


def around(target: tuple[float, float, float], distance: float) -> list[Camera]:
    return [Camera.orbit(target, distance, a, e, 36) for a, e in ((3, 31), (47, 7), (128, 68), (211, 31), (304, 12))]


def field(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A plate with n x n boxes of different heights on it."""
    i, j = (v.ravel() for v in np.meshgrid(np.arange(n), np.arange(n)))
    heights = np.random.default_rng(seed).uniform(0.2, 2, n * n)
    origin = np.concatenate([[(-0.2, -0.2, 0)], np.column_stack([i, j, np.full(n * n, 0.2)])]) - (n / 2, n / 2, 0)
    size = np.concatenate([[(n + 0.2, n + 0.2, 0.2)], np.column_stack([np.full((n * n, 2), 0.8), heights])])
    return origin, size


def disjoint(seed: int, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Boxes of very different sizes, none of which meets another."""
    rng = np.random.default_rng(seed)
    lows: list[NDArray[np.float64]] = []
    sizes: list[NDArray[np.float64]] = []
    while len(lows) < count:
        extent = rng.uniform(1.5, 4, 3) if rng.random() < 0.15 else rng.uniform(0.3, 1.4, 3)
        low = rng.uniform((-5, -5, 1), (5, 5, 11))
        if all(np.any((low + extent <= q) | (q + e <= low)) for q, e in zip(lows, sizes, strict=True)):
            lows.append(low)
            sizes.append(extent)
    return np.array(lows), np.array(sizes)


def test_a_field_on_a_plate_has_no_wrong_pixel() -> None:
    wrong, looked, rings = wrong_inside(*field(9, 1), around((0, 0, 0.5), 15))
    assert (wrong, rings) == (0, 0) and looked > 5_000


@pytest.mark.parametrize("seed", range(4))
def test_disjoint_boxes_of_all_sizes_have_no_wrong_pixel(seed: int) -> None:
    wrong, looked, rings = wrong_inside(*disjoint(seed, 50), around((0, 0, 6), 22))
    assert rings == 0 and wrong == 0 and looked > 5_000


def test_a_camera_among_the_boxes_has_no_wrong_pixel() -> None:
    origin, size = field(9, 2)
    cameras = [Camera((-3.6 + 2 * k, -6.1, 1.2), (0.3 * k, 4, 0.4), 60) for k in range(3)]
    cameras.append(Camera((0.1, -0.1, 2.6), (3, 5, 0), 70))
    wrong, looked, rings = wrong_inside(origin, size, cameras)
    assert (wrong, rings) == (0, 0) and looked > 5_000


def test_boxes_with_corners_behind_the_camera_are_drawn_whole() -> None:
    """A long beam passes under and beside the eye: parts of its faces lie behind the camera."""
    origin, size = np.array([(-0.5, -20.0, -1.0), (1.0, -20.0, -1.0)]), np.array([(1.0, 40.0, 0.5), (0.5, 40.0, 3.0)])
    cameras = [Camera((0.1, 0, 0.6), (0.2, 8, 0.2), 60), Camera((-0.2, 0, 0.3), (0.9, 3, 0), 80)]
    wrong, looked, _ = wrong_inside(origin, size, cameras)
    assert wrong == 0 and looked > 10_000


def test_a_ring_of_boxes_is_broken_and_counted() -> None:
    """Three beams that each hide the next: no painter's order exists."""
    origin = np.array([(-2.0, -0.2, -1.0), (-1.0, -2.0, 0.0), (0.6, -1.0, -2.0)])
    size = np.array([(4.0, 0.4, 0.4), (0.4, 4.0, 0.4), (0.4, 2.9, 4.0)])
    _, unresolved = drawn_colour(origin, size, Camera((9, -9, 9), (0, 0, 0)))
    assert unresolved == 1


def picture(world: World, camera: Camera) -> NDArray[np.uint8]:
    out = Raster(WIDTH, HEIGHT, flat=True).render(world, camera, np.zeros((HEIGHT, WIDTH), np.uint32))
    return out.view(np.uint8).reshape(HEIGHT, WIDTH, 4)[..., :3]


@pytest.mark.parametrize(("y", "shown"), [(-2.0, True), (3.0, False)])
def test_ribbons_and_sprites_hide_and_are_hidden(y: float, shown: bool) -> None:
    camera = Camera((0, -12, 1), (0, 0, 1))
    for mark in (
        Ribbons.of([(-3, y, 0.5)], [(3, y, 1.5)], 0.3, (1, 1, 1)),  # slanted: its bounds meet the box's when y is within it
        Sprites.of([(0, y, 1)], 0.3, (1, 1, 1)),
    ):
        world = World(light=LIT)
        world.add(Boxes.of([(-1, 0, 0)], (2, 2, 2), (0.2, 0, 0)))
        world.add(mark)
        assert bool(picture(world, camera)[HEIGHT // 2, WIDTH // 2, 1] > 200) == shown


def test_a_slanted_ribbon_whose_bounds_meet_a_box_goes_by_what_it_really_passes() -> None:
    """From (-3, -1, 3) to (3, 3, 3) the ribbon runs over the box: its bounds overlap, but seen from above it lies in front."""
    world = World(light=LIT)
    world.add(Boxes.of([(-1, 0, 0)], (2, 2, 2.5), (0.2, 0, 0)))
    world.add(Ribbons.of([(-3, -1, 3.4)], [(3, 3, 2.2)], 0.3, (1, 1, 1)))
    x, y, _ = Camera((0, -6, 9), (0, 1, 2)).project([(0, 1, 2.8)], WIDTH, HEIGHT)[0]
    assert picture(world, Camera((0, -6, 9), (0, 1, 2)))[int(y), int(x), 1] > 200


def test_boxes_that_graze_each_other_do_not_flicker() -> None:
    """One box slides past another, a little into it: who is in front changes at most once."""
    camera = Camera.orbit((0, 0, 1), 10, 20, 15)
    in_front = []
    for step in range(60):
        low = -1.3 + step * 0.02
        world = World(light=LIT)
        world.add(Boxes.of([(0, 0, 0)], 1, (1, 0, 0)))
        world.add(Boxes.of([(0.2, -0.98, low + 0.8)], 1, (0, 1, 0)))  # 0.02 of it inside the other
        rgb = picture(world, camera).astype(int)
        in_front.append(int((rgb[..., 1] > 200).sum()))
    steps = np.abs(np.diff(in_front))
    assert steps.max() <= 0.02 * max(in_front) + 8  # never more than a sliver appears or goes from one frame to the next
