"""`beats`, and films over a user's track: any sound file in, a timeline out, and one line for whatever cannot be used."""

from __future__ import annotations

import wave
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray

import roofline
from audio import beats_file, timeline_file, tracks
from audio.benchmarks import band

BPM = 126.0
RATE = band.RATE


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(roofline.main, arguments)


def write_wav(path: Path, samples: NDArray[np.int16], rate: int = RATE, width: int = 2) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes() if width == 2 else (samples // 256 + 128).astype(np.uint8).tobytes())
    return path


def encode(path: Path, samples: NDArray[np.int16], codec: str, video: bool = False) -> Path:
    with av.open(str(path), "w") as out:
        stream: Any = out.add_stream(codec, rate=RATE)
        pictures: Any = out.add_stream("mpeg4", rate=10) if video else None
        if video:
            pictures.width, pictures.height, pictures.pix_fmt = 32, 32, "yuv420p"
            for picture in (av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8)), None):
                out.mux(pictures.encode(picture))
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples.reshape(1, -1)), "s16", "stereo")
        frame.sample_rate, frame.time_base = RATE, Fraction(1, RATE)
        resampler = av.AudioResampler(stream.format.name, "stereo", RATE, stream.frame_size or None)
        for piece in [*resampler.resample(frame), *resampler.resample(None), None]:
            out.mux(stream.encode(piece))
    return path


@pytest.fixture(scope="module")
def sound() -> NDArray[np.int16]:
    return band.play(band.Piece(band.steady(BPM, 32, 0.3), 4, (band.Part(8),)))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_timeline_is_written_and_told(here: Path, sound: NDArray[np.int16]) -> None:
    write_wav(here / "song.wav", sound)
    done = invoke("beats", "song.wav")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("song.wav: 126.") or lines[0].startswith("song.wav: 125.9")
    assert " 8 bars of 4, the first at 0." in lines[0]
    assert lines[1] == "is it felt half as fast, --bpm 63?"
    assert lines[2].startswith("beats sure (agreement ")
    assert lines[-1] == "out/song.timeline.json"
    assert "'song' is too short for the film" in done.stderr and "give it at least 1:" in done.stderr
    made = timeline_file.load(here / "out" / "song.timeline.json")
    assert made.bars == 8 and made.time(1) == pytest.approx(0.3, abs=0.03)


def test_the_beats_can_be_mended_as_labels_and_given_back(here: Path, sound: NDArray[np.int16]) -> None:
    write_wav(here / "song.wav", sound)
    rows = [f"{0.3 + 60 / BPM * k:.4f}\t{0.3 + 60 / BPM * k:.4f}\t{1 + k // 4}.{1 + k % 4}\n" for k in range(32)]
    (here / "mended.txt").write_text("".join(rows))
    done = invoke("beats", "song.wav", "--beats", "mended.txt", "-o", "labels/again.txt")
    assert done.exit_code == 0, done.stderr
    assert beats_file.read(here / "labels" / "again.txt") == beats_file.read(here / "mended.txt")


@pytest.mark.parametrize(
    ("name", "codec"), [("a.mp3", "mp3"), ("a.flac", "flac"), ("a.m4a", "aac"), ("a.ogg", "libopus"), ("a.opus", "libopus")]
)
def test_every_format_is_decoded(here: Path, sound: NDArray[np.int16], name: str, codec: str) -> None:
    encode(here / name, sound, codec)
    (here / "own.beats").write_text("".join(f"{0.3 + 60 / BPM * k:.4f}\n" for k in range(32)))
    assert invoke("beats", name, "--beats", "own.beats").exit_code == 0
    assert timeline_file.load(here / "out" / "a.timeline.json").duration == pytest.approx(len(sound) / RATE, abs=0.06)


