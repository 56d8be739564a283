"""Pixel code of transitions by pieces: shatter (tiles of the picture fly off) and glitch (blocks slip, channels part).

Pictures are (H, W) uint32, red in the low byte, opaque.
"""

from __future__ import annotations

import math

import numpy as np

from scenes.stage.jit import Array, Scalar, f4, i4, kernel, u4, u8

NIL, ONE, HALF, FULL, PART = f4(0), f4(1), f4(0.5), f4(255), f4(1 / 256)
FIXED = f4(65536)  # one pixel, in the whole numbers that places within a piece are counted in
RED_BLUE, BYTE = u4(0x00FF00FF), u4(0xFF)


def pairs_of(picture: Array) -> Array:
    """Each pixel of a contiguous (H, W) uint32 picture with the next one in its upper half, (H W - 1,) uint64; not a copy."""
    flat = picture.reshape(-1)
    return np.lib.stride_tricks.as_strided(flat[: flat.size // 2 * 2].view(u8), shape=(flat.size - 1,), strides=(4,))


@kernel
def tiles(src: Array, pairs: Array, pieces: Array, size: Scalar, out: Array) -> None:
    """Draw square pieces of `src` over `out`, in order: each a voxel's face that has come loose and turned.

    pairs (H W - 1,) uint64: each pixel of src with its neighbour to the right (`pairs_of`), so that both are read at once.
    pieces (N, 10): its middle in src x, y; its middle in out x, y; scale; angle; how much lower it looks, 0..1 of its height;
    share that is left of its own light; strength of the light from beneath, in the colour that out has there; opacity.
    `size` px is its edge.
    """
    height, width = out.shape
    last_x, last_y = width - 2, height - 2
    m = i4(255)
    # room for one piece, its rows one after another: long loops are what a processor is fast at
    widest = NIL
    for n in range(pieces.shape[0]):
        widest = max(widest, pieces[n, 4])
    side = int(widest * size * f4(1.4143)) + 6
    room = side * side
    place, texture, under = np.empty(room, np.int32), np.empty((4, room), np.uint32), np.empty(room, np.uint32)
    parts, edges = np.empty(room, np.int32), np.empty(room, np.float32)
    begin, length = np.zeros(side, np.int64), np.zeros(side, np.int64)
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
        su, sv = i4(sx * FIXED), i4(sy * FIXED)
        lu, hu = i4(max(-whole, -sx) * FIXED), i4(min(whole, f4(last_x) - sx) * FIXED)
        lv, hv = i4(max(-whole, -sy) * FIXED), i4(min(whole, f4(last_y) - sy) * FIXED)
        total = 0
        for y in range(top, bottom):
            dy = f4(y) - cy
            length[y - top] = 0
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
            first, past = int(x0), int(x1)
            n_x = past - first
            begin[y - top], length[y - top] = first, n_x
            row, mine = out[y, first:past], under[total : total + n_x]
            at, border, sixteenths = place[total : total + n_x], edges[total : total + n_x], parts[total : total + n_x]
            total += n_x
            du, dv = i4(ux * FIXED), i4(vx * FIXED)
            u0 = i4(((f4(first) - cx) * ux + dy * uy) * FIXED)
            v0 = i4(((f4(first) - cx) * vx + dy * vy) * FIXED)
            for x in range(n_x):
                xx = i4(x)
                mine[x] = row[x]
                u, v = i4(u0 + xx * du), i4(v0 + xx * dv)
                border[x] = HALF * size - f4(max(abs(u), abs(v))) * (ONE / FIXED)
                u = min(hu, max(lu, i4(u))) + su
                v = min(hv, max(lv, i4(v))) + sv
                sixteenths[x] = ((u >> i4(12)) & i4(15)) | ((v >> i4(8)) & i4(240))
                at[x] = i4(v >> i4(16)) * i4(width) + i4(u >> i4(16))
        # three passes, of which only this one, that reads the texture, cannot be vectorised
        t00, t01, t10, t11 = texture[0, :total], texture[1, :total], texture[2, :total], texture[3, :total]
        for x in range(total):
            k = u8(u4(place[x]))
            one, two = pairs[k], pairs[k + u8(width)]
            t00[x], t01[x], t10[x], t11[x] = u4(one), u4(one >> u8(32)), u4(two), u4(two >> u8(32))
        for x in range(total):
            fu, fv, edge = u4(u4(parts[x]) & u4(15)), u4(u4(parts[x]) >> u4(4)), edges[x]
            # red and blue in one number: weights are in steps of 1/16 each way and sum to 256
            w11, w01, w10 = u4(fu * fv), u4(fu * u4(u4(16) - fv)), u4(u4(u4(16) - fu) * fv)
            w00 = u4(u4(256) - u4(w11 + u4(w01 + w10)))
            p, p1, p2, p3 = t00[x], t01[x], t10[x], t11[x]
            rb = u4(u4(u4(p & RED_BLUE) * w00) + u4(u4(p1 & RED_BLUE) * w01))
            rb = u4(rb + u4(u4(u4(p2 & RED_BLUE) * w10) + u4(u4(p3 & RED_BLUE) * w11)))
            gg = u4(u4(u4(p >> u4(8)) & BYTE) * w00) + u4(u4(u4(p1 >> u4(8)) & BYTE) * w01)
            gg = u4(u4(gg) + u4(u4(u4(u4(p2 >> u4(8)) & BYTE) * w10) + u4(u4(u4(p3 >> u4(8)) & BYTE) * w11)))
            r, g, b = f4(i4(rb & u4(0xFFFF))) * PART, f4(i4(gg)) * PART, f4(i4(rb >> u4(16))) * PART
            # the edge catches the light from beneath, more of it than the face
            rim = max(NIL, ONE - edge * per_rim)
            catch = beneath * (f4(0.10) + f4(0.55) * rim)
            r, g = r * light + (br + f4(26)) * catch, g * light + (bg + f4(32)) * catch
            b = b * light + (bb + f4(40)) * catch
            share = min(ONE, max(NIL, edge * scale + HALF)) * opacity
            base = i4(under[x])
            r0, g0, b0 = f4(base & m), f4(i4(base >> i4(8)) & m), f4(i4(base >> i4(16)) & m)
            cr, cg = min(FULL, r0 + (r - r0) * share + HALF), min(FULL, g0 + (g - g0) * share + HALF)
            cb = min(FULL, b0 + (b - b0) * share + HALF)
            under[x] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(-16777216))
        total = 0
        for y in range(top, bottom):
            n_x = length[y - top]
            row, mine = out[y, begin[y - top] : begin[y - top] + n_x], under[total : total + n_x]
            for x in range(n_x):
                row[x] = mine[x]
            total += n_x


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
