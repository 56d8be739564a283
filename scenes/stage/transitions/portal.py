"""Pixel code of transitions through an opening: dive (into a spot that becomes the next scene) and iris (blades that part).

Pictures are (H, W) uint32, red in the low byte, opaque.
"""

from __future__ import annotations

import math

import numpy as np

from scenes.stage.jit import Array, Scalar, f4, i4, kernel, u4

NIL, ONE, HALF, FULL = f4(0), f4(1), f4(0.5), f4(255)
RED_BLUE = u4(0x00FF00FF)
TAPS = 8  # samples of a radial blur


@kernel
def halved(src: Array, out: Array) -> None:
    """out (H // 2, W // 2) = means over 2 x 2 pixels."""
    for j in range(out.shape[0]):
        top, low, row = src[2 * j], src[2 * j + 1], out[j]
        for i in range(row.size):
            a, b, c, d = top[2 * i], top[2 * i + 1], low[2 * i], low[2 * i + 1]
            rb = u4(u4(a & RED_BLUE) + u4(b & RED_BLUE) + u4(c & RED_BLUE) + u4(d & RED_BLUE) + u4(0x00020002))
            g = u4(u4(u4(a >> u4(8)) & u4(255)) + u4(u4(b >> u4(8)) & u4(255)))
            g = u4(g + u4(u4(u4(c >> u4(8)) & u4(255)) + u4(u4(d >> u4(8)) & u4(255))) + u4(2))
            row[i] = u4(u4(rb >> u4(2)) & RED_BLUE) | u4(u4(g >> u4(2)) << u4(8)) | u4(0xFF000000)


@kernel
def rush(half: Array, x0: Scalar, y0: Scalar, zoom: Scalar, blur: Scalar, out: Array) -> None:
    """out (h, w): the half-size picture zoomed about (x0, y0) by `zoom` and drawn out radially by the share `blur`."""
    height, width = half.shape
    last_x, last_y = f4(width - 1), f4(height - 1)
    scale, columns = np.empty(TAPS, f4), np.empty((TAPS, width), np.int32)
    for k in range(TAPS):
        scale[k] = ONE / (zoom * (ONE + blur * (f4(k) + HALF) / f4(TAPS)))
        for x in range(width):
            columns[k, x] = i4(min(last_x, max(NIL, x0 + (f4(x) - x0) * scale[k] + HALF)))
    red_blue, green = np.empty(width, u4), np.empty(width, u4)
    for y in range(height):
        row = out[y]
        red_blue[:], green[:] = u4(0), u4(0)
        for k in range(TAPS):
            line, at = half[int(min(last_y, max(NIL, y0 + (f4(y) - y0) * scale[k] + HALF)))], columns[k]
            for x in range(width):
                p = line[at[x]]
                red_blue[x] = u4(red_blue[x] + u4(p & RED_BLUE))
                green[x] = u4(green[x] + u4(u4(p >> u4(8)) & u4(255)))
        for x in range(width):
            rb = u4(red_blue[x] + u4(0x00040004)) >> u4(3)
            row[x] = u4(u4(rb) & RED_BLUE) | u4(u4(u4(green[x] + u4(4)) >> u4(3)) << u4(8)) | u4(0xFF000000)


@kernel
def _doubled(low: Array, high: Array, t: Scalar, shift: int, line: Array, out: Array) -> None:
    """out (W,) = one channel between two rows of the half-size picture, at the full width; line (w + 2,) scratch."""
    wide = low.size
    for i in range(wide):
        p, q = f4(i4(i4(low[i]) >> i4(shift)) & i4(255)), f4(i4(i4(high[i]) >> i4(shift)) & i4(255))
        line[i + 1] = p + (q - p) * t
    line[0], line[wide + 1] = line[1], line[wide]
    before, here, after = line[:wide], line[1 : wide + 1], line[2 : wide + 2]
    for i in range(wide):
        out[2 * i] = here[i] + (before[i] - here[i]) * f4(0.25)
        out[2 * i + 1] = here[i] + (after[i] - here[i]) * f4(0.25)


