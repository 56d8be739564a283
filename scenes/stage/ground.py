"""The floor and the sky at a quarter of the resolution: light pool, horizon, soft shadows and the blurred mirror image.

All of it is smooth, so a quarter of the pixels each way is enough; the sharp grid is added at full resolution in `compose`.
"""

from __future__ import annotations

import math

import numpy as np

from scenes.stage import records as r
from scenes.stage.jit import Array, f4, i4, kernel

NIL, ONE, HALF = f4(0), f4(1), f4(0.5)
A, B, C, COLOR, ALPHA, BOX, KEEP = r.A, r.B, r.C, r.COLOR, r.ALPHA, r.BOX, r.KEEP

# the floor, as a float32 vector
LEVEL, SPACING, EXTENT, LINE_ALPHA, REFLECT = 0, 1, 2, 3, 4
LINE_RED, HORIZON_RED, FLOOR_RED = 5, 8, 11  # three values each, 0..255
FLOOR_SIZE = 14
POOL_COLOR = (10.0, 14.0, 23.0)  # 0..255, added in the middle of the light
GLOSS_COLOR = (11.0, 14.0, 19.0)  # the lamp mirrored in the floor
SKY_FALL = f4(6.5)  # how fast the horizon's haze thins out upwards
VIGNETTE = f4(0.30)


@kernel
def shade_floor(layer: Array, weight: Array, camera: Array, floor: Array, light: Array, visible: bool) -> None:
    """layer (3, h, w) 0..255: floor and sky without things; weight (h, w): strength of the mirror image (0 above the horizon).

    camera is that of the small picture; light: focus x, y, 1/radius^2, radius, fog start, fog scale; visible: there is a floor.
    """
    height = weight.shape[0]
    k, cx, cy = camera[0, 3], camera[1, 3], camera[2, 3]
    ex, ey = camera[3, 0], camera[3, 1]
    drop = floor[LEVEL] - camera[3, 2]
    fx, fy, pool_scale, start, fog_scale = light[0], light[1], light[2], light[4], light[5]
    lamp_x, lamp_y, lamp_z = fx - f4(0.55) * light[3], fy + light[3], f4(0.9) * light[3]
    lamp2 = lamp_z * lamp_z
    ik, icx, icy = ONE / k, ONE / cx, ONE / cy
    sx = (HALF - cx) * ik
    rx, ry, rz = camera[0, 0] * ik, camera[0, 1] * ik, camera[0, 2] * ik
    sign = ONE if visible else NIL
    fr, fg, fb = floor[FLOOR_RED], floor[FLOOR_RED + 1], floor[FLOOR_RED + 2]
    hr, hg, hb = floor[HORIZON_RED], floor[HORIZON_RED + 1], floor[HORIZON_RED + 2]
    pr, pg, pb = f4(POOL_COLOR[0]), f4(POOL_COLOR[1]), f4(POOL_COLOR[2])
    gr, gg, gb = f4(GLOSS_COLOR[0]), f4(GLOSS_COLOR[1]), f4(GLOSS_COLOR[2])
    reflect = floor[REFLECT]
    for y in range(height):
        sy = (cy - f4(y) - HALF) * ik
        dx0 = camera[2, 0] + sx * camera[0, 0] + sy * camera[1, 0]
        dy0 = camera[2, 1] + sx * camera[0, 1] + sy * camera[1, 1]
        dz0 = camera[2, 2] + sx * camera[0, 2] + sy * camera[1, 2]
        rim_y = (f4(y) + HALF - cy) * icy
        rim_y *= rim_y
        red, green, blue, mirror = layer[0, y], layer[1, y], layer[2, y], weight[y]
        for x in range(mirror.size):
            f = f4(i4(x))
            dx, dy, dz = dx0 + rx * f, dy0 + ry * f, dz0 + rz * f
            inverse = ONE / f4(math.sqrt(dx * dx + dy * dy + dz * dz))
            rim = (f + HALF - cx) * icx
            vignette = ONE - VIGNETTE * min(ONE, HALF * (rim * rim + rim_y))
            steep = dz * inverse
            down = sign if dz < f4(-1e-4) else NIL
            t = drop / min(f4(-1e-4), dz)
            px, py = ex + t * dx, ey + t * dy
            u = max(NIL, (t - start) * fog_scale)
            fog = u * u / (u * u + HALF)  # two thirds at the fog's end, whole only at the horizon
            wx, wy = px - fx, py - fy
            pool = ONE / (ONE + (wx * wx + wy * wy) * pool_scale)
            pool *= pool * f4(1.15)
            lx, ly = lamp_x - px, lamp_y - py
            il = ONE / f4(math.sqrt(lx * lx + ly * ly + lamp2))
            hx, hy, hz = lx * il - dx * inverse, ly * il - dy * inverse, lamp_z * il - steep
            h = hz * hz / (hx * hx + hy * hy + hz * hz)
            h *= h
            h *= h
            gloss = h * h * pool  # the eighth power of the squared cosine
            graze = (ONE + steep) * (ONE + steep)
            haze = f4(0.35) * graze * graze
            haze += (ONE - haze) * fog
            thin = SKY_FALL * max(NIL, steep)
            band = f4(5) * thin
            sky = f4(0.62) / (ONE + thin * (ONE + HALF * thin)) + f4(0.38) / (
                ONE + band * (ONE + HALF * band)
            )  # close to exp(-x)
            mist = (haze * down + sky * (ONE - down)) * vignette
            clear = down * (vignette - mist) + (ONE - down) * f4(0.8) * (vignette - mist)
            lit, glint = pool * down * (vignette - mist), gloss * down * (vignette - mist)
            red[x] = fr * clear + hr * mist + pr * lit + gr * glint
            green[x] = fg * clear + hg * mist + pg * lit + gg * glint
            blue[x] = fb * clear + hb * mist + pb * lit + gb * glint
            mirror[x] = reflect * (f4(0.45) + f4(0.75) * graze) * (ONE - fog) * down


