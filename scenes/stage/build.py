"""Turns boxes, ribbons and sprites into draw records: projection, near clipping, light, fog, contact shadows.

Faces are never clipped against the near plane: an edge is the plane through the eye and two corners, so it stays exact when
corners lie behind the camera (homogeneous rasterisation: Olano and Greer, 1997). A box nearer than the near distance fades out.
"""

from __future__ import annotations

import math

import numpy as np

from scenes.stage import records as r
from scenes.stage.jit import Array, Scalar, f4, i8, kernel

NIL, ONE, HALF = f4(0), f4(1), f4(0.5)
A, B, C, GROW, BEVEL, BEVEL_INVERSE, HIGHLIGHT = r.A, r.B, r.C, r.GROW, r.BEVEL, r.BEVEL_INVERSE, r.HIGHLIGHT
X0, Y0, GAIN, COLOR, ALPHA, FOG, EMISSION = r.X0, r.Y0, r.GAIN, r.COLOR, r.ALPHA, r.FOG, r.EMISSION
KIND, BOX, INNER, GAIN_MAX, KEEP, RADIUS = r.KIND, r.BOX, r.INNER, r.GAIN_MAX, r.KEEP, r.RADIUS
FACE, LINE, DISC, SOFT = f4(r.FACE), f4(r.LINE), f4(r.DISC), f4(r.SOFT)

# corners are numbered x + 2 y + 4 z; faces -y +x +y -x +z -z, counter-clockwise from outside, feet of the side faces first
CORNER = np.array([[0, 1, 5, 4], [1, 3, 7, 5], [3, 2, 6, 7], [2, 0, 4, 6], [4, 5, 7, 6], [2, 3, 1, 0]], i8)
ACROSS = np.array([[5, 1, 4, 3], [5, 2, 4, 0], [5, 3, 4, 1], [5, 0, 4, 2], [0, 1, 2, 3], [2, 1, 0, 3]], i8)
AXIS = np.array([2, 1, 2, 1, 4, 4], i8)  # bit of a corner's number along each face's normal
# bevel of the edges of each face: a side's upper edge continues the top's, its foot lies in the dark
EDGE_LIGHT = np.array([[0.35, 0.75, 0.8, 0.75]] * 4 + [[1.0, 1.0, 0.9, 0.9], [0.3, 0.3, 0.3, 0.3]], f4)
# warm light from the front and the left, cool from the right and behind; takes part only as far as a colour is grey
TINT = np.array([[1.02, 1, 0.98], [0.9, 0.97, 1.08], [0.88, 0.96, 1.1], [1.06, 1, 0.92], [1, 1, 1], [0.9, 0.96, 1.06]], f4)

FOCUS_X, FOCUS_Y, POOL, AMBIENT, FOOT, SHEEN, FOG_START, FOG_SCALE, FOG_MAX = 0, 1, 2, 3, 4, 5, 6, 7, 8
MIRROR_LEVEL, MIRROR_FADE, RADIUS_OF_LIGHT, PLAIN, FACE_LIGHT = 9, 10, 11, 12, 13  # then six values
LIGHTS = 19
LARGE = 150.0  # px at 1080 lines: larger faces get curved light, fitted to a grid of samples
GRID = 5
SEAM = f4(0.6)  # px that a face reaches under the later face beside it: at most 4 % of what lies behind shows through


