"""How every scene stands, what is asked for, what is being drawn, and what a save of a file leads to.

One drawing runs at a time, the newest request first: it takes the place of what is running, which goes on after it from the
segments that are finished. A save of a scene's own module or of a measurement file draws those scenes anew that it made stale;
a save of anything else draws the scene that is shown, and the others wait, stale, until they are chosen.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scenes.preview.process import Child
from scenes.preview.session import Session
from scenes.preview.standing import Order, Running, Scene, stands

BREATH = 0.1  # seconds at least between two states told to a page
BEAT = 10.0  # seconds after which a page hears again that all is as it was
Told = Mapping[str, Any]


class Desk:
    """The state of a preview, for any number of threads; `close` ends its processes."""

    def __init__(self, session: Session, chosen: str = "") -> None:
        self.session = session
        self._turn = threading.Condition()
        self._scenes: dict[str, Scene] = {}
        self._names: list[str] = []
        self._film: dict[str, Any] = {}
        self._error = self._trace = ""
        self._chosen = chosen
        self._orders: list[Order] = []
        self._running: Running | None = None
        self._frame: dict[str, Any] = {}
        self._saved: set[str] | None = set()  # None: nothing to survey
        self._surveying: Child | None = None
        self._version = 0
        self._closed = False
        self._spare: Child | None = Child()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._survey_always, self._draw_always)]
        for thread in self._threads:
            thread.start()

    # ---- what a page asks for -------------------------------------------------------------------------------------------

    def choose(self, name: str) -> bool:
        """Show a scene: it is drawn unless its draft is whole.  False for a scene that is not there."""
        with self._turn:
            scene = self._scenes.get(name)
            if scene is None:
                return False
            self._chosen = name
            self._changed()
            wanted = not scene.facts.get("draft") and not scene.error and "error" not in scene.facts
        if wanted:
            self._ask(Order(name))
        return True

    def draw(self, name: str = "") -> bool:
        """Draw a scene now; without a name all that are stale or missing, after whatever is asked for."""
        with self._turn:
            if name and name not in self._scenes:
                return False
            rest = [n for n in self._names if n in self._scenes and not self._scenes[n].facts.get("draft")]
        if name:
            self._ask(Order(name))
        else:
            for other in rest:
                self._ask(Order(other), last=True)
        return True

    def frame(self, name: str, frame: int) -> bool:
        """One frame of a scene in the quality of single frames; a newer one takes its place."""
        with self._turn:
            if name not in self._scenes:
                return False
            self._orders = [order for order in self._orders if order.frame is None]
        self._ask(Order(name, frame))
        return True

    def stop(self) -> None:
        """Forget every order."""
        with self._turn:
            self._orders.clear()
            running = self._drop()
            self._changed()
        if running is not None:
            running.child.kill()

    def saved(self, paths: set[str]) -> None:
        """Files have changed."""
        with self._turn:
            self._saved = (self._saved or set()) | paths
            self._turn.notify_all()

    def files(self) -> set[str]:
        """Every file that a scene is known to depend on."""
        with self._turn:
            found = {path for scene in self._scenes.values() for path in scene.facts.get("files", ())}
            return found | set(self._film.get("measurements", self.session.specs))

    # ---- what a page is told --------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything but the music of the scenes."""
        with self._turn:
            return {
                "version": self._version, "error": self._error, "trace": self._trace, "chosen": self._chosen,
                "looking": self._saved is not None,
                "scenes": [stands(self._scenes[n], self._running, self._orders) for n in self._names if n in self._scenes],
                "frame": self._frame, "measurements": [Path(spec).stem for spec in self._film.get("measurements", ())],
                "track": Path(self.session.track).stem, "size": list(self.session.draft[1:4]),
            }  # fmt: skip

    def follow(self) -> Iterator[dict[str, Any] | None]:
        """The state now and whenever it changes, None now and then where it does not; ends with the preview."""
        seen = -1
        while True:
            with self._turn:
                self._turn.wait_for(lambda last=seen: self._version != last or self._closed, BEAT)  # type: ignore[misc]
                if self._closed:
                    return
                told = self.state() if self._version != seen else None
                seen = self._version
            yield told
            time.sleep(BREATH)

    def music(self, name: str) -> dict[str, Any] | None:
        """A scene's beats, words and the figures of its latest draft; None for a scene that is not there."""
        with self._turn:
            scene = self._scenes.get(name)
            if scene is None:
                return None
            facts = dict(scene.facts)
        beside = self.file(f"{name}.{facts.get('latest')}.claims.json")
        claims = _figures(beside) if beside is not None else []
        return {key: facts.get(key) for key in ("name", "beats", "words", "first", "frames", "fps")} | {"claims": claims}

    def file(self, name: str) -> Path | None:
        """A file of the folder of drafts by its plain name."""
        folder = self._film.get("folder")
        return Path(folder) / name if folder and "/" not in name and not name.startswith(".") else None

    def close(self) -> None:
        """End every process.  Nothing is drawn afterwards."""
        with self._turn:
            self._closed = True
            self._orders.clear()
            running = self._drop()
            children = [self._surveying, self._spare, running.child if running is not None else None]
            self._spare = None
            self._changed()
        for child in children:
            if child is not None:
                child.kill()
        for thread in self._threads:
            thread.join(10)

    def _changed(self) -> None:
        self._version += 1
        self._turn.notify_all()

    # ---- drawing --------------------------------------------------------------------------------------------------------

    def _ask(self, order: Order, last: bool = False) -> None:
        """Put an order on top, in place of what is running; or, with `last`, below all others."""
        with self._turn:
            running = self._running
            if self._closed or (running is not None and running.order == order and not running.dropped):
                return
            before = None
            known = order in self._orders
            if last:
                if not known:
                    self._orders.insert(0, order)
            else:
                self._orders = [other for other in self._orders if other != order]
                before = self._drop()
                if before is not None and before.order.frame is None:
                    self._orders.append(before.order)
                self._orders.append(order)
            self._changed()
        if before is not None:
            before.child.kill()

    def _drop(self) -> Running | None:
        running, self._running = self._running, None
        if running is not None:
            running.dropped = True
        return running

    def _take(self) -> Child:
        child = self._spare or Child()
        self._spare = None if self._closed else Child()
        return child

    def _draw_always(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._orders or self._closed)
                if self._closed:
                    return
                order = self._orders.pop()
                scene = self._scenes.get(order.scene)
                if scene is None:
                    continue
                running = self._running = Running(order, self._take(), scene.facts.get("inputs", ""))
                self._changed()
            do = "draw" if order.frame is None else "frame"
            command = {"do": do, "session": self.session.as_json(), "scene": order.scene, "frame": order.frame}
            for body in running.child.run(command):
                with self._turn:
                    if not running.dropped:
                        self._heard(running, body)
                        self._changed()
            with self._turn:
                if self._running is running:
                    self._running = None
                    self._changed()

    def _heard(self, running: Running, body: Told) -> None:
        """What the process of an order tells."""
        order, scene = running.order, self._scenes[running.order.scene]
        if "done" in body:
            running.done, running.of = body["done"], body["of"]
        elif "say" in body:
            running.said = body["say"]
        elif order.frame is not None:
            told = {"file": "", "error": body.get("error", ""), **body.get("end", {})}
            self._frame = {"scene": order.scene, "frame": order.frame, **told}
        elif "error" in body:
            scene.error, scene.trace = body["error"], body["trace"]
        elif "end" in body:
            scene.error = scene.trace = ""
            scene.facts.update({key: body["end"][key] for key in ("state", "why", "draft", "latest", "share")})

    # ---- what has changed -----------------------------------------------------------------------------------------------

    def _survey_always(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._saved is not None or self._closed)
                if self._closed:
                    return
                saved = self._saved or set()
                self._saved = set()
                child = self._surveying = self._take()
                command = {"do": "survey", "session": self.session.as_json(), "scene": self._chosen}
            self._survey(child, command, saved)
            with self._turn:
                self._surveying = None
                self._saved = self._saved or None
                self._changed()

    def _survey(self, child: Child, command: Told, saved: set[str]) -> None:
        for body in child.run(command):
            later: list[Callable[[], None]] = []
            with self._turn:
                if self._closed:
                    return
                if "film" in body:
                    self._film, self._names, self._error = body["film"], body["film"]["names"], ""
                    self._chosen = self._chosen if self._chosen in self._names else self._names[0]
                elif "scene" in body:
                    later = self._surveyed(body["scene"], saved)
                elif "error" in body:
                    self._error, self._trace = body["error"], body["trace"]
                self._changed()
            for act in later:
                act()

    def _surveyed(self, facts: dict[str, Any], saved: set[str]) -> list[Callable[[], None]]:
        """Take in how a scene stands, and say what to do about it."""
        name = facts["name"]
        scene, known = self._scenes.get(name), name in self._scenes
        if scene is None:
            scene = self._scenes[name] = Scene(facts)
        if scene.facts.get("inputs") != facts["inputs"]:
            scene.error = scene.trace = ""  # it may draw now
        scene.facts = {**scene.facts, **facts} if "error" in facts else facts  # of a broken scene the draft can still be played
        if "error" in facts:
            return []
        running = self._running
        if running is not None and running.order.scene == name and running.inputs != facts["inputs"]:
            dropped = self._drop()
            assert dropped is not None
            return [dropped.child.kill, lambda: self._ask(dropped.order)]
        if facts["draft"] or scene.error:
            return []
        if name == self._chosen:
            return [lambda: self._ask(Order(name))]
        own = bool(saved & {path for path in facts["files"] if path.endswith(facts["module"].replace(".", "/") + ".py")})
        measured = bool(saved & set(self._film["measurements"])) and facts["state"] == "stale"
        return [lambda: self._ask(Order(name), last=True)] if known and (own or measured) else []


def _figures(path: Path) -> list[dict[str, Any]]:
    """The figures of a draft with their frames in it; none where the draft has been replaced since."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    start = body["spans"][0]["first"]  # a draft holds one scene
    return [
        {**{key: one[key] for key in ("text", "key", "source", "device", "file")},
         "first": one["first_frame"] - start, "last": one["last_frame"] - start}
        for one in body["claims"]
    ]  # fmt: skip
