"""What boxes do to what they stand on: soft contact shadows, and the light that glowing boxes spill."""

from __future__ import annotations

import numpy as np

from scenes.stage import records as r
from scenes.stage.build import _edge
from scenes.stage.jit import Array, Scalar, f4, i8, kernel

NIL, ONE, HALF = f4(0), f4(1), f4(0.5)
A, B, C, GROW, COLOR, ALPHA, KIND, BOX, INNER, KEEP = r.A, r.B, r.C, r.GROW, r.COLOR, r.ALPHA, r.KIND, r.BOX, r.INNER, r.KEEP
SOFT = f4(r.SOFT)
GROUND, NOWHERE = -1, -2
NOTHING = f4(-1)
SHADOW_COLOR = (1.0, 1.5, 3.0)  # 0..255
SAME = f4(1e-3)  # world units
SUPPORT_RATIO = f4(1.3)  # what carries a box has at least this much more floor area
CELLS = 24  # a side of the grid in which what may carry a box is looked up


@kernel
def _skip_stacked(origin: Array, size: Array, gap: Array) -> None:
    """A box right on top of one of its own footprint throws no shadow of its own."""
    n = origin.shape[0]
    by_x = np.argsort(origin[:, 0])
    for p in range(n):
        i = by_x[p]
        for q in range(p + 1, n):
            j = by_x[q]
            if origin[j, 0] - origin[i, 0] > SAME:
                break
            if abs(origin[j, 1] - origin[i, 1]) > SAME or abs(size[j, 0] - size[i, 0]) > SAME:
                continue
            if abs(size[j, 1] - size[i, 1]) > SAME:
                continue
            low, high = (i, j) if origin[i, 2] < origin[j, 2] else (j, i)
            if abs(origin[high, 2] - origin[low, 2] - size[low, 2]) < f4(0.3) * size[high, 2]:
                gap[high] = NOTHING


@kernel
def hidden_by_support(origin: Array, size: Array, support: Array, eye: Array, seen: Array) -> None:
    """seen (N,): False where the box that carries another hides it whole from an eye below (the mirrored camera)."""
    for i in range(origin.shape[0]):
        j = support[i]
        if j < 0 or eye[2] >= origin[j, 2]:
            continue
        inside = True
        for c in range(8):
            z = origin[i, 2] + size[i, 2] * f4(c >> 2)
            t = (origin[j, 2] - eye[2]) / (z - eye[2])
            for d in range(2):
                at = origin[i, d] + size[i, d] * f4((c >> d) & 1)
                at = eye[d] + (at - eye[d]) * t
                if at < origin[j, d] or at > origin[j, d] + size[j, d]:
                    inside = False
        seen[i] = not inside


@kernel
def _cell(at: Scalar, least: Scalar, scale: Scalar) -> int:
    return int(min(f4(CELLS - 1), max(NIL, (at - least) * scale)))


@kernel
def _cells(origin: Array, size: Array, boxes: Array) -> tuple[Array, Array, Array]:
    """The boxes that reach into each cell of a grid over all of them, in their order, and the grid's place.

    Those of cell (x, y) are inside[start[x CELLS + y] : start[x CELLS + y + 1]]; place:
    least x, cells a unit of x, the same of y.
    """
    place = np.zeros(4, f4)
    for axis in range(2):
        low, high = f4(1e30), f4(-1e30)
        for j in boxes:
            low, high = min(low, origin[j, axis]), max(high, origin[j, axis] + size[j, axis])
        place[2 * axis], place[2 * axis + 1] = low, f4(CELLS) / max(high - low, f4(1e-6))
    start = np.zeros(CELLS * CELLS + 1, np.int64)
    inside = np.empty(0, np.int64)
    for fill in range(2):  # first how many, then which
        for j in boxes:
            x0, x1 = _cell(origin[j, 0], place[0], place[1]), _cell(origin[j, 0] + size[j, 0], place[0], place[1])
            y0, y1 = _cell(origin[j, 1], place[2], place[3]), _cell(origin[j, 1] + size[j, 1], place[2], place[3])
            for x in range(x0, x1 + 1):
                for y in range(y0, y1 + 1):
                    if fill:
                        inside[start[x * CELLS + y]] = j
                        start[x * CELLS + y] += 1
                    else:
                        start[x * CELLS + y + 1] += 1
        if fill:
            start[1:] = start[:-1].copy()
            start[0] = 0
        else:
            start = np.cumsum(start)
            inside = np.empty(start[-1], np.int64)
    return start, inside, place


