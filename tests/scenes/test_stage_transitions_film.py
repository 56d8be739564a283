"""The cuts of the film and of a short one: designed, drawn alike by both sides, keyed by what they show, rendered alike."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
from manim import tempconfig
from numpy.typing import NDArray

from audio.timeline_file import load
from audio.tracks import DEFAULT, HERE
from measure.dataset import Dataset
from scenes import film
from scenes.film import FILM, Row
from scenes.props.cube import Cube
from scenes.render import content
from scenes.render.cache import Cache
from scenes.render.make import make, still, survey
from scenes.render.plan import Segment, cut
from scenes.render.quality import QUALITIES
from scenes.stage.passage import Context, Passage, Window
from scenes.stage.transitions.cut import Cut

HELPERS = Path(__file__).parent / "helpers"
sys.path.insert(0, str(HELPERS))  # the processes that draw find the passages there too
import short_film  # noqa: E402

SONG = load(HERE / f"{DEFAULT}.timeline.json")
CUTS = tuple(pairwise(FILM))
ROWS = (short_film.ROWS[0], replace(short_film.ROWS[1], transition=Cut("shatter", 1.5, 1.5)))


def passage(row: Row) -> Passage:
    """A scene of the film with its screenplay read and its neighbours known, at 30 frames a second."""
    with tempconfig({"pixel_width": 160, "pixel_height": 90, "frame_rate": 30}):
        scene = row.load()(Context.of(Dataset.open(), SONG, row, *film.neighbours(row)), Window(0, 0))
        scene.setup()
        scene.construct()
    return scene


def painted(scene: Passage, frame: int) -> NDArray[np.float64]:
    pixels = np.zeros((90, 160), np.uint32)
    with tempconfig({"pixel_width": 160, "pixel_height": 90, "frame_rate": 30}):
        scene.paint(frame, pixels)
    return pixels.view(np.uint8).reshape(90, 160, 4)[..., :3].astype(float)


def test_every_cut_of_the_film_has_a_transition_and_every_drop_a_big_one() -> None:
    assert FILM[0].transition is None
    for _, row in CUTS:
        assert row.transition is not None, row.name
        # the song's drops are its four choruses and its bridge
        if row.first_bar in (21, 45, 65, 73, 97):
            assert row.transition.before + row.transition.after >= 4.0, row.name
    assert len({row.transition.kind for _, row in CUTS if row.transition}) == 6


@pytest.mark.parametrize(("before", "after"), CUTS, ids=lambda row: row.name)
def test_a_cut_is_crossed_without_a_jump_or_a_dip(before: Row, after: Row) -> None:
    old, new = passage(before), passage(after)
    at = new.clock.start
    assert at == old.clock.end
    around = [painted(old if frame < at else new, frame) for frame in range(at - 3, at + 3)]
    steps = [np.abs(b - a).mean() for a, b in pairwise(around)]
    assert after.transition is not None
    if after.transition.kind != "glitch":  # which jumps by design, from step to step
        assert steps[2] < 1.6 * max(steps[1], steps[3]) + 1.0
    first, last = old.clock.frame(old.clock.beats - after.transition.before) - 2, new.clock.frame(after.transition.after) + 2
    means = [painted(old if frame < at else new, frame).mean() for frame in range(first, last, 3)]
    assert min(means) > 0.55 * min(means[0], means[-1])


def test_the_neighbours_still_is_the_frame_that_it_draws_itself() -> None:
    row = film.row("roof-2")
    after = film.neighbours(row)[1]
    scene = passage(row)
    with tempconfig({"pixel_width": 160, "pixel_height": 90, "frame_rate": 30}):
        other = row.load()(Context.of(Dataset.open(), SONG, row, None, after))
        shot = other.shoot(other.clock.end - 1, 160, 90)
        own = np.zeros((90, 160), np.uint32)
        scene.paint_stage(scene.clock.end - 1, own)
    assert np.array_equal(shot, own)


@pytest.mark.parametrize(("name", "last"), [("indexing", True), ("launch", False), ("divergence", True), ("roof-2", False)])
def test_pieces_of_a_picture_are_no_copies_of_the_thread(name: str, last: bool) -> None:
    """In every frame of a cut in pieces all that is magenta lies where the passage's own cube stands."""
    scene = passage(film.row(name))
    cube = next(prop for prop in scene.props if isinstance(prop, Cube))
    near = scene.clock.end - 12 if last else scene.clock.start
    seen = 0
    for frame in range(near, near + 12, 2):
        beat = scene.clock.at_frame(frame)
        base, size = np.array(cube.base(beat)), np.array(cube.extent(beat))
        corners = base + size * [[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0, 1)]
        across = scene.view(beat).project(corners, 160, 90)[:, 0]
        red, green, blue = np.moveaxis(painted(scene, frame), 2, 0)
        magenta = (red > 130) & (green < 0.4 * red) & (blue > 0.6 * red) & (blue < 0.95 * red)
        columns = np.flatnonzero(magenta.sum(0) > 1)  # a single pixel is the fringe that a glitch gives to white
        seen += len(columns) > 0
        assert len(columns) == 0 or (across.min() - 2 <= columns.min() and columns.max() <= across.max() + 2), frame
    assert seen >= 1, "the cube itself is there"


