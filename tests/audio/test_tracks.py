"""Tracks by name and by path: a sound file needs its timeline beside it, and says so in one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from audio import tracks
from audio.timeline import TimelineError


def test_the_default_is_the_projects_song() -> None:
    track = tracks.default()
    assert track.path.is_file() and track.path.suffix in tracks.SOUNDS
    assert track.timeline.title == "Up to the Light"
    assert track.path.stem in tracks.names()
    assert tracks.open(track.path) == track
    assert tracks.open(track.path.stem) == track


def test_a_users_track_needs_a_timeline_beside_it(tmp_path: Path) -> None:
    mine = tmp_path / "my song.mp3"
    mine.write_bytes(b"sound")
    with pytest.raises(tracks.TrackError) as caught:
        tracks.open(mine)
    assert str(tmp_path / "my song.timeline.json") in str(caught.value) and "\n" not in str(caught.value)
    shutil.copy(tracks.HERE / f"{tracks.DEFAULT}.timeline.json", tmp_path / "my song.timeline.json")
    assert tracks.open(str(mine)).timeline.bars == 110
    (tmp_path / "my song.timeline.json").write_text("{}", encoding="utf-8")
    with pytest.raises(TimelineError, match=r"\$\.format"):
        tracks.open(mine)


def test_an_unknown_track_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(tracks.TrackError, match="climb-to-the-line"):
        tracks.open("symphony")
    with pytest.raises(tracks.TrackError, match="no such file"):
        tracks.open(tmp_path / "none.wav")
