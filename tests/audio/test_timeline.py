"""The timeline type: times from arithmetic on the tempo, frames rounded from absolute time, moments outside refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.song.score import FIRST_SONG, timeline
from audio.timeline import Timeline, TimelineError

SONG = timeline(FIRST_SONG)
BEAT = Fraction(60, 132)


def test_every_beat_is_a_whole_number_of_sixty_over_tempo() -> None:
    assert len(SONG.beats) == 60 * 4 + 1
    assert max(abs(Fraction(at) - i * BEAT) for i, at in enumerate(SONG.beats)) < Fraction(1, 10**12)
    assert SONG.bars == 60
    assert SONG.bpm == pytest.approx(132.0, abs=1e-9)


@given(bar=st.integers(1, 60), beat=st.integers(1, 4), fps=st.sampled_from((15, 24, 25, 30, 50, 60)))
def test_a_frame_is_the_nearest_to_the_beat_in_absolute_time(bar: int, beat: int, fps: int) -> None:
    exact = ((bar - 1) * 4 + beat - 1) * BEAT * fps
    assert abs(SONG.frame(fps, bar, beat) - exact) <= Fraction(1, 2) + Fraction(1, 10**6)


def test_frames_of_the_last_bar_have_not_drifted() -> None:
    # bar 60 begins at 59 * 20/11 s = 107.2727... s: frame 6436.36 at 60 a second, 3218.18 at 30, 2574.55 at 24
    assert [SONG.frame(fps, 60) for fps in (60, 30, 24)] == [6436, 3218, 2575]


def test_fractional_beats_lie_between_and_run_on_into_the_next_bar() -> None:
    assert SONG.time(3, 2.5) == pytest.approx(float((2 * 4 + 1.5) * BEAT))
    assert SONG.time(3, 6.0) == SONG.time(4, 2.0)


@given(st.floats(0.0, 109.0))
def test_bar_beat_is_the_inverse_of_time(seconds: float) -> None:
    bar, beat = SONG.bar_beat(seconds)
    assert SONG.time(bar, beat) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(("bar", "beat"), [(0, 1.0), (62, 1.0), (1, 0.5), (60, 6.0)])
def test_a_moment_outside_is_refused(bar: int, beat: float) -> None:
    with pytest.raises(TimelineError, match="bar"):
        SONG.time(bar, beat)


def test_unsorted_beats_are_refused() -> None:
    with pytest.raises(TimelineError, match="strictly"):
        Timeline("t", 3.0, (0.0, 2.0, 1.0), (0, 2))


def test_a_line_is_shown_from_before_its_first_word_until_the_next_takes_over() -> None:
    first, second = SONG.lines[0], SONG.lines[1]
    assert SONG.line_at(first.start - 0.5) is None
    assert SONG.line_at(first.start - 0.3) is first
    assert SONG.line_at(second.start - 0.3) is second
