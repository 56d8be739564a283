# ruff: noqa: RUF001, the letters of a phonetic alphabet
"""The film's song: its form is the storyboard's, its words fit their notes by pronunciations that others wrote down."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from audio.song.arrange import arrange, harmony
from audio.song.lexicon import SAYS, plain, said
from audio.song.phonemes import STRESS, split
from audio.song.score import STEPS, Part, SungLine, timeline
from audio.song.theory import MAJOR, ScoreError
from audio.song.up_to_the_light import SONG
from audio.song.voice import above

# The CMU Pronouncing Dictionary's vowels of the song's words of two syllables or more; 1 is the main stress.
CMU = {
    "again": "AH0 EH1", "along": "AH0 AO1", "around": "ER0 AW1", "begun": "IH0 AH1", "burden": "ER1 AH0", "carry": "AE1 IY0",
    "data": "EY1 AH0", "decide": "IH0 AY1", "easy": "IY1 IY0", "every": "EH1 IY0", "instruction": "IH0 AH1 AH0",
    "kernel": "ER1 AH0", "kernels": "ER1 AH0", "launching": "AO1 IH0", "lighten": "AY1 AH0", "many": "EH1 IY0",
    "memory": "EH1 IY0", "number": "AH1 ER0", "only": "OW1 IY0", "registers": "EH1 IH0 ER0", "scatter": "AE1 ER0",
    "tensor": "EH1 ER0", "today": "AH0 EY1", "together": "AH0 EH1 ER0", "total": "OW1 AH0", "very": "EH1 IY0",
}  # fmt: skip
# "memory" is sung as it is spoken fast, without its middle vowel, as the dictionary's "every" is.
RHYMES = {  # from the last stressed vowel on, after the same dictionary
    "play": "EY", "say": "EY", "place": "EY S", "space": "EY S", "begun": "AH N", "run": "AH N", "one": "AH N", "no": "OW",
    "go": "OW", "far": "AA R", "are": "AA R", "all": "AO L", "fall": "AO L", "door": "AO R", "more": "AO R", "time": "AY M",
    "climb": "AY M", "way": "EY", "stay": "EY", "load": "OW D", "road": "OW D", "around": "AW N D", "found": "AW N D",
    "light": "AY T", "height": "AY T", "bright": "AY T", "write": "AY T", "sight": "AY T", "today": "EY",
}  # fmt: skip
OPEN = ("EY", "AY", "OW", "AO", "AH", "AA", "AE", "AW")  # vowels that can be held: all but the close and short ones

LINES = [(part, line) for part in SONG.parts for line in part.lines]
IDS = [f"{part.name}:{line.syllables[0].step}" for part, line in LINES]
TIMELINE = timeline(SONG)


def words_of(line: SungLine) -> list[str]:
    return [plain("".join(s.text for s in word)) for word in line.words]


def test_the_form_is_the_storyboards() -> None:
    kinds = [(section.kind, section.first_bar, section.first_bar + section.bars - 1) for section in TIMELINE.sections]
    assert TIMELINE.bars == 110 and TIMELINE.bpm == pytest.approx(132.0)
    assert kinds == [
        ("intro", 1, 4), ("verse", 5, 10), ("verse", 11, 16), ("build", 17, 20), ("chorus", 21, 28), ("verse", 29, 32),
        ("verse", 33, 38), ("verse", 39, 44), ("chorus", 45, 52), ("verse", 53, 58), ("verse", 59, 64), ("chorus", 65, 72),
        ("bridge", 73, 78), ("bridge", 79, 84), ("bridge", 85, 90), ("bridge", 91, 96), ("chorus", 97, 104),
        ("outro", 105, 110),
    ]  # fmt: skip
    assert [TIMELINE.cues[f"drop-{i}"] for i in (1, 2, 3, 4)] == [TIMELINE.time(bar) for bar in (21, 45, 65, 97)]


def test_every_scene_with_words_has_one_couplet_and_no_word_is_a_figure() -> None:
    counts = {part.name: len(part.lines) for part in SONG.parts}
    assert counts.pop("intro") == 0 and counts.pop("outro") == 3  # a couplet and the hook
    assert all(count == (4 if name.startswith("chorus") else 2) for name, count in counts.items())
    assert not any(c.isdigit() for line in TIMELINE.lines for c in line.text)


@pytest.mark.parametrize(("part", "line"), LINES, ids=IDS)
def test_each_word_has_a_note_for_each_syllable_and_its_stress_is_the_dictionarys(part: Part, line: SungLine) -> None:
    for word, group in zip(words_of(line), line.words, strict=True):
        sounds = said(word)
        assert len(sounds) == len(group)
        assert all(split(piece).vowel for piece in sounds)
        if len(group) > 1:
            expected = [vowel.endswith("1") for vowel in CMU[word].split()]
            assert [s.stressed for s in group] == expected == [STRESS in piece for piece in sounds]


@pytest.mark.parametrize(("part", "line"), LINES, ids=IDS)
def test_stressed_syllables_fall_on_beats(part: Part, line: SungLine) -> None:
    assert [s.text for s in line.syllables if s.stressed and s.step % 4] == []
    assert {s.step % STEPS for s in line.syllables if s.stressed} >= {0, 8}


@pytest.mark.parametrize(("part", "line"), LINES, ids=IDS)
def test_a_line_fills_two_bars_and_ends_on_a_long_open_vowel_on_the_third_beat(part: Part, line: SungLine) -> None:
    first, last = line.syllables[0], line.syllables[-1]
    assert first.step % STEPS == 0 and last.step == first.step + STEPS + 8
    assert last.stressed and last.steps >= 6
    assert RHYMES[words_of(line)[-1]].split()[0] in OPEN
    assert all(a.step + a.steps == b.step for a, b in zip(line.syllables, line.syllables[1:], strict=False))


def test_couplets_rhyme() -> None:
    for part in SONG.parts:
        if part.kind != "chorus" and part.lines:
            first, second = (words_of(line)[-1] for line in part.lines[:2])
            assert first != second and RHYMES[first] == RHYMES[second], part.name
        elif part.kind == "chorus":
            assert {RHYMES[words_of(line)[-1]] for line in part.lines} == {"AY T"}


def test_the_hook_comes_four_times_and_the_last_line_changes() -> None:
    choruses = [part for part in SONG.parts if part.kind == "chorus"]
    texts = [[" ".join(words_of(line)) for line in part.lines] for part in choruses]
    assert len(choruses) == 4 and len({t[3] for t in texts}) == 4
    assert all(t[:3] == texts[0][:3] and t[0] == t[2] for t in texts)
    tunes = [[s.pitch - part.tonic for line in part.lines[:3] for s in line.syllables] for part in choruses]
    assert tunes[0] == tunes[1] == tunes[2] == tunes[3]


def test_every_note_lies_in_its_parts_scale_and_in_a_voices_range() -> None:
    for part, line in LINES:
        for pitches in ([s.pitch for s in line.syllables], harmony(part, line), above(part, line)):
            assert 50 <= min(pitches) and max(pitches) <= 81
        assert {(s.pitch - part.tonic) % 12 for s in line.syllables} <= set(MAJOR)
        assert max(s.pitch for s in line.syllables) <= 76  # E5


def test_half_a_bar_is_hushed_before_every_chorus() -> None:
    assert arrange(SONG).hushes == [((bar - 1) * STEPS - 8, (bar - 1) * STEPS) for bar in (21, 45, 65, 97)]


def test_the_timeline_has_every_syllable_at_its_note() -> None:
    rise = next(line for line in TIMELINE.lines if line.text.startswith("Rise"))
    assert rise.start == pytest.approx(20 * 240 / 132) and rise.words[0].syllables[0].text == "Rise"
    for line in TIMELINE.lines:
        for word in line.words:
            assert "".join(s.text for s in word.syllables) == word.text
            assert (word.syllables[0].start, word.syllables[-1].end) == (word.start, word.end)


def test_a_word_nobody_typed_and_a_symbol_nobody_knows() -> None:
    with pytest.raises(ScoreError, match="not in the lexicon"):
        said("warpspeed")
    with pytest.raises(ScoreError, match="Kokoro"):
        split("x")
    assert set("".join(SAYS.values())) > {STRESS}


SING = """
import hashlib, sys
from audio.song.phonemes import split
from audio.song.singing import Manner, SungNote, analyse, sing
from audio.song.speech import Speaker, style
speech = Speaker().say(((split("lˈIt"),),), style((("af_heart", 0.5), ("af_bella", 0.5))), (False,))
out = sing(speech, analyse(speech), (SungNote(0.0, 0.8, 69.0),), Manner(vibrato=0.0))
print(hashlib.sha256(out.tobytes()).hexdigest())
"""


def test_two_processes_sing_the_same_bytes() -> None:
    root = Path(__file__).parents[2]
    runs = [
        subprocess.run([sys.executable, "-c", SING], capture_output=True, text=True, check=True, cwd=root) for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout and len(runs[0].stdout.strip()) == len(hashlib.sha256().hexdigest())


def test_a_note_is_sung_on_its_pitch_and_its_vowel_begins_on_it() -> None:
    import numpy as np
    import pyworld
    from scipy import signal

    from audio.song.singing import LEAD, Manner, SungNote, analyse, sing
    from audio.song.speech import RATE, Speaker, style

    speech = Speaker().say(((split("sˈO"),),), style((("af_heart", 1.0),)), (False,))
    hiss = next(segment for segment in speech.segments if segment.symbol == "s")
    high = signal.sosfilt(signal.butter(4, 5000.0, "high", fs=RATE, output="sos"), speech.sound) ** 2
    assert high[round(hiss.start * RATE) : round(hiss.end * RATE)].sum() > 0.85 * high.sum()  # a vowel has little above 5 kHz
    out = sing(speech, analyse(speech), (SungNote(0.0, 1.0, 69.0),), Manner(vibrato=0.0))
    pitch, times = pyworld.harvest(out, RATE, f0_floor=150.0, f0_ceil=900.0)
    held = pitch[(times > LEAD + 0.1) & (times < LEAD + 0.9)]
    assert (held > 0).mean() > 0.95
    assert np.abs(1200 * np.log2(held[held > 0] / 440.0)).mean() < 20.0
    begins = times[np.flatnonzero(pitch > 0)[0]]
    assert -0.1 < begins - LEAD < 0.03  # the s before it, 0.2 s long, has no pitch; the tracker reaches a few frames ahead
