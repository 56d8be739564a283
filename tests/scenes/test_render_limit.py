"""How much the engine keeps and holds: the cache's limit, halves and parts that kills leave, memory, compiling once."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from measure.dataset import Dataset
from scenes.benchmarks import identical
from scenes.film import Row
from scenes.render import master, report, why
from scenes.render.cache import LIMIT_VARIABLE, Cache, Lookup, default_limit
from scenes.render.errors import RequestError
from scenes.render.make import make, survey
from scenes.render.plan import Segment
from scenes.render.quality import QUALITIES
from scenes.render.segment import Job

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import short_film

L = QUALITIES["l"]
SEGMENT = Segment(Row("scene", "m", "C", 1, 8, ""), 1, 2, 0, 30)
SIZE = 10_000


def stored(cache: Cache, folder: Path, number: int) -> Path:
    """An entry of some 10 kB in a span of its own, used `number` seconds after the epoch."""
    (folder / "new.mp4").write_bytes(bytes(SIZE))
    segment = replace(SEGMENT, first=100 * number, last=100 * number + 30)
    video = cache.store(segment, L, {"part": str(number)}, folder / "new.mp4", {}, ()).video
    for path in (video, video.with_suffix(".json")):
        os.utime(path, (number, number))
    return video


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", limit=3 * SIZE + SIZE // 2)
    videos = [stored(cache, tmp_path, number) for number in range(1, 6)]
    first = replace(SEGMENT, first=100, last=130)
    assert cache.look_up(first, L, {"part": "1"}, Dataset.open()).entry is not None  # used: it is the newest now
    assert cache.shrink() > 2 * SIZE
    assert [video.exists() for video in videos] == [True, False, False, True, True]
    assert [video.with_suffix(".json").exists() for video in videos] == [True, False, False, True, True]
    assert not videos[1].parent.exists(), "no empty folders are left"
    assert cache.shrink() == 0


def test_halves_of_entries_go_and_whole_ones_within_the_limit_stay(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", limit=10 * SIZE)
    whole, no_note, no_film = (stored(cache, tmp_path, number) for number in (1, 2, 3))
    no_note.with_suffix(".json").unlink()
    no_film.unlink()
    cache.shrink()
    assert sorted(path.suffix for path in (tmp_path / "cache" / "segments").rglob("*.*") if path.is_file()) == [".json", ".mp4"]
    assert whole.exists()


def test_nothing_goes_under_a_running_render(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", limit=0)
    video = stored(cache, tmp_path, 1)
    with Cache(tmp_path / "cache").scratch():
        assert cache.shrink() == 0 and video.exists()
    assert cache.shrink() > SIZE and not video.exists()


def test_the_limit_is_a_number_of_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_limit() == 8_000_000_000
    monkeypatch.setenv(LIMIT_VARIABLE, "0.5")
    assert default_limit() == 500_000_000
    for text in ("much", "-1", "nan", "inf"):
        monkeypatch.setenv(LIMIT_VARIABLE, text)
        with pytest.raises(RequestError, match=f"{LIMIT_VARIABLE}={text}: expected the most GB"):
            default_limit()


def test_a_half_written_film_of_a_killed_render_is_swept_and_one_being_written_is_not(tmp_path: Path) -> None:
    target = tmp_path / "fi[l]m.mp4"
    other = tmp_path / ".other.part-x.mp4"
    other.write_bytes(b"another film's")
    (tmp_path / ".fi[l]m.part-dead.mp4").write_bytes(b"half")
    with master.whole_file(target) as part:
        assert {path.name for path in tmp_path.iterdir()} == {part.name, other.name}
        with master.whole_file(target) as second:
            second.write_bytes(b"second")
            assert part.exists()
        part.write_bytes(b"first")
    assert target.read_bytes() == b"first"
    assert {path.name for path in tmp_path.iterdir()} == {target.name, other.name}


def test_lines_group_bars_by_reason() -> None:
    row = Row("scene", "m", "C", 1, 8, "")
    lookups = [
        Lookup(Segment(row, first, first + 1, 0, 1), {}, None, reason)
        for first, reason in ((1, "changed: numpy"), (3, "not rendered yet"), (5, "changed: numpy"), (7, "changed: numpy"))
    ]
    assert list(why.lines(lookups)) == ["scene bars 1-2, 5-8 of 8: changed: numpy", "scene bars 3-4 of 8: not rendered yet"]


def _peak(folder: str) -> int:
    """The most memory that one process holds when it draws two frames of the densest scene at 4K and codes them."""
    from scenes.render.segment import prepare, run

    quality = QUALITIES["k"]
    prepare(Path(folder), quality)
    film = identical.Film(("launch",), "k").request()
    segment = survey(film, Cache(Path(folder) / "cache"))[-1].segment
    job = Job(
        film.rows[0], segment.first, segment.first + 2, quality, film.dataset.specs, film.timeline, Path(folder) / "k.mp4"
    )
    return run(job, lambda frames: None).peak_memory


def test_a_4k_render_stays_under_three_gigabytes_a_process(tmp_path: Path) -> None:
    """Two real frames, and by arithmetic every text of a segment: 2 bars of 240 frames a bar with three counters at most."""
    with multiprocessing.get_context("spawn").Pool(1) as processes:
        peak = processes.apply(_peak, (str(tmp_path),))
    text = 4 * 700 * 250  # bytes of a number's sprite at 4K: ten digits of 76 px type at twice the size
    assert peak + 2 * 240 * 3 * text < 3e9
    assert peak > 4 * 3840 * 2160 * 4, "frame, work buffer and planes are there"


KERNELS = """
import sys
from scenes.stage import jit
jit._CACHE = sys.argv[1]

