"""What the page knows of a film, as plain values: passages, beats, words, figures with where each was measured, credits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from measure.dataset import Dataset, Reading
from scenes.page import rooflines
from scenes.render.check.film import Film
from scenes.render.publish import captions, chapters, description, provenance
from scenes.stage.claims import Claim

DETAILS = ("value", "unit", "source", "low", "high", "n", "reference")


def content(film: Film) -> dict[str, Any]:
    """Everything, ready to be written as JSON."""
    data, timeline = film.dataset, film.track.timeline
    return {
        "title": description.title(),
        "film": {"file": film.path.name, "seconds": film.frames / film.fps, "fps": film.fps, "size": list(film.size)},
        "device": device(data),
        "passages": list(passages(film)),
        "beats": list(beats(film)),
        "lines": list(lines(film)),
        "claims": list(claims(film)),
        "keys": keys(film),
        "devices": rooflines.devices(data.specs),
        "words": rooflines.words(),
        "song": timeline.title,
        "credits": list(description.credits(film.track)),
        "measurements": list(film.body["measurements"]),
        "project": provenance.project(),
    }


def device(data: Dataset) -> dict[str, Any]:
    """The GPU of the film and how it was measured, in the words of the description."""
    run = data.run
    return {"name": data.device.name, "kind": "published" if run is None else "measured", "when": run.date[:10] if run else "",
            "told": list(description.measured(data))}  # fmt: skip


def passages(film: Film) -> Iterator[dict[str, Any]]:
    """The passages in order, each with its title, idea, chapter of the book, and the kind of part of the song it plays."""
    for span, row, _ in film.rows():
        section = film.track.timeline.section_at(row.first_bar)
        scene = row.load()
        yield {
            "name": span.scene, "title": chapters.title_of(row), "idea": row.idea, "chapter": scene.chapter,
            "kind": section.kind if section else "",
            "start": span.at / film.fps, "end": (span.at + span.last - span.first) / film.fps,
        }  # fmt: skip


def beats(film: Film) -> Iterator[list[float]]:
    """Each beat that is heard: its second in the film, and its bar of the track where it is a bar's first (else 0)."""
    timeline = film.track.timeline
    bars = {beat: bar for bar, beat in enumerate(timeline.downbeats, 1)}
    for span in film.spans:
        for k, second in enumerate(timeline.beats):
            if span.first <= round(second * film.fps) < span.last:
                yield [round(second + (span.at - span.first) / film.fps, 4), bars.get(k, 0)]


def lines(film: Film) -> Iterator[dict[str, Any]]:
    """The words that are heard, line by line, each with its seconds in the film."""
    for line in captions.in_film(film.track.timeline, film.spans, film.fps).lines:
        yield {"text": line.text, "words": [[word.text, round(word.start, 3), round(word.end, 3)] for word in line.words]}


def claims(film: Film) -> Iterator[dict[str, Any]]:
    """The figures in order of their first frame, with the seconds of the film in which each is on screen."""
    for claim in (Claim(**claim) for claim in film.body["claims"]):
        start, end = film.seconds(claim.first_frame), film.seconds(claim.last_frame)
        if start is not None and end is not None:
            yield {
                "text": claim.text, "scene": claim.scene, "key": claim.key,
                "start": round(start, 3), "end": round(end + 1 / film.fps, 3),
            }  # fmt: skip


def keys(film: Film) -> dict[str, Any]:
    """By key what the measurements have: value, unit, spread, source, reference; file, device and run."""
    found = {}
    for key in dict.fromkeys(claim["key"] for claim in film.body["claims"]):
        reading = film.dataset.get(key)
        if reading is not None:
            found[key] = {**detail(reading), **_run(reading, film.dataset)}
    return found


def detail(reading: Reading) -> dict[str, Any]:
    """A reading's own fields, those that it has."""
    fields = {name: getattr(reading.quantity, name) for name in DETAILS}
    told = {name: value for name, value in fields.items() if value not in (None, "")}
    return {**told, "device": reading.device.name, "file": reading.file}


def _run(reading: Reading, data: Dataset) -> dict[str, str]:
    """When and with which driver the file of a reading was measured; empty where its figures were published."""
    path = next((spec for spec in data.specs if spec.endswith(f"{reading.file}.json")), None)
    run = Dataset.open([path]).main.run if path else None
    return {} if run is None else {"when": run.date, "driver": run.driver or ""}
