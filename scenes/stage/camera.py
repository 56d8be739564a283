"""A perspective camera. Pixel (0, 0) is the corner of the frame's top left pixel, whose centre is (0.5, 0.5)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Camera:
    """Looks from `eye` to `target`; `fov` is the vertical field of view and `roll` turns the picture clockwise, in degrees."""

    eye: Point
    target: Point
    fov: float = 32.0
    near: float = 0.3
    roll: float = 0.0

    @classmethod
    def orbit(
        cls,
        target: ArrayLike,
        distance: float,
        azimuth: float,
        elevation: float,
        fov: float = 32.0,
        roll: float = 0.0,
        near: float = 0.3,
    ) -> Camera:
        """Camera at `distance` from `target`; azimuth 0 looks along +y, growing azimuth moves the eye to +x; degrees."""
        x, y, z = (float(v) for v in np.asarray(target, np.float64))
        a, e = math.radians(azimuth), math.radians(elevation)
        eye = (
            x + distance * math.cos(e) * math.sin(a),
            y - distance * math.cos(e) * math.cos(a),
            z + distance * math.sin(e),
        )
        return cls(eye, (x, y, z), fov, near, roll)

    def axes(self) -> NDArray[np.float64]:
        """(3, 3) rows right, up and forward, orthonormal, read-only. Raises ValueError where eye and target coincide."""
        return _axes(tuple(map(float, self.eye)), tuple(map(float, self.target)), float(self.roll))

    def matrix(self, width: int, height: int) -> NDArray[np.float32]:
        """(4, 4): rows right, up, forward, eye; last column focal length in px, centre x, centre y, near distance."""
        m = np.zeros((4, 4), np.float32)
        m[:3, :3] = self.axes()
        m[3, :3] = self.eye
        m[:, 3] = (height / 2 / math.tan(math.radians(self.fov / 2)), width / 2, height / 2, self.near)
        return m

    def project(self, points: ArrayLike, width: int, height: int) -> NDArray[np.float64]:
        """(N, 3) world points -> (N, 3): x px, y px (down), depth along the view. Where depth <= near, x and y mean nothing."""
        p = np.atleast_2d(np.asarray(points, np.float64)) - np.asarray(self.eye, np.float64)
        view = p @ self.axes().T
        depth = view[:, 2]
        scale = height / 2 / math.tan(math.radians(self.fov / 2)) / np.where(np.abs(depth) < 1e-9, 1e-9, depth)
        return np.column_stack([width / 2 + view[:, 0] * scale, height / 2 - view[:, 1] * scale, depth])


@functools.lru_cache(maxsize=64)
def _axes(eye: tuple[float, ...], target: tuple[float, ...], turn: float) -> NDArray[np.float64]:
    """`Camera.axes`, worked out once a frame and not once a label."""
    forward = np.subtract(target, eye)
    length = float(np.linalg.norm(forward))
    if not length > 0 or not math.isfinite(length):
        raise ValueError(f"camera: eye {eye} and target {target} must be finite and differ")
    forward /= length
    side = np.cross(forward, (0.0, 0.0, 1.0))
    flat = float(np.linalg.norm(side))
    right = side / flat if flat > 1e-9 else np.array([1.0, 0.0, 0.0])  # straight up or down: x stays to the right
    up = np.cross(right, forward)
    c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    axes = np.array([c * right + s * up, c * up - s * right, forward])
    axes.flags.writeable = False
    return axes
