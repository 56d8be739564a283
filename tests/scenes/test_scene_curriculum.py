"""Curriculum: all places of the film in one look, steps as high as the rungs are fast, credits that say what the files say."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audio.timeline_file import load
from audio.tracks import HERE
from measure.dataset import MEASUREMENTS, Dataset
from scenes import film
from scenes.curriculum import Curriculum
from scenes.film import FILM
from scenes.props import credits
from scenes.props.end_card import Beam
from scenes.props.places import EMBLEMS, Place, about
from scenes.props.stairs import LOW, TALL, Stairs
from scenes.stage.overlay import SAFE
from scenes.stage.palette import THREAD
from scenes.stage.plane import TextPlane
from scenes.stage.world import World

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import gpus
from staging import placed, small_frames, staged, texts, world_at

SONG = load(HERE / "up-to-the-light.timeline.json")
WIDTH, HEIGHT = 480, 270
OVERVIEW = 9.5  # a beat at which the whole path is seen
LADDER = 4.5  # a beat at which all rungs are named


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with small_frames(WIDTH, HEIGHT, media=tmp_path_factory.mktemp("media")):
        yield


def passage(*specs: str | Path) -> Curriculum:
    """The scene at its place in the song, with all its props and texts, without its transition."""
    scene = staged("curriculum", *specs, timeline=SONG)
    assert isinstance(scene, Curriculum)
    return scene


@pytest.fixture(scope="module")
def h200(small: None) -> Curriculum:
    return passage()


@pytest.fixture(scope="module")
def rtx(small: None) -> Curriculum:
    return passage("rtx-3090-published")


@pytest.fixture(scope="module")
def laptop(small: None, tmp_path_factory: pytest.TempPathFactory) -> Curriculum:
    """A GPU with four rungs."""
    return passage(gpus.write("small", tmp_path_factory.mktemp("laptop") / "small.json"))


@pytest.fixture(scope="module")
def bare(small: None, tmp_path_factory: pytest.TempPathFactory) -> Curriculum:
    """A GPU of which nothing was measured."""
    document: Any = json.loads((MEASUREMENTS / "rtx-3090-published.json").read_text())
    document |= {"ladders": {}, "roofs": {}, "absent": {}}
    document["device"]["name"] = "Small GPU"
    path = tmp_path_factory.mktemp("bare") / "small.json"
    path.write_text(json.dumps(document))
    return passage(path)


def pixels(scene: Curriculum, beat: float) -> np.ndarray[Any, np.dtype[np.uint32]]:
    made = np.zeros((HEIGHT, WIDTH), np.uint32)
    scene.paint(scene.clock.frame(beat), made)
    return made


def on_screen(scene: Curriculum, plane: TextPlane, beat: float) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a plane in design pixels."""
    along, up = np.array(plane.along), np.array(plane.up)
    start = np.array(plane.at) - along * plane.width * {"left": 0.0, "centre": 0.5, "right": 1.0}[plane.align]
    ends = [start + along * plane.width * a + up * plane.height * b for a in (0, 1) for b in (0, 1)]
    flat = scene.view(beat).project(ends, 1920, 1080)
    return float(flat[:, 0].min()), float(flat[:, 1].min()), float(flat[:, 0].max()), float(flat[:, 1].max())


def test_every_passage_has_its_place_with_its_own_chapter_in_rows_that_end_in_a_climb(h200: Curriculum) -> None:
    others = [other for other in FILM if other.name != "curriculum"]
    places = [place for row in h200.road.rows for place in row]
    assert [place.name for place in places] == [other.name for other in others]
    for place, other in zip(places, others, strict=True):
        assert other.load().chapter.endswith(f"Ch. {place.chapter}" if place.chapter else "")
    assert [row[-1].name for row in h200.road.rows] == ["roof-1", "roof-2", "roof-3", "roof-4"]
    assert EMBLEMS.keys() <= {other.name for other in others}  # a passage without an emblem gets a plain cube


WORDS = ["threads", "warps", "memory", "beyond"]  # what the four columns are about
CHAPTERS = ["Ch. 2", "Ch. 3\u20134", "Ch. 5\u20136", "Ch. 7\u201310"]  # without the climbs, which are all of chapter 6


