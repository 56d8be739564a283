"""Tensor cores: tiles of the shape that was issued, sums where they meet, two beams and two rates on one scale."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from measure.dataset import MEASUREMENTS
from measure.records import Build, Rung
from scenes import film
from scenes.props.instruction import FMA_FLOP, MMA_SYNC, Instruction, instruction_of
from scenes.props.mma import CELL, Equal, Tensor, WarpLanes
from scenes.props.roofline import Tower
from scenes.props.second_roof import SecondRoof
from scenes.stage.palette import THREAD
from scenes.tensor_cores import TensorCores

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import staging
from staging import placed, texts

LANDS, MEETS, FMA, FALLS, TOPS = 2.0, 6.0, 8.0, 10.0, 18.0  # "-struc-", "time", bar 3, its third beat, "climb"


def staged(*specs: str | Path) -> TensorCores:
    scene = staging.staged("tensor-cores", *specs)
    assert isinstance(scene, TensorCores)
    return scene


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with staging.small_frames(320, 180, media=tmp_path):
        yield


@pytest.fixture
def scene() -> TensorCores:
    return staged("nvidia-h200")


@pytest.fixture
def record() -> Any:
    return json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())


def on_mma(record: Any) -> Any:
    """The record with the rungs that issue mma.sync and its roof alone."""
    ladder = record["ladders"]["gemm_bf16"]
    ladder["rungs"] = [item for item in ladder["rungs"] if not item["builds"][-1]["entry"].startswith("wgmma")]
    record["roofs"].pop("bf16_wgmma", None)
    return record


@pytest.fixture
def by_mma(record: Any, tmp_path: Path) -> TensorCores:
    path = tmp_path / "mma.json"
    path.write_text(json.dumps(on_mma(record)))
    return staged(path)


def best(record: Any, ladder: str = "gemm_bf16") -> Any:
    return max((item for item in record["ladders"][ladder]["rungs"] if "rate" in item), key=lambda item: item["rate"]["value"])


def roof_over(record: Any) -> str:
    """Name of the roof that the file puts over its best tensor rung."""
    return str(best(record).get("math_roof") or record["ladders"]["gemm_bf16"]["math_roof"])


def rate_of(entry: Any, digits: int = 0) -> str:
    return f"{entry['value']:.{digits}f} {entry['unit']}"


def landed(scene: TensorCores, record: Any) -> Any:
    """The best fp32 rung among those of the film's earlier rows."""
    names = {name for row in film.FILM[: [row.name for row in film.FILM].index("tensor-cores")] for name in row.rungs}
    rungs = [item for item in record["ladders"]["gemm_fp32"]["rungs"] if item["name"] in names]
    return max(rungs, key=lambda item: item["rate"]["value"])["rate"]


def boxes(scene: TensorCores, beat: float, only: object = None) -> Any:
    return staging.boxes(scene, beat, None if only is None else [only])


def rung(entry: str, *options: str) -> Rung:
    return Rung("r", "R", "", builds=(Build((1, 1, 1), (128, 1, 1), options=options, entry=entry),))


def test_the_shape_is_that_of_the_instruction_in_the_rungs_source() -> None:
    assert (MMA_SYNC.shape, MMA_SYNC.flop, MMA_SYNC.lanes) == ("m16n8k16", 4096, 32) and FMA_FLOP == 64
    assert instruction_of(rung("mma_deep_tiles", "-DBM=128", "-DBN=256")) == MMA_SYNC == instruction_of(None)
    wide = instruction_of(rung("wgmma_stores", "-DBM=128", "-DBN=256"))
    assert (wide.shape, wide.flop, wide.lanes) == ("m64n256k16", 524288, 128)
    assert instruction_of(rung("wgmma_warpgroup", "-DBN=128")).shape == "m64n128k16"
    assert instruction_of(rung("attention_warpgroups", "-arch=sm_90a")).name == "wgmma"
    assert instruction_of(rung("attention_pipelined", "-arch=sm_90")) == MMA_SYNC


def test_what_happens_falls_on_the_words_of_the_song(scene: TensorCores) -> None:
    origin = scene.timeline.downbeats[scene.context.first_bar - 1]
    words = [(scene.timeline.position(w.start) - origin, w.text) for line in scene.timeline.lines for w in line.words]
    sung = {text.strip(".,:;"): beat for beat, text in words if 0 <= beat < 24}
    assert (scene.meets, scene.tops) == (MEETS, TOPS) and sung["time"] == pytest.approx(MEETS)
    assert sung["climb"] == pytest.approx(TOPS) and scene.lands == LANDS


