"""Fills the queue of draw records in painter's order: boxes with what they do to their tops, ribbons, sprites."""

from __future__ import annotations

import math

import numpy as np

from scenes.stage import records as r
from scenes.stage.build import FOG_MAX, FOG_SCALE, FOG_START, emit_box
from scenes.stage.contact import emit_shadow, emit_spill
from scenes.stage.jit import Array, Scalar, f4, i8, kernel

NIL, ONE, HALF = f4(0), f4(1), f4(0.5)
A, B, C, GROW, X0, Y0, COLOR, ALPHA, EMISSION = r.A, r.B, r.C, r.GROW, r.X0, r.Y0, r.COLOR, r.ALPHA, r.EMISSION
KIND, BOX, INNER, RADIUS = r.KIND, r.BOX, r.INNER, r.RADIUS
LINE, DISC = f4(r.LINE), f4(r.DISC)
LINE_NEAR = f4(0.02)  # share of the near distance at which ribbons are cut: what is cut lies outside the frame


@kernel
def _fade(depth: Scalar, light: Array) -> Scalar:
    return f4(ONE - min(light[FOG_MAX], max(NIL, (depth - light[FOG_START]) * light[FOG_SCALE])))


@kernel
def ribbon_bounds(a: Array, b: Array, width: Array, camera: Array, w: Scalar, h: Scalar, ends: Array, rect: Array) -> None:
    """Ends of each segment cut at the near distance, ends (N, 6) = x y depth twice, and bounds rect (N, 4) in px."""
    k, cx, cy = camera[0, 3], camera[1, 3], camera[2, 3]
    cut = max(f4(1e-3), camera[3, 3] * LINE_NEAR)
    v = np.empty((2, 3), f4)
    for i in range(a.shape[0]):
        rect[i, 0], rect[i, 1], rect[i, 2], rect[i, 3] = ONE, ONE, NIL, NIL
        for c in range(3):
            v[0, c], v[1, c] = NIL, NIL
            for d in range(3):
                v[0, c] += (a[i, d] - camera[3, d]) * camera[c, d]
                v[1, c] += (b[i, d] - camera[3, d]) * camera[c, d]
        if v[0, 2] < cut and v[1, 2] < cut:
            continue
        for e in range(2):
            if v[e, 2] < cut:
                t = (cut - v[e, 2]) / (v[1 - e, 2] - v[e, 2])
                for c in range(3):
                    v[e, c] += (v[1 - e, c] - v[e, c]) * t
        for e in range(2):
            ends[i, 3 * e] = cx + k * v[e, 0] / v[e, 2]
            ends[i, 3 * e + 1] = cy - k * v[e, 1] / v[e, 2]
            ends[i, 3 * e + 2] = v[e, 2]
        pad = HALF * width[i] * k / min(v[0, 2], v[1, 2]) + f4(2)
        x0, x1 = min(ends[i, 0], ends[i, 3]) - pad, max(ends[i, 0], ends[i, 3]) + pad
        y0, y1 = min(ends[i, 1], ends[i, 4]) - pad, max(ends[i, 1], ends[i, 4]) + pad
        if x1 >= NIL and y1 >= NIL and x0 <= w and y0 <= h:
            rect[i, 0], rect[i, 1], rect[i, 2], rect[i, 3] = x0, y0, x1, y1


@kernel
def sprite_bounds(position: Array, radius: Array, camera: Array, w: Scalar, h: Scalar, place: Array, rect: Array) -> None:
    """Screen centre, depth and radius of each sprite, place (N, 4), and bounds rect (N, 4) in px."""
    k, cx, cy = camera[0, 3], camera[1, 3], camera[2, 3]
    for i in range(position.shape[0]):
        rect[i, 0], rect[i, 1], rect[i, 2], rect[i, 3] = ONE, ONE, NIL, NIL
        dx, dy, dz = position[i, 0] - camera[3, 0], position[i, 1] - camera[3, 1], position[i, 2] - camera[3, 2]
        z = dx * camera[2, 0] + dy * camera[2, 1] + dz * camera[2, 2]
        if z < camera[3, 3] * HALF:
            continue
        x = cx + k * (dx * camera[0, 0] + dy * camera[0, 1] + dz * camera[0, 2]) / z
        y = cy - k * (dx * camera[1, 0] + dy * camera[1, 1] + dz * camera[1, 2]) / z
        s = k * radius[i] / z
        place[i, 0], place[i, 1], place[i, 2], place[i, 3] = x, y, z, s
        if x + s >= f4(-2) and y + s >= f4(-2) and x - s <= w + f4(2) and y - s <= h + f4(2):
            rect[i, 0], rect[i, 1], rect[i, 2], rect[i, 3] = x - s - f4(2), y - s - f4(2), x + s + f4(2), y + s + f4(2)


