"""The frame clock against arithmetic: 132 beats a minute are 60/132 s a beat, and a frame is round(seconds x fps)."""

from __future__ import annotations

import pytest

from audio.timeline import Timeline
from scenes.stage.clock import Clock, OverrunError

BEAT = 60 / 132


def song(bars: int = 12, lead_in: float = 0.0, tail: float = 0.0) -> Timeline:
    beats = tuple(lead_in + BEAT * k for k in range(4 * bars + 1))
    return Timeline("test", beats[-1] + tail, beats, tuple(range(0, 4 * bars + 1, 4)))


@pytest.mark.parametrize("fps", [15, 24, 30, 60])
def test_frames_are_rounded_absolute_time(fps: int) -> None:
    clock = Clock(song(), first_bar=5, bars=8, fps=fps)
    for bar in range(1, 9):
        for beat in (1.0, 2.0, 3.5, 4.75):
            seconds = BEAT * (16 + 4 * (bar - 1) + beat - 1)
            assert clock.frame(clock.moment(bar, beat)) == round(seconds * fps)


@pytest.mark.parametrize("fps", [15, 24, 30, 60])
def test_neighbouring_passages_share_no_frame_and_leave_none_out(fps: int) -> None:
    track = song(tail=1.3)
    clocks = [Clock(track, 1, 4, fps), Clock(track, 5, 3, fps), Clock(track, 8, 5, fps)]
    assert clocks[0].start == 0
    assert [c.end for c in clocks[:-1]] == [c.start for c in clocks[1:]]
    assert clocks[-1].end == round(track.duration * fps)


def test_the_moment_of_a_frame_is_the_inverse_of_the_frame_of_a_moment() -> None:
    clock = Clock(song(lead_in=0.37), first_bar=3, bars=4, fps=60)
    for frame in range(clock.start, clock.end, 7):
        assert clock.frame(clock.at_frame(frame)) == frame


@pytest.mark.parametrize("fps", [15, 24, 30, 60])
def test_a_lamp_lights_on_the_frame_nearest_to_its_beat(fps: int) -> None:
    track = song(lead_in=0.2)
    clock = Clock(track, 1, 12, fps)
    for index, beat in enumerate(track.beats[:-1]):
        frame = round(beat * fps)
        assert clock.lit_beat(frame) == index
        assert clock.lit_beat(frame - 1) == index - 1


def test_a_passage_outside_of_the_track_is_refused() -> None:
    with pytest.raises(OverrunError, match="bars 10 to 17 do not lie in 'test', which has bars 1 to 12"):
        Clock(song(), first_bar=10, bars=8, fps=60)


def test_a_bar_outside_of_the_passage_is_refused() -> None:
    with pytest.raises(OverrunError, match="bar 10 is outside of a passage of 8 bars"):
        Clock(song(), first_bar=1, bars=8, fps=60).moment(10)
