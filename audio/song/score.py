"""The song as data: its form, chords, melody and words.  Everything that sounds or appears on screen starts here.

Words and notes are written side by side, one note a syllable.  In words, a raised dot parts the syllables of a word and an
apostrophe goes before each stressed syllable: `"'mem·o·ry and 'math"`.  In notes, `F#4:3` is three sixteenths of F#4, `-:2` a
rest of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from audio.song.patterns import LAYERS, Layers
from audio.song.theory import Chord, ScoreError, chord, note
from audio.timeline import Line, Section, SungSyllable, Timeline, Word

STEPS = 16  # sixteenths in a bar of 4/4


@dataclass(frozen=True, slots=True)
class Syllable:
    """One syllable on one note: onset and length in sixteenths from its part's start, MIDI pitch; `last` ends its word."""

    text: str
    step: int
    steps: int
    pitch: int
    stressed: bool
    last: bool


@dataclass(frozen=True, slots=True)
class SungLine:
    """One lyric line, set to notes."""

    syllables: tuple[Syllable, ...]

    @property
    def words(self) -> tuple[tuple[Syllable, ...], ...]:
        """Syllables grouped by word."""
        groups: list[tuple[Syllable, ...]] = []
        start = 0
        for i, syllable in enumerate(self.syllables):
            if syllable.last:
                groups.append(self.syllables[start : i + 1])
                start = i + 1
        return tuple(groups)

    def transposed(self, semitones: int) -> SungLine:
        return SungLine(
            tuple(Syllable(s.text, s.step, s.steps, s.pitch + semitones, s.stressed, s.last) for s in self.syllables)
        )


