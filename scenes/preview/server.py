"""The preview's server: on the loopback address only, for pages of its own only, and never for a file that it does not name.

A name that resolves to this machine (DNS rebinding) is refused by the Host header, a form on another site by Origin and by the
content type; drafts are found by a pattern of their plain names, everything else by a fixed table.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

from scenes.preview.desk import Desk

HERE = Path(__file__).parent
WEB, PAGE, FONTS = HERE / "web", HERE.parent / "page" / "web", HERE.parent / "stage" / "fonts"
ADDRESS = "127.0.0.1"
TEXT, SCRIPT = "text/html; charset=utf-8", "text/javascript; charset=utf-8"
FILES = {  # address: file and content type
    "/": (WEB / "preview.html", TEXT),
    "/page.css": (PAGE / "page.css", "text/css; charset=utf-8"),
    "/preview.css": (WEB / "preview.css", "text/css; charset=utf-8"),
    **{f"/{name}": (WEB / name, SCRIPT) for name in ("preview.js", "player.js", "grid.js", "list.js")},
    **{
        f"/{name}": (FONTS / name, "font/otf" if name.endswith("otf") else "font/ttf")
        for name in ("InterDisplay-Medium.otf", "InterDisplay-Bold.otf", "JetBrainsMono-Medium.ttf", "JetBrainsMono-Bold.ttf")
    },
}  # fmt: skip
DRAFT = re.compile(r"/draft/([\w-]+\.(?:[0-9a-f]{20}\.mp4|\d+\.[0-9a-f]+\.png))", re.ASCII)
MUSIC = re.compile(r"/scene/([\w-]+)", re.ASCII)
RANGE = re.compile(r"bytes=(\d*)-(\d*)")
KINDS = {".mp4": "video/mp4", ".png": "image/png"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; "
    "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
LONGEST = 4096  # bytes of a request's body


class Server(ThreadingHTTPServer):
    """Serves a desk.  Raises OSError where the port is taken."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, desk: Desk, port: int = 0) -> None:
        self.desk = desk
        super().__init__((ADDRESS, port), Handler)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a browser on this machine may call it."""
        return f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle of an answer is nothing to tell of."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server_version = "roofline"
    sys_version = ""
    server: Server

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if not self._is_ours():
            return
        if path in FILES:
            self._file(*FILES[path])
        elif path == "/state":
            self._json(self.server.desk.state())
        elif path == "/events":
            self._events()
        elif found := MUSIC.fullmatch(path):
            music = self.server.desk.music(found[1])
            self._json(music) if music is not None else self._refuse(404, "no such scene")
        elif found := DRAFT.fullmatch(path):
            draft = self.server.desk.file(found[1])
            if draft is None or not draft.is_file():
                self._refuse(404, "no such draft")
            else:
                self._file(draft, KINDS[draft.suffix])
        else:
            self._refuse(404, "not found")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        desk = self.server.desk
        acts: dict[str, Callable[[dict[str, Any]], bool]] = {
            "/choose": lambda asked: desk.choose(str(asked["scene"])),
            "/draw": lambda asked: desk.draw(str(asked.get("scene", ""))),
            "/frame": lambda asked: desk.frame(str(asked["scene"]), int(asked["frame"])),
            "/stop": lambda asked: desk.stop() or True,  # type: ignore[func-returns-value]
        }
        if not self._is_ours():
            return
        kind = self.headers.get("Content-Type", "").partition(";")[0]
        length = self.headers.get("Content-Length", "")
        if self.path not in acts:
            self._refuse(404, "not found")
        elif kind != "application/json" or not length.isdigit() or int(length) > LONGEST:
            self._refuse(415, "expected a short JSON object")
        else:
            try:
                done = acts[self.path](json.loads(self.rfile.read(int(length))))
            except (ValueError, KeyError, TypeError, AttributeError):
                self._refuse(400, "expected a JSON object that names a scene")
                return
            self._json({}) if done else self._refuse(404, "no such scene")

    def _is_ours(self) -> bool:
        """Whether a request was meant for this server, by a page of its own."""
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site", "none")
        if self.headers.get("Host") not in self.server.hosts:
            self._refuse(421, f"open {self.server.url}")
        elif (origin is not None and origin.removeprefix("http://") not in self.server.hosts) or site == "cross-site":
            self._refuse(403, "not for other sites")
        else:
            return True
        return False

    def _head(self, code: int, kind: str, length: int | None, **more: str) -> None:
        self.send_response(code)
        sent = {
            "Content-Type": kind, "Cache-Control": "no-store", "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            **{name.replace("_", "-"): value for name, value in more.items()},
        }  # fmt: skip
        for name, value in sent.items():
            self.send_header(name, value)
        if length is None:
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _refuse(self, code: int, why: str) -> None:
        body = f"{why}\n".encode()
        self.close_connection = True  # a body may still be on its way
        self._head(code, "text/plain; charset=utf-8", len(body), Connection="close")
        self._body(body)

    def _json(self, value: Any) -> None:
        body = json.dumps(value, ensure_ascii=False).encode()
        self._head(200, "application/json", len(body))
        self._body(body)

    def _body(self, body: bytes) -> None:
        if self.command != "HEAD":
            self.wfile.write(body)

    def _file(self, path: Path, kind: str) -> None:
        """A file, or the part of it that is asked for (RFC 9110, 14.2): a player jumps by parts."""
        with path.open("rb") as file:
            size = path.stat().st_size
            asked = RANGE.fullmatch(self.headers.get("Range", ""))
            first, last = 0, size - 1
            if asked and (asked[1] or asked[2]):
                first = int(asked[1]) if asked[1] else max(0, size - int(asked[2]))
                last = min(int(asked[2]), size - 1) if asked[1] and asked[2] else size - 1
                if first > last:
                    self._head(416, kind, 0, Content_Range=f"bytes */{size}")
                    return
                self._head(206, kind, last - first + 1, Accept_Ranges="bytes", Content_Range=f"bytes {first}-{last}/{size}")
            else:
                self._head(200, kind, size, Accept_Ranges="bytes")
            if self.command != "HEAD":
                file.seek(first)
                _copy(file, self.wfile, last - first + 1)

    def _events(self) -> None:
        """The state and each that follows, as server-sent events."""
        self._head(200, "text/event-stream", None, Connection="close")
        for state in self.server.desk.follow():
            line = f"data: {json.dumps(state, ensure_ascii=False)}\n\n" if state is not None else ": still here\n\n"
            self.wfile.write(line.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not told."""


def _copy(source: IO[bytes], target: Any, length: int) -> None:
    while length > 0 and (part := source.read(min(length, 1 << 16))):
        target.write(part)
        length -= len(part)
