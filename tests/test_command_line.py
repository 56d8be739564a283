"""The command line as it is used: verbs, exit codes, one clear line for what cannot be done, and nothing half-written."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import av
import pytest
from click.testing import CliRunner, Result
from PIL import Image

import roofline
from measure.dataset import MEASUREMENTS
from scenes.film import FILM

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = (MEASUREMENTS / "rtx-3090-published.json").read_text()


def call(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, as the launcher starts it."""
    command = [sys.executable, str(ROOT / "roofline.py"), *arguments]
    # no GPU, also where there is one: nothing is measured by a test
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300)


def invoke(*arguments: str) -> Result:
    """The command line in this process."""
    return CliRunner().invoke(roofline.main, arguments)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOFLINE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# ---- verbs -----------------------------------------------------------------------------------------------------------

OPTIONS = {
    "render": ("-q", "--quality", "--fps", "--measurements", "--track", "--beats", "--bpm", "--first-downbeat", "--lyrics",
               "-o", "--format", "--loop", "--jobs", "--dry-run"),
    "still": ("-q", "--measurements", "--track", "--beats", "-o"),
    "scenes": ("--track", "--beats"),
    "beats": ("--beats", "--bpm", "--first-downbeat", "--lyrics", "-o"),
    "measure": ("-o", "--only", "--quick"),
    "show": ("--png",),
    "compare": ("--png", "--within", "--share"),
    "check": ("--only", "--track"),
    "page": ("-o", "--track"),
    "preview": ("-q", "--fps", "--measurements", "--track", "--beats", "--port", "--no-open"),
    "doctor": (),
    "test": (),
    "song": ("-o",),
}  # fmt: skip


def test_the_verbs_and_their_options_have_the_names_that_others_rely_on() -> None:
    told = invoke("--help").output
    commands = [line.split()[0] for line in told.partition("Commands:")[2].splitlines() if line.strip()]
    assert commands == list(OPTIONS)
    for verb, options in OPTIONS.items():
        words = invoke(verb, "--help").output.replace(",", " ").split()
        assert set(options) <= set(words), verb


