"""Scenes as files of every format: what is in the file, loops without a seam, coverage; and the film's thumbnail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from audio import tracks
from measure.dataset import Dataset
from scenes import film
from scenes.render.cache import VARIABLE, Cache
from scenes.render.errors import RequestError
from scenes.render.make import Report, Request, Titles, make
from scenes.render.plan import cut
from scenes.render.publish import convert, encode, kit, thumbnail, verb
from scenes.render.publish.alpha import StageFrames, matte
from scenes.render.publish.formats import FORMATS, choose
from scenes.render.publish.frames import Frame, Loop, melted, wiped
from scenes.render.quality import QUALITIES

HELPERS = Path(__file__).parent / "helpers"
sys.path.insert(0, str(HELPERS))  # the processes that draw find the passages there too
import short_film  # noqa: E402


@dataclass
class Slide:
    """A bright bar that moves a step to the right each frame; every frame is told from every other."""

    count: int = 30
    fps: int = 30
    size: tuple[int, int] = (96, 64)
    channels: int = 3

    def between(self, first: int, last: int) -> Iterator[Frame]:
        for number in range(first, last):
            frame = np.full((self.size[1], self.size[0], self.channels), 16, np.uint8)
            frame[:, 3 * number : 3 * number + 6] = (0, 229, 255, 255)[: self.channels]
            yield frame


def sound(frames: int, fps: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    t = np.arange(round(frames / fps * 48_000)) / 48_000
    tone = (8000 * np.sin(2 * np.pi * 440 * t)).astype(np.int16)
    return np.stack([tone, tone], axis=1)


# ---- which format -----------------------------------------------------------------------------------------------------


def test_a_format_is_chosen_by_name_or_by_ending() -> None:
    assert choose(None, None).name == "mp4" and choose("webm", None).name == "webm"
    assert choose(None, Path("a.GIF")).name == "gif" and choose("mov-alpha", Path("a.mov")).name == "mov-alpha"
    with pytest.raises(RequestError, match=r"a\.avi: no film ends like that: expected one of \.mp4"):
        choose(None, Path("a.avi"))
    with pytest.raises(RequestError, match=r"a\.mp4: gif ends in \.gif"):
        choose("gif", Path("a.mp4"))


def test_loops_for_slides_are_small_and_their_steps_even() -> None:
    gif = FORMATS["gif"]
    assert gif.size(1920, 1080) == (640, 360) and gif.size(320, 180) == (320, 180)
    assert [gif.every(fps) for fps in (15, 24, 30, 60)] == [1, 2, 2, 3]
    assert FORMATS["webm"].size(1920, 1080) == (1920, 1080) and FORMATS["webm"].every(60) == 1


# ---- what is in the files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "video", "pixels", "audio", "rate"),
    [("mp4", "h264", "yuv420p", "aac", 30), ("webm", "vp9", "yuv420p", "opus", 30),
     ("mov-alpha", "prores", "yuva444p12le", "pcm_s16le", 30), ("gif", "gif", None, None, 15)],
)  # fmt: skip
def test_a_file_holds_what_its_format_promises(
    tmp_path: Path, name: str, video: str, pixels: str | None, audio: str | None, rate: int
) -> None:
    source = Slide(channels=4 if name == "mov-alpha" else 3)
    target, heard = tmp_path / f"x{FORMATS[name].suffix}", list[int]()
    count = encode.write(source, sound(30, 30), FORMATS[name], target, heard.append)
    assert count == rate and heard == list(range(1, 31))  # one second; every second frame where 30 are too many
    with av.open(str(target)) as opened:
        stream = opened.streams.video[0]
        assert stream.codec_context.name == video and (stream.width, stream.height) == (96, 64)
        assert pixels is None or stream.codec_context.pix_fmt == pixels
        assert [s.codec_context.name for s in opened.streams.audio] == ([audio] if audio else [])
        shown = [np.asarray(frame.to_ndarray(format="rgb24"), float) for frame in opened.decode(stream)]
    assert len(shown) == rate
    places = [float(np.median(np.flatnonzero(frame[32, :, 2] > 128))) for frame in shown]
    assert places == pytest.approx([3 * k * (30 // rate) + 2.5 for k in range(rate)], abs=1.5)
    with av.open(str(target)) as opened:
        if audio:
            played = sum(frame.samples for frame in opened.decode(audio=0))
            assert played == pytest.approx(48_000, abs=1400)  # a second and at most what a coder's first frame adds


@dataclass
class Colours(Slide):
    """The film's three colours of meaning beside one another, standing still."""

    count: int = 3

    def between(self, first: int, last: int) -> Iterator[Frame]:
        for _ in range(first, last):
            yield np.repeat(np.array(MEANINGS, np.uint8)[None], 32, axis=1).repeat(64, axis=0)


