"""Where films go, so that none takes another's place unasked; and what goes with the film whose place one takes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from audio import tracks
from measure.dataset import MEASUREMENTS, Dataset
from scenes import film
from scenes.render import make
from scenes.render.cache import VARIABLE
from scenes.render.errors import RenderError
from scenes.render.publish import formats, verb
from scenes.render.quality import QUALITIES

HELPERS = Path(__file__).parent / "helpers"
sys.path.insert(0, str(HELPERS))  # the processes that draw find the passages there too
import short_film  # noqa: E402

STALE = ("film.html", "film.check.html", "film.check.json")
OWN = ("film.txt", "film.wav", "other.srt", "notes.html")
WORDS = ("film.srt", "film.vtt", "film.ass", "film.lrc")


def placed(specs: list[Path | str], track: tracks.Track | None = None) -> str:
    request = make.Request(film.FILM, QUALITIES["l"], Dataset.open(specs), track or tracks.default())
    return verb.place(request, (), formats.FORMATS["mp4"], False).as_posix()


def test_a_film_s_folder_is_named_after_what_is_not_the_project_s_own(tmp_path: Path) -> None:
    mine = tmp_path / "My GPU (v1.2).json"
    mine.write_text((MEASUREMENTS / "rtx-3090-published.json").read_text())
    song, clash = (replace(tracks.default(), path=tmp_path / name) for name in ("Mine!.mp3", "up-to-the-light.opus"))
    assert placed([]) == placed(["hgx-h100-published", "nvidia-h200"]) == "film/film.mp4"
    assert placed(["rtx-3090-published"]) == "film-rtx-3090-published/film.mp4"
    assert placed(["rtx-3090-published", "hgx-h100-published"]) == "film-rtx-3090-published-hgx-h100-published/film.mp4"
    assert placed([mine]) == "film-my-gpu-v1-2/film.mp4"
    assert placed([], song) == "film-mine/film.mp4" and placed([mine], song) == "film-my-gpu-v1-2-mine/film.mp4"
    assert placed([], tracks.open("up-to-the-light-instrumental")) == "film-up-to-the-light-instrumental/film.mp4"
    assert placed([], clash) == "film-up-to-the-light/film.mp4"  # called as the project's song, and another


def test_a_name_without_latin_letters_still_names_a_folder() -> None:
    assert verb.slug("\u5149") == verb.slug("\u5149") != verb.slug("\u591c")
    assert verb.slug("\u5149").isalnum() and verb.slug("../a b") == "a-b" and verb.slug("Caf\u00e9") == "cafe"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the cache and the track of all of these films, so that each is drawn once."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture
def filled(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> make.Request:
    """A folder with a film that is sung, its page and report, and files of somebody's own."""
    monkeypatch.setenv(VARIABLE, str(shared / "cache"))
    request = short_film.request(shared / "track")
    out = tmp_path / "out"
    verb.deliver(request, (), tmp_path, out / "film.mp4", None, False, 1)
    (out / STALE[0]).write_text('<html><meta name="generator" content="roofline 1.0"></html>')
    (out / STALE[1]).write_text("<html><title>Checks of film.mp4</title>8 checks, all passed</html>")
    (out / STALE[2]).write_text('{"film": "film.mp4", "frames": 1, "fps": 15}')
    for name in OWN:
        (out / name).write_text("mine")
    return request


def silent(request: make.Request) -> make.Request:
    """The same film without words, at another rate, so that it is another."""
    bare = replace(request.track, timeline=replace(request.track.timeline, lines=()))
    return replace(request, track=bare, quality=request.quality.at(10))


def test_what_belongs_to_the_film_before_goes_and_what_is_somebody_s_stays(tmp_path: Path, filled: make.Request) -> None:
    out = tmp_path / "out"
    (out / "film.vtt").write_text("WEBVTT\n\nwords by hand")
    said = verb.deliver(silent(filled), (), tmp_path, out / "film.mp4", None, False, 1).splitlines()
    kept = {"film.mp4", "film.claims.json", "film.description.txt", "film.provenance.json", "film.thumbnail.png"}
    assert {path.name for path in out.iterdir()} == kept | {*OWN, "film.vtt"}
    told = next(line for line in said if line.startswith("removed, "))
    assert {name.strip() for name in told.partition(":")[2].split(",")} == {*STALE, "film.srt", "film.ass", "film.lrc"}
    assert said[-1] == f"prove it: ./roofline check {out / 'film.mp4'}"


def test_the_same_film_again_keeps_its_page_and_report(tmp_path: Path, filled: make.Request) -> None:
    said = verb.deliver(filled, (), tmp_path, tmp_path / "out" / "film.mp4", None, False, 1)
    assert {*STALE, *WORDS, *OWN} <= {path.name for path in (tmp_path / "out").iterdir()} and "removed" not in said


def test_a_render_that_fails_removes_nothing(
    tmp_path: Path, filled: make.Request, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    def fail(*_: object, **__: object) -> int:
        raise RenderError("stopped")

    monkeypatch.setattr("scenes.render.master.write_film", fail)
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(RenderError, match="stopped"):
        verb.deliver(silent(filled), (), tmp_path, tmp_path / "out" / "film.mp4", None, False, 1)
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_a_draft_is_called_one(tmp_path: Path, filled: make.Request) -> None:
    draft = replace(filled, quality=replace(filled.quality, letter="l"))
    assert "a draft: 320x180 at 15: " in verb.deliver(draft, (), tmp_path, tmp_path / "a.mp4", None, False, 1)
    assert "ready to be posted: " in verb.deliver(filled, (), tmp_path, tmp_path / "a.mp4", None, False, 1)