@kernel
def dive(
    a: Array, far: Array, share: Scalar, b: Array, x0: Scalar, y0: Scalar, radius: Scalar, soft: Scalar, rim: Array, out: Array
) -> None:
    """out: `a`, of which `share` comes from its half-size blurred image `far`; within `radius` px of (x0, y0) it is b.

    The opening's edge is `soft` px wide and lit by the colour rim (3,), 0..255.
    """
    height, width = out.shape
    tall, wide = far.shape
    m = i4(255)
    inverse = ONE / soft
    red, green, blue = np.zeros(width + 1, f4), np.zeros(width + 1, f4), np.zeros(width + 1, f4)
    line = np.zeros(wide + 2, f4)
    outer, inner = max(NIL, radius + HALF * soft), max(NIL, radius - HALF * soft)
    for y in range(height):
        dy = f4(y) - y0
        away, within = outer * outer - dy * dy, inner * inner - dy * dy
        x1, x2 = x0, x0  # the opening with its edge
        if away > NIL:
            x1, x2 = x0 - math.sqrt(away), x0 + math.sqrt(away)
        x3, x4 = x0, x0  # what is all of b
        if within > NIL:
            x3, x4 = x0 - math.sqrt(within), x0 + math.sqrt(within)
        c1, c2 = min(width, max(0, int(x1))), min(width, max(0, int(x2) + 2))
        c3, c4 = min(c2, max(c1, int(x3) + 2)), min(c2, max(c1, int(x4) - 1))
        if within <= NIL or c4 <= c3:
            c3, c4 = c2, c2
        source, under, to = a[y], b[y], out[y]
        if share > NIL and (c3 > 0 or c4 < width):
            v = max(NIL, min(f4(tall - 1), (f4(y) + HALF) * HALF - HALF))
            j = min(int(v), tall - 2)
            t = v - f4(j)
            _doubled(far[j], far[j + 1], t, 0, line, red)
            _doubled(far[j], far[j + 1], t, 8, line, green)
            _doubled(far[j], far[j + 1], t, 16, line, blue)
        for part in range(2):
            s0, s1 = (0, c3) if part == 0 else (c4, width)
            if share <= NIL:
                to[s0:s1] = source[s0:s1]
                continue
            src, dst, r_, g_, b_ = source[s0:s1], to[s0:s1], red[s0:s1], green[s0:s1], blue[s0:s1]
            for x in range(dst.size):
                p = i4(src[x])
                r, g, bl = f4(p & m), f4(i4(p >> i4(8)) & m), f4(i4(p >> i4(16)) & m)
                cr, cg, cb = r + (r_[x] - r) * share + HALF, g + (g_[x] - g) * share + HALF, bl + (b_[x] - bl) * share + HALF
                dst[x] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(-16777216))
        to[c3:c4] = under[c3:c4]
        for part in range(2):
            s0, s1 = (c1, c3) if part == 0 else (c4, c2)
            for x in range(s0, s1):
                dx = f4(x) - x0
                w = min(ONE, max(NIL, (radius - math.sqrt(dx * dx + dy * dy)) * inverse + HALF))
                w = w * w * (f4(3) - f4(2) * w)
                lit = f4(4) * w * (ONE - w)
                p, q = i4(to[x]), i4(under[x])
                r, g, bl = f4(p & m), f4(i4(p >> i4(8)) & m), f4(i4(p >> i4(16)) & m)
                r += (f4(q & m) - r) * w + rim[0] * lit
                g += (f4(i4(q >> i4(8)) & m) - g) * w + rim[1] * lit
                bl += (f4(i4(q >> i4(16)) & m) - bl) * w + rim[2] * lit
                cr, cg, cb = i4(min(FULL, r + HALF)), i4(min(FULL, g + HALF)), i4(min(FULL, bl + HALF))
                to[x] = u4(cr | i4(cg << i4(8)) | i4(cb << i4(16)) | i4(-16777216))


