"""Pixel code of transitions by pieces: shatter (tiles of the picture fly off) and glitch (blocks slip, channels part).

Pictures are (H, W) uint32, red in the low byte, opaque.
"""

from __future__ import annotations

import math

import numpy as np

from scenes.stage.jit import Array, Scalar, f4, i4, kernel, u4

NIL, ONE, HALF, FULL = f4(0), f4(1), f4(0.5), f4(255)


@kernel
def tiles(src: Array, pieces: Array, size: Scalar, out: Array) -> None:
    """Draw square pieces of `src` (contiguous) over `out`, in order: each a voxel's face that has come loose and turned.

    pieces (N, 10): its middle in src x, y; its middle in out x, y; scale; angle; how much lower it looks, 0..1 of its height;
    share that is left of its own light; strength of the light from beneath, in the colour that out has there; opacity.
    `size` px is its edge.
    """
    height, width = out.shape
    last_x, last_y = width - 2, height - 2
    m = i4(255)
    flat_src = src.reshape(height * width)
    place, texture = np.empty(width, np.int32), np.empty((4, width), np.uint32)
    part_u, part_v, edges = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.float32)
    per_rim = f4(10) / size
    for n in range(pieces.shape[0]):
        q = pieces[n]
        sx, sy, cx, cy, scale, angle, flat, light, beneath, opacity = q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7], q[8], q[9]
        if opacity <= NIL or scale <= f4(0.01):
            continue
        tall = max(f4(0.06), ONE - flat)
        half = HALF * size * scale
        reach = half * f4(1.4143) + ONE
        left, right = max(0, int(cx - reach)), min(width, int(cx + reach) + 2)
        top, bottom = max(0, int(cy - reach)), min(height, int(cy + reach) + 2)
        if left >= right or top >= bottom:
            continue
        if angle == NIL and scale == ONE:  # still in its place
            for y in range(max(0, int(cy - half + HALF)), min(height, int(cy + half + HALF))):
                i0, i1 = max(0, int(cx - half + HALF)), min(width, int(cx + half + HALF))
                out[y, i0:i1] = src[y, i0:i1]
            continue
        c, s = math.cos(angle), math.sin(angle)
        back = ONE / scale
        mx, my = min(width - 1, max(0, int(cx))), min(height - 1, max(0, int(cy)))
        base = i4(out[my, mx])
        br, bg, bb = f4(base & m), f4(i4(base >> i4(8)) & m), f4(i4(base >> i4(16)) & m)
        whole = HALF * size - HALF
        ux, uy, vx, vy = c * back, s * back, -s * back / tall, c * back / tall
        limit = HALF * size + HALF * back
        for y in range(top, bottom):
            dy = f4(y) - cy
            # where the row crosses the piece
            x0, x1 = f4(left), f4(right)
            for part in range(2):
                step, here = (ux, uy * dy) if part == 0 else (vx, vy * dy)
                if abs(step) < f4(1e-6):
                    x1 = x1 if abs(here) <= limit else x0
                else:
                    middle, far = -here / step, limit / abs(step)
                    x0, x1 = max(x0, cx + middle - far), min(x1, cx + middle + far + ONE)
            if x1 <= x0:
                continue
            first = int(x0)
            row = out[y, first : int(x1)]
            n_x = row.size
            # three passes, of which only the middle one, that reads the texture, cannot be vectorised
            at, across, down, border = place[:n_x], part_u[:n_x], part_v[:n_x], edges[:n_x]
            for x in range(n_x):
                dx = f4(x + first) - cx
                u, v = dx * ux + dy * uy, dx * vx + dy * vy
                border[x] = HALF * size - max(abs(u), abs(v))
                u = min(f4(last_x), max(NIL, min(whole, max(-whole, u)) + sx))
                v = min(f4(last_y), max(NIL, min(whole, max(-whole, v)) + sy))
                i, j = i4(u), i4(v)
                across[x], down[x] = min(ONE, u - f4(i)), min(ONE, v - f4(j))
                at[x] = j * i4(width) + i
            t00, t01, t10, t11 = texture[0, :n_x], texture[1, :n_x], texture[2, :n_x], texture[3, :n_x]
            for x in range(n_x):
                k = at[x]
                t00[x], t01[x], t10[x], t11[x] = flat_src[k], flat_src[k + 1], flat_src[k + width], flat_src[k + width + 1]
            for x in range(n_x):
                fu, fv, edge = across[x], down[x], border[x]
                w00, w01, w10, w11 = (ONE - fu) * (ONE - fv), fu * (ONE - fv), (ONE - fu) * fv, fu * fv
                p, p1, p2, p3 = i4(t00[x]), i4(t01[x]), i4(t10[x]), i4(t11[x])
                r = f4(p & m) * w00 + f4(p1 & m) * w01 + f4(p2 & m) * w10 + f4(p3 & m) * w11
                p, p1, p2, p3 = i4(p >> i4(8)), i4(p1 >> i4(8)), i4(p2 >> i4(8)), i4(p3 >> i4(8))
                g = f4(p & m) * w00 + f4(p1 & m) * w01 + f4(p2 & m) * w10 + f4(p3 & m) * w11
                p, p1, p2, p3 = i4(p >> i4(8)), i4(p1 >> i4(8)), i4(p2 >> i4(8)), i4(p3 >> i4(8))
                b = f4(p & m) * w00 + f4(p1 & m) * w01 + f4(p2 & m) * w10 + f4(p3 & m) * w11
                # the edge catches the light from beneath, more of it than the face
                rim = max(NIL, ONE - edge * per_rim)
                catch = beneath * (f4(0.10) + f4(0.55) * rim)
                r, g = r * light + (br + f4(26)) * catch, g * light + (bg + f4(32)) * catch
                b = b * light + (bb + f4(40)) * catch
                share = min(ONE, max(NIL, edge * scale + HALF)) * opacity
                under = i4(row[x])
                r0, g0, b0 = f4(under & m), f4(i4(under >> i4(8)) & m), f4(i4(under >> i4(16)) & m)
                cr, cg = min(FULL, r0 + (r - r0) * share + HALF), min(FULL, g0 + (g - g0) * share + HALF)
                cb = min(FULL, b0 + (b - b0) * share + HALF)
                row[x] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(-16777216))


@kernel
def blocks(a: Array, b: Array, second: Array, slip: Array, part: Array, size: int, out: Array) -> None:
    """out by blocks of `size` px: of b where second (R, C) says so, else of a; slipped to the right by slip (R, C) px, with red
    part (R, C) px ahead of green and blue as far behind. Only moves light: nothing is brighter or darker than it was."""
    height, width = out.shape
    for j in range(second.shape[0]):
        y1 = min(height, (j + 1) * size)
        for i in range(second.shape[1]):
            x0, x1 = i * size, min(width, (i + 1) * size)
            shift, off = slip[j, i], part[j, i]
            for y in range(j * size, y1):
                line, to = b[y] if second[j, i] else a[y], out[y]
                if shift == 0 and off == 0:
                    to[x0:x1] = line[x0:x1]
                    continue
                for x in range(x0, x1):
                    at = x - shift
                    red, green, blue = at - off, at, at + off
                    red = -red if red < 0 else 2 * width - 2 - red if red >= width else red
                    green = -green if green < 0 else 2 * width - 2 - green if green >= width else green
                    blue = -blue if blue < 0 else 2 * width - 2 - blue if blue >= width else blue
                    to[x] = (
                        u4(line[red] & u4(0xFF)) | u4(line[green] & u4(0xFF00)) | u4(line[blue] & u4(0xFF0000)) | u4(0xFF000000)
                    )
