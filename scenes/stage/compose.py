"""Full-resolution passes over the whole frame: the floor with its grid before things are drawn, the glow after."""

from __future__ import annotations

import math

import numpy as np

from scenes.stage.ground import EXTENT, LEVEL, LINE_ALPHA, LINE_RED, SPACING
from scenes.stage.jit import Array, f4, i4, kernel, u4

NIL, ONE, HALF, FULL = f4(0), f4(1), f4(0.5), f4(255)
LINE_WIDTH = f4(0.009)  # half of a grid line, in spacings
OPAQUE = u4(0xFF000000)
LOW = f4(-1e-4)  # rays flatter than this do not meet the floor


@kernel
def _up4_row(plane: Array, y: int, x0: int, x1: int, row: Array, fine: Array) -> None:
    """fine[4 x0 : 4 x1] = row y of plane (h, w) enlarged four times, linear both ways; row (w + 2,) scratch."""
    height, width = plane.shape
    v = max(NIL, (f4(y) + HALF) * f4(0.25) - HALF)
    y0 = min(int(v), height - 2)
    t = min(ONE, v - f4(y0))
    a0, a1 = max(0, x0 - 1), min(width, x1 + 1)
    a, b, middle = plane[y0, a0:a1], plane[y0 + 1, a0:a1], row[a0 + 1 : a1 + 1]
    for x in range(middle.size):
        middle[x] = a[x] + (b[x] - a[x]) * t
    row[0], row[width + 1] = row[1], row[width]
    low, here, high, out = row[x0:x1], row[x0 + 1 : x1 + 1], row[x0 + 2 : x1 + 2], fine[4 * x0 : 4 * x1]
    for x in range(here.size):
        left, middle_x, right = low[x], here[x], high[x]
        out[4 * x] = left + (middle_x - left) * f4(0.625)
        out[4 * x + 1] = left + (middle_x - left) * f4(0.875)
        out[4 * x + 2] = middle_x + (right - middle_x) * f4(0.125)
        out[4 * x + 3] = middle_x + (right - middle_x) * f4(0.375)


@kernel
def _add_grid(red: Array, green: Array, blue: Array, color: Array, need: Array, c0: int, c1: int, g: Array) -> None:
    """Blend the grid's lines into a row of the floor, red, green, blue (W,), in the chunks c0..c1 of 16 columns where need[c].

    A line counts as far as the box that a pixel's footprint covers is on it. g: the floor point is (dx0 + dxx x, dy0 + dyx x) t
    + eye with t = drop / (dz0 + dzx x), all in grid spacings; the changes dxy, dyy, dzy of the ray per row; then light and fog.
    """
    lr, lg, lb = color[0], color[1], color[2]
    shown = np.empty(16, f4)
    dx0, dxx, dy0, dyx, dz0, dzx, dxy, dyy, dzy = g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8]
    drop, eye_x, eye_y, off_x, off_y = g[9], g[10], g[11], g[12], g[13]
    reach, pool, fog_scale, fog_base, strength = g[14], g[15], g[16], g[17], g[18]
    for c in range(c0, c1):
        if not need[c]:
            continue
        r_, g_, b_ = red[16 * c : 16 * c + 16], green[16 * c : 16 * c + 16], blue[16 * c : 16 * c + 16]
        start = f4(16 * c)
        for x in range(16):
            f = start + f4(i4(x))
            iz = ONE / min(LOW, dz0 + dzx * f)
            t = drop * iz
            dx, dy = dx0 + dxx * f, dy0 + dyx * f
            foot_x = HALF * (abs(t * (dxx - dx * iz * dzx)) + abs(t * (dxy - dx * iz * dzy)))
            foot_y = HALF * (abs(t * (dyx - dy * iz * dzx)) + abs(t * (dyy - dy * iz * dzy)))
            wx, wy = t * dx + off_x, t * dy + off_y
            u, v = abs(t * dx + eye_x), abs(t * dy + eye_y)
            u, v = abs(u - f4(i4(u + HALF))), abs(v - f4(i4(v + HALF)))
            fade_x = min(ONE, max(NIL, f4(1.6) - f4(4) * foot_x)) / foot_x
            fade_y = min(ONE, max(NIL, f4(1.6) - f4(4) * foot_y)) / foot_y
            on_x = max(NIL, min(HALF * (LINE_WIDTH + foot_x - u), min(LINE_WIDTH, foot_x))) * fade_x
            on_y = max(NIL, min(HALF * (LINE_WIDTH + foot_y - v), min(LINE_WIDTH, foot_y))) * fade_y
            near_u, near_v = max(f4(0.6), f4(1.6) - u * f4(8)), max(f4(0.6), f4(1.6) - v * f4(8))  # brighter crossings
            r2 = wx * wx + wy * wy
            level = (f4(0.35) + ONE / (ONE + r2 * pool)) * max(NIL, ONE - r2 * reach) * strength
            level *= ONE - min(ONE, max(NIL, t * fog_scale - fog_base))
            shown[x] = min(ONE, (on_x * near_v + on_y * near_u) * level)
        for x in range(16):
            r_[x] += (lr - r_[x]) * shown[x]
        for x in range(16):
            g_[x] += (lg - g_[x]) * shown[x]
        for x in range(16):
            b_[x] += (lb - b_[x]) * shown[x]


