"""Indexing: every thread computes its own number, and the numbers build a staircase; the last block's tail is turned away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scenes.props.cube import Cube
from scenes.props.seats import APPROACH, CUT_LIGHT, REST, Floats, Hall, Plain, Vector, camera_of, light_hall
from scenes.props.signs import Sign, Signs
from scenes.props.tiers import FENCE_HEIGHT, TRAY, UNIT, Tiers
from scenes.stage.keys import Path, Track, arrive, leave, linear, overshoot, ramp, smooth
from scenes.stage.overlay import Run, Text
from scenes.stage.palette import MEMORY, TEXT, THREAD
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import CODE, FACT, LABEL, NUMBER, SMALL, Align
from scenes.stage.world import Ground, World

RIGHT, NOTE, LINE_1, LINE_2 = 1824.0, 88.0, 262.0, 322.0  # places of the code and its note, design pixels
ADVANCE = 0.6 * CODE.size  # of every glyph of the code face
TERMS = (" i ", " = ", "blockIdx.x", " * ", "blockDim.x", " + ", "threadIdx.x")
STORE = 9  # glyphs by which the line that stores is indented, so that it stands in the middle, too
LEFT = 384.0  # so that the formula stands in the middle


class Indexing(Passage):
    """Bars 1 to 6, on the sung words: block times size, your own place, the number; what was stored, who was turned away."""

    name: ClassVar[str] = "indexing"
    title: ClassVar[str] = "EVERY THREAD ITS NUMBER"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 2"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        trace = self.data.index_trace()
        self.hall = hall = Hall.of(self.data)
        self.tiers = tiers = Tiers(hall, trace.value if trace else None, hop=self._hop, heat=self._heat)
        block, thread = hall.block, hall.thread

        # Cut in on the cube; the plain sinks away from the outside in, the blocks' seats stay and are lifted onto slabs.
        self.hud_shown.set(0.0, -1.0).to(1.0, self.at(1, 4), 1.0)
        light = Path([(0.0, CUT_LIGHT), (self.at(2), (44.0, 1.35, 58.0))])
        self.prop(Scenery(lambda world, beat: self._arrange(world, beat, light)))
        self.prop(Plain(hall, self._outside, lambda beat, distance: np.zeros_like(distance)))
        size, place, number = self.at(1, 3), self.at(2, 3), self.at(4)  # moments of the sung words
        tiers.tray.to(1.0, self.at(1, 2), 1.0, overshoot)
        tiers.hover.to(0.75, size, 0.75, overshoot)
        self.prop(tiers)
        self.cube = self.prop(Cube(lambda beat: tiers.foot(beat, block, thread)))

        # "Block": each hops as it gets its number; when they stand as a staircase, the numbers are on their other ends.
        signs: list[Sign] = []
        for b in range(hall.blocks):
            label = f"block {b}" if b == 0 else str(b)
            front = Track(0.0).to(1.0, self.at(1, 1.25 + 1.75 * b / hall.blocks), 0.3, arrive).to(0.0, self.at(2, 1.5), 0.4)
            signs.append((TextPlane.standing(str(b), FACT, (hall.x(0) - 1.3, hall.y(b), 0.1), 0.7, -4.0, "right"), front))
            side = Track(0.0).to(1.0, place + 1.5 * b / hall.blocks, 0.3, arrive).to(0.0, self.at(6, 4), 0.5)
            inward: Align = "right" if b == 0 else "centre"
            self.text(
                Text(
                    label, LABEL, 12.0 * (b == 0), 38.0, inward, side, at=(hall.x(hall.threads - 1) + 0.7, hall.y(b) - 0.3, 0.0)
                )
            )
        self.prop(Signs(signs))
        self._number_the_rows()

        # "Its size": whole blocks count up as layers, a layer an eighth note; the product is the height of a block.
        step = 3.5 / max(hall.blocks - 1, 1)
        for k in range(1, hall.blocks):
            lands = size + k * step
            tiers.layers.to(k, lands, 0.8 * step, arrive)
            if k <= block:
                counted = (
                    Track(0.0).to(1.0, self.at(3) + (k - 1) * 0.5, 0.3, arrive).to(0.0, self.at(5), 0.5)
                )  # seen apart by then
                face = (hall.x(hall.threads - 1) + 0.7, hall.y(block) - 0.3, TRAY + (k - 0.5) * hall.threads * UNIT)
                self.text(Text(str(hall.threads), LABEL.coloured(THREAD), 0.0, 12.0, "centre", counted, at=face))
        if trace is not None:
            tiers.working.to(1.0, place + 0.75, 1.25).to(0.0, self.at(4, 1.75), 0.75)

        # "Your own place": place after place hops and is named; then each row counts: who has its number stops rising.
        for t in range(0, hall.threads, 8):
            named = Track(0.0).to(1.0, place + 1.5 * t / hall.threads, 0.3, arrive).to(0.0, self.at(4, 1), 0.5)
            first = t == 0
            align: Align = "left" if first else "centre"
            at = (hall.x(t), hall.y(0) - 2.6, 0.0)
            self.text(Text("thread 0" if first else str(t), LABEL, -24.0 * first, 26.0, align, named, at=at))
        tiers.counted.to(float(hall.threads), number, 4.0, linear)

        # "Number": it is there; then a row an eighth note stores its values in the output array.
        if trace is not None:
            tiers.cells.to(1.0, self.at(4, 2), 0.75, arrive)
            for b in range(hall.blocks):
                tiers.written.to(b + 1.0, self.at(5, 1 + 4 * b / hall.blocks), 4 / hall.blocks, leave)
            # Then `i < n` turns the tail of the last block away.
            tiers.fence.to(1.0, self.at(6), 0.6, overshoot)

        self._assemble_code(trace.value.n if trace else None)
        self._fly()
        self.finish()

    # ---- the type ---------------------------------------------------------------------------------------------------------

    def _assemble_code(self, n: int | None) -> None:
        """The formula, term by term as the world shows it; the followed thread's numbers under it, each below its term."""
        hall, gone = self.hall, self.at(6, 4.6)
        block, thread = hall.block, hall.thread
        name, size, add = self.at(1), self.at(1, 3), self.at(3)
        enters = (name, name, name, size, size, self.at(2), self.at(2, 3))  # of the terms, each on its sung word
        shown = [Track(0.0).to(1.0, beat, 0.4, arrive) for beat in enters]
        out = Track(1.0).to(0.0, self.at(5), 0.4)
        self.text(Run([(term, CODE, track) for term, track in zip(TERMS, shown, strict=True)], LEFT, LINE_1, out))

        # Whatever is written is true at every moment: no left side before the product is there, then it counts with the place.
        below, own, tiers = Track(1.0).to(0.0, self.at(5), 0.4), CODE.coloured(THREAD), self.tiers

        def number(term: str, text: str | Callable[[float], str], enter: Track) -> None:
            before = "".join(TERMS[: TERMS.index(term)])
            x = LEFT + ADVANCE * (len(before) + len(term) / 2)
            self.text(Text(text, own, x, LINE_2, "centre", lambda beat: enter(beat) * below(beat)))

        def total(beat: float) -> str:
            return str(block * hall.threads + tiers.places(beat, thread)) if tiers.passed(beat, block) else ""

        number("blockIdx.x", str(block), Track(0.0).to(1.0, name, 0.3, arrive))
        for term, text in ((" * ", "*"), ("blockDim.x", str(hall.threads)), (" i ", total)):
            number(term, text, Track(0.0).to(1.0, size, 0.3, arrive))
        number(" = ", lambda beat: "=" if total(beat) else "", Track(0.0).to(1.0, size, 0.3, arrive))
        number("threadIdx.x", lambda beat: str(tiers.places(beat, thread)), Track(0.0).to(1.0, add, 0.3, arrive))
        number(" + ", "+", Track(0.0).to(1.0, add, 0.3, arrive))

        # The number stays with its thread: it is pinned over the cube when the song says "number".
        value = str(int(self.tiers.number[block, thread]))
        pinned = Track(0.0).to(1.0, self.at(4), 0.3, arrive).to(0.0, gone, 0.5)
        self.text(Text(value, NUMBER.coloured(THREAD), 0.0, -18.0, "centre", pinned, at=lambda beat: self.cube.top(beat, 0.3)))

        told = Track(0.0).to(1.0, self.at(1, 1.5), 0.5).to(0.0, gone if n is None else self.at(6), 0.5)
        self.text(Text(self._note(), SMALL, RIGHT, NOTE, "right", told))
        store = Track(0.0).to(1.0, self.at(5, 1.4), 0.4, arrive)
        guard = Track(0.0).to(1.0, self.at(6), 0.4, arrive)
        held = Track(1.0).to(0.0, gone, 0.5)
        parts = [("if (i < n) ", CODE, guard), ("out[i]", CODE.coloured(MEMORY), store), (" = i", CODE, store)]
        self.text(Run(parts, LEFT + ADVANCE * STORE, LINE_1, held))
        if n is None:  # not run: what is stored is a formula, and nobody is seen to be turned away
            return
        if not self.tiers.stored.all():
            self.text(Text("i ≥ n", CODE, 0.0, -40.0, "centre", lambda beat: guard(beat) * held(beat), at=self._over_fence()))
        before = LEFT + ADVANCE * (STORE - 3)  # of the line that stores: under it the thread's own number has the room
        last = Track(0.0).to(1.0, self.at(6, 1.4), 0.4).to(0.0, gone, 0.5)
        threads = f"{hall.blocks} × {hall.threads} = {hall.blocks * hall.threads} threads for {n} numbers"
        self.text(Text(threads, SMALL, RIGHT, NOTE, "right", last))
        self.text(Text(f"n = {n}", CODE, before, LINE_1, "right", lambda beat: guard(beat) * held(beat)))

    def _number_the_rows(self) -> None:
        """ "Every thread finds its number": that of the last thread of each block stands at the end of its row."""
        hall, last = self.hall, self.hall.threads - 1
        for b in range(hall.blocks):
            shown = Track(0.0).to(1.0, self.at(4, 1 + 3.5 * b / hall.blocks), 0.3, arrive).to(0.0, self.at(6), 0.4)

            def end(beat: float, b: int = b) -> Vector:
                x, y, z = self.tiers.foot(beat, b, last)
                return x + 0.5, y, z - self.tiers.hover(beat) + REST

            self.text(Text(str(self.tiers.number[b, last]), SMALL.coloured(TEXT), 0.0, -12.0, "centre", shown, end))

    def _note(self) -> str:
        """The launch's shape, and that it is small; or whose output this is, where it is not the film's own GPU's."""
        trace, gpu, hall = self.data.index_trace(), self.data.device.name, self.hall
        shape = f"{hall.blocks} blocks × {hall.threads} threads, one code"
        if trace is None:
            return f"a small example, not run on {gpu}"
        return f"a small launch: {shape}" if trace.device.name == gpu else f"{shape} · run on {trace.device.name}"

    # ---- motion -----------------------------------------------------------------------------------------------------------

    def _fly(self) -> None:
        mx, my = self.hall.middle
        right = self.hall.x(self.hall.threads - 1)
        keys: list[tuple[float, tuple[float, ...]]] = [*APPROACH]
        keys += [
            (self.at(1, 3.75), (mx - 2.0, my - 1.2, 2.2, 45.0, -6.0, 23.0)),
            (self.at(2), (mx - 1.0, my - 1.2, 2.4, 47.0, 4.0, 20.0)),
            (self.at(2, 3), (mx + 4.2, my - 1.0, 2.8, 51.0, 36.0, 13.5)),
            (self.at(3), (mx + 6.0, my - 0.8, 2.6, 45.4, 58.0, 12.0)),
            (self.at(4), (mx + 7.8, my - 0.8, 3.2, 43.5, 70.0, 11.5)),
            (self.at(5), (mx + 9.5, my - 1.4, 3.6, 38.5, 81.0, 12.0)),
            (self.at(6), (right - 2.0, my - 2.8, 2.9, 28.0, 98.0, 13.0)),
            (self.at(6, 4), (right - 2.0, my - 2.2, 2.9, 26.5, 100.0, 13.0)),
            (self.clock.beats, (right - 6.0, my - 1.0, 3.0, 9.0, 104.0, 14.0)),
        ]
        self.camera_at = camera_of(Path(keys))

    def _over_fence(self) -> Callable[[float], Vector]:
        turned_away = np.flatnonzero(~self.tiers.stored[-1])
        x, y = self.hall.x(float(turned_away.mean())), self.hall.y(self.hall.blocks - 1)
        return lambda beat: (x, y, float(self.tiers.tier(beat)[-1]) + FENCE_HEIGHT)

    def _arrange(self, world: World, beat: float, light: Path) -> None:
        light_hall(world, self._focus(beat), *light(beat))
        there = ramp(beat, 1.0, 3.0)
        world.light = replace(world.light, ambient=0.28 - 0.1 * there, sheen=0.16 - 0.07 * there, bloom=1.0 + 0.5 * there)
        world.ground = replace(world.ground or Ground(), reflect=0.5 + 0.4 * there)

    def _focus(self, beat: float) -> tuple[float, float]:
        share = ramp(beat, 0.0, 4.0, smooth)
        mx, my = self.hall.middle
        return mx * share, my * share

    def _outside(self, beat: float, distance: Floats, inside: NDArray[np.bool_]) -> Floats:
        """The plain beyond the hall sinks from far to near within the first bar; the hall's own seats are its tiers'."""
        edge = 52.0 - 44.0 * ramp(beat, 0.25, 2.75, smooth)
        left = np.clip((edge - distance) / 6.0 + 0.5, 0.0, 1.0) * (1.0 - ramp(beat, 2.0, 1.0, smooth))
        return np.where(inside, 0.0, REST * left)

    def _hop(self, beat: float, blocks: int, threads: int) -> Floats:
        """Block after block on "block", then place after place on "place"."""
        b, t = np.arange(blocks)[:, None], np.arange(threads)[None, :]
        lift = np.zeros((blocks, threads)) + 0.5 * _bump(beat - self.at(1, 1.5) - 1.75 * b / blocks)
        return lift + 0.5 * _bump(beat - self.at(2, 3) - 1.5 * t / threads)

    def _heat(self, beat: float, blocks: int, threads: int) -> Floats:
        """Lit as it hops; a block that has its number glows on for a beat."""
        since = beat - self.at(1, 1.5) - 1.75 * np.arange(blocks)[:, None] / blocks
        glow = np.where(since > 0.0, np.exp(-np.maximum(since, 0.0) / 0.7), 0.0) * (1.0 - ramp(beat, self.at(2), 2.0))
        return np.clip(np.maximum(self._hop(beat, blocks, threads) * 2.2, glow), 0.0, 1.0)


def _bump(beat: Floats) -> Floats:
    """A single smooth bump that peaks at 0 and is half a beat wide to each side."""
    return np.asarray(np.where(np.abs(beat) < 0.5, np.cos(np.pi * np.clip(beat, -0.5, 0.5)) ** 2, 0.0))
