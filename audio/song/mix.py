"""Stems -> mix: level, place and space of every stem, the ducking by the kick, the sweeps and silences before the drops.

Where somebody sings, the voice is set above what plays (`front`), and what plays makes room for it (`unmask`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from audio.song import front, unmask
from audio.song.arrange import Arrangement
from audio.song.dsp import HIGH, Signal, follow, pole, samples, svf
from audio.song.effects import bell, compress, cut, duck, echo, ensemble, reverb, room, saturate, shelf, width
from audio.song.front import tone as sung_tone
from audio.song.stems import Progress, Span


@dataclass(frozen=True, slots=True)
class Channel:
    """One stem's strip: gain in dB, low cut in hertz, ducking depth (0..1), sends to room, hall and echo, stereo width."""

    gain: float
    low: float = 0.0
    duck: float = 0.0
    room: float = 0.0
    hall: float = 0.0
    echo: float = 0.0
    width: float = 1.0


CHANNELS = {
    "kick": Channel(-8.5),
    "snare": Channel(-5.0, low=110.0, room=0.10, hall=0.05),
    "tops": Channel(-4.0, low=350.0, room=0.06, hall=0.03, width=1.15),
    "bass": Channel(-8.5, low=30.0, duck=0.85, width=0.0),
    "chords": Channel(-11.0, low=110.0, duck=0.72, hall=0.14, width=1.2),
    "pad": Channel(-17.0, low=150.0, duck=0.60, hall=0.25, width=1.3),
    "arp": Channel(-15.0, low=260.0, duck=0.45, hall=0.14, echo=0.30, width=1.1),
    "bell": Channel(-12.0, low=300.0, duck=0.20, hall=0.30, echo=0.30, width=1.2),
    "strings": Channel(-14.0, low=350.0, duck=0.45, hall=0.30, echo=0.10, width=1.25),
    "lead": Channel(-4.5, low=190.0, duck=0.12, room=0.05, hall=0.16, echo=0.17),
    "harmony": Channel(-13.0, low=220.0, duck=0.20, hall=0.20, echo=0.10, width=1.5),
    "fx": Channel(-14.0, low=28.0, hall=0.10),
}
VOICES = {
    "voice": Channel(0.0, low=130.0, room=0.06, hall=0.11, echo=0.10),
    "doubles": Channel(-11.0, low=250.0, hall=0.16, echo=0.06),
    "choir": Channel(-9.0, low=250.0, hall=0.24, echo=0.08, width=1.2),
    "chops": Channel(-2.0, low=250.0, duck=0.25, hall=0.25, echo=0.35),
}
SUNG = ("voice", "doubles", "choir")  # what follows the lead's fader; gains above are beside the lead's
# dB that a group gives, at most, in the voice's bands
YIELDS = {"synths": 9.0, "chops": 9.0, "effects": 9.0, "skins": 3.0, "space": 6.0}
SKINS = ("snare", "tops")  # drums that share the voice's bands
WIDER = 1.25  # the synths' sides, where somebody sings
DRIER = 0.6  # of all echo and room, while the voice sounds
PLAYED = ("lead", "harmony")  # the melody as a synthesiser plays it where nobody sings
GROUPS = {
    "kick": "drums", "snare": "drums", "tops": "drums", "bass": "bass", "voice": "vocals", "doubles": "vocals",
    "choir": "vocals", "chops": "chops", "fx": "effects",
}  # fmt: skip
"""Which stem a channel is written to; all others are `synths`."""

SWEPT = ("kick", "bass", "chords", "pad", "arp")  # stems whose low end is drawn out of the last bars before a drop
UNDER_LEAD = ("chords", "pad", "arp", "strings", "harmony")  # stems whose middle gives way while the lead sounds
HUSHED = ("bass", "chords", "pad", "arp", "bell", "strings")


@dataclass(frozen=True, slots=True)
class Mix:
    """The mix before mastering and its stems by GROUPS, as they sit in it (dry, ducked); `space` is all echo and room."""

    sound: Signal
    stems: dict[str, Signal]


def mix(
    stems: dict[str, Signal],
    arrangement: Arrangement,
    span: Span,
    progress: Progress | None = None,
    voices: dict[str, Signal] | None = None,
) -> Mix:
    """Everything summed, shape (span.samples, 2).  `voices`, the sung stems (see VOICES), take the synth lead's place."""
    n = span.samples
    strips = CHANNELS if voices is None else _around(CHANNELS) | VOICES
    stems = stems if voices is None else {**stems, **voices}
    names = tuple(name for name in stems if voices is None or name not in (*PLAYED, *SUNG))
    strong = [hit for hit in arrangement.hits if hit.drum == "kick" and span.holds(hit.step) and hit.level >= 0.5]
    ducked = duck(n, [span.at(hit.step) for hit in strong], 1.0, 0.27)
    sweep, gate = _sweep(arrangement, span), _gate(arrangement, span)
    sends = {"room": np.zeros((n, 2)), "hall": np.zeros((n, 2)), "echo": np.zeros((n, 2))}
    dry: dict[str, Signal] = {}
    steps = len(names) + (2 if voices is None else 4)
    played = np.minimum(follow(np.abs(stems["lead"]).max(axis=1), pole(0.01), pole(0.15)) / 0.25, 1.0)
    for done, name in enumerate(names):
        if progress is not None:
            progress("mixing", done, steps)
        x = _tone(name, stems[name])
        if name in SWEPT:
            x = svf(svf(x, sweep, 0.7, HIGH), sweep, 0.7, HIGH)
        if name in HUSHED:
            x = x * gate[:, None]
        if name in UNDER_LEAD and voices is None:
            x = x - 0.45 * played[:, None] * cut(x, 900.0, 4200.0, 1)
        x = _strip(x, strips[name], ducked)
        _lay(dry, "skins" if voices is not None and name in SKINS else GROUPS.get(name, "synths"), x)
        _send(sends, strips[name], x)
    if progress is not None:
        progress("mixing", len(names), steps)
    if voices is None:
        dry["space"] = _space(sends, span, ducked)
        return Mix(np.asarray(sum(dry.values()) * _close(span)[:, None]), dry)
    others = np.asarray(sum(dry.values()))
    sung = {name: _strip(_tone(name, voices[name]), strips[name], ducked) for name in SUNG}
    ride = front.fader(sung["voice"], others, arrangement, span)
    for name in SUNG:
        _lay(dry, "vocals", ride * sung[name])
        _send(sends, strips[name], ride * sung[name])
    if progress is not None:
        progress("mixing", len(names) + 2, steps)
    lead = ride * sung["voice"]
    asked, dry["space"] = unmask.asked(lead, others), _space(sends, span, ducked)
    dry["space"] *= (1.0 - DRIER * front.presence(lead))[:, None]
    for group, most in YIELDS.items():
        if group in dry:
            dry[group] = unmask.give(dry[group], asked, most)
    _lay(dry, "drums", dry.pop("skins"))
    return Mix(np.asarray(sum(dry.values()) * _close(span)[:, None]), dry)


