"""Full-resolution passes over the whole frame: the floor with its grid before things are drawn, the glow after."""

from __future__ import annotations

import math

import numpy as np

from scenes.stage.ground import EXTENT, LEVEL, LINE_ALPHA, LINE_RED, SPACING
from scenes.stage.jit import Array, f4, i4, kernel, u4

NIL, ONE, HALF, FULL = f4(0), f4(1), f4(0.5), f4(255)
LINE_WIDTH = f4(0.009)  # half of a grid line, in spacings
OPAQUE = u4(0xFF000000)


@kernel
def _up4_row(plane: Array, y: int, row: Array, fine: Array) -> None:
    """fine (4 w,): row y of plane (h, w) enlarged four times, linear both ways; row (w + 2,) scratch."""
    height, width = plane.shape
    v = max(NIL, (f4(y) + HALF) * f4(0.25) - HALF)
    y0 = min(int(v), height - 2)
    t = min(ONE, v - f4(y0))
    a, b, middle = plane[y0], plane[y0 + 1], row[1 : width + 1]
    for x in range(width):
        middle[x] = a[x] + (b[x] - a[x]) * t
    row[0], row[width + 1] = row[1], row[width]
    low, high = row[:width], row[2 : width + 2]
    for x in range(width):
        left, here, right = low[x], middle[x], high[x]
        fine[4 * x] = left + (here - left) * f4(0.625)
        fine[4 * x + 1] = left + (here - left) * f4(0.875)
        fine[4 * x + 2] = here + (right - here) * f4(0.125)
        fine[4 * x + 3] = here + (right - here) * f4(0.375)


@kernel
def _grid_row(lines: Array, y: int, camera: Array, floor: Array, light: Array) -> None:
    """lines (W,): coverage of the floor's grid on row y, by the footprint of a pixel on the floor; light as in shade_floor."""
    k, cx, cy = camera[0, 3], camera[1, 3], camera[2, 3]
    drop = floor[LEVEL] - camera[3, 2]
    ik = ONE / k
    sy = (cy - f4(y) - HALF) * ik
    sx = (HALF - cx) * ik
    dx0 = camera[2, 0] + sx * camera[0, 0] + sy * camera[1, 0]
    dy0 = camera[2, 1] + sx * camera[0, 1] + sy * camera[1, 1]
    dz0 = camera[2, 2] + sx * camera[0, 2] + sy * camera[1, 2]
    dxx, dyx, dzx = camera[0, 0] * ik, camera[0, 1] * ik, camera[0, 2] * ik
    dxy, dyy, dzy = -camera[1, 0] * ik, -camera[1, 1] * ik, -camera[1, 2] * ik
    unit = ONE / floor[SPACING]
    reach = ONE / (floor[EXTENT] * floor[EXTENT])
    strength = floor[LINE_ALPHA]
    eye_x, eye_y = camera[3, 0] * unit, camera[3, 1] * unit
    idrop = ONE / (drop * unit)
    focus_x, focus_y = light[0], light[1]
    ipool, start, scale = light[2], light[4], light[5]
    per = unit * drop
    space = floor[SPACING]
    for x in range(lines.size):
        f = f4(i4(x))
        t = ONE / min(f4(-1e-4), dz0 + dzx * f)
        px, py = per * t * (dx0 + dxx * f), per * t * (dy0 + dyx * f)
        qx, qy = px * idrop, py * idrop
        t *= per
        gx, gy = t * (dxx - qx * dzx), t * (dxy - qx * dzy)
        foot_x = f4(math.sqrt(gx * gx + gy * gy)) * HALF + f4(1e-6)
        gx, gy = t * (dyx - qy * dzx), t * (dyy - qy * dzy)
        foot_y = f4(math.sqrt(gx * gx + gy * gy)) * HALF + f4(1e-6)
        u, v = px + eye_x, py + eye_y
        wx, wy = u * space - focus_x, v * space - focus_y
        u = abs(u - f4(np.floor(u + HALF)))
        v = abs(v - f4(np.floor(v + HALF)))
        on_x = max(NIL, min(LINE_WIDTH, u + foot_x) - max(-LINE_WIDTH, u - foot_x)) / (f4(2) * foot_x)
        on_y = max(NIL, min(LINE_WIDTH, v + foot_y) - max(-LINE_WIDTH, v - foot_y)) / (f4(2) * foot_y)
        on_x *= min(ONE, max(NIL, f4(1.6) - f4(4) * foot_x))
        on_y *= min(ONE, max(NIL, f4(1.6) - f4(4) * foot_y))
        near_u, near_v = max(NIL, ONE - u * f4(8)), max(NIL, ONE - v * f4(8))
        r2 = wx * wx + wy * wy
        fog = ONE - min(ONE, max(NIL, (t * space - start) * scale))
        pool = f4(0.35) + ONE / (ONE + r2 * ipool)
        lines[x] = (on_x * (f4(0.6) + near_v) + on_y * (f4(0.6) + near_u)) * fog * pool * strength * max(NIL, ONE - r2 * reach)


