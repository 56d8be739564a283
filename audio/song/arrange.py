"""Score and patterns -> every sound of the song with its place: the step from song to synthesiser.

Steps are sixteenths from the song's start; a part's patterns come from the song's layers under the part's name.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace

import numpy as np

from audio.song.patterns import ARPS, GRIDS, LEVELS, TOMS, Layers
from audio.song.score import STEPS, Part, Song, SungLine, sung
from audio.song.theory import MAJOR, Chord, ScoreError, lead_voices

BASS_LOW = 28  # E1: bass roots lie in the octave from here up
RING = 10  # sixteenths that the last chord is held past the last bar, while it fades
VOICING = (59, 62, 66, 69)  # the shape that the first chord is drawn to
VOICING_RANGE = (57, 76)


@dataclass(frozen=True, slots=True)
class Hit:
    """One drum hit; `shift` moves it by seconds off the grid (cymbals only: kicks and snares are exact)."""

    drum: str
    step: float
    level: float
    variant: int
    shift: float = 0.0


@dataclass(frozen=True, slots=True)
class Note:
    """One note of a synth voice; `stem` is where it is mixed, `pan` -1..1."""

    voice: str
    stem: str
    step: float
    steps: float
    pitch: int
    level: float
    bright: float
    bright_end: float
    pan: float = 0.0


@dataclass(frozen=True, slots=True)
class Phrase:
    """A legato line of the lead: (step, steps, pitch, level) of each note, its air, its voice an octave up."""

    stem: str
    notes: tuple[tuple[int, int, int, float], ...]
    bright: float
    air: float
    octave: float


@dataclass(frozen=True, slots=True)
class Effect:
    """A riser, fall, impact or swell."""

    kind: str
    step: float
    steps: float
    pitch: int
    level: float


@dataclass(slots=True)
class Arrangement:
    """All that sounds; `hushes` are (first, last) steps of the silences before a drop, `chops` single notes of the voice."""

    hits: list[Hit] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    phrases: list[Phrase] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    hushes: list[tuple[int, int]] = field(default_factory=list)
    chops: list[Note] = field(default_factory=list)

    @property
    def kicks(self) -> list[float]:
        """Steps of the kicks."""
        return [hit.step for hit in self.hits if hit.drum == "kick"]


def arrange(song: Song) -> Arrangement:
    """The whole song's events.  Raises ScoreError for a pattern that does not exist or a sequence of the wrong length."""
    out = Arrangement()
    voicings = lead_voices([c for part in song.parts for c in part.chords], *VOICING_RANGE, VOICING)
    roots = [c.bass for part in song.parts for c in part.chords]
    for k, (first, part) in enumerate(zip(song.starts(), song.parts, strict=True)):
        layers = song.layers.get(part.name, Layers({}))
        origin, bar = (first - 1) * STEPS, first - 1
        shapes = voicings[bar : bar + part.bars]
        _drums(out, part, layers, origin)
        _bass(out, part, layers, origin, [*roots, roots[-1]][bar : bar + part.bars + 1])
        _chords(out, part, layers, origin, shapes)
        _arpeggio(out, part, layers, origin)
        _melody(out, part, layers, origin)
        _riffs(out, part, layers, origin)
        _joins(out, part, layers, origin, song.parts[min(k + 1, len(song.parts) - 1)].tonic)
    end = song.bars * STEPS
    out.notes = [replace(n, steps=n.steps + RING) if n.step + n.steps > end - 1 else n for n in out.notes]
    return out


def sequence(text: str, bars: int, where: str) -> list[tuple[str, float]]:
    """(grid name, level) of each bar from `name*count@level ...`.  Raises ScoreError."""
    out: list[tuple[str, float]] = []
    for token in text.split():
        match, level, count = token, 1.0, 1
        for piece in token.replace("*", " *").replace("@", " @").split()[1:]:
            if piece[0] == "*":
                count = int(piece[1:])
            else:
                level = float(piece[1:])
        match = token.split("*")[0].split("@")[0]
        if match not in GRIDS:
            raise ScoreError(f"{where}: no pattern {match!r}")
        out += [(match, level)] * count
    if len(out) != bars:
        raise ScoreError(f"{where}: patterns for {len(out)} bars, but the part has {bars}")
    return out


def _rng(part: Part, salt: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(f"{part.name}/{salt}".encode()))


