"""Launch: every block is on the SM that ran it, as long as recorded, on one scale of time; nothing recorded, nothing moves."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from measure import schema
from measure.dataset import MEASUREMENTS
from measure.records import SCHEMA_VERSION, Device, LaunchTrace, Measurements, Memory, Quantity, Run, Traces
from scenes.launch import Launch
from scenes.props.chip import Chip
from scenes.props.flight import DROP, SETTLE, TRAVEL, Flight, FlightError, Rack, Stretch, Tray, seat_grid, seats, sites
from scenes.props.floorplan import Floats, Rect
from scenes.props.waves import Pennant, Rounds, Waves
from scenes.stage.camera import Camera
from scenes.stage.palette import COMPUTE, THREAD
from scenes.stage.world import Boxes, World

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
from staging import boxes, placed, small_frames, staged, texts, world_at

WIDTH, HEIGHT, SEEN = 480, 270, 0.1
Box = tuple[float, float, float, float]
CORNERS = np.array([(-1, 0, 0), (1, 0, 0), (-1, 0, 1), (1, 0, 1)])  # of a sign, in its half width and its height
START, END = 8.0, 14.0  # the recording fills bar 3 beat 1 to bar 4 beat 3
SMS = 6
# two at once on each SM: 0 to 100 ns, then 120 to 220; block 12 alone up to 300
STARTS = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 120, 120, 120)
ENDS = (100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 300, 220, 220)
ON = (0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 3, 1, 3)


def measured(value: float, unit: str) -> Quantity:
    return Quantity(value, unit, "measured")


def trace(sm: tuple[int, ...] = ON) -> LaunchTrace:
    whole, latency = measured(300, "ns"), measured(4.26e-6, "s")
    return LaunchTrace(len(sm), 256, "work", sm, STARTS, ENDS, measured(32, "ns"), whole, latency, measured(2, ""))


DEVICE = Device("Test GPU", "test-gpu", sm_count=measured(SMS, ""), l2_size=measured(5e7, "B"), memory=Memory("HBM3e", 4))


def flight(record: LaunchTrace | None = None) -> Flight:
    chip = Chip(DEVICE)
    made = Flight(record or trace(), chip, Tray(Rect(-3, 4, 3, 7), 0.8, 15, 0.2), Stretch(START, END, 300.0), launch=4.0)
    chip.work = made.work
    return made


def passage(*specs: str | Path) -> Launch:
    """The scene with all its props and texts, ready to paint any frame."""
    scene = staged("launch", *specs)
    assert isinstance(scene, Launch)
    return scene


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with small_frames(WIDTH, HEIGHT, media=tmp_path / "media"):
        yield


@pytest.fixture
def recorded(tmp_path: Path) -> Launch:
    path = tmp_path / "test-gpu.json"
    schema.save(Measurements(SCHEMA_VERSION, DEVICE, Run("2026-01-02"), traces=Traces(launch=trace())), path)
    return passage(path)


def waves_on(sms: int, memory: Memory, folder: Path) -> Launch:
    """Over a recording of three waves and a half, two blocks on an SM at a time, on a chip of so many SMs."""
    block = np.arange(7 * sms)
    start, end = ((block // (2 * sms) + late) * 40_000 for late in (0.0, 0.95))
    times = [tuple(int(ns) for ns in moments) for moments in (start, end)]
    on = tuple(int(sm) for sm in block % sms)
    record = replace(trace(), blocks=len(on), sm=on, start_ns=times[0], end_ns=times[1], duration=measured(158_000, "ns"))
    device = replace(DEVICE, sm_count=measured(sms, ""), memory=memory)
    path = folder / f"{sms}.json"
    schema.save(Measurements(SCHEMA_VERSION, device, Run("2026-01-02"), traces=Traces(launch=record)), path)
    return passage(path)


@pytest.fixture
def laptop(tmp_path: Path) -> Launch:
    return waves_on(20, Memory("GDDR6", 4), tmp_path)


@pytest.fixture
def desktop(tmp_path: Path) -> Launch:
    return waves_on(82, Memory("GDDR6X", 12), tmp_path)


@pytest.fixture
def h200() -> Launch:
    """Over the committed recording."""
    return passage("nvidia-h200")


@pytest.fixture
def absent() -> Launch:
    return passage("rtx-3090-published")


def coloured(drawn: Boxes, colour: tuple[float, float, float]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(np.abs(drawn.color - np.array(colour)).max(axis=1) < 1e-3)


# ---- the recording laid on the beat --------------------------------------------------------------------------------------


def test_one_factor_between_nanoseconds_and_beats() -> None:
    stretch = Stretch(START, END, 300.0)  # 50 ns a beat
    assert [float(stretch.beat(ns)) for ns in (0, 50, 120, 300)] == [8.0, 9.0, 10.4, 14.0]
    assert [stretch.ns(beat) for beat in (0.0, 8.0, 9.5, 14.0, 16.0)] == [0.0, 0.0, 75.0, 300.0, 300.0]


@pytest.mark.parametrize("beat", [3.0, 7.9, 8.5, 9.9, 10.2, 10.6, 12.0, 12.6, 13.9, 14.5])
def test_sms_work_in_proportion_to_the_blocks_on_them(beat: float) -> None:
    ns = (beat - START) * 50
    expected = [
        sum(on == sm and start <= ns < end for on, start, end in zip(ON, STARTS, ENDS, strict=True)) / 2 for sm in range(SMS)
    ]
    assert flight().work(beat) == pytest.approx(expected)


def test_blocks_land_on_their_sm_on_the_beat_of_their_start() -> None:
    made = flight()
    wide, deep = made.chip.tile
    for block, (sm, start) in enumerate(zip(ON, STARTS, strict=True)):
        beat = START + start / 50
        x, y, z = made.position(beat)[block]
        corner = made.chip.plan.sms[sm]
        assert corner[0] < x < corner[0] + wide and corner[1] < y < corner[1] + deep
        assert z == pytest.approx(made.chip.floor + made.chip.heights(made.work(beat))[sm])
        assert made.position(beat - 0.05)[block][2] > z + 0.05  # falling until then
    assert len(set(made.arrive[:12])) == 1  # ties are ties


def test_blocks_leave_the_tray_in_the_recorded_order_from_the_launch_on() -> None:
    made = flight()
    assert made.depart[0] == 4.0
    assert (np.diff(made.depart[:12]) > 0).all() and (made.depart[:12] <= START - TRAVEL - DROP).all()
    assert made.depart[12:] == pytest.approx(10.4 - TRAVEL - DROP)
    assert made.position(3.9) == pytest.approx(made.places)


def test_no_two_blocks_share_a_seat_at_once() -> None:
    rng = np.random.default_rng(5)
    start = np.sort(rng.integers(0, 500, 200))
    end = start + rng.integers(20, 90, 200)
    sm = rng.integers(0, 4, 200)
    q = measured(1, "ns")
    record = LaunchTrace(200, 64, "work", tuple(map(int, sm)), tuple(map(int, start)), tuple(map(int, end)), q, q)
    seat, number = seats(record)
    at_once = max(int(((sm == s) & (start <= t) & (end > t)).sum()) for s in range(4) for t in range(600))
    assert number == at_once  # lowest free seat first: never more seats than blocks at once
    for a, b in combinations(range(200), 2):
        if sm[a] == sm[b] and seat[a] == seat[b]:
            assert end[a] <= start[b] or end[b] <= start[a]


@pytest.mark.parametrize("number", [1, 2, 3, 8, 16, 32])
def test_seats_fit_their_tile(number: int) -> None:
    centres, edge = seat_grid(number, 0.40, 0.56)
    assert len(centres) == number
    assert (centres - edge / 2 >= -1e-9).all() and (centres + edge / 2 <= np.array([0.40, 0.56]) + 1e-9).all()
    for a, b in combinations(centres, 2):
        assert np.abs(a - b).max() >= edge


def test_sm_numbers_with_gaps_are_ranked() -> None:
    assert list(sites(trace(), SMS)) == list(ON)
    assert list(sites(trace(tuple(sm * 2 for sm in ON)), SMS)) == list(ON)
    with pytest.raises(FlightError, match="names 6 SMs, but the chip that it is drawn on has 5"):
        sites(trace(), 5)


@pytest.mark.parametrize("number", [1, 15, 82, 924, 6336])
def test_a_tray_holds_every_block_once(number: int) -> None:
    tray = Tray(Rect(-7, 4, 7, 7.4), 0.5, number, 0.2)
    places = tray.places()
    assert len(np.unique(np.round(places, 6), axis=0)) == number
    assert (np.abs(places[:, 0]) <= 7).all() and (places[:, 1] >= 4).all() and (places[:, 1] <= 7.4).all()
    assert tray.on_top(np.arange(number)).sum() >= number / tray.shape[1]


def test_each_rack_holds_a_wave_and_the_last_what_is_left() -> None:
    tray = Tray(Rect(-6, 4, 6, 7.4), 1.4, 924, 0.2, 264)  # 2 blocks on each of 132 SMs; 924 = 3.5 x 264
    racks, places = tray.racks(), tray.places()
    assert len(racks) == 4 and list(np.bincount(tray.rack_of(np.arange(924)))) == [264, 264, 264, 132]
    for rack, (x, y, _) in zip(tray.rack_of(np.arange(924)), places, strict=True):
        assert racks[rack].x0 <= x <= racks[rack].x1 and 4 <= y <= 7.4
    assert len(np.unique(np.round(places, 6), axis=0)) == 924


def test_a_plinth_is_amber_while_its_wave_runs(recorded: Launch, h200: Launch) -> None:
    waves = next(prop for prop in recorded.props if isinstance(prop, Waves))
    assert len(waves.flight.tray.racks()) == 2  # 15 blocks, 12 at once
    assert (waves.running(0, 9.0), waves.running(1, 9.0)) == (1.0, 0.0)
    assert (waves.running(0, 12.0), waves.running(1, 12.0)) == (0.0, 1.0)
    assert waves.running(1, 13.0) == pytest.approx(1 / 3)  # one block runs up to 300 ns
    world = World()
    waves.draw(world, 9.0)
    first, second = world.all_boxes().emission
    assert first > 0.3 and second == 0
    assert [plane.text for plane in world.planes] == ["wave 1", "wave 2"]
    launched = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())["traces"]["launch"]
    at_once = int(launched["blocks_per_sm"]["value"]) * len(set(launched["sm"]))
    measured_waves = next(prop for prop in h200.props if isinstance(prop, Waves))
    assert len(measured_waves.flight.tray.racks()) == -(-launched["blocks"] // at_once)


def test_no_packet_covers_a_waves_name(recorded: Launch) -> None:
    """The signs stand behind their racks and higher than what lies on them; what flies goes the other way."""
    flight = next(prop for prop in recorded.props if isinstance(prop, Flight))
    world = World()
    next(prop for prop in recorded.props if isinstance(prop, Waves)).draw(world, 9.0)
    for sign, rack in zip(world.planes, flight.tray.racks(), strict=True):
        assert rack.x0 < sign.at[0] < rack.x1
        assert sign.at[1] > flight.places[:, 1].max() and sign.at[2] > flight.places[:, 2].max() + flight.tray.cube


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@pytest.mark.parametrize("scene", ["recorded", "h200", "laptop", "desktop"])
def test_signs_yield_to_lines_and_to_one_another(scene: str, request: pytest.FixtureRequest) -> None:
    """At every half beat the names of the waves, the line on our block and all that is written keep apart on the frame."""
    made: Launch = request.getfixturevalue(scene)
    waves, line = (next(prop for prop in made.props if isinstance(prop, kind)) for kind in (Waves, Pennant))
    named = 0
    for beat in np.arange(0.0, 15.9, 0.5):
        view = made.camera_at(float(beat))

        def flat(points: Sequence[Floats] | Floats, view: Camera = view) -> Box:
            """Around points of the world on the frame: left, top, right, bottom."""
            x, y = view.project(np.array(points), WIDTH, HEIGHT)[:, :2].T
            return float(x.min()), float(y.min()), float(x.max()), float(y.max())

        planes = [plane for plane in world_at(made, beat, [waves]).planes if plane.alpha > SEEN]
        signs = [flat(np.array(plane.at) + CORNERS * (plane.width / 2, 0.0, plane.height)) for plane in planes]
        drawn = world_at(made, beat, [line]).all_ribbons()
        lines = [flat(piece) for piece in zip(drawn.a, drawn.b, strict=True)] if drawn.alpha.max() > SEEN else []
        words = [(t.left, t.top, t.right, t.bottom) for t in placed(made, beat, SEEN) if t.kind != "lyric"]
        named += len(signs)
        assert all(bottom - top > 0.022 * HEIGHT for _, top, _, bottom in signs), f"beat {beat}"
        for sign in signs:
            assert not any(overlap(sign, other) for other in [*lines, *words]), f"beat {beat}"
        assert not any(overlap(a, b) for a, b in combinations(signs, 2)), f"beat {beat}"
        assert not any(overlap(a, b) for a in lines for b in words), f"beat {beat}"
    assert named > 30


@pytest.mark.parametrize("longest", [9.87e-6, 161.76e-6, 9876.5e-6])
def test_the_clock_is_clear_of_all_that_is_named_in_the_world(
    longest: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However wide the number is: it ends over the place where a block can be named."""
    stretch = longest * 1e9 / 300
    times = [tuple(round(ns * stretch) for ns in row) for row in (STARTS, ENDS)]
    record = replace(trace(), start_ns=times[0], end_ns=times[1], duration=measured(longest * 1e9, "ns"))
    path = tmp_path / "long.json"
    schema.save(Measurements(SCHEMA_VERSION, DEVICE, Run("2026-01-02"), traces=Traces(launch=record)), path)
    made = passage(path)
    for beat in np.arange(8.5, 14.0, 0.5):
        shown = placed(made, beat, SEEN)
        clock = [p.bottom for p in shown if p.right > 0.9 * WIDTH and p.top < HEIGHT / 2]
        named = [p.top for p in shown if p.text == "our block"]
        assert clock and all(max(clock) < top for top in named)


