"""The benchmark compares like with like: plain Manim mobjects and the stage draw the same picture."""

from __future__ import annotations

import numpy as np
import pytest

from scenes.benchmarks.voxels import similarity, ssim
from scenes.render.quality import Quality


def test_both_ways_of_drawing_the_voxels_give_one_picture() -> None:
    """At a quarter of the size, where edges weigh most; 0.99 is the least that counts as the same picture."""
    assert similarity(Quality("l", 480, 270, 60), frames=17, every=16) >= 0.99


def test_ssim_of_even_pictures_is_what_the_formula_says() -> None:
    """Without contrast only the luminance term is left: (2 a b + c1) / (a^2 + b^2 + c1) with c1 = (0.01 * 255)^2."""
    dark, light = np.full((40, 40, 3), 100, np.uint8), np.full((40, 40, 3), 150, np.uint8)
    assert ssim(dark, light) == pytest.approx((2 * 100 * 150 + 6.5025) / (100**2 + 150**2 + 6.5025))
    assert ssim(dark, dark) == 1.0


def test_ssim_of_a_picture_with_half_its_contrast_is_what_the_formula_says() -> None:
    """Fine noise of variance v around 128 and the same at half the height: (v + c2) / (1.25 v + c2), c2 = (0.03 * 255)^2."""
    signs = np.random.default_rng(4).choice([-1, 1], (200, 200, 3))
    whole, half = (128 + 40 * signs).astype(np.uint8), (128 + 20 * signs).astype(np.uint8)
    assert ssim(whole, half) == pytest.approx(0.8, abs=0.02)
