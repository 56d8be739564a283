"""Everything that a finished film is posted with, in the film's folder and under its name."""

from __future__ import annotations

from pathlib import Path

from scenes.render import claims_file, make, plan
from scenes.render.publish import captions, chapters, description, provenance, thumbnail


def publish(request: make.Request, film: Path) -> list[Path]:
    """Write captions, thumbnail, description and provenance beside a film that was made from a request; returns the files.

    `film.mp4` gets `film.srt`, `.vtt`, `.ass`, `.lrc`, `film.thumbnail.png`, `film.description.txt`, `film.provenance.json`.
    """
    timeline, quality = request.timeline, request.quality
    spans = claims_file.spans_of(plan.plan(request.rows, timeline, quality))
    marks = chapters.chapters(spans, request.rows, timeline, quality.fps)
    return [
        *captions.write(timeline, spans, quality.fps, film),
        thumbnail.write(request.dataset, film.with_suffix(".thumbnail.png")),
        description.write(film.with_suffix(".description.txt"), request.dataset, request.track, marks),
        provenance.write(film.with_suffix(".provenance.json"), film, quality, tuple(spans), request.dataset, request.track),
    ]