@kernel
def project_boxes(
    origin: Array, size: Array, alpha: Array, camera: Array, width: Scalar, height: Scalar, corners: Array, rect: Array
) -> None:
    """Homogeneous pixels (x w, y w, w) of all corners (N, 8, 3), and bounds rect (N, 4) in px, empty where not seen."""
    k, cx, cy = camera[0, 3], camera[1, 3], camera[2, 3]
    for i in range(origin.shape[0]):
        x0, y0, x1, y1 = f4(1e9), f4(1e9), f4(-1e9), f4(-1e9)
        behind = 0
        for c in range(8):
            dx = origin[i, 0] + size[i, 0] * f4(c & 1) - camera[3, 0]
            dy = origin[i, 1] + size[i, 1] * f4((c >> 1) & 1) - camera[3, 1]
            dz = origin[i, 2] + size[i, 2] * f4(c >> 2) - camera[3, 2]
            w = dx * camera[2, 0] + dy * camera[2, 1] + dz * camera[2, 2]
            hx = cx * w + k * (dx * camera[0, 0] + dy * camera[0, 1] + dz * camera[0, 2])
            hy = cy * w - k * (dx * camera[1, 0] + dy * camera[1, 1] + dz * camera[1, 2])
            corners[i, c, 0] = hx
            corners[i, c, 1] = hy
            corners[i, c, 2] = w
            if w < f4(1e-3):
                behind += 1
            else:
                x0, x1 = min(x0, hx / w), max(x1, hx / w)
                y0, y1 = min(y0, hy / w), max(y1, hy / w)
        if 0 < behind < 8:
            x0, y0, x1, y1 = NIL, NIL, width, height
        if behind == 8 or alpha[i] < f4(0.004) or x1 < f4(-1) or y1 < f4(-1) or x0 > width + ONE or y0 > height + ONE:
            rect[i, 0], rect[i, 1], rect[i, 2], rect[i, 3] = ONE, ONE, NIL, NIL
        else:
            rect[i, 0], rect[i, 1], rect[i, 2], rect[i, 3] = x0 - f4(2), y0 - f4(2), x1 + f4(2), y1 + f4(2)


@kernel
def _edge(q: Array, e: int, p: Array, s: Array) -> None:
    """Half plane of the screen through two homogeneous points, inside where the face is."""
    px, py, pw = float(p[0]), float(p[1]), float(p[2])
    sx, sy, sw = float(s[0]), float(s[1]), float(s[2])
    a = sy * pw - py * sw
    b = px * sw - sx * pw
    c = sx * py - px * sy
    length = math.sqrt(a * a + b * b)
    if length < 1e-9 * max(1.0, abs(c)):
        q[A + e], q[B + e], q[C + e] = NIL, NIL, f4(1e4)
        return
    q[A + e], q[B + e], q[C + e] = f4(a / length), f4(b / length), f4(c / length)


@kernel
def _gain(x: Scalar, y: Scalar, z: Scalar, face: int, foot: Scalar, emission: Scalar, camera: Array, light: Array) -> Scalar:
    """Light at a point of a face: pool from above, loss at the foot of a side, a soft highlight on tops, own glow."""
    if light[PLAIN] > NIL:
        return light[FACE_LIGHT + face]
    fx, fy = x - light[FOCUS_X], y - light[FOCUS_Y]
    pool = light[AMBIENT] + (ONE - light[AMBIENT]) / (ONE + (fx * fx + fy * fy) * light[POOL])
    gain = light[FACE_LIGHT + face]
    gain += (f4(1.05) - gain) * emission * (f4(0.30) + f4(0.35) * emission)
    gain *= pool + (ONE - pool) * emission * f4(0.7)
    if face < 4:
        dark = (ONE - light[FOOT]) * (ONE - f4(0.6) * emission)
        gain *= ONE - dark * (ONE - foot)
    if face == 4:  # a lamp behind and to the left, mirrored in the top
        scale = light[RADIUS_OF_LIGHT]
        lx, ly, lz = light[FOCUS_X] - f4(0.55) * scale - x, light[FOCUS_Y] + scale - y, f4(0.9) * scale
        vx, vy, vz = camera[3, 0] - x, camera[3, 1] - y, camera[3, 2] - z
        il = ONE / math.sqrt(lx * lx + ly * ly + lz * lz + f4(1e-6))
        iv = ONE / math.sqrt(vx * vx + vy * vy + vz * vz + f4(1e-6))
        hx, hy, hz = lx * il + vx * iv, ly * il + vy * iv, lz * il + vz * iv
        h = hz / math.sqrt(hx * hx + hy * hy + hz * hz + f4(1e-6))
        h4 = h * h * h * h
        h16 = h4 * h4 * h4 * h4
        gain += h16 * h16 * f4(0.9) * (ONE - HALF * emission)
    if light[MIRROR_FADE] > NIL:
        gain *= math.exp(-max(NIL, z - light[MIRROR_LEVEL]) * light[MIRROR_FADE])
    return f4(gain)


