"""Draws records into the work buffer: packed uint32 pixels, red in the low byte, emission in the high byte.

The buffer is stored in blocks of 4 x 4 pixels, (H / 4, 4 W): block (j, i) is buffer[j, 16 i : 16 i + 16], row by row. Small
slanted faces then touch few pixels that are not theirs, a block is one cache line, and a loop over 16 pixels vectorises without
a rest. Values are rounded by a blue-noise threshold instead of one half, so that slow gradients in the dark do not band.
"""

from __future__ import annotations

import math

import numpy as np

from scenes.stage import records as r
from scenes.stage.ink import draw_text
from scenes.stage.jit import Array, Scalar, f4, i4, kernel, u4

NIL, ONE, HALF, FULL = f4(0), f4(1), f4(0.5), f4(255)
FAR = f4(1e6)
EDGE_ON = f4(1e-5)
BIAS, IBIAS = f4(4096), 4096
COVER = 16  # blocks: narrower faces are not looked at by find_cover

A, B, C, GROW, BEVEL, BEVEL_INVERSE, HIGHLIGHT = r.A, r.B, r.C, r.GROW, r.BEVEL, r.BEVEL_INVERSE, r.HIGHLIGHT
X0, Y0, GAIN, COLOR, ALPHA, FOG, EMISSION = r.X0, r.Y0, r.GAIN, r.COLOR, r.ALPHA, r.FOG, r.EMISSION
KIND, BOX, INNER, GAIN_MAX, KEEP, RADIUS = r.KIND, r.BOX, r.INNER, r.GAIN_MAX, r.KEEP, r.RADIUS
FACE, LINE, SOFT, TEXT = f4(r.FACE), f4(r.LINE), f4(r.SOFT), f4(r.TEXT)


@kernel
def _prepare(q: Array, lines: Array) -> None:
    """lines (4, 5) per edge: b, c, -1 / a (0 where the edge is level), slack outside, slack inside; for _spans."""
    for e in range(4):
        a, b = q[A + e], q[B + e]
        lines[e, 0], lines[e, 1] = b, q[C + e] + f4(1.5) * b
        lines[e, 2] = -ONE / a if abs(a) > EDGE_ON else NIL
        lines[e, 3], lines[e, 4] = f4(1.5) * abs(b) + q[GROW + e], -f4(1.5) * abs(b) - q[INNER]


@kernel
def _spans(lines: Array, y: Scalar, left: int, right: int, whole: bool) -> tuple[int, int, int, int]:
    """Blocks that a quad touches on a row of blocks whose first pixel centre is at height y, and those it covers whole.

    Returns first, last, first whole, last whole (ends exclusive); the latter two equal `last` where there are none.
    """
    x0, x1 = f4(4 * left) - f4(8), f4(4 * right) + f4(8)
    s0, s1 = x0, x1
    for e in range(4):
        c = lines[e, 0] * y + lines[e, 1]
        slope = lines[e, 2]
        outer, inner = c + lines[e, 3], c + lines[e, 4]
        if slope == NIL:
            if outer <= NIL:
                return left, left, left, left
            if inner < NIL:
                s1 = s0
        elif slope < NIL:
            x0, s0 = max(x0, outer * slope), max(s0, inner * slope)
        else:
            x1, s1 = min(x1, outer * slope), min(s1, inner * slope)
    # far below zero first: a cast to int cuts towards zero
    first = max(left, int((x0 - HALF) * f4(0.25) + BIAS) - IBIAS)
    last = min(right, int((x1 - HALF) * f4(0.25) + BIAS) - IBIAS + 1)
    if last <= first:
        return left, left, left, left
    if whole and s1 - s0 > f4(3):
        whole0 = max(first, int((s0 + f4(3.5)) * f4(0.25) + BIAS) - IBIAS)
        whole1 = min(last, int((s1 + HALF) * f4(0.25) + BIAS) - IBIAS)
        if whole1 > whole0:
            return first, last, whole0, whole1
    return first, last, last, last


@kernel
def _block_box(q: Array, wide: int, tall: int) -> tuple[int, int, int, int]:
    """Columns and rows of blocks of a record's bounds: left, right, top, bottom (right <= left where off the screen)."""
    width, height = f4(4 * wide), f4(4 * tall)
    if q[BOX] >= width or q[BOX + 2] < NIL or q[BOX + 1] >= height or q[BOX + 3] < NIL:
        return 0, 0, 0, 0
    left, right = int(max(NIL, q[BOX])) >> 2, min(wide, (int(min(width, q[BOX + 2])) >> 2) + 1)
    top, bottom = int(max(NIL, q[BOX + 1])) >> 2, min(tall, (int(min(height, q[BOX + 3])) >> 2) + 1)
    return left, right, top, bottom


