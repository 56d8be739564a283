"""What scenes read: keys, overlays, who owns what, and that a cache key changes when a value that was read does."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from measure import schema
from measure.dataset import Dataset, Owned, find_file, known_names
from measure.errors import DatasetKeyError, SchemaError
from measure.noted import present
from measure.records import (
    SCHEMA_VERSION,
    Device,
    IndexTrace,
    Ladder,
    Measurements,
    Quantity,
    ReferenceLine,
    Roof,
    Run,
    Rung,
    Traces,
    Traffic,
    Verification,
)


def q(value: float, unit: str = "", source: str = "measured") -> Quantity:
    return Quantity(value, unit, source, reference="a citation")  # type: ignore[arg-type]


def gpu(name: str, rate: float, peak: float, bandwidth: float) -> Measurements:
    """A GPU with one rung of 8 FLOP over 4 B at the load path, a math roof and a load path."""
    rung = Rung(
        "one",
        "One",
        "",
        rate=q(rate, "TFLOP/s"),
        traffic={"load_path": Traffic(model=q(4.0, "B", "derived"))},
        verification=Verification(True, 0.0, 0.0, 1.0, "float64"),
    )
    return Measurements(
        SCHEMA_VERSION,
        Device(name, name.lower(), sm_count=q(10.0)),
        Run("2026-12-02", driver="1"),
        roofs={
            "fp32": Roof("FMA", "math", measured=q(peak, "TFLOP/s"), datasheet=q(99.0, "TFLOP/s", "datasheet")),
            "load_path": Roof("load path", "memory", measured=q(bandwidth, "TB/s")),
        },
        ladders={"gemm_fp32": Ladder("Multiply", "p", "fp32", q(8.0, "FLOP", "derived"), "fp32", "load_path", (rung,))},
        traces=Traces(index=IndexTrace(1, 2, 1, (0, -1))),
        absent={"traces.launch": f"not run on {name}"},
    )


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    first = schema.save(gpu("First", 6.0, 12.0, 4.0), tmp_path / "first.json")
    return first, schema.save(gpu("Second", 30.0, 40.0, 20.0), tmp_path / "second.json")


def value(data: Dataset, key: str) -> float:
    reading = data.get(key)
    assert reading is not None
    return reading.quantity.value


def test_keys_name_quantities_in_full(two: tuple[Path, Path]) -> None:
    data = Dataset.open([two[0]])
    reading = data.get("roofs.fp32")
    assert reading is not None
    assert (reading.key, reading.file, reading.device.name) == ("roofs.fp32.measured", "first", "First")
    for key, expected in {
        "roofs.fp32.best": 12.0,
        "roofs.fp32.datasheet": 99.0,
        "ladders.gemm_fp32.rungs.one.rate": 6.0,
        "ladders.gemm_fp32.work": 8.0,
        "device.sm_count": 10.0,
    }.items():
        assert value(data, key) == expected
    traffic = data.get("ladders.gemm_fp32.rungs.one.traffic.load_path")
    assert traffic is not None and traffic.key.endswith(".traffic.load_path.model")


def test_derived_readings_by_arithmetic(two: tuple[Path, Path]) -> None:
    """8 FLOP over 4 B is 2 FLOP/B; 4 TB/s then allow 8 TFLOP/s, 6 are 0.75 of it; 6 of 12 is 0.5; 12 over 4 is 3."""
    data = Dataset.open([two[0]])
    assert value(data, "derived.intensity.gemm_fp32.one") == 2.0
    assert value(data, "derived.of_level.gemm_fp32.one") == 0.75
    assert value(data, "derived.achieved.gemm_fp32.one") == 0.5
    assert value(data, "derived.ridge.load_path.fp32") == 3.0
    achieved = data.achieved("gemm_fp32", "one")
    assert achieved is not None and achieved == data.get(achieved.key)
    assert achieved.quantity.source == "derived"
    assert achieved.quantity.reference == "from ladders.gemm_fp32.rungs.one.rate (measured), roofs.fp32.measured (measured)"
    bound = data.bound_by("gemm_fp32", "one")
    assert bound is not None and bound.roof == "load_path"


def test_a_rung_beside_a_library(two: tuple[Path, Path], tmp_path: Path) -> None:
    """6 TFLOP/s beside a library's 8 are 0.75 of it; without a line of that name there is no ratio."""
    found = gpu("First", 6.0, 12.0, 4.0)
    line = ReferenceLine("Vendor", q(8.0, "TFLOP/s"), name="vendor")
    ladder = replace(found.ladders["gemm_fp32"], lines=(line,))
    data = Dataset.open([schema.save(replace(found, ladders={"gemm_fp32": ladder}), tmp_path / "line.json")])
    reading = data.get("derived.of_line.gemm_fp32.one.vendor")
    assert reading is not None and (reading.quantity.value, reading.quantity.source) == (0.75, "derived")
    assert "ladders.gemm_fp32.lines.vendor.rate (measured)" in reading.quantity.reference
    assert data.get("derived.of_line.gemm_fp32.one.other") is None and data.fingerprint([reading.key])
    assert Dataset.open([two[0]]).get("derived.of_line.gemm_fp32.one.vendor") is None


