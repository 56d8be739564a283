"""Segments: together exactly the film, cut on bar lines, at any rate; names and digests of what a picture is made from."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from audio.timeline import Line, Timeline, Word
from audio.timeline_file import load
from audio.tracks import DEFAULT, HERE
from scenes import film
from scenes.film import FILM, Row, UnknownSceneError
from scenes.render import content
from scenes.render.plan import Segment, choose, cut, plan
from scenes.render.quality import QUALITIES, Quality
from scenes.stage.clock import OverrunError

SONG = load(HERE / f"{DEFAULT}.timeline.json")
H = QUALITIES["h"]
PLAIN = tuple(replace(row, transition=None) for row in FILM)  # transitions have their own tests
LAUNCH = next(row for row in PLAIN if row.name == "launch")


@pytest.mark.parametrize("fps", [15, 24, 30, 60, 50])
def test_the_films_segments_are_every_frame_of_the_song(fps: int) -> None:
    segments = plan(FILM, SONG, H.at(fps))
    assert segments[0].first == 0
    assert all(before.last == after.first for before, after in pairwise(segments))
    assert segments[-1].last == round(SONG.duration * fps)


def test_the_rows_follow_one_another_over_all_bars() -> None:
    bars = [bar for row in FILM for bar in range(row.first_bar, row.first_bar + row.bars)]
    assert bars == list(range(1, SONG.bars + 1))


def test_segments_are_cut_on_bar_lines() -> None:
    for segment in cut(film.row("indexing"), SONG, 60)[1:]:
        bar = segment.row.first_bar + segment.first_bar - 1
        assert segment.first == round(SONG.time(bar) * 60)


def test_an_odd_bar_is_left_for_the_last_segment() -> None:
    segments = cut(Row("x", "m", "X", 3, 5, ""), SONG, 30)
    assert [(segment.first_bar, segment.last_bar) for segment in segments] == [(1, 2), (3, 4), (5, 5)]


def test_a_track_that_is_too_short_is_refused() -> None:
    short = Timeline("short", 4.0, tuple(0.25 * k for k in range(17)), (0, 4, 8, 12, 16))
    with pytest.raises(OverrunError, match="bars 11 to 16"):
        plan((film.row("indexing"),), short, H)


def test_scenes_come_in_the_order_of_the_film() -> None:
    assert [row.name for row in choose(["roof-1", "title"])] == ["title", "roof-1"]
    assert choose([]) == FILM
    with pytest.raises(UnknownSceneError, match=r"no scene 'indxing'.*indexing"):
        choose(["indxing"])


# ---- what a picture is made from -----------------------------------------------------------------------------------------


def parts(row: Row = LAUNCH, timeline: Timeline = SONG, quality: Quality = H) -> dict[str, str]:
    return content.parts(Segment(row, 1, 2, 0, 10), timeline, quality, PLAIN)


def changed(one: dict[str, str], other: dict[str, str]) -> set[str]:
    return {name for name in {*one, *other} if one.get(name) != other.get(name)}


def test_the_closure_holds_what_draws_and_nothing_that_only_plans() -> None:
    found = parts()
    assert {"scenes.launch", "scenes.stage.passage", "scenes.stage.raster", "scenes.stage.colour", "scenes.render.encode",
            "audio.timeline", "measure.dataset", "measure.records"} <= set(found)  # fmt: skip
    assert not {"scenes.indexing", "scenes.render.cache", "scenes.render.pool", "scenes.render.master", "kernels"} & set(found)


def test_music_of_elsewhere_does_not_count() -> None:
    first_word = SONG.lines[0].words[0]
    there, here = SONG.lines[-1], next(line for line in SONG.lines if line.start > SONG.time(13))
    sung = {
        line: tuple(Line((Word("else", line.start, line.end),)) if other is line else other for other in SONG.lines)
        for line in (there, here)
    }
    assert first_word.start < SONG.time(13) - content.LYRIC_REACH
    assert not changed(parts(), parts(timeline=replace(SONG, lines=sung[there])))
    assert changed(parts(), parts(timeline=replace(SONG, lines=sung[here]))) == {"timeline"}
    late = (*SONG.beats[:-1], SONG.beats[-1] + 0.1)
    assert not changed(parts(), parts(timeline=replace(SONG, beats=late)))


def test_the_tail_of_the_sound_belongs_to_the_last_scene_only() -> None:
    longer = replace(SONG, duration=SONG.duration + 1)
    assert not changed(parts(), parts(timeline=longer))
    assert changed(parts(FILM[-1]), parts(FILM[-1], longer)) == {"timeline"}


def test_quality_rungs_and_row_count() -> None:
    assert changed(parts(), parts(quality=QUALITIES["l"])) == {"encoder"}
    row = LAUNCH
    moved = content.parts(Segment(replace(row, bars=3), 1, 2, 0, 10), SONG, H, PLAIN)
    assert changed(parts(), moved) == {"row", "timeline"}
    earlier = tuple(replace(other, rungs=("vectorised",)) if other.name == "title" else other for other in PLAIN)
    assert changed(parts(), content.parts(Segment(row, 1, 2, 0, 10), SONG, H, earlier)) == {"rungs shown before"}


def test_comments_and_layout_do_not_count_but_code_and_new_imports_do(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    scene, helper = tmp_path / "some_scene.py", tmp_path / "some_helper.py"
    helper.write_text("SIZE = 1\n")

    def found(source: str) -> dict[str, str]:
        scene.write_text(source)
        for cached in (content._path, content._tree, content._source_digest, content.closure):
            cached.cache_clear()
        return content.parts(Segment(Row("s", "some_scene", "S", 1, 4, ""), 1, 2, 0, 10), SONG, H, ())

    plain = found("import some_helper\nX = 1\n")
    assert "some_helper" in plain
    assert not changed(plain, found("import some_helper  # here\n\n\nX = (\n    1\n)\n"))
    assert changed(plain, found("import some_helper\nX = 2\n")) == {"some_scene"}
    helper.write_text("SIZE = 2\n")
    assert changed(plain, found("import some_helper\nX = 1\n")) == {"some_helper"}
    assert changed(plain, found("X = 1\n")) == {"some_scene", "some_helper"}
    for cached in (content._path, content._tree, content._source_digest, content.closure):
        cached.cache_clear()


def test_a_new_scene_elsewhere_in_the_film_changes_no_other() -> None:
    source = Path(film.__file__).read_text()
    assert "FILM: tuple[Row, ...] = (" in source
    content._source_digest.cache_clear()
    before = content._source_digest("scenes.film")
    tree = content._tree("scenes.film")
    try:
        import ast

        more = source.replace(
            "FILM: tuple[Row, ...] = (", 'FILM: tuple[Row, ...] = (\n    Row("new", "scenes.new", "New", 111, 4, "x"),'
        )
        tree.body[:] = ast.parse(more).body
        content._source_digest.cache_clear()
        assert content._source_digest("scenes.film") == before
    finally:
        content._tree.cache_clear()
        content._source_digest.cache_clear()
