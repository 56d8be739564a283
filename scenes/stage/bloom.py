"""Glow: what emits light is blurred at a quarter and a sixteenth of the resolution and compressed by its brightest channel."""

from __future__ import annotations

import math

import numpy as np

from scenes.stage import records as r
from scenes.stage.jit import Array, Scalar, f4, i4, kernel

NIL, ONE = f4(0), f4(1)
BOX, KIND, SOFT, EMISSION = r.BOX, r.KIND, f4(r.SOFT), r.EMISSION
EMITTING = np.uint64(0xFF000000FF000000)
TIGHT, WIDE = f4(1.0), f4(1.5)  # weights of the two blurs
SIGMA_TIGHT, SIGMA_WIDE = 10.4, 54.0  # px at 1080 lines
CEILING = f4(0.9)  # glow never covers more than this
LEAST = f4(0.25)  # of 255: fainter glow is left out


def gaussian(sigma: float) -> Array:
    """Half of a normalised Gaussian kernel, centre first, out to 2.8 sigma or more; sigma in px of the plane it is used on."""
    reach = 2 * math.ceil(1.4 * sigma)  # even
    half = np.exp(-0.5 * (np.arange(reach + 1) / sigma) ** 2)
    return np.ascontiguousarray(half / (2 * half.sum() - half[0]), np.float32)


