"""Glow: what emits light is blurred at a quarter and a sixteenth of the resolution and compressed by its brightest channel."""

from __future__ import annotations

import math

import numpy as np

from scenes.stage.jit import Array, f4, i4, i8, kernel

NIL, ONE = f4(0), f4(1)
EMITTING = np.uint64(0xFF000000FF000000)
TIGHT, WIDE = f4(1.0), f4(1.5)  # weights of the two blurs
SIGMA_TIGHT, SIGMA_WIDE = 10.4, 54.0  # px at 1080 lines
CEILING = f4(0.85)  # glow never covers more than this


def gaussian(sigma: float) -> Array:
    """Half of a normalised Gaussian kernel, centre first, out to three sigma; sigma in px of the plane it is used on."""
    half = np.exp(-0.5 * (np.arange(int(3 * sigma) + 2) / sigma) ** 2)
    return np.ascontiguousarray(half / (2 * half.sum() - half[0]), np.float32)


@kernel
def gather_emission(pairs: Array, light: Array) -> tuple[int, int, int, int]:
    """light (3, h, w) = mean over 4x4 px of colour x emission, 0..255; pairs = the work buffer as uint64 (4 h, 2 w).

    Returns the lit rows and columns: first row, last row + 1, first column, last column + 1 (first > last where nothing is lit).
    """
    tall, wide = light.shape[1], light.shape[2]
    y0, y1, x0, x1 = tall, 0, wide, 0
    scale = f4(1 / 4080)
    for y in range(tall):
        for x in range(wide):
            red, green, blue = 0, 0, 0
            for j in range(4):
                u, v = pairs[4 * y + j, 2 * x], pairs[4 * y + j, 2 * x + 1]
                if (u | v) & EMITTING:
                    y0, y1, x0, x1 = min(y0, y), y + 1, min(x0, x), max(x1, x + 1)
                    for pair in (u, v):
                        for half in (0, 32):
                            p = i8(pair >> np.uint64(half)) & 0xFFFFFFFF
                            e = p >> 24
                            red += (p & 255) * e
                            green += ((p >> 8) & 255) * e
                            blue += ((p >> 16) & 255) * e
            light[0, y, x], light[1, y, x], light[2, y, x] = f4(red) * scale, f4(green) * scale, f4(blue) * scale
    return y0, y1, x0, x1


@kernel
def _blur(plane: Array, scratch: Array, weights: Array, y0: int, y1: int, x0: int, x1: int) -> None:
    """Gaussian blur in place of planes (3, h, w), both ways, of the lit part and what its light reaches."""
    reach = weights.size - 1
    y0, y1 = max(0, y0 - reach), min(plane.shape[1], y1 + reach)
    x0, x1 = max(0, x0 - reach), min(plane.shape[2], x1 + reach)
    n = x1 - x0
    if n <= 0 or y1 <= y0:
        return
    padded = np.zeros(n + 2 * reach, f4)
    for c in range(3):
        for y in range(y0, y1):
            src, dst = plane[c, y, x0:x1], scratch[c, y, x0:x1]
            for x in range(n):
                padded[reach + x] = src[x]
                dst[x] = src[x] * weights[0]
            for k in range(1, reach + 1):
                w = weights[k]
                left, right = padded[reach - k : reach - k + n], padded[reach + k : reach + k + n]
                for x in range(n):
                    dst[x] += w * (left[x] + right[x])
        for y in range(y0, y1):
            dst, here = plane[c, y, x0:x1], scratch[c, y, x0:x1]
            for x in range(n):
                dst[x] = here[x] * weights[0]
            for k in range(1, reach + 1):
                w = weights[k]
                if y - k >= y0:
                    above = scratch[c, y - k, x0:x1]
                    for x in range(n):
                        dst[x] += w * above[x]
                if y + k < y1:
                    below = scratch[c, y + k, x0:x1]
                    for x in range(n):
                        dst[x] += w * below[x]


@kernel
def _quarter(fine: Array, coarse: Array) -> None:
    """coarse (3, h, w) = means over 4x4 of fine (3, 4 h, 4 w)."""
    for c in range(3):
        for y in range(coarse.shape[1]):
            out = coarse[c, y]
            for x in range(out.size):
                s = NIL
                for j in range(4):
                    for i in range(4):
                        s += fine[c, 4 * y + j, 4 * x + i]
                out[x] = s * f4(1 / 16)


@kernel
def spread(
    light: Array, far: Array, scratch: Array, far_scratch: Array, tight: Array, wide: Array, y0: int, y1: int, x0: int, x1: int, gain: f4
) -> None:
    """light (3, h, w) becomes the glow 0..255: tight blur + wide blur (far, a quarter the size), under a soft ceiling."""
    tall, width = light.shape[1], light.shape[2]
    _quarter(light, far)
    _blur(light, scratch, tight, y0, y1, x0, x1)
    _blur(far, far_scratch, wide, y0 >> 2, (y1 + 3) >> 2, x0 >> 2, (x1 + 3) >> 2)
    rows, columns = far.shape[1], far.shape[2]
    up = np.empty((3, columns), f4)
    for y in range(tall):
        v = max(NIL, (f4(y) + f4(0.5)) * f4(0.25) - f4(0.5))
        a = min(int(v), rows - 2)
        t = min(ONE, v - f4(a))
        for c in range(3):
            for x in range(columns):
                up[c, x] = far[c, a, x] + (far[c, a + 1, x] - far[c, a, x]) * t
        for x in range(width):
            h = max(NIL, (f4(x) + f4(0.5)) * f4(0.25) - f4(0.5))
            b = min(i4(h), columns - 2)
            s = min(ONE, h - f4(b))
            r = light[0, y, x] * TIGHT + (up[0, b] + (up[0, b + 1] - up[0, b]) * s) * WIDE
            g = light[1, y, x] * TIGHT + (up[1, b] + (up[1, b + 1] - up[1, b]) * s) * WIDE
            l = light[2, y, x] * TIGHT + (up[2, b] + (up[2, b + 1] - up[2, b]) * s) * WIDE
            peak = max(max(r, g), l) * gain * f4(1 / 255)
            scale = NIL
            if peak > f4(1e-4):
                scale = gain * CEILING * (ONE - f4(math.exp(-peak / CEILING))) / peak
            light[0, y, x], light[1, y, x], light[2, y, x] = r * scale, g * scale, l * scale
