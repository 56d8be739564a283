"""The files that a scene can be had as, and what each is good for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scenes.render.errors import RequestError


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: its ending, its widest picture in pixels and most frames a second (0: as they are drawn), its coders.

    `sound` is empty where the file has none, `alpha` says that what is not drawn is transparent.
    """

    name: str
    suffix: str
    use: str
    video: str
    sound: str = ""
    widest: int = 0
    most_fps: int = 0
    alpha: bool = False

    def size(self, width: int, height: int) -> tuple[int, int]:
        """The picture's size in this format, from the size that is drawn: both even, in proportion."""
        if not self.widest or width <= self.widest:
            return width, height
        return self.widest // 2 * 2, round(height * self.widest / width / 2) * 2

    def every(self, fps: int) -> int:
        """Of how many drawn frames one is shown: whole numbers only, so that motion stays even."""
        return max(1, -(-fps // self.most_fps)) if self.most_fps else 1


FORMATS = {
    "mp4": Format("mp4", ".mp4", "H.264 and AAC: plays everywhere", "libx264", "aac"),
    "webm": Format("webm", ".webm", "VP9 and Opus: smaller, for web pages", "libvpx-vp9", "libopus"),
    "gif": Format("gif", ".gif", "a silent loop for slides and readmes", "gif", widest=640, most_fps=20),
    "webp": Format("webp", ".webp", "a silent loop in true colour", "libwebp_anim", widest=960, most_fps=30),
    "mov-alpha": Format("mov-alpha", ".mov", "ProRes 4444 to lay over other pictures", "prores_ks", "pcm_s16le", alpha=True),
}


def choose(name: str | None, output: Path | None) -> Format:
    """The format that was asked for by name, or else by the output's ending; an mp4 where neither says.

    Raises RequestError where the two contradict each other, or the ending is none of these.
    """
    by_ending = next((f for f in FORMATS.values() if output is not None and output.suffix.lower() == f.suffix), None)
    if name is None:
        if output is not None and by_ending is None:
            endings = ", ".join(f.suffix for f in FORMATS.values())
            raise RequestError(f"{output}: no film ends like that: expected one of {endings}")
        return by_ending or FORMATS["mp4"]
    if output is not None and by_ending is not FORMATS[name]:
        raise RequestError(f"{output}: {name} ends in {FORMATS[name].suffix}: name such a file, or leave --format out")
    return FORMATS[name]
