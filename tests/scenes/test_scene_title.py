"""Title: one cube, a plain that grows beat by beat, and a cut into the next passage that nobody sees."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from audio.timeline import Timeline
from measure import schema
from measure.records import SCHEMA_VERSION, Device, Measurements, Run
from scenes.stage.overlay import Placed
from scenes.stage.palette import MEMORY, THREAD
from scenes.stage.passage import Passage
from scenes.stage.world import Boxes
from scenes.title import Words

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
from staging import boxes, placed, small_frames, staged, world_at

WIDTH, HEIGHT = 480, 270


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with small_frames(WIDTH, HEIGHT, media=tmp_path / "media"):
        yield


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    path = tmp_path / "test-gpu.json"
    schema.save(Measurements(SCHEMA_VERSION, Device("Test GPU", "test-gpu"), Run("2031-05-06T07:08:09Z")), path)
    return path


def texts(scene: Passage, beat: float) -> list[Placed]:
    """What is written in the world at a beat, as it stands on the frame."""
    found = []
    for plane in world_at(scene, beat).planes:
        if plane.alpha > 0.1:
            shift = {"left": 0.0, "right": -plane.width}[plane.align]
            ends = [np.add(plane.at, np.multiply(plane.along, shift + part)) for part in (0.0, plane.width)]
            corners = [end + np.multiply(plane.up, up) for end in ends for up in (0.0, plane.height)]
            x, y, _ = scene.view(beat).project(np.array(corners), WIDTH, HEIGHT).T
            found.append(Placed(plane.text, x.min(), y.min(), x.max(), y.max(), plane.alpha, "text"))
    return found


def of_colour(drawn: Boxes, colour: tuple[float, float, float]) -> int:
    return int((np.abs(drawn.color - np.array(colour, np.float32)).max(axis=1) < 0.02).sum())


def test_exactly_one_cube_and_no_memory_at_every_half_beat(measured: Path) -> None:
    scene = staged("title", measured)
    for beat in np.arange(0.0, scene.clock.beats, 0.5):
        drawn = boxes(scene, float(beat))
        assert of_colour(drawn, THREAD) == 1
        assert of_colour(drawn, MEMORY) == 0


def test_the_plain_grows_on_every_beat_until_it_is_full(measured: Path) -> None:
    scene = staged("title", measured)
    counts = [len(boxes(scene, float(beat)).origin) for beat in range(13)]
    assert counts[0] == 1
    assert all(later > earlier for earlier, later in itertools.pairwise(counts[:11]))
    assert counts[-1] > 2500


def test_the_cube_stands_on_the_floor_on_every_beat(measured: Path) -> None:
    scene = staged("title", measured)
    for beat in range(1, 16):
        drawn = boxes(scene, float(beat))
        cube = np.argmin(np.abs(drawn.color - np.array(THREAD, np.float32)).max(axis=1))
        assert drawn.origin[cube, 2] == pytest.approx(0.0, abs=1e-6)


def test_a_ring_of_light_leaves_the_cube_on_every_beat_and_none_is_as_bright_as_it(measured: Path) -> None:
    scene = staged("title", measured)
    for beat in (8.0, 11.0, 13.0):
        reached = []
        for phase in (0.15, 0.35, 0.6):
            drawn = boxes(scene, beat + phase)
            thread = int(np.argmin(np.abs(drawn.color - np.array(THREAD, np.float32)).max(axis=1)))
            far = np.hypot(*(drawn.origin[:, :2] + drawn.size[:, :2] / 2).T)
            lit = (drawn.emission > 0.02) & (far < 12.0) & (np.arange(len(far)) != thread)
            assert drawn.emission[lit].max() < drawn.emission[thread] + 1e-6
            reached.append(float(np.average(far[lit], weights=drawn.emission[lit])))
        assert reached == sorted(reached) and reached[-1] - reached[0] > 2.0


def test_the_cut_into_indexing_is_seamless(measured: Path) -> None:
    title, indexing = staged("title", measured), staged("indexing", measured)
    end = title.clock.beats
    here, there = title.camera_at(end), indexing.camera_at(0.0)
    assert here.eye == pytest.approx(there.eye, abs=1e-9) and here.target == pytest.approx(there.target, abs=1e-9)
    # and no jolt: the eye's speed changes by less than 0.2 units a beat, a quarter of a seat
    before = np.subtract(here.eye, title.camera_at(end - 0.01).eye)
    after = np.subtract(indexing.camera_at(0.01).eye, there.eye)
    assert np.linalg.norm(before - after) / 0.01 < 0.2

    def near(drawn: Boxes) -> list[tuple[float, ...]]:
        close = np.hypot(*drawn.origin[:, :2].T) < 12.0
        return sorted(tuple(np.round(row, 3).tolist()) for row in np.hstack([drawn.origin, drawn.size])[close])

    assert near(boxes(title, end)) == near(boxes(indexing, 0.0))


def on_the_wall(scene: Passage, beat: float) -> dict[str, tuple[float, float, float, float]]:
    """Boxes of all that is written, measured on the wall that it stands on: from along it and up to along it and up."""
    found = {}
    for plane in world_at(scene, beat).planes:
        assert plane.align == "left" and plane.up == (0.0, 0.0, 1.0)
        x = float(np.dot(plane.at, plane.along))
        found[plane.text] = (x, plane.at[2], x + plane.width, plane.at[2] + plane.height)
    return found


def named(folder: Path, name: str) -> Path:
    path = folder / "named.json"
    schema.save(Measurements(SCHEMA_VERSION, Device(name, "named"), Run("2031-05-06T07:08:09Z")), path)
    return path


NAMES = (
    "A",
    "NVIDIA GeForce RTX 3090",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    "one name after another " * 11,  # near the 256 bytes that CUDA has for a name
    "N" * 255,
)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_the_gpu_is_called_its_lines_are_clear_of_the_title_and_of_the_plain(name: str, tmp_path: Path) -> None:
    scene = staged("title", named(tmp_path, name))
    for beat in (11.0, 12.2, 13.5):
        walls = on_the_wall(scene, beat)
        words, lines = {w: walls.pop(w) for w in ("HOW", "KERNELS", "CLIMB")}, list(walls.values())
        assert 1 <= len(lines) <= 3
        seen = " ".join(walls).removesuffix("measured 2031-05-06").rstrip(" ·").removesuffix("…").rstrip()
        assert seen and name.startswith(seen) and ("measured 2031-05-06" in " ".join(walls))
        assert seen == name or len(name) > 60, "a name that a GPU has is not cut short"
        for line, word in itertools.product(lines, words.values()):
            assert line[0] > word[2] + 0.4 or line[3] < word[1] - 0.2
        assert max(line[2] for line in lines) <= words["CLIMB"][2] + 1e-6
        for one, other in itertools.pairwise(lines):
            assert other[3] < one[1] - 0.1
        drawn = boxes(scene, beat)
        thread = np.abs(drawn.color - np.array(THREAD, np.float32)).max(axis=1) < 0.02
        assert min(line[1] for line in lines) > (drawn.origin + drawn.size)[~thread, 2].max()
        on_frame = {text.text: text for text in texts(scene, beat)}
        how = on_frame["HOW"]
        assert all(on_frame[line].left > how.right for line in walls)


@pytest.mark.parametrize("spec", ["nvidia-h200", "rtx-3090-published"])
def test_where_the_figures_come_from_is_read_on_what_lies_behind_it(spec: str) -> None:
    """4.5 to 1 between its ink and the brightest fiftieth of the frame there without it (WCAG 2.2, 1.4.3)."""
    scene = staged("title", spec)
    for beat in (11.0, 11.6, 12.3, 13.5):
        frame = np.zeros((HEIGHT, WIDTH), np.uint32)
        scene.paint(scene.clock.frame(beat), frame)
        bare = np.zeros((HEIGHT, WIDTH), np.uint32)
        without = staged("title", spec)
        without.props[:] = [prop for prop in without.props if not isinstance(prop, Words)]
        without.paint(without.clock.frame(beat), bare)
        lines = [text for text in texts(scene, beat) if text.text not in ("HOW", "KERNELS", "CLIMB")]
        assert lines
        for line in lines:
            cut = slice(int(line.top), int(line.bottom) + 1), slice(int(line.left), int(line.right) + 1)
            ink, ground = np.percentile(lightness(frame[cut]), 98), np.percentile(lightness(bare[cut]), 98)
            assert (ink + 0.05) / (ground + 0.05) >= 4.5, f"beat {beat}: {line.text!r}"


def lightness(pixels: np.ndarray) -> np.ndarray:
    """Relative luminance of sRGB pixels, 0..1 (WCAG 2.2)."""
    channels = np.stack([pixels >> shift & 255 for shift in (0, 8, 16)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return np.tensordot([0.2126, 0.7152, 0.0722], linear, 1)


def test_title_names_the_gpu_and_the_day_and_stays_a_bar(measured: Path) -> None:
    scene = staged("title", measured)
    shown = [beat for beat in np.arange(0.0, 16.0, 0.25) if any("Test GPU" in t.text for t in texts(scene, float(beat)))]
    byline = next(t.text for t in texts(scene, 12.0) if "Test GPU" in t.text)
    assert byline == "Test GPU · measured 2031-05-06"
    assert shown[-1] - shown[0] >= 2.5
    whole = [b for b in np.arange(0.0, 16.0, 0.25) if {t.text for t in texts(scene, float(b))} >= {"HOW", "KERNELS", "CLIMB"}]
    assert whole[-1] - whole[0] >= 4.0
    assert min(t.bottom - t.top for t in texts(scene, 13.0)) >= 0.022 * HEIGHT


def test_published_figures_are_called_published() -> None:
    scene = staged("title", "rtx-3090-published")
    lines = [t.text for t in texts(scene, 12.0)]
    assert any(line.endswith("published figures") for line in lines) and not any("measured" in line for line in lines)


def test_texts_keep_apart_and_inside_the_safe_area(measured: Path) -> None:
    scene = staged("title", measured)
    for beat in np.arange(0.0, scene.clock.beats, 0.5):
        here = texts(scene, float(beat))
        for one in here:
            assert one.left >= 0.05 * WIDTH - 1 and one.right <= 0.95 * WIDTH + 1 and one.top >= 0.05 * HEIGHT
        for one, other in itertools.combinations(here, 2):
            assert one.right <= other.left or other.right <= one.left or one.bottom <= other.top or other.bottom <= one.top


def test_before_the_first_downbeat_the_cube_rests_under_no_heading() -> None:
    """A song whose first bar begins after three seconds: six beats at 120 a minute, nothing written, nothing hops."""
    beats = [3.0 + 0.5 * k for k in range(4 * 110 + 1)]
    timeline = Timeline("late", beats[-1] + 2.0, tuple(beats), tuple(range(0, 4 * 110 + 1, 4)))
    scene = staged("title", timeline=timeline)
    first = scene.clock.at_frame(scene.clock.start)
    assert first == pytest.approx(-6.0, abs=0.1)
    for beat in np.arange(first, 0.0, 0.2):
        drawn = boxes(scene, float(beat))
        lowest = drawn.origin[np.abs(drawn.color - np.array(THREAD, np.float32)).max(axis=1) < 0.02][:, 2].min()
        assert lowest == pytest.approx(0.0, abs=0.02), beat
        assert not placed(scene, float(beat), seen=0.1)