@kernel
def _find_grid(
    y: int, left: int, right: int, width: int, camera: Array, floor: Array, light: Array, g: Array, need: Array
) -> bool:
    """need (W / 16,): chunks of 16 columns that may show a line of the grid on row y; False where none does.

    g (19,): set up for row y, see _add_grid; columns left..right are looked at.
    """
    unit = ONE / floor[SPACING]
    ik = ONE / camera[0, 3]
    sx, sy = (HALF - camera[1, 3]) * ik, (camera[2, 3] - f4(y) - HALF) * ik
    for c in range(3):
        g[2 * c] = camera[2, c] + sx * camera[0, c] + sy * camera[1, c]
        g[2 * c + 1] = camera[0, c] * ik
        g[6 + c] = -camera[1, c] * ik
    g[9] = (floor[LEVEL] - camera[3, 2]) * unit
    g[10], g[11] = camera[3, 0] * unit, camera[3, 1] * unit
    g[12], g[13] = g[10] - light[0] * unit, g[11] - light[1] * unit
    g[14] = ONE / (floor[EXTENT] * floor[EXTENT] * unit * unit)
    g[15] = light[2] / (unit * unit)
    g[16], g[17], g[18] = light[5] / unit, light[4] * light[5], floor[LINE_ALPHA]
    if min(g[4], g[4] + g[5] * f4(width)) >= LOW:
        return False
    c0, c1 = left >> 4, (right + 15) >> 4
    if abs(g[5]) * f4(width) > f4(1e-5):  # a rolled camera
        need[c0:c1] = True
        return True
    # the floor's distance is the same along the row: positions are linear in x, and only pixels near a line need work
    t = g[9] / g[4]
    if g[4] >= LOW or t * g[16] - g[17] >= ONE:
        return False
    need[c0:c1] = False
    some = False
    for c in range(2):
        start, step = t * g[2 * c] + g[10 + c], t * g[2 * c + 1]
        turn = t * g[8] / g[4]
        here, there = t * g[6 + c] - turn * g[2 * c], t * g[6 + c] - turn * (g[2 * c] + g[2 * c + 1] * f4(width))
        least = NIL if here * there < NIL else min(abs(here), abs(there))
        if HALF * (abs(step) + least) > f4(0.4):  # lines too dense to show
            continue
        some = True
        reach = LINE_WIDTH + HALF * (abs(step) + max(abs(here), abs(there)))
        if f4(2) * reach + f4(16) * abs(step) > f4(0.7) or abs(step) < f4(1e-7):
            need[c0:c1] = True
            continue
        a, b = start + step * f4(left), start + step * f4(right)
        half = reach / abs(step)
        for n in range(int(math.floor(min(a, b) - reach)), int(math.ceil(max(a, b) + reach)) + 1):
            middle = (f4(n) - start) / step
            x0, x1 = max(f4(left), middle - half - ONE), min(f4(right), middle + half + ONE)
            if x0 < x1:
                need[int(x0) >> 4 : (int(x1) >> 4) + 1] = True
    return some


