"""What a transition does to the cameras on both sides of its cut: the travel that the picture's own effect rides on.

Only what is safe in any scene: the eye turns in place, the lens changes, and a dolly never passes what the camera looks at.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from scenes.stage.camera import Camera
from scenes.stage.keys import quicken
from scenes.stage.transitions.cut import Cut

YAW = 24.0  # degrees that a quick whip turns on each side of its cut
WIDEST = 96.0  # degrees of a lens
NEAREST = 0.12  # share of the distance to the target that a dolly leaves
# dolly towards the target, gain of focal length (log), roll in degrees: before the cut, and left to settle after it
LEAVING = {"dive": (0.42, 0.62, 3.0), "shatter": (0.10, 0.10, -1.5), "streak": (0.22, 0.25, 0.0), "iris": (0.06, 0.10, 5.0)}
ENTERING = {"dive": (0.0, -0.42, -3.0), "shatter": (0.0, -0.22, 2.0), "streak": (0.0, -0.26, 0.0), "iris": (0.0, -0.16, -6.0)}


def leave(cut: Cut, camera: Camera, u: float) -> Camera:
    """The outgoing passage's camera, `u` 0..1 from the transition's start to the cut."""
    return _moved(cut, camera, quicken(u), LEAVING, 1.0)


def enter(cut: Cut, camera: Camera, v: float) -> Camera:
    """The incoming passage's camera, `v` 0..1 from the cut to the transition's end: the same motion, coming to rest."""
    return _moved(cut, camera, quicken(1.0 - v), ENTERING, -1.0)


def _moved(cut: Cut, camera: Camera, amount: float, table: dict[str, tuple[float, float, float]], side: float) -> Camera:
    amount *= cut.travel
    if amount <= 0.0:
        return camera
    if cut.kind == "whip":
        turn = YAW * amount * (1.0 if math.cos(math.radians(cut.heading)) >= 0.0 else -1.0)
        return yawed(camera, side * turn)
    dolly, lens, roll = (value * amount for value in table.get(cut.kind, (0.0, 0.0, 0.0)))
    return rolled(zoomed(dollied(camera, dolly), lens), roll)


def yawed(camera: Camera, degrees: float) -> Camera:
    """Turned on the spot to the right."""
    a = math.radians(-degrees)
    x, y, z = np.subtract(camera.target, camera.eye)
    look = (x * math.cos(a) - y * math.sin(a), x * math.sin(a) + y * math.cos(a), z)
    ex, ey, ez = camera.eye
    return replace(camera, target=(ex + look[0], ey + look[1], ez + look[2]))


def dollied(camera: Camera, share: float) -> Camera:
    """Nearer to its target by a share of the distance; never nearer than NEAREST of it."""
    kept = max(NEAREST, 1.0 - share)
    x, y, z = (t + (e - t) * kept for e, t in zip(camera.eye, camera.target, strict=True))
    return replace(camera, eye=(x, y, z))


def zoomed(camera: Camera, gain: float) -> Camera:
    """With e^gain times the focal length, at most as wide as WIDEST."""
    half = math.tan(math.radians(camera.fov / 2)) * math.exp(-gain)
    return replace(camera, fov=min(2.0 * math.degrees(math.atan(half)), max(WIDEST, camera.fov)))


def rolled(camera: Camera, degrees: float) -> Camera:
    return replace(camera, roll=camera.roll + degrees)
