"""The film page: what is in the file, and how it behaves in a browser, from disk and from a server, wide and narrow."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import pytest

from measure.dataset import MEASUREMENTS, Dataset
from scenes.page import build as page
from scenes.page import rooflines
from scenes.page.content import content
from scenes.render.cache import Cache
from scenes.render.check.film import Film
from scenes.render.errors import RenderError, RequestError
from scenes.render.make import make

HELPERS = Path(__file__).parent / "helpers"
sys.path.insert(0, str(HELPERS))  # the processes that draw find the passages there too
import short_film  # noqa: E402

LIMIT = 3_000_000


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Film:
    """The short film, drawn from the project's own measurements."""
    folder = tmp_path_factory.mktemp("page")
    request = short_film.request(folder / "track", measurements="nvidia-h200")
    made = make(request, folder / "film.mp4", Cache(folder / "cache"), workers=1)
    opened = Film.open(made.film)
    opened.order = short_film.ROWS
    return opened


@pytest.fixture(scope="module")
def built(film: Film) -> Path:
    target = film.path.with_suffix(".html")
    assert page.build(film, target, LIMIT) == target.stat().st_size
    return target


def held(built: Path, name: str) -> str:
    """The text of one of the page's elements that hold data."""
    found = re.search(rf'<script type="[^"]+" id="{name}">(.*?)</script>', built.read_text(), re.S)
    assert found is not None
    return found[1]


# ---- what is in the file ------------------------------------------------------------------------------------------------


def test_the_page_is_one_file_under_its_limit_that_names_no_other_place(built: Path) -> None:
    text = built.read_text()
    assert built.stat().st_size <= LIMIT < page.LIMIT
    assert "{{" not in re.sub(r'<script type="text/plain".*?</script>', "", text, flags=re.S)
    outside = re.findall(r"""(?:src|href)=["']?([^"'\s>]+)|url\(["']?([^"')]+)""", text)
    assert {(a or b).partition(":")[0] for a, b in outside} <= {"data", "#film"}
    assert re.findall(r"https?://[^\s'\"]+", text.replace("http://www.w3.org/2000/svg", "")) == []
    assert "default-src 'none'" in text


def test_the_small_copy_is_the_whole_film(built: Path, film: Film, tmp_path: Path) -> None:
    (tmp_path / "copy.mp4").write_bytes(base64.b64decode(held(built, "proxy")))
    with av.open(str(tmp_path / "copy.mp4")) as copy:
        assert [stream.codec_context.name for stream in copy.streams] == ["h264", "aac"]
        assert sum(1 for _ in copy.decode(video=0)) == film.frames


def test_a_page_too_small_for_the_film_is_an_error_and_no_file(film: Film, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="hold no page"):
        page.build(film, tmp_path / "x.html", 1_000_000)
    size = len(page._page(content(film), film, b"")) + page.SPARE
    with pytest.raises(RenderError, match="do not fit"):
        page.build(film, tmp_path / "x.html", size + 40_000)
    with pytest.raises(RequestError, match=r"name a file that ends in \.html"):
        page.build(film, tmp_path / "x.pdf")
    assert list(tmp_path.iterdir()) == []


def test_beats_words_and_figures_stand_at_their_seconds(built: Path, film: Film) -> None:
    facts = json.loads(held(built, "content"))
    beat = 60 / short_film.BPM
    assert [second for second, _ in facts["beats"]] == pytest.approx([k * beat for k in range(25)], abs=1e-4)
    assert [bar for _, bar in facts["beats"]][:9] == [1, 0, 0, 0, 2, 0, 0, 0, 3]
    assert facts["lines"][0]["words"] == [
        ["a", round(4 * beat, 3), round(5 * beat, 3)],
        ["tile", round(5 * beat, 3), round(6 * beat, 3)],
    ]
    assert [one["name"] for one in facts["passages"]] == ["small", "sequel"]
    # the second figure comes in the second half of four bars, on the first frame of a beat or the one after it
    claims = {claim["key"]: claim for claim in facts["claims"] if claim["scene"] == "small"}
    peak, slope = claims["roofs.fp32.measured"], claims["roofs.dram.measured"]
    assert peak["start"] == 0 and slope["start"] == pytest.approx(8 * beat, abs=2 / 15)
    assert slope["end"] == pytest.approx(16 * beat, abs=2 / 15)
    raw = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
    told = facts["keys"]["roofs.fp32.measured"]
    assert told["value"] == raw["roofs"]["fp32"]["measured"]["value"] and told["driver"] == raw["run"]["driver"]
    assert (told["device"], told["file"], told["source"]) == ("NVIDIA H200", "nvidia-h200", "measured")


