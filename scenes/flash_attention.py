"""FlashAttention: the square of scores is never written; tiles stream past the queries, and only running sums stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import ClassVar

from scenes.props import attention as att
from scenes.props import key_stream as sm
from scenes.props.attention import SIDE, Beats, Dram, Example, Race, Wall
from scenes.props.cube import Cube
from scenes.props.key_stream import KeyStream
from scenes.props.piles import Pile
from scenes.props.sentence import Sentence
from scenes.props.signs import Signs
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Path, Track, arrive, overshoot, ramp, smooth, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import COMPUTE, MEMORY, QUIET, TEXT, mix
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, FACT, LABEL, NUMBER, SMALL
from scenes.stage.world import Fog, Ground, Light, World

LEFT, RIGHT = 96, 1824
BIG, FINE, FINER = 318, 368, 408  # baselines of a number and of what explains it
PILES, PILE_Y = (-15.6, -9.6), 1.5  # x of the bytes of either kind
GOAL = (2.0, -5.2, 0.09)  # where the output's tile is written in DRAM
GB = 1e-9
SLOWER = 2.5  # beats that the slower of two takes in the last bar: the scale of that race


class FlashAttention(Passage):
    """The big square is never written."""

    name: ClassVar[str] = "flash-attention"
    title: ClassVar[str] = "FLASHATTENTION"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 8"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        # The wall is whole on "square", its first rows pour; its line's last word refuses it; bar 3: it dissolves.
        self.times = Beats(
            whole=self.at(2),
            pours=self.at(1, 4),
            refused=self.at(2, 3),
            dissolves=self.at(3),
            tiles=tuple(self.at(4) + k for k in range(8)),
        )
        example = Example.seeded()
        self.fast, self.last = self.fastest(), self.at(6)
        self.wall: Wall = self.prop(Wall(self.times, example))
        # Bars 4 and 5: a tile of keys and values lands on every beat, the first on "stream"; then the output is written.
        self.stream: KeyStream = KeyStream(self.times.tiles, self.last, GOAL, att.HERO - att.BAND, example)
        size = Track(0.4).to(0.7, self.at(4), 1.5)
        self.prop(Scenery(self.light), Dram(self.times), self.stream, Cube(self.stream.seat, size, emission=0.8))
        self.name_things()

        # Bars 3 to 5: what the square moves through DRAM, then what the tiles move; bar 6: how long, and how much memory.
        self.piles = [self.pile("unfused", self.at(3)), self.pile(self.fast or "fused", self.at(5))]
        self.prop(*self.piles)
        self.race: Race | None = None
        self.say_the_square()
        if self.fast is None:
            shown = window(self.at(3), self.clock.beats + 9.0)
            self.text(Text("attention not measured", LABEL, LEFT, 262, opacity=shown))
            self.text(Text(f"on {self.data.device.name}", LABEL, LEFT, 312, opacity=shown))
        else:
            self.race = self.prop(Race(self.last, SLOWER, cache(self.shares)))
            self.say_the_bytes()
            self.say_the_gain(self.fast)
        self.camera_at = self.fly()
        self.finish()

    # ---- the record -------------------------------------------------------------------------------------------------------

    def key(self, rung: str, what: str) -> str:
        return f"ladders.attention.rungs.{rung}.{what}"

    def value(self, key: str) -> float:
        return self.read(key).quantity.value

    def fastest(self) -> str | None:
        """The rung that was measured last, each being faster than the one before; None without one or without the unfused."""
        owned = self.data.ladder("attention")
        names = [rung.name for rung in owned.value.rungs] if owned else []
        known = [name for name in names if name != "unfused" and self.data.has(self.key(name, "figures.speedup"))]
        return known[-1] if known and "unfused" in names else None

    def side(self) -> str:
        """Queries of a head, as the ladder's problem has them: 'batch x heads, queries x values'."""
        owned = self.data.ladder("attention")
        return owned.value.problem.rpartition(",")[2].split("x")[0].strip() if owned else ""

    def shares(self) -> tuple[float, float]:
        """Times of both over the longer one."""
        both = [self.value(self.key(name, "time")) for name in ("unfused", self.fast or "")]
        return both[0] / max(both), both[1] / max(both)

    def pile(self, rung: str, lands: float) -> Pile:
        """The bytes that a rung moved through DRAM, on the scale of the unfused ones."""
        keys = [self.key(name, "traffic.dram") for name in (rung, "unfused")]
        known = self.fast is not None and all(self.data.has(key) for key in keys)
        mine, most = (cache(partial(self.value, key)) for key in keys)
        rise = Track(0.0).to(1.0, lands + 1.0, 1.5, overshoot).to(0.0, self.last + 0.25, 0.75)
        return Pile(PILES[rung != "unfused"], PILE_Y, known, mine, most, rise, lambda beat: 1.0)

    # ---- words --------------------------------------------------------------------------------------------------------------

    def name_things(self) -> None:
        """What lies in DRAM, what streams, what stays."""
        quiet, end = CODE.coloured(mix(QUIET, TEXT, 0.4)), self.clock.beats + 9.0
        stays, dram = window(self.times.tiles[0] - 1.0, end), window(self.at(1, 3), end)
        left, blue = -SIDE / 2 - 0.7, CODE.coloured(mix(MEMORY, TEXT, 0.35))
        signs = [
            (TextPlane.lying("DRAM", blue, (-SIDE / 2 - 0.5, -6.95, 0.1), 0.8, 90.0), dram),
            (TextPlane.lying("K", blue, (left - 0.45, att.K_Y - 0.32, 0.12), 0.9), dram),
            (TextPlane.lying("V", blue, (left - 0.45, att.V_Y - 0.32, 0.12), 0.9), dram),
        ]
        front, back, z = sm.ROW_Y - 2.5, sm.ROW_Y + 2.15, sm.TOP + 0.02
        for words, x, y, style in (
            ("Q", sm.Q_X, front, blue), ("scores", sm.S_X, front, quiet), ("output", sm.O_X, front, quiet),
            ("K", sm.S_X - 2.0, sm.SLOT_Y - 0.3, blue), ("V", sm.O_X - 2.4, sm.SLOT_Y - 0.3, blue),
            ("max", sm.BAR_X + 0.5, back, CODE.coloured(TEXT)), ("sum", sm.BAR_X + 2.1, back, CODE.coloured(COMPUTE)),
        ):  # fmt: skip
            signs.append((TextPlane.lying(words, style, (x, y, z), 0.55, align="centre"), stays))
        signs.append((TextPlane.standing("SM", quiet, (sm.LEFT + 0.4, sm.NEAR - 0.02, 0.35), 0.6), stays))
        raced = window(self.last + 0.25, end)
        if self.fast is not None:
            for words, y in zip(("unfused", "fused"), att.RACE_Y, strict=True):
                signs.append((TextPlane.lying(words, quiet, (left - 0.2, y - 0.3, 0.05), 0.8, align="right"), raced))
        self.prop(Signs(signs))
        for words, x in (("unfused", PILES[0]), ("fused", PILES[1])):
            seen = window(self.at(3) if words == "unfused" else self.at(5), self.last - 0.25)
            self.text(Text(words, SMALL.coloured(TEXT), 0, 46, "centre", seen, (x, PILE_Y - 1.6, 0.0), yields=True))

    def say_the_square(self) -> None:
        """How large the square is, and the memory that it takes."""
        shown, side = window(0.75, self.at(3) - 0.5), self.side()
        if side:
            self.text(Text(f"{side} × {side} scores a head", FACT, LEFT, 250, "left", shown, kind="structure"))
        if self.fast is None or not self.data.has(self.key("unfused", "figures.peak_memory")):
            return

        def peak() -> Sequence[Item]:
            memory = figure(self.read(self.key("unfused", "figures.peak_memory")), 2, "GB", GB)
            grown = Track().to(1.0, self.times.whole, 2.75, smooth)
            return [
                Counter(memory, grown, NUMBER.coloured(MEMORY), LEFT, BIG + 8, "left", shown),
                Text(f"peak memory, unfused, {memory.source}", SMALL, LEFT, FINE + 8, "left", shown),
            ]

        self.text_later(shown, peak)

    def say_the_bytes(self) -> None:
        """Through DRAM: with the square, in bar 3; without it, in bar 5."""
        for rung, begin, end in (("unfused", self.at(3), self.at(4)), (self.fast or "", self.at(5), self.last)):
            if self.data.has(self.key(rung, "traffic.dram")):
                shown = window(begin + 0.6, end - 0.25)
                self.text_later(shown, partial(self.bytes_moved, rung, begin, shown))

    def bytes_moved(self, rung: str, begin: float, shown: Callable[[float], float]) -> Sequence[Item]:
        square = rung == "unfused"
        moved = figure(self.read(self.key(rung, "traffic.dram")), 1 if square else 2, "GB", GB)
        counted = Track().to(1.0, begin + 1.5, 1.0, arrive)
        words = f"through DRAM, {'unfused' if square else 'fused'}"
        return [
            Counter(moved, counted, NUMBER.coloured(MEMORY), RIGHT, BIG, "right", shown),
            Text(words, SMALL, RIGHT, FINE, "right", shown),
            Text(moved.source, SMALL, RIGHT, FINER, "right", shown),
        ]

    def fusing_alone(self, fused: str, shown: Callable[[float], float]) -> Sequence[Item]:
        """What the first fused rung gained, where the fastest one is another: the rest came of other steps."""
        key = self.key("fused", "figures.speedup")
        if fused == "fused" or not self.data.has(key):
            return []
        alone = figure(self.read(key), 1, "×")
        bright = SMALL.coloured(TEXT)
        return [
            Sentence([("fusing alone ", SMALL), (alone, bright), (", then tensor cores", SMALL)], LEFT, FINER, opacity=shown)
        ]

    def say_the_gain(self, fused: str) -> None:
        """Bar 6: time and peak memory."""
        end = self.clock.beats + 9.0
        left, right = window(self.last, end), window(self.last + 1.0, end)

        def faster() -> Sequence[Item]:
            times = figure(self.read(self.key(fused, "figures.speedup")), 1, "×")
            counted = Track().to(1.0, self.last + 1.0, 1.0, arrive)
            return [
                Counter(times, counted, NUMBER.coloured(COMPUTE), LEFT, BIG, "left", left, start=1.0),
                Text(f"faster than unfused, {times.source}", SMALL, LEFT, FINE, "left", left),
                *self.fusing_alone(fused, left),
            ]

        def smaller() -> Sequence[Item]:
            memory = figure(self.read(self.key(fused, "figures.peak_memory")), 2, "GB", GB)
            return [
                Number(memory, NUMBER.coloured(MEMORY), RIGHT, BIG, "right", right),
                Text("peak memory, fused", SMALL, RIGHT, FINE, "right", right),
                Text(memory.source, SMALL, RIGHT, FINER, "right", right),
            ]

        self.text_later(left, faster)
        if self.data.has(self.key(fused, "figures.peak_memory")):
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
            (0, (-3.2, 0.0, 4.4, 15.0, -32, 10)),
            (4, (-3.5, -2.0, 3.3, 18.8, -18, 14)),
            (6, (-3.2, -2.6, 3.0, 19.0, -6, 17)),
            (8, (-3.6, -1.6, 3.1, 20.5, 6, 15)),
            (10.2, (-3.4, -1.0, 2.8, 23.0, 12, 13)),
            (12, (-0.5, -18.0, 1.0, 18.8, 9, 27)),
            (16, (-0.5, -18.2, 1.0, 18.2, -2, 26)),
            (19.4, (-0.6, -18.0, 1.1, 18.4, -9, 25)),
            (20.5, (1.4, -7.0, 2.2, 25.0, -12, 24)),
            (23, (3.2 - 1.4 * floor, -0.9 - 6.5 * floor, 3.1 - floor, 22.0 + 1.5 * floor, -4, 15 + 8 * floor)),
            (24, (3.4 - 1.3 * floor, -0.9 - 6.5 * floor, 3.1 - 1.1 * floor, 21.5 + floor, 0, 15 + 7 * floor)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation, 38.0)

        return camera
