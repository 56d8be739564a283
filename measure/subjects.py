"""Every subject of the suite, in the order in which they are measured; counters come last, as they add to the ladders."""

from __future__ import annotations

from measure import counters, ladders, latency, roofs, trace
from measure.subject import Subject

SUBJECTS: tuple[Subject, ...] = (
    roofs.SUBJECT,
    *getattr(latency, "SUBJECTS", ()),
    ladders.SUBJECT,
    *getattr(trace, "SUBJECTS", ()),
    counters.SUBJECT,
)