@pytest.mark.parametrize(("channels", "rate", "width"), [(1, 48_000, 2), (2, 48_000, 1), (2, 192_000, 2)])
def test_mono_8_bit_and_192_kHz_are_as_good(here: Path, sound: NDArray[np.int16], channels: int, rate: int, width: int) -> None:
    write_wav(here / "song.wav", np.repeat(sound, rate // RATE, axis=0)[:, :channels], rate, width)
    (here / "own.beats").write_text("".join(f"{0.3 + 60 / BPM * k:.4f}\n" for k in range(32)))
    done = invoke("beats", "song.wav", "--beats", "own.beats")
    assert done.exit_code == 0, done.stderr
    made = timeline_file.load(here / "out" / "song.timeline.json")
    assert made.bars == 8 and made.duration == pytest.approx(len(sound) / RATE, abs=0.001)


def bad(folder: Path, kind: str, sound: NDArray[np.int16]) -> str:
    match kind:
        case "video":
            return str(encode(folder / "clip.mp4", sound, "aac", video=True))
        case "two seconds":
            return str(write_wav(folder / "short.wav", sound[: 2 * RATE]))
        case "silence":
            return str(write_wav(folder / "silent.wav", np.zeros((10 * RATE, 2), np.int16)))
        case "truncated":
            path = encode(folder / "cut.mp3", sound, "mp3")
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
        case "text":
            path = folder / "words.mp3"
            path.write_text("no sound, only words\n" * 200)
    return str(path)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("video", ("clip.mp4", "found a video")),
        ("two seconds", ("short.wav", "too short to find bars in")),
        ("silence", ("silent.wav", "silent")),
        ("truncated", ("cut.mp3", "cut short")),
        ("text", ("words.mp3", "expected a sound file")),
    ],
)
def test_sound_that_cannot_be_used_is_one_line(here: Path, sound: NDArray[np.int16], kind: str, words: tuple[str, ...]) -> None:
    refused(invoke("beats", bad(here, kind, sound)), *words)
    assert not (here / "out").exists()


def refused(done: Result, *words: str) -> None:
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("roofline: "), done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("beats", "none.mp3"), ("none.mp3", "no such file", tracks.DEFAULT)),
        (("beats", "song.wav", "--beats", "late.beats"), ("late.beats:3", "expected a time after the beat before")),
        (("beats", "song.wav", "--beats", "none.txt"), ("none.txt", "cannot read the beats")),
        (("beats", "song.wav", "--beats", "own.beats", "--lyrics", "song.wav"), ("song.wav", "expected lyrics")),
        (("beats", "song.wav", "--beats", "own.beats", "-o", "a.mp3"), ("a.mp3", ".json, .txt or .beats")),
        (("beats", "song.wav", "--beats", "own.beats", "-o", "song.wav/a.json"), ("song.wav", "cannot write there")),
        (("beats", "song.wav", "--bpm", "0"), ("--bpm", "0")),
        (("render", "--bpm", "120"), ("name it with --track",)),
        (("render", "-q", "l", "--track", "song.wav", "--beats", "own.beats"), ("'song' is too short for the film", "found 5")),
    ],
)
def test_bad_input_is_one_line(
    here: Path, sound: NDArray[np.int16], arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    write_wav(here / "song.wav", sound)
    (here / "late.beats").write_text("1\n2\n1.5\n3\n4\n5\n")
    (here / "own.beats").write_text("".join(f"{0.5 * k}\n" for k in range(20)))
    refused(invoke(*arguments), *words)
    assert not (here / "out").exists()


def test_the_film_over_a_users_track_is_laid_anew(here: Path, sound: NDArray[np.int16]) -> None:
    """Eight bars are too few for the whole film; one scene has them to itself, and its claims carry the beats."""
    write_wav(here / "song.wav", sound)
    (here / "own.beats").write_text("".join(f"{0.3 + 60 / BPM * k:.4f} {k % 4 + 1}\n" for k in range(32)))
    done = invoke("render", "title", "-q", "l", "--track", "song.wav", "--beats", "own.beats", "--dry-run")
    assert done.exit_code == 0, done.output
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:-1]] == [
        ["title", "1-2"], ["title", "3-4"], ["title", "5-6"], ["title", "7-8"],
    ]  # fmt: skip
    frames = round(len(sound) / RATE * 15)
    assert done.stdout.splitlines()[-1] == f"{frames} frames of 854x480 at 15 a second, {frames} to draw"
