"""Text planes in the work buffer: a mip-mapped coverage texture, an exact inverse projection, a filter along its footprint.

The taps follow Heckbert (1989): the ellipse that a pixel covers in the texture gives the mip level by its minor axis and the
number of taps by its major one, so that text on a floor stays sharp across and does not shimmer along.
"""

from __future__ import annotations

import math

import numpy as np

from scenes.stage import records as r
from scenes.stage.jit import Array, Scalar, f4, i4, kernel, u4

NIL, ONE, HALF = f4(0), f4(1), f4(0.5)
INVERSE = 0  # nine values: (x - X0, y - Y0, 1) px -> (column, row, 1) / depth of the texture
START, COLUMNS, ROWS = 9, 10, 11  # where the texture lies among the texels, and its size
NEAR, FOG_START, FOG_SCALE, FOG_MAX = 12, 13, 14, 15
X0, Y0, COLOR, ALPHA, EMISSION = r.X0, r.Y0, r.COLOR, r.ALPHA, r.EMISSION
LEVELS = 7  # mip levels, each half as large: sides are multiples of 64
TAPS = 12  # most taps along the major axis
CELL = 16  # texels of the finest level, to each side, that one entry of the map of cells stands for
SHARP = f4(0.8)  # of a pixel: bilinear taps blur by themselves
BESIDE = f4(1e-3)  # world units off a plane that count as lying in it
IN_PLANE = f4(0.03)  # the same for ribbons, which have a width


@kernel
def _tap(texels: Array, start: int, columns: int, rows: int, x: Scalar, y: Scalar) -> Scalar:
    """Bilinear value 0..255 of one level at x, y in its own texels; nothing outside."""
    x, y = x - HALF, y - HALF
    fx, fy = f4(math.floor(x)), f4(math.floor(y))
    i, j = int(fx), int(fy)
    if i < -1 or j < -1 or i >= columns or j >= rows:
        return NIL
    tx, ty = x - fx, y - fy
    total = NIL
    for b in range(2):
        for a in range(2):
            if 0 <= i + a < columns and 0 <= j + b < rows:
                value = f4(texels[start + (j + b) * columns + i + a])
                total += value * (tx if a else ONE - tx) * (ty if b else ONE - ty)
    return total


@kernel
def _footprint(ux: Scalar, uy: Scalar, vx: Scalar, vy: Scalar) -> tuple[Scalar, Scalar, int, Scalar, int, Scalar]:
    """What a pixel covers of the texture, from the derivatives of its texel by x and y px.

    Direction of the ellipse's major axis (x, y), number of taps along it and the length they spread over in texels, the
    finer of two mip levels and the share of the coarser one.
    """
    p, q, s = ux * ux + uy * uy, ux * vx + uy * vy, vx * vx + vy * vy
    half, middle = (p - s) * HALF, (p + s) * HALF
    spread = f4(math.sqrt(half * half + q * q))
    major = f4(math.sqrt(middle + spread))
    minor = max(f4(math.sqrt(max(NIL, middle - spread))), major / f4(TAPS))
    dx, dy = half + spread, q  # eigenvector of the larger eigenvalue; either form may vanish
    if abs(half - spread) > abs(dx):
        dx, dy = q, spread - half
    length = f4(math.sqrt(dx * dx + dy * dy))
    dx, dy = (dx / length, dy / length) if length > f4(1e-12) else (ONE, NIL)
    taps = max(1, min(TAPS, math.ceil(major / max(minor, ONE) - f4(0.05))))
    reach = max(NIL, major - max(minor, ONE))
    level = min(f4(LEVELS - 1.001), max(NIL, f4(math.log2(max(minor * SHARP, f4(1e-6))))))
    low = int(level)
    return dx, dy, taps, reach, low, level - f4(low)


@kernel
def _covered(
    texels: Array, start: int, columns: int, rows: int, u: Scalar, v: Scalar,
    dx: Scalar, dy: Scalar, taps: int, reach: Scalar, low: int, blend: Scalar,
) -> Scalar:  # fmt: skip
    """Mean coverage 0..1 of a pixel at texel (u, v) with a footprint."""
    total = NIL
    for which in range(2):
        weight = blend if which else ONE - blend
        if weight <= NIL:
            continue
        begin, wide, tall = start, columns, rows
        for _ in range(low + which):
            begin += wide * tall
            wide, tall = wide >> 1, tall >> 1
        shrink = ONE / f4(1 << (low + which))
        for k in range(taps):
            t = ((f4(k) + HALF) / f4(taps) - HALF) * reach
            total += weight * _tap(texels, begin, wide, tall, (u + dx * t) * shrink, (v + dy * t) * shrink)
    return total / f4(255 * taps)


