"""Draws records into the work buffer: packed uint32 pixels, red in the low byte, emission in the high byte.

Each loop runs over a multiple of 16 pixels so that it vectorises without a scalar rest. Values are rounded with a blue-noise
threshold instead of one half, so that slow gradients in the dark do not band.
"""

from __future__ import annotations

import math

import numpy as np

from scenes.stage import records as r
from scenes.stage.jit import Array, f4, i4, kernel, u4

SMALL = 48  # px: narrower quads are filled by their bounding box
FULL = f4(255)
ONE = f4(1)
NIL = f4(0)
HALF = f4(0.5)
EMPTY_BOX = f4(1e6)

A, B, C, GROW, BEVEL, BEVEL_INVERSE, HIGHLIGHT = r.A, r.B, r.C, r.GROW, r.BEVEL, r.BEVEL_INVERSE, r.HIGHLIGHT
X0, Y0, GAIN, COLOR, ALPHA, FOG, EMISSION = r.X0, r.Y0, r.GAIN, r.COLOR, r.ALPHA, r.FOG, r.EMISSION
KIND, BOX, INNER, GAIN_MAX, KEEP, RADIUS = r.KIND, r.BOX, r.INNER, r.GAIN_MAX, r.KEEP, r.RADIUS
FACE, LINE, DISC, SOFT = f4(r.FACE), f4(r.LINE), f4(r.DISC), f4(r.SOFT)


@kernel
def _face_run(row: Array, noise: Array, q: Array, x: f4, y: f4, fog: Array) -> None:
    """A row of a face whose first pixel centre is (x, y): coverage, bevel light, gain, fog."""
    a0, a1, a2, a3 = q[A], q[A + 1], q[A + 2], q[A + 3]
    c0 = a0 * x + q[B] * y + q[C]
    c1 = a1 * x + q[B + 1] * y + q[C + 1]
    c2 = a2 * x + q[B + 2] * y + q[C + 2]
    c3 = a3 * x + q[B + 3] * y + q[C + 3]
    g0, g1, g2, g3 = q[GROW], q[GROW + 1], q[GROW + 2], q[GROW + 3]
    u0, u1, u2, u3 = q[BEVEL], q[BEVEL + 1], q[BEVEL + 2], q[BEVEL + 3]
    iw = q[BEVEL_INVERSE]
    shine = q[HIGHLIGHT]
    dx = x - q[X0]
    dy = y - q[Y0]
    l0 = q[GAIN] + q[GAIN + 1] * dx + q[GAIN + 2] * dy + q[GAIN + 3] * dx * dx + q[GAIN + 4] * dx * dy + q[GAIN + 5] * dy * dy
    l1 = q[GAIN + 1] + f4(2) * q[GAIN + 3] * dx + q[GAIN + 4] * dy
    l2 = q[GAIN + 3]
    top = q[GAIN_MAX]
    h0 = q[FOG] + q[FOG + 1] * dx + q[FOG + 2] * dy
    h1 = q[FOG + 1]
    red, green, blue = q[COLOR], q[COLOR + 1], q[COLOR + 2]
    fr, fg, fb = fog[0], fog[1], fog[2]
    alpha, emission = q[ALPHA], q[EMISSION]
    m = i4(255)
    for k in range(row.size):
        t = f4(i4(k))
        p = i4(row[k])
        e0 = a0 * t + c0
        e1 = a1 * t + c1
        e2 = a2 * t + c2
        e3 = a3 * t + c3
        cov = max(NIL, min(ONE, e0 + g0) + min(ONE, e2 + g2) - ONE) * max(NIL, min(ONE, e1 + g1) + min(ONE, e3 + g3) - ONE) * alpha
        s = max(max(u0 - e0 * iw, u1 - e1 * iw), max(u2 - e2 * iw, u3 - e3 * iw))
        s = min(ONE, max(NIL, s))
        s2 = s * s
        s8 = s2 * s2 * s2
        bevel = (s2 * f4(0.22) + s8 * f4(0.78)) * shine
        light = max(NIL, l0 + t * (l1 + t * l2))
        light = min(top, light * (ONE + bevel * f4(0.9)) + bevel * f4(0.10))
        mist = min(ONE, max(NIL, h0 + h1 * t))
        white = bevel * f4(0.16)
        cr = red * light
        cg = green * light
        cb = blue * light
        cr += (FULL - cr) * white
        cg += (FULL - cg) * white
        cb += (FULL - cb) * white
        cr += (fr - cr) * mist
        cg += (fg - cg) * mist
        cb += (fb - cb) * mist
        pr = f4(i4(p & m))
        pg = f4(i4(i4(p >> i4(8)) & m))
        pb = f4(i4(i4(p >> i4(16)) & m))
        pe = f4(i4(i4(p >> i4(24)) & m))
        d = noise[k]
        cr = min(FULL, pr + (cr - pr) * cov + d)
        cg = min(FULL, pg + (cg - pg) * cov + d)
        cb = min(FULL, pb + (cb - pb) * cov + d)
        ce = pe + (emission - pe) * cov + HALF
        row[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(i4(ce) << i4(24)))


