"""The page of a film, written as one HTML file that asks for nothing from anywhere: pictures, letters, code and data inside."""

from __future__ import annotations

import base64
import html
import io
import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scenes.page import proxy
from scenes.page.content import content
from scenes.render.check.film import Film
from scenes.render.content import FONTS
from scenes.render.errors import RequestError
from scenes.render.master import check_target, whole_file

WEB = Path(__file__).parent / "web"
SCRIPTS = ("player.js", "timeline.js", "figures.js", "chart.js", "start.js")
LETTERS = (  # family, weight, file
    ("Inter Display", 500, "InterDisplay-Medium.otf"), ("Inter Display", 700, "InterDisplay-Bold.otf"),
    ("JetBrains Mono", 500, "JetBrainsMono-Medium.ttf"), ("JetBrains Mono", 700, "JetBrainsMono-Bold.ttf"),
)  # fmt: skip
LIMIT = 25_000_000  # bytes of the whole page
SPARE = 200_000  # bytes left under the limit


def build(film: Film, target: Path, limit: int = LIMIT) -> int:
    """Write the page and return its size in bytes, at most `limit`.

    Raises RequestError where it cannot be written, RenderError where the film is too long for it.
    """
    target = target.absolute()
    if target.suffix.lower() != ".html":
        raise RequestError(f"{target}: a page is one HTML file: name a file that ends in .html")
    check_target(target)
    facts = content(film)
    facts["film"]["beside"] = target.parent == film.path.absolute().parent
    rest = _page(facts, film, b"")
    room = (limit - SPARE - len(rest)) // 4 * 3
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.mp4"
        if room > 0:
            proxy.write(film, copy, room)
        else:
            raise RequestError(
                f"{target}: {limit / 1e6:g} MB hold no page: what it says takes {len(rest) / 1e6:.1f} MB by itself"
            )
        page = _page(facts, film, copy.read_bytes())
    with whole_file(target) as part:
        part.write_bytes(page)
    return len(page)


def _page(facts: Mapping[str, Any], film: Film, copy: bytes) -> bytes:
    parts = {
        "title": html.escape(facts["title"]),
        "summary": html.escape(summary(facts)),
        "version": html.escape(facts["project"]["version"]),
        "fonts": "\n".join(_face(*letter) for letter in LETTERS),
        "style": (WEB / "page.css").read_text(encoding="utf-8"),
        "script": "\n".join((WEB / name).read_text(encoding="utf-8") for name in SCRIPTS),
        "poster": _poster(film),
        # "</" would end the script element that holds it
        "content": json.dumps(facts, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/"),
        "proxy": base64.b64encode(copy).decode(),
    }  # fmt: skip
    template = (WEB / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template).encode()


def summary(facts: Mapping[str, Any]) -> str:
    """What the page is about, in one line."""
    device = facts["device"]
    when = f" {device['when']}" if device["when"] else ""
    return (
        f"How GPU kernels climb the roofline of the {device['name']}, {device['kind']}{when}: the film, and every figure in it."
    )


def _face(family: str, weight: int, name: str) -> str:
    coded = base64.b64encode((FONTS / name).read_bytes()).decode()
    kind = "opentype" if name.endswith(".otf") else "truetype"
    return (
        f'@font-face {{ font-family: "{family}"; font-weight: {weight}; font-display: swap; '
        f'src: url("data:font/{name[-3:]};base64,{coded}") format("{kind}"); }}'
    )


def _poster(film: Film) -> str:
    """The film's thumbnail as a JPEG inside of a URL."""
    from scenes.render.publish import thumbnail

    picture = io.BytesIO()
    thumbnail.draw(film.dataset).save(picture, "JPEG", quality=88, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(picture.getvalue()).decode()}"