def test_lanes_of_a_gpu_are_its_sms_times_the_lanes_of_one() -> None:
    """16 896 on an H200 (132 SMs of 128, CUDA C++ Programming Guide), 10 496 "CUDA cores" on an RTX 3090 (NVIDIA's data)."""
    for name, lanes in (("nvidia-h200", 16896), ("rtx-3090-published", 10496)):
        data = Dataset.open([name])
        assert value(data, "derived.fp32_lanes") == lanes
        assert data.has("derived.fp32_lanes") and {"derived.fp32_lanes", "device.name"} <= data.reads
        assert data.fingerprint(["derived.fp32_lanes"]) != data.fingerprint([])


def test_shared_memory_of_a_gpu_is_that_of_its_sms_together() -> None:
    """132 SMs of 228 KiB as the device says; 82 of 100 KiB on an RTX 3090 (CUDA C++ Programming Guide, 8.6)."""
    for name, total in (("nvidia-h200", 132 * 228 * 1024), ("rtx-3090-published", 82 * 100 * 1024)):
        data = Dataset.open([name])
        reading = data.get("derived.shared_memory")
        assert reading is not None and (reading.quantity.value, reading.quantity.source) == (total, "derived")
        assert data.has(reading.key) and {reading.key, "device.name"} <= data.reads
        assert data.fingerprint([reading.key]) != data.fingerprint([])


def test_the_square_of_scores_is_that_of_the_ladders_problem(two: tuple[Path, Path]) -> None:
    """8192 queries and as many keys, 4 bytes a score: 268 MB a head."""
    data = Dataset.open(["nvidia-h200"])
    assert value(data, "derived.square.attention") == 8192**2 * 4 == 268_435_456
    assert data.get("derived.square.gemm_fp32") is None and Dataset.open([two[0]]).get("derived.square.attention") is None


def test_what_is_absent_is_none_and_says_why(two: tuple[Path, Path]) -> None:
    data = Dataset.open([two[0]])
    for key in (
        "roofs.l2",
        "roofs.fp32.published",
        "ladders.gemm_fp32.rungs.two.rate",
        "ladders.none.rungs.x.rate",
        "latencies.dram.cycles",
        "traces.launch.duration",
        "all_reduce.bus_bandwidth.ring",
        "derived.ridge.l2.fp32",
        "derived.intensity.gemm_fp32.two",
        "derived.achieved.none.one",
        "run.clock",
    ):
        assert data.get(key) is None, key
    assert data.launch_trace() is None and data.roof("l2") is None and data.all_reduce() is None
    assert data.why_absent("traces.launch") == "not run on First"
    assert data.why_absent("all_reduce") == "not in first"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("roofs.fp32.measurd", "did you mean 'measured'"),
        ("ladders.gemm_fp32.rungs.one.rte", "did you mean 'rate'"),
        ("device.name", "names a str, not a quantity"),
        ("device.sm_count.value.more", "nothing lies below"),
        ("nonsense", "has no field 'nonsense'"),
        ("derived.speed.gemm_fp32.one", "derived keys are"),
        ("ladders.gemm_fp32.rungs.one", "names a Rung"),
    ],
)
def test_a_key_that_cannot_exist_is_an_error(two: tuple[Path, Path], key: str, words: str) -> None:
    with pytest.raises(DatasetKeyError) as caught:
        Dataset.open([two[0]]).get(key)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_later_files_overlay_subjects_whole_and_each_keeps_its_device(tmp_path: Path, two: tuple[Path, Path]) -> None:
    roofless = replace(gpu("Third", 3.0, 1.0, 1.0), roofs={}, ladders={}, traces=Traces(index=IndexTrace(1, 1, 1, (0,))))
    third = schema.save(roofless, tmp_path / "third.json")
    data = Dataset.open([*two, third])
    assert value(data, "roofs.fp32") == 40.0
    index = data.index_trace()
    assert index is not None and index.device.name == "Third" and index.value.blocks == 1
    ladder = data.ladder("gemm_fp32")
    assert ladder is not None and ladder.device.name == "Second" and ladder.run is not None
    assert data.device.name == "Second"
    assert Dataset.open([two[1], two[0]]).device.name == "First"