# ---- the scene -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beat", [8.5, 10.2, 11.0, 13.5, 14.2])
def test_the_scene_lights_the_recorded_sms(recorded: Launch, beat: float) -> None:
    ns = (beat - START) * 50
    busy = {on for on, start, end in zip(ON, STARTS, ENDS, strict=True) if start <= ns < end}
    chip = next(prop for prop in recorded.props if isinstance(prop, Chip))
    drawn = boxes(recorded, beat)
    for sm, corner in enumerate(chip.plan.sms):
        tile = (np.abs(drawn.origin[:, :2] - corner).max(axis=1) < 1e-4) & (np.abs(drawn.origin[:, 2] - chip.floor) < 1e-4)
        assert tile.sum() == 1
        assert (drawn.emission[tile] > 0).item() == (sm in busy)


@pytest.mark.parametrize("scene", ["recorded", "absent", "h200"])
def test_exactly_one_cube_is_magenta(scene: str, request: pytest.FixtureRequest) -> None:
    made: Launch = request.getfixturevalue(scene)
    for beat in np.arange(0.0, 16.0, 0.4):
        assert coloured(boxes(made, beat), THREAD).sum() == 1


def test_the_committed_recording_fills_its_bars(h200: Launch) -> None:
    owned = h200.data.launch_trace()
    assert owned is not None
    record, made = owned.value, next(prop for prop in h200.props if isinstance(prop, Flight))
    assert (made.arrive.min(), made.gone.max()) == (START, END)
    for beat in (8.4, 10.0, 11.7, 13.3):
        ns = (beat - START) / (END - START) * max(record.end_ns)
        span = SETTLE / (END - START) * max(record.end_ns)  # a tile follows within SETTLE
        zipped = list(zip(record.sm, record.start_ns, record.end_ns, strict=True))
        work = made.work(beat) * made.capacity
        for sm in range(len(made.chip.plan.sms)):
            running = {sum(on == sm and a <= t < b for on, a, b in zipped) for t in np.linspace(ns - span, ns, 9)}
            assert min(running) - 1e-6 <= work[sm] <= max(running) + 1e-6