def test_the_chart_has_every_device_ladder_level_and_method() -> None:
    found = {one["file"]: one for one in rooflines.devices(Dataset.open([]).specs)}
    assert next(iter(found)) == "nvidia-h200" and "rtx-3090-published" in found
    for stem, one in found.items():
        raw = json.loads((MEASUREMENTS / f"{stem}.json").read_text())
        assert [ladder["name"] for ladder in one["ladders"]] == list(raw.get("ladders", {}))
        assert [roof["name"] for roof in one["roofs"]] == list(raw["roofs"])
        for ladder in one["ladders"]:
            source = raw["ladders"][ladder["name"]]
            for rung, plain in zip(ladder["rungs"], source["rungs"], strict=True):
                moved = {level: {method for method in ("model", "counters") if method in methods}
                         for level, methods in plain.get("traffic", {}).items()}  # fmt: skip
                assert {level: set(methods) for level, methods in rung["at"].items()} == {k: v for k, v in moved.items() if v}
    plain = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())["ladders"]["gemm_fp32"]["rungs"][0]
    shown = next(ladder for ladder in found["nvidia-h200"]["ladders"] if ladder["name"] == "gemm_fp32")["rungs"][0]
    for method in ("model", "counters"):  # 2 x 4096^3 FLOP over the bytes that the file has
        assert shown["at"]["load_path"][method] == pytest.approx(2 * 4096**3 / plain["traffic"]["load_path"][method]["value"])
    assert shown["cold"] == pytest.approx(2 * 4096**3 / plain["time_cold"]["value"] / 1e12)


# ---- in a browser -------------------------------------------------------------------------------------------------------


def chromium() -> str:
    """The system's Chromium; a test that needs it is skipped where there is none."""
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here: install the package chromium")
    return found


@dataclass
class Tab:
    """A page in a browser, what its console said and what it asked for."""

    page: Any
    said: list[str]
    asked: list[str]

    def open(self, url: str) -> None:
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready]")
        self.until("video.readyState >= 2")

    def value(self, code: str) -> Any:
        return self.page.evaluate(code)

    def until(self, code: str) -> None:
        """Wait for an expression to be true, by asking again: the page lets nobody evaluate text inside of it."""
        for _ in range(400):
            if self.value(code):
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"never came true: {code}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here")
    path = chromium()
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--mute-audio"])
        yield started
        started.close()


def tab(browser: Any, **how: Any) -> Tab:
    opened = Tab(browser.new_context(**how).new_page(), [], [])
    opened.page.on("console", lambda message: opened.said.append(message.text))
    opened.page.on("pageerror", lambda error: opened.said.append(str(error)))
    opened.page.on("request", lambda request: opened.asked.append(request.url))
    return opened


