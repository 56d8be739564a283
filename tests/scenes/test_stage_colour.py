"""Colour conversion against the formula of ITU-R BT.709-6, and blitting against the over operator, both in float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from scenes.stage.blit import blit
from scenes.stage.colour import to_yuv709


def packed(rgb: NDArray[np.uint8], alpha: NDArray[np.uint8] | int = 255) -> NDArray[np.uint32]:
    """(H, W) uint32 RGBA of (H, W, 3)."""
    rgba = np.empty((*rgb.shape[:2], 4), np.uint8)
    rgba[..., :3], rgba[..., 3] = rgb, alpha
    return rgba.view(np.uint32)[..., 0]


def bt709(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., 3) Y, Cb, Cr of 8-bit limited range, unrounded: items 3.2, 3.3 and 3.5 of the recommendation, R'G'B' in 0..255."""
    r, g, b = np.moveaxis(rgb / 255, -1, 0)
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    return np.stack([16 + 219 * y, 128 + 224 * (b - y) / 1.8556, 128 + 224 * (r - y) / 1.5748], -1)


def convert(rgb: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    height, width = rgb.shape[:2]
    y = np.zeros((height, width + 5), np.uint8)  # an encoder's planes have longer lines than the picture
    u, v = (np.zeros(((height + 1) // 2, (width + 1) // 2 + 3), np.uint8) for _ in range(2))
    to_yuv709(packed(rgb), y, u, v)
    return y, u, v


@pytest.mark.parametrize(
    ("colour", "expected"),  # the values every BT.709 test chart of 100 % bars shows
    [
        ((0, 0, 0), (16, 128, 128)),
        ((255, 255, 255), (235, 128, 128)),
        ((255, 0, 0), (63, 102, 240)),
        ((0, 255, 0), (173, 42, 26)),
        ((0, 0, 255), (32, 240, 118)),
        ((255, 255, 0), (219, 16, 138)),
        ((0, 255, 255), (188, 154, 16)),
        ((255, 0, 255), (78, 214, 230)),
    ],
)
def test_bars_have_the_standard_values(colour: tuple[int, int, int], expected: tuple[int, int, int]) -> None:
    y, u, v = convert(np.full((2, 2, 3), colour, np.uint8))
    assert (y[0, 0], u[0, 0], v[0, 0]) == expected


def test_any_picture_is_within_half_a_step_of_the_formula() -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (48, 64, 3)).astype(np.uint8)
    y, u, v = convert(rgb)
    exact = bt709(rgb.astype(float))
    means = bt709(rgb.reshape(24, 2, 32, 2, 3).mean((1, 3)))
    assert np.abs(y[:, :64] - exact[..., 0]).max() <= 0.501
    assert np.abs(u[:, :32] - means[..., 1]).max() <= 0.501
    assert np.abs(v[:, :32] - means[..., 2]).max() <= 0.501
    assert not y[:, 64:].any() and not u[:, 32:].any()  # nothing is written beside the picture


def test_odd_sizes_repeat_the_last_row_and_column() -> None:
    rgb = np.random.default_rng(2).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    y, u, v = convert(rgb)
    even = np.pad(rgb, ((0, 1), (0, 1), (0, 0)), mode="edge").astype(float)
    means = bt709(even.reshape(3, 2, 4, 2, 3).mean((1, 3)))
    assert np.abs(y[:, :7] - bt709(rgb.astype(float))[..., 0]).max() <= 0.501
    assert np.abs(u[:, :4] - means[..., 1]).max() <= 0.501 and np.abs(v[:, :4] - means[..., 2]).max() <= 0.501


def over(frame: NDArray[np.uint8], sprite: NDArray[np.uint8], opacity: float) -> NDArray[np.float64]:
    """(H, W, 3): premultiplied sprite (H, W, 4) over frame, Porter and Duff 1984."""
    return sprite[..., :3] * opacity + frame[..., :3] * (1 - sprite[..., 3:] / 255 * opacity)


@pytest.mark.parametrize("opacity", [1.0, 0.5, 0.25, 0.0])
def test_a_blit_is_the_over_operator(opacity: float) -> None:
    rng = np.random.default_rng(3)
    frame = rng.integers(0, 256, (20, 30, 4)).astype(np.uint8)
    frame[..., 3] = 255
    alpha = rng.integers(0, 256, (20, 30, 1))
    sprite = np.concatenate([rng.integers(0, 256, (20, 30, 3)) * alpha // 255, alpha], -1).astype(np.uint8)
    out = frame.copy()
    blit(out.view(np.uint32)[..., 0], np.ascontiguousarray(sprite).view(np.uint32)[..., 0], 0, 0, opacity)
    assert np.abs(out[..., :3] - over(frame, sprite, opacity)).max() <= 0.51
    assert (out[..., 3] == 255).all()


@pytest.mark.parametrize(("x", "y"), [(-2, -1), (8, 5), (-50, 0), (0, 50), (3, -4)])
def test_a_blit_is_clipped_to_the_frame(x: int, y: int) -> None:
    frame = np.zeros((7, 10, 3), np.uint8)
    sprite = packed(np.full((4, 5, 3), 200, np.uint8))
    out = packed(frame)
    blit(out, sprite, x, y)
    expected = np.zeros((7, 10), bool)
    expected[max(0, y) : max(0, y + 4), max(0, x) : max(0, x + 5)] = True
    assert ((out & 0xFF) == 200).tolist() == expected.tolist()
