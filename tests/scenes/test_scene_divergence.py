"""Divergence: what is drawn of a warp is what its lanes' clocks recorded, whichever half ran first."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import staging
from staging import boxes

from measure import schema
from measure.dataset import MEASUREMENTS
from measure.records import SCHEMA_VERSION, Device, DivergenceTrace, Measurements, Quantity, Run, Traces
from scenes.divergence import Divergence
from scenes.props.lane_time import BAR, TRACK, Schedule, nice_step
from scenes.props.warp import LANES, half_of, march
from scenes.props.warp import WIDTH as WIDTH_OF_LANE
from scenes.stage.overlay import Placed
from scenes.stage.palette import COMPUTE, THREAD, Colour
from scenes.stage.world import Boxes

WIDTH, HEIGHT = 480, 270
HIGH_FIRST = ((2000,) * 16 + (0,) * 16, (4000,) * 16 + (1900,) * 16)
LOW_FIRST = ((0,) * 16 + (2000,) * 16, (1900,) * 16 + (4000,) * 16)
TOGETHER = ((0,) * 16 + (1000,) * 16, (3000,) * 16 + (4000,) * 16)


def trace(clocks: tuple[tuple[int, ...], tuple[int, ...]]) -> DivergenceTrace:
    def measured(value: float, unit: str) -> Quantity:
        return Quantity(value, unit, "measured")

    start, end = clocks
    total, uniform, slowdown = measured(4000, "cycles"), measured(1600, "cycles"), measured(2.46, "")
    return DivergenceTrace("threadIdx.x < 16", start, end, total, uniform, slowdown)


def passage(spec: str | Path) -> Divergence:
    """The scene at its place in the film's own track, with all its props and texts, ready to paint any frame."""
    scene = staging.staged("divergence", spec)
    assert isinstance(scene, Divergence)
    return scene


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with staging.small_frames(WIDTH, HEIGHT, media=tmp_path):
        yield


@pytest.fixture
def recorded(tmp_path: Path, request: pytest.FixtureRequest) -> Divergence:
    """The scene over a hand-made file of one GPU; HIGH_FIRST unless the test names another record."""
    record = getattr(request, "param", HIGH_FIRST)
    path = tmp_path / "test-gpu.json"
    device, run = Device("Test GPU", "test-gpu"), Run("2026-01-02")
    schema.save(Measurements(SCHEMA_VERSION, device, run, traces=Traces(divergence=trace(record))), path)
    return passage(path)


@pytest.fixture
def absent() -> Divergence:
    return passage("rtx-3090-published")


def texts(scene: Divergence, beat: float) -> list[Placed]:
    return staging.placed(scene, beat, 0.1)


def coloured(drawn: Boxes, colour: Colour) -> NDArray[np.bool_]:
    return np.asarray(np.abs(drawn.color - np.array(colour)).max(axis=1) < 1e-3)


# ---- a record laid on the beat -------------------------------------------------------------------------------------------


def test_one_factor_between_cycles_and_beats() -> None:
    schedule = Schedule.of(trace(HIGH_FIRST), 12.0, 22.0)  # 4000 cycles on 10 beats: 400 cycles a beat
    assert schedule.total == 4000
    assert [schedule.beat(cycles) for cycles in (0, 1900, 2000, 4000)] == [12.0, 16.75, 17.0, 22.0]
    assert [schedule.now(beat) for beat in (0.0, 12.0, 14.5, 22.0, 30.0)] == [0, 0, 1000, 4000, 4000]


@pytest.mark.parametrize(("record", "first"), [(HIGH_FIRST, 1), (LOW_FIRST, 0)])
def test_which_half_runs_first_is_the_records_business(record: tuple[tuple[int, ...], tuple[int, ...]], first: int) -> None:
    schedule = Schedule.of(trace(record), 12.0, 22.0)
    assert [schedule.runs(first, 14.0), schedule.runs(1 - first, 14.0)] == [True, False]
    assert [schedule.runs(first, 16.9), schedule.runs(1 - first, 16.9)] == [False, False]  # cycles 1960: between the two
    assert [schedule.runs(first, 19.0), schedule.runs(1 - first, 19.0)] == [False, True]
    assert not schedule.running(22.0).any()