@kernel
def find_supports(origin: Array, size: Array, shadow: Array, ground: bool, level: Scalar, support: Array, gap: Array) -> None:
    """support (N,): index of the larger box right under each box, GROUND or NOWHERE.

    gap (N,): the free height between, or NOTHING where the box leaves no trace on it.
    """
    n = origin.shape[0]
    least = f4(1e30)
    for i in range(n):
        least = min(least, size[i, 0] * size[i, 1])
    larger = np.empty(n, i8)
    count = 0
    for i in range(n):
        if size[i, 0] * size[i, 1] > least * SUPPORT_RATIO:
            larger[count] = i
            count += 1
    start, inside, place = _cells(origin, size, larger[:count])
    for i in range(n):
        support[i] = NOWHERE
        foot = origin[i, 2]
        slack = f4(0.02) * size[i, 2] + f4(1e-3)
        best = f4(-1e30)
        if ground and foot > level - slack:
            best = level
            support[i] = GROUND
        area = size[i, 0] * size[i, 1] * SUPPORT_RATIO
        x, y = origin[i, 0] + size[i, 0] * HALF, origin[i, 1] + size[i, 1] * HALF
        cell = _cell(x, place[0], place[1]) * CELLS + _cell(y, place[2], place[3])
        for k in range(start[cell], start[cell + 1]):
            j = inside[k]
            top = origin[j, 2] + size[j, 2]
            if j == i or top < best or top > foot + slack or size[j, 0] * size[j, 1] < area:
                continue
            if origin[j, 0] <= x <= origin[j, 0] + size[j, 0] and origin[j, 1] <= y <= origin[j, 1] + size[j, 1]:
                best = top
                support[i] = j
        gap[i] = max(NIL, foot - best) if shadow[i] > NIL else NOTHING
    _skip_stacked(origin, size, gap)


@kernel
def emit_soft(
    q: Array,
    origin: Array,
    size: Array,
    spread: Scalar,
    shrink: Scalar,
    z: Scalar,
    bounds: Array,
    camera: Array,
    width: Scalar,
    height: Scalar,
) -> bool:
    """A soft patch on the plane z: full `shrink` inside the footprint, nothing `spread` outside it, cut at bounds (4,)."""
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
    deepest = ONE
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
        for v in (e, f):
            deepest = max(deepest, (q[A + e] * inner[v, 0] + q[B + e] * inner[v, 1]) / inner[v, 2] + q[C + e])
    q[BOX], q[BOX + 1], q[BOX + 2], q[BOX + 3] = x0 - ONE, y0 - ONE, x1 + ONE, y1 + ONE
    q[INNER] = f4(1e9) if shrink > NIL else deepest  # right under a box that stands on the plane nothing is seen of it
    q[KIND] = SOFT
    return True


@kernel
def emit_shadow(
    q_all: Array, n: int, i: int, origin: Array, size: Array, shadow: Array, alpha: Array, gap: Array, z: Scalar, bounds: Array,
    camera: Array, strength: Scalar, width: Scalar, height: Scalar,
) -> int:  # fmt: skip
    """Contact shadow of box i on the plane z; softer and fainter the higher the box floats. Returns the next free row."""
    if gap[i] < NIL:
        return n
    least = min(size[i, 0], size[i, 1])
    reach = min(least, size[i, 2] + f4(0.25) * least)
    dark = shadow[i] * alpha[i] * strength / (ONE + gap[i] / (f4(0.6) * least + f4(1e-4)))
    if dark < f4(0.02):
        return n
    q = q_all[n]
    spread = f4(0.42) * reach + f4(0.3) * min(gap[i], least)
    if not emit_soft(
        q,
        origin[i],
        size[i],
        spread,
        min(f4(0.4) * least, f4(0.5) * max(NIL, gap[i] - f4(0.02) * size[i, 2])),
        z,
        bounds,
        camera,
        width,
        height,
    ):
        return n
    for c in range(3):
        q[COLOR + c] = f4(SHADOW_COLOR[c])
    q[ALPHA], q[KEEP] = min(f4(0.95), dark), ONE
    return n + 1


@kernel
def emit_spill(
    q_all: Array, n: int, i: int, origin: Array, size: Array, color: Array, emission: Array, alpha: Array, gap: Array,
    z: Scalar, bounds: Array, camera: Array, strength: Scalar, width: Scalar, height: Scalar,
) -> int:  # fmt: skip
    """Light of glowing box i on the plane z around it. Returns the next free row."""
    if gap[i] < NIL:
        return n
    least = min(size[i, 0], size[i, 1])
    bright = min(ONE, emission[i]) * alpha[i] * strength / (ONE + gap[i] / (least + f4(1e-4)))
    if bright < f4(0.02):
        return n
    q = q_all[n]
    if not emit_soft(q, origin[i], size[i], f4(0.9) * least + HALF * gap[i], NIL, z, bounds, camera, width, height):
        return n
    for c in range(3):
        q[COLOR + c] = color[i, c] * f4(255)
    q[ALPHA], q[KEEP] = f4(0.55) * bright, f4(0.3)
    return n + 1


@kernel
def emit_on_ground(
    q_all: Array, support: Array, origin: Array, size: Array, color: Array, emission: Array, shadow: Array, alpha: Array,
    gap: Array, level: Scalar, camera: Array, shade: Scalar, spill: Scalar, width: Scalar, height: Scalar,
) -> int:  # fmt: skip
    """Records of light and shadow on the floor: first all light, then all shadows; returns their number."""
    bounds = np.empty(4, f4)
    bounds[:2], bounds[2:] = f4(-1e9), f4(1e9)
    n = int(i8(0))  # not a literal: kernels called with it would compile twice
    for i in range(origin.shape[0]):
        if support[i] == GROUND:
            n = emit_spill(q_all, n, i, origin, size, color, emission, alpha, gap, level, bounds, camera, spill, width, height)
    for i in range(origin.shape[0]):
        if support[i] == GROUND:
            n = emit_shadow(q_all, n, i, origin, size, shadow, alpha, gap, level, bounds, camera, shade, width, height)
    return n
