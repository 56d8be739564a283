"""Whole renders of a short film: the same frames however they come about, what is drawn anew and why, and what goes wrong."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from audio import tracks
from audio.decode import from_array
from measure.dataset import MEASUREMENTS
from scenes.film import Row
from scenes.render import claims_file, report
from scenes.render.cache import Cache
from scenes.render.errors import RenderError, RequestError
from scenes.render.lamps import decoded_sound
from scenes.render.make import Report, Request, make, still, survey
from scenes.render.progress import Lines

HELPERS = Path(__file__).parent / "helpers"
sys.path.insert(0, str(HELPERS))  # the processes that draw find the passages there too
import short_film  # noqa: E402


def decoded(film: Path) -> list[str]:
    """One digest a decoded frame."""
    with av.open(str(film)) as container:
        return [hashlib.sha256(frame.to_ndarray().tobytes()).hexdigest() for frame in container.decode(video=0)]


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> tuple[Request, Cache, Report]:
    """The film drawn from nothing by two processes; its request, its cache and what came of it."""
    folder = tmp_path_factory.mktemp("cold")
    request, cache = short_film.request(folder), Cache(folder / "cache")
    return request, cache, make(request, folder / "film.mp4", cache, workers=2)


def test_the_film_is_as_long_as_the_sound_and_holds_every_frame(cold: tuple[Request, Cache, Report]) -> None:
    request, _, made = cold
    expected = round(request.timeline.duration * request.quality.fps)
    assert made.frames == made.drawn == expected == len(decoded(made.film))


def test_drawn_again_it_comes_from_the_cache_and_is_the_same(cold: tuple[Request, Cache, Report], tmp_path: Path) -> None:
    request, cache, made = cold
    again = make(request, tmp_path / "again.mp4", cache)
    assert again.drawn == 0
    assert decoded(again.film) == decoded(made.film)
    assert again.film.read_bytes() == made.film.read_bytes()


def test_killed_and_gone_on_with_in_one_process_it_is_the_same(cold: tuple[Request, Cache, Report], tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(HELPERS)!r})
def go():
    from pathlib import Path
    import short_film
    from scenes.render.cache import Cache
    from scenes.render.make import make
    folder = Path({str(tmp_path)!r})
    make(short_film.request(folder), folder / "film.mp4", Cache(folder / "cache"), workers=1)
if __name__ == "__main__":
    go()
"""
    (tmp_path / "run.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen([sys.executable, str(tmp_path / "run.py")], env=environment)
    while process.poll() is None and not list(tmp_path.glob("cache/segments/**/*.json")):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "film.mp4").exists()
    request, cache = short_film.request(tmp_path), Cache(tmp_path / "cache")
    hits = [lookup.entry is not None for lookup in survey(request, cache)]
    assert any(hits) and not all(hits)
    made = make(request, tmp_path / "film.mp4", cache, workers=1)
    assert made.drawn < made.frames
    assert decoded(made.film) == decoded(cold[2].film)


def test_a_changed_figure_redraws_the_scene_that_reads_it_and_says_so(
    cold: tuple[Request, Cache, Report], tmp_path: Path
) -> None:
    document = json.loads((MEASUREMENTS / "rtx-3090-published.json").read_text())
    document["roofs"]["dram"]["datasheet"]["value"] *= 2
    # under the same name, since the name of a file is a part of every claim
    (tmp_path / "rtx-3090-published.json").write_text(json.dumps(document))
    request = short_film.request(tmp_path, measurements=tmp_path / "rtx-3090-published.json")
    lookups = survey(request, cold[1])
    assert {lookup.segment.row.name for lookup in lookups if lookup.entry is None} == {"small"}
    assert {lookup.why for lookup in lookups if lookup.entry is None} == {"changed: measurements (roof dram)"}
    table = report.segments(lookups, request.quality)
    assert "miss   changed: measurements (roof dram)" in table and "hit" in table
    made = make(request, tmp_path / "film.mp4", cold[1])
    claims = claims_file.read(made.claims)
    assert "1.872 TB/s" in [claim["text"] for claim in claims["claims"]]
    assert list(claims_file.check(claims, claims_file.dataset_of(claims))) == []


def test_the_claims_name_frames_and_values(cold: tuple[Request, Cache, Report]) -> None:
    request, _, made = cold
    body = claims_file.read(made.claims)
    found = [
        (claim["scene"], claim["text"], claim["key"], claim["first_frame"], claim["last_frame"]) for claim in body["claims"]
    ]
    bar_3, bar_5 = (round(request.timeline.time(bar) * 15) for bar in (3, 5))
    assert found == [
        ("small", "35.6 TFLOP/s", "roofs.fp32.datasheet", 0, bar_5 - 1),
        ("small", "0.936 TB/s", "roofs.dram.datasheet", pytest.approx(bar_3, abs=1), bar_5 - 1),
        ("sequel", "35.6 TFLOP/s", "roofs.fp32.datasheet", bar_5, made.frames - 1),
    ]
    assert [(span["scene"], span["first"], span["last"]) for span in body["spans"]] == [
        ("small", 0, bar_5), ("sequel", bar_5, made.frames),
    ]  # fmt: skip


