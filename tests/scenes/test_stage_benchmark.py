"""The benchmark compares like with like: plain Manim mobjects and the stage draw the same picture."""

from __future__ import annotations

from scenes.benchmarks.voxels import similarity
from scenes.render.quality import Quality


def test_both_ways_of_drawing_the_voxels_give_one_picture() -> None:
    """At a quarter of the size, where edges weigh most; 0.99 is the least that counts as the same picture."""
    assert similarity(Quality("l", 480, 270, 60), frames=17, every=16) >= 0.99
