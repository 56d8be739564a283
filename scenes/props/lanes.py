"""The lanes of a GPU's SMs: as many cells on each SM tile of a chip as the record says that an SM has.

A cell each would be a hundred boxes a tile; so the lanes of a tile stand as columns, cut into cells by dark lines, and only
tiles that the camera comes near are built cell by cell.  Either way there are exactly as many as in the record.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scenes.props.chip import SM_IDLE, SM_SIZE, Chip
from scenes.props.floorplan import CLUSTER_GAP, PITCH_X
from scenes.stage.palette import COMPUTE, GROUND, QUIET, STEEL, TEXT, mix
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]
FILL = 0.7  # share of its pitch that a cell fills
TALL = 0.07  # height of a lane
LEVEL, REACH = 1e-4, PITCH_X + CLUSTER_GAP + 0.01  # heights that are one height; from tile to next tile in a row, at most
ASIDE = 0.68  # how far left of the middle a share of the lanes is framed, of half the die's width
IDLE = mix(STEEL, QUIET, 0.34)
WORKING = mix(STEEL, COMPUTE, 0.97)


def grid_of(lanes: int) -> tuple[int, int]:
    """Columns and rows of a tile's cells, as near to square cells as whole rows allow: 128 stand as 8 x 16, 64 as 8 x 8."""
    aim = math.sqrt(lanes * SM_SIZE[0] / SM_SIZE[1])
    columns = min((c for c in range(1, lanes + 1) if lanes % c == 0), key=lambda c: abs(math.log(c / aim)))
    return columns, lanes // columns


@dataclass(frozen=True, slots=True)
class Share:
    """So many lanes as `lanes` among all of a chip: a white frame upon as many SMs of its back row as have them, and a line up.

    `shown(beat)` 0..1; nothing is drawn where no whole number of SMs has them.
    """

    of: Lanes
    lanes: int
    tall: float
    shown: Callable[[float], float]

    @property
    def sms(self) -> NDArray[np.int64]:
        """Which SMs, side by side and left of the middle; none where they do not make up the number."""
        corner = self.of.chip.plan.sms
        row = np.flatnonzero(corner[:, 1] > corner[:, 1].max() - LEVEL)
        number, left = divmod(self.lanes, self.of.each)
        nearest = row[np.argsort(np.abs(corner[row, 0] - ASIDE * self.of.chip.plan.die.x0), kind="stable")]
        return np.sort(nearest[:number]) if not left and 0 < number <= len(row) else nearest[:0]

    def tip(self, beat: float) -> tuple[float, float, float]:
        """End of the line: where its words are pinned."""
        (x0, y), (x1, _) = self.of.chip.plan.sms[self.sms[[0, -1]]].tolist()
        return (x0 + x1 + SM_SIZE[0]) / 2, y + SM_SIZE[1], self.of.foot + TALL + self.tall

    def draw(self, world: World, beat: float) -> None:
        shown, sms = self.shown(beat), self.sms
        if shown <= 0.01 or not len(sms):
            return
        (x0, y0), (x1, y1) = self.of.chip.plan.sms[sms[[0, -1]]] + np.array([(0.0, 0.0), SM_SIZE])
        z = self.of.foot + float(self.of.height(beat)[sms].max()) + 0.02
        foot = [(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)]
        tip = self.tip(beat)
        a, b = [*foot, (tip[0], tip[1], z)], [*foot[1:], foot[0], tip]
        world.add(Ribbons.of(a, b, np.array([0.08] * 4 + [0.03]), TEXT, alpha=shown, emission=0.4))


