"""Flights through the roofline hall: keys of the first three roofs, and the camera that flies along them.

While rungs land the camera stands to the right of side-on and lower than the roof: on the frame the near rail then lies over
the towers, never across them. The last roof's keys are its own (`last_climb`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scenes.stage.camera import Camera
from scenes.stage.keys import Path, ramp

Key = tuple[float, Sequence[float]]  # beat; target x, y, z, distance, azimuth, elevation
FOV = 42.0

# Round to the side, from which both rails of the slope are one; the first tower is seen with the beam that is far above it.
ROOF_1: tuple[Key, ...] = (
    (0, (-9.56, -2.0, 1.3, 5.0, -46, 6)),
    (1.5, (-7.6, -1.4, 1.35, 9.5, -40, 6)),
    (4, (-0.9, 0.0, 3.0, 20.5, -26, 5)),
    (8, (0.0, 0.0, 3.4, 21.0, -14, 5)),
    (12, (0.4, 0.0, 3.4, 20.5, 2, 2)),
    (19, (0.0, 0.0, 4.2, 19.5, 14, -4)),
    (22, (-0.4, 0.0, 4.5, 16.8, 12, -2)),
    (26, (-0.45, 0.0, 4.7, 16.4, 15, -4)),
    (29.5, (-0.8, 0.0, 4.4, 15.4, 10, -4)),
    (31, (-3.0, 0.0, 2.6, 9.4, 9, 1)),
    (32, (-4.8, 0.0, 1.9, 5.6, 9, 3)),
)
# Round the towers from below, so that the roof is a plane over them and its near rail never comes before them.
ROOF_2: tuple[Key, ...] = (
    (0, (-3.4, 0.0, 2.4, 9.5, 8, 2)),
    (2, (-0.6, 0.0, 4.6, 17.5, 13, 0)),
    (4, (0.8, 0.0, 5.6, 19.0, 16, -4)),
    (9, (1.1, 0.0, 5.9, 17.8, 22, -7)),
    (14, (1.2, 0.0, 6.0, 17.2, 16, -7)),
    (18, (1.6, 0.0, 5.9, 16.4, 8, -6)),
    (23, (1.9, 0.0, 5.8, 16.4, 3, -5)),
    (28, (2.2, 0.0, 5.3, 19.2, 14, -3)),
    (31, (2.4, 0.0, 4.9, 13.5, 10, 1)),
    (32, (2.6, 0.0, 5.0, 9.0, 7, 4)),
)
# Close to the towers whose registers are opened; the wall of sums hangs to the right of them.
ROOF_3: tuple[Key, ...] = (
    (0, (1.8, 0.0, 4.4, 9.5, 22, 4)),
    (2, (2.2, 0.0, 5.2, 15.5, 20, -2)),
    (4, (2.9, 0.0, 6.0, 15.8, 18, -5)),
    (11, (3.4, 0.0, 5.6, 13.8, 6, -1)),
    (18, (3.7, 0.0, 5.65, 13.3, 14, -2)),
    (22, (3.2, 0.0, 5.9, 15.4, 18, -5)),
    (25, (4.6, 0.0, 6.0, 14.0, 14, -5)),
    (30, (4.8, 0.0, 5.8, 13.6, 2, -3)),
    (32, (4.4, 0.0, 5.8, 7.5, 2, 4)),
)


def flight(path: Sequence[Key], aside: tuple[float, float, float], begin: float, end: float) -> Callable[[float], Camera]:
    """The keyed camera; from beat `begin` to `end` it looks left and up of its target, from further back: `aside`."""
    keyed, (left, up, back) = Path(path), aside

    def camera(beat: float) -> Camera:
        x, y, z, distance, azimuth, elevation = keyed(beat)
        away = ramp(beat, begin, 4.0) * (1.0 - ramp(beat, end, 2.0))
        return Camera.orbit((x - left * away, y, z + up * away), distance + back * away, azimuth, elevation, FOV)

    return camera