@kernel
def iris(
    a: Array, b: Array, x0: Scalar, y0: Scalar, radius: Scalar, sides: Array, shade: Scalar, glow: Scalar, rim: Array,
    out: Array,
) -> None:  # fmt: skip
    """out: b within a polygon about (x0, y0), a outside of it, shaded towards the opening as if blades lay on it.

    sides (N, 2): unit normals of its sides, each `radius` px from the middle. Each side runs on beyond its corner as the edge
    of a blade, `glow` px wide and lit by rim (3,), 0..255; `shade` 0..1 is how dark a blade is at its edge.
    """
    height, width = out.shape
    count = sides.shape[0]
    m = i4(255)
    reach = max(f4(0.9) * radius, f4(0.22) * f4(height))
    per_reach, per_glow = ONE / reach, ONE / glow
    most, gap = np.empty(width, f4), np.empty(width, f4)
    for y in range(height):
        left, right, to = a[y], b[y], out[y]
        dy = f4(y) - y0
        # where the row crosses the polygon, a pixel inside its edge: all of b
        x1, x2 = f4(-1e9), f4(1e9)
        for k in range(count):
            nx, rest = sides[k, 0], radius - ONE - glow - dy * sides[k, 1]
            if abs(nx) < f4(1e-6):
                x2 = x2 if rest >= NIL else f4(-1e9)
            elif nx > NIL:
                x2 = min(x2, rest / nx)
            else:
                x1 = max(x1, rest / nx)
        c1 = int(min(f4(width), max(NIL, x0 + x1 + ONE)))
        c2 = int(min(f4(width), max(NIL, x0 + x2)))
        if c2 <= c1:
            c1, c2 = width, width
        to[c1:c2] = right[c1:c2]
        for part in range(2):
            s0, s1 = (0, c1) if part == 0 else (c2, width)
            far, after = most[s0:s1], gap[s0:s1]
            far[:] = f4(-1e9)
            for k in range(count):
                following = (k + 1) % count
                nx, base = sides[k, 0], dy * sides[k, 1] + (f4(s0) - x0) * sides[k, 0]
                mx, under = sides[following, 0], dy * sides[following, 1] + (f4(s0) - x0) * sides[following, 0]
                for x in range(far.size):  # the blade that lies here, and how far it is to the edge of the one over it
                    d, e = base + f4(x) * nx, under + f4(x) * mx
                    after[x] = e if d > far[x] else after[x]
                    far[x] = max(d, far[x])
            src, new, dst = left[s0:s1], right[s0:s1], to[s0:s1]
            for x in range(dst.size):
                out_by, seam = far[x] - radius, after[x] - radius
                dark = (
                    ONE - shade * max(NIL, ONE - out_by * per_reach) - HALF * shade * max(NIL, ONE - max(NIL, seam) * per_reach)
                )
                dark = max(f4(0.25), dark)
                lit = max(NIL, ONE - abs(out_by) * per_glow) + f4(0.35) * max(NIL, ONE - f4(2) * abs(seam) * per_glow)
                lit *= max(NIL, ONE - max(NIL, out_by) * per_reach * f4(1 / 3))
                w = min(ONE, max(NIL, HALF - out_by))
                p, q = i4(src[x]), i4(new[x])
                r, g, bl = f4(p & m) * dark, f4(i4(p >> i4(8)) & m) * dark, f4(i4(p >> i4(16)) & m) * dark
                r += (f4(q & m) - r) * w + rim[0] * lit
                g += (f4(i4(q >> i4(8)) & m) - g) * w + rim[1] * lit
                bl += (f4(i4(q >> i4(16)) & m) - bl) * w + rim[2] * lit
                cr, cg, cb = i4(min(FULL, r + HALF)), i4(min(FULL, g + HALF)), i4(min(FULL, bl + HALF))
                dst[x] = u4(cr | i4(cg << i4(8)) | i4(cb << i4(16)) | i4(-16777216))
