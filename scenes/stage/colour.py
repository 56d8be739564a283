"""RGB to the encoder's colours: BT.709 luma and colour difference, limited range, 4:2:0 (ITU-R BT.709-6, section 3)."""

from __future__ import annotations

import numpy as np

from scenes.stage.jit import Array, f4, i4, kernel, u4

KR, KG, KB = 0.2126, 0.7152, 0.0722
_LUMA = 219 / 255
_CHROMA = 224 / 255
YR, YG, YB = f4(KR * _LUMA), f4(KG * _LUMA), f4(KB * _LUMA)
# means of four pixels: a quarter is folded in
UR, UG, UB = (f4(v * _CHROMA / (2 * (1 - KB)) / 4) for v in (-KR, -KG, 1 - KB))
VR, VG, VB = (f4(v * _CHROMA / (2 * (1 - KR)) / 4) for v in (1 - KR, -KG, -KB))


@kernel
def to_yuv709(rgba: Array, y_plane: Array, u_plane: Array, v_plane: Array) -> None:
    """rgba (H, W) uint32 -> planes uint8: Y (H, >= W), U and V ((H + 1) // 2, >= (W + 1) // 2), rounded to nearest.

    Chroma is the mean of 2x2 pixels; at an odd edge the last row or column counts twice.
    """
    height, width = rgba.shape
    m, s8, s16 = i4(255), i4(8), i4(16)
    for y in range(height):
        src, out = rgba[y], y_plane[y, :width]
        for x in range(src.size):
            p = i4(src[x])
            r, g, b = f4(i4(p & m)), f4(i4(i4(p >> s8) & m)), f4(i4(i4(p >> s16) & m))
            out[x] = np.uint8(i4(r * YR + g * YG + b * YB + f4(16.5)))
    red_blue = u4(0xFF00FF)
    for j in range((height + 1) // 2):
        top, low = rgba[2 * j], rgba[min(2 * j + 1, height - 1)]
        u_out, v_out = u_plane[j, : (width + 1) // 2], v_plane[j, : (width + 1) // 2]
        for x in range(width // 2):
            a, b, c, d = top[2 * x], top[2 * x + 1], low[2 * x], low[2 * x + 1]
            rb = i4(u4(a & red_blue) + u4(b & red_blue) + u4(c & red_blue) + u4(d & red_blue))
            gs = u4(u4(u4(a >> u4(8)) & u4(255)) + u4(u4(b >> u4(8)) & u4(255)))
            gs = u4(gs + u4(u4(u4(c >> u4(8)) & u4(255)) + u4(u4(d >> u4(8)) & u4(255))))
            r, g, b_ = f4(i4(rb & i4(0xFFFF))), f4(i4(gs)), f4(i4(i4(rb >> s16) & i4(0xFFFF)))
            u_out[x] = np.uint8(i4(r * UR + g * UG + b_ * UB + f4(128.5)))
            v_out[x] = np.uint8(i4(r * VR + g * VG + b_ * VB + f4(128.5)))
        if width & 1:
            a, c = i4(top[width - 1]), i4(low[width - 1])
            r = f4(2 * i4((a & m) + (c & m)))
            g = f4(2 * i4(((a >> s8) & m) + ((c >> s8) & m)))
            b_ = f4(2 * i4(((a >> s16) & m) + ((c >> s16) & m)))
            u_out[width // 2] = np.uint8(i4(r * UR + g * UG + b_ * UB + f4(128.5)))
            v_out[width // 2] = np.uint8(i4(r * VR + g * VG + b_ * VB + f4(128.5)))
