"""The bar pointer against activations whose beats are known, the finer times, and which beats are the first of a bar."""

from __future__ import annotations

import numpy as np
import pytest

from audio.beats import bars, downbeats, refine

FPS = 50.0


def heard(lengths: list[int], metre: int, first: int = 20, miss: int = 0) -> tuple[bars.Array, list[int]]:
    """Activations with a peak on every beat (a higher one of downbeats on the first of a bar) and the beats' frames."""
    frames = [first + sum(lengths[:k]) for k in range(len(lengths))]
    out = np.full((frames[-1] + 8, 2), 0.01)
    for k, frame in enumerate(frames):
        if miss and k % miss == miss - 1:
            continue
        out[frame, 1 if k % metre == 0 else 0] = 0.8
        out[frame - 1 : frame + 2, 0] += 0.1
    return out, frames


@pytest.mark.parametrize("metre", [3, 4, 5, 7])
def test_every_metre_is_found_within_a_frame(metre: int) -> None:
    activations, frames = heard([25] * 8 * metre, metre)
    found = bars.decode(activations, FPS)
    assert found.metre == metre
    assert np.abs(found.frames - np.array(frames)).max() <= 1
    assert list(found.numbers) == [k % metre + 1 for k in range(len(frames))]


def test_a_ramp_is_followed_and_missing_beats_are_filled() -> None:
    lengths = [round(30 * 0.985**k) for k in range(48)]
    activations, frames = heard(lengths, 4, miss=7)
    found = bars.decode(activations, FPS)
    assert len(found.frames) == len(frames)
    assert np.abs(found.frames - np.array(frames)).max() <= 1


def test_the_tempo_asked_for_decides_between_a_beat_and_its_half() -> None:
    activations, _ = heard([20] * 64, 4)  # 150 a minute
    assert np.median(np.diff(bars.decode(activations, FPS, tempo=(70, 80)).frames)) == 40
    assert np.median(np.diff(bars.decode(activations, FPS, tempo=(145, 155)).frames)) == 20


def test_a_beat_asked_for_is_one_and_can_be_the_first_of_its_bar() -> None:
    activations, frames = heard([25] * 32, 4)
    found = bars.decode(activations, FPS, anchor=frames[6] + 12)
    index = int(np.abs(found.frames - frames[6] - 12).argmin())
    assert abs(found.frames[index] - frames[6] - 12) <= 1
    bands = np.full((len(activations), 136), 0.1, np.float32)
    numbers = downbeats.label(np.array(frames), activations, bands, anchor=6).numbers
    assert numbers[6] == 1


# ---- finer times ----------------------------------------------------------------------------------------------------


def test_a_peak_between_frames_is_found_to_a_millisecond() -> None:
    """Parabolas whose tops lie off the grid: three points of each give the top back exactly."""
    truth = 0.507 + 0.4 * np.arange(20)  # all a third of a frame beyond one
    strength = np.zeros(450)
    for top in truth * FPS:
        for frame in range(int(top) - 1, int(top) + 3):
            strength[frame] = max(0.9 - 0.1 * (frame - top) ** 2, 0.0)
    found = refine.times(np.round(truth * FPS).astype(np.int64), strength, FPS)
    assert found == pytest.approx(truth, abs=1e-3)


def test_jitter_of_the_frames_is_smoothed_and_a_straggler_is_not_followed() -> None:
    rng = np.random.default_rng(4)
    truth = 1.0 + 0.5 * np.arange(60)
    frames = np.round((truth + rng.normal(0.0, 0.01, 60)) * FPS).astype(np.int64)
    frames[30] += 4
    strength = np.full(int(32 * FPS), 0.01)
    strength[frames] = 0.6
    found = refine.times(frames, strength, FPS)
    assert np.abs(found - truth).mean() < 0.5 * np.abs(frames / FPS - truth).mean()
    assert abs(found[30] - truth[30]) < 0.03


# ---- bars -----------------------------------------------------------------------------------------------------------


def test_harmony_tells_the_bars_where_the_networks_say_nothing() -> None:
    """Every beat is as likely a downbeat; the chord changes on every third."""
    frames = np.arange(30, 30 + 25 * 48, 25)
    activations = np.full((frames[-1] + 30, 2), 0.01)
    activations[frames] = 0.4
    bands = np.full((len(activations), 136), 0.1, np.float32)
    for bar, frame in enumerate(frames[1::3]):
        bands[frame:, 20:100] = 0.1
        bands[frame:, 30 + 7 * (bar % 4) : 34 + 7 * (bar % 4)] = 1.0
    found = downbeats.label(frames, activations, bands)
    assert found.metre == 3
    assert list(found.numbers[1:10]) == [1, 2, 3, 1, 2, 3, 1, 2, 3]
    assert found.contrast > downbeats.CLARITY


def test_a_dropped_beat_goes_on_in_step() -> None:
    activations, frames = heard([25] * 16 + [25] * 2 + [25] * 16, 4)
    activations[:] = 0.01
    starts = [*range(0, 16, 4), 16, *range(18, 34, 4)]  # one bar of two
    for k, frame in enumerate(frames):
        activations[frame] = (0.05, 0.8) if k in starts else (0.8, 0.05)
    bands = np.full((len(activations), 136), 0.1, np.float32)
    found = downbeats.label(np.array(frames), activations, bands)
    assert [k for k, number in enumerate(found.numbers) if number == 1] == starts
    # Who says where bars begin means all of them.
    said = downbeats.label(np.array(frames), activations, bands, anchor=4)
    assert [k for k, number in enumerate(said.numbers) if number == 1] == [*range(0, 34, 4)]


def test_beats_that_are_all_alike_are_bars_of_four() -> None:
    """A metronome: what the networks say differs by chance alone, and no bar is cut short for it."""
    frames = np.arange(30, 30 + 25 * 118, 25)
    activations = np.full((frames[-1] + 30, 2), 0.01)
    activations[frames] = np.random.default_rng(3).uniform(0.3, 0.45, (len(frames), 2))
    found = downbeats.label(frames, activations, np.full((len(activations), 136), 0.1, np.float32))
    assert found.metre == 4
    assert set(np.diff(np.flatnonzero(found.numbers == 1))) == {4}


def test_no_bar_is_cut_to_a_single_beat() -> None:
    activations, frames = heard([25] * 33, 4)
    activations[:] = 0.01
    for k, frame in enumerate(frames):  # two downbeats in a row, beats 16 and 17
        activations[frame] = (0.05, 0.8) if k in (*range(0, 17, 4), *range(17, 33, 4)) else (0.8, 0.05)
    found = downbeats.label(np.array(frames), activations, np.full((len(activations), 136), 0.1, np.float32))
    assert min(np.diff(np.flatnonzero(found.numbers == 1))) >= 2