@kernel
def _emit_line(
    q: Array, end: Array, width: Scalar, color: Array, alpha: Scalar, emission: Scalar, camera: Array, light: Array
) -> bool:
    ax, ay, bx, by = end[0], end[1], end[3], end[4]
    dx, dy = bx - ax, by - ay
    square = dx * dx + dy * dy
    va, vb = alpha * _fade(end[2], light), alpha * _fade(end[5], light)
    if square < f4(0.01) or (va < f4(0.004) and vb < f4(0.004)):
        return False
    length = f4(math.sqrt(square))
    ux, uy = dx / length, dy / length
    wa, wb = HALF * width * camera[0, 3] / end[2], HALF * width * camera[0, 3] / end[5]
    tilt = (wb - wa) / length  # a ribbon narrows with distance
    q[A], q[B] = -uy + tilt * ux, ux + tilt * uy
    q[A + 1], q[B + 1] = -ux, -uy
    q[A + 2], q[B + 2] = uy + tilt * ux, -ux + tilt * uy
    q[A + 3], q[B + 3] = ux, uy
    q[C] = wa - q[A] * ax - q[B] * ay
    q[C + 1] = ux * bx + uy * by
    q[C + 2] = wa - q[A + 2] * ax - q[B + 2] * ay
    q[C + 3] = -(ux * ax + uy * ay)
    q[X0], q[Y0] = ax, ay
    for e in range(4):
        q[GROW + e] = HALF
    q[ALPHA], q[ALPHA + 1], q[ALPHA + 2] = va, (vb - va) * dx / square, (vb - va) * dy / square
    for c in range(3):
        q[COLOR + c] = min(ONE, color[c]) * f4(254.9)
    q[EMISSION] = min(f4(255), emission * f4(255))
    wide = max(wa, wb) + f4(1.5)
    q[BOX], q[BOX + 1] = min(ax, bx) - wide, min(ay, by) - wide
    q[BOX + 2], q[BOX + 3] = max(ax, bx) + wide, max(ay, by) + wide
    q[KIND] = LINE
    return True


@kernel
def assemble(
    q_all: Array, order: Array, floor: int, floor_seen: Array, origin: Array, size: Array, color: Array, emission: Array,
    edge: Array, shadow: Array, alpha: Array, corners: Array, rect: Array, support: Array, gap: Array, ends: Array,
    rib_width: Array, rib_color: Array, rib_alpha: Array, rib_emission: Array, place: Array, spr_color: Array,
    spr_emission: Array, planes: Array, camera: Array, light: Array, shade: Scalar, spill: Scalar, width: Scalar,
    height: Scalar,
) -> int:  # fmt: skip
    """Fill q_all (large enough) with the records of all items of `order` far to near; returns their number.

    The first `floor` ribbons lie on the floor: those of them that are seen, floor_seen, come first. Items of `order` are
    numbered boxes, then
    the other ribbons, sprites, text planes (planes: their records). shade, spill: strength of contact shadows and spilt light.
    """
    boxes = origin.shape[0]
    ribbons = ends.shape[0] - floor
    first = np.full(boxes, -1, i8)  # boxes standing on each box, as linked lists
    after = np.empty(boxes, i8)
    if shade > NIL or spill > NIL:
        for i in range(boxes):
            if support[i] >= 0 and alpha[i] > NIL:
                after[i] = first[support[i]]
                first[support[i]] = i
    bounds = np.empty(4, f4)
    n = int(i8(0))  # not a literal: kernels called with it would compile twice
    for i in floor_seen:
        if _emit_line(q_all[n], ends[i], rib_width[i], rib_color[i], rib_alpha[i], rib_emission[i], camera, light):
            n += 1
    for item in order:
        if item < boxes:
            n = emit_box(
                q_all, n, item, origin, size, color, emission, edge, alpha, corners, rect, camera, light, width, height
            )
            top = origin[item, 2] + size[item, 2]
            if first[item] < 0 or camera[3, 2] <= top or alpha[item] < f4(0.99):
                continue
            bounds[0], bounds[1] = origin[item, 0], origin[item, 1]
            bounds[2], bounds[3] = origin[item, 0] + size[item, 0], origin[item, 1] + size[item, 1]
            i = first[item]
            while i >= 0:
                n = emit_spill(
                    q_all, n, i, origin, size, color, emission, alpha, gap, top, bounds, camera, spill, width, height
                )
                i = after[i]
            i = first[item]
            while i >= 0:
                n = emit_shadow(q_all, n, i, origin, size, shadow, alpha, gap, top, bounds, camera, shade, width, height)
                i = after[i]
        elif item < boxes + ribbons:
            i = item - boxes + floor
            if _emit_line(q_all[n], ends[i], rib_width[i], rib_color[i], rib_alpha[i], rib_emission[i], camera, light):
                n += 1
        elif item >= boxes + ribbons + place.shape[0]:
            q_all[n] = planes[item - boxes - ribbons - place.shape[0]]
            n += 1
        else:
            i = item - boxes - ribbons
            q = q_all[n]
            near = camera[3, 3]
            z = place[i, 2]
            q[A], q[A + 1], q[RADIUS] = place[i, 0], place[i, 1], place[i, 3]
            q[ALPHA] = min(ONE, max(NIL, (z - near * HALF) / near)) * (HALF + HALF * _fade(z, light))
            for c in range(3):
                q[COLOR + c] = min(ONE, spr_color[i, c]) * f4(254.9)
            q[EMISSION] = min(f4(255), spr_emission[i] * f4(255))
            for c in range(4):
                q[BOX + c] = rect[boxes + ribbons + i, c]
            q[KIND] = DISC
            n += 1
    return n
