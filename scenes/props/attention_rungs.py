"""What a measurement file says of its attention ladder: which rung is fastest, what each moved and took, what it ran on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from measure.dataset import Dataset, Reading
from measure.records import Rung
from scenes.props.instruction import best_rung

UNFUSED, FUSED = "unfused", "fused"
SIDE = 8192  # queries of a head in our own problem: what a file without attention is drawn with


@dataclass(frozen=True)
class AttentionRungs:
    """Rungs by name; `fast` is the fastest of all, None where nobody measured one beside the unfused."""

    data: Dataset

    def key(self, rung: str, what: str) -> str:
        return f"ladders.attention.rungs.{rung}.{what}"

    def has(self, rung: str, what: str) -> bool:
        return self.data.has(self.key(rung, what))

    def reading(self, rung: str, what: str) -> Reading:
        """Raises KeyError for one that is not in the file: ask `has` first."""
        if (found := self.data.get(self.key(rung, what))) is None:
            raise KeyError(f"{self.key(rung, what)} is not in the measurements")
        return found

    def value(self, rung: str, what: str) -> float:
        return self.reading(rung, what).quantity.value

    def known(self, rung: str) -> bool:
        """Whether a fused rung was measured beside the unfused one."""
        return rung != UNFUSED and all(self.has(name, "figures.speedup") for name in (rung, UNFUSED))

    @cached_property
    def fast(self) -> str | None:
        best = best_rung(self.data, "attention")
        return best.name if best and self.known(best.name) else None

    @cached_property
    def fused(self) -> str | None:
        """What only is fused, where that was measured; else the fastest."""
        return FUSED if self.known(FUSED) else self.fast

    @property
    def raced(self) -> list[str]:
        """The unfused one, what only is fused, and the fastest: two where that is one; empty without them."""
        return list(dict.fromkeys([UNFUSED, self.fused, self.fast])) if self.fast and self.fused else []

    def shares(self) -> tuple[float, ...]:
        """Times of the raced rungs over the longest of them."""
        times = [self.value(name, "time") for name in self.raced]
        return tuple(time / max(times) for time in times)

    def other_units(self) -> bool:
        """Whether the fastest ran on other units than what only is fused, so that it is not fast by being fused alone."""
        fast, fused = self._rung(self.fast), self._rung(self.fused)
        return bool(fast and fused and fast.math_roof != fused.math_roof)

    def names(self) -> tuple[str, ...]:
        """What to call each raced rung: the fastest by the units that made it so, too, else by its title."""
        fast, units = self._rung(self.fast), self.units()
        last = f"{FUSED}, {units}" if units else fast.title.lower() if fast and self.other_units() else FUSED
        words = {UNFUSED: UNFUSED, self.fused: FUSED, self.fast: last}
        return tuple(words[name] for name in self.raced)

    def units(self) -> str:
        """What the fastest ran on, such as 'tensor cores', where that is news: by the title of its roof; else empty."""
        fast, owned = self._rung(self.fast), self.data.ladder("attention")
        if fast is None or owned is None or not self.other_units():
            return ""
        roof = self.data.roof(fast.math_roof or owned.value.math_roof)
        return roof.value.title.partition(",")[0].lower() if roof else ""

    def side(self) -> int:
        """Queries of a head, as the problem of the ladder has them: 'batch x heads, queries x values'; else as of ours."""
        owned = self.data.ladder("attention")
        return int(owned.value.problem.rpartition(",")[2].split("x")[0]) if owned else SIDE

    def heads(self) -> int:
        """Heads of all of the batch, as the ladder's problem has them."""
        owned = self.data.ladder("attention")
        return math.prod(int(count) for count in owned.value.problem.partition(" heads")[0].split("x")) if owned else 1

    def _rung(self, name: str | None) -> Rung | None:
        owned: Sequence[Rung] = ladder.value.rungs if (ladder := self.data.ladder("attention")) else ()
        return next((rung for rung in owned if rung.name == name), None)
