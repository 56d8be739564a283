"""Packets: data on its way from the memory stacks through the copper to the die, faster and faster, and results back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scenes.props.chip import BOARD, INTERPOSER, PACKAGE, Chip
from scenes.props.floorplan import GAP_Y, Floorplan
from scenes.reel.element import RIGHT, Element
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Track, arrive, linear, ramp, smooth
from scenes.stage.overlay import Text
from scenes.stage.palette import MEMORY, TEXT
from scenes.stage.passage import Scenery
from scenes.stage.type import NUMBER, SMALL
from scenes.stage.ways import Packets, Ways
from scenes.stage.world import Fog, Ground, Light, World

Floats = NDArray[np.float64]
LANES = 9  # paths from each memory package
ABOVE = 0.06  # world units of a packet's middle above what it runs on
SPEED = (1.6, 4.4)  # world units a beat, first and last


class PacketsOnBoard(Element):
    """The GPU of the measurements, its memory at work: the figure is what its memory was measured to deliver."""

    name: ClassVar[str] = "reel-packets"
    title: ClassVar[str] = "PACKETS"
    line: ClassVar[str] = "boxes on paths, at one speed, blurred by it"
    camera_does: ClassVar[str] = "dive to the copper"
    shows: ClassVar[tuple[str, ...]] = ("packets", "number", "camera dive", "glitch")

    def construct(self) -> None:
        # The chip, and paths from each memory package to the SMs beside it.
        chip = Chip(self.data.device, 64)
        self.chip = chip
        self.walked = self._pace()
        chip.work = self._fed
        ways = Ways.of(_to_the_die(chip.plan, chip.floor))
        self.prop(Scenery(self._light), chip)
        if len(ways):
            stagger = np.arange(len(ways), dtype=float) * 0.618
            self.prop(Packets(ways, self.walked, MEMORY, (0.2, 0.085, 0.085), 0.95, stagger, 0.85, 0.16))
        # Results leave for the board's front edge, slower.
        out = Ways.of(_to_the_edge(chip.plan))
        steady = lambda beat: 0.55 * self.walked(beat)  # noqa: E731
        self.prop(Packets(out, steady, TEXT, (0.22, 0.08, 0.07), 1.4, np.arange(len(out), dtype=float) * 0.382, 0.5, 0.2))

        # From above the whole chip down to the copper between a stack and the die, then along it.
        memory = chip.plan.memory[0] if chip.plan.memory else chip.plan.die
        x, y = memory.x1, (memory.y0 + memory.y1) / 2
        wide = chip.reach.x1 - chip.reach.x0
        self.fly([
            (self.at(1), (0.0, 0.4, 0.4, 1.25 * wide, 22.0, 42.0)), (self.at(2), (-0.6, 0.2, 0.4, 0.98 * wide, 4.0, 36.0)),
            (self.at(3), (x + 1.2, y + 1.0, 0.9, 8.8, 6.0, 33.0)), (self.at(4), (x + 1.0, y + 1.1, 1.1, 5.8, 26.0, 24.0)),
            (self.at(5), (x + 2.0, y + 1.8, 1.1, 6.8, 44.0, 25.0)),
        ])  # fmt: skip

        # Count up to what the memory delivers as the packets come to their full speed.
        self.caption()
        delivered = self.data.get("roofs.dram")
        if delivered is not None:
            shown = Track(0.0).to(1.0, self.at(2), 0.5, arrive)
            count = Track(0.0).to(1.0, self.at(3), 6.0, smooth)
            self.text(Counter(figure(delivered, 2), count, NUMBER.coloured(MEMORY), RIGHT, 250, "right", shown))
            words = f"memory read, {delivered.quantity.source}"
            self.text(Text(words, SMALL.coloured(TEXT), RIGHT, 304, "right", shown))
        self.finish()

    def _pace(self) -> Track:
        """How far the stream has run: slow at first, up to its full speed by the third bar, one speed from there on."""
        slow, fast = SPEED
        ease = lambda u: (slow * u + (fast - slow) * u * u / 2.0) / ((slow + fast) / 2.0)  # noqa: E731
        quick = self.at(3)
        run = Track(0.0).to(quick * (slow + fast) / 2.0, quick, quick, ease)
        return run.to(run(quick) + fast * (self.clock.beats - quick), self.clock.beats, self.clock.beats - quick, linear)

    def _fed(self, beat: float) -> Floats:
        """Work of each SM: those beside the memory first, the rest as the stream gains speed; a ripple runs inwards."""
        sms, die = self.chip.plan.sms, self.chip.plan.die
        inward = 1.0 - np.abs(sms[:, 0] + 0.2) / max(die.x1, 1.0) if len(sms) else np.zeros(0)
        reached = np.clip((ramp(beat, 0.5, 9.0, smooth) * 1.5 - inward) / 0.25, 0.0, 1.0)
        return np.asarray(reached * (0.32 + 0.22 * np.cos(2.0 * np.pi * (inward * 1.6 + sms[:, 1] * 0.11 - beat / 2.0))))

    def _light(self, world: World, beat: float) -> None:
        focus = Track(0.0).to(-3.0, self.at(3), 6.0)(beat)
        world.light = Light(focus=(focus, 0.6), radius=11.0, ambient=0.34)
        world.fog = Fog(start=22.0, end=60.0)
        world.ground = Ground(spacing=2.0, extent=60.0)


def _to_the_die(plan: Floorplan, floor: float) -> list[Sequence[Sequence[float]]]:
    """From each memory package along its copper; beside stacks, some of the lanes go on between the SM rows to the middle."""
    z = BOARD + (PACKAGE + INTERPOSER if plan.stacked else 0.0) + ABOVE
    goal = plan.die if plan.stacked else plan.package
    lines: list[Sequence[Sequence[float]]] = []
    for rect in plan.memory:
        if rect.x1 < goal.x0 or rect.x0 > goal.x1:
            a, b = (rect.x1, goal.x0) if rect.x1 < goal.x0 else (rect.x0, goal.x1)
            lines += [((a, y, z), (b, y, z)) for y in np.linspace(rect.y0 + 0.14, rect.y1 - 0.14, LANES)]
        else:
            a, b = (rect.y1, goal.y0) if rect.y1 < goal.y0 else (rect.y0, goal.y1)
            lines += [((x, a, z), (x, b, z)) for x in np.linspace(rect.x0 + 0.14, rect.x1 - 0.14, LANES)]
    if plan.stacked and len(plan.sms):
        _between_the_rows(lines, plan, floor + ABOVE)
    return lines


def _between_the_rows(lines: list[Sequence[Sequence[float]]], plan: Floorplan, z: float) -> None:
    """Lead the lane nearest to each gap between two SM rows on: up the die's edge, beside the field to the gap, inwards."""
    for gap in np.unique(plan.sms[:, 1]) - GAP_Y / 2:
        for side in (-1.0, 1.0):
            mine = [k for k, line in enumerate(lines) if len(line) == 2 and line[0][0] * side > 0 and line[0][1] == line[1][1]]
            if not mine:
                continue
            which = min(mine, key=lambda k: abs(lines[k][0][1] - gap))
            start, (x, y, low) = lines[which]
            beside = x - side * 0.14
            lines[which] = (start, (x, y, low), (x, y, z), (beside, y, z), (beside, gap, z), (side * 0.4, gap, z))


def _to_the_edge(plan: Floorplan) -> list[Sequence[Sequence[float]]]:
    """From the package's front to the board's edge, along the bends of the copper there: behind it the figure stands."""
    z, package, y = BOARD + ABOVE, plan.package, plan.package.y0
    lines: list[Sequence[Sequence[float]]] = []
    for k, x in enumerate(np.linspace(package.x0 + 0.5, package.x1 - 0.5, 30)):
        bend = 0.35 + 0.05 * abs(k - 14.5)
        out = x * 1.18
        slant = bend + abs(out - x)
        lines.append(((x, y, z), (x, y - bend, z), (out, y - slant, z), (out, plan.board.y0 + 0.2, z)))
    return lines
