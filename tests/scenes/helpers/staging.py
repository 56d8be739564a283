"""What the tests of scenes share: a passage at its place in the song, small frames, and what stands on one of them.

Import it as the other helpers: `sys.path.insert(0, str(Path(__file__).parent / "helpers"))`, then `import staging`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from manim import config, tempconfig

from audio import tracks
from audio.timeline import Timeline
from measure.dataset import Dataset
from scenes import film
from scenes.film import Row
from scenes.stage.overlay import Placed
from scenes.stage.passage import Context, Passage, Window
from scenes.stage.world import Boxes, World


@contextmanager
def small_frames(width: int = 480, height: int = 270, fps: int = 30, media: Path | None = None) -> Iterator[None]:
    """Manim draws so small, and keeps what it writes under `media`."""
    kept = {} if media is None else {"media_dir": str(media)}
    with tempconfig({"pixel_width": width, "pixel_height": height, "frame_rate": fps, **kept}):
        yield


def staged(row: Row | str, *specs: str | Path, timeline: Timeline | None = None, neighbours: bool = False) -> Passage:
    """A passage of the film that has been keyed, none of whose frames has been drawn.

    Over the files that come with the project where `specs` names none; with its cuts where `neighbours` is asked for.
    """
    row = film.row(row) if isinstance(row, str) else row
    beside = film.neighbours(row) if neighbours else ()
    context = Context.of(Dataset.open(specs), timeline or tracks.default().timeline, row, *beside)
    scene: Passage = row.load()(context, Window(0, 0))
    scene.setup()
    scene.construct()
    return scene


def world_at(scene: Passage, beat: float, only: Sequence[object] | None = None) -> World:
    """What the scene's props, or some of them, draw at a beat."""
    world = World()
    for prop in scene.props if only is None else only:
        prop.draw(world, beat)  # type: ignore[attr-defined]
    return world


def boxes(scene: Passage, beat: float, only: Sequence[object] | None = None) -> Boxes:
    """All boxes of the world at a beat."""
    return world_at(scene, beat, only).all_boxes()


def placed(scene: Passage, beat: float, seen: float = 0.5) -> list[Placed]:
    """The texts on the frame of a beat that are more than so opaque, as they stand on it."""
    scene.paint(scene.clock.frame(beat), np.zeros((config.pixel_height, config.pixel_width), np.uint32))
    return [text for text in scene.placed if text.opacity > seen]


def texts(scene: Passage, beat: float, seen: float = 0.5) -> set[str]:
    """The words of `placed`."""
    return {text.text for text in placed(scene, beat, seen)}
