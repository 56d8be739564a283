"""Sounds whose beats are known exactly: MIDI files through a synthesiser, and pieces of the band that are hard on purpose."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audio.benchmarks import band
from audio.decode import decode, to_array

STEADY = 0.01  # share by which the tempo of a piece of constant tempo may stray
SAMPLES = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Case:
    """A sound, (n, 2) int16 at 48 kHz, and seconds of its beats and downbeats; no beats at all where there is none to find."""

    name: str
    samples: SAMPLES
    beats: NDArray[np.float64]
    downbeats: NDArray[np.float64]
    steady: bool = True


def from_midi(path: Path, soundfont: Path, scratch: Path) -> Case:
    """A MIDI file through FluidSynth; its beats from tempo map and time signatures, from its first note to its last.

    Of compound metres (6/8, 9/8, 12/8) the beat is the dotted quarter.
    """
    wav = scratch / f"{path.stem}.wav"
    if not wav.is_file():
        command = ["fluidsynth", "-ni", "-g", "0.5", "-r", "44100", "-F", str(wav), str(soundfont), str(path)]
        subprocess.run(command, check=True, capture_output=True)
    beats, downs, tempi = midi_beats(path)
    return Case(path.stem, to_array(decode(wav)), beats, downs, bool(np.ptp(tempi) <= STEADY * np.mean(tempi)))


def midi_beats(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Seconds of the beats and of the downbeats, and every tempo set (microseconds a quarter)."""
    mido = import_module("mido")
    file = mido.MidiFile(str(path), clip=True)
    tick, tempi, metres, notes = 0, [(0, 500_000)], [(0, 4, 4)], []
    for message in mido.merge_tracks(file.tracks):
        tick += message.time
        if message.type == "set_tempo":
            tempi.append((tick, message.tempo))
        elif message.type == "time_signature":
            metres.append((tick, message.numerator, message.denominator))
        elif message.type == "note_on" and message.velocity:
            notes.append(tick)

    def seconds(at: float) -> float:
        total, before, tempo = 0.0, 0, tempi[0][1]
        for start, following in tempi[1:]:
            if start >= at:
                break
            total, before, tempo = total + (start - before) * tempo, start, following
        return float(total + (at - before) * tempo) / int(file.ticks_per_beat) / 1e6

    beats, downs = [], []
    for k, (start, numerator, denominator) in enumerate(metres):
        end = metres[k + 1][0] if k + 1 < len(metres) else notes[-1] + 1
        compound = denominator == 8 and numerator % 3 == 0 and numerator > 3
        unit = file.ticks_per_beat * 4 / denominator * (3 if compound else 1)
        count = numerator // 3 if compound else numerator
        for number, at in enumerate(np.arange(start, end, unit)):
            if notes[0] - unit / 8 <= at <= notes[-1]:
                beats.append(seconds(float(at)))
                downs += [beats[-1]] if number % count == 0 else []
    used = [tempo for k, (at, tempo) in enumerate(tempi) if k + 1 == len(tempi) or tempi[k + 1][0] > at + 1]
    return np.array(beats), np.array(downs), np.array(used, float)


def hard() -> Iterator[Case]:
    """Pieces of the band: ramps, a sudden change, odd metres, swing, silence at the start, and sound without a beat."""
    yield _case("steady 100", band.steady(100, 96), 4)
    yield _case("silence of 6 s, then 120", band.steady(120, 112, lead=6.0), 4)
    yield _case("swing 140", band.steady(140, 128), 4, swing=2 / 3)
    yield _case("swing 96", band.steady(96, 96), 4, swing=2 / 3)
    yield _case("3/4 at 132", band.steady(132, 120), 3)
    yield _case("5/4 at 120", band.steady(120, 120), 5)
    yield _case("7/4 at 150", band.steady(150, 140), 7)
    yield _case("ramp 90 to 150", band.ramp(90, 150, 128), 4, steady=False)
    yield _case("ramp 140 to 80", band.ramp(140, 80, 112), 4, steady=False)
    yield _case("100, then 130", (*band.steady(100, 48), *band.steady(130, 64, lead=28.8)[1:]), 4, steady=False)
    steps = np.random.default_rng(5).normal(0.0, 0.06, 112)
    drift = np.exp(np.convolve(steps, 0.9 ** np.arange(112))[:112])  # comes back to its tempo, within a third of it
    yield _case("rubato around 105", _summed(60.0 / (105.0 * drift)), 4, steady=False)
    yield _case("tempo that halves unnoticed", _summed(60.0 / (110.0 * np.exp(np.cumsum(steps)))), 4, steady=False)
    yield Case("no beat", band.drone(60.0), np.zeros(0), np.zeros(0), False)
    noise = np.random.default_rng(6).normal(0.0, 3000.0, (45 * band.RATE, 2))
    yield Case("noise", np.asarray(np.clip(noise, -32768, 32767), np.int16), np.zeros(0), np.zeros(0), False)


def _summed(lengths: NDArray[np.float64]) -> tuple[float, ...]:
    return (0.0, *(float(t) for t in np.cumsum(lengths)))


def _case(
    name: str, beats: tuple[float, ...], metre: int, swing: float = 0.5, steady: bool = True
) -> Case:  # fmt: skip
    bars = (len(beats) - 1) // metre
    parts = (band.Part(bars // 4, ("drums", "bass")), band.Part(bars // 2), band.Part(bars, ("drums", "bass", "chords")))
    beats = beats[: bars * metre + 1]
    sound = band.play(band.Piece(beats, metre, parts, swing))
    times = np.array(beats[:-1])
    return Case(name, sound, times, times[::metre], steady)