def test_the_tiles_have_the_shape_that_was_issued_and_meet_edge_on_edge(by_mma: TensorCores) -> None:
    tensor = by_mma.tensor
    a, b, c = tensor.a(MEETS), tensor.b(MEETS), tensor.c(MEETS)
    assert (a.shape[:2], b.shape[:2], c.shape[:2]) == ((16, 16), (16, 8), (16, 8))
    assert a[:, 0, 0] == pytest.approx(c[:, 0, 0]), "a row of A stands behind its row of sums"
    assert b[0, :, 1] == pytest.approx(c[0, :, 1]), "a column of B stands beside its column of sums"
    assert a[0, :, 2] == pytest.approx(b[:, 0, 2]), "both walls count k upwards"
    gaps = a[0, 0, 1] - c[:, :, 1].max(), c[:, :, 0].min() - b[0, 0, 0]
    assert all(0 < gap - CELL / 2 < 0.2 for gap in gaps)
    apart = [float(tensor.a(beat)[0, 0, 1]) for beat in (0.0, 2.0, 4.0, 5.0, 5.9, 6.0)]
    assert all(x >= y for x, y in pairwise(apart)) and apart[0] > apart[-1] + 0.9


def test_products_stand_between_the_tiles_and_fall_into_the_sums(by_mma: TensorCores) -> None:
    tensor: Tensor = by_mma.tensor
    count = [len(boxes(by_mma, beat, tensor).origin) for beat in (5.9, 6.4, 9.5, 11.1)]
    assert count[0] == count[3] == 256 + 128 + 128 and count[1] == count[2] == count[0] + 16 * 16  # k layers of m strips
    assert tensor.fallen(FALLS) == 0.0 and tensor.fallen(11.1) == pytest.approx(1.0)


def test_the_products_of_an_fma_lie_before_the_block_at_its_own_scale(by_mma: TensorCores) -> None:
    """32 products beside 16 x 8 x 16: all of one size, and as wide as the strips of the block."""
    lanes, block = boxes(by_mma, 9.5, by_mma.lanes), boxes(by_mma, 9.5, by_mma.tensor)
    products = lanes.size[-32:]
    strips = block.size[-256:]
    assert products[:, 0] == pytest.approx(strips[:, 0].mean()) and len(lanes.origin) > 32
    assert products[:, 0] == pytest.approx(products[:, 1])


@pytest.mark.parametrize("beat", [LANDS, MEETS, FMA])
def test_all_lanes_work_at_once(scene: TensorCores, beat: float) -> None:
    lanes: WarpLanes = scene.lanes
    assert lanes.heat(beat) == 1.0 and lanes.heat(beat - 0.2) < 0.2
    drawn = boxes(scene, beat, lanes)
    assert len(np.unique(drawn.origin[:, 0].round(3))) >= 32


def test_both_beams_and_both_towers_stand_at_their_rates_on_one_scale(scene: TensorCores, record: Any) -> None:
    chart, second, tower = scene.chart, scene.second, scene.tower
    assert chart is not None and isinstance(second, SecondRoof) and tower is not None
    rate = max(item["rate"]["value"] for item in record["ladders"]["gemm_bf16"]["rungs"])
    own, fp32 = record["roofs"][roof_over(record)]["measured"]["value"], record["roofs"]["fp32"]["measured"]["value"]
    unit = (chart.z(fp32) - chart.z(fp32 / 10)) / math.log(10)
    assert second.height - chart.z(fp32) == pytest.approx(unit * math.log(own / fp32))
    assert second.height - tower.summit(TOPS) == pytest.approx(unit * math.log(own / rate))
    assert scene.thread(20.0)[2] < second.height and tower.summit(14.0) < 1.0


@pytest.mark.parametrize("files", [("nvidia-h200",), ("rtx-3090-published",)])
def test_exactly_one_cube_is_magenta(files: tuple[str, ...]) -> None:
    made = staged(*files)
    for beat in np.arange(0.0, 24.0, 1.1):
        assert (np.abs(boxes(made, float(beat)).color - np.array(THREAD)).max(axis=1) < 1e-3).sum() == 1


