"""Flights through the roofline hall: keys of the four roofs, and the camera that flies along them.

While rungs land the camera stands to the right of side-on and about as high as the roof: on the frame the near rail then lies
over the towers, never across them.
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
# Close and from the side, up with each landing: the beam comes into the frame from above; then back, to the whole ladder.
ROOF_4: tuple[Key, ...] = (
    (0, (3.0, 0.0, 5.0, 9.5, 20, 3)),
    (3, (3.6, 0.0, 5.5, 13.8, 17, 0)),
    (6, (4.0, 0.0, 5.75, 12.4, 19, 0)),
    (7, (4.2, 0.0, 5.9, 11.6, 25, 0)),
    (8, (4.4, 0.0, 6.0, 10.8, 19, 0)),
    (12, (4.6, 0.0, 6.05, 10.4, 13, 0)),
    (14.4, (4.8, 0.0, 6.1, 10.0, 13, 0)),
    (16.2, (-0.4, 0.0, 4.6, 18.6, 14, 1)),
    (19, (0.2, 0.0, 4.8, 17.8, 16, 1)),
    (22, (1.4, 0.0, 4.9, 17.0, 12, 1)),
    (25, (4.6, 0.0, 6.05, 10.4, 13, 0)),
    (28, (5.3, 0.0, 6.35, 9.2, 10, 0)),
    (28.6, (5.2, 0.0, 6.3, 9.4, 10, 0)),
    (30.6, (1.6, 0.0, 5.0, 16.8, 11, 2)),
    (32, (2.4, 0.0, 5.4, 15.0, 14, 5)),
)
# One rung is new: from it along the roof to where the ladder began, and back to what is left under the beam.
ROOF_4_ONE: tuple[Key, ...] = (
    (0, (3.0, 0.0, 5.0, 9.5, 20, 3)),
    (3, (2.6, 0.0, 5.5, 13.8, 17, 0)),
    (6, (4.2, 0.0, 5.95, 11.4, 14, 0)),
    (9, (4.6, 0.0, 6.1, 10.2, 10, 0)),
    (14, (4.2, 0.0, 6.1, 11.0, 15, 0)),
    (16.2, (0.2, 0.0, 5.1, 17.6, 10, 1)),
    (19, (-0.2, 0.0, 5.0, 18.2, 14, 1)),
    (22, (0.4, 0.0, 5.1, 17.2, 11, 1)),
    (25, (3.8, 0.0, 6.1, 11.4, 12, 0)),
    (27.4, (4.6, 0.0, 6.3, 10.2, 8, 0)),
    (28.4, (4.5, 0.0, 6.25, 10.4, 8, 0)),
    (30.6, (0.2, 0.0, 5.1, 17.0, 11, 2)),
    (32, (1.4, 0.0, 5.4, 15.0, 14, 4)),
)

# A ladder far under the beam, to which no zoom comes near, or without a new rung: seen whole.
ROOF_4_FAR: tuple[Key, ...] = (
    (0, (3.0, 0.0, 5.0, 9.5, 20, 3)),
    (3, (0.4, 0.0, 4.7, 18.4, 14, 1)),
    (8, (1.0, 0.0, 4.8, 17.2, 14, 1)),
    (14, (1.4, 0.0, 4.9, 16.4, 8, 1)),
    (16.2, (0.2, 0.0, 4.8, 18.0, 12, 1)),
    (19, (0.4, 0.0, 4.8, 17.6, 15, 1)),
    (22, (1.0, 0.0, 4.85, 17.0, 11, 1)),
    (28, (1.6, 0.0, 4.95, 16.0, 6, 1)),
    (28.6, (1.5, 0.0, 4.95, 16.1, 6, 1)),
    *ROOF_4[-2:],
)
NEAR = 2.0  # a zoom from which on the last rungs and the beam fill the frame


def last_path(rungs: int, zoom: float) -> Sequence[Key]:
    """The last roof's keys for a number of new rungs and the zoom that brings them near the beam."""
    if zoom < NEAR:
        return ROOF_4_FAR
    return ROOF_4 if rungs > 1 else ROOF_4_ONE


def flight(path: Sequence[Key], aside: tuple[float, float, float], begin: float, end: float) -> Callable[[float], Camera]:
    """The keyed camera; from beat `begin` to `end` it looks left and up of its target, from further back: `aside`."""
    keyed, (left, up, back) = Path(path), aside

    def camera(beat: float) -> Camera:
        x, y, z, distance, azimuth, elevation = keyed(beat)
        away = ramp(beat, begin, 4.0) * (1.0 - ramp(beat, end, 2.0))
        return Camera.orbit((x - left * away, y, z + up * away), distance + back * away, azimuth, elevation, FOV)

    return camera
