"""Beats from files, as tools write them; what is wrong in them, in one line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from audio import beats_file
from audio.timeline import Timeline, TimelineError


def read(folder: Path, text: str, name: str = "song.txt") -> beats_file.Beats:
    (folder / name).write_text(text)
    return beats_file.read(folder / name)


def test_beats_with_their_numbers(tmp_path: Path) -> None:
    found = read(tmp_path, "# a comment\n0.5 3\n1.0 1\n1.5 2\n\n2.0 3\n2.5 1\n", "song.beats")
    assert found == beats_file.Beats((0.5, 1.0, 1.5, 2.0, 2.5), (3, 1, 2, 3, 1))


def test_audacity_labels_of_bar_and_beat(tmp_path: Path) -> None:
    text = "".join(f"{0.5 * k:.6f}\t{0.5 * k:.6f}\t{1 + k // 3}.{1 + k % 3}\n" for k in range(6))
    assert read(tmp_path, text).numbers == (1, 2, 3, 1, 2, 3)


def test_audacity_labels_of_ranges_of_frequency_are_passed_by(tmp_path: Path) -> None:
    text = "".join(f"{k}.0\t{k}.0\t{1 + k % 4}\n\\\t100.0\t200.0\n" for k in range(5))
    assert read(tmp_path, text).times == (0.0, 1.0, 2.0, 3.0, 4.0)


def test_times_alone_are_bars_of_four(tmp_path: Path) -> None:
    assert read(tmp_path, "0.1\n0.6\n1.1\n1.6\n2.1\n2.6\n").numbers == (1, 2, 3, 4, 1, 2)


def test_the_labels_of_a_timeline_are_read_back(tmp_path: Path) -> None:
    times = tuple(0.25 + 0.5 * k for k in range(13))
    beats_file.write(Timeline("a", 7.0, times, (0, 3, 6, 9, 12)), tmp_path / "a.txt")
    found = beats_file.read(tmp_path / "a.txt")
    assert found.times == times[:-1]  # the end of the last bar is no beat
    assert found.numbers == (1, 2, 3) * 4
    assert (tmp_path / "a.txt").read_text().splitlines()[4] == "2.2500\t2.2500\t2.2"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0.5\n1\n0.9\n", r"song.txt:3: expected a time after the beat before \(1 s\), found 0.9 s"),
        ("0.5\none\n", r"song.txt:2: expected a time in seconds, found 'one'"),
        ("-1\n", r"song.txt:1: expected a time in seconds, found '-1'"),
        ("inf\n", r"song.txt:1: expected a time in seconds, found 'inf'"),
        ("0 1\n1\n", r"song.txt:2: expected a beat number, as on the lines before, found ''"),
        ("0 1\n1 verse\n", r"song.txt:2: expected a beat's number in its bar \(1 to 32\), found 'verse'"),
        ("0 1\n1 2\n2 4\n3 1\n4 2\n", r"song.txt: beat 3 at 2 s: expected number 3 or 1, found 4"),
        ("0 1\n1 2\n", r"song.txt: expected at least 5 beats, found 2"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(TimelineError, match=told):
        read(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TimelineError, match=r"none\.txt: cannot read the beats: no such file"):
        beats_file.read(tmp_path / "none.txt")
    (tmp_path / "song.txt").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(TimelineError, match="found a file that is not UTF-8 text"):
        beats_file.read(tmp_path / "song.txt")