@pytest.fixture
def served(built: Path) -> Iterator[str]:
    """The page's folder on a plain server, which sends only whole files."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Nothing is written."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(built.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_from_disk_it_plays_seeks_filters_and_asks_for_nothing_elsewhere(browser: Any, built: Path) -> None:
    opened = tab(browser, viewport={"width": 1200, "height": 800}, color_scheme="dark")
    opened.open(built.as_uri())
    assert opened.value("video.dataset.plays") == "full"
    # plays
    opened.page.keyboard.press("k")
    opened.until("!video.paused && video.currentTime > 0.2")
    opened.page.keyboard.press("k")
    # seeks: by chapter, by bar, from the map
    beat = 60 / short_film.BPM
    opened.page.click("#chapters li:nth-child(2) button")
    assert opened.value("video.currentTime") == pytest.approx(16 * beat, abs=0.05)
    opened.page.keyboard.press("Shift+ArrowRight")
    assert opened.value("video.currentTime") == pytest.approx(20 * beat, abs=0.05)
    opened.page.focus("#map")
    opened.page.keyboard.press("Home")
    opened.page.keyboard.press("ArrowRight")
    assert opened.value("video.currentTime") == pytest.approx(beat, abs=0.05)
    opened.until("document.getElementById('map').getAttribute('aria-valuetext').includes('bar 1:2')")
    # filters, and shows where a figure is
    opened.page.fill("#find", "roofs.dram")
    assert opened.value("document.getElementById('count').textContent") == "1 of 3 figures"
    opened.page.click("#claims li:not([hidden]) .take")
    assert 8 * beat - 0.1 < opened.value("video.currentTime") < 16 * beat
    opened.page.click("#claims li:not([hidden]) summary")
    assert "nvidia-h200.json" in opened.page.inner_text("#claims li:not([hidden]) dl")
    # the roofline answers
    marks = "document.querySelectorAll('#chart .mark').length"
    before = opened.value(marks)
    opened.page.uncheck("input[name=ladder][value=attention]")
    assert 0 < opened.value(marks) < before
    opened.page.check("input[name=device][value=rtx-3090-published]")
    assert "bytes not known" in opened.page.inner_html("#chart")
    opened.page.focus("#chart .mark[tabindex='0']")
    opened.page.keyboard.press("ArrowRight")
    assert "TFLOP/s" in opened.page.inner_text("#card .big")
    assert opened.said == []
    folder = built.parent.as_uri()
    assert all(url.startswith((folder, "blob:", "data:")) for url in opened.asked), opened.asked


def test_from_a_plain_server_it_can_still_be_jumped_in(browser: Any, served: str, built: Path) -> None:
    opened = tab(browser, viewport={"width": 1200, "height": 800}, color_scheme="light")
    opened.open(f"{served}{built.name}")
    opened.until("video.seekable.length && video.seekable.end(0) > video.duration - 1")
    opened.value("void (location.hash = '#t=5')")
    opened.until("!video.seeking && Math.abs(video.currentTime - 5) < 0.1")
    assert opened.value("document.documentElement.dataset.theme") == "light"
    assert all(url.startswith((served, "blob:", "data:")) for url in opened.asked)
    assert [text for text in opened.said if "favicon" not in text] == []


def test_alone_and_on_a_phone_it_plays_its_small_copy(browser: Any, built: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone.html"
    shutil.copy(built, alone)
    opened = tab(browser, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    opened.open(alone.as_uri())
    assert opened.value("video.dataset.plays") == "small"
    opened.page.tap("#chapters li:nth-child(2) button")
    assert opened.value("video.currentTime") == pytest.approx(16 * 60 / short_film.BPM, abs=0.05)
    assert opened.value("document.documentElement.scrollWidth <= innerWidth")
    small = opened.value(
        "[...document.querySelectorAll('button, select, input[type=search], summary')].filter("
        "(n) => n.offsetParent && n.getBoundingClientRect().height < 43).map((n) => n.outerHTML)"
    )
    assert small == [] and opened.said == []
    wide = tab(browser, viewport={"width": 1200, "height": 800})  # here it looks for the film first, and falls back
    wide.open(alone.as_uri())
    wide.until("video.dataset.plays === 'small' && video.readyState >= 2")


def test_text_has_enough_contrast_in_both_themes(browser: Any, built: Path) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1; the page's inks against each of its grounds."""
    opened = tab(browser, viewport={"width": 1200, "height": 800}, color_scheme="dark")
    opened.open(built.as_uri())
    for theme in ("dark", "light"):
        assert opened.value("document.documentElement.dataset.theme") == theme
        inks = {
            name: opened.value(f"ink('{name}')") for name in ("text", "quiet", "memory", "compute", "thread", "violet", "other")
        }
        for ground in ("ground", "plate"):
            behind = opened.value(f"ink('{ground}')")
            for name, colour in inks.items():
                assert contrast(colour, behind) >= 4.5, (theme, name, ground)
        opened.page.click("#theme")


def contrast(one: str, other: str) -> float:
    """Contrast of two colours #rrggbb by WCAG's formula."""

    def light(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)
