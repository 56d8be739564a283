"""Lays a premultiplied sprite over a frame."""

from __future__ import annotations

from scenes.stage.jit import Array, f4, kernel, u4


@kernel
def blit(out: Array, sprite: Array, x: int, y: int, opacity: float = 1.0) -> None:
    """out (H, W) uint32 RGBA, in place: sprite (h, w), premultiplied, with its top left corner at pixel (x, y), clipped.

    Over operator of Porter and Duff (1984), rounded to nearest; out becomes opaque.
    """
    share = min(256, max(0, int(f4(opacity) * f4(256) + f4(0.5))))
    if share == 0:
        return
    height, width = out.shape
    for j in range(max(0, -y), min(sprite.shape[0], height - y)):
        for i in range(max(0, -x), min(sprite.shape[1], width - x)):
            s = sprite[j, i]
            if s == u4(0):
                continue
            d = out[y + j, x + i]
            keep = 255 * 256 - int(s >> u4(24)) * share  # what stays of the frame, in 1/65280
            p = u4(0)
            for c in range(3):
                shift = u4(8 * c)
                value = (int((s >> shift) & u4(255)) * share * 255 + int((d >> shift) & u4(255)) * keep + 32640) // 65280
                p |= u4(min(255, value)) << shift
            out[y + j, x + i] = p | u4(0xFF000000)