@kernel
def _mist(x: Scalar, y: Scalar, z: Scalar, face: int, emission: Scalar, camera: Array, light: Array) -> Scalar:
    """Share of the horizon's colour at a point: fog, and the sheen of surfaces seen at a low angle."""
    if light[PLAIN] > NIL:
        return NIL
    vx, vy, vz = camera[3, 0] - x, camera[3, 1] - y, camera[3, 2] - z
    depth = -(vx * camera[2, 0] + vy * camera[2, 1] + vz * camera[2, 2])
    fog = min(light[FOG_MAX], max(NIL, (depth - light[FOG_START]) * light[FOG_SCALE])) * (ONE - f4(0.6) * emission)
    sheen = f4(0.04)
    if face == 4:
        graze = ONE - abs(vz) / math.sqrt(vx * vx + vy * vy + vz * vz + f4(1e-6))
        sheen += light[SHEEN] * graze * graze * graze * f4(2)
    return f4(fog + (ONE - fog) * sheen * (ONE - emission))


@kernel
def _solve6(m: Array, v: Array) -> bool:
    """Cholesky solution in place of the symmetric 6x6 system m x = v; False where m is not positive."""
    for i in range(6):
        for j in range(i + 1):
            s = m[i, j]
            for k in range(j):
                s -= m[i, k] * m[j, k]
            if i == j:
                if s <= 1e-9:
                    return False
                m[i, i] = math.sqrt(s)
            else:
                m[i, j] = s / m[j, j]
    for i in range(6):
        s = v[i]
        for k in range(i):
            s -= m[i, k] * v[k]
        v[i] = s / m[i, i]
    for i in range(5, -1, -1):
        s = v[i]
        for k in range(i + 1, 6):
            s -= m[k, i] * v[k]
        v[i] = s / m[i, i]
    return True


@kernel
def _curved_light(
    q: Array, at: Array, face: int, emission: Scalar, camera: Array, light: Array, width: Scalar, height: Scalar
) -> None:
    """Fit light (quadratic) and mist (linear) of a large face to samples of it near the screen; at (4, 3): its corners."""
    k, cx, cy = camera[0, 3], camera[1, 3], camera[2, 3]
    m = np.zeros((6, 6))
    v = np.zeros(6)
    n = np.zeros((6, 6))
    w = np.zeros(6)
    f = np.empty(6)
    span = float(max(width, height)) * 0.5
    q[X0], q[Y0] = width * HALF, height * HALF
    total, fog, count = 0.0, 0.0, 0
    for i in range(GRID):
        for j in range(GRID):
            s, t = f4(i) / f4(GRID - 1), f4(j) / f4(GRID - 1)
            x = at[0, 0] + (at[1, 0] - at[0, 0]) * s + (at[3, 0] - at[0, 0]) * t
            y = at[0, 1] + (at[1, 1] - at[0, 1]) * s + (at[3, 1] - at[0, 1]) * t
            z = at[0, 2] + (at[1, 2] - at[0, 2]) * s + (at[3, 2] - at[0, 2]) * t
            dx, dy, dz = x - camera[3, 0], y - camera[3, 1], z - camera[3, 2]
            depth = dx * camera[2, 0] + dy * camera[2, 1] + dz * camera[2, 2]
            gain = float(_gain(x, y, z, face, t, emission, camera, light))
            mist = float(_mist(x, y, z, face, emission, camera, light))
            total += gain
            fog += mist
            if depth < f4(0.05) * camera[3, 3]:
                continue
            count += 1
            sx = float(cx + k * (dx * camera[0, 0] + dy * camera[0, 1] + dz * camera[0, 2]) / depth - q[X0]) / span
            sy = float(cy - k * (dx * camera[1, 0] + dy * camera[1, 1] + dz * camera[1, 2]) / depth - q[Y0]) / span
            weight = 1.0 / (1.0 + (sx * sx + sy * sy) ** 2)  # what lies far off the screen hardly counts
            f[0], f[1], f[2], f[3], f[4], f[5] = 1.0, sx, sy, sx * sx, sx * sy, sy * sy
            for a in range(6):
                v[a] += weight * f[a] * gain
                w[a] += weight * f[a] * mist
                for b in range(6):
                    m[a, b] += weight * f[a] * f[b]
    for a in range(6):
        m[a, a] += 1e-7 if a < 3 else 1e-5
        for b in range(6):
            n[a, b] = m[a, b]
        if a > 2:
            n[a, a] += 1e6  # mist stays linear
    for a in range(6):
        q[GAIN + a] = NIL
    q[FOG], q[FOG + 1], q[FOG + 2] = NIL, NIL, NIL
    if count < 6 or not _solve6(m, v) or not _solve6(n, w):
        q[GAIN], q[FOG] = f4(total / GRID**2), f4(fog / GRID**2)
        return
    q[GAIN], q[GAIN + 1], q[GAIN + 2] = f4(v[0]), f4(v[1] / span), f4(v[2] / span)
    q[GAIN + 3], q[GAIN + 4], q[GAIN + 5] = f4(v[3] / span**2), f4(v[4] / span**2), f4(v[5] / span**2)
    q[FOG], q[FOG + 1], q[FOG + 2] = f4(w[0]), f4(w[1] / span), f4(w[2] / span)


