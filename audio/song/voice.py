"""Who sings what: the lead, its two doubles, two harmonies in the choruses, and the chopped hook; each a mono sound at 48 kHz.

Speaking a line costs most; it is kept in a folder under a key of all that made it, so that a song that was stopped goes on and
a changed line alone is spoken anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from audio.song import phonemes, singing, speech
from audio.song.arrange import Arrangement, Note, harmony
from audio.song.dsp import RATE, add, fade_out, stereo
from audio.song.files import replacing
from audio.song.lexicon import said
from audio.song.score import STEPS, Part, Song, SungLine, sung
from audio.song.singing import LEAD, Manner, SungNote
from audio.song.speech import Segment, Speaker, Speech, style
from audio.song.stems import Progress, Span
from audio.song.theory import MAJOR

Wave = NDArray[np.float64]
Mixture = tuple[tuple[str, float], ...]
MIXTURE: Mixture = (("af_heart", 0.5), ("af_bella", 0.5))


@dataclass(frozen=True, slots=True)
class Layer:
    """One singer's part: in what manner, and how many seconds behind the note."""

    name: str
    manner: Manner
    late: float = 0.0


LEAD_LAYER = Layer("lead", Manner())
LAYERS = (
    LEAD_LAYER,
    Layer("double-left", Manner(cents=8.0, vibrato=16.0, seed=2, formants=1.02, consonants=-3.0), 0.011),
    Layer("double-right", Manner(cents=-8.0, vibrato=18.0, seed=3, formants=0.98, consonants=-3.0), 0.018),
    Layer("below", Manner(cents=3.0, vibrato=14.0, seed=4, formants=0.97, consonants=-3.0), 0.008),
    Layer("above", Manner(cents=-4.0, vibrato=14.0, seed=5, formants=1.03, consonants=-3.0), 0.014),
)
HARMONIES = ("below", "above")  # they sing in choruses and in the outro only


@dataclass(frozen=True, slots=True)
class Take:
    """One line of one layer: the step at which it begins in the song, and its sound at 48 kHz from LEAD seconds before that."""

    layer: Layer
    step: int
    sound: Wave


def takes(song: Song, keep: Path, span: Span, progress: Progress | None = None) -> Iterator[Take]:
    """Every line of a stretch in every layer.

    Raises VoiceError, ScoreError; OSError where lines cannot be kept in the folder `keep`.
    """
    speaker = Speaker()
    todo = [each for each in _parts(song) if span.holds(each[1])]
    for done, (layer, step, line, pitches) in enumerate(todo):
        if progress is not None:
            progress("singing", done, len(todo))
        yield Take(layer, step, _take(keep, speaker, layer, song, line, _notes(song, line, pitches)))
    if progress is not None:
        progress("singing", len(todo), len(todo))


def _parts(song: Song) -> Iterator[tuple[Layer, int, SungLine, list[int]]]:
    for first, part in zip(song.starts(), song.parts, strict=True):
        for line in part.lines:
            for layer in LAYERS:
                if layer.name in HARMONIES and part.kind not in ("chorus", "outro"):
                    continue
                pitches = {"below": harmony, "above": above}.get(layer.name, _melody)(part, line)
                yield layer, (first - 1) * STEPS + line.syllables[0].step, line, pitches


def _melody(part: Part, line: SungLine) -> list[int]:
    return [s.pitch for s in line.syllables]