def _around(channels: dict[str, Channel]) -> dict[str, Channel]:
    """The synths moved to the sides, as the voice takes the middle."""
    return {n: replace(c, width=WIDER * c.width) if n not in GROUPS else c for n, c in channels.items()}


def _strip(x: Signal, strip: Channel, ducked: Signal) -> Signal:
    """A stem through its channel, without the sends."""
    if strip.low:
        x = cut(x, low=strip.low)
    if strip.width != 1.0:
        x = width(x, strip.width)
    return np.asarray(x * (10.0 ** (strip.gain / 20.0) * (1.0 - strip.duck + strip.duck * ducked))[:, None])


def _lay(dry: dict[str, Signal], group: str, x: Signal) -> None:
    dry[group] = dry[group] + x if group in dry else x


def _send(sends: dict[str, Signal], strip: Channel, x: Signal) -> None:
    for send, amount in (("room", strip.room), ("hall", strip.hall), ("echo", strip.echo)):
        if amount:
            sends[send] += amount * x


def _space(sends: dict[str, Signal], span: Span, ducked: Signal) -> Signal:
    """All echo and room."""
    answers = echo(cut(sends["echo"], 280.0, 6500.0), span.song.seconds(3), 0.55)
    halls = reverb(cut(sends["hall"] + 0.5 * answers, 260.0, 9000.0), room(2.3, 0.028, 0.55, 901))
    rooms = reverb(cut(sends["room"], 220.0, 10000.0), room(0.55, 0.004, 0.8, 902, 0.003))
    return np.asarray((1.5 * halls + 0.8 * answers) * (0.5 + 0.5 * ducked)[:, None] + 1.5 * rooms)


def _tone(name: str, x: Signal) -> Signal:
    """What is done to a stem before its strip."""
    if name == "snare":
        return compress(shelf(bell(x, 200.0, 1.5, 1.0), 6000.0, 1.5, True), -14.0, 3.0, 0.012, 0.08, 1.5)
    if name == "bass":
        return bell(bell(x, 130.0, 2.0, 0.9), 800.0, 1.5, 0.8)
    if name == "chords":
        return ensemble(bell(x, 1900.0, -2.5, 0.8), mix=0.35)  # room for the lead
    if name == "pad":
        return ensemble(x, depth=0.003, rate=0.31)
    if name == "lead":
        x = bell(bell(x, 480.0, -2.5, 0.8), 2600.0, 2.5, 0.9)
        return compress(shelf(x, 8000.0, 2.0, True), -16.0, 3.0, 0.006, 0.12, 2.0)
    if name in VOICES:
        return sung_tone(x)
    if name == "tops":
        return shelf(x, 11000.0, -5.0, True)  # white noise is brighter than any cymbal
    if name == "kick":
        return saturate(x, 1.2)
    return x


def _sweep(arrangement: Arrangement, span: Span) -> Signal:
    """Low-cut frequency over time: out of the way at 12 Hz, up to 170 Hz in the two bars before a silence."""
    curve = np.full(span.samples, 12.0)
    for hush, end in arrangement.hushes:
        first, last, back = (max(span.at(s), 0) for s in (hush - 24, hush, end))
        if first < span.samples and last > first:
            ramp = 12.0 * (170.0 / 12.0) ** np.linspace(0.0, 1.0, last - first)
            curve[first:last] = ramp[: max(span.samples - first, 0)]
            curve[last:back] = np.linspace(170.0, 12.0, max(back - last, 0))[: max(span.samples - last, 0)]
    return curve


def _close(span: Span) -> Signal:
    """The ending: from the middle of the last bar on, everything fades to nothing at the last sample, as a held breath does."""
    first = max(span.at(span.song.bars * 16 - 8), 0)
    gain = np.ones(span.samples)
    if span.last == span.song.bars * 16 and first < span.samples:
        gain[first:] = np.cos(np.linspace(0.0, np.pi / 2.0, span.samples - first)) ** 2
    return gain


def _gate(arrangement: Arrangement, span: Span) -> Signal:
    """Ones, but zero in the silences before the drops, with edges of 12 ms."""
    gain = np.ones(span.samples)
    edge = samples(0.012)
    for hush, end in arrangement.hushes:
        first, last = span.at(hush), span.at(end)
        if 0 <= first < span.samples:
            gain[first:last] = 0.0
            stop = min(first + edge, span.samples)
            gain[first:stop] = np.linspace(1.0, 0.0, edge)[: stop - first]
    return gain
