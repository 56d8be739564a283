# ruff: noqa: RUF001, RUF002, the letters of a phonetic alphabet
"""How each word of "Up to the Light" is said, in the alphabet that Kokoro reads: dots part syllables, ˈ goes before a stress.

It is IPA for an American voice but for diphthongs and affricates, which are one letter each: A as in day, I as in light,
O as in go, W as in round, Y as in boy, ʧ, ʤ.  Typed by ear; a test holds syllables and stresses to a pronouncing dictionary.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from audio.song.theory import ScoreError

SAYS: Mapping[str, str] = MappingProxyType(
    {
        "a": "ə", "add": "ˈæd", "again": "ə.ɡˈɛn", "all": "ˈɔl", "along": "ə.lˈɔŋ", "and": "ænd", "are": "ˈɑɹ",
        "around": "ə.ɹˈWnd", "as": "æz", "ask": "ˈæsk", "at": "æt", "begun": "bɪ.ɡˈʌn", "big": "bˈɪɡ", "block": "blˈɑk",
        "bright": "bɹˈIt", "burden": "bˈɜɹ.dən", "but": "bʌt", "carry": "kˈɛɹ.i", "climb": "klˈIm", "comes": "kˈʌmz",
        "cores": "kˈɔɹz", "data": "dˈA.ɾə", "decide": "dɪ.sˈId", "did": "dˈɪd", "door": "dˈɔɹ", "easy": "ˈi.zi",
        "every": "ˈɛv.ɹi", "fall": "fˈɔl", "far": "fˈɑɹ", "fast": "fˈæst", "few": "fjˈu", "finds": "fˈIndz", "fit": "fˈɪt",
        "for": "fɔɹ", "found": "fˈWnd", "go": "ɡˈO", "half": "hˈæf", "has": "hæz", "have": "hæv", "height": "hˈIt",
        "help": "hˈɛlp", "high": "hˈI", "how": "hˈW", "if": "ˈɪf", "in": "ɪn", "instruction": "ɪn.stɹˈʌk.ʃən", "is": "ɪz",
        "it": "ɪt", "its": "ɪts", "just": "ʤˈʌst", "kernel": "kˈɜɹ.nəl", "kernels": "kˈɜɹ.nəlz", "lanes": "lˈAnz",
        "launching": "lˈɔn.ʧɪŋ", "light": "lˈIt", "lighten": "lˈI.tən", "load": "lˈOd", "many": "mˈɛn.i", "math": "mˈæθ",
        "me": "mi", "memory": "mˈɛm.ɹi", "more": "mˈɔɹ", "move": "mˈuv", "must": "mˈʌst", "no": "nˈO", "now": "nˈW",
        "number": "nˈʌm.bəɹ", "of": "ʌv", "old": "ˈOld", "on": "ɔn", "once": "wˈʌns", "one": "wˈʌn", "only": "ˈOn.li",
        "or": "ɔɹ", "own": "ˈOn", "parts": "pˈɑɹts", "pick": "pˈɪk", "place": "plˈAs", "play": "plˈA", "read": "ɹˈid",
        "registers": "ɹˈɛʤ.ɪs.təɹz", "rest": "ɹˈɛst", "rise": "ɹˈIz", "road": "ɹˈOd", "roof": "ɹˈuf", "room": "ɹˈum",
        "run": "ɹˈʌn", "same": "sˈAm", "say": "sˈA", "scatter": "skˈæ.ɾəɹ", "seen": "sˈin", "send": "sˈɛnd", "share": "ʃˈɛɹ",
        "shines": "ʃˈInz", "sight": "sˈIt", "size": "sˈIz", "slow": "slˈO", "small": "smˈɔl", "so": "sˈO", "some": "sˈʌm",
        "space": "spˈAs", "speed": "spˈid", "split": "splˈɪt", "square": "skwˈɛɹ", "squeeze": "skwˈiz", "stay": "stˈA",
        "step": "stˈɛp", "stream": "stɹˈim", "sums": "sˈʌmz", "sync": "sˈɪŋk", "takes": "tˈAks", "tensor": "tˈɛn.səɹ",
        "that": "ðæt", "the": "ðə", "them": "ðɛm", "then": "ðˈɛn", "there": "ðˈɛɹ", "they": "ðA", "this": "ðˈɪs",
        "thread": "θɹˈɛd", "tile": "tˈIl", "tiles": "tˈIlz", "time": "tˈIm", "times": "tˈImz", "to": "tu", "today": "tə.dˈA",
        "together": "tə.ɡˈɛ.ðəɹ", "top": "tˈɑp", "total": "tˈO.təl", "trip": "tɹˈɪp", "up": "ˈʌp", "us": "ʌs", "use": "jˈuz",
        "very": "vˈɛɹ.i", "wait": "wˈAt", "warp": "wˈɔɹp", "way": "wˈA", "we": "wi", "what": "wˈʌt", "where": "wˈɛɹ",
        "wide": "wˈId", "will": "wɪl", "with": "wɪð", "work": "wˈɜɹk", "write": "ɹˈIt", "yes": "jˈɛs", "you": "ju",
        "your": "jɔɹ",
    }
)  # fmt: skip


def plain(word: str) -> str:
    """A word as the lexicon has it: no marks, no capitals."""
    return word.strip(",.:;?!").lower()


def said(word: str, says: Mapping[str, str] = SAYS) -> tuple[str, ...]:
    """The phonemes of each syllable of a word.  Raises ScoreError for a word that is not in the lexicon."""
    try:
        return tuple(says[plain(word)].split("."))
    except KeyError:
        raise ScoreError(f"word {word!r}: not in the lexicon: type its phonemes there") from None
