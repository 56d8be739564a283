"""Picture sizes and frame rates by Manim's quality letters, with the encoder's settings for each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scenes.render.errors import RequestError


@dataclass(frozen=True, slots=True)
class Quality:
    """Frame size in pixels (both even: the picture is coded 4:2:0), frames a second, x264's preset and constant rate factor."""

    letter: str
    width: int
    height: int
    fps: int
    preset: str = "superfast"
    crf: int = 18

    def __post_init__(self) -> None:
        if self.width < 16 or self.height < 16 or self.width % 2 or self.height % 2 or not 1 <= self.fps <= 240:
            raise RequestError(f"{self.label}: expected an even frame size of 16 or more and 1 to 240 frames a second")

    @property
    def label(self) -> str:
        return f"{self.width}x{self.height}@{self.fps}"

    def at(self, fps: int | None) -> Quality:
        """The same picture at another frame rate; None keeps this one's."""
        return self if fps is None else replace(self, fps=fps)


# Manim's own letters, sizes and rates.  Drafts take the preset that costs a third of the time for twice the bits.
QUALITIES = {
    "l": Quality("l", 854, 480, 15, "ultrafast", 20),
    "m": Quality("m", 1280, 720, 30),
    "h": Quality("h", 1920, 1080, 60),
    "k": Quality("k", 3840, 2160, 60),
}