MEANINGS = ((255, 43, 214), (0, 229, 255), (255, 176, 0))


@pytest.mark.parametrize("name", ["mp4", "webm", "gif", "webp"])
def test_colours_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    target = tmp_path / f"x{FORMATS[name].suffix}"
    encode.write(Colours(), None, FORMATS[name], target)
    if name == "webp":
        with Image.open(target) as picture:
            shown = np.asarray(picture.convert("RGB"))
    else:
        with av.open(str(target)) as opened:
            shown = next(opened.decode(video=0)).to_ndarray(format="rgb24")
    for k, colour in enumerate(MEANINGS):
        assert shown[32, 32 * k + 16].tolist() == pytest.approx(colour, abs=4)


def test_a_webp_is_an_endless_loop_in_true_colour(tmp_path: Path) -> None:
    encode.write(Slide(count=12), None, FORMATS["webp"], tmp_path / "x.webp")
    with Image.open(tmp_path / "x.webp") as picture:
        assert (picture.n_frames, picture.info["loop"]) == (12, 0)  # type: ignore[attr-defined]
        picture.seek(4)
        assert picture.convert("RGB").getpixel((14, 30)) == pytest.approx((0, 229, 255), abs=40)


def test_a_gif_begins_anew_without_end(tmp_path: Path) -> None:
    encode.write(Slide(), None, FORMATS["gif"], tmp_path / "x.gif")
    with Image.open(tmp_path / "x.gif") as picture:
        lasts = []
        for k in range(picture.n_frames):  # type: ignore[attr-defined]
            picture.seek(k)
            lasts.append(picture.info["duration"])
    assert picture.info["loop"] == 0 and sum(lasts) == pytest.approx(1000, abs=10) and {*lasts} <= {60, 70}


def test_nothing_is_left_of_a_file_that_could_not_be_finished(tmp_path: Path) -> None:
    class Broken(Slide):
        def between(self, first: int, last: int) -> Iterator[Frame]:
            yield from super().between(first, 5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode.write(Broken(), None, FORMATS["webm"], tmp_path / "x.webm")
    assert list(tmp_path.iterdir()) == []


# ---- loops ------------------------------------------------------------------------------------------------------------


def test_a_loop_goes_on_where_it_ends_and_wipes_its_start_over_its_end() -> None:
    source = Slide(count=20)
    plain, loop = list(source.between(0, 20)), Loop(source, 6)
    frames = list(loop.between(0, loop.count))
    assert len(frames) == loop.count == 14
    assert np.array_equal(frames[0], plain[14])  # what follows the loop's last frame in the source
    assert all(np.array_equal(frames[k], plain[k]) for k in range(6, 14))
    middle = frames[3].astype(int)  # half way: the left of the coming frame, the right of the one that leaves
    assert np.array_equal(middle[:, :40], plain[3][:, :40]) and np.array_equal(middle[:, 56:], plain[17][:, 56:])
    assert wiped(0, 6, 96).max() == 0.0 and wiped(3, 6, 96)[[0, -1]].tolist() == [1.0, 0.0]
    assert wiped(3, 6, 4)[[1, 2]].tolist() == pytest.approx([1.0, 0.0]) and wiped(3, 6, 101)[50] == pytest.approx(0.5)
    assert np.array_equal(next(loop.between(3, 4)), frames[3])
    with pytest.raises(ValueError, match="cannot melt"):
        Loop(source, 11)


def test_coverage_melts_too_and_what_covers_nothing_gives_no_colour() -> None:
    a, b = np.zeros((1, 1, 4), np.uint8), np.array([[[200, 100, 0, 255]]], np.uint8)
    assert melted(a, b, 0.4).tolist() == [[[200, 100, 0, 102]]]


# ---- coverage ---------------------------------------------------------------------------------------------------------


def packed(rgb: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint32]]:
    return np.ascontiguousarray(np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)])).view(np.uint32)[..., 0]


def test_coverage_and_colour_come_back_from_two_backdrops() -> None:
    """Composited by hand over black and over a backdrop of 204: coverages 0, 0.25, 0.5, 1 of one orange."""
    cover = np.array([[0.0, 0.25, 0.5, 1.0]])[..., None]
    orange, behind = np.array([240.0, 160.0, 40.0]), np.full((1, 4, 3), 204.0)
    dark, bright = cover * orange, cover * orange + (1 - cover) * behind
    found = matte(*(packed(np.round(picture).astype(np.uint8)) for picture in (dark, bright, behind))).astype(float)
    assert found[0, :, 3] == pytest.approx([0, 64, 128, 255], abs=4)
    assert found[0, 1:, :3] == pytest.approx(np.tile(orange, (3, 1)), abs=6)
    assert found[0, 0].tolist() == [0, 0, 0, 0]


