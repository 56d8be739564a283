"""The voice in front: what plays gives way in its bands alone, and every line stands as far above it as it should."""

from __future__ import annotations

import numpy as np
import pyloudnorm
import pytest
from numpy.typing import NDArray
from scipy import signal

from audio.decode import RATE
from audio.song import front, unmask
from audio.song.arrange import arrange
from audio.song.mix import YIELDS
from audio.song.stems import bars
from audio.song.up_to_the_light import SONG
from audio.song.voice import body

N = 3 * RATE
NOISE = 0.1 * np.random.default_rng(5).standard_normal((N, 2))


def voice_from_the_middle() -> NDArray[np.float64]:
    """A band around 1 kHz, as loud as NOISE is there and more, in the last half."""
    band = signal.sosfilt(signal.butter(4, [800, 1250], "band", fs=RATE, output="sos"), NOISE[::-1], axis=0)
    return np.where(np.arange(N)[:, None] >= N // 2, 3.0 * band, 0.0)


def change(before: NDArray[np.float64], after: NDArray[np.float64], low: float, high: float) -> float:
    """dB between two sounds in a band, by a spectrum that knows nothing of windows and bands."""
    freq = np.fft.rfftfreq(len(before), 1 / RATE)
    inside = (freq >= low) & (freq < high)
    powers = [(np.abs(np.fft.rfft(x[:, 0])[inside]) ** 2).sum() for x in (before, after)]
    return float(10 * np.log10(powers[1] / powers[0]))


def test_what_plays_gives_way_in_the_voices_band_and_only_while_it_sounds() -> None:
    out = unmask.give(NOISE, unmask.asked(voice_from_the_middle(), NOISE), 9.0)
    first, last = slice(0, N // 2 - RATE // 10), slice(N // 2 + RATE // 10, N)
    assert change(NOISE[first], out[first], 800, 1250) == pytest.approx(0.0, abs=0.1)
    assert -9.0 <= change(NOISE[last], out[last], 900, 1100) < -7.0
    for low, high in ((20, 300), (3500, 9000), (9000, 20000)):
        assert change(NOISE[last], out[last], low, high) == pytest.approx(0.0, abs=0.3)


def test_with_no_voice_nothing_changes() -> None:
    out = unmask.give(NOISE, unmask.asked(np.zeros((N, 2)), NOISE), 9.0)
    assert np.abs(out - NOISE).max() < 1e-9


@pytest.mark.parametrize("first", [5, 21])
def test_every_line_lies_a_decibel_above_what_plays(first: int) -> None:
    span = bars(SONG, first, 4)
    others = 0.1 * np.random.default_rng(6).standard_normal((span.samples, 2))
    at = np.arange(span.samples)
    level = np.where(at < span.at(span.first + 28), 0.003, 0.5)  # the first line far too soft, the second too loud
    level[span.at(span.first + 28) : span.at(span.first + 32)] = 0.0  # a breath
    lead = level[:, None] * np.random.default_rng(7).standard_normal((span.samples, 2))
    out = lead * front.fader(lead, others, arrange(SONG), span)
    meter = pyloudnorm.Meter(RATE)
    for line in (0, 2):
        inside = slice(*(span.at(span.first + line * 16 + step) for step in (1, 27)))
        sung, played = (meter.integrated_loudness(x[inside]) for x in (out, others))
        assert sung - played == pytest.approx(1.0, abs=0.4)  # silence beside a line counts a little


def test_a_burst_does_not_make_a_take_soft() -> None:
    sound = np.sin(2 * np.pi * 500 * np.arange(2 * RATE) / RATE)
    burst = sound.copy()
    burst[RATE : RATE + RATE // 50] *= 30.0
    assert body(sound) == pytest.approx(-3.01, abs=0.1)  # a sine's power
    assert body(burst) == pytest.approx(body(sound), abs=0.2)


def test_presence_is_nothing_in_silence_and_all_in_song() -> None:
    here = front.presence(voice_from_the_middle())
    assert here[: N // 2].max() == 0.0 and np.median(here[N // 2 + RATE // 5 :]) > 0.9
    assert YIELDS["synths"] > YIELDS["skins"] > 0.0  # drums keep their place