@kernel
def _bare(texels: Array, cells: int, columns: int, rows: int, u0: Scalar, u1: Scalar, v0: Scalar, v1: Scalar) -> bool:
    """Whether no texel of u0..u1, v0..v1 has ink; `cells` is where the texture's map of cells begins."""
    wide = columns // CELL
    for j in range(max(0, int(v0)) // CELL, min(rows - 1, int(max(v1, NIL))) // CELL + 1):
        for i in range(max(0, int(u0)) // CELL, min(columns - 1, int(max(u1, NIL))) // CELL + 1):
            if texels[cells + j * wide + i] != 0:
                return False
    return True


@kernel
def draw_text(
    px: Array, noise: Array, q: Array, texels: Array, fog: Array, left: int, right: int, top: int, bottom: int
) -> None:
    """One text plane over the blocks left..right, top..bottom of the work buffer (see `pixels`); texels (n,) uint8.

    Where the plane recedes little over a block, its pixels share the footprint of the block's middle; a block without
    ink is passed by.
    """
    start, columns, rows = int(q[START]), int(q[COLUMNS]), int(q[ROWS])
    start *= 64  # so that float32 holds it exactly
    cells = start
    for level in range(LEVELS):
        cells += (columns >> level) * (rows >> level)
    near, m = q[NEAR], i4(255)
    tilt = (abs(q[6]) + abs(q[7])) * f4(1.5)  # how far 1 / depth changes from a block's middle to its corner
    for j in range(top, bottom):
        row, shades = px[j], noise[j & 7]
        for i in range(left, right):
            x0, y0 = f4(4 * i + 2) - q[X0], f4(4 * j + 2) - q[Y0]
            w = q[6] * x0 + q[7] * y0 + q[8]
            flat = w > f4(1e-6) and tilt < f4(0.02) * w
            dx, dy, taps, reach, low, blend = ONE, NIL, 1, NIL, 0, NIL
            if flat:
                z = ONE / w
                u, v = (q[0] * x0 + q[1] * y0 + q[2]) * z, (q[3] * x0 + q[4] * y0 + q[5]) * z
                ux, uy, vx, vy = (q[0] - u * q[6]) * z, (q[1] - u * q[7]) * z, (q[3] - v * q[6]) * z, (q[4] - v * q[7]) * z
                dx, dy, taps, reach, low, blend = _footprint(ux, uy, vx, vy)
                soft = f4(3 << low) + HALF * reach  # a tap of the coarser level takes in 1.5 of its texels to each side
                across, down = (abs(ux) + abs(uy)) * f4(1.6) + soft, (abs(vx) + abs(vy)) * f4(1.6) + soft
                if u + across < NIL or v + down < NIL or u - across > f4(columns) or v - down > f4(rows):
                    continue
                if _bare(texels, cells, columns, rows, u - across, u + across, v - down, v + down):
                    continue
            block = row[16 * i : 16 * i + 16]
            shade = shades[16 * (i & 7) : 16 * (i & 7) + 16]
            for k in range(16):
                x, y = f4(4 * i + (k & 3)) + HALF - q[X0], f4(4 * j + (k >> 2)) + HALF - q[Y0]
                w = q[6] * x + q[7] * y + q[8]
                if w <= f4(1e-6):
                    continue
                z = ONE / w
                u, v = (q[0] * x + q[1] * y + q[2]) * z, (q[3] * x + q[4] * y + q[5]) * z
                if u < -ONE or v < -ONE or u > f4(columns + 1) or v > f4(rows + 1):
                    continue
                if not flat:
                    dx, dy, taps, reach, low, blend = _footprint(
                        (q[0] - u * q[6]) * z, (q[1] - u * q[7]) * z, (q[3] - v * q[6]) * z, (q[4] - v * q[7]) * z
                    )
                cov = _covered(texels, start, columns, rows, u, v, dx, dy, taps, reach, low, blend)
                cov *= q[ALPHA] * min(ONE, max(NIL, (z - near) / near))
                if cov < f4(0.002):
                    continue
                mist = min(q[FOG_MAX], max(NIL, (z - q[FOG_START]) * q[FOG_SCALE]))
                p = i4(block[k])
                keep, ink, haze, d = ONE - cov, cov * (ONE - mist), cov * mist, shade[k]
                cr = f4(i4(p & m)) * keep + q[COLOR] * ink + fog[0] * haze + d
                cg = f4(i4(i4(p >> i4(8)) & m)) * keep + q[COLOR + 1] * ink + fog[1] * haze + d
                cb = f4(i4(i4(p >> i4(16)) & m)) * keep + q[COLOR + 2] * ink + fog[2] * haze + d
                ce = f4(i4(i4(p >> i4(24)) & m)) * keep + q[EMISSION] * cov + HALF
                block[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(i4(ce) << i4(24)))


@kernel
def plane_relation(corners: Array, points: Array, slack: Scalar, eye: Array) -> int:
    """A text plane, corners (4, 3), and the hull of points (N, 3): 1 plane first (it is behind), -1 hull first, 0 straddling.

    What lies in the plane, within slack (world units), is drawn before it: text is written upon things.
    """
    n = np.empty(3)
    u, v = corners[1] - corners[0], corners[3] - corners[0]
    n[0], n[1], n[2] = u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]
    length = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) + 1e-30
    side, low, high = 0.0, 1e30, -1e30
    for c in range(3):
        side += n[c] * (eye[c] - corners[0, c])
    for k in range(points.shape[0]):
        d = 0.0
        for c in range(3):
            d += n[c] * (points[k, c] - corners[0, c])
        d = d / length if side > 0 else -d / length
        low, high = min(low, d), max(high, d)
    if high <= slack:
        return -1
    return 1 if low >= -slack else 0


@kernel
def box_corners(lo: Array, hi: Array) -> Array:
    """(8, 3) of a box."""
    points = np.empty((8, 3), f4)
    for k in range(8):
        for c in range(3):
            points[k, c] = hi[c] if (k >> c) & 1 else lo[c]
    return points


NO_PLANES = np.empty((0, 4, 3), f4)
NO_ROWS = np.empty((0, r.SIZE), f4)
NO_TEXELS = np.zeros(64, np.uint8)