@dataclass(frozen=True, slots=True)
class Part:
    """A section: one chord a bar, its lines; `tonic` is the pitch class of its key, `cues` name a (bar, beat) inside it."""

    name: str
    kind: str
    tonic: int
    chords: tuple[Chord, ...]
    lines: tuple[SungLine, ...] = ()
    cues: Mapping[str, tuple[int, float]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def bars(self) -> int:
        return len(self.chords)


@dataclass(frozen=True, slots=True)
class Song:
    """A song: its tempo in beats a minute, its parts in order, and the seconds that it rings on after the last bar.

    `layers` says what each part plays, by the part's name; `says` gives each word's phonemes, its syllables parted by dots,
    and is empty where nobody sings.
    """

    title: str
    bpm: float
    parts: tuple[Part, ...]
    ring: float
    layers: Mapping[str, Layers]
    says: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def bars(self) -> int:
        return sum(part.bars for part in self.parts)

    def seconds(self, steps: float) -> float:
        """Time of a sixteenth counted from the song's start, one multiplication from the tempo (nothing is summed)."""
        return steps * 60.0 / (self.bpm * 4.0)

    @property
    def duration(self) -> float:
        """Seconds of sound."""
        return self.seconds(self.bars * STEPS) + self.ring

    def starts(self) -> tuple[int, ...]:
        """First bar of every part, from 1."""
        firsts, bar = [], 1
        for part in self.parts:
            firsts.append(bar)
            bar += part.bars
        return tuple(firsts)


def sung(step: int, words: str, notes: str) -> SungLine:
    """A line from words and notes, `step` sixteenths into its part.  Raises ScoreError where they do not match."""
    texts: list[tuple[str, bool, bool]] = []
    for word in words.split():
        pieces = word.split("·")
        for i, piece in enumerate(pieces):
            texts.append((piece.lstrip("'"), piece.startswith("'"), i == len(pieces) - 1))
    syllables: list[Syllable] = []
    at = step
    for token in notes.split():
        name, _, length = token.partition(":")
        if not length.isdigit() or int(length) < 1:
            raise ScoreError(f"line {words!r}: note {token!r}: expected a name, a colon and a number of sixteenths")
        if name != "-":
            if len(syllables) == len(texts):
                raise ScoreError(f"line {words!r}: more notes than its {len(texts)} syllables")
            text, stressed, last = texts[len(syllables)]
            syllables.append(Syllable(text, at, int(length), note(name), stressed, last))
        at += int(length)
    if len(syllables) != len(texts):
        raise ScoreError(f"line {words!r}: {len(texts)} syllables but {len(syllables)} notes")
    return SungLine(tuple(syllables))


def chords(names: str, transpose: int = 0) -> tuple[Chord, ...]:
    """Chords from symbols parted by blanks, one a bar."""
    return tuple(chord(name).transposed(transpose) for name in names.split())


def chorus(name: str, last: str, transpose: int, cues: Mapping[str, tuple[int, float]]) -> Part:
    """The hook: the same three lines each time and a last line of its own; harmony IV V iii vi, IV V vi I."""
    hook = "G4:3 B4:3 D5:6 C#5:2 D5:2 E5:7"  # up the IV chord in 3 + 3 + 2, then by step to the fifth of V
    lines = (
        sung(0, "'Climb, 'climb, 'climb to the 'line,", hook),
        sung(24, "'mem·o·ry and 'math, they 'meet by de·'sign.", "C#5:2 B4:2 A4:2 B4:2 C#5:6 B4:2 A4:3 F#4:3 A4:2 B4:11"),
        sung(64, "'Climb, 'climb, 'climb to the 'line,", hook),
        sung(88, last, "C#5:3 B4:3 C#5:2 D5:3 B4:3 A4:2 B4:4 C#5:4 D5:12"),
    )
    return Part(
        name,
        "chorus",
        (2 + transpose) % 12,
        chords("G A F#m Bm G A Bm D", transpose),
        tuple(line.transposed(transpose) for line in lines),
        cues,
    )


D, E = 2, 4  # the two keys, D major and, from the bridge's last bars on, E major

INTRO = Part("intro", "intro", D, chords("Gadd9 A F#m7 Bm7"), (), {"title": (3, 1)})

VERSE_1 = Part(
    "verse-1",
    "verse",
    D,
    chords("Bm7 Bm7 Gmaj7 Gmaj7 Em7 Em7 Asus4 A"),
    (
        sung(0, "'Ev·ery 'thread be·'gins the 'same,", "F#4:2 F#4:2 F#4:2 A4:2 B4:6 A4:2 F#4:10"),
        sung(32, "'same code, 'just a 'diff·erent 'name.", "G4:2 G4:2 B4:2 A4:2 G4:6 E4:2 D4:10"),
        sung(64, "'Block times 'width, then 'add your 'place:", "G4:2 G4:2 G4:2 A4:2 B4:6 A4:2 B4:10"),
        sung(96, "'that's your 'num·ber, 'that's your 'space.", "A4:2 A4:2 A4:2 B4:2 D5:6 B4:2 C#5:10"),
    ),
    {"formula": (5, 1), "number": (7, 2)},
)

BUILD = Part(
    "build",
    "build",
    D,
    chords("Em F#m G A"),
    (
        sung(0, "'Launch the 'grid, the 'ea·sy part's 'done;", "B4:2 B4:2 G4:2 A4:2 B4:3 A4:3 G4:2 A4:10"),
        sung(32, "'now we 'ask: how 'fast did it 'run?", "D5:2 D5:2 B4:2 C#5:2 D5:3 C#5:3 B4:2 C#5:8"),
    ),
    {"launch": (1, 1), "run": (4, 1), "hush-1": (4, 3)},
)

VERSE_2 = Part(
    "verse-2",
    "verse",
    D,
    chords("Bm7 Bm7 Gmaj7 Gmaj7 Em7 Em7 Asus4 A"),
    (
        sung(0, "'Lanes in 'lock·step, 'row by 'row,", "F#4:2 F#4:2 F#4:2 A4:2 B4:6 A4:2 F#4:10"),
        sung(32, "'meet an 'if and 'split the 'flow.", "G4:2 G4:2 B4:2 A4:2 G4:6 E4:2 D4:10"),
        sung(64, "'Half must 'wait while 'oth·ers 'go;", "G4:2 G4:2 G4:2 A4:2 B4:6 A4:2 B4:10"),
        sung(96, "'turn by 'turn, the 'warp runs 'slow.", "A4:2 A4:2 A4:2 B4:2 D5:6 B4:2 C#5:8"),
    ),
    {"fork": (3, 2), "wait": (5, 2), "hush-2": (8, 3)},
)

BRIDGE = Part(
    "bridge",
    "bridge",
    D,
    chords("Bb C D D C D E B7sus4"),  # bVI bVII I, then the same climb a tone up: it arrives in E
    (
        sung(0, "'Clos·er, 'clos·er, 'near the 'core,", "F4:6 G4:2 Bb4:6 A4:2 G4:6 A4:2 C5:7"),
        sung(32, "'reg·is·ters 'feed the 'math with 'more.", "A4:3 A4:3 G4:2 F#4:6 G4:2 A4:6 B4:2 D5:7"),
        sung(64, "'Keep the 'par·tial 'sums in 'play:", "G4:6 A4:2 C5:6 B4:2 A4:6 B4:2 D5:7"),
        sung(96, "'ev·ery 'load goes a 'long·er 'way.", "B4:6 C#5:2 B4:3 A4:3 G#4:2 B4:6 C#5:2 E5:8"),
    ),
    {"drop-4": (1, 1), "roof-3": (1, 1), "registers": (3, 1), "hush-3": (8, 3)},
)

OUTRO = Part("outro", "outro", E, chords("A B Am6 E"), (), {"credits": (1, 1), "last-hit": (4, 1)})

FIRST_SONG = Song(
    "Climb to the Line",
    132.0,
    (
        INTRO,
        VERSE_1,
        BUILD,
        chorus("chorus-1", "'speed has a 'roof that they 'both de·'fine.", 0, {"drop-1": (1, 1), "roof-1": (1, 1)}),
        VERSE_2,
        chorus("chorus-2", "'tile it and 'share it and 'rise and 'shine.", 0, {"drop-2": (1, 1), "roof-2": (1, 1)}),
        BRIDGE,
        chorus("chorus-3", "'wide are the 'loads and the 'climb is 'mine.", 2, {"drop-3": (1, 1), "roof-4": (1, 1)}),
        OUTRO,
    ),
    ring=10.0 / 11.0,  # 60 bars of 20/11 s and this make 110 s
    layers=MappingProxyType(LAYERS),
)


def timeline(song: Song) -> Timeline:
    """The song's timeline: exact beats, sections, words from the melody, a cue at every section start and named moment."""
    beats = tuple(song.seconds(4 * i) for i in range(4 * song.bars + 1))
    sections, lines, cues = [], [], {}
    for first, part in zip(song.starts(), song.parts, strict=True):
        origin = (first - 1) * STEPS
        sections.append(Section(part.name, part.kind, first, part.bars))
        cues[part.name] = song.seconds(origin)
        for cue, (bar, beat) in part.cues.items():
            cues[cue] = song.seconds(origin + (bar - 1) * STEPS + (beat - 1) * 4)
        for line in part.lines:
            words = []
            for group in line.words:
                pieces = tuple(
                    SungSyllable(s.text, song.seconds(origin + s.step), song.seconds(origin + s.step + s.steps)) for s in group
                )
                words.append(Word("".join(s.text for s in group), pieces[0].start, pieces[-1].end, pieces if song.says else ()))
            lines.append(Line(tuple(words)))
    return Timeline(
        song.title,
        song.duration,
        beats,
        tuple(range(0, len(beats), 4)),
        tuple(sections),
        tuple(lines),
        MappingProxyType(dict(sorted(cues.items(), key=lambda item: item[1]))),
    )