def test_help_loads_nothing_but_click() -> None:
    heavy = ("numpy", "rich", "manim", "av", "numba", "measure.schema")
    code = f"import sys, roofline; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--help",), 0),
        (("scenes",), 0),
        (("render", "indexng"), 2),
        (("still", "indexng", "1"), 2),
        (("preview", "indexng"), 2),
        (("render", "--measurements", "no.json"), 2),
        (("check", "no.mp4"), 2),
        (("check", "--only", "nosuch"), 2),
        (("page", "no.mp4"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_needs_no_picture_loads_nothing_that_draws(arguments: tuple[str, ...], code: int) -> None:
    script = (
        "import sys, roofline\n"
        f"try: roofline.main({list(arguments)!r})\n"
        "except SystemExit as end: code = end.code\n"
        "print(code, [m for m in ('manim', 'numba', 'av', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"{code} []"


def test_a_misspelt_scene_is_told_its_likely_name() -> None:
    done = invoke("render", "indexng")
    assert (done.exit_code, done.stderr) == (
        2, "roofline: no scene 'indexng': did you mean 'indexing'? ./roofline scenes lists them all\n"
    )  # fmt: skip


def test_the_checks_that_the_command_line_names_are_those_there_are() -> None:
    from scenes.render import check, check_verb

    assert tuple(check.CHECKS) == check_verb.NAMES


def test_scenes_lists_the_film() -> None:
    lines = invoke("scenes").output.splitlines()
    assert lines[0].split() == ["scene", "bars", "length", "seconds", "idea"]
    assert [line.split()[0] for line in lines[1:]] == [row.name for row in FILM]
    assert lines[1].split()[1:4] == ["1-4", "4", "7.3"]  # 16 beats at 132 a minute


def test_show_prints_a_file_by_name_and_by_path(tmp_path: Path) -> None:
    (tmp_path / "my.json").write_text(PUBLISHED)
    assert "GeForce RTX 3090" in invoke("show", "rtx-3090-published").output
    assert invoke("show", str(tmp_path / "my.json")).output == invoke("show", "rtx-3090-published").output


def test_doctor_finds_that_the_film_can_be_rendered_here() -> None:
    done = invoke("doctor")
    assert done.exit_code == 0, done.output
    assert "the film can be rendered here" in done.output and "FAILS" not in done.output


def test_doctor_names_what_is_missing_and_its_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from scenes.render import doctor

    monkeypatch.setattr(doctor, "FONTS", ("NoSuchFont.ttf",))
    monkeypatch.setattr(doctor, "ROOM", 1e18)
    monkeypatch.setattr(doctor, "FILM_LIBRARIES", ("numpy", "no_such_library"))
    done = invoke("doctor")
    assert done.exit_code == 1
    assert "FAILS  fonts: missing NoSuchFont.ttf; restore scenes/stage/fonts" in done.output
    assert "FAILS  no_such_library:" in done.output and "FAILS  cache:" in done.output
    assert "cannot be rendered here yet: 4 to cure" in done.output


def test_test_runs_the_three_checks_and_passes_arguments_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        ran.append(command[2:])
        return subprocess.CompletedProcess(command, int("mypy" in command))

    monkeypatch.setattr(subprocess, "run", run)
    done = invoke("test", "-k", "clock", "--maxfail=1", "tests/scenes")
    on_every_core = ["-n", "auto", "--dist", "loadfile"]
    asked = ["-k", "clock", "--maxfail=1", "tests/scenes"]
    assert ran == [["ruff", "check", "."], ["mypy"], ["pytest", *on_every_core, *asked]]
    assert done.exit_code == 1 and "ended with 0, 1, 0" in done.output


def test_song_writes_where_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from audio.song import __main__ as song

    asked: list[Path] = []

    def write(folder: Path) -> list[Path]:
        asked.append(folder)
        return [folder / "song.opus"]

    monkeypatch.setattr(song, "write", write)
    assert invoke("song", "-o", str(tmp_path)).output == f"{tmp_path / 'song.opus'}\n"
    assert invoke("song").exit_code == 0 and asked == [tmp_path, Path("out")]


def test_a_dry_run_lists_every_segment_and_writes_no_film(tmp_path: Path) -> None:
    done = call("render", "title", "launch", "-q", "l", "--dry-run", cwd=tmp_path)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["scene", "bars", "frames", "cache", "why"]
    assert [row[:4] for row in rows[1:5]] == [
        ["title", "1-2", "0-54", "miss"], ["title", "3-4", "55-108", "miss"],
        ["launch", "1-2", "436-490", "miss"], ["launch", "3-4", "491-544", "miss"],
    ]  # fmt: skip
    assert done.stdout.splitlines()[-1] == "218 frames of 854x480 at 15 a second, 218 to draw"
    assert done.returncode == 0 and {path.name for path in tmp_path.iterdir()} <= {"cache"}


def test_a_still_is_one_frame_of_the_scene(tmp_path: Path) -> None:
    done = call("still", "indexing", "3:2.5", "-q", "l", "--measurements", "rtx-3090-published", cwd=tmp_path)
    # bar 3 of indexing is bar 13 of the song: 48 beats before it, and 1.5 on
    assert done.stdout == f"out/indexing-3-2.5.png: frame {round(49.5 * 60 / 132 * 15)} of the film\n", done.stderr
    with Image.open(tmp_path / "out" / "indexing-3-2.5.png") as picture:
        assert picture.size == (854, 480) and picture.mode == "RGB"
    assert {path.name for path in tmp_path.iterdir()} <= {"cache", "out"}


def test_a_stopped_render_says_so_in_one_line_and_goes_on_from_there(tmp_path: Path, own_cache: Path) -> None:
    def heard() -> None:  # what a shell starts in the background ignores the signal, and so would all that it starts
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    arguments = ("render", "roof-1", "-q", "l", "--jobs", "1")  # four segments: it is stopped between the first and the last
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "roofline.py"), *arguments],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heard,
    )
    while process.poll() is None and not list(own_cache.glob("segments/**/*.json")):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: everyone in the group hears it
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert told.splitlines()[-1] == "roofline: stopped; what is finished is kept, and the same command goes on from there"
    assert "Traceback" not in told
    assert not list((tmp_path / "out").iterdir()) and not list((own_cache / "scratch").iterdir())
    again = call(*arguments, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    counts = re.search(r"(\d+) frames to draw, (\d+) already drawn", again.stderr)
    assert counts and int(counts[2]) > 0 and int(counts[1]) + int(counts[2]) == 219  # eight bars at 15 a second
    with av.open(str(tmp_path / "out" / "roof-1.mp4")) as film:
        assert film.streams.video[0].frames == 219
    claims = json.loads((tmp_path / "out" / "roof-1.claims.json").read_text())
    assert claims["frames"] == 219 and claims["fps"] == 15


def test_manim_itself_renders_a_scene_from_any_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "manim", "-ql", "--fps", "2", str(ROOT / "scenes" / "title.py"), "Title"]
    subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True, timeout=300
    )
    with av.open(str(next(tmp_path.rglob("Title.mp4")))) as film:
        assert sum(1 for _ in film.decode(video=0)) == round(16 * 60 / 132 * 2)


