"""Parts by structure, on bars whose parts are known."""

from __future__ import annotations

import numpy as np

from audio.beats import structure
from audio.beats.features import FPS, filterbank


def song(parts: list[tuple[int, int, float]]) -> tuple[np.ndarray, np.ndarray]:
    """(bars, kind of spectrum, loudness) of each part -> log-bands (frames, bands), frames of the downbeats: 2 s a bar."""
    rng = np.random.default_rng(8)
    width = filterbank().shape[1]
    shapes = rng.uniform(0.0, 1.0, (6, width))
    rows = [loud * shapes[kind] + rng.normal(0.0, 0.03, width) for bars, kind, loud in parts for _ in range(bars)]
    frames = round(2 * FPS)
    return np.repeat(np.array(rows, np.float32), frames, axis=0), np.arange(len(rows) + 1) * frames


def test_parts_begin_where_the_sound_changes() -> None:
    bands, downs = song([(8, 0, 0.5), (16, 1, 0.7), (8, 2, 1.0), (16, 1, 0.7), (8, 2, 1.0), (4, 3, 0.3)])
    found = structure.sections(bands, downs)
    assert [section.first_bar for section in found] == [1, 9, 25, 33, 49, 57]
    assert [section.bars for section in found] == [8, 16, 8, 16, 8, 4]
    assert [section.kind for section in found] == ["intro", "verse", "chorus", "verse", "chorus", "outro"]
    assert [section.name for section in found] == ["intro", "verse 1", "chorus 1", "verse 2", "chorus 2", "outro"]


def test_one_unchanging_sound_is_few_parts() -> None:
    bands, downs = song([(32, 0, 0.5)])
    assert len(structure.sections(bands, downs)) <= 3


def test_a_quiet_part_after_two_choruses_is_the_bridge() -> None:
    names = structure.name_parts(np.array([0.4, 0.5, 1.0, 0.5, 1.0, 0.1, 1.0, 0.2]), [0.0] * 8, [8] * 8)
    assert names == ["intro", "verse", "chorus", "verse", "chorus", "bridge", "chorus", "outro"]


def test_a_rise_before_a_chorus_is_a_build() -> None:
    names = structure.name_parts(np.array([0.4, 0.5, 1.0, 0.3]), [0.0, 0.3, 0.0, 0.0], [8, 4, 8, 4])
    assert names == ["intro", "build", "chorus", "outro"]
