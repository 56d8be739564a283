"""The whole ladder once more: it sinks, the cube drops to its first tower, and on each word the next one takes it up."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scenes.props.climb import FLIGHT
from scenes.props.roofline import Tower
from scenes.stage.keys import Track, arrive, leave

# Beats after the first landing on which a word of "Rise with me, rise with me, up to the light" begins, the heaviest first.
WORDS = (0.0, 6.0, 2.0, 4.0, 1.0, 3.0, 5.0, 1.5, 3.5, 5.5)
FALL = 1.25  # beats from the newest tower down to the first one


@dataclass(frozen=True, slots=True)
class LastClimb:
    """`legs` are the towers in their order, those of a leg grow together and the cube lands on the last of them.

    It lands on the first leg at beat `begins`, on the last one at `ends`; without `ends` on the last of the words.
    """

    legs: Sequence[Sequence[str]]
    begins: float
    ends: float | None = None

    @property
    def moments(self) -> list[float]:
        """The beat of each leg's landing."""
        count = len(self.legs) - (self.ends is not None)
        sung = sorted(WORDS[min(k, len(WORDS) - 1)] for k in range(count))
        return [*(self.begins + word for word in sung), *([] if self.ends is None else [self.ends])]

    @property
    def stops(self) -> list[tuple[float, str]]:
        """When the cube lands on which tower."""
        return [(moment, leg[-1]) for moment, leg in zip(self.moments, self.legs, strict=True)]

    def grow(self, rises: Mapping[str, Track]) -> None:
        """All towers but the first leg's sink while the cube falls, and grow again under it."""
        for (before, moment), leg in zip(itertools.pairwise(self.moments), self.legs[1:], strict=False):
            for name in leg:
                rises[name].to(0.0, self.begins - 0.1, FALL - 0.35, leave)
                rises[name].to(1.0, moment, min(FLIGHT, max(0.4, moment - before)), arrive)


def shine(towers: Mapping[str, Tower], wide: str, said: float, end: float) -> None:
    """The tower `wide` alone is bright on beat `said`; then all go dark and light up in their order, the last one at `end`."""
    for k, (name, tower) in enumerate(reversed(list(towers.items()))):
        tower.light = Track(1.0)
        if wide in towers and name != wide:
            tower.light.to(0.3, said, 0.75).to(1.0, said + 1.25, 0.75)
        tower.light.to(0.3, end - 1.3, 0.4).to(1.0, end - k / 8, 0.12, arrive)
