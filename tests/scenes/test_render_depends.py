"""What each scene of the film depends on: one figure of the measurements is changed and the cache asked what is to be drawn.

The whole film is drawn once, tiny, at four frames a second; which scene shows which figure is said here, from the storyboard.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audio import tracks
from measure.dataset import DEFAULT_SPECS, MEASUREMENTS, Dataset
from scenes.film import FILM
from scenes.render import report, why
from scenes.render.cache import Cache, Lookup
from scenes.render.make import Request, make, survey
from scenes.render.progress import Silent
from scenes.render.quality import Quality

TINY = Quality("t", 64, 36, 4, "ultrafast", 20)
H200 = "nvidia-h200"
EVERY = {row.name for row in FILM}
DATED = {"title bars 3-4", "curriculum bars 1-2", "curriculum bars 5-6"}
NAMED = {"title bars 3-4", "all-reduce bars 1-2", "all-reduce bars 5-6"}


class Heard(Silent):
    """Keeps what a render says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def files(folder: Path, *change: str | float) -> Request:
    """The film from copies of the measurement files, one value of the H200's replaced: keys, then a text or a factor."""
    folder.mkdir(exist_ok=True)
    specs = []
    for name in DEFAULT_SPECS:
        document: Any = json.loads((MEASUREMENTS / f"{name}.json").read_text())
        if name == H200 and change:
            *keys, last, new = change
            part = document
            for key in keys:
                part = part[key] if isinstance(part, dict) else next(member for member in part if member["name"] == key)
            if isinstance(new, str):
                part[last] = new
            else:  # its low and high too, between which it has to be
                part[last].update({key: value * new for key, value in part[last].items() if key in ("value", "low", "high")})
        specs.append(folder / f"{name}.json")
        specs[-1].write_text(json.dumps(document))
    return Request(FILM, TINY, Dataset.open(specs), tracks.default())


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cache, list[str]]]:
    """The cache with the whole film in it, and what the render said."""
    folder = tmp_path_factory.mktemp("film")
    cache, heard = Cache(folder / "cache"), Heard()
    make(files(folder), folder / "film.mp4", cache, 2, heard)
    yield cache, heard.lines


def missed(lookups: list[Lookup]) -> set[str]:
    return {lookup.segment.row.name for lookup in lookups if lookup.entry is None}


def test_nothing_changed_nothing_is_drawn(drawn: tuple[Cache, list[str]], tmp_path: Path) -> None:
    cache, said = drawn
    lookups = survey(files(tmp_path), cache)
    assert missed(lookups) == set()
    assert list(why.lines(lookups)) == [f"{row.name}: drawn already" for row in FILM]
    for row in FILM:
        assert f"{row.name} bars 1-{row.bars} of {row.bars}: not rendered yet" in said


LAUNCHED = {"indexing bars 5-6", "launch bars 1-2", "launch bars 3-4", "roof-1 bars 1-2"}  # the launch, and its transitions
CHIP = {"title bars 3-4", "cores", "indexing bars 1-2"}  # the board, and the transitions to it and from it
SHARED = {"tensor-cores bars 5-6", "flash-attention", "quantisation bars 1-2"}  # all SMs' shared memory, by the square
ALL_PATHS = ("sweeps", "divergence", "series", "slowdown", "values", "32", 1.1)
WAITS = {"divergence bars 5-6", "stalls bars 1-2", "stalls bars 3-4", "stalls bars 5-6", "roof-2 bars 1-2"}
NEXT = {"coalescing bars 1-2", "tiling bars 5-6", "flash-attention bars 1-2", "all-reduce bars 5-6"}  # by a still of it
AFTER = {"roof-3", "tensor-cores", "roof-4", "curriculum"} | NEXT  # the hall from the second chorus on, and its transitions
CLIMBED = {"launch bars 3-4", "roof-1", "warps bars 1-2", "stalls bars 5-6", "roof-2"} | AFTER  # from the still of the hall on


