"""How the roofline hall is fitted to a frame: a zoom of its vertical scale, and light that goes out before it meets words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
View = Callable[[float, Floats], Floats]  # beat, points (N, 3) -> design pixels and depth (N, 3)
FADE = (758.0, 846.0)  # design pixels down the frame: whole above the first, gone below the second, where the lyric stands


def plain(beat: float) -> float:
    """No zoom at any beat."""
    return 1.0


@dataclass(frozen=True, slots=True)
class Lens:
    """Zooms a logarithmic scale of heights about its top: what it shows is still a logarithmic scale, of fewer decades.

    `floor` and `top` are world heights; `magnify` is the zoom at a beat, 1 for none. What sinks below the floor stays on it.
    """

    floor: float
    top: float
    magnify: Callable[[float], float] = plain

    def __call__(self, z: float, beat: float) -> float:
        """Where a height stands at a beat."""
        return max(self.floor, self.top - (self.top - z) * self.magnify(beat))

    def lowest(self, beat: float) -> float:
        """The height, without zoom, that stands on the floor at a beat."""
        return self.top - (self.top - self.floor) / self.magnify(beat)


def above_the_words(view: View | None, points: Floats, beat: float) -> Floats:
    """(N,) 1 for points (N, 3) that are seen above the lyric line, 0 for those at it or below, smooth between."""
    if view is None:
        return np.ones(len(points))
    seen = view(beat, points)
    u = np.clip((FADE[1] - seen[:, 1]) / (FADE[1] - FADE[0]), 0.0, 1.0)
    return np.where(seen[:, 2] > 0.3, u * u * (3.0 - 2.0 * u), 0.0)
