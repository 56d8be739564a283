"""A user's words: LRC with lines or words stamped, SRT; what is wrong in them, in one line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from audio import lyrics_file
from audio.timeline import Line, TimelineError


def read(folder: Path, text: str, name: str = "song.lrc", duration: float = 60.0) -> tuple[Line, ...]:
    (folder / name).write_text(text)
    return lyrics_file.read(folder / name, duration)


def spans(lines: tuple[Line, ...]) -> list[list[tuple[str, float, float]]]:
    return [[(word.text, round(word.start, 3), round(word.end, 3)) for word in line.words] for line in lines]


def test_enhanced_lrc_stamps_every_word(tmp_path: Path) -> None:
    text = "[ti:A song]\n[00:01.00]<00:01.00>one <00:01.50>more <00:02.25>time<00:03.00>\n"
    assert spans(read(tmp_path, text)) == [[("one", 1.0, 1.5), ("more", 1.5, 2.25), ("time", 2.25, 3.0)]]


def test_words_of_a_stamped_line_share_its_time_by_their_length(tmp_path: Path) -> None:
    # Ten letters with a space after each word, 2 s until the next line: longer than 0.16 s a letter, so 1.6 s are shared.
    text = "[00:10.00]abc abcde\n[00:12.00]end\n"
    assert spans(read(tmp_path, text))[0] == [("abc", 10.0, 10.64), ("abcde", 10.64, 11.6)]


def test_a_line_written_once_and_stamped_twice_is_sung_twice(tmp_path: Path) -> None:
    found = read(tmp_path, "[00:20.00][00:05.00]again\n[00:10.00]between\n")
    assert [(line.text, line.start) for line in found] == [("again", 5.0), ("between", 10.0), ("again", 20.0)]


def test_a_positive_offset_brings_the_words_sooner(tmp_path: Path) -> None:
    assert read(tmp_path, "[offset:+500]\n[00:10.00]word\n")[0].start == 9.5


def test_srt_lines_fill_their_time_without_their_markup(tmp_path: Path) -> None:
    text = "1\r\n00:00:01,000 --> 00:00:03,000\r\n<i>ab</i> ab\r\n\r\n2\r\n00:01:01,500 --> 00:01:02,500\r\nend\r\n"
    found = read(tmp_path, text, "song.srt", 70.0)
    assert spans(found) == [[("ab", 1.0, 2.0), ("ab", 2.0, 3.0)], [("end", 61.5, 62.5)]]


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("[00:05.00]a\n[00:04.00]b\n", "song.lrc", r"song.lrc:2: expected a time after the line before \(5 s\), found 4 s"),
        ("only words\n", "song.lrc", r"song.lrc:1: expected \[minutes:seconds\] words, found 'only words'"),
        ("[00:01.00]<00:02.00>a <00:01.50>b\n", "song.lrc", r"song.lrc:1: expected a time after the word before"),
        ("[02:00.00]late\n", "song.lrc", r"'late' at 120 s: expected a time inside of the track \(0 to 60.0 s\)"),
        ("[ti:nothing]\n", "song.lrc", "expected lines with times, found none"),
        ("1\nwords\n", "song.srt", "expected 00:00:01,000 --> 00:00:02,000 in every block, found '1"),
        ("1\n00:00:03,000 --> 00:00:02,000\nx\n", "song.srt", "expected times that follow 0 s and one another"),
        ("x", "song.docx", r"song.docx: expected lyrics as .lrc or .srt, found .docx"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, name: str, told: str) -> None:
    with pytest.raises(TimelineError, match=told):
        read(tmp_path, text, name)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TimelineError, match="cannot read the lyrics: no such file"):
        lyrics_file.read(tmp_path / "none.lrc", 1.0)
    (tmp_path / "a.lrc").write_bytes(b"\xff\xff")
    with pytest.raises(TimelineError, match="expected lyrics as UTF-8 text"):
        lyrics_file.read(tmp_path / "a.lrc", 1.0)