def _drums(out: Arrangement, part: Part, layers: Layers, origin: int) -> None:
    for drum, text in layers.drums.items():
        rng = _rng(part, drum)
        exact = drum in ("kick", "snare", "tom", "crash")
        for bar, (name, level) in enumerate(sequence(text, part.bars, f"{part.name}, {drum}")):
            grid = GRIDS[name]
            for i, mark in enumerate(grid):
                human, late, variant = 1.0 + 0.07 * rng.standard_normal(), 0.0012 * rng.standard_normal(), int(rng.integers(8))
                if mark not in LEVELS:
                    continue
                step = origin + bar * STEPS + i * STEPS / len(grid)
                hard = round(float(np.clip(LEVELS[mark] * level * (1.0 if exact else human), 0.05, 1.1)), 2)
                out.hits.append(Hit(drum, step, hard, TOMS.get(mark, variant), 0.0 if exact else float(abs(late))))


def _runs(grid: str) -> list[tuple[str, int, int]]:
    """(mark, step, steps) of a grid whose notes are held by underscores."""
    runs: list[tuple[str, int, int]] = []
    for i, mark in enumerate(grid):
        if mark == "_" and runs and runs[-1][1] + runs[-1][2] == i:
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        elif mark not in "._":
            runs.append((mark, i, 1))
    return runs


def bass_pitch(cls: int) -> int:
    """A root's place in the bass octave, MIDI."""
    return BASS_LOW + (cls - BASS_LOW) % 12


def _bass(out: Arrangement, part: Part, layers: Layers, origin: int, roots: list[int]) -> None:
    if not layers.bass:
        return
    for bar, (name, level) in enumerate(sequence(layers.bass, part.bars, f"{part.name}, bass")):
        root, after = bass_pitch(roots[bar]), bass_pitch(roots[bar + 1])
        bright = _along(layers.bright, bar, part.bars)
        for mark, step, steps in _runs(GRIDS[name]):
            below = next(after - d for d in (1, 2) if (after - d - part.tonic) % 12 in MAJOR)
            pitch = {"R": root, "r": root, "O": root + 12, "o": root + 12, "5": root + 7, "L": below}[mark]
            hard = level * (1.0 if mark in "RO" else 0.86)
            held = steps * 0.97 if steps > 1 else 1.55 if name.startswith("pump") else 0.9
            out.notes.append(
                Note(layers.bass_voice, "bass", origin + bar * STEPS + step, held, pitch, hard, bright, min(bright + 0.15, 1.0))
            )


def _along(span: tuple[float, float], bar: float, bars: int) -> float:
    return span[0] + (span[1] - span[0]) * bar / max(bars - 1, 1)


