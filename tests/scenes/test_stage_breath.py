"""The camera's breath: on the beat where it was keyed, never still, never shaky, over every passage of the film."""

from __future__ import annotations

import numpy as np
import pytest
from manim import tempconfig
from numpy.typing import NDArray

from audio.timeline import Section, Timeline
from audio.timeline_file import load
from audio.tracks import DEFAULT, HERE
from measure.dataset import Dataset
from scenes import film
from scenes.film import FILM, Row
from scenes.stage.breath import DEPTH, DRIFT, ENERGY, USUAL, Breath, energy, orbited
from scenes.stage.camera import Camera
from scenes.stage.keys import Path
from scenes.stage.passage import Context, Passage, Window

SONG = load(HERE / f"{DEFAULT}.timeline.json")
FPS = 60


def passage(row: Row) -> Passage:
    with tempconfig({"pixel_width": 160, "pixel_height": 90, "frame_rate": FPS}):
        scene = row.load()(Context.of(Dataset.open(), SONG, row, *film.neighbours(row)), Window(0, 0))
        scene.setup()
        scene.construct()
    return scene


def motion(cameras: list[Camera]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eye and gaze of each frame: eye in distances to what is looked at, both (N, 3)."""
    eye, target = np.array([c.eye for c in cameras]), np.array([c.target for c in cameras])
    distance = np.linalg.norm(target - eye, axis=1)[:, None]
    return eye / distance.min(), (target - eye) / distance


def peak(values: NDArray[np.float64], order: int) -> float:
    return float(np.linalg.norm(np.diff(values, order, axis=0) * FPS**order, axis=1).max())


@pytest.mark.parametrize("row", FILM, ids=lambda row: row.name)
def test_every_flight_is_never_still_and_never_shaky(row: Row) -> None:
    scene = passage(row)
    breath = Breath(scene.camera_at, SONG, scene.clock.origin, scene.clock.beats)
    cameras = [breath(scene.clock.at_frame(frame)) for frame in range(scene.clock.start, scene.clock.end)]
    eye, target = np.array([c.eye for c in cameras]), np.array([c.target for c in cameras])
    distance = np.linalg.norm(target - eye, axis=1)[:, None]
    gaze = (target - eye) / distance
    moved, turned = np.diff(eye, axis=0) * FPS / distance[1:], np.degrees(np.diff(gaze, axis=0)) * FPS
    # never still: half a per cent of the distance a second, a pixel every two frames of 1080 lines
    assert np.hypot(np.linalg.norm(moved, axis=1), np.radians(np.linalg.norm(turned, axis=1))).min() > 0.005
    # never shaky: a hand's tremor of a tenth of a degree at 8 Hz would have a jerk of 12 700 degrees a second cubed
    assert peak(np.degrees(gaze), 1) < 90 and peak(np.degrees(gaze), 2) < 400 and peak(np.degrees(gaze), 3) < 5000
    speeds = np.diff(eye, axis=0) * FPS
    for order, bound in ((1, 8.0), (2, 25.0), (3, 250.0)):  # distances a second, and their rates of change
        rate = np.linalg.norm(np.diff(speeds, order - 1, axis=0) * FPS ** (order - 1), axis=1) / distance[order:, 0]
        assert rate.max() < bound, order


def test_a_key_is_not_felt() -> None:
    # a path with a corner: two straight legs; as keyed the velocity jumps at beat 8, as flown it turns within a beat
    def keyed(beat: float) -> Camera:
        return Camera((beat, -10.0 - 2.0 * abs(beat - 8.0), 3.0), (beat, 0.0, 1.0))

    flat = Timeline("t", 30.0, tuple(0.5 * k for k in range(41)), tuple(range(0, 41, 4)))
    breath = Breath(keyed, flat, 0, 32.0)
    beats = np.arange(6.0, 10.0, 1 / 30)
    raw, flown = (np.array([c(b).eye for b in beats]) for c in (keyed, breath))
    assert peak(flown, 3) < 0.12 * peak(raw, 3)


def test_a_held_camera_still_drifts_by_less_than_half_a_degree() -> None:
    held = Camera((0.0, -10.0, 0.0), (0.0, 0.0, 0.0))
    breath = Breath(lambda beat: held, SONG, 0, 32.0)
    angles = np.array([np.degrees(np.arcsin(breath(b).eye[0] / 10)) for b in np.arange(0, 32, 0.1)])
    assert angles.max() == pytest.approx(DRIFT[0], abs=0.01) and angles.min() == pytest.approx(-DRIFT[0], abs=0.01)


def test_arrivals_stay_on_their_beats() -> None:
    path = Path([(0, (0.0,)), (8, (4.0,)), (16, (12.0,)), (32, (16.0,))])
    breath = Breath(lambda beat: Camera((float(path(beat)[0]), -50.0, 0.0), (float(path(beat)[0]), 0.0, 0.0)), SONG, 64, 32.0)
    for beat in range(33):
        assert breath.time(beat) == pytest.approx(beat, abs=1e-9)
        assert breath(float(beat)).target[0] == pytest.approx(float(path(beat)[0]), abs=0.05)


def test_a_flight_is_fastest_on_the_downbeat_by_as_much_as_the_section_has_energy() -> None:
    keyed = Breath(lambda beat: Camera((beat, -10.0, 0.0), (beat, 0.0, 0.0)), SONG, 21 * 4, 16.0)  # inside the first chorus

    def speed(beat: float) -> float:
        return (keyed(beat + 0.01).target[0] - keyed(beat - 0.01).target[0]) / 0.02

    assert speed(8.0) == pytest.approx(1.0 + DEPTH, abs=0.01) and speed(9.0) == pytest.approx(1.0 - DEPTH, abs=0.01)
    assert min(speed(b) for b in np.arange(2.0, 14.0, 0.1)) > 0.5


def test_energy_is_the_sections_with_a_bar_of_change_around_each_boundary() -> None:
    sections = (Section("a", "verse", 1, 4), Section("b", "chorus", 5, 4))
    timeline = Timeline("t", 20.0, tuple(0.5 * k for k in range(33)), tuple(range(0, 33, 4)), sections)
    assert energy(timeline, 4.0) == ENERGY["verse"] and energy(timeline, 24.0) == ENERGY["chorus"]
    assert energy(timeline, 16.0) == pytest.approx((ENERGY["verse"] + ENERGY["chorus"]) / 2)
    assert energy(Timeline("t", 20.0, timeline.beats, timeline.downbeats), 3.0) == USUAL


def test_an_orbit_keeps_the_distance_and_moves_by_the_angles() -> None:
    camera = orbited(Camera((1.0, -9.0, 2.0), (1.0, 1.0, 2.0)), 90.0, 0.0)
    assert camera.eye == pytest.approx((11.0, 1.0, 2.0)) and camera.target == (1.0, 1.0, 2.0)
    raised = orbited(Camera((0.0, -10.0, 0.0), (0.0, 0.0, 0.0)), 0.0, 30.0)
    assert raised.eye == pytest.approx((0.0, -10.0 * np.sqrt(3) / 2, 5.0))
