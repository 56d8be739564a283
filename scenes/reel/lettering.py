"""Type: every style on one page, digits that run, a sung line lit word by word, and labels that keep out of the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from measure.dataset import Reading
from scenes.reel.element import LEFT, Element
from scenes.stage.claims import figure
from scenes.stage.digits import Counter
from scenes.stage.keys import Track, arrive
from scenes.stage.layout import Label, Labels
from scenes.stage.overlay import Run, Text
from scenes.stage.palette import COMPUTE, MEMORY, PLATE, QUIET, STEEL, TEXT, THREAD, Colour, mix
from scenes.stage.passage import Scenery
from scenes.stage.type import CODE, FACT, HEADLINE, LABEL, NUMBER, SMALL
from scenes.stage.world import Boxes, Fog, Ground, Light, World

Floats = NDArray[np.float64]
PAGE = (LEFT, 220.0, 960.0, 790.0)  # design pixels that the page takes: labels stay out of it
CENTRE, RADIUS = (4.2, 1.2), 3.1  # of the ring of blocks, world units
NAMED: tuple[tuple[str, Colour], ...] = (
    ("grid", TEXT), ("block", COMPUTE), ("warp", COMPUTE), ("thread", THREAD), ("tile", MEMORY), ("register", COMPUTE),
)  # fmt: skip
LINE_OF_CODE = "acc += a[i] * b[j];"
LADDER = "gemm_fp32"


class Lettering(Element):
    """The page on the left is set line by line; on the right labelled blocks turn, and no label meets another."""

    name: ClassVar[str] = "reel-type"
    title: ClassVar[str] = "TYPE"
    line: ClassVar[str] = "styles, running digits, the line that is sung"
    camera_does: ClassVar[str] = "orbit the other way"
    shows: ClassVar[tuple[str, ...]] = ("code", "lyric", "live digits", "label layout", "whip")

    def construct(self) -> None:
        # Blocks turn about a tower; each is named.
        self.prop(Scenery(self._light), self)
        self.fly([
            (self.at(1), (1.1, 0.5, 0.8, 15.0, 16.0, 20.0)), (self.at(3), (1.0, 0.5, 0.9, 14.2, 0.0, 24.0)),
            (self.at(5), (1.1, 0.5, 0.8, 15.0, -18.0, 19.0)),
        ])  # fmt: skip
        labels = [
            Label([(name, FACT)], self._top(k), Track(0.0).to(1.0, 1.5 + 0.5 * k, 0.5, arrive), colour)
            for k, (name, colour) in enumerate(NAMED)
        ]
        view = lambda beat, points: self.view(beat).project(points, 1920, 1080)  # noqa: E731
        self.text(Labels(labels, view, self.clock.beats, lambda beat: (PAGE, *self._covered(beat))))

        # The page, a line a beat, and the best rung's figure running up.
        self.caption()
        self._page()
        self.finish()

    def _page(self) -> None:
        for beat, y, words, style in (
            (1.0, 352.0, "Roofline", HEADLINE.sized(140)),
            (2.0, 438.0, "The lower roof decides", FACT),
            (3.0, 498.0, "a label names one thing", LABEL),
            (3.5, 550.0, "small print says where it is from", SMALL),
        ):
            shown = Track(0.0).to(1.0, beat, 0.4, arrive)
            self.text(Text(words, style, Track(LEFT - 40.0).to(LEFT, beat, 0.5, arrive), y, opacity=shown))
        typed = lambda now: LINE_OF_CODE[: max(0, int((now - 4.0) * 9.0))]  # noqa: E731
        caret = lambda now: "_" if now % 1.0 < 0.5 else ""  # noqa: E731
        code = Run([(typed, CODE.coloured(QUIET), 1.0), (caret, CODE, 1.0)], LEFT, 622.0)
        code.opacity = Track(0.0).to(1.0, 4.0, 0.3)
        self.text(code)
        best = self._best()
        if best is not None:
            count = Track(0.0).to(1.0, self.at(4), 7.0, arrive)
            shown = Track(0.0).to(1.0, self.at(2, 2), 0.5, arrive)
            self.text(Counter(figure(best, 1), count, NUMBER.sized(104).coloured(COMPUTE), LEFT, 752.0, "left", shown))
            words = f"fastest fp32 rung, {best.quantity.source}"
            self.text(Text(words, SMALL, LEFT, 806.0, opacity=shown))

    def _best(self) -> Reading | None:
        owned = self.data.ladder(LADDER)
        keys = [f"ladders.{LADDER}.rungs.{rung.name}.rate" for rung in owned.value.rungs] if owned else []
        return max((found for key in keys if (found := self.data.get(key))), key=lambda r: r.quantity.value, default=None)

    @property
    def _tall(self) -> Floats:
        return np.array([1.8, 1.4, 1.1, 0.85, 0.65, 0.55])

    def _place(self, beat: float) -> Floats:
        """(6, 3) feet of the blocks, on two rings that turn against each other."""
        k = np.arange(len(NAMED))
        turn = 2.0 * np.pi * (k / len(NAMED) + np.where(k % 2, -1.0, 1.0) * beat / 40.0 + 0.04)
        radius = np.where(k % 2, RADIUS, 0.56 * RADIUS)
        return np.column_stack([CENTRE[0] + radius * np.cos(turn), CENTRE[1] + radius * np.sin(turn), np.zeros(len(k))])

    def _top(self, which: int) -> Callable[[float], Sequence[float]]:
        """Where a block's label is pinned: the middle of its upper face."""

        def at(beat: float) -> Sequence[float]:
            x, y, _ = self._place(beat)[which]
            return float(x), float(y), float(self._tall[which])

        return at

    def _covered(self, beat: float) -> list[tuple[float, float, float, float]]:
        """Left, top, right, bottom of each block in the picture, design pixels: no label stands before one."""
        feet, tall = self._place(beat), self._tall
        half = (0.55 * tall + 0.2) / 2
        corners = np.array([(i, j, k) for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (0.0, 1.0)])
        points = feet[:, None, :] + corners * np.column_stack([half, half, tall])[:, None, :]
        seen = self.view(beat).project(points.reshape(-1, 3), 1920, 1080).reshape(len(feet), 8, 3)[..., :2]
        boxes = np.concatenate([seen.min(1), seen.max(1)], axis=1)
        return [(float(a), float(b), float(c), float(d)) for a, b, c, d in boxes]

    def draw(self, world: World, beat: float) -> None:
        feet, tall = self._place(beat), self._tall
        wide = 0.55 * tall + 0.2
        size = np.column_stack([wide, wide, tall])
        colour = [mix(STEEL, colour, 0.75) for _, colour in NAMED]
        world.add(Boxes.of(feet - np.column_stack([wide / 2, wide / 2, 0.0 * wide]), size, colour, 0.35, 0.9))
        x, y = np.meshgrid(np.arange(-14.0, 18.0, 1.0), np.arange(6.5, 18.0, 1.0))
        far = np.column_stack([x.ravel() - 0.4, y.ravel(), np.zeros(x.size)])
        rise = 0.3 + 0.5 * (0.5 + 0.5 * np.cos(2 * np.pi * (far[:, 0] / 9.0 + far[:, 1] / 7.0 - beat / 8.0)))
        world.add(Boxes.of(far, np.column_stack([np.full((len(far), 2), 0.8), rise]), mix(PLATE, STEEL, 0.8), 0.0, 0.6))

    def _light(self, world: World, beat: float) -> None:
        world.light = Light(focus=CENTRE, radius=8.0, ambient=0.28)
        world.fog = Fog(start=17.0, end=40.0)
        world.ground = Ground(spacing=1.0, extent=50.0, line_alpha=0.16)