@kernel
def find_cover(queue: Array, count: int, wide: int, tall: int, cover: Array) -> None:
    """cover (tall, 2): the longest run of blocks on each row of blocks that one face covers whole: no floor is needed there."""
    cover[:] = 0
    lines = np.empty((4, 5), f4)
    for n in range(count):
        q = queue[n]
        if q[KIND] != FACE or q[ALPHA] < ONE:
            continue
        left, right, top, bottom = _block_box(q, wide, tall)
        if right - left < COVER:
            continue
        _prepare(q, lines)
        for j in range(top, bottom):
            s0, s1 = _spans(lines, f4(4 * j) + HALF, left, right, True)[2:]
            if s1 - s0 > cover[j, 1] - cover[j, 0]:
                cover[j, 0], cover[j, 1] = s0, s1


@kernel
def _draw_face(
    px: Array, noise: Array, q: Array, lines: Array, fog: Array, left: int, right: int, top: int, bottom: int
) -> None:
    """A face: coverage and bevel light near its edges; gain and mist everywhere."""
    a0, a1, a2, a3 = q[A], q[A + 1], q[A + 2], q[A + 3]
    b0, b1, b2, b3 = q[B], q[B + 1], q[B + 2], q[B + 3]
    g0, g1, g2, g3 = q[GROW], q[GROW + 1], q[GROW + 2], q[GROW + 3]
    iw = q[BEVEL_INVERSE]
    u0, u1, u2, u3 = q[BEVEL] + g0 * iw - iw, q[BEVEL + 1] + g1 * iw - iw, q[BEVEL + 2] + g2 * iw, q[BEVEL + 3] + g3 * iw
    d0, d1, d2, d3 = q[C] + g0 - ONE, q[C + 1] + g1 - ONE, q[C + 2] + g2, q[C + 3] + g3
    shine, peak, alpha, emission = q[HIGHLIGHT], q[GAIN_MAX], q[ALPHA], q[EMISSION]
    red, green, blue = q[COLOR], q[COLOR + 1], q[COLOR + 2]
    fr, fg, fb = fog[0], fog[1], fog[2]
    lc, lx, ly, lxx, lxy, lyy = q[GAIN], q[GAIN + 1], q[GAIN + 2], q[GAIN + 3], q[GAIN + 4], q[GAIN + 5]
    hc, hx, hy = q[FOG], q[FOG + 1], q[FOG + 2]
    packed = i4(i4(emission + HALF) << i4(24))
    solid = alpha >= ONE
    m = i4(255)
    for j in range(top, bottom):
        y = f4(4 * j) + HALF
        first, last, s0, s1 = _spans(lines, y, left, right, solid)
        dy = y - q[Y0]
        row, shades = px[j], noise[j & 7]
        i = first
        while i < last:
            block = row[16 * i : 16 * i + 16]
            shade = shades[16 * (i & 7) : 16 * (i & 7) + 16]
            x = f4(4 * i) + HALF
            dx = x - q[X0]
            l0 = lc + dx * (lx + lxx * dx) + dy * (ly + lyy * dy + lxy * dx)
            l1, l2 = lx + f4(2) * lxx * dx + lxy * dy, ly + f4(2) * lyy * dy + lxy * dx
            h0 = hc + hx * dx + hy * dy
            if s0 <= i < s1:
                for k in range(16):
                    tx, ty = f4(i4(k & 3)), f4(i4(k >> 2))
                    mist = min(ONE, max(NIL, h0 + hx * tx + hy * ty))
                    light = min(peak, max(NIL, l0 + l1 * tx + l2 * ty)) * (ONE - mist)
                    d = shade[k]
                    cr = red * light + fr * mist + d
                    cg = green * light + fg * mist + d
                    cb = blue * light + fb * mist + d
                    block[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | packed)
                i += 1
                continue
            c0, c1 = a0 * x + b0 * y + d0, a1 * x + b1 * y + d1
            c2, c3 = a2 * x + b2 * y + d2, a3 * x + b3 * y + d3
            for k in range(16):
                tx, ty = f4(i4(k & 3)), f4(i4(k >> 2))
                p = i4(block[k])
                e0 = a0 * tx + b0 * ty + c0  # 0 and 1 are 1 px less, which saves a subtraction in the coverage
                e1 = a1 * tx + b1 * ty + c1
                e2 = a2 * tx + b2 * ty + c2
                e3 = a3 * tx + b3 * ty + c3
                cov = max(NIL, min(NIL, e0) + min(ONE, e2)) * max(NIL, min(NIL, e1) + min(ONE, e3)) * alpha
                s = max(max(u0 - e0 * iw, u1 - e1 * iw), max(u2 - e2 * iw, u3 - e3 * iw))
                s = min(ONE, max(NIL, s))
                s *= s
                bevel = s * (f4(0.22) + f4(0.78) * s * s) * shine
                light = max(NIL, l0 + l1 * tx + l2 * ty)
                light = min(peak, light + bevel * (light * f4(0.9) + f4(0.1)))
                mist = min(ONE, max(NIL, h0 + hx * tx + hy * ty)) * cov
                clear = cov - mist
                white = bevel * f4(0.16) * clear
                light *= clear - white
                white = white * FULL + shade[k]
                keep = ONE - cov
                pr = f4(i4(p & m))
                pg = f4(i4(i4(p >> i4(8)) & m))
                pb = f4(i4(i4(p >> i4(16)) & m))
                pe = f4(i4(i4(p >> i4(24)) & m))
                cr = pr * keep + red * light + fr * mist + white
                cg = pg * keep + green * light + fg * mist + white
                cb = pb * keep + blue * light + fb * mist + white
                ce = pe * keep + emission * cov + HALF
                block[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(i4(ce) << i4(24)))
            i += 1


