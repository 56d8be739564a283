"""Indexing: the staircase is what the index kernel wrote, its memory is what was stored, its fence is around what was not."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from measure import schema
from measure.records import SCHEMA_VERSION, Device, IndexTrace, Measurements, Run, Traces
from scenes.indexing import Indexing
from scenes.props.seats import REST, Hall
from scenes.props.tiers import CELL, TRAY, UNIT, Tiers
from scenes.stage.overlay import Canvas
from scenes.stage.palette import COMPUTE, MEMORY, THREAD
from scenes.stage.world import Boxes, World

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
from staging import boxes, placed, small_frames, staged, texts, world_at

WIDTH, HEIGHT, SEEN = 480, 270, 0.1


def kernel_output(blocks: int, threads: int, n: int) -> IndexTrace:
    """What `if (i < n) out[b * threads + t] = i` leaves in an array that held -1."""
    return IndexTrace(blocks, threads, n, tuple(i if i < n else -1 for i in range(blocks * threads)))


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with small_frames(WIDTH, HEIGHT, media=tmp_path / "media"):
        yield


def passage(spec: str | Path) -> Indexing:
    scene = staged("indexing", spec)
    assert isinstance(scene, Indexing)
    return scene


@pytest.fixture
def recorded(tmp_path: Path, request: pytest.FixtureRequest) -> Indexing:
    """The scene over a hand-made file; the project's own launch shape unless the test names another record."""
    record = getattr(request, "param", kernel_output(8, 32, 250))
    path = tmp_path / "test-gpu.json"
    device = Device("Test GPU", "test-gpu")
    schema.save(Measurements(SCHEMA_VERSION, device, Run("2031-05-06"), traces=Traces(index=record)), path)
    return passage(path)


@pytest.fixture
def absent() -> Indexing:
    return passage("rtx-3090-published")


def hued(drawn: Boxes, colour: tuple[float, float, float]) -> NDArray[np.bool_]:
    """Boxes of one of the palette's hues, whatever their brightness."""
    lit = drawn.color / np.maximum(drawn.color.max(axis=1, keepdims=True), 1e-6)
    return np.asarray(np.abs(lit - np.array(colour, np.float32) / max(colour)).max(axis=1) < 0.06)


CLAMPED = IndexTrace(
    4, 8, 32, tuple(8 * b + min(t, 5) for b in range(4) for t in range(8))
)  # a kernel that errs is drawn as it is


@pytest.mark.parametrize("recorded", [kernel_output(8, 32, 250), kernel_output(4, 8, 29), CLAMPED], indirect=True)
def test_every_seat_stands_as_high_as_the_number_that_its_thread_wrote(recorded: Indexing) -> None:
    tiers = recorded.tiers
    beat = recorded.at(6, 3)
    height = tiers.tier(beat)[:, None] + tiers.rise(beat)
    assert tiers.trace is not None
    wrote = np.array(tiers.trace.values).reshape(height.shape)
    np.testing.assert_allclose(height[wrote >= 0], TRAY + UNIT * wrote[wrote >= 0], rtol=1e-9)
    # and that is what is drawn: one box for each seat but the followed one, as high as that above its tier
    drawn = recorded_seats(tiers, beat)
    tops = np.sort((drawn.origin + drawn.size)[:, 2])
    expected = height + REST
    expected[wrote < 0] = tiers.tier(beat)[-1] + 0.1 * REST
    followed = tiers.hall.block * tiers.hall.threads + tiers.hall.thread
    np.testing.assert_allclose(tops, np.sort(np.delete(expected.ravel(), followed)), atol=1e-4)


def recorded_seats(tiers: Tiers, beat: float) -> Boxes:
    world = World()
    tiers._draw_seats(world, beat)
    return world.boxes[0]


EQUATION = re.compile(r"(?:(\d+)=)?(\d+)(?:\*(\d+)(?:\+(\d+))?)?")


def equation(scene: Indexing, beat: float) -> str:
    """What stands under the formula, however faint: the whole numbers' line from left to right, without spaces."""
    camera = scene.camera_at(beat)
    pixels = np.zeros((HEIGHT, WIDTH), np.uint32)
    canvas = Canvas(pixels, scene.clock.frame(beat), beat, lambda points: camera.project(points, WIDTH, HEIGHT), scene.log)
    for text in scene.texts:  # the letters alone: the world takes long to paint
        text.draw(canvas)
    line = sorted((t for t in canvas.placed if abs(t.bottom - 322 / 1080 * HEIGHT) < 0.1), key=lambda t: t.left)
    return "".join(t.text for t in line if not t.text.startswith("n ="))


