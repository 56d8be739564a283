"""Cores: a CPU has a few big ones, a GPU many small ones; the chip is drawn from the device record, lane by lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np

from scenes.props.chip import SM_IDLE, SM_SIZE, Chip, far_off
from scenes.props.cpu import FLOOR, SUNK, Cpu
from scenes.props.cube import Cube, Vector
from scenes.props.feed import stream
from scenes.props.journey import Journey, Needle
from scenes.props.lanes import TALL, Floats, Lanes, Share
from scenes.props.seats import APPROACH, CUT_LIGHT, SEAT, light_hall
from scenes.props.sentence import Sentence
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Path, Track, arrive, overshoot, ramp
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.passage import Passage, Scenery
from scenes.stage.type import FACT, LABEL, NUMBER, SMALL, Align
from scenes.stage.world import Ground, World

LEFT, RIGHT, BIG, FINE = 96, 1824, 300, 356  # places of the figures, design pixels
APART = 13.0  # from the board to the middle of the CPU, world units
OURS = 2  # the core that the thread stands on: in front, right of the middle
GUEST, CELL = 0.3, 0.62  # edge of the thread on its SM, world units; in its cell, as a share of the lanes' pitch
HOP = 4.5  # by how many times their height lanes rise with the ring
FACTORS = (("sm_count", "SMs"), ("fp32_lanes_per_sm", "lanes"))  # of all lanes of the GPU
READ = "says the driver"  # of an attribute: nobody measured it


class Cores(Passage):
    """Bars 1 and 2: eight towers.  Bars 3 and 4: the board, its SMs, all their lanes.  Bar 5: memory.  Bar 6: into one cell."""

    name: ClassVar[str] = "cores"
    title: ClassVar[str] = "A FEW BIG, MANY SMALL"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 2"
    bars: ClassVar[int] = 6

    def construct(self) -> None:
        # A CPU on the left, the board of the measured GPU to its right, on one floor.
        self.leaps, self.lands, self.many = self.at(2, 3.5), self.at(3), self.at(3, 3)
        self.chip = chip = Chip(self.data.device)
        sms = chip.plan.sms
        self.home = (
            int(np.argmin(np.hypot(sms[:, 0] - 0.25 * chip.plan.die.x1, sms[:, 1] - 0.6 * chip.plan.die.y0))) if len(sms) else 0
        )
        self.far = far_off(chip.reach)  # of the camera, by the chip's size
        self.cpu = Cpu((chip.plan.board.x0 - APART, 0.0), OURS)
        self.lanes, self.share = self._lanes(), None  # type: Lanes | None, Share | None
        self.compared = Track(0.0).to(1.0, self.at(4) + 0.25, 0.25).to(0.0, self.at(5), 0.4)
        self.framed = Track(0.0).to(1.0, self.at(4, 2), 0.4).to(0.0, self.at(5), 0.4)
        self.prop(Scenery(self._light), self.cpu, chip)

        # Eight towers rise, one an eighth note, ours first; on the third bar the thread leaps over to the chip.
        self.hud_shown.set(0.0, -1.0).to(1.0, self.at(1, 4), 1.0)
        self.way = way = self._journey()
        cube = self.prop(Cube(way.place, way.edge, stretch=way.stretch))
        self.prop(Needle(cube, 0.9 * self.far, Track(0.0).to(1.0, self.lands + 0.4, 0.4).to(0.0, self.at(6, 2), 0.8)))
        named = Track(0.0).to(1.0, self.lands + 0.5, 0.4).to(0.0, self.at(4) + 0.3, 0.3).to(1.0, self.at(5) + 0.4, 0.3)
        named.to(0.0, self.at(6), 0.3)
        self.text(Text("our thread", LABEL, 0, -14, "centre", named, at=lambda beat: cube.top(beat, 0.93 * self.far)))

        # "Many": out of each SM come its lanes, from the thread outwards; then all work, and memory feeds them on the beat.
        if self.lanes is not None:
            self.share = Share(self.lanes, self.cpu.count * self.cpu.lanes, 0.45 * self.far, self.framed)
            self.prop(self.lanes, self.share)
        memory = stream(chip, self.at(4, 3), self.at(6, 4))
        if memory is not None:
            self.prop(memory)
        self.camera_at = self._fly()

        # What is drawn and counted, and where it comes from.
        self._cpu()
        self._count()
        self._facts()
        inside = Track(0.0).to(1.0, self.at(6, 2.3), 0.3, arrive).to(0.0, self.clock.beats - 0.1, 0.3)
        if self.lanes is not None:
            self.text(Text("in one lane", FACT, 0, -24, "centre", inside, at=cube.top))
        self.finish()

    # ---- the thousands ----------------------------------------------------------------------------------------------------

    def _lanes(self) -> Lanes | None:
        """As many lanes as the record gives an SM; None where it does not say."""
        each = self.data.device.fp32_lanes_per_sm
        if each is None or not len(self.chip.plan.sms):
            return None
        number, home = int(each.value), self.home
        lanes = Lanes(self.chip, number, (home, 0), self._up, self._heat, lambda beat: beat > self.at(6, 1.4))
        lanes.hero = (home, lanes.rows // 3 * lanes.columns + lanes.columns // 2)
        return lanes

    def _far(self) -> Floats:
        """Distance of each SM from the thread's, as a share of the farthest, (N,)."""
        sms = self.chip.plan.sms
        far = np.hypot(*(sms - sms[self.home]).T)
        return np.asarray(far / max(far.max(), 1e-6))

    def _up(self, beat: float) -> Floats:
        """The lanes come up in a wave of a bar from the thread outwards; the first on the word."""
        since = (beat - self.many + 0.4 - 1.6 * self._far()) / 0.5
        risen: Floats = overshoot(np.clip(since, 0.0, 1.0))  # type: ignore[arg-type, assignment]  # a polynomial takes arrays
        return np.asarray(risen * (since > 0.0) * (1.0 + HOP * self._ring(beat)))

    def _ring(self, beat: float) -> Floats:
        """A ring that leaves the thread on each beat, from the fourth bar on until the camera comes near: 0..1 on each SM."""
        on = ramp(beat, self.at(4) - 0.5, 0.5) * (1.0 - ramp(beat, self.at(6) - 0.2, 0.9))
        away = self._far() + 0.05 - 1.25 * np.array([[beat % 1.0], [beat % 1.0 - 1.0]])  # from this beat's and the next one's
        ring = np.exp(-((away / 0.16) ** 2)).max(axis=0)
        return np.asarray(on * np.where(ring > 0.02, ring, 0.0))

    def _heat(self, beat: float) -> Floats:
        """From the fourth bar on all lanes work, most where the ring runs through them, until the camera comes near."""
        on = ramp(beat, self.at(4) - 0.5, 1.0) * (1.0 - ramp(beat, self.at(6, 1.5), 1.75))
        return np.asarray(on * (0.5 + 0.5 * self._ring(beat)))

    # ---- the thread -------------------------------------------------------------------------------------------------------

    def _journey(self) -> Journey:
        """From its tower to its SM and into one cell; where no lanes are known it stays upon the tile."""
        tile = self._tile()
        cell, last = (tile, GUEST) if self.lanes is None else (self.lanes.cell(), CELL * self.lanes.pitch[0])

        def tower(beat: float) -> Vector:
            x, y = self.cpu.middles()[OURS].tolist()
            return x, y, float(self.cpu.roof(beat)[OURS])

        edges = (SEAT, GUEST, last)
        return Journey(tower, lambda beat: (*tile, self._floor(beat)), cell, self.leaps, self.lands, self.at(6, 2), edges)

    def _tile(self) -> tuple[float, float]:
        """Middle of the thread's SM; of the die where no SM is drawn."""
        sms = self.chip.plan.sms
        x, y = (sms[self.home] + np.array(SM_SIZE) / 2).tolist() if len(sms) else (0.0, 0.0)
        return x, y

    def _floor(self, beat: float) -> float:
        """Height of what the thread stands on, on the chip."""
        lanes = 0.0 if self.lanes is None else float(self.lanes.height(beat)[self.home])
        return self.chip.floor + (SM_IDLE if len(self.chip.plan.sms) else 0.0) + lanes

    # ---- the picture ------------------------------------------------------------------------------------------------------

    def _light(self, world: World, beat: float) -> None:
        (x, y, _), there = self.way.place(beat), ramp(beat, 1.0, 3.0)
        radius = Track(CUT_LIGHT[0]).to(15.0, self.at(2), 3.0).to(13.0, self.at(3), 1.5).to(6.0, self.clock.beats, 4.0)
        over, back = ramp(beat, self.leaps, self.lands - self.leaps), ramp(beat, self.at(5, 3), 4.0)
        cpu_x = x + (self.cpu.centre[0] - x) * there if beat < self.leaps else self.cpu.centre[0]
        focus = (cpu_x * (1.0 - over) + x * back * over, y * (1.0 - there) + y * back * over)
        level = Track(CUT_LIGHT[1]).to(1.15, self.at(2), 3.0).to(CUT_LIGHT[1], self.clock.beats, 3.5)
        light_hall(world, focus, radius(beat), level(beat), CUT_LIGHT[2] + 12.0 * there)
        world.light = replace(world.light, ambient=0.28 - 0.1 * there, sheen=0.16 - 0.1 * there, bloom=1.0 + 0.5 * there)
        world.ground = replace(world.ground or Ground(), reflect=0.5 + 0.5 * there if beat < self.lands else 0.0)

    def _fly(self) -> Callable[[float], Camera]:
        """In on the thread as the title left it, back over the towers, across to the board, round it, down into the cell."""
        start = (*self.cpu.middles()[OURS].tolist(), FLOOR + SUNK)
        (sx, sy), (cx, cy), far, cpu = self._tile(), self.way.cell, self.far, self.cpu.centre[0]
        foot, last = self.chip.floor + (SM_IDLE + TALL if self.lanes else SM_IDLE), 0.62 if self.lanes else 2.4
        keys = [(beat, np.array(vector) + np.array([*start, 0.0, 0.0, 0.0])) for beat, vector in APPROACH[:2]]
        keys += [
            (self.at(1, 3), np.array([cpu - 1.4, 0.0, 3.9, 20.5, -6.0, 25.0])),
            (self.at(2), np.array([cpu - 2.0, 0.0, 3.0, 25.0, 14.0, 12.0])),
            (self.at(2, 3), np.array([cpu - 1.8, 0.0, 3.0, 23.5, 24.0, 9.5])),
            (self.at(3), np.array([-0.8, 0.5, 0.9, 22.0 * far, -14.0, 21.0])),
            (self.many, np.array([sx * 0.8, sy * 0.6, 1.5, 12.0 * far**0.5, -10.0, 27.0])),
            (self.at(4), np.array([0.0, 0.3, 1.0, 17.5 * far, 2.0, 27.0])),
            (self.at(5), np.array([1.0, 0.3, 1.1, 16.5 * far, 24.0, 19.0])),
            (self.at(5, 3), np.array([1.6, 0.2, 1.1, 15.5 * far, 33.0, 18.0])),
            (self.at(6), np.array([sx * 0.7, sy * 0.5, 1.1, 13.5 * far, 31.0, 20.0])),
            (self.at(6, 2), np.array([cx, cy, foot, 3.4, 20.0, 25.0])),
            (self.clock.beats, np.array([cx, cy, foot, last, 12.0, 24.0])),
        ]
        path = Path([(beat, vector.tolist()) for beat, vector in keys])

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            follow = 1.0 - ramp(beat, 0.5, 1.5)  # it rises with the thread's tower
            z += (float(self.cpu.roof(beat)[OURS]) + APPROACH[1][1][2] - z) * follow if beat >= 0.0 else 0.0
            return Camera.orbit((x, y, z), distance, azimuth, elevation, near=0.02)

        return camera

    # ---- what is written --------------------------------------------------------------------------------------------------

    def _fact(self, key: str, of: str, words: str, x: float, shown: Track, unit: str, scale: float = 1, then: str = "") -> None:
        """A figure with its words (`then`, where a datasheet has it) and source, read when first seen; or that it has none."""
        align: Align = "left" if x == LEFT else "right"

        def make() -> list[Item]:
            shot = figure(self.read(key), 0, unit, scale)
            said = {"measured": f"{words}, {READ}", "datasheet": f"{then or words}, datasheet"}
            fine = said.get(shot.source, f"{words}, {shot.source}")
            return [Number(shot, NUMBER, x, BIG, align, shown), Text(fine, SMALL, x, FINE, align, shown)]

        none = Text(f"{of} not known", SMALL, x, FINE, align, shown)
        self.text_later(shown, make if self.data.has(key) else lambda: [none])

    def _cpu(self) -> None:
        """Its cores; from the second bar on its lanes, counted core by core; they are seen again beside the GPU's."""
        cpu, first = self.cpu, Track(0.0).to(1.0, self.at(1, 3), 0.4, arrive).to(0.0, self.at(2), 0.25)
        self.text(Text(f"{cpu.count} cores", NUMBER, LEFT, BIG, opacity=first))
        self.text(Text("a desktop CPU, drawn as an example", SMALL, LEFT, FINE, opacity=first))

        def counted(beat: float) -> str:
            return f"{cpu.lanes * min(cpu.count, 1 + int(max(beat - self.at(2), 0.0) * 8.0))} lanes"

        second = Track(0.0).to(1.0, self.at(2) + 0.25, 0.25).to(0.0, self.leaps, 0.4)
        self.text(Text(counted, NUMBER, LEFT, BIG, opacity=second))
        self.text(Text(f"{cpu.count} cores × {cpu.lanes} fp32 multiply-adds a cycle", SMALL, LEFT, FINE, opacity=second))

    def _count(self) -> None:
        """SMs; all their lanes, counted as they come up; and beside them those of the CPU."""
        first = Track(0.0).to(1.0, self.lands + 0.3, 0.3, arrive).to(0.0, self.at(4), 0.3)
        self._fact("device.sm_count", "number of SMs", "streaming multiprocessors", LEFT, first, "SMs")
        if not self.data.has("derived.fp32_lanes"):
            other = Track(0.0).to(1.0, self.at(4) + 0.2, 0.25, arrive).to(0.0, self.at(5), 0.4)
            self._fact("device.fp32_lanes_per_sm", "lanes of an SM", "on every SM", LEFT, other, "lanes")
            return
        shown = Track(0.0).to(1.0, self.many, 0.2, arrive).to(0.0, self.at(5), 0.4)

        def whole() -> list[Item]:
            shot = figure(self.read("derived.fp32_lanes"), 0, "lanes")
            counted = Counter(shot, lambda beat: ramp(beat, self.many, 2.0), NUMBER, RIGHT, BIG, "right", shown)
            sms, each = (figure(self.read(f"device.{key}"), 0, unit) for key, unit in FACTORS)
            of = [*((part, SMALL) for part in ("GPU: ", sms, " × ", each, f", {shot.source}"))]
            return [counted, Sentence(of, RIGHT, FINE, "right", shown)]

        self.text_later(shown, whole)
        cpu, lanes = self.cpu, self.cpu.count * self.cpu.lanes
        self.text(Text(f"{lanes} lanes", NUMBER, LEFT, BIG, opacity=self.compared))
        self.text(Text(f"CPU: {cpu.count} cores × {cpu.lanes} lanes, an example", SMALL, LEFT, FINE, opacity=self.compared))
        if self.share is not None and len(self.share.sms):
            self.text(Text("as many lanes as the CPU", LABEL, 0, -12, "centre", self.framed, at=self.share.tip))

    def _facts(self) -> None:
        """Memory on the left, the clock on the right."""
        shown = Track(0.0).to(1.0, self.at(5) + 0.3, 0.3, arrive).to(0.0, self.at(6, 1.3), 0.4)
        unit = f"GiB {self.data.device.memory.kind or ''}".strip()
        words = f"of memory {'beside the die' if self.chip.plan.stacked else 'on the board'}"
        self._fact("device.memory.size", "memory size", words, LEFT, shown, unit, 2.0**-30)
        self._fact("device.boost_clock", "clock limit", "highest clock allowed", RIGHT, shown, "MHz", then="boost clock")
