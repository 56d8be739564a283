"""A GPU on its board: substrate, interposer, die with one tile per SM, memory stacks or chips, traces and small components.

Everything is drawn from a device record through `floorplan`; an SM tile rises and turns from steel to amber with its work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from measure.records import Device
from scenes.props.floorplan import GAP_X, GAP_Y, PITCH_X, PITCH_Y, Floats, Floorplan, Rect, floorplan
from scenes.stage.palette import COMPUTE, GROUND, MEMORY, PLATE, STEEL, Colour, mix
from scenes.stage.world import Boxes, Ribbons, World

Vector = tuple[float, float, float]
Work = Callable[[float], Floats]

BOARD, PACKAGE, INTERPOSER, DIE = 0.24, 0.18, 0.06, 0.10  # thickness of each layer, world units
SM_IDLE, SM_RISE = 0.07, 0.42  # height of an SM tile at rest, and what full work adds
STACK_HEIGHT, CHIP_HEIGHT = 0.62, 0.20
LAYERS, SEAM, LID = 8, 0.022, 0.08  # dies drawn in a stack of memory (no record tells how many there are), seams, its cap
WIDE, DEEP = 18.2, 8.9  # what the distances of cameras are made for, world units
SM_SIZE = (PITCH_X - GAP_X, PITCH_Y - GAP_Y)
SUBSTRATE = mix(PLATE, STEEL, 0.45)
SILICON = mix(PLATE, (0.10, 0.11, 0.15), 0.7)
WORKING = mix(PLATE, COMPUTE, 0.48)  # a tile at work; the full colour is kept for the blocks on it, so that single SMs read
EMBER = (0.31, 0.175, 0.025)  # an SM that has just finished: compute amber, dying down
PART = mix(STEEL, PLATE, 0.25)


def far_off(room: Rect, least: float = 0.5) -> float:
    """How far off a camera is that shows so much, over how far it is from the widest package that there is."""
    return max((room.x1 - room.x0) / WIDE, (room.y1 - room.y0) / DEEP, least)


class Pile:
    """Slabs being collected into one batch of boxes; a bevelled slab has a slightly smaller cap that catches the edge light."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, ...]] = []

    def slab(
        self, rect: Rect, z: float, height: float, colour: Colour, edge: float = 0.4, bevel: float = 0.0, emission: float = 0.0
    ) -> float:
        """Add a slab that stands on height z; returns the height of its top."""
        self._row(rect, z, height - bevel, colour, edge * (0.45 if bevel else 1.0), emission)
        if bevel:
            self._row(rect.grown(-bevel), z + height - bevel, bevel, mix(colour, (1.0, 1.0, 1.0), 0.05), edge, emission)
        return z + height

    def _row(self, rect: Rect, z: float, height: float, colour: Colour, edge: float, emission: float) -> None:
        self._rows.append((rect.x0, rect.y0, z, rect.x1 - rect.x0, rect.y1 - rect.y0, height, *colour, emission, edge))

    def batch(self) -> Boxes:
        """Everything collected so far."""
        a = np.array(self._rows).reshape(-1, 11)
        return Boxes.of(a[:, :3], a[:, 3:6], a[:, 6:9], emission=a[:, 9], edge=a[:, 10])


