"""What a render says while it runs: frames counted once, time left from the speed so far."""

from __future__ import annotations

import io

import pytest

from scenes.film import Row
from scenes.render import progress
from scenes.render.plan import Segment
from scenes.render.publish.progress import told

ONE = tuple(Segment(Row("one", "m", "One", 1, 4, ""), bar, bar + 1, 20 * bar - 20, 20 * bar + 20) for bar in (1, 3))
TWO = (Segment(Row("two", "m", "Two", 5, 2, ""), 1, 2, 80, 120),)


def test_time_left_is_frames_over_speed() -> None:
    assert progress.time_left(600, 8.0) == "1:15"
    assert progress.time_left(600, 0.0) == "0:00"


def test_lines_tell_when_a_scene_is_done_and_how_long_the_rest_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    lines = progress.Lines()
    lines.start([*ONE, *TWO], [False, True, False])  # 40 frames of each scene are to be drawn
    now = 3.0  # processes take a while to start
    lines.frames(ONE[0], 1)
    now = 5.0
    lines.frames(ONE[0], 20)
    lines.frames(TWO[0], 20)
    now = 7.0
    lines.frames(ONE[0], 40)
    lines.frames(ONE[0], 40)  # its end is told once more when it is stored
    now = 9.0
    lines.frames(TWO[0], 40)
    assert capsys.readouterr().err.splitlines() == [
        "80 frames to draw, 40 already drawn",
        "one is drawn: 60 of 80 frames, 15.0 a second, 0:01 left",
        "two is drawn: 80 of 80 frames, 13.3 a second, 0:00 left",
    ]


def test_bars_stand_at_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    with progress.Bars() as bars:
        bars.start([*ONE, *TWO], [True, False, False])
        bars.frames(ONE[1], 40)
        bars.frames(TWO[0], 10)
        bars.say("joining")
    told = shown.getvalue()
    assert "joining" in told
    assert [line.split()[0] for line in told.splitlines() if "frames" in line] == ["one", "two", "all"]
    assert "80/80" in told and "10/40" in told and "50/80" in told


def test_a_log_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert isinstance(progress.reporter(), progress.Lines)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_check_is_a_bar_with_its_frames_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for shown, wanted in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", shown)
        with told("checking", 40) as tell:
            tell(30)
        assert ("30/40" in shown.getvalue()) == wanted
