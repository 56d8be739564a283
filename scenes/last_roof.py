"""The roofline for the last time: the rungs beyond, then the whole ladder once more, to the best of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from measure.dataset import Reading
from scenes.props import rungs as facts
from scenes.props.climb import caption, lowered, quick_run
from scenes.props.gauges import Gap, Line
from scenes.props.hall_flight import flight, last_path
from scenes.props.last_climb import FALL, LastClimb, shine
from scenes.props.roofline import Chart
from scenes.roof import Moment, Roof
from scenes.stage.camera import Camera
from scenes.stage.keys import Track, arrive, window
from scenes.stage.overlay import Item, Value


class Roof4(Roof):
    """Roof 4: rung after rung; then the whole ladder once more, towards the vendor's line, and on to the best."""

    name, title = "roof-4", "TO THE TOP"
    landings = ((2, 3), (2, 4), (3, 1), (4, 3), (8, 1))  # three in a run, one on "height", the last one on "top"
    builds, aside, nothing = False, (0.0, 0.0, 0.0), ("back to the CUDA cores:", "no further rung was measured")
    opening = ("back to the CUDA cores:", "the same units, better fed")
    zooms: ClassVar[Moment] = (2, 3)  # from here on only the top of the scale is shown
    again: ClassVar[Moment] = (5, 1)  # "rise": the cube lands on the ladder's first tower, the vendor's line is drawn
    wide: ClassVar[Moment] = (7, 3)  # "wide": the rung that loads wide is the one that shines; the top is near again
    top: ClassVar[Moment] = (8, 3)  # "sight": the whole ladder shines, on the whole scale

    def stops(self, rises: dict[str, Track]) -> list[tuple[float, str]]:
        again, legs = self.at(*self.again), []
        standing = [rung for rung in self.towers if self.land.get(rung, 0.0) < again]
        for rung in standing:
            run = [name for name, _ in quick_run(self.land, rung)] or ([] if rung in self.land else [rung])
            legs += [run] if run else []
        later = len(standing) < len(self.towers)
        last = LastClimb(legs, again, None if later or not self.land else self.at(*self.finish_on()))
        last.grow(rises)
        return sorted([*super().stops(rises), *last.stops])

    def finish_on(self) -> Moment:
        """The word on which the cube comes back to the last rung: "wide" where that is the one that loads wide, else "top"."""
        return self.wide if self.newest == facts.WIDE else self.landings[-1]

    @property
    def newest(self) -> str:
        """The last rung that lands here; '' without one."""
        return next(reversed(self.land), "")

    def close(self) -> None:
        assert self.chart is not None
        super().close()
        again, wide = self.at(*self.again), self.at(*self.wide)
        if not self.towers:
            return
        # The vendor's library is what the ladder climbs towards: a dashed line, never a rung.
        best, sung = self.towers[next(reversed(self.towers))], window(again, wide - 2.4, 0.3)
        drawn = Track(0.0).to(1.0, again + 1.0, 1.5, arrive).to(0.0, self.closing(), 0.5)
        self.prop(Line(self.chart, self.vendor_line, best, drawn))
        self.text_later(sung, lambda: lowered(self.towards(sung), self.facts_at))
        # "Now we load wide": that rung is named, and shines.
        if self.newest != facts.WIDE:
            named = window(wide - 2.0, wide + 0.4 if self.land else self.closing(), 0.3)
            self.text_later(named, lambda: lowered(facts.lettering(self.data, facts.WIDE, named, named), self.facts_at))
        shine(self.towers, facts.WIDE, wide, self.at(*self.top))
        # Where no rung lands on "height", or none on "top", what is left up to the beam is measured.
        if len(self.land) < len(self.landings) - 1:
            for begin, end in ((self.at(3, 1), again - FALL - 0.3), (wide, self.closing() - 0.5)):
                self.prop(Gap(self.chart, best, Track().to(1.0, begin + 2.0, 2.0), window(begin, end)))
        if not self.land:
            left = window(self.at(3, 2), again - FALL - 0.6, 0.3)
            self.text(*lowered(caption(("room to climb:", "the white measure"), left), self.facts_at))
        said = window(self.at(1, 2.4), self.at(*self.landings[0]) - 0.4, 0.3)
        self.text(*lowered(caption(self.opening if self.land else self.nothing, said), self.facts_at))

    def towards(self, shown: Value) -> list[Item]:
        """What is said while the ladder is climbed again."""
        return facts.vendor(self.data, self.vendor_line(), shown) or caption(("the whole ladder again,", "rung by rung"), shown)

    def fly(self) -> Callable[[float], Camera]:
        self.facts_at = 0.0 if self.chart is None or self.chart.placed else 200.0
        near = self.zoom(self.chart)(self.at(4, 1)) if self.chart else 1.0
        return flight(last_path(len(self.steps()), near), self.aside, 0.0, self.closing())

    def zoom(self, chart: Chart) -> Callable[[float], float]:
        """The best rung of the roofs before stands at two fifths of the height: rungs that differ by little are seen to."""
        near = facts.zoom_to(self.data, chart, self.rungs_before()) ** min(1.0, 0.6 * len(self.steps()))
        zoomed = Track(0.0).to(1.0, self.at(*self.zooms), 2.75).to(0.0, self.at(*self.again) - 0.5, 1.25)
        zoomed.to(1.0, self.at(*self.wide) - 1.0, 2.5).to(0.0, self.at(*self.top) + 0.5, 2.0)
        return lambda beat: near ** zoomed(beat)

    def room(self, beat: float) -> float:
        """None while the ladder is climbed again and while another rung is named."""
        back = self.at(*self.wide) + (-2.2 if self.newest == facts.WIDE else 0.45)
        return 1.0 - window(self.at(*self.again) - 0.3, back, 0.3)(beat)

    def vendor_line(self) -> Reading | None:
        return facts.vendor_line(self.data, self.chart.peak) if self.chart else None
