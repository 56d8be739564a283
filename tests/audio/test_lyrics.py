"""Captions: read back by another library or by hand-written arithmetic; every time is the timeline's own."""

from __future__ import annotations

import re
from pathlib import Path

import pysubs2
import pytest

from audio.lyrics import FORMATS, captions, save, spans
from audio.timeline import Line, SungSyllable, Timeline, TimelineError, Word

HIGHER = Word("Higher", 1.0, 1.75, (SungSyllable("High", 1.0, 1.5), SungSyllable("er", 1.5, 1.75)))
SONG = Timeline(
    "Test", 70.0, (0.0, 35.0, 70.0), (0, 1, 2),
    lines=(Line((HIGHER, Word("up,", 2.0, 2.504))), Line((Word("Röof", 61.234, 62.0),))),
)  # fmt: skip


@pytest.mark.parametrize("form", ["srt", "vtt"])
def test_srt_and_vtt_hold_each_line_to_the_millisecond(form: str) -> None:
    read = pysubs2.SSAFile.from_string(captions(SONG, form))
    assert [(e.start, e.end, e.text) for e in read] == [(1000, 2504, "Higher up,"), (61234, 62000, "Röof")]


def test_karaoke_tags_start_each_syllable_at_its_note_and_add_up_to_the_line() -> None:
    first, second = pysubs2.SSAFile.from_string(captions(SONG, "ass"))
    assert first.text == r"{\k40}{\kf50}High{\kf25}er {\k25}{\kf50}up,"
    for event, end in ((first, 250), (second, 6200)):
        assert event.start // 10 + sum(int(k) for k in re.findall(r"\\kf?(\d+)", event.text)) == end == event.end // 10


def test_enhanced_lrc_stamps_every_word() -> None:
    assert captions(SONG, "lrc").splitlines() == [
        "[ti:Test]",
        "[length:01:10.00]",
        "[00:01.00] <00:01.00> Higher <00:02.00> up, <00:02.50>",
        "[01:01.23] <01:01.23> Röof <01:02.00>",
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_files_are_whole_and_alone(tmp_path: Path, form: str) -> None:
    save(SONG, tmp_path / f"song.{form}")
    assert (tmp_path / f"song.{form}").read_text(encoding="utf-8") == captions(SONG, form)
    assert [path.name for path in tmp_path.iterdir()] == [f"song.{form}"]


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TimelineError, match="expected one of srt, vtt, ass, lrc"):
        save(SONG, tmp_path / "song.txt")
    with pytest.raises(TimelineError, match="cannot write"):
        save(SONG, tmp_path / "none" / "song.srt")
    with pytest.raises(TimelineError, match="no lyrics"):
        captions(Timeline("Silent", 2.0, (0.0, 1.0, 2.0), (0, 1, 2)), "srt")


def test_a_caption_leaves_two_frames_of_cinema_before_the_next() -> None:
    """The gap that published subtitle guides ask for: 2 frames at 24 a second, 83 ms; a line with room is left alone."""
    words = (Word("one", 1.0, 3.0), Word("two", 3.0, 4.0), Word("three", 6.0, 7.0))
    timeline = Timeline("T", 9.0, tuple(map(float, range(9))), (0, 4, 8), (), tuple(Line((word,)) for word in words))
    assert spans(timeline) == [(1.0, pytest.approx(3.0 - 2 / 24)), (3.0, 4.0), (6.0, 7.0)]
    assert "00:00:01,000 --> 00:00:02,917" in captions(timeline, "srt")
