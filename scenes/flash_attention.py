"""FlashAttention: the square of scores is never written; tiles stream past the queries, and only running sums stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import ClassVar

from scenes.props import attention as att
from scenes.props import key_stream as sm
from scenes.props.attention import Beats, Dram, Example, Race, Wall
from scenes.props.attention_rungs import FUSED, UNFUSED, AttentionRungs
from scenes.props.cube import Cube
from scenes.props.key_stream import KeyStream
from scenes.props.on_chip import OnChip, Room, megabytes
from scenes.props.peaks import Peaks
from scenes.props.piles import Pile
from scenes.props.sentence import Sentence
from scenes.props.signs import Signs
from scenes.props.tile_sweep import Sweep
from scenes.stage.camera import Camera
from scenes.stage.claims import Figure, figure
from scenes.stage.digits import Counter
from scenes.stage.hud import Ratio
from scenes.stage.keys import Path, Track, arrive, overshoot, ramp, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import COMPUTE, MEMORY, TEXT
from scenes.stage.passage import Passage, Scenery
from scenes.stage.type import FACT, LABEL, NUMBER, SMALL, Style
from scenes.stage.world import Fog, Ground, Light, World

LEFT = 96
SAID, LINE = 208.0, 258.0  # baselines of what is said, of a second line of it,
TALL, UNDER, UNDERMOST = 340, 390, 430  # of a number and of what explains it, design pixels
PILES, PILE_Y = (11.0, 17.0), 1.5  # x of the bytes of either kind
GOAL = (2.0, -5.2, 0.09)  # where the output's tile is written in DRAM
GB, SLOWER = 1e-9, 1.75  # of a byte; beats that the slower of two takes in the last bar: the scale of that race


class FlashAttention(Passage):
    """The big square is never written."""

    name: ClassVar[str] = "flash-attention"
    title: ClassVar[str] = "FLASHATTENTION"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 8"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        # All shared memory stands beside the wall on "room", as large on its scale; the wall is whole on "square", its first
        # rows pour to DRAM instead; its line's last word refuses it; bar 3: it dissolves.
        self.rungs, self.last = AttentionRungs(self.data), self.at(6)
        self.times = Beats(
            whole=self.at(2),
            pours=self.at(1, 4),
            refused=self.at(2, 3),
            dissolves=self.at(3),
            tiles=tuple(self.at(4) + k for k in range(8)),
            raced=self.rungs.fast is not None,
        )
        example = Example.seeded()
        self.wall: Wall = self.prop(Wall(self.times, example))
        self.show_the_room()
        # Bars 4 and 5: a tile of keys and values lands on every beat, the first on "stream"; then the output is written.
        self.stream: KeyStream = KeyStream(self.times.tiles, self.last, GOAL, att.HERO - att.BAND, example)
        size = Track(0.4).to(0.7, self.at(4), 1.5)
        self.prop(Scenery(self.light), Dram(self.times), self.stream, Cube(self.stream.seat, size, emission=0.8))
        self.name_things()

        # Bars 3 to 5: what the square moves through DRAM, then what the tiles move; bar 6: how long each took.
        self.piles = [self.pile(UNFUSED, self.at(3)), self.pile(self.rungs.fused or FUSED, self.at(5))]
        self.prop(*self.piles)
        self.race: Race | None = None
        self.sweep: Sweep | None = None
        self.say_the_square()
        if self.rungs.fast is None:
            # Nobody raced: all other rows of the square go the same way, a band on each SM.
            self.sweep = self.prop(Sweep(self.last + 0.5, GOAL, example))
            self.say_what_is_missing()
        else:
            raced, end = self.rungs.raced, self.clock.beats + 9.0
            self.race = self.prop(Race(self.last, SLOWER, cache(self.rungs.shares), att.RACE_Y[: len(raced)]))
            self.prop(Signs(self.race.names(self.rungs.names(), window(self.last + 0.25, end))))
            self.say_the_memory(self.rungs.fused or self.rungs.fast)
            self.say_the_bytes()
            self.say_the_gain(self.rungs.fast)
        self.camera_at = self.fly()
        self.finish()

    # ---- the record -------------------------------------------------------------------------------------------------------

    def achieved(self) -> Callable[[float], Ratio | None]:
        """On bar 6 the fastest rung against the roof of its own instruction, or a library's attention."""
        peaks = Peaks.of(self.data, "attention")
        share, begins = cache(lambda: peaks.ratio(self.data) if peaks else None), self.at(6, 2)
        return lambda beat: share() if beat >= begins and self.rungs.fast else None

    def pile(self, rung: str, lands: float) -> Pile:
        """The bytes that a rung moved through DRAM, on the scale of the unfused ones."""
        known = self.rungs.fast is not None and all(self.rungs.has(name, "traffic.dram") for name in (rung, UNFUSED))
        mine, most = (cache(partial(self.rungs.value, name, "traffic.dram")) for name in (rung, UNFUSED))
        rise = Track(0.0).to(1.0, lands + 1.0, 1.5, overshoot).to(0.0, self.last + 0.25, 0.75)
        return Pile(PILES[rung != UNFUSED], PILE_Y, known, mine, most, rise, lambda beat: 1.0)

    # ---- words --------------------------------------------------------------------------------------------------------------

    def name_things(self) -> None:
        """What lies in DRAM, what streams; and in a line of a bar each where the scores go, and what is kept."""
        end, again = self.clock.beats + 9.0, float(self.sweep_follows)
        stays = window(self.times.tiles[0] - 0.4, self.last - 0.25)
        # DRAM's name comes once no shared memory stands over it, and is clear of what is told; K and V are clear of the gate.
        dram = Track(0.0).to(1.0, self.at(3) + 0.25, 0.5).to(0.0, self.at(4, 3), 0.5).to(again, self.last + 1.0, 0.5)
        letters = Track(0.0).to(1.0, self.at(1, 3), 0.5).to(0.0, self.times.refused - 0.5, 0.3)
        letters.to(1.0, self.times.dissolves + 2.9, 0.4).to(0.0, self.at(5), 0.5)
        letters.to(again, self.last + 1.0, 0.5)
        self.prop(Signs([*att.names(dram, letters), *sm.names(stays)]))
        told = [
            ("unfused: all go to DRAM", LINE, self.at(2), self.at(3) - 0.25),
            ("fused: no score stays", SAID, self.at(4), self.at(5) - 0.25),
            ("kept: max, sum, output", SAID, self.at(5), self.last - 0.25),
        ]
        if self.sweep_follows:
            told.append(("an SM: one tile at a time", SAID, self.last + 0.25, end))
        for words, y, since, gone in told:
            self.text(Text(words, FACT, LEFT, y, opacity=window(since, gone, 0.3)))
        seen = window(self.at(3), self.at(4) - 1.0)
        self.text(Text(UNFUSED, SMALL.coloured(TEXT), 0, 46, "centre", seen, (PILES[0], PILE_Y - 1.6, 0.0), yields=True))

    @property
    def sweep_follows(self) -> bool:
        """Whether bar 6 has no race to show."""
        return self.rungs.fast is None

    def say_what_is_missing(self) -> None:
        """On bar 3 over the wall, from bar 4 on under what is told."""
        for y, shown in ((SAID, window(self.at(3), self.at(4) - 0.25)), (270, window(self.at(4), self.clock.beats + 9.0))):
            self.text(Text("attention not measured", LABEL, LEFT, y, opacity=shown))
            self.text(Text(f"on {self.data.device.name}", LABEL, LEFT, y + 44, opacity=shown))

    def show_the_room(self) -> None:
        """What shared memory there is, beside the square that it has no room for."""
        if (room := Room.of(self.data, self.rungs.side())) is None:
            return
        foot, seen = (-att.SIDE / 2 - 1.1, 0.0, 0.1), window(self.at(1, 2.75), self.at(2, 4), 0.3)
        chip: OnChip = self.prop(OnChip(room, foot, att.SIDE, self.at(1, 2.5), self.at(3) - 0.25))
        over = -68 if room.count > 1 else -20
        self.text(Text(room.words(), SMALL.coloured(TEXT), 0, over, "right", seen, chip.top, kind="structure"))
        if room.count > 1:
            whole = megabytes(self.read("derived.shared_memory"))
            self.text(Number(whole, FACT.coloured(MEMORY), 0, -20, "right", seen, chip.top))

    def say_the_square(self) -> None:
        """How large the square is, in scores and in bytes; then the memory that those of all heads take."""
        words, end = f"{self.rungs.side()}² scores a head", self.at(3) - 0.25
        known, whole, shown = window(0.75, self.at(2) - 0.25), window(self.at(2), end, 0.3), window(0.75, end, 0.3)
        if self.data.has("derived.square.attention"):
            self.text_later(known, lambda: [Sentence(self.sized(words), LEFT, SAID, opacity=known)])
            shown = whole
        self.text(Text(words, FACT, LEFT, SAID, "left", shown, kind="structure"))
        if self.rungs.fast is not None and self.rungs.has(UNFUSED, "figures.peak_memory"):
            self.text_later(whole, partial(self.memory, UNFUSED, whole))

    def sized(self, words: str) -> tuple[tuple[str | Figure, Style], ...]:
        """Words, and the bytes of one head's square."""
        return (f"{words}: ", FACT), (megabytes(self.read("derived.square.attention")), FACT)

    def say_the_memory(self, fused: str) -> None:
        """On bar 4 the memory that it takes without the square."""
        shown = window(self.at(4), self.at(5) - 0.25, 0.3)
        if all(self.rungs.has(name, "figures.peak_memory") for name in (fused, UNFUSED)):
            self.text_later(shown, partial(self.memory, fused, shown))

    def memory(self, rung: str, shown: Callable[[float], float]) -> Sequence[Item]:
        """What a rung took; beside the fused one's what the unfused one did."""
        taken, before = (figure(self.rungs.reading(name, "figures.peak_memory"), 2, "GB", GB) for name in (rung, UNFUSED))
        words = f"peak memory, {f'{self.rungs.heads()} heads' if rung == UNFUSED else FUSED}, {taken.source}"
        items: list[Item] = [
            Number(taken, NUMBER.coloured(MEMORY), LEFT, TALL, "left", shown),
            Text(words, SMALL, LEFT, UNDER, "left", shown, kind="structure"),
        ]
        if rung != UNFUSED:
            items.append(Sentence(((f"{UNFUSED} ", SMALL), (before, SMALL.coloured(TEXT))), LEFT, UNDERMOST, opacity=shown))
        return items

    def say_the_bytes(self) -> None:
        """Through DRAM: with the square, in bar 3; without it, in bar 5."""
        for rung, begin, end in ((UNFUSED, self.at(3), self.at(4)), (self.rungs.fused or "", self.at(5), self.last)):
            if self.rungs.has(rung, "traffic.dram"):
                shown = window(begin + 0.25, end - 0.25, 0.3)
                self.text_later(shown, partial(self.bytes_moved, rung, begin, shown))

    def bytes_moved(self, rung: str, begin: float, shown: Callable[[float], float]) -> Sequence[Item]:
        square = rung == UNFUSED
        moved = figure(self.rungs.reading(rung, "traffic.dram"), 1 if square else 2, "GB", GB)
        counted = Track().to(1.0, begin + 1.5, 1.0, arrive)
        words = ("through DRAM,", moved.source) if square else (f"through DRAM, {FUSED}, {moved.source}",)
        items: list[Item] = [
            Counter(moved, counted, NUMBER.coloured(MEMORY), LEFT, TALL, "left", shown),
            *(Text(line, SMALL, LEFT, y, "left", shown) for line, y in zip(words, (UNDER, UNDERMOST), strict=False)),
        ]
        if not square and self.rungs.has(UNFUSED, "traffic.dram"):
            before = figure(self.rungs.reading(UNFUSED, "traffic.dram"), 1, "GB", GB)
            items.append(Sentence(((f"{UNFUSED} ", SMALL), (before, SMALL.coloured(TEXT))), LEFT, UNDERMOST, opacity=shown))
        return items

    def say_the_gain(self, fast: str) -> None:
        """Bar 6: how much sooner, and on which units where that is more than fusing; the bars tell what fusing alone gained."""
        shown = window(self.last + 0.25, self.clock.beats + 9.0)

        def faster() -> Sequence[Item]:
            times, units = figure(self.rungs.reading(fast, "figures.speedup"), 1, "×"), self.rungs.units()
            counted = Track().to(1.0, self.last + 1.0, 1.0, arrive)
            items: list[Item] = [Counter(times, counted, NUMBER.coloured(COMPUTE), LEFT, TALL, "left", shown, start=1.0)]
            if units and self.rungs.fused:
                alone = figure(self.rungs.reading(self.rungs.fused, "figures.speedup"), 2, "×")
                words = (("fusing alone ", SMALL), (alone, SMALL.coloured(TEXT)), (f", then on {units}", SMALL))
                items.append(Sentence(words, LEFT, UNDERMOST, opacity=shown))
            return [*items, Text(f"faster than {UNFUSED}, {times.source}", SMALL, LEFT, UNDER, "left", shown)]

        self.text_later(shown, faster)

    # ---- the picture ------------------------------------------------------------------------------------------------------

    def light(self, world: World, beat: float) -> None:
        u = ramp(beat, self.times.tiles[0] - 2.0, 2.0) * (1.0 - ramp(beat, self.last - 0.5, 1.5))
        world.light = Light(focus=(0.0, -2.5 - 16.5 * u), radius=15.0, ambient=0.38)
        world.fog = Fog(start=34.0, end=95.0)
        world.ground = Ground(spacing=2.0, extent=90.0)

    def fly(self) -> Callable[[float], Camera]:
        """Along the wall while it grows, back as it bursts; down to the SM that tiles come to; back over the floor."""
        aside = float(self.sweep_follows)  # room for what is said, and the whole square beside it
        path = Path([
            (0, (-4.6, 0.0, 5.2, 21.5, -30, 8)),
            (4, (-4.3, -1.0, 3.9, 22.5, -17, 12)),
            (7, (-3.6, -2.0, 3.2, 22.5, -5, 15)),
            (9, (2.8, -1.6, 3.0, 23.5, 5, 14)),
            (10.2, (2.8, -1.4, 2.8, 24.0, 9, 13)),
            (12, (-1.0, -18.0, 1.2, 20.0, 8, 27)),
            (16, (-0.9, -18.2, 1.3, 19.4, 1, 26)),
            (19.4, (-0.7, -18.0, 1.4, 19.4, -5, 25)),
            (20.5, (0.9 - 3.9 * aside, -8.0 + 5.0 * aside, 2.0 + 1.6 * aside, 25.0, -8, 24 - 4 * aside)),
            (22.5, (0.6 - 3.8 * aside, -8.6 + 6.6 * aside, 1.8 + 2.0 * aside, 22.6 + aside, -4 - 2 * aside, 21 - 5 * aside)),
            (24, (0.7 - 3.6 * aside, -8.4 + 6.6 * aside, 1.7 + 2.2 * aside, 22.0 + 0.6 * aside, 0, 20 - 5 * aside)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation, 38.0)

        return camera