@kernel
def paint_floor(px: Array, layer: Array, camera: Array, floor: Array, light: Array, visible: bool, noise: Array) -> None:
    """px (H, W) packed pixels, emission 0: the small layer (3, H/4, W/4) enlarged, and the grid. camera: that of the full picture."""
    height, width = px.shape
    row = np.zeros(layer.shape[2] + 2, f4)
    red, green, blue = np.empty(width, f4), np.empty(width, f4), np.empty(width, f4)
    lines = np.empty(width, f4)
    lr, lg, lb = floor[LINE_RED], floor[LINE_RED + 1], floor[LINE_RED + 2]
    ik = ONE / camera[0, 3]
    for y in range(height):
        _up4_row(layer[0], y, row, red)
        _up4_row(layer[1], y, row, green)
        _up4_row(layer[2], y, row, blue)
        out = px[y]
        shade = noise[y & 31]
        sy = (camera[2, 3] - f4(y) - HALF) * ik
        left = camera[2, 2] + (HALF - camera[1, 3]) * ik * camera[0, 2] + sy * camera[1, 2]
        right = left + f4(width) * ik * camera[0, 2]
        if visible and min(left, right) < f4(-1e-4) and floor[LEVEL] < camera[3, 2] and floor[LINE_ALPHA] > NIL:
            _grid_row(lines, y, camera, floor, light)
            for x in range(out.size):
                a = min(ONE, lines[x])
                d = shade[x]
                cr = min(FULL, red[x] + (lr - red[x]) * a + d)
                cg = min(FULL, green[x] + (lg - green[x]) * a + d)
                cb = min(FULL, blue[x] + (lb - blue[x]) * a + d)
                out[x] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)))
        else:
            for x in range(out.size):
                d = shade[x]
                cr, cg, cb = min(FULL, red[x] + d), min(FULL, green[x] + d), min(FULL, blue[x] + d)
                out[x] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)))


@kernel
def finish(px: Array, glow: Array, out: Array, noise: Array, lit: bool) -> None:
    """out (H, W) = px under the glow (3, H/4, W/4), alpha 255. The glow covers by its brightest channel, so no channel clips alone
    and both keep their hue."""
    height, width = out.shape
    wide, tall = glow.shape[2], glow.shape[1]
    row = np.zeros(wide + 2, f4)
    ur, ug, ub = np.empty(4 * wide, f4), np.empty(4 * wide, f4), np.empty(4 * wide, f4)
    m = i4(255)
    least = f4(0.3)
    for y in range(height):
        src, dst = px[y], out[y]
        a, b = wide, 0
        if lit:  # columns of this row with any glow
            yq = min(max(0, (y - 2) >> 2), tall - 2)
            for x in range(wide):
                peak = max(max(glow[0, yq, x], glow[1, yq, x]), glow[2, yq, x])
                peak = max(peak, max(max(glow[0, yq + 1, x], glow[1, yq + 1, x]), glow[2, yq + 1, x]))
                if peak >= least:
                    a = min(a, x)
                    b = x
        if a > b:
            for x in range(width):
                dst[x] = src[x] | OPAQUE
            continue
        x0, x1 = (max(0, 4 * a - 8)) & ~15, min(width, 4 * b + 12)
        for x in range(x0):
            dst[x] = src[x] | OPAQUE
        for x in range(x1, width):
            dst[x] = src[x] | OPAQUE
        _up4_row(glow[0], y, row, ur)
        _up4_row(glow[1], y, row, ug)
        _up4_row(glow[2], y, row, ub)
        p_, q_, shade = src[x0:x1], dst[x0:x1], noise[y & 31, x0:x1]
        r_, g_, b_ = ur[x0:x1], ug[x0:x1], ub[x0:x1]
        for x in range(p_.size):
            p = i4(p_[x])
            d = shade[x]
            keep = ONE - max(max(r_[x], g_[x]), b_[x]) * f4(1 / 255)
            cr = min(FULL, f4(i4(p & m)) * keep + r_[x] + d)
            cg = min(FULL, f4(i4(i4(p >> i4(8)) & m)) * keep + g_[x] + d)
            cb = min(FULL, f4(i4(i4(p >> i4(16)) & m)) * keep + b_[x] + d)
            q_[x] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(-16777216))