SUMS = [
    ((1, 2), "3"), ((1, 3.5), "3*32"), ((1, 4), "3*32"), ((2, 1), "96=3*32"), ((2, 4), "96=3*32"),
    ((3, 1), "96=3*32+0"), ((3, 2), "104=3*32+8"), ((3, 4), "120=3*32+24"), ((4, 2), "120=3*32+24"),
]  # fmt: skip


@pytest.mark.parametrize(("when", "written"), SUMS)
def test_blocks_passed_come_before_threads_counted(recorded: Indexing, when: tuple[int, float], written: str) -> None:
    """3 blocks of 32 are 96 and 24 more make 120: a block an eighth note, then eight threads a beat."""
    assert (recorded.hall.block, recorded.hall.thread) == (3, 24)
    assert equation(recorded, recorded.at(*when)) == written


@pytest.mark.parametrize("recorded", [kernel_output(8, 32, 250), kernel_output(4, 8, 29)], indirect=True)
def test_the_equation_is_true_at_every_eighth_of_a_beat(recorded: Indexing) -> None:
    block, threads, thread = recorded.hall.block, recorded.hall.threads, recorded.hall.thread
    seen = set()
    for beat in np.arange(0.0, recorded.at(6), 0.125):
        written = equation(recorded, float(beat))
        found = EQUATION.fullmatch(written)
        assert found or not written, f"beat {beat:g}: {written}"
        if found and found[1]:
            assert int(found[1]) == int(found[2]) * int(found[3]) + int(found[4] or 0), f"beat {beat:g}: {written}"
            seen.add(int(found[1]))
    assert min(seen) == block * threads and max(seen) == block * threads + thread


def test_the_followed_threads_recorded_value_is_shown(tmp_path: Path) -> None:
    """A kernel that wrote something else is shown as it wrote: nothing is corrected."""
    right = kernel_output(8, 32, 250)
    values = list(right.values)
    values[3 * 32 + 24] = 121
    path = tmp_path / "other.json"
    wrong = Traces(index=IndexTrace(8, 32, 250, tuple(values)))
    schema.save(Measurements(SCHEMA_VERSION, Device("Test GPU", "test-gpu"), Run("2031-05-06"), traces=wrong), path)
    scene = passage(path)
    shown = [t.text for t in placed(scene, scene.at(4, 2), SEEN)]
    assert shown.count("121") == 1 and shown.count("120") == 1  # over the cube what it wrote, under the formula what it says


def test_the_last_thread_of_each_block_tells_its_number(recorded: Indexing) -> None:
    """Blocks of 32: 31, 63, 95 and so on, at the ends of their rows once they have counted."""
    hall = recorded.hall
    ends = {str(hall.threads * (b + 1) - 1) for b in range(hall.blocks)}

    def told(beat: float) -> set[str]:
        return texts(recorded, beat) & ends

    assert not told(recorded.at(3, 4)) and told(recorded.at(5)) == ends and not told(recorded.at(6, 2))


@pytest.mark.parametrize(
    ("recorded", "n"), [(kernel_output(8, 32, 250), 250), (kernel_output(4, 8, 29), 29)], indirect=["recorded"]
)
def test_memory_has_a_cell_for_each_stored_value_and_only_memory_is_cyan(recorded: Indexing, n: int) -> None:
    for beat in np.arange(0.0, recorded.at(4), 1.0):
        assert not hued(boxes(recorded, float(beat)), MEMORY).any()
    drawn = boxes(recorded, recorded.at(6, 4))
    cyan = hued(drawn, MEMORY)
    assert cyan.sum() == n
    assert np.allclose(drawn.size[cyan], CELL, atol=1e-3)
    assert f"n = {n}" in texts(recorded, recorded.at(6, 3))


def test_a_row_stores_on_each_eighth_note(recorded: Indexing) -> None:
    """Bar 5 and the seven eighth notes after its first beat: each time 32 more cells are lit, 26 the last time."""

    def lit(moment: float) -> int:
        drawn = boxes(recorded, moment)
        return int((hued(drawn, MEMORY) & (drawn.emission > 0.3)).sum())

    assert [lit(recorded.at(5, 1 + k / 2)) for k in range(8)] == [32, 64, 96, 128, 160, 192, 224, 250]
    assert lit(recorded.at(4, 4.9)) == 0


