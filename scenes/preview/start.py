"""Starting a preview and ending it: the desk, the watcher and the server of a session."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from audio import timeline_file, tracks
from scenes.preview.desk import Desk
from scenes.preview.process import ROOT
from scenes.preview.server import Server
from scenes.preview.session import Session
from scenes.preview.watch import Watcher
from scenes.render.errors import RequestError
from scenes.render.quality import QUALITIES, Quality

PORT = 8460
TRIED = 20  # ports from there on, where none is asked for


def session_of(names: Sequence[str], draft: Quality, specs: Sequence[str], track: tracks.Track) -> Session:
    """A session of these scenes; single frames are drawn in high quality, and in the highest for drafts of that."""
    frame = QUALITIES["k" if draft.letter in "hk" else "h"].at(draft.fps)
    path = Path(track.path).absolute()
    try:
        beside = tracks.open(path).timeline
    except (tracks.TrackError, tracks.TimelineError):
        beside = None
    heard = "" if beside == track.timeline else json.dumps(timeline_file.to_json(track.timeline))
    return Session(tuple(names), tuple(specs), str(path), heard, _fields(draft), _fields(frame))


def _fields(quality: Quality) -> tuple[str, int, int, int, str, int]:
    return quality.letter, quality.width, quality.height, quality.fps, quality.preset, quality.crf


def start(session: Session, port: int | None, opened: bool) -> None:
    """Serve a session until Ctrl-C or a polite kill.  Raises RequestError where no port is free."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    desk = Desk(session, session.names[0] if session.names else "")
    watcher = Watcher(desk.files, [ROOT / "scenes"], desk.saved)
    try:
        with serve(desk, port) as server:
            watcher.start()
            print(f"{server.url}  (Ctrl-C ends the preview)", flush=True)
            if opened:
                threading.Thread(target=show, args=(server.url,), daemon=True).start()
            server.serve_forever(0.2)
    except KeyboardInterrupt:
        print("\nthe preview has ended; what was drawn is kept", file=sys.stderr)
    finally:
        signal.signal(signal.SIGTERM, before)
        watcher.stop()
        desk.close()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def serve(desk: Desk, port: int | None) -> Server:
    """A server at a port, or at the first free one of some.  Raises RequestError where there is none."""
    for number in [port] if port else range(PORT, PORT + TRIED):
        try:
            return Server(desk, number)
        except OSError:
            continue
    what = f"port {port}" if port else f"ports {PORT} to {PORT + TRIED - 1}"
    raise RequestError(f"{what}: cannot be served from, or taken: name another one with --port")


def show(url: str) -> None:
    """Open the page where there is a screen to show it on."""
    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(url)