@dataclass(slots=True)
class Chip:
    """The board with its chip, centred on the origin, standing on the ground z = 0.

    `work(beat)` gives the share 0..1 of each SM's capacity that is at work, shape (N,); None leaves all of them idle.
    `warmth(beat)` is the ember, 0..1, of each SM that has finished. `sms` is how many to draw where the record gives no count.
    """

    device: Device
    sms: int = 0
    work: Work | None = None
    warmth: Work | None = None
    plan: Floorplan = field(init=False)
    _still: Boxes = field(init=False)
    _traces: Ribbons = field(init=False)

    def __post_init__(self) -> None:
        self.plan = floorplan(self.device, self.sms)
        pile = Pile()
        self._build(pile)
        _components(pile, self.plan)
        self._still = pile.batch()
        self._traces = _traces(self.plan)

    @property
    def tile(self) -> tuple[float, float]:
        """Width and depth of an SM tile."""
        return SM_SIZE

    @property
    def reach(self) -> Rect:
        """Around the package and the memory chips beside it."""
        return _reach(self.plan)

    @property
    def floor(self) -> float:
        """Height of the die's surface, on which the SM tiles stand."""
        return BOARD + PACKAGE + (INTERPOSER if self.plan.interposer else 0.0) + DIE

    def heights(self, work: Floats) -> Floats:
        """Heights of the SM tiles for their shares of work, (N,)."""
        return SM_IDLE + SM_RISE * work

    def draw(self, world: World, beat: float) -> None:
        world.add(self._still)
        world.add(self._traces)
        if len(self.plan.sms):
            none = np.zeros(len(self.plan.sms))
            self._draw_sms(world, self.work(beat) if self.work else none, self.warmth(beat) if self.warmth else none)

    def _draw_sms(self, world: World, work: Floats, warm: Floats) -> None:
        n = len(work)
        origin = np.column_stack([self.plan.sms, np.full(n, self.floor)])
        size = np.column_stack([np.full(n, SM_SIZE[0]), np.full(n, SM_SIZE[1]), self.heights(work)])
        idle = np.array(STEEL) + (np.array(EMBER) - STEEL) * warm[:, None]
        colour = idle * (1.0 - work[:, None]) + np.array(WORKING) * work[:, None]
        world.add(Boxes.of(origin, size, colour, emission=0.15 * work, edge=0.55 + 0.45 * work))

    def _build(self, pile: Pile) -> None:
        """Board, package, interposer, die, L2, memory."""
        plan = self.plan
        z = pile.slab(plan.board, 0.0, BOARD, PLATE, edge=0.5, bevel=0.05)
        if not plan.stacked:
            for chip in plan.memory:
                pile.slab(chip, z, CHIP_HEIGHT, mix(PLATE, MEMORY, 0.30), edge=0.9, bevel=0.035, emission=0.05)
        z = pile.slab(plan.package, z, PACKAGE, SUBSTRATE, edge=0.6, bevel=0.03)
        if plan.interposer:
            z = pile.slab(plan.interposer, z, INTERPOSER, SILICON, edge=0.5)
        if plan.stacked:
            for stack in plan.memory:
                pile.slab(stack, z, STACK_HEIGHT, mix(PLATE, MEMORY, 0.3), edge=1.0, bevel=LID, emission=0.05)
        z = pile.slab(plan.die, z, DIE, mix(SILICON, STEEL, 0.25), edge=0.7)
        if plan.l2:
            pile.slab(plan.l2, z, 0.05, mix(PLATE, MEMORY, 0.20), edge=0.6, emission=0.02)


def _seams(plan: Floorplan) -> list[tuple[float, ...]]:
    """The dark seams between the dies of memory stacks, on the sides that are seen: both ends, width, colour, alpha."""
    lines: list[tuple[float, ...]] = []
    foot = BOARD + PACKAGE + INTERPOSER
    for stack in plan.memory if plan.stacked else ():
        rect = stack.grown(0.004)
        for z in (foot + (STACK_HEIGHT - LID) * k / LAYERS for k in range(1, LAYERS)):
            for a, b in (((rect.x0, rect.y0), (rect.x1, rect.y0)), ((rect.x1, rect.y0), (rect.x1, rect.y1)),
                         ((rect.x0, rect.y1), (rect.x0, rect.y0))):  # fmt: skip
                lines.append((*a, z, *b, z, SEAM, *GROUND, 0.85))
    return lines


