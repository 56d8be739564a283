"""What boxes do to what they stand on: soft contact shadows, and the light that glowing boxes spill."""

from __future__ import annotations

import numpy as np

from scenes.stage import records as r
from scenes.stage.build import _edge
from scenes.stage.jit import Array, f4, i8, kernel

NIL, ONE, HALF = f4(0), f4(1), f4(0.5)
A, B, C, GROW, COLOR, ALPHA, KIND, BOX, INNER, KEEP = r.A, r.B, r.C, r.GROW, r.COLOR, r.ALPHA, r.KIND, r.BOX, r.INNER, r.KEEP
SOFT = f4(r.SOFT)
GROUND, NOWHERE = -1, -2
SHADOW_COLOR = (1.0, 1.5, 3.0)  # 0..255
SUPPORT_RATIO = f4(1.3)  # what carries a box has at least this much more floor area


@kernel
def find_supports(origin: Array, size: Array, shadow: Array, emission: Array, ground: bool, level: f4, support: Array, gap: Array) -> None:
    """support (N,): index of the larger box right under each box, GROUND or NOWHERE; gap (N,): the free height between."""
    n = origin.shape[0]
    least = f4(1e30)
    for i in range(n):
        if shadow[i] > NIL or emission[i] > f4(0.05):
            least = min(least, size[i, 0] * size[i, 1])
    larger = np.empty(n, i8)
    count = 0
    for i in range(n):
        if size[i, 0] * size[i, 1] > least * SUPPORT_RATIO:
            larger[count] = i
            count += 1
    for i in range(n):
        support[i] = NOWHERE
        if shadow[i] <= NIL and emission[i] <= f4(0.05):
            continue
        foot = origin[i, 2]
        slack = f4(0.02) * size[i, 2] + f4(1e-3)
        best = f4(-1e30)
        if ground and foot > level - slack:
            best = level
            support[i] = GROUND
        area = size[i, 0] * size[i, 1] * SUPPORT_RATIO
        x, y = origin[i, 0] + size[i, 0] * HALF, origin[i, 1] + size[i, 1] * HALF
        for k in range(count):
            j = larger[k]
            top = origin[j, 2] + size[j, 2]
            if j == i or top < best or top > foot + slack or size[j, 0] * size[j, 1] < area:
                continue
            if origin[j, 0] <= x <= origin[j, 0] + size[j, 0] and origin[j, 1] <= y <= origin[j, 1] + size[j, 1]:
                best = top
                support[i] = j
        gap[i] = max(NIL, foot - best)


@kernel
def emit_soft(
    q: Array, origin: Array, size: Array, spread: f4, shrink: f4, z: f4, bounds: Array, camera: Array, width: f4, height: f4
) -> bool:
    """A soft patch on the plane z: full within the footprint less `shrink`, nothing `spread` outside it, cut at bounds x0 y0 x1 y1."""
    k, cx, cy = camera[0, 3], camera[1, 3], camera[2, 3]
    inner = np.empty((4, 3), f4)
    outer = np.empty((4, 3), f4)
    for v in range(4):
        right, back = f4(1 if 0 < v < 3 else 0), f4(1 if v > 1 else 0)
        x = origin[0] + size[0] * right
        y = origin[1] + size[1] * back
        for which in range(2):
            d = -shrink if which == 0 else spread
            px = min(bounds[2], max(bounds[0], x + (d if right > NIL else -d)))
            py = min(bounds[3], max(bounds[1], y + (d if back > NIL else -d)))
            dx, dy, dz = px - camera[3, 0], py - camera[3, 1], z - camera[3, 2]
            w = dx * camera[2, 0] + dy * camera[2, 1] + dz * camera[2, 2]
            into = inner if which == 0 else outer
            into[v, 0] = cx * w + k * (dx * camera[0, 0] + dy * camera[0, 1] + dz * camera[0, 2])
            into[v, 1] = cy * w - k * (dx * camera[1, 0] + dy * camera[1, 1] + dz * camera[1, 2])
            into[v, 2] = w
    x0, y0, x1, y1 = f4(1e9), f4(1e9), f4(-1e9), f4(-1e9)
    for v in range(4):
        w = outer[v, 2]
        if w < f4(1e-2) or inner[v, 2] < f4(1e-2):
            return False
        x0, x1 = min(x0, outer[v, 0] / w), max(x1, outer[v, 0] / w)
        y0, y1 = min(y0, outer[v, 1] / w), max(y1, outer[v, 1] / w)
    if x1 < NIL or y1 < NIL or x0 > width or y0 > height or x1 - x0 < f4(0.5) or y1 - y0 < f4(0.5):
        return False
    for e in range(4):
        f = (e + 1) & 3
        _edge(q, e, outer[e], outer[f])
        mx = (inner[e, 0] / inner[e, 2] + inner[f, 0] / inner[f, 2]) * HALF
        my = (inner[e, 1] / inner[e, 2] + inner[f, 1] / inner[f, 2]) * HALF
        ramp = ONE / max(f4(1), q[A + e] * mx + q[B + e] * my + q[C + e])
        q[A + e] *= ramp
        q[B + e] *= ramp
        q[C + e] *= ramp
        q[GROW + e] = NIL
    q[BOX], q[BOX + 1], q[BOX + 2], q[BOX + 3] = x0 - ONE, y0 - ONE, x1 + ONE, y1 + ONE
    q[INNER] = f4(1e9)
    q[KIND] = SOFT
    return True


@kernel
def emit_shadow(
    q_all: Array, n: int, i: int, origin: Array, size: Array, shadow: Array, alpha: Array, gap: Array, z: f4, bounds: Array,
    camera: Array, strength: f4, width: f4, height: f4,
) -> int:  # fmt: skip
    """Contact shadow of box i on the plane z; softer and fainter the higher the box floats. Returns the next free row."""
    least = min(size[i, 0], size[i, 1])
    reach = min(least, size[i, 2] + f4(0.25) * least)
    dark = shadow[i] * alpha[i] * strength / (ONE + gap[i] / (f4(0.6) * least + f4(1e-4)))
    if dark < f4(0.02):
        return n
    q = q_all[n]
    spread = f4(0.42) * reach + f4(0.3) * min(gap[i], least)
    if not emit_soft(q, origin[i], size[i], spread, min(f4(0.4) * least, f4(0.5) * gap[i]), z, bounds, camera, width, height):
        return n
    for c in range(3):
        q[COLOR + c] = f4(SHADOW_COLOR[c])
    q[ALPHA], q[KEEP] = min(f4(0.95), dark), ONE
    return n + 1


@kernel
def emit_spill(
    q_all: Array, n: int, i: int, origin: Array, size: Array, color: Array, emission: Array, alpha: Array, gap: Array, z: f4,
    bounds: Array, camera: Array, strength: f4, width: f4, height: f4,
) -> int:  # fmt: skip
    """Light of glowing box i on the plane z around it. Returns the next free row."""
    least = min(size[i, 0], size[i, 1])
    bright = min(ONE, emission[i]) * alpha[i] * strength / (ONE + gap[i] / (least + f4(1e-4)))
    if bright < f4(0.02):
        return n
    q = q_all[n]
    if not emit_soft(q, origin[i], size[i], f4(1.15) * least + HALF * gap[i], NIL, z, bounds, camera, width, height):
        return n
    for c in range(3):
        q[COLOR + c] = color[i, c] * f4(255)
    q[ALPHA], q[KEEP] = f4(0.55) * bright, f4(0.3)
    return n + 1
