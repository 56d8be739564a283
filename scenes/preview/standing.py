"""How one scene stands: what is known of it, what is asked for, what is being drawn, and what a page is told of that."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from scenes.preview.process import Child

SHOWN = ("name", "module", "idea", "bars", "first_bar", "frames", "fps", "kind", "draft", "latest", "why", "share")


@dataclass(frozen=True, slots=True)
class Order:
    """A scene to draw, or one frame of it (numbered in the film)."""

    scene: str
    frame: int | None = None


@dataclass(slots=True)
class Scene:
    """What the last survey said of a scene, and what came of drawing it."""

    facts: dict[str, Any]
    error: str = ""
    trace: str = ""


@dataclass(slots=True)
class Running:
    """An order under way, with the content that it is drawn from; `dropped` once it is of no use any more."""

    order: Order
    child: Child
    inputs: str
    done: int = 0
    of: int = 0
    said: str = ""
    dropped: bool = False


def stands(scene: Scene, running: Running | None, orders: Container[Order]) -> dict[str, Any]:
    """A scene's state for a page: `drawn`, `stale` or `missing` as surveyed, else `failed`, `waiting` or `drawing`."""
    order = Order(scene.facts["name"])
    body = {key: scene.facts[key] for key in SHOWN if key in scene.facts}
    body |= {"state": scene.facts.get("state", "failed"), "error": scene.facts.get("error", ""), "trace": ""}
    if scene.error:
        body |= {"error": scene.error, "trace": scene.trace}
    if body["error"]:
        body["state"] = "failed"
    if order in orders:
        body["state"] = "waiting"
    if running is not None and running.order == order:
        body |= {"state": "drawing", "error": "", "trace": "", "done": running.done, "of": running.of}
        body["said"] = running.said if not running.done or running.done == running.of else ""
    return body
