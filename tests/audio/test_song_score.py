"""The score: its form, and words that fit their notes by pronunciations that others wrote down."""

from __future__ import annotations

from itertools import pairwise

import pytest

from audio.song.arrange import arrange, harmony, sequence
from audio.song.patterns import GRIDS, LAYERS
from audio.song.score import FIRST_SONG, STEPS, Part, SungLine, sung, timeline
from audio.song.theory import MAJOR, ScoreError, chord, hertz, lead_voices, note

# The CMU Pronouncing Dictionary's vowels of every word of the song; 1 is the main stress, 0 and 2 are weaker.  A word of one
# syllable is stressed or not as the line has it.  Where the dictionary has two forms, the shorter one.
CMU = {
    "a": "AH0", "add": "AE1", "an": "AE1", "and": "AE1", "are": "AA1", "ask": "AE1", "begins": "IH0 IH1", "block": "AA1",
    "both": "OW1", "by": "AY1", "climb": "AY1", "closer": "OW1 ER0", "code": "OW1", "core": "AO1", "define": "IH0 AY1",
    "design": "IH0 AY1", "did": "IH1", "different": "IH1 AH0", "done": "AH1", "easy": "IY1 IY0", "every": "EH1 IY0",
    "fast": "AE1", "feed": "IY1", "flow": "OW1", "go": "OW1", "goes": "OW1", "grid": "IH1", "half": "AE1", "has": "AE1",
    "how": "AW1", "if": "IH1", "in": "IH1", "is": "IH1", "it": "IH1", "just": "AH1", "keep": "IY1", "lanes": "EY1",
    "launch": "AO1", "line": "AY1", "load": "OW1", "loads": "OW1", "lockstep": "AA1 EH2", "longer": "AO1 ER0", "math": "AE1",
    "meet": "IY1", "memory": "EH1 ER0 IY0", "mine": "AY1", "more": "AO1", "must": "AH1", "name": "EY1", "near": "IH1",
    "now": "AW1", "number": "AH1 ER0", "others": "AH1 ER0", "part's": "AA1", "partial": "AA1 AH0", "place": "EY1",
    "play": "EY1", "registers": "EH1 IH0 ER0", "rise": "AY1", "roof": "UW1", "row": "OW1", "run": "AH1", "runs": "AH1",
    "same": "EY1", "share": "EH1", "shine": "AY1", "slow": "OW1", "space": "EY1", "speed": "IY1", "split": "IH1",
    "sums": "AH1", "that": "AE1", "that's": "AE1", "the": "AH0", "then": "EH1", "they": "EY1", "thread": "EH1", "tile": "AY1",
    "times": "AY1", "to": "UW1", "turn": "ER1", "wait": "EY1", "warp": "AO1", "way": "EY1", "we": "IY1", "while": "AY1",
    "wide": "AY1", "width": "IH1", "with": "IH1", "your": "AO1",
}  # fmt: skip
# From the last stressed vowel on, after the same dictionary.
RHYMES = {
    "same": "EY M", "name": "EY M", "place": "EY S", "space": "EY S", "done": "AH N", "run": "AH N", "line": "AY N",
    "design": "AY N", "define": "AY N", "shine": "AY N", "mine": "AY N", "row": "OW", "flow": "OW", "go": "OW", "slow": "OW",
    "core": "AO R", "more": "AO R", "play": "EY", "way": "EY",
}  # fmt: skip
OPEN = ("EY", "AY", "OW", "AO", "AH")  # vowels that can be held: all but the close and short ones

LINES = [(part, line) for part in FIRST_SONG.parts for line in part.lines]
IDS = [f"{part.name}:{line.syllables[0].step}" for part, line in LINES]
TIMELINE = timeline(FIRST_SONG)


def plain(word: str) -> str:
    return word.strip(",.:;?").lower()


def last_word(line: SungLine) -> str:
    return plain("".join(s.text for s in line.words[-1]))


