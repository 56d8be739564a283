"""Timeline files: what is saved is loaded; every fault is one line that names the file and the JSON path."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audio.song.score import FIRST_SONG, timeline
from audio.timeline import TimelineError
from audio.timeline_file import load, save

SONG = timeline(FIRST_SONG)


@pytest.fixture
def body(tmp_path: Path) -> dict[str, Any]:
    save(SONG, tmp_path / "good.timeline.json")
    read: dict[str, Any] = json.loads((tmp_path / "good.timeline.json").read_text(encoding="utf-8"))
    return read


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save(SONG, tmp_path / "song.timeline.json")
    assert load(tmp_path / "song.timeline.json") == SONG
    assert [path.name for path in tmp_path.iterdir()] == ["song.timeline.json"]


FAULTS: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("other format", lambda b: b.update(format="song"), "$.format"),
    ("newer version", lambda b: b.update(version=3), "$.version"),
    ("no title", lambda b: b.pop("title"), "$.title"),
    ("extra key", lambda b: b.update(tempo=132), "$.tempo"),
    ("NaN beat", lambda b: b["beats"].__setitem__(3, float("nan")), "$.beats[3]"),
    ("endless duration", lambda b: b.update(duration=float("inf")), "$.duration"),
    ("duration before the last beat", lambda b: b.update(duration=50.0), "$.duration"),
    ("beat as text", lambda b: b["beats"].__setitem__(5, "2.27"), "$.beats[5]"),
    ("unsorted beats", lambda b: b["beats"].__setitem__(7, 0.1), "$.beats[7]"),
    ("negative beat", lambda b: b["beats"].__setitem__(0, -1), "$.beats[0]"),
    ("one beat", lambda b: b.update(beats=[0.0]), "$.beats"),
    ("downbeat past the beats", lambda b: b["downbeats"].__setitem__(60, 999), "$.downbeats[60]"),
    ("unsorted downbeats", lambda b: b["downbeats"].__setitem__(2, 1), "$.downbeats[2]"),
    ("downbeat as fraction", lambda b: b["downbeats"].__setitem__(2, 8.5), "$.downbeats[2]"),
    ("unknown kind", lambda b: b["sections"][1].update(kind="solo"), "$.sections[1].kind"),
    ("overlapping section", lambda b: b["sections"][1].update(first_bar=4), "$.sections[1].first_bar"),
    ("section past the end", lambda b: b["sections"][8].update(bars=5), "$.sections[8].bars"),
    ("same name twice", lambda b: b["sections"][1].update(name="intro"), "$.sections[1].name"),
    ("word backwards", lambda b: b["lines"][2]["words"][1].update(end=0.5), "$.lines[2].words[1].end"),
    ("word over the one before", lambda b: b["lines"][2]["words"][1].update(start=14.6), "$.lines[2].words[1].start"),
    ("empty line", lambda b: b["lines"][2].update(words=[]), "$.lines[2].words"),
    ("true as a time", lambda b: b["lines"][0]["words"][0].update(start=True), "$.lines[0].words[0].start"),
    ("cue past the end", lambda b: b["cues"].update(launch=111.0), "$.cues.launch"),
    ("cues as a list", lambda b: b.update(cues=[1.0]), "$.cues"),
]


@pytest.mark.parametrize(("fault", "where"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_fault_is_named_by_its_path(
    tmp_path: Path, body: dict[str, Any], fault: Callable[[dict[str, Any]], object], where: str
) -> None:
    fault(body)
    path = tmp_path / "bad.timeline.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    with pytest.raises(TimelineError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {where}: expected ")
    assert "\n" not in message


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000])
def test_what_is_not_a_timeline_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.timeline.json"
    path.write_bytes(content)
    with pytest.raises(TimelineError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TimelineError, match="cannot read"):
        load(tmp_path / "none.timeline.json")
    with pytest.raises(TimelineError, match="cannot write"):
        save(SONG, tmp_path / "none" / "song.timeline.json")
