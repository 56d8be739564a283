"""The claims of a film: each figure it shows, with its frames and its source, written beside it and checked against the source.

python -m scenes.render.claims_file FILM.claims.json
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

from audio import timeline_file, tracks
from audio.tracks import Track
from measure.dataset import MEASUREMENTS, Dataset, known_names
from scenes.render.errors import RequestError
from scenes.render.master import whole_file
from scenes.render.plan import Segment
from scenes.render.quality import Quality
from scenes.stage.claims import Claim


@dataclass(frozen=True, slots=True)
class Span:
    """Frames `first` to `last` (exclusive) of the track that a file shows from its own frame `at` on."""

    scene: str
    first: int
    last: int
    at: int


def spans_of(segments: Iterable[Segment]) -> list[Span]:
    """One span a scene, in order."""
    spans: list[Span] = []
    at = 0
    for segment in segments:
        if spans and spans[-1].scene == segment.row.name and spans[-1].last == segment.first:
            spans[-1] = Span(spans[-1].scene, spans[-1].first, segment.last, spans[-1].at)
        else:
            spans.append(Span(segment.row.name, segment.first, segment.last, at))
        at += segment.frames
    return spans


def path_of(film: Path) -> Path:
    """Where a film's claims lie: `film.mp4` -> `film.claims.json`."""
    return film.with_suffix(".claims.json")


def write(film: Path, quality: Quality, spans: Sequence[Span], dataset: Dataset, track: Track, claims: Sequence[Claim]) -> Path:
    """Write the claims beside a film, whole or not at all."""
    body = {
        "film": film.name,
        "size": [quality.width, quality.height],
        "fps": quality.fps,
        "frames": sum(span.last - span.first for span in spans),
        "spans": [asdict(span) for span in spans],
        "track": {
            "title": track.timeline.title,
            "file": _named(track.path, film),
            "sha256": _digest(track.path),
            "timeline": timeline_file.to_json(track.timeline),
        },
        "measurements": [{"file": _named(Path(spec), film), "sha256": _digest(Path(spec))} for spec in dataset.specs],
        "claims": [asdict(claim) for claim in claims],
    }
    target = path_of(film)
    with whole_file(target) as part:
        part.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def read(path: Path) -> dict[str, Any]:
    """The content of a claims file, with the files that it names where they are now.  Raises RequestError where it is none."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RequestError(f"{path}: expected the claims of a film, found none: {error}") from None
    if not isinstance(body, dict) or not isinstance(body.get("claims"), list):
        raise RequestError(f"{path}: expected the claims of a film, found another document")
    try:
        for entry in (*([body["track"]] if "track" in body else []), *body["measurements"]):
            entry["file"] = _found(entry["file"], path)
        for kind, entries in ((Span, body["spans"]), (Claim, body["claims"])):
            for entry in entries:
                kind(**entry)
    except (KeyError, TypeError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise RequestError(
            f"{path}: expected the claims of a film as render writes them, found {what}: render it again"
        ) from None
    return body


def check(body: Mapping[str, Any], dataset: Dataset) -> Iterator[str]:
    """What is wrong with claims, one line each: every figure is read anew by its key and rounded in decimal, half to even."""
    last = body["frames"] if len(body["spans"]) == 1 else max(span["last"] for span in body["spans"])
    for claim in (Claim(**claim) for claim in body["claims"]):
        where = f"{claim.scene}: {claim.text!r} ({claim.key})"
        reading = dataset.get(claim.key)
        if reading is None:
            yield f"{where}: the measurements have no such figure"
            continue
        shown = Decimal(claim.numeral.replace(" ", ""))
        exact = Decimal(repr(reading.quantity.value * claim.scale))
        rounded = exact.quantize(Decimal(1).scaleb(-claim.digits), rounding=ROUND_HALF_EVEN)
        if shown != rounded or claim.text.split(" ")[0:1] == [""] or not claim.text.startswith(claim.numeral):
            yield f"{where}: the file's value is {reading.quantity.value!r} x {claim.scale!r}, which rounds to {rounded}"
        for field, found, expected in (
            ("source", claim.source, reading.quantity.source),
            ("device", claim.device, reading.device.name),
            ("unit in the file", claim.unit, reading.quantity.unit),
            ("file", claim.file, reading.file),
        ):
            if found != expected:
                yield f"{where}: its {field} is {expected!r}, the claim says {found!r}"
        if not any(span["first"] <= claim.first_frame <= claim.last_frame < span["last"] for span in body["spans"]):
            yield f"{where}: frames {claim.first_frame} to {claim.last_frame} are outside of its scene (film ends at {last})"


def dataset_of(body: Mapping[str, Any]) -> Dataset:
    """The measurements that a claims file names, opened anew."""
    return Dataset.open([entry["file"] for entry in body["measurements"]])


def track_of(body: Mapping[str, Any], name: str | None = None) -> Track:
    """The track that a film was laid over: its sound where it lay, or where `name` says, and the timeline that the film has.

    Raises RequestError, TrackError, TimelineError.
    """
    if "track" not in body:
        raise RequestError("the claims of the film name no track: render it again")
    told = body["track"]
    asked = name or told["file"]
    if "timeline" not in told:
        return tracks.open(asked)
    path = tracks.open(asked).path if asked in tracks.names() else Path(asked)
    if not path.is_file():
        raise tracks.TrackError(f"track {asked!r}: no such file: name the sound that the film was made with, with --track")
    return Track(path, timeline_file.from_json(told["timeline"], str(body.get("film", "the film"))))


def _named(path: Path, film: Path) -> str:
    """A file that comes with the project by its bare name, one below the film's folder from there, any other from the root."""
    path, folder = path.absolute(), film.absolute().parent
    if path.parent in (MEASUREMENTS, tracks.HERE):
        return path.stem
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def _found(name: str, claims: Path) -> str:
    """Where a file that claims name is: as they name it, else beside them, having moved with the film; a bare name as it is."""
    if name in (*tracks.names(), *known_names()):
        return name
    folder = claims.absolute().parent
    places = (folder / name, Path(name).absolute(), folder / Path(name).name)
    return str(next((place for place in places if place.is_file()), places[0]))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(arguments: Sequence[str]) -> int:
    """Check the claims of films; 0 when all hold.  Raises what reading them raises."""
    if not arguments:
        raise RequestError("name the claims of a film: FILM.claims.json")
    wrong = 0
    for name in arguments:
        body = read(Path(name))
        problems = list(check(body, dataset_of(body)))
        wrong += len(problems)
        print(*problems, f"{name}: {len(body['claims'])} claims, {len(problems)} wrong", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    from scenes.render.exits import exits

    with exits():
        sys.exit(main(sys.argv[1:]))
