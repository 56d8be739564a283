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
POOL_COLOR = (9.0, 13.0, 22.0)  # 0..255, added in the middle of the light
GLOSS_COLOR = (11.0, 14.0, 19.0)  # the lamp mirrored in the floor
SKY_FALL = f4(6.5)  # how fast the horizon's haze thins out upwards
VIGNETTE = f4(0.30)


@kernel
def shade_floor(layer: Array, weight: Array, camera: Array, floor: Array, light: Array, visible: bool) -> None:
    """layer (3, h, w) 0..255: floor and sky without things; weight (h, w): strength of the mirror image (0 above the horizon).

    camera is that of the small picture; light: focus x, y, 1/radius^2, radius, fog start, fog scale; visible: there is a floor.
    """
    height, width = weight.shape
    k, cx, cy = camera[0, 3], camera[1, 3], camera[2, 3]
    drop = floor[LEVEL] - camera[3, 2]
    lamp_x, lamp_y, lamp_z = light[0] - f4(0.55) * light[3], light[1] + light[3], f4(0.9) * light[3]
    for y in range(height):
        sy = (cy - f4(y) - HALF) / k
        for x in range(width):
            sx = (f4(x) + HALF - cx) / k
            dx = camera[2, 0] + sx * camera[0, 0] + sy * camera[1, 0]
            dy = camera[2, 1] + sx * camera[0, 1] + sy * camera[1, 1]
            dz = camera[2, 2] + sx * camera[0, 2] + sy * camera[1, 2]
            inverse = ONE / f4(math.sqrt(dx * dx + dy * dy + dz * dz))
            rim = (f4(x) + HALF - cx) / cx
            rim_y = (f4(y) + HALF - cy) / cy
            vignette = ONE - VIGNETTE * min(ONE, HALF * (rim * rim + rim_y * rim_y))
            steep = dz * inverse
            weight[y, x] = NIL
            if visible and dz < f4(-1e-4) and drop < NIL:
                t = drop / dz
                px, py = camera[3, 0] + t * dx, camera[3, 1] + t * dy
                u = min(ONE, max(NIL, (t - light[4]) * light[5]))
                fog = u * u * (f4(3) - f4(2) * u)
                fx, fy = px - light[0], py - light[1]
                pool = ONE / (ONE + (fx * fx + fy * fy) * light[2])
                pool *= pool * f4(1.15)
                lx, ly = lamp_x - px, lamp_y - py
                il = ONE / f4(math.sqrt(lx * lx + ly * ly + lamp_z * lamp_z))
                hx, hy, hz = lx * il - dx * inverse, ly * il - dy * inverse, lamp_z * il - dz * inverse
                h = hz * hz / (hx * hx + hy * hy + hz * hz)
                h4 = h * h * h * h
                gloss = h4 * h4 * pool
                graze = ONE + steep
                graze *= graze
                weight[y, x] = floor[REFLECT] * (f4(0.30) + f4(0.70) * graze) * (ONE - fog)
                for c in range(3):
                    value = floor[FLOOR_RED + c] + f4(POOL_COLOR[c]) * pool + f4(GLOSS_COLOR[c]) * gloss
                    haze = floor[HORIZON_RED + c]
                    value += (haze - value) * f4(0.35) * graze * graze
                    layer[c, y, x] = (value + (haze - value) * fog) * vignette
            else:
                haze = f4(math.exp(-SKY_FALL * max(NIL, steep)))
                for c in range(3):
                    low = f4(0.8) * floor[FLOOR_RED + c]
                    layer[c, y, x] = (low + (floor[HORIZON_RED + c] - low) * haze) * vignette


@kernel
def draw_soft(layer: Array, queue: Array, count: int) -> None:
    """Draw SOFT records (contact shadows, spilt light) into layer (3, h, w)."""
    height, width = layer.shape[1], layer.shape[2]
    for n in range(count):
        q = queue[n]
        left, right = int(max(NIL, q[BOX])), int(min(f4(width), q[BOX + 2] + ONE))
        for y in range(int(max(NIL, q[BOX + 1])), int(min(f4(height), q[BOX + 3] + ONE))):
            fy = f4(y) + HALF
            for x in range(left, right):
                fx = f4(x) + HALF
                u = min(q[A] * fx + q[B] * fy + q[C], q[A + 2] * fx + q[B + 2] * fy + q[C + 2])
                v = min(q[A + 1] * fx + q[B + 1] * fy + q[C + 1], q[A + 3] * fx + q[B + 3] * fy + q[C + 3])
                s = max(NIL, min(ONE, u)) * max(NIL, min(ONE, v))
                s = s * s * (f4(3) - f4(2) * s) * q[ALPHA]
                for c in range(3):
                    layer[c, y, x] += (q[COLOR + c] - layer[c, y, x] * q[KEEP]) * s


@kernel
def add_mirror(layer: Array, weight: Array, small: Array, rows: Array) -> None:
    """layer += weight * mirror image, blurred: small (>= h, >= w) packed pixels; rows (2, h, w) scratch."""
    height, width = weight.shape
    m = i4(255)
    for c in range(3):
        shift = i4(8 * c)
        a, b = rows[0], rows[1]
        for y in range(height):
            for x in range(width):
                a[y, x] = f4(i4(i4(i4(small[y, x]) >> shift) & m))
        for repeat in range(2):
            for y in range(height):
                s, t = a[y], b[y]
                t[0], t[width - 1] = s[0], s[width - 1]
                for x in range(1, width - 1):
                    t[x] = f4(0.25) * (s[x - 1] + s[x + 1]) + HALF * s[x]
            for y in range(height):
                o, up, mid, down = a[y], b[max(0, y - 1)], b[y], b[min(height - 1, y + 1)]
                for x in range(width):
                    o[x] = f4(0.25) * (up[x] + down[x]) + HALF * mid[x]
        for y in range(height):
            o, s, w = layer[c, y], a[y], weight[y]
            for x in range(width):
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
