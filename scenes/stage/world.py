"""What the stage shows in one frame: batches of boxes, ribbons and sprites, the light, the fog and the ground.

World axes: x right, y away from an observer at azimuth 0, z up; units are free. Colours are sRGB in 0..1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scenes.stage.plane import TextPlane

Float32 = NDArray[np.float32]
Rgb = tuple[float, float, float]

GROUND_COLOR: Rgb = (5 / 255, 7 / 255, 13 / 255)
HORIZON_COLOR: Rgb = (27 / 255, 40 / 255, 66 / 255)


class WorldError(ValueError):
    """An array of a batch has a shape or a value that cannot be drawn."""


def _column(name: str, value: ArrayLike, n: int, width: int = 0) -> Float32:
    """Broadcast `value` to contiguous float32 (n,) or (n, width); raise WorldError for shape or NaN."""
    array = np.asarray(value, np.float32)
    shape = (n, width) if width else (n,)
    try:
        array = np.require(np.broadcast_to(array, shape), requirements=["C", "W"])  # one memory layout: kernels compile once
    except ValueError:
        raise WorldError(f"{name}: expected an array that broadcasts to {shape}, found shape {array.shape}") from None
    if not np.isfinite(array).all():
        raise WorldError(f"{name}: every value must be finite, found NaN or infinity")
    return array


def _points(name: str, value: ArrayLike) -> Float32:
    """(N, 3) float32 from (N, 3), (3,) or an empty list."""
    array = np.asarray(value, np.float32)
    if array.size == 0:
        array = array.reshape(0, 3)
    if array.ndim == 1:
        array = array[None]
    if array.ndim != 2 or array.shape[1] != 3:
        raise WorldError(f"{name}: expected points of shape (N, 3), found shape {array.shape}")
    return _column(name, array, len(array), 3)


@dataclass(frozen=True, slots=True)
class Boxes:
    """N axis-aligned boxes. Boxes of one world are disjoint; they may touch. Slight overlap is drawn by least penetration."""

    origin: Float32  # (N, 3) corner of least x, y, z
    size: Float32  # (N, 3)
    color: Float32  # (N, 3)
    emission: Float32  # (N,) 0 = lit only, 1 = glows
    edge: Float32  # (N,) strength of the edge light
    shadow: Float32  # (N,) strength of the contact shadow, 0..1
    alpha: Float32  # (N,)

    @classmethod
    def of(
        cls,
        origin: ArrayLike,
        size: ArrayLike,
        color: ArrayLike,
        emission: ArrayLike = 0.0,
        edge: ArrayLike = 0.5,
        shadow: ArrayLike = True,
        alpha: ArrayLike = 1.0,
    ) -> Boxes:
        """`origin` (N, 3) is the least corner, `size` (N, 3) or (3,); other values (N,) or one for all. Raises WorldError."""
        o = _points("boxes.origin", origin)
        n = len(o)
        return cls(
            o,
            _column("boxes.size", size, n, 3),
            _column("boxes.color", color, n, 3),
            _column("boxes.emission", emission, n),
            _column("boxes.edge", edge, n),
            _column("boxes.shadow", shadow, n),
            _column("boxes.alpha", alpha, n),
        )


@dataclass(frozen=True, slots=True)
class Ribbons:
    """N straight segments that face the camera, `width` in world units."""

    a: Float32  # (N, 3)
    b: Float32  # (N, 3)
    width: Float32  # (N,)
    color: Float32  # (N, 3)
    alpha: Float32  # (N,)
    emission: Float32  # (N,)
    floor: NDArray[np.bool_]  # (N,) lies on the ground: drawn before everything that stands on it

    @classmethod
    def of(
        cls,
        a: ArrayLike,
        b: ArrayLike,
        width: ArrayLike,
        color: ArrayLike,
        alpha: ArrayLike = 1.0,
        emission: ArrayLike = 0.0,
        floor: ArrayLike = False,
    ) -> Ribbons:
        """Segments a[i] -> b[i], both (N, 3); every other value (N,) or one for all. Raises WorldError."""
        start = _points("ribbons.a", a)
        n = len(start)
        return cls(
            start,
            _column("ribbons.b", _points("ribbons.b", b), n, 3),
            _column("ribbons.width", width, n),
            _column("ribbons.color", color, n, 3),
            _column("ribbons.alpha", alpha, n),
            _column("ribbons.emission", emission, n),
            np.require(np.broadcast_to(np.asarray(floor, np.bool_), (n,)), requirements=["C", "W"]),
        )


@dataclass(frozen=True, slots=True)
class Sprites:
    """N round glowing points, `radius` in world units."""

    position: Float32  # (N, 3)
    radius: Float32  # (N,)
    color: Float32  # (N, 3)
    emission: Float32  # (N,)

    @classmethod
    def of(cls, position: ArrayLike, radius: ArrayLike, color: ArrayLike, emission: ArrayLike = 1.0) -> Sprites:
        """`position` (N, 3); every other value (N,) or one for all. Raises WorldError."""
        p = _points("sprites.position", position)
        n = len(p)
        return cls(
            p,
            _column("sprites.radius", radius, n),
            _column("sprites.color", color, n, 3),
            _column("sprites.emission", emission, n),
        )


Batch = TypeVar("Batch", Boxes, Ribbons, Sprites)


@dataclass(frozen=True, slots=True)
class Light:
    """A pool of light from above; `face` holds the share of it that the faces -y, +x, +y, -x, +z, -z receive."""

    focus: tuple[float, float] = (0.0, 0.0)
    radius: float = 9.0  # world units at which the pool has fallen to half
    ambient: float = 0.34  # share left far away from the pool
    occlusion: float = 0.45  # light at the foot of a side face, 1 = none lost
    face: tuple[float, float, float, float, float, float] = (0.60, 0.40, 0.34, 0.47, 1.0, 0.16)
    shadow: float = 0.8  # darkest contact shadow
    spill: float = 0.5  # light that glowing boxes throw on what they stand on
    sheen: float = 0.16  # white sheen of surfaces seen at a low angle
    bloom: float = 1.0


@dataclass(frozen=True, slots=True)
class Fog:
    """Everything fades to `color` between the distances `start` and `end` (world units), at most by `max`."""

    start: float = 16.0
    end: float = 42.0
    max: float = 0.92
    color: Rgb = HORIZON_COLOR


@dataclass(frozen=True, slots=True)
class Ground:
    """The floor z = level, fading into the horizon. `extent` limits the grid's reach from the light's focus."""

    level: float = 0.0
    spacing: float = 1.0
    extent: float = 60.0
    line_alpha: float = 0.26
    line_color: Rgb = (0.42, 0.53, 0.70)
    reflect: float = 0.5  # 0 = matt
    horizon: Rgb = HORIZON_COLOR
    color: Rgb = GROUND_COLOR


@dataclass(slots=True)
class World:
    """One frame's content. `add` any number of batches; `ground=None` leaves only the backdrop."""

    light: Light = field(default_factory=Light)
    fog: Fog = field(default_factory=Fog)
    ground: Ground | None = field(default_factory=Ground)
    boxes: list[Boxes] = field(default_factory=list)
    ribbons: list[Ribbons] = field(default_factory=list)
    sprites: list[Sprites] = field(default_factory=list)
    planes: list[TextPlane] = field(default_factory=list)

    def add(self, batch: Boxes | Ribbons | Sprites | TextPlane) -> None:
        """Show `batch` too. Raises TypeError for anything that is not a batch."""
        match batch:
            case Boxes():
                self.boxes.append(batch)
            case Ribbons():
                self.ribbons.append(batch)
            case Sprites():
                self.sprites.append(batch)
            case TextPlane():
                self.planes.append(batch)
            case _:
                raise TypeError(f"World.add: expected Boxes, Ribbons, Sprites or TextPlane, found {type(batch).__name__}")

    def all_boxes(self) -> Boxes:
        """All boxes as one batch, in the order they were added."""
        return _joined(Boxes, self.boxes) if self.boxes else Boxes.of([], (0, 0, 0), (0, 0, 0))

    def all_ribbons(self) -> Ribbons:
        """All ribbons as one batch, those on the floor first."""
        if not self.ribbons:
            return Ribbons.of([], [], 0.0, (0, 0, 0))
        joined = _joined(Ribbons, self.ribbons)
        if not joined.floor.any():
            return joined
        first = np.argsort(~joined.floor, kind="stable")
        return replace(joined, **{part.name: getattr(joined, part.name)[first] for part in fields(Ribbons)})

    def all_sprites(self) -> Sprites:
        """All sprites as one batch."""
        return _joined(Sprites, self.sprites) if self.sprites else Sprites.of([], 0.0, (0, 0, 0))


def _joined(kind: type[Batch], batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    return kind(*(np.concatenate([getattr(b, part.name) for b in batches]) for part in fields(kind)))
