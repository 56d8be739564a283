"""A process of the preview: it imports the libraries, waits for one command, does it with the sources as they are then, ends.

One JSON object on its standard input: `{"do": "survey" | "draw" | "frame", "session", "scene", "frame"}`; on its standard
output JSON lines: `{"film"}`, `{"scene"}`, `{"say"}`, `{"done", "of"}`; at last `{"end"}`, or `{"error", "trace"}`.
What scenes print goes to standard error.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scenes.preview.session import Session
    from scenes.render.plan import Segment

LIBRARIES = ("attrs", "av", "cattrs", "numba", "numpy", "PIL.Image", "rich.progress", "scipy.signal")
KEPT = 2  # drafts of a scene: the one that a page may be playing stays
KEPT_FRAMES = 12
NICE = 5
PLAIN = {"DecodeError", "MeasureError", "RenderError", "RequestError", "TimelineError", "TrackError"}  # whose message says all
Tell = Callable[[Mapping[str, Any]], None]


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server answers Ctrl-C
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that its own processes end with it
    os.nice(NICE)
    told = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    line = sys.stdin.readline()
    if not line.strip():
        return  # no command came: the server has ended

    def tell(body: Mapping[str, Any]) -> None:
        told.write(json.dumps(body) + "\n")

    try:
        _obey(json.loads(line), tell)
    except BrokenPipeError:
        os._exit(1)
    except Exception as error:
        tell({"error": said(error), "trace": getattr(error, "trace", "") or traceback.format_exc()})


def _obey(command: Mapping[str, Any], tell: Tell) -> None:
    from scenes.preview.session import Session

    session = Session.of(command["session"])
    if command["do"] == "survey":
        _survey(session, command.get("scene", ""), tell)
    elif command["do"] == "draw":
        _draw(session, command["scene"], tell)
    else:
        _frame(session, command["scene"], command["frame"], tell)


def _survey(session: Session, first: str, tell: Tell) -> None:
    from scenes.preview import facts
    from scenes.preview.session import request_of
    from scenes.render.cache import Cache

    request, cache = request_of(session), Cache(session.folder)
    folder = facts.folder_of(request, cache)
    names = [row.name for row in request.rows]
    tell({"film": {"names": names, "folder": str(folder), "measurements": list(request.dataset.specs)}})
    for scene in facts.scenes(request, cache, folder, first):
        tell({"scene": scene})
    tell({"end": {}})


def _draw(session: Session, name: str, tell: Tell) -> None:
    from scenes.preview import facts
    from scenes.preview.session import request_of
    from scenes.render import claims_file
    from scenes.render.cache import Cache
    from scenes.render.make import make, survey

    request, cache = request_of(session, (name,)), Cache(session.folder)
    folder = facts.folder_of(request, cache)
    made = make(request, folder / f".{name}.mp4", cache, reporter=_reporter(tell))
    lookups = survey(request, cache)
    target = folder / f"{name}.{facts.token(lookups)}.mp4"
    made.claims.replace(claims_file.path_of(target))
    made.film.replace(target)
    target.touch()
    for old in sorted(folder.glob(f"{name}.*.mp4"), key=lambda path: path.stat().st_mtime_ns, reverse=True)[KEPT:]:
        claims_file.path_of(old).unlink(missing_ok=True)
        old.unlink(missing_ok=True)
    tell({"end": {**facts.state(lookups, folder), "drawn": made.drawn, "seconds": made.seconds}})


def _frame(session: Session, name: str, frame: int, tell: Tell) -> None:
    from scenes.preview import facts
    from scenes.preview.session import request_of
    from scenes.render.cache import Cache
    from scenes.render.make import draw_frame

    request, cache = request_of(session, (name,), single=True), Cache(session.folder)
    folder = facts.folder_of(request_of(session), cache)
    target = folder / f"{name}.{frame}.{time.time_ns():x}.png"
    draw_frame(request, frame, target, cache)
    for old in sorted(folder.glob("*.png"), key=lambda path: path.stat().st_mtime_ns, reverse=True)[KEPT_FRAMES:]:
        old.unlink(missing_ok=True)
    tell({"end": {"file": target.name, "size": [request.quality.width, request.quality.height]}})


def _reporter(tell: Tell) -> Any:
    from scenes.render.progress import Silent

    class Told(Silent):
        """Tells how many of the frames that were missing are drawn."""

        def __init__(self) -> None:
            self.of, self.drawn = 0, dict[Any, int]()

        def start(self, segments: Sequence[Segment], done: Sequence[bool]) -> None:
            self.of = sum(one.frames for one, finished in zip(segments, done, strict=True) if not finished)
            tell({"done": 0, "of": self.of})

        def say(self, text: str) -> None:
            tell({"say": text})

        def frames(self, segment: Segment, count: int) -> None:
            self.drawn[segment] = count
            tell({"done": sum(self.drawn.values()), "of": self.of})

    return Told()


def said(error: BaseException) -> str:
    """An error in one line: where, what was raised."""
    text = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        return f"{Path(error.filename or '?').name}: line {error.lineno}: {error.msg}"
    if PLAIN & {kind.__name__ for kind in type(error).__mro__}:
        return text.partition("; the whole trace is in ")[0]
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "site-packages" not in one.filename]
    ours = [one for one in frames if f"{os.sep}preview{os.sep}" not in one.filename and not one.filename.startswith("<")]
    where = f" ({Path(ours[-1].filename).name}:{ours[-1].lineno})" if ours else ""
    return f"{type(error).__name__}: {text}{where}"


if __name__ == "__main__":
    main()