def test_a_neighbour_claims_nothing_within_the_transition() -> None:
    scene = passage(film.row("divergence"))
    for frame in range(scene.clock.start, scene.clock.start + 6):
        painted(scene, frame)
    assert {claim.scene for claim in scene.log.claims} <= {"divergence"}


# ---- what a transition's segment depends on --------------------------------------------------------------------------------


def segment_parts(row: Row, which: int, rows: tuple[Row, ...] = FILM) -> dict[str, str]:
    quality = QUALITIES["h"]
    return content.parts(cut(row, SONG, quality.fps)[which], SONG, quality, rows)


def test_only_the_segments_at_a_cut_depend_on_the_other_side() -> None:
    row = film.row("stalls")  # in three segments, before a roof
    ends = [
        {name for name in segment_parts(row, k) if name.startswith(("transition ", "scenes.roof", "scenes.divergence"))}
        for k in range(3)
    ]
    assert ends == [
        {"transition from divergence", "scenes.divergence"}, set(), {"transition to roof-2", "scenes.roof"},
    ]  # fmt: skip


def test_another_transition_touches_only_the_two_segments_that_show_it() -> None:
    row = film.row("roof-2")
    changed = tuple(replace(r, transition=Cut("iris")) if r is row else r for r in FILM)
    touched = []
    for old, new in zip(FILM, changed, strict=True):
        for k in range(len(cut(old, SONG, 60))):
            if segment_parts(old, k) != segment_parts(new, k, changed):
                touched.append((old.name, k))
    assert touched == [("stalls", 2), ("roof-2", 0)]


# ---- whole renders ---------------------------------------------------------------------------------------------------------


def decoded(path: Path) -> list[str]:
    with av.open(str(path)) as container:
        return [hashlib.sha256(frame.to_ndarray().tobytes()).hexdigest() for frame in container.decode(video=0)]


def test_frames_are_the_same_in_one_process_in_two_and_scene_by_scene(tmp_path: Path) -> None:
    request = short_film.request(tmp_path, rows=ROWS)
    two = make(request, tmp_path / "two.mp4", Cache(tmp_path / "cache-2"), workers=2)
    cache = Cache(tmp_path / "cache-1")
    alone = replace(request, rows=(ROWS[1],))  # the incoming scene first, and alone
    make(alone, tmp_path / "alone.mp4", cache, workers=1)
    one = make(request, tmp_path / "one.mp4", cache, workers=1)
    assert one.drawn == request_frames(request) - request_frames(alone)  # what was drawn alone is the film's
    assert decoded(one.film) == decoded(two.film)
    assert decoded(tmp_path / "alone.mp4") == decoded(two.film)[-request_frames(alone) :]

    # The incoming scene's first segment read what only the outgoing one shows; its claims are its own.
    entry = survey(request, cache)[-1].entry
    assert entry is not None and "roofs.dram" in entry.reads
    assert {claim.scene for claim in entry.claims} == {"sequel"}

    # A still of the transition's middle, by itself, is not the plain scene.
    plain = replace(request, rows=(short_film.ROWS[1],), order=short_film.ROWS)
    still(alone, 1, 1.0, tmp_path / "with.png", cache)
    still(plain, 1, 1.0, tmp_path / "without.png", cache)
    assert (tmp_path / "with.png").read_bytes() != (tmp_path / "without.png").read_bytes()


def request_frames(request: object) -> int:
    from scenes.render.make import Request
    from scenes.render.plan import plan

    assert isinstance(request, Request)
    segments: tuple[Segment, ...] = plan(request.rows, request.timeline, request.quality)
    return sum(segment.frames for segment in segments)
