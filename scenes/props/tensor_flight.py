"""The camera of the tensor cores' passage: close to one warp and its tiles, then back to the whole hall."""

from __future__ import annotations

from collections.abc import Callable

from scenes.stage.camera import Camera
from scenes.stage.keys import Path


def flight(x: float, top: float, deep: bool, hall: bool, tower: bool, library: bool) -> Callable[[float], Camera]:
    """Close to the warp and its tiles at `x`; on bar 4 back to the whole hall under both beams; up along the tower to `top`.

    `deep`: the floor of sums is a deeper one; without a `hall` there is nothing to pull back to, without a `tower` the hall
    alone is what there is to see, and where a `library` is known its line lies above the beam.
    """
    aside, over, far = 0.0 if tower else 2.0, float(library), 1.14 if deep else 1.0
    wide = 6.9  # the whole row of lanes, and B's name clear of the words
    far_off = 21.5 - aside + 2.5 * over, 18.5 + 0.25 * aside + 3.5 * over
    keys: list[tuple[float, tuple[float, ...]]] = [
        (0, (x - 1.2, -0.5, 0.86, wide + 0.1, 4, 12)),
        (3.5, (x - 1.2, -0.5, 0.92, wide, 10, 14)),
        (6, (x - 0.25, -0.5, 0.86, 5.3 * far, 20, 16)),
        (8, (x + 0.15, -0.6, 0.52, 5.7 * far, 23, 18)),
        (10.5, (x + 0.15, -0.6, 0.6, 5.6 * far, 16, 17)),
        (12, (x - 0.6, 0.0, 1.3, 7.8, 4, 15)),
        (13.8, (x - 3.0 + 1.4 * aside, 0.0, 6.0 - 1.45 * aside, 21.0 - aside, -14, 7 + 2 * aside)),
        (18, (x - 2.0 + 1.2 * aside, 0.0, 7.6 - 2.15 * aside + 0.8 * over, far_off[0], -26 + 7 * aside, 5 + 3.5 * aside)),
        (22, (x - 1.0 + 0.8 * aside, 0.0, 8.0 - 2.35 * aside + 0.8 * over, far_off[1], -34 + 9 * aside, 4 + 5.0 * aside)),
        (24, (x + 0.7 + 0.8 * aside, 0.0, top - 2.1 * aside, 10.5 + aside, -38 + 12 * aside, 3 + 7 * aside)),
    ]
    if not hall:  # no hall to pull back to: once around the sums
        keys = [*keys[:5], (16, (x, -0.5, 0.66, 5.6 * far, -8, 20)), (24, (x, -0.4, 0.6, 5.0 * far, -26, 24))]
    path = Path(keys)

    def camera(beat: float) -> Camera:
        tx, ty, tz, distance, azimuth, elevation = path(beat)
        return Camera.orbit((tx, ty, tz), distance, azimuth, elevation, 40.0)

    return camera
