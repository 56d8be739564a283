"""Packets along paths: small boxes that travel polylines at even speed, each with a streak of light behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scenes.stage.overlay import Value, value_at
from scenes.stage.palette import Colour
from scenes.stage.world import Boxes, Ribbons, World

Floats = NDArray[np.float64]
STREAK = 5  # pieces of a streak, each thinner and fainter than the one before it
FADE = 0.5  # of a packet's length: over so much way it appears at a path's start and goes at its end


class WayError(ValueError):
    """Paths without a length, or packets that would stand in one another."""


@dataclass(frozen=True, slots=True)
class Ways:
    """K polylines, walked by distance. `Ways.of` takes their corners, each (M, 3) with M >= 2; lengths are world units."""

    corners: Floats  # (K, M, 3), padded by repeating the last corner
    reached: Floats  # (K, M) distance walked at each corner

    @classmethod
    def of(cls, lines: Sequence[ArrayLike]) -> Ways:
        """From one array of corners a path. Raises WayError for a path without a length or with anything but points."""
        arrays = [np.asarray(line, float) for line in lines]
        for k, line in enumerate(arrays):
            if (
                line.ndim != 2
                or line.shape[1] != 3
                or len(line) < 2
                or not np.isfinite(line).all()
                or not np.ptp(line, 0).any()
            ):
                raise WayError(f"path {k}: expected two or more different points (M, 3), found shape {line.shape}")
        most = max((len(line) for line in arrays), default=2)
        corners = np.array([np.concatenate([line, np.repeat(line[-1:], most - len(line), 0)]) for line in arrays])
        corners = corners.reshape(-1, most, 3)
        steps = np.linalg.norm(np.diff(corners, axis=1), axis=2)
        return cls(corners, np.concatenate([np.zeros((len(corners), 1)), np.cumsum(steps, 1)], 1))

    def __len__(self) -> int:
        return len(self.corners)

    @property
    def lengths(self) -> Floats:
        """(K,) how long each path is."""
        return np.asarray(self.reached[:, -1])

    def at(self, which: NDArray[np.int64], distance: Floats) -> tuple[Floats, Floats]:
        """Points (N, 3) at distances (N,) along paths `which` (N,), and the unit directions (N, 3) there; held at the ends."""
        reached = self.reached[which]
        walked = np.clip(distance, 0.0, reached[:, -1])
        leg = np.clip((reached <= walked[:, None]).sum(1) - 1, 0, reached.shape[1] - 2)
        row = np.arange(len(which))
        while (short := reached[row, leg + 1] - reached[row, leg] <= 0.0).any():  # padding has no length
            leg = leg - short
        a, b = self.corners[which, leg], self.corners[which, leg + 1]
        long = (reached[row, leg + 1] - reached[row, leg])[:, None]
        return a + (b - a) * (walked - reached[row, leg])[:, None] / long, (b - a) / long


@dataclass(slots=True)
class Packets:
    """Boxes that run along paths, `every` world units apart, the same number of units for all at a moment.

    `walked(beat)` is how far the stream has run: a Track or any function, so that it can start, swell on a beat, and stop; the
    streak behind a packet is as long as its way in `shutter` beats. `offset` shifts each path's packets by a share of `every`
    (0 starts all paths together). Packets are `size` = length, width, height; on a slant they are as long as they are wide.
    Raises WayError where packets would touch.
    """

    ways: Ways
    walked: Callable[[float], float]
    colour: Colour
    size: tuple[float, float, float] = (0.16, 0.09, 0.09)
    every: float = 0.9
    offset: Floats | float = 0.0
    emission: float = 0.9
    shutter: float = 0.12
    shown: Value = 1.0
    _offset: Floats = field(init=False)

    def __post_init__(self) -> None:
        if not self.every > self.size[0] > 0.0:
            raise WayError(f"packets {self.size[0]:g} long cannot follow one another every {self.every:g} units")
        self._offset = np.broadcast_to(np.asarray(self.offset, float), (len(self.ways),)) % 1.0

    def places(self, beat: float) -> tuple[NDArray[np.int64], Floats]:
        """Which path each packet is on at a beat, and how far along it: (N,) and (N,)."""
        first = (self.walked(beat) / self.every + self._offset) % 1.0 * self.every
        count = np.ceil((self.ways.lengths - first) / self.every).astype(np.int64).clip(0)
        which = np.repeat(np.arange(len(self.ways)), count)
        rank = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
        started = self.walked(beat) + self._offset[which] * self.every  # those ahead of the stream's front are not there yet
        distance = first[which] + rank * self.every
        here = distance <= started
        return which[here], distance[here]

    def draw(self, world: World, beat: float) -> None:
        shown = value_at(self.shown, beat)
        which, distance = self.places(beat)
        if shown <= 0.004 or not len(which):
            return
        point, way = self.ways.at(which, distance)
        long, wide, tall = self.size
        edge = np.minimum(distance, self.ways.lengths[which] - distance) / (FADE * long)
        alpha = shown * np.clip(edge, 0.0, 1.0)
        straight = np.abs(way).max(1) > 0.999
        extent = np.where((np.abs(way) > 0.5) & straight[:, None], long, [[wide, wide, tall]])
        world.add(Boxes.of(point - extent / 2, extent, self.colour, self.emission, 0.8, shadow=0.5, alpha=alpha))
        self._streaks(world, beat, which, distance, alpha)

    def _streaks(self, world: World, beat: float, which: NDArray[np.int64], distance: Floats, alpha: Floats) -> None:
        """What a shutter that is open for `shutter` beats sees of a packet's way: short ribbons, ever fainter."""
        run = self.walked(beat) - self.walked(beat - self.shutter)
        if run <= self.size[1]:
            return
        start = distance - self.size[0] / 2
        behind = [np.maximum(start - run * k / STREAK, 0.0) for k in range(STREAK + 1)]
        for k in range(STREAK):
            left = 1.0 - (k + 0.5) / STREAK
            a, _ = self.ways.at(which, behind[k])
            b, _ = self.ways.at(which, behind[k + 1])
            moves = np.linalg.norm(a - b, axis=1) > 1e-4
            if moves.any():
                glow = self.emission * left
                world.add(Ribbons.of(a[moves], b[moves], self.size[1] * left, self.colour, 0.6 * left * alpha[moves], glow))
