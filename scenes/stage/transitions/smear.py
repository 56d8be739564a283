"""Pixel code of transitions along a line: whip (motion blur of a pan) and streak (trails of light that wipe the picture).

Pictures are (H, W) uint32, red in the low byte, opaque.
"""

from __future__ import annotations

import numpy as np

from scenes.stage.jit import Array, Scalar, f4, i4, kernel, u4

NIL, ONE, HALF, FULL = f4(0), f4(1), f4(0.5), f4(255)
RED_BLUE, GREEN, OPAQUE = u4(0x00FF00FF), u4(0x0000FF00), u4(0xFF000000)
STEP = 4  # trails are made at a quarter of the resolution
KEPT_FROM, KEPT_GAIN = i4(8), i4(6)  # differences of 255: from 8 on something begins to be there, 43 steps on it all is
FAINT = f4(0.004)  # of 255, lost with each step: else a trail ends in numbers so small that they take the processor long
BRIGHT = f4(46)  # of 255: what is darker leaves no trail


@kernel
def mixed(a: Array, b: Array, weight: Scalar, out: Array) -> None:
    """out = a + (b - a) weight, rounded to nearest; weight 0..1 is taken in steps of 1/256."""
    w = u4(min(256, max(0, int(weight * f4(256) + HALF))))
    v = u4(u4(256) - w)
    for y in range(out.shape[0]):
        left, right, row = a[y], b[y], out[y]
        for x in range(row.size):
            p, q = left[x], right[x]
            rb = u4(u4(u4(p & RED_BLUE) * v) + u4(u4(q & RED_BLUE) * w) + u4(0x00800080)) >> u4(8)
            g = u4(u4(u4(u4(p >> u4(8)) & u4(255)) * v) + u4(u4(u4(q >> u4(8)) & u4(255)) * w) + u4(128))
            row[x] = u4(u4(rb) & RED_BLUE) | u4(g & GREEN) | OPAQUE


@kernel
def kept(bare: Array, whole: Array, out: Array) -> None:
    """Lay over out what `whole` has and `bare` has not: where they differ, softly, and nothing of where they do not."""
    m = i4(255)
    for y in range(out.shape[0]):
        without, having, row = bare[y], whole[y], out[y]
        for x in range(row.size):
            p, q, o = i4(without[x]), i4(having[x]), i4(row[x])
            r, g, b = q & m, i4(q >> i4(8)) & m, i4(q >> i4(16)) & m
            far = max(max(abs(r - (p & m)), abs(g - (i4(p >> i4(8)) & m))), abs(b - (i4(p >> i4(16)) & m)))
            w = i4(min(i4(256), max(i4(0), i4(far - KEPT_FROM) * KEPT_GAIN)))
            r0, g0, b0 = o & m, i4(o >> i4(8)) & m, i4(o >> i4(16)) & m
            r, g, b = r0 + (i4(i4(r - r0) * w) >> i4(8)), g0 + (i4(i4(g - g0) * w) >> i4(8)), b0 + (i4(i4(b - b0) * w) >> i4(8))
            row[x] = u4(r | i4(g << i4(8)) | i4(b << i4(16)) | i4(-16777216))


@kernel
def pan_blur(src: Array, reach: int, out: Array) -> None:
    """Mean over 2 reach + 1 pixels of each row: what a camera sees that turns by so much while its shutter is open.

    Beyond the border the picture is mirrored, so that its light is kept.
    """
    height, width = src.shape
    reach = min(reach, width - 1)
    if reach < 1:
        out[:] = src
        return
    n = 2 * reach + 1
    inverse = f4(1) / f4(n)
    row = np.empty(width + 2 * reach + 1, u4)
    for y in range(height):
        line, to = src[y], out[y]
        row[reach : reach + width] = line
        for k in range(reach):
            row[reach - 1 - k] = line[k]
            row[reach + width + k] = line[width - 1 - k]
        row[width + 2 * reach] = 0
        r, g, b = i4(0), i4(0), i4(0)
        for k in range(n):
            p = i4(row[k])
            r, g, b = r + i4(p & i4(255)), g + i4(i4(p >> i4(8)) & i4(255)), b + i4(i4(p >> i4(16)) & i4(255))
        for x in range(width):
            cr, cg, cb = i4(f4(r) * inverse + HALF), i4(f4(g) * inverse + HALF), i4(f4(b) * inverse + HALF)
            to[x] = u4(cr | i4(cg << i4(8)) | i4(cb << i4(16)) | i4(-16777216))
            p, q = i4(row[x + n]), i4(row[x])
            r += i4(p & i4(255)) - i4(q & i4(255))
            g += i4(i4(p >> i4(8)) & i4(255)) - i4(i4(q >> i4(8)) & i4(255))
            b += i4(i4(p >> i4(16)) & i4(255)) - i4(i4(q >> i4(16)) & i4(255))


