"""Reading and writing measurement files: what is refused, in which words, and that a file is written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure import schema
from measure.dataset import MEASUREMENTS, known_names
from measure.errors import OutputError, SchemaError
from measure.records import SCHEMA_VERSION, Device, Measurements, Quantity, Roof


def document() -> dict[str, Any]:
    """A small file with a bit of everything."""
    measured = {"value": 2.0, "unit": "TFLOP/s", "source": "measured", "low": 1.9, "high": 2.1, "n": 9}
    verification = {"passed": True, "error": 1e-7, "error_after": 1e-7, "tolerance": 4e-6, "oracle": "float64"}
    rung = {"name": "first", "title": "First", "change": "none", "rate": measured, "verification": verification}
    cycles = {"value": 20.0, "unit": "cycles", "source": "measured"}
    whole = {
        "schema": 2,
        "device": {"name": "A GPU", "slug": "a-gpu", "memory": {"kind": "HBM3"}},
        "run": {"date": "2026-12-02"},
        "roofs": {"fp32": {"title": "FMA", "kind": "math", "measured": dict(measured)}},
        "ladders": {
            "gemm_fp32": {
                "title": "Multiply",
                "problem": "1 x 1 x 1",
                "dtype": "fp32",
                "work": None,
                "math_roof": "fp32",
                "level": None,
                "rungs": [rung, {**rung, "name": "second", "builds": [{"grid": [1, 2, 3], "block": [32, 1, 1]}]}],
            }
        },
        "traces": {
            "index": {"blocks": 1, "threads": 2, "n": 1, "values": [0, -1]},
            "launch": {
                "blocks": 2,
                "threads": 32,
                "kernel": "k",
                "sm": [0, 1],
                "start_ns": [0, 5],
                "end_ns": [10, 15],
                "tick_ns": {"value": 32, "unit": "ns", "source": "measured"},
                "duration": {"value": 15, "unit": "ns", "source": "measured"},
            },
            "divergence": {
                "condition": "threadIdx.x < 1",
                "start": [10, 0],
                "end": [20, 10],
                "cycles": cycles,
                "uniform_cycles": cycles,
                "slowdown": cycles,
            },
        },
    }
    result: dict[str, Any] = json.loads(json.dumps(whole))  # no part of it twice
    return result


def changed(path: str, value: object) -> dict[str, Any]:
    """The document with one place changed; a path is written like `ladders.gemm_fp32.rungs.1.rate.value`."""
    result = document()
    *steps, last = path.split(".")
    place: Any = result
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    if value is KeyError:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return result


def test_the_small_file_is_valid() -> None:
    found = schema.from_document(document())
    assert found.ladders["gemm_fp32"].rungs[1].builds
    assert found.ladders["gemm_fp32"].rungs[0].rate == Quantity(2.0, "TFLOP/s", "measured", 1.9, 2.1, 9)
    assert found.traces.launch is not None and found.traces.launch.sm == (0, 1)


BAD: list[tuple[str, object, str, str]] = [
    (
        "ladders.gemm_fp32.rungs.1.rate.value",
        "fast",
        "$.ladders.gemm_fp32.rungs[1].rate.value",
        "expected a number, found the text 'fast'",
    ),
    ("ladders.gemm_fp32.rungs.1.rate.value", None, "$.ladders.gemm_fp32.rungs[1].rate.value", "expected a number, found null"),
    ("ladders.gemm_fp32.rungs.1.rate.value", True, "$.ladders.gemm_fp32.rungs[1].rate.value", "expected a number, found true"),
    (
        "ladders.gemm_fp32.rungs.1.rate.value",
        float("nan"),
        "$.ladders.gemm_fp32.rungs[1].rate.value",
        "expected a finite number, found nan",
    ),
    ("roofs.fp32.measured.high", float("inf"), "$.roofs.fp32.measured.high", "expected a finite number, found inf"),
    ("roofs.fp32.measured.n", 2.5, "$.roofs.fp32.measured.n", "expected a whole number, found 2.5"),
    ("roofs.fp32.measured.n", 0, "$.roofs.fp32.measured.n", "expected at least 1 sample, found 0"),
    ("roofs.fp32.measured.low", 3.0, "$.roofs.fp32.measured", "expected low <= value <= high, found 3.0 2.0 2.1"),
    ("roofs.fp32.measured.source", "guessed", "$.roofs.fp32.measured.source", "found the text 'guessed'"),
    (
        "roofs.fp32.measured.source",
        "datasheet",
        "$.roofs.fp32.measured.reference",
        "expected the citation of a datasheet figure",
    ),
    ("roofs.fp32.kind", "magic", "$.roofs.fp32.kind", "expected one of math, memory, found the text 'magic'"),
    ("roofs", [1], "$.roofs", "expected an object, found a list of 1"),
    ("device", "A GPU", "$.device", "expected an object, found the text 'A GPU'"),
    ("device.name", KeyError, "$.device.name", "expected this field, found none"),
    ("device.naem", "x", "$.device", "unknown field naem"),
    ("run.quick", 1, "$.run.quick", "expected true or false, found 1"),
    ("run.notes", "hot", "$.run.notes", "expected a list, found the text 'hot'"),
    (
        "ladders.gemm_fp32.rungs.1.builds.0.grid",
        [1, 2],
        "$.ladders.gemm_fp32.rungs[1].builds[0].grid",
        "expected a list of 3, found a list of 2",
    ),
    (
        "ladders.gemm_fp32.rungs.1.name",
        "first",
        "$.ladders.gemm_fp32.rungs[1].name",
        "expected a new name, found 'first' again",
    ),
    ("ladders.gemm_fp32.rungs.0.verification.passed", False, "$.ladders.gemm_fp32.rungs[0].rate", "not verified"),
    ("ladders.gemm_fp32.level", "l9", "$.ladders.gemm_fp32.level", "found the text 'l9'"),
    ("traces.launch.sm", [0], "$.traces.launch.sm", "expected 2 values (blocks), found 1"),
    ("traces.launch.sm.1", "one", "$.traces.launch.sm[1]", "expected a whole number, found the text 'one'"),
    ("traces.launch.end_ns", [10, 4], "$.traces.launch.end_ns[1]", "expected 5 or later (its start), found 4"),
    ("traces.index.values", [0], "$.traces.index.values", "expected 2 values (blocks x threads), found 1"),
    ("traces.divergence.end", [1], "$.traces.divergence.end", "expected 2 values (lanes), found 1"),
    ("schema", 0, "$.schema", "expected a schema version from 1 to 2, found 0"),
    ("schema", "1", "$.schema", "found the text '1'"),
    ("schema", KeyError, "$.schema", "found none"),
    ("schema", 99, "$.schema", "expected a schema version up to 2, found 99: it needs a newer release"),
]


@pytest.mark.parametrize(("place", "value", "path", "words"), BAD)
def test_a_bad_value_is_refused_with_its_place_in_one_line(
    tmp_path: Path, place: str, value: object, path: str, words: str
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(changed(place, value)))
    with pytest.raises(SchemaError) as caught:
        schema.load(file)
    message = str(caught.value)
    assert caught.value.path == path
    assert message.startswith(f"{file}: {path}: ") and words in message and "\n" not in message


@pytest.mark.parametrize("text", ["[]", "3", "null", '"text"'])
def test_a_document_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(SchemaError, match=r"\$: expected an object"):
        schema.load(file)


def test_a_truncated_file_is_told_from_a_broken_one(tmp_path: Path) -> None:
    whole = json.dumps(document(), indent=1)
    file = tmp_path / "cut.json"
    for end in (0, 1, len(whole) // 2, len(whole) - 1):
        file.write_text(whole[:end])
        with pytest.raises(SchemaError) as caught:
            schema.load(file)
        assert "truncated" in str(caught.value) or "not JSON" in str(caught.value)
        assert "\n" not in str(caught.value)
    file.write_text(whole[:-1])
    with pytest.raises(SchemaError, match=r"ends too early \(truncated\?\)"):
        schema.load(file)


def test_missing_folder_and_binary_files_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no such measurement file"):
        schema.load(tmp_path / "none.json")
    with pytest.raises(SchemaError, match="cannot be read"):
        schema.load(tmp_path)
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="not a text file"):
        schema.load(tmp_path / "binary.json")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(SchemaError, match=r"nested too deeply|truncated|not JSON"):
        schema.load(tmp_path / "deep.json")


def test_saving_and_loading_gives_the_same_records(tmp_path: Path) -> None:
    first = schema.from_document(document())
    path = schema.save(first, tmp_path / "same.json")
    assert schema.load(path) == first
    assert [entry.name for entry in tmp_path.iterdir()] == ["same.json"]


@pytest.mark.parametrize("name", known_names())
def test_the_files_of_the_project_survive_a_round_trip(tmp_path: Path, name: str) -> None:
    found = schema.load(MEASUREMENTS / f"{name}.json")
    assert schema.load(schema.save(found, tmp_path / "again.json")) == found


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(value=numbers, unit=st.text(max_size=5), n=st.integers(1, 10**9), key=st.text(min_size=1, max_size=8))
def test_any_finite_quantity_survives(value: float, unit: str, n: int, key: str) -> None:
    roof = Roof("t", "memory", measured=Quantity(abs(value) + 1e-300, unit, "measured", n=n))
    before = Measurements(SCHEMA_VERSION, Device("x", "x"), None, roofs={key: roof})
    assert schema.from_document(json.loads(schema.dumps(before))) == before


def test_invalid_records_are_not_saved_and_the_old_file_stays(tmp_path: Path) -> None:
    path = schema.save(schema.from_document(document()), tmp_path / "kept.json")
    before = path.read_bytes()
    bad = Measurements(1, Device("x", "x"), None, roofs={"fp32": Roof("t", "math", measured=Quantity(-1.0, "", "measured"))})
    with pytest.raises(SchemaError, match=r"\$\.roofs\.fp32\.measured\.value: expected more than 0"):
        schema.save(bad, path)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_an_unwritable_place_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = schema.from_document(document())
    with pytest.raises(OutputError, match="cannot be written: No such file"):
        schema.save(good, tmp_path / "no" / "folder.json")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OutputError, match="No space left on device"):
        schema.save(good, tmp_path / "full.json")
    assert list(tmp_path.iterdir()) == []


def test_an_older_version_is_upgraded_on_read() -> None:
    """Version 1 had one build a rung, and cycles alone for a latency."""
    old = document()
    rungs = old["ladders"]["gemm_fp32"]["rungs"]
    rungs[1]["build"] = rungs[1].pop("builds")[0]
    cycles = {"value": 692.0, "unit": "cycles", "source": "measured"}
    found = schema.from_document({**old, "schema": 1, "latencies": {"dram": cycles}})
    assert found.schema == SCHEMA_VERSION
    assert [len(rung.builds) for rung in found.ladders["gemm_fp32"].rungs] == [0, 1]
    assert found.ladders["gemm_fp32"].rungs[1].builds[0].grid == (1, 2, 3)
    assert found.latencies["dram"].cycles == Quantity(692.0, "cycles", "measured") and found.latencies["dram"].time is None


@pytest.mark.parametrize(
    ("place", "value"), [("ladders", []), ("latencies", 3), ("ladders.gemm_fp32.rungs", {}), ("ladders.gemm_fp32.rungs.0", "x")]
)
def test_an_older_file_with_a_wrong_shape_is_refused_in_one_line(place: str, value: object) -> None:
    broken = {**changed(place, value), "schema": 1} if "." in place else {**document(), place: value, "schema": 1}
    with pytest.raises(SchemaError, match=rf"^measurements: \$\.{place.split('.')[0]}.*expected ") as caught:
        schema.from_document(broken)
    assert "\n" not in str(caught.value)


def test_a_sweep_needs_series_of_different_names() -> None:
    values = {"1": {"value": 1.0, "unit": "", "source": "measured"}}
    series = {"name": "branching", "title": "Branching", "values": values}
    sweep = {"title": "t", "parameter": "paths", "unit": "", "kernel": "k", "series": [series, dict(series)]}
    with pytest.raises(SchemaError, match=r"\$\.sweeps\.paths\.series\[1\]\.name: expected a new name, found 'branching'"):
        schema.from_document({**document(), "sweeps": {"paths": sweep}})
    with pytest.raises(SchemaError, match=r"\$\.sweeps\.paths\.series\[0\]\.values: expected at least one value, found none"):
        schema.from_document({**document(), "sweeps": {"paths": {**sweep, "series": [{**series, "values": {}}]}}})
