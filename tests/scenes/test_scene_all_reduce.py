"""All-reduce: chunks go round as the kernels' own schedule says, and a link is as full as the record has it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.all_reduce import schedule
from measure.dataset import MEASUREMENTS
from measure.records import Device
from scenes.all_reduce import SENT, AllReduce
from scenes.props.ring import BAND, FOOT, RAIL, TALL, WIDE, Ring, Steps, spread
from scenes.stage.overlay import Placed
from scenes.stage.palette import COMPUTE, THREAD
from scenes.stage.world import World

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
from staging import boxes, placed, small_frames, staged, world_at

WIDTH, HEIGHT = 480, 270
SERVER = "hgx-h100-published"
DEVICE = Device("Test GPU", "test-gpu")


def ring(ranks: int) -> Ring:
    return Ring(DEVICE, Steps.fitted(ranks, 3.0, 10.0, 14.0))


def held(ranks: int, steps: int) -> dict[tuple[int, int], set[int]]:
    """(rank, chunk) -> whose contributions it holds after so many steps, by the schedule that the kernels follow.

    A chunk that was passed on while it is still being added up is of no more use where it was.
    """
    state = {(rank, chunk): {rank} for rank in range(ranks) for chunk in range(ranks)}
    for step in range(steps):
        now = [t for t in schedule.ring(ranks) if t.step == step]
        sent = {(t.source, t.chunk): state[t.source, t.chunk] for t in now if t.chunk is not None}
        for t in now:
            assert t.chunk is not None
            state[t.target, t.chunk] = sent[t.source, t.chunk] | (state[t.target, t.chunk] if t.adds else set())
            if t.adds:
                state[t.source, t.chunk] = set()
    lap = range(ranks - 1, 2 * (ranks - 1))
    stale = {(rank, chunk) for (rank, chunk), who in state.items() if len(who) < ranks}
    return {place: set() if steps in lap and place in stale else who for place, who in state.items()}


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_every_chunk_is_where_the_kernels_schedule_puts_it(ranks: int) -> None:
    made = ring(ranks)
    assert len(made.steps.arrives) == 2 * (ranks - 1)
    places = [(rank, chunk) for rank in range(ranks) for chunk in range(ranks)]
    feet = made.foot(*np.array(places).T)
    for steps, beat in enumerate([0.0, *made.steps.arrives.tolist()]):
        base, owner, _ = made.slabs(beat)
        found: dict[tuple[int, int], set[int]] = {place: set() for place in places}
        apart = np.linalg.norm(feet[None, :, :2] - base[:, None, :2], axis=-1)
        assert apart.min(axis=1) == pytest.approx(0.0, abs=1e-6)
        for which, who in zip(apart.argmin(axis=1).tolist(), owner.tolist(), strict=True):
            found[places[which]].add(who)
        assert found == held(ranks, steps), f"after {steps} steps"


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_slabs_stack_without_gaps_and_none_is_lost(ranks: int) -> None:
    made = ring(ranks)
    for beat in [0.0, *made.steps.arrives.tolist()]:
        base, _, _ = made.slabs(beat)
        if beat <= made.steps.arrives[ranks - 2]:
            assert len(base) == ranks * ranks  # the first lap moves contributions, it makes none
        columns: dict[tuple[float, ...], list[float]] = {}
        for x, y, z in np.round(base, 5).tolist():
            columns.setdefault((x, y), []).append(z)
        for floors in columns.values():
            assert sorted(floors) == pytest.approx([FOOT + made.slab * k for k in range(len(floors))], abs=1e-4)
    assert len(made.slabs(99.0)[0]) == ranks**3


@pytest.mark.parametrize(("ranks", "add", "carry"), [(8, 1.0, 0.5), (4, 2.0, 1.0), (2, 4.0, 4.0), (16, 0.25, 0.25)])
def test_steps_are_powers_of_two_of_a_beat_and_the_total_is_there_on_its_word(ranks: int, add: float, carry: float) -> None:
    steps = Steps.fitted(ranks, 3.0, 10.0, 14.0)
    arrives = steps.arrives
    assert np.diff(arrives[: ranks - 1]) == pytest.approx(add) and np.diff(arrives[ranks - 1 :]) == pytest.approx(carry)
    assert arrives[-1] == 14.0 and arrives[ranks - 2] <= 10.0 <= arrives[ranks - 1]
    assert (np.diff(arrives) >= np.maximum(steps.flight[1:], 0.0) - 1e-9).all()  # one step at a time


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_amber_is_where_something_is_added_and_nowhere_else(ranks: int) -> None:
    made = ring(ranks)
    _, owner, hot = made.slabs(float(made.steps.arrives[0]) + 0.01)
    assert hot.sum() == 2 * ranks and len(owner) == ranks**2  # in every chunk: what came and what it came to
    assert made.heat(0.0) == 0.0 and made.heat(float(made.steps.arrives[-1])) == 0.0


# ---- the scene -----------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with small_frames(WIDTH, HEIGHT, media=tmp_path / "media"):
        yield


def server(folder: Path, gpus: int, run: bool = False, link: bool = True) -> Path:
    """The published server's file with another number of GPUs; as if measured; without a rate of its links."""
    document: Any = json.loads((MEASUREMENTS / f"{SERVER}.json").read_text())
    document["device"]["name"] = "Test server"
    record = document["all_reduce"]
    record["gpus"]["value"] = gpus
    if not link:
        del record["link_one_way"]
    if run:
        document["run"] = {"date": "2026-01-02"}
        record["bus_bandwidth"] = {"ring": {"value": 90, "unit": "GB/s", "source": "measured"}}
    path = folder / "server.json"
    path.write_text(json.dumps(document))
    return path


