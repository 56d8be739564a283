"""Whole tracks: the band's pieces, whose beats are exact, found by sound alone; and what a user says or brings."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from audio import beats, beats_file, timeline_file
from audio.asked import Asked
from audio.beats import BeatError, f_measure, listen, make
from audio.benchmarks import band
from audio.decode import RATE, to_array
from audio.timeline import TimelineError

LEAD, BPM = 0.7, 126.0
PARTS = (band.Part(4, ("drums", "bass")), band.Part(8))


def write(path: Path, samples: NDArray[np.int16]) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.astype("<i2").tobytes())
    return path


@pytest.fixture(scope="module")
def piece() -> band.Piece:
    return band.Piece(band.steady(BPM, 48, LEAD), 4, PARTS)


@pytest.fixture(scope="module")
def sound(piece: band.Piece) -> NDArray[np.int16]:
    return band.play(piece)


@pytest.fixture(scope="module")
def file(sound: NDArray[np.int16], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("sound") / "song.wav", sound)


@pytest.fixture(scope="module")
def heard(file: Path) -> make.Heard:
    return make.hear(file)


def test_beats_and_downbeats_are_where_they_were_played(heard: make.Heard, piece: band.Piece) -> None:
    found = heard.track.timeline
    truth = np.array(piece.beats[:-1])
    times = np.array(found.beats)
    inner = truth[4:]  # the networks take a bar to find their feet
    near = np.array([times[np.abs(times - at).argmin()] - at for at in inner])
    assert np.abs(near).max() < 0.03 and abs(np.median(near)) < 0.01
    downs = times[list(found.downbeats[:-1])]
    assert f_measure(downs, truth[::4]) > 0.9
    assert abs(found.bpm - BPM) < 0.5
    assert heard.doubts == ()


def test_the_sound_that_beats_were_heard_in_is_handed_on(heard: make.Heard, sound: NDArray[np.int16]) -> None:
    assert heard.sound is not None
    assert np.array_equal(to_array(heard.sound), sound)
    assert heard.track.timeline.duration == pytest.approx(len(sound) / RATE)


def test_the_tempo_that_is_asked_for_is_found(sound: NDArray[np.int16]) -> None:
    assert beats.track(sound, RATE, bpm=63.0).bpm == pytest.approx(63.0, rel=0.03)


def test_the_first_downbeat_that_is_asked_for_begins_a_bar(sound: NDArray[np.int16]) -> None:
    there = LEAD + 6 * 60 / BPM  # the third beat of the second bar
    found = beats.track(sound, RATE, first_downbeat=there)
    assert found.beats[0] == pytest.approx(there, abs=0.03) and found.numbers[0] == 1
    with pytest.raises(BeatError, match=r"--first-downbeat 99: expected a moment within the sound, \d"):
        beats.track(sound, RATE, first_downbeat=99.0)


def test_a_timeline_beside_the_sound_is_taken_as_it_is(file: Path, heard: make.Heard, tmp_path: Path) -> None:
    there = tmp_path / "song.wav"
    there.write_bytes(file.read_bytes())
    timeline_file.save(heard.track.timeline, tmp_path / "song.timeline.json")
    found = make.hear(there)
    assert found.track.timeline == heard.track.timeline and found.found is None
    again = make.hear(file, Asked(beats=tmp_path / "song.timeline.json"))
    assert again.track.timeline == heard.track.timeline


def test_beats_from_a_file_and_words_from_another(file: Path, tmp_path: Path) -> None:
    rows = [f"{0.5 * k:.3f} {k % 3 + 1}\n" for k in range(40)]
    (tmp_path / "own.beats").write_text("".join(rows))
    (tmp_path / "own.lrc").write_text("[00:02.00]one two\n[00:04.00]three\n")
    found = make.hear(file, Asked(beats=tmp_path / "own.beats", lyrics=tmp_path / "own.lrc")).track.timeline
    assert found.beats[:4] == (0.0, 0.5, 1.0, 1.5) and found.beats_in(5) == 3
    assert [line.text for line in found.lines] == ["one two", "three"]
    beats_file.write(found, tmp_path / "again.txt")
    same = make.hear(file, Asked(beats=tmp_path / "again.txt", lyrics=tmp_path / "own.lrc")).track.timeline
    assert same == found


def test_beats_beyond_the_sound_are_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "own.beats").write_text("".join(f"{k}\n" for k in range(60)))
    with pytest.raises(TimelineError, match=r"own.beats: expected beats inside of .*song.wav \(2\d.\d s\), found one at 59 s"):
        make.hear(file, Asked(beats=tmp_path / "own.beats"))


# ---- doubt ----------------------------------------------------------------------------------------------------------


def test_sound_without_a_beat_is_flagged_or_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "drone.wav", band.drone(25.0))
    try:
        doubts = make.hear(path).doubts
    except BeatError as error:
        doubts = (str(error),)
    assert len(doubts) == 1 and "--beats FILE" in doubts[0]


def test_silence_is_refused_and_a_beat_nobody_hears_can_be_laid(tmp_path: Path) -> None:
    silent = np.zeros((12 * RATE, 2), np.int16)
    with pytest.raises(BeatError, match=r"silent.wav: it is silent: there is no beat to find"):
        make.hear(write(tmp_path / "silent.wav", silent))


def test_too_short_a_sound_is_refused(tmp_path: Path, sound: NDArray[np.int16]) -> None:
    with pytest.raises(BeatError, match=r"short.wav: 2.0 s of sound are too short to find bars in: give at least 8 s"):
        make.hear(write(tmp_path / "short.wav", sound[: 2 * RATE]))


def test_a_kick_on_every_beat_is_heard_with_certainty() -> None:
    """A decaying tone of 150 Hz twice a second: alone, one of the networks takes its beats for others."""
    t = np.arange(4800) / RATE
    sound = np.zeros((30 * RATE, 2), np.int16)
    for k in range(60):
        at = k * RATE // 2
        sound[at : at + len(t)] = (26000 * np.sin(2 * np.pi * 150 * t) * np.exp(-5 * t))[:, None].astype(np.int16)
    found = beats.track(sound, RATE)
    assert found.sure and found.bpm == pytest.approx(120, abs=0.1) and found.metre == 4


def test_a_beat_is_plain_where_every_network_hears_it_and_nothing_between() -> None:
    heard = np.full((3, 500, 2), 0.02)
    frames = np.arange(10, 490, 24)
    heard[:, frames, 0] = 0.9
    assert beats.plain(frames, heard)
    assert not beats.plain(frames[::2], heard), "half as fast: something is between"
    assert not beats.plain(np.arange(10, 490, 12), heard), "twice as fast: every other is not heard"
    heard[0, frames, 0] = 0.5
    assert not beats.plain(frames, heard), "one network does not hear it"


@pytest.mark.parametrize(
    ("bpm", "told"), [(120, ["is it felt half as fast, --bpm 60?"]), (70, ["is it felt twice as fast, --bpm 140?"])]
)
def test_only_a_tempo_that_a_song_may_have_is_proposed(bpm: float, told: list[str]) -> None:
    assert listen.other_tempi(bpm) == told


def found_with(**changes: object) -> beats.Found:
    times = np.arange(64) * 0.5
    values = {
        "beats": times, "numbers": np.arange(64) % 4 + 1, "metre": 4, "agreement": 0.95, "strength": 0.6, "contrast": 1.0,
        "bands": np.zeros((1, 1), np.float32), **changes,
    }  # fmt: skip
    return beats.Found(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "asked", "told"),
    [
        ({}, Asked(), ""),
        ({"agreement": 0.5}, Asked(), "the beats are uncertain"),
        ({"agreement": 0.5}, Asked(bpm=120), ""),
        ({"beats": np.cumsum(np.repeat([0.8, 0.4], 32))}, Asked(), "the tempo wanders from 75 to 150 BPM"),
        ({"contrast": 0.0}, Asked(), "where bars of 4 begin is uncertain"),
        ({"contrast": 0.0}, Asked(first_downbeat=0.0), ""),
        ({"contrast": 0.7, "metre": 7}, Asked(), "where bars of 7 begin is uncertain"),
    ],
)
def test_what_should_be_checked_is_told_with_what_to_do(changes: dict[str, object], asked: Asked, told: str) -> None:
    doubts = make.doubts_of(Path("a.mp3"), found_with(**changes), asked)
    assert [told in doubt and "or --beats FILE" in doubt for doubt in doubts] == [True] * bool(told)


# ---- whole bars -----------------------------------------------------------------------------------------------------


def test_a_bar_that_began_before_the_first_beat_heard_is_filled_up() -> None:
    found, downs = make.whole_bars([1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5], [3, 4, 1, 2, 3, 4, 1], 4.6)
    assert found == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5] and downs == [0, 4, 8]


def test_a_first_bar_without_room_and_a_last_without_are_left_out() -> None:
    found, downs = make.whole_bars([0.1, 0.6, 1.1, 1.6, 2.1, 2.6, 3.1, 3.6], [4, 1, 2, 3, 4, 1, 2, 3], 3.7)
    assert found == [0.6, 1.1, 1.6, 2.1, 2.6] and downs == [0, 4]


def test_the_last_bar_is_filled_up_where_the_sound_goes_on() -> None:
    found, downs = make.whole_bars([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0], [1, 2, 3, 4, 1, 2, 3], 5.0)
    assert found == pytest.approx([0.5 * k for k in range(9)]) and downs == [0, 4, 8]


def test_a_last_bar_that_is_longer_than_the_others_is_left_out() -> None:
    found, downs = make.whole_bars([0.5 * k for k in range(10)], [1, 2, 3, 1, 2, 3, 1, 2, 3, 4], 9.0)
    assert found == [0.5 * k for k in range(7)] and downs == [0, 3, 6]


def test_the_f_measure_by_hand() -> None:
    """Three of four found, one of four wrong: precision and recall are 3/4, and F is 3/4."""
    truth, found = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.05, 2.0, 2.95, 4.2])
    assert f_measure(truth, found) == 0.75
    assert f_measure(truth, truth + 0.08) == 0.0