def _chords(out: Arrangement, part: Part, layers: Layers, origin: int, shapes: list[tuple[int, ...]]) -> None:
    for voice, text in (("chords", layers.chords), ("pad", layers.pad)):
        if not text:
            continue
        for bar, (name, level) in enumerate(sequence(text, part.bars, f"{part.name}, {voice}")):
            bright = _along(layers.bright, bar, part.bars)
            for mark, step, steps in _runs(GRIDS[name]):
                held = steps * 0.98 if steps > 1 else 1.3
                side = (-0.75 if step < STEPS // 2 else 0.75) if layers.split and voice == "chords" else 0.0
                closing = bright - 0.10 if voice == "chords" else bright + 0.04
                stack = [(pitch, 1.0) for pitch in shapes[bar]]
                if layers.low_root and voice == "chords":
                    stack.append((12 + bass_pitch(part.chords[bar].bass), layers.low_root))
                for pitch, share in stack:
                    hard = level * LEVELS[mark] * share
                    at = origin + bar * STEPS + step
                    out.notes.append(Note(voice, voice, at, held, pitch, hard, bright, closing, side))


def _arpeggio(out: Arrangement, part: Part, layers: Layers, origin: int) -> None:
    if not layers.arp:
        return
    for bar, text in enumerate(_names(layers.arp, part)):
        if text == "rest":
            continue
        tones = _ladder(part.chords[bar], 62, 8)
        bright = _along(layers.bright, bar, part.bars)
        for i, index in enumerate(ARPS[text]):
            if index < 0:
                continue
            side = (-0.7 if i < STEPS // 2 else 0.7) if layers.split else 0.62 * (-1.0) ** i
            accent = 1.0 if i in (0, 3, 6, 8, 11, 14) else 0.68
            out.notes.append(
                Note("arp", "arp", origin + bar * STEPS + i, 1.0, tones[index], accent * layers.arp_level, bright, bright, side)
            )


def _names(text: str, part: Part) -> list[str]:
    names: list[str] = []
    for token in text.split():
        name, _, count = token.partition("*")
        if name != "rest" and name not in ARPS:
            raise ScoreError(f"{part.name}, arp: no pattern {name!r}")
        names += [name] * int(count or 1)
    if len(names) != part.bars:
        raise ScoreError(f"{part.name}, arp: patterns for {len(names)} bars, but the part has {part.bars}")
    return names


def _ladder(each: Chord, low: int, count: int) -> list[int]:
    """The lowest `count` chord tones from a pitch on."""
    return [p for p in range(low, low + 40) if p % 12 in each.classes][:count]


def _melody(out: Arrangement, part: Part, layers: Layers, origin: int) -> None:
    for line in part.lines:
        levels = [layers.lead_level * (1.0 if s.stressed else 0.84) for s in line.syllables]
        notes = tuple((origin + s.step, s.steps, s.pitch, level) for s, level in zip(line.syllables, levels, strict=True))
        out.phrases.append(Phrase("lead", notes, 1.0, layers.lead_air, layers.lead_octave))
        if layers.harmony:
            below = zip(line.syllables, harmony(part, line), strict=True)
            under = tuple((origin + s.step, s.steps, pitch, layers.harmony) for s, pitch in below)
            out.phrases.append(Phrase("harmony", under, 0.75, layers.lead_air * 0.7, 0.0))


def harmony(part: Part, line: SungLine) -> list[int]:
    """A second voice: held notes take the nearest chord tone a third or more below, passing ones a third of the scale."""
    out = []
    scale = {(part.tonic + d) % 12 for d in MAJOR}
    for s in line.syllables:
        classes = part.chords[s.step // STEPS].classes
        if s.steps > 2:
            out.append(next(p for p in range(s.pitch - 3, s.pitch - 13, -1) if p % 12 in classes))
        else:
            out.append(next((p for p in (s.pitch - 3, s.pitch - 4) if p % 12 in scale), s.pitch - 3))
    return out


def _riffs(out: Arrangement, part: Part, layers: Layers, origin: int) -> None:
    shift = part.tonic - layers.riffs_tonic
    for riff in layers.riffs:
        count = sum(not token.startswith("-") for token in riff.notes.split())
        line = sung(riff.step, " ".join(["x"] * count), riff.notes).transposed(shift)
        if riff.voice == "lead":
            notes = tuple((origin + s.step, s.steps, s.pitch, riff.level) for s in line.syllables)
            out.phrases.append(Phrase("lead", notes, 0.8, layers.lead_air, layers.lead_octave))
            continue
        for i, s in enumerate(line.syllables):
            pan = 0.35 * (-1.0) ** i if riff.voice in ("bell", "chop") else 0.0
            (out.chops if riff.voice == "chop" else out.notes).append(
                Note(riff.voice, riff.voice, origin + s.step, s.steps, s.pitch, riff.level, *layers.bright, pan)
            )


def _joins(out: Arrangement, part: Part, layers: Layers, origin: int, next_tonic: int) -> None:
    end = origin + part.bars * STEPS
    hush = end
    for name, (bar, beat) in part.cues.items():
        if name.startswith("hush"):
            hush = origin + (bar - 1) * STEPS + int((beat - 1) * 4)
            out.hushes.append((hush, end))
    bars, level = layers.rise
    if bars:
        out.effects.append(Effect("riser", end - bars * STEPS, hush - end + bars * STEPS, 72 + (next_tonic + 7) % 12, level))
    if layers.swell:
        out.effects.append(Effect("swell", end - 12, 12, 0, layers.swell))
    if layers.land:
        out.effects.append(Effect("impact", origin, 24, bass_pitch(part.chords[0].bass), layers.land))
        out.effects.append(Effect("fall", origin, 24, 0, layers.land))
    last = part.cues.get("last-hit")
    if last is not None:
        step = origin + (last[0] - 1) * STEPS + (last[1] - 1) * 4
        out.effects.append(Effect("swell", step - 12, 12, 0, 0.7))
        out.effects.append(Effect("impact", step, 24, bass_pitch(part.chords[-1].bass), 0.9))
