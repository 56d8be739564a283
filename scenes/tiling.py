"""Tiling: load a tile once, meet at the door, use it many times; then the bytes that it saved, and where it saved none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import ClassVar

import numpy as np

from measure.roofline_model import LEVELS
from scenes.props.cube import Cube, Vector
from scenes.props.piles import DEEP, FRONT, SIZE, Pile
from scenes.props.rungs import LEVEL_NAMES, called, find, problem
from scenes.props.tiles import LOADS, LOADS_SAID, SIDE, THREAD, VALUES, Door, Threads, Tiles, Times, arrivals, names
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Path, Track, arrive, linear, overshoot, ramp, smooth, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import MEMORY, TEXT
from scenes.stage.passage import Passage, Scenery
from scenes.stage.type import LABEL, NUMBER, SMALL, Align
from scenes.stage.world import Fog, Ground, Light, World

LEFT, RIGHT = 96, 1824
BIG, FINE, FINER = 268, 318, 356  # baselines of a number and of what explains it, well over the tiles
RUNGS = ("coalesced", "shared", "tile_1d")
PILES, READ = (20.0, 27.0, 34.0), 3.0  # x of a pile for each rung; beats that the tallest one's bytes are read in
SAME = 0.9  # of the bytes before: no fewer, within what a counter's run varies
HERO = (3, 2)  # row and column of the thread that is followed: of the last warp to come


class Tiling(Passage):
    """A tile is loaded once and used many times."""

    name: ClassVar[str] = "tiling"
    title: ClassVar[str] = "TILING"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 6"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        # Bar 1: both tiles leave DRAM and come down on the SM on "once"; bar 2: the door; the last row comes on "door".
        self.times = Times(
            lift=self.at(1),
            land=(self.at(1, 3), self.at(1, 3.5), self.at(1, 4), self.at(2, 1.75)),
            reach=(self.at(2), self.at(2, 1.5), self.at(2, 2), self.at(2, 3)),
            opens=self.at(2, 3),
            uses=(self.at(3), self.at(3, 3), self.at(4), self.at(4, 3)),
        )
        self.contrast = self.at(5)
        self.prop(Scenery(self.light), Tiles(self.times))
        door, self.threads = Door(self.times, self.at(2)), Threads(self.times, HERO)
        self.prop(door, self.threads, names(self.times, door, self.contrast - 0.5))

        self.say_the_wait()
        self.text(*arrivals(door, (LEFT, BIG, FINE, FINER), window(self.at(2), self.times.uses[0] - 0.75, 0.3)))

        # Bars 3 and 4: four steps, each reads a column of A and a row of B: on "use", "again", "again", "more".
        self.count_the_uses()

        # Bars 5 and 6: one product by three rungs, one a beat; then their bytes are read at one speed: few are done the sooner.
        self.piles = self.pile_up()
        self.prop(*self.piles, Cube(self.thread, THREAD, emission=0.8))
        self.say_the_bytes()
        self.camera_at = self.fly()
        self.finish()

    def lands(self, which: int) -> float:
        """The beat on which a rung's pile stands: one a beat, so that what is said of them stands for a bar."""
        return self.contrast + which

    def thread(self, beat: float) -> Vector:
        """With its threads until bar 5; then from pile to pile."""
        x, y, z = self.threads.seat(beat)
        for which, pile in enumerate(self.piles):
            start = self.lands(which) - 1.0
            if beat <= start:
                break
            u, end = ramp(beat, start, 0.9, smooth), pile.top(beat)
            x, y, z = (a + (b - a) * u for a, b in zip((x, y, z), end, strict=True))
            z += (2.4 if which else 5.0) * float(np.sin(np.pi * u))
        return x, y, z

    # ---- bytes ----------------------------------------------------------------------------------------------------------

    def levels(self) -> list[str]:
        """The level at which the ladder is drawn (L2 where it names none), and the one behind it where there is one."""
        owned = self.data.ladder("gemm_fp32")
        first = LEVELS.index((owned.value.level if owned else None) or "l2") if owned else 0
        return list(LEVELS[first : first + 2])

    def bytes_of(self, rung: str, behind: bool = False) -> str:
        """The key of the bytes that a rung moved at the level, or at the one behind."""
        return f"ladders.gemm_fp32.rungs.{rung}.traffic.{self.levels()[-1 if behind else 0]}"

    def value(self, rung: str, behind: bool = False) -> float:
        return self.read(self.bytes_of(rung, behind)).quantity.value

    def pile_up(self) -> list[Pile]:
        known = [self.known(rung) for rung in RUNGS]
        there = [rung for rung, k in zip(RUNGS, known, strict=True) if k]
        most, read = cache(lambda: max(self.value(rung) for rung in there)), Track(0.0).to(1.0, self.at(6, 3), READ, linear)

        def pile(which: int, rung: str) -> Pile:
            rise = Track(0.0).to(1.0, self.lands(which), 1.2, overshoot)
            dims = self.lands(which + 1) - 0.6 if which + 1 < len(RUNGS) else self.clock.beats + 9.0
            lit = Track(1.0).to(0.25, dims, 0.6)
            behind = cache(partial(self.value, rung, True)) if known[which] and self.brought(rung) else None
            count, share = cache(partial(self.value, rung)), 0.0 if there else LOADS[which] / LOADS[0]
            return Pile(PILES[which], 0.0, known[which], count, most, rise, lit, behind, share, read)

        return [pile(which, rung) for which, rung in enumerate(RUNGS)]

    def known(self, rung: str) -> bool:
        """Whether the measurements have this rung, and its bytes at the level."""
        return find(self.data, rung) is not None and self.data.has(self.bytes_of(rung))

    def brought(self, rung: str) -> bool:
        """Whether they have its bytes at the level behind, too."""
        return len(self.levels()) > 1 and self.data.has(self.bytes_of(rung, True))

    def say_the_bytes(self) -> None:
        """What the piles are; over each that is known its bytes; under each its rung and what it changed."""
        end, known = self.clock.beats + 9.0, [which for which, pile in enumerate(self.piles) if pile.known]
        shown = window(self.contrast - 0.2, end, 0.3)
        if known:
            self.text_later(shown, lambda: self.legend(RUNGS[known[0]], shown))
        else:
            self.text(Text(f"bytes not measured on {self.data.device.name}", LABEL, LEFT, 262, opacity=shown))
            self.text(Text("outlines: loads counted for the tiles drawn", SMALL, LEFT, 310, opacity=shown))
        for which, name in enumerate(RUNGS):
            seen = window(max(self.lands(which), self.contrast + 1.75) - 0.25, end, 0.4)  # once its line has been sung
            self.text_later(seen, partial(self.name_pile, which, name, seen))
        for which in known:
            now = window(self.lands(which) - 0.25, end, 0.3)
            self.text_later(now, partial(self.weigh, which, known[0], now))

    def legend(self, rung: str, shown: Callable[[float], float]) -> Sequence[Item]:
        near, *far = (LEVEL_NAMES.get(level, level) for level in self.levels())
        lines = ["bytes moved for the same A × B", f"pile: through {'the ' * near.startswith('SM')}{near}"]
        lines += [f"plate before it: from {far[0]}"] if self.brought(rung) else []
        lines += [f"{self.read(self.bytes_of(rung)).quantity.source} · {problem(self.data)}"]
        rows = zip(lines, (LABEL.coloured(TEXT), SMALL, SMALL, SMALL), strict=False)
        return [Text(line, style, RIGHT, BIG - 8 + 38 * k, "right", shown) for k, (line, style) in enumerate(rows)]

    def weigh(self, which: int, first: int, now: Callable[[float], float]) -> Sequence[Item]:
        """A pile's bytes over it, counting on from those of the first."""
        moved, pile = self.read(self.bytes_of(RUNGS[which])), self.piles[which]
        counted = Track(0.0).to(1.0, self.lands(which) + 0.25, 0.9, arrive)
        start = self.value(RUNGS[first]) * 1e-9 if which != first else 0.0
        value = figure(moved, 0 if moved.quantity.value > 1e11 else 1, "GB", 1e-9)
        at = (pile.x, 0.0, pile.full() + THREAD + 0.3)  # over the thread on it
        return [Counter(value, counted, NUMBER.coloured(MEMORY), 0, 0, "centre", now, start, at)]

    def name_pile(self, which: int, name: str, seen: Callable[[float], float]) -> Sequence[Item]:
        rung, at = find(self.data, name), (PILES[which], -SIZE[1] / 2 - FRONT - DEEP, 0.0)
        lines = [called(rung, name) + ("" if rung else ": not measured"), *self.what_it_did(which)]
        style = (SMALL.coloured(TEXT), SMALL, SMALL)
        return [Text(line, style[k], 0, 48 + 40 * k, "centre", seen, at) for k, line in enumerate(lines)]

    def what_it_did(self, which: int) -> Sequence[str]:
        """In words, beside the first that is known: whether fewer bytes came from the level behind, and who had kept them."""
        known = [k for k, pile in enumerate(self.piles) if pile.known]
        if not known:
            return LOADS_SAID[which]
        if which not in known[1:]:
            return ()
        behind = self.brought(RUNGS[which]) and self.brought(RUNGS[known[0]])
        near, far = (*self.levels(), "")[:2]
        fewer = self.value(RUNGS[which], behind) < SAME * self.value(RUNGS[known[0]], behind)
        level = far if behind else near
        said = f"{'fewer' if fewer else 'no fewer'} from {LEVEL_NAMES.get(level, level)}"
        kept = "L1" if near == "load_path" else LEVEL_NAMES.get(near, near)  # what lies between the two levels
        return (said,) if fewer or not behind else (f"{said}:", f"{kept} had kept them")

    # ---- words ----------------------------------------------------------------------------------------------------------

    def say_the_wait(self) -> None:
        """How long a load from DRAM takes while the tile is under way; how long one from shared memory while it is used."""
        first = window(self.at(1) + 0.5, self.at(2) - 0.25)
        second = window(self.times.uses[0] - 0.25, self.contrast - 1.0)
        if not self.data.has("latencies.dram") and not self.data.has("latencies.shared"):
            self.text(Text(f"latencies not measured on {self.data.device.name}", LABEL, LEFT, 262, opacity=first))
            return
        if self.data.has("latencies.dram.cycles"):
            self.text_later(first, lambda: self.latency("dram", "DRAM", LEFT, "left", first))
        if self.data.has("latencies.shared.cycles"):
            self.text_later(second, lambda: self.latency("shared", "shared-memory", RIGHT, "right", second))

    def latency(self, level: str, name: str, x: float, align: Align, shown: Callable[[float], float]) -> Sequence[Item]:
        cycles = figure(self.read(f"latencies.{level}.cycles"), 0)
        return [
            Number(cycles, NUMBER.sized(64), x, BIG, align, shown),
            Text(f"a {name} load", SMALL, x, FINE, align, shown),
            Text(cycles.source, SMALL, x, FINER, align, shown),
        ]

    def count_the_uses(self) -> None:
        """Reads of the values that were loaded once, more with each step; then how large the measured kernel's tiles are."""
        shown = window(self.times.uses[0] - 0.25, self.contrast - 1.0, 0.3)

        def read(beat: float) -> str:
            return f"{self.times.reads(beat + 0.02)} reads"

        hop = [Track(0.0).to(1.0, use, 0.05).to(0.0, use + 0.4, 0.35) for use in self.times.uses]

        def line(beat: float) -> float:
            return BIG - 14.0 * sum(up(beat) for up in hop)

        self.text(Text(read, NUMBER.coloured(MEMORY), LEFT, line, "left", shown, kind="clock"))
        self.text(Text(f"of {VALUES} values loaded once", SMALL, LEFT, FINE, "left", shown))
        late = window(self.times.uses[1] - 0.25, self.contrast - 1.0)
        self.text_later(late, lambda: self.true_size(late))

    def true_size(self, shown: Callable[[float], float]) -> Sequence[Item]:
        """The drawn tile is smaller than that of the measured kernel, which its build says."""
        rung = find(self.data, "shared")
        options = rung.builds[0].options if rung and rung.builds else ()
        tile = next((int(option.split("=")[1]) for option in options if option.startswith("-DTILE=")), None)
        kernel = f"; kernel: {tile} × {tile}" if tile else ""
        return [Text(f"drawn {SIDE} × {SIDE}{kernel}", SMALL, LEFT, FINER, "left", shown)]

    def light(self, world: World, beat: float) -> None:
        x = 27.0 * ramp(beat, self.contrast - 1.5, 1.5)
        world.light = Light(focus=(x, 3.0 - 3.0 * ramp(beat, 0.0, 4.0)), radius=19.0, ambient=0.36)
        world.fog = Fog(start=34.0, end=95.0)
        world.ground = Ground(spacing=2.6, extent=90.0)

    def fly(self) -> Callable[[float], Camera]:
        """With the tiles from DRAM to the SM, face to face with the door, over the tiles in use, and along the piles."""
        path = Path([
            (0, (0.6, 4.0, 2.2, 31.0, 18, 17)),
            (2, (0.0, 0.5, 2.4, 26.5, 10, 16)),
            (4, (0.0, -4.0, 4.4, 21.0, 4, 12)),
            (6, (0.4, -4.0, 4.3, 19.8, 10, 13)),
            (8, (0.9, 0.7, 2.0, 19.8, -12, 29)),
            (12, (1.15, 0.4, 2.0, 19.4, 0, 29)),
            (15, (1.3, 0.2, 2.1, 18.9, 10, 27)),
            (16.3, (25.6, 0.0, 3.1, 28.5, 16, 9)),
            (18, (27.2, 0.0, 3.1, 27.8, 7, 8)),
            (22.5, (27.2, 0.0, 3.1, 26.2, -5, 8)),
            (24, (30.0, 0.0, 3.0, 17.0, -14, 9)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation, 36.0)

        return camera