def test_the_code_is_typed_on_the_beat_and_takes_the_recorded_numbers(recorded: Launch) -> None:
    def code(beat: float) -> str:
        written = [p for p in placed(recorded, beat, SEEN) if p.kind == "text"]
        return "".join(p.text for p in written if abs(p.bottom - 244 / 1080 * HEIGHT) < 0.6)

    assert code(0.0) == "kernel_"
    assert code(1.1).startswith("kernel<<<b")
    assert code(1.7) == "kernel<<<blocks_"
    assert code(3.7) == "kernel<<<blocks, threads, smem>>>();_"
    assert code(4.1) == code(12.0) == "kernel<<<15, 256, smem>>>();"


def test_figures_are_the_files(recorded: Launch) -> None:
    for beat in np.arange(0.0, 16.0, 0.5):
        placed(recorded, beat, SEEN)
    claims = {claim.key: (claim.text, claim.value, claim.source) for claim in recorded.log.claims}
    assert claims == {
        "traces.launch.launch_latency": ("4.3 µs", 4.26e-6, "measured"),
        "traces.launch.duration": ("0.3 µs", 300, "measured"),
        "traces.launch.blocks_per_sm": ("2 blocks", 2, "measured"),
    }


def test_what_the_shared_memory_does_is_said_and_its_room_where_it_is_known(recorded: Launch, tmp_path: Path) -> None:
    path = tmp_path / "unknown.json"
    record = replace(trace(), blocks_per_sm=None)
    schema.save(Measurements(SCHEMA_VERSION, DEVICE, Run("2026-01-02"), traces=Traces(launch=record)), path)
    for made, known in ((recorded, True), (passage(path), False)):
        assert "smem: bytes of shared memory for each block" in texts(made, 6.0)
        assert ({"smem leaves room for ", "2 blocks", " on an SM, measured"} <= texts(made, 9.5)) == known
        # 15 blocks, 2 on each of 6 SMs: 12 and 3
        assert ("so 15 blocks go in 2 waves" in texts(made, 11.5)) == known


