"""A film whose track or measurements have moved since it was rendered: found where claims say, or told in one line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from audio import timeline_file, tracks
from audio.timeline import Timeline
from measure.dataset import MEASUREMENTS, Dataset
from scenes.film import Row
from scenes.render import claims_file
from scenes.render.check import captions
from scenes.render.check.film import Film
from scenes.render.claims_file import Span
from scenes.render.encode import Encoder
from scenes.render.errors import RequestError
from scenes.render.master import Piece, write_film
from scenes.render.quality import Quality

ROOT = Path(__file__).parents[2]
ROW = Row("title", "scenes.title", "Title", 1, 4, "one cube wakes")
QUALITY = Quality("t", 64, 36, 10)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with a sound in `music/` whose beats nobody has written down."""
    folder = tmp_path / "here"
    (folder / "music").mkdir(parents=True)
    with wave.open(str(folder / "music" / "mine.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(16000))
    monkeypatch.chdir(folder)
    return folder


def claims_of(film: Path, track: str, measurements: str = "rtx-3090-published") -> Path:
    """Claims without a figure, as `render` writes them beside a film."""
    timeline = Timeline("Mine", 1.0, (0.0, 0.25, 0.5, 0.75), (0, 3))
    music = tracks.Track(Path(track), timeline)
    film.parent.mkdir(parents=True, exist_ok=True)
    return claims_file.write(film, QUALITY, [Span("title", 0, 10, 0)], Dataset.open([measurements]), music, ())


def named(claims: Path) -> tuple[str, str]:
    body = json.loads(claims.read_text())
    return body["track"]["file"], body["measurements"][0]["file"]


def test_what_comes_with_the_project_is_named_and_the_rest_has_a_path(here: Path) -> None:
    own = tracks.default()
    found = claims_of(here / "out" / "film.mp4", str(own.path))
    assert named(found) == (tracks.DEFAULT, "rtx-3090-published")
    assert claims_file.track_of(claims_file.read(found)).path == own.path
    assert named(claims_of(here / "out" / "film.mp4", "music/mine.wav"))[0] == str(here / "music" / "mine.wav")
    assert named(claims_of(here / "film.mp4", "music/mine.wav"))[0] == "music/mine.wav"


@pytest.mark.parametrize("film", ["film.mp4", "out/film.mp4"])
def test_a_relative_track_is_found_from_elsewhere(here: Path, film: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = claims_of(Path(film), "music/mine.wav").absolute()
    monkeypatch.chdir("/")
    assert claims_file.track_of(claims_file.read(claims)).path == here / "music" / "mine.wav"


def test_film_and_files_that_moved_together_find_each_other(here: Path, tmp_path: Path) -> None:
    shutil.copy(MEASUREMENTS / "rtx-3090-published.json", here / "music" / "gpu.json")
    claims = claims_of(here / "out" / "film.mp4", "music/mine.wav", "music/gpu.json")
    there = tmp_path / "there"
    there.mkdir()
    for path in (claims, here / "music" / "mine.wav", here / "music" / "gpu.json"):
        shutil.move(path, there / path.name)
    body = claims_file.read(there / claims.name)
    assert claims_file.track_of(body).path == there / "mine.wav"
    assert claims_file.dataset_of(body).specs == (str(there / "gpu.json"),)


def test_claims_of_before_name_the_track_from_where_the_render_stood(here: Path) -> None:
    claims = claims_of(here / "out" / "film.mp4", "music/mine.wav")
    body = json.loads(claims.read_text())
    body["track"]["file"] = "music/mine.wav"
    claims.write_text(json.dumps(body))
    assert claims_file.track_of(claims_file.read(claims)).path == here / "music" / "mine.wav"


def test_the_film_keeps_its_own_timeline(here: Path) -> None:
    """Also over a track of the project, whose timeline may have been written anew since."""
    claims = claims_of(here / "film.mp4", str(tracks.default().path))
    assert claims_file.track_of(claims_file.read(claims)).timeline.title == "Mine"
    assert timeline_file.SUFFIX not in claims.name


@pytest.mark.parametrize("body", [{"claims": []}, {"claims": [], "track": {}, "measurements": []}, {"claims": [], "track": 1}])
def test_claims_of_no_film_are_one_line(here: Path, body: dict[str, object]) -> None:
    (here / "film.claims.json").write_text(json.dumps(body))
    with pytest.raises(RequestError, match=r"film\.claims\.json: expected the claims of a film as render writes them, found "):
        claims_file.read(here / "film.claims.json")


def tiny_film(path: Path) -> None:
    """A second of black and of silence."""
    samples = np.zeros((48_000, 2), np.int16)
    with Encoder(path.with_suffix(".part.mp4"), QUALITY) as encoder:
        for _ in range(QUALITY.fps):
            encoder.write(np.zeros((QUALITY.height, QUALITY.width, 4), np.uint8))
    write_film(path, [Piece(path.with_suffix(".part.mp4"), QUALITY.fps)], samples, QUALITY.fps)


def run(*arguments: str, cwd: Path) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr.strip().splitlines()


def test_what_is_no_film_is_one_line_of_every_program(here: Path) -> None:
    (here / "film.mp4").write_text("no film")
    claims_of(here / "film.mp4", "music/mine.wav")
    told = "film.mp4: cannot be read as a film: invalid data found when processing input"
    assert run("-m", "scenes.render.lamps", "film.mp4", cwd=here) == (2, [told])
    with pytest.raises(RequestError, match=told):
        Film.open(Path("film.mp4"))
    with pytest.raises(RequestError, match=r"music/mine\.wav: expected a film with picture and sound, found audio"):
        Film.open(Path("music/mine.wav"))


def test_a_track_without_words_has_nothing_to_lint() -> None:
    assert list(captions.lint(Timeline("Mine", 1.0, (0.0, 0.25, 0.5, 0.75), (0, 3)))) == []


def test_what_is_gone_is_one_line_of_every_program(here: Path) -> None:
    film = here / "film.mp4"
    claims = claims_of(film, "music/mine.wav")
    tiny_film(film)
    shutil.move(here / "music" / "mine.wav", here / "music" / "other.wav")
    gone = f"track '{here / 'music' / 'mine.wav'}': no such file: name the sound that the film was made with, with --track"
    for module in ("lamps", "sheets"):
        assert run("-m", f"scenes.render.{module}", str(film), cwd=here) == (2, [gone]), module
    code, lines = run(str(ROOT / "roofline.py"), "check", "film.mp4", cwd=here)
    assert (code, lines) == (2, [f"roofline: {gone}"])
    body = json.loads(claims.read_text())
    body["measurements"][0]["file"] = "/nowhere/gpu.json"
    claims.write_text(json.dumps(body))
    code, lines = run("-m", "scenes.render.claims_file", str(claims), cwd=here)
    assert (code, lines) == (2, ["/nowhere/gpu.json: no such measurement file"])
    assert run("-m", "scenes.render.claims_file", cwd=here)[0] == 2