@kernel
def _solid_run(row: Array, noise: Array, q: Array, x: f4, y: f4, fog: Array) -> None:
    """The inside of an opaque face: no coverage, no bevel."""
    dx = x - q[X0]
    dy = y - q[Y0]
    l0 = q[GAIN] + q[GAIN + 1] * dx + q[GAIN + 2] * dy + q[GAIN + 3] * dx * dx + q[GAIN + 4] * dx * dy + q[GAIN + 5] * dy * dy
    l1 = q[GAIN + 1] + f4(2) * q[GAIN + 3] * dx + q[GAIN + 4] * dy
    l2 = q[GAIN + 3]
    top = q[GAIN_MAX]
    h0 = q[FOG] + q[FOG + 1] * dx + q[FOG + 2] * dy
    h1 = q[FOG + 1]
    red, green, blue = q[COLOR], q[COLOR + 1], q[COLOR + 2]
    fr, fg, fb = fog[0], fog[1], fog[2]
    emission = i4(i4(q[EMISSION] + HALF) << i4(24))
    for k in range(row.size):
        t = f4(i4(k))
        light = min(top, max(NIL, l0 + t * (l1 + t * l2)))
        mist = min(ONE, max(NIL, h0 + h1 * t))
        d = noise[k]
        cr = red * light
        cg = green * light
        cb = blue * light
        cr = min(FULL, cr + (fr - cr) * mist + d)
        cg = min(FULL, cg + (fg - cg) * mist + d)
        cb = min(FULL, cb + (fb - cb) * mist + d)
        row[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | emission)


@kernel
def _line_run(row: Array, noise: Array, q: Array, x: f4, y: f4) -> None:
    """A row of a line: coverage, alpha along the line, one colour."""
    a0, a1, a2, a3 = q[A], q[A + 1], q[A + 2], q[A + 3]
    c0 = a0 * x + q[B] * y + q[C]
    c1 = a1 * x + q[B + 1] * y + q[C + 1]
    c2 = a2 * x + q[B + 2] * y + q[C + 2]
    c3 = a3 * x + q[B + 3] * y + q[C + 3]
    o0 = q[ALPHA] + q[ALPHA + 1] * (x - q[X0]) + q[ALPHA + 2] * (y - q[Y0])
    o1 = q[ALPHA + 1]
    red, green, blue, emission = q[COLOR], q[COLOR + 1], q[COLOR + 2], q[EMISSION]
    m = i4(255)
    for k in range(row.size):
        t = f4(i4(k))
        p = i4(row[k])
        u = min(ONE, a0 * t + c0 + HALF) + min(ONE, a2 * t + c2 + HALF) - ONE
        v = min(ONE, a1 * t + c1 + HALF) + min(ONE, a3 * t + c3 + HALF) - ONE
        cov = max(NIL, u) * max(NIL, v) * min(ONE, max(NIL, o0 + o1 * t))
        d = noise[k]
        pr = f4(i4(p & m))
        pg = f4(i4(i4(p >> i4(8)) & m))
        pb = f4(i4(i4(p >> i4(16)) & m))
        pe = f4(i4(i4(p >> i4(24)) & m))
        cr = min(FULL, pr + (red - pr) * cov + d)
        cg = min(FULL, pg + (green - pg) * cov + d)
        cb = min(FULL, pb + (blue - pb) * cov + d)
        ce = pe + (emission - pe) * cov + HALF
        row[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(i4(ce) << i4(24)))