@kernel
def draw_soft(layer: Array, queue: Array, count: int) -> None:
    """Draw SOFT records (contact shadows, spilt light) into layer (3, h, w)."""
    height, width = layer.shape[1], layer.shape[2]
    for n in range(count):
        q = queue[n]
        left, right = int(max(NIL, q[BOX])), int(min(f4(width), q[BOX + 2] + ONE))
        a0, a1, a2, a3 = q[A], q[A + 1], q[A + 2], q[A + 3]
        alpha, lost, cr, cg, cb = q[ALPHA], q[KEEP], q[COLOR], q[COLOR + 1], q[COLOR + 2]
        start = f4(left) + HALF
        for y in range(int(max(NIL, q[BOX + 1])), int(min(f4(height), q[BOX + 3] + ONE))):
            fy = f4(y) + HALF
            c0, c1 = q[B] * fy + q[C] + a0 * start, q[B + 1] * fy + q[C + 1] + a1 * start
            c2, c3 = q[B + 2] * fy + q[C + 2] + a2 * start, q[B + 3] * fy + q[C + 3] + a3 * start
            red, green, blue = layer[0, y, left:right], layer[1, y, left:right], layer[2, y, left:right]
            for x in range(red.size):
                t = f4(i4(x))
                u, v = min(ONE, min(a0 * t + c0, a2 * t + c2)), min(ONE, min(a1 * t + c1, a3 * t + c3))
                s = max(NIL, u) * max(NIL, v)
                s = s * s * (f4(3) - f4(2) * s) * alpha
                keep = ONE - lost * s
                red[x], green[x], blue[x] = red[x] * keep + cr * s, green[x] * keep + cg * s, blue[x] * keep + cb * s