@kernel
def _plane(q: Array, slot: int, p: Array, value: Array) -> None:
    """Linear value through a quad p (4, 2), from its two diagonals, about (X0, Y0)."""
    d1x, d1y = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1]
    d2x, d2y = p[3, 0] - p[1, 0], p[3, 1] - p[1, 1]
    det = d1x * d2y - d1y * d2x
    u, w = value[2] - value[0], value[3] - value[1]
    q[slot] = (value[0] + value[1] + value[2] + value[3]) * f4(0.25)
    q[slot + 1] = (u * d2y - w * d1y) / det
    q[slot + 2] = (w * d1x - u * d2x) / det


@kernel
def emit_box(
    q_all: Array, n: int, i: int, origin: Array, size: Array, color: Array, emission: Array, edge: Array, alpha: Array,
    corners: Array, rect: Array, camera: Array, light: Array, width: Scalar, height: Scalar,
) -> int:  # fmt: skip
    """Records of the faces of box i that the eye sees, from row n on; returns the next free row."""
    unit = height / f4(1080)
    eye = camera[3]
    seen = np.empty(6, np.bool_)
    seen[0], seen[2] = eye[1] < origin[i, 1], eye[1] > origin[i, 1] + size[i, 1]
    seen[3], seen[1] = eye[0] < origin[i, 0], eye[0] > origin[i, 0] + size[i, 0]
    seen[5], seen[4] = eye[2] < origin[i, 2], eye[2] > origin[i, 2] + size[i, 2]
    gap2 = NIL
    for c in range(3):
        gap = max(NIL, max(origin[i, c] - eye[c], eye[c] - origin[i, c] - size[i, c]))
        gap2 += gap * gap
    near = min(ONE, math.sqrt(gap2) / max(camera[3, 3], f4(1e-6)))
    shown = alpha[i] * near * near * (f4(3) - f4(2) * near)
    if shown < f4(0.004):
        return n
    extent = max(rect[i, 2] - rect[i, 0], rect[i, 3] - rect[i, 1])
    glow = min(ONE, emission[i])
    brightest = max(max(color[i, 0], color[i, 1]), max(color[i, 2], f4(1e-4)))
    grey = min(color[i, 0], min(color[i, 1], color[i, 2])) / brightest
    at = np.empty((4, 3), f4)
    p = np.empty((4, 2), f4)
    gains = np.empty(4, f4)
    mists = np.empty(4, f4)
    for f in range(6):
        if not seen[f]:
            continue
        q = q_all[n]
        front = True
        for v in range(4):
            c = CORNER[f, v]
            w = corners[i, c, 2]
            if w < f4(1e-3):
                front = False
            else:
                p[v, 0], p[v, 1] = corners[i, c, 0] / w, corners[i, c, 1] / w
            at[v, 0] = origin[i, 0] + size[i, 0] * f4(c & 1)
            at[v, 1] = origin[i, 1] + size[i, 1] * f4((c >> 1) & 1)
            at[v, 2] = origin[i, 2] + size[i, 2] * f4(c >> 2)
        q[BOX], q[BOX + 1], q[BOX + 2], q[BOX + 3] = NIL, NIL, width, height
        if front:
            area = (p[2, 0] - p[0, 0]) * (p[3, 1] - p[1, 1]) - (p[2, 1] - p[0, 1]) * (p[3, 0] - p[1, 0])
            if abs(area) < f4(0.02):
                continue
            for c in range(2):
                q[BOX + c] = min(min(p[0, c], p[1, c]), min(p[2, c], p[3, c])) - f4(1.5)
                q[BOX + 2 + c] = max(max(p[0, c], p[1, c]), max(p[2, c], p[3, c])) + f4(1.5)
        for e in range(4):
            here, there = CORNER[f, e], CORNER[f, (e + 1) & 3]
            if light[MIRROR_FADE] > NIL:  # a mirror turns the sense of rotation round
                here, there = there, here
            _edge(q, e, corners[i, here], corners[i, there])
        for e in range(4):
            other = ACROSS[f, e]
            q[GROW + e] = HALF
            if seen[other] and other > f and shown > f4(0.99):  # the later face covers the seam: reach under it, not past it
                under = SEAM
                for k in (1, 3):  # at a sharp corner a reach across the edge would stick out far along it
                    side = (e + k) & 3
                    under = min(under, abs(q[A + e] * q[B + side] - q[B + e] * q[A + side]))
                for c in (CORNER[f, e], CORNER[f, (e + 1) & 3]):
                    o = corners[i, c ^ AXIS[f]]
                    if o[2] > f4(1e-3):
                        under = min(under, max(NIL, -(q[A + e] * o[0] + q[B + e] * o[1]) / o[2] - q[C + e]))
                q[GROW + e] = HALF + under
            q[BEVEL + e] = EDGE_LIGHT[f, e]
        size_f = max(q[BOX + 2] - q[BOX], q[BOX + 3] - q[BOX + 1]) if front else width
        bevel = max(f4(2.2) * unit, min(f4(7) * unit, f4(0.12) * extent))
        q[BEVEL_INVERSE] = ONE / bevel
        q[HIGHLIGHT] = edge[i] * min(ONE, extent / (f4(30) * unit)) * (ONE if f == 4 else f4(0.8))
        q[INNER] = bevel if edge[i] > NIL else HALF
        if light[PLAIN] > NIL:
            q[HIGHLIGHT], q[INNER] = NIL, HALF
        if not front or size_f > f4(LARGE) * unit:
            _curved_light(q, at, f, glow, camera, light, width, height)
        else:
            q[X0] = (p[0, 0] + p[1, 0] + p[2, 0] + p[3, 0]) * f4(0.25)
            q[Y0] = (p[0, 1] + p[1, 1] + p[2, 1] + p[3, 1]) * f4(0.25)
            for v in range(4):
                gains[v] = _gain(at[v, 0], at[v, 1], at[v, 2], f, NIL if v < 2 else ONE, glow, camera, light)
                mists[v] = _mist(at[v, 0], at[v, 1], at[v, 2], f, glow, camera, light)
            _plane(q, GAIN, p, gains)
            q[GAIN + 3], q[GAIN + 4], q[GAIN + 5] = NIL, NIL, NIL
            _plane(q, FOG, p, mists)
        peak = NIL
        for c in range(3):
            tint = ONE if light[PLAIN] > NIL else ONE + (TINT[f, c] - ONE) * grey * (ONE - glow)
            q[COLOR + c] = color[i, c] * tint * f4(255)
            peak = max(peak, q[COLOR + c])
        q[GAIN_MAX] = f4(254.9) / max(peak, f4(0.1))
        q[ALPHA], q[ALPHA + 1], q[ALPHA + 2] = shown, NIL, NIL
        q[EMISSION] = min(f4(255), emission[i] * (f4(255) if f == 4 else f4(120)))
        q[KIND] = FACE
        n += 1
    return n