@kernel
def _soft_run(row: Array, noise: Array, q: Array, x: f4, y: f4) -> None:
    """A row of a soft patch (contact shadow, spilt light): edges are ramps, emission stays."""
    a0, a1, a2, a3 = q[A], q[A + 1], q[A + 2], q[A + 3]
    c0 = a0 * x + q[B] * y + q[C]
    c1 = a1 * x + q[B + 1] * y + q[C + 1]
    c2 = a2 * x + q[B + 2] * y + q[C + 2]
    c3 = a3 * x + q[B + 3] * y + q[C + 3]
    red, green, blue, alpha, keep = q[COLOR], q[COLOR + 1], q[COLOR + 2], q[ALPHA], q[KEEP]
    m = i4(255)
    for k in range(row.size):
        t = f4(i4(k))
        p = i4(row[k])
        u = max(NIL, min(ONE, min(a0 * t + c0, a2 * t + c2)))
        v = max(NIL, min(ONE, min(a1 * t + c1, a3 * t + c3)))
        s = u * v
        s = s * s * (f4(3) - f4(2) * s) * alpha
        d = noise[k]
        pr = f4(i4(p & m))
        pg = f4(i4(i4(p >> i4(8)) & m))
        pb = f4(i4(i4(p >> i4(16)) & m))
        cr = min(FULL, pr + (red - pr * keep) * s + d)
        cg = min(FULL, pg + (green - pg * keep) * s + d)
        cb = min(FULL, pb + (blue - pb * keep) * s + d)
        row[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(p & i4(-16777216)))


@kernel
def _disc_run(row: Array, noise: Array, q: Array, dx: f4, dy2: f4) -> None:
    """A row of a glowing point: colour at the rim, nearly white in the core."""
    radius = q[RADIUS]
    inverse = ONE / (radius * f4(0.4) + HALF)
    alpha = q[ALPHA] * min(ONE, radius * radius * f4(3))  # smaller than a pixel: dimmer instead of smaller
    red, green, blue, emission = q[COLOR], q[COLOR + 1], q[COLOR + 2], q[EMISSION]
    m = i4(255)
    for k in range(row.size):
        x = dx + f4(i4(k))
        p = i4(row[k])
        far = f4(math.sqrt(x * x + dy2))
        cov = min(ONE, max(NIL, radius - far + HALF)) * alpha
        core = min(ONE, max(NIL, (radius * f4(0.6) - far) * inverse + HALF)) * f4(0.8)
        d = noise[k]
        pr = f4(i4(p & m))
        pg = f4(i4(i4(p >> i4(8)) & m))
        pb = f4(i4(i4(p >> i4(16)) & m))
        pe = f4(i4(i4(p >> i4(24)) & m))
        cr = red + (FULL - red) * core
        cg = green + (FULL - green) * core
        cb = blue + (FULL - blue) * core
        cr = min(FULL, pr + (cr - pr) * cov + d)
        cg = min(FULL, pg + (cg - pg) * cov + d)
        cb = min(FULL, pb + (cb - pb) * cov + d)
        ce = pe + (emission * (ONE - core * f4(0.7)) - pe) * cov + HALF
        row[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(i4(ce) << i4(24)))


