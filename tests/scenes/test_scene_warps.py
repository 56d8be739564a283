"""Warps: 32 lanes act as one; a scheduler's card lands on one warp a beat; the end is the beginning of divergence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

from staging import placed, small_frames, world_at

from audio.timeline import Timeline
from measure import schema
from measure.dataset import Dataset
from measure.records import SCHEMA_VERSION, Device, LaunchTrace, Measurements, Quantity, Run, Traces
from scenes.divergence import Divergence
from scenes.props.issue import Ranks, Scheduler, schedulers_of
from scenes.props.warp import LANES, Press, Warp
from scenes.stage.overlay import Placed, value_at
from scenes.stage.palette import COMPUTE, THREAD
from scenes.stage.passage import Context, Passage, Window
from scenes.stage.plane import TextPlane
from scenes.warps import WORDS, Warps


def measured(value: float, unit: str = "") -> Quantity:
    return Quantity(value, unit, "measured")


def device(capability: str | None, warp_size: float | None = 32) -> Device:
    size = None if warp_size is None else measured(warp_size)
    return Device("Test GPU", "test-gpu", compute_capability=capability, warp_size=size)


def launch(threads: int) -> Traces:
    q = measured(1, "ns")
    return Traces(launch=LaunchTrace(1, threads, "work", (0,), (0,), (9,), q, measured(9, "ns")))


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Passage, "achieved", lambda self: lambda beat: None)
    with small_frames(media=tmp_path / "media"):
        yield


def passage(folder: Path, gpu: Device, traces: Traces | None = None, cls: type[Passage] = Warps, bars: int = 4) -> Passage:
    """A scene over a file with nothing but a device and traces; 120 BPM, so that a beat is half a second."""
    path = folder / "test-gpu.json"
    schema.save(Measurements(SCHEMA_VERSION, gpu, Run("2026-01-02"), traces=traces or Traces()), path)
    timeline = Timeline("test", 2.0 * bars, tuple(k / 2 for k in range(4 * bars + 1)), tuple(range(0, 4 * bars + 1, 4)))
    scene = cls(Context(Dataset.open([path]), timeline, 1, bars), Window(0, 0))
    scene.setup()
    scene.construct()
    return scene


@pytest.fixture
def known(tmp_path: Path) -> Passage:
    return passage(tmp_path, device("9.0"))


@pytest.fixture
def unknown(tmp_path: Path) -> Passage:
    return passage(tmp_path, device(None, None))


def texts(scene: Passage, beat: float) -> list[Placed]:
    return placed(scene, beat, 0.1)


def of(scene: Passage, kind: type) -> list:  # type: ignore[type-arg]
    return [prop for prop in scene.props if isinstance(prop, kind)]


# ---- what is drawn -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capability", "number"), [("7.0", 4), ("8.6", 4), ("9.0", 4), ("6.1", 0), ("13.0", 0), (None, 0), ("", 0)]
)
def test_four_schedulers_an_sm_where_the_guide_says_so(capability: str | None, number: int, tmp_path: Path) -> None:
    """CUDA C++ Programming Guide, compute capabilities 7.x, 8.x and 9.0: four warp schedulers."""
    assert schedulers_of(capability) == number
    assert len(of(passage(tmp_path, device(capability)), Scheduler)) == number


@pytest.mark.parametrize(("threads", "warps"), [(256, 8), (128, 4), (512, 16), (1024, 8), (100, 8), (32, 8)])
def test_a_block_has_as_many_warps_as_the_recorded_launch(threads: int, warps: int, tmp_path: Path) -> None:
    assert len(of(passage(tmp_path, device("9.0"), launch(threads)), Warp)) == warps


def test_a_scheduler_reaches_for_the_warp_that_gets_its_card(tmp_path: Path) -> None:
    """On each beat of the third bar a card falls on one warp of each scheduler: there its line ends."""
    made = passage(tmp_path, device("9.0"), launch(256))
    assert isinstance(made, Warps)
    ours = of(made, Scheduler)
    assert [len(one.issues) for one in ours] == [4, 4, 4, 4], "one instruction a beat"
    for group, one in enumerate(ours):
        for beat in one.issues:
            cards = [press for press in of(made, Press) if press.beat == beat]
            hit = [card.warp for card in cards if any(card.warp is warp for warp in made.warps[2 * group : 2 * group + 2])]
            assert len(hit) == 1 and one.strikes(beat) == pytest.approx(1.0)
            assert one.served(beat) == pytest.approx(value_at(hit[0].row.y, beat), abs=0.6)
        assert one.strikes(one.issues[0] - 1.0) == 0.0


@pytest.mark.parametrize(("warps", "each"), [(8, 2), (4, 1), (16, 4)])
def test_each_scheduler_serves_one_of_its_warps_a_beat(warps: int, each: int) -> None:
    ranks = Ranks(warps, 4, lambda beat: 1.0)
    assert ranks.each == each
    for beat in range(8, 12):
        served = [warp for warp in range(warps) if beat in ranks.turns(warp, 8, 11)]
        assert [warp // each for warp in served] == [0, 1, 2, 3]
    assert 8 in ranks.turns(0, 8, 11)


def test_no_row_stands_in_another_dense_or_apart() -> None:
    for opened in (0.0, 0.4, 1.0):
        places = [Ranks(8, 4, lambda beat, opened=opened: opened).behind(k, 0.0) for k in range(8)]  # type: ignore[misc]
        assert places[0] == 0.0 and (np.diff(places) >= 1.0).all()


def test_cards_land_on_the_warps_whose_turn_it_is_and_on_all_of_their_lanes(known: Passage) -> None:
    cards, warps = of(known, Press), of(known, Warp)
    for beat in range(8, 12):
        struck = [warps.index(card.warp) for card in cards if card.beat == beat]
        assert sorted(struck) == ([0, 2, 4, 6] if beat % 2 == 0 else [1, 3, 5, 7])
        for k, warp in enumerate(warps):
            work = warp.work(beat + 0.5)
            assert work.shape == (LANES,) and np.ptp(work) == 0.0
            assert work[0] == pytest.approx(float(k in struck))
    for card in cards:
        assert card.span(card.beat) == (-16.0, 16.0)
    alone = [card.beat for card in cards if card.beat >= 12]
    assert alone == [12.0, 13.0, 14.0, 15.0] and all(card.warp is warps[0] for card in cards if card.beat >= 12)


@pytest.mark.parametrize("scene", ["known", "unknown"])
def test_32_lanes_in_lockstep_and_one_of_them_is_the_thread(scene: str, request: pytest.FixtureRequest) -> None:
    made: Passage = request.getfixturevalue(scene)
    for beat in np.arange(0.4, 16.0, 0.7):
        drawn = world_at(made, beat).all_boxes()
        magenta = np.abs(drawn.color - np.array(THREAD)).max(axis=1) < 1e-3
        assert magenta.sum() == 1
        ours = of(made, Warp)[0]
        assert np.ptp(ours.heights(beat)) < 1e-9
        middle = drawn.origin[magenta][0, 0] + drawn.size[magenta][0, 0] / 2
        assert middle == pytest.approx(ours.row.x(beat)[24])


def test_steps_land_on_the_beats_of_the_second_and_fourth_bar(known: Passage) -> None:
    ours = of(known, Warp)[0]
    y = [ours.row.y(float(beat)) for beat in range(17)]
    steps = -np.diff(y)
    assert steps == pytest.approx([0, 0, 0, 1.6, 1.6, 1.6, 1.6, 0, 0, 0, 0, 1.6, 1.6, 1.6, 1.6, 1.6])
    assert [ours.row.z(beat + 1e-6) for beat in range(1, 16)] == pytest.approx([0.0] * 15, abs=1e-3)
    assert ours.row.z(4.83) > 0.2 and ours.row.z(10.8) == 0.0


# ---- the cut to divergence -----------------------------------------------------------------------------------------------


def test_it_ends_where_divergence_begins(known: Passage, tmp_path: Path) -> None:
    after = passage(tmp_path, device("9.0"), cls=Divergence, bars=6)
    here, there = known.camera_at(16.0), after.camera_at(0.0)
    assert np.allclose(here.eye, there.eye) and np.allclose(here.target, there.target) and here.fov == there.fov
    mine, theirs = of(known, Warp), of(after, Warp)[0]
    assert mine[0].row.y(16.0) == pytest.approx(theirs.row.y(0.0))
    assert mine[0].heights(16.0) == pytest.approx(theirs.heights(0.0)) and mine[0].thread == theirs.thread
    assert mine[0].work(16.0) == pytest.approx(theirs.work(0.0))
    assert all(float(warp.grown(16.0)) == 0.0 for warp in mine[1:])
    one, two = world_at(known, 16.0), world_at(after, 0.0)
    assert np.allclose(one.light.focus, two.light.focus) and one.light.radius == two.light.radius and one.fog == two.fog
    amber = [np.abs(world.all_boxes().color - np.array(COMPUTE)).max(1) < 1e-3 for world in (one, two)]
    assert amber[0].sum() == amber[1].sum() == LANES


# ---- what is told --------------------------------------------------------------------------------------------------------


def test_the_warp_size_is_the_records(known: Passage) -> None:
    said = {placed.text for beat in np.arange(0.0, 16.0, 0.5) for placed in texts(known, beat)}
    assert [(claim.key, claim.text, claim.source) for claim in known.log.claims] == [
        ("device.warp_size", "32 threads", "measured")
    ]
    assert set(WORDS) <= said and "each scheduler issues to one warp a cycle, if one is ready" in said


def test_without_a_record_it_plays_on_and_says_so(unknown: Passage) -> None:
    said = {placed.text for beat in np.arange(0.0, 16.0, 1.0) for placed in texts(unknown, beat)}
    assert {"warp size not known of Test GPU", "warp schedulers not known of Test GPU"} <= said
    assert not unknown.log.claims and not any("cycle" in text for text in said)
    assert all(card.warp is of(unknown, Warp)[0] for card in of(unknown, Press))


@pytest.mark.parametrize("scene", ["known", "unknown"])
def test_texts_keep_apart(scene: str, request: pytest.FixtureRequest) -> None:
    made: Passage = request.getfixturevalue(scene)
    for beat in np.arange(0.0, 15.9, 0.8):
        for a, b in combinations(texts(made, beat), 2):
            clear = a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
            assert clear or a.text == b.text, f"beat {beat}: {a.text!r} over {b.text!r}"


def test_a_sign_names_the_warps_of_each_scheduler_and_is_large_enough(known: Passage) -> None:
    for beat in (5.0, 6.0, 7.0):
        signs = [plane for plane in world_at(known, beat).planes if plane.text.endswith(" warps")]
        assert [sign.text for sign in signs] == ["2 warps"] * 4
        assert min(high(known, sign, beat) for sign in signs) >= 0.03  # the farthest; those in front are larger


def test_schedulers_stand_on_the_picture_and_their_names_can_be_read(known: Passage) -> None:
    """Inside of the safe area, 5 % of the frame, on each beat on which they issue."""
    for beat in (8.0, 9.0, 10.0, 11.0, 11.2):
        blocks = world_at(known, beat, of(known, Scheduler))
        drawn = blocks.all_boxes()
        corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        seen = known.view(beat).project((drawn.origin[:, None] + drawn.size[:, None] * corners).reshape(-1, 3), 1920, 1080)
        assert len(drawn.origin) == 4 and 96 <= seen[:, 0].min() and seen[:, 0].max() <= 1824
        assert min(high(known, sign, beat) for sign in blocks.planes) >= 0.03
    assert not len(world_at(known, 12.0, of(known, Scheduler)).all_boxes().origin)  # gone as ours walks on alone


def high(scene: Passage, sign: TextPlane, beat: float) -> float:
    """Height of a sign's capitals, as a share of the frame's."""
    ends = np.array([sign.at, np.array(sign.at) + sign.height * np.array(sign.up)])
    y = scene.view(beat).project(ends, 1920, 1080)[:, 1]
    return float(abs(y[0] - y[1]) / 1080)
