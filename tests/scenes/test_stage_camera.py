"""The camera against arithmetic done by hand, and the batches' borders."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scenes.stage.camera import Camera
from scenes.stage.world import Boxes, Ribbons, Sprites, World, WorldError

WIDTH, HEIGHT = 1920, 1080
FOCAL = 540 / math.tan(math.radians(16))  # px: half the height over the tangent of half of 32 degrees


def test_a_point_ahead_lands_in_the_middle_and_its_depth_is_its_distance() -> None:
    camera = Camera((0, -10, 0), (0, 0, 0))
    assert camera.project([(0, 0, 0)], WIDTH, HEIGHT)[0] == pytest.approx((960, 540, 10))


def test_right_is_plus_x_and_up_is_plus_z() -> None:
    camera = Camera((0, -10, 0), (0, 0, 0))
    seen = camera.project([(1, 0, 0), (0, 0, 1), (1, 10, 0)], WIDTH, HEIGHT)
    assert seen[0] == pytest.approx((960 + FOCAL / 10, 540, 10))
    assert seen[1] == pytest.approx((960, 540 - FOCAL / 10, 10))
    assert seen[2] == pytest.approx((960 + FOCAL / 20, 540, 20))


def test_the_vertical_field_of_view_spans_the_height() -> None:
    camera = Camera((0, -2, 0), (0, 0, 0), fov=90)
    assert camera.project([(0, 0, 2), (0, 0, -2)], WIDTH, HEIGHT)[:, 1] == pytest.approx((0, 1080))


def test_a_point_behind_the_camera_has_a_negative_depth() -> None:
    assert Camera((0, -10, 0), (0, 0, 0)).project([(3, -14, 1)], WIDTH, HEIGHT)[0, 2] == pytest.approx(-4)


def test_orbit_stands_where_the_angles_say() -> None:
    assert Camera.orbit((1, 2, 3), 10, 0, 0).eye == pytest.approx((1, -8, 3))
    assert Camera.orbit((0, 0, 0), 10, 90, 0).eye == pytest.approx((10, 0, 0))
    assert Camera.orbit((0, 0, 0), 2, 0, 30).eye == pytest.approx((0, -math.sqrt(3), 1))


def test_roll_turns_the_picture_clockwise() -> None:
    level = Camera((0, -10, 0), (0, 0, 0))
    rolled = Camera((0, -10, 0), (0, 0, 0), roll=90)
    up = level.project([(0, 0, 1)], WIDTH, HEIGHT)[0]
    turned = rolled.project([(0, 0, 1)], WIDTH, HEIGHT)[0]
    assert turned[0] - 960 == pytest.approx(540 - up[1]) and turned[1] == pytest.approx(540)
    right = rolled.project([(1, 0, 0)], WIDTH, HEIGHT)[0]
    assert right[0] == pytest.approx(960) and right[1] > 540  # what lay to the right lies below


def test_straight_down_keeps_x_to_the_right() -> None:
    seen = Camera((0, 0, 10), (0, 0, 0)).project([(1, 0, 0), (0, 1, 0)], WIDTH, HEIGHT)
    assert seen[0, 0] > 960 and seen[0, 1] == pytest.approx(540)
    assert seen[1, 0] == pytest.approx(960) and seen[1, 1] < 540


def test_the_matrix_projects_as_project_does() -> None:
    camera = Camera.orbit((0.5, -1, 2), 9, 37, 21, fov=40, roll=13)
    points = np.random.default_rng(5).uniform(-2, 2, (50, 3))
    m = camera.matrix(WIDTH, HEIGHT).astype(float)
    view = (points - m[3, :3]) @ m[:3, :3].T
    by_matrix = np.column_stack(
        [m[1, 3] + m[0, 3] * view[:, 0] / view[:, 2], m[2, 3] - m[0, 3] * view[:, 1] / view[:, 2], view[:, 2]]
    )
    assert np.abs(by_matrix - camera.project(points, WIDTH, HEIGHT)).max() < 1e-2


def test_a_camera_that_looks_at_its_own_eye_is_refused() -> None:
    with pytest.raises(ValueError, match="must be finite and differ"):
        Camera((1, 1, 1), (1, 1, 1)).matrix(WIDTH, HEIGHT)


def test_batches_broadcast_to_contiguous_float32() -> None:
    boxes = Boxes.of([(0, 0, 0), (2, 0, 0)], 1.0, (1, 0.5, 0), emission=[0, 1])
    assert boxes.size.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert boxes.color.dtype == np.float32 and boxes.color.flags.c_contiguous
    assert boxes.emission.tolist() == [0, 1] and boxes.shadow.tolist() == [1, 1] and boxes.alpha.tolist() == [1, 1]


def test_empty_batches_are_fine() -> None:
    assert Boxes.of([], (1, 1, 1), (0, 0, 0)).origin.shape == (0, 3)
    assert Ribbons.of([], [], 0.1, (0, 0, 0)).floor.shape == (0,)
    assert Sprites.of(np.empty((0, 3)), 0.1, (0, 0, 0)).radius.shape == (0,)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Boxes.of([(0, 0)], 1, (0, 0, 0)), r"boxes.origin: expected points of shape \(N, 3\), found shape \(1, 2\)"),
        (lambda: Boxes.of(np.zeros((2, 3)), np.zeros((3, 3)), (0, 0, 0)), r"boxes.size: .* to \(2, 3\), found shape"),
        (lambda: Sprites.of([(0, 0, math.nan)], 1, (0, 0, 0)), "sprites.position: every value must be finite"),
        (lambda: Ribbons.of([(0, 0, 0)], [(0, 0, 1)], [1, 2], (0, 0, 0)), r"ribbons.width: .* \(1,\), found shape \(2,\)"),
    ],
)
def test_wrong_arrays_are_named(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(WorldError, match=words):
        make()


def test_a_world_joins_its_batches_and_puts_floor_ribbons_first() -> None:
    world = World()
    world.add(Boxes.of([(0, 0, 0)], 1, (1, 0, 0)))
    world.add(Boxes.of([(2, 0, 0), (4, 0, 0)], 1, (0, 1, 0)))
    world.add(Ribbons.of([(0, 0, 1)], [(1, 0, 1)], 0.1, (1, 1, 1)))
    world.add(Ribbons.of([(5, 0, 0)], [(6, 0, 0)], 0.1, (1, 1, 1), floor=True))
    assert world.all_boxes().origin[:, 0].tolist() == [0, 2, 4]
    assert world.all_ribbons().floor.tolist() == [True, False] and world.all_ribbons().a[0, 0] == 5
    assert len(world.all_sprites().position) == 0
    with pytest.raises(TypeError, match="found str"):
        world.add("box")  # type: ignore[arg-type]
