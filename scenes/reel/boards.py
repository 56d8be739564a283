"""Boards: one drawing of a board and its chip, three device records: counts, memory and its kind come from the record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from measure.dataset import Dataset
from measure.records import Device, Memory, Quantity
from scenes.props.chip import Chip
from scenes.reel.element import RIGHT, Element
from scenes.reel.order import OTHER_GPU
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Track, arrive, smooth
from scenes.stage.layout import Label, Labels
from scenes.stage.palette import MEMORY, QUIET, TEXT
from scenes.stage.passage import Scenery
from scenes.stage.type import FACT, NUMBER, SMALL
from scenes.stage.world import Fog, Ground, Light, World

Floats = NDArray[np.float64]
GAP = 1.6  # world units between two boards
SMALL_GPU = Device(
    "a small GPU", "small", sm_count=Quantity(6.0, "", "estimated"), l2_size=Quantity(1.0, "B", "estimated"),
    memory=Memory("LPDDR5", 2),
)  # fmt: skip
"""No product: a record with little in it, to be drawn like any other. None of its figures is shown."""


@dataclass(slots=True)
class Standing:
    """A chip on its board, moved to where it stands in a row."""

    chip: Chip
    x: float

    def draw(self, world: World, beat: float) -> None:
        alone = World()
        self.chip.draw(alone, beat)
        by = np.array([self.x, 0.0, 0.0], np.float32)
        for boxes in alone.boxes:
            world.add(replace(boxes, origin=boxes.origin + by))
        for lines in alone.ribbons:
            world.add(replace(lines, a=lines.a + by, b=lines.b + by))

    def point(self, x: float, y: float, z: float) -> tuple[float, float, float]:
        """A point of the chip's own plan, in the world."""
        return self.x + x, y, z