def test_the_form_is_sixty_bars_in_nine_parts() -> None:
    assert [(s.name, s.kind, s.first_bar, s.bars) for s in TIMELINE.sections] == [
        ("intro", "intro", 1, 4),
        ("verse-1", "verse", 5, 8),
        ("build", "build", 13, 4),
        ("chorus-1", "chorus", 17, 8),
        ("verse-2", "verse", 25, 8),
        ("chorus-2", "chorus", 33, 8),
        ("bridge", "bridge", 41, 8),
        ("chorus-3", "chorus", 49, 8),
        ("outro", "outro", 57, 4),
    ]


def test_every_section_start_and_drop_is_a_cue() -> None:
    for section in TIMELINE.sections:
        assert TIMELINE.cues[section.name] == TIMELINE.time(section.first_bar)
    for name, bar in {"drop-1": 17, "drop-2": 33, "drop-3": 49, "drop-4": 41, "launch": 13}.items():
        assert TIMELINE.cues[name] == pytest.approx((bar - 1) * 240 / 132)
    fork = next(word for line in TIMELINE.lines for word in line.words if plain(word.text) == "if")
    assert TIMELINE.cues["fork"] == fork.start


@pytest.mark.parametrize(("part", "line"), LINES, ids=IDS)
def test_each_word_has_a_note_for_each_of_its_syllables_and_its_stress_falls_right(part: Part, line: SungLine) -> None:
    assert 5 <= len(line.words) <= 9
    for group in line.words:
        vowels = CMU[plain("".join(s.text for s in group))].split()
        assert len(group) == len(vowels)
        if len(group) > 1:
            assert [s.stressed for s in group] == [vowel.endswith("1") for vowel in vowels]


@pytest.mark.parametrize(("part", "line"), LINES, ids=IDS)
def test_stressed_syllables_fall_on_beats_or_on_the_hooks_three_three_two(part: Part, line: SungLine) -> None:
    for s in line.syllables:
        if s.stressed:
            assert s.step % 4 == 0 or (part.kind == "chorus" and s.step % STEPS in (3, 6))


@pytest.mark.parametrize(("part", "line"), LINES, ids=IDS)
def test_a_line_ends_on_a_long_note_with_an_open_vowel_on_a_strong_beat(part: Part, line: SungLine) -> None:
    end = line.syllables[-1]
    assert end.stressed and end.steps >= 7 and end.step % 8 == 0
    assert CMU[last_word(line)].split()[-1].rstrip("012") in OPEN


def test_couplets_rhyme_at_the_same_place_in_the_bar() -> None:
    for part in FIRST_SONG.parts:
        for first, second in zip(part.lines[::2], part.lines[1::2], strict=True):
            assert RHYMES[last_word(first)] == RHYMES[last_word(second)]
            assert last_word(first) != last_word(second)
            assert first.syllables[-1].step % STEPS == second.syllables[-1].step % STEPS


def test_the_chorus_is_the_same_but_for_its_last_line() -> None:
    one, two, three = ([" ".join(s.text for s in line.syllables) for line in part.lines] for part in choruses())
    assert one[:3] == two[:3] == three[:3]
    assert len({one[3], two[3], three[3]}) == 3
    pitches = [[s.pitch - part.tonic for line in part.lines for s in line.syllables] for part in choruses()]
    assert pitches[0] == pitches[1] == pitches[2]


def choruses() -> list[Part]:
    return [part for part in FIRST_SONG.parts if part.kind == "chorus"]


def test_words_lie_within_their_section_in_order_and_on_the_sixteenth_grid() -> None:
    after = 0.0
    lines = iter(TIMELINE.lines)
    for section, part in zip(TIMELINE.sections, FIRST_SONG.parts, strict=True):
        for _ in part.lines:
            for word in next(lines).words:
                assert after <= word.start < word.end <= TIMELINE.time(section.first_bar + section.bars) + 1e-9
                assert (word.start * 132 / 15) % 1 == pytest.approx(0.0, abs=1e-6) or (word.start * 132 / 15) % 1 > 1 - 1e-6
                after = word.end
    assert next(lines, None) is None