@kernel
def add_mirror(layer: Array, weight: Array, small: Array, queue: Array, count: int, rows: Array) -> None:
    """layer += weight * mirror image, blurred: small, blocks (h / 4, 4 w) of packed pixels; rows (2, h, w) scratch.

    queue: the records that were drawn into `small`; the rest of it is black.
    """
    height, width = weight.shape
    y0, y1, x0, x1 = height, 0, width, 0
    for n in range(count):
        y0, y1 = min(y0, int(max(NIL, queue[n, BOX + 1]))), max(y1, int(min(f4(height), queue[n, BOX + 3])) + 1)
        x0, x1 = min(x0, int(max(NIL, queue[n, BOX]))), max(x1, int(min(f4(width), queue[n, BOX + 2])) + 1)
    y0, y1, x0, x1 = max(0, y0 - 4), min(height, y1 + 4), max(0, x0 - 4) & ~3, min(width, (x1 + 7) & ~3)
    if y0 >= y1 or x0 >= x1:
        return
    m = i4(255)
    last = x1 - x0 - 1
    for c in range(3):
        shift = i4(8 * c)
        a, b = rows[0], rows[1]
        for y in range(y0, y1):
            source, o = small[y >> 2, 4 * x0 + 4 * (y & 3) :], a[y, x0:x1]
            for i in range(o.size // 4):
                for k in range(4):
                    o[4 * i + k] = f4(i4(i4(i4(source[16 * i + k]) >> shift) & m))
        for _ in range(2):
            for y in range(y0, y1):
                s, t = a[y, x0:x1], b[y, x0:x1]
                before, here, behind, into = s[: last - 1], s[1:last], s[2:], t[1:last]
                t[0], t[last] = s[0], s[last]
                for x in range(into.size):
                    into[x] = f4(0.25) * (before[x] + behind[x]) + HALF * here[x]
            for y in range(y0, y1):
                o, mid = a[y, x0:x1], b[y, x0:x1]
                up, down = b[max(y0, y - 1), x0:x1], b[min(y1 - 1, y + 1), x0:x1]
                for x in range(o.size):
                    o[x] = f4(0.25) * (up[x] + down[x]) + HALF * mid[x]
        for y in range(y0, y1):
            o, s, w = layer[c, y, x0:x1], a[y, x0:x1], weight[y, x0:x1]
            for x in range(o.size):
                o[x] += s[x] * w[x]


def blue_noise(size: int = 32, seed: int = 7) -> Array:
    """(size, size) float32 thresholds in (0, 1) whose low frequencies are empty: void and cluster (Ulichney, 1993)."""
    n = size * size
    axis = np.minimum(np.arange(size), size - np.arange(size))
    weight = np.exp(-(axis[:, None] ** 2 + axis[None, :] ** 2) / (2 * 1.5**2))
    wrapped = np.tile(weight, (2, 2))

    def around(index: int) -> Array:
        y, x = divmod(index, size)
        return wrapped[size - y : 2 * size - y, size - x : 2 * size - x]

    chosen = np.zeros((size, size), bool)
    energy = np.zeros((size, size))
    for index in np.random.default_rng(seed).permutation(n)[: n // 10]:
        chosen.flat[index] = True
        energy += around(int(index))
    while True:  # move the tightest cluster into the largest void until that is the same place
        cluster = int(np.argmax(np.where(chosen, energy, -np.inf)))
        chosen.flat[cluster] = False
        energy -= around(cluster)
        void = int(np.argmin(np.where(chosen, np.inf, energy)))
        chosen.flat[void] = True
        energy += around(void)
        if void == cluster:
            break
    rank = np.zeros((size, size))
    first, left = int(chosen.sum()), chosen.copy()
    rest = energy.copy()
    for place in range(first - 1, -1, -1):
        cluster = int(np.argmax(np.where(left, rest, -np.inf)))
        left.flat[cluster] = False
        rest -= around(cluster)
        rank.flat[cluster] = place
    for place in range(first, n):
        void = int(np.argmin(np.where(chosen, np.inf, energy)))
        chosen.flat[void] = True
        energy += around(void)
        rank.flat[void] = place
    return ((rank + 0.5) / n).astype(np.float32)