def test_the_block_is_named_by_its_shape(by_mma: TensorCores) -> None:
    assert {"mma.sync m16n8k16", "32 lanes of one warp", "A  16 × 16", "B  16 × 8"} <= texts(by_mma, 4.0)
    assert {"4 096 FLOP", "64 FLOP", "× 64 the work,", "though it takes longer"} <= texts(by_mma, 10.0)
    assert "C  16 × 8" in texts(by_mma, 5.5)


def test_figures_are_the_files(scene: TensorCores, record: Any) -> None:
    plain = {"without tensor cores", rate_of(landed(scene, record), 1), "fp32, best so far, measured"}
    for beat in (15.0, 17.0):  # what is said of fp32 stands under no heading of the other
        assert plain <= texts(scene, beat) and "on tensor cores" not in texts(scene, beat)
    assert "on tensor cores" in texts(scene, 18.2) and not plain & texts(scene, 18.2)
    ladder, roofs, over = record["ladders"]["gemm_bf16"], record["roofs"], roof_over(record)
    own = {rate_of(roofs[name]["measured"]) for name in (over, ladder["math_roof"])}
    assert own <= texts(scene, 17.0)
    size = ladder["problem"].split(" x ")[0]
    assert {rate_of(best(record)["rate"], 1), f"measured · bf16 GEMM {size}³, height only"} <= texts(scene, 18.2)
    line = max(ladder["lines"], key=lambda item: item["rate"]["value"])
    assert {rate_of(line["rate"]), f"{line['title']}, measured", *own} <= texts(scene, 21.5)


def test_the_clock_that_the_power_cap_left_and_that_a_height_is_no_place_are_said(scene: TensorCores, record: Any) -> None:
    """Its bytes are counted at L2, the hall's slope is the load path's; the rung's own clock is 70 % of the highest."""
    rung = best(record)
    assert rung["throttle_reasons"] == ["power cap"] and record["ladders"]["gemm_bf16"]["level"] == "l2"
    said = texts(scene, 20.0)
    assert {f"{rung['clock']['value']:,.0f} MHz".replace(",", " "), ": power cap"} <= said
    assert any(words.endswith("8192\u00b3, height only") for words in said)


def test_no_tower_and_no_figure_of_a_rung_that_the_film_has_not_landed(scene: TensorCores, record: Any) -> None:
    """The best fp32 rung of all is the last chorus's news: neither its rate nor its tower is here."""
    final, known = best(record, "gemm_fp32")["rate"], landed(scene, record)
    assert final["value"] > known["value"], "the last chorus climbs further"
    assert not any(rate_of(final, 1) in texts(scene, float(beat)) for beat in np.arange(12.0, 24.0, 1.0))
    assert scene.chart is not None and scene.tower is not None
    tops = [prop.lot.top for prop in scene.props if isinstance(prop, Tower) and prop is not scene.tower]
    assert tops and max(tops) == pytest.approx(scene.chart.z(known["value"]))


def test_no_rate_of_no_rung_is_written_while_the_tower_rises(scene: TensorCores, record: Any) -> None:
    roofs = {
        rate_of(record["roofs"][name]["measured"]) for name in (roof_over(record), record["ladders"]["gemm_bf16"]["math_roof"])
    }
    for beat in (15.5, 16.5, 17.5):
        rates = {p.text for p in placed(scene, beat) if p.text.endswith("TFLOP/s") and p.kind != "axis"}
        assert rates <= roofs | {rate_of(landed(scene, record), 1)}


@pytest.mark.parametrize("which", ["scene", "by_mma"])
def test_the_ratio_is_of_the_roof_of_its_own_instruction(which: str, request: pytest.FixtureRequest, record: Any) -> None:
    """The HUD has none before its tower stands; it says of the beam, as the roofs do."""
    made: TensorCores = request.getfixturevalue(which)  # on_mma cuts the same record down
    achieved, rung, roof = made.achieved(), best(record), roof_over(record)
    assert achieved(TOPS - 0.1) is None
    shown, share = achieved(TOPS), rung["rate"]["value"] / record["roofs"][roof]["measured"]["value"]
    assert shown is not None and (shown.figure.text, shown.of) == (f"{share:.2f}", f"{rung['title']}, bf16")
    issued = record["roofs"][roof]["title"].split("(")[1].rstrip(")")
    assert (shown.heading, shown.peak) == ("OF THE BEAM", f"of the {issued} roof, measured")