def test_halves_that_overlap_in_the_record_run_at_once() -> None:
    schedule = Schedule.of(trace(TOGETHER), 12.0, 22.0)
    assert schedule.running(17.0).sum() == LANES  # cycle 2000
    assert schedule.running(13.0).sum() == 16


def test_a_record_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 32 lanes, found 2 starts"):
        Schedule.of(trace(((0, 1), (2, 3))), 0.0, 1.0)


@pytest.mark.parametrize(("total", "step"), [(5035, 1000), (4000, 1000), (3999, 500), (800, 200), (123456, 20000)])
def test_axis_steps_are_round(total: float, step: float) -> None:
    assert nice_step(total) == step


@pytest.mark.parametrize(
    ("condition", "split"), [("threadIdx.x < 16", 16), ("lane < 8", 8), ("lane < 40", 16), ("threadIdx.x % 2", 16)]
)
def test_the_split_is_read_from_the_condition(condition: str, split: int) -> None:
    assert half_of(condition) == split


def test_the_march_lands_on_every_beat() -> None:
    for beat in range(1, 9):
        assert march(float(beat), 1, 8, 1.5) == (1.5 * beat, 0.0)
    assert march(0.0, 1, 8, 1.5) == (0.0, 0.0)
    assert march(20.0, 1, 8, 1.5) == (12.0, 0.0)
    assert march(3.9, 1, 8, 1.5)[1] > 0.05  # in the air just before


# ---- what stands in the world --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", [HIGH_FIRST, LOW_FIRST, TOGETHER], indirect=True)
def test_bars_are_as_long_as_their_lanes_ran(recorded: Divergence) -> None:
    time, schedule = recorded.lane_time, recorded.schedule
    assert schedule is not None
    for cycles in (700.0, 2500.0, 4000.0):
        drawn = boxes(recorded, schedule.beat(cycles))
        bars = coloured(drawn, COMPUTE) & (drawn.origin[:, 1] + drawn.size[:, 1] <= time.near + 1e-4)
        begun = schedule.start < cycles
        assert bars.sum() == begun.sum()
        centre = drawn.origin[bars, 0] + drawn.size[bars, 0] / 2
        order = np.argsort(centre)
        far, close = (drawn.origin + drawn.size)[bars, 1][order], drawn.origin[bars, 1][order]
        # the axis is linear: y = near - length x cycles / total, written out here a second time
        place = -time.length / 4000.0
        assert far == pytest.approx(time.near + place * schedule.start[begun], abs=1e-3)
        assert close == pytest.approx(time.near + place * np.minimum(schedule.end[begun], cycles), abs=1e-3)
        assert centre[order] == pytest.approx(recorded.row.x(schedule.beat(cycles))[begun], abs=1e-3)


def test_lanes_at_work_are_tall_and_waiting_ones_low(recorded: Divergence) -> None:
    schedule = recorded.schedule
    assert schedule is not None
    early, late = recorded.warp.heights(schedule.beat(1000.0)), recorded.warp.heights(schedule.beat(3000.0))
    assert early[16:].min() > 2 * early[:16].max()
    assert late[:16].min() > 2 * late[16:].max()


def test_always_32_lanes_and_one_magenta_thread(recorded: Divergence, absent: Divergence) -> None:
    for scene in (recorded, absent):
        for beat in np.arange(0.0, 24.0, 0.7):
            drawn = boxes(scene, float(beat))
            thread = coloured(drawn, THREAD)
            assert thread.sum() == 1
            square = np.abs(drawn.size[:, :2] - WIDTH_OF_LANE).max(axis=1) < 1e-3  # lanes are square seen from above
            assert (square & ~thread).sum() == 32


def test_boxes_do_not_run_into_each_other(recorded: Divergence) -> None:
    for beat in np.arange(0.0, 24.0, 0.23):
        drawn = boxes(recorded, float(beat))
        low, high = drawn.origin, drawn.origin + drawn.size
        shared = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
        clash = (shared > 0.02).all(axis=2) & ~np.eye(len(low), dtype=bool)
        assert not clash.any(), f"beat {beat:.2f}: {[(drawn.origin[i], drawn.size[i]) for i in np.argwhere(clash)[0]]}"


