"""The head-up display: title and chapter, a ratio where the scene has one, GPU with date and source, and four beat lamps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scenes.stage.claims import Figure
from scenes.stage.clock import Clock
from scenes.stage.overlay import Canvas, Value, value_at
from scenes.stage.palette import COMPUTE, STEEL, TEXT, mix
from scenes.stage.type import DESIGN_HEIGHT, DESIGN_WIDTH, FACT, NUMBER, SMALL

MARGIN = 96  # 5 % of the width
LAMP_Y = DESIGN_HEIGHT - 66
LAMP_PITCH = 34
LAMP_RADIUS = 10
LAMP_OFF, LAMP_ON = mix(STEEL, TEXT, 0.26), TEXT  # 3:1 on the dark rim, and ten times less light than a lit one


def lamp_places(beats: int) -> list[tuple[float, float]]:
    """Centres of the beat lamps in design pixels, first beat leftmost; the check of the finished film reads them there."""
    return [(DESIGN_WIDTH - MARGIN - LAMP_RADIUS - LAMP_PITCH * (beats - 1 - k), LAMP_Y) for k in range(beats)]


@dataclass(slots=True)
class Lamps:
    """One lamp for each beat of the bar; exactly one is lit, from the frame nearest to its beat on."""

    clock: Clock
    opacity: Value = 1.0

    def draw(self, canvas: Canvas) -> None:
        timeline, shown = self.clock.timeline, value_at(self.opacity, canvas.beat)
        if shown <= 0.004:
            return
        lit = self.clock.lit_beat(canvas.frame)
        bar, _ = timeline.bar_beat(timeline.beats[max(lit, 0)] + 1e-6)
        count = timeline.beats_in(bar)
        which = lit - timeline.downbeats[bar - 1] if 0 <= lit < len(timeline.beats) - 1 else -1
        for k, (x, y) in enumerate(lamp_places(count)):
            canvas.disc(x, y, LAMP_RADIUS + 5, (0.01, 0.015, 0.03), shown)
            canvas.disc(x, y, LAMP_RADIUS, LAMP_ON if k == which else LAMP_OFF, shown)


@dataclass(frozen=True, slots=True)
class Ratio:
    """What the HUD's number says: `figure` is the share of a peak that the kernel `of` has achieved; `peak` says which one."""

    figure: Figure
    of: str
    peak: str
    heading: str = "ACHIEVED / PEAK"


@dataclass(slots=True)
class Hud:
    """Everything of the HUD but the lamps; `opacity` takes it away in titles, a chorus' first bar and credits.

    `achieved` returns the ratio to show at a beat; None leaves its corner empty.
    """

    title: str
    chapter: str
    footer: str
    achieved: Callable[[float], Ratio | None]
    opacity: Value = 1.0

    def draw(self, canvas: Canvas) -> None:
        shown = value_at(self.opacity, canvas.beat)
        if shown <= 0.004:
            return
        canvas.write(self.title, FACT.sized(40), MARGIN, 96, "left", shown, "hud")
        canvas.write(self.chapter, SMALL, MARGIN, 146, "left", shown, "hud")
        canvas.write(self.footer, SMALL, MARGIN, DESIGN_HEIGHT - 56, "left", shown, "hud")
        ratio, right = self.achieved(canvas.beat), DESIGN_WIDTH - MARGIN
        if ratio is None:
            return
        canvas.write(ratio.heading, SMALL, right, 80, "right", shown, "hud")
        canvas.claim(ratio.figure, NUMBER.coloured(COMPUTE), right, 149, "right", shown)
        canvas.write(ratio.of, SMALL.coloured(TEXT), right, 188, "right", shown, "hud")
        canvas.write(ratio.peak, SMALL, right, 229, "right", shown, "hud")
