"""What an `if` costs by the number of paths that a warp takes: a column for each number, as high as its measured cycles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from measure.dataset import Dataset
from scenes.props.cube import Vector
from scenes.props.roofline import EMBER
from scenes.props.warp import LANES, WIDTH, Row
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.overlay import Item, Text, Value, value_at
from scenes.stage.palette import COMPUTE, STEEL, TEXT, mix
from scenes.stage.type import FACT, NUMBER, SMALL
from scenes.stage.world import Boxes, Ribbons, World

SERIES = "sweeps.divergence.series"
HIGH = 9.4  # of the column of all 32 paths, world units
NAMED = (4, 8, 16, 32)  # columns that say their number of paths
LEFT, LINE, UNDER, NOTE = 96, 300, 360, 236  # places of the figure and of the note without one, design pixels


@dataclass(slots=True)
class FanOut:
    """Columns behind the lanes at `y`, that of k paths behind lane k - 1; `paths` is how many of them have risen.

    A column is read when it begins to rise, and the last one, whose height sets the scale, with the first. Without the
    sweep outlines stand, as high as the paths are many: each takes its turn.
    """

    data: Dataset
    row: Row
    y: float
    paths: Value
    clear: Value = 1.0  # opacity of the lowest column's name, which the lanes cover when they stand up
    _cycles: dict[int, float] = field(default_factory=dict, init=False)

    @property
    def known(self) -> bool:
        return self.data.has(f"{SERIES}.branching.values.{LANES}")

    def cycles(self, paths: int) -> float:
        """Measured cycles of the warp on so many paths; 0 where they were not measured."""
        if paths not in self._cycles:
            reading = self.data.get(f"{SERIES}.branching.values.{paths}")
            self._cycles[paths] = reading.quantity.value if reading else 0.0
        return self._cycles[paths]

    def height(self, paths: int, beat: float) -> float:
        """Of a column, world units: when it has risen proportional to its cycles; to its turns where those are not known."""
        risen = min(max(value_at(self.paths, beat) - paths + 1.0, 0.0), 1.0)
        share = (self.cycles(paths) / self.cycles(LANES) if self.known else paths / LANES) if risen > 0.0 else 0.0
        return HIGH * risen * share

    def top(self, paths: int) -> Callable[[float], Vector]:
        return lambda beat: (float(self.row.x(beat)[paths - 1]), self.y, self.height(paths, beat))

    def draw(self, world: World, beat: float) -> None:
        count = min(LANES, int(np.ceil(value_at(self.paths, beat))))
        if count < 1:
            return
        x = self.row.x(beat)[:count] - WIDTH / 2
        tall = np.array([self.height(k, beat) for k in range(1, count + 1)])
        if not self.known:
            low = np.column_stack([x, np.full(count, self.y), np.full(count, 0.02)])
            corners = (
                low[:, None]
                + [(0.0, 0.0, 0.0), (WIDTH, 0.0, 0.0), (WIDTH, 0.0, 1.0), (0.0, 0.0, 1.0)]
                * np.stack([np.ones(count), np.ones(count), tall], -1)[:, None]
            )
            a, b = corners, np.roll(corners, -1, axis=1)
            world.add(Ribbons.of(a.reshape(-1, 3), b.reshape(-1, 3), 0.05, mix(STEEL, TEXT, 0.4), 0.8))
            return
        origin = np.column_stack([x, np.full(count, self.y), np.zeros(count)])
        size = np.column_stack([np.full(count, WIDTH), np.full(count, WIDTH), np.maximum(tall, 0.02)])
        heat = 0.55 + 0.45 * np.arange(1, count + 1)[:, None] / LANES  # dark to bright amber: the tops part from one another
        colour = np.array(EMBER) * (1.0 - heat) + np.array(COMPUTE) * heat
        world.add(Boxes.of(origin, size, colour, emission=0.36 * heat[:, 0], edge=0.9))

    def words(self, shown: Callable[[float], float], device: str) -> list[Item]:
        """How many times as long as one path all of them take, counted up with the columns; the paths of some of them."""
        if not self.known:
            items: list[Item] = [Text(f"cost by paths not measured on {device}", SMALL, LEFT, NOTE, "left", shown)]
            items.append(Text("outlines: as many turns as paths", SMALL, LEFT, NOTE + 48, "left", shown))
            return items + self._names(shown)
        reading = self.data.get(f"{SERIES}.slowdown.values.{LANES}")
        items = self._names(shown)
        if reading is not None:
            shot, most = figure(reading, 1, "×"), reading.quantity.value

            def share(beat: float) -> float:
                return (self._so_far(beat) - 1.0) / (most - 1.0)

            items.append(Counter(shot, share, NUMBER.sized(110), LEFT, LINE, "left", shown, start=1.0))
            items.append(Text(f"the time of one path, {shot.source}", FACT, LEFT, UNDER, "left", shown))
        return items

    def _names(self, shown: Callable[[float], float]) -> list[Item]:
        """Over some columns for how many paths they stand."""
        names = [f"{paths} paths" if paths in (NAMED[0], NAMED[-1]) else str(paths) for paths in NAMED]
        return [
            Text(
                name, FACT, 16 if low else 0, -22, "right" if low else "centre", self._up(paths, shown), self.top(paths), "axis"
            )
            for name, paths, low in zip(names, NAMED, (True, False, False, False), strict=True)
        ]

    def _up(self, paths: int, shown: Callable[[float], float]) -> Callable[[float], float]:
        clear = self.clear if paths == NAMED[0] else 1.0

        def seen(beat: float) -> float:
            return shown(beat) * float(value_at(self.paths, beat) >= paths - 0.05) * value_at(clear, beat)

        return seen

    def _so_far(self, beat: float) -> float:
        """The last risen column against the first."""
        paths = min(LANES, max(1, int(value_at(self.paths, beat) + 0.05)))
        return self.cycles(paths) / max(self.cycles(1), 1.0)