@jit.kernel
def part(x, y):
    return x * y + 0.1

@jit.kernel
def whole(x):
    return part(x, 3.0) + part(part(x, x), 0.7)

print(whole(1.1).hex(), sum(whole.stats.cache_misses.values()))
"""


def test_pixel_code_is_compiled_by_one_process_and_its_parts_are_in_it(tmp_path: Path) -> None:
    """Two processes want it at once; a third comes later. All get the same bits, and only the whole lies on disk."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    command = [sys.executable, str(tmp_path / "kernels.py"), str(tmp_path / "compiled")]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    team = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    said = [process.communicate()[0].split() for process in team]
    said.append(subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.split())
    assert len({value for value, _ in said}) == 1
    assert sorted(int(compiled) for _, compiled in said) == [0, 0, 1]
    assert [path.name.split("-")[0] for path in (tmp_path / "compiled").rglob("*.nbc")] == ["kernels.whole"]


def test_each_process_s_memory_is_told(tmp_path: Path) -> None:
    film = short_film.request(tmp_path, rows=short_film.ROWS[1:])
    made = make(film, tmp_path / "film.mp4", Cache(tmp_path / "cache"), 1)
    # the tests' own process draws, whatever ran in it before
    assert len(made.peaks) == 1 and 50e6 < made.peaks[0] == made.peak_memory < 3e9
    assert f"at most {made.peaks[0] / 1e6:.0f} MB in each process" in report.summary(made, film.quality)


def test_the_film_is_one_film_however_it_comes_about(tmp_path: Path) -> None:
    """A bar or two of the real film, two kills: the benchmark does it with all of the draft and twenty."""
    assert identical.prove(identical.Film(("launch",), "l", 3), tmp_path, kills=2) == []


def test_the_check_of_segments_sees_another_picture(tmp_path: Path) -> None:
    film = identical.Film(("title",), "l", 2)
    film.render(tmp_path / "film.mp4", tmp_path / "cache", 1)
    cold = identical.frames(tmp_path / "film.mp4")
    count, wrong = identical.check_cache(film, tmp_path / "cache", cold, set())
    assert count == 2 and wrong == []
    shuffled = list(cold)
    random.Random(3).shuffle(shuffled)
    assert identical.check_cache(film, tmp_path / "cache", shuffled, set())[1]
    assert np.unique(cold).size > 1
    (tmp_path / ".film.part-1.mp4").write_bytes(b"")
    (tmp_path / "cache" / "segments" / "half.mp4").write_bytes(b"")
    assert sorted(identical.strays(tmp_path, tmp_path / "cache")) == [".film.part-1.mp4", "half.mp4"]
