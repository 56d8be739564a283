"""What every passage of the stage reel has in common: a caption instead of the film's head-up display, and keyed flights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from scenes.stage.camera import Camera
from scenes.stage.keys import Path, Track, arrive
from scenes.stage.overlay import Text
from scenes.stage.palette import QUIET, TEXT, mix
from scenes.stage.passage import Passage
from scenes.stage.type import FACT, SMALL

LEFT, RIGHT = 96, 1824  # design pixels
TITLE_AT, LINE_AT = 112, 164  # baselines

View = tuple[float, float, float, float, float, float]
"""Where a camera looks (x, y, z), its distance, azimuth and elevation."""


class Element(Passage):
    """A passage that shows elements of the stage; `shows` names them, `line` says in a few words what to look at."""

    bars: ClassVar[int] = 4
    line: ClassVar[str] = ""
    camera_does: ClassVar[str] = ""
    shows: ClassVar[tuple[str, ...]] = ()

    def caption(self) -> None:
        """Name what is shown, top left, and what the camera does, top right; the head-up display stays away."""
        self.hud_shown.set(0.0, -1.0)
        there, late = Track(0.0).to(1.0, 1.0, 0.5, arrive), Track(0.0).to(1.0, 1.75, 0.5, arrive)
        slide = Track(LEFT - 40.0).to(LEFT, 1.0, 0.5, arrive)
        self.text(Text(self.title, FACT.sized(56), slide, TITLE_AT, opacity=there))
        self.text(Text(self.line, SMALL.sized(37).coloured(mix(QUIET, TEXT, 0.5)), LEFT, LINE_AT, opacity=late))
        self.text(Text(f"camera: {self.camera_does}", SMALL.coloured(QUIET), RIGHT, TITLE_AT, "right", opacity=late))

    def fly(self, keys: Sequence[tuple[float, View]], fov: float = 34.0) -> None:
        """Key the camera: (beat, view) from first to last."""
        path = Path(keys)

        def at(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = (float(v) for v in path(beat))
            return Camera.orbit((x, y, z), distance, azimuth, elevation, fov)

        self.camera_at = at