# ---- what cannot be done ---------------------------------------------------------------------------------------------


def measurement(tmp_path: Path, change: str) -> str:
    document = json.loads(PUBLISHED)
    text = PUBLISHED
    match change:
        case "truncated":
            text = PUBLISHED[: len(PUBLISHED) // 2]
        case "version":
            text = json.dumps({**document, "schema": 99})
        case "type":
            document["roofs"]["fp32"]["datasheet"]["value"] = "fast"
            text = json.dumps(document)
        case "nan":
            document["roofs"]["fp32"]["datasheet"]["value"] = float("nan")
            text = json.dumps(document)
        case "no json":
            text = "speed: 35.6"
    (tmp_path / "bad.json").write_text(text)
    return str(tmp_path / "bad.json")


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("roofline: ")
    for word in words:
        assert word in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("truncated", ("bad.json", "truncated")),
        ("version", ("bad.json", "$.schema", "99")),
        ("type", ("bad.json", "$.roofs.fp32.datasheet.value", "expected a number", "'fast'")),
        ("nan", ("bad.json", "$.roofs.fp32.datasheet.value", "finite", "nan")),
        ("no json", ("bad.json", "line 1")),
    ],
)
@pytest.mark.parametrize("verb", ["render", "show"])
def test_a_bad_measurement_file_is_one_line(tmp_path: Path, verb: str, change: str, words: tuple[str, ...]) -> None:
    path = measurement(tmp_path, change)
    refused(call(*(("show", path) if verb == "show" else ("render", "title", "--measurements", path)), cwd=tmp_path), *words)
    assert {item.name for item in tmp_path.iterdir()} == {"bad.json"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("render", "nosuch"), ("no scene 'nosuch'", "the film has title, ")),
        (("render", "title", "--measurements", "no.json"), ("no.json", "no such measurement file")),
        (("render", "title", "--measurements", "h100"), ("h100", "nvidia-h200", "rtx-3090-published")),
        (("render", "title", "-q", "x"), ("'x' is not one of", "'l', 'm', 'h', 'k'")),
        (("render", "title", "--fps", "0"), ("--fps", "0 is not in the range")),
        (("render", "title", "--jobs", "0"), ("--jobs", "0 is not in the range")),
        (("render", "title", "--track", "none.mp3"), ("none.mp3", "no such file")),
        (("render", "title", "-q", "l", "-o", "film.avi"), ("film.avi", ".mp4")),
        (("render", "title", "-q", "l", "-o", "file/film.mp4"), ("file/film.mp4", "cannot be written")),
        (("render", "title", "-q", "l", "--format", "gif", "-o", "film.mp4"), ("film.mp4", "gif ends in .gif")),
        (("render", "title", "cores", "-q", "l", "--loop"), ("a loop is of one scene", "not of 2")),
        (("render", "title", "--frames"), ("No such option", "--frames")),
        (("still", "nosuch", "1"), ("no scene 'nosuch'",)),
        (("still", "title"), ("Missing argument", "BAR[:BEAT]")),
        (("still", "title", "zwei"), ("'zwei' is no moment", "3:2.5")),
        (("still", "title", "5"), ("title bar 5", "bars 1 to 4 of 4 beats")),
        (("still", "title", "0"), ("title bar 0", "bars 1 to 4")),
        (("still", "title", "1:5"), ("beat 5", "of 4 beats")),
        (("still", "title", "1", "-o", "still.jpg"), ("still.jpg", ".png")),
        (("still", "title", "1", "-o", "file/still.png"), ("file/still.png", "cannot be written")),
        (("page", "none.mp4"), ("none.mp4", "no such film", "render it first")),
        (("preview", "nosuch"), ("no scene 'nosuch'",)),
        (("preview", "--no-open", "--port", "1", "--track", "none.mp3"), ("none.mp3", "no such file")),
        (("measure",), ("GPU",)),
        (("measure", "--only", "speed"), ("unknown subject 'speed'", "roofs")),
        (("measure", "-o", "file/gpu.json"), ("file/gpu.json", "cannot be written")),
        (("show", "no.json"), ("no.json", "no such measurement file")),
        (("song", "-o", "file"), ("file",)),
        (("rendr",), ("No such command 'rendr'",)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) and value[0].islower() else "",
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("")
    refused(call(*arguments, cwd=tmp_path, ROOFLINE_CACHE=str(tmp_path / "cache")), *words)
    assert {item.name for item in tmp_path.iterdir()} <= {"file", "cache", "out"}
    assert not [item for item in (tmp_path / "out").glob("*")]


