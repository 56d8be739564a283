"""Every scene of the film at every second beat: no text over text, all in the safe area, large enough, read at 4.5:1.

Over GPUs unlike the project's own at a spread of beats; `tests/scenes/helpers/laid_out.py` looks at every second beat of those.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from scenes import film

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import gpus
import laid_out
from staging import small_frames, staged


@pytest.mark.parametrize("file", ["nvidia-h200", "rtx-3090-published"])
@pytest.mark.parametrize("row", film.FILM, ids=lambda row: row.name)
def test_every_second_beat_is_laid_out(row: film.Row, file: str) -> None:
    with small_frames(laid_out.WIDTH, laid_out.HEIGHT):
        scene = staged(row, file)
    texts, found = laid_out.over(scene, np.arange(0.0, scene.clock.beats, 2.0))
    assert (texts > 4 or row.name == "title") and not found, "\n".join(found)  # the title's words stand in the world


@pytest.mark.parametrize("kind", gpus.KINDS)
@pytest.mark.parametrize("row", film.FILM, ids=lambda row: row.name)
def test_on_other_gpus_a_spread_of_beats_is_laid_out(row: film.Row, kind: str, tmp_path: Path) -> None:
    with small_frames(laid_out.WIDTH, laid_out.HEIGHT):
        scene = staged(row, gpus.write(kind, tmp_path / f"{kind}.json"))
    # four beats a scene and kind, other ones for each kind
    first = 2.0 * list(gpus.KINDS).index(kind)
    _, found = laid_out.over(scene, np.arange(first, scene.clock.beats, 8.0)[:4])
    assert not found, "\n".join(found)