@kernel
def gather_emission(px: Array, light: Array, queue: Array, count: int) -> tuple[int, int, int, int]:
    """light (3, h, w) = mean of colour x emission over each block, 0..255; px: the work buffer (see `pixels`).

    queue: the records drawn into it; only where glowing ones lie is there anything to gather.


    Returns the lit rows and columns: first row, last row + 1, first column, last column + 1; first > last where none is lit.
    """
    wide = light.shape[2]
    y0, y1, x0, x1 = light.shape[1], 0, wide, 0
    scale = f4(1 / 4080)
    m = i4(255)
    pairs = px.view(np.uint64)
    light[:] = NIL
    top, bottom, left, right = f4(1e6), f4(-1), f4(1e6), f4(-1)
    for n in range(count):
        q = queue[n]
        if q[EMISSION] > NIL and q[KIND] != SOFT:
            left, top = min(left, q[BOX]), min(top, q[BOX + 1])
            right, bottom = max(right, q[BOX + 2]), max(bottom, q[BOX + 3])
    i0, i1 = int(max(NIL, left)) >> 2, min(wide, (int(max(-ONE, right)) >> 2) + 1)
    j0, j1 = int(max(NIL, top)) >> 2, min(light.shape[1], (int(max(-ONE, bottom)) >> 2) + 1)
    for y in range(j0, j1):
        row, pixels = pairs[y], px[y]
        red, green, blue = light[0, y], light[1, y], light[2, y]
        for x in range(i0, i1):
            eight = row[8 * x : 8 * x + 8]
            any_lit = eight[0] | eight[1] | eight[2] | eight[3] | eight[4] | eight[5] | eight[6] | eight[7]
            if any_lit & EMITTING == np.uint64(0):
                continue
            y0, y1, x0, x1 = min(y0, y), y + 1, min(x0, x), max(x1, x + 1)
            block = pixels[16 * x : 16 * x + 16]
            sr, sg, sb = NIL, NIL, NIL
            for k in range(16):
                p = i4(block[k])
                e = f4(i4(i4(p >> i4(24)) & m))
                sr += f4(i4(p & m)) * e
                sg += f4(i4(i4(p >> i4(8)) & m)) * e
                sb += f4(i4(i4(p >> i4(16)) & m)) * e
            red[x], green[x], blue[x] = sr * scale, sg * scale, sb * scale
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
    padded, nothing = np.zeros(n + 2 * reach, f4), np.zeros(n, f4)
    for c in range(3):
        for y in range(y0, y1):
            src, dst = plane[c, y, x0:x1], scratch[c, y, x0:x1]
            for x in range(n):
                padded[reach + x] = src[x]
                dst[x] = src[x] * weights[0]
            for k in range(1, reach, 2):  # two taps at a time; reach is even
                w, w2 = weights[k], weights[k + 1]
                left, right = padded[reach - k : reach - k + n], padded[reach + k : reach + k + n]
                left2, right2 = padded[reach - k - 1 : reach - k - 1 + n], padded[reach + k + 1 : reach + k + 1 + n]
                for x in range(n):
                    dst[x] += w * (left[x] + right[x]) + w2 * (left2[x] + right2[x])
        for y in range(y0, y1):
            dst, here = plane[c, y, x0:x1], scratch[c, y, x0:x1]
            for x in range(n):
                dst[x] = here[x] * weights[0]
            for k in range(1, reach + 1):
                w = weights[k]
                above = scratch[c, y - k, x0:x1] if y - k >= y0 else nothing
                below = scratch[c, y + k, x0:x1] if y + k < y1 else nothing
                for x in range(n):
                    dst[x] += w * (above[x] + below[x])


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
    light: Array, far: Array, scratch: Array, far_scratch: Array, tight: Array, wide: Array, lit: tuple[int, int, int, int],
    gain: Scalar, first: Array, last: Array,
) -> None:  # fmt: skip
    """light (3, h, w) becomes the glow 0..255: tight blur + wide blur (far, a quarter the size), under a soft ceiling.

    lit: as gather_emission returns it; first, last (h,): columns of each row that are lit at least by LEAST, both included.
    """
    y0, y1, x0, x1 = lit
    tall, width = light.shape[1], light.shape[2]
    rows, columns = far.shape[1], far.shape[2]
    _quarter(light, far)
    _blur(light, scratch, tight, y0, y1, x0, x1)
    _blur(far, far_scratch, wide, y0 >> 2, (y1 + 3) >> 2, x0 >> 2, (x1 + 3) >> 2)
    reach = 4 * wide.size + 4
    y0, y1 = max(0, y0 - reach), min(tall, y1 + reach)
    row, up = np.empty(columns + 2, f4), np.empty((3, 4 * columns), f4)
    peaks = np.empty(width, f4)
    bright = gain * f4(1 / 255)
    for y in range(tall):
        first[y], last[y] = width, -1
    for y in range(y0, y1):
        v = max(NIL, (f4(y) + f4(0.5)) * f4(0.25) - f4(0.5))
        a = min(i4(v), rows - 2)
        t = min(ONE, v - f4(a))
        for c in range(3):
            above, below = far[c, a], far[c, a + 1]
            middle = row[1 : columns + 1]
            for x in range(columns):
                middle[x] = above[x] + (below[x] - above[x]) * t
            row[0], row[columns + 1] = row[1], row[columns]
            left, right, fine = row[:columns], row[2:], up[c]
            for x in range(columns):
                fine[4 * x] = left[x] + (middle[x] - left[x]) * f4(0.625)
                fine[4 * x + 1] = left[x] + (middle[x] - left[x]) * f4(0.875)
                fine[4 * x + 2] = middle[x] + (right[x] - middle[x]) * f4(0.125)
                fine[4 * x + 3] = middle[x] + (right[x] - middle[x]) * f4(0.375)
        red, green, blue = light[0, y], light[1, y], light[2, y]
        for x in range(width):
            r, g, b = red[x] * TIGHT + up[0, x] * WIDE, green[x] * TIGHT + up[1, x] * WIDE, blue[x] * TIGHT + up[2, x] * WIDE
            peak = max(max(r, g), b) * bright
            scale = gain * CEILING / (CEILING + peak)  # peak -> ceiling x peak / (ceiling + peak)
            red[x], green[x], blue[x] = r * scale, g * scale, b * scale
            peaks[x] = peak * CEILING / (CEILING + peak) * f4(255)
        for x in range(width):
            if peaks[x] >= LEAST:
                first[y] = x
                break
        for x in range(width - 1, -1, -1):
            if peaks[x] >= LEAST:
                last[y] = x
                break
