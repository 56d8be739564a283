"""All-reduce: every GPU's buffer is split; chunks go round a ring twice, added up on one lap, shared on the next."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from measure.dataset import Dataset, Owned
from measure.records import AllReduce as Record
from scenes.props.cube import Cube
from scenes.props.journey import Needle
from scenes.props.ring import BOARD, DEEP, EDGE, MODULE, WIDE, Floats, Ring, Steps, spread
from scenes.props.sentence import Sentence
from scenes.props.signs import Sign, Signs
from scenes.props.tied import Tied
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Path, Track, overshoot, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import MEMORY, TEXT
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import FACT, LABEL, NUMBER, SMALL, Align
from scenes.stage.world import Fog, Ground, Light, World

LEFT, RIGHT = 96, 1824
LINE_1, LINE_2, LINE_3 = 268, 318, 366  # baselines of a phase's name and of what explains it
BIG, FINE, FINER = 300, 352, 398  # baselines of a number and of the lines under it
OUTLINED = 4  # GPUs of a ring that nobody measured
SENT = "each GPU sends 2(N − 1)/N of its buffer"  # that over the time is bus bandwidth (nccl-tests, doc/PERFORMANCE.md)


class AllReduce(Passage):
    """Split it, then sum it up."""

    name: ClassVar[str] = "all-reduce"
    title: ClassVar[str] = "ALL-REDUCE"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 10"
    bars: ClassVar[int] = 6
    parts: ClassVar[tuple[int, float]] = (1, 3.0)  # the word on which the buffers part
    send: ClassVar[tuple[int, float]] = (1, 4.0)  # the first chunks leave
    summed: ClassVar[tuple[int, float]] = (3, 3.0)  # by then every chunk is added up somewhere
    found: ClassVar[tuple[int, float]] = (4, 3.0)  # the word on which every GPU has the total
    count: ClassVar[tuple[int, float]] = (5, 3.5)  # from here on, one GPU after another shows its copy of the sum
    hush: ClassVar[tuple[int, float]] = (6, 3.0)  # the music stops, on the last of them

    def construct(self) -> None:
        # Set up as many GPUs as the record's server has; without a record one of ours, and others in outline.
        owned = self.data.all_reduce()
        steps, real = self._steps(owned), None if owned else 1
        split = Track(0.0).to(1.0, self.at(*self.parts), 0.3, overshoot)
        begin, count, hush = self.at(*self.found) + 0.5, self.at(*self.count), self.at(*self.hush)
        stream = Track(0.0).to(1.0 if owned else 0.7, begin + 0.5, 0.5).to(0.25, count + 0.25, 0.5).to(0.0, hush + 0.5, 0.75)
        device, counts = owned.device if owned else self.data.device, spread(steps.ranks, count, hush)
        self.ring: Ring = self.prop(Scenery(self._light), Ring(device, steps, split, stream, self._share, real, counts))
        self.prop(Tied(self.ring))

        # The thread rides on one chunk: once round while it is added up, once more as the sum.
        cube = self.prop(Cube(self.ring.rider, size=self.ring.edge, emission=0.7))
        self.prop(Needle(cube, 0.6, Track(1.0).to(0.0, self.at(6, 3), 1.0)))
        self.prop(Signs(self._ranks()))
        self.camera_at = self._travel(cube)

        # Name both laps and count their steps; then say how fast that is on a real server, and who said so.
        self._name_laps(steps, 0.0 if owned else 120.0)
        if owned:
            self._introduce()
            self._say_bandwidth(owned, begin, count)
            self._count(count, hush + 1.25)
        else:
            shown = Track(0.0).to(1.0, self.at(1, 3), 0.5).to(0.0, hush + 0.75, 0.5)
            self.text(Text("all-reduce not measured", FACT, LEFT, LINE_1, opacity=shown))
            self.text(Text(f"on {self.data.device.name}", LABEL, LEFT, LINE_2, opacity=shown))
            self.text(Text(SENT, SMALL.coloured(TEXT), LEFT, LINE_1 + 120, opacity=window(begin, count, 0.4)))
            held = window(count, hush + 0.75, 0.4)
            self.text(Text("each GPU would hold the same sum", SMALL.coloured(TEXT), LEFT, LINE_1 + 120, opacity=held))
        self.finish()

    def footer(self, owner: Dataset | Owned[Any] | None = None) -> str:
        """The figures are those of the record's server, seldom of the GPU that the film is about."""
        return super().footer(owner or self.data.all_reduce())

    def _steps(self, owned: Owned[Record] | None) -> Steps:
        """Of the record's ring; without one, of a ring that is drawn as an outline."""
        ranks = max(2, int(owned.value.gpus.value)) if owned else OUTLINED
        return Steps.fitted(ranks, self.at(*self.send), self.at(*self.summed), self.at(*self.found))

    # ---- what stands in the world ------------------------------------------------------------------------------------

    def _light(self, world: World, beat: float) -> None:
        rx, ry = self.ring.radii
        world.light = Light(focus=(0.0, -0.1 * ry), radius=1.4 * rx, ambient=0.46)
        world.fog = Fog(start=2.4 * rx + 10.0, end=7.0 * rx + 30.0)
        world.ground = Ground(spacing=2.0, extent=80.0)

    def _ranks(self) -> list[Sign]:
        """A number in front of each GPU that is really there."""
        count = self.ring.ranks if self.ring.real is None else self.ring.real
        shown = Track(0.0).to(1.0, self.at(2, 2.25), 0.75).to(0.0, self.at(6, 3), 1.0)
        signs: list[Sign] = []
        align: Align
        for rank, (x, y) in enumerate(self.ring.centres[:count].tolist()):
            behind = (y + self.ring.radii[1]) / (2.0 * self.ring.radii[1])  # as large from where the ring is seen
            place, align = (x, y - DEEP / 2 - 0.02, BOARD + MODULE + 0.02), "centre"
            if any(abs(x - other) < WIDE and 0.0 < y - ahead < 2 * DEEP for other, ahead in self.ring.centres.tolist()):
                # on the board beside its module: another's buffer stands before it
                out = WIDE / 2 + 0.6
                place, align = (x + math.copysign(out, x), y - DEEP / 2, BOARD + 0.02), ("left" if x > 0 else "right")
            signs.append((TextPlane.standing(f"GPU {rank}", FACT, place, 0.38 + 0.14 * behind, 0.0, align), shown))
        return signs

    def _share(self) -> float | None:
        """How much of a link's rate one way the ring's bus bandwidth is; None where either is unknown."""
        key, link = self._bus_key(), self.data.get("all_reduce.link_one_way")
        bus = self.data.get(key) if key.endswith(".ring") else None  # no other algorithm's is a rate on the wire
        return min(1.0, bus.quantity.value / link.quantity.value) if bus and link and link.quantity.value > 0 else None

    def _bus_key(self) -> str:
        """The ring's bus bandwidth; where no ring was measured, that of the first algorithm that was; '' for none."""
        owned = self.data.all_reduce()
        names = list(owned.value.bus_bandwidth) if owned else []
        return f"all_reduce.bus_bandwidth.{'ring' if 'ring' in names else names[0]}" if names else ""

    def _travel(self, cube: Cube) -> Callable[[float], Camera]:
        """Keys of the camera: where it looks, distance, azimuth and elevation."""
        rx = self.ring.radii[0]
        far = (max(rx, 6.2) + EDGE) / 11.4
        # of an outlined ring the only sign is at the right, behind; more is written over it, and its front is nearer
        aside, turn, lower, back = (-0.3, 1.0, 0.0, 0.0) if self.ring.real is None else (-1.2, -1.0, 0.5, 6.0)
        last, first = cube.centre(self.clock.beats), cube.centre(0.0)
        path = Path([
            (self.at(1), (first[0] * 0.80, first[1] - 0.2, 1.7 - lower, 12.5 + back, 32.0, 10.0)),
            (self.at(1, 4), (first[0] * 0.65, first[1] - 0.3, 1.7 - lower, 13.5 + back, 27.0, 11.0)),
            (self.at(2, 3), (aside, -0.5, 1.4 * far + lower, 28.5 * far, 8.0 * turn, 25.0)),
            (self.at(3, 3), (aside, -0.5, 1.4 * far + lower, 28.0 * far, -4.0 * turn, 25.0)),
            (self.at(4, 3), (aside, -0.4, 1.8 * far + lower, 29.5 * far, -5.0 * turn, 22.0)),
            (self.at(5, 1), (aside, -0.4, 2.1 * far + lower, 29.0 * far, -5.0 * turn, 20.0)),
            (self.at(5, 3), (aside, -0.2, 2.6 * far, 26.0 * far, -4.0 * turn, 20.0)),
            (self.at(6, 2), (aside, -0.2, 2.7 * far, 25.0 * far, 0.0, 19.0)),
            (self.at(6, 3), (last[0] * 0.3, last[1] * 0.3, 2.6 * far, 21.0 * far, 4.0, 16.0)),
            (self.clock.beats, (last[0], last[1], last[2], 8.0, 16.0, 12.0)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation)

        return camera

    # ---- what is written ---------------------------------------------------------------------------------------------

    def _introduce(self) -> None:
        """How many GPUs, and that each has numbers of its own."""
        shown = window(self.at(1, 1.4), self.at(2, 1.4), 0.4)

        def count() -> Sequence[Item]:
            gpus = figure(self.read("all_reduce.gpus"), 0, "GPUs")
            return [
                Number(gpus, NUMBER, LEFT, BIG - 24, "left", shown),
                Text(f"in one server · {gpus.source}", SMALL, LEFT, FINE - 24, "left", shown),
                Text("each has its own numbers, all need their sum", SMALL.coloured(TEXT), LEFT, FINER - 24, "left", shown),
            ]

        self.text_later(shown, count)

    def _name_laps(self, steps: Steps, lower: float) -> None:
        """The two laps by their names, `lower` design pixels under their place; and the step that is under way."""
        n, out = steps.ranks, self.at(*self.found) + 0.25
        turn = float(steps.arrives[n - 2]) + 0.25
        adds, passes = ("add yours, pass it on", "height: GPUs added in, not bytes"), ("each finished a part: pass it on",)
        laps = [("reduce-scatter", adds, self.at(2, 1), turn, steps.arrives[: n - 1]),
                ("all-gather", passes, turn, out, steps.arrives[n - 1 :])]  # fmt: skip
        for title, words, begin, end, arrives in laps:
            shown, named = window(begin, end, 0.4), window(max(begin, self.at(2, 2.5)), end, 0.4)
            self.text(Text(title, FACT, LEFT, LINE_1 + lower, opacity=named))
            for line, y in zip(words, (LINE_2, LINE_3), strict=False):
                self.text(Text(line, SMALL, LEFT, y + lower, opacity=named))
            self.text(Text(f"2(N − 1) for N GPUs{_pace(arrives)}", SMALL, RIGHT, LINE_2 + 16, "right", shown))

        def step(beat: float) -> str:
            done, flying = steps.at(beat)
            return f"step {min(done + (flying > 0.0), 2 * (n - 1)) or 1} of {2 * (n - 1)}"

        shown = window(self.at(2, 1), out, 0.4)
        self.text(Text(step, FACT, RIGHT, LINE_1 + 16, "right", shown, kind="clock"))

    def _say_bandwidth(self, owned: Owned[Record], begin: float, end: float) -> None:
        """Bus bandwidth as nccl-tests defines it, which of a ring is what each GPU sends on; and what a link could carry."""
        key = self._bus_key()
        if not key:
            return
        sent, bright = key.endswith(".ring"), SMALL.coloured(TEXT)
        meaning = SENT if sent else "to compare by: no rate on a wire"
        switched = "nvls" in owned.value.bus_bandwidth  # NVLink SHARP: the switch itself can add up, so there is one
        shown = window(begin, end, 0.4)

        def speed() -> Sequence[Item]:
            bus, name = figure(self.read(key), 0), key.rsplit(".", 1)[-1]
            told = f"{bus.source} {owned.run.date[:10]}" if owned.run else bus.source
            return [
                Number(bus, NUMBER.coloured(MEMORY), LEFT, BIG + 12, "left", shown),
                Text(f"bus bandwidth, {name} · {told}", SMALL, LEFT, FINE + 12, "left", shown),
                Text(meaning, bright, LEFT, FINER + 12, "left", shown),
            ]

        def capacity() -> Sequence[Item]:
            one_way, total = figure(self.read("all_reduce.link_one_way"), 0), self.data.get("all_reduce.link_total")
            half = total is not None and total.quantity.value == 2.0 * one_way.reading.quantity.value
            told = f": half the {total.quantity.source}'s" if total and half else f" · {one_way.source}"
            order = [Text("drawn as a ring, wired through a switch", bright, RIGHT, LINE_3 + 16, "right", shown)]
            return [
                Sentence([("of ", SMALL), (one_way, FACT)], RIGHT, LINE_1 + 16, "right", shown),
                Text(f"its links, one way{told}", SMALL, RIGHT, LINE_2 + 16, "right", shown),
                *(order * switched),
            ]

        self.text_later(shown, speed)
        if sent and self.data.has("all_reduce.link_one_way"):
            self.text_later(shown, capacity)

    def _count(self, begin: float, end: float) -> None:
        """On how many GPUs the same sum has been seen: all of them hold it by now."""
        shown, ring = window(begin, end, 0.4), self.ring

        def several(beat: float) -> bool:
            return ring.counted(beat) > 1

        def gpus() -> Sequence[Item]:
            count = figure(self.read("all_reduce.gpus"), 0, "GPUs")
            return [
                Text(lambda beat: f"{ring.counted(beat)} GPU", NUMBER, LEFT, BIG + 12, "left",
                     lambda beat: 0.0 if several(beat) else shown(beat), kind="clock"),
                Counter(count, lambda beat: ring.counted(beat) / ring.ranks, NUMBER, LEFT, BIG + 12, "left",
                        lambda beat: shown(beat) if several(beat) else 0.0),
                Text(lambda beat: "show the same sum" if several(beat) else "shows its sum", SMALL.coloured(TEXT),
                     LEFT, FINE + 12, "left", shown),
            ]  # fmt: skip

        self.text_later(shown, gpus)


def _pace(arrives: Floats) -> str:
    """How many steps of a lap arrive in a beat, in words; nothing where it is one."""
    beats = float(arrives[1] - arrives[0]) if len(arrives) > 1 else 1.0
    return "" if beats == 1.0 else f", {1.0 / beats:g} a beat" if beats < 1.0 else f", one in {beats:g} beats"
