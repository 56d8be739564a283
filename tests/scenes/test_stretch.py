"""A passage over other bars than it is written for: its bar lines lie on the track's, its time neither jumps nor halts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.timeline import Timeline
from scenes.film import Row
from scenes.stage.clock import Clock, OverrunError
from scenes.stage.stretch import is_plain, knots, to_scene, to_track

METRES = st.lists(st.sampled_from([2, 3, 4, 5, 6, 7]), min_size=1, max_size=40)


def track(metres: list[int], bpm: float = 120.0) -> Timeline:
    beats = tuple(60.0 / bpm * k for k in range(sum(metres) + 1))
    return Timeline("test", beats[-1], beats, (0, *(int(k) for k in np.cumsum(metres))))


def test_as_many_bars_of_four_as_it_is_written_for_bend_nothing() -> None:
    assert knots(8, [4] * 8) == tuple(range(33))
    assert is_plain(knots(8, [4] * 8)) and not is_plain(knots(8, [4] * 9))


def test_twice_the_bars_play_at_half_the_pace() -> None:
    assert knots(2, [4, 4, 4, 4]) == tuple(2 * k for k in range(9))


def test_half_the_bars_play_at_twice_the_pace() -> None:
    assert knots(4, [4, 4]) == tuple(k / 2 for k in range(17))


def test_bar_lines_fall_on_downbeats_where_there_are_enough() -> None:
    # Three written bars over five of three beats: lines at bars 0, 2 (5/3 rounded), 3 (10/3 rounded) and 5.
    assert knots(3, [3] * 5)[::4] == (0, 6, 9, 15)
    # Beats of a stretched bar fall on beats: six of them for four are 0, 2 (1.5), 3, 5 (4.5).
    assert knots(3, [3] * 5)[:4] == (0, 2, 3, 5)


@given(st.integers(1, 24), METRES)
def test_time_runs_forwards_and_fills_the_place_exactly(written: int, metres: list[int]) -> None:
    if sum(metres) < written:  # less than a quarter of its length: the film is never laid so
        return
    places = knots(written, metres)
    assert len(places) == 4 * written + 1 and places[0] == 0 and places[-1] == sum(metres)
    assert all(b > a for a, b in pairwise(places))
    moments = np.linspace(0.0, 4.0 * written, 97)
    there = [to_track(places, float(m)) for m in moments]
    assert np.all(np.diff(there) > 0)
    assert [to_scene(places, t) for t in there] == pytest.approx(list(moments), abs=1e-6)


def test_beyond_its_ends_time_goes_on_at_the_pace_it_had() -> None:
    places = knots(2, [4, 4, 4, 4])
    for moment in (-1.0, 9.0):  # a transition reaches over the cut
        assert to_track(places, moment) == pytest.approx(2 * moment)
        assert to_scene(places, 2 * moment) == pytest.approx(moment)


# ---- the clock of such a passage ------------------------------------------------------------------------------------


def clock(bars: int, written: int, metres: list[int], first: int = 1, fps: float = 60.0) -> Clock:
    return Clock.of(track(metres), Row("a", "m", "A", first, bars, "", written=written), fps)


def test_a_stretched_clock_counts_written_bars_and_fills_the_frames_of_its_own() -> None:
    stretched = clock(8, 4, [4] * 12, first=3)
    assert (stretched.start, stretched.end) == (2 * 4 * 30, 10 * 4 * 30)  # half a second a beat at 60 frames a second
    assert stretched.beats == 16
    assert [stretched.frame(stretched.moment(bar)) for bar in (1, 2, 3, 4)] == [240, 480, 720, 960]
    with pytest.raises(OverrunError, match="bar 6 is outside of a passage of 4 bars"):
        stretched.moment(6)


def test_the_frames_of_bars_of_the_track_are_the_tracks() -> None:
    stretched = clock(3, 2, [4, 3, 3, 5, 4], first=2)
    assert [stretched.line(bar) for bar in (1, 2, 3, 4)] == [120, 210, 300, 450]


@pytest.mark.parametrize(("bars", "written"), [(8, 4), (3, 8), (5, 4)])
def test_the_moment_of_a_frame_is_the_inverse_there_too(bars: int, written: int) -> None:
    stretched = clock(bars, written, [4] * 12, first=2)
    for frame in range(stretched.start, stretched.end, 11):
        assert stretched.frame(stretched.at_frame(frame)) == frame


def test_lamps_follow_the_track_whatever_the_passage_does() -> None:
    plain, stretched = clock(8, 0, [4] * 12), clock(8, 5, [4] * 12)
    assert [plain.lit_beat(f) for f in range(0, 900, 7)] == [stretched.lit_beat(f) for f in range(0, 900, 7)]


def test_a_row_written_for_its_own_bars_is_not_bent() -> None:
    plain, told = clock(8, 0, [4] * 12, first=3), clock(8, 8, [4] * 12, first=3)
    assert [told.at_frame(f) for f in range(240, 900, 13)] == [plain.at_frame(f) for f in range(240, 900, 13)]
