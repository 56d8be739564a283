"""The preview of a small film: how its scenes stand, what a save leads to, whom the server answers, the page in a browser."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from measure.dataset import MEASUREMENTS
from scenes.preview.desk import Desk
from scenes.preview.server import Server
from scenes.preview.session import Session
from scenes.preview.watch import Watcher

ROOT = Path(__file__).parents[2]
HELPERS = Path(__file__).parent / "helpers"
sys.path.insert(0, str(HELPERS))
import short_film  # noqa: E402

ORDER = """
from scenes.film import Row
ORDER = (
    Row("first", "first_passage", "Sequel", 1, 2, "a box crosses the picture", ("coalesced",)),
    Row("second", "second_passage", "Sequel", 3, 2, "and goes on"),
)
"""
DRAFT, FRAME = ("t", 160, 90, 8, "ultrafast", 30), ("u", 320, 180, 8, "ultrafast", 20)
PATIENCE = 120.0  # seconds until a state that never comes is given up


@dataclass
class Preview:
    """A server of the small film, the folder of its sources, and its measurement file."""

    server: Server
    desk: Desk
    sources: Path
    measured: Path

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=30)
        sent = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def scene(self, name: str) -> dict[str, Any]:
        state = json.loads(self.ask("GET", "/state")[1])
        return next((scene for scene in state["scenes"] if scene["name"] == name), {})

    def until(self, name: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            scene = self.scene(name)
            if scene and wanted(scene):
                return scene
            time.sleep(0.03)
        raise AssertionError(f"never came: {self.scene(name)}")


def drawn(scene: dict[str, Any]) -> bool:
    return scene["state"] == "drawn" and bool(scene["draft"])


@pytest.fixture(scope="module")
def preview(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    """The small film with its first scene drawn."""
    folder = tmp_path_factory.mktemp("preview")
    sources = folder / "sources"
    sources.mkdir()
    for name in ("first_passage.py", "second_passage.py"):
        shutil.copy(HELPERS / "small_passage.py", sources / name)
    (sources / "tiny_order.py").write_text(ORDER)
    measured = folder / "rtx-3090-published.json"
    shutil.copy(MEASUREMENTS / measured.name, measured)
    track = short_film.track(folder / "track")
    session = Session((), (str(measured),), str(track.path), "", DRAFT, FRAME, "tiny_order", str(folder / "cache"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(sources))
        desk = Desk(session)
        server = Server(desk)
        watcher = Watcher(desk.files, [sources], desk.saved, 0.1)
        watcher.start()
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        made = Preview(server, desk, sources, measured)
        made.until("first", drawn)
        yield made
        watcher.stop()
        server.shutdown()
        server.server_close()
        desk.close()
        thread.join()


# ---- states and saves ---------------------------------------------------------------------------------------------------


def test_the_first_scene_is_drawn_and_the_others_wait_until_they_are_chosen(preview: Preview) -> None:
    assert preview.scene("second")["state"] == "missing"
    assert preview.scene("second")["why"] == ["bars 1-2 of 2: not rendered yet"]
    music = json.loads(preview.ask("GET", "/scene/first")[1])
    beat = 60 / short_film.BPM
    assert [row[1:] for row in music["beats"]] == [[bar, k] for bar in (1, 2) for k in range(1, 5)]
    assert [row[0] for row in music["beats"]] == pytest.approx([beat * k for k in range(8)], abs=1e-4)
    assert music["words"] == [["a", round(4 * beat, 3), round(5 * beat, 3)], ["tile", round(5 * beat, 3), round(6 * beat, 3)]]
    assert music["frames"] == round(8 * beat * 8) and music["first"] == 0
    assert ("35.6 TFLOP/s", 0) in [(claim["text"], claim["first"]) for claim in music["claims"]]


def test_a_saved_module_draws_its_scene_anew_and_a_mistake_is_told_in_a_line(preview: Preview) -> None:
    source = preview.sources / "first_passage.py"
    text, before = source.read_text(), preview.scene("first")["draft"]
    # a mistake that does not parse
    source.write_text(text + "\nif True print()\n")
    failed = preview.until("first", lambda scene: scene["state"] == "failed")
    line = len(text.splitlines()) + 2
    assert f"first_passage.py: line {line}: " in failed["error"] and "\n" not in failed["error"]
    assert failed["latest"] == before  # can still be played
    # one that raises
    source.write_text("        1 / 0".join(text.rsplit("        self.prop(Slider())", 1)))
    failed = preview.until("first", lambda scene: scene["state"] == "failed" and "Zero" in scene["error"])
    raised = max(k for k, row in enumerate(text.splitlines(), 1) if "self.prop(Slider())" in row)
    assert failed["error"] == f"first: ZeroDivisionError: division by zero (first_passage.py:{raised})"
    assert "Traceback" in failed["trace"]
    assert preview.scene("second")["state"] == "missing"  # not of this scene
    # mended, and another picture
    source.write_text(text.replace("-4.0 + beat / 2", "-4.0 + beat / 3"))
    mended = preview.until("first", lambda scene: drawn(scene) and scene["draft"] != before)
    assert mended["error"] == ""


def test_a_saved_measurement_draws_what_read_it_and_says_why(preview: Preview) -> None:
    before = preview.until("first", drawn)["draft"]
    body = json.loads(preview.measured.read_text())
    body["roofs"]["fp32"]["datasheet"]["value"] = 20.0
    preview.measured.write_text(json.dumps(body))
    stale = preview.until("first", lambda scene: bool(scene["why"]))
    assert "changed: measurements (roof fp32)" in stale["why"][0]
    preview.until("first", lambda scene: drawn(scene) and scene["draft"] != before)
    claims = json.loads(preview.ask("GET", "/scene/first")[1])["claims"]
    assert "20.0 TFLOP/s" in [claim["text"] for claim in claims]
    assert preview.scene("second")["state"] == "missing"


def test_one_frame_is_drawn_larger(preview: Preview) -> None:
    from PIL import Image

    assert preview.ask("POST", "/frame", {"scene": "first", "frame": 12})[0].status == 200
    end = time.monotonic() + PATIENCE
    told: dict[str, Any] = {}
    while not told.get("file") and time.monotonic() < end:
        told = json.loads(preview.ask("GET", "/state")[1])["frame"]
        time.sleep(0.05)
    assert (told["scene"], told["frame"], told["error"]) == ("first", 12, "")
    answer, content = preview.ask("GET", f"/draft/{told['file']}")
    assert answer.getheader("Content-Type") == "image/png"
    path = preview.measured.with_name("seen.png")
    path.write_bytes(content)
    with Image.open(path) as picture:
        assert picture.size == (320, 180)


# ---- whom the server answers --------------------------------------------------------------------------------------------


def test_only_this_machine_and_its_own_pages_are_answered(preview: Preview) -> None:
    port = preview.server.server_port
    assert preview.server.socket.getsockname() == ("127.0.0.1", port)
    assert preview.ask("GET", "/", Host=f"localhost:{port}")[0].status == 200
    for host in (
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1.evil.example:{port}",
        f"127.0.0.1:{port + 1}",
        "evil.example",
    ):
        assert preview.ask("GET", "/state", Host=host)[0].status == 421, host
    scene = {"scene": "second"}
    assert preview.ask("POST", "/draw", scene, Origin="http://evil.example")[0].status == 403
    assert preview.ask("POST", "/draw", scene, Origin=f"http://127.0.0.1:{port + 1}")[0].status == 403
    assert preview.ask("POST", "/draw", scene, Sec_Fetch_Site="cross-site")[0].status == 403
    assert preview.ask("POST", "/draw", scene, Content_Type="text/plain")[0].status == 415  # what a form could send
    assert preview.ask("POST", "/draw", {"scene": "x" * 5000})[0].status == 415
    assert preview.ask("POST", "/frame", {"scene": "first", "frame": "one"})[0].status == 400
    assert preview.ask("POST", "/choose", ["first"])[0].status == 400
    assert preview.ask("POST", "/choose", {"scene": "nosuch"})[0].status == 404
    assert preview.scene("second")["state"] == "missing"
    policy = preview.ask("GET", "/")[0].getheader("Content-Security-Policy") or ""
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy


def test_no_file_is_reached_but_drafts_and_the_page(preview: Preview) -> None:
    folder = preview.desk.file("x")
    assert folder is not None
    (folder.parent / "secret.mp4").write_text("no")
    (folder.parent.parent / ("a." + "0" * 20 + ".mp4")).write_text("no")
    for path in (
        "/../../../../etc/passwd", "/draft/../../../etc/passwd", "/draft/%2e%2e/%2e%2e/etc/passwd", "/draft//etc/passwd",
        "/draft/secret.mp4", "/draft/../a." + "0" * 20 + ".mp4", "/draft/..%2fa." + "0" * 20 + ".mp4", "/draft/",
        "/scene/../first", "/draft/.first.mp4", "/server.py", "/page.html", "//etc/passwd",
    ):  # fmt: skip
        assert preview.ask("GET", path)[0].status == 404, path


def test_a_draft_is_sent_in_parts(preview: Preview) -> None:
    draft = preview.until("first", drawn)["draft"]
    path = f"/draft/first.{draft}.mp4"
    whole = preview.ask("GET", path)[1]
    assert whole[4:8] == b"ftyp"
    for asked, first, last in (
        ("bytes=0-9", 0, 9),
        ("bytes=100-", 100, len(whole) - 1),
        ("bytes=-7", len(whole) - 7, len(whole) - 1),
    ):
        answer, part = preview.ask("GET", path, Range=asked)
        assert (answer.status, answer.getheader("Content-Range")) == (206, f"bytes {first}-{last}/{len(whole)}")
        assert part == whole[first : last + 1]
    assert preview.ask("GET", path, Range=f"bytes={len(whole)}-")[0].status == 416
    assert preview.ask("HEAD", path)[1] == b""


# ---- parts ----------------------------------------------------------------------------------------------------------------


def test_the_watcher_tells_of_a_save_once_the_file_is_at_rest(tmp_path: Path) -> None:
    told: list[set[str]] = []
    known, source = tmp_path / "gpu.json", tmp_path / "scenes" / "a.py"
    source.parent.mkdir()
    for path in (known, source):
        path.write_text("1")
    watcher = Watcher(lambda: {str(known)}, [source.parent], told.append, 3600)
    watcher.start()
    watcher.step()
    assert told == []
    known.write_text("22")
    watcher.step()
    part = source.with_suffix(".tmp")  # as many editors save: another file takes the name
    part.write_text("22")
    part.replace(source)
    watcher.step()
    assert told == []  # still being written
    watcher.step()
    assert told == [{str(known), str(source)}]
    new = source.with_name("b.py")
    new.write_text("")
    known.unlink()
    watcher.step()
    watcher.step()
    watcher.step()
    assert told[1:] == [{str(new), str(known)}]
    watcher.stop()


class Scripted:
    """In place of a process: draws what it is told to until it is released or killed."""

    made: list[Scripted] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.go, self.killed, self.command = threading.Event(), False, dict[str, Any]()

    def run(self, command: dict[str, Any]) -> Iterator[dict[str, Any]]:
        self.command = command
        if command["do"] == "survey":
            yield {"film": {"names": ["a", "b", "c"], "folder": "", "measurements": ["/m.json"]}}
            for name in "abc":
                yield {"scene": {"name": name, "module": f"scenes.{name}", "inputs": "1", "files": [f"/scenes/{name}.py"],
                                 "state": "missing", "draft": "", "latest": "", "why": [], "share": 0.0}}  # fmt: skip
            yield {"end": {}}
            return
        Scripted.made.append(self)
        yield {"done": 1, "of": 9}
        self.go.wait(10)
        if self.killed:
            yield {"error": "died", "trace": ""}
        else:
            yield {"end": {"state": "drawn", "draft": "d", "latest": "d", "why": [], "share": 1.0}}

    def kill(self) -> None:
        self.killed = True
        self.go.set()


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Three scenes, and processes that do as they are told."""
    monkeypatch.setattr("scenes.preview.desk.Child", Scripted)
    Scripted.made.clear()
    made = Desk(Session((), ("/m.json",), "t", "", DRAFT, FRAME))
    yield made
    made.close()


