"""The arrangement of "Up to the Light": which bar of which part plays which pattern of `patterns.GRIDS`.

Every chorus is fuller than the one before; half a bar of near silence stands before each.  The riffs named `chop` are the voice
cut to single notes of its hook; without the voice they are left out.
"""

from __future__ import annotations

from audio.song.patterns import Layers, Riff

F, A_FLAT = 5, 8  # what the riffs are written in

COUNTER = (  # slow and high while the hook moves; every note a tone of Dm Bb F C Dm Bb C F
    Riff("strings", 0, "F5:8 A5:8 Bb5:8 F5:8 A5:8 C6:8 G5:8 E5:8"),
    Riff("strings", 64, "F5:8 A5:8 D6:8 Bb5:8 C6:8 G5:8 A5:16"),
)
ANSWERS = (  # where the words hold
    Riff("bell", 24, "F5:3 D5:3 Bb4:2", 0.7),
    Riff("bell", 56, "E5:3 G5:3 C6:2", 0.8),
    Riff("bell", 88, "D5:3 F5:3 Bb5:2", 0.7),
    Riff("bell", 122, "A5:3 C6:3", 0.8),
)
CALLS = (  # the hook's head thrown back by the voice itself
    Riff("chop", 28, "D5:2 D5:2", 0.7),
    Riff("chop", 60, "C5:2 G4:2", 0.8),
    Riff("chop", 92, "D5:2 D5:2", 0.7),
)
TAIL = (  # the two bars that end a six-bar verse
    Riff("chop", 64, "G4:3 Bb4:3 D5:2 Bb4:3 D5:3 F5:2", 0.75),
    Riff("chop", 80, "F4:3 G4:3 C5:2 G4:4 C5:4", 0.75),
    Riff("bell", 64, "D5:3 G5:3 Bb5:2 F5:4 D5:4 C5:3 F5:3 G5:2 C6:8", 0.7),
)

