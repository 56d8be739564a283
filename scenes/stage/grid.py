"""The faint grid on the floor, blended into the work buffer block by block where a line passes."""

from __future__ import annotations

import math

import numpy as np

from scenes.stage.ground import EXTENT, LEVEL, LINE_ALPHA, LINE_RED, SPACING
from scenes.stage.jit import Array, Scalar, f4, i4, kernel, u4

NIL, ONE, HALF, FULL = f4(0), f4(1), f4(0.5), f4(255)
LINE_WIDTH = f4(0.009)  # half of a line, in spacings
LOW = f4(-1e-4)  # rays flatter than this do not meet the floor
DENSE = f4(0.3)  # half a pixel's footprint in spacings at which lines have faded out
FADE = f4(5)  # they fade over the footprints (FADE_END - 1) / FADE .. FADE_END / FADE
FADE_END = f4(1.5)


@kernel
def _blend_blocks(row: Array, noise: Array, color: Array, need: Array, i0: int, i1: int, g: Array) -> None:
    """Blend lines into blocks i0..i1 of a row of blocks where need[i]: a line counts as far as a pixel's footprint is on it.

    g: the floor point is (dx0 + dxx x + dxy y, dy0 + ..) t + eye with t = drop / (dz0 + ..), x and y in px from the first pixel
    of the row of blocks, all in grid spacings; then light and fog.
    """
    dx0, dxx, dy0, dyx, dz0, dzx, dxy, dyy, dzy = g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8]
    drop, eye_x, eye_y, off_x, off_y = g[9], g[10], g[11], g[12], g[13]
    reach, pool, fog_scale, fog_base, strength = g[14], g[15], g[16], g[17], g[18]
    lr, lg, lb = color[0], color[1], color[2]
    m = i4(255)
    shown = np.empty(16, f4)
    for i in range(i0, i1):
        if not need[i]:
            continue
        block = row[16 * i : 16 * i + 16]
        shade = noise[16 * (i & 7) : 16 * (i & 7) + 16]
        x = f4(4 * i)
        dx1, dy1, dz1 = dx0 + dxx * x, dy0 + dyx * x, dz0 + dzx * x
        for k in range(16):
            tx, ty = f4(i4(k & 3)), f4(i4(k >> 2))
            iz = ONE / min(LOW, dz1 + dzx * tx + dzy * ty)
            t = drop * iz
            dx, dy = dx1 + dxx * tx + dxy * ty, dy1 + dyx * tx + dyy * ty
            foot_x = HALF * (abs(t * (dxx - dx * iz * dzx)) + abs(t * (dxy - dx * iz * dzy)))
            foot_y = HALF * (abs(t * (dyx - dy * iz * dzx)) + abs(t * (dyy - dy * iz * dzy)))
            wx, wy = t * dx + off_x, t * dy + off_y
            u, v = abs(t * dx + eye_x), abs(t * dy + eye_y)
            u, v = abs(u - f4(i4(u + HALF))), abs(v - f4(i4(v + HALF)))
            fade_x = min(ONE, max(NIL, FADE_END - FADE * foot_x)) / foot_x
            fade_y = min(ONE, max(NIL, FADE_END - FADE * foot_y)) / foot_y
            on_x = max(NIL, min(HALF * (LINE_WIDTH + foot_x - u), min(LINE_WIDTH, foot_x))) * fade_x
            on_y = max(NIL, min(HALF * (LINE_WIDTH + foot_y - v), min(LINE_WIDTH, foot_y))) * fade_y
            near_u, near_v = max(f4(0.6), f4(1.6) - u * f4(8)), max(f4(0.6), f4(1.6) - v * f4(8))  # brighter crossings
            r2 = wx * wx + wy * wy
            level = (f4(0.35) + ONE / (ONE + r2 * pool)) * max(NIL, ONE - r2 * reach) * strength
            level *= ONE - min(ONE, max(NIL, t * fog_scale - fog_base))
            shown[k] = min(ONE, (on_x * near_v + on_y * near_u) * level)
        for k in range(16):  # a loop of its own: together they run three times slower
            a = shown[k]
            keep = ONE - a
            p = i4(block[k])
            d = shade[k]
            cr = min(FULL, f4(i4(p & m)) * keep + lr * a + d)
            cg = min(FULL, f4(i4(i4(p >> i4(8)) & m)) * keep + lg * a + d)
            cb = min(FULL, f4(i4(i4(p >> i4(16)) & m)) * keep + lb * a + d)
            block[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)))


