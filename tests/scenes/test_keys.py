"""Keyed motion: values at known beats by hand, and the promise that a value depends on nothing but the beat."""

from __future__ import annotations

import pytest

from scenes.stage.keys import Path, Track, arrive, leave, linear, overshoot, pulse, ramp, smooth


def test_a_track_travels_between_its_keys() -> None:
    track = Track(1.0).to(3.0, at=4, over=2, ease=linear).to(0.0, at=8, over=4, ease=linear)
    assert [track(b) for b in (0, 2, 3, 4, 6, 8, 99)] == [1, 1, 2, 3, 1.5, 0, 0]


def test_a_track_may_be_asked_in_any_order() -> None:
    track = Track().to(1.0, at=2, over=1).to(5.0, at=3, over=0.5)
    beats = [2.9, 0.1, 1.5, 7.0, 2.2]
    assert {b: track(b) for b in beats} == {b: track(b) for b in sorted(beats)}
    assert track(1.5) == track(1.5) == 0.5


def test_a_move_that_starts_before_the_one_ahead_of_it_is_refused() -> None:
    with pytest.raises(ValueError, match="starts at beat 0 comes before the one at beat 3"):
        Track().to(1.0, at=4, over=1).to(2.0, at=5, over=5)


@pytest.mark.parametrize("ease", [linear, smooth, arrive, leave, overshoot])
def test_every_ease_starts_at_0_and_ends_at_1(ease: object) -> None:
    assert callable(ease)
    assert ease(0.0) == pytest.approx(0.0, abs=1e-12)
    assert ease(1.0) == pytest.approx(1.0)


def test_overshoot_stays_within_8_percent() -> None:
    peak = max(overshoot(u / 1000) for u in range(1001))
    assert 1.02 < peak < 1.08


def test_a_path_goes_through_its_keys_and_never_past_them() -> None:
    path = Path([(0, (0.0, 1.0)), (4, (2.0, 1.0)), (8, (2.0, -3.0))])
    assert path(0).tolist() == [0.0, 1.0]
    assert path(4).tolist() == [2.0, 1.0]
    assert path(20).tolist() == [2.0, -3.0]
    assert all(-3.0 <= path(b / 10)[1] <= 1.0 and 0.0 <= path(b / 10)[0] <= 2.0 for b in range(81))


def test_ramp_and_pulse() -> None:
    assert [ramp(b, 2, 2, linear) for b in (0, 2, 3, 4, 9)] == [0, 0, 0.5, 1, 1]
    assert ramp(1.0, 1.0, 0.0) == 1.0 and ramp(0.99, 1.0, 0.0) == 0.0
    assert pulse(7.0) == 1.0 and pulse(7.35) == pytest.approx(0.36787944, rel=1e-6)