@kernel
def _draw_line(px: Array, noise: Array, q: Array, lines: Array, left: int, right: int, top: int, bottom: int) -> None:
    """A line: coverage, alpha along the line, one colour."""
    a0, a1, a2, a3 = q[A], q[A + 1], q[A + 2], q[A + 3]
    b0, b1, b2, b3 = q[B], q[B + 1], q[B + 2], q[B + 3]
    d0, d1, d2, d3 = q[C] - HALF, q[C + 1] - HALF, q[C + 2] + HALF, q[C + 3] + HALF
    ox, oy = q[ALPHA + 1], q[ALPHA + 2]
    red, green, blue, emission = q[COLOR], q[COLOR + 1], q[COLOR + 2], q[EMISSION]
    m = i4(255)
    for j in range(top, bottom):
        y = f4(4 * j) + HALF
        first, last = _spans(lines, y, left, right, False)[:2]
        row, shades = px[j], noise[j & 7]
        for i in range(first, last):
            block = row[16 * i : 16 * i + 16]
            shade = shades[16 * (i & 7) : 16 * (i & 7) + 16]
            x = f4(4 * i) + HALF
            c0, c1 = a0 * x + b0 * y + d0, a1 * x + b1 * y + d1
            c2, c3 = a2 * x + b2 * y + d2, a3 * x + b3 * y + d3
            o0 = q[ALPHA] + ox * (x - q[X0]) + oy * (y - q[Y0])
            for k in range(16):
                tx, ty = f4(i4(k & 3)), f4(i4(k >> 2))
                p = i4(block[k])
                u = min(NIL, a0 * tx + b0 * ty + c0) + min(ONE, a2 * tx + b2 * ty + c2)
                v = min(NIL, a1 * tx + b1 * ty + c1) + min(ONE, a3 * tx + b3 * ty + c3)
                cov = max(NIL, u) * max(NIL, v) * min(ONE, max(NIL, o0 + ox * tx + oy * ty))
                keep = ONE - cov
                d = shade[k]
                cr = f4(i4(p & m)) * keep + red * cov + d
                cg = f4(i4(i4(p >> i4(8)) & m)) * keep + green * cov + d
                cb = f4(i4(i4(p >> i4(16)) & m)) * keep + blue * cov + d
                ce = f4(i4(i4(p >> i4(24)) & m)) * keep + emission * cov + HALF
                block[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(i4(ce) << i4(24)))