def test_the_clock_runs_with_the_recording(recorded: Launch) -> None:
    def clock(beat: float) -> set[str]:
        return {text.text for text in placed(recorded, beat, SEEN) if text.kind == "clock"}

    assert clock(7.0) == set()
    assert clock(10.0) == {"0.1 µs"}  # 100 ns, 50 ns a beat
    assert clock(13.5) >= {"0.3 µs"}
    assert clock(14.3) == {"0.3 µs"}, "the whole time, which stays"


@pytest.mark.parametrize("scene", ["recorded", "absent", "h200"])
def test_texts_keep_apart_and_inside(scene: str, request: pytest.FixtureRequest) -> None:
    made: Launch = request.getfixturevalue(scene)
    for beat in np.arange(0.0, 15.9, 0.5):
        shown = placed(made, beat, SEEN)
        for a, b in combinations(shown, 2):
            clear = a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
            assert clear or a.text == b.text, f"beat {beat}: {a.text!r} over {b.text!r}"
        for text in shown:
            assert text.left >= 0.05 * WIDTH - 1 and text.right <= 0.95 * WIDTH + 1
            assert text.top >= 0.05 * HEIGHT - 1 and text.bottom <= 0.95 * HEIGHT + 1


def test_the_hero_spans_the_frame_during_the_run(recorded: Launch) -> None:
    chip = next(prop for prop in recorded.props if isinstance(prop, Chip))
    reach = chip.reach
    for beat in np.arange(8.0, 14.1, 1.0):
        corners = [(x, y, chip.floor) for x in (reach.x0, reach.x1) for y in (reach.y0, reach.y1)]
        x = recorded.camera_at(beat).project(corners, 1920, 1080)[:, 0]
        assert np.ptp(x) >= 0.6 * 1920


