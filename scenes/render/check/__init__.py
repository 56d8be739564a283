"""`check FILM`: a finished film proved from its own decoded file; each check is a module, each returns an Outcome."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import av.error

from scenes.render import claims_file, flash
from scenes.render.check import captions, container, hues, letters, sound, sync
from scenes.render.check.film import Film
from scenes.render.check.outcome import Fault, Outcome
from scenes.render.errors import RequestError
from scenes.render.publish import progress


def flashes(film: Film) -> Outcome:
    """General and red flashes, plain and extended, of the decoded frames."""
    found = flash.check(film.path, film.told)
    faults = tuple(Fault(str(one), one.start) for one in found)
    told = f"{len(found)} stretches that flash too often" if found else "none"
    return Outcome(
        "flash", "Flashes", told, "at most three in a second (WCAG 2.2, 2.3.1), and none of the extended rule", faults
    )


def claims(film: Film) -> Outcome:
    """Every figure on screen against the measurement files."""
    faults = tuple(Fault(line) for line in claims_file.check(film.body, film.dataset))
    count = len(film.body["claims"])
    return Outcome("claims", "Figures", f"{count} claims", "each equals its file's value as rounded", faults)


CHECKS: dict[str, Callable[[Film], Outcome]] = {
    "file": container.check,
    "sync": sync.check,
    "flash": flashes,
    "sound": sound.check,
    "captions": captions.check,
    "contrast": letters.check,
    "colour": hues.check,
    "claims": claims,
}
"""By name, in the order in which they run."""


PASSES = {"sync": 2, "flash": 1, "contrast": 1, "colour": 1}
"""How often a check decodes all of a film's frames."""


def frames_to_read(film: Film, names: Sequence[str] = ()) -> int:
    """How many frames the checks by those names, or all, will tell of."""
    return film.frames * sum(PASSES.get(name, 0) for name in names or CHECKS)


def run(film: Film, names: Sequence[str] = ()) -> Iterator[Outcome]:
    """The outcomes of the checks by those names, or of all.  Raises RequestError for a film that does not decode to its end."""
    with progress.told("checking", frames_to_read(film, names)) as tell:
        read = itertools.count(1)
        film.told = lambda: tell(next(read))
        for name in names or CHECKS:
            try:
                outcome = CHECKS[name](film)
            except av.error.FFmpegError as error:
                why = (error.strerror or type(error).__name__).lower()
                raise RequestError(f"{film.path}: cannot be read to its end: {why}: copy or render it again") from None
            yield outcome


__all__ = ["CHECKS", "Fault", "Film", "Outcome", "claims", "flashes", "frames_to_read", "run"]
