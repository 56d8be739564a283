"""Contact sheets show the frames that they name."""

from __future__ import annotations

import av
import numpy as np
import pytest

from audio.timeline import Timeline
from audio.tracks import Track
from measure.dataset import Dataset
from scenes.film import Row
from scenes.render import sheets
from scenes.render.check.film import Film
from scenes.render.claims_file import Span
from scenes.stage.transitions.cut import Cut

FPS = 10
ROWS = (Row("one", "x", "X", 1, 4, "a"), Row("two", "x", "X", 5, 2, "b", transition=Cut("whip", 1.0, 1.0)))


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Film:
    """Six bars of four beats a second: 24 s at 10 frames a second, every frame of one grey that says its number."""
    path = tmp_path_factory.mktemp("sheets") / "grey.mp4"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=FPS, options={"crf": "1", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 160, 90, "yuv420p"
        for number in range(240):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((90, 160, 3), 10 + number, np.uint8), format="rgb24")))
        out.mux(stream.encode())
    timeline = Timeline("Grey", 24.0, tuple(float(k) for k in range(25)), tuple(range(0, 25, 4)))
    spans = (Span("one", 0, 160, 0), Span("two", 160, 240, 160))
    body = {"frames": 240}
    return Film(path, body, Track(path, timeline), Dataset.open(["rtx-3090-published"]), spans, FPS, (160, 90), ROWS)


def test_a_frame_every_two_bars(film: Film) -> None:
    """Bars last 4 s; a quarter of a second in is 2 frames (2.5, to even) on."""
    assert [(shot.frame, shot.caption) for shot in sheets.every_two_bars(film)] == [
        (2, "one 1"), (82, "one 3"), (162, "two 1"),
    ]  # fmt: skip


def test_a_cut_before_in_and_after(film: Film) -> None:
    """The cut is at 16 s and its transition goes from 15 to 17 s: frames 149 to 170."""
    shots = sheets.cuts(film)
    assert len(shots) == sheets.PER_CUT and shots[0].frame == 149 and shots[-1].frame == 170
    assert {shot.caption for shot in shots} == {"one > two whip"}


def test_the_sheet_shows_those_frames(film: Film) -> None:
    shots = [*sheets.cuts(film), sheets.Shot(0, "first")]
    picture = np.asarray(sheets.sheet(film, shots, 3))
    for k, shot in enumerate(shots):
        x, y = sheets.GAP + k % 3 * (sheets.WIDE + sheets.GAP), sheets.GAP + k // 3 * (270 + sheets.CAPTION + sheets.GAP)
        assert abs(int(picture[y + 100, x + 200, 1]) - (10 + shot.frame)) <= 2
