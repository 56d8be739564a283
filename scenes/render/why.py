"""What a render says about its cache: scene by scene what is drawn already, what is not, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scenes.render.cache import Lookup


def lines(lookups: Sequence[Lookup]) -> Iterator[str]:
    """One line a scene and reason: "roof-4 bars 1-6 of 12: changed: measurements (gemm fp32 vectorised rate)"."""
    for name in dict.fromkeys(lookup.segment.row.name for lookup in lookups):
        mine = [lookup for lookup in lookups if lookup.segment.row.name == name]
        reasons = dict.fromkeys(lookup.why for lookup in mine if lookup.entry is None)
        if not reasons:
            yield f"{name}: drawn already"
        for why in reasons:
            missing = [lookup for lookup in mine if lookup.entry is None and lookup.why == why]
            yield f"{name} {bars(missing)} of {mine[0].segment.row.bars}: {why}"


def bars(lookups: Sequence[Lookup]) -> str:
    """Bars of some segments of one scene, in order: "bars 1-4, 7-8"."""
    spans: list[tuple[int, int]] = []
    for segment in (lookup.segment for lookup in lookups):
        if spans and spans[-1][1] + 1 == segment.first_bar:
            spans[-1] = (spans[-1][0], segment.last_bar)
        else:
            spans.append((segment.first_bar, segment.last_bar))
    return "bars " + ", ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in spans)