def test_the_fence_rises_around_exactly_the_threads_that_stored_nothing(recorded: Indexing) -> None:
    assert not world_at(recorded, recorded.at(5, 4)).ribbons
    hollow, rails = world_at(recorded, recorded.at(6, 2)).ribbons
    assert len(hollow.a) == 6 * 12  # twelve edges a seat
    hall = recorded.hall
    left, right = hall.x(25.5), hall.x(31.5)  # threads 26 to 31 of the last block: i = 250 to 255
    assert rails.a[:, 0].min() == pytest.approx(left) and rails.a[:, 0].max() == pytest.approx(right)
    assert hollow.a[:, 0].min() > left and hollow.a[:, 0].max() < right


def test_who_is_turned_away_runs_against_the_fence_and_not_through_it(recorded: Indexing) -> None:
    """Seats of threads 26 to 31 reach for memory on every beat of the last bar; their front stays behind the front rail."""
    reached = set()
    for beat in np.arange(recorded.at(6), recorded.at(6, 4), 0.1):
        hollow, rails = world_at(recorded, float(beat)).ribbons
        fronts = hollow.a.reshape(6, 12, 3)[:, :, 1].min(axis=1)
        assert (fronts > rails.a[:, 1].min()).all()
        reached.add(round(float(np.ptp(fronts)), 2))
    assert max(reached) > 0.4 and len(reached) > 5  # one after another, never all at rest


def test_the_launch_is_said_to_be_small_and_why_some_store_nothing(recorded: Indexing) -> None:
    """Later passages launch blocks of 256 threads: this one is an example.  8 x 32 is 256, and n is 250."""
    assert "a small launch: 8 blocks × 32 threads, one code" in texts(recorded, recorded.at(3))
    assert "8 × 32 = 256 threads for 250 numbers" in texts(recorded, recorded.at(6, 3))


def test_exactly_one_cube_always(recorded: Indexing) -> None:
    for beat in np.arange(0.0, recorded.clock.beats, 0.5):
        assert hued(boxes(recorded, float(beat)), THREAD).sum() == 1


def test_absent_record_plays_as_plain_arithmetic(absent: Indexing) -> None:
    assert Hall.of(absent.data) == Hall(8, 32)
    for beat in np.arange(0.0, absent.clock.beats, 1.0):
        world = world_at(absent, float(beat))
        drawn = world.all_boxes()
        assert not hued(drawn, MEMORY).any() and not hued(drawn, COMPUTE).any()  # nothing ran, nothing was stored
        assert not world.sprites and not world.ribbons
    for bar in range(1, 7):
        assert "a small example, not run on NVIDIA GeForce RTX 3090" in texts(absent, absent.at(bar, 2))
    said = texts(absent, absent.at(6, 3))
    assert {"if (i < n) ", "out[i]", " = i"} <= said and not any(words.startswith(("n = ", "i ≥ n")) for words in said)
    assert not absent.log.claims


@pytest.mark.parametrize("which", ["recorded", "absent"])
def test_texts_keep_apart_and_inside_the_safe_area(which: str, request: pytest.FixtureRequest) -> None:
    scene: Indexing = request.getfixturevalue(which)
    for beat in np.arange(0.0, scene.clock.beats, 0.25):
        here = [t for t in placed(scene, float(beat), SEEN) if t.kind != "lyric-lit" and t.text.strip()]
        for one in here:
            where = f"beat {beat:g}: {one.text}"
            assert one.left >= 0.05 * WIDTH - 1 and one.right <= 0.95 * WIDTH + 1, where
            assert one.top >= 0.05 * HEIGHT and one.bottom <= 0.96 * HEIGHT, where
        for one, other in itertools.combinations(here, 2):
            apart = one.right <= other.left or other.right <= one.left or one.bottom <= other.top or other.bottom <= one.top
            assert apart, f"beat {beat:g}: {one.text!r} and {other.text!r}"


def test_the_committed_recording_of_the_h200_is_what_its_kernel_should_write() -> None:
    """The index kernel's own arithmetic, on a real GPU: everything below n stored, nothing beyond."""
    scene = passage("nvidia-h200")
    tiers = scene.tiers
    assert tiers.trace is not None
    assert tiers.trace == kernel_output(tiers.trace.blocks, tiers.trace.threads, tiers.trace.n)
    height = tiers.tier(scene.at(6, 3))[:, None] + tiers.rise(scene.at(6, 3))
    index = np.arange(height.size).reshape(height.shape)
    np.testing.assert_allclose(height[index < tiers.trace.n], TRAY + UNIT * index[index < tiers.trace.n])