def test_no_word_is_a_number() -> None:
    for line in TIMELINE.lines:
        for word in line.words:
            assert not any(c.isdigit() for c in word.text)
            assert plain(word.text) not in {"one", "two", "three", "four", "eight", "ten", "sixteen", "thousand", "hundred"}


@pytest.mark.parametrize(("part", "line"), LINES, ids=IDS)
def test_the_melody_can_be_sung_and_agrees_with_the_chords(part: Part, line: SungLine) -> None:
    assert all(note("D4") <= s.pitch <= note("F#5") for s in line.syllables)
    assert all(abs(a.pitch - b.pitch) <= 7 for a, b in pairwise(line.syllables))
    for s in line.syllables:
        if s.step % 8 == 0 or s.steps > 4:  # strong beats and held notes
            assert s.pitch % 12 in part.chords[s.step // STEPS].classes
        if part.kind != "bridge":  # the bridge borrows from the minor
            assert (s.pitch - part.tonic) % 12 in MAJOR


def test_the_second_voice_is_a_third_or_more_below_and_agrees_with_the_chords() -> None:
    for part in choruses():
        for line in part.lines:
            for s, below in zip(line.syllables, harmony(part, line), strict=True):
                assert 3 <= s.pitch - below <= 9
                if s.steps > 2:
                    assert below % 12 in part.chords[s.step // STEPS].classes


def test_riffs_and_counter_melody_agree_with_the_chords() -> None:
    held = [n for n in arrange(FIRST_SONG).notes if n.voice in ("bell", "strings") and n.steps >= 3]
    chords = [c for part in FIRST_SONG.parts for c in part.chords]
    assert len(held) > 60
    for n in held:
        assert n.pitch % 12 in chords[int(n.step) // STEPS].classes, n


def test_words_and_notes_that_do_not_match_are_refused() -> None:
    with pytest.raises(ScoreError, match="2 syllables but 1 notes"):
        sung(0, "'clos·er", "D4:4")
    with pytest.raises(ScoreError, match="more notes than its 1"):
        sung(0, "climb", "D4:4 E4:4")
    with pytest.raises(ScoreError, match="'H4'"):
        sung(0, "climb", "H4:4")
    with pytest.raises(ScoreError, match="sixteenths"):
        sung(0, "climb", "D4")
    with pytest.raises(ScoreError, match="no pattern 'waltz'"):
        sequence("four*3 waltz", 4, "verse, kick")
    with pytest.raises(ScoreError, match="3 bars"):
        sequence("four*3", 4, "verse, kick")


def test_pitches_and_chords_by_name() -> None:
    assert (note("A4"), note("C4"), note("Bb3"), note("F#1")) == (69, 60, 58, 30)
    assert hertz(69) == 440.0 and hertz(60) == pytest.approx(261.6256, abs=1e-4)
    assert chord("F#m7").classes == (6, 9, 1, 4)
    assert chord("B7sus4").classes == (11, 4, 6, 9)
    assert (chord("D/F#").root, chord("D/F#").bass) == (2, 6)
    assert chord("G").transposed(2).classes == chord("A").classes
    with pytest.raises(ScoreError, match="Gdim9"):
        chord("Gdim9")


def test_voices_move_little_and_keep_to_their_range() -> None:
    chords = [c for part in FIRST_SONG.parts for c in part.chords]
    shapes = lead_voices(chords, 57, 76, (59, 62, 66, 69))
    for each, shape in zip(chords, shapes, strict=True):
        assert {p % 12 for p in shape} == set(each.classes)
        assert 57 <= shape[0] and shape[-1] <= 76 and list(shape) == sorted(set(shape))
    steps = [abs(a - b) for before, after in pairwise(shapes) for a, b in zip(before, after, strict=True)]
    assert sum(steps) / len(steps) < 2.5 and max(steps) <= 7


def test_every_grid_is_a_bar_and_every_part_has_layers() -> None:
    assert all(len(grid) in (16, 32) for grid in GRIDS.values())
    assert set(LAYERS) == {part.name for part in FIRST_SONG.parts}
