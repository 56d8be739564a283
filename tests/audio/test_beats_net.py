"""What the networks hear and how they compute, against the formulas they come from."""

from __future__ import annotations

import numpy as np
import pytest

from audio.beats import features, net


def test_a_sine_is_loudest_in_the_band_around_its_pitch() -> None:
    for hertz in (110.0, 440.0, 3520.0):
        t = np.arange(features.RATE) / features.RATE
        bands = features.spectrogram(np.sin(2 * np.pi * hertz * t).astype(np.float32))
        bank = features.filterbank()
        loudest = int(bands[20].argmax())
        low, high = np.flatnonzero(bank[:, loudest])[[0, -1]] * features.RATE / features.WINDOW
        assert low - 20 <= hertz <= high + 20  # a bin is 15.6 Hz wide


def test_bands_are_24_an_octave_and_their_triangles_sum_to_one() -> None:
    bank = features.filterbank()
    assert bank.sum(axis=0) == pytest.approx(1.0, abs=1e-6)
    peaks = bank.argmax(axis=0) * features.RATE / features.WINDOW
    high = peaks[peaks > 1000]  # where bands are wider than bins
    assert np.median(np.diff(np.log2(high))) == pytest.approx(1 / 24, rel=0.1)


def test_a_frame_is_centred_on_its_sample() -> None:
    sound = np.zeros(features.HOP * 60, np.float32)
    sound[features.HOP * 30] = 1.0
    energy = features.spectrogram(sound).sum(axis=1)
    assert int(energy.argmax()) == 30
    assert energy[29] == pytest.approx(energy[31], rel=0.05)


def test_only_a_rise_counts_as_one() -> None:
    bands = np.zeros((40, 3), np.float32)
    bands[10:20] = 1.0
    both = features.features(bands)
    lag = features.difference_lag()
    assert both.shape == (40, 6)
    assert np.array_equal(np.flatnonzero(both[:, 3]), np.arange(10, 10 + lag))


def test_mono_is_the_mean_of_both_sides_at_the_networks_rate() -> None:
    t = np.arange(48_000) / 48_000
    left = 20_000 * np.sin(2 * np.pi * 300 * t)
    sound = features.mono(np.stack([left, np.zeros_like(left)], 1).astype(np.int16), 48_000)
    assert len(sound) == features.RATE
    there = 10_000 / 32_768 * np.sin(2 * np.pi * 300 * np.arange(features.RATE) / features.RATE)
    assert np.abs(sound - there)[200:-200].max() < 2e-3


def test_an_lstm_by_its_equations() -> None:
    """i, f, g, o = W x + b + U h + c; c' = f c + i g; h' = o tanh(c'), with logistic i, f, o (Hochreiter and Schmidhuber)."""
    rng = np.random.default_rng(1)
    inputs, size, frames = 3, 2, 6
    w, u = rng.normal(size=(4 * size, inputs)), rng.normal(size=(4 * size, size))
    b, c = rng.normal(size=4 * size), rng.normal(size=4 * size)
    x = rng.normal(size=(frames, inputs))
    hidden, cell, expected = np.zeros(size), np.zeros(size), []
    for step in x:
        enter, forget, new, leave = np.split(w @ step + b + u @ hidden + c, 4)
        cell = cell / (1 + np.exp(-forget)) + np.tanh(new) / (1 + np.exp(-enter))
        hidden = np.tanh(cell) / (1 + np.exp(-leave))
        expected.append(hidden)
    found = net.lstm(*(a.astype(np.float32) for a in (x, w, u, b, c)))
    assert found == pytest.approx(np.array(expected), abs=1e-5)


@pytest.mark.parametrize("model", net.MODELS)
def test_the_weights_have_the_shapes_of_the_paper(model: int) -> None:
    weights = net.load(model)
    assert weights["conv1.weight"].shape == (2, 1, 10)
    assert weights["linear0.weight"].shape[0] == 150
    assert [weights[f"lstm.weight_hh_l{layer}"].shape for layer in (0, 1)] == [(600, 150)] * 2
    assert weights["linear.weight"].shape == (3, 150)


def test_clicks_are_heard_where_they_are() -> None:
    """Twelve seconds of clicks at 120 a minute: what the networks say is high within a frame of each, and low between."""
    sound, rng = np.zeros(12 * features.RATE, np.float32), np.random.default_rng(2)
    places = np.arange(0.5, 11.6, 0.5)
    for at in places:
        first = int(at * features.RATE)
        sound[first : first + 400] = rng.normal(0.0, 0.5, 400).astype(np.float32) * np.linspace(1, 0, 400, dtype=np.float32)
    said = net.activations(features.features(features.spectrogram(sound))).mean(axis=0).sum(axis=1)
    frames = np.round(places[8:] * features.FPS).astype(int)
    on = np.array([said[frame - 1 : frame + 2].max() for frame in frames])
    off = np.array([said[frame + 10 : frame + 14].max() for frame in frames])
    assert on.min() > 0.3 and off.max() < 0.1