def passage(*specs: str | Path) -> AllReduce:
    """The scene with all its props and texts."""
    scene = staged("all-reduce", *specs)
    assert isinstance(scene, AllReduce)
    return scene


def texts(scene: AllReduce, beat: float) -> list[Placed]:
    return placed(scene, beat, 0.1)


def magenta(scene: AllReduce, beat: float) -> int:
    return int((np.abs(boxes(scene, beat).color - np.array(THREAD)).max(axis=1) < 1e-3).sum())


@pytest.mark.parametrize("gpus", [2, 4, 8])
def test_the_ring_has_the_records_gpus_and_one_thread(gpus: int, tmp_path: Path) -> None:
    scene = passage(server(tmp_path, gpus))
    assert len(scene.ring.centres) == gpus
    for beat in np.arange(0.0, 24.0, 1.4):
        assert magenta(scene, float(beat)) == 1
        shown = texts(scene, float(beat))
        for a, b in combinations(shown, 2):
            clear = a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
            assert clear or a.text == b.text, f"beat {beat}: {a.text!r} over {b.text!r}"
        assert all(p.left >= 0.05 * WIDTH - 1 and p.right <= 0.95 * WIDTH + 1 for p in shown)
    assert f"step {2 * (gpus - 1)} of {2 * (gpus - 1)}" in {placed.text for placed in texts(scene, 14.2)}
    reach = np.array([[x, y + RAIL, FOOT] for x, y in scene.ring.centres])
    assert gpus < 8 or np.ptp(scene.camera_at(13.0).project(reach, 1920, 1080)[:, 0]) + 300 >= 0.6 * 1920


def test_figures_are_the_records_and_its_kind_is_said(tmp_path: Path) -> None:
    told = {}
    for name, spec in (("published", SERVER), ("measured", server(tmp_path, 4, run=True))):
        scene = passage(spec)
        told[name] = {placed.text for beat in (2.0, 17.0) for placed in texts(scene, beat)}
        assert {claim.key for claim in scene.log.claims} == {
            "all_reduce.gpus", "all_reduce.bus_bandwidth.ring", "all_reduce.link_one_way"
        }  # fmt: skip
    assert {"8 GPUs", "370 GB/s", "450 GB/s", "bus bandwidth, ring · published", SENT,
            "NVIDIA HGX H100, 8 GPUs · published figures"} <= told["published"]  # fmt: skip
    assert "2(N − 1)/N" in SENT  # what a rank of a ring sends, of its buffer (nccl-tests, doc/PERFORMANCE.md)
    switch = "drawn as a ring, wired through a switch"  # of a record that knows of NVLink SHARP
    assert switch in told["published"] and switch not in told["measured"]
    assert {"4 GPUs", "90 GB/s", "bus bandwidth, ring · measured 2026-01-02",
            "Test server · measured 2026-01-02"} <= told["measured"]  # fmt: skip