class Boards(Element):
    """From a small chip past a middling one to the GPU that the film measured, whose SMs are counted."""

    name: ClassVar[str] = "reel-boards"
    title: ClassVar[str] = "BOARD AND CHIP"
    line: ClassVar[str] = "drawn from a device record, whatever its counts"
    camera_does: ClassVar[str] = "dolly along, draw back"
    shows: ClassVar[tuple[str, ...]] = ("board and chip", "label", "label layout", "live digits", "camera dolly", "dive")

    def construct(self) -> None:
        # Three boards in a row, smallest first; the last is the GPU of the measurements.
        devices = (SMALL_GPU, Dataset.open([OTHER_GPU]).device, self.data.device)
        self.row = self._set_up(devices)
        self.prop(Scenery(self._light), *self.row)
        small, other, main = self.row

        # Work runs through the SMs of each chip in order of their number, on its own beats.
        count = Track(0.0).to(1.0, self.at(4, 3), 4.5, smooth)
        small.chip.work = self._sweep(small.chip, Track(0.0).to(1.0, self.at(1, 4), 3.0, smooth))
        other.chip.work = self._sweep(other.chip, Track(0.0).to(1.0, self.at(3), 3.5, smooth))
        main.chip.work = self._sweep(main.chip, count)

        # Close to the small one, dolly past the next, draw back over the last.
        wide = main.chip.reach.x1 - main.chip.reach.x0
        self.fly([
            (0.0, (small.x - 0.3, 0.0, 0.6, 8.0, -30.0, 24.0)),
            (self.at(1, 3), (small.x + 0.4, 0.0, 0.6, 9.0, -20.0, 27.0)),
            (self.at(1, 4), (small.x + 1.5, 0.2, 0.5, 14.0, -18.0, 31.0)),
            (self.at(2), ((small.x + 2.0 * other.x) / 3, 0.4, 0.5, 21.0, -16.0, 35.0)),
            (self.at(2, 3), (other.x - 0.4, 0.2, 0.5, 15.0, -12.0, 33.0)),
            (self.at(3), (other.x + 0.8, 0.2, 0.5, 15.5, 2.0, 34.0)),
            (self.at(3, 2), ((other.x + main.x) / 2, 0.4, 0.5, 33.0, 5.0, 36.0)),
            (self.at(3, 3.5), (main.x - 1.2, 0.4, 0.6, 1.3 * wide, 8.0, 34.0)),
            (self.at(4), (main.x - 0.4, 0.4, 0.6, 1.12 * wide, 12.0, 30.0)),
            (self.at(5), (main.x, 0.3, 0.6, 1.02 * wide, 30.0, 33.0)),
        ])  # fmt: skip

        # Name them, their memory and their cache; count the SMs of the last as they rise.
        self.caption()
        self._label()
        sms = self.data.get("device.sm_count")
        if sms is not None:
            shown = Track(0.0).to(1.0, self.at(3, 3), 0.5, arrive)
            self.text(Counter(figure(sms, 0, "SMs"), count, NUMBER, RIGHT, 250, "right", shown))
        self.finish()

    def _set_up(self, devices: tuple[Device, ...]) -> tuple[Standing, ...]:
        found: list[Standing] = []
        x = 0.0
        for device in devices:
            chip = Chip(device, 64)  # a record without a count still gets a chip
            half = (chip.plan.board.x1 - chip.plan.board.x0) / 2
            x += half if found else 0.0
            found.append(Standing(chip, x))
            x += half + GAP
        return tuple(found)

    def _sweep(self, chip: Chip, run: Track) -> Callable[[float], Floats]:
        """SMs rise one after another as `run` goes from 0 to 1; the newest stand highest."""
        number = np.arange(len(chip.plan.sms))
        rising = max(1.0, 0.08 * len(number))  # SMs that rise at a time: none jumps up within a frame

        def work(beat: float) -> Floats:
            front = run(beat) * (len(number) + rising)
            up = np.clip((front - number) / rising, 0.0, 1.0)
            risen = up * up * (3.0 - 2.0 * up)
            return np.asarray(risen * (0.45 + 0.55 * np.exp(-np.maximum(front - number, 0.0) / (0.12 * len(number) + 1.0))))

        return work

    def _label(self) -> None:
        small, other, main = self.row
        until = self.clock.beats
        self.text(
            Labels(
                [
                    *self._labels_of(other, self.at(2, 1), self.at(3, 2)),
                    *self._labels_of(main, self.at(3, 3), until),
                    *self._labels_of(small, 0.75, self.at(1, 4)),
                ],
                lambda beat, points: self._project(beat, points),
                until,
            )
        )

    def _labels_of(self, standing: Standing, start: float, end: float) -> list[Label]:
        plan, device = standing.chip.plan, standing.chip.device
        shown = Track(0.0).to(1.0, start + 0.5, 0.5, arrive).to(0.0, end, 0.5)
        found = [Label([(device.name, FACT)], standing.point(0.0, plan.package.y1, 0.1), shown, TEXT)]
        if plan.memory:
            place, tall = plan.memory[-1], 0.85 if plan.stacked else 0.4
            at = standing.point((place.x0 + place.x1) / 2, (place.y0 + place.y1) / 2, tall)
            found.append(Label([(str(device.memory.kind), SMALL.coloured(TEXT))], at, shown, MEMORY))
        if plan.l2:
            at = standing.point(plan.l2.x0 + 0.5, 0.0, standing.chip.floor + 0.06)
            found.append(Label([("L2", SMALL.coloured(TEXT))], at, shown, QUIET))
        return found

    def _project(self, beat: float, points: Floats) -> Floats:
        return self.view(beat).project(points, 1920, 1080)

    def _light(self, world: World, beat: float) -> None:
        camera = self.camera_at(beat)
        world.light = Light(focus=(camera.target[0], 0.3), radius=14.0, ambient=0.5)
        world.fog = Fog(start=26.0, end=66.0)
        world.ground = Ground(spacing=2.0, extent=70.0)