def faster(record: Any, folder: Path, factor: float, **roof: Any) -> Path:
    """The record with a wgmma rung so much faster than cuBLAS, and perhaps a roof of its own."""
    ladder = on_mma(record)["ladders"]["gemm_bf16"]
    ladder["lines"][0]["rate"] = {"value": 690.0, "unit": "TFLOP/s", "source": "measured"}
    ladder["lines"][0].pop("samples", None)
    record["roofs"]["bf16_mma"]["measured"] = {"value": 650.0, "unit": "TFLOP/s", "source": "measured"}
    record["roofs"]["bf16_mma"].pop("samples", None)
    added = json.loads(json.dumps(ladder["rungs"][-1])) | {"name": "past_the_library", "title": "Past the library"}
    added["builds"][-1] |= {"entry": "wgmma_stores", "options": ["-arch=sm_90a", "-DBN=256"]}
    added["rate"] = {"value": factor * 690.0, "unit": "TFLOP/s", "source": "measured"}
    added |= {"math_roof": "bf16_wgmma"} if roof else {}
    ladder["rungs"].append(added)
    record["roofs"] |= {"bf16_wgmma": roof} if roof else {}
    path = folder / "faster.json"
    path.write_text(json.dumps(record))
    return path


def test_a_rung_past_the_mma_roof_is_beside_the_library_and_under_the_datasheets(record: Any, tmp_path: Path) -> None:
    """wgmma is not bound by what mma.sync reaches: no share of that roof; the tower stands under the datasheet's rate."""
    made = staged(faster(record, tmp_path, 1.02))
    assert made.second is not None and made.tower is not None and made.chart is not None
    sheet = record["roofs"]["bf16_mma"]["datasheet"]["value"]
    assert made.second.peak == sheet and made.tower.summit(TOPS) < made.second.height
    shown = made.achieved()(TOPS)
    assert shown is not None and shown.figure.text == "1.02"
    assert (shown.heading, shown.peak) == ("RATE / LIBRARY", "of cuBLAS bf16, measured")
    said = texts(made, 21.5)
    assert {f"{sheet:.0f} TFLOP/s", "bf16 peak, datasheet", "650 TFLOP/s", "by mma.sync, measured", "690 TFLOP/s"} <= said
    assert "1.02" in said


def test_a_roof_of_its_own_instruction_is_used(record: Any, tmp_path: Path) -> None:
    roof = {"title": "Tensor cores, bf16 (wgmma)", "kind": "math"}
    roof["measured"] = {"value": 800.0, "unit": "TFLOP/s", "source": "measured"}  # type: ignore[assignment]
    made = staged(faster(record, tmp_path, 1.02, **roof))
    shown = made.achieved()(TOPS)
    assert shown is not None and shown.figure.text == "0.88" and shown.peak == "of the wgmma roof, measured"
    assert made.second is not None and made.second.peak == 800.0
    said = texts(made, 19.0)
    assert {"800 TFLOP/s", "by wgmma, measured", "650 TFLOP/s", "by mma.sync, measured"} <= said


def test_a_roof_that_was_not_measured_is_not_missed(record: Any, tmp_path: Path) -> None:
    """A rung that names a roof which the file does not have is told beside the library all the same."""
    roof = {"title": "Tensor cores, bf16 (wgmma)", "kind": "math"}
    path = faster(record, tmp_path, 1.02, **roof)
    document = json.loads(path.read_text())
    del document["roofs"]["bf16_wgmma"]
    path.write_text(json.dumps(document))
    shown = staged(path).achieved()(TOPS)
    assert shown is not None and shown.heading == "RATE / LIBRARY"


def test_another_instruction_is_drawn_with_its_own_shape(record: Any, tmp_path: Path) -> None:
    best(record)["builds"][-1] |= {"entry": "wgmma_stores", "options": ["-DBN=256"]}
    path = tmp_path / "wide.json"
    path.write_text(json.dumps(record))
    made = staged(path)
    assert made.tensor.cells == (16, 16, 16) and made.lanes.warps == 4
    product = boxes(made, 9.5, made.lanes).size[-32:]  # a cell is 4 x 16 values, a product of an FMA one
    assert product[:, 0] / product[:, 1] == pytest.approx(16 / 4)
    assert boxes(made, 9.5, made.tensor).size[-256:, 0].mean() / product[:, 0] == pytest.approx(4)
    assert {"wgmma m64n256k16", "128 lanes of 4 warps", "a cell of C: 4 × 16 sums"} <= texts(made, 3.0)
    said = texts(made, 10.0)  # 2 x 64 x 256 x 16; 4 warps of 32 lanes, an FMA each: 2 x 128
    assert {"524 288 FLOP", "256 FLOP", "in an FMA of each warp", "× 2 048 the work,"} <= said


