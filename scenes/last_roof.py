"""The roofline for the last time: the whole ladder once more; then, magnified, the rungs beyond, and past the vendor's line."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import ClassVar

from measure.dataset import Reading
from scenes.props import hall_light
from scenes.props import rungs as facts
from scenes.props.climb import FLIGHT, QUICK, block, by_quarters, caption, lowered
from scenes.props.gauges import Gap
from scenes.props.hall_flight import flight
from scenes.props.last_climb import (
    FALL,
    MAGNIFIES,
    OVER,
    PAST,
    Burst,
    LastClimb,
    Magnifier,
    Target,
    drop,
    keys,
    magnified,
    shine,
    verdict,
)  # fmt: skip
from scenes.props.roofline import Chart
from scenes.roof import Moment, Roof
from scenes.stage.camera import Camera
from scenes.stage.hud import Ratio
from scenes.stage.keys import Track, arrive, overshoot, window
from scenes.stage.overlay import Item, Value

CHOSEN = ((), (3,), (2, 4), (2, 3, 4), (0, 2, 3, 4))  # which of the landings are used by fewer rungs than there are


class Roof4(Roof):
    """Roof 4: from the first rung up to where the last chorus ended, then rung after rung to the best, to the vendor's line."""

    name, title = "roof-4", "TO THE TOP"
    landings = ((3, 3), (4, 2), (4, 3), (6, 1), (8, 1))  # "math", two in a run on "the height", "up", the last one on "top"
    builds, aside, nothing = False, (0.0, 0.3, 1.2), ("back to the CUDA cores:", "no further rung was measured")
    opening = ("back to the CUDA cores:", "the same units, better fed")
    closer = ("the top of the scale,", "magnified")
    again: ClassVar[Moment] = (5, 1)  # "rise": the vendor's line is drawn; where no rung is new the ladder is climbed again
    falls: ClassVar[Moment] = (7, 1)  # "now": back on the floor of the magnified scale
    wide: ClassVar[Moment] = (7, 2)  # "we": for "load wide" the cube is on the rung that loads wide
    run: ClassVar[Moment] = (7, 4)  # "and the": the rungs between it and the last one grow as it leaps past them
    top: ClassVar[Moment] = (8, 1)
    sight: ClassVar[Moment] = (8, 3)  # all towers shine, one after the other

    def light_up(self, chart: Chart) -> None:
        # Bands run as long as the scale is not magnified; afterwards the ladder itself is what shines.
        self.sky.arrange = lambda world, beat: drop(world, beat, self.at(*self.top), self.passed)
        for band in hall_light.bands(chart, [0.0, 2.0]):
            self.prop(band)

    # ---- when what lands ---------------------------------------------------------------------------------------------

    def steps(self) -> tuple[tuple[str, float], ...]:
        there = tuple(filter(partial(facts.find, self.data), self.rungs))
        chosen = CHOSEN[len(there)] if len(there) < len(CHOSEN) else range(len(self.landings))
        return tuple((rung, self.at(*self.landings[k])) for rung, k in zip(there, chosen, strict=False))

    def first(self) -> float:
        """The moment at which the first new rung lands; without one, that at which it is said that there is none."""
        return min((moment for _, moment in self.steps()), default=self.at(3))

    def rise(self, moment: float) -> Track:
        """On "rise with me" a quarter a beat, the last one under the cube; the last tower slams up as the cube leaps."""
        if moment == self.at(*self.top):
            return Track(0.0).to(1.0, moment, 0.45, overshoot)
        if moment != self.at(*self.landings[3]):
            return super().rise(moment)
        return by_quarters(moment)

    def stops(self, rises: dict[str, Track]) -> list[tuple[float, str]]:
        # The drop: the ladder so far slams up word by word, the cube from tower to tower.
        standing, new = [rung for rung in self.towers if rung not in self.land], list(self.land)
        opening = LastClimb.sung(standing, 0.0)
        opening.grow(rises, sink=False)
        once_more = self.once_more(standing, new)
        once_more.grow(rises)
        return sorted([*opening.stops, *((moment, rung) for rung, moment in self.land.items()), *once_more.stops])

    def once_more(self, standing: list[str], new: list[str]) -> LastClimb:
        """The new rungs again, from the first of them in one leap to the last; where none is new, the whole ladder."""
        if not new:
            return LastClimb.sung(standing, self.at(*self.again))
        run, between = self.at(*self.run), new[1:-1]
        legs = [(self.at(*self.falls), standing[-1:]), (self.at(*self.wide), new[:1])]
        legs += [(run, between[: max(1, len(between) - 1)]), (run + 0.5, between[max(1, len(between) - 1) :])]
        return LastClimb([leg for leg in legs if leg[1]], run)

    # ---- what is seen ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        assert self.chart is not None
        super().close()
        if not self.towers:
            return
        chart, best, end = self.chart, self.towers[next(reversed(self.towers))], self.closing()
        top, first = self.at(*self.top), self.first()
        # The vendor's library is what the ladder climbs towards: a dashed line with its name, never a rung.
        drawn = Track(0.0).to(1.0, self.at(*self.again) + 1.5, 1.5, arrive).to(0.0, end, 0.5)
        line = Target(chart, self.vendor_line, lambda: facts.vendor_title(self.data), cache(self.verdict), best, drawn, top)
        self.prop(line, Burst(self.cube, top, line.passed))
        named = window(self.at(*self.again), self.at(*self.wide) - 2.4, 0.3)
        if self.land:
            self.text_later(drawn, lambda: line.words(self.pinned))
        else:
            self.text_later(named, lambda: lowered(self.towards(named), self.facts_at))
        said = window(self.at(1, 2.4), MAGNIFIES - 0.4, 0.3)
        self.text(*lowered(caption(self.opening if self.land else self.nothing, said), self.facts_at))
        if self.land:
            lowest, seen = self.lens.lowest(first), window(MAGNIFIES - 1.0, MAGNIFIES + OVER + 0.5)
            self.prop(Magnifier(chart, lowest, self.lens, seen))
            self.text(*lowered(caption(self.closer, window(MAGNIFIES, min(first, self.at(3, 3)) - 0.4, 0.3)), self.facts_at))
        self.tell_what_loads_wide()
        shine(self.towers, facts.WIDE, self.at(*self.wide) + 0.75, self.at(*self.sight))
        self.measure_what_is_left()

    def tell_what_loads_wide(self) -> None:
        """While "load wide" is sung the cube is on that rung: its name and rate then; that it has none, where it has none."""
        wide, leaves = self.at(*self.wide), self.at(*self.top) - FLIGHT if len(self.land) > 1 else self.closing()
        shown, landed = window(wide - FLIGHT, leaves, 0.3), window(wide - 0.06, leaves, 0.12)
        if self.newest_first == facts.WIDE:
            self.text_later(shown, lambda: block(self.data, [(facts.WIDE, wide)], shown, landed, False, self.facts_at))
        elif facts.WIDE not in self.land:
            self.text_later(shown, lambda: lowered(facts.lettering(self.data, facts.WIDE, shown, shown), self.facts_at))

    def measure_what_is_left(self) -> None:
        """Where no rung lands on "height", or none on "top", what is left up to the beam is measured."""
        assert self.chart is not None
        standing, last = [tower for rung, tower in self.towers.items() if rung not in self.land], [*self.towers.values()][-1]
        begin, gone = self.at(3, 2), (self.first() - FLIGHT if self.land else self.at(*self.again) - FALL) - 0.3
        if gone - begin > 3.0 and standing:
            gap = Gap(self.chart, standing[-1], Track().to(1.0, begin + 1.5, 1.5), window(begin, gone))
            said = window(begin + 1.0, gone - 0.3, 0.3)
            words = caption(("room to climb:", "the white measure"), lambda beat: said(beat) * gap.there(beat))
            self.prop(gap)
            self.text(*lowered(words, self.facts_at))
        if len(self.land) < 2:
            begin, gone = self.at(*self.run), self.closing() - 0.5
            self.prop(Gap(self.chart, last, Track().to(1.0, begin + 2.0, 2.0), window(begin, gone)))

    def towards(self, shown: Value) -> list[Item]:
        """What is said while the ladder is climbed again."""
        return facts.vendor(self.data, self.vendor_line(), shown) or caption(("the whole ladder again,", "rung by rung"), shown)

    @property
    def newest_first(self) -> str:
        """The first rung that lands here; '' without one."""
        return next(iter(self.land), "")

    def passed(self) -> bool:
        """Whether the last rung is past the vendor's line."""
        return self.chart is not None and bool(self.towers) and self.verdict() == PAST

    def verdict(self) -> str:
        """How the last rung stands to the vendor's line; '' without one of them."""
        rate, line = self.data.get(f"ladders.{facts.LADDER}.rungs.{next(reversed(self.towers))}.rate"), self.vendor_line()
        return verdict(rate, line) if rate is not None and line is not None else ""

    def vendor_line(self) -> Reading | None:
        return facts.vendor_line(self.data, self.chart.peak) if self.chart else None

    def room(self, beat: float) -> float:
        """None from the fall on until the last rung has landed."""
        back = self.at(*self.top) - 0.1 if len(self.land) > 1 else self.clock.beats
        return 1.0 - window(self.at(*self.falls) - 1.0, back, 0.2)(beat)

    def achieved(self) -> Callable[[float], Ratio | None]:
        """That of the rung on which the cube stands; none while it runs over many."""
        best, steps = cache(self.best_of), self.steps()
        before = tuple(filter(partial(facts.find, self.data), self.rungs_before()))[-1:]
        falls, top = self.at(*self.falls) - 1.0, self.at(*self.top)

        def hurries(k: int, beat: float) -> bool:
            return any(beat < later < steps[k][1] + QUICK for _, later in steps[k + 1 :])

        def ratio(beat: float) -> Ratio | None:
            if beat < self.at(2, 3) or (steps and falls <= beat < top):
                return None
            landed = [rung for k, (rung, moment) in enumerate(steps) if beat >= moment and not hurries(k, beat)]
            return best(tuple(landed[-1:]) or before)

        return ratio

    # ---- the scale and the way through the hall ----------------------------------------------------------------------

    def zoom(self, chart: Chart) -> Callable[[float], float]:
        near = magnified(self.data, chart, self.rungs_before()) if self.steps() else 1.0
        zoomed = Track(0.0).to(1.0, MAGNIFIES + OVER, OVER)
        return lambda beat: near ** zoomed(beat)

    def axis_shown(self) -> Callable[[float], float]:
        """Not under a magnified scale: before it is."""
        placed = self.chart is not None and self.chart.placed
        return window(1.75, MAGNIFIES - 0.25) if self.steps() and placed else super().axis_shown()

    def fly(self) -> Callable[[float], Camera]:
        self.facts_at = 0.0 if self.chart is None or self.chart.placed else 200.0
        return flight(keys(len(self.steps())), self.aside, 0.0, self.closing())
