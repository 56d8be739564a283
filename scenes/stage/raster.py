"""Draws a World through a Camera into a frame, on one thread and with the same bytes every time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from scenes.stage import bloom, compose, ground
from scenes.stage import build as b
from scenes.stage import records as r
from scenes.stage.assemble import assemble, ribbon_bounds, sprite_bounds
from scenes.stage.build import project_boxes
from scenes.stage.camera import Camera
from scenes.stage.contact import NOWHERE, emit_on_ground, find_supports, hidden_by_support
from scenes.stage.grid import draw_grid
from scenes.stage.ink import NO_TEXELS
from scenes.stage.jit import Array, aligned, f4
from scenes.stage.order import painters_order
from scenes.stage.pixels import draw, find_cover
from scenes.stage.plane import NONE as NO_PLANES
from scenes.stage.plane import PlaneBatch, project_planes
from scenes.stage.world import GROUND_COLOR, Boxes, Ground, Ribbons, Sprites, World

SCALE = 4  # the smooth layers are this much smaller each way
MIRROR_FADE = 0.3  # height at which the mirror image has faded to 1/e, in radii of the light
FULL = np.float32(254.9)  # brightest colour: rounding up by the noise must not overflow a byte
STEPS = ("build", "ground", "draw", "bloom", "finish")

Listener = Callable[[str], None]


def _silent(step: str) -> None:
    """Nobody listens to the steps."""


class Queue:
    """Room for draw records, grown when needed."""

    def __init__(self) -> None:
        self.rows = aligned((1024, r.SIZE), np.float32)

    def room(self, count: int) -> Array:
        if len(self.rows) < count:
            self.rows = aligned((count + count // 2, r.SIZE), np.float32)
        return self.rows


class Raster:
    """Frames of one size. `flat` leaves out light, edges, shadows, glow and noise: plain faces on a plain ground."""

    def __init__(self, width: int, height: int, flat: bool = False) -> None:
        if width < 16 or height < 16:
            raise ValueError(f"raster: expected a frame of at least 16 x 16 pixels, found {width} x {height}")
        self.width, self.height, self.flat = width, height, flat
        self.unresolved = 0  # rings that the last frame's order had to break
        wide, tall = -(-width // 16) * 16, -(-height // 16) * 16
        self._px = aligned((tall // 4, 4 * wide), np.uint32)  # blocks of 4 x 4, see `pixels`
        self._cover = np.zeros((tall // 4, 2), np.int64)
        self._light, self._light_scratch, self._layer = (np.zeros((3, tall // 4, wide // 4), np.float32) for _ in range(3))
        self._far, self._far_scratch = (np.zeros((3, tall // 16, wide // 16), np.float32) for _ in range(2))
        self._first, self._last = np.zeros(tall // 4, np.int64), np.zeros(tall // 4, np.int64)
        self._weight = np.zeros((tall // 4, wide // 4), np.float32)
        self._mirror_scratch = np.zeros((2, tall // 4, wide // 4), np.float32)
        self._small = aligned((tall // 16, wide), np.uint32)
        self._queue, self._side = Queue(), Queue()
        tile = ground.blue_noise() if not flat else np.full((32, 32), 0.5, np.float32)
        self._noise = aligned((32, wide), np.float32)
        self._noise[:] = np.tile(tile, (1, -(-wide // 32)))[:, :wide]
        self._noise_blocks = np.ascontiguousarray(tile.reshape(8, 4, 8, 4).swapaxes(1, 2)).reshape(8, 128)
        unit = height / 1080
        self._tight = bloom.gaussian(bloom.SIGMA_TIGHT * unit / 4)
        self._wide = bloom.gaussian(bloom.SIGMA_WIDE * unit / 16)

    def render(self, world: World, camera: Camera, out: NDArray[np.uint32], tick: Listener = _silent) -> NDArray[np.uint32]:
        """Paint every pixel of `out`, an (H, W) uint32 view of RGBA bytes; returns it. `tick` hears the name of each step done.

        Raises ValueError where `out` has another size or type.
        """
        if out.shape != (self.height, self.width) or out.dtype != np.uint32:
            raise ValueError(f"raster: expected uint32 {(self.height, self.width)}, found {out.dtype} {out.shape}")
        boxes = world.all_boxes()
        matrix = camera.matrix(self.width, self.height)
        light = self._light_vector(world)
        support, gap = self._supports(world, boxes)
        shade, spill = (0.0, 0.0) if self.flat else (world.light.shadow, world.light.spill)
        size = (float(self.width), float(self.height))
        pool = (*world.light.focus, world.light.radius, world.light.ambient)
        mist = (world.fog.start, float(light[b.FOG_SCALE]), float(light[b.FOG_MAX]))
        planes = project_planes(world.planes, matrix, self.width, self.height, pool, mist)
        count, self.unresolved = _build(
            self._queue,
            size,
            boxes,
            world.all_ribbons(),
            world.all_sprites(),
            planes,
            support,
            gap,
            matrix,
            light,
            shade,
            spill,
        )
        tick("build")
        if self.flat:
            color = [round(c * 255) for c in (world.ground.color if world.ground else GROUND_COLOR)]
            self._px[:] = color[0] | color[1] << 8 | color[2] << 16
        else:
            self._paint_ground(world, boxes, support, gap, matrix, light, count)
        tick("ground")
        draw(self._px, self._queue.rows, count, self._noise_blocks, np.array(world.fog.color, np.float32) * FULL, planes.texels)
        tick("draw")
        lit = NOTHING_LIT
        if world.light.bloom > 0 and not self.flat:
            lit = bloom.gather_emission(self._px, self._light, self._queue.rows, count)
        if lit[0] < lit[1]:
            bloom.spread(
                self._light, self._far, self._light_scratch, self._far_scratch, self._tight, self._wide, lit,
                f4(world.light.bloom), self._first, self._last,
            )  # fmt: skip
        else:
            self._first[:], self._last[:] = self.width, -1
        tick("bloom")
        compose.finish(self._px, self._light, self._first, self._last, out, self._noise)
        tick("finish")
        return out

    def _light_vector(self, world: World) -> Array:
        v = np.zeros(b.LIGHTS, np.float32)
        light, fog = world.light, world.fog
        v[b.FOCUS_X], v[b.FOCUS_Y] = light.focus
        v[b.POOL], v[b.AMBIENT], v[b.FOOT], v[b.SHEEN] = 1 / light.radius**2, light.ambient, light.occlusion, light.sheen
        v[b.FOG_START], v[b.FOG_SCALE] = fog.start, 1 / max(fog.end - fog.start, 1e-3)
        v[b.FOG_MAX] = 0.0 if self.flat else fog.max
        v[b.RADIUS_OF_LIGHT], v[b.PLAIN] = light.radius, self.flat
        v[b.FACE_LIGHT :] = light.face
        return v

    def _supports(self, world: World, boxes: Boxes) -> tuple[Array, Array]:
        support, gap = np.full(len(boxes.origin), NOWHERE, np.int64), np.zeros(len(boxes.origin), np.float32)
        if not self.flat:
            level = world.ground.level if world.ground else 0.0
            find_supports(boxes.origin, boxes.size, boxes.shadow, world.ground is not None, f4(level), support, gap)
        return support, gap

    def _paint_ground(
        self, world: World, boxes: Boxes, support: Array, gap: Array, matrix: Array, light: Array, count: int
    ) -> None:
        """Fill the work buffer with floor and sky, but for what the first `count` records of the queue cover whole."""
        floor = world.ground or Ground()
        visible = world.ground is not None and matrix[3, 2] > floor.level
        vector = np.zeros(ground.FLOOR_SIZE, np.float32)
        vector[:5] = floor.level, floor.spacing, floor.extent, floor.line_alpha, floor.reflect
        vector[5:14] = np.array([floor.line_color, floor.horizon, floor.color], np.float32).ravel() * 255
        pool = np.array(
            [*world.light.focus, light[b.POOL], world.light.radius, light[b.FOG_START], light[b.FOG_SCALE]], np.float32
        )
        small = matrix.copy()
        small[:3, 3] /= SCALE
        ground.shade_floor(self._layer, self._weight, small, vector, pool, visible)
        if visible:
            queue = self._side.room(2 * len(boxes.origin))
            patches = emit_on_ground(
                queue, support, boxes.origin, boxes.size, boxes.color, boxes.emission, boxes.shadow, boxes.alpha, gap,
                f4(floor.level), small, f4(world.light.shadow), f4(world.light.spill), f4(self.width / SCALE),
                f4(self.height / SCALE),
            )  # fmt: skip
            ground.draw_soft(self._layer, queue, patches)
            if floor.reflect > 0:
                self._mirror(world, boxes, support, floor.level, small, light)
        find_cover(self._queue.rows, count, self._px.shape[1] // 16, self._px.shape[0], self._cover)
        compose.paint_floor(self._px, self._layer, self._noise, self._cover)
        if visible and floor.line_alpha > 0:
            draw_grid(self._px, matrix, vector, pool, self._noise_blocks, self._cover)

    def _mirror(self, world: World, boxes: Boxes, support: Array, level: float, small: Array, light: Array) -> None:
        """Add the dim, blurred mirror image of what stands low over the floor: the real boxes seen by the mirrored camera."""
        reach = world.light.radius * MIRROR_FADE
        matrix = small.copy()
        matrix[:3, 2] *= -1
        matrix[3, 2] = 2 * level - matrix[3, 2]
        seen = (boxes.origin[:, 2] < level + 3 * reach) & (boxes.origin[:, 2] + boxes.size[:, 2] > level)
        hidden_by_support(boxes.origin, boxes.size, support, matrix[3], seen)
        low = np.flatnonzero(seen)
        if not len(low):
            return
        kept = Boxes(*(getattr(boxes, part.name)[low] for part in fields(Boxes)))
        dim = light.copy()
        dim[b.MIRROR_LEVEL], dim[b.MIRROR_FADE] = level, 1 / reach
        nothing, gap = np.full(len(low), NOWHERE, np.int64), np.zeros(len(low), np.float32)
        size = (self.width / SCALE, self.height / SCALE)
        count, _ = _build(self._side, size, kept, NO_RIBBONS, NO_SPRITES, NO_PLANES, nothing, gap, matrix, dim, 0.0, 0.0)
        self._small[:] = 0
        draw(self._small, self._side.rows, count, self._noise_blocks, np.zeros(3, np.float32), NO_TEXELS)
        ground.add_mirror(self._layer, self._weight, self._small, self._side.rows, count, self._mirror_scratch)


NOTHING_LIT = (1, 0, 1, 0)
NO_RIBBONS, NO_SPRITES = Ribbons.of([], [], 0.0, (0, 0, 0)), Sprites.of([], 0.0, (0, 0, 0))


def _build(
    queue: Queue, size: tuple[float, float], boxes: Boxes, ribbons: Ribbons, sprites: Sprites, planes: PlaneBatch,
    support: Array, gap: Array, matrix: Array, light: Array, shade: float, spill: float,
) -> tuple[int, int]:  # fmt: skip
    """Fill the queue with the records of a picture of `size` (width, height) px; returns their number and the rings broken."""
    n_box, n_rib, n_spr, floor = len(boxes.origin), len(ribbons.a), len(sprites.position), int(ribbons.floor.sum())
    w, h = f4(size[0]), f4(size[1])
    corners = np.empty((n_box, 8, 3), np.float32)
    rect = np.empty((n_box + n_rib - floor + n_spr, 4), np.float32)
    rib_rect, ends = np.empty((n_rib, 4), np.float32), np.empty((n_rib, 6), np.float32)
    place = np.empty((n_spr, 4), np.float32)
    project_boxes(boxes.origin, boxes.size, boxes.alpha, matrix, w, h, corners, rect[:n_box])
    ribbon_bounds(ribbons.a, ribbons.b, ribbons.width, matrix, w, h, ends, rib_rect)
    rect[n_box : n_box + n_rib - floor] = rib_rect[floor:]
    sprite_bounds(sprites.position, sprites.radius, matrix, w, h, place, rect[n_box + n_rib - floor :])
    a, c = ribbons.a[floor:], ribbons.b[floor:]
    low = np.concatenate([boxes.origin, np.minimum(a, c), sprites.position, planes.corners.min(1)])
    high = np.concatenate([boxes.origin + boxes.size, np.maximum(a, c), sprites.position, planes.corners.max(1)])
    order, unresolved = painters_order(
        low, high, np.concatenate([rect, planes.rect]), n_box, a, c, ends[floor:], matrix[3, :3].copy(), planes.corners
    )
    floor_seen = np.flatnonzero(rib_rect[:floor, 0] <= rib_rect[:floor, 2])
    count = assemble(
        queue.room(5 * n_box + n_rib + n_spr + len(planes.rows)), order, floor, floor_seen, boxes.origin, boxes.size,
        boxes.color, boxes.emission, boxes.edge, boxes.shadow, boxes.alpha, corners, rect, support, gap, ends, ribbons.width,
        ribbons.color, ribbons.alpha, ribbons.emission, place, sprites.color, sprites.emission, planes.rows, matrix, light,
        f4(shade), f4(spill), w, h,
    )  # fmt: skip
    return count, unresolved