def test_without_a_recording_no_block_leaves_and_nothing_is_timed(absent: Launch) -> None:
    rack = next(prop for prop in absent.props if isinstance(prop, Rack))
    assert rack.tray.count == 82
    first = boxes(absent, 0.0)
    for beat in (4.0, 8.0, 9.3, 15.0):
        later = boxes(absent, beat)
        assert np.array_equal(first.origin[:, :2], later.origin[:, :2]) and np.array_equal(first.color, later.color)
        assert np.abs(first.origin[:, 2] - later.origin[:, 2]).max() < rack.tray.cube  # they bob where they wait
        assert not coloured(later, COMPUTE).any()
        shown = placed(absent, beat, SEEN)
        assert not any("µs" in text.text for text in shown)
    outlines = next(prop for prop in absent.props if isinstance(prop, Rounds))
    assert [len(outlines.places(beat)[0]) for beat in (4.0, 7.9, 11.9)] == [0, 81, 81]  # one for each SM, and ours stays
    assert outlines.places(7.9)[1].min() > 0.99 and outlines.places(9.0)[1].min() < 0.9
    words = {text.text for text in placed(absent, 9.0, SEEN)}
    assert {"block trace not measured on NVIDIA GeForce RTX 3090", "82 SMs", "datasheet", "blocks", "threads"} <= words
    assert [claim.text for claim in absent.log.claims] == ["82 SMs"]


def test_a_block_that_ends_is_gone_after_it_settled(recorded: Launch) -> None:
    def at_work(beat: float) -> int:
        drawn = boxes(recorded, beat)
        cubes = np.ptp(drawn.size, axis=1) < 1e-5
        return int((coloured(drawn, COMPUTE) & cubes).sum())

    ours = 1  # the magenta one is drawn by itself
    assert at_work(9.0) in (12, 12 - ours)
    assert at_work(10.0 + SETTLE + 0.02) == 0
    assert at_work(12.0) in (3, 3 - ours)
