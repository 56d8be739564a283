"""The arrangement as data: which bar of which part plays which pattern.  A part not named here is silent but for its melody.

A bar's grid is a string of 16 (or 32) equal steps.  Drums: X x o - are hits from hard to soft, h m l three toms.
Bass: R and r the root, O and o its octave, 5 the fifth, L a step that leads to the next root.  Chords: X x o - as for drums.
For bass and chords `_` holds the note, and a dot is a rest.  A sequence names one grid a bar: `four*3 pick` or `hat16*2@0.5`.
"""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = {"X": 1.0, "x": 0.8, "o": 0.55, "-": 0.33, "h": 0.85, "m": 0.88, "l": 0.95}
TOMS = {"h": 0, "m": 1, "l": 2}

GRIDS = {
    "rest": "................",
    # kick
    "four": "X...X...X...X...",
    "pick": "X...X...X...X..x",
    "push": "X...X...X...X.x.",
    "gap": "X...X...X.......",
    "two": "X...X...........",
    "broken": "X.....X...X.....",
    "broken2": "X..x..X...X...x.",
    "eights": "X.x.X.x.X.x.X.x.",
    "stop8": "X.x.X.x.........",
    "half": "X.........x.....",
    "half2": "X.....x...x...x.",
    "sparse": "X.......x.......",
    "one": "X...............",
    # snare and clap
    "back": "....X.......X...",
    "ghost": "....X..-.-..X..-",
    "turn": "....X.......X.xX",
    "turn2": "....X..o..x.X.xX",
    "late": "........X.......",
    "late2": "........X......o",
    "roll4": "o...o...o...x...",
    "roll8": "o.o.o.o.x.x.x.x.",
    "roll16": "ooooxxxxxxxxXXXX",
    "stop16": "x.x.x.x.xxxxXXXX................",
    "pickup": "............x.Xx",
    "tail": "............oxxX",
    # hats, shaker, rim
    "off": "..X...X...X...X.",
    "hat8": "x.o.x.o.x.o.x.o.",
    "hat16": "x-o-x-o-x-o-x-o-",
    "drive": "x-X-x-X-x-X-x-X-",
    "lazy": "x...-.o.x...-.o-",
    "tres": "x..x..x.x..x..x.",
    "clave": "x..x..x...x.x...",
    "rides": "x.o.x.o.x.o.x.o.",
    "beats": "x...x...x...x...",
    # toms
    "toms": "............hhml",
    "toms2": "........h.hmm.ll",
    "toms3": "......h..m..l.l.",
    "drop": "............hmll",
    # bass
    "hold": "R_______________",
    "pair": "R__R__R_......r.",
    "answer": "R__R__R_..R_O_L_",
    "root8": "R_R_R_R_R_R_R_R_",
    "root8stop": "R_R_R_R_........",
    "pump": "R.r.r.O.r.r.O.r.",
    "pumpL": "R.r.r.O.r.r.O.LL",
    "pump16": "R.rrr.O.rrr.O.rr",
    "elec": "R_....R_..R_.rO.",
    "elecL": "R_....R_..R_O.L_",
    # chords
    "whole": "x_______________",
    "stab332": "X__x__x_________",
    "stabs332": "X__x__X_X__x__X_",
    "muted": "..x...x...x...x.",
    "push8": "x.x.x.x.x.x.x.x.",
    "push8stop": "x.x.x.x.........",
    "fork": "..x..x....x..x..",
}

ARPS = {  # indices into the chord's tones laid over three octaves, one a sixteenth; -1 rests.  Accents fall in 3 + 3 + 2.
    "bounce": (0, 2, 4, 1, 3, 5, 2, 4, 0, 2, 4, 1, 3, 5, 4, 2),
    "rise": (0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 5, 4, 3),
    "space": (0, -1, -1, 2, -1, -1, 4, -1, 3, -1, -1, 5, -1, -1, 4, -1),
    "eight": (0, -1, 2, -1, 4, -1, 3, -1, 5, -1, 4, -1, 3, -1, 2, -1),
}


@dataclass(frozen=True, slots=True)
class Riff:
    """A written-out line for one instrument, `step` sixteenths into its part; notes as in the score."""

    voice: str
    step: int
    notes: str
    level: float = 1.0


@dataclass(frozen=True, slots=True)
class Layers:
    """What one part plays: sequences of grids, one name a bar; `bright` runs from the part's start to its end."""

    drums: dict[str, str]
    bass: str = ""
    bass_voice: str = "bass"
    chords: str = ""
    low_root: float = 0.0  # level of the chord's root, doubled below the chord for size
    pad: str = ""
    arp: str = ""
    arp_level: float = 1.0
    bright: tuple[float, float] = (0.6, 0.6)
    lead_level: float = 1.0
    lead_air: float = 0.5
    lead_octave: float = 0.0
    harmony: float = 0.0
    split: bool = False  # arpeggio and stabs alternate sides by the half bar, one path after the other
    riffs: tuple[Riff, ...] = ()
    riffs_tonic: int = 2  # the key that the riffs are written in, D unless said; they follow their part's key
    land: float = 0.0  # level of the impact at the part's start
    rise: tuple[int, float] = (0, 0.0)  # bars and level of the riser that leads out of the part
    swell: float = 0.0  # level of the reversed cymbal that ends with the part