@kernel
def _draw_soft(px: Array, noise: Array, q: Array, lines: Array, left: int, right: int, top: int, bottom: int) -> None:
    """A soft patch (contact shadow, spilt light): edges are ramps, emission stays. What lies deeper than INNER is hidden."""
    a0, a1, a2, a3 = q[A], q[A + 1], q[A + 2], q[A + 3]
    b0, b1, b2, b3 = q[B], q[B + 1], q[B + 2], q[B + 3]
    red, green, blue, alpha, lost = q[COLOR], q[COLOR + 1], q[COLOR + 2], q[ALPHA], q[KEEP]
    m = i4(255)
    for j in range(top, bottom):
        y = f4(4 * j) + HALF
        first, last, s0, s1 = _spans(lines, y, left, right, q[INNER] < FAR)
        row, shades = px[j], noise[j & 7]
        for i in range(first, last):
            if s0 <= i < s1:
                continue
            block = row[16 * i : 16 * i + 16]
            shade = shades[16 * (i & 7) : 16 * (i & 7) + 16]
            x = f4(4 * i) + HALF
            c0, c1 = a0 * x + b0 * y + q[C], a1 * x + b1 * y + q[C + 1]
            c2, c3 = a2 * x + b2 * y + q[C + 2], a3 * x + b3 * y + q[C + 3]
            for k in range(16):
                tx, ty = f4(i4(k & 3)), f4(i4(k >> 2))
                p = i4(block[k])
                u = min(ONE, min(a0 * tx + b0 * ty + c0, a2 * tx + b2 * ty + c2))
                v = min(ONE, min(a1 * tx + b1 * ty + c1, a3 * tx + b3 * ty + c3))
                s = max(NIL, u) * max(NIL, v)
                s = s * s * (f4(3) - f4(2) * s) * alpha
                keep = ONE - s * lost
                d = shade[k]
                cr = min(FULL, f4(i4(p & m)) * keep + red * s + d)
                cg = min(FULL, f4(i4(i4(p >> i4(8)) & m)) * keep + green * s + d)
                cb = min(FULL, f4(i4(i4(p >> i4(16)) & m)) * keep + blue * s + d)
                block[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(p & i4(-16777216)))


@kernel
def _draw_disc(px: Array, noise: Array, q: Array, left: int, right: int, top: int, bottom: int) -> None:
    """A glowing point: colour at the rim, nearly white in the core."""
    radius = q[RADIUS]
    inverse = ONE / (radius * f4(0.4) + HALF)
    alpha = q[ALPHA] * min(ONE, radius * radius * f4(3))  # smaller than a pixel: dimmer instead of smaller
    red, green, blue, emission = q[COLOR], q[COLOR + 1], q[COLOR + 2], q[EMISSION]
    reach, middle = radius + HALF, radius * f4(0.6) * inverse + HALF
    m = i4(255)
    for j in range(top, bottom):
        row, shades = px[j], noise[j & 7]
        y = f4(4 * j) + HALF - q[A + 1]
        for i in range(left, right):
            block = row[16 * i : 16 * i + 16]
            shade = shades[16 * (i & 7) : 16 * (i & 7) + 16]
            x = f4(4 * i) + HALF - q[A]
            for k in range(16):
                tx, ty = x + f4(i4(k & 3)), y + f4(i4(k >> 2))
                p = i4(block[k])
                far = f4(math.sqrt(tx * tx + ty * ty))
                cov = min(ONE, max(NIL, reach - far)) * alpha
                core = min(ONE, max(NIL, middle - far * inverse)) * f4(0.8) * cov
                keep = ONE - cov
                rim = cov - core
                white = core * FULL + shade[k]
                cr = f4(i4(p & m)) * keep + red * rim + white
                cg = f4(i4(i4(p >> i4(8)) & m)) * keep + green * rim + white
                cb = f4(i4(i4(p >> i4(16)) & m)) * keep + blue * rim + white
                ce = f4(i4(i4(p >> i4(24)) & m)) * keep + emission * (cov - core * f4(0.7)) + HALF
                block[k] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(i4(ce) << i4(24)))


@kernel
def draw(px: Array, queue: Array, count: int, noise: Array, fog: Array, texels: Array) -> None:
    """Draw records 0..count of `queue` (n, records.SIZE) in order into the blocks px (H / 4, 4 W).

    noise: (8, 128) blocks of thresholds in 0..1, repeating every 32 pixels; fog: (3,) colour 0..254.9;
    texels: those of the text planes (see `plane`).
    """
    tall, wide = px.shape[0], px.shape[1] // 16
    lines = np.empty((4, 5), f4)
    for n in range(count):
        q = queue[n]
        left, right, top, bottom = _block_box(q, wide, tall)
        if right <= left:
            continue
        kind = q[KIND]
        if kind == TEXT:
            draw_text(px, noise, q, texels, fog, left, right, top, bottom)
            continue
        _prepare(q, lines)
        if kind == FACE:
            _draw_face(px, noise, q, lines, fog, left, right, top, bottom)
        elif kind == LINE:
            _draw_line(px, noise, q, lines, left, right, top, bottom)
        elif kind == SOFT:
            _draw_soft(px, noise, q, lines, left, right, top, bottom)
        else:
            _draw_disc(px, noise, q, left, right, top, bottom)
