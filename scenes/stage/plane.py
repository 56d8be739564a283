"""Text that stands in the world: written once into a mip-mapped texture, drawn in perspective among the other things."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from scenes.stage import ink
from scenes.stage import records as r
from scenes.stage.camera import Camera
from scenes.stage.claims import Figure
from scenes.stage.jit import Array
from scenes.stage.type import Align, Style, load_font

Vector = tuple[float, float, float]
EM = 130  # px of the texture: a fixed-pitch letter is then 78 px wide exactly, a capital 95 high
GRAZE = 0.10  # cosine of the view below which a plane fades: it must not pop when the camera passes its edge
VISIBLE = 0.05  # opacity below which a figure on a plane is no claim
LEAST_LIGHT = 0.6  # share of its colour that ink without light keeps: it is there to be read


class PlaneError(ValueError):
    """A text plane without a height or with directions that do not span a plane."""


@dataclass(frozen=True, slots=True)
class TextPlane:
    """A line of text on a plane of the world; it is seen from its front only.

    `at` is the left end, centre or right end of its baseline (`align`), `along` the direction of reading, `up` that of the
    letters, `height` that of a capital in world units. `emission` 0..1 is what bloom takes. A `figure` is logged as a claim.
    """

    text: str
    style: Style
    at: Vector
    along: Vector
    up: Vector
    height: float
    align: Align = "left"
    alpha: float = 1.0
    emission: float = 0.0
    figure: Figure | None = None

    def __post_init__(self) -> None:
        span = np.cross(self.along, self.up)
        if not (self.height > 0 and float(np.linalg.norm(span)) > 1e-6) or not np.isfinite([*self.at, *span]).all():
            raise PlaneError(
                f"text plane {self.text!r}: expected a height above 0 and two directions that span a plane, found height "
                f"{self.height:g}, along {self.along}, up {self.up}"
            )

    @classmethod
    def standing(
        cls, text: str, style: Style, at: Sequence[float], height: float, azimuth: float = 0.0, align: Align = "left"
    ) -> TextPlane:
        """Upright, facing an observer at `azimuth` degrees (see `Camera.orbit`)."""
        x, y, z = at
        a = math.radians(azimuth)
        return cls(text, style, (x, y, z), (math.cos(a), math.sin(a), 0.0), (0.0, 0.0, 1.0), height, align)

    @classmethod
    def lying(
        cls, text: str, style: Style, at: Sequence[float], height: float, azimuth: float = 0.0, align: Align = "left"
    ) -> TextPlane:
        """Flat on a floor or roof, read by an observer at `azimuth` degrees; `at` should be a hair above what it lies on."""
        x, y, z = at
        a = math.radians(azimuth)
        return cls(
            text, style, (x, y, z), (math.cos(a), math.sin(a), 0.0), (-math.sin(a), math.cos(a), 0.0), height, align
        )  # fmt: skip

    def shown(self, alpha: float, emission: float | None = None) -> TextPlane:
        """The same plane with another opacity (and glow)."""
        return replace(self, alpha=alpha, emission=self.emission if emission is None else emission)

    @property
    def width(self) -> float:
        """Advance width in world units."""
        texture = _texture(self.text, self.style.font)
        return texture.advance * self.height / texture.cap


@dataclass(frozen=True, slots=True)
class _Texture:
    """Coverage of a text with its mip levels one after another, then its map of cells, (n,) uint8; sizes in its px."""

    texels: NDArray[np.uint8]
    columns: int
    rows: int
    origin: tuple[float, float]
    advance: float
    cap: float


@functools.lru_cache(maxsize=512)
def _texture(text: str, font_name: str) -> _Texture:
    font = load_font(font_name, EM)
    ascent, descent = font.getmetrics()
    advance, unit, pad = max(1.0, font.getlength(text)), 2 ** (ink.LEVELS - 1), 24
    columns, rows = (-(-math.ceil(side + 2 * pad) // unit) * unit for side in (advance, ascent + descent))
    image = Image.new("L", (columns, rows), 0)
    ImageDraw.Draw(image).text((pad, pad), text, font=font, fill=255)
    level = np.asarray(image, np.float32)
    levels = [level]
    for _ in range(ink.LEVELS - 1):
        level = level.reshape(level.shape[0] // 2, 2, level.shape[1] // 2, 2).mean((1, 3))
        levels.append(level)
    inked = levels[0].reshape(rows // ink.CELL, ink.CELL, columns // ink.CELL, ink.CELL).max((1, 3)) > 0
    flat = np.concatenate([*(np.round(one).astype(np.uint8).ravel() for one in levels), inked.astype(np.uint8).ravel()])
    flat = np.concatenate([flat, np.zeros(-len(flat) % 64, np.uint8)])
    return _Texture(flat, columns, rows, (float(pad), float(pad + ascent)), advance, -float(font.getbbox("H", anchor="ls")[1]))


@functools.lru_cache(maxsize=16)
def _atlas(textures: tuple[tuple[str, str], ...]) -> NDArray[np.uint8]:
    """The texels of several textures one after another: the same array every frame while the same texts are shown."""
    return np.concatenate([_texture(*key).texels for key in textures])


@dataclass(frozen=True, slots=True)
class PlaneBatch:
    """Text planes of a frame, ready for the raster: draw records, corners in the world, bounds on the screen, texels."""

    rows: Array  # (M, records.SIZE)
    corners: Array  # (M, 4, 3)
    rect: Array  # (M, 4) px, empty where not seen
    texels: Array


NONE = PlaneBatch(ink.NO_ROWS, ink.NO_PLANES, np.empty((0, 4), np.float32), ink.NO_TEXELS)


def project_planes(
    planes: Sequence[TextPlane], matrix: Array, width: int, height: int, pool: tuple[float, float, float, float],
    fog: tuple[float, float, float],
) -> PlaneBatch:  # fmt: skip
    """Project planes for a frame of width x height px through a camera's `matrix` (see `Camera.matrix`).

    pool: the light's focus x, y, its radius and its ambient share; fog: start, 1 / length, most.
    """
    planes = [plane for plane in planes if plane.text and plane.alpha > 0.004]
    if not planes:
        return NONE
    keys = tuple(dict.fromkeys((plane.text, plane.style.font) for plane in planes))
    starts, total = {}, 0
    for key in keys:
        starts[key], total = total, total + len(_texture(*key).texels)
    count = len(planes)
    rows, corners = np.zeros((count, r.SIZE), np.float32), np.empty((count, 4, 3), np.float32)
    rect = np.tile(np.array([1, 1, 0, 0], np.float32), (count, 1))
    view, eye = matrix[:3, :3].astype(float), matrix[3, :3].astype(float)
    k, cx, cy, near = (float(v) for v in matrix[:, 3])
    lens = np.array([[k, 0.0, cx], [0.0, -k, cy], [0.0, 0.0, 1.0]])
    for i, plane in enumerate(planes):
        texture = _texture(plane.text, plane.style.font)
        along = np.asarray(plane.along, float) / np.linalg.norm(plane.along)
        up = np.asarray(plane.up, float) - along * float(along @ plane.up)
        up /= np.linalg.norm(up)
        scale = plane.height / texture.cap
        shift = {"left": 0.0, "centre": texture.advance / 2, "right": texture.advance}[plane.align]
        column, row = along * scale, -up * scale
        first = np.asarray(plane.at, float) - column * (texture.origin[0] + shift) - row * texture.origin[1]
        right, down = column * texture.columns, row * texture.rows
        corners[i] = first, first + right, first + right + down, first + down
        middle = first + right / 2 + down / 2
        sight = eye - middle
        facing = float(np.cross(along, up) @ sight) / (float(np.linalg.norm(sight)) + 1e-9)
        screen = (corners[i] - eye) @ view.T @ lens.T
        if facing <= 0.0 or (screen[:, 2] < near).all():
            continue
        bounds = np.array([0.0, 0.0, width, height])
        if (screen[:, 2] >= near).all():
            flat = screen[:, :2] / screen[:, 2:]
            bounds = np.array([*(flat.min(0) - 1), *(flat.max(0) + 1)])
        if bounds[2] < 0 or bounds[3] < 0 or bounds[0] > width or bounds[1] > height:
            continue
        rect[i] = bounds
        x0, y0 = np.clip((bounds[0] + bounds[2]) / 2, 0, width), np.clip((bounds[1] + bounds[3]) / 2, 0, height)
        forward = lens @ view @ np.column_stack([column, row, first - eye])
        inverse = np.linalg.inv(forward) @ np.array([[1.0, 0.0, x0], [0.0, 1.0, y0], [0.0, 0.0, 1.0]])
        out = rows[i]
        out[ink.INVERSE : ink.INVERSE + 9] = inverse.ravel()
        out[ink.START], out[ink.COLUMNS], out[ink.ROWS] = (
            starts[plane.text, plane.style.font] / 64,
            texture.columns,
            texture.rows,
        )
        out[ink.NEAR], out[r.X0], out[r.Y0] = near, x0, y0
        out[ink.FOG_START], out[ink.FOG_SCALE] = fog[0], fog[1]
        out[ink.FOG_MAX] = fog[2] * (1 - 0.6 * plane.emission)
        away = ((middle[0] - pool[0]) ** 2 + (middle[1] - pool[1]) ** 2) / pool[2] ** 2
        light = LEAST_LIGHT + (1 - LEAST_LIGHT) * max(plane.emission, pool[3] + (1 - pool[3]) / (1 + away))
        out[r.COLOR : r.COLOR + 3] = np.clip(np.asarray(plane.style.colour) * light, 0.0, 1.0) * 254.9
        turn = min(1.0, facing / GRAZE)
        out[r.ALPHA] = min(1.0, plane.alpha) * turn * turn * (3 - 2 * turn)
        out[r.EMISSION] = 255 * min(1.0, plane.emission)
        out[r.KIND], out[r.BOX : r.BOX + 4] = r.TEXT, bounds
    return PlaneBatch(rows, corners, rect, _atlas(keys))


def seen_figures(planes: Sequence[TextPlane], camera: Camera, width: int, height: int) -> list[Figure]:
    """The figures that stand in the picture: on planes that are neither faded nor turned away, their middle on the screen."""
    seen = []
    for plane in planes:
        if plane.figure is None or plane.alpha <= VISIBLE:
            continue
        along, up = np.asarray(plane.along, float), np.asarray(plane.up, float)
        share = {"left": 0.5, "centre": 0.0, "right": -0.5}[plane.align]
        middle = np.asarray(plane.at, float) + along / np.linalg.norm(along) * plane.width * share
        x, y, depth = camera.project(middle, width, height)[0]
        turned = float(np.cross(along, up) @ (np.asarray(camera.eye) - middle)) <= 0
        if depth > camera.near and 0 <= x <= width and 0 <= y <= height and not turned:
            seen.append(plane.figure)
    return seen