def test_roofs_of_one_gpu_never_meet_the_ladder_of_another(tmp_path: Path, two: tuple[Path, Path]) -> None:
    only_roofs = replace(gpu("Roofs", 1.0, 1000.0, 1000.0), ladders={}, traces=Traces())
    roofs = schema.save(only_roofs, tmp_path / "roofs.json")
    data = Dataset.open([two[0], roofs])
    assert value(data, "roofs.fp32") == 1000.0
    assert value(data, "derived.achieved.gemm_fp32.one") == 0.5
    assert data.device.name == "First"
    bare = schema.save(replace(gpu("Bare", 6.0, 1.0, 1.0), roofs={}), tmp_path / "bare.json")
    assert value(Dataset.open([two[0], bare]), "derived.achieved.gemm_fp32.one") == 0.5
    assert Dataset.open([bare]).achieved("gemm_fp32", "one") is None


def test_published_stays_published_through_arithmetic() -> None:
    data = Dataset.open(["rtx-3090-published"])
    achieved = data.achieved("gemm_fp32", "vectorised")
    assert achieved is not None and achieved.quantity.source == "published"
    assert achieved.quantity.value == pytest.approx(0.78, abs=0.005)
    assert data.intensity("gemm_fp32", "vectorised") is None and data.run is None


def test_every_read_is_recorded_and_nothing_else(two: tuple[Path, Path]) -> None:
    data = Dataset.open([two[0]])
    assert data.reads == frozenset()
    data.get("roofs.fp32")
    data.why_absent("traces.launch")
    assert data.device.name == "First"
    assert data.reads == {"roofs.fp32", "roofs@device.name", "absent.traces.launch", "device.name"}
    before = data.reads
    data.fingerprint(data.reads)
    assert data.reads == before


def read_of(path: Path, look: Callable[[Dataset], object]) -> frozenset[str]:
    data = Dataset.open([path])
    look(data)
    return data.reads


def ladder_of(data: Dataset) -> Owned[Ladder]:
    owned = data.ladder("gemm_fp32")
    assert owned is not None
    return owned


def test_records_note_field_by_field_what_is_read_of_them(two: tuple[Path, Path]) -> None:
    """Whose ladder it is, which rungs it has, and no more than what was looked at of each."""
    path = two[0]
    assert read_of(path, lambda data: data.ladder("gemm_fp32")) == {"ladders.gemm_fp32?"}
    assert read_of(path, lambda data: ladder_of(data).value.problem) == {"ladders.gemm_fp32?", "ladders.gemm_fp32.problem"}
    rungs = {"ladders.gemm_fp32?", "ladders.gemm_fp32.rungs#"}
    assert read_of(path, lambda data: [rung.name for rung in ladder_of(data).value.rungs]) == rungs | {
        "ladders.gemm_fp32.rungs.one.name"
    }
    assert read_of(path, lambda data: [rung.rate for rung in ladder_of(data).value.rungs]) == rungs | {
        "ladders.gemm_fp32.rungs.one.rate"
    }
    assert read_of(path, lambda data: ladder_of(data).device.memory.kind) == {
        "ladders.gemm_fp32?",
        "ladders.gemm_fp32@device.memory.kind",
    }
    # a property notes the fields that it looks at
    found = read_of(path, lambda data: data.roof("fp32").value.best)  # type: ignore[union-attr]
    assert found == {"roofs.fp32?", "roofs.fp32.measured"}
    assert read_of(path, lambda data: "l2" in ladder_of(data).value.rungs[0].traffic) == rungs | {
        "ladders.gemm_fp32.rungs.one.traffic.l2?"
    }
    # whether something is there is not its value
    assert read_of(path, lambda data: present(ladder_of(data).value.rungs[0], "rate")) == rungs | {
        "ladders.gemm_fp32.rungs.one.rate?"
    }
    assert read_of(path, lambda data: data.has("roofs.fp32.measured")) == {"roofs.fp32.measured?"}