@dataclass(slots=True)
class Lanes:
    """`each` lanes on every SM of a chip; `rise(beat)` is how far they have come up, `heat(beat)` how much they work: (N,).

    `hero` is the SM and the lane whose place is left free for the thread; `close(beat)` tells whether the tiles about it are
    built cell by cell, too.
    """

    chip: Chip
    each: int
    hero: tuple[int, int]
    rise: Callable[[float], Floats]
    heat: Callable[[float], Floats]
    close: Callable[[float], bool] = lambda beat: False
    columns: int = field(init=False)
    rows: int = field(init=False)
    _near: NDArray[np.bool_] = field(init=False)
    _fine: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.columns, self.rows = grid_of(self.each)
        corner = self.chip.plan.sms
        index = np.arange(len(corner))
        far = np.hypot(*(corner - corner[self.hero[0]]).T)
        self._fine = index == self.hero[0]
        self._near = far < 0.95

    @property
    def pitch(self) -> tuple[float, float]:
        """From lane to lane, along x and along y."""
        return SM_SIZE[0] / self.columns, SM_SIZE[1] / self.rows

    @property
    def foot(self) -> float:
        """Height of what the lanes stand on."""
        return self.chip.floor + SM_IDLE

    def places(self) -> Floats:
        """Middles of a tile's cells from its corner, (each, 2), row by row from the front."""
        wide, deep = self.pitch
        lane = np.arange(self.each)
        return np.column_stack([(lane % self.columns + 0.5) * wide, (lane // self.columns + 0.5) * deep])

    def cell(self) -> tuple[float, float]:
        """Middle of the place that is the thread's."""
        x, y = self.chip.plan.sms[self.hero[0]] + self.places()[self.hero[1]]
        return float(x), float(y)

    def height(self, beat: float) -> Floats:
        """Heights of the lanes of each SM, (N,)."""
        return np.asarray(TALL * self.rise(beat))

    def draw(self, world: World, beat: float) -> None:
        tall, heat = self.height(beat), np.clip(self.heat(beat), 0.0, 1.0)
        fine = self._near if self.close(beat) else self._fine
        up = tall > 0.004
        self._columns(world, tall, heat, up & ~fine)
        self._cells(world, tall, heat, np.flatnonzero(up & fine))

    def _columns(self, world: World, tall: Floats, heat: Floats, which: NDArray[np.bool_]) -> None:
        if not which.any():
            return
        (wide, deep), corner = self.pitch, self.chip.plan.sms[which]
        high, warm = tall[which], heat[which]
        x = (corner[:, :1] + (np.arange(self.columns) + 0.5) * wide - FILL * wide / 2).ravel()
        y = np.repeat(corner[:, 1] + (1 - FILL) * deep / 2, self.columns)
        size = np.column_stack([
            np.full(len(x), FILL * wide), np.full(len(x), SM_SIZE[1] - (1 - FILL) * deep), np.repeat(high, self.columns)
        ])  # fmt: skip
        colour, glow = _coloured(np.repeat(warm, self.columns))
        world.add(Boxes.of(np.column_stack([x, y, np.full(len(x), self.foot)]), size, colour, glow, edge=0.6, shadow=0.0))
        self._cuts(world, self._spans(np.column_stack([corner[:, 0], corner[:, 0] + SM_SIZE[0], corner[:, 1], high])))

    def _spans(self, tiles: Floats) -> Floats:
        """Tiles (N, 4) of left, right, front edge and height: those that stand in a row at one height joined to one span."""
        tiles = tiles[np.lexsort((tiles[:, 0], tiles[:, 2]))]
        new = np.ones(len(tiles), bool)
        step = np.abs(np.diff(tiles[:, [2, 3]], axis=0)) > LEVEL
        new[1:] = step.any(axis=1) | (np.diff(tiles[:, 0]) > REACH)
        first = np.flatnonzero(new)
        last = np.append(first[1:], len(tiles)) - 1
        return np.column_stack([tiles[first, 0], tiles[last, 1], tiles[first, 2], tiles[first, 3]])

    def _cuts(self, world: World, spans: Floats) -> None:
        """The dark lines between cells: over spans (M, 4) of left, right, front edge and height, all rows of cells of each.

        Where lanes are equally high one span goes over many tiles of a row.
        """
        deep, lines = self.pitch[1], self.rows - 1
        left, right, front, high = np.repeat(spans, lines, axis=0).T
        y, z = front + np.tile(np.arange(1, self.rows) * deep, len(spans)), self.foot + high + 0.003
        a, b = np.column_stack([left, y, z]), np.column_stack([right, y, z])
        world.add(Ribbons.of(a, b, (1 - FILL) * deep, mix(GROUND, STEEL, 0.2), alpha=0.6))

    def _cells(self, world: World, tall: Floats, heat: Floats, which: NDArray[np.int64]) -> None:
        if not len(which):
            return
        extent = FILL * np.array(self.pitch)
        middles = (self.chip.plan.sms[which][:, None, :] + self.places()[None]).reshape(-1, 2)
        keep = np.ones(len(middles), bool)
        if self.hero[0] in which:
            keep[int(np.flatnonzero(which == self.hero[0])[0]) * self.each + self.hero[1]] = False
        high, warm = np.repeat(tall[which], self.each)[keep], np.repeat(heat[which], self.each)[keep]
        origin = np.column_stack([middles[keep] - extent / 2, np.full(int(keep.sum()), self.foot)])
        size = np.column_stack([np.broadcast_to(extent, (len(origin), 2)), high])
        colour, glow = _coloured(warm)
        world.add(Boxes.of(origin, size, colour, glow, edge=0.3, shadow=0.0))


def _coloured(heat: Floats) -> tuple[Floats, Floats]:
    """Colour and glow of lanes: steel where they are idle, amber where they work."""
    return np.array(IDLE) + (np.array(WORKING) - IDLE) * heat[:, None], 0.62 * heat
