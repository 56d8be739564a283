"""Full-resolution passes over the whole frame: floor and sky beneath the things, and the glow over them."""

from __future__ import annotations

import numpy as np

from scenes.stage.jit import Array, f4, i4, kernel, u4

NIL, ONE, HALF, FULL = f4(0), f4(1), f4(0.5), f4(255)
OPAQUE = u4(0xFF000000)


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
def paint_floor(px: Array, layer: Array, noise: Array, cover: Array) -> None:
    """Fill the work buffer (see `pixels`) with the small layer (3, H / 4, W / 4) enlarged.

    noise: (32, W) thresholds; cover: blocks to leave out (`pixels.find_cover`). Emission becomes 0.
    """
    wide = layer.shape[2]
    width = 4 * wide
    pairs = px.view(np.uint64)
    row = np.zeros(wide + 2, f4)
    red, green, blue = np.empty(width, f4), np.empty(width, f4), np.empty(width, f4)
    four = np.empty((4, width), u4)
    two = four.view(np.uint64)
    for j in range(layer.shape[1]):
        for part in range(2):
            i0, i1 = (0, cover[j, 0]) if part == 0 else (cover[j, 1], wide)
            if i0 >= i1:
                continue
            for r in range(4):
                y = 4 * j + r
                _up4_row(layer[0], y, i0, i1, row, red)
                _up4_row(layer[1], y, i0, i1, row, green)
                _up4_row(layer[2], y, i0, i1, row, blue)
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
def finish(px: Array, glow: Array, first: Array, last: Array, out: Array, noise: Array) -> None:
    """out (H, W) = the work buffer (see `pixels`) under the glow (3, H / 4, W / 4), alpha 255.

    The glow covers by its brightest channel, so that no channel clips alone and both keep their hue. first, last (H / 4,): the
    columns of each row of the glow that are lit, first > last where none is.
    """
    height, width = out.shape
    pairs = px.view(np.uint64)
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