def test_the_foot_line_says_whose_figures_these_are() -> None:
    """The film's own GPU stands there only where there are no figures of another."""
    both = passage("nvidia-h200", SERVER)
    for beat in (2.0, 13.0, 20.0):
        words = {placed.text for placed in texts(both, beat)}
        assert "NVIDIA HGX H100, 8 GPUs · published figures" in words
        assert not any("measured" in line or "H200" in line for line in words)
    alone = {placed.text for placed in texts(passage("nvidia-h200"), 13.0)}
    assert any(line.startswith("NVIDIA H200 · measured 20") for line in alone)


def test_a_link_is_as_full_as_the_bus_bandwidth_is_of_its_rate(tmp_path: Path) -> None:
    scene = passage(SERVER)
    world = World()
    scene.ring.draw(world, 18.0)
    widest = max(float(batch.width.max()) for batch in world.ribbons)
    assert widest == pytest.approx(BAND * 370 / 450, rel=1e-4)
    unknown = passage(server(tmp_path, 8, link=False))
    assert unknown._share() is None and not any("450" in placed.text for placed in texts(unknown, 18.0))


def test_without_a_record_the_ring_runs_in_outline_and_nothing_is_claimed() -> None:
    scene = passage("rtx-3090-published")
    words = {placed.text for placed in texts(scene, 8.0)}
    assert {"all-reduce not measured", "on NVIDIA GeForce RTX 3090"} <= words
    world, later = World(), World()
    scene.ring.draw(world, 1.0)
    scene.ring.draw(later, 9.0)
    here, there = world.all_boxes(), later.all_boxes()
    # one GPU stands, what is sent are outlines on their way; no die is at work
    assert np.array_equal(here.origin, there.origin) and not (np.abs(there.color - COMPUTE).max(1) < 0.05).any()
    assert not np.array_equal(world.all_ribbons().a, later.all_ribbons().a)
    assert scene.ring.rider(4.0) != scene.ring.rider(8.0) and magenta(scene, 8.0) == 1
    assert not any("GB/s" in placed.text for beat in (8.0, 12.0, 17.0, 20.0) for placed in texts(scene, beat))
    assert not scene.log.claims
    assert SENT in {placed.text for placed in texts(scene, 16.0)}  # true of every ring, so no outline stands without a word


def test_the_song_stands_on_no_gpus_buffer() -> None:
    """While the buffers part, nothing that shines is behind the words that are sung."""
    for scene in (passage(SERVER), passage("rtx-3090-published")):
        ring = scene.ring
        for beat in (0.0, 1.5, 3.0):
            feet = np.column_stack([ring.centres[:, 0], ring.centres[:, 1] + RAIL, np.full(ring.ranks, FOOT)])
            flat = scene.camera_at(beat).project(feet, 1920, 1080)
            words = [text for text in texts(scene, beat) if text.kind == "lyric"]
            assert words and flat[:, 2].min() > 0.0
            top = min(text.top for text in words) * 1080 / HEIGHT
            inside = (flat[:, 0] > 0) & (flat[:, 0] < 1920)
            assert flat[inside, 1].max() < top, beat


def test_ranks_of_one_gpu_are_no_links() -> None:
    scene = passage("nvidia-h200")
    assert scene.data.has("virtual_all_reduce") and scene.ring.real == 1


@pytest.mark.parametrize("ranks", [2, 3, 4, 8, 16])
def test_copies_are_held_up_in_turn_from_the_first_beat_to_the_last(ranks: int) -> None:
    counts = np.array(spread(ranks, 18.5, 22.0))
    gaps = np.diff(counts)
    assert len(counts) == ranks and (counts[0], counts[-1]) == (18.5, 22.0) and (gaps > 0.0).all()
    assert np.ptp(gaps[1:]) < 1e-9 if ranks > 2 else True
    assert all(float(np.log2(gap)).is_integer() for gap in gaps[1:])


