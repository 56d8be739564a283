"""The store of finished segments: hits, misses and their reasons, damage, and what killed runs leave behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from measure import schema
from measure.dataset import Dataset
from measure.records import Device, Measurements, Quantity, Roof
from scenes.film import Row
from scenes.render import changes
from scenes.render.cache import KEPT_A_SPAN, VARIABLE, Cache, default_root
from scenes.render.errors import RequestError
from scenes.render.plan import Segment
from scenes.render.quality import QUALITIES
from scenes.render.segment import reading_digest
from scenes.stage.claims import ClaimLog, figure

L = QUALITIES["l"]
SEGMENT = Segment(Row("scene", "m", "C", 1, 4, ""), 1, 2, 0, 30)
PARTS = {"schema": "1", "scenes.scene": "aaaa", "numpy": "2.4.6"}


def dataset(folder: Path, peak: float = 65.2, slope: float = 4.5, name: str = "gpu") -> Dataset:
    content = Measurements(
        schema=1, device=Device("Some GPU", "some-gpu"), run=None,
        roofs={"fp32": Roof("FMA", "math", measured=Quantity(peak, "TFLOP/s", "measured")),
               "dram": Roof("DRAM", "memory", measured=Quantity(slope, "TB/s", "measured"))},
    )  # fmt: skip
    return Dataset.open([schema.save(content, folder / f"{name}.json")])


def store(cache: Cache, data: Dataset, folder: Path, parts: dict[str, str] = PARTS) -> Path:
    reading = data.get("roofs.fp32")
    assert reading is not None
    log = ClaimLog("scene")
    log.saw(figure(reading, 1), 3)
    (folder / "new.mp4").write_bytes(b"film " + os.urandom(8))
    entry = cache.store(SEGMENT, L, parts, folder / "new.mp4", {"roofs.fp32": reading_digest(data, "roofs.fp32")}, log.claims)
    return entry.video


def test_what_was_stored_is_found_with_its_claims(tmp_path: Path) -> None:
    cache, data = Cache(tmp_path / "cache"), dataset(tmp_path)
    assert cache.look_up(SEGMENT, L, PARTS, data).why == "not rendered yet"
    video = store(cache, data, tmp_path)
    found = cache.look_up(SEGMENT, L, PARTS, data)
    assert found.entry is not None and found.entry.video == video and found.entry.frames == 30
    assert [claim.text for claim in found.entry.claims] == ["65.2 TFLOP/s"]
    assert cache.look_up(SEGMENT, QUALITIES["m"], PARTS, data).entry is None
    assert cache.look_up(replace(SEGMENT, last=31), L, PARTS, data).entry is None


def test_a_value_that_was_read_counts_and_one_that_was_not_does_not(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    store(cache, dataset(tmp_path), tmp_path)
    assert cache.look_up(SEGMENT, L, PARTS, dataset(tmp_path, slope=4.6)).entry is not None
    missed = cache.look_up(SEGMENT, L, PARTS, dataset(tmp_path, peak=65.3))
    assert missed.entry is None and missed.why == "changed: measurements (roof fp32)"
    store(cache, dataset(tmp_path, peak=65.3), tmp_path)
    assert cache.look_up(SEGMENT, L, PARTS, dataset(tmp_path, peak=65.3)).entry is not None
    assert cache.look_up(SEGMENT, L, PARTS, dataset(tmp_path, peak=65.2)).entry is not None, "both stay"


def test_a_miss_names_what_changed(tmp_path: Path) -> None:
    cache, data = Cache(tmp_path / "cache"), dataset(tmp_path)
    store(cache, data, tmp_path)
    now = {"schema": "1", "scenes.scene": "bbbb", "numpy": "2.5.0", "scenes.props.new": "cccc"}
    why = cache.look_up(SEGMENT, L, now, data).why
    assert why == "changed: numpy 2.4.6 -> 2.5.0; code (scenes/scene.py, scenes/props/new.py)"


@pytest.mark.parametrize("damage", ["cut", "no video", "no json", "bad json", "old json"])
def test_a_damaged_entry_is_no_entry(tmp_path: Path, damage: str) -> None:
    cache, data = Cache(tmp_path / "cache"), dataset(tmp_path)
    video = store(cache, data, tmp_path)
    note = video.with_suffix(".json")
    match damage:
        case "cut":
            video.write_bytes(video.read_bytes()[:-1])
        case "no video":
            video.unlink()
        case "no json":
            note.unlink()
        case "bad json":
            note.write_text(note.read_text()[:-20])
        case "old json":
            note.write_text(json.dumps({"parts": PARTS, "size": video.stat().st_size}))
    assert cache.look_up(SEGMENT, L, PARTS, data).entry is None


def test_a_span_keeps_a_bounded_number_of_entries(tmp_path: Path) -> None:
    cache, data = Cache(tmp_path / "cache"), dataset(tmp_path)
    for number in range(KEPT_A_SPAN + 3):
        last = store(cache, data, tmp_path, {**PARTS, "scenes.scene": f"{number:04}"})
    left = list(cache.folder(SEGMENT, L).glob("*.mp4"))
    assert len(left) == KEPT_A_SPAN and last in left


def test_the_scratch_of_a_killed_run_is_swept_and_that_of_a_living_one_is_not(tmp_path: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from scenes.render.cache import Cache
with Cache(Path({str(tmp_path)!r})).scratch() as folder:
    (folder / "half.mp4").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False)
    assert len(list((tmp_path / "scratch").iterdir())) == 1
    cache = Cache(tmp_path)
    with cache.scratch() as one:
        assert list((tmp_path / "scratch").iterdir()) == [one]
        with cache.scratch() as other:
            assert one.is_dir() and other != one
    assert not list((tmp_path / "scratch").iterdir())


def test_the_folder_can_be_named_and_must_be_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_root().name == "cache" and default_root().parent.name == ".roofline"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "elsewhere"))
    assert Cache().root == tmp_path / "elsewhere"
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match=f"another folder in {VARIABLE}"):
        Cache(tmp_path / "file")


def test_what_changed_is_told_in_words() -> None:
    launch = {"transition from launch": "a", "scenes.launch": "b", "scenes.roof": "c", "timeline": "d"}
    alone = {"scenes.roof": "c", "timeline": "e"}
    assert changes.told(launch, alone, ()) == "the music or its words; drawn without the transition from launch"
    assert changes.told(alone, launch, ()) == "the music or its words; drawn with the transition from launch"
    readings = ("run?", "device.boost_clock?", "all_reduce@device.memory.packages", "device.boost_clock", "roofs.fp32")
    assert changes.told(alone, alone, readings) == "measurements (the run, boost clock, all reduce and 1 more)"
    assert changes.told(alone, alone, ()) == ""
