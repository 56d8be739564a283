"""Decoding: a click comes back at the sample where it went in, from every container; what is not sound is one clear line."""

from __future__ import annotations

import wave
from pathlib import Path

import av
import numpy as np
import pytest
from av.audio.stream import AudioStream
from numpy.typing import NDArray

from audio.decode import RATE, DecodeError, decode, from_array, slice_seconds, to_array

CLICKS = (0.25, 0.9, 2.1)  # seconds
CODECS = {
    "mp3": ("libmp3lame", 0.001),
    "m4a": ("aac", 0.001),
    "ogg": ("libopus", 0.001),
    "opus": ("libopus", 0.001),
    "flac": ("flac", 0.0),
    "wav": ("pcm_s16le", 0.0),
}


def clicks(rate: int, channels: int) -> NDArray[np.int16]:
    """Three seconds of silence with 8 ms bursts of 1 kHz, the right side at half the left's level; shape (n, channels)."""
    out = np.zeros((3 * rate, channels))
    for at in CLICKS:
        t = np.arange(round(0.008 * rate)) / rate
        burst = 0.6 * np.sin(2 * np.pi * 1000 * t)
        for channel in range(channels):
            out[round(at * rate) : round(at * rate) + len(t), channel] = burst / (1 + channel)
    return (out * 32767).astype(np.int16)


def encode(path: Path, codec: str, rate: int = RATE, channels: int = 2) -> None:
    layout = "mono" if channels == 1 else "stereo"
    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=rate, layout=layout)
        assert isinstance(stream, AudioStream)
        frame = av.AudioFrame.from_ndarray(clicks(rate, channels).reshape(1, -1), format="s16", layout=layout)
        frame.sample_rate, frame.pts = rate, 0
        out.mux(stream.encode(frame))
        out.mux(stream.encode(None))


def onset(sound: NDArray[np.int16], around: float) -> float:
    """Seconds of the steepest match with a burst near a time, by cross-correlation of the left side."""
    first = round((around - 0.1) * RATE)
    t = np.arange(round(0.008 * RATE)) / RATE
    match = np.correlate(sound[first : first + round(0.2 * RATE), 0].astype(float), np.sin(2 * np.pi * 1000 * t), "valid")
    return float(first + int(np.argmax(match))) / RATE


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("suffix", list(CODECS))
def test_a_click_comes_back_where_it_went_in(tmp_path: Path, suffix: str, channels: int) -> None:
    codec, within = CODECS[suffix]
    path = tmp_path / f"clicks.{suffix}"
    encode(path, codec, channels=channels)
    sound = to_array(decode(path))
    assert sound.shape[1] == 2 and abs(len(sound) - 3 * RATE) <= 1024  # AAC fills its last block of 1024
    for at in CLICKS:
        assert onset(sound, at) == pytest.approx(at, abs=within + 0.5 / RATE)
    peak = np.abs(sound.astype(int)).max(axis=0)
    assert peak == pytest.approx([19660, 19660 if channels == 1 else 9830], rel=0.08)


def test_lossless_sound_comes_back_to_the_bit(tmp_path: Path) -> None:
    for suffix in ("flac", "wav"):
        encode(tmp_path / f"clicks.{suffix}", CODECS[suffix][0])
        assert np.array_equal(to_array(decode(tmp_path / f"clicks.{suffix}")), clicks(RATE, 2))


@pytest.mark.parametrize("rate", [44_100, 96_000, 192_000])
def test_another_rate_is_carried_to_48_khz_without_a_shift(tmp_path: Path, rate: int) -> None:
    encode(tmp_path / "clicks.wav", "pcm_s16le", rate=rate)
    segment = decode(tmp_path / "clicks.wav")
    assert (segment.frame_rate, segment.channels, segment.sample_width) == (RATE, 2, 2)
    for at in CLICKS:
        assert onset(to_array(segment), at) == pytest.approx(at, abs=0.0003)


def test_eight_bits_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "eight.wav"
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(1)
        out.setframerate(8000)
        out.writeframes(bytes([128 + 100] * 4000))
    sound = to_array(decode(path))
    assert len(sound) == pytest.approx(RATE // 2, abs=2)
    assert np.median(sound) == pytest.approx(100 * 256, rel=0.02)


def test_slices_are_exact_to_the_sample_and_padded_with_silence() -> None:
    ramp = np.repeat(np.arange(RATE, dtype=np.int16)[:, None] % 30000, 2, axis=1)
    segment = from_array(ramp)
    # 7 frames at 23.976 a second end between two milliseconds
    part = to_array(slice_seconds(segment, 7 / 23.976, 8 / 23.976))
    first, last = round(7 / 23.976 * RATE), round(8 / 23.976 * RATE)
    assert np.array_equal(part, ramp[first:last])
    late = to_array(slice_seconds(segment, 0.9, 1.1))
    assert len(late) == round(1.1 * RATE) - round(0.9 * RATE)
    assert np.array_equal(late[:4800], ramp[43200:]) and not late[4800:].any()
    with pytest.raises(DecodeError, match="slice"):
        slice_seconds(segment, 2.0, 1.0)


def fails(path: Path) -> str:
    with pytest.raises(DecodeError) as caught:
        decode(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message


def test_what_is_not_sound_is_one_line(tmp_path: Path) -> None:
    text = tmp_path / "text.mp3"
    text.write_text("this is a letter, not a song\n" * 50, encoding="utf-8")
    assert "expected a sound file" in fails(text)
    empty = tmp_path / "empty.wav"
    empty.write_bytes(b"")
    assert "expected a sound file" in fails(empty)
    assert "nothing there" in fails(tmp_path / "none.mp3")
    assert "a folder" in fails(tmp_path)


def test_a_video_and_a_picture_are_refused(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    with av.open(str(film), "w") as out:
        stream = out.add_stream("mpeg4", rate=24)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        sound = out.add_stream("aac", rate=RATE, layout="stereo")
        for _ in range(4):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")))
        out.mux(stream.encode(None))
        frame = av.AudioFrame.from_ndarray(clicks(RATE, 2).reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate, frame.pts = RATE, 0
        out.mux(sound.encode(frame))
        out.mux(sound.encode(None))
    assert "a video" in fails(film)


@pytest.mark.parametrize("suffix", ["mp3", "m4a", "flac", "opus"])
def test_a_file_cut_short_is_not_taken_for_a_whole_one(tmp_path: Path, suffix: str) -> None:
    whole = tmp_path / f"whole.{suffix}"
    random = np.random.default_rng(1)
    layout = "stereo"
    with av.open(str(whole), "w") as out:
        stream = out.add_stream(CODECS[suffix][0], rate=RATE, layout=layout)
        assert isinstance(stream, AudioStream)
        block = (random.standard_normal((1, 2 * 4 * RATE)) * 3000).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(block, format="s16", layout=layout)
        frame.sample_rate, frame.pts = RATE, 0
        out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    data = whole.read_bytes()
    short = tmp_path / f"short.{suffix}"
    short.write_bytes(data[: len(data) // 3])
    if suffix == "opus":  # an Ogg file declares no length: what is there is what there is
        assert 0.5 * RATE < len(to_array(decode(short))) < 2 * RATE
    else:
        fails(short)
