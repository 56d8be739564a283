"""What each scene of the film depends on: one figure of the measurements is changed and the cache asked what is to be drawn.

The whole film is drawn once, tiny and at two frames a second; which scene shows which figure is said here, from the storyboard.
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

TINY = Quality("t", 64, 36, 2, "ultrafast", 20)
H200 = "nvidia-h200"
EVERY = {row.name for row in FILM}
CHARTS = {row.name for row in FILM if row.cls.startswith("Roof")}


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


def beside(lookup: Lookup) -> set[str]:
    """Scenes that a segment of another scene shows too, in a transition."""
    return {
        name.removeprefix("transition from ").removeprefix("transition to ") for name in lookup.parts if "transition" in name
    }


def test_nothing_changed_nothing_is_drawn(drawn: tuple[Cache, list[str]], tmp_path: Path) -> None:
    cache, said = drawn
    lookups = survey(files(tmp_path), cache)
    assert missed(lookups) == set()
    assert list(why.lines(lookups)) == [f"{row.name}: drawn already" for row in FILM]
    for row in FILM:
        assert f"{row.name} bars 1-{row.bars} of {row.bars}: not rendered yet" in said


@pytest.mark.parametrize(
    ("change", "scenes"),
    [
        # every chart shows all towers of the ladder, so that a rate that changes changes each of them, and nothing else
        (("ladders", "gemm_fp32", "rungs", "vectorised", "rate", 1.01), CHARTS),
        # what changed on the way to a rung is said in the chorus that builds it
        (("ladders", "gemm_fp32", "rungs", "tile_2d", "change", "another idea"), {"roof-3"}),
        # the launch trace flies in one scene; the credits say only that there is one
        (("traces", "launch", "launch_latency", 1.5), {"launch"}),
        (("traces", "divergence", "slowdown", 1.1), {"divergence"}),
        # figures of the GPU that no scene shows
        (("device", "l2_size", 2), {"launch"}),
        (("device", "sm_count", 2), {"launch"}),
        (("device", "boost_clock", 1.1), set()),
        # the software that the credits name, and software that they do not
        (("run", "driver", "999.1"), {"roof-4"}),
        (("run", "python", "3.99"), set()),
        # the date of the run stands in the footer
        (("run", "date", "2031-01-01"), EVERY),
    ],
    ids=lambda value: ".".join(map(str, value[:-1])) if isinstance(value, tuple) else "",
)
def test_a_change_reaches_the_scenes_that_show_it(
    drawn: tuple[Cache, list[str]], tmp_path: Path, change: tuple[str | float, ...], scenes: set[str]
) -> None:
    lookups = survey(files(tmp_path, *change), drawn[0])
    assert scenes <= missed(lookups)
    assert [lookup.segment.label for lookup in lookups if lookup.entry is None and lookup.segment.row.name not in scenes] == [
        lookup.segment.label for lookup in lookups if lookup.segment.row.name not in scenes and beside(lookup) & scenes
    ]
    shown = report.segments(lookups, TINY)
    for lookup in lookups:
        if lookup.entry is None:
            assert lookup.why.startswith("changed: ") and lookup.why in shown
            assert any(line.endswith(lookup.why) for line in why.lines(lookups))
