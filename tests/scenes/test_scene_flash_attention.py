"""FlashAttention: the running softmax is the whole one, piles and bars are the record's bytes and times, the square goes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.attention.ladder import LADDER
from measure.dataset import MEASUREMENTS, Dataset
from scenes.flash_attention import SLOWER, FlashAttention
from scenes.props.attention import BAND, CELLS, HERO, ROWS, SIDE, TILE, Dram, Example
from scenes.props.attention_rungs import SIDE as SIDE_OF_OURS
from scenes.props.key_stream import HIGH, O_X, S_X, SHELF, SLOT_Y, TOP
from scenes.props.on_chip import OnChip, Room
from scenes.props.tile_sweep import FIRST, FLIGHT, STEP
from scenes.stage.palette import COMPUTE, THREAD

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import staging
from staging import texts

SQUARE, REFUSED, STREAM, SUMS, RACE = 4.0, 6.0, 12.0, 16.0, 20.0  # "square", its line's last word, "stream", "sums", bar 6


def staged(*specs: str | Path) -> FlashAttention:
    scene = staging.staged("flash-attention", *specs)
    assert isinstance(scene, FlashAttention)
    return scene


def boxes(scene: FlashAttention, beat: float, only: object = None) -> Any:
    return staging.boxes(scene, beat, None if only is None else [only])


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with staging.small_frames(320, 180, media=tmp_path):
        yield


@pytest.fixture
def scene() -> FlashAttention:
    return staged("nvidia-h200")


@pytest.fixture
def record() -> Any:
    return json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())


def test_what_streams_through_is_the_softmax_of_the_whole_row() -> None:
    example = Example.seeded()
    assert len(np.unique(example.online(HERO)[0])) > 1, "the maximum changes on the way, so that the sum is scaled"
    for row in range(CELLS):
        maxima, sums, outputs = example.online(row)
        scores = example.scores[row]
        whole = np.exp(scores - scores.max())
        assert maxima[-1] == scores.max() and sums[-1] == pytest.approx(whole.sum())
        assert outputs[-1] == pytest.approx(whole @ example.v / whole.sum())
        part = np.exp(scores[: 2 * TILE])
        assert outputs[1] == pytest.approx(part @ example.v[: 2 * TILE] / part.sum())


def test_what_stays_is_the_running_softmax_of_each_row(scene: FlashAttention) -> None:
    stream, rows = scene.stream, slice(BAND, BAND + ROWS)
    scores = stream.example.scores[rows]
    assert (stream.bars(STREAM - 0.1)[0] == 0.0).all() and (stream.bars(STREAM)[1] == 0.0).all()
    whole = np.exp(scores - scores.max(1, keepdims=True)).sum(1)
    for k in range(CELLS // TILE):
        seen = scores[:, : (k + 1) * TILE]
        top = seen.max(1)
        longs, sums = stream.bars(STREAM + k + 0.9)
        assert longs / longs.max() == pytest.approx((top - scores.min()) / (top.max() - scores.min()))
        expected = np.exp(seen - top[:, None]).sum(1)
        assert sums / sums[0] == pytest.approx(expected / expected[0])
        kept = np.exp(seen - top[:, None]) @ stream.example.v[: (k + 1) * TILE] / whole[:, None]
        assert stream.output(STREAM + k + 0.9) / HIGH == pytest.approx(kept)


def test_a_new_maximum_scales_the_sum_down_before_it_grows(scene: FlashAttention) -> None:
    stream, row = scene.stream, HERO - BAND
    step = next(k for k in range(1, CELLS // TILE) if stream.top[k + 1, row] > stream.top[k, row])
    land = STREAM + step
    before, scaled = (stream.running(beat)[1][row] for beat in (land, land + 0.27))
    assert scaled / before == pytest.approx(np.exp(stream.top[step, row] - stream.top[step + 1, row]))
    assert stream.running(land + 0.9)[1][row] > scaled


def test_what_happens_falls_on_the_words_of_the_song(scene: FlashAttention) -> None:
    origin = scene.timeline.downbeats[scene.context.first_bar - 1]
    words = [(scene.timeline.position(w.start) - origin, w.text) for line in scene.timeline.lines for w in line.words]
    sung = {text.strip(".,:;"): beat for beat, text in words if 0 <= beat < 24}
    assert sung["square"] == pytest.approx(scene.times.whole) == SQUARE
    assert sung["stream"] == pytest.approx(scene.times.tiles[0]) == STREAM
    assert sung["sums"] == pytest.approx(scene.times.tiles[4]) == SUMS


def test_the_square_is_whole_pours_is_refused_and_is_gone(scene: FlashAttention) -> None:
    def in_dram(beat: float) -> int:
        return int((boxes(scene, beat, scene.wall).origin[:, 1] < -4.3).sum())  # behind V and the gate

    assert (scene.wall.standing(SQUARE) > 0.95).all() and in_dram(3.0) == 0
    assert 2 * CELLS < in_dram(REFUSED) < CELLS * CELLS / 2, "it only begins to pour"
    assert in_dram(7.5) == 0 and len(boxes(scene, 7.5, scene.wall).origin) > CELLS * CELLS / 2
    assert len(boxes(scene, STREAM, scene.wall).origin) == 0


@pytest.mark.parametrize(
    ("name", "sms", "kib", "said"),  # an H100 or H200 has 228 KiB an SM, GA102 100 (CUDA C++ Programming Guide)
    [("nvidia-h200", 132, 228, "31 MB"), ("rtx-3090-published", 82, 100, "8.4 MB")],
)
def test_all_shared_memory_stands_beside_the_square_on_its_scale(name: str, sms: int, kib: int, said: str) -> None:
    made = staged(name)
    chip = next(prop for prop in made.props if isinstance(prop, OnChip))
    assert len(boxes(made, 1.4, chip).origin) == 0 == len(boxes(made, 8.0, chip).origin)
    tiles = boxes(made, 4.0, chip)
    assert len(tiles.origin) == sms and chip.pitch**2 * sms / SIDE**2 == pytest.approx(sms * kib * 1024 / (8192**2 * 4))
    across = np.diff(np.unique(tiles.origin[:, 0].round(4)))
    assert across == pytest.approx(chip.pitch, abs=1e-3) and (tiles.size[:, 0] < chip.pitch).all()
    assert (tiles.origin[:, 0] + tiles.size[:, 0]).max() < -SIDE / 2 - 0.5, "beside the wall and the thread"
    assert {f"shared memory, {sms} × {kib} KiB", said} <= texts(made, 4.0)


def test_there_is_no_picture_of_too_little_room_where_there_is_enough(record: Any, tmp_path: Path) -> None:
    held = [Room.of(Dataset.open(["nvidia-h200"]), side) for side in (128, 512, 8192)]
    assert [room and room.count for room in held] == [None, 1, 132], "228 KiB are 241 x 241 scores, 31 MB are 2775 x 2775"
    record["device"] |= {"compute_capability": "99.0", "facts": {}}
    path = tmp_path / "unknown.json"
    path.write_text(json.dumps(record))
    assert Room.of(Dataset.open([path]), 8192) is None


def test_only_one_tile_of_scores_stands_at_a_time(scene: FlashAttention) -> None:
    stream = scene.stream
    for k in range(CELLS // TILE):
        weights, stands = stream.scores(STREAM + k + 0.2)
        part = stream.example.scores[BAND : BAND + ROWS, k * TILE : (k + 1) * TILE]
        top = stream.example.scores[BAND : BAND + ROWS, : (k + 1) * TILE].max(1, keepdims=True)
        assert stands == 1.0 and weights == pytest.approx(np.exp(part - top))
        assert 0.0 < stream.scores(STREAM + k + 0.75)[1] < 0.7, "it goes once it is added"
        assert stream.scores(STREAM + k + 0.86)[1] == 0.0, "thrown away before the next one lands"
    assert BAND <= HERO < BAND + ROWS


def test_a_tile_lies_in_its_slot_on_its_beat_and_the_next_overwrites_it(scene: FlashAttention) -> None:
    for k in range(CELLS // TILE):
        for name, x in (("K", S_X), ("V", O_X)):
            place, scale = scene.stream.tile(k, name, STREAM + k)
            assert place == pytest.approx((x, SLOT_Y, TOP + SHELF)) and scale == 1.0
            assert scene.stream.tile(k, name, STREAM + k + 1.25)[1] == 0.0
            assert scene.stream.tile(k, name, STREAM + k - 3.1)[1] == 0.0, "still in DRAM"


def test_the_output_is_written_once_at_the_end(scene: FlashAttention) -> None:
    assert scene.stream.away(RACE) == 0.0 and scene.stream.away(RACE + 1.25) == 1.0
    x, y, _ = scene.stream.seat(RACE + 1.5)
    assert -7.2 < y < -1.1 and abs(x) < SIDE / 2, "the thread is with it, on DRAM"


def test_piles_and_bars_are_the_records_bytes_and_times(scene: FlashAttention, record: Any) -> None:
    rungs = {rung["name"]: rung for rung in record["ladders"]["attention"]["rungs"]}
    plain, fused, best = rungs["unfused"], rungs["fused"], min(rungs.values(), key=lambda rung: rung["time"]["value"])
    tall, flat = scene.piles
    moved = [rung["traffic"]["dram"]["counters"]["value"] for rung in (plain, fused)]
    assert tall.full() / flat.full() == pytest.approx(moved[0] / moved[1])
    assert scene.race is not None
    ends = np.array([scene.race.length(which, 23.9) for which in range(3)])
    times = np.array([rung["time"]["value"] for rung in (plain, fused, best)])
    assert ends / ends[0] == pytest.approx(times / times[0])
    soon = [scene.race.length(which, RACE + 0.9 * SLOWER * times.min() / times.max()) for which in range(3)]
    assert soon[0] == soon[1] == soon[2] > 0.0, "all grow at one speed"


def test_fusing_is_not_credited_with_what_tensor_cores_did(scene: FlashAttention, record: Any) -> None:
    """Each bar has its own name; beside what the fastest gained stands what fusing alone did, and on which units it ran."""
    rungs = {rung["name"]: rung for rung in record["ladders"]["attention"]["rungs"]}
    best = min(rungs, key=lambda name: rungs[name]["time"]["value"])
    assert scene.race is not None and scene.rungs.raced == ["unfused", "fused", best]
    roof = record["roofs"][rungs[best].get("math_roof") or record["ladders"]["attention"]["math_roof"]]["title"]
    named = f"fused, {roof.split(',')[0].lower()}"
    assert scene.rungs.names() == ("unfused", "fused", named)
    signs = {plane.text for plane in staging.world_at(scene, 22.5).planes if plane.alpha > 0.5}
    assert {"unfused", "fused", named} <= signs
    alone = rungs["unfused"]["time"]["value"] / rungs["fused"]["time"]["value"]
    assert {"fusing alone ", f"{alone:.2f} ×", f", then on {roof.split(',')[0].lower()}"} <= texts(scene, 22.5)


def test_no_moment_has_more_than_two_figures(scene: FlashAttention) -> None:
    for beat in np.arange(0.5, 23.0, 0.5):
        seen = [text.text for text in staging.placed(scene, float(beat)) if text.kind == "figure"]
        assert len(seen) <= 2, f"beat {beat}: {seen}"


def test_the_ratio_is_of_the_roof_of_its_own_instruction(scene: FlashAttention, record: Any, tmp_path: Path) -> None:
    """The fastest rung over the roof that it names, whatever its place; where no such roof was measured, over the library."""
    shown, roofs = scene.achieved()(21.5), record["roofs"]
    best = min(record["ladders"]["attention"]["rungs"], key=lambda rung: rung["time"]["value"])
    roof = roofs[best.get("math_roof") or record["ladders"]["attention"]["math_roof"]]
    issued = roof["title"].rpartition("(")[2].rstrip(")")
    assert scene.achieved()(RACE) is None and shown is not None
    assert shown.figure.text == f"{best['rate']['value'] / roof['measured']['value']:.2f}"
    assert (shown.of, shown.peak) == (f"{best['title']}, bf16", f"of the {issued} roof, measured")
    ladder = record["ladders"]["attention"]
    last = json.loads(json.dumps(best)) | {"name": "newest", "title": "Newest"}
    last["builds"][0] |= {"entry": "attention_warpgroups", "options": ["-arch=sm_90a"]}
    last["rate"] = {"value": 2000.0, "unit": "TFLOP/s", "source": "measured"}
    last["time"] = {"value": 5e-4, "unit": "s", "source": "measured"}
    last["figures"]["speedup"] = {"value": 65.43, "unit": "", "source": "derived", "reference": "unfused over it"}
    ladder["rungs"].insert(3, last)
    record["roofs"] = {name: roof for name, roof in roofs.items() if name != "bf16_wgmma"}
    ladder["lines"] = [{"title": "cuDNN", "name": "cudnn", "rate": {"value": 1600.0, "unit": "TFLOP/s", "source": "measured"}}]
    path = tmp_path / "faster.json"
    path.write_text(json.dumps(record))
    made = staged(path)
    ratio = made.achieved()(21.5)
    assert made.rungs.fast == "newest" and ratio is not None
    assert (ratio.figure.text, ratio.of, ratio.peak) == ("1.25", "Newest, bf16", "of cuDNN, measured")
    assert "65.4 ×" in texts(made, 22.8)


def test_figures_are_the_files(scene: FlashAttention, record: Any) -> None:
    rungs = {rung["name"]: rung for rung in record["ladders"]["attention"]["rungs"]}
    plain, fused = rungs["unfused"], rungs["fused"]
    peaks = [f"{rung['figures']['peak_memory']['value'] / 1e9:.2f} GB" for rung in (plain, fused)]
    moved = [rung["traffic"]["dram"]["counters"]["value"] / 1e9 for rung in (plain, fused)]
    side = record["ladders"]["attention"]["problem"].rpartition(",")[2].split("x")[0].strip()
    assert {f"{side}² scores a head: ", "268 MB", "31 MB"} <= texts(scene, 3.0)
    assert {f"{side}² scores a head", "unfused: all go to DRAM", peaks[0]} <= texts(scene, 5.5)
    assert {f"{moved[0]:.1f} GB", "through DRAM,", "measured"} <= texts(scene, 11.2)
    assert {"fused: no score stays", *peaks, "peak memory, fused, measured"} <= texts(scene, 14.0)
    late = {f"{moved[1]:.2f} GB", "through DRAM, fused, measured", f"{moved[0]:.1f} GB", "kept: max, sum, output"}
    assert late <= texts(scene, 19.2)
    best = max(rung["figures"]["speedup"]["value"] for rung in rungs.values())
    assert f"{best:.1f} ×" in texts(scene, 22.8)


def test_what_lies_behind_the_race_steps_back_and_stays_where_there_is_none(scene: FlashAttention) -> None:
    """Where K and V lie in DRAM is as bright as before without a race, and without a sign or a glow behind one."""
    for made, glows in ((scene, False), (staged("rtx-3090-published"), True)):
        dram = next(prop for prop in made.props if isinstance(prop, Dram))
        before, after = (boxes(made, beat, dram).emission.max() for beat in (14.0, 22.5))
        assert after == pytest.approx(before) if glows else after < 0.4 * before
        named = staging.world_at(made, 22.5)
        assert ("DRAM" in {plane.text for plane in named.planes if plane.alpha > 0.1}) is glows


def test_a_cell_that_pours_is_data_and_one_that_goes_is_no_work(scene: FlashAttention) -> None:
    """No cell is amber on its way to DRAM, none while it dissolves, and none between the two colours is green."""

    def amber(colour: Any) -> Any:
        return (colour[:, 0] > 0.2) & (colour[:, 0] > 2.0 * colour[:, 2])

    pouring = boxes(scene, 5.5, scene.wall)
    off = pouring.origin[:, 1] < -1.5
    assert off.sum() > CELLS and not amber(pouring.color[off]).any() and amber(pouring.color[~off]).any()
    going = boxes(scene, 9.5, scene.wall)
    shrunk = (going.size[:, 0] < 0.3) & (going.origin[:, 1] > -1.0)
    assert shrunk.any() and not amber(going.color[shrunk]).any() and amber(going.color).any()


def test_without_a_race_all_other_rows_go_the_same_way() -> None:
    """Every band but the followed one is at one tile at a time, at all tiles in turn; then it writes its output to DRAM."""
    made = staged("rtx-3090-published")
    assert made.sweep is not None and made.race is None
    assert sorted([*FIRST, BAND]) == list(range(0, CELLS, ROWS)), "bands cover the square, each row once"
    for band in range(len(FIRST)):
        begins = made.sweep.begins(band)
        steps = [made.sweep.tile(band, begins + (k + 0.5) * STEP) for k in range(CELLS // TILE)]
        assert [step for step, _ in steps] == list(range(CELLS // TILE)) and all(stands > 0.9 for _, stands in steps)
        assert made.sweep.written(band, begins + CELLS // TILE * STEP) == 0.0
        assert made.sweep.written(band, begins + CELLS // TILE * STEP + FLIGHT) == 1.0
    middle = boxes(made, made.sweep.begins(0) + 4.5 * STEP, made.sweep)
    warm = (np.abs(middle.color - np.array(COMPUTE)).max(axis=1) < 0.6).sum()
    assert 0 < warm <= len(FIRST) * ROWS * TILE, "never more than a tile for each band"
    last = boxes(made, 23.9, made.sweep)
    assert len(last.origin) > 0 and ((-7.2 < last.origin[:, 1]) & (last.origin[:, 1] < -3.9)).all(), "all lie on DRAM"
    assert (np.abs(last.origin[:, 0]) < SIDE / 2 + 0.5).all() and "an SM: one tile at a time" in texts(made, 22.5)


@pytest.mark.parametrize("files", [("nvidia-h200",), ("rtx-3090-published",)])
def test_exactly_one_cube_is_magenta(files: tuple[str, ...]) -> None:
    made = staged(*files)
    for beat in np.arange(0.0, 24.0, 1.7):
        assert (np.abs(boxes(made, float(beat)).color - np.array(THREAD)).max(axis=1) < 1e-3).sum() == 1


def test_another_file_redraws_it(record: Any, tmp_path: Path) -> None:
    ladder = record["ladders"]["attention"]
    ladder["problem"] = "1 x 8 heads, 2048 x 128"
    ladder["rungs"] = [rung for rung in ladder["rungs"] if rung["name"] in ("unfused", "fused")]
    path = tmp_path / "other.json"
    path.write_text(json.dumps(record))
    made = staged(path)
    assert made.rungs.fast == "fused" and {"2048² scores a head: ", "17 MB"} <= texts(made, 3.0)
    assert "shared memory, one SM: 228 KiB" in texts(made, 4.0), "all 132 together had room for it"
    assert f"{ladder['rungs'][-1]['figures']['speedup']['value']:.1f} ×" in texts(made, 22.8)


def test_what_nobody_measured_is_said(record: Any, tmp_path: Path) -> None:
    made = staged("rtx-3090-published")
    assert made.race is None and {"attention not measured", "on NVIDIA GeForce RTX 3090"} <= texts(made, 16.0)
    path = tmp_path / "bare.json"
    path.write_text(json.dumps({key: record[key] for key in ("schema", "device", "run")}))
    made = staged(path)
    assert made.race is None and {"attention not measured", "on NVIDIA H200"} <= texts(made, 16.0)


def test_a_file_without_attention_is_drawn_with_our_own_problem() -> None:
    assert SIDE_OF_OURS == LADDER.problem.seq