COUNTER = (  # high and slow while the hook moves, moving while the hook holds; every note a chord tone of G A F#m Bm G A Bm D
    Riff("strings", 0, "D6:8 B5:8 A5:8 C#6:8 A5:8 F#5:8 F#5:4 B5:4 D6:4 F#6:4"),
    Riff("strings", 64, "D6:8 B5:8 A5:8 E6:8 D6:8 B5:8 A5:4 D6:4 F#6:8"),
)
ANSWERS = (  # the chorus's bells, where the words hold
    Riff("bell", 52, "B4:3 D5:3 F#5:2 B5:4", 0.8),
    Riff("bell", 116, "D5:3 F#5:3 A5:2 D6:4", 0.8),
)

LAYERS = {
    "intro": Layers(
        drums={
            "kick": "rest*2 four@0.6 gap@0.7",
            "hat": "rest off@0.4 hat8@0.5 hat16@0.6",
            "rim": "rest clave@0.6*2 tres@0.7",
            "clap": "rest*3 tail@0.6",
        },
        bass="rest*2 hold@0.7*2",
        pad="whole*4",
        arp="rest*2 space rise",
        arp_level=0.7,
        bright=(0.12, 0.6),
        riffs=(
            Riff("bell", 0, "G4:4 D5:4 A4:4 B4:4 A4:4 E5:4 C#5:4 E5:4", 0.7),
            Riff("bell", 32, "F#4:3 A4:3 C#5:2 E5:3 C#5:3 A4:2 B4:3 D5:3 F#5:6", 0.8),
        ),
        rise=(2, 0.35),
        swell=0.5,
    ),
    "verse-1": Layers(
        drums={
            "kick": "four@0.82*3 push@0.82 four@0.82*3 gap@0.82",
            "clap": "rest*4 back@0.8*3 turn@0.8",
            "hat": "hat8@0.7*4 hat16@0.75*4",
            "shaker": "rest*2 hat16@0.5*6",
            "rim": "tres@0.5*4 rest*4",
            "tom": "rest*7 toms@0.7",
            "crash": "one@0.5 rest*7",
        },
        bass="pair@0.8 answer@0.8 pair@0.8 answer@0.8 pair@0.85 answer@0.85 pair@0.85 answer@0.85",
        chords="rest*4 muted@0.7*4",
        pad="whole*8",
        arp="rest*4 space*4",
        arp_level=0.8,
        bright=(0.30, 0.5),
        lead_level=0.82,
        lead_air=0.3,
        riffs=(
            Riff("bell", 24, "B4:3 D5:3 F#5:2", 0.8),
            Riff("bell", 56, "B4:3 D5:3 G5:2", 0.8),
            Riff("bell", 88, "B4:3 E5:3 G5:2", 0.9),
            Riff("bell", 120, "E5:2 A5:2 C#6:2 E6:2", 0.9),
        ),
        land=0.4,
        swell=0.4,
    ),
    "build": Layers(
        drums={
            "kick": "four@0.9*2 eights@0.85 stop8@0.85",
            "snare": "roll4@0.5 roll8@0.55 roll16@0.65 stop16@0.8",
            "clap": "back@0.6*2 rest*2",
            "hat": "hat16@0.6*2 drive@0.6 rest",
            "tom": "rest*3 drop",
        },
        bass="root8*3 root8stop",
        chords="push8@0.8*3 push8stop",
        pad="whole*4",
        arp="bounce*2 rise rest",
        bright=(0.35, 0.85),
        lead_level=0.88,
        lead_air=0.5,
        rise=(4, 1.0),
        swell=0.9,
    ),
    "chorus-1": Layers(
        drums={
            "kick": "four*3 pick four*3 push",
            "snare": "back*3 turn back*3 turn2",
            "clap": "back*8",
            "open": "off@0.8*8",
            "hat": "hat16@0.6*8",
            "tom": "rest*7 toms2@0.8",
            "crash": "one rest*3 one@0.6 rest*3",
        },
        bass="pump*3 pumpL pump*3 pumpL",
        chords="stab332*7 stabs332",
        low_root=0.75,
        pad="whole*8",
        arp="bounce*8",
        arp_level=0.9,
        bright=(0.68, 0.76),
        lead_air=0.7,
        riffs=ANSWERS,
        land=1.0,
    ),
    "verse-2": Layers(
        drums={
            "kick": "broken*3 broken2 broken*2 four two@0.9",
            "snare": "ghost@0.8*5 turn@0.8 roll8@0.6 stop16@0.75",
            "hat": "hat16@0.75*7 rest",
            "rim": "clave@0.5*6 rest*2",
            "shaker": "hat16@0.5*6 rest*2",
            "tom": "rest*3 toms@0.6 rest*3 drop",
            "crash": "one@0.5 rest*7",
        },
        bass="elec@0.95 elecL@0.95 elec@0.95 elecL@0.95 elec elecL root8 root8stop",
        chords="fork@0.8*6 push8@0.7 push8stop@0.8",
        pad="whole*8",
        arp="space*2 bounce*4 rise*1 rest",
        arp_level=0.85,
        bright=(0.42, 0.72),
        lead_level=0.85,
        lead_air=0.4,
        split=True,
        riffs=(
            Riff("bell", 24, "F#5:3 D5:3 B4:2", 0.8),
            Riff("bell", 56, "G5:3 D5:3 B4:2", 0.8),
            Riff("bell", 88, "B4:3 E5:3 G5:2", 0.9),
        ),
        land=0.4,
        rise=(3, 0.9),
        swell=0.9,
    ),
    "chorus-2": Layers(
        drums={
            "kick": "four*3 pick four*3 push",
            "snare": "back*3 turn back*3 turn2",
            "clap": "back*8",
            "open": "off@0.85*8",
            "hat": "drive@0.55*8",
            "shaker": "hat16@0.6*8",
            "tom": "rest*3 toms@0.7 rest*3 toms2@0.85",
            "crash": "one rest*3 one@0.7 rest*3",
        },
        bass="pump*3 pumpL pump*3 pumpL",
        chords="stab332*3 stabs332 stab332*3 stabs332",
        low_root=0.75,
        pad="whole*8",
        arp="bounce*8",
        bright=(0.72, 0.80),
        lead_air=0.75,
        harmony=0.55,
        riffs=(*COUNTER, *ANSWERS),
        land=1.0,
        swell=0.6,
    ),
    "bridge": Layers(
        drums={
            "kick": "half*3 half2 half*2 four stop8",
            "snare": "late*3 late2 late roll8@0.55 roll16@0.6 stop16@0.75",
            "clap": "late*5 rest*3",
            "hat": "lazy@0.7*4 hat16@0.6*3 rest",
            "tom": "rest toms3@0.8 rest toms2@0.9 rest*4",
            "crash": "one@0.9 rest*3 one@0.6 rest*3",
            "rim": "clave@0.5*6 rest*2",
        },
        bass="hold*7 rest",
        bass_voice="reese",
        chords="rest*4 whole@0.7*2 push8@0.7 push8stop@0.8",
        pad="whole*8",
        arp="eight*4 bounce*2 rise rest",
        arp_level=0.95,
        bright=(0.38, 0.85),
        lead_level=0.92,
        lead_air=0.6,
        lead_octave=0.12,
        riffs=(
            Riff("strings", 64, "E5:16 F#5:16 G#5:16 A5:8", 0.8),
            Riff("bell", 62, "E5:2 G5:4 C6:4", 0.7),
        ),
        land=0.9,
        rise=(4, 1.0),
        swell=1.0,
    ),
    "chorus-3": Layers(
        drums={
            "kick": "four*3 pick four*3 pick",
            "snare": "back*3 turn2 back*3 turn2",
            "clap": "back*8",
            "open": "off@0.9*8",
            "hat": "drive@0.6*8",
            "shaker": "hat16@0.7*8",
            "ride": "rides@0.7*8",
            "tom": "rest*3 toms@0.8 rest*3 toms2@0.9",
            "crash": "one rest one@0.5 rest one@0.9 rest one@0.5 rest",
        },
        bass="pump16*3 pumpL pump16*3 pumpL",
        chords="stabs332*8",
        low_root=0.8,
        pad="whole*8",
        arp="bounce*8",
        arp_level=1.1,
        bright=(0.78, 0.86),
        lead_air=0.9,
        lead_octave=0.3,
        harmony=0.7,
        riffs=(*COUNTER, *ANSWERS),
        land=1.0,
    ),
    "outro": Layers(
        drums={
            "kick": "four four sparse one",
            "snare": "back turn rest*2",
            "clap": "back*2 rest*2",
            "open": "off@0.7*2 rest*2",
            "hat": "hat16@0.6*2 lazy@0.5 rest",
            "tom": "rest*2 toms3@0.7 rest",
            "crash": "one rest*2 one@0.9",
        },
        bass="pump pumpL hold hold",
        chords="stab332*2 rest whole",
        low_root=0.7,
        pad="whole*4",
        arp="bounce*2 space rest",
        arp_level=0.9,
        bright=(0.72, 0.35),
        lead_air=0.5,
        riffs=(
            Riff("lead", 0, "A4:3 C#5:3 E5:6 D#5:2 E5:2 F#5:12", 0.85),
            Riff("bell", 32, "E5:3 C5:3 A4:2 F#5:3 E5:3 C5:2 B4:16"),
            Riff("bell", 49, "E5:15", 0.9),
            Riff("bell", 50, "G#5:14", 0.9),
            Riff("bell", 52, "B5:12", 0.8),
        ),
        riffs_tonic=4,
        land=0.5,
    ),
}