@kernel
def _mark(start: Scalar, step: Scalar, reach: Scalar, left: int, right: int, need: Array) -> None:
    """need[i] = True for the blocks within `reach` spacings of a line, on a row where the position is start + step x."""
    if f4(2) * reach + f4(4) * abs(step) > f4(0.7) or abs(step) < f4(1e-7):
        need[left:right] = True
        return
    a, b = start + step * f4(4 * left), start + step * f4(4 * right)
    half = reach / abs(step) + ONE
    for n in range(math.floor(min(a, b) - reach), math.ceil(max(a, b) + reach) + 1):
        middle = (f4(n) - start) / step
        x0, x1 = max(f4(4 * left), middle - half), min(f4(4 * right - 1), middle + half)
        if x0 <= x1:
            need[int(x0) >> 2 : (int(x1) >> 2) + 1] = True


@kernel
def draw_grid(px: Array, camera: Array, floor: Array, light: Array, noise: Array, cover: Array) -> None:
    """Blend the grid into the work buffer; cover: blocks to leave out (`pixels.find_cover`).

    camera is that of the full picture; light as in `ground.shade_floor`; noise: blocks as in `pixels.draw`.
    """
    wide = px.shape[1] // 16
    width = f4(4 * wide)
    unit = ONE / floor[SPACING]
    ik = ONE / camera[0, 3]
    g = np.empty(19, f4)
    need = np.empty(wide, np.bool_)
    color = floor[LINE_RED : LINE_RED + 3]
    g[9] = (floor[LEVEL] - camera[3, 2]) * unit
    g[10], g[11] = camera[3, 0] * unit, camera[3, 1] * unit
    g[12], g[13] = g[10] - light[0] * unit, g[11] - light[1] * unit
    g[14] = ONE / (floor[EXTENT] * floor[EXTENT] * unit * unit)
    g[15] = light[2] / (unit * unit)
    g[16], g[17], g[18] = light[5] / unit, light[4] * light[5], floor[LINE_ALPHA]
    for c in range(3):
        g[2 * c + 1] = camera[0, c] * ik
        g[6 + c] = -camera[1, c] * ik
    rolled = abs(g[5]) * width > f4(1e-5)
    for j in range(px.shape[0]):
        sx, sy = (HALF - camera[1, 3]) * ik, (camera[2, 3] - f4(4 * j) - HALF) * ik
        for c in range(3):
            g[2 * c] = camera[2, c] + sx * camera[0, c] + sy * camera[1, c]
        nearest = g[4] + f4(3) * g[8]  # the last of the four rows is the one nearest to the eye
        if min(nearest, nearest + g[5] * width) >= LOW:
            continue
        need[:] = rolled
        some = rolled
        if (
            not rolled
        ):  # the floor's distance is the same along a row: positions are linear in x, only blocks at a line need work
            if g[9] / nearest * g[16] - g[17] >= ONE:
                continue
            middle = g[4] + f4(1.5) * g[8]
            t = g[9] / min(LOW, middle)
            for c in range(2):
                d, step = g[2 * c] + f4(1.5) * g[6 + c], t * g[2 * c + 1]
                turn = t * g[8] / min(LOW, middle)
                here, there = t * g[6 + c] - turn * d, t * g[6 + c] - turn * (d + g[2 * c + 1] * width)
                least = NIL if here * there < NIL else min(abs(here), abs(there))
                if HALF * (abs(step) + least) > f4(1.25) * DENSE:
                    continue
                some = True
                reach = LINE_WIDTH + HALF * abs(step) + f4(2.4) * max(abs(here), abs(there))
                _mark(t * d + g[10 + c], step, reach, 0, wide, need)
        if some:
            _blend_blocks(px[j], noise[j & 7], color, need, 0, cover[j, 0], g)
            _blend_blocks(px[j], noise[j & 7], color, need, cover[j, 1], wide, g)
