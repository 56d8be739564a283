"""Lays a premultiplied sprite over a frame, at a whole pixel or between pixels."""

from __future__ import annotations

import math

import numpy as np

from scenes.stage.jit import Array, f4, i4, kernel, u4

NIL, ONE, HALF, FULL = f4(0), f4(1), f4(0.5), f4(255)


@kernel
def blit(out: Array, sprite: Array, x: int, y: int, opacity: float = 1.0) -> None:
    """out (H, W) uint32 RGBA, in place: sprite (h, w), premultiplied, with its top left corner at pixel (x, y), clipped.

    Over operator of Porter and Duff (1984), rounded to nearest; out becomes opaque.
    """
    share = min(256, max(0, int(f4(opacity) * f4(256) + f4(0.5))))
    if share == 0:
        return
    height, width = out.shape
    for j in range(max(0, -y), min(sprite.shape[0], height - y)):
        for i in range(max(0, -x), min(sprite.shape[1], width - x)):
            s = sprite[j, i]
            if s == u4(0):
                continue
            d = out[y + j, x + i]
            keep = 255 * 256 - int(s >> u4(24)) * share  # what stays of the frame, in 1/65280
            p = u4(0)
            for c in range(3):
                shift = u4(8 * c)
                value = (int((s >> shift) & u4(255)) * share * 255 + int((d >> shift) & u4(255)) * keep + 32640) // 65280
                p |= u4(min(255, value)) << shift
            out[y + j, x + i] = p | u4(0xFF000000)


@kernel
def blit_smooth(out: Array, source: Array, x: float, y: float, opacity: float) -> None:
    """Premultiplied source (h, w) over out (H, W) uint32 at a fractional place, bilinear: text that drifts must not jump.

    Rounded to nearest; where the source is drawn, out becomes opaque. Row by row and without a branch, so that it vectorises.
    """
    height, width = out.shape
    rows, columns = source.shape
    left, top = math.floor(x), math.floor(y)
    fx, fy, shown = f4(x - left), f4(y - top), f4(opacity)
    i0, i1 = max(0, -left), min(columns + 1, width - left)
    if i1 <= i0:
        return
    nothing = np.zeros(columns, u4)
    mixed = np.zeros((4, columns + 2), f4)  # one row of the source between two rows, with nothing on either side
    m = i4(255)
    for j in range(max(0, -top), min(rows + 1, height - top)):
        below = source[j] if j < rows else nothing
        above = source[j - 1] if j > 0 else nothing
        lower, upper = shown * (ONE - fy), shown * fy
        r, g, b, a = mixed[0, 1:-1], mixed[1, 1:-1], mixed[2, 1:-1], mixed[3, 1:-1]
        for i in range(r.size):
            p, q = i4(below[i]), i4(above[i])
            r[i] = lower * f4(i4(p & m)) + upper * f4(i4(q & m))
            g[i] = lower * f4(i4(i4(p >> i4(8)) & m)) + upper * f4(i4(i4(q >> i4(8)) & m))
            b[i] = lower * f4(i4(i4(p >> i4(16)) & m)) + upper * f4(i4(i4(q >> i4(16)) & m))
            a[i] = lower * f4(i4(i4(p >> i4(24)) & m)) + upper * f4(i4(i4(q >> i4(24)) & m))
        under = out[top + j, left + i0 : left + i1]
        r0, g0, b0, a0 = mixed[0, i0:i1], mixed[1, i0:i1], mixed[2, i0:i1], mixed[3, i0:i1]
        r1, g1, b1, a1 = mixed[0, i0 + 1 :], mixed[1, i0 + 1 :], mixed[2, i0 + 1 :], mixed[3, i0 + 1 :]
        for i in range(under.size):
            p = i4(under[i])
            keep = ONE - (a1[i] + fx * (a0[i] - a1[i])) * f4(1 / 255)
            cr = min(FULL, f4(i4(p & m)) * keep + (r1[i] + fx * (r0[i] - r1[i])) + HALF)
            cg = min(FULL, f4(i4(i4(p >> i4(8)) & m)) * keep + (g1[i] + fx * (g0[i] - g1[i])) + HALF)
            cb = min(FULL, f4(i4(i4(p >> i4(16)) & m)) * keep + (b1[i] + fx * (b0[i] - b1[i])) + HALF)
            under[i] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(-16777216))