def states(desk: Desk, **wanted: str) -> None:
    """Wait for the scenes to stand so."""
    for _ in range(1000):
        found = {scene["name"]: scene["state"] for scene in desk.state()["scenes"]}
        if found == wanted:
            return
        time.sleep(0.01)
    raise AssertionError(found)


def test_one_drawing_at_a_time_the_newest_request_first(desk: Desk) -> None:
    states(desk, a="drawing", b="missing", c="missing")  # the first scene is shown
    assert desk.choose("b")
    states(desk, a="waiting", b="drawing", c="missing")
    assert Scripted.made[0].killed
    assert desk.draw("c") and desk.draw("c")
    states(desk, a="waiting", b="waiting", c="drawing")
    Scripted.made[-1].go.set()
    states(desk, a="waiting", b="drawing", c="drawn")  # what was interrupted last goes on first
    Scripted.made[-1].go.set()
    states(desk, a="drawing", b="drawn", c="drawn")
    assert [one.command["scene"] for one in Scripted.made] == ["a", "b", "c", "b", "a"]
    desk.stop()
    states(desk, a="missing", b="drawn", c="drawn")


def test_all_that_are_stale_are_drawn_in_the_order_of_the_film(desk: Desk) -> None:
    states(desk, a="drawing", b="missing", c="missing")
    assert desk.draw()
    states(desk, a="drawing", b="waiting", c="waiting")
    Scripted.made[-1].go.set()
    states(desk, a="drawn", b="drawing", c="waiting")
    Scripted.made[-1].go.set()
    states(desk, a="drawn", b="drawn", c="drawing")
    assert not Scripted.made[0].killed


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_and_all_its_processes(tmp_path: Path, sign: signal.Signals) -> None:
    environment = {**os.environ, "ROOFLINE_CACHE": str(tmp_path), "MARK": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, str(ROOT / "roofline.py"), "preview", "title", "--no-open", "--fps", "2"]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment,
        preexec_fn=lambda: signal.signal(sign, signal.SIG_DFL),  # tests that run in the background of a shell ignore SIGINT
    )  # fmt: skip
    assert started.stdout is not None
    assert started.stdout.readline().startswith("http://127.0.0.1:")
    children = descendants(started.pid) if sys.platform == "linux" else []
    started.send_signal(sign)
    _, errors = started.communicate(timeout=PATIENCE)
    assert started.returncode == 0 and "Traceback" not in errors, errors
    if sys.platform == "linux":
        assert children
        assert not [pid for pid in children if Path(f"/proc/{pid}/stat").exists() and " Z " not in stat_of(pid)]