def test_what_is_there_is_told_without_its_value(two: tuple[Path, Path]) -> None:
    data = Dataset.open([two[0]])
    for key in ("roofs.fp32", "roofs.fp32.measured", "roofs.fp32.best", "derived.achieved.gemm_fp32.one", "device.name"):
        assert data.has(key) and data.has(key) == (data.get(key) is not None if not key.endswith("name") else True)
    for key in ("roofs.fp32.published", "roofs.l2", "ladders.other", "traces.launch", "derived.achieved.gemm_fp32.nine"):
        assert not data.has(key)
    assert data.has("ladders.gemm_fp32@device.name") and not data.has("sweeps.stride@device.name")
    with pytest.raises(DatasetKeyError, match="measurde"):
        data.has("roofs.fp32.measurde")
    rung = ladder_of(data).value.rungs[0]
    assert present(rung, "rate") and present(schema.load(two[0]).ladders["gemm_fp32"].rungs[0], "rate")
    assert not present(replace(schema.load(two[0]).ladders["gemm_fp32"].rungs[0], rate=None), "rate")


def test_a_charts_reach_is_noted_as_a_whole(two: tuple[Path, Path]) -> None:
    """What the axes must reach: the least bytes' rung, the slowest, and the roof above all of them."""
    path = two[0]
    content = schema.load(path)
    rates = [rung.rate.value for rung in content.ladders["gemm_fp32"].rungs if rung.rate is not None]
    peak = content.roofs["fp32"].best
    assert peak is not None and read_of(path, lambda data: data.extent("gemm_fp32")) == {"extent.gemm_fp32.fp32"}
    extent = Dataset.open([path]).extent("gemm_fp32")
    assert extent is not None
    assert (extent.slowest, extent.fastest) == (min(rates), max(peak.value, *rates))
    marks = [
        reading.quantity.value
        for rung in content.ladders["gemm_fp32"].rungs
        if (reading := Dataset.open([path]).intensity("gemm_fp32", rung.name)) is not None
    ]
    assert (extent.intensity, extent.highest) == (min(marks), max(marks))
    assert Dataset.open([path]).extent("gemm_fp32", "bf16") is None


def test_a_noted_record_passes_for_the_record(two: tuple[Path, Path]) -> None:
    ladder = ladder_of(Dataset.open([two[0]])).value
    plain = schema.load(two[0]).ladders["gemm_fp32"]
    assert isinstance(ladder, Ladder) and ladder == plain
    assert isinstance(ladder.rungs[0], Rung) and ladder.rungs[0].rate == plain.rungs[0].rate
    assert dict(ladder.rungs[0].traffic).keys() == dict(plain.rungs[0].traffic).keys()
    with pytest.raises(AttributeError):
        ladder.nothing  # type: ignore[attr-defined]  # noqa: B018


KEYS = [
    "roofs.fp32",
    "ladders.gemm_fp32",
    "ladders.gemm_fp32?",
    "ladders.gemm_fp32.rungs#",
    "ladders.gemm_fp32.rungs.one.rate",
    "ladders.gemm_fp32@device.name",
    "ladders.gemm_fp32@run.date",
    "derived.achieved.gemm_fp32.one",
    "bound.gemm_fp32.one",
    "device",
    "device.name",
    "run",
    "main",
    "absent.traces.launch",
    "roofs.l2",
    "roofs.fp32?",
    "roofs.fp32.measured?",
    "roofs.fp32.published?",
    "extent.gemm_fp32.fp32",
]