def test_measuring_needs_no_manim() -> None:
    code = (
        "import sys, roofline\n"
        "try: roofline.main(['measure'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('manim', 'numba', 'av', 'scenes') if m in sys.modules])"
    )
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(call("render", "title", cwd=tmp_path, ROOFLINE_CACHE=str(tmp_path / "file")), "ROOFLINE_CACHE", "cannot be written")


def test_a_track_with_too_few_bars_is_one_line(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "tests" / "scenes" / "helpers"))
    import short_film

    track = short_film.track(tmp_path)
    refused(call("render", "-q", "l", "--track", str(track.path), cwd=tmp_path), "'Short' is too short for the film", "found 6")


def test_a_run_that_failed_is_one_line_with_code_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from scenes.render import make
    from scenes.render.errors import RenderError

    def fail(*_: Any, **__: Any) -> None:
        raise RenderError("title: the process that drew\nframes 0 to 54 died")

    monkeypatch.setattr(make, "make", fail)
    done = invoke("render", "title", "-q", "l", "-o", str(tmp_path / "film.mp4"))
    assert (done.exit_code, done.stderr) == (1, "roofline: title: the process that drew frames 0 to 54 died\n")


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    from scenes import fit

    monkeypatch.setattr(fit, "over", lambda names, timeline: 1 / 0)
    assert isinstance(invoke("render", "title").exception, ZeroDivisionError)


def test_a_library_that_is_missing_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    from scenes import fit

    def missing(names: Any, timeline: Any) -> None:
        raise ModuleNotFoundError("No module named 'av'", name="av")

    monkeypatch.setattr(fit, "over", missing)
    done = invoke("render", "title")
    assert (done.exit_code, done.stderr) == (
        2,
        "roofline: the library av is not installed: start ./roofline, which installs what a verb needs\n",
    )