def stat_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return " Z "


def descendants(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        stat = stat_of(int(folder.name))
        if stat != " Z " and int(stat.rpartition(")")[2].split()[1]) == pid:
            found += [int(folder.name), *descendants(int(folder.name))]
    return found


# ---- in a browser -------------------------------------------------------------------------------------------------------


def until(page: Any, code: str) -> None:
    """Wait for an expression to be true, by asking again: the page lets nobody evaluate text inside of it."""
    for _ in range(400):
        if page.evaluate(code):
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"never came true: {code}")


def test_the_page_plays_and_steps_by_beat_and_asks_nobody_else(preview: Preview) -> None:
    """Frames of beats are round(seconds * fps) of the track; the scene starts with it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here")
    path = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium here: install the package chromium")
    preview.until("first", drawn)
    said: list[str] = []
    asked: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--mute-audio"])
        page = browser.new_page(viewport={"width": 1300, "height": 900}, color_scheme="dark")
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(preview.server.url)
        page.wait_for_selector("html[data-plays^='first ']")

        def shows(text: str) -> None:
            page.wait_for_selector(f"text={text}", timeout=10_000)

        def frame(bar: int, beat: int) -> str:
            return f"frame {round(60 / short_film.BPM * (4 * (bar - 1) + beat - 1) * 8)} of 22"

        shows(frame(1, 1))
        page.keyboard.press("ArrowRight")
        shows(frame(1, 2))
        page.keyboard.press("Shift+ArrowRight")
        shows(frame(2, 1))
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("ArrowLeft")
        shows(frame(2, 4))
        page.keyboard.press(".")
        shows("frame 21 of 22")
        assert page.evaluate("document.querySelector('video:not([hidden])').currentTime") == pytest.approx(21.5 / 8, abs=1e-3)
        assert page.inner_text(".grid .word.here") == "" if page.query_selector(".grid .word.here") else True
        page.focus("#grid")
        page.keyboard.press("Home")
        shows("frame 0 of 22")
        page.keyboard.press("k")
        video = "document.querySelector('video:not([hidden])')"
        until(page, f"!{video}.paused && {video}.currentTime > 0.3")
        page.keyboard.press("k")
        # another scene is drawn as it is chosen, and shown
        page.click("#scenes li:nth-child(2) button")
        page.wait_for_selector("#scenes li.drawing", timeout=60_000)
        page.wait_for_selector("html[data-plays^='second ']", timeout=60_000)
        assert "TFLOP/s" in page.inner_text("#shown")
        browser.close()
    assert said == []
    assert all(url.startswith((preview.server.url, "data:")) for url in asked), asked
