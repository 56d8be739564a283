"""Joining: every frame once and in its place, sound sample on sample, exact length, a film that appears whole or not at all."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from scenes.render.encode import Encoder
from scenes.render.errors import RenderError, RequestError
from scenes.render.master import Chapter, Piece, check_film, check_target, samples_of, write_film
from scenes.render.quality import Quality

LENGTHS = (17, 46, 31)


def quality(fps: int) -> Quality:
    return Quality("t", 64, 48, fps, "ultrafast", 10)


def pieces(folder: Path, fps: int, lengths: tuple[int, ...] = LENGTHS) -> list[Piece]:
    """Frames whose grey is their number in the film, twice."""
    made, number = [], 0
    for index, length in enumerate(lengths):
        path = folder / f"piece-{index}-{fps}.mp4"
        with Encoder(path, quality(fps)) as encoder:
            for _ in range(length):
                encoder.write(np.full((48, 64, 4), 2 * number + 10, np.uint8))
                number += 1
        made.append(Piece(path, length))
    return made


def noise(samples: int) -> NDArray[np.int16]:
    return np.random.default_rng(3).normal(0, 4000, (samples, 2)).astype(np.int16)


def seconds(ticks: int | None, time_base: Fraction | None) -> Fraction:
    assert ticks is not None and time_base is not None
    return ticks * time_base


def luma(grey: float) -> float:
    return 16 + 219 * grey / 255


@pytest.mark.parametrize("fps", [15, 24, 30, 60])
def test_joined_frames_are_all_there_in_order_at_exact_times(tmp_path: Path, fps: int) -> None:
    total = sum(LENGTHS)
    assert write_film(tmp_path / "film.mp4", pieces(tmp_path, fps), noise(samples_of(total, fps)), fps) == total
    with av.open(str(tmp_path / "film.mp4")) as film:
        stream = film.streams.video[0]
        frames = [(seconds(frame.pts, stream.time_base) * fps, frame.to_ndarray()[20, 20]) for frame in film.decode(stream)]
        assert seconds(stream.duration, stream.time_base) * fps == total and stream.average_rate == fps
    assert [time for time, _ in frames] == list(range(total))
    assert max(abs(float(grey) - luma(2 * number + 10)) for number, (_, grey) in enumerate(frames)) < 2


@pytest.mark.parametrize("extra", [-9000, 0, 9000])
def test_sound_starts_on_its_sample_and_is_as_long_as_the_picture(tmp_path: Path, extra: int) -> None:
    fps, total = 24, sum(LENGTHS)
    sound = noise(samples_of(total, fps) + extra)
    write_film(tmp_path / "film.mp4", pieces(tmp_path, fps), sound, fps)
    with av.open(str(tmp_path / "film.mp4")) as film:
        stream = film.streams.audio[0]
        assert (stream.codec_context.name, stream.codec_context.sample_rate) == ("aac", 48000)
        assert abs(seconds(stream.duration, stream.time_base) - Fraction(total, fps)) < 1 / fps
        blocks = [(frame.pts, frame.to_ndarray()) for frame in film.decode(stream)]
    heard = np.concatenate([block for _, block in blocks], axis=1)[0]
    assert blocks[0][0] == 0
    # AAC keeps most of a noise: the lag at which both agree best is the delay, and it must be nought
    lags = range(-1100, 1101)
    part = sound[5000:25000, 0] / 32768
    agreement = [float(np.dot(part, heard[5000 + lag : 25000 + lag])) for lag in lags]
    assert lags[int(np.argmax(agreement))] == 0


def test_chapters_and_title_are_written(tmp_path: Path) -> None:
    chapters = [Chapter("one", 0, 17), Chapter("two", 17, 94)]
    write_film(tmp_path / "film.mp4", pieces(tmp_path, 30), noise(1), 30, chapters, {"title": "Short"})
    with av.open(str(tmp_path / "film.mp4")) as film:
        found = [
            (c["metadata"]["title"], [float(seconds(moment, c["time_base"])) for moment in (c["start"], c["end"])])
            for c in film.chapters()
        ]
        assert film.metadata["title"] == "Short"
    assert [title for title, _ in found] == ["one", "two"]
    assert np.allclose([times for _, times in found], [(0, 17 / 30), (17 / 30, 94 / 30)], atol=0.001)


def test_the_index_comes_before_the_pictures(tmp_path: Path) -> None:
    write_film(tmp_path / "film.mp4", pieces(tmp_path, 30), noise(1), 30)
    content = (tmp_path / "film.mp4").read_bytes()
    assert 0 < content.index(b"moov") < content.index(b"mdat")


@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_piece_that_is_too_short_or_too_long_leaves_the_old_film_alone(tmp_path: Path, wrong: int) -> None:
    (tmp_path / "film.mp4").write_bytes(b"the old film")
    good = pieces(tmp_path, 24)
    bad = [*good[:-1], Piece(good[-1].video, good[-1].frames + wrong)]
    with pytest.raises(RenderError, match="holds 31 frames"):
        write_film(tmp_path / "film.mp4", bad, noise(1), 24)
    assert (tmp_path / "film.mp4").read_bytes() == b"the old film"
    assert not list(tmp_path.glob(".film*"))


def test_pieces_of_another_coding_are_refused(tmp_path: Path) -> None:
    good = pieces(tmp_path, 24, (5,))
    with Encoder(tmp_path / "odd.mp4", Quality("t", 80, 48, 24, "superfast", 18)) as encoder:
        encoder.write(np.zeros((48, 80, 4), np.uint8))
    with pytest.raises(RenderError, match="other settings"):
        write_film(tmp_path / "film.mp4", [*good, Piece(tmp_path / "odd.mp4", 1)], noise(1), 24)


def test_the_check_finds_a_film_that_is_a_frame_short(tmp_path: Path) -> None:
    write_film(tmp_path / "film.mp4", pieces(tmp_path, 24), noise(1), 24)
    check_film(tmp_path / "film.mp4", 94, 24)
    with pytest.raises(RenderError, match="expected frames 0 to 94"):
        check_film(tmp_path / "film.mp4", 95, 24)


def test_targets_that_cannot_be_written_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for target in (tmp_path, tmp_path / "file" / "film.mp4", Path("/proc/film.mp4")):
        with pytest.raises(RequestError, match="cannot be written"):
            check_target(target)
    check_target(tmp_path / "new" / "film.mp4")
    assert list((tmp_path / "new").iterdir()) == []
