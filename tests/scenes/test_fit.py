"""The film over another track: lengths that add up, the cheapest of all, cuts where the music changes, what does not fit."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio import tracks
from audio.timeline import Section, Timeline, TimelineError
from scenes import film, fit
from scenes.film import Row
from scenes.fit import Room, deviation, lay, over, prices, same_form, solve

BPM = 120.0
ROWS = tuple(Row(name, "m", name, 1 + 8 * k, 8, "") for k, name in enumerate("abcdefghij"))  # 80 bars


def track(bars: int, sections: tuple[int, ...] = (), metre: int = 4, bpm: float = BPM) -> Timeline:
    beats = tuple(60.0 / bpm * k for k in range(metre * bars + 1))
    ends = (*sections[1:], bars)
    parts = tuple(Section(f"s{k}", "verse", 1 + a, b - a) for k, (a, b) in enumerate(zip(sections, ends, strict=False)))
    return Timeline("a song", beats[-1] + 1, beats, tuple(range(0, metre * bars + 1, metre)), parts)


@given(st.integers(40, 300), st.sampled_from([3, 4, 5]))
@settings(max_examples=20, deadline=None)
def test_the_rows_fill_any_track_without_a_gap(bars: int, metre: int) -> None:
    made = track(bars, metre=metre)
    if bars * metre < 4 * 40:
        return
    laid = lay(ROWS, made, BPM)
    assert laid[0].first_bar == 1 and laid[-1].first_bar + laid[-1].bars - 1 == bars
    assert all(a.first_bar + a.bars == b.first_bar for a, b in pairwise(laid))
    assert [row.name for row in laid] == list("abcdefghij")
    assert {row.written for row in laid} == {8}


def test_the_solver_finds_the_cheapest_of_all_layouts() -> None:
    rooms = [Room(1, 3.3, 6), Room(2, 2.7, 7), Room(1, 5.0, 9), Room(1, 1.0, 4)]
    cuts = [0.0, 3.0, 0.5, 2.0, 0.1, 0.7, 1.9, 0.2, 3.0, 0.3, 2.2, 0.4, 0.0]

    def cost(lengths: tuple[int, ...]) -> float:
        ends = [sum(lengths[: k + 1]) for k in range(len(lengths) - 1)]
        return sum(deviation(room, n) for room, n in zip(rooms, lengths, strict=True)) + sum(cuts[end] for end in ends)

    every = [
        lengths for lengths in product(*(range(room.least, room.most + 1) for room in rooms)) if sum(lengths) == 12
    ]  # fmt: skip
    assert cost(tuple(solve(rooms, 12, cuts))) == pytest.approx(min(map(cost, every)))


def test_cuts_go_where_the_parts_begin() -> None:
    starts = (0, 9, 16, 26, 33, 42, 49, 55, 64, 71)  # none on a multiple of eight but 16
    laid = lay(ROWS, track(80, starts), BPM)
    assert [row.first_bar - 1 for row in laid] == list(starts)


def test_without_parts_cuts_go_on_every_fourth_bar_or_halve_one() -> None:
    """Three rows over 28 bars, best 28/3: 8, 10, 10 costs ((4/3)^2 + 2 (2/3)^2) / (28/3) + 0.75 = 1.04.

    8, 12, 8 costs (2 (4/3)^2 + (8/3)^2) / (28/3) = 1.14, and 9, 9, 10 has cuts for 1.5 + 0.75.
    """
    assert [row.bars for row in lay(ROWS[:3], track(28), BPM)] == [8, 10, 10]
    assert all(row.first_bar % 2 for row in lay(ROWS, track(96), BPM))


def test_prices_by_arithmetic() -> None:
    assert prices(track(6, (0, 5))) == [0.0, 3.5, 2.75, 3.5, 2.0, 0.0, 3.5]
    assert prices(track(5)) == [0.0, 1.5, 0.75, 1.5, 0.0, 1.5]


def test_as_long_a_song_in_the_same_parts_leaves_every_row_where_it_is() -> None:
    laid = lay(ROWS, track(80, tuple(range(0, 80, 8))), BPM)
    assert [(row.first_bar, row.bars) for row in laid] == [(row.first_bar, row.bars) for row in ROWS]


@pytest.mark.parametrize(
    ("bars", "bpm", "fits"), [(39, 120, False), (40, 120, True), (39, 60, True), (20, 60, True), (19, 60, False)]
)
def test_a_scene_keeps_half_of_its_bars_or_of_its_time(bars: int, bpm: float, fits: bool) -> None:
    """80 bars at 120 a minute are 160 s: half of them are 40 bars there, and 20 bars, 80 s, at 60 a minute."""
    if fits:
        assert sum(row.bars for row in lay(ROWS, track(bars, bpm=bpm), BPM)) == bars
    else:
        with pytest.raises(TimelineError, match=rf"'a song' is too short for the film: expected \d+ to \d+ bars, found {bars}"):
            lay(ROWS, track(bars, bpm=bpm), BPM)


def test_what_is_too_short_or_too_long_is_told_in_minutes_too() -> None:
    """Forty bars of four at 120 a minute last 80 s; 480 last 960 s."""
    with pytest.raises(TimelineError, match="give it at least 1:20 at 120 BPM"):
        lay(ROWS, track(30), BPM)
    with pytest.raises(TimelineError, match="give it at most 16:00 at 120 BPM"):
        lay(ROWS, track(481), BPM)


def test_a_track_that_is_too_long_is_refused() -> None:
    with pytest.raises(TimelineError, match="too long for the film: expected 40 to 480 bars, found 481"):
        lay(ROWS, track(481), BPM)


# ---- the film itself ------------------------------------------------------------------------------------------------


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> tuple[Row, ...]:
    monkeypatch.setattr(film, "FILM", ROWS)
    return ROWS


def test_the_own_song_and_one_of_its_form_are_not_bent(rows: tuple[Row, ...]) -> None:
    own = tracks.default().timeline
    assert over((), own) == (rows, rows)
    assert over(["c"], own) == ((rows[2],), rows)
    assert same_form(own, own) and not same_form(own, track(80))


def test_named_scenes_are_those_of_the_whole_film_on_the_track(rows: tuple[Row, ...]) -> None:
    whole, order = over((), track(100))
    assert whole == order
    chosen, same = over(["h", "c"], track(100))
    assert same == order and chosen == (order[2], order[7])


def test_on_a_short_track_named_scenes_have_it_to_themselves(rows: tuple[Row, ...]) -> None:
    with pytest.raises(TimelineError, match="too short for the film"):
        over((), track(12))
    chosen, order = over(["c", "d"], track(12))
    assert chosen == order and [(row.name, row.first_bar, row.bars) for row in order] == [("c", 1, 6), ("d", 7, 6)]


def test_a_film_beside_the_film_is_not_laid(rows: tuple[Row, ...]) -> None:
    reel = film.beside("stage-reel")
    assert over(["stage-reel"], track(100)) == (reel, reel)


def test_the_film_as_it_is_fits_from_60_to_300_bars() -> None:
    own = tracks.default().timeline
    for bars in (60, 128, 300):
        assert sum(row.bars for row in fit.lay(film.FILM, track(bars, bpm=own.bpm), own.bpm)) == bars