# ---- words ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("recorded", "first"), [(HIGH_FIRST, "16–31"), (LOW_FIRST, "0–15")], indirect=["recorded"])
def test_labels_say_who_runs_and_who_waits(recorded: Divergence, first: str) -> None:
    second = "0–15" if first == "16–31" else "16–31"
    schedule = recorded.schedule
    assert schedule is not None
    early = {placed.text for placed in texts(recorded, schedule.beat(1000.0))}
    late = {placed.text for placed in texts(recorded, schedule.beat(3000.0))}
    assert {f"lanes {first} run", f"lanes {second} wait"} <= early
    assert {f"lanes {second} run", f"lanes {first} wait"} <= late


def test_figures_are_the_records(recorded: Divergence) -> None:
    for beat in range(24):
        texts(recorded, beat)
    claims = {claim.key: claim.text for claim in recorded.log.claims}
    assert claims == {
        "traces.divergence.cycles": "4 000 cycles",
        "traces.divergence.uniform_cycles": "1 600 cycles",
    }


def test_the_condition_is_typed_by_the_beat_that_splits(recorded: Divergence) -> None:
    assert "threadIdx.x " not in [placed.text for placed in texts(recorded, 1.7)]
    assert {"if (", "threadIdx.x ", "< ", "16)"} <= {placed.text for placed in texts(recorded, 3.5)}  # before "yes"


def test_a_half_waits_from_the_word_no_on(recorded: Divergence) -> None:
    """ "No" is sung on the third beat of the second bar, beat 6: until then both halves stand tall, apart."""
    before, after = recorded.warp.heights(5.6), recorded.warp.heights(6.3)
    assert before.min() == pytest.approx(before.max())
    assert after[16:].min() > 2 * after[:16].max()


def amber(scene: Divergence, word: str, beat: float) -> bool:
    """Whether a word of the code is lettered in the colour of compute, by the pixels of its box."""
    pixels = np.zeros((HEIGHT, WIDTH), np.uint32)
    scene.paint(scene.clock.frame(beat), pixels)
    box = next(placed for placed in scene.placed if placed.text == word)
    there = pixels[round(box.top) : round(box.bottom), round(box.left) : round(box.right)]
    red, blue = there & 255, there >> 16 & 255
    return bool((red.astype(int) - blue).max() > 100)


@pytest.mark.parametrize(("recorded", "first"), [(HIGH_FIRST, 1), (LOW_FIRST, 0)], indirect=["recorded"])
def test_a_line_of_the_code_is_amber_while_its_half_runs(recorded: Divergence, first: int) -> None:
    """Clocks 0 to 1900 are the one half's, 2000 to 4000 the other's; before and between them no line is lit."""
    schedule, lines = recorded.schedule, ("  A();", "else")  # lanes below 16 take the `if`, the others the `else`
    assert schedule is not None
    when = {5.8: (), schedule.beat(1000): (first,), schedule.beat(1960): (), schedule.beat(3000): (1 - first,)}
    for beat, lit in when.items():
        assert tuple(side for side in (0, 1) if amber(recorded, lines[side], beat)) == lit, f"beat {beat}"


def test_the_order_is_said_to_be_the_records_and_the_undivided_warp_another_run(recorded: Divergence) -> None:
    assert "// order: recorded, not promised" in {placed.text for placed in texts(recorded, 8.0)}
    placed = {each.text: each for each in texts(recorded, 15.5)}
    undivided = ("1 600 cycles", "the same work undivided, measured", "left")
    for number, words, edge in (undivided, ("4 000 cycles", "the divided warp, measured", "right")):
        assert getattr(placed[words], edge) == pytest.approx(getattr(placed[number], edge), abs=8)
        assert placed[words].top >= placed[number].bottom
    assert placed["1 600 cycles"].right < placed["4 000 cycles"].left
    assert not {"if (", "else"} & set(placed)  # the figures stand in the code's place