@kernel
def _run(kind: f4, row: Array, noise: Array, q: Array, x: f4, y: f4, fog: Array) -> None:
    if kind == FACE:
        _face_run(row, noise, q, x, y, fog)
    elif kind == LINE:
        _line_run(row, noise, q, x, y)
    else:
        _soft_run(row, noise, q, x, y)


@kernel
def draw(px: Array, queue: Array, count: int, noise: Array, fog: Array) -> None:
    """Draw records 0..count of `queue` (n, records.SIZE) in order into px (H, W) uint32, W a multiple of 16.

    noise: (32, W) thresholds in 0..1; fog: (3,) colour 0..255.
    """
    height, width = px.shape
    outer = np.empty(4, f4)
    for n in range(count):
        q = queue[n]
        kind = q[KIND]
        if q[BOX] > width or q[BOX + 2] < NIL or q[BOX + 1] > height or q[BOX + 3] < NIL:
            continue
        top = int(max(NIL, q[BOX + 1]))
        bottom = min(height, int(min(f4(height), q[BOX + 3])) + 1)
        left = int(max(NIL, q[BOX])) & ~15
        right = min(width, (int(min(f4(width), q[BOX + 2])) + 16) & ~15)
        if right <= left:
            continue
        if kind == DISC:
            dx = f4(left) + HALF - q[A]
            for y in range(top, bottom):
                dy = f4(y) + HALF - q[A + 1]
                _disc_run(px[y, left:right], noise[y & 31, left:right], q, dx, dy * dy)
            continue
        if right - left <= (16 if kind == LINE else SMALL):
            x = f4(left) + HALF
            for y in range(top, bottom):
                _run(kind, px[y, left:right], noise[y & 31, left:right], q, x, f4(y) + HALF, fog)
            continue
        solid = kind == FACE and q[ALPHA] >= ONE
        for e in range(4):
            outer[e] = q[GROW + e] if kind == FACE else (HALF if kind == LINE else NIL)
        for y in range(top, bottom):  # blocks that touch the quad; its inside without coverage
            fy = f4(y) + HALF
            xa, xb, ja, jb = f4(left), f4(right), f4(-1e6), f4(1e6)
            for e in range(4):
                slope = q[A + e]
                c = q[B + e] * fy + q[C + e]
                if abs(slope) < f4(1e-6):
                    if c + outer[e] <= NIL:
                        xb = f4(-1)
                    if c < q[INNER]:
                        jb = f4(-1e6)
                elif slope > NIL:
                    xa = max(xa, -(c + outer[e]) / slope)
                    ja = max(ja, (q[INNER] - c) / slope)
                else:
                    xb = min(xb, -(c + outer[e]) / slope)
                    jb = min(jb, (q[INNER] - c) / slope)
            if xb < xa:
                continue
            b0 = max(left, int(xa - HALF) & ~15)
            b1 = min(right, (int(xb + f4(1.5)) + 15) & ~15)
            if b1 <= b0:
                continue
            s0, s1 = b1, b1
            if solid and jb - ja > f4(32):
                s0 = max(b0, (int(max(f4(-64), ja + HALF)) + 15) & ~15)
                s1 = min(b1, int(min(EMPTY_BOX, jb + HALF)) & ~15)
                if s1 - s0 < 16:
                    s0, s1 = b1, b1
            shade = noise[y & 31]
            if s0 > b0:
                _run(kind, px[y, b0:s0], shade[b0:s0], q, f4(b0) + HALF, fy, fog)
            if s1 > s0:
                _solid_run(px[y, s0:s1], shade[s0:s1], q, f4(s0) + HALF, fy, fog)
            if b1 > s1 and s1 > s0:
                _run(kind, px[y, s1:b1], shade[s1:b1], q, f4(s1) + HALF, fy, fog)
