"""Packets along paths and trails, by hand: distances round corners, even spacing, the stream's front, a curve's past."""

from __future__ import annotations

import numpy as np
import pytest

from scenes.stage.palette import MEMORY, THREAD
from scenes.stage.trail import Trail
from scenes.stage.ways import Packets, WayError, Ways
from scenes.stage.world import World

BEND = [(0.0, 0.0, 0.0), (3.0, 0.0, 0.0), (3.0, 4.0, 0.0)]
SHORT = [(0.0, 1.0, 0.0), (0.0, 1.0, 2.0)]


def test_points_are_found_by_distance_round_corners() -> None:
    ways = Ways.of([BEND, SHORT])
    assert ways.lengths.tolist() == [7.0, 2.0]
    at, way = ways.at(np.array([0, 0, 0, 1, 1]), np.array([1.5, 3.0, 5.0, 0.5, 9.0]))
    assert at.tolist() == [[1.5, 0, 0], [3, 0, 0], [3, 2, 0], [0, 1, 0.5], [0, 1, 2]]
    assert way.tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]


def test_bad_paths_and_touching_packets_are_refused() -> None:
    for bad in ([(0.0, 0.0, 0.0)], [(1.0, 1.0, 1.0)] * 2, [(0.0, 0.0), (1.0, 1.0)], [(0.0, 0.0, np.nan), (1.0, 0.0, 0.0)]):
        with pytest.raises(WayError, match="path 0"):
            Ways.of([bad])
    with pytest.raises(WayError, match="cannot follow"):
        Packets(Ways.of([BEND]), lambda beat: beat, MEMORY, (0.5, 0.1, 0.1), 0.4)


def test_packets_keep_their_distance_and_enter_behind_the_front() -> None:
    packets = Packets(Ways.of([BEND]), lambda beat: 2.0 * beat, MEMORY, every=1.0)
    assert packets.places(1.25)[1].tolist() == [0.5, 1.5, 2.5]  # 2.5 units have been walked: nothing is further
    assert packets.places(3.0)[1].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert packets.places(3.25)[1].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
    later = Packets(Ways.of([BEND]), lambda beat: 2.0 * beat, MEMORY, every=1.0, offset=0.25)
    assert later.places(3.0)[1].tolist() == [0.25, 1.25, 2.25, 3.25, 4.25, 5.25, 6.25]


def test_a_packet_is_long_along_its_way_and_blurred_as_far_as_it_goes() -> None:
    world = World()
    Packets(Ways.of([BEND]), lambda beat: 2.0 * beat, MEMORY, (0.4, 0.1, 0.2), 3.5, shutter=0.25).draw(world, 3.0)
    boxes, lines = world.all_boxes(), world.all_ribbons()
    # at 2.5 on the first leg and at 6.0 on the second
    assert boxes.size == pytest.approx(np.array([[0.4, 0.1, 0.2], [0.1, 0.4, 0.2]], np.float32))
    assert (boxes.origin + boxes.size / 2)[0] == pytest.approx([2.5, 0.0, 0.0], abs=1e-6)
    first = lines.a[:, 1] == 0.0
    assert lines.a[first, 0].max() == pytest.approx(2.3) and lines.b[first, 0].min() == pytest.approx(2.3 - 0.5, abs=1e-6)
    still = World()
    Packets(Ways.of([BEND]), lambda beat: 6.0, MEMORY).draw(still, 3.0)
    assert len(still.all_boxes().origin) and not len(still.all_ribbons().a)


def test_a_trail_is_where_its_curve_has_been() -> None:
    trail = Trail(lambda beats: np.column_stack([beats, 0 * beats, 0 * beats]), THREAD, 0.2, reach=2.0, pieces=4)
    assert trail.points(5.0)[:, 0].tolist() == [5.0, 4.5, 4.0, 3.5, 3.0]
    world = World()
    trail.draw(world, 5.0)
    lines = world.all_ribbons()
    assert len(lines.a) == 4 and (np.diff(lines.width) < 0).all() and lines.width[0] < 0.2
    assert lines.alpha[0] == 1.0 and (np.diff(lines.alpha) <= 0).all() and lines.alpha[-1] < 0.5
    assert (np.minimum(lines.a[:-1, 0], lines.b[:-1, 0]) < np.maximum(lines.a[1:, 0], lines.b[1:, 0])).all()  # no gap


def test_a_trail_of_something_at_rest_is_nothing() -> None:
    world = World()
    Trail(lambda beats: np.zeros((len(beats), 3)), THREAD).draw(world, 5.0)
    assert not len(world.all_ribbons().a)
