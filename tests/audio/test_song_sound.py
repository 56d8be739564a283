"""The sound: the committed tracks against their score and the loudness standard, and the synthesiser against arithmetic."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyloudnorm
import pytest
from numpy.typing import NDArray
from scipy import signal

from audio import tracks
from audio.decode import RATE, decode, to_array
from audio.song import to_int16
from audio.song.arrange import arrange
from audio.song.drums import KIT, struck
from audio.song.dsp import saw
from audio.song.effects import bell, duck, shelf
from audio.song.files import write_opus, write_wav
from audio.song.master import limit
from audio.song.score import FIRST_SONG, Song, timeline
from audio.song.stems import bars, render
from audio.song.synths import Tone, lead
from audio.song.up_to_the_light import SONG

EXCERPT = """
import hashlib
from audio.song import synthesise, to_int16
from audio.song.score import FIRST_SONG
from audio.song.stems import bars
sound, _ = synthesise(span=bars(FIRST_SONG, 33, 1, ring=0.1))
print(hashlib.sha256(to_int16(sound).tobytes()).hexdigest())
"""


BAR = 240 / 132  # seconds


@pytest.fixture(scope="module")
def sound() -> NDArray[np.float64]:
    return heard(tracks.DEFAULT)


def heard(name: str) -> NDArray[np.float64]:
    return to_array(decode(tracks.open(name).path)) / 32768.0


def part_of(sound: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    section = next(s for s in timeline(SONG).sections if s.name == name)
    edges = [round((section.first_bar - 1 + bars) * BAR * RATE) for bars in (0, section.bars)]
    return sound[edges[0] : edges[1]]


def loud(sound: NDArray[np.float64]) -> float:
    return float(pyloudnorm.Meter(RATE).integrated_loudness(sound))


def correlation(sound: NDArray[np.float64]) -> float:
    """Of the two sides: 1 is mono, 0 unrelated."""
    return float(np.asarray(np.corrcoef(sound.T))[0, 1])


@pytest.mark.parametrize(
    ("name", "song"),
    [("up-to-the-light", SONG), ("up-to-the-light-instrumental", SONG), ("climb-to-the-line", FIRST_SONG)],
)
def test_the_committed_timelines_are_the_scores_and_the_sounds_are_small(name: str, song: Song) -> None:
    track = tracks.open(name)
    assert track.timeline == timeline(song)
    assert track.path.stat().st_size < 6e6


def test_the_track_lasts_as_long_as_it_says(sound: NDArray[np.float64]) -> None:
    assert len(sound) == round(tracks.default().timeline.duration * RATE) == 202 * RATE


@pytest.mark.parametrize("name", ["up-to-the-light", "up-to-the-light-instrumental"])
def test_loudness_is_minus_14_and_true_peak_at_most_minus_1(name: str, sound: NDArray[np.float64]) -> None:
    sound = sound if name == tracks.DEFAULT else heard(name)
    assert len(sound) == 202 * RATE and loud(sound) == pytest.approx(-14.0, abs=0.2)
    blocks = [sound[i : i + 20 * RATE] for i in range(0, len(sound), 20 * RATE)]
    peak = max(np.abs(signal.resample_poly(block, 4, 1, axis=0)).max() for block in blocks)
    assert 20 * np.log10(peak) <= -1.0


def test_each_chorus_lifts_and_is_at_least_as_loud_as_the_one_before(sound: NDArray[np.float64]) -> None:
    level = {s.name: loud(part_of(sound, s.name)) for s in timeline(SONG).sections}
    assert level["chorus-1"] > level["verse-1-indexing"] + 1.5
    assert level["chorus-2"] > level["verse-2-stalls"] + 1.5
    assert level["chorus-3"] > level["verse-3-tiling"] + 1.5
    assert level["chorus-4"] > level["bridge-all-reduce"] + 1.5
    assert level["chorus-1"] - 0.2 < level["chorus-2"] < level["chorus-3"] + 0.2 < level["chorus-4"] + 0.4
    assert level["intro"] < level["verse-1-cores"]


def test_the_half_bar_before_a_drop_falls_away(sound: NDArray[np.float64]) -> None:
    for bar in (21, 45, 65, 97):
        drop = round((bar - 1) * BAR * RATE)
        half = round(BAR / 2 * RATE)
        before, after = (np.sqrt(np.mean(sound[a : a + half] ** 2)) for a in (drop - half, drop))
        assert 20 * np.log10(after / before) > 5.0


def test_the_ending_rings_out_to_nothing(sound: NDArray[np.float64]) -> None:
    assert np.abs(sound[-480:]).max() < 10 ** (-60 / 20)


def test_the_low_end_is_mono_and_the_sides_agree(sound: NDArray[np.float64]) -> None:
    low = signal.sosfilt(signal.butter(4, 100, fs=RATE, output="sos"), sound, axis=0)
    assert correlation(low) > 0.99
    for section in timeline(SONG).sections:
        part = part_of(sound, section.name)
        assert 0.4 < correlation(part) < 0.95
        assert loud(np.repeat(part.mean(axis=1)[:, None], 2, axis=1)) > loud(part) - 2.0


def test_spectrum_falls_as_popular_recordings_do(sound: NDArray[np.float64]) -> None:
    # about 5 dB an octave from 100 Hz to 4 kHz (Pestana et al., AES 135, 2013); analysers are set to 3 to 4.5 dB an octave
    freq, power = signal.welch(sound.mean(axis=1), RATE, nperseg=16384)
    centres = 125.0 * 2.0 ** np.arange(6)
    level = [10 * np.log10(power[(freq >= c / 2**0.5) & (freq < c * 2**0.5)].mean()) for c in centres]
    assert -5.5 < np.polyfit(np.arange(6), level, 1)[0] < -3.0


@pytest.fixture(scope="module")
def played() -> NDArray[np.float64]:
    return heard("up-to-the-light-instrumental")


def test_the_sung_track_lies_on_the_instrumental(sound: NDArray[np.float64], played: NDArray[np.float64]) -> None:
    low = signal.butter(4, 100, fs=RATE, output="sos")
    a, b = (signal.sosfilt(low, x[60 * RATE : 70 * RATE].mean(axis=1)) for x in (sound, played))
    lags = signal.correlation_lags(len(a), len(b))
    assert abs(lags[np.argmax(signal.correlate(a, b))]) < 0.0005 * RATE


def test_kicks_sound_on_their_beats_within_a_millisecond(played: NDArray[np.float64]) -> None:
    # what stands out between 2 and 9 kHz is the beater, where no voice is
    band = signal.sosfilt(signal.butter(2, [2000, 9000], "band", fs=RATE, output="sos"), played.mean(axis=1))
    late, clear = [], 0
    for hit in arrange(SONG).hits:
        if hit.drum != "kick" or hit.level < 0.5:
            continue
        at = round(hit.step * 15 / 132 * RATE)
        energy = np.convolve(band[at - 960 : at + 480] ** 2, np.ones(24) / 24)[:1440]
        before, peak = energy[:900].max(), energy[900:].max()
        if peak > 4 * before:  # what stands out by 6 dB can be timed
            clear += 1
            late.append((np.argmax(energy[900:] > max(1.3 * before, 0.15 * peak)) - 60) / RATE)
    assert clear > 60
    assert abs(np.median(late)) < 0.0005 and np.abs(late).max() < 0.001


def test_two_processes_make_the_same_bytes() -> None:
    call, root = [sys.executable, "-c", EXCERPT], tracks.HERE.parents[1]
    runs = [subprocess.run(call, capture_output=True, text=True, check=True, cwd=root) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout and len(runs[0].stdout.strip()) == 64


def test_drums_stand_at_their_sample() -> None:
    stems = render(arrange(FIRST_SONG), bars(FIRST_SONG, 17, 2))
    loudest = np.flatnonzero(np.abs(stems["kick"][:, 0]) > 0.01)
    starts = loudest[np.flatnonzero(np.diff(loudest, prepend=-RATE) > RATE // 20)]
    assert len(starts) == 8
    assert np.abs(starts - np.round(np.arange(8) * 60 / 132 * RATE)).max() <= 3  # samples


def test_every_drum_is_finite_starts_at_once_and_ends_in_silence() -> None:
    for name in KIT:
        hit = struck(name, 1.0, 0)
        assert np.isfinite(hit).all() and 0.3 < np.abs(hit).max() < 1.8
        assert np.abs(hit[-1]).max() < 1e-3
        assert np.argmax(np.abs(hit).max(axis=1) > 0.1 * np.abs(hit).max()) < 0.02 * RATE


def test_the_lead_sings_its_pitch() -> None:
    tones = [Tone(69, 0.8, 1.0, 1.0, 1.0, 0), Tone(74, 0.8, 1.0, 1.0, 1.0, 0)]
    out = lead(tones, [0.0, 0.8], 0.5, 0.0).mean(axis=1)
    for start, freq in ((0.1, 440.0), (0.9, 587.330)):
        part = out[round(start * RATE) : round((start + 0.65) * RATE)]
        spectrum = np.abs(np.fft.rfft(part * np.hanning(len(part)), 1 << 18))
        freqs = np.arange(len(spectrum)) * RATE / (1 << 18)
        near = (freqs > freq * 0.94) & (freqs < freq * 1.06)
        found = freqs[near][np.argmax(spectrum[near])]
        assert abs(1200 * np.log2(found / freq)) < 15


def test_the_oscillator_is_band_limited() -> None:
    # a saw at 3 kHz: a harmonic h has amplitude 2 / (pi h); what lies between the harmonics is alias
    out = saw(np.full(RATE, 3000.0), 0.0)
    level = np.abs(np.fft.rfft(out)) / (RATE / 2)
    assert level[3000] == pytest.approx(2 / np.pi, rel=0.05)
    assert level[6000] == pytest.approx(1 / np.pi, rel=0.12)
    naive = np.abs(np.fft.rfft(2 * ((np.arange(RATE) * 2999.0 / RATE) % 1) - 1)) / (RATE / 2)
    limited = np.abs(np.fft.rfft(saw(np.full(RATE, 2999.0), 0.0))) / (RATE / 2)
    between = np.ones(len(naive), bool)
    between[::2999] = between[1::2999] = between[2998::2999] = False
    between[8000:] = False
    assert np.sum(limited[between] ** 2) < 0.05 * np.sum(naive[between] ** 2)


@pytest.mark.parametrize("gain", [-6.0, 3.0])
def test_equalisers_do_what_they_say(gain: float) -> None:
    click = np.zeros((RATE, 2))
    click[0] = 1.0

    def at(x: NDArray[np.float64], freq: int) -> float:
        return float(20 * np.log10(np.abs(np.fft.rfft(x[:, 0]))[freq]))

    assert at(bell(click, 1000.0, gain, 1.0), 1000) == pytest.approx(gain, abs=0.05)
    assert at(bell(click, 1000.0, gain, 1.0), 20) == pytest.approx(0.0, abs=0.05)
    assert at(shelf(click, 1000.0, gain, True), 20000) == pytest.approx(gain, abs=0.1)
    assert at(shelf(click, 1000.0, gain, True), 20) == pytest.approx(0.0, abs=0.1)
    assert at(shelf(click, 1000.0, gain, False), 20) == pytest.approx(gain, abs=0.1)


def test_the_limiter_holds_peaks_between_samples_too() -> None:
    # a sine at a quarter of the rate, sampled 45 degrees off its crests, peaks 3 dB above its samples
    x = np.repeat((1.3 * np.sin(np.pi / 2 * np.arange(RATE) + np.pi / 4))[:, None], 2, axis=1)
    out = limit(x, -1.5)
    peak = 20 * np.log10(np.abs(signal.resample_poly(out[4800:-4800], 8, 1, axis=0)).max())
    assert peak == pytest.approx(-1.5, abs=0.15)


def test_ducking_dips_at_the_hit_and_comes_back() -> None:
    gain = duck(RATE, [12000], 0.8, 0.25)
    assert gain[11999] == 1.0 and gain.min() == pytest.approx(0.2, abs=0.01)
    assert 12000 <= np.argmin(gain) < 12000 + 0.006 * RATE
    assert gain[12000 + round(0.26 * RATE) :].min() > 0.99


def test_written_files_hold_the_samples_and_the_same_bytes(tmp_path: Path) -> None:
    t = np.arange(RATE) / RATE
    samples = to_int16(np.repeat((0.5 * np.sin(2 * np.pi * 440 * t))[:, None], 2, axis=1).astype(np.float32))
    write_wav(samples, tmp_path / "tone.wav")
    assert np.array_equal(to_array(decode(tmp_path / "tone.wav")), samples)
    digests = set()
    for _ in range(2):
        write_opus(samples, tmp_path / "tone.opus", "Tone")
        digests.add(hashlib.sha256((tmp_path / "tone.opus").read_bytes()).hexdigest())
    assert len(digests) == 1
    back = to_array(decode(tmp_path / "tone.opus"))
    assert len(back) == RATE
    error = (back - samples.astype(float))[4800:-4800]
    assert np.sqrt((error**2).mean()) < 0.03 * np.sqrt((samples.astype(float) ** 2).mean())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tone.opus", "tone.wav"]
