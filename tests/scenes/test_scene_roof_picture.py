"""The roofs' pictures: nothing crosses what it must not cross, no rate stands under another rung's name, the climb is seen."""

from __future__ import annotations

import functools
import itertools
import json
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from manim import tempconfig

from audio import tracks
from measure.dataset import MEASUREMENTS, Dataset
from scenes import film
from scenes.props.framing import FADE, Lens, above_the_words
from scenes.props.gauges import Gap
from scenes.props.ghosts import RAIL, Ghost, Ghosts
from scenes.props.hall_light import shine
from scenes.props.last_climb import Burst, Magnifier
from scenes.props.roofline import CUBE, FLOOR, HALF_DEPTH, HALF_WIDTH, ROW, TOWER, Chart
from scenes.props.rungs import MATH, limited, standing
from scenes.roof import Roof
from scenes.stage.claims import decimals
from scenes.stage.passage import Context, Window
from scenes.stage.world import World

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import gpus

H200 = "nvidia-h200"
ROOFS = ("roof-1", "roof-2", "roof-3", "roof-4")
SIZE = (480, 270)


@functools.cache
def roof(name: str, spec: str = H200) -> Roof:
    """A roof over a file, by name or path, or over one of `gpus.KINDS`."""
    row = film.row(name)
    if spec in gpus.KINDS:
        spec = str(gpus.write(spec, Path(tempfile.mkdtemp()) / f"{spec}.json"))
    with tempconfig({"pixel_width": SIZE[0], "pixel_height": SIZE[1], "frame_rate": 30}):
        scene = row.load()(Context(Dataset.open([spec]), tracks.default().timeline, row.first_bar, row.bars), Window(0, 0))
        scene.setup()
        scene.construct()
    assert isinstance(scene, Roof)
    return scene


def texts(scene: Roof, beat: float) -> list[tuple[str, str, tuple[float, float, float, float]]]:
    """Kind, words and box (design pixels) of what is written at a beat and can be read."""
    pixels = np.zeros((SIZE[1], SIZE[0]), np.uint32)
    scene.paint(scene.clock.frame(beat), pixels)
    s = SIZE[1] / 1080
    return [(p.kind, p.text, (p.left / s, p.top / s, p.right / s, p.bottom / s)) for p in scene.placed if p.opacity > 0.5]


def line(scene: Roof, beat: float, ends: list[tuple[float, float, float]], count: int = 60) -> np.ndarray:
    """Points (N, 2) of straight pieces of the world as design pixels."""
    a = np.array(ends, float)
    parts = [a[k] + (a[k + 1] - a[k]) * np.linspace(0, 1, count)[:, None] for k in range(len(a) - 1)]
    seen = scene.pinned(beat, np.concatenate(parts))
    return seen[seen[:, 2] > 0.3][:, :2]


def rails(scene: Roof, beat: float, y: float, slope: bool = True) -> np.ndarray:
    """One rail of the roof, at the hall's depth y: up the slope, then along the beam."""
    chart = scene.chart
    assert chart is not None
    low = (chart.x(chart.low_x), y, FLOOR)
    lowest = scene.lens.lowest(beat)  # of the slope as it is seen, zoomed
    ridge, peak = chart.x(chart.ridge), chart.z(chart.peak)
    share = max(0.0, (lowest - FLOOR) / (peak - FLOOR))
    foot = (low[0] + (ridge - low[0]) * share, y, FLOOR)
    begin = ridge if chart.placed else ROW[0] - 0.7
    beam = [(begin, y, scene.lens(peak, beat)), (HALF_WIDTH + 0.6, y, scene.lens(peak, beat))]
    return line(scene, beat, [foot, *beam] if slope else beam)


def rates(spec: str = H200) -> dict[str, str]:
    """Title of each rung of the file and its rate as text."""
    document = json.loads((MEASUREMENTS / f"{spec}.json").read_text())
    rungs = document["ladders"]["gemm_fp32"]["rungs"]
    return {r["title"]: f"{r['rate']['value']:.{2 if r['rate']['value'] < 1 else 1}f} TFLOP/s" for r in rungs}


