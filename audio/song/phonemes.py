# ruff: noqa: RUF001, the letters of a phonetic alphabet
"""The sounds of speech as the singer handles them: their codes in Kokoro's alphabet, which are vowels, which have no pitch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from audio.song.theory import ScoreError

CODES: Mapping[str, int] = MappingProxyType(  # of Kokoro-82M's own vocabulary, as far as English needs it
    {
        "^": 0, "$": 0, ",": 3, ".": 4, " ": 16, "A": 24, "I": 25, "O": 31, "W": 39, "Y": 41, "b": 44, "d": 46, "f": 48,
        "h": 50,
        "i": 51, "j": 52, "k": 53, "l": 54, "m": 55, "n": 56, "p": 58, "s": 61, "t": 62, "u": 63, "v": 64, "w": 65, "z": 68,
        "ɑ": 69, "æ": 72, "ɔ": 76, "ð": 81, "ʤ": 82, "ə": 83, "ɛ": 86, "ɜ": 87, "ɡ": 92, "ɪ": 102, "ŋ": 112, "θ": 119, "ɹ": 123,
        "ɾ": 125, "ʃ": 131, "ʧ": 133, "ʊ": 135, "ʌ": 138, "ʒ": 147, "ˈ": 156,
    }
)  # fmt: skip
VOWELS = frozenset("AIOWYiuɑæɔəɛɜɪʊʌ")
UNVOICED = frozenset("ptkfθsʃhʧ")
STOPS = frozenset("ptkʧbdɡʤ")
CLOSURES = frozenset("ptkʧ")  # stops that fall silent before they burst
STRESS = "ˈ"


@dataclass(frozen=True, slots=True)
class Sounds:
    """A syllable in three: what leads up to its vowel, the vowel (with its stress mark), what closes it."""

    onset: str
    vowel: str
    coda: str


def split(syllable: str) -> Sounds:
    """The parts of a syllable.  Raises ScoreError for a symbol that Kokoro does not know, or where there is no vowel."""
    unknown = set(syllable) - set(CODES)
    first = next((i for i, c in enumerate(syllable) if c in VOWELS), None)
    if unknown or first is None:
        raise ScoreError(f"syllable {syllable!r}: expected Kokoro's symbols with a vowel among them, found {sorted(unknown)}")
    last = first
    while last < len(syllable) and syllable[last] in VOWELS:
        last += 1
    stress = STRESS if STRESS in syllable[:first] else ""
    return Sounds(syllable[:first].replace(STRESS, ""), stress + syllable[first:last], syllable[last:])
