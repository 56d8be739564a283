"""FlashAttention: the square of scores is never written; tiles stream past the queries, and only running sums stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import ClassVar

from scenes.props import attention as att
from scenes.props import key_stream as sm
from scenes.props.attention import Beats, Dram, Example, Race, Wall
from scenes.props.cube import Cube
from scenes.props.instruction import best_rung
from scenes.props.key_stream import KeyStream
from scenes.props.peaks import Peaks
from scenes.props.piles import Pile
from scenes.props.sentence import Sentence
from scenes.props.signs import Signs
from scenes.stage.camera import Camera
from scenes.stage.claims import Figure, figure
from scenes.stage.digits import Counter
from scenes.stage.hud import Ratio
from scenes.stage.keys import Path, Track, arrive, overshoot, ramp, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import COMPUTE, MEMORY, TEXT
from scenes.stage.passage import Passage, Scenery
from scenes.stage.type import FACT, LABEL, NUMBER, SMALL
from scenes.stage.world import Fog, Ground, Light, World

LEFT, RIGHT = 96, 1824
BIG, FINE, FINER = 318, 368, 408  # baselines of a number and of what explains it
PILES, PILE_Y = (11.0, 17.0), 1.5  # x of the bytes of either kind
BELOW, SAID = 16.0, 208.0  # how much lower a figure stands under the HUD's ratio; baseline of what stays
GOAL = (2.0, -5.2, 0.09)  # where the output's tile is written in DRAM
GB = 1e-9
SLOWER = 1.75  # beats that the slower of two takes in the last bar: the scale of that race


class FlashAttention(Passage):
    """The big square is never written."""

    name: ClassVar[str] = "flash-attention"
    title: ClassVar[str] = "FLASHATTENTION"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 8"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        # The wall is whole on "square", its first rows pour; its line's last word refuses it; bar 3: it dissolves.
        self.fast, self.last = self.fastest(), self.at(6)
        self.times = Beats(
            whole=self.at(2),
            pours=self.at(1, 4),
            refused=self.at(2, 3),
            dissolves=self.at(3),
            tiles=tuple(self.at(4) + k for k in range(8)),
            raced=self.fast is not None,
        )
        example = Example.seeded()
        self.fused = "fused" if self.known("fused") else self.fast  # what only is fused, where that was measured
        self.wall: Wall = self.prop(Wall(self.times, example))
        # Bars 4 and 5: a tile of keys and values lands on every beat, the first on "stream"; then the output is written.
        self.stream: KeyStream = KeyStream(self.times.tiles, self.last, GOAL, att.HERO - att.BAND, example)
        size = Track(0.4).to(0.7, self.at(4), 1.5)
        self.prop(Scenery(self.light), Dram(self.times), self.stream, Cube(self.stream.seat, size, emission=0.8))
        self.name_things()

        # Bars 3 to 5: what the square moves through DRAM, then what the tiles move; bar 6: how long, and how much memory.
        self.piles = [self.pile("unfused", self.at(3)), self.pile(self.fused or "fused", self.at(5))]
        self.prop(*self.piles)
        self.race: Race | None = None
        self.say_the_square()
        if self.fast is None:
            shown = window(self.at(3), self.clock.beats + 9.0)
            self.text(Text("attention not measured", LABEL, LEFT, 270, opacity=shown))
            self.text(Text(f"on {self.data.device.name}", LABEL, LEFT, 314, opacity=shown))
        else:
            raced = list(dict.fromkeys(["unfused", self.fused or self.fast, self.fast]))
            self.race = self.prop(Race(self.last, SLOWER, cache(partial(self.shares, raced)), att.RACE_Y[: len(raced)]))
            self.prop(Signs(self.race.names(self.named(raced), window(self.last + 0.25, self.clock.beats + 9.0))))
            self.prop(Signs(self.race.marks([partial(self.took, name) for name in raced])))
            self.say_the_bytes()
            self.say_the_gain(self.fast)
        self.camera_at = self.fly()
        self.finish()

    # ---- the record -------------------------------------------------------------------------------------------------------

    def key(self, rung: str, what: str) -> str:
        return f"ladders.attention.rungs.{rung}.{what}"

    def value(self, key: str) -> float:
        return self.read(key).quantity.value

    def known(self, rung: str) -> bool:
        """Whether a fused rung was measured beside the unfused one."""
        return rung != "unfused" and all(self.data.has(self.key(name, "figures.speedup")) for name in (rung, "unfused"))

    def fastest(self) -> str | None:
        """The fastest rung, whatever made it so; None without one or without the unfused."""
        best = best_rung(self.data, "attention")
        return best.name if best and self.known(best.name) else None

    def achieved(self) -> Callable[[float], Ratio | None]:
        """On bar 6 the fastest rung against the roof of its own instruction, or a library's attention."""
        peaks = Peaks.of(self.data, "attention")
        share, begins = cache(lambda: peaks.ratio(self.data) if peaks else None), self.at(6, 2)
        return lambda beat: share() if beat >= begins and self.fast else None

    def named(self, rungs: Sequence[str]) -> tuple[str, ...]:
        """Each bar's words: a rung on other units than the fused one is not fast by being fused alone, and has its title."""
        owned = self.data.ladder("attention")
        known = {rung.name: rung for rung in owned.value.rungs} if owned else {}
        fast, fused = known.get(self.fast or ""), known.get(self.fused or "")
        last = fast.title.lower() if fast and fused and fast.math_roof != fused.math_roof else "fused"
        words = {"unfused": "unfused", self.fused: "fused", self.fast: last}
        return tuple(words[name] for name in rungs)

    def side(self) -> str:
        """Queries of a head, as the ladder's problem has them: 'batch x heads, queries x values'."""
        owned = self.data.ladder("attention")
        return owned.value.problem.rpartition(",")[2].split("x")[0].strip() if owned else ""

    def shares(self, rungs: Sequence[str]) -> tuple[float, ...]:
        """Times of some rungs over the longest of them."""
        times = [self.value(self.key(name, "time")) for name in rungs]
        return tuple(time / max(times) for time in times)

    def took(self, rung: str) -> Figure:
        return figure(self.read(self.key(rung, "time")), 1, "ms", 1e3)

    def pile(self, rung: str, lands: float) -> Pile:
        """The bytes that a rung moved through DRAM, on the scale of the unfused ones."""
        keys = [self.key(name, "traffic.dram") for name in (rung, "unfused")]
        known = self.fast is not None and all(self.data.has(key) for key in keys)
        mine, most = (cache(partial(self.value, key)) for key in keys)
        rise = Track(0.0).to(1.0, lands + 1.0, 1.5, overshoot).to(0.0, self.last + 0.25, 0.75)
        return Pile(PILES[rung != "unfused"], PILE_Y, known, mine, most, rise, lambda beat: 1.0)

    # ---- words --------------------------------------------------------------------------------------------------------------

    def name_things(self) -> None:
        """What lies in DRAM, what streams; what stays, in a line of a bar each; and the bytes with the square."""
        stays = window(self.times.tiles[0] - 1.0, self.last + 0.25)
        dram = Track(0.0).to(1.0, self.at(1, 3), 0.5).to(0.0, self.at(5), 0.5)  # not under the figures of bar 5
        dram.to(float(self.fast is None), self.last + 1.0, 0.5)
        self.prop(Signs([*att.names(dram), *sm.names(stays)]))
        kept = ("max: a row's largest score", "sum of weights: only these stay")
        for words, since, gone in zip(kept, (self.at(4), self.at(5)), (self.at(5), self.last - 0.25), strict=True):
            self.text(Text(words, FACT, LEFT, SAID, opacity=window(since, gone - 0.3, 0.3)))
        seen = window(self.at(3), self.at(4) - 1.0)
        self.text(Text("unfused", SMALL.coloured(TEXT), 0, 46, "centre", seen, (PILES[0], PILE_Y - 1.6, 0.0), yields=True))

    def say_the_square(self) -> None:
        """How large the square is, and the memory that it takes."""
        shown, side = window(0.75, self.at(3) - 0.25), self.side()
        if side:
            self.text(Text(f"{side} × {side} scores a head", FACT, LEFT, 250, "left", shown, kind="structure"))
        if self.fast is None or not self.data.has(self.key("unfused", "figures.peak_memory")):
            return

        whole = window(self.times.whole, self.at(3) - 0.25)

        def peak() -> Sequence[Item]:
            memory = figure(self.read(self.key("unfused", "figures.peak_memory")), 2, "GB", GB)
            return [
                Number(memory, NUMBER.coloured(MEMORY), LEFT, BIG + 8, "left", whole),
                Text(f"peak memory, unfused, {memory.source}", SMALL, LEFT, FINE + 8, "left", whole),
            ]

        self.text_later(whole, peak)

    def say_the_bytes(self) -> None:
        """Through DRAM: with the square, in bar 3; without it, in bar 5."""
        for rung, begin, end in (("unfused", self.at(3), self.at(4)), (self.fused or "", self.at(5), self.last)):
            if self.data.has(self.key(rung, "traffic.dram")):
                shown = window(begin + 0.6, end - 0.25)
                self.text_later(shown, partial(self.bytes_moved, rung, begin, shown))

    def bytes_moved(self, rung: str, begin: float, shown: Callable[[float], float]) -> Sequence[Item]:
        square = rung == "unfused"
        moved = figure(self.read(self.key(rung, "traffic.dram")), 1 if square else 2, "GB", GB)
        counted = Track().to(1.0, begin + 1.5, 1.0, arrive)
        words = ("through DRAM,", moved.source) if square else (f"through DRAM, fused, {moved.source}",)
        items: list[Item] = [
            Counter(moved, counted, NUMBER.coloured(MEMORY), LEFT, BIG, "left", shown),
            *(Text(line, SMALL, LEFT, y, "left", shown) for line, y in zip(words, (FINE, FINER), strict=False)),
        ]
        if not square and self.data.has(self.key("unfused", "traffic.dram")):
            before = figure(self.read(self.key("unfused", "traffic.dram")), 1, "GB", GB)
            items.append(Sentence((("unfused ", SMALL), (before, SMALL.coloured(TEXT))), LEFT, FINER, opacity=shown))
        return items

    def say_the_gain(self, fast: str) -> None:
        """Bar 6: how much sooner, of which the bars tell what fusing alone gained; peak memory, which is all of it fusing's."""
        end = self.clock.beats + 9.0
        left, right = window(self.last, end), window(self.last + 1.0, end)
        bright = SMALL.coloured(TEXT)
        memory = [self.key(name, "figures.peak_memory") for name in (self.fused or fast, "unfused")]

        def faster() -> Sequence[Item]:
            times = figure(self.read(self.key(fast, "figures.speedup")), 1, "×")
            counted = Track().to(1.0, self.last + 1.0, 1.0, arrive)
            return [
                Counter(times, counted, NUMBER.coloured(COMPUTE), LEFT, BIG, "left", left, start=1.0),
                Text(f"faster than unfused, {times.source}", SMALL, LEFT, FINE, "left", left),
            ]

        def smaller() -> Sequence[Item]:
            now, before = (figure(self.read(key), 2, "GB", GB) for key in memory)
            words = (("unfused ", SMALL), (before, bright), (f", {before.source}", SMALL))
            return [
                Number(now, NUMBER.coloured(MEMORY), RIGHT, BIG + BELOW, "right", right),
                Text(f"peak memory, fused, {now.source}", SMALL, RIGHT, FINE + BELOW, "right", right),
                Sentence(words, RIGHT, FINER + BELOW, "right", right),
            ]

        self.text_later(left, faster)
        if all(map(self.data.has, memory)):
            self.text_later(right, smaller)

    # ---- the picture ------------------------------------------------------------------------------------------------------

    def light(self, world: World, beat: float) -> None:
        u = ramp(beat, self.times.tiles[0] - 2.0, 2.0) * (1.0 - ramp(beat, self.last - 0.5, 1.5))
        world.light = Light(focus=(0.0, -2.5 - 16.5 * u), radius=15.0, ambient=0.38)
        world.fog = Fog(start=34.0, end=95.0)
        world.ground = Ground(spacing=2.0, extent=90.0)

    def fly(self) -> Callable[[float], Camera]:
        """Along the wall while it grows, back as it bursts; down to the SM that tiles come to; over the floor for the race."""
        floor = 0.0 if self.race is None else 1.0  # nothing runs on it where nobody measured how long it takes
        path = Path([
            (0, (-4.6, 0.0, 5.2, 21.5, -30, 8)),
            (4, (-4.3, -1.0, 3.9, 22.5, -17, 12)),
            (7, (-3.6, -2.0, 3.2, 22.5, -5, 15)),
            (9, (2.8, -1.6, 3.0, 23.5, 5, 14)),
            (10.2, (2.8, -1.4, 2.8, 24.0, 9, 13)),
            (12, (-0.5, -18.0, 1.2, 19.6, 8, 27)),
            (16, (-0.5, -18.2, 1.3, 19.0, 1, 26)),
            (19.4, (-0.5, -18.0, 1.4, 19.2, -5, 25)),
            (20.5, (0.9, -8.0, 2.0, 25.0, -8, 24)),
            (22.5, (3.2 - 2.6 * floor, -0.9 - 7.7 * floor, 3.1 - 1.3 * floor, 22.0 + 0.6 * floor, -4, 15 + 6 * floor)),
            (24, (3.4 - 2.7 * floor, -0.9 - 7.5 * floor, 3.1 - 1.4 * floor, 21.5 + 0.5 * floor, 0, 15 + 5 * floor)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation, 38.0)

        return camera
