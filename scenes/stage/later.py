"""Texts that are made when they are first seen: a frame then depends on no reading but those that it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scenes.stage.overlay import Canvas, Item

UNSEEN = 0.004  # an opacity up to which nothing is drawn


@dataclass(slots=True)
class Later:
    """Texts of one moment: `make` reads what they say, at the first frame on which `shown(beat)` is above 0.

    Each of the texts has an opacity of its own, which is 0 where `shown` is.
    """

    shown: Callable[[float], float]
    make: Callable[[], Sequence[Item]]
    yields: bool = False
    _made: Sequence[Item] | None = field(default=None, init=False)

    def draw(self, canvas: Canvas) -> None:
        if self.shown(canvas.beat) <= UNSEEN:
            return
        if self._made is None:
            self._made = self.make()
        for item in self._made:
            item.draw(canvas)