def test_one_scene_is_its_own_span_with_its_own_sound(cold: tuple[Request, Cache, Report], tmp_path: Path) -> None:
    request, cache, made = cold
    part = make(Request(short_film.ROWS[1:], request.quality, request.dataset, request.track, short_film.ROWS),
                tmp_path / "sequel.mp4", cache)  # fmt: skip
    assert part.drawn == 0
    assert decoded(part.film) == decoded(made.film)[-part.frames :]


def test_the_sound_that_was_decoded_is_the_sound_of_the_film(cold: tuple[Request, Cache, Report], tmp_path: Path) -> None:
    """A tone of 1 kHz in the place of the track's bursts, handed on as decoded: the file itself is not read again."""
    request, cache, _ = cold
    t = np.arange(round(request.timeline.duration * 48_000)) / 48_000
    tone = np.repeat((8_000 * np.sin(2 * np.pi * 1000 * t)).astype(np.int16)[:, None], 2, axis=1)
    made = make(replace(request, sound=from_array(tone)), tmp_path / "tone.mp4", cache)
    heard = decoded_sound(made.film).mean(axis=1)
    assert np.argmax(np.abs(np.fft.rfft(heard))) * 48_000 / len(heard) == pytest.approx(1000, abs=1)


def test_the_claims_carry_the_timeline_that_the_film_was_laid_over(cold: tuple[Request, Cache, Report]) -> None:
    request, _, made = cold
    beside = request.track.path.with_name("short.timeline.json")
    kept = beside.read_bytes()
    beside.unlink()  # a user's track has none
    try:
        track = claims_file.track_of(claims_file.read(made.claims))
    finally:
        beside.write_bytes(kept)
    assert track.path == request.track.path and track.timeline == request.track.timeline
    with pytest.raises(tracks.TrackError, match="no such file: name the sound that the film was made with, with --track"):
        claims_file.track_of(claims_file.read(made.claims), "moved.wav")


def test_nothing_is_written_where_the_caller_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "manim.cfg").write_text("[CLI]\nframe_rate = fast\n")  # Manim would stumble over it
    monkeypatch.chdir(here)
    row = short_film.ROWS[0]
    request = short_film.request(tmp_path, rows=(row,))
    frame = still(request, 3, 2.5, tmp_path / "still.png", Cache(tmp_path / "cache"))
    assert frame == round((request.timeline.beats[9] + request.timeline.beats[10]) / 2 * 15)
    assert [path.name for path in here.iterdir()] == ["manim.cfg"]
    assert (tmp_path / "still.png").stat().st_size > 1000
    assert capsys.readouterr() == ("", "")
    for bar, beat in ((0, 1), (5, 1), (1, 5), (1, 0.5)):
        with pytest.raises(RequestError, match="bars 1 to 4 of 4 beats"):
            still(request, bar, beat, tmp_path / "still.png", Cache(tmp_path / "cache"))


def test_a_scene_that_fails_is_one_line_and_leaves_no_film(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RenderError) as failure:
        make(
            short_film.request(tmp_path, rows=(short_film.BROKEN,)),
            tmp_path / "film.mp4",
            Cache(tmp_path / "cache"),
            1,
            Lines(),
        )
    told, trace = str(failure.value).split("; the whole trace is in ")
    assert told == "broken: ZeroDivisionError: a scene's own mistake (small_passage.py:61)"
    assert "in construct" in Path(trace).read_text()
    assert not list(tmp_path.glob("*film*"))
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (short_film.ABSENT, "absent: AttributeError: module 'small_passage' has no attribute 'Absent'"),
        (short_film.UNIMPORTABLE, "unimportable: ImportError: cannot import name 'no_such_colour'"),
    ],
    ids=["absent", "unimportable"],
)
def test_a_scene_that_is_not_there_is_one_line(row: Row, told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RenderError) as failure:
        make(short_film.request(tmp_path, rows=(row,)), tmp_path / "film.mp4", Cache(tmp_path / "cache"), 1)
    assert str(failure.value).startswith(told)
    assert capfd.readouterr().err == ""


def test_a_process_that_dies_is_named(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match=r"dies: the process that drew frames 0 to 41 died \(SIGKILL: out of memory\?"):
        make(short_film.request(tmp_path, rows=(short_film.DIES,)), tmp_path / "film.mp4", Cache(tmp_path / "cache"), workers=1)
    assert not list((tmp_path / "cache" / "scratch").iterdir())


def test_a_film_has_to_be_an_mp4_in_a_place_that_can_be_written(tmp_path: Path) -> None:
    request = short_film.request(tmp_path)
    with pytest.raises(RequestError, match=r"ends in \.mp4"):
        make(request, tmp_path / "film.mov", Cache(tmp_path / "cache"))
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match=r"cannot be written: (file exists|not a directory)"):
        make(request, tmp_path / "file" / "film.mp4", Cache(tmp_path / "cache"))
