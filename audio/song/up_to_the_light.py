"""The film's song: 110 bars at 132 beats a minute, one couplet for each scene and a hook that comes four times.

A line is four feet of two beats.  Each foot begins with a stress; the last one holds the rhyme, from the third beat of the
line's second bar.  Verses lie in D minor around F4 to C5, choruses in F major climb from F4 to their top note on "light", the
bridge turns to F minor in half time, and the last chorus stands a tone higher, in G.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from audio.song.lexicon import SAYS
from audio.song.light_layers import LAYERS
from audio.song.score import Part, Song, SungLine, chords, sung

F, G, A_FLAT = 5, 7, 8  # pitch classes of the major scales: F (verses, choruses), G (from the last chorus on), A flat (bridge)
BAR = 16

HOOK = "F4:4 F4:2 A4:2 A4:4 A4:2 C5:2 C5:4 C5:2 A4:2 D5:7"  # it climbs from the tonic to the sixth above


def _part(name: str, kind: str, tonic: int, names: str, lines: tuple[SungLine, ...], **cues: tuple[int, float]) -> Part:
    return Part(name, kind, tonic, chords(names), lines, MappingProxyType({k.replace("_", "-"): v for k, v in cues.items()}))


def hook(step: int, last: str = "light.", notes: str = HOOK) -> SungLine:
    """The hook, `step` sixteenths into its part."""
    return sung(step, f"'Rise with me, 'rise with me, 'up to the '{last}", notes)


def chorus(number: int, last: str, notes: str, transpose: int, cues: Mapping[str, tuple[int, float]]) -> Part:
    """The same three lines each time and a last line of its own."""
    lines = (
        hook(0, "light,"),
        sung(2 * BAR, "'mem·ory or 'math will de·'cide on the 'height.", "C5:4 Bb4:2 A4:2 A4:4 F4:2 F4:2 G4:4 A4:2 A4:2 G4:7"),
        hook(4 * BAR, "light,"),
        sung(6 * BAR, last, notes),
    )
    return Part(
        f"chorus-{number}",
        "chorus",
        (F + transpose) % 12,
        chords("Dm Bb F C Dm Bb C F", transpose),
        tuple(line.transposed(transpose) for line in lines),
        MappingProxyType({f"drop-{number}": (1, 1.0), f"roof-{number}": (1, 1.0), **cues}),
    )


INTRO = _part("intro", "intro", F, "Dm7 Bbadd9 F C", (), title=(1, 1.0))

VERSE_1 = (
    _part(
        "verse-1-cores", "verse", F, "Dm7 Dm7 Bbmaj7 Bbmaj7 Gm7 Csus4",
        (
            sung(0, "'Just a few 'cores is the 'old way to 'play,", "F4:4 F4:2 F4:2 E4:4 D4:2 D4:2 F4:4 G4:2 F4:2 A4:7"),
            sung(32, "'man·y small 'cores work to·'geth·er to·'day.", "Bb4:4 A4:2 A4:2 G4:4 F4:2 F4:2 D4:4 F4:2 G4:2 F4:7"),
        ),
        cores=(1, 1.0), many=(3, 1.0),
    ),
    _part(
        "verse-1-indexing", "verse", F, "Dm7 Dm7 Bbmaj7 Bbmaj7 Gm7 C",
        (
            sung(0, "'Block times its 'size, and then 'add your own 'place:",
                 "F4:4 F4:2 F4:2 A4:4 G4:2 G4:2 F4:4 G4:2 F4:2 A4:7"),
            sung(32, "'so 'ev·ery 'thread finds its 'num·ber in 'space.",
                 "A4:4 A4:2 A4:2 Bb4:4 A4:2 G4:2 F4:4 G4:2 A4:2 Bb4:7"),
        ),
        indexing=(1, 1.0), formula=(1, 1.0), number=(4, 1.0),
    ),
    _part(
        "build-launch", "build", F, "Bb C Dm C",
        (
            sung(0, "'Launch·ing is 'eas·y, the 'work has be·'gun;",
                 "D4:4 D4:2 F4:2 F4:4 F4:2 G4:2 A4:4 A4:2 G4:2 G4:7"),
            sung(32, "'then we must 'ask it: how 'fast did it 'run?",
                 "A4:4 A4:2 A4:2 Bb4:4 A4:2 A4:2 C5:4 C5:2 Bb4:2 C5:6"),
        ),
        launch=(1, 1.0), run=(4, 3.0), hush_1=(4, 3.0),
    ),
)  # fmt: skip

VERSE_2 = (
    _part(
        "verse-2-warps", "verse", F, "Dm7 Dm7 Bbmaj7 Bbmaj7",
        (
            sung(0, "'All of the 'lanes in a 'warp move as 'one;",
                 "F4:4 F4:2 F4:2 A4:4 G4:2 G4:2 F4:4 G4:2 G4:2 A4:7"),
            sung(32, "'one in·'struc·tion, and 'all of them 'run.", "Bb4:4 Bb4:4 A4:4 G4:2 G4:2 F4:4 F4:2 G4:2 F4:7"),
        ),
        warps=(1, 1.0),
    ),
    _part(
        "verse-2-divergence", "verse", F, "Gm7 Gm7 Dm7 Dm7 Gm7 C",
        (
            sung(0, "'If comes a·'long: some say 'yes, some say 'no:",
                 "G4:4 G4:2 G4:2 Bb4:4 A4:2 G4:2 Bb4:4 A4:2 A4:2 G4:7"),
            sung(32, "'half of them 'wait, and the 'rest of them 'go.",
                 "A4:4 A4:2 A4:2 F4:4 F4:2 G4:2 F4:4 E4:2 E4:2 D4:7"),
        ),
        divergence=(1, 1.0), fork=(1, 1.0), wait=(3, 3.0),
    ),
    _part(
        "verse-2-stalls", "verse", F, "Bb C Am Dm Gm C",
        (
            sung(0, "'Mem·ory is 'big, but the 'da·ta is 'far;", "F4:4 F4:2 F4:2 Bb4:4 A4:2 G4:2 G4:4 G4:2 A4:2 C5:7"),
            sung(32, "'slow 'ker·nels 'wait, and they 'stay where they 'are.",
                 "A4:4 A4:2 A4:2 C5:4 A4:2 A4:2 A4:4 A4:2 G4:2 A4:7"),
        ),
        stalls=(1, 1.0), far=(2, 3.0), hush_2=(6, 3.0),
    ),
)  # fmt: skip

VERSE_3 = (
    _part(
        "verse-3-coalescing", "verse", F, "Dm7 Dm7 Bbmaj7 Bbmaj7 Gm7 Csus4",
        (
            sung(0, "'Read them to·'geth·er, one 'trip takes it 'all;",
                 "F4:4 F4:2 F4:2 A4:4 G4:2 F4:2 F4:4 G4:2 F4:2 A4:7"),
            sung(32, "'scat·ter the 'lanes and the 'speed has to 'fall.",
                 "Bb4:4 A4:2 G4:2 A4:4 G4:2 F4:2 G4:4 F4:2 E4:2 D4:7"),
        ),
        coalescing=(1, 1.0), scatter=(3, 1.0),
    ),
    _part(
        "verse-3-tiling", "verse", F, "Bb C Am Dm Bb C",
        (
            sung(0, "'Load a tile 'once, and then 'sync at the 'door,",
                 "F4:4 F4:2 G4:2 Bb4:4 A4:2 G4:2 G4:4 A4:2 G4:2 C5:7"),
            sung(32, "'use it a·'gain, and a·'gain, and once 'more.",
                 "C5:4 A4:2 A4:2 C5:4 A4:2 A4:2 D5:4 C5:2 C5:2 A4:7"),
        ),
        tiling=(1, 1.0), sync=(2, 1.0), hush_3=(6, 3.0),
    ),
)  # fmt: skip

BRIDGE = (
    _part(
        "bridge-tensor", "bridge", A_FLAT, "Db Eb Fm Db Eb Fm",
        (
            sung(0, "'One in·'struc·tion, a 'tile at a 'time;", "Ab4:4 Ab4:4 F4:4 F4:2 Ab4:2 Bb4:4 Bb4:2 Ab4:2 G4:10"),
            sung(48, "'this is how 'ten·sor cores 'help us to 'climb.",
                 "Ab4:4 Ab4:2 Ab4:2 C5:4 Bb4:2 Ab4:2 Bb4:4 Bb4:2 Ab4:2 Bb4:10"),
        ),
        tensor_cores=(1, 1.0),
    ),
    _part(
        "bridge-attention", "bridge", A_FLAT, "Db Eb Fm Db Eb Fm",
        (
            sung(0, "'There is no 'room for the 'square, so we 'say:",
                 "Ab4:4 Ab4:2 Ab4:2 F4:4 F4:2 Ab4:2 Bb4:4 Bb4:2 Ab4:2 G4:10"),
            sung(48, "'stream it in 'tiles, 'on·ly 'sums have to 'stay.",
                 "Ab4:4 Ab4:2 Ab4:2 C5:4 C5:2 C5:2 Bb4:4 Ab4:2 Ab4:2 Bb4:10"),
        ),
        attention=(1, 1.0),
    ),
    _part(
        "bridge-quantisation", "bridge", A_FLAT, "Db Eb Cm Db Eb Fm",
        (
            sung(0, "'Squeeze 'ev·ery 'num·ber and 'light·en the 'load;",
                 "F4:4 F4:2 Ab4:2 Ab4:4 Ab4:2 Bb4:2 Bb4:4 Ab4:2 Bb4:2 Bb4:10"),
            sung(48, "'more of them 'fit on the 'ver·y same 'road.",
                 "C5:4 C5:2 C5:2 Ab4:4 Ab4:2 Bb4:2 C5:4 C5:2 Bb4:2 Bb4:10"),
        ),
        quantisation=(1, 1.0),
    ),
    _part(
        "bridge-all-reduce", "bridge", A_FLAT, "Db Eb Fm Eb C D",
        (
            sung(0, "'Split it in 'parts and then 'send them a·'round;",
                 "Ab4:4 Ab4:2 Ab4:2 C5:4 Bb4:2 Ab4:2 Bb4:4 Bb4:2 C5:2 Bb4:7"),
            sung(32, "'add them to·'geth·er, the 'to·tal is 'found.",
                 "C5:4 C5:2 C5:2 Ab4:4 Bb4:2 C5:2 C5:4 Bb4:2 C5:2 Eb5:8"),
        ),
        all_reduce=(1, 1.0), hush_4=(6, 3.0),
    ),
)  # fmt: skip

OUTRO = _part(
    "outro", "outro", G, "Em C G D C G",
    (
        sung(0, "'Now you have 'seen 'ev·ery 'step of the 'way:", "B4:4 B4:2 B4:2 A4:4 G4:2 A4:2 G4:4 A4:2 G4:2 E4:7"),
        sung(32, "'pick up a 'ker·nel and 'climb it to·'day.", "B4:4 B4:2 B4:2 D5:4 B4:2 B4:2 A4:4 B4:2 G4:2 A4:7"),
        hook(64, notes="G4:4 G4:2 B4:2 B4:4 B4:2 D5:2 D5:4 D5:2 B4:2 D5:8"),
    ),
    curriculum=(1, 1.0), credits=(3, 1.0), last_hit=(6, 1.0),
)  # fmt: skip

SONG = Song(
    "Up to the Light",
    132.0,
    (
        INTRO,
        *VERSE_1,
        chorus(1, "'Speed has a 'roof and it 'shines so 'bright.", "G4:4 A4:2 G4:2 C5:4 Bb4:2 A4:2 A4:4 G4:4 F4:8", 0, {}),
        *VERSE_2,
        chorus(2, "'Share what you 'load and the 'bur·den is 'light.",
               "G4:4 A4:2 G4:2 C5:4 Bb4:2 A4:2 A4:4 G4:2 G4:2 F4:8", 0, {}),
        *VERSE_3,
        chorus(3, "'Reg·is·ters 'car·ry the 'math that we 'write.",
               "G4:4 A4:2 G4:2 C5:4 Bb4:2 A4:2 A4:4 G4:2 G4:2 F4:8", 0, {}),
        *BRIDGE,
        chorus(4, "'Now we load 'wide, and the 'top is in 'sight.",
               "G4:4 A4:2 G4:2 C5:4 Bb4:2 A4:2 A4:4 Bb4:2 G4:2 A4:8", 2, {}),
        OUTRO,
    ),
    ring=2.0,  # 110 bars of 20/11 s and this make 202 s
    layers=MappingProxyType(LAYERS),
    says=SAYS,
)  # fmt: skip