def above(part: Part, line: SungLine) -> list[int]:
    """A voice over the lead: held notes take the nearest chord tone a third or more above, passing ones a third of the scale.

    Where that would be shrill, above C#5 for the lead, it sings an octave lower.
    """
    scale, out = {(part.tonic + d) % 12 for d in MAJOR}, []
    for s in line.syllables:
        classes = part.chords[s.step // STEPS].classes if s.steps > 2 else scale
        pitch = next((p for p in range(s.pitch + 3, s.pitch + 9) if p % 12 in classes), s.pitch + 12)
        out.append(pitch - 12 if s.pitch > 73 else pitch)
    return out


def _notes(song: Song, line: SungLine, pitches: list[int]) -> tuple[SungNote, ...]:
    origin = line.syllables[0].step
    return tuple(
        SungNote(song.seconds(s.step - origin), song.seconds(s.steps), float(p))
        for s, p in zip(line.syllables, pitches, strict=True)
    )


def _words(song: Song, line: SungLine) -> tuple[tuple[phonemes.Sounds, ...], ...]:
    texts = ["".join(s.text for s in word) for word in line.words]
    return tuple(tuple(phonemes.split(piece) for piece in said(text, song.says)) for text in texts)


def _rests(line: SungLine) -> tuple[bool, ...]:
    """Of every word, whether a rest stands before it."""
    out, end = [], line.syllables[0].step
    for word in line.words:
        out.append(word[0].step > end)
        end = word[-1].step + word[-1].steps
    return tuple(out)


@cache
def _sources() -> str:
    """A digest of what makes a spoken line: the code and the voices."""
    here = Path(__file__).parent
    names = sorted([Path(m.__file__ or "") for m in (phonemes, speech)] + list((here / "voices").glob("*.bin")))
    return hashlib.sha256(b"".join(path.read_bytes() for path in names)).hexdigest()


def _take(keep: Path, speaker: Speaker, layer: Layer, song: Song, line: SungLine, notes: tuple[SungNote, ...]) -> Wave:
    """A line sung, mono at 48 kHz, from LEAD seconds before its first note."""
    spoken, analysis = _analysed(keep, speaker, _words(song, line), _rests(line))
    return np.asarray(signal.resample_poly(singing.sing(spoken, analysis, notes, layer.manner), RATE // speech.RATE, 1))


_last: dict[str, tuple[Speech, singing.Analysis]] = {}  # the line that is being sung; its layers come one after the other


def _analysed(
    keep: Path, speaker: Speaker, words: tuple[tuple[phonemes.Sounds, ...], ...], rests: tuple[bool, ...]
) -> tuple[Speech, singing.Analysis]:
    """The spoken line, from the folder if it is there, and its analysis; takes of the same words share both."""
    asked = json.dumps([[[asdict(s) for s in word] for word in words], rests, MIXTURE])
    key = hashlib.sha256((_sources() + asked).encode()).hexdigest()[:32]
    if key not in _last:
        path = keep / f"{key}.npz"
        if not path.is_file():
            _store(path, speaker.say(words, style(MIXTURE), rests))
        spoken = _load(path)
        _last.clear()
        _last[key] = (spoken, singing.analyse(spoken))
    return _last[key]


def _store(path: Path, spoken: Speech) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    segments = json.dumps([astuple(s) for s in spoken.segments])
    with replacing(path) as part:
        np.savez(part, sound=spoken.sound, pitch=spoken.pitch, segments=np.array(segments))


def _load(path: Path) -> Speech:
    with np.load(path) as data:
        segments = tuple(Segment(*values) for values in json.loads(str(data["segments"])))
        return Speech(data["sound"], segments, data["pitch"])


def chopped(arrangement: Arrangement, song: Song, keep: Path, span: Span) -> Wave:
    """The hook's first vowel cut to notes, stereo (span.samples, 2): each chop a syllable sung on its own pitch."""
    out = np.zeros((span.samples, 2))
    speaker, layer = Speaker(), Layer("chop", Manner(vibrato=0.0, seed=6))
    for note in arrangement.chops:
        if span.holds(note.step):
            sound = _chop(song, keep, speaker, layer, note)
            add(out, stereo(sound, note.pan), span.at(note.step) - round(0.04 * RATE), 0.3 * note.level)
    return out


def _chop(song: Song, keep: Path, speaker: Speaker, layer: Layer, note: Note) -> Wave:
    seconds = song.seconds(note.steps)
    line = sung(0, "'high", "C4:2")
    up = _take(keep, speaker, layer, song, line, (SungNote(0.0, seconds + 0.05, float(note.pitch)),))
    first = round((LEAD - 0.04) * RATE)
    cut = up[first : first + round((seconds + 0.06) * RATE)]
    cut = cut * np.minimum(np.arange(len(cut)) / (0.004 * RATE), 1.0) * fade_out(len(cut), 0.03)
    return np.asarray(cut / max(np.abs(cut).max(), 1e-9))


PANS = {"lead": 0.0, "double-left": -0.7, "double-right": 0.7, "below": 0.4, "above": -0.4}
STEM_OF = {"lead": "voice", "double-left": "doubles", "double-right": "doubles", "below": "choir", "above": "choir"}
LEVEL = -20.0  # dB of full scale that every take's body is brought to; the mix sets the voice above what plays


def body(x: Wave) -> float:
    """Level in dB of a take's sung sounds: the mean over its loud third, without breath, hiss and the loudest bursts."""
    band = signal.sosfilt(signal.butter(2, [150.0, 5000.0], "band", fs=RATE, output="sos"), x)
    each = round(0.02 * RATE)
    power = np.sort((band[: len(band) // each * each].reshape(-1, each) ** 2).mean(axis=1))[::-1]
    return float(10.0 * np.log10(power[len(power) // 50 : max(len(power) * 35 // 100, 1)].mean() + 1e-12))


def stems(song: Song, arrangement: Arrangement, keep: Path, span: Span, progress: Progress | None = None) -> dict[str, Wave]:
    """The sung stems, each of shape (span.samples, 2): `voice`, `doubles`, `choir`, `chops`.  Raises as `takes` does."""
    out = {name: np.zeros((span.samples, 2)) for name in ("voice", "doubles", "choir")}
    for take in takes(song, keep, span, progress):
        level = 10.0 ** ((LEVEL - body(take.sound)) / 20.0)
        start = span.at(take.step) + round((take.layer.late - LEAD) * RATE)
        add(out[STEM_OF[take.layer.name]], stereo(take.sound, PANS[take.layer.name]), start, level)
    return {**out, "chops": chopped(arrangement, song, keep, span)}