@kernel
def paint_floor(
    pairs: Array, layer: Array, camera: Array, floor: Array, light: Array, visible: bool, noise: Array, cover: Array
) -> None:
    """Fill the work buffer (see `pixels`), given as uint64 pairs (H / 4, 2 W), emission 0: the small layer (3, H / 4, W / 4)
    enlarged, and the grid. camera: that of the full picture; noise: (32, W) thresholds; cover: blocks to leave out (`find_cover`)."""
    tall, wide = layer.shape[1], layer.shape[2]
    width = 4 * wide
    row = np.zeros(wide + 2, f4)
    red, green, blue = np.zeros(width, f4), np.zeros(width, f4), np.zeros(width, f4)
    four = np.empty((4, width), u4)
    two = four.view(np.uint64)
    color = floor[LINE_RED : LINE_RED + 3]
    g, need = np.empty(19, f4), np.empty(wide // 4 + 1, np.bool_)
    grid = visible and floor[LINE_ALPHA] > NIL
    for j in range(tall):
        for part in range(2):
            i0, i1 = (0, cover[j, 0]) if part == 0 else (cover[j, 1], wide)
            if i0 >= i1:
                continue
            for r in range(4):
                y = 4 * j + r
                _up4_row(layer[0], y, i0, i1, row, red)
                _up4_row(layer[1], y, i0, i1, row, green)
                _up4_row(layer[2], y, i0, i1, row, blue)
                if grid and _find_grid(y, 4 * i0, 4 * i1, width, camera, floor, light, g, need):
                    _add_grid(red, green, blue, color, need, i0 >> 2, (i1 + 3) >> 2, g)
                x0, x1 = 4 * i0, 4 * i1
                shade, packed = noise[y & 31, x0:x1], four[r, x0:x1]
                r_, g_, b_ = red[x0:x1], green[x0:x1], blue[x0:x1]
                for x in range(packed.size):
                    d = shade[x]
                    cr, cg, cb = min(FULL, r_[x] + d), min(FULL, g_[x] + d), min(FULL, b_[x] + d)
                    packed[x] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)))
            out = pairs[j]
            a_, b_, c_, d_ = two[0], two[1], two[2], two[3]
            for i in range(i0, i1):
                block = out[8 * i : 8 * i + 8]
                block[0], block[1], block[2], block[3] = a_[2 * i], a_[2 * i + 1], b_[2 * i], b_[2 * i + 1]
                block[4], block[5], block[6], block[7] = c_[2 * i], c_[2 * i + 1], d_[2 * i], d_[2 * i + 1]


@kernel
def finish(pairs: Array, glow: Array, first: Array, last: Array, out: Array, noise: Array) -> None:
    """out (H, W) = the work buffer (uint64 pairs) under the glow (3, H / 4, W / 4), alpha 255.

    The glow covers by its brightest channel, so that no channel clips alone and both keep their hue. first, last (H / 4,): the
    columns of each row of the glow that are lit, first > last where none is.
    """
    height, width = out.shape
    wide, tall = glow.shape[2], glow.shape[1]
    row = np.zeros(wide + 2, f4)
    ur, ug, ub = np.empty(4 * wide, f4), np.empty(4 * wide, f4), np.empty(4 * wide, f4)
    four = np.empty((4, 4 * wide), u4)
    two = four.view(np.uint64)
    m = i4(255)
    for y in range(height):
        if y & 3 == 0:
            source = pairs[y >> 2]
            a_, b_, c_, d_ = two[0], two[1], two[2], two[3]
            for i in range(wide):
                block = source[8 * i : 8 * i + 8]
                a_[2 * i], a_[2 * i + 1], b_[2 * i], b_[2 * i + 1] = block[0], block[1], block[2], block[3]
                c_[2 * i], c_[2 * i + 1], d_[2 * i], d_[2 * i + 1] = block[4], block[5], block[6], block[7]
        out_row, packed = out[y], four[y & 3]
        a = min(max(0, (y - 2) >> 2), tall - 2)
        x0 = max(0, 4 * min(first[a], first[a + 1]) - 8) & ~15
        x1 = min(width, 4 * max(last[a], last[a + 1]) + 12)
        if x0 >= x1:
            x0, x1 = width, width
        for x in range(x0):
            out_row[x] = packed[x] | OPAQUE
        for x in range(x1, width):
            out_row[x] = packed[x] | OPAQUE
        if x0 == width:
            continue
        i1 = min(wide, (x1 + 3) >> 2)
        _up4_row(glow[0], y, x0 >> 2, i1, row, ur)
        _up4_row(glow[1], y, x0 >> 2, i1, row, ug)
        _up4_row(glow[2], y, x0 >> 2, i1, row, ub)
        src, dst, shade = packed[x0:x1], out_row[x0:x1], noise[y & 31, x0:x1]
        r, g, b = ur[x0:x1], ug[x0:x1], ub[x0:x1]
        for x in range(dst.size):
            p = i4(src[x])
            d = shade[x]
            keep = ONE - max(max(r[x], g[x]), b[x]) * f4(1 / 255)
            cr = min(FULL, f4(i4(p & m)) * keep + r[x] + d)
            cg = min(FULL, f4(i4(i4(p >> i4(8)) & m)) * keep + g[x] + d)
            cb = min(FULL, f4(i4(i4(p >> i4(16)) & m)) * keep + b[x] + d)
            dst[x] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(-16777216))