@pytest.mark.parametrize("key", KEYS)
def test_the_fingerprint_is_stable_and_differs_by_key(two: tuple[Path, Path], key: str) -> None:
    data = Dataset.open([two[0]])
    assert data.fingerprint([key]) == Dataset.open([two[0]]).fingerprint([key])
    assert data.fingerprint([key]) != data.fingerprint(["traces.index"])
    assert data.fingerprint([key, "device"]) == data.fingerprint(["device", key, key])


def test_the_fingerprint_changes_with_what_was_read_only(tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    first = gpu("G", 6.0, 12.0, 4.0)

    def changed(after: Measurements) -> set[str]:
        schema.save(first, path)
        before = {key: Dataset.open([path]).fingerprint([key]) for key in KEYS}
        schema.save(after, path)
        return {key for key in KEYS if before[key] != Dataset.open([path]).fingerprint([key])}

    roof = replace(first.roofs["fp32"], measured=q(13.0, "TFLOP/s"))
    assert changed(replace(first, roofs={**first.roofs, "fp32": roof})) == {
        "roofs.fp32",
        "derived.achieved.gemm_fp32.one",
        "extent.gemm_fp32.fp32",
        "main",
    }  # its presence not, nor what binds the rung: that is the load path, three quarters of which it reaches either way
    assert changed(replace(first, roofs={**first.roofs, "fp32": replace(roof, measured=q(12.0, "TFLOP/s"), title="X")})) == {
        "main"
    }
    published = replace(first.roofs["fp32"], measured=None, published=first.roofs["fp32"].measured)
    assert {key for key in changed(replace(first, roofs={**first.roofs, "fp32": published})) if key.endswith("?")} == {
        "roofs.fp32.measured?",
        "roofs.fp32.published?",
    }
    assert {key for key in changed(replace(first, device=replace(first.device, name="H"))) if "name" not in key} == {
        "device",
        "main",
    }
    ladder = first.ladders["gemm_fp32"]
    slower = replace(ladder, rungs=(replace(ladder.rungs[0], samples=(1.0, 2.0)), *ladder.rungs[1:]))
    assert changed(replace(first, ladders={**first.ladders, "gemm_fp32": slower})) == {"ladders.gemm_fp32", "main"}
    another = replace(ladder, rungs=(*ladder.rungs, Rung("another", "Another", "")))
    assert changed(replace(first, ladders={**first.ladders, "gemm_fp32": another})) == {
        "ladders.gemm_fp32",
        "ladders.gemm_fp32.rungs#",
        "main",
    }


def test_another_process_opens_the_same(two: tuple[Path, Path]) -> None:
    data = Dataset.open(two)
    again = pickle.loads(pickle.dumps(data))
    assert again.specs == data.specs == tuple(str(path) for path in two)
    assert again.fingerprint(KEYS) == data.fingerprint(KEYS)


def test_names_and_paths() -> None:
    assert {"hgx-h100-published", "nvidia-h200", "rtx-3090-published"} <= set(known_names())
    assert find_file("nvidia-h200").name == "nvidia-h200.json"
    with pytest.raises(
        SchemaError, match=r"gtx-1: no measurement of that name; known are hgx-h100-published, nvidia-h200, rtx-"
    ):
        Dataset.open(["gtx-1"])
    with pytest.raises(SchemaError, match=r"no/such\.json: no such measurement file"):
        Dataset.open(["no/such.json"])


def test_the_default_is_the_h200_over_the_published_server() -> None:
    data = Dataset.open()
    server, roof = data.all_reduce(), data.roof("load_path")
    assert data.device.name == "NVIDIA H200" and data.run is not None
    assert server is not None and server.device.slug == "hgx-h100" and server.run is None
    assert roof is not None and roof.file == "nvidia-h200"
    ring = data.get("all_reduce.bus_bandwidth.ring")
    assert ring is not None and ring.quantity.source == "published" and ring.device.slug == "hgx-h100"
