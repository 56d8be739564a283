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
    scale = np.empty(TAPS, f4)
    for k in range(TAPS):
        scale[k] = ONE / (zoom * (ONE + blur * (f4(k) + HALF) / f4(TAPS)))
    red_blue, green = np.empty(width, u4), np.empty(width, u4)
    for y in range(height):
        row = out[y]
        red_blue[:], green[:] = u4(0), u4(0)
        for k in range(TAPS):
            s = scale[k]
            line = half[int(min(last_y, max(NIL, y0 + (f4(y) - y0) * s + HALF)))]
            offset = x0 - x0 * s + HALF
            for x in range(width):
                p = line[i4(min(last_x, max(NIL, f4(x) * s + offset)))]
                red_blue[x] = u4(red_blue[x] + u4(p & RED_BLUE))
                green[x] = u4(green[x] + u4(u4(p >> u4(8)) & u4(255)))
        for x in range(width):
            rb = u4(red_blue[x] + u4(0x00040004)) >> u4(3)
            row[x] = u4(u4(rb) & RED_BLUE) | u4(u4(u4(green[x] + u4(4)) >> u4(3)) << u4(8)) | u4(0xFF000000)


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
    for y in range(height):
        line, inner, to = a[y], b[y], out[y]
        v = max(NIL, min(f4(tall - 1), (f4(y) + HALF) * HALF - HALF))
        j = min(int(v), tall - 2)
        t = v - f4(j)
        top, low = far[j], far[j + 1]
        dy = f4(y) - y0
        for x in range(width):
            dx = f4(x) - x0
            d = math.sqrt(dx * dx + dy * dy)
            w = min(ONE, max(NIL, (radius - d) * inverse + HALF))
            w = w * w * (f4(3) - f4(2) * w)
            if w >= ONE:
                to[x] = inner[x]
                continue
            p = i4(line[x])
            r, g, bl = f4(p & m), f4(i4(p >> i4(8)) & m), f4(i4(p >> i4(16)) & m)
            if share > NIL:
                i = min((x - 1) >> 1, wide - 2) if x > 0 else 0
                s = f4(0.25) if x & 1 else f4(0.75)
                p0, p1, q0, q1 = i4(top[i]), i4(top[i + 1]), i4(low[i]), i4(low[i + 1])
                u, z = ONE - s, ONE - t
                fr = (f4(p0 & m) * u + f4(p1 & m) * s) * z + (f4(q0 & m) * u + f4(q1 & m) * s) * t
                p0, p1, q0, q1 = i4(p0 >> i4(8)), i4(p1 >> i4(8)), i4(q0 >> i4(8)), i4(q1 >> i4(8))
                fg = (f4(p0 & m) * u + f4(p1 & m) * s) * z + (f4(q0 & m) * u + f4(q1 & m) * s) * t
                p0, p1, q0, q1 = i4(p0 >> i4(8)), i4(p1 >> i4(8)), i4(q0 >> i4(8)), i4(q1 >> i4(8))
                fb = (f4(p0 & m) * u + f4(p1 & m) * s) * z + (f4(q0 & m) * u + f4(q1 & m) * s) * t
                r, g, bl = r + (fr - r) * share, g + (fg - g) * share, bl + (fb - bl) * share
            if w > NIL:
                q = i4(inner[x])
                lit = f4(4) * w * (ONE - w)
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
    inner = radius - ONE
    m = i4(255)
    reach = max(f4(0.9) * radius, f4(0.22) * f4(height))
    for y in range(height):
        left, right, to = a[y], b[y], out[y]
        dy = f4(y) - y0
        for x in range(width):
            dx = f4(x) - x0
            if dx * dx + dy * dy < inner * inner:
                to[x] = right[x]
                continue
            most, blade = f4(-1e9), 0
            for k in range(count):
                d = dx * sides[k, 0] + dy * sides[k, 1]
                if d > most:
                    most, blade = d, k
            out_by = most - radius
            if out_by <= -ONE:
                to[x] = right[x]
                continue
            # the seam between two blades: where the next one's edge runs on over this one
            nearest = f4(1e9)
            after = (blade + 1) % count
            gap = dx * sides[after, 0] + dy * sides[after, 1] - radius
            nearest = abs(gap)
            dark = ONE - shade * max(NIL, ONE - out_by / reach) - f4(0.5) * shade * max(NIL, ONE - max(NIL, gap) / reach)
            lit = max(NIL, ONE - abs(out_by) / glow) + f4(0.35) * max(NIL, ONE - nearest / (HALF * glow))
            lit *= max(NIL, ONE - max(NIL, out_by) / (f4(3) * reach))
            w = min(ONE, max(NIL, HALF - out_by))
            p, q = i4(left[x]), i4(right[x])
            dark = max(f4(0.25), dark)
            r, g, bl = f4(p & m) * dark, f4(i4(p >> i4(8)) & m) * dark, f4(i4(p >> i4(16)) & m) * dark
            r += (f4(q & m) - r) * w + rim[0] * lit
            g += (f4(i4(q >> i4(8)) & m) - g) * w + rim[1] * lit
            bl += (f4(i4(q >> i4(16)) & m) - bl) * w + rim[2] * lit
            cr, cg, cb = i4(min(FULL, r + HALF)), i4(min(FULL, g + HALF)), i4(min(FULL, bl + HALF))
            to[x] = u4(cr | i4(cg << i4(8)) | i4(cb << i4(16)) | i4(-16777216))