def test_a_librarys_rate_above_the_beam_is_told_where_there_is_no_ladder_of_tensor_cores(tmp_path: Path) -> None:
    record = json.loads((MEASUREMENTS / "rtx-3090-published.json").read_text())
    (line,) = record["ladders"]["gemm_fp32"]["lines"]
    told = {f"{line['rate']['value']:.1f} TFLOP/s", line["title"], f"{line['rate']['source']} · the dashed line"}
    made = staged("rtx-3090-published")
    assert told <= texts(made, 20.0) and not told & texts(made, 17.0)
    assert not any("not measured" in words for words in texts(made, 20.0)), "a rate is known"
    ((mark, _),) = made.library
    assert made.chart is not None
    assert mark.point(20.0)[2] > made.chart.z(made.chart.peak), "its line lies above the beam"
    line["rate"]["value"] = 0.9 * made.chart.peak  # under the beam it belongs to the last roof
    path = tmp_path / "under.json"
    path.write_text(json.dumps(record))
    assert not staged(path).library and any("not measured" in words for words in texts(staged(path), 20.0))


def test_without_a_rate_the_work_of_one_instruction_is_laid_out_in_fmas() -> None:
    """m16n8k16: 2 x 16 x 8 x 16 = 4096 FLOP; an FMA of 32 lanes: 64; 64 of them, eight each quarter beat from 14 on."""
    made = staged("rtx-3090-published")
    equal = next(prop for prop in made.props if isinstance(prop, Equal))
    sides = []
    for beat in (13.5, 14.1, 14.8, 23.0):
        sides.append(sum(len(batch.a) for batch in staging.world_at(made, beat, [equal]).ribbons))
    assert sides == [0, 4 * 8, 4 * 32, 4 * 64], "four sides each"
    equal_to = {"as many FLOP as one mma.sync", "by their shapes, no rate"}
    assert {"64 of 64 FMA", *equal_to} <= texts(made, 17.0)
    early = texts(made, 15.2)
    assert any(words.endswith("of 64 FMA") for words in early) and not equal_to & early, "said only once it is true"
    wide = Equal(made.foot, Instruction("wgmma", 64, 256, 16, 4), equal.beats)
    assert (wide.drawn(23.0), wide.counted(23.0)) == (64, 2 * 64 * 256 * 16 // 64), "an outline may stand for several"


def test_a_library_above_the_beam_was_issued_by_another_instruction(by_mma: TensorCores, record: Any, tmp_path: Path) -> None:
    ladder, roof = record["ladders"]["gemm_bf16"], record["roofs"]["bf16_mma"]["measured"]["value"]
    title = max(ladder["lines"], key=lambda item: item["rate"]["value"])["title"]
    for factor, words in ((1.1, f"{title}, not by mma.sync, measured"), (0.9, f"{title}, measured")):
        cut = json.loads(json.dumps(on_mma(record)))
        for line in cut["ladders"]["gemm_bf16"]["lines"]:
            line["rate"] = {"value": factor * roof, "unit": "TFLOP/s", "source": "measured"}
        path = tmp_path / "line.json"
        path.write_text(json.dumps(cut))
        assert words in texts(staged(path), 21.5)


def test_what_nobody_measured_is_said(record: Any, tmp_path: Path) -> None:
    made = staged("rtx-3090-published")
    assert made.second is None and made.tower is None
    assert "tensor cores not measured on NVIDIA GeForce RTX 3090" in texts(made, 16.0)
    assert not any("best so far" in words for words in texts(made, 15.0)), "no rate beside nothing that it is compared with"
    bare = {key: record[key] for key in ("schema", "device", "run")}
    path = tmp_path / "bare.json"
    path.write_text(json.dumps(bare))
    made = staged(path)
    assert made.chart is None and "tensor cores not measured on NVIDIA H200" in texts(made, 16.0)
    walls = [len(boxes(made, beat, made.tensor).origin) for beat in (5.5, 22.0)]
    assert walls[0] == walls[1] > 3 * 128, "without a hall the tile stays in the picture"