@pytest.mark.parametrize("recorded", [HIGH_FIRST, TOGETHER], indirect=True)
def test_each_length_is_named_at_its_end_beside_the_tracks(recorded: Divergence) -> None:
    """Both brackets' outer feet and the names to their right, on the picture; the longer run ends nearer to the camera."""
    for beat in (14.9, 15.4, 15.8):
        placed = {each.text: each for each in texts(recorded, beat)}
        for name, cycles in (("undivided", 1600.0), ("divided", 4000.0)):
            time = recorded.lane_time
            foot = (recorded.row.edges(beat, 1)[1] + 0.7, time.near - time.length * cycles / 4000.0 - 0.05, 0.0)
            top = (*foot[:2], BAR + TRACK + 0.22)
            ends = [recorded.view(beat).project([point], WIDTH, HEIGHT)[0] for point in (foot, top)]
            assert placed[name].left > max(float(end[0]) for end in ends) + 2, f"{name} at beat {beat}"
        assert placed["divided"].top > placed["undivided"].bottom


def test_without_a_record_nothing_is_invented(absent: Divergence) -> None:
    seen = [placed for beat in range(24) for placed in texts(absent, beat)]
    assert "// per-lane clocks not measured on NVIDIA GeForce RTX 3090" in {placed.text for placed in seen}
    assert not amber(absent, "  A();", 9.0) and not amber(absent, "else", 13.0)
    assert not {p.text for p in seen if p.kind == "axis"}  # no clock, no numbers of paths
    assert not [p.text for p in seen if "recorded" in p.text or p.text.endswith((" run", " wait", "cycles", "×"))]
    assert not [claim for claim in absent.log.claims if claim.key.startswith("traces.")]
    for beat in range(7, 18):
        assert not coloured(boxes(absent, beat), COMPUTE).any()  # no lane is shown at work


@pytest.mark.parametrize("recorded", [HIGH_FIRST, TOGETHER], indirect=True)
def test_texts_keep_apart_and_inside(recorded: Divergence, absent: Divergence) -> None:
    left, top, right, bottom = 96 / 4 - 1, 54 / 4 - 1, WIDTH - 96 / 4 + 1, HEIGHT - 54 / 4 + 1
    for scene in (recorded, absent):
        for beat in np.arange(0.0, 24.0, 0.3):
            placed = texts(scene, float(beat))
            for text in placed:
                inside = left <= text.left and text.right <= right and top <= text.top and text.bottom <= bottom
                assert inside, f"beat {beat}: {text}"
            for a, b in itertools.combinations([text for text in placed if text.kind != "lyric-lit"], 2):
                apart = a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
                assert apart, f"beat {beat}: {a.text!r} on {b.text!r}"


# ---- a path for each lane ------------------------------------------------------------------------------------------------


def swept() -> tuple[NDArray[np.float64], float]:
    """(cycles of the warp on 1 to 32 paths, how many times as long 32 take as one), out of the project's own file."""
    document = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
    series = {each["name"]: each["values"] for each in document["sweeps"]["divergence"]["series"]}
    return np.array([series["branching"][str(k)]["value"] for k in range(1, LANES + 1)]), series["slowdown"]["32"]["value"]


def turns(scene: Divergence, beat: float) -> Boxes:
    """The bars of time of the lanes that have had or have their turn."""
    drawn = boxes(scene, beat, [scene.turns])
    bars = coloured(drawn, COMPUTE)
    return Boxes(*(getattr(drawn, name)[bars] for name in Boxes.__dataclass_fields__))


def test_turns_are_as_long_as_what_their_paths_add_to_the_files_cycles() -> None:
    scene, (cycles, _) = passage("nvidia-h200"), swept()
    drawn = turns(scene, scene.at(6, 2))
    order = np.argsort(drawn.origin[:, 0])
    long = drawn.size[order, 1]
    assert long / long.sum() == pytest.approx(np.diff(cycles, prepend=0.0) / cycles[-1], abs=1e-5)
    close = drawn.origin[order, 1]
    assert close[:-1] == pytest.approx(close[1:] + long[1:], abs=1e-4)  # one begins where the one before it ends
    assert drawn.origin[order, 0] + WIDTH_OF_LANE / 2 == pytest.approx(np.arange(LANES) - 15.5)  # each before its lane


