"""All-reduce: every GPU's buffer is split; chunks go round a ring twice, added up on one lap, shared on the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from measure.dataset import Dataset, Owned
from measure.records import AllReduce as Record
from scenes.props.cube import Cube
from scenes.props.journey import Needle
from scenes.props.ring import BOARD, DEEP, MODULE, Floats, Ring, Steps
from scenes.props.sentence import Sentence
from scenes.props.signs import Sign, Signs
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.keys import Path, Track, overshoot, window
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.palette import MEMORY, TEXT
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import FACT, LABEL, NUMBER, SMALL
from scenes.stage.world import Fog, Ground, Light, World

LEFT, RIGHT = 96, 1824
LINE_1, LINE_2, LINE_3 = 268, 318, 366  # baselines of a phase's name and of what explains it
BIG, FINE, FINER = 300, 352, 398  # baselines of a number and of the lines under it
OUTLINED = 4  # GPUs of a ring that nobody measured
BEYOND = 2.9  # the board's edge outside of the ring, world units


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
    hush: ClassVar[tuple[int, float]] = (6, 3.0)  # the music stops; so does the traffic

    def construct(self) -> None:
        # Set up as many GPUs as the record's server has; without a record one of ours, and others in outline.
        owned = self.data.all_reduce()
        steps, real = self._steps(owned), None if owned else 1
        split = Track(0.0).to(1.0, self.at(*self.parts), 0.3, overshoot)
        begin, end = self.at(*self.found) + 0.5, self.at(*self.hush)
        stream = Track(0.0).to(1.0 if owned else 0.4, begin + 0.5, 0.5).to(0.0, end + 0.5, 0.75)
        self.ring: Ring = self.prop(
            Scenery(self._light), Ring(owned.device if owned else self.data.device, steps, split, stream, self._share, real)
        )

        # The thread rides on one chunk: once round while it is added up, once more as the sum.
        cube = self.prop(Cube(self.ring.rider, size=self.ring.edge, emission=0.7))
        self.prop(Needle(cube, 0.6, Track(1.0).to(0.0, self.at(6, 3), 1.0)))
        self.prop(Signs(self._ranks()))
        self.camera_at = self._travel(cube)

        # Name both laps and count their steps; then say how fast that is on a real server, and who said so.
        self._name_laps(steps, 0.0 if owned else 120.0)
        if owned:
            self._introduce()
            self._say_bandwidth(owned, begin, end)
        else:
            shown = Track(0.0).to(1.0, self.at(1, 3), 0.5).to(0.0, end, 0.5)
            self.text(Text("all-reduce not measured", FACT, LEFT, LINE_1, opacity=shown))
            self.text(Text(f"on {self.data.device.name}", LABEL, LEFT, LINE_2, opacity=shown))
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
        world.light = Light(focus=(0.0, -0.1 * ry), radius=1.25 * rx, ambient=0.36)
        world.fog = Fog(start=2.4 * rx + 10.0, end=7.0 * rx + 30.0)
        world.ground = Ground(spacing=2.0, extent=80.0)

    def _ranks(self) -> list[Sign]:
        """A number in front of each GPU that is really there."""
        count = self.ring.ranks if self.ring.real is None else self.ring.real
        shown = Track(0.0).to(1.0, self.at(2), 0.75).to(0.0, self.at(6, 3), 1.0)
        signs: list[Sign] = []
        for rank, (x, y) in enumerate(self.ring.centres[:count].tolist()):
            place = (x, y - DEEP / 2 - 0.02, BOARD + MODULE + 0.02)
            behind = (y + self.ring.radii[1]) / (2.0 * self.ring.radii[1])  # as large from where the ring is seen
            signs.append((TextPlane.standing(f"GPU {rank}", FACT, place, 0.38 + 0.14 * behind, 0.0, "centre"), shown))
        return signs

    def _share(self) -> float | None:
        """How much of a link's rate one way the ring's bus bandwidth is; None where either is unknown."""
        key, link = self._bus_key(), self.data.get("all_reduce.link_one_way")
        bus = self.data.get(key) if key else None
        return min(1.0, bus.quantity.value / link.quantity.value) if bus and link and link.quantity.value > 0 else None

    def _bus_key(self) -> str:
        """The ring's bus bandwidth; where no ring was measured, that of the first algorithm that was; '' for none."""
        owned = self.data.all_reduce()
        names = list(owned.value.bus_bandwidth) if owned else []
        return f"all_reduce.bus_bandwidth.{'ring' if 'ring' in names else names[0]}" if names else ""

    def _travel(self, cube: Cube) -> Callable[[float], Camera]:
        """Keys of the camera: where it looks, distance, azimuth and elevation."""
        rx = self.ring.radii[0]
        far = (max(rx, 6.2) + BEYOND) / 11.4
        last, first = cube.centre(self.clock.beats), cube.centre(0.0)
        path = Path([
            (self.at(1), (first[0] * 0.85, first[1] - 0.2, 0.7, 11.0, 32.0, 15.0)),
            (self.at(1, 3), (first[0] * 0.75, first[1] - 0.3, 0.6, 12.0, 28.0, 16.0)),
            (self.at(2, 2), (-0.7, -1.0, 1.3 * far, 27.0 * far, 8.0, 24.0)),
            (self.at(3, 3), (-0.8, -1.0, 1.3 * far, 26.5 * far, -8.0, 24.0)),
            (self.at(4, 3), (-0.8, -1.0, 1.5 * far, 26.0 * far, -14.0, 21.0)),
            (self.at(5, 1), (-0.4, -0.6, 2.1 * far, 25.0 * far, -17.0, 14.0)),
            (self.at(5, 3), (-0.2, -0.4, 2.8 * far, 23.5 * far, -10.0, 13.0)),
            (self.at(6, 2), (-0.2, -0.4, 3.0 * far, 23.0 * far, 10.0, 13.0)),
            (self.at(6, 3), (last[0] * 0.4, last[1] * 0.3, 2.6 * far, 19.5 * far, 13.0, 13.0)),
            (self.clock.beats, (last[0], last[1], last[2], 8.0, 16.0, 12.0)),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation)

        return camera

    # ---- what is written ---------------------------------------------------------------------------------------------

    def _introduce(self) -> None:
        """How many GPUs, and that each has numbers of its own."""
        shown = window(self.at(1, 1.4), self.at(2, 1.7), 0.4)

        def count() -> Sequence[Item]:
            gpus = figure(self.read("all_reduce.gpus"), 0, "GPUs")
            return [
                Number(gpus, NUMBER, LEFT, BIG + 12, "left", shown),
                Text(f"in one server · {gpus.source}", SMALL, LEFT, FINE + 12, "left", shown),
                Text("each has its own numbers, all need their sum", SMALL.coloured(TEXT), LEFT, FINER + 12, "left", shown),
            ]

        self.text_later(shown, count)

    def _name_laps(self, steps: Steps, lower: float) -> None:
        """The two laps by their names, `lower` design pixels under their place; and the step that is under way."""
        n, out = steps.ranks, self.at(*self.found) + 0.75
        turn = float(steps.arrives[n - 2]) + 0.25
        laps = [("reduce-scatter", f"add yours, pass it on{_pace(steps.arrives[: n - 1])}", self.at(2, 2.5), turn),
                ("all-gather", f"pass the sums on{_pace(steps.arrives[n - 1 :])}", turn, out)]  # fmt: skip
        for title, words, begin, end in laps:
            shown = window(begin, end, 0.4)
            self.text(Text(title, FACT, LEFT, LINE_1 + lower, opacity=shown))
            self.text(Text(words, SMALL, LEFT, LINE_2 + lower, opacity=shown))

        def step(beat: float) -> str:
            done, flying = steps.at(beat)
            return f"step {min(done + (flying > 0.0), 2 * (n - 1)) or 1} of {2 * (n - 1)}"

        shown = window(self.at(2, 1), out, 0.4)
        self.text(Text(step, FACT, RIGHT, LINE_1 + 16, "right", shown, kind="clock"))
        self.text(Text("2(N − 1) steps", SMALL, RIGHT, LINE_2 + 16, "right", shown))

    def _say_bandwidth(self, owned: Owned[Record], begin: float, end: float) -> None:
        """Bus bandwidth as nccl-tests defines it, which of a ring is what each GPU sends on; and what a link could carry."""
        key = self._bus_key()
        if not key:
            return
        sent, bright = key.endswith(".ring"), SMALL.coloured(TEXT)
        switched = "nvls" in owned.value.bus_bandwidth  # NVLink SHARP: the switch itself can add up, so there is one
        shown, link = window(begin + 0.5, end - 0.25, 0.5), window(begin + 2.0, end - 0.25, 0.5)

        def speed() -> Sequence[Item]:
            bus, name = figure(self.read(key), 0), key.rsplit(".", 1)[-1]
            told = f"{bus.source} {owned.run.date[:10]}" if owned.run else bus.source
            return [
                Number(bus, NUMBER.coloured(MEMORY), LEFT, BIG + 12, "left", shown),
                Text(f"bus bandwidth, {name} · {told}", SMALL, LEFT, FINE + 12, "left", shown),
                *([Text("what each GPU sends on, all at once", SMALL.coloured(TEXT), LEFT, FINER + 12, "left", link)] * sent),
            ]

        def capacity() -> Sequence[Item]:
            one_way = figure(self.read("all_reduce.link_one_way"), 0)
            return [
                Sentence([("of ", SMALL), (one_way, FACT)], RIGHT, LINE_1 + 16, "right", link),
                Text(f"a GPU's links, one way · {one_way.source}", SMALL, RIGHT, LINE_2 + 16, "right", link),
                *(
                    [Text("the ring is the order; wires meet in a switch", bright, RIGHT, LINE_3 + 16, "right", link)]
                    * switched
                ),
            ]

        self.text_later(shown, speed)
        if self.data.has("all_reduce.link_one_way"):
            self.text_later(link, capacity)


def _pace(arrives: Floats) -> str:
    """How many steps of a lap arrive in a beat, in words; nothing where it is one."""
    beats = float(arrives[1] - arrives[0]) if len(arrives) > 1 else 1.0
    return "" if beats == 1.0 else f": {1.0 / beats:g} steps a beat" if beats < 1.0 else f": a step in {beats:g} beats"