def _components(pile: Pile, plan: Floorplan) -> None:
    """Parts in steel: capacitors and a stiffener on the substrate, coils and regulators beside it, small parts in front."""
    top, package = BOARD + PACKAGE, plan.package
    inner = plan.interposer or plan.die
    for y in (inner.y0 - 0.36, inner.y1 + 0.24):
        for x in np.arange(inner.x0 + 0.2, inner.x1 - 0.2, 0.30):
            pile.slab(Rect(x, y, x + 0.13, y + 0.12), top, 0.07, PART, edge=0.5)
    for rim in _ring(package.grown(-0.06), 0.22):
        pile.slab(rim, top, 0.14, mix(STEEL, PLATE, 0.35), edge=0.8, bevel=0.03)
    reach = _reach(plan)
    for side in (-1, 1):
        for column, (wide, tall) in enumerate(((0.74, 0.46), (0.34, 0.12), (0.46, 0.58))):
            x = (reach.x1 + 0.75 + 1.0 * column) if side > 0 else (reach.x0 - 0.75 - 1.0 * column - wide)
            for y in np.arange(reach.y0 + 0.1, reach.y1 - wide, 0.98):
                pile.slab(Rect(x, y, x + wide, y + wide), BOARD, tall, PART, edge=0.5, bevel=0.05)
    small, large = (0.42, 0.20, 0.12, 0.08), (1.6, 0.86, 0.52, 0.14)
    for row, (pitch, wide, deep, tall) in enumerate((small, large, small)):
        y = reach.y0 - 1.0 - 0.72 * row
        for x in np.arange(reach.x0 + 0.3, reach.x1 - wide, pitch):
            pile.slab(Rect(x, y - deep, x + wide, y), BOARD, tall, PART, edge=0.45)


def _reach(plan: Floorplan) -> Rect:
    """Around the package and the memory chips beside it."""
    rects = [plan.package, *plan.memory]
    return Rect(min(r.x0 for r in rects), min(r.y0 for r in rects), max(r.x1 for r in rects), max(r.y1 for r in rects))


def _ring(outer: Rect, wide: float) -> tuple[Rect, ...]:
    """Four bars along the inside of a rectangle."""
    inner = outer.grown(-wide)
    return (
        Rect(outer.x0, outer.y0, outer.x1, inner.y0),
        Rect(outer.x0, inner.y1, outer.x1, outer.y1),
        Rect(outer.x0, inner.y0, inner.x0, inner.y1),
        Rect(inner.x1, inner.y0, outer.x1, inner.y1),
    )


def _traces(plan: Floorplan) -> Ribbons:
    """Copper: memory to die in dim cyan, package to board in steel, all a hair above the surface that they run on."""
    lines: list[tuple[float, ...]] = []

    def run(points: list[tuple[float, float]], z: float, width: float, colour: Colour, alpha: float) -> None:
        for (ax, ay), (bx, by) in pairwise(points):
            lines.append((ax, ay, z, bx, by, z, width, *colour, alpha))

    for first, last in memory_lines(plan):
        run([first[:2], last[:2]], first[2], 0.03, MEMORY, 0.34)
    for k, x in enumerate(np.linspace(plan.package.x0 + 0.5, plan.package.x1 - 0.5, 30)):
        bend = 0.35 + 0.05 * abs(k - 14.5)
        out = x * 1.18
        slant = bend + abs(out - x)
        for y, way, end in ((plan.package.y0, -1, plan.board.y0 + 0.2), (plan.package.y1, 1, plan.board.y1 - 0.2)):
            run([(x, y), (x, y + way * bend), (out, y + way * slant), (out, end)], BOARD + 0.004, 0.022, STEEL, 0.5)
    a = np.array([*lines, *_seams(plan)])
    return Ribbons.of(a[:, :3], a[:, 3:6], a[:, 6], a[:, 7:10], alpha=a[:, 10])


def memory_lines(plan: Floorplan) -> list[list[Vector]]:
    """Both ends of each line of the memory's buses: from a stack to the nearest edge of the die, from a chip to the package."""
    goal = plan.die if plan.stacked else plan.package
    z = BOARD + 0.004 + (PACKAGE + INTERPOSER if plan.stacked else 0.0)
    number = 9 if plan.stacked else 6
    lines: list[list[Vector]] = []
    for rect in plan.memory:
        if rect.x1 < goal.x0 or rect.x0 > goal.x1:
            a, b = (rect.x1, goal.x0) if rect.x1 < goal.x0 else (rect.x0, goal.x1)
            for y in np.linspace(rect.y0 + 0.14, rect.y1 - 0.14, number).tolist():
                lines.append([(a, y, z), (b, min(max(y, goal.y0), goal.y1), z)])
        else:
            a, b = (rect.y1, goal.y0) if rect.y1 < goal.y0 else (rect.y0, goal.y1)
            for x in np.linspace(rect.x0 + 0.14, rect.x1 - 0.14, number).tolist():
                lines.append([(x, a, z), (min(max(x, goal.x0), goal.x1), b, z)])
    return lines