LAYERS = {
    "intro": Layers(
        drums={
            "kick": "rest*2 four@0.6 gap@0.75", "hat": "rest off@0.4 hat8@0.5 hat16@0.6", "rim": "rest clave@0.6*2 tres@0.7",
            "clap": "rest*3 tail@0.6",
        },
        bass="rest*2 hold@0.7*2", pad="whole*4", arp="rest*1 space*2 rise", arp_level=0.7, bright=(0.12, 0.6), riffs_tonic=F,
        riffs=(
            Riff("bell", 0, "F4:4 A4:4 A4:4 C5:4 D5:4 C5:4 A4:4 Bb4:4", 0.7),
            Riff("bell", 32, "F4:3 A4:3 A4:4 C5:6 C5:3 C5:3 A4:2 G4:8", 0.8),
            Riff("chop", 0, "F4:3 A4:3 A4:4 C5:6", 0.7),
            Riff("chop", 16, "C5:3 C5:3 A4:2 D5:6", 0.7),
            Riff("chop", 32, "F4:3 A4:3 A4:4 C5:6", 0.8),
            Riff("chop", 48, "C5:3 C5:3 A4:2 E5:3", 0.8),
        ),
        rise=(2, 0.35), swell=0.5,
    ),
    "verse-1-cores": Layers(
        drums={
            "kick": "four@0.82*3 push@0.82 four@0.82 gap@0.82", "clap": "rest*4 back@0.7*2", "hat": "hat8@0.7*4 hat16@0.7*2",
            "rim": "tres@0.5*4 rest*2", "crash": "one@0.5 rest*5", "tom": "rest*5 toms@0.6",
        },
        bass="pair@0.8 answer@0.8 pair@0.8 answer@0.8 pair@0.85 answer@0.85", pad="whole*6", arp="rest*2 space*2 bounce*2",
        arp_level=0.7, bright=(0.28, 0.42), lead_level=0.82, lead_air=0.3, riffs=TAIL, riffs_tonic=F, land=0.4,
    ),
    "verse-1-indexing": Layers(
        drums={
            "kick": "four@0.86*3 push@0.86 four@0.86 gap@0.86", "clap": "back@0.8*5 turn@0.8", "hat": "hat16@0.75*6",
            "shaker": "hat16@0.5*6", "crash": "one@0.4 rest*5",
        },
        bass="pair@0.85 answer@0.85 pair@0.85 answer@0.85 pair@0.9 answer@0.9", chords="muted@0.7*6", pad="whole*6",
        arp="space*4 bounce*2", arp_level=0.8, bright=(0.36, 0.5), lead_level=0.84, lead_air=0.35, riffs=TAIL, riffs_tonic=F,
        swell=0.4,
    ),
    "build-launch": Layers(
        drums={
            "kick": "four@0.9*2 eights@0.85 stop8@0.85", "snare": "roll4@0.5 roll8@0.55 roll16@0.65 stop16@0.8",
            "clap": "back@0.6*2 rest*2", "hat": "hat16@0.6*2 drive@0.6 rest", "tom": "rest*3 drop",
        },
        bass="root8*3 root8stop", chords="push8@0.8*3 push8stop", pad="whole*4", arp="bounce*2 rise rest", bright=(0.35, 0.85),
        lead_level=0.88, lead_air=0.5, rise=(4, 1.0), swell=0.9,
    ),
    "chorus-1": Layers(
        drums={
            "kick": "four*3 pick four*3 push", "snare": "back*3 turn back*3 turn2", "clap": "back*8", "open": "off@0.8*8",
            "hat": "hat16@0.6*8", "tom": "rest*7 toms2@0.8", "crash": "one rest*3 one@0.6 rest*3",
        },
        bass="pump*3 pumpL pump*3 pumpL", chords="stab332*7 stabs332", low_root=0.75, pad="whole*8", arp="bounce*8",
        arp_level=0.9, bright=(0.66, 0.74), lead_air=0.7, harmony=0.45, riffs=(*ANSWERS, *CALLS), riffs_tonic=F, land=1.0,
    ),
    "verse-2-warps": Layers(
        drums={
            "kick": "four@0.85*4", "snare": "back@0.7*4", "hat": "drive@0.6*4", "rim": "beats@0.5*4", "crash": "one@0.6 rest*3",
        },
        bass="root8@0.9*4", chords="muted@0.75*4", pad="whole*4", arp="eight*4", arp_level=0.85, bright=(0.42, 0.5),
        lead_level=0.85, lead_air=0.4, riffs_tonic=F, land=0.5,
        riffs=(Riff("chop", 28, "A4:2 A4:2", 0.7), Riff("chop", 60, "F4:2 F4:2", 0.7)),
    ),
    "verse-2-divergence": Layers(
        drums={
            "kick": "broken@0.9*3 broken2@0.9 broken@0.9*2", "snare": "ghost@0.75*5 turn@0.8", "hat": "hat16@0.7*6",
            "rim": "clave@0.5*6", "tom": "rest*5 toms@0.6",
        },
        bass="elec@0.95 elecL@0.95 elec@0.95 elecL@0.95 elec elecL", chords="fork@0.8*6", pad="whole*6", arp="bounce*6",
        arp_level=0.75, bright=(0.42, 0.55), lead_level=0.85, lead_air=0.4, split=True, riffs=TAIL, riffs_tonic=F,
    ),
    "verse-2-stalls": Layers(
        drums={
            "kick": "sparse@0.9*2 two@0.9*2 eights@0.85 stop8@0.85", "snare": "late@0.8*4 roll16@0.6 stop16@0.75",
            "hat": "lazy@0.7*4 drive@0.6 rest", "clap": "late@0.6*4 rest*2", "tom": "rest*5 drop",
        },
        bass="hold@0.9*4 root8 root8stop", chords="whole@0.6*4 push8@0.8 push8stop@0.8", pad="whole*6", arp="space*4 rise rest",
        arp_level=0.85, bright=(0.4, 0.78), lead_level=0.86, lead_air=0.45, riffs_tonic=F, rise=(2, 1.0), swell=0.9,
        riffs=(Riff("bell", 64, "D5:4 G5:4 Bb5:4 D6:4 E6:8", 0.7), Riff("chop", 64, "D5:4 D5:4 D5:2 D5:2 D5:2 D5:2", 0.7)),
    ),
    "chorus-2": Layers(
        drums={
            "kick": "four*3 pick four*3 push", "snare": "back*3 turn back*3 turn2", "clap": "back*8", "open": "off@0.85*8",
            "hat": "drive@0.55*8", "shaker": "hat16@0.6*8", "tom": "rest*3 toms@0.7 rest*3 toms2@0.85",
            "crash": "one rest*3 one@0.7 rest*3",
        },
        bass="pump*3 pumpL pump*3 pumpL", chords="stab332*3 stabs332 stab332*3 stabs332", low_root=0.75, pad="whole*8",
        arp="bounce*8", bright=(0.70, 0.78), lead_air=0.75, harmony=0.55, riffs=(*COUNTER, *ANSWERS, *CALLS), riffs_tonic=F,
        land=1.0, swell=0.6,
    ),
    "verse-3-coalescing": Layers(
        drums={
            "kick": "four@0.85*3 push@0.85 four@0.85 gap@0.85", "clap": "back@0.8*5 turn@0.8", "hat": "hat16@0.7*6",
            "shaker": "hat16@0.5*6", "crash": "one@0.6 rest*5", "tom": "rest*5 toms@0.7",
        },
        bass="pump@0.85*4 pump@0.9 pumpL@0.9", chords="muted@0.75*6", pad="whole*6", arp="bounce*6", arp_level=0.75,
        bright=(0.4, 0.55), lead_level=0.86, lead_air=0.4, riffs=TAIL, riffs_tonic=F, land=0.5,
    ),
    "verse-3-tiling": Layers(
        drums={
            "kick": "four@0.9*4 eights@0.85 stop8@0.85", "snare": "roll4@0.4*2 back@0.7*2 roll16@0.6 stop16@0.75",
            "hat": "hat16@0.7*4 drive@0.6 rest", "clap": "back@0.7*4 rest*2", "tom": "rest*5 drop",
        },
        bass="root8@0.95*5 root8stop", chords="push8@0.75*5 push8stop@0.8", pad="whole*6", arp="bounce*4 rise rest",
        arp_level=0.85, bright=(0.45, 0.82), lead_level=0.88, lead_air=0.5, riffs_tonic=F, rise=(2, 1.0), swell=0.9,
        riffs=(Riff("bell", 64, "D5:4 F5:4 Bb5:4 D6:4 E6:8", 0.7), Riff("chop", 64, "D5:4 D5:4 D5:2 D5:2 D5:2 D5:2", 0.7)),
    ),
    "chorus-3": Layers(
        drums={
            "kick": "four*3 pick four*3 push", "snare": "back*3 turn2 back*3 turn2", "clap": "back*8", "open": "off@0.9*8",
            "hat": "drive@0.6*8", "shaker": "hat16@0.65*8", "ride": "rides@0.5*8", "tom": "rest*3 toms@0.8 rest*3 toms2@0.9",
            "crash": "one rest*3 one@0.8 rest*3",
        },
        bass="pump16*3 pumpL pump16*3 pumpL", chords="stab332*3 stabs332 stab332*3 stabs332", low_root=0.8, pad="whole*8",
        arp="bounce*8", arp_level=1.05, bright=(0.74, 0.80), lead_air=0.8, lead_octave=0.12, harmony=0.6,
        riffs=(*COUNTER, *ANSWERS, *CALLS), riffs_tonic=F, land=1.0, swell=0.5,
    ),
    "bridge-tensor": Layers(
        drums={"kick": "half*5 half2", "snare": "late*6", "clap": "late*6", "hat": "lazy@0.7*6", "crash": "one@0.9 rest*5"},
        bass="hold*6", bass_voice="reese", pad="whole*6", arp="eight*6", arp_level=0.9, bright=(0.36, 0.46), lead_level=0.9,
        lead_air=0.5, riffs_tonic=A_FLAT, land=0.9,
        riffs=(Riff("chop", 36, "Ab4:4 C5:4", 0.7), Riff("chop", 84, "C5:4 Ab4:4", 0.7)),
    ),
    "bridge-attention": Layers(
        drums={"kick": "half*5 half2", "snare": "late*5 late2", "clap": "late*6", "hat": "hat16@0.55*6", "rim": "clave@0.5*6"},
        bass="hold*6", bass_voice="reese", chords="whole@0.5*6", pad="whole*6", arp="bounce*6", arp_level=0.8,
        bright=(0.42, 0.54), lead_level=0.9, lead_air=0.55, riffs_tonic=A_FLAT,
        riffs=(Riff("strings", 0, "F5:16 G5:16 Ab5:16 F5:16 G5:16 C6:16", 0.6), Riff("chop", 36, "Ab4:4 C5:4", 0.7)),
    ),
    "bridge-quantisation": Layers(
        drums={
            "kick": "half2*6", "snare": "late*5 late2", "clap": "late*6", "hat": "hat16@0.6*6", "shaker": "hat16@0.5*6",
            "tom": "rest*5 toms2@0.8",
        },
        bass="root8@0.85*6", bass_voice="reese", chords="muted@0.6*6", pad="whole*6", arp="bounce*6", arp_level=0.9,
        bright=(0.5, 0.62), lead_level=0.92, lead_air=0.6, riffs_tonic=A_FLAT,
        riffs=(
            Riff("strings", 0, "F5:16 G5:16 Eb5:16 F5:16 Bb5:16 C6:16", 0.65),
            Riff("chop", 36, "G4:2 G4:2 C5:4", 0.7), Riff("chop", 84, "Ab4:2 C5:2 C5:4", 0.7),
        ),
    ),
    "bridge-all-reduce": Layers(
        drums={
            "kick": "four@0.8*4 eights@0.85 stop8@0.85", "snare": "late*2 roll4@0.5 roll8@0.55 roll16@0.6 stop16@0.8",
            "hat": "hat16@0.65*5 rest", "clap": "late@0.8*2 back@0.7*2 rest*2", "tom": "rest*5 drop", "crash": "one@0.6 rest*5",
        },
        bass="root8*5 root8stop", chords="push8@0.7*5 push8stop@0.8", pad="whole*6", arp="bounce*4 rise rest", arp_level=0.95,
        bright=(0.5, 0.9), lead_level=0.94, lead_air=0.65, lead_octave=0.1, riffs_tonic=A_FLAT, rise=(4, 1.0), swell=1.0,
        riffs=(Riff("chop", 64, "E5:4 E5:4 E5:2 E5:2 E5:2 E5:2", 0.8), Riff("bell", 64, "E5:4 G5:4 C6:4 E6:4 F#6:8", 0.7)),
    ),
    "chorus-4": Layers(
        drums={
            "kick": "four*3 pick four*3 pick", "snare": "back*3 turn2 back*3 turn2", "clap": "back*8", "open": "off@0.9*8",
            "hat": "drive@0.6*8", "shaker": "hat16@0.7*8", "ride": "rides@0.7*8", "tom": "rest*3 toms@0.8 rest*3 toms2@0.9",
            "crash": "one rest one@0.5 rest one@0.9 rest one@0.5 rest",
        },
        bass="pump16*3 pumpL pump16*3 pumpL", chords="stabs332*8", low_root=0.8, pad="whole*8", arp="bounce*8", arp_level=1.1,
        bright=(0.78, 0.86), lead_air=0.9, lead_octave=0.3, harmony=0.7, riffs=(*COUNTER, *ANSWERS, *CALLS), riffs_tonic=F,
        land=1.0,
    ),
    "outro": Layers(
        drums={
            "kick": "four*3 sparse sparse one", "snare": "back*3 turn rest*2", "clap": "back*4 rest*2",
            "open": "off@0.7*3 rest*3", "hat": "hat16@0.6*3 lazy@0.5*2 rest", "tom": "rest*3 toms3@0.7 rest*2",
            "crash": "one rest*4 one@0.9",
        },
        bass="pump*3 pumpL hold hold", chords="stab332*4 whole@0.8 whole", low_root=0.7, pad="whole*6",
        arp="bounce*4 space rest", arp_level=0.9, bright=(0.72, 0.4), lead_air=0.5, harmony=0.4, riffs_tonic=7,
        riffs=(
            Riff("bell", 60, "D5:2 F#5:2", 0.8), Riff("bell", 80, "D5:16", 0.9), Riff("bell", 82, "G5:14", 0.9),
            Riff("bell", 84, "B5:12", 0.8),
            Riff("chop", 28, "E5:2 G4:2", 0.7), Riff("chop", 60, "D5:2 A4:2", 0.7),
        ),
        land=0.8,
    ),
}  # fmt: skip
