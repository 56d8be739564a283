"""A line that assembles part by part: what is not there yet leaves no trace on the frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scenes.stage.claims import ClaimLog
from scenes.stage.overlay import Canvas, Run, Text
from scenes.stage.type import CODE


def lettered(*items: Text | Run) -> NDArray[np.uint32]:
    pixels = np.full((270, 480), 0xFF202020, np.uint32)
    canvas = Canvas(pixels, 0, 0.0, lambda points: points, ClaimLog("test"))
    for item in items:
        item.draw(canvas)
    return pixels


def test_hidden_parts_do_not_darken_the_line_in_their_place() -> None:
    line = Text("8 blocks, one code", CODE, 100.0, 400.0)
    hidden = Run([("i = blockIdx.x", CODE, 0.0), (" * blockDim.x", CODE, 0.0)], 100.0, 400.0)
    assert np.array_equal(lettered(line), lettered(line, hidden))


def test_a_part_stands_where_it_will_when_all_of_them_are_there() -> None:
    """The second part alone, and the second part of both: the same ink to its right."""
    both = lettered(Run([("i =", CODE, 1.0), (" blockIdx.x", CODE, 1.0)], 100.0, 400.0))
    second = lettered(Run([("i =", CODE, 0.0), (" blockIdx.x", CODE, 1.0)], 100.0, 400.0))
    assert not np.array_equal(both, second) and np.array_equal(both[:, 60:], second[:, 60:])