@kernel
def gather_light(src: Array, light: Array) -> None:
    """light (3, H / 4, W / 4) = the brightest of each block's pixels beyond BRIGHT, 0..255, keeping hue."""
    for j in range(light.shape[1]):
        for i in range(light.shape[2]):
            best, at = NIL, u4(0)
            for dy in range(0, STEP, 2):
                for dx in range(0, STEP, 2):
                    p = src[STEP * j + dy, STEP * i + dx]
                    q = i4(p)
                    peak = f4(max(max(q & i4(255), i4(q >> i4(8)) & i4(255)), i4(q >> i4(16)) & i4(255)))
                    if peak > best:
                        best, at = peak, p
            share = max(NIL, best - BRIGHT) / max(best, ONE)
            q = i4(at)
            light[0, j, i] = f4(q & i4(255)) * share
            light[1, j, i] = f4(i4(q >> i4(8)) & i4(255)) * share
            light[2, j, i] = f4(i4(q >> i4(16)) & i4(255)) * share


@kernel
def trail(light: Array, dx: Scalar, dy: Scalar, keep: Scalar, out: Array) -> None:
    """out (3, h, w): light drawn out along (dx, dy), a unit step with one of |dx|, |dy| equal to 1; `keep` is left each step.

    The trail runs against the step: where the light has been.
    """
    planes, height, width = light.shape
    for c in range(planes):
        source, to = light[c], out[c]
        if abs(dx) >= abs(dy):
            step = 1 if dx > NIL else -1
            for n in range(width):
                x = width - 1 - n if step > 0 else n
                px = x + step
                if px < 0 or px >= width:
                    for y in range(height):
                        to[y, x] = source[y, x]
                    continue
                whole = int(np.floor(dy))
                part = dy - f4(whole)
                for y in range(height):
                    y0, y1 = min(height - 1, max(0, y + whole)), min(height - 1, max(0, y + whole + 1))
                    before = to[y0, px] + (to[y1, px] - to[y0, px]) * part
                    to[y, x] = max(source[y, x], before * keep - FAINT)
        else:
            step = 1 if dy > NIL else -1
            whole = int(np.floor(dx))
            part = dx - f4(whole)
            for n in range(height):
                y = height - 1 - n if step > 0 else n
                py = y + step
                if py < 0 or py >= height:
                    to[y] = source[y]
                    continue
                for x in range(width):
                    x0, x1 = min(width - 1, max(0, x + whole)), min(width - 1, max(0, x + whole + 1))
                    before = to[py, x0] + (to[py, x1] - to[py, x0]) * part
                    to[y, x] = max(source[y, x], before * keep - FAINT)


@kernel
def wipe(a: Array, b: Array, glow: Array, gain: Scalar, front: Array, soft: Scalar, dx: Scalar, dy: Scalar, out: Array) -> None:
    """out = a ahead of the front and b behind it, under the trails `glow` (3, H / 4, W / 4), 0..255, times gain.

    A pixel's place along (dx, dy), a unit vector, is compared with front (H + W,), which is told apart by its place across;
    `soft` px of the front are a mixture. Trails cover by their brightest channel, so that hue is kept.
    """
    height, width = out.shape
    tall, wide = glow.shape[1], glow.shape[2]
    inverse = ONE / soft
    red, green, blue = np.empty(width, f4), np.empty(width, f4), np.empty(width, f4)
    slant = np.empty(width, f4)
    m = i4(255)
    for y in range(height):
        v = max(NIL, (f4(y) + HALF) * f4(0.25) - HALF)
        j = min(int(v), tall - 2)
        t = min(ONE, v - f4(j))
        for x in range(width):
            across = int(abs(f4(x) * dy + f4(y) * dx))
            slant[x] = front[across]
        for c in range(3):
            line = red if c == 0 else green if c == 1 else blue
            top, low = glow[c, j], glow[c, j + 1]
            for i in range(wide):
                here = (top[i] + (low[i] - top[i]) * t) * gain
                after = i + 1 if i + 1 < wide else i
                there = (top[after] + (low[after] - top[after]) * t) * gain
                for k in range(STEP):
                    line[min(width - 1, STEP * i + k)] = here + (there - here) * f4(0.25) * f4(k)
        left, right, to = a[y], b[y], out[y]
        base = f4(y) * dy
        for x in range(width):
            w = min(ONE, max(NIL, (slant[x] - (f4(x) * dx + base)) * inverse))
            p, q = i4(left[x]), i4(right[x])
            r0, g0, b0 = f4(p & m), f4(i4(p >> i4(8)) & m), f4(i4(p >> i4(16)) & m)
            r1, g1, b1 = f4(q & m), f4(i4(q >> i4(8)) & m), f4(i4(q >> i4(16)) & m)
            keep = ONE - max(max(red[x], green[x]), blue[x]) * f4(1 / 255)
            cr = min(FULL, (r0 + (r1 - r0) * w) * keep + red[x] + HALF)
            cg = min(FULL, (g0 + (g1 - g0) * w) * keep + green[x] + HALF)
            cb = min(FULL, (b0 + (b1 - b0) * w) * keep + blue[x] + HALF)
            to[x] = u4(i4(cr) | i4(i4(cg) << i4(8)) | i4(i4(cb) << i4(16)) | i4(-16777216))