def test_the_whole_path_can_be_read_in_one_look(h200: Curriculum) -> None:
    """Eight words in four groups from left to right, each over its chapters, long enough to be read by anyone."""
    signs = {plane.text: plane for plane in world_at(h200, OVERVIEW).planes}
    assert signs.keys() == {*WORDS, *CHAPTERS}
    boxes = {words: on_screen(h200, plane, OVERVIEW) for words, plane in signs.items()}
    for a, b in combinations(boxes.values(), 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for left, top, right, bottom in boxes.values():
        assert left >= SAFE[0] and right <= SAFE[2] and top >= SAFE[1] and bottom <= 868
        assert bottom - top >= 0.0215 * 1080
    assert all(boxes[words][3] - boxes[words][1] > 0.032 * 1080 for words in WORDS), "at 480 lines, 15 of them"
    for before, after in pairwise(WORDS):
        assert boxes[before][2] < boxes[after][0]
    for words, chapters in zip(WORDS, CHAPTERS, strict=True):
        assert boxes[words][3] < boxes[chapters][1]
        assert sum(boxes[words][::2]) == pytest.approx(sum(boxes[chapters][::2]), abs=8.0)
    shown = [beat for beat in np.arange(6.0, 16.0, 0.25) if all(p.alpha > 0.5 for p in world_at(h200, beat).planes[-8:])]
    read = [beat for beat in shown if {plane.text for plane in world_at(h200, beat).planes} >= {*WORDS, *CHAPTERS}]
    assert read[0] <= 7.75 and read[-1] >= 13.5 and len(read) == (read[-1] - read[0]) / 0.25 + 1, "for two and a half seconds"


def test_a_column_that_no_word_is_known_for_is_called_as_its_last_passage_is() -> None:
    assert about([Place("one", "3"), Place("two-steps", "")]) == ("two steps", "Ch. 3")
    assert about([Place("title", ""), Place("roof-2", "")]) == ("warps", "")


@pytest.mark.parametrize("which", ["h200", "rtx", "laptop"])
def test_every_rung_is_named_beside_its_pole_for_two_seconds(which: str, request: pytest.FixtureRequest) -> None:
    """Level, as large as a fact, clear of every step, rate and name, inside of the frame and above the song's words."""
    scene: Curriculum = request.getfixturevalue(which)
    stairs, view = scene.stairs, scene.view(LADDER)
    planes = {plane.text: on_screen(scene, plane, LADDER) for plane in world_at(scene, LADDER, [stairs]).planes}
    assert planes.keys() == {step.title for step in stairs.steps} | {
        plane.figure.text for plane in world_at(scene, LADDER, [stairs]).planes if plane.figure
    }
    towers = []
    for step in stairs.steps:
        corners = [(step.x + w, stairs.y, z) for w in (0.1, stairs.broad - 0.1) for z in (0.0, step.height - 0.1)]
        flat = view.project(corners, 1920, 1080)[:, :2]
        towers.append((*flat.min(0).tolist(), *flat.max(0).tolist()))
    for step, name in zip(stairs.steps, stairs.names, strict=True):
        left, top, right, bottom = planes[step.title]
        assert left >= SAFE[0] and right <= SAFE[2] and top >= SAFE[1] and bottom <= 868
        assert bottom - top >= 0.022 * 1080 and name.along == (1.0, 0.0, 0.0)
        others = [box for words, box in planes.items() if words != step.title] + towers
        assert all(right <= a or left >= c or bottom <= b or top >= d for a, b, c, d in others), step.title
        assert step.x < name.at[0] < step.x + stairs.broad / 2  # it ends at its own step
    x, _, z = stairs.top  # no pole stands before the thread, which is three units high and hops by one and a half
    poles = world_at(scene, LADDER, [stairs]).all_ribbons()
    upright = (np.abs(poles.a[:, :2] - poles.b[:, :2]).max(1) < 1e-6) & (np.abs(poles.a[:, 0] - x) < 0.1)
    assert upright.sum() == 1 and poles.a[upright, 2].min() >= z + 3.0
    first, last = stairs.steps[0].title, stairs.steps[-1].title
    for words, begin in ((first, 1.5), (last, 3.75)):
        for beat in np.arange(begin, 5.4, 0.25):
            assert any(plane.text == words and plane.alpha > 0.9 for plane in world_at(scene, beat, [stairs]).planes)


def test_a_rung_that_has_no_room_on_the_left_of_it_runs_over_to_the_right(small: None, tmp_path: Path) -> None:
    document: Any = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
    first = document["ladders"]["gemm_fp32"]["rungs"][0]
    first["verification"]["passed"] = False
    for figure in ("rate", "time", "cold_rate"):
        first.pop(figure, None)
    path = tmp_path / "failed.json"
    path.write_text(json.dumps(document))
    scene = passage(path)
    name = scene.stairs.names[0]
    left = on_screen(scene, name, LADDER)[0]
    assert left >= SAFE[0] and "failed verification" in name.text
    for step in scene.stairs.steps:  # above all that it lies across
        assert step.x > name.at[0] or step.height < name.at[2]


def test_places_light_up_four_a_beat_until_the_climb(h200: Curriculum) -> None:
    places = sum(len(row) for row in h200.road.rows)
    lit = [sum(h200._place_lit(k, beat) > 0.99 for k in range(places)) for beat in (6.3, 6.6, 6.9, 8.6, 10.7)]
    assert lit == [0, 1, 2, 9, places]


def test_the_song_is_followed_word_by_word(h200: Curriculum) -> None:
    origin = SONG.downbeats[film.row("curriculum").first_bar - 1]
    words = {word.text.strip(",.:"): SONG.position(word.start) - origin for line in SONG.lines for word in line.words}
    assert h200.at(*h200.climbs) == pytest.approx(words["climb"]) and h200.at(*h200.up) == pytest.approx(words["rise"])
    assert h200.at(*h200.rises) == pytest.approx(words["you"])
    named = next(beat for beat in np.arange(0.0, 8.0, 0.25) if h200.stairs.told(len(h200.stairs.steps) - 1, beat) > 0.9)
    assert named < words["step"] < h200.at(*h200.back) < words["way"]


def test_every_column_leads_up_and_lies_right_of_the_one_before(h200: Curriculum) -> None:
    counts = [len(row) for row in h200.road.rows]
    flat = h200.view(OVERVIEW).project(h200.road.feet, 1920, 1080)[:, :2]
    columns = np.split(flat, np.cumsum(counts)[:-1])
    for column in columns:
        assert np.ptp(column[:, 0]) < 40 and (np.diff(column[:, 1]) < -60).all()
    for left, right in pairwise(columns):
        assert right[:, 0].min() - left[:, 0].max() > 300


@pytest.mark.parametrize("which", ["h200", "rtx"])
def test_steps_are_as_high_as_the_rungs_are_fast(which: str, request: pytest.FixtureRequest) -> None:
    scene: Curriculum = request.getfixturevalue(which)
    name = {"h200": "nvidia-h200", "rtx": "rtx-3090-published"}[which]
    rungs = json.loads((MEASUREMENTS / f"{name}.json").read_text())["ladders"]["gemm_fp32"]["rungs"]
    rates = [rung["rate"]["value"] for rung in rungs]
    assert [step.height for step in scene.stairs.steps] == pytest.approx([TALL * rate / max(rates) for rate in rates])
    assert scene.stairs.top[2] == pytest.approx(TALL)
    placed(scene, LADDER)
    shown = {claim.key: claim.value for claim in scene.log.claims}
    assert {f"ladders.gemm_fp32.rungs.{r['name']}.rate": r["rate"]["value"] for r in rungs}.items() <= shown.items()


def test_a_rung_that_failed_its_check_is_an_outline(small: None, tmp_path: Path) -> None:
    document: Any = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
    best = document["ladders"]["gemm_fp32"]["rungs"][-1]
    best["verification"]["passed"] = False
    for figure in ("rate", "time", "cold_rate"):
        best.pop(figure, None)
    path = tmp_path / "failed.json"
    path.write_text(json.dumps(document))
    made = Stairs(Dataset.open([path]), 0.0, lambda k, beat: 1.0, lambda k, beat: 1.0)
    assert made.steps[-1].rate is None and made.steps[-1].height == LOW and made.top[2] == pytest.approx(TALL)
    drawn = World()
    made.draw(drawn, 0.0)
    assert len(drawn.all_boxes().origin) == len(made.steps) - 1
    assert f"{best['title']}: failed verification" in {plane.text for plane in drawn.planes}


@pytest.mark.parametrize("which", ["h200", "rtx", "bare"])
def test_one_cube_is_magenta_and_texts_keep_apart(which: str, request: pytest.FixtureRequest) -> None:
    scene: Curriculum = request.getfixturevalue(which)
    for beat in (0.5, 3.0, 7.5, 12.0, 15.0, 20.5):
        colours = world_at(scene, beat).all_boxes().color
        assert (np.abs(colours - np.array(THREAD)).max(axis=1) < 1e-3).sum() == 1
        shown = placed(scene, beat, 0.1)
        for a, b in combinations(shown, 2):
            clear = a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
            assert clear or a.text == b.text, f"beat {beat}: {a.text!r} over {b.text!r}"
        assert all(p.left >= 0.05 * WIDTH - 1 and p.right <= 0.95 * WIDTH + 1 for p in shown)


def test_the_thread_lands_on_the_top_on_the_last_hit(h200: Curriculum) -> None:
    x, y, z = h200.stairs.top
    assert h200.clock.moment_of(SONG.position(SONG.cues["last-hit"])) == pytest.approx(20.0)
    assert h200._thread(20.0) == pytest.approx((x, y, z)) and h200._thread(19.8)[2] > z + 0.3


def said(data: Dataset, own: bool = True) -> list[str]:
    return [credit.words for credit in credits.lines(data, own, "Another Song")]


def test_credits_say_what_the_files_say(h200: Curriculum, rtx: Curriculum, bare: Curriculum) -> None:
    told = {name: said(scene.data) for name, scene in (("h200", h200), ("rtx", rtx), ("bare", bare))}
    document = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
    run, edge = document["run"], document["ladders"]["gemm_fp32"]["problem"].split(" x ")[0]
    rungs = [rung for name in credits.LADDERS for rung in document["ladders"][name]["rungs"]]
    clocks = [round(rung["clock"]["value"]) for rung in rungs if "clock" in rung]
    clock = f"SM clock {min(clocks):,} to {max(clocks):,} MHz".replace(",", " ")
    held = sorted({reason for rung in rungs if rung.get("throttled") for reason in rung["throttle_reasons"]})
    assert told["h200"] == [
        f"fp32 GEMM {edge}³ on NVIDIA H200",
        f"measured {run['date'][:10]}, driver {run['driver']}",
        ", ".join([clock, *held]),
        "all-reduce published: NVIDIA HGX H100",
        "results checked against float64",
        "song, pictures: the project's own",
    ]
    assert told["rtx"] == [
        "fp16 GEMM 4096³ on NVIDIA GeForce RTX 3090",  # the problem of its own ladder
        "rates published: Chasing the Roofline",
        "peaks: NVIDIA Ampere GA102 GPU Architecture",
        "whitepaper v2",
        "song, pictures: the project's own",
    ]
    assert told["bare"] == ["Small GPU", "figures published, or from the datasheet", "song, pictures: the project's own"]
    assert " ".join(said(h200.data, own=False)).endswith("float64 song: Another Song; pictures: the project's own")
    assert all(len(line) <= credits.WIDTH for lines in told.values() for line in lines)


@pytest.mark.parametrize("which", ["h200", "rtx", "laptop", "bare"])
def test_credits_stand_under_the_title_for_a_bar_and_a_half_clear_of_stairs_and_song(
    which: str, request: pytest.FixtureRequest
) -> None:
    scene: Curriculum = request.getfixturevalue(which)
    lines = {credit.words for credit in scene.card.about()}
    for beat in (21.0, 23.0, 26.5):
        planes = world_at(scene, beat).planes
        boxes = {plane.text: on_screen(scene, plane, beat) for plane in planes if plane.alpha > 0.5}
        assert lines <= boxes.keys()
        towers = []
        for step in scene.stairs.steps:
            corners = [(step.x + w, scene.stairs.y, z) for w in (0.0, scene.stairs.broad) for z in (0.0, step.height)]
            flat = scene.view(beat).project(corners, 1920, 1080)[:, :2]
            towers.append((*flat.min(0).tolist(), *flat.max(0).tolist()))
        for words in lines:
            left, top, right, bottom = boxes[words]
            assert left >= SAFE[0] and bottom <= 868 and bottom - top >= 0.0215 * 1080
            others = [box for text, box in boxes.items() if text != words] + towers
            assert all(right <= a or left >= c or bottom <= b or top >= d for a, b, c, d in others), words


def test_no_name_of_the_path_is_cut_or_stands_on_the_song(h200: Curriculum) -> None:
    names = {*WORDS, *CHAPTERS}
    most = 0
    for beat in np.arange(6.0, 15.5, 0.25):
        signs = [plane for plane in world_at(h200, beat).planes if plane.text in names and plane.alpha > 0.1]
        most = max(most, len(signs))
        for plane in signs:
            left, top, right, bottom = on_screen(h200, plane, beat)
            assert left >= 0 and right <= 1920 and top >= 0 and bottom <= 880, (beat, plane.text)
            assert bottom - top < 65, (beat, plane.text)  # nor flies by too near to be read
    assert most == 8


def test_emblems_stand_clear_of_names_and_of_the_stairs(h200: Curriculum) -> None:
    names = {*WORDS, *CHAPTERS}
    boxes = [on_screen(h200, plane, OVERVIEW) for plane in world_at(h200, OVERVIEW).planes if plane.text in names]
    assert len(boxes) == 8
    drawn = World()
    h200.road.draw(drawn, OVERVIEW)
    parts = drawn.all_boxes()
    lowest = h200.view(OVERVIEW).project([(step.x, h200.stairs.y, 0.0) for step in h200.stairs.steps], 1920, 1080)[:, 1].min()
    for origin, size in zip(parts.origin, parts.size, strict=True):
        corners = [origin + size * (i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
        flat = h200.view(OVERVIEW).project(corners, 1920, 1080)[:, :2]
        (left, top), (right, bottom) = flat.min(0), flat.max(0)
        assert top > lowest
        assert all(right <= a or left >= c or bottom <= b or top >= d for a, b, c, d in boxes)


def test_the_threads_light_goes_on_out_of_the_picture_after_the_last_hit(h200: Curriculum) -> None:
    beam = next(prop for prop in h200.props if isinstance(prop, Beam))
    before, after = World(), World()
    beam.draw(before, 19.5)
    beam.draw(after, 22.0)
    assert not before.ribbons and after.ribbons
    ends = np.concatenate([batch.b for batch in after.ribbons])
    flat = h200.view(22.0).project(ends, 1920, 1080)
    assert flat[:, 1].min() < 0 and 1500 < flat[:, 0].min() and flat[:, 0].max() < 1920
    heights = []  # and on every beat more of it leaves, up to the last one
    for beat in (22.1, 22.3, 22.5, 27.1, 27.3, 27.5):
        rising = world_at(h200, beat, [beam]).ribbons[-1]
        heights.append(float(rising.a[rising.alpha.argmax(), 2]))
    assert heights[0] < heights[1] < heights[2] and heights[3:] == pytest.approx(heights[:3])


def test_the_head_up_display_is_gone(h200: Curriculum) -> None:
    assert not any(text.kind == "hud" for beat in (6.5, 9.0, 15.0, 21.0) for text in placed(h200, beat, 0.1))


@pytest.mark.parametrize("which", ["h200", "rtx", "bare"])
def test_the_end_card_has_the_title_and_the_range_of_the_rates(which: str, request: pytest.FixtureRequest) -> None:
    scene: Curriculum = request.getfixturevalue(which)
    planes = {plane.text: on_screen(scene, plane, 23.0) for plane in world_at(scene, 23.0).planes}
    for left, top, right, bottom in planes.values():
        assert left >= 96 - 20 and right <= 1824 + 20 and top >= 54 and bottom <= 868
    assert {"HOW", "KERNELS", "CLIMB"} <= planes.keys() and any(scene.data.device.name in words for words in planes)
    if which != "bare":
        name = {"h200": "nvidia-h200", "rtx": "rtx-3090-published"}[which]
        rungs = json.loads((MEASUREMENTS / f"{name}.json").read_text())["ladders"]["gemm_fp32"]["rungs"]
        rates = [rung["rate"]["value"] for rung in rungs]
        low = f"{min(rates):.2f}" if min(rates) < 1 else f"{min(rates):.1f}"
        assert f"{low} → {max(rates):.1f} TFLOP/s" in planes
    flat = sorted(planes[word][0] for word in ("HOW", "KERNELS", "CLIMB"))
    assert flat[-1] - flat[0] < 24  # one left edge


def test_the_film_ends_dark_but_not_black_without_lamps(h200: Curriculum) -> None:
    last, before = pixels(h200, 28.3), pixels(h200, 23.0)
    light = [np.ascontiguousarray(p).view(np.uint8).reshape(HEIGHT, WIDTH, 4)[..., :3].astype(float) for p in (last, before)]
    assert 1.0 < light[0].mean() < 0.6 * light[1].mean()
    lamps = np.s_[int(0.92 * HEIGHT) : int(0.96 * HEIGHT), int(0.86 * WIDTH) : int(0.95 * WIDTH)]
    assert light[1][lamps].max() > 200 > 60 > light[0][lamps].max()


def test_without_a_ladder_the_road_leads_to_the_thread(bare: Curriculum) -> None:
    assert bare.stairs.steps == () and bare.stairs.top[2] == 0.0
    assert "fp32 ladder not measured on Small GPU" in texts(bare, 2.0)
    for beat in (8.0, 15.0, 21.0):
        placed(bare, beat)
    assert not bare.log.claims