def test_one_lane_at_a_time_works_and_the_others_wait() -> None:
    scene, (cycles, _) = passage("nvidia-h200"), swept()
    a_beat = cycles[-1] / (scene.at(6) - scene.at(5, 2))
    for lane in (0, 7, 31):
        middle = scene.at(5, 2) + (cycles[lane] + (cycles[lane - 1] if lane else 0.0)) / 2 / a_beat
        tall = scene.warp.heights(middle)
        assert tall[lane] > 2 * np.delete(tall, lane).max()
        assert len(turns(scene, middle).origin) == lane + 1


def test_the_counter_stands_at_the_files_slow_down_from_the_last_downbeat_for_most_of_a_bar() -> None:
    scene, (cycles, slowdown) = passage("nvidia-h200"), swept()
    assert slowdown == pytest.approx(cycles[-1] / cycles[0])
    half = (scene.at(5, 2) + scene.at(6)) / 2
    counted = next(t.text for t in texts(scene, half) if "×" in t.text)
    assert float(counted.strip(" ×\u2007")) == pytest.approx(slowdown / 2, abs=0.6)  # a frame is 0.8
    for beat in (20.1, 21.0, 22.0, 22.5):
        assert {f"{slowdown:.1f} ×", "the time of one path, measured"} <= {t.text for t in texts(scene, beat)}
    claim = next(claim for claim in scene.log.claims if claim.key == "sweeps.divergence.series.slowdown.values.32")
    assert claim.text == f"{slowdown:.1f} ×"


def test_paths_that_were_left_out_share_what_is_between_those_measured(tmp_path: Path) -> None:
    document = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
    for each in document["sweeps"]["divergence"]["series"]:
        each["values"] = {paths: value for paths, value in each["values"].items() if paths in ("1", "2", "8", "32")}
    (tmp_path / "few.json").write_text(json.dumps(document))
    scene, (cycles, _) = passage(tmp_path / "few.json"), swept()
    found = scene.turns.cycles()
    assert found[[0, 1, 7, 31]] == pytest.approx(cycles[[0, 1, 7, 31]])
    assert np.diff(found[1:8]) == pytest.approx([(cycles[7] - cycles[1]) / 6] * 6)


def test_without_the_sweep_an_outline_stands_for_each_turn(recorded: Divergence) -> None:
    beat = recorded.at(6, 2)
    assert not len(turns(recorded, beat).origin)
    lines = staging.world_at(recorded, beat, [recorded.turns]).all_ribbons()
    close = np.minimum(lines.a[:, 1], lines.b[:, 1]).reshape(LANES, 12).min(axis=1)  # twelve edges a box
    assert np.diff(np.sort(close)) == pytest.approx([28.0 / LANES] * (LANES - 1), abs=1e-4)  # all equally long
    assert "cost by paths not measured on Test GPU" in {placed.text for placed in texts(recorded, beat)}
    assert not recorded.turns.working(recorded.at(5, 4)).any()


def test_the_tracks_are_gone_before_those_of_32_paths_are_laid(recorded: Divergence, absent: Divergence) -> None:
    for scene in (recorded, absent):
        world = staging.world_at(scene, scene.alone - 0.35, [scene.lane_time])
        assert not len(world.all_boxes().origin) and not len(world.all_ribbons().a)
        assert not len(boxes(scene, scene.alone - 0.36, [scene.turns]).origin)


def test_without_a_record_the_sides_are_outlined_one_after_the_other(absent: Divergence) -> None:
    half = (absent.first + absent.last) / 2
    spans = []
    for beat in (half - 0.1, absent.last):
        thin = staging.world_at(absent, beat, [absent.lane_time]).all_ribbons()
        x = thin.a[np.abs(thin.width - 0.045) < 1e-6, 0]
        spans.append((bool((x < 0.0).any()), bool((x > 0.0).any())))
    assert spans == [(True, False), (True, True)]