@pytest.mark.parametrize("name", ROOFS)
def test_a_rate_is_written_with_its_own_rung_and_never_runs(name: str) -> None:
    scene, known = roof(name), rates()
    landed, moments = 0, sorted(scene.land.values())
    library = scene.data.get("ladders.gemm_fp32.lines.cublas.rate")
    assert library is not None
    vendors = f"{library.quantity.value:.1f} TFLOP/s"
    for rung, moment in scene.land.items():
        if any(moment < later < moment + 2.0 for later in moments):  # told with the next one, by its name alone
            continue
        title = next(r.title for r in scene.data.ladder("gemm_fp32").value.rungs if r.name == rung)  # type: ignore[union-attr]
        for beat in (moment - 1.0, moment - 0.3, moment, moment + 0.1, moment + 0.4):
            shown = [words for kind, words, _ in texts(scene, beat) if kind in ("figure", "clock") and "FLOP/s" in words]
            shown = [words for words in shown if words != vendors]  # that line has a name and a rate of its own
            assert shown == ([known[title]] if beat >= moment else []), f"{title} at {beat - moment:+g}"
            landed += len(shown)
    assert landed


def test_rungs_that_land_in_a_run_are_told_in_one_block_each_name_from_its_landing_on() -> None:
    scene, document = roof("roof-4"), json.loads((MEASUREMENTS / f"{H200}.json").read_text())
    titles = {r["name"]: r["title"] for r in document["ladders"]["gemm_fp32"]["rungs"]}
    close = [(a, b) for a, b in itertools.pairwise(scene.land.items()) if b[1] - a[1] < 2.0]
    run = [(titles[name], moment) for name, moment in dict(itertools.chain(*close)).items()]
    assert len(run) > 1, "no run"
    for beat in [moment + 0.3 for _, moment in run] + [run[-1][1] + 2.5]:
        written = [words for _, words, _ in texts(scene, beat)]
        assert [title for title, _ in run if title in written] == [title for title, moment in run if moment < beat]
        x, _, z = scene.cube(beat)
        on = [name for name, moment in scene.land.items() if moment < beat][-1]
        assert (x, z + CUBE) == pytest.approx((scene.towers[on].lot.x, scene.towers[on].summit(beat)), abs=0.3), "on its tower"


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published", "small"])
@pytest.mark.parametrize("name", ROOFS)
def test_the_cube_stays_under_the_roof_line_of_its_own_plane(name: str, spec: str) -> None:
    """The limit is half a cube downhill of the line: at the very limit the cube's upper left corner touches it."""
    scene = roof(name, spec)
    chart = scene.chart
    assert chart is not None
    for beat in np.arange(min(scene.land.values()) if name == "roof-1" else 1.0, scene.closing(), 0.25):
        x, y, z = scene.cube(beat)
        plane = min(HALF_DEPTH, max(-HALF_DEPTH, y))
        assert scene.planes(beat)[0] == (x, plane) and scene.stands(beat) == 1.0
        corners = np.array([(x + i * CUBE / 2, y + j * CUBE / 2, z + CUBE) for i in (-1, 1) for j in (-1, 1)])
        seen = scene.pinned(beat, corners)
        # The roof on the frame, by arithmetic from the chart: the limit at each intensity, then half a cube to the left.
        marks = np.geomspace(chart.low_x, chart.high_x, 400)
        peaks = [min(chart.peak, mark * chart.bandwidth) if chart.placed else chart.peak for mark in marks]
        ends = [
            (chart.x(mark) - CUBE / 2, plane, scene.lens(chart.z(rate), beat)) for mark, rate in zip(marks, peaks, strict=True)
        ]
        roofed = scene.pinned(beat, np.array(ends))
        over = np.interp(seen[:, 0], roofed[:, 0], roofed[:, 1]) - seen[:, 1]
        assert over.max() < 4.0, f"beat {beat}: {over.round(1)} design pixels over the roof"  # the line is some ten wide
        drawn = World()
        scene.roof_line.draw(drawn, beat)
        assert [float(b.a[len(b.a) // 2, 1]) for b in drawn.ribbons][:1] == pytest.approx([plane])


@pytest.mark.parametrize("name", ROOFS)
def test_the_near_rail_lies_over_the_cube_and_all_towers_while_rungs_land(name: str) -> None:
    scene = roof(name)
    first = min(scene.land.values())
    for beat in np.arange(first if name == "roof-1" else 4.0, scene.closing() - 1.0, 0.5):
        rail = rails(scene, beat, -HALF_DEPTH)
        for tower in scene.towers.values():
            if tower.summit(beat) <= FLOOR + 0.1:
                continue
            lot, half = tower.lot, TOWER / 2
            top = scene.pinned(
                beat, np.array([[lot.x + i * half, lot.y + j * half, tower.summit(beat)] for i in (-1, 1) for j in (-1, 1)])
            )
            inside = (rail[:, 0] > top[:, 0].min()) & (rail[:, 0] < top[:, 0].max())
            assert not inside.any() or rail[inside, 1].max() < top[:, 1].mean(), f"beat {beat}"


@pytest.mark.parametrize(
    ("name", "spec"),
    [*((name, H200) for name in ROOFS[1:]), *((name, "rtx-3090-published") for name in ROOFS), ("roof-4", "small")],
)
def test_no_words_stand_on_the_beam_and_no_axis_word_on_a_tower(name: str, spec: str) -> None:
    scene = roof(name, spec)
    for beat in np.arange(4.5 if name != "roof-1" else 24.0, scene.closing() - 0.5, 0.75):
        beam = np.concatenate([rails(scene, beat, y, slope=False) for y in (-HALF_DEPTH, HALF_DEPTH)])
        towers = []
        for tower in scene.towers.values():
            lot = tower.lot
            ends = scene.pinned(beat, np.array([[lot.x, lot.y, FLOOR], [lot.x, lot.y, tower.summit(beat)]]))
            half = abs(np.diff(scene.pinned(beat, np.array([[lot.x, lot.y, 3.0], [lot.x + TOWER / 2, lot.y, 3.0]]))[:, 0])[0])
            towers.append((ends[:, 0].min() - half, ends[:, 1].min(), ends[:, 0].max() + half, ends[:, 1].max()))
        for kind, words, (left, top, right, bottom) in texts(scene, beat):
            if kind.startswith("lyric"):
                continue
            on = (beam[:, 0] > left) & (beam[:, 0] < right) & (beam[:, 1] > top - 12) & (beam[:, 1] < bottom + 12)
            assert not on.any(), f"{words!r} stands on the beam at beat {beat}"
            for x0, y0, x1, y1 in towers if kind == "axis" else ():
                assert right < x0 or left > x1 or bottom < y0 or top > y1, f"{words!r} stands on a tower at beat {beat}"


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published"])
def test_the_floors_axis_is_named_for_at_least_a_bar_while_the_roof_is_built(spec: str) -> None:
    scene, name = roof("roof-1", spec), "FLOP per byte loaded" if spec == H200 else "FLOP per DRAM byte"  # its slope's level
    seen = [any(kind == "axis" and words == name for kind, words, _ in texts(scene, beat)) for beat in range(5, 21)]
    longest = max(sum(1 for _ in run) if named else 0 for named, run in itertools.groupby(seen))
    assert longest >= 4


def test_the_slope_goes_out_before_it_reaches_the_words() -> None:
    points = np.array([[0.0, 0.0, z] for z in (FADE[0] - 1.0, (FADE[0] + FADE[1]) / 2, FADE[1] + 1.0)])
    seen = above_the_words(lambda beat, p: np.column_stack([p[:, 0], p[:, 2], np.ones(len(p))]), points, 0.0)
    assert seen == pytest.approx([1.0, 0.5, 0.0])
    assert FADE[1] < 868, "the lyric's plate begins there"


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published", "small"])
def test_the_last_roof_has_one_change_of_scale_and_its_magnified_floor_is_the_last_chorus_rate(spec: str) -> None:
    """From then on the rungs stand on one logarithmic scale; the floor's axis, which has another, is gone."""
    scene = roof("roof-4", spec)
    beats = np.arange(0.0, 32.0, 0.125)
    zoom = np.array([scene.lens.magnify(beat) for beat in beats])
    assert scene.chart is not None
    if not scene.land:
        assert (zoom == 1.0).all(), "nothing to magnify"
        return
    changes = beats[1:][np.abs(np.diff(zoom)) > 1e-9]
    assert changes.max() - changes.min() <= 2.0 and changes.max() < min(scene.land.values()), "one, before the first landing"
    owned = scene.data.ladder("gemm_fp32")
    assert owned is not None
    rate = {rung.name: rung.rate.value for rung in owned.value.rungs if rung.rate}
    tops = {name: scene.towers[name].top(20.0) for name in ("tile_2d", *scene.land)}
    assert tops["tile_2d"] == pytest.approx(FLOOR + CUBE), "the cube stands on the floor"
    peak = scene.lens(scene.chart.z(scene.chart.peak), 20.0)
    unit = (peak - tops["tile_2d"]) / math.log(scene.chart.peak / rate["tile_2d"])
    for name in scene.land:
        assert tops[name] - tops["tile_2d"] == pytest.approx(unit * math.log(rate[name] / rate["tile_2d"])), name
    for beat in np.arange(9.0, 30.0, 3.0):
        axis = [words for kind, words, _ in texts(scene, beat) if kind == "axis"]
        assert all("TFLOP" in words or "log" in words for words in axis)
    drawn = World()
    next(prop for prop in scene.props if isinstance(prop, Magnifier)).draw(drawn, 6.0)
    low, high = drawn.ribbons[0].a[:, 2].min(), drawn.ribbons[0].a[:, 2].max()
    assert low < scene.chart.z(rate["tile_2d"]) < scene.chart.z(scene.chart.peak) < high, "framed before it is magnified"


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published", "small"])
def test_the_last_roof_begins_with_the_whole_ladder_tower_after_tower_on_the_sung_words(spec: str) -> None:
    scene = roof("roof-4", spec)
    words = [word for line in scene.timeline.lines for word in line.words]
    sung = [scene.timeline.position(word.start) - scene.clock.origin for word in words]
    ladder = [name for name in scene.towers if name not in scene.land]
    begins = (0.0,) if scene.land else (0.0, scene.at(5))
    for first in begins:  # without a new rung once more
        assert [name for name in scene.towers if scene.towers[name].rise(first) > 0.01] == ladder[:1], "no other stands"
        visited = []
        for beat in sorted(beat for beat in sung if first <= beat <= first + 6.25):
            x, y, z = scene.cube(beat)
            lots = {name: (scene.towers[name].lot.x, scene.towers[name].lot.y) for name in ladder}
            on = [name for name, lot in lots.items() if lot == pytest.approx((x, y), abs=1e-6)]
            if on:
                assert z + CUBE == pytest.approx(scene.towers[on[0]].top(beat), abs=1e-6), "its top is the rate"
                visited += [name for name in on if name not in visited]
        assert visited == ladder


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published", "small"])
def test_as_load_wide_is_sung_name_figure_ratio_and_cube_agree(spec: str) -> None:
    scene = roof("roof-4", spec)
    words = {word.text.strip(",."): scene.timeline.position(word.start) for line in scene.timeline.lines for word in line.words}
    for word in ("load", "wide"):
        beat = words[word] - scene.clock.origin + 0.1
        written = [text for _, text, _ in texts(scene, beat)]
        said = {title: rate for title, rate in rates(spec if spec != "small" else H200).items() if title in written}
        assert set(said) <= {"Vectorised loads"} and "Vectorised loads" in written
        if scene.land:
            x, y, z = scene.cube(beat)
            tower = scene.towers["vectorised"]
            assert (x, y, z + CUBE) == pytest.approx((tower.lot.x, tower.lot.y, tower.top(beat)), abs=1e-3)
            assert said["Vectorised loads"] in written and scene.achieved()(beat) is None, "no other rung's ratio"
        else:
            assert "not measured" in written


@pytest.mark.parametrize(
    ("scale", "says", "bursts"),
    [(1.0, "past", True), (1.012, "level with", False), (1.1, "under", False), (2.0, "", False), (None, "", False)],
)
def test_passing_the_vendors_line_is_said_and_celebrated_only_where_the_ranges_say_so(
    scale: float | None, says: str, bursts: bool, tmp_path: Path
) -> None:
    """H200: the best rung's slowest of 48 runs is faster than the library's fastest; drawn for other figures of the library."""
    document = json.loads((MEASUREMENTS / f"{H200}.json").read_text())
    lines = document["ladders"]["gemm_fp32"]["lines"]
    if scale is None:
        lines.clear()
    else:
        for key in ("value", "low", "high"):
            lines[0]["rate"][key] *= scale
        lines[0].pop("samples", None)
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    scene = roof("roof-4", str(path))
    burst, before = next(prop for prop in scene.props if isinstance(prop, Burst)), scene.at(8) - 0.3
    worlds = [World(), World()]
    for world, beat in zip(worlds, (before, scene.at(8) + 0.5), strict=True):
        burst.draw(world, beat)
    assert [bool(world.ribbons) for world in worlds] == [False, bursts]
    verdicts = {"past", "level with", "under"}
    assert not verdicts & {words for _, words, _ in texts(scene, before)}
    held = [{words for _, words, _ in texts(scene, scene.at(8) + late)} for late in (0.3, 1.5, 2.5)]
    assert all(verdicts & shown == ({says} if says else set()) for shown in held), "for more than half a bar"
    if says:
        assert all({f"{lines[0]['title']} ", f"{lines[0]['rate']['value']:.1f} TFLOP/s"} <= shown for shown in held)


def test_a_lens_leaves_its_top_where_it_is_and_nothing_below_the_floor() -> None:
    lens = Lens(1.0, 9.0, lambda beat: 4.0)
    assert [lens(z, 0.0) for z in (9.0, 8.0, 7.0, 3.0)] == [9.0, 5.0, 1.0, 1.0] and lens.lowest(0.0) == 7.0


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published"])
def test_ghosts_stop_on_their_beat_under_the_lower_of_both_roofs(spec: str) -> None:
    chart = Chart.of(Dataset.open([spec]))
    assert chart is not None
    for mark in (chart.ridge / 20, chart.ridge, chart.ridge * 2):
        ghost = Ghost(mark, 8.0, 20.0)
        ghosts = Ghosts(chart, [ghost])
        roofed = chart.z(min(chart.peak, mark * chart.bandwidth))
        heights = [ghosts.base(ghost, beat) for beat in np.arange(5.0, 12.0, 0.05)]
        assert max(heights) == pytest.approx(roofed - RAIL - CUBE, abs=0.05) == ghosts.base(ghost, 8.0)
        assert ghosts.base(ghost, 6.5) == FLOOR
    world = World()
    ghosts.draw(world, 9.0)
    assert sum(len(batch.origin) for batch in world.boxes) == 1


def test_one_ratio_at_a_time() -> None:
    """The first roof tells the share of its slope, and then the HUD has none; the others have the HUD's and tell none."""
    first, other = roof("roof-1"), roof("roof-2")
    assert first.achieved()(first.at(7)) is None
    found = other.achieved()(other.at(7))
    document = json.loads((MEASUREMENTS / f"{H200}.json").read_text())
    ladder = document["ladders"]["gemm_fp32"]
    rung = {r["name"]: r for r in ladder["rungs"]}
    best = {key: roof["measured"]["value"] for key, roof in document["roofs"].items() if "measured" in roof}
    first_rung, third = rung[next(iter(first.land))], rung[next(reversed(other.land))]
    assert found is not None and (found.heading, found.of) == ("ACHIEVED / PEAK", f"{third['title']}, fp32")
    traffic = first_rung["traffic"][ladder["level"]]  # a counter's bytes before a model's
    allowed = ladder["work"]["value"] / traffic.get("counters", traffic["model"])["value"] * best[ladder["level"]]
    told = [f"{100 * first_rung['rate']['value'] / allowed:.0f} %"]
    for scene, said in ((first, told), (other, [f"{third['rate']['value'] / best['fp32']:.2f}"])):
        assert [words for kind, words, _ in texts(scene, scene.at(7)) if kind == "figure" and "FLOP" not in words] == said
    published = roof("roof-1", "rtx-3090-published")
    assert published.achieved()(published.at(7)) is not None, "no bytes, no slope: the beam's share is its only ratio"


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published"])
def test_the_first_rung_is_seen_with_the_beam_and_the_gap_between_them_is_one_measure(spec: str) -> None:
    scene, document = roof("roof-1", spec), json.loads((MEASUREMENTS / f"{spec}.json").read_text())
    chart, gap = scene.chart, next(prop for prop in scene.props if isinstance(prop, Gap))
    assert chart is not None
    rung = next(r for r in document["ladders"]["gemm_fp32"]["rungs"] if r["name"] == next(iter(scene.land)))
    math_roof = document["roofs"]["fp32"]
    peak = math_roof.get("measured", math_roof["datasheet"])["value"]
    low, high = gap.ends(scene.at(8))
    decades_apart = math.log10(peak / rung["rate"]["value"])
    assert high - low == pytest.approx(decades_apart * (chart.z(1.0) - chart.z(0.1)), abs=0.15), "up to the beam's lower side"
    drawn = World()
    gap.draw(drawn, scene.at(7, 3))  # "roof"
    upright = drawn.ribbons[-1]
    assert upright.b[0, 2] - upright.a[0, 2] == pytest.approx(high - low, abs=1e-3), "whole on the word"
    for beat in np.arange(min(scene.land.values()) + 0.5, scene.at(8, 2), 0.5):
        ends = [(gap.x, gap.tower.lot.y, low), (gap.x, gap.tower.lot.y, high), scene.cube(beat)]
        seen = scene.pinned(beat, np.array(ends))
        assert (
            (seen[:, 0] > 96).all() and (seen[:, 0] < 1824).all() and (seen[:, 1] > 120).all() and (seen[:, 1] < 900).all()
        ), beat


def test_where_a_rung_stands_is_said_for_any_share() -> None:
    assert [standing(share) for share in (0.3, 0.89, 0.9, 1.0, 1.02, 1.2)] == ["under", "under", "at", "at", "at", "over"]


def test_what_stands_at_a_share_of_a_roof_means_is_said_in_words() -> None:
    assert [limited(share, MATH) for share in (0.3, 0.95)] == ["math could go faster", "math can go no faster"]
    assert [limited(share, "the DRAM") for share in (0.3, 0.95)] == ["the DRAM could carry more", "the DRAM can carry no more"]
    assert limited(1.2, MATH) == limited(1.2, "the DRAM") == "faster than this roof was measured"


def test_a_chorus_is_brightest_on_its_drop_and_lights_up_on_each_landing_without_a_flash() -> None:
    """Half of the light that is there goes in no less than two beats, 0.9 s: WCAG counts pairs of changes within a second."""
    beats = np.arange(0.0, 32.0, 1 / 27)  # a frame at 60 a second and 132 BPM
    light = np.array([shine([6.0, 14.0, 22.0], float(beat)) for beat in beats])
    assert light[0] == 1.0 and light.argmax() == 0 and light[-1] == 0.0
    for moment in (14.0, 22.0):
        assert light[np.searchsorted(beats, moment + 0.4)] > light[np.searchsorted(beats, moment - 0.5)] + 0.3
    turns = np.flatnonzero(np.diff(np.sign(np.diff(light)[np.abs(np.diff(light)) > 1e-9])))
    assert len(turns) <= 6 and np.diff(light).min() > -0.5 / (2 * 27)


def test_nothing_but_nothing_is_shown_as_nothing() -> None:
    shown = {0.61: "0.61", 0.0096: "0.010", 0.0012: "0.001", 0.000374: "0.0004", 0.0: "0.00"}
    assert {value: f"{value:.{decimals(value, 2)}f}" for value in shown} == shown


@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_the_huds_peak_is_named_as_fp32s_only_beside_kernels_of_fp32(dtype: str, tmp_path: Path) -> None:
    document = json.loads((MEASUREMENTS / "rtx-3090-published.json").read_text())
    document["ladders"]["gemm_fp32"]["dtype"] = dtype
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))
    scene = roof("roof-2", str(path))
    ratio = scene.achieved()(scene.at(7))
    assert ratio is not None and ratio.of.endswith(f", {dtype}")
    source = next(kind for kind in ("measured", "published", "datasheet") if kind in document["roofs"]["fp32"])
    assert ratio.peak == {"fp32": "of the fp32 peak, ", "fp16": "of the CUDA cores' peak, "}[dtype] + source


@pytest.mark.parametrize("spec", [H200, "small"])
@pytest.mark.parametrize("name", ["roof-2", "roof-4"])
def test_whoever_sees_one_roof_alone_reads_what_its_floor_measures(name: str, spec: str) -> None:
    """For a bar and a half its axis is named beside powers of ten, two of them at once at first, each over its place.

    In the last chorus, whose scale is soon magnified, for the two beats before.
    """
    scene, read = roof(name, spec), []
    chart = scene.chart
    assert chart is not None
    for frame in map(scene.clock.frame, np.arange(2.5, scene.closing() - 0.5, 1.0)):
        beat = scene.clock.at_frame(frame)
        axis = [(words, box) for kind, words, box in texts(scene, beat) if kind == "axis" and "TFLOP" not in words]
        marks = [(float(words), box) for words, box in axis if words.replace(".", "").isdigit()]
        for mark, (left, _, right, bottom) in marks:
            assert math.log10(mark).is_integer() and bottom < 868, "clear of the lyric"
            seen = scene.pinned(beat, np.array([(chart.x(mark), 0.0, z) for z in (FLOOR, FLOOR + 1.0)]))
            assert seen[:, 0].min() - 8 < (left + right) / 2 < seen[:, 0].max() + 8, f"{mark} at beat {beat}"
        if any(words.startswith("FLOP per ") for words, _ in axis):
            read.append(len(marks))
    assert sum(count >= 1 for count in read) >= (3 if scene.lens.magnify(20.0) > 1.0 else 6) and max(read) >= 2, read


@pytest.mark.parametrize("spec", [H200, "rtx-3090-published", "small"])
def test_the_second_roofs_towers_grow_a_quarter_a_beat_and_what_is_left_is_measured_at_the_end(spec: str) -> None:
    scene = roof("roof-2", spec)
    for name, moment in scene.land.items():
        tower = scene.towers[name]
        heights = [(tower.summit(moment + late) - FLOOR) / (tower.lot.top - FLOOR) for late in (-3.5, -3.0, -2.0, -1.0, 0.0)]
        assert heights == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0], abs=1e-6), name
    gap = next(prop for prop in scene.props if isinstance(prop, Gap))
    assert gap.tower is scene.towers[list(scene.land)[-1]]
    drawn = [World(), World()]
    for world, beat in zip(drawn, (scene.at(6), scene.at(8)), strict=True):
        gap.draw(world, beat)
    assert not drawn[0].ribbons and drawn[1].ribbons
