"""Trails: the way that something has just come, as a ribbon of light that thins out behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scenes.stage.overlay import Value, value_at
from scenes.stage.palette import Colour, mix
from scenes.stage.world import Ribbons, World

Floats = NDArray[np.float64]
Curve = Callable[[Floats], Floats]  # beats (N,) -> points (N, 3)
BENT = 0.06  # of a ribbon's width: pieces overlap by so much that no gap opens outside of a bend
SOLID = 0.55  # of a trail's length is opaque: there the overlap of two pieces cannot be seen
LEAST = 1e-5  # world units: shorter pieces are left out


@dataclass(frozen=True, slots=True)
class Trail:
    """Behind a point that moves as `curve`: where it was in the last `reach` beats, `width` world units wide at the head.

    It thins out to `thin` of its width, and its older half fades; the head is whitened by `heat`. A `floor` trail lies on the
    ground, beneath everything that stands there. It is the same at a beat whatever was drawn before.
    """

    curve: Curve
    colour: Colour
    width: float = 0.12
    reach: Value = 2.0
    pieces: int = 88
    thin: float = 0.1
    heat: float = 0.35
    emission: float = 0.8
    shown: Value = 1.0
    floor: bool = False

    def points(self, beat: float) -> Floats:
        """(pieces + 1, 3) from the head back to the tail's end."""
        return self.curve(beat - value_at(self.reach, beat) * np.linspace(0.0, 1.0, self.pieces + 1))

    def draw(self, world: World, beat: float) -> None:
        shown = value_at(self.shown, beat)
        if shown <= 0.004 or value_at(self.reach, beat) <= 0.0:
            return
        points = self.points(beat)
        age = (np.arange(self.pieces) + 0.5) / self.pieces
        left = 1.0 - age
        width = self.width * (self.thin + (1.0 - self.thin) * left)
        a, b = points[:-1], points[1:]
        long = np.linalg.norm(b - a, axis=1)
        there = long > LEAST
        if not there.any():
            return
        reach = np.minimum(BENT * width, 0.5 * long)[:, None] * (b - a) / np.maximum(long, LEAST)[:, None]
        head = np.exp(-age / 0.12)[:, None]
        colour = np.array(self.colour) + (np.array(mix(self.colour, (1.0, 1.0, 1.0), self.heat)) - self.colour) * head
        alpha = shown * np.clip(left / (1.0 - SOLID), 0.0, 1.0)
        light = self.emission * (0.25 + 0.75 * left)
        start, end = (a - reach)[there], (b + reach)[there]
        world.add(Ribbons.of(start, end, width[there], colour[there], alpha[there], light[there], self.floor))
