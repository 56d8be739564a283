"""Draws a World through a Camera into a frame, on one thread and with the same bytes every time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scenes.stage import bloom, compose, ground
from scenes.stage import build as b
from scenes.stage import records as r
from scenes.stage.assemble import assemble, ribbon_bounds, sprite_bounds
from scenes.stage.build import project_boxes
from scenes.stage.camera import Camera
from scenes.stage.contact import GROUND, emit_shadow, emit_spill, find_supports
from scenes.stage.jit import Array, aligned, f4, kernel
from scenes.stage.order import painters_order
from scenes.stage.pixels import draw
from scenes.stage.world import GROUND_COLOR, Boxes, Ground, Ribbons, Sprites, World

SCALE = 4  # the smooth layers are this much smaller each way
MIRROR_FADE = 0.22  # height at which the mirror image has faded to 1/e, in radii of the light
STEPS = ("ground", "order", "build", "draw", "bloom", "finish")
EVERYWHERE = np.array([-1e9, -1e9, 1e9, 1e9], np.float32)


@kernel
def _ground_patches(
    queue: Array, support: Array, origin: Array, size: Array, color: Array, emission: Array, shadow: Array, alpha: Array,
    gap: Array, level: f4, bounds: Array, camera: Array, shade: f4, spill: f4, width: f4, height: f4,
) -> int:  # fmt: skip
    n = 0
    for i in range(origin.shape[0]):
        if support[i] == GROUND:
            n = emit_spill(
                queue, n, i, origin, size, color, emission, alpha, gap, level, bounds, camera, spill, width, height
            )
    for i in range(origin.shape[0]):
        if support[i] == GROUND:
            n = emit_shadow(queue, n, i, origin, size, shadow, alpha, gap, level, bounds, camera, shade, width, height)
    return n


def _silent(step: str) -> None:
    """Nobody listens to the steps."""


class Raster:
    """Frames of one size. `flat` leaves out light, edges, shadows, glow and noise: plain faces on a plain ground."""

    def __init__(self, width: int, height: int, flat: bool = False) -> None:
        if width < 16 or height < 16:
            raise ValueError(f"raster: expected a frame of at least 16 x 16 pixels, found {width} x {height}")
        self.width, self.height, self.flat = width, height, flat
        self.unresolved = 0  # rings that the last frame's order had to break
        wide, tall = -(-width // 16) * 16, -(-height // 16) * 16
        self._px = aligned((tall, wide), np.uint32)
        self._pairs = self._px.view(np.uint64)
        self._light, self._light_scratch, self._layer = (np.zeros((3, tall // 4, wide // 4), np.float32) for _ in range(3))
        self._far, self._far_scratch = (np.zeros((3, tall // 16, wide // 16), np.float32) for _ in range(2))
        self._weight = np.zeros((tall // 4, wide // 4), np.float32)
        self._mirror_scratch = np.zeros((2, tall // 4, wide // 4), np.float32)
        self._small = aligned((tall // 4, -(-(wide // 4) // 16) * 16), np.uint32)
        self._queue = aligned((4096, r.SIZE), np.float32)
        tile = ground.blue_noise() if not flat else np.full((32, 32), 0.5, np.float32)
        self._noise = aligned((32, wide), np.float32)
        self._noise[:] = np.tile(tile, (1, -(-wide // 32)))[:, :wide]
        unit = height / 1080
        self._tight = bloom.gaussian(bloom.SIGMA_TIGHT * unit / 4)
        self._wide = bloom.gaussian(bloom.SIGMA_WIDE * unit / 16)

    def render(
        self, world: World, camera: Camera, out: NDArray[np.uint32], tick: Callable[[str], None] = _silent
    ) -> NDArray[np.uint32]:
        """Paint every pixel of `out`, an (H, W) uint32 view of RGBA bytes; returns it. `tick` hears the name of each step done.

        Raises ValueError where `out` has another size or type.
        """
        if out.shape != (self.height, self.width) or out.dtype != np.uint32:
            raise ValueError(f"raster: expected uint32 {(self.height, self.width)}, found {out.dtype} {out.shape}")
        boxes, ribbons, sprites = world.all_boxes(), world.all_ribbons(), world.all_sprites()
        matrix = camera.matrix(self.width, self.height)
        light = self._light_vector(world)
        support, gap = self._supports(world, boxes)
        self._paint_ground(world, boxes, support, gap, matrix, light)
        tick("ground")
        shade, spill = (0.0, 0.0) if self.flat else (world.light.shadow, world.light.spill)
        fog = np.array(world.fog.color, np.float32) * 255
        self._draw(self._px, self.width, self.height, boxes, ribbons, sprites, support, gap, matrix, light, shade, spill, fog, tick)
        glow = world.light.bloom > 0 and not self.flat
        if glow:
            lit = bloom.gather_emission(self._pairs, self._light)
            glow = lit[0] < lit[1]
            if glow:
                bloom.spread(
                    self._light, self._far, self._light_scratch, self._far_scratch, self._tight, self._wide, *lit, f4(world.light.bloom)
                )
        tick("bloom")
        compose.finish(self._px, self._light, out, self._noise, glow)
        tick("finish")
        return out

    def _light_vector(self, world: World) -> Array:
        v = np.zeros(b.LIGHTS, np.float32)
        light, fog = world.light, world.fog
        v[b.FOCUS_X], v[b.FOCUS_Y] = light.focus
        v[b.POOL], v[b.AMBIENT], v[b.FOOT], v[b.SHEEN] = 1 / light.radius**2, light.ambient, light.occlusion, light.sheen
        v[b.FOG_START], v[b.FOG_SCALE], v[b.FOG_MAX] = fog.start, 1 / max(fog.end - fog.start, 1e-3), fog.max
        v[b.RADIUS_OF_LIGHT], v[b.PLAIN] = light.radius, self.flat
        v[b.FACE_LIGHT :] = light.face
        if self.flat:
            v[b.FOG_MAX] = 0.0
        return v

    def _supports(self, world: World, boxes: Boxes) -> tuple[Array, Array]:
        support, gap = np.full(len(boxes.origin), -2, np.int64), np.zeros(len(boxes.origin), np.float32)
        if not self.flat:
            level = world.ground.level if world.ground else 0.0
            find_supports(
                boxes.origin, boxes.size, boxes.shadow, boxes.emission, world.ground is not None, f4(level), support, gap
            )
        return support, gap

    def _room(self, records: int) -> Array:
        if len(self._queue) < records:
            self._queue = aligned((records + records // 2, r.SIZE), np.float32)
        return self._queue

    def _paint_ground(self, world: World, boxes: Boxes, support: Array, gap: Array, matrix: Array, light: Array) -> None:
        floor = world.ground or Ground()
        if self.flat:
            red, green, blue = (round(c * 255) for c in (floor.color if world.ground else GROUND_COLOR))
            self._px[:] = red | green << 8 | blue << 16
            return
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
        w, h = f4(self.width / SCALE), f4(self.height / SCALE)
        if visible:
            queue = self._room(2 * len(boxes.origin) + 8)
            shade, spill = f4(world.light.shadow), f4(world.light.spill)
            patches = _ground_patches(
                queue, support, boxes.origin, boxes.size, boxes.color, boxes.emission, boxes.shadow, boxes.alpha, gap,
                f4(floor.level), EVERYWHERE, small, shade, spill, w, h,
            )  # fmt: skip
            ground.draw_soft(self._layer, queue, patches)
            if floor.reflect > 0:
                self._mirror(world, boxes, floor.level, small, light)
        compose.paint_floor(self._px, self._layer, matrix, vector, pool, visible, self._noise)

    def _mirror(self, world: World, boxes: Boxes, level: float, small: Array, light: Array) -> None:
        """Add the dim, blurred mirror image of what stands low over the floor: the real boxes seen by the mirrored camera."""
        reach = world.light.radius * MIRROR_FADE
        low = np.flatnonzero((boxes.origin[:, 2] < level + 3 * reach) & (boxes.origin[:, 2] + boxes.size[:, 2] > level))
        if not len(low):
            return
        kept = Boxes(*(getattr(boxes, name)[low] for name in Boxes.__dataclass_fields__))
        matrix = small.copy()
        matrix[:3, 2] *= -1
        matrix[3, 2] = 2 * level - matrix[3, 2]
        dim = light.copy()
        dim[b.MIRROR_LEVEL], dim[b.MIRROR_FADE] = level, 1 / reach
        self._small[:] = 0
        nothing = np.full(len(low), -2, np.int64)
        self._draw(
            self._small, self.width / SCALE, self.height / SCALE, kept, Ribbons.of([], [], 0.0, (0, 0, 0)), Sprites.of([], 0.0, (0, 0, 0)),
            nothing, np.zeros(len(low), np.float32), matrix, dim, 0.0, 0.0, np.zeros(3, np.float32), _silent,
        )  # fmt: skip
        ground.add_mirror(self._layer, self._weight, self._small, self._mirror_scratch)

    def _draw(
        self, px: Array, width: float, height: float, boxes: Boxes, ribbons: Ribbons, sprites: Sprites, support: Array, gap: Array,
        matrix: Array, light: Array, shade: float, spill: float, fog: Array, tick: Callable[[str], None],
    ) -> None:  # fmt: skip
        """Order, build and draw into px."""
        n_box, n_rib, n_spr = len(boxes.origin), len(ribbons.a), len(sprites.position)
        floor = int(ribbons.floor.sum())
        w, h = f4(width), f4(height)
        corners = np.empty((n_box, 8, 3), np.float32)
        rect = np.empty((n_box + n_rib - floor + n_spr, 4), np.float32)
        rib_rect, ends = np.empty((n_rib, 4), np.float32), np.empty((n_rib, 6), np.float32)
        place = np.empty((n_spr, 4), np.float32)
        project_boxes(boxes.origin, boxes.size, boxes.alpha, matrix, w, h, corners, rect[:n_box])
        ribbon_bounds(ribbons.a, ribbons.b, ribbons.width, matrix, w, h, ends, rib_rect)
        rect[n_box : n_box + n_rib - floor] = rib_rect[floor:]
        sprite_bounds(sprites.position, sprites.radius, matrix, w, h, place, rect[n_box + n_rib - floor :])
        a, c = ribbons.a[floor:], ribbons.b[floor:]
        low = np.concatenate([boxes.origin, np.minimum(a, c), sprites.position])
        high = np.concatenate([boxes.origin + boxes.size, np.maximum(a, c), sprites.position])
        order, unresolved = painters_order(low, high, rect, n_box, a, c, matrix[3, :3].copy())
        tick("order")
        queue = self._room(5 * n_box + n_rib + n_spr + 8)
        floor_seen = int((rib_rect[:floor, 0] <= rib_rect[:floor, 2]).sum())
        if floor_seen < floor:  # keep only the floor ribbons on the screen
            keep = np.concatenate([rib_rect[:floor, 0] <= rib_rect[:floor, 2], np.ones(n_rib - floor, bool)])
            ribbons = Ribbons(*(getattr(ribbons, name)[keep] for name in Ribbons.__dataclass_fields__))
            ends = ends[keep]
        count = assemble(
            queue, order, floor_seen, boxes.origin, boxes.size, boxes.color, boxes.emission, boxes.edge, boxes.shadow, boxes.alpha,
            corners, rect, support, gap, ends, ribbons.width, ribbons.color, ribbons.alpha, ribbons.emission, place, sprites.color,
            sprites.emission, matrix, light, f4(shade), f4(spill), w, h,
        )  # fmt: skip
        tick("build")
        draw(px, queue, count, self._noise, fog)
        tick("draw")
        self.unresolved = unresolved
