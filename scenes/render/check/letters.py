"""Contrast: every text of a frame against what stands around its letters, measured in the decoded film.

Where the texts stand is known from their scene, laid out again without drawing on the film; the light is the film's own.
Limits after WCAG 2.2, criterion 1.4.3: 4.5 to 1, and 3 to 1 for large text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scenes.render.check.film import Film
from scenes.render.check.hues import linear
from scenes.render.check.outcome import Fault, Outcome
from scenes.stage.overlay import Placed
from scenes.stage.type import DESIGN_HEIGHT

if TYPE_CHECKING:
    from scenes.stage.passage import Passage, Roll

RATIO, LARGE_RATIO = 4.5, 3.0
LARGE = 24 / 0.73  # px of 1080: the capital of an 18 pt (24 px) letter is 0.73 em high in both faces
EVERY = 2.0  # beats
SOLID = 0.9  # opacity from which a text is there to be read
LAID_OUT = 270  # rows
CODED = 0.85  # share of its contrast that thin letters keep through 4:2:0 and a quantiser at 480 lines


def check(film: Film) -> Outcome:
    """Texts of every second beat, each by the light of its letters and of what lies around them."""
    faults, passed, worst, count = [], [], float("inf"), 0
    texts = dict(placed(film))
    for number, pixels in film.pictures(texts):
        for box in texts[number]:
            found = contrast(pixels, box)
            least = RATIO if box.bottom - box.top < LARGE * 0.73 * film.size[1] / DESIGN_HEIGHT else LARGE_RATIO
            worst, count = min(worst, found), count + 1
            if found < least * CODED:
                faults.append(Fault(f"{box.text!r} is read at {found:.1f} to 1, expected {least:g}", number / film.fps))
            elif found < least:
                passed.append((found / least, Fault(f"{box.text!r} at {found:.1f} of {least:g} to 1", number / film.fps)))
    found_ = (
        f"{count} texts on {len(texts)} frames, the least at {worst:.1f} to 1" if count else "no text on the frames looked at"
    )
    expected = f"{RATIO:g} to 1, {LARGE_RATIO:g} for large text, less the {1 - CODED:.0%} that coding may take of thin letters"
    note = (
        f"{len(passed)} of them pass by what coding may take, {1 - CODED:.0%}; the nearest to failing: "
        f"{min(passed, key=lambda one: one[0])[1]}"
        if passed
        else ""
    )
    return Outcome("contrast", "Contrast of text", found_, expected, tuple(faults), note)


def placed(film: Film) -> Iterator[tuple[int, list[Placed]]]:
    """(frame of the film, texts that stand there whole) for every second beat of every scene, boxes in the film's pixels.

    Scenes are laid out at a small size, where drawing costs little: texts are placed in design pixels at every size.
    """
    from manim import tempconfig

    from scenes.film import neighbours
    from scenes.stage.passage import Context

    height = min(LAID_OUT, film.size[1])
    width, grow = 2 * round(height * film.size[0] / film.size[1] / 2), film.size[1] / height
    for span, row, rows in film.rows():
        with tempconfig({"pixel_width": width, "pixel_height": height, "frame_rate": film.fps, "verbosity": "ERROR"}):
            context = Context.of(film.dataset, film.track.timeline, row, *neighbours(row, rows))
            scene = row.load()(context)
            beats = np.arange(EVERY / 2, scene.clock.beats, EVERY)
            wanted = [frame for frame in map(scene.clock.frame, beats) if span.first <= frame < span.last]
            sampler = Sampler(scene, wanted, np.zeros((height, width), np.uint32))
            scene.play = sampler.play  # type: ignore[assignment]
            scene.setup()
            scene.construct()
            scene.tear_down()
        for frame, boxes in sampler.found:
            yield span.at + frame - span.first, [scaled(box, grow) for box in boxes]


@dataclass(slots=True)
class Sampler:
    """Plays a scene in place of Manim, its wanted frames only: a screenplay may add texts as it goes on."""

    scene: Passage
    wanted: Sequence[int]
    pixels: NDArray[np.uint32]
    found: list[tuple[int, list[Placed]]] = field(default_factory=list)

    def play(self, roll: Roll) -> None:
        for frame in self.wanted:
            if (
                roll.first <= frame < roll.first + roll.count
                and self.scene.ends.letters(self.scene.clock.at_frame(frame)) >= 1.0
            ):
                self.scene.paint(frame, self.pixels)
                self.found.append((frame, [box for box in self.scene.placed if to_read(box)]))


def to_read(box: Placed) -> bool:
    """Whether a text stands there whole, and says something; the lyric is judged by `sync`, its words change their light."""
    return box.opacity > SOLID and any(c.isalnum() for c in box.text) and not box.kind.startswith("lyric")


def scaled(box: Placed, by: float) -> Placed:
    return replace(box, left=box.left * by, top=box.top * by, right=box.right * by, bottom=box.bottom * by)


def contrast(pixels: NDArray[np.uint8], box: Placed) -> float:
    """Ratio of the light of a box's letters (its brightest) to the light around them (its darker half)."""
    top, bottom = max(0, int(box.top)), int(box.bottom) + 1
    part = pixels[top:bottom, max(0, int(box.left)) : int(box.right) + 1] / 255.0
    light = linear(part) @ np.array([0.2126, 0.7152, 0.0722])
    if not light.size:
        return float("inf")
    dark, bright = np.percentile(light, (30, 97))
    return float((bright + 0.05) / (dark + 0.05))