@pytest.mark.parametrize("gpus", [2, 4, 8])
def test_the_count_is_that_of_the_copies_held_up_and_ends_on_the_hush(gpus: int, tmp_path: Path) -> None:
    file = server(tmp_path, gpus, run=True)
    told = int(json.loads(file.read_text())["all_reduce"]["gpus"]["value"])
    scene = passage(file)
    feet = scene.ring.foot(np.arange(gpus), np.zeros(gpus, np.int64))
    seen = []
    for beat in (18.3, 18.9, 20.3, 21.4, 22.35):
        world = World()
        scene.ring.draw(world, beat)
        boxes = world.all_boxes()
        middle, top = boxes.origin[:, :2] + boxes.size[:, :2] / 2, boxes.origin[:, 2] + boxes.size[:, 2]
        up = sum(bool(((np.abs(middle - foot[:2]) < 0.02).all(axis=1) & (top > FOOT + TALL + 0.3)).any()) for foot in feet)
        words = {placed.text.strip() for placed in texts(scene, beat)}
        named = [word for word in words if word.endswith(" GPUs") or word == "1 GPU"]
        assert named == ([] if not up else ["1 GPU"] if up == 1 else [f"{up} GPUs"]), f"beat {beat}: {words}"
        assert ("show the same sum" in words) == (up > 1)
        seen.append(up)
    assert seen[:2] == [0, 1] and seen[-1] == told and seen == sorted(seen)


def test_the_thread_ties_all_copies_and_the_last_two_bars_never_rest() -> None:
    gpus = int(json.loads((MEASUREMENTS / f"{SERVER}.json").read_text())["all_reduce"]["gpus"]["value"])
    scene = passage(SERVER)
    feet = {tuple(foot[:2].round(3)) for foot in scene.ring.foot(np.arange(gpus), np.zeros(gpus, np.int64))}
    before = None
    for beat in np.arange(18.75, 24.0, 0.25):
        world = world_at(scene, float(beat))
        ribbons, camera = world.all_ribbons(), scene.camera_at(float(beat))
        drawn = (camera.eye, ribbons.a.tobytes(), ribbons.b.tobytes())
        assert drawn != before, f"beat {beat}"
        before = drawn
    tied = next(prop for prop in scene.props if type(prop).__name__ == "Tied")
    a, b = tied.line(23.0)  # type: ignore[attr-defined]
    assert len(a) == gpus and {tuple(p[:2].round(3)) for p in a} == {tuple(p[:2].round(3)) for p in b} == feet


@pytest.mark.parametrize("gpus", [2, 4, 8])
def test_no_sign_stands_behind_another_gpus_buffer_or_out_of_the_frame(gpus: int, tmp_path: Path) -> None:
    scene = passage(server(tmp_path, gpus))
    for beat in np.arange(6.0, 21.1, 1.0):
        camera = scene.camera_at(float(beat))
        for rank, (plane, _) in enumerate(scene._ranks()):
            assert not callable(plane)
            start = {"left": 0.0, "centre": -0.5, "right": -1.0}[plane.align] * plane.width
            along = np.linspace(start, start + plane.width, 11)[:, None] * (1.0, 0.0, 0.0)
            seen = camera.project(np.array(plane.at) + along + (0.0, 0.0, plane.height / 2), 1920, 1080)
            assert 0 < seen[:, 0].min() and seen[:, 0].max() < 1920, f"beat {beat}: GPU {rank}"
            hidden = np.zeros(len(seen), bool)
            for other, (x, y) in enumerate(scene.ring.centres.tolist()):
                wide = WIDE * 0.42
                corners = [
                    (x + dx, y + RAIL + dy, z) for dx in (-wide, wide) for dy in (-0.23, 0.23) for z in (FOOT, FOOT + TALL)
                ]
                box = camera.project(corners, 1920, 1080)
                if other != rank and box[:, 2].mean() < seen[:, 2].mean():
                    hidden |= ((seen[:, :2] > box[:, :2].min(0)) & (seen[:, :2] < box[:, :2].max(0))).all(axis=1)
            assert hidden.mean() <= 0.2, f"beat {beat}: GPU {rank} is hidden by {hidden.mean():.0%}"


def test_another_algorithms_bus_bandwidth_is_no_rate_on_a_wire(tmp_path: Path) -> None:
    file = server(tmp_path, 8)
    document: Any = json.loads(file.read_text())
    del document["all_reduce"]["bus_bandwidth"]["ring"]
    file.write_text(json.dumps(document))
    scene = passage(file)
    words = {placed.text for placed in texts(scene, 17.0)}
    told, link = (document["all_reduce"][key] for key in ("bus_bandwidth", "link_one_way"))
    assert f"{told['nvls']['value']} GB/s" in words and "to compare by: no rate on a wire" in words
    assert scene._share() is None and not any(str(link["value"]) in word for word in words)