@pytest.mark.parametrize(
    ("change", "shown", "told"),
    [
        # the last two bars say how much longer all paths take; nothing else does
        (ALL_PATHS, {"divergence bars 5-6"}, "divergence slowdown 32"),
        # a rung's tower rises in one chorus and stands in those after it; a hall shows no rung that the film has not landed
        (
            ("ladders", "gemm_fp32", "rungs", "vectorised", "rate", 1.01),
            {"roof-4", "curriculum"},
            "gemm fp32 vectorised rate",
        ),
        (
            ("ladders", "gemm_fp32", "rungs", "tile_1d", "rate", 1.01),
            {"roof-2 bars 3-4", "roof-2 bars 5-6", "roof-2 bars 7-8"} | AFTER,
            "gemm fp32 tile 1d rate",
        ),
        # the best rung rises in the last chorus; the vendor's line, in its plane, leads to it from the fifth bar on
        (
            ("ladders", "gemm_fp32", "rungs", "autotuned", "rate", 1.01),
            {"roof-4 bars 5-6", "roof-4 bars 7-8", "curriculum"},
            "gemm fp32 autotuned rate",
        ),
        # what changed on the way to a rung is said in the chorus that builds it, from where its tower rises in the sixth bar
        (
            ("ladders", "gemm_fp32", "rungs", "tile_2d", "change", "another idea"),
            {"roof-3 bars 5-6", "roof-3 bars 7-8"},
            "gemm fp32 tile 2d change",
        ),
        # the vendor's line is drawn in one chorus, as what the whole ladder climbs to; passing it glows into the cut
        (
            ("ladders", "gemm_fp32", "lines", "cublas", "rate", 0.99),
            {"roof-4 bars 5-6", "roof-4 bars 7-8", "curriculum bars 1-2"},
            "gemm fp32 lines cublas rate",
        ),
        # what an empty launch costs is said while the blocks leave
        (("traces", "launch", "launch_latency", 1.5), {"launch bars 1-2"}, "trace launch launch latency"),
        # the chip is drawn from them
        (("device", "l2_size", 2), LAUNCHED | CHIP, "l2 size"),
        (("device", "sm_count", 2), LAUNCHED | CHIP | SHARED, "sm count"),
        # the clock is told beside the memory, which stands in two bars
        (("device", "boost_clock", 1.1), {"cores bars 5-6"}, "boost clock"),
        # figures that no scene shows
        (("run", "python", "3.99"), set(), ""),
        # the peak is the beam of the hall, and what its ratio is of: no scene elsewhere has either
        (("roofs", "fp32", "measured", 1.01), CLIMBED - {"curriculum"} | {"curriculum bars 1-2"}, "roof fp32"),
        # each level of memory stands as far as its latency; the last sight of them is in the transitions to and from them
        (("latencies", "l2", "cycles", 1.1), WAITS, "latency l2 cycles"),
        # the last stride's column comes up with the word for it
        (
            ("sweeps", "coalescing", "series", "useful", "values", "32", 1.01),
            {"coalescing bars 3-4", "coalescing bars 5-6", "tiling bars 1-2"},
            "coalescing useful 32",
        ),
        # the driver that the credits name, under the last title
        (("run", "driver", "999.1"), {"curriculum bars 5-6"}, "run driver"),
        # date and GPU stand in the footer, and under the title: the film's first bars say neither, and all-reduce names the
        # server whose figures it shows (its neighbours' frames at its cuts name the GPU); the look back over the path has none
        (("run", "date", "2031-01-01"), EVERY - {"title", "all-reduce", "curriculum"} | DATED, "run date"),
        (("device", "name", "NVIDIA H300"), EVERY - {"title", "all-reduce"} | NAMED, "the GPU"),
    ],
    ids=lambda value: ".".join(map(str, value[:-1])) if isinstance(value, tuple) else "",
)
def test_a_change_reaches_the_bars_that_show_it(
    drawn: tuple[Cache, list[str]], tmp_path: Path, change: tuple[str | float, ...], shown: set[str], told: str
) -> None:
    """`shown` are scenes, or bars of scenes, from the storyboard; a segment's own name is enough for all of its bars."""
    lookups = survey(files(tmp_path, *change), drawn[0])
    assert {lookup.segment.label for lookup in lookups if lookup.entry is None} == {
        lookup.segment.label for lookup in lookups if {lookup.segment.label, lookup.segment.row.name} & shown
    }
    listed = report.segments(lookups, TINY)
    for lookup in lookups:
        if lookup.entry is None:
            assert lookup.why.startswith("changed: ") and lookup.why in listed
            assert any(line.endswith(lookup.why) for line in why.lines(lookups))
    reasons = [lookup.why for lookup in lookups if lookup.entry is None]
    assert told in " ".join(reasons)


def test_only_what_changed_is_drawn_again(drawn: tuple[Cache, list[str]], tmp_path: Path) -> None:
    """The render itself, not only its plan: it says what it draws and why, draws that, and leaves the rest as it was."""
    heard = Heard()
    made = make(files(tmp_path, *ALL_PATHS), tmp_path / "film.mp4", drawn[0], 1, heard)
    lookups = survey(files(tmp_path, *ALL_PATHS), drawn[0])
    again = [lookup.segment for lookup in lookups if lookup.segment.label == "divergence bars 5-6"]
    assert made.drawn == sum(segment.frames for segment in again) < made.frames
    assert "divergence bars 5-6 of 6: changed: measurements (divergence slowdown 32)" in heard.lines
    assert [line for line in heard.lines if line.endswith(": drawn already")] == [
        f"{row.name}: drawn already" for row in FILM if row.name != "divergence"
    ]
    assert missed(lookups) == set()