def test_a_scene_without_its_backdrop_is_clear_where_nothing_stands(tmp_path: Path) -> None:
    frames = StageFrames(short_film.request(tmp_path, rows=short_film.ROWS[:1]))
    assert frames.count == round(16 * 60 / short_film.BPM * 15)
    shown = next(frames.between(20, 21))
    assert shown.shape == (180, 320, 4) and shown[..., 3].min() == 0 and shown[..., 3].max() == 255
    top = shown[60:80, :20, 3]  # beside the box, over what would be the horizon
    assert top.max() == 0
    assert np.array_equal(next(frames.between(20, 21)), shown)


# ---- whole --------------------------------------------------------------------------------------------------------------


def test_a_film_gets_all_that_it_is_posted_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    request = short_film.request(tmp_path / "track")
    made = make(request, tmp_path / "out" / "film.mp4", Cache(tmp_path / "cache"), workers=1)
    names = {path.name for path in kit.publish(request, made.film)}
    words = {f"film.{ending}" for ending in ("srt", "vtt", "ass", "lrc", "description.txt", "provenance.json")}
    assert names == words | {"film.thumbnail.png"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names | {"film.mp4", "film.claims.json"}
    loop = tmp_path / "loop.webm"
    one = short_film.request(tmp_path / "track", rows=short_film.ROWS[1:])
    frames = convert.convert(one, FORMATS["webm"], loop, True, 1)
    assert frames == cut(one.rows[0], one.timeline, 15)[-1].last - round(16 * 60 / 171 * 15) - convert.overlap(one)
    with av.open(str(loop)) as opened:
        assert not opened.streams.audio and sum(1 for _ in opened.decode(video=0)) == frames


def test_the_whole_film_goes_to_its_own_folder_with_titled_chapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request, made = Request(film.FILM, QUALITIES["l"], Dataset.open([]), tracks.default()), dict[Path, Titles | None]()

    def fake(_: Request, target: Path, titles: Titles | None = None, **__: Any) -> Report:
        made[target] = titles
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
        return Report(target, target.with_suffix(".claims.json"), 1, 0, 0.0, 0.0, ())

    monkeypatch.setattr("scenes.render.make.make", fake)
    monkeypatch.setattr(kit, "publish", lambda request, made: [made.with_suffix(".srt")])
    said = verb.deliver(request, (), tmp_path, None, None, False, 1)
    assert "a draft: 854x480 at 15: film.srt" in said
    verb.deliver(replace(request, rows=film.FILM[:1]), ("title",), tmp_path, None, None, False, 1)
    verb.deliver(replace(request, rows=film.FILM[:2]), ("title", "cores"), tmp_path, None, None, False, 1)
    whole, title, two = made
    assert [path.relative_to(tmp_path).as_posix() for path in made] == ["film/film.mp4", "title.mp4", "title+cores.mp4"]
    named = made[whole]
    assert named is not None and (named.film, named.scenes["roof-2"]) == ("How Kernels Climb", "Shared tiles")
    assert made[title] is made[two] is None


def test_a_loop_shows_no_sung_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Request] = []

    def seen(request: Request, *_: Any) -> None:
        asked.append(request)
        raise RequestError("seen")

    monkeypatch.setattr("scenes.render.make.make", seen)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    request = Request((film.row("indexing"),), QUALITIES["l"], Dataset.open(), tracks.default())
    for looped in (True, False):
        with pytest.raises(RequestError, match="seen"):
            convert.convert(request, FORMATS["gif"], tmp_path / "x.gif", looped)
    loop, plain = (one.timeline for one in asked)
    assert loop.lines == () and plain.lines and loop.beats == plain.beats


def test_a_loop_and_coverage_are_of_one_scene(tmp_path: Path) -> None:
    request = short_film.request(tmp_path)
    for name, looped in (("mp4", True), ("mov-alpha", False)):
        with pytest.raises(RequestError, match="of one scene, not of 2"):
            convert.convert(request, FORMATS[name], tmp_path / f"x{FORMATS[name].suffix}", looped)


def test_the_thumbnail_shows_the_best_rung_and_fits_the_players() -> None:
    told = thumbnail.headline(Dataset.open([]))
    best = max(rung.rate.value for rung in Dataset.open([]).main.ladders["gemm_fp32"].rungs if rung.rate)
    assert told is not None and told.figure.text == f"{best:.1f} TFLOP/s" and told.note == "fp32 GEMM, measured"
    roof = thumbnail.headline(Dataset.open(["hgx-h100-published"]))
    assert roof is None
    picture = thumbnail.draw(Dataset.open([]))
    assert picture.size == (1280, 720)
    seen = np.asarray(picture.resize((160, 90), Image.Resampling.LANCZOS), float)
    corner = seen[78:, 130:].max()  # where players put the length: nothing bright that would be hidden
    figure = seen[8:32, 8:70].max(axis=(0, 2))
    assert figure.max() > 230 and corner < 235
