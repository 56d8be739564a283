"""The lyric line: large, always in the same place, each word lit from the moment it is sung."""

from __future__ import annotations

from dataclasses import dataclass

from audio.timeline import Line, Timeline, Word
from scenes.stage.keys import smooth
from scenes.stage.overlay import Canvas, Value, value_at
from scenes.stage.palette import TEXT, mix
from scenes.stage.type import DESIGN_WIDTH, LYRIC, measure_text, sprite

BASELINE = 936  # design pixels
UNSUNG = mix((0.0, 0.0, 0.0), TEXT, 0.56)  # 5.6:1 on the ground
LEAD, HOLD = 0.45, 0.7


def places(line: Line, scale: float) -> list[tuple[Word, float, float]]:
    """Each word of a line with its left edge and its width, in design pixels: the line stands in the middle."""
    space = sprite(" ", LYRIC, scale)[3] / scale
    widths = [sprite(word.text, LYRIC, scale)[3] / scale for word in line.words]
    x = (DESIGN_WIDTH - sum(widths) - space * (len(widths) - 1)) / 2
    out = []
    for word, width in zip(line.words, widths, strict=True):
        out.append((word, x, width))
        x += width + space
    return out


@dataclass(slots=True)
class Lyric:
    """Draws the line of the timeline that is being sung; words not yet sung are dimmer, sung ones full white."""

    timeline: Timeline
    seconds_per_frame: float
    opacity: Value = 1.0

    def draw(self, canvas: Canvas) -> None:
        now = canvas.frame * self.seconds_per_frame
        line = self.timeline.line_at(now, LEAD, HOLD)
        if line is None:
            return
        shown = value_at(self.opacity, canvas.beat) * self._fade(line, now)
        words = places(line, canvas.scale)
        x = words[0][1]
        # One veil for the whole line and as long as it stands: it must not change as words light up.
        cap = measure_text("H", LYRIC, canvas.scale)[1] / canvas.scale
        canvas.veil(x, BASELINE - cap, DESIGN_WIDTH - x, BASELINE, UNSUNG, shown)
        for word, x, _ in words:
            lit = smooth(min(max((now - word.start) / 0.06 + 0.5, 0.0), 1.0))
            if lit < 1.0:
                canvas.write(word.text, LYRIC.coloured(UNSUNG), x, BASELINE, "left", shown, "lyric", veiled=False)
            if lit > 0.0:
                canvas.write(word.text, LYRIC.coloured(TEXT), x, BASELINE, "left", shown * lit, "lyric-lit", veiled=False)

    def _fade(self, line: Line, now: float) -> float:
        """In over the lead, out over the hold: never a hard switch."""
        rise = min(max((now - line.start + LEAD) / 0.25, 0.0), 1.0)
        fall = min(max((line.end + HOLD - now) / 0.25, 0.0), 1.0)
        return smooth(rise) * smooth(fall)
